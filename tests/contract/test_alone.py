"""memctl keeps to itself: no network, no other program, no file but the store. SECURITY.md promises it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

#: Runs a command line with every way out watched; what was tried is printed, and the command goes on.
WATCHED = """
import os, sys
OUT = ("socket.", "subprocess.Popen", "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "urllib.")
def watch(event, args):
    if event.startswith(OUT):
        os.write(1, f"TRIED {event}\\n".encode())
sys.addaudithook(watch)
from memctl.cli import main
sys.exit(main(sys.argv[1:]))
"""


def run(here: Path, *argv: str, stdin: str = "") -> str:
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, *argv], cwd=here, input=stdin, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def store(scratch: Path) -> str:
    path = str(scratch / "box" / "memory.db")
    (scratch / "page.html").write_text("<title>T</title><p>The gateway retries, see https://example.org/x.png</p>")
    (scratch / "doc.md").write_text("# Doc\n\nThe gateway retries twice.\n")
    return path


def test_no_command_opens_a_socket_or_starts_a_program(store: str, scratch: Path) -> None:
    said = [
        run(scratch, "init", "box"),
        run(scratch, "push", "gateway", "--source", "doc.md", "page.html", "--db", store),
        run(scratch, "ingest", "--source", "doc.md", "--db", store),
        run(scratch, "pull", "--db", store, stdin="The cache is warm."),
        run(scratch, "import", "--db", store, stdin='{"content": "One more statement."}\n'),
    ]
    said += [run(scratch, *argv, "--db", store) for argv in READS]
    assert [line for out in said for line in out.splitlines() if line.startswith("TRIED")] == []
    assert any("gateway" in out for out in said)


READS = (["search", "gateway"], ["recall", "gateway"], ["list"], ["stats"], ["export"])


def test_the_watch_sees_what_it_should() -> None:
    code = WATCHED.partition("from memctl")[0] + "import socket; socket.socket().close()"
    assert (
        "TRIED socket"
        in subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    )


def test_only_the_store_its_folder_and_the_list_of_stores_are_written(store: str, scratch: Path) -> None:
    run(scratch, "push", "gateway", "--source", "doc.md", "--db", store)
    run(scratch, "pull", "--db", store, stdin="The cache is warm.")
    for argv in READS:
        run(scratch, *argv, "--db", store)
    assert sorted(os.listdir(scratch)) == ["box", "doc.md", "page.html"]
    assert os.listdir(scratch / "box") == ["memory.db"]
    home = Path(os.environ["HOME"])
    written = [path.relative_to(home).as_posix() for path in home.rglob("*") if path.is_file()]
    assert [path for path in written if not path.startswith(f"{scratch.name}/")] == [".local/state/memctl/trusted"]
