"""memctl sync as a process: signals, permissions, pipes, and the processes that it starts."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from support import PATIENCE

Shell = Callable[..., Any]
MEMCTL = [sys.executable, "-m", "memctl"]
DATA = Path(__file__).resolve().parents[1] / "data" / "fake_docx.py"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and permissions of Unix")


@pytest.fixture
def fake() -> ModuleType:
    """The module that makes documents for a stand-in of python-docx."""
    spec = importlib.util.spec_from_file_location("fake_docx", DATA)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def start(clean_env: dict[str, str], here: Path, tmp_path: Path, fake: ModuleType) -> Iterator[Callable[..., Any]]:
    """`start("sync", "docs")`: memctl as a process group of its own, with the stand-in for python-docx."""
    env = clean_env | {"PYTHONPATH": str(fake.install(tmp_path / "lib"))}
    started = []

    def run(*argv: str, db: str = "memory.db") -> subprocess.Popen[str]:
        child = subprocess.Popen(
            [*MEMCTL, *argv, "--db", db], cwd=here, env=env, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        started.append(child)
        return child

    yield run
    for child in started:
        child.kill()
        child.communicate()


def until(true: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


def rows(store: Path) -> list[tuple[str, str]]:
    """The active passages: path and content."""
    found = subprocess.run([*MEMCTL, "export", "-q", "--db", str(store)], capture_output=True, check=True).stdout
    lines = [json.loads(line) for line in found.splitlines()]
    return sorted((line["provenance"]["source_id"], line["content"]) for line in lines)


def large(folder: Path, files: int = 60) -> None:
    """Several batches, read by several processes: each file has 100 kB."""
    folder.mkdir(exist_ok=True)
    for n in range(files):
        words = (f"Paragraph {k} of file {n} tells how worker number {n * k} retries.\n\n" for k in range(1500))
        (folder / f"file{n:03}.txt").write_text("".join(words))


def children(pid: int) -> list[int]:
    """The processes that this one has started."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(word) for word in file.read().split()]
    except FileNotFoundError:
        return []


def lives(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


# --- signals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_stopped_in_the_middle_what_is_done_stays(
    here: Path, start: Callable[..., Any], number: signal.Signals, code: int
) -> None:
    large(here / "docs")
    child = start("sync", "docs")
    wal = here / "memory.db-wal"
    until(lambda: (wal.exists() and wal.stat().st_size > 1_000_000) or child.poll() is not None, "no batch came")
    os.killpg(child.pid, number)
    out, err = child.communicate(timeout=PATIENCE)
    assert child.returncode == code, err
    assert out == ""
    assert "Traceback" not in err
    stopped = [line for line in err.splitlines() if line.startswith("stopped after ")]
    assert len(stopped) == 1
    done, total = [int(word) for word in stopped[0].split() if word.isdigit()]
    assert 0 < done < total == 60
    found = rows(here / "memory.db")
    assert len({path for path, _ in found}) == done
    again = start("sync", "docs", "--json")
    counts = json.loads(again.communicate(timeout=PATIENCE)[0])
    assert (counts["files_unchanged"] + counts["files_new"], counts["files_unchanged"]) == (60, done)
    calm = start("sync", "docs", db="calm.db")
    calm.communicate(timeout=PATIENCE)
    assert rows(here / "memory.db") == rows(here / "calm.db")


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("files", [0, 60], ids=["alone", "side by side"])
def test_killed_it_leaves_no_process_behind(
    here: Path, start: Callable[..., Any], fake: ModuleType, files: int
) -> None:
    large(here / "docs", files)
    for n in range(2):
        fake.make(here / "docs" / f"a{n}.docx", "sleep")
    child = start("sync", "docs")
    until(lambda: children(child.pid), "no worker was started")
    time.sleep(0.3)  # so that the reader sleeps
    workers = children(child.pid)
    child.kill()
    child.communicate()
    until(lambda: not any(map(lives, workers)), "a worker outlived its parent")


# --- following -----------------------------------------------------------------------------------------------------


