"""From the bytes of a file to its text: one reader per format, loaded when a file of that format comes.

`document` is the door. What cannot be read raises `Unreadable` with a reason in plain words; what had to be repaired
or left out on the way says so in `Document.notes`.
"""

from collections.abc import Callable
from typing import NamedTuple

from memctl.errors import DocumentUnreadable as Unreadable
from memctl.extract.kinds import INGESTABLE, Kind, is_ingestable, kind_of, suffix_of

__all__ = [
    "INGESTABLE",
    "LIMITS",
    "Anchor",
    "Document",
    "Hidden",
    "Limits",
    "Unreadable",
    "anchor_at",
    "document",
    "is_ingestable",
    "needs_worker",
]


class Limits(NamedTuple):
    """How much of one file is read.

    bytes     of the file itself
    expanded  bytes of what is packed in it, and characters of the text it yields
    seconds   for an external tool; a reader in this process is stopped by the caller (see `needs_worker`)
    rows      of all sheets of a workbook together; the rest is left out, with a note
    """

    bytes: int = 64 << 20
    expanded: int = 256 << 20
    seconds: float = 60.0
    rows: int = 100_000


LIMITS = Limits()


class Anchor(NamedTuple):
    """From line `line` of the text on (counted from 1), it stands at `place`: "page 3", "sheet Budget", "cell 4".

    With `row`, that line is this row of the sheet, and each following line one further row.
    """

    line: int
    place: str
    row: int | None = None


class Hidden(NamedTuple):
    """Text that a file hides from those who look at it, and where: "page 3"; line: in the file, 0 if unknown."""

    text: str
    place: str = ""
    line: int = 0

    @property
    def anchor(self) -> str:
        """Where it stands, as a passage of it says."""
        return f"hidden text, {self.place}" if self.place else "hidden text"


class Document(NamedTuple):
    """The text of a file, and how to cut it.

    text      lines end with a line feed; no NUL, no byte order mark, no lone surrogate
    kind      markdown, rst, asciidoc, org, latex, man, code, data, table or text: which structure `text.chunking`
              looks for
    language  the programming or data language, such as "python"; "" if there is none
    encoding  what the bytes were: "utf-8", "utf-16-le", "cp1252", …
    notes     one line for each repair: "3 bytes were not valid UTF-8 and were replaced"
    title     the title the format itself carries (HTML, office documents, mail), "" if none
    lines_are_source  False when the text was made from the file (HTML, office), so that its line numbers are not the
              file's
    anchors   where in the file lines of the text stand, in order; before the first one nothing is known
    breaks    lines at which a new passage must begin: sheets, attachments, footnotes
    hidden    what is not in the text, because nobody who looks at the file would see it
    """

    text: str
    kind: str
    language: str = ""
    encoding: str = "utf-8"
    notes: tuple[str, ...] = ()
    title: str = ""
    lines_are_source: bool = True
    anchors: tuple[Anchor, ...] = ()
    breaks: tuple[int, ...] = ()
    hidden: tuple[Hidden, ...] = ()


Reader = Callable[[bytes, str, Limits], Document]

#: Suffix -> the module whose `read(data, name, limits)` makes the document; every other text file is read as it is.
_READERS = {
    **dict.fromkeys((".html", ".htm", ".xhtml"), "memctl.extract.markup"),
    ".ipynb": "memctl.extract.notebook",
    ".eml": "memctl.extract.mail",
    ".docx": "memctl.extract.word",
    ".pptx": "memctl.extract.slides",
    ".xlsx": "memctl.extract.sheets",
    **dict.fromkeys((".odt", ".odp", ".ods"), "memctl.extract.opendocument"),
    ".pdf": "memctl.extract.pdf",
}
#: What libraries or external tools read: third-party ones, and for mail Python's own, in time that is not bounded here.
_FOREIGN = frozenset((".docx", ".pptx", ".xlsx", ".odt", ".odp", ".ods", ".pdf", ".eml"))


def needs_worker(name: str) -> bool:
    """Whether this file should be read in a process that can be killed: by code that is not ours, in time unknown."""
    return suffix_of(name) in _FOREIGN


def document(data: bytes, name: str, limits: Limits = LIMITS) -> Document:
    """The document in `data`, the bytes of the file called `name` (a path or a bare name; only its end matters).

    A name with an unknown suffix is read as text if its bytes are text. Raises `Unreadable` for binary content, damage,
    encryption, a missing library, and what is over the limits.
    """
    if len(data) > limits.bytes:
        raise Unreadable(path=name, reason=f"it has {len(data):,} bytes, and the limit is {limits.bytes:,}")
    module = _READERS.get(suffix_of(name))
    if not module:
        return _read_text(data, name)
    from memctl.extract.guard import guarded

    return guarded(module, data, name, limits)


def anchor_at(anchors: tuple[Anchor, ...], first: int, last: int) -> str:
    """Where the lines first..last stand: "page 3", "slides 2-5", "sheet Budget rows 12-40"; "" if nothing is known."""
    from memctl.extract.places import place_of

    return place_of(anchors, first, last)


def _read_text(data: bytes, name: str) -> Document:
    from memctl.text.chunking.outline import markup_of
    from memctl.text.decoding import decode

    text, encoding, notes = decode(data, name)
    kind: Kind = kind_of(name, text)
    hidden: tuple[Hidden, ...] = ()
    if kind.kind == "markdown" and ("<" in text or "]: " in text):
        from memctl.extract.markdown_hidden import divided

        text, hidden = divided(text)
    shape = markup_of(text) if kind.kind == "text" else kind.kind
    return Document(text, shape, kind.language, encoding, notes, hidden=hidden)
