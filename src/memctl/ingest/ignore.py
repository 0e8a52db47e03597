"""Ignore files: what their patterns mean, and which of them hold in which folder of a walk.

From the weakest to the strongest: ours, .git/info/exclude, .gitignore, .memctlignore (of each the nearest folder
first), and what the user typed. Inside a git work tree the ignore files between its top and the folder that is walked
hold too, as they do for git; a repository within another has only its own .gitignore files. A user's global excludes
are not asked: what a folder holds for memctl must not depend on the machine.

A pattern is translated once, into a dictionary entry or a branch of one regular expression, so that a name costs about
the same whether a file holds five patterns or fifty. A star that another one follows takes the nearest fit and never
gives it back, which is right for globs and keeps hostile patterns linear. One thing differs from git, which compares
bytes: `?` and `[...]` stand for one character here, so that `?.md` fits `é.md`.
"""

import os
import re
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from memctl import errors
from memctl.paths import read_file

#: A longer pattern fits no path that a system can open.
MAX_PATTERN = 4096

_SPECIAL = frozenset("*?[\\")

_BLOCK = 32  # patterns in one regular expression

_ASCII_CLASSES = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "blank": r" \t", "cntrl": r"\x00-\x1f\x7f", "digit": "0-9",
    "graph": r"\x21-\x7e", "lower": "a-z", "print": r"\x20-\x7e", "punct": r"\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e",
    "space": r" \t-\r", "upper": "A-Z", "xdigit": "0-9A-Fa-f",
}  # fmt: skip


class IgnoreRule(NamedTuple):
    """One pattern. `place` says where it stands, for people: ".gitignore:3".

    body     the pattern without `!` and the slashes at its ends
    by_name  it is compared with a name at any depth, not with the path below the folder of its file
    is_vague it consists of wildcards only, like `!*/`
    """

    text: str
    place: str
    body: str
    negated: bool
    folders_only: bool
    by_name: bool
    is_vague: bool


class IgnorePatterns:
    """The patterns of one ignore file; the last one that fits decides.

    `base` is the folder of the file, with a slash at its end, relative to where the paths given to `find` start ("" if
    it is the same). `broken`: the patterns that fit nothing because they cannot be understood.
    """

    __slots__ = ("_base", "_files", "_folders", "broken", "rules")

    def __init__(self, rules: Iterable[IgnoreRule], base: str = "") -> None:
        every = list(rules)
        patterns = [_translate(rule) for rule in every]
        self.rules = [rule for rule, pattern in zip(every, patterns, strict=True) if pattern is not None]
        self.broken = [rule for rule, pattern in zip(every, patterns, strict=True) if pattern is None]
        known = [pattern for pattern in patterns if pattern is not None]
        self._base = len(base)
        self._folders = _Table(enumerate(known), self.rules)
        files = [(n, pattern) for n, pattern in enumerate(known) if not self.rules[n].folders_only]
        self._files = _Table(files, self.rules) if len(files) < len(known) else self._folders

    def find(self, name: str, path: str, *, is_folder: bool) -> IgnoreRule | None:
        """The rule that decides about the entry with this name and path, if one does. It may be a negated one."""
        n = (self._folders if is_folder else self._files).find(name, path, self._base)
        return self.rules[n] if n >= 0 else None


def parse_rules(text: str, place: str) -> list[IgnoreRule]:
    """The rules in the text of an ignore file called `place`. Lines longer than a path can be are left out."""
    out = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line and not line.startswith("#") and len(line) <= MAX_PATTERN:
            pattern = line.removesuffix("\r").partition("\0")[0]
            bare = pattern.rstrip(" ")  # blanks at the end go, but not one after a backslash
            is_kept = len(bare) < len(pattern) and (len(bare) - len(bare.rstrip("\\"))) % 2
            out.append(parse_rule(bare + " " if is_kept else bare, f"{place}:{number}"))
    return out


def parse_rule(text: str, place: str) -> IgnoreRule:
    """One pattern as a rule."""
    negated = text.startswith("!")
    body = text[negated:]
    folders_only = body.endswith("/")
    body = body[: len(body) - folders_only]
    by_name = "/" not in body
    is_vague = not body.strip("*?/")
    return IgnoreRule(text, place, body.removeprefix("/"), negated, folders_only, by_name, is_vague)


