"""What walking a folder finds and leaves out: which rule is stronger, and that nothing is left out in silence."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.ingest.ignore import FIXED, MAX_BYTES
from memctl.ingest.sources import resolve, walk

TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# made by a tool\n"


def plant(root: Path, files: dict[str, str] | Sequence[str]) -> Path:
    """Make files with these contents (or with one line)."""
    for name in files:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files[name] if isinstance(files, dict) else "x\n", encoding="utf-8")
    return root


def walked(root: Path, ignore: Sequence[str] = (), never: Sequence[str] = ()) -> tuple[list[str], dict[str, str]]:
    """The files found and what was left out with the reasons, both relative to the root; no problems."""
    left: dict[str, str] = {}

    def report(path: str, reason: str) -> None:
        assert path not in left
        left[os.path.relpath(path, root) + "/" * path.endswith("/")] = reason

    found = list(walk(str(root), ignore=ignore, never=never, report=report))
    assert [target for target in found if target.problem] == []
    return [os.path.relpath(target.path, root) for target in found], left


def kept(root: Path, ignore: Sequence[str] = ()) -> list[str]:
    """The documents found, without ignore files."""
    return walked(root, ignore)[0]


def problems(root: Path) -> dict[str, str]:
    return {os.path.relpath(target.path, root): target.problem for target in walk(str(root)) if target.problem}


def test_what_is_left_out_is_said_with_the_rule(tmp_path: Path) -> None:
    plant(tmp_path, ["a.md", "b.log", "sub/c.log", "sub/d.md", "node_modules/p/e.md", ".git/f.md", "g.png", "env/h.py"])
    plant(tmp_path, {".gitignore": "# logs\n*.log\n", "sub/.memctlignore": "d.*\n", "env/pyvenv.cfg": ""})
    found, left = walked(tmp_path, ["a.*"])
    assert found == []
    assert left == {
        ".git/": FIXED[".git"],
        ".gitignore": "no reader for this kind of file",
        "a.md": "ignored by --ignore: a.*",
        "b.log": "ignored by .gitignore:2: *.log",
        "env/": "a virtual environment (it holds pyvenv.cfg)",
        "g.png": "no reader for this kind of file",
        "node_modules/": "ignored by memctl's defaults: node_modules/",
        "sub/.memctlignore": "no reader for this kind of file",
        "sub/c.log": "ignored by .gitignore:2: *.log",
        "sub/d.md": "ignored by sub/.memctlignore:1: d.*",
    }


@pytest.mark.parametrize(
    ("rules", "ignore", "expected"),
    [
        ({}, [], ["a.md", "docs/a.md", "docs/b.md"]),
        ({".gitignore": "a.md"}, [], ["docs/b.md"]),
        ({".gitignore": "a.md", "docs/.gitignore": "!a.md"}, [], ["docs/a.md", "docs/b.md"]),
        ({".gitignore": "a.md", ".memctlignore": "!a.md"}, [], ["a.md", "docs/a.md", "docs/b.md"]),
        ({".memctlignore": "a.md", "docs/.gitignore": "!a.md"}, [], ["docs/b.md"]),
        ({".memctlignore": "a.md", "docs/.memctlignore": "!a.md"}, [], ["docs/a.md", "docs/b.md"]),
        ({".memctlignore": "!a.md"}, ["a.md"], ["docs/b.md"]),
        ({".memctlignore": "*.md"}, ["!/a.md"], ["a.md"]),
        ({".gitignore": "docs/", "docs/.memctlignore": "!*"}, [], ["a.md"]),
        ({".gitignore": "docs"}, ["!docs"], ["a.md", "docs/a.md", "docs/b.md"]),
        ({}, ["docs/"], ["a.md"]),
        ({}, ["a.md/"], ["a.md", "docs/a.md", "docs/b.md"]),
        ({}, ["/docs/a.md", "b.*"], ["a.md"]),
    ],
)
def test_the_stronger_rule_decides(
    tmp_path: Path, rules: dict[str, str], ignore: list[str], expected: list[str]
) -> None:
    plant(plant(tmp_path, ["a.md", "docs/a.md", "docs/b.md"]), rules)
    assert kept(tmp_path, ignore) == expected


@pytest.mark.parametrize("file", [".gitignore", ".memctlignore", "--ignore"])
def test_defaults_can_be_taken_back_by_name_only(tmp_path: Path, file: str) -> None:
    def with_rules(lines: str) -> list[str]:
        if file == "--ignore":
            return kept(tmp_path, lines.split("\n"))
        return kept(plant(tmp_path, {file: lines}))

    plant(tmp_path, ["node_modules/a.md", ".git/b.md", ".memory/c.md", "d.md", "package-lock.json", "sub/e.md"])
    assert with_rules("*\n!*/\n!*.md") == ["d.md", "sub/e.md"]
    assert with_rules("!node_modules/\n!package-*") == ["d.md", "package-lock.json", "node_modules/a.md", "sub/e.md"]
    assert with_rules("!.git*\n!.memory/") == ["d.md", "sub/e.md"]


def test_a_folder_that_says_it_is_a_cache(tmp_path: Path) -> None:
    plant(tmp_path, ["target/a.md", "build/b.md"])
    plant(tmp_path, {"target/CACHEDIR.TAG": TAG, "build/CACHEDIR.TAG": "just a file"})
    assert kept(tmp_path) == ["build/b.md"]
    assert walked(tmp_path)[1]["target/"] == "a cache (it holds CACHEDIR.TAG)"
    assert kept(tmp_path / "target") == ["a.md"]  # named by the user
    assert kept(tmp_path, ["!*/"]) == ["build/b.md"]
    assert kept(tmp_path, ["!target/"]) == ["build/b.md", "target/a.md"]


def test_rules_above_the_folder_hold_inside_a_work_tree(tmp_path: Path) -> None:
    root = (
        plant(tmp_path, ["docs/in/a.md", "docs/in/b.md", "docs/in/c.md", "docs/in/d.md", "docs/in/e.md"])
        / "docs"
        / "in"
    )
    plant(tmp_path, {".gitignore": "/docs/in/a.md\n", "docs/.memctlignore": "b.md\n", ".git/info/exclude": "c.md\n"})
    found, left = walked(root)
    assert found == ["d.md", "e.md"]
    assert left["a.md"] == "ignored by ../../.gitignore:1: /docs/in/a.md"
    assert left["b.md"] == "ignored by ../.memctlignore:1: b.md"
    assert left["c.md"] == "ignored by ../../.git/info/exclude:1: c.md"
    assert kept(root, ["/d.md"]) == ["e.md"]
    (tmp_path / ".git" / "info" / "exclude").unlink()
    (tmp_path / ".git" / "info").rmdir()
    (tmp_path / ".git").rmdir()
    assert len(kept(root)) == 5


@pytest.mark.parametrize("pattern", ["*", "docs/", "docs", "/docs/in"])
def test_a_folder_that_is_named_is_read_though_the_rules_above_leave_it_out(tmp_path: Path, pattern: str) -> None:
    plant(tmp_path, {".git/HEAD": "", ".gitignore": pattern, "docs/in/a.md": "x"})
    assert kept(tmp_path / "docs" / "in") == ["a.md"]


def test_a_repository_within_another_has_its_own_rules(tmp_path: Path) -> None:
    plant(tmp_path, ["a.md", "inner/a.md", "inner/b.md", "inner/c.md", ".git/HEAD", "inner/.git/HEAD"])
    plant(tmp_path, {".gitignore": "a.md\n", "inner/.gitignore": "b.md\n", ".memctlignore": "c.md"})
    assert kept(tmp_path) == ["inner/a.md"]
    assert kept(tmp_path / "inner") == ["a.md", "c.md"]


def test_a_linked_work_tree_shares_the_excludes(tmp_path: Path) -> None:
    plant(tmp_path, {"main/.git/info/exclude": "a.md\n", "main/.git/worktrees/w/commondir": "../..\n"})
    plant(tmp_path, {"w/.git": "gitdir: ../main/.git/worktrees/w\n", "w/a.md": "x", "w/b.md": "x"})
    assert kept(tmp_path / "w") == ["b.md"]


def test_the_store_is_never_read(tmp_path: Path) -> None:
    plant(tmp_path, ["notes.md", "store.md", "store.md-wal", "sub/link.md"])
    (tmp_path / "sub" / "link.md").unlink()
    (tmp_path / "sub" / "link.md").symlink_to("../store.md")
    never = [str(tmp_path / "sub" / ".." / "store.md"), str(tmp_path / "store.md-wal")]
    found, left = walked(tmp_path, ["!*.md", "!*-wal"], never)
    assert found == ["notes.md"]
    assert set(left) == {"store.md", "store.md-wal", "sub/link.md"}
    (named,) = resolve([str(tmp_path / "sub" / "link.md")], "/", never=never)
    assert "store itself" in named.problem


def test_links(tmp_path: Path) -> None:
    root = plant(tmp_path / "root", ["a.md", "hidden.md", ".git/HEAD", ".git/config", "docs/b.md", "cache/c.md"])
    plant(root, {".gitignore": "hidden.md", "docs/.gitignore": "b.md", "cache/CACHEDIR.TAG": TAG})
    for name, target in {
        "to-a.md": "a.md", "to-hidden.md": "hidden.md", "to-config.md": ".git/config", "to-b.md": "docs/b.md",
        "to-c.md": "cache/c.md", "to-docs.md": "docs",
    }.items():  # fmt: skip
        (root / name).symlink_to(target)
    found, left = walked(root)
    assert found == ["a.md", "to-a.md"]
    assert left["to-hidden.md"] == "what it links to is left out: ignored by .gitignore:1: hidden.md"
    assert FIXED[".git"] in left["to-config.md"]
    assert "docs/.gitignore:1" in left["to-b.md"]
    assert "CACHEDIR.TAG" in left["to-c.md"]
    assert left["to-docs.md"] == "links to folders are not followed"


def test_a_folder_reached_through_a_link_is_the_same_folder(tmp_path: Path) -> None:
    root = plant(tmp_path / "root", ["a.md", "sub/b.md"])
    (tmp_path / "link").symlink_to(root)
    direct = list(resolve([str(root)], "/"))
    assert list(resolve([str(tmp_path / "link")], "/")) == direct
    assert list(resolve([str(root), str(tmp_path / "link" / "sub" / "b.md"), "link"], str(tmp_path))) == direct
    assert list(resolve([str(tmp_path / "li*")], "/")) == direct


def test_what_the_system_says_comes_along(tmp_path: Path) -> None:
    root = plant(tmp_path, ["a.md", "b.md"])
    (root / "c.md").symlink_to("a.md")
    for target in resolve([str(root), str(root / "b.md")], "/"):
        assert target.info == os.stat(target.path)


NOT_USED = "its patterns are not used: "


@pytest.mark.parametrize("name", [".gitignore", ".memctlignore"])
def test_an_ignore_file_that_cannot_be_used_is_a_problem(tmp_path: Path, name: str) -> None:
    outside = tmp_path / "outside"
    outside.write_text("*.md\n", encoding="utf-8")
    root = plant(
        tmp_path / "root", ["a.md", "link/b.md", "pipe/b.md", "folder/b.md", "wide/b.md", "large/b.md", "long/b.md"]
    )
    (root / "link" / name).symlink_to(outside)
    os.mkfifo(root / "pipe" / name)
    (root / "folder" / name).mkdir()
    (root / "wide" / name).write_text("*.md\n", encoding="utf-16")
    (root / "large" / name).write_text("*.md\n" + "#" * MAX_BYTES, encoding="utf-8")
    (root / "long" / name).write_text("x" * 5000 + "\nb.md\n", encoding="utf-8")
    found = problems(root)
    assert set(found) == {f"{folder}/{name}" for folder in ("link", "pipe", "folder", "wide", "large", "long")}
    assert found[f"link/{name}"] == NOT_USED + "it is a link"
    assert "UTF-16" in found[f"wide/{name}"]
    assert found[f"long/{name}"] == "its patterns of more than 4096 characters are not used"
    good = [os.path.relpath(target.path, root) for target in walk(str(root)) if not target.problem]
    assert good == ["a.md", "folder/b.md", "large/b.md", "link/b.md", "pipe/b.md", "wide/b.md"]


def test_a_problem_is_told_once_though_links_lead_there(tmp_path: Path) -> None:
    root = plant(tmp_path, ["sub/a.md"])
    (root / "sub" / ".gitignore").write_bytes(b"\xff\xfea\0")
    (root / "link.md").symlink_to("sub/a.md")
    found = [os.path.relpath(target.path, root) for target in walk(str(root))]
    assert found == ["link.md", "sub/.gitignore", "sub/a.md"]


@pytest.mark.parametrize("git", ["gitdir:", "gitdir: /nowhere", "nothing", "gitdir: .\0", ""])
def test_a_git_file_that_leads_nowhere(tmp_path: Path, git: str) -> None:
    plant(tmp_path, {".git": git, "a.md": "x", "b.md": "x", ".gitignore": "b.md"})
    assert kept(tmp_path) == ["a.md"]


def test_a_folder_that_goes_away_is_a_problem_and_the_others_are_read(tmp_path: Path) -> None:
    root = plant(tmp_path, ["a.md", "b/b.md", "c/c.md"])
    found = walk(str(root))
    assert next(found).path == str(root / "a.md")
    (root / "b" / "b.md").unlink()
    (root / "b").rmdir()
    gone, last = found
    assert gone.path == str(root / "b")
    assert gone.problem == "the folder cannot be read: No such file or directory"
    assert (last.path, last.problem) == (str(root / "c" / "c.md"), "")


def test_deep_folders(tmp_path: Path) -> None:
    deep = tmp_path
    for _ in range(400):
        deep /= "deep"
    plant(deep, ["a.md"])
    assert kept(tmp_path) == [str((deep / "a.md").relative_to(tmp_path))]


def test_patterns_in_any_bytes(tmp_path: Path) -> None:
    odd = os.fsencode(tmp_path) + b"/\xff.md"
    with open(odd, "wb"):
        pass
    assert "not UTF-8" in problems(tmp_path)[os.fsdecode(b"\xff.md")]
    (tmp_path / ".gitignore").write_bytes(b"\xff.md\n\0\n\x80[\n")
    assert problems(tmp_path) == {}
    assert kept(tmp_path) == []


def test_globs_that_go_deep_obey_the_rules_and_follow_no_links(tmp_path: Path) -> None:
    root = plant(
        tmp_path, ["a.md", "src/b.md", "src/deep/c.md", "src/d.vhdl", "node_modules/e.md", "src/.hid/f.md", "g.txt"]
    )
    (root / "src" / "loop").symlink_to("..")
    (root / ".gitignore").write_text("g.txt\n", encoding="utf-8")

    def found(pattern: str) -> list[str]:
        return [os.path.relpath(target.path, root) for target in resolve([pattern], str(root))]

    assert found("**/*.md") == ["a.md", "src/b.md", "src/deep/c.md"]
    assert found("**") == ["a.md", "src/b.md", "src/deep/c.md"]
    assert found("s*/**/*.vhdl") == ["src/d.vhdl"]
    assert found("**/deep") == ["src/deep/c.md"]
    assert found("**/.hid/*.md") == ["src/.hid/f.md"]
    assert found("*") == ["a.md", "g.txt", "src/b.md", "src/.hid/f.md", "src/deep/c.md"]
    assert found("[n]ode_modules/*") == ["node_modules/e.md"]
    left: list[tuple[str, str]] = []
    list(resolve(["*"], str(root), ignore=["s*/"], report=lambda path, reason: left.append((path, reason))))
    assert left == [
        (f"{root}/node_modules/", "ignored by memctl's defaults: node_modules/"),
        (f"{root}/src/", "ignored by --ignore: s*/"),
    ]
    (nothing,) = resolve(["**/*.none"], str(root))
    assert "no file matches" in nothing.problem


NAMES = st.sampled_from(["a.md", "b.txt", "c.bin", "node_modules", ".git", "sub", "deep", ".#x.md", "é.md"])
RULES = st.lists(
    st.sampled_from(["*.md", "!a.md", "sub/", "!sub/", "/deep", "**/b.*", "!*/", "*", "!node_modules"]), max_size=4
)


@given(
    names=st.lists(st.lists(NAMES, min_size=1, max_size=3).map("/".join), max_size=8),
    git=RULES, own=RULES, typed=RULES,
)  # fmt: skip
def test_every_file_is_found_or_reported_once(
    tmp_path_factory: pytest.TempPathFactory, names: list[str], git: list[str], own: list[str], typed: list[str]
) -> None:
    root = tmp_path_factory.mktemp("tree").resolve()
    plant(root, [name for name in names if not any(other.startswith(name + "/") for other in names)])
    plant(root, {".gitignore": "\n".join(git), ".memctlignore": "\n".join(own)})
    found, left = walked(root, typed)
    folders = tuple(path for path in left if path.endswith("/"))
    everything = [str(path.relative_to(root)) for path in sorted(root.rglob("*")) if path.is_file()]
    assert sorted([*found, *(p for p in left if p not in folders)]) == sorted(
        path for path in everything if not path.startswith(folders)
    )
    assert all("ignored" in reason or "kind" in reason or reason in FIXED.values() for reason in left.values())


def test_which_kinds_are_wanted_is_asked_by_the_path_below_the_folder(tmp_path: Path) -> None:
    plant(tmp_path, [".git/HEAD", "docs/in/a.md", "docs/b.md"])
    asked: list[str] = []
    list(walk(str(tmp_path / "docs"), accept=lambda path: not asked.append(path)))  # type: ignore[func-returns-value]
    assert asked == ["b.md", "in/a.md"]
