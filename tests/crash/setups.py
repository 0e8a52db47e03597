"""Kill `memctl setup` and `teardown` before their first write to the disk, their second, and so on.

`python setups.py HOME` prints what went wrong, a line each. Each attempt is a child of one warm interpreter, with
`os._exit` in an audit hook as the kill. After each kill a file of settings is whole: as it was, or as an undisturbed
run leaves it; the same command again, and teardown after it, end where an undisturbed run ends.
"""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

KILLED = 137
CLIENTS = ("gemini", "codex")
SETTINGS = {
    ".gemini/settings.json": b'\xef\xbb\xbf{\r\n\t"theme": "x", // mine\r\n}\r\n',
    ".codex/config.toml": b"# mine\nmodel = 'o'\n",
}


def in_child(argv: list[str], die_at: int = 0) -> int:
    """Run a command, killed before its write number `die_at` (0: never); its exit status."""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    seen = 0

    def count(event: str, args: tuple[Any, ...]) -> None:
        nonlocal seen
        writes = event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR)
        if writes or event in {"os.rename", "os.remove", "os.rmdir", "os.mkdir"}:
            seen += 1
            if seen == die_at:
                os._exit(KILLED)

    from memctl.cli import main

    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    sys.addaudithook(count)
    status = 99
    try:
        status = main(argv)
    finally:
        os._exit(status)


def tree(home: Path, *, copies: bool = False) -> dict[str, bytes]:
    """The files of settings by their paths; with `copies` what else is left beside them, too."""
    found = (path for path in home.rglob("*") if path.is_file() and ".local" not in path.parts)
    return {
        str(path.relative_to(home)): path.read_bytes() for path in found
        if copies or (path.suffix != ".part" and ".bak." not in path.name)
    }  # fmt: skip


def fill(home: Path) -> None:
    """The home as it is before setup."""
    shutil.rmtree(home, ignore_errors=True)
    for name, data in SETTINGS.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(data)


def torn(now: dict[str, bytes], one: dict[str, bytes], other: dict[str, bytes]) -> list[str]:
    """The files that are neither as in one state nor as in the other."""
    return [name for name in {*now, *one, *other} if now.get(name) not in (one.get(name), other.get(name))]


def sweep(home: Path, begin: Callable[[], object], argv: list[str], end: dict[str, bytes], *, back: bool) -> None:
    """Kill one command everywhere; `end` is the state after it."""
    before = dict(SETTINGS)
    for die_at in range(1, 1000):
        begin()
        start = tree(home)
        status = in_child(argv, die_at)
        if found := torn(tree(home), start, end):
            print(f"{argv[0]} killed at {die_at} tore {found}")
        if status != KILLED:
            print(f"# {argv[0]}: {die_at - 1} kills")
            return
        if in_child(argv) or tree(home) != end:
            print(f"{argv[0]} again after a kill at {die_at} ends elsewhere: {torn(tree(home), end, end)}")
        if back and (in_child(["teardown", *CLIENTS]) or tree(home, copies=True) != before):
            print(f"teardown after a kill at {die_at} leaves {torn(tree(home, copies=True), before, before)}")
        if not back and tree(home, copies=True) != before:
            print(f"{argv[0]} killed at {die_at} leaves {sorted(tree(home, copies=True))}")


def main() -> None:
    """Both commands."""
    from memctl.clients import examine

    examine.shake_hands = lambda _argv, _patience=0.0: {"ok": True, "version": "1", "tools": ["x"]}  # type: ignore[assignment]
    home = Path(sys.argv[1])
    setup = ["setup", *CLIENTS, "--db", str(home / "memory.db")]
    fill(home)
    if in_child(setup):
        sys.exit("setup does not work")
    wired = tree(home)
    sweep(home, lambda: fill(home), setup, wired, back=True)

    def begin() -> None:
        fill(home)
        in_child(setup)

    sweep(home, begin, ["teardown", *CLIENTS], dict(SETTINGS), back=False)


if __name__ == "__main__":
    main()
