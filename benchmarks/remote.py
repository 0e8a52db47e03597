"""What it costs to share a store: what leaves and what comes, an exchange without news, and each statement since."""

import os
import random
import shutil
import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.cases import Row, write_items
from benchmarks.everyday import remember_cost
from benchmarks.house import ROOT, House
from benchmarks.measure import Cost, check, medians, spawn

if TYPE_CHECKING:
    from clusters import Cluster

_BEHIND = "1,000 records in, of a million in 200 logs, from PostgreSQL"


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
    steps = [statistics.median(_steps(db)) for db in (alone, here)]
    yield Row("the same, in instructions of SQLite", f"{steps[1]:,.0f}, {(steps[1] / steps[0] - 1) * 100:+.1f} %",
              f"{steps[0]:,.0f} without one", "≤ 5 % more")  # fmt: skip
    yield from database(house, runs)


def database(house: House, runs: int) -> Iterator[Row]:
    """What a thousand records cost that are new among a million, in the logs of 200 replicas in a database."""
    sys.path.insert(0, str(ROOT / "tests"))
    try:
        import pytest
    except ImportError:
        yield Row(_BEHIND, "not installed: pytest, whose server is used", "", "")
        return
    try:
        from clusters import cluster

        with cluster() as team:
            yield from _behind(house, team, runs)
    except pytest.skip.Exception as why:
        yield Row(_BEHIND, f"not installed: {why}", "", "")


def _behind(house: House, team: "Cluster", runs: int) -> Iterator[Row]:
    import psycopg

    from clusters import OWNER, fill

    extra = house.folder / "psycopg"  # what memctl[postgres] brings, and nothing else of this interpreter's
    extra.mkdir()
    for one in Path(psycopg.__file__).parents[1].glob("psycopg*"):
        (extra / one.name).symlink_to(one)
    (extra / "typing_extensions.py").symlink_to(Path(psycopg.__file__).parents[1] / "typing_extensions.py")
    env = house.env | {"PYTHONPATH": str(extra)}
    team.renew("anna", "bert")
    script = subprocess.run(house.command("remote", "init", team.url(OWNER), "--scope", "team"), env=env, check=True,
                            capture_output=True, text=True).stdout  # fmt: skip
    team.admit("anna", script)
    known, behind, now = fill(team, "team"), house.store("remote-behind"), house.store("remote-now")
    words = ("remote", "add", "team", team.url("anna"), "--scope", "project=team", "--db", behind, "-q")
    check(spawn(house.command(*words), env), "remote add")
    with closing(sqlite3.connect(behind)) as conn, conn:
        sql = "INSERT INTO memctl_remote_logs(remote, scope, replica, last, hash) VALUES ('team', 'team', ?, 5, ?)"
        conn.executemany(sql, known)
    news, none = list[Cost](), list[Cost]()
    for _ in range(max(3, runs)):
        shutil.copyfile(behind, now)
        for found in (news, none):
            found.append(check(spawn(house.command("remote", "sync", "--db", now, "-q"), env), "remote sync"))
    for costs, title, limit in ((news, _BEHIND, "≤ 0.5 s"), (none, "an exchange over PostgreSQL without news", "")):
        wall, cpu = (statistics.median(values) for values in zip(*((one.wall, one.cpu) for one in costs), strict=True))
        yield Row(title, f"{wall:.2f} s, {cpu:.2f} s CPU", "", limit)
    took = statistics.median(_read_behind(team.url("anna"), known) for _ in range(max(3, runs)))
    yield Row("these 1,000 records: connect, ask and read, without what becomes of them here", f"{took:.2f} s", "", "")


def _read_behind(url: str, known: list[tuple[str, str]]) -> float:
    """Seconds on the wall."""
    from memctl.remote.carrier import SegmentPlace
    from memctl.remote.postgres import PostgresCarrier
    from memctl.store.remotes import KnownLog

    start = time.perf_counter()
    carrier = PostgresCarrier(url)
    found = carrier.listing(["team"], {("team", one): KnownLog("team", one, 5, digest) for one, digest in known})
    for (scope, replica), names in found.items():
        for name in (one for one in names if one.last > 5):
            carrier.read(SegmentPlace(scope, replica, name))
    return time.perf_counter() - start


def _steps(db: str) -> Iterator[int]:
    """What SQLite does for one statement more: no other program on the machine changes that."""
    from memctl.context import open_context
    from memctl.ops.write.statements import remember

    with open_context(db=db) as ctx:
        remember(ctx, ["Nothing is counted of the first."])
        for number in range(20):
            seen = [0]
            ctx.db.conn.set_progress_handler(partial(_note, seen), 1)
            remember(ctx, [f"The {number}. counted word on the gateway is {random.random()}."])
            ctx.db.conn.set_progress_handler(None, 0)
            yield seen[0]


def _note(seen: list[int]) -> int:
    seen[0] += 1
    return 0


def _writes(alone: str, shared: str) -> Row:
    """One statement more, in a store without a remote and in one with it, in turns."""
    pairs = [(remember_cost(alone, 40), remember_cost(shared, 40)) for _ in range(15)]
    without, with_one = (statistics.median(times) for times in zip(*pairs, strict=True))
    said = f"{with_one:.2f} ms CPU, {(with_one / without - 1) * 100:+.1f} %"
    return Row("remember, in a store with a remote", said, f"{without:.2f} ms without one", "≤ 5 % more")


def _run(house: House, db: str, *words: str) -> Cost:
    return check(spawn(house.command("remote", *words, "--db", db, "-q"), house.env), f"remote {words[0]}")
