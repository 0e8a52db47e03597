"""From the bytes of a file to its text: one reader per format, loaded when a file of that format comes.

`document` is the door. What cannot be read raises `Unreadable` with a reason in plain words; what had to be repaired
on the way says so in `Document.notes`.
"""

from collections.abc import Callable
from typing import NamedTuple

from memctl.errors import DocumentUnreadable as Unreadable
from memctl.extract.kinds import INGESTABLE, Kind, is_ingestable, kind_of, suffix_of

__all__ = ["INGESTABLE", "Document", "Unreadable", "document", "is_ingestable"]


class Document(NamedTuple):
    """The text of a file, and how to cut it.

    text      lines end with a line feed; no NUL, no byte order mark, no lone surrogate
    kind      markdown, rst, code, data, table or text: which structure `text.chunking` looks for
    language  the programming or data language, such as "python"; "" if there is none
    encoding  what the bytes were: "utf-8", "utf-16-le", "cp1252", …
    notes     one line for each repair: "3 bytes were not valid UTF-8 and were replaced"
    title     the title the format itself carries (HTML), "" if none
    lines_are_source  False when the text was made from the file (HTML), so that its line numbers are not the file's
    """

    text: str
    kind: str
    language: str = ""
    encoding: str = "utf-8"
    notes: tuple[str, ...] = ()
    title: str = ""
    lines_are_source: bool = True


Reader = Callable[[bytes, str], Document]

#: Suffix -> the module whose `read(data, name)` makes the document; every other text file is read as it is.
_READERS = dict.fromkeys((".html", ".htm", ".xhtml"), "memctl.extract.markup")

#: Documented formats that need a reader of their own and have none yet.
_NO_READER_YET = frozenset({".docx", ".odt", ".pptx", ".odp", ".xlsx", ".ods", ".pdf"})


def document(data: bytes, name: str, *, limit: int | None = None) -> Document:
    """The document in `data`, the bytes of the file called `name` (a path or a bare name; only its end matters).

    A name with an unknown suffix is read as text if its bytes are text. Raises `Unreadable` for binary content, for
    formats without a reader, and for more than `limit` bytes.
    """
    if limit is not None and len(data) > limit:
        raise Unreadable(path=name, reason=f"it has {len(data):,} bytes, and the limit is {limit:,}")
    suffix = suffix_of(name)
    if suffix in _NO_READER_YET:
        raise Unreadable(path=name, reason=f"there is no reader for {suffix} files yet")
    module = _READERS.get(suffix)
    return _read_with(module, data, name) if module else _read_text(data, name)


def _read_with(module: str, data: bytes, name: str) -> Document:
    from importlib import import_module

    read: Reader = import_module(module).read
    return read(data, name)


def _read_text(data: bytes, name: str) -> Document:
    from memctl.text.decoding import decode

    text, encoding, notes = decode(data, name)
    kind: Kind = kind_of(name, text)
    return Document(text, kind.kind, kind.language, encoding, notes)
