"""From the bytes of a file to its text: one reader per format, loaded when a file of that format comes.

`document` is the door. What cannot be read raises `Unreadable` with a reason in plain words; what a reader repaired or
left out is said in `Document.notes`.
"""

import re
from bisect import bisect_left
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from memctl import errors

if TYPE_CHECKING:
    from memctl.errors import DocumentUnreadable as Unreadable
else:

    def __getattr__(name: str) -> object:
        """`Unreadable`; most files can be read, and making the classes of errors takes 2 ms."""
        if name == "Unreadable":
            return errors.DocumentUnreadable
        raise AttributeError(name)


__all__ = [
    "ALL_INGESTABLE_EXTS",
    "BINARY_EXTS",
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
    "kind_of",
    "library",
    "needs_worker",
    "read_file_text",
    "suffix_of",
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
              looks for; transcript: its `turns` are documents of their own
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

    def turns(self) -> "list[tuple[int, str]]":
        """The turns of a transcript: the line that each begins at, and its text. Any other document is one."""
        if self.kind != "transcript":
            return [(1, self.text)]
        lines = re.findall(r"[^\n]*\n|[^\n]+", self.text)  # splitlines would end some in form feeds, too
        ends = [line - 1 for line in self.breaks[1:]] + [len(lines)]
        return [(line, "".join(lines[line - 1 : end])) for line, end in zip(self.breaks, ends, strict=True)]

    def spoken(self) -> str:
        """What the turns of a transcript say, line for line: blanks stand for who speaks."""
        return "\n" * (self.breaks[0] - 1) + "".join(self.spoken_turns())

    def spoken_turns(self) -> list[str]:
        """What each of the turns says."""
        return [re.sub(r"\A[^:]*:\**", lambda who: " " * len(who[0]), text) for _, text in self.turns()]


#: How much of a library's own message is shown, in characters.
_DETAIL = 120
#: A place that is one of a numbered series.
_NUMBERED = r"([a-z]+) (\d+)\Z"

Reader = Callable[[bytes, str, Limits], Document]

#: Suffix -> the module whose `read(data, name, limits)` makes the document; every other one is read by `plain`.
_READERS = {
    **dict.fromkeys((".html", ".htm", ".xhtml"), "memctl.extract.html"),
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
        reason = f"it has {len(data):,} bytes, and the limit is {limits.bytes:,}"
        raise errors.DocumentUnreadable(path=name, reason=reason)
    import warnings

    read: Reader = import_module(_READERS.get(suffix_of(name), "memctl.extract.plain")).read
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # libraries warn about what they skip: nothing the user can act on
            return read(data, name, limits)
    except Exception as exc:  # whatever a reader or its library throws, in one sentence
        if isinstance(exc, errors.DocumentUnreadable):
            raise
        from memctl.text.clean import one_line

        detail = one_line(str(exc), _DETAIL)
        detail = f"{type(exc).__name__}: {detail}" if detail else type(exc).__name__
        reason = f"it is damaged, or no {suffix_of(name)} file ({detail})"
        if isinstance(exc, MemoryError | RecursionError):
            is_deep = isinstance(exc, RecursionError)
            reason = "it is nested too deeply" if is_deep else "reading it takes more memory than there is"
        raise errors.DocumentUnreadable(path=name, reason=reason) from exc


def read_file_text(path: str, *, encoding: str = "utf-8") -> str:
    """The text of a file, by its name and its bytes. Raises `Unreadable`, and OSError.

    encoding  of a text file that is not UTF-8 and does not say so itself
    """
    with open(path, "rb") as file:
        data = file.read()
    if encoding != "utf-8" and suffix_of(path) not in BINARY_EXTS:
        data = data.decode(encoding, "replace").encode()
    return document(data, path).text


def library(module: str, package: str, name: str) -> Any:
    """An optional library's module, by its full name. Raises Unreadable with the command that installs it."""
    try:
        return import_module(module)
    except ImportError as exc:
        reason = f"reading {suffix_of(name)} files needs {package}: pip install 'memctl[docs]'"
        raise errors.DocumentUnreadable(path=name, reason=reason, lacking=True) from exc


def anchor_at(anchors: tuple[Anchor, ...], first: int, last: int) -> str:
    """Where the lines first..last stand: "page 3", "slides 2-5", "sheet Budget rows 12-40"; "" if nothing is known."""
    start, end = bisect_left(anchors, (first + 1,)) - 1, bisect_left(anchors, (last + 1,)) - 1
    if end < 0:
        return ""
    start = max(start, 0)  # the text before the first anchor is at no place
    here, there = anchors[start], anchors[end]
    if here.place != there.place:
        one, other = re.match(_NUMBERED, here.place), re.match(_NUMBERED, there.place)
        if one and other and one[1] == other[1]:
            return f"{one[1]}s {one[2]}-{other[2]}"
        return f"{here.place} to {there.place}"
    if here.row is None and start < end:  # a title line of its own above the rows
        here = anchors[start + 1]
        first = here.line
    if here.row is None or there.row is None:
        return here.place
    top, bottom = here.row + max(0, first - here.line), there.row + last - there.line
    return f"{here.place} row {top}" if top >= bottom else f"{here.place} rows {top}-{bottom}"


# --- which files are read, and as what ------------------------------------------------------------------------------


#: How a text is cut: its structure (see `Document.kind`) and its language, "" where it has none.
Kind = tuple[str, str]

_TEXT: Kind = ("text", "")
_MARKDOWN: Kind = ("markdown", "")
_MAN: Kind = ("man", "")

_BY_SUFFIX: dict[str, Kind] = {
    **dict.fromkeys((".md", ".markdown", ".mdown", ".mkd", ".mdx", ".mdc", ".qmd", ".rmd"), _MARKDOWN),
    **dict.fromkeys((".html", ".htm", ".xhtml", ".docx", ".odt", ".pptx", ".odp", ".ipynb", ".eml"), _MARKDOWN),
    ".rst": ("rst", ""),
    **dict.fromkeys((".adoc", ".asciidoc"), ("asciidoc", "")),
    ".org": ("org", ""),
    **dict.fromkeys((".tex", ".latex"), ("latex", "")),
    **dict.fromkeys((".man", ".mdoc"), _MAN),
    **dict.fromkeys((".txt", ".text", ".info", ".log", ".srt", ".vtt", ".pdf"), _TEXT),
    **dict.fromkeys((".diff", ".patch"), _TEXT),
    **dict.fromkeys((".csv", ".tsv", ".xlsx", ".ods"), ("table", "")),
    **dict.fromkeys((".json", ".jsonc", ".json5", ".jsonl", ".ndjson"), ("data", "json")),
    **dict.fromkeys((".yaml", ".yml"), ("data", "yaml")),
    ".toml": ("data", "toml"),
    **dict.fromkeys((".ini", ".cfg", ".conf", ".properties", ".desktop", ".service"), ("data", "ini")),
    **dict.fromkeys((".xml", ".xsd", ".xsl", ".xslt", ".rss", ".atom"), ("data", "xml")),
    **dict.fromkeys((".py", ".pyi", ".pyw"), ("code", "python")),
    **dict.fromkeys((".js", ".jsx", ".mjs", ".cjs"), ("code", "javascript")),
    **dict.fromkeys((".ts", ".tsx", ".mts", ".cts"), ("code", "typescript")),
    **dict.fromkeys((".vue", ".svelte"), ("code", "javascript")),
    ".java": ("code", "java"),
    ".go": ("code", "go"),
    ".rs": ("code", "rust"),
    **dict.fromkeys((".c", ".h"), ("code", "c")),
    **dict.fromkeys((".cpp", ".hpp", ".cc", ".cxx", ".hh", ".hxx"), ("code", "cpp")),
    ".cs": ("code", "csharp"),
    ".css": ("code", "css"),
    ".scss": ("code", "scss"),
    ".less": ("code", "less"),
    **dict.fromkeys((".sh", ".bash", ".zsh", ".ksh"), ("code", "shell")),
    ".sql": ("code", "sql"),
    ".r": ("code", "r"),
    ".jl": ("code", "julia"),
    ".lua": ("code", "lua"),
    ".rb": ("code", "ruby"),
    ".php": ("code", "php"),
    ".swift": ("code", "swift"),
    **dict.fromkeys((".kt", ".kts"), ("code", "kotlin")),
    ".scala": ("code", "scala"),
    **dict.fromkeys((".pl", ".pm"), ("code", "perl")),
    **dict.fromkeys((".ex", ".exs"), ("code", "elixir")),
    ".dockerfile": ("code", "dockerfile"),
    ".mk": ("code", "make"),
    ".cmake": ("code", "cmake"),
    **dict.fromkeys((".tf", ".hcl"), ("code", "hcl")),
    ".proto": ("code", "proto"),
    **dict.fromkeys((".graphql", ".gql"), ("code", "graphql")),
}

#: Well-known names without a telling suffix, in lower case.
_BY_NAME: dict[str, Kind] = {
    **dict.fromkeys(("makefile", "gnumakefile"), ("code", "make")),
    **dict.fromkeys(("dockerfile", "containerfile"), ("code", "dockerfile")),
    "cmakelists.txt": ("code", "cmake"),
    **dict.fromkeys(("gemfile", "rakefile", "vagrantfile"), ("code", "ruby")),
    "jenkinsfile": ("code", "groovy"),
    "justfile": ("code", "make"),
    **dict.fromkeys(("license", "licence", "copying", "notice", "authors", "contributors", "readme"), _TEXT),
    **dict.fromkeys(("changelog", "changes", "news", "install", "todo", "contributing", "codeowners"), _TEXT),
    "go.mod": _TEXT,
    ".editorconfig": ("data", "ini"),
}

#: The suffixes that reading a folder takes in.
INGESTABLE: frozenset[str] = frozenset(_BY_SUFFIX)

#: Their documented name, and those of them that are no text.
ALL_INGESTABLE_EXTS = INGESTABLE
BINARY_EXTS = _FOREIGN - {".eml"}

_SECTIONS = frozenset("12345678")  # of the manual

#: The program a script names in its first line, by how its name begins.
_SCRIPTS = (
    ("python", "python"), ("bash", "shell"), ("sh", "shell"), ("zsh", "shell"), ("dash", "shell"), ("ksh", "shell"),
    ("node", "javascript"), ("deno", "typescript"), ("ruby", "ruby"), ("perl", "perl"), ("lua", "lua"),
    ("Rscript", "r"), ("julia", "julia"), ("php", "php"), ("make", "make"),
)  # fmt: skip


def suffix_of(name: str) -> str:
    """The suffix of a file name in lower case with its dot; "" when there is none."""
    stem, dot, suffix = name.replace("\\", "/").rstrip("/").rpartition("/")[2].lower().rpartition(".")
    return dot + suffix if stem or suffix == "dockerfile" else ""


def is_ingestable(name: str) -> bool:
    """Whether reading a folder takes this file in: by its suffix or its well-known name."""
    return _known_kind(name) is not None


def kind_of(name: str, text: str = "") -> Kind:
    """The kind of a file by its name; with an unknown name, by the program its first line calls."""
    known = _known_kind(name)
    if known or not text.startswith("#!"):
        return known or _TEXT
    words = text[2:200].partition("\n")[0].replace("/", " ").split()
    words = [word for word in words if word not in ("usr", "bin", "env", "local", "-S")]
    program = words[0] if words else ""
    return "code", next((language for start, language in _SCRIPTS if program.startswith(start)), "")


def _known_kind(name: str) -> Kind | None:
    """The kind that a name tells: a well-known one, its suffix, or a page of the manual.

    `rsync.1` is one; `v1.2`, `libz.so.1` and `app.log.1` are none.
    """
    base = name.replace("\\", "/").rstrip("/").rpartition("/")[2].lower()
    if base[-1:].isdecimal():
        stem, _, section = base.rpartition(".")
        is_page = section in _SECTIONS and not stem.endswith((".so", ".log", ".dylib"))
        if is_page and sum(map(str.isalpha, stem)) > 1:
            return _MAN
    start = "dockerfile" if base.startswith("dockerfile.") else base
    return _BY_NAME.get(start) or _BY_SUFFIX.get(suffix_of(name))
