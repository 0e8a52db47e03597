"""Killed at any SQL statement: no loss, no half state, and the same end after a second run."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
MEMCTL = os.path.join(os.path.dirname(sys.executable), "memctl")

FIRST = "# Guide\n\n## One\n\nThe gateway retries twice.\n\n## Two\n\nThe cache lives in Redis.\n"
EDITED = "# Guide\n\n## One\n\nThe gateway retries five times.\n\n## Three\n\nBackups run at night.\n"
SECOND = "Notes about the session store, which is Redis as well.\n"
ANSWER = """The answer.
<MEMORY_PROPOSALS_JSON>
[{"type": "decision", "title": "Redis", "content": "We chose Redis for sessions.", "tags": ["db"],
  "why_store": "a decision"},
 {"type": "fact", "title": "Retries", "content": "The gateway retries twice.", "why_store": "a fact"}]
</MEMORY_PROPOSALS_JSON>
"""
LINES = "\n".join(
    json.dumps({"title": f"item {n}", "content": f"Statement number {n}.", "tags": ["x"]}) for n in range(4)
)

#: command, standard input, what happened to the store and the files before
JOBS = {
    "init": (["init", "box"], "", ()),
    "push into a new store": (["push", "gateway", "--source", "docs", "--db", "box/memory.db"], "", ()),
    "push again after an edit": (
        ["push", "gateway", "--source", "docs", "--db", "box/memory.db"],
        "",
        ("push", "edit"),
    ),
    "ingest after a deletion": (["ingest", "--source", "docs", "--db", "box/memory.db"], "", ("push", "delete")),
    "pull": (["pull", "--tags", "t", "--db", "box/memory.db"], ANSWER, ("push",)),
    "pull what is known": (["pull", "--tags", "more", "--db", "box/memory.db"], ANSWER, ("pull",)),
    "import": (["import", "--db", "box/memory.db"], LINES, ("pull",)),
    "show": (["show", "ID", "--db", "box/memory.db"], "", ("pull",)),
}


def memctl(folder: Path, *argv: str, stdin: str = "") -> str:
    done = subprocess.run([MEMCTL, *argv], cwd=folder, input=stdin, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def prepare(folder: Path, steps: tuple[str, ...]) -> str | None:
    """The files, and the store as it is before the job; the path of its copy."""
    docs, store = folder / "docs", folder / "box" / "memory.db"
    docs.mkdir()
    (docs / "guide.md").write_text(FIRST)
    (docs / "notes.txt").write_text(SECOND)
    for step in steps:
        if step == "push":
            memctl(folder, "push", "gateway", "--source", "docs", "--db", str(store))
        elif step == "pull":
            memctl(folder, "pull", "--db", str(store), stdin=ANSWER)
        elif step == "edit":
            (docs / "guide.md").write_text(EDITED)
        elif step == "delete":
            (docs / "notes.txt").unlink()
    if not store.exists():
        return None
    assert not (folder / "box" / "memory.db-wal").exists()
    return str(store.rename(folder / "base.db"))


def run_sweep(folder: Path, name: str, most: int) -> dict[str, Any]:
    argv, stdin, steps = JOBS[name]
    base = prepare(folder, steps)
    if "ID" in argv:
        item = json.loads(memctl(folder, "list", "--json", "--db", str(base)))[0]["id"]
        argv = [item if a == "ID" else a for a in argv]
    job = {
        "argv": argv, "stdin": stdin, "folder": str(folder), "store": str(folder / "box" / "memory.db"),
        "base": base, "most": most,
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, str(HERE / "sweep.py")], input=json.dumps(job), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


@pytest.mark.parametrize("name", JOBS)
def test_killed_at_some_statements(tmp_path: Path, name: str) -> None:
    report = run_sweep(tmp_path, name, most=16)
    assert report["wrong"] == {}
    assert report["statements"] > 2
    assert report["changed"] or name == "show"


@pytest.mark.slow
@pytest.mark.parametrize("name", JOBS)
def test_killed_at_every_statement(tmp_path: Path, name: str) -> None:
    report = run_sweep(tmp_path, name, most=0)
    assert report["wrong"] == {}
    assert report["tried"] == report["statements"]


def test_killed_by_the_system_in_the_middle_of_a_large_ingest(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for n in range(60):
        paragraphs = (f"Paragraph {k} of file {n} tells how the worker number {n * k} retries." for k in range(120))
        (docs / f"file{n:02}.md").write_text("\n\n".join(paragraphs))
    store = tmp_path / "memory.db"
    command = [MEMCTL, "push", "worker", "--source", "docs", "-q", "--db", str(store)]
    child = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not size_of_wal(store) and child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.001)
    child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    memctl(tmp_path, "push", "worker", "--source", "docs", "-q", "--db", str(store))
    memctl(tmp_path, "push", "worker", "--source", "docs", "-q", "--db", str(tmp_path / "calm.db"))
    texts = [
        sorted(json.loads(line)["content"] for line in memctl(tmp_path, "export", "-q", "--db", str(db)).splitlines())
        for db in (store, tmp_path / "calm.db")
    ]
    assert texts[0] == texts[1]
    assert len(texts[0]) > 60


def size_of_wal(store: Path) -> int:
    try:
        return os.path.getsize(f"{store}-wal")
    except FileNotFoundError:
        return 0
