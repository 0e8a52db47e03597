"""The patterns of ignore files, with the meaning they have for git.

A pattern is translated once, into a dictionary entry or a branch of one regular expression, so that a name costs about
the same whether a file holds five patterns or fifty. A star that another one follows takes the nearest fit and never
gives it back, which is right for globs and keeps hostile patterns linear. One thing differs from git, which compares
bytes: `?` and `[...]` stand for one character here, so that `?.md` fits `é.md`.
"""

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

#: A longer pattern fits no path that a system can open.
MAX_PATTERN = 4096

_SPECIAL = frozenset("*?[\\")

_BLOCK = 32  # patterns in one regular expression

_ASCII_CLASSES = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "blank": r" \t", "cntrl": r"\x00-\x1f\x7f", "digit": "0-9",
    "graph": r"\x21-\x7e", "lower": "a-z", "print": r"\x20-\x7e", "punct": r"\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e",
    "space": r" \t-\r", "upper": "A-Z", "xdigit": "0-9A-Fa-f",
}  # fmt: skip


class Rule(NamedTuple):
    """One pattern. `place` says where it stands, for people: ".gitignore:3".

    body     the pattern without `!` and the slashes at its ends
    by_name  it is compared with a name at any depth, not with the path below the folder of its file
    vague    it consists of wildcards only, like `!*/`
    """

    text: str
    place: str
    body: str
    negated: bool
    folders_only: bool
    by_name: bool

    @property
    def vague(self) -> bool:
        """Whether it names nothing."""
        return not self.body.strip("*?/")


class Rules:
    """The patterns of one ignore file; the last one that fits decides.

    `base` is the folder of the file, with a slash at its end, relative to where the paths given to `find` start ("" if
    it is the same). `broken`: the patterns that fit nothing because they cannot be understood.
    """

    __slots__ = ("_base", "_files", "_folders", "broken", "rules")

    def __init__(self, rules: Iterable[Rule], base: str = "") -> None:
        every = list(rules)
        patterns = [_pattern(rule) for rule in every]
        self.rules = [rule for rule, pattern in zip(every, patterns, strict=True) if pattern is not None]
        self.broken = [rule for rule, pattern in zip(every, patterns, strict=True) if pattern is None]
        known = [pattern for pattern in patterns if pattern is not None]
        self._base = len(base)
        self._folders = _Table(enumerate(known), self.rules)
        files = [(n, pattern) for n, pattern in enumerate(known) if not self.rules[n].folders_only]
        self._files = _Table(files, self.rules) if len(files) < len(known) else self._folders

    def find(self, name: str, path: str, folder: bool) -> Rule | None:
        """The rule that decides about the entry with this name and path, if one does. It may be a negated one."""
        n = (self._folders if folder else self._files).find(name, path, self._base)
        return self.rules[n] if n >= 0 else None


def parse(text: str, place: str) -> list[Rule]:
    """The rules in the text of an ignore file called `place`. Lines longer than a path can be are left out."""
    out = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line and not line.startswith("#") and len(line) <= MAX_PATTERN:
            pattern = _trimmed(line.removesuffix("\r").partition("\0")[0])
            out.append(rule_of(pattern, f"{place}:{number}"))
    return out


def rule_of(text: str, place: str) -> Rule:
    """One pattern as a rule."""
    negated = text.startswith("!")
    body = text[negated:]
    folders_only = body.endswith("/")
    body = body[: len(body) - folders_only]
    by_name = "/" not in body
    return Rule(text, place, body.removeprefix("/"), negated, folders_only, by_name)


def of_command(patterns: Iterable[str], root: str, place: str = "--ignore") -> list[Rule]:
    """The rules in patterns that a user typed, relative to the folder `root`; `./a` and `ROOT/a` are its own `a`."""
    out = []
    for pattern in patterns:
        mark, body = ("!", pattern[1:]) if pattern.startswith("!") else ("", pattern)
        if body.startswith("./"):
            body = body[1:]
        elif body.startswith(root + "/"):
            body = body[len(root) :]
        out.append(rule_of(mark + body, place))
    return out


def fits(pattern: str) -> Callable[[str], bool]:
    """A test for whole paths: does this pattern, relative to where they start, fit? A broken one fits nothing."""
    regex = translate(pattern)
    if regex is None:
        return lambda _: False
    match = re.compile(regex, re.DOTALL).fullmatch
    return lambda path: match(path) is not None


