"""Run a process and say what it cost: CPU time and peak memory, from the kernel's own account of that one child."""

import os
import statistics
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Cost(NamedTuple):
    """CPU seconds (user + system) with its children's, seconds on the wall, peak memory in bytes, how it ended."""

    cpu: float
    wall: float
    peak: int
    status: int
    out: bytes = b""
    err: bytes = b""


class Skipped(Exception):
    """A measurement that could not be taken, with the reason."""


def spawn(command: Sequence[str], env: dict[str, str], *, stdin: str = os.devnull, out: str = os.devnull) -> Cost:
    """Run `command` to its end; wait4 gives the usage of exactly this child."""
    errors = os.path.join(env["HOME"], "stderr")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, stdin, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, out, flags, 0o600),
        (os.POSIX_SPAWN_OPEN, 2, errors, flags, 0o600),
    ]
    start = time.perf_counter()
    pid = os.posix_spawn(command[0], list(command), env, file_actions=actions)
    _, status, usage = os.wait4(pid, 0)
    with open(errors, "rb") as file:
        said = file.read()
    wall = time.perf_counter() - start
    return Cost(
        usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss * 1024, os.waitstatus_to_exitcode(status), err=said
    )


def check(cost: Cost, what: str) -> Cost:
    """The cost of something that worked; Skipped with its own words when it did not."""
    if cost.status:
        words = cost.err.decode("utf-8", "replace").strip().splitlines()
        raise Skipped(f"{what} ended with {cost.status}: {words[-1] if words else 'no message'}")
    return cost


def medians(
    commands: Mapping[str, Sequence[str]], env: dict[str, str], runs: int, stdin: Mapping[str, str] = {}
) -> dict[str, float | Skipped]:
    """Median CPU milliseconds of each command, run in turns so that a busy machine disturbs all of them alike.

    stdin  the files that some of them read
    """
    times: dict[str, list[float]] = {name: [] for name in commands}
    failed: dict[str, float | Skipped] = {}
    for turn in range(runs + 2):
        for name, command in commands.items():
            if name in failed:
                continue
            try:
                cost = check(spawn(command, env, stdin=stdin.get(name, os.devnull)), name)
            except Skipped as why:
                failed[name] = why
                continue
            if turn >= 2:  # the first two warm the disk cache and the bytecode
                times[name].append(cost.cpu * 1000)
    return {name: failed.get(name) or statistics.median(times[name]) for name in commands}