def test_watch_follows_until_interrupted(here: Path, start: Callable[..., Any]) -> None:
    docs = here / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("The first statement.\n")
    child = start("sync", "docs", "--watch", "--interval", "0.2")
    lines = []

    def said(words: str) -> None:
        lines.append(child.stderr.readline())
        while words not in lines[-1]:
            assert lines[-1], lines
            lines.append(child.stderr.readline())

    said("Watching 1 folder(s)")
    (docs / "b.md").write_text("The second statement.\n")
    said("1 new, 0 changed, 1 unchanged")
    (docs / "a.md").unlink()
    said("Deleted files: 1")
    assert [content for _, content in rows(here / "memory.db")] == ["The second statement."]
    docs.rename(here / "away")
    time.sleep(0.5)
    (here / "away").rename(docs)
    (docs / "c.md").write_text("The third statement.\n")
    said("1 new")
    os.killpg(child.pid, signal.SIGINT)
    said("[sync] Stopped")
    assert child.wait(timeout=PATIENCE) == 0
    assert len(rows(here / "memory.db")) == 2


# --- permissions and pipes -----------------------------------------------------------------------------------------


def test_a_folder_that_may_not_be_read_loses_nothing(sh: Shell, here: Path, unprivileged: str) -> None:
    shut = here / "docs" / "shut"
    shut.mkdir(parents=True)
    (here / "docs" / "open.md").write_text("The open statement.\n")
    (shut / "secret.md").write_text("The secret statement.\n")
    assert sh("memctl sync docs").code == 0
    for mode in (0o000, 0o600, 0o100):
        shut.chmod(mode)
        for flag in ("--dry-run", ""):
            done = sh(f"{unprivileged}memctl sync docs --json {flag}")
            assert done.code == 0
            counts = json.loads(done.out)
            assert counts["files_deleted"] == 0
            if mode != 0o600:
                assert [one["path"] for one in counts["files_failed"]] == ["shut"]
    shut.chmod(0o700)
    (shut / "secret.md").chmod(0)
    assert json.loads(sh(f"{unprivileged}memctl sync docs --full --json").out)["files_deleted"] == 0
    assert len(rows(here / ".memory" / "memory.db")) == 2


def test_a_dry_run_reads_a_store_that_may_not_be_written(sh: Shell, here: Path, unprivileged: str) -> None:
    (here / "docs").mkdir()
    (here / "docs" / "a.md").write_text("Words.\n")
    assert sh("memctl sync docs").code == 0
    (here / "docs" / "b.md").write_text("More words.\n")
    before = (here / ".memory" / "memory.db").read_bytes()
    for path in (here / ".memory" / "memory.db", here / ".memory"):
        path.chmod(0o500 if path.is_dir() else 0o400)
    done = sh(f"{unprivileged}memctl sync docs --dry-run --report")
    (here / ".memory").chmod(0o700)
    assert (done.code, done.text) == (0, "unchanged\ta.md\t0\nnew\tb.md\t0\n")
    assert (here / ".memory" / "memory.db").read_bytes() == before


def test_in_a_pipe_there_are_only_counts(sh: Shell, here: Path) -> None:
    large(here / "docs", 40)
    done = sh("memctl sync docs 2>&1 | cat")
    assert done.text.splitlines() == [
        f"Made a store: {here / '.memory' / 'memory.db'}",
        f"[sync] Scanned 40 files in {here / 'docs'}",
        f"[sync] Done: 40 new, 0 changed, 0 unchanged, {len(rows(here / '.memory' / 'memory.db'))} chunks",
    ]


def test_the_report_can_be_cut_off(sh: Shell, here: Path) -> None:
    (here / "docs").mkdir()
    for n in range(3000):
        (here / "docs" / f"a file with a long name, which is number {n}.md").touch()
    done = sh("memctl sync docs --report | head -1; echo ${PIPESTATUS[0]}")
    assert done.text.splitlines()[1] == "141"
    assert json.loads(sh("memctl sync docs --json").out)["files_unchanged"] == 3000