def _trimmed(line: str) -> str:
    # Blanks at the end go, but not one after a backslash.
    bare = line.rstrip(" ")
    blanks = len(line) - len(bare)
    slashes = len(bare) - len(bare.rstrip("\\"))
    return bare + " " if blanks and slashes % 2 else bare


class _Pattern(NamedTuple):
    """A translated pattern: a text to compare with, a tail such as ".log" that names end with, or a regex."""

    literal: str | None = None
    tail: str = ""
    regex: str = ""


def _pattern(rule: Rule) -> _Pattern | None:
    if _SPECIAL.isdisjoint(rule.body):
        return _Pattern(literal=rule.body)
    tail = rule.body[1:]
    if rule.by_name and rule.body.startswith("*.") and _SPECIAL.isdisjoint(tail) and "." not in tail[1:]:
        return _Pattern(tail=tail)
    regex = translate(rule.body)
    return None if regex is None else _Pattern(regex=regex)


class _Table:
    """Patterns by how they are looked up; each lookup gives the number of the last rule that fits, or -1."""

    __slots__ = ("_has_paths", "_names", "_paths", "_tails", "_wild_name", "_wild_path")

    def __init__(self, patterns: Iterable[tuple[int, _Pattern]], rules: list[Rule]) -> None:
        self._names: dict[str, int] = {}
        self._tails: dict[str, int] = {}
        self._paths: dict[str, int] = {}
        wild_names: dict[str, int] = {}
        wild_paths: dict[str, int] = {}
        for n, pattern in patterns:
            by_name = rules[n].by_name
            if pattern.literal is not None:
                (self._names if by_name else self._paths)[pattern.literal] = n
            elif pattern.tail:
                self._tails[pattern.tail] = n
            else:
                (wild_names if by_name else wild_paths)[pattern.regex] = n
        self._wild_name, self._wild_path = _last_of(wild_names), _last_of(wild_paths)
        self._has_paths = bool(self._paths or wild_paths)

    def find(self, name: str, path: str, base: int) -> int:
        best = self._names.get(name, -1)
        if self._tails:
            dot = name.rfind(".")
            if dot >= 0:
                n = self._tails.get(name[dot:], -1)
                best = max(n, best)
        if self._wild_name is not None:
            best = max(self._wild_name(name), best)
        return max(best, self._by_path(path[base:])) if self._has_paths else best

    def _by_path(self, path: str) -> int:
        n = self._paths.get(path, -1)
        return n if self._wild_path is None else max(n, self._wild_path(path))


def _last_of(numbers: dict[str, int]) -> Callable[[str], int] | None:
    """A function that tells the highest number whose regex fits a text, or -1; None if there are no regexes."""
    # Of several branches that fit, a regex takes the first, so the last pattern stands first. Blocks, because the time
    # for a branch grows with the number of groups before it.
    branches = [f"(?P<r{n}>{_renamed(regex, n)})" for regex, n in sorted(numbers.items(), key=lambda item: -item[1])]
    blocks = [
        re.compile("|".join(branches[at : at + _BLOCK]), re.DOTALL).fullmatch for at in range(0, len(branches), _BLOCK)
    ]

    def number(text: str) -> int:
        for match in blocks:
            found = match(text)
            if found:
                return int((found.lastgroup or "")[1:])
        return -1

    return number if blocks else None


def _renamed(regex: str, n: int) -> str:
    # Group names are unique in a regex, and these are joined into one.
    return regex.replace("(?P<s", f"(?P<s{n}_").replace("(?P=s", f"(?P=s{n}_")


def translate(pattern: str) -> str | None:
    """The pattern as a regular expression for `fullmatch` with DOTALL; None if it can fit nothing."""
    return _Translation(pattern).regex()


