"""What a person asks of a large store, and what many writers wait for each other."""

import json
import random
import statistics
import subprocess
import time
from collections.abc import Iterator

from benchmarks.cases import Row, write_items
from benchmarks.house import House
from benchmarks.measure import check, medians, spawn

#: The writers of `writers`: each is a process that remembers so many statements, and prints the longest wait.
WRITERS, WRITES = 32, 20
_WRITER = """
import sys, time
from memctl.context import open_context
from memctl.ops.write.statements import remember
worst = 0.0
with open_context(db=sys.argv[1]) as ctx:
    for number in range(int(sys.argv[3]) + 1):
        start = time.perf_counter()
        remember(ctx, [f"The gateway {sys.argv[2]} retries {number} times."])
        worst = max(worst, time.perf_counter() - start) if number else 0.0  # the first one loads the modules
print(worst)
"""


def measure(house: House, count: int, runs: int) -> Iterator[Row]:
    """The commands that show a store of `count` items, and one statement more in it."""
    path, db = house.folder / "everyday.jsonl", house.store("everyday")
    write_items(path, count)
    check(spawn(house.command("import", str(path), "--db", db, "-q"), house.env), "import")
    path.unlink()
    commands = {name: house.command(name, "--db", db, "-q") for name in ("list", "status", "stats", "digest")}
    for name, cpu in medians(commands, house.env, runs).items():
        limit = "≤ 60 ms at 100,000" if name in ("list", "status") else ""
        said = str(cpu) if isinstance(cpu, Exception) else f"{cpu:.1f} ms CPU"
        yield Row(f"{count:,} items: {name}", said, "", limit)
    one_more = f"{remember_cost(db, runs):.2f} ms CPU"
    yield Row(f"{count:,} items: remember, in process", one_more, "", "≤ 3 ms at 1,000,000")
    yield from writers(house)


def remember_cost(db: str, runs: int) -> float:
    """The median CPU milliseconds of one statement more."""
    from memctl.context import open_context
    from memctl.ops.write.statements import remember

    times = []
    with open_context(db=db) as ctx:
        for number in range(runs + 1):
            start = time.process_time()
            remember(ctx, [f"The {number}. word on the gateway is {random.random()}."])
            times.append((time.process_time() - start) * 1000)
    return statistics.median(times[1:])


def writers(house: House) -> Iterator[Row]:
    """Many processes that write one store at once: the longest wait of any."""
    command = [house.python, "-c", _WRITER, house.store("writers")]
    children = [
        subprocess.Popen([*command, str(number), str(WRITES)], env=house.env, stdout=subprocess.PIPE, text=True)
        for number in range(WRITERS)
    ]
    waits = sorted(json.loads(child.communicate()[0]) for child in children)
    what = f"{WRITERS} writers of {WRITES} statements: the longest wait of one"
    yield Row(what, f"{waits[-1]:.1f} s", f"of the middle one {waits[len(waits) // 2]:.1f} s", "≤ 5 s")
