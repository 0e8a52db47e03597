"""Many writers at once: nothing lost, nothing doubled, nobody is told that the database is locked."""

import collections
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support import PATIENCE

MEMCTL = os.path.join(os.path.dirname(sys.executable), "memctl")


def export(store: Path) -> list[dict[str, Any]]:
    done = subprocess.run([MEMCTL, "export", "-q", "--db", str(store)], capture_output=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def write_at_once(store: Path, processes: int, writes: int) -> None:
    """Run the writers and check all they left behind."""
    script = str(Path(__file__).with_name("writers.py"))
    done = subprocess.run(
        [sys.executable, script, str(store), str(processes), str(writes)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"failed": [], "said": ""}
    titles = collections.Counter(item["title"] for item in export(store))
    wanted = {f"writer {p} turn {t}": 1 for p in range(processes) for t in range(writes)}
    assert dict(titles) == wanted | {"shared": 1}


def test_some_writers_on_a_store_that_none_has_made_yet(tmp_path: Path) -> None:
    write_at_once(tmp_path / "memory.db", 8, 5)


@pytest.mark.slow
def test_thirty_two_writers_twenty_times_each(tmp_path: Path) -> None:
    store = tmp_path / "memory.db"
    write_at_once(store, 32, 20)
    shared = next(item for item in export(store) if item["title"] == "shared")
    assert sorted(shared["tags"]) == sorted(f"w{n}" for n in range(32))


def test_real_processes_with_different_commands(tmp_path: Path) -> None:
    """Separate programs from a cold start, documents and statements, on a store that none has made yet."""
    store = str(tmp_path / "memory.db")
    children = []
    for n in range(6):
        (tmp_path / f"doc{n}.md").write_text(f"# Doc {n}\n\nThe gateway number {n} retries.\n")
        (tmp_path / f"note{n}").write_text(f"Note {n} on the cache of worker {n}.")
        for argv, stdin in (
            (["push", "gateway", "--source", f"doc{n}.md"], os.devnull),
            (["pull", "--title", f"note {n}"], str(tmp_path / f"note{n}")),
        ):
            command = [MEMCTL, *argv, "--db", store, "-q"]
            with open(stdin, "rb") as file:
                children.append(
                    subprocess.Popen(command, cwd=tmp_path, stdin=file, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                )
    ends = [(child.communicate(timeout=PATIENCE)[1], child.returncode) for child in children]
    assert ends == [(b"", 0)] * 12
    assert len(export(Path(store))) == 12


def test_syncs_at_once_lose_and_double_nothing(tmp_path: Path) -> None:
    """A new folder, the same one again, and one with edits, moves and deletions, each followed by several at once."""
    docs, store, calm = tmp_path / "docs", tmp_path / "memory.db", tmp_path / "calm.db"
    docs.mkdir()
    for n in range(40):
        (docs / f"file{n:02}.md").write_text(f"# File {n}\n\n" + f"The gateway number {n} retries. " * 400)

    def sync(db: Path, processes: int) -> None:
        command = [MEMCTL, "sync", "docs", "-q", "--db", str(db)]
        children = [subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE) for _ in range(processes)]
        assert [(child.communicate(timeout=PATIENCE)[1], child.returncode) for child in children] == [
            (b"", 0)
        ] * processes

    def passages(db: Path) -> list[tuple[str, str]]:
        return sorted((item["provenance"]["source_id"], item["content"]) for item in export(db))

    for turn in range(3):
        if turn == 2:
            for n in range(0, 40, 4):
                (docs / f"file{n:02}.md").write_text(f"# File {n}\n\nThe heron number {n} nests.\n")
                (docs / f"file{n + 1:02}.md").rename(docs / f"moved{n:02}.md")
                (docs / f"file{n + 2:02}.md").unlink()
        sync(store, 3)
        calm.unlink(missing_ok=True)
        sync(calm, 1)
        assert passages(store) == passages(calm)
    done = subprocess.run(
        [MEMCTL, "mount", "--list", "--json", "--db", str(store)], capture_output=True, cwd=tmp_path, check=True
    )
    assert len(json.loads(done.stdout)) == 1