class _Translation:
    """One pass over a pattern, which is a row of pieces with stars between them.

    A star runs within one name or, as `**`, over whole folders. `_done` is what no later star can change.
    """

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._groups = 0
        self._deep: list[str] = []  # what stands before the piece at hand, up to each `**`, that is still open
        self._done = ""  # the names before the one at hand, since the last `**`
        self._star = ""  # the wildcard that opens the part at hand: "" at the beginning, or "[^/]*"
        self._part = ""  # the name at hand since its last star
        self._gap = ""  # the `**` that opened this stretch of names

    def regex(self) -> str | None:
        at = 0
        while at < len(self._pattern):
            step = self._step(at)
            if step is None:
                return None
            at = step
        self._end_name("")
        return "".join(self._deep) + self._gap + self._done

    def _step(self, at: int) -> int | None:
        """Take what stands at `at`; where the next thing starts. None: broken."""
        char = self._pattern[at]
        if char == "*":
            return self._stars(at)
        if char == "/":
            self._end_name("/")
        elif char == "?":
            self._part += "[^/]"
        elif char == "[":
            found = _bracket(self._pattern, at + 1)
            if found is None:
                return None
            self._part += found[0]
            return found[1]
        elif char == "\\":
            if at + 1 == len(self._pattern):
                return None
            if self._pattern[at + 1] == "/":
                self._end_name("/")
            else:
                self._part += re.escape(self._pattern[at + 1])
            return at + 2
        else:
            self._part += re.escape(char)
        return at + 1

    def _stars(self, at: int) -> int:
        pattern, end = self._pattern, at
        while end < len(pattern) and pattern[end] == "*":
            end += 1
        # After a beginning without wildcards, git takes `**` for the deep one even in the middle of a name.
        opens = pattern[at - 1 : at] in ("", "/") or _SPECIAL.isdisjoint(pattern[:at])
        if end - at < 2 or not opens or not (end == len(pattern) or pattern.startswith(("/", "\\/"), end)):
            self._end_part()
            self._star = "[^/]*"
            return end
        self._end_name("")
        self._close_stretch()
        if end == len(pattern):
            self._gap = ".*"
            return end
        self._gap = "(?:.*/)?" if pattern[end] == "/" else ".*/"
        return end + (1 if pattern[end] == "/" else 2)

    def _end_part(self) -> None:
        """A star follows: what stands between it and the star before takes the nearest fit."""
        if self._star and self._part:
            self._done += self._nearest("[^/]*?" + self._part)
        elif self._part:
            self._done += self._part
        elif self._star:
            return
        self._star = self._part = ""

    def _end_name(self, slash: str) -> None:
        self._done += self._star + self._part + slash
        self._star = self._part = ""

    def _close_stretch(self) -> None:
        """Another `**` follows: the names between it and the one before take the nearest fit."""
        if self._gap:
            lazy = self._gap.replace(".*", ".*?").replace(")?", ")??")
            self._deep.append(self._nearest(lazy + self._done))
        else:
            self._deep.append(self._done)
        self._gap = self._done = ""

    def _nearest(self, regex: str) -> str:
        # Looking ahead and then repeating what was seen: an atomic group, also before Python 3.11.
        self._groups += 1
        name = f"s{self._groups}"
        return f"(?=(?P<{name}>{regex}))(?P={name})"


def _bracket(pattern: str, at: int) -> tuple[str, int] | None:
    """The set that opens before `at` as a regex, and where it ends; None when it never does, or names no class."""
    negated = pattern[at : at + 1] in ("!", "^")
    at += negated
    items: list[str] = []
    before = ""  # what a range could start with
    first = True
    while first or pattern[at : at + 1] != "]":
        first = False
        if pattern.startswith("[:", at):
            end = pattern.find("]", at + 2)
            if end < 0:
                return None
            if end > at + 2 and pattern[end - 1] == ":":
                name = pattern[at + 2 : end - 1]
                if name not in _ASCII_CLASSES:
                    return None
                items.append(_ASCII_CLASSES[name])
                before, at = "", end + 1
                continue
        is_range = pattern[at : at + 1] == "-" and before != "" and pattern[at + 1 : at + 2] not in ("", "]")
        taken = _one(pattern, at + is_range)
        if taken is None:
            return None
        char, at = taken
        if is_range:
            if before <= char:
                items.append(f"{re.escape(before)}-{re.escape(char)}")
            before = ""
        else:
            items.append(re.escape(char))
            before = char
    at += 1
    if negated:
        return f"[^/{''.join(items)}]", at
    return (f"(?!/)[{''.join(items)}]" if items else "(?!)"), at


def _one(pattern: str, at: int) -> tuple[str, int] | None:
    """The character at `at`, or the one that a backslash there protects, and what comes after."""
    at += pattern[at : at + 1] == "\\"
    return (pattern[at], at + 1) if at < len(pattern) else None
