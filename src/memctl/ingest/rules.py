"""Which rules hold in which folder of a walk, from the weakest to the strongest: ours, .git/info/exclude, .gitignore,
.memctlignore (of each the nearest folder first), and what the user typed.

Inside a git work tree the ignore files between its top and the folder that is walked hold too, as they do for git; a
repository within another has only its own .gitignore files. A user's global excludes are not asked: what a folder
holds for memctl must not depend on the machine.
"""

import os
from collections.abc import Collection, Iterable
from typing import NamedTuple

from memctl import errors
from memctl.ingest.ignore import MAX_PATTERN, Rule, Rules, of_command, parse, rule_of

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
    "*~", ".#*", r"\#*#", "._*", "*.swp", "*.swo",
    "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "packages.lock.json", "conda-lock.yml",
    ".terraform.lock.hcl", "*.min.js", "*.min.css",
)  # fmt: skip

_TAG = b"Signature: 8a477f597d28d172789f06886806bc55"


class Scope(NamedTuple):
    """The rules in a folder: of .memctlignore and of git, nearest first, and all together, strongest first."""

    own: tuple[Rules, ...]
    git: tuple[Rules, ...]
    every: tuple[Rules, ...]

    def rule(self, name: str, path: str, folder: bool) -> Rule | None:
        """The rule that decides about this entry of the folder, if one does; a negated one keeps it."""
        for rules in self.every:
            found = rules.find(name, path, folder)
            if found is not None:
                # `!*/` opens the folders that its own file closed with `*`: it does not mean node_modules.
                vague = found.negated and found.vague
                return (vague and self.every[-1].find(name, path, folder)) or found
        return None


class RuleFiles:
    """Finds and reads the ignore files for one walk below `root`, a canonical path.

    `lead` is `root` relative to the top of its work tree, with a slash at its end ("" when it is the top, or there is
    none): paths given to the rules start there. `problems`: the (path, reason) of ignore files that were not used.
    """

    def __init__(self, root: str, ignore: Iterable[str] = ()) -> None:
        self.root = root
        self.problems: list[tuple[str, str]] = []
        top = _work_tree(root) or root
        self.lead = root[len(top) :].strip("/") + "/" if root != top else ""
        typed = Rules(of_command(ignore, root), self.lead)
        self._typed = (typed,) if typed.rules else ()
        self._ours = Rules(rule_of(text, "memctl's defaults") for text in DEFAULTS)
        self.start = self._above(top)

    def inside(self, scope: Scope, folder: str, base: str, present: Collection[str]) -> Scope:
        """The rules in `folder`, `base` for short, given those above it and which of the TELLING names it holds."""
        own, git = scope.own, scope.git
        if GIT in present:
            git = self._read(_exclude_file(folder), base)
        if GITIGNORE in present:
            git = (*self._read(os.path.join(folder, GITIGNORE), base), *git)
        if MEMCTLIGNORE in present:
            own = (*self._read(os.path.join(folder, MEMCTLIGNORE), base), *own)
        return scope if (own, git) == (scope.own, scope.git) else self._scope(own, git)

    def why_not(self, path: str, is_folder: bool) -> str:
        """Why a walk would not come to `path`, which is below the root; "" if it would. Links are not looked at."""
        scope, folder, base = self.start, self.root, self.lead
        told = len(self.problems)
        parts = path[len(self.root) :].strip("/").split("/")
        reason = ""
        for n, name in enumerate(parts):
            present = present_in(folder)
            reason = reason or (tagged(folder, present) if n else "")
            if reason:
                break
            scope = self.inside(scope, folder, base, present)
            walked = is_folder or n < len(parts) - 1
            reason = left_out(scope, name, base + name, walked)[0]
            folder, base = os.path.join(folder, name), f"{base}{name}/"
        del self.problems[told:]  # the walk itself tells them
        return reason

    def _above(self, top: str) -> Scope:
        """The rules that hold where the root is. If they leave out the root itself, none: the user has named it."""
        scope, folder, base = self._scope((), ()), top, ""
        for name in self.lead.split("/")[:-1]:
            scope = self.inside(scope, folder, base, present_in(folder))
            rule = scope.rule(name, base + name, folder=True)
            if rule is not None and not rule.negated:
                return self._scope((), ())
            folder, base = os.path.join(folder, name), f"{base}{name}/"
        return scope

    def _scope(self, own: tuple[Rules, ...], git: tuple[Rules, ...]) -> Scope:
        return Scope(own, git, (*self._typed, *own, *git, self._ours))

    def _read(self, path: str, base: str) -> tuple[Rules, ...]:
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
        rules = Rules(parse(text, shown), base)
        return (rules,) if rules.rules else ()


def left_out(scope: Scope, name: str, path: str, is_folder: bool) -> tuple[str, bool]:
    """Why the rules leave an entry out ("" if they do not), and whether a rule has asked for it by name."""
    if is_folder and name in FIXED:
        return FIXED[name], False
    rule = scope.rule(name, path, is_folder)
    if rule is None:
        return "", False
    return ("", not rule.vague) if rule.negated else (f"ignored by {rule.place}: {rule.text}", False)


def tagged(folder: str, present: Collection[str]) -> str:
    """What a folder says about itself by a file in it, if that is a reason to leave it out."""
    if "pyvenv.cfg" in present:
        return "a virtual environment (it holds pyvenv.cfg)"
    if "CACHEDIR.TAG" in present:
        from memctl.ingest.prepare import read_file

        try:
            data = read_file(os.path.join(folder, "CACHEDIR.TAG"), MAX_BYTES)[0]
        except errors.DocumentUnreadable:
            return ""
        if data.startswith(_TAG):
            return "a cache (it holds CACHEDIR.TAG)"
    return ""


def present_in(folder: str) -> list[str]:
    """Which of the TELLING names a folder holds."""
    return [name for name in TELLING if os.path.lexists(os.path.join(folder, name))]


def _work_tree(folder: str) -> str | None:
    """The nearest folder from this one upward that holds `.git`."""
    while not os.path.lexists(os.path.join(folder, GIT)):
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
    return folder


def _exclude_file(folder: str) -> str:
    """Where the repository of a work tree has its own patterns ("" if that is nowhere).

    A linked work tree has a file for `.git`, and its patterns are where those of the main one are.
    """
    git = os.path.join(folder, GIT)
    if not os.path.isdir(git):
        word, _, place = _one_line(git).partition(":")
        if word != "gitdir":
            return ""
        git = os.path.join(folder, place.strip())
        git = os.path.join(git, _one_line(os.path.join(git, "commondir")))
    return os.path.join(os.path.normpath(git), "info", "exclude")


def _one_line(path: str) -> str:
    try:
        return _text(path).strip().replace("\0", "")
    except errors.DocumentUnreadable:
        return ""


def _text(path: str) -> str:
    from memctl.ingest.prepare import read_file

    if os.path.islink(path):  # git does not follow them either
        raise errors.DocumentUnreadable(path=path, reason="it is a link")
    data = read_file(path, MAX_BYTES)[0]
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise errors.DocumentUnreadable(path=path, reason="it is UTF-16, and git reads UTF-8")
    return data.decode("utf-8-sig", "surrogateescape")
