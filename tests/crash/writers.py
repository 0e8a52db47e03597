"""Many processes writing to one store at once: `python writers.py STORE PROCESSES WRITES`.

Each process is forked from one warm interpreter and runs `memctl pull` WRITES times, each with its own statement, plus
one statement that all of them share. Prints the exit statuses that were not 0 and what the processes said on stderr.
"""

import io
import json
import os
import sys


class Stdin(io.TextIOWrapper):
    """Standard input made of given text, with the `.buffer` that a real one has."""

    def __init__(self, text: str) -> None:
        super().__init__(io.BytesIO(text.encode()), encoding="utf-8")


def write_all(store: str, number: int, writes: int) -> int:
    """The work of one process; how many of its commands failed."""
    from memctl.cli import main

    failed = 0
    for turn in range(writes):
        words = f"Writer {number} says in turn {turn} that {number * 1000 + turn} is its own figure."
        sys.stdin = Stdin(words)
        failed += main(["pull", "--db", store, "--title", f"writer {number} turn {turn}", "-q"]) != 0
    sys.stdin = Stdin("The depot of the writers is open on Mondays.")
    failed += main(["pull", "--db", store, "--title", "shared", "--tags", f"w{number}", "-q"]) != 0
    return failed


def run(store: str, processes: int, writes: int) -> dict[str, object]:
    """Fork, let all of them start together, wait; the report."""
    errors = f"{store}.stderr"
    ready, go = os.pipe()
    children = []
    for number in range(processes):
        pid = os.fork()
        if pid == 0:
            os.close(go)
            os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
            sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
            os.read(ready, 1)  # all start when the parent closes its end
            os._exit(min(write_all(store, number, writes), 100))
        children.append(pid)
    os.close(go)
    statuses = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
    with open(errors) as file:
        return {"failed": [s for s in statuses if s], "said": file.read()}


if __name__ == "__main__":
    import memctl.cli
    import memctl.store  # noqa: F401 - warm before forking

    print(json.dumps(run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
