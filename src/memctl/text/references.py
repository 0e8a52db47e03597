"""What a text refers to: files and lines, symbols of code, addresses, versions, commits; CVE ids and days besides."""

import re
from collections.abc import Iterator
from functools import lru_cache

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
_SIGNS = ("`", "()", "://", "@", "file", "ommit ", "revision ")
_SIGNED = re.compile(r"\.(?:[A-Za-z]|(?<=\d\.)\d)|[0-9a-f]{40}")
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
    for one in find_named(text) if any(map(text.__contains__, _SIGNS)) or _SIGNED.search(text) else ():
        if one.kind in CITED:
            found.setdefault((one.kind, one.target, one.lines), one)
            if len(found) == MOST:
                break
    return list(found.values())


def find_named(text: str) -> Iterator[Reference]:
    """All that a text names, in its order: references, hosts, CVE ids and days; `memctl.text.named` looks for more."""
    for match in _pattern().finditer(text):
        kind, said = match.lastgroup or "", match[match.lastgroup or 0]
        if kind == "path":
            lines = [number for number in match.groups()[1:] if number and number.isdecimal()]
            path = said[: _path_end(said)]
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


def _path_end(said: str) -> int:
    """Where the lines begin that stand behind a path."""
    found = re.search(_LINES + r"\)?$", said)
    return found.start() if found else len(said)


def _is_file(name: str) -> bool:
    if "@" in name and name.endswith(".org"):  # an address of mail
        return False
    return bool(re.fullmatch(_NAMES, name)) or f" {name.rpartition('.')[2].lower()} " in _SUFFIXES


@lru_cache(maxsize=1)
def _pattern() -> "re.Pattern[str]":
    return re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _PATTERNS))
