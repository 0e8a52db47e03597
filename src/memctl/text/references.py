"""What a text refers to: files and lines, symbols of code, addresses, versions, commits; CVE ids and days besides.

A document as statements cite it (`CitedDocument`): its lines, its definitions, and the text at a place, by which a
change is noticed.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from zlib import crc32

from memctl.annotations import NamedTuple

#: References of one text that are kept.
MOST = 50
#: Characters of a reference as it is kept.
CITED_CHARS = 300
#: Files that are known by their whole name.
_NAMES = r"(?:Makefile|Dockerfile|Jenkinsfile|Rakefile|Gemfile|Justfile|CMakeLists\.txt)"
_LINES = r"(?::(\d{1,7})(?:-(\d{1,7}))?|#L(\d{1,7})(?:-L?(\d{1,7}))?|,? \(?lines? (\d{1,7})(?:\s?[-–]\s?(\d{1,7}))?\)?)"  # noqa: RUF001
_WORD = r"[A-Za-z_$][\w$]{0,100}"
_SYMBOL = (
    rf"`{_WORD}(?:(?:\.|::|#){_WORD}){{0,8}}(?:\([^`\n]{{0,200}}\))?`"
    r"|(?<![\w.])[A-Za-z_]\w{0,100}(?:(?:\.|::)[A-Za-z_]\w{0,100}){0,8}\(\)"
)
_PATH = (
    rf"(?<![\w/.@])(?:(?:~|\.{{1,2}})?/)?(?:[\w@.+-]{{1,100}}/){{0,30}}"
    rf"(?:{_NAMES}|[\w@+-][\w@.+-]{{0,100}}\.[A-Za-z][A-Za-z0-9]{{0,9}})(?![\w/@]|\(\)){_LINES}?"
)
_VERSION = (
    r"\bv\d{1,5}(?:\.\d{1,6}){1,3}[\w.+-]{0,20}\b|\b[A-Z][\w+#-]{1,40} \d{1,4}\.\d{1,4}(?:\.\d{1,6}){0,2}\b"
    r"|(?<![\w.])\d{1,4}\.\d{1,4}\.\d{1,6}(?:[-+.]?(?:a|b|rc|alpha|beta|dev|post)\.?\d{0,4})?(?![\w.]\w)"
)
#: In order: of what fits several, the first counts.
_PATTERNS = (
    ("url", r"(?:https?|ftp)://[^\s<>\"'`\]|]{3,500}"),
    ("cve", r"\bCVE-\d{4}-\d{4,7}\b"),
    ("path", _PATH),
    ("commit", r"\b(?:(?<=[Cc]ommit )|(?<=revision )|(?<=@))[0-9a-f]{7,40}\b|\b[0-9a-f]{40}\b"),
    ("symbol", _SYMBOL),
    ("date", r"\b\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])\b"),
    ("version", _VERSION),
)
#: What statements are held to; the others are only named (`memctl entities`).
CITED = ("path", "symbol", "url", "version", "commit")
#: What is in every text that refers to something; the expression of all kinds costs far more than to look for these.
_SIGNS = ("`", "()", "://", "@")
_FILES = ("kefile", "rfile", "sfile", "mfile", "tfile")
_POINTED = re.compile(r"\.[A-Za-z]")
#: Digits of a commit as one sign: to look for seven of it takes a tenth of an expression's time.
_HEXADECIMAL = bytes(120 if byte in b"0123456789abcdef" else 32 for byte in range(256))
_COMMIT = b"x" * 7
#: What names a version, and the kinds that need none of the signs above.
_NUMBERED, _PLAIN_KINDS = re.compile(r"\d\.\d"), ("cve", "date", "version")
#: Endings by which a bare word is a file; those of domains and of names of things are not among them.
_SUFFIXES = (
    " py pyi js mjs jsx ts tsx java kt scala cs swift php go rs c h cc cpp hpp rb ex exs lua pl pm jl r sh bash zsh "
    "sql toml ini cfg conf yaml yml json jsonl xml html css scss md rst txt tex org adoc csv tsv ipynb pdf docx odt "
    "xlsx ods pptx odp eml tf gradle lock env proto graphql vue svelte "
)
#: A host of several labels; a word of two may be a file (`notes.org`), one that begins as packages of Java do is code.
_HOST = re.compile(
    r"(?!(?:com|org|net|io|de)\.)(?:[a-z0-9][a-z0-9-]{0,62}\.){2,8}"
    r"(?:com|org|net|edu|gov|mil|io|dev|eu|de|fr|ch|at|uk)"
)
#: What may follow a path or an address, and is none of it.
_AFTER = ".,;:!?)}'"


class Reference(NamedTuple):
    """Something that a text refers to.

    kind    path, symbol, url, version or commit; of what is only named host, cve or date
    cited   in the words of the text
    target  the path, the dotted name of the symbol, the address …
    lines   of a path: first and last, from 1
    """

    kind: str
    cited: str
    target: str
    lines: tuple[int, int] | None = None


def find_references(text: str) -> list[Reference]:
    """What a statement refers to, each once, in the order of the text."""
    found: dict[tuple[str, str, object], Reference] = {}
    kinds = _kinds_in(text)
    for one in find_named(text, kinds) if kinds is not None else ():
        if one.kind in CITED:
            found.setdefault((one.kind, one.target, one.lines), one)
            if len(found) == MOST:
                break
    return list(found.values())


def may_refer(text: str) -> bool:
    """Whether `find_references` has to be asked: of a text without the signs of any it finds none."""
    return _kinds_in(text) is not None


def _kinds_in(text: str) -> "tuple[str, ...] | None":
    """Which kinds a text may name, as `find_named` takes them: (), all; None where it can name none of CITED."""
    has_point = "." in text
    if any(map(text.__contains__, _SIGNS)) or ("file" in text and any(map(text.__contains__, _FILES))):
        return ()
    if has_point and _POINTED.search(text):
        return ()
    if _COMMIT in text.encode("utf-8", "surrogatepass").translate(_HEXADECIMAL):
        return ()
    return _PLAIN_KINDS if has_point and _NUMBERED.search(text) else None


def find_named(text: str, kinds: "tuple[str, ...]" = ()) -> Iterator[Reference]:
    """All that a text names, in its order: references, hosts, CVE ids and days; `memctl.text.named` looks for more.

    kinds  only these; of what fits one of them and another kind, too, the caller knows that there is none
    """
    for match in _pattern(kinds).finditer(text):
        kind, said = match.lastgroup or "", match[match.lastgroup or 0]
        if kind == "path":
            lines = [number for number in match.groups()[1:] if number and number.isdecimal()]
            behind = re.search(_LINES + r"\)?$", said) if lines else None
            path = said[: behind.start()] if behind else said
            if _HOST.fullmatch(path):
                yield Reference("host", path, path)
                continue
            if lines or "/" in path or _is_file(path):
                first = int(lines[0]) if lines else 0
                last = int(lines[-1]) if lines else 0
                span = (first, last) if 0 < first <= last else None
                yield Reference(kind, said.rstrip(_AFTER if not lines else ",. "), path, span)
            continue
        if kind == "url":
            said = said.rstrip(_AFTER)
        target = said
        if kind == "symbol":
            target = re.sub("::|#", ".", said.strip("`").partition("(")[0])
        yield Reference(kind, said[:CITED_CHARS], target[:CITED_CHARS])


def parse_place(given: str) -> Reference:
    """A place that somebody names: `PATH`, `PATH:40` or `PATH:40-52`."""
    head, _, tail = given.rpartition(":")
    first, dash, last = tail.partition("-")
    if head and first.isdecimal() and (last.isdecimal() or not dash) and len(tail) < 16:
        span = int(first), int(last if dash else first)
        if 0 < span[0] <= span[1]:
            return Reference("path", given, head, span)
    return Reference("path", given, given)


def _is_file(name: str) -> bool:
    if "@" in name and name.endswith(".org"):  # an address of mail
        return False
    return bool(re.fullmatch(_NAMES, name)) or f" {name.rpartition('.')[2].lower()} " in _SUFFIXES


@lru_cache(maxsize=2)
def _pattern(kinds: tuple[str, ...]) -> "re.Pattern[str]":
    return re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _PATTERNS if not kinds or kind in kinds))


#: A line that ends a definition and stands no deeper than its header.
_CLOSERS = ("}", ")", "]", "end")


class CitedPlace(NamedTuple):
    """A place in a document: its lines from 1, the last one inclusive, and the definition that it is, if it is one."""

    start: int
    end: int
    symbol: str = ""


class CitedDocument:
    """The lines of a document, as its passages hold them."""

    def __init__(self, path: str, pieces: Iterable[tuple[int, str]], language: str = "") -> None:
        """`pieces`: texts with the line that each begins at; `language`: of code, else ""."""
        self.path, self.language = path, language
        self.lines: list[str] = []
        for start, text in pieces:
            self.lines += [""] * (start - 1 - len(self.lines))
            self.lines[start - 1 :] = text.split("\n")

    def text(self, place: CitedPlace) -> str:
        """The text at a place, without common indent, blanks at the ends of lines, and blank lines around it."""
        import textwrap

        return textwrap.dedent("\n".join(line.rstrip() for line in self.lines[place.start - 1 : place.end])).strip("\n")

    @property
    def whole(self) -> CitedPlace:
        """All of the document."""
        return CitedPlace(1, max(len(self.lines), 1))

    def place_of_lines(self, first: int, last: int) -> CitedPlace | None:
        """What is cited by lines: these, and of one line alone the definition or paragraph that it stands in.

        None where the document has no such lines.
        """
        if last > len(self.lines) or not any(map(str.strip, self.lines[first - 1 : last])):
            return None
        if last > first:
            filled = [number for number in range(first, last + 1) if self.lines[number - 1].strip()]
            return CitedPlace(filled[0], filled[-1])
        around = [one for many in self.definitions.values() for one in many if one.start <= first <= one.end]
        if around:
            return min(around, key=lambda one: (one.end - one.start, one.start))
        start = end = first
        while start > 1 and self.lines[start - 2].strip():
            start -= 1
        while end < len(self.lines) and self.lines[end].strip():
            end += 1
        return CitedPlace(start, end)

    def find_symbol(self, name: str) -> list[CitedPlace]:
        """The definitions of this name, dotted as far as it is told (`Store.open`), the outermost first."""
        tail = name.rpartition(".")[2]
        found = [one for one in self.definitions.get(tail, ()) if f".{one.symbol}".endswith(f".{name}")]
        if not found and "." in name:  # a module in front of it
            found = [one for one in self.definitions.get(tail, ()) if self._is_within(name.rpartition(".")[0], one)]
        return sorted(found, key=lambda one: (one.symbol.count("."), one.start))

    def _is_within(self, prefix: str, place: CitedPlace) -> bool:
        stem = re.sub(r"(/__init__)?\.[^./]+$", "", self.path).replace("/", ".")
        outer = place.symbol.rpartition(".")[0]
        return f".{stem}{'.' + outer if outer else ''}".endswith(f".{prefix}")

    def fingerprint(self, place: CitedPlace) -> str:
        """What tells whether the text at a place is the same: its hash, and a mark of its first line."""
        from memctl.ids import content_hash

        text = self.text(place)
        return f"{content_hash(text)}-{crc32(text.partition(chr(10))[0].strip().encode()):08x}"

    def find_text(self, wanted: str, count: int, near: int) -> CitedPlace | None:
        """The place of `count` lines that have this fingerprint, the nearest to a line; None where there is none."""
        starts = self._marked.get(wanted[-8:], [])
        for place in (CitedPlace(at, at + count - 1) for at in sorted(starts, key=lambda at: abs(at - near))):
            if self.fingerprint(place) == wanted:
                return place
        return None

    @cached_property
    def _marked(self) -> dict[str, list[int]]:
        """The lines by the mark that each would have as the first one of a text."""
        out: dict[str, list[int]] = {}
        for number, line in enumerate(self.lines, 1):
            out.setdefault(f"{crc32(line.strip().encode()):08x}", []).append(number)
        return out

    @cached_property
    def definitions(self) -> dict[str, list[CitedPlace]]:
        """The definitions by their last name; two of one full name are told apart by their order only."""
        out: dict[str, list[CitedPlace]] = {}
        for place in self._parsed() if self.language == "python" else self._outlined():
            out.setdefault(place.symbol.rpartition(".")[2], []).append(place)
        return out

    def _parsed(self) -> Iterator[CitedPlace]:
        """The definitions of Python, by its own parser; what it does not read is outlined as any other language is."""
        import ast
        import warnings

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse("\n".join(self.lines))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            yield from self._outlined()
            return
        waiting: list[tuple[ast.AST, str]] = [(tree, "")]
        while waiting:
            node, outer = waiting.pop()
            for child in ast.iter_child_nodes(node):
                name = outer
                if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    name = f"{outer}.{child.name}" if outer else child.name
                    first = min([child.lineno, *(one.lineno for one in child.decorator_list)])
                    yield CitedPlace(first, child.end_lineno or child.lineno, name)
                if not isinstance(child, ast.expr):
                    waiting.append((child, name))

    def _outlined(self) -> Iterator[CitedPlace]:
        """The definitions of other languages: each goes as far as lines are indented deeper, with what closes it."""
        from memctl.text.chunking import code_outline

        if not self.language:
            return
        offsets = [0]
        for line in self.lines:
            offsets.append(offsets[-1] + len(line) + 1)
        marks = code_outline("\n".join(self.lines), self.language)
        starts = [bisect_right(offsets, offset) for offset in marks.offsets]
        around: list[tuple[int, str]] = []
        for at, (rank, name) in enumerate(zip(marks.ranks, marks.names, strict=True)):
            if not name:
                continue
            while around and around[-1][0] >= rank:
                around.pop()
            around.append((rank, name))
            most = next((starts[n] - 1 for n in range(at + 1, len(starts)) if marks.ranks[n] <= rank), len(self.lines))
            end = self._block_end(starts[at], most, rank // 2)
            yield CitedPlace(starts[at], end, ".".join(one for _, one in around))

    def _block_end(self, start: int, most: int, indent: int) -> int:
        """The last line of a block that begins at a line, with what stands above its header, and ends by `most`."""
        end, inside = start, False
        for number in range(start, most + 1):
            line = self.lines[number - 1]
            bare = line.strip()
            if not bare:
                continue
            deep = len(line) - len(line.lstrip())
            if deep > indent:
                inside, end = True, number
            elif inside and bare.startswith(_CLOSERS):
                end = number
                if not bare.endswith(("{", "(", "[", ",")):
                    break
            elif inside:
                break
            else:
                end = number
        return end
