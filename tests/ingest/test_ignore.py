"""Ignore files mean what they mean for git: git itself is asked, about patterns that people write and about any."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memctl.ingest.ignore import (
    MAX_PATTERN,
    IgnorePatterns,
    RuleFiles,
    parse_rules,
    parse_typed_rules,
    path_test,
)
from memctl.ingest.sources import walk
from support import examples

GIT = shutil.which("git")
needs_git = pytest.mark.skipif(GIT is None, reason="git is not installed")


class Git(NamedTuple):
    """Asks git, with one empty repository for all trees: making one for each would take most of the time."""

    folder: Path

    def rule(self, tree: Path, paths: list[str]) -> dict[str, str]:
        """For each path the rule that decides, as "file:line"; with a `!` before it when it keeps the path."""
        assert GIT
        asked = b"".join(os.fsencode(path) + b"\0" for path in paths)
        done = subprocess.run(
            [GIT, f"--git-dir={self.folder}", f"--work-tree={tree}", "-c", "core.excludesFile=/dev/null",
             "-c", "core.ignoreCase=false", "check-ignore", "--no-index", "-v", "-n", "-z", "--stdin"],
            input=asked, cwd=tree, capture_output=True, check=False,
        )  # fmt: skip
        assert done.returncode in {0, 1}, done.stderr
        words = [os.fsdecode(word) for word in done.stdout.split(b"\0")[:-1]]
        out = {}
        for file, line, pattern, path in zip(words[::4], words[1::4], words[2::4], words[3::4], strict=True):
            out[path] = ("!" if pattern.startswith("!") else "") + f"{file}:{line}" if file else ""
        return out


@pytest.fixture(scope="module")
def git(tmp_path_factory: pytest.TempPathFactory) -> Git:
    folder = tmp_path_factory.mktemp("git") / "repo.git"
    assert GIT
    subprocess.run([GIT, "init", "-q", "--bare", str(folder)], check=True)
    (folder / "info" / "exclude").unlink(missing_ok=True)
    return Git(folder)


def ours(tree: Path, paths: list[str]) -> dict[str, str]:
    """The same from memctl, in the same words."""
    files = RuleFiles(str(tree))
    return {path: decided(files, tree, path) for path in paths}


def decided(files: RuleFiles, tree: Path, path: str) -> str:
    scope, base, found = files.start, "", ""
    parts = path.split("/")
    for n, name in enumerate(parts):
        here = [entry for entry in (".gitignore", ".memctlignore") if (tree / base / entry).is_file()]
        scope = files.inside(scope, str(tree / base), base, here)
        folder = n < len(parts) - 1 or (tree / path).is_dir()
        rule = scope.find(name, base + name, is_folder=folder)
        found = ("!" if rule.negated else "") + rule.place if rule else ""
        if rule and not rule.negated:
            break
        base += name + "/"
    return found


def agree(git: Git, tree: Path, paths: list[str]) -> None:
    """Git and memctl name the same rule for every path, and a walk finds what git does not ignore."""
    asked = git.rule(tree, paths)
    assert ours(tree, paths) == asked
    found = {os.path.relpath(target.path, tree) for target in walk(str(tree), accept=lambda _: True)}
    files = {path for path in paths if not (tree / path).is_dir()}
    assert found & files == {path for path in files if not asked[path] or asked[path].startswith("!")}


def plant(tree: Path, files: list[str]) -> list[str]:
    """Make the files; returns them and their folders."""
    for name in files:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).touch()
    return sorted({str(path.relative_to(tree)) for path in tree.rglob("*")})


FILES = [
    "a.md", "b.log", "sub/a.md", "sub/b.log", "sub/deep/a.md", "sub/deep/er/c.txt", "build/x.py", "src/build/y.py",
    "ab/c", "a/b/c/d.md", "a/x/b", "a/b2", "foo/bar", "foobar", "foox/y/bar", "x y", "#note", "!bang", "a[b", "a]b",
    "a-b", "ab\\c", "é.md", "[x]", "docs/notes-1.md", "docs/notes-10.md", "docs/.hidden", "Upper.MD", "tab\tname",
    "line\nbreak", "w\\",
]  # fmt: skip

PATTERNS = [
    "w\\\\ ", "a/**\\/b2", "a[[:digit:]-b]b",
    "*.md", "*.log", "!a.md", "/a.md", "build/", "/build/", "build", "sub/*", "sub/**", "**/a.md", "**/deep",
    "a/**/b", "a/**", "/**", "**", "**/", "a/**/", "*/a.md", "sub/*/a.md", "foo/bar", "/foo", "foo**/bar", "foo**",
    "f**r", "**foo/bar", "a/*/b", "a?b", "a[!b]b", "a[^b]b", "a[[]b", "a[]]b", "a[]-]b", "[[]x]", "\\#note",
    "#note", "\\!bang", "!bang", "x\\ y", "x y ", "x y\\ ", "x y  ", "a[b", "a\\[b", "ab\\\\c", "ab\\", "foo\\/bar",
    "sub\\/**", "a/**\\/d.md", "docs/notes-[0-9].md", "docs/notes-[0-9]*.md", "[[:upper:]]*", "[[:upper:]pper.MD",
    "[[:nope:]]*", "[[:alpha:]-z]*", "[z-a]*", "[a-]*", "[--a]b", "a[.-0]b", "a[/]b", "*/", "!*/", "/*", "!/sub",
    "*", "!*.md", ".*", "docs/.*", "***", "a/***/d.md", "/", "//", "//a.md", "!", "!/", "*.M[Dd]", "tab\tname",
    "line?break", "*a*", "a*c", "*e*e*", "s*b/d*p/*", "**/**/a.md", "a/**/**/d.md", "**/b/**/d.md", "**/b/**",
    "sub/", "sub", "/sub/deep/", "!/sub/deep/", "deep/er", "\\a.md", "*\\.md", "a\\*", "[\\]]", "[!]a]*",
    "[a-c-e]*", "**.md", "sub**", "sub**deep", "sub/**deep", "sub/d**/a.md", "\ufeff*.md", " a.md", "*.md\r",
    "a.md\0x", "[a-[:alpha:]]*", "[[:alpha",
]  # fmt: skip


@needs_git
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_means_what_it_means_for_git(git: Git, tmp_path: Path, pattern: str) -> None:
    tree = tmp_path / "tree"
    paths = plant(tree, FILES)
    (tree / ".gitignore").write_bytes(pattern.encode())
    agree(git, tree, paths)


NAMES = st.sampled_from(["a", "b", "ab", "a.b", "aab", "b-a", "abab"])
ATOMS = st.sampled_from(
    ["a", "b", "ab", ".", "-", "*", "**", "?", "/", "**/", "/**", "/**/", "[ab]", "[!a]", "[a-c]", "[^b-]", "\\a",
     "\\*", "[", "]", "!", "\\", "[[:alpha:]]", " ", "***"]
)  # fmt: skip
STARTS = st.sampled_from(["", "", "!", "/", "!/"])
LINES = st.builds(str.__add__, STARTS, st.lists(ATOMS, min_size=1, max_size=7).map("".join))
TREES = st.lists(st.lists(NAMES, min_size=1, max_size=4).map("/".join), min_size=1, max_size=8)


def plantable(names: list[str]) -> list[str]:
    """Those that can be files together: none is a folder of another."""
    return [name for name in names if not any(other.startswith(name + "/") for other in names)]


@needs_git
@examples(250)
@given(
    names=TREES,
    top=st.lists(LINES, max_size=6),
    below=st.lists(LINES, max_size=3),
    ends=st.sampled_from(["\n", "\r\n"]),
)
@example(names=["a/b/a/b"], top=["**/a/**/b"], below=["!b"], ends="\n")
def test_git_agrees_about_any_patterns(
    git: Git, tmp_path_factory: pytest.TempPathFactory, names: list[str], top: list[str], below: list[str], ends: str
) -> None:
    tree = tmp_path_factory.mktemp("tree")
    paths = plant(tree, plantable(names))
    (tree / ".gitignore").write_bytes(ends.join(top).encode())
    for folder in [path for path in paths if (tree / path).is_dir()][:2]:
        (tree / folder / ".gitignore").write_bytes(ends.join(below).encode())
    agree(git, tree, paths)


@given(st.text(max_size=60), st.text(max_size=30))
def test_any_text_is_a_pattern(pattern: str, path: str) -> None:
    compiled = IgnorePatterns(parse_rules(pattern, "f"))
    for folder in (True, False):
        compiled.find(path.rpartition("/")[2], path, is_folder=folder)
    assert path_test(pattern)(path) in {True, False}


@given(st.lists(LINES, max_size=12), st.lists(NAMES, min_size=1, max_size=3))
def test_many_patterns_together_decide_as_each_alone(lines: list[str], parts: list[str]) -> None:
    path, name = "/".join(parts), parts[-1]
    rules = parse_rules("\n".join(lines), "f")
    for folder in (True, False):
        alone = [rule for rule in rules if IgnorePatterns([rule]).find(name, path, is_folder=folder)]
        assert IgnorePatterns(rules).find(name, path, is_folder=folder) == (alone[-1] if alone else None)


@pytest.mark.parametrize("places", [(0, 1), (3, 40), (40, 3), (0, 99), (65, 66)])
def test_the_last_of_many_patterns_decides(places: tuple[int, int]) -> None:
    lines = [f"{n}-?" for n in range(100)]
    for place in places:
        lines[place] = f"[xyz]-?{'*' * place}"
    found = IgnorePatterns(parse_rules("\n".join(lines), "f")).find("x-1", "x-1", is_folder=False)
    assert found is not None
    assert found.place == f"f:{max(places) + 1}"


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 2000 + "b", "a" * 4000),
        ("**/a/" * 800 + "b", "a/" * 2000 + "c"),
        ("**/*a*a*a/" * 300 + "b", "aaaa/" * 800 + "c"),
        ("**/" * 1300, "a/" * 2000 + "c"),
        ("[" * MAX_PATTERN, "["),
        ("[[:" * 1300, "["),
        ("*" * MAX_PATTERN + "b", "a" * 4000),
        ("a?" * 2000 + "*b", "a" * 4000),
    ],
)
def test_hostile_patterns_end(pattern: str, path: str) -> None:
    assert not path_test(pattern)(path)


def test_a_pattern_longer_than_any_path_is_left_out() -> None:
    assert parse_rules("a" * MAX_PATTERN + "\n" + "a" * (MAX_PATTERN + 1), "f")[0].place == "f:1"
    assert len(parse_rules("a" * MAX_PATTERN + "\n" + "a" * (MAX_PATTERN + 1), "f")) == 1


def test_one_character_is_one_character_in_any_script() -> None:
    assert path_test("?.md")("é.md")
    assert path_test("[é-ö].md")("ö.md")


@pytest.mark.parametrize("pattern", ["a[b", "a\\", "[[:nope:]]", "["])
def test_what_cannot_be_understood_fits_nothing_and_can_be_told(pattern: str) -> None:
    rules = IgnorePatterns(parse_typed_rules([pattern, "ok"], "/top"))
    assert [rule.text for rule in rules.broken] == [pattern]
    assert rules.find(pattern, pattern, is_folder=False) is None


@pytest.mark.parametrize(
    ("pattern", "path", "fit"),
    [
        ("./build", "build", True),
        ("./build", "sub/build", False),
        ("/top/sub/build", "sub/build", True),
        ("/top/sub/build", "build", False),
        ("#note", "sub/#note", True),
        ("a ", "a", False),
    ],
)
def test_patterns_that_are_typed(pattern: str, path: str, fit: bool) -> None:
    rules = IgnorePatterns(parse_typed_rules([pattern], "/top"))
    assert (rules.find(os.path.basename(path), path, is_folder=True) is not None) == fit


@pytest.fixture(autouse=True)
def only_git_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """No defaults of ours, and no settings of the user's."""
    monkeypatch.setattr("memctl.ingest.ignore.DEFAULTS", ())
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
