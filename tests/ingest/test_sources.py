"""Which files the sources name: nothing outside them, nothing twice, nothing that blocks."""

import os
import socket
from pathlib import Path

import pytest

from memctl import errors
from memctl.ingest.sources import Target, resolve


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "docs"
    for name in ("b.md", "a.txt", "sub/c.py", "sub/deep/d.html", ".hidden.md", "picture.png", "Makefile"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x", encoding="utf-8")
    for folder in (".git", "node_modules/pkg", "__pycache__", ".venv", ".memory", "myenv"):
        (root / folder).mkdir(parents=True)
        (root / folder / "inside.md").write_text("x", encoding="utf-8")
    (root / "myenv" / "pyvenv.cfg").touch()
    return root


def names(targets: list[Target], root: Path) -> list[str]:
    return [os.path.relpath(t.path, root) for t in targets]


def test_a_folder_is_walked_in_order_without_what_is_no_document(tree: Path) -> None:
    found = list(resolve([str(tree)], "/"))
    assert names(found, tree) == [".hidden.md", "Makefile", "a.txt", "b.md", "sub/c.py", "sub/deep/d.html"]
    assert not any(t.problem for t in found)


def test_relative_sources_start_at_the_working_folder(tree: Path) -> None:
    assert names(list(resolve(["sub/c.py", "./a.txt"], str(tree))), tree) == ["sub/c.py", "a.txt"]


def test_each_file_comes_once(tree: Path) -> None:
    found = list(resolve([str(tree / "sub"), str(tree / "sub" / "c.py"), str(tree / "sub" / "*.py")], "/"))
    assert names(found, tree) == ["sub/c.py", "sub/deep/d.html"]


def test_globs(tree: Path) -> None:
    assert names(list(resolve([str(tree / "*.md"), str(tree / "**" / "*.html")], "/")), tree) == [
        "b.md", "sub/deep/d.html",
    ]  # fmt: skip
    (nothing,) = resolve([str(tree / "*.zzz")], "/")
    assert "no file matches" in nothing.problem


def test_a_file_whose_name_looks_like_a_pattern(tree: Path) -> None:
    odd = tree / "what?[1].md"
    odd.write_text("x", encoding="utf-8")
    assert list(resolve([str(odd)], "/")) == [Target(str(odd), "", odd.stat())]


def test_a_missing_source_stops_before_anything(tree: Path) -> None:
    with pytest.raises(errors.SourceNotFound) as caught:
        list(resolve([str(tree), "typo.md"], "/w"))
    assert "typo.md" in caught.value.message and "/w/typo.md" in caught.value.message


@pytest.mark.parametrize("source", ["a\0b", "a\0*", "*/\0/*"])
def test_no_file_has_a_nul_in_its_name(tree: Path, source: str) -> None:
    with pytest.raises(errors.SourceNotFound):
        list(resolve([source], str(tree)))


def test_links_lead_nowhere_else(tree: Path, tmp_path: Path) -> None:
    outside = tmp_path / "secret.md"
    outside.write_text("secret", encoding="utf-8")
    (tree / "out.md").symlink_to(outside)
    (tree / "dangling.md").symlink_to(tree / "gone.md")
    (tree / "inside.md").symlink_to(tree / "a.txt")
    (tree / "loop").symlink_to(tree, target_is_directory=True)
    (tree / "self.md").symlink_to(tree / "self.md")
    found = {os.path.basename(t.path): t.problem for t in resolve([str(tree)], "/")}
    assert "outside" in found["out.md"]
    assert found["dangling.md"] and found["self.md"]
    assert found["inside.md"] == ""
    assert not any("loop" in os.path.relpath(t.path, tree) for t in resolve([str(tree)], "/"))


def test_what_is_no_file_is_said_and_not_opened(tree: Path) -> None:
    os.mkfifo(tree / "pipe.txt")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tree / "sock.md"))
        found = {os.path.basename(t.path): t.problem for t in resolve([str(tree), "/dev/null"], "/")}
    assert "named pipe" in found["pipe.txt"]
    assert "socket" in found["sock.md"]
    assert "device" in found["null"]


def test_standard_input(tree: Path) -> None:
    assert list(resolve(["-", "-"], str(tree))) == [Target("-")]
