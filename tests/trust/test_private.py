"""What is made is for its user alone, and what others put into the current folder is not run."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from memctl.store import MemoryStore
from memctl.types import MemoryItem
from support import ok

MAKERS = (
    ["init"],
    ["remember", "x is y"],
    ["pull"],
    ["sync", "docs"],
    ["push", "x", "--source", "docs"],
    ["import", "-"],
)


def mode(path: str | Path) -> int:
    return os.stat(path).st_mode & 0o777


@pytest.fixture
def free_for_all() -> Iterator[None]:
    """A umask that lets everybody read and write."""
    before = os.umask(0)
    Path("docs").mkdir()
    Path("docs/a.md").write_text("# A\n\nThe cache is warm.\n")
    yield
    os.umask(before)


@pytest.mark.usefixtures("free_for_all")
@pytest.mark.parametrize("argv", MAKERS, ids=" ".join)
def test_a_store_is_its_user_s_alone_whichever_door_made_it(argv: list[str]) -> None:
    ok(*argv, stdin='{"content": "x is y"}' if argv[0] == "import" else "The gateway retries.")
    assert mode(".memory") == 0o700
    for file in Path(".memory").glob("memory.db*"):
        assert mode(file) == 0o600
    assert Path(".memory/.gitignore").read_text() == "*\n"


@pytest.mark.usefixtures("free_for_all")
def test_the_files_beside_an_open_store_are_too() -> None:
    with MemoryStore(".memory/memory.db") as store:
        store.write_item(MemoryItem(content="x is y"))
        found = {file.name: mode(file) for file in Path(".memory").glob("memory.db*")}
    assert found == {"memory.db": 0o600, "memory.db-wal": 0o600, "memory.db-shm": 0o600}
    ok("init", "--force")
    assert {mode(file) for file in Path(".memory").glob("memory.bak-*")} == {0o600}


@pytest.mark.usefixtures("free_for_all")
def test_elsewhere_only_the_file_is_ours() -> None:
    Path("shared").mkdir()
    ok("remember", "x is y", "--db", "shared/m.db")
    assert (mode("shared/m.db"), mode("shared"), os.listdir("shared")) == (0o600, 0o777, ["m.db"])


@pytest.mark.usefixtures("free_for_all")
def test_what_its_owner_has_opened_to_a_group_stays_open() -> None:
    ok("init")
    os.chmod(".memory", 0o770)
    os.chmod(".memory/memory.db", 0o660)
    Path(".memory/.gitignore").write_text("*.db\n")
    ok("remember", "x is y")
    assert (mode(".memory"), mode(".memory/memory.db")) == (0o770, 0o660)
    assert Path(".memory/.gitignore").read_text() == "*.db\n"


def test_git_does_not_see_the_memory() -> None:
    subprocess.run(["git", "init", "-q", "."], check=True)
    ok("remember", "The gateway retries twice.")
    subprocess.run(["git", "add", "-A"], check=True)
    assert subprocess.run(["git", "ls-files"], check=True, capture_output=True).stdout == b""


@pytest.mark.parametrize(
    "argv",
    [["memctl", "--version"], ["memctl", "search", "x"], ["memctl.cli", "--version"], ["memctl.mcp.server", "--help"]],
)
def test_modules_of_the_current_folder_are_not_run(argv: list[str]) -> None:
    ok("init")
    names = ("mcp/__init__.py", "anyio/__init__.py", "argparse.py", "sqlite3.py", "unicodedata.py", "gc.py", "json.py")
    for name in names:
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text("open('OWNED', 'w')\n")
    done = subprocess.run([sys.executable, "-m", *argv], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not Path("OWNED").exists()


def test_other_programs_keep_their_folder() -> None:
    """Only `python -m memctl…` leaves it: a program that imports memctl has its own modules there."""
    Path("app").mkdir()
    Path("app/__init__.py").write_text("import memctl, helper\n")
    Path("app/__main__.py").write_text("import helper; print(helper.NAME)\n")
    Path("helper.py").write_text("NAME = 'mine'\n")
    done = subprocess.run([sys.executable, "-m", "app"], capture_output=True, check=True)
    assert done.stdout == b"mine\n"
