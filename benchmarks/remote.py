"""What it costs to share a store: what leaves and what comes, an exchange without news, and each statement since."""

import os
import shutil
import statistics
import subprocess
from collections.abc import Iterator
from pathlib import Path

from benchmarks.cases import Row, write_items
from benchmarks.everyday import remember_cost
from benchmarks.house import House
from benchmarks.measure import Cost, check, medians, spawn


def measure(house: House, count: int, runs: int) -> Iterator[Row]:
    """Two stores of `count` items that share a folder, and then a git repository."""
    path, here, there = house.folder / "remote.jsonl", house.store("remote-a"), house.store("remote-b")
    write_items(path, count)
    check(spawn(house.command("import", str(path), "--db", here, "-q"), house.env), "import")
    path.unlink()
    alone = house.store("remote-none")
    shutil.copyfile(here, alone)
    hub = house.folder / "hub.git"
    subprocess.run(["git", "init", "--quiet", "--bare", str(hub)], check=True)
    (house.folder / "shared").mkdir()
    for way, url in (("a folder", house.folder / "shared"), ("git", hub)):
        size = os.path.getsize(here)
        _run(house, here, "add", "team", str(url), "--trust", "high")
        out = _run(house, here, "sync")
        yield Row(f"{count:,} statements out to {way}", f"{out.cpu:.2f} s CPU", "", "≤ 2 s at 10,000")
        if way == "a folder":
            yield Row("what is known of a statement there", f"{(os.path.getsize(here) - size) / count:.0f} B", "", "")
        _run(house, there, "add", "team", str(url), "--trust", "high")
        got = _run(house, there, "sync")
        yield Row(f"{count:,} statements in from {way}", f"{got.cpu:.2f} s CPU", "", "≤ 2 s at 10,000")
        quiet = {way: house.command("remote", "sync", "--db", there, "-q")}
        for cpu in medians(quiet, house.env, runs).values():
            said = str(cpu) if isinstance(cpu, Exception) else f"{cpu:.0f} ms CPU"
            yield Row(f"an exchange over {way} without news", said, "", "")
        for db in (here, there):
            if way == "a folder":
                _run(house, db, "remove", "team")
        Path(there).unlink()
    yield _writes(alone, here)


def _writes(alone: str, shared: str) -> Row:
    """One statement more, in a store without a remote and in one with it, in turns."""
    pairs = [(remember_cost(alone, 40), remember_cost(shared, 40)) for _ in range(5)]
    without, with_one = (statistics.median(times) for times in zip(*pairs, strict=True))
    said = f"{with_one:.2f} ms CPU, {(with_one / without - 1) * 100:+.1f} %"
    return Row("remember, in a store with a remote", said, f"{without:.2f} ms without one", "≤ 5 % more")


def _run(house: House, db: str, *words: str) -> Cost:
    return check(spawn(house.command("remote", *words, "--db", db, "-q"), house.env), f"remote {words[0]}")