def parse_typed_rules(patterns: Iterable[str], root: str, place: str = "--ignore") -> list[IgnoreRule]:
    """The rules in patterns that a user typed, relative to the folder `root`; `./a` and `ROOT/a` are its own `a`."""
    out = []
    for pattern in patterns:
        mark, body = ("!", pattern[1:]) if pattern.startswith("!") else ("", pattern)
        if body.startswith("./"):
            body = body[1:]
        elif body.startswith(root + "/"):
            body = body[len(root) :]
        out.append(parse_rule(mark + body, place))
    return out


def path_test(pattern: str) -> Callable[[str], bool]:
    """A test for whole paths: does this pattern, relative to where they start, fit? A broken one fits nothing."""
    regex = _Translation(pattern).regex()
    if regex is None:
        return lambda _: False
    match = re.compile(regex, re.DOTALL).fullmatch
    return lambda path: match(path) is not None


def _translate(rule: IgnoreRule) -> tuple[str, str] | None:
    """A pattern as (how it is compared, what with): the whole text, a tail such as ".log", or a regex; None: broken."""
    if _SPECIAL.isdisjoint(rule.body):
        return "is", rule.body
    tail = rule.body[1:]
    if rule.by_name and rule.body.startswith("*.") and _SPECIAL.isdisjoint(tail) and "." not in tail[1:]:
        return "ends", tail
    regex = _Translation(rule.body).regex()
    return None if regex is None else ("fits", regex)


class _Table:
    """Patterns by how they are looked up; each lookup gives the number of the last rule that fits, or -1."""

    __slots__ = ("_has_paths", "_names", "_paths", "_tails", "_wild_name", "_wild_path")

    def __init__(self, patterns: Iterable[tuple[int, tuple[str, str]]], rules: list[IgnoreRule]) -> None:
        self._names: dict[str, int] = {}
        self._tails: dict[str, int] = {}
        self._paths: dict[str, int] = {}
        wild_names: dict[str, int] = {}
        wild_paths: dict[str, int] = {}
        for n, (how, what) in patterns:
            by_name = rules[n].by_name
            if how == "is":
                (self._names if by_name else self._paths)[what] = n
            elif how == "ends":
                self._tails[what] = n
            else:
                (wild_names if by_name else wild_paths)[what] = n
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
        if self._has_paths:
            path = path[base:]
            best = max(best, self._paths.get(path, -1))
            if self._wild_path is not None:
                best = max(best, self._wild_path(path))
        return best


def _last_of(numbers: dict[str, int]) -> Callable[[str], int] | None:
    """A function that tells the highest number whose regex fits a text, or -1; None if there are no regexes."""
    # Of several branches that fit, a regex takes the first, so the last pattern stands first. Blocks, because the time
    # for a branch grows with the number of groups before it.
    branches = []
    for regex, n in sorted(numbers.items(), key=lambda item: -item[1]):
        unique = regex.replace("(?P<s", f"(?P<s{n}_").replace("(?P=s", f"(?P=s{n}_")  # group names, in the whole
        branches.append(f"(?P<r{n}>{unique})")
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


class _Translation:
    """One pass over a pattern, which is a row of pieces with stars between them, to a regex for `fullmatch` (DOTALL).

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
        """The pattern as a regular expression; None if it can fit nothing."""
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
            if self._part:  # what stands between this star and one before takes the nearest fit
                self._done += self._nearest("[^/]*?" + self._part) if self._star else self._part
            self._part, self._star = "", "[^/]*"
            return end
        self._end_name("")
        if self._gap:  # the names between this `**` and the one before take the nearest fit
            lazy = self._gap.replace(".*", ".*?").replace(")?", ")??")
            self._done = self._nearest(lazy + self._done)
        self._deep.append(self._done)
        self._done = ""
        if end == len(pattern):
            self._gap = ".*"
            return end
        self._gap = "(?:.*/)?" if pattern[end] == "/" else ".*/"
        return end + (1 if pattern[end] == "/" else 2)

    def _end_name(self, slash: str) -> None:
        self._done += self._star + self._part + slash
        self._star = self._part = ""

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
        at += is_range
        at += pattern[at : at + 1] == "\\"  # it protects the character behind it
        if at >= len(pattern):
            return None
        char, at = pattern[at], at + 1
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


MEMCTLIGNORE, GITIGNORE, GIT = ".memctlignore", ".gitignore", ".git"

#: Names whose presence changes what is read of a folder.
TELLING = frozenset((MEMCTLIGNORE, GITIGNORE, GIT, "pyvenv.cfg", "CACHEDIR.TAG"))

#: An ignore file that is larger is none that a person or a tool has written for git.
MAX_BYTES = 256 * 1024

#: Folders that are never walked when they are met; no pattern takes that back. A user can still name one.
FIXED = {
    **dict.fromkeys((".git", ".hg", ".svn", ".bzr", ".jj", "_darcs"), "the files of a version control system"),
    ".memory": "a store's folder",
}  # fmt: skip

#: What else holds nothing to remember: installed packages, caches, leftovers of editors, files written by tools.
DEFAULTS = (
    "node_modules/", "bower_components/", "jspm_packages/", ".pnpm-store/", "site-packages/", "__pypackages__/",
    ".venv/", "venv/", ".venvs/", ".tox/", ".nox/", ".direnv/", ".bundle/", "CVS/", ".idea/", ".eggs/", "*.egg-info/",
    "__pycache__/", ".mypy_cache/", ".ruff_cache/", ".pytest_cache/", ".hypothesis/", ".ipynb_checkpoints/",
    ".cache/", ".gradle/", ".terraform/", ".next/", ".nuxt/", ".svelte-kit/", ".angular/", ".parcel-cache/", ".turbo/",
    ".dart_tool/", ".stack-work/",
    "**/.claude/eco/", "**/.claude/commands/", "**/.claude/settings*.json", ".claude.json", ".agent_logs/",
    "**/.local/state/memctl/",
    "*~", ".#*", r"\#*#", "._*", "*.swp", "*.swo",
    "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "packages.lock.json", "conda-lock.yml",
    ".terraform.lock.hcl", "*.min.js", "*.min.css",
)  # fmt: skip

_TAG = b"Signature: 8a477f597d28d172789f06886806bc55"


class IgnoreScope(NamedTuple):
    """The rules in a folder: of .memctlignore and of git, nearest first, and all together, strongest first."""

    own: tuple[IgnorePatterns, ...]
    git: tuple[IgnorePatterns, ...]
    every: tuple[IgnorePatterns, ...]

    def find(self, name: str, path: str, *, is_folder: bool) -> IgnoreRule | None:
        """The rule that decides about this entry of the folder, if one does; a negated one keeps it."""
        for patterns in self.every:
            found = patterns.find(name, path, is_folder=is_folder)
            if found is not None:
                # `!*/` opens the folders that its own file closed with `*`: it does not mean node_modules.
                is_vague = found.negated and found.is_vague
                return (is_vague and self.every[-1].find(name, path, is_folder=is_folder)) or found
        return None

    def left_out(self, name: str, path: str, *, is_folder: bool) -> tuple[str, bool]:
        """Why an entry is left out ("" if it is not), and whether a rule has asked for it by name."""
        if is_folder and name in FIXED:
            return FIXED[name], False
        rule = self.find(name, path, is_folder=is_folder)
        if rule is None:
            return "", False
        return ("", not rule.is_vague) if rule.negated else (f"ignored by {rule.place}: {rule.text}", False)


class RuleFiles:
    """Finds and reads the ignore files for one walk below `root`, a canonical path.

    `lead` is `root` relative to the top of its work tree, with a slash at its end ("" when it is the top, or there is
    none): paths given to the rules start there. `problems`: the (path, reason) of ignore files that were not used.
    """

    def __init__(self, root: str, ignore: Iterable[str] = ()) -> None:
        self.root = root
        self.problems: list[tuple[str, str]] = []
        top = root  # the nearest folder from the root upward that holds `.git`, if one does
        while not os.path.lexists(os.path.join(top, GIT)):
            if os.path.dirname(top) == top:
                top = root
                break
            top = os.path.dirname(top)
        self.lead = root[len(top) :].strip("/") + "/" if root != top else ""
        typed = IgnorePatterns(parse_typed_rules(ignore, root), self.lead)
        self._typed = (typed,) if typed.rules else ()
        self._ours = IgnorePatterns(parse_rule(text, "memctl's defaults") for text in DEFAULTS)
        self.start = self._above(top)

    def inside(self, scope: IgnoreScope, folder: str, base: str, present: Collection[str]) -> IgnoreScope:
        """The rules in `folder`, `base` for short, given those above it and which of the TELLING names it holds."""
        own, git = scope.own, scope.git
        if GIT in present:
            git = self._read(_exclude_file(folder), base)
        if GITIGNORE in present:
            git = (*self._read(os.path.join(folder, GITIGNORE), base), *git)
        if MEMCTLIGNORE in present:
            own = (*self._read(os.path.join(folder, MEMCTLIGNORE), base), *own)
        return scope if (own, git) == (scope.own, scope.git) else self._scope(own, git)

    def why_not(self, path: str, *, is_folder: bool) -> str:
        """Why a walk would not come to `path`, which is below the root; "" if it would. Links are not looked at."""
        scope, folder, base = self.start, self.root, self.lead
        told = len(self.problems)
        parts = path[len(self.root) :].strip("/").split("/")
        reason = ""
        for n, name in enumerate(parts):
            present = _present_in(folder)
            reason = reason or (tagged(folder, present) if n else "")
            if reason:
                break
            scope = self.inside(scope, folder, base, present)
            walked = is_folder or n < len(parts) - 1
            reason = scope.left_out(name, base + name, is_folder=walked)[0]
            folder, base = os.path.join(folder, name), f"{base}{name}/"
        del self.problems[told:]  # the walk itself tells them
        return reason

    def _above(self, top: str) -> IgnoreScope:
        """The rules that hold where the root is. If they leave out the root itself, none: the user has named it."""
        scope, folder, base = self._scope((), ()), top, ""
        for name in self.lead.split("/")[:-1]:
            scope = self.inside(scope, folder, base, _present_in(folder))
            rule = scope.find(name, base + name, is_folder=True)
            if rule is not None and not rule.negated:
                return self._scope((), ())
            folder, base = os.path.join(folder, name), f"{base}{name}/"
        return scope

    def _scope(self, own: tuple[IgnorePatterns, ...], git: tuple[IgnorePatterns, ...]) -> IgnoreScope:
        return IgnoreScope(own, git, (*self._typed, *own, *git, self._ours))

    def _read(self, path: str, base: str) -> tuple[IgnorePatterns, ...]:
        if not os.path.lexists(path):
            return ()
        try:
            text = _text(path)
        except errors.DocumentUnreadable as exc:
            self.problems.append((path, f"its patterns are not used: {exc.fields['reason']}"))
            return ()
        shown = os.path.relpath(path, self.root)
        if any(len(line) > MAX_PATTERN for line in text.split("\n")):
            self.problems.append((path, f"its patterns of more than {MAX_PATTERN} characters are not used"))
        rules = IgnorePatterns(parse_rules(text, shown), base)
        return (rules,) if rules.rules else ()


def tagged(folder: str, present: Collection[str]) -> str:
    """What a folder says about itself by a file in it, if that is a reason to leave it out."""
    if "pyvenv.cfg" in present:
        return "a virtual environment (it holds pyvenv.cfg)"
    if "CACHEDIR.TAG" in present:
        try:
            data = read_file(os.path.join(folder, "CACHEDIR.TAG"), MAX_BYTES)[0]
        except errors.DocumentUnreadable:
            return ""
        if data.startswith(_TAG):
            return "a cache (it holds CACHEDIR.TAG)"
    return ""


def _present_in(folder: str) -> list[str]:
    """Which of the TELLING names a folder holds."""
    return [name for name in TELLING if os.path.lexists(os.path.join(folder, name))]


def _exclude_file(folder: str) -> str:
    """Where the repository of a work tree has its own patterns ("" if that is nowhere).

    A linked work tree has a file for `.git`, and its patterns are where those of the main one are.
    """

    def said(path: str) -> str:
        try:
            return _text(path).strip().replace("\0", "")
        except errors.DocumentUnreadable:
            return ""

    git = os.path.join(folder, GIT)
    if not os.path.isdir(git):
        word, _, place = said(git).partition(":")
        if word != "gitdir":
            return ""
        git = os.path.join(folder, place.strip())
        git = os.path.join(git, said(os.path.join(git, "commondir")))
    return os.path.join(os.path.normpath(git), "info", "exclude")


def _text(path: str) -> str:
    if os.path.islink(path):  # git does not follow them either
        raise errors.DocumentUnreadable(path=path, reason="it is a link")
    data = read_file(path, MAX_BYTES)[0]
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise errors.DocumentUnreadable(path=path, reason="it is UTF-16, and git reads UTF-8")
    return data.decode("utf-8-sig", "surrogateescape")
