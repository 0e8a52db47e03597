"""Print the table of what memctl costs."""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import cases
from benchmarks.cases import Row
from benchmarks.house import ROOT, House, build
from benchmarks.measure import Skipped

Case = Callable[[], Iterator[Row]]


def chosen(house: House, args: argparse.Namespace) -> dict[str, Case]:
    """The measurements asked for, in the order of the table."""
    every: dict[str, Case] = {
        "startup": lambda: cases.startup(house, args.runs),
        "ingest": lambda: cases.ingest(house, args.corpus),
        "sync": lambda: cases.sync(house, args.corpus, args.against, args.items // 2),
        "import": lambda: cases.imports(house, args.items),
        "policy": lambda: cases.policy(house, args.corpus),
        "search": lambda: cases.search(house, args.runs, args.items // 2),
        "large": lambda: cases.large(house, args.large, max(1, args.runs // 2)),
        "everyday": lambda: _everyday(house, args.large // 2, max(1, args.runs // 2)),
        "remote": lambda: _remote(house, args.items // 2, max(1, args.runs // 4)),
        "sessions": lambda: _sessions(house, args.sessions),
        "vectors": lambda: _vectors(house, args.items // 2),
        "mcp": lambda: _server(house, args.items // 2, max(1, args.runs // 4), args.items // 2),
    }
    if args.judged:
        every["judged"] = lambda: cases.judged(house, args.judged)
        every["abstention"] = lambda: cases.abstention(house, args.judged)
    return {name: case for name, case in every.items() if not args.only or name in args.only.split(",")}


def _everyday(house: House, count: int, runs: int) -> Iterator[Row]:
    from benchmarks import everyday

    return everyday.measure(house, count, runs)


def _remote(house: House, count: int, runs: int) -> Iterator[Row]:
    from benchmarks import remote

    return remote.measure(house, count, runs)


def _sessions(house: House, count: int) -> Iterator[Row]:
    from benchmarks import sessions

    return sessions.measure(house, count)


def _vectors(house: House, count: int) -> Iterator[Row]:
    from benchmarks import vectors

    return vectors.measure(house, count)


def _server(house: House, items: int, runs: int, calls: int) -> Iterator[Row]:
    from benchmarks import server

    return server.measure(house, items, runs, calls)


def rows(name: str, case: Case) -> Iterator[Row]:
    """The rows of one measurement; one line that says so when it could not be taken."""
    print(f"measuring {name} …", file=sys.stderr)
    try:
        yield from case()
    except Skipped as why:
        yield Row(name, f"skipped: {why}")


def table(args: argparse.Namespace) -> Iterator[str]:
    """The lines of the table, each as soon as it is known."""
    yield f"{cases.machine()}"
    yield ""
    yield "| measured | figure | compared | limit |"
    yield "|---|--:|--:|--:|"
    with tempfile.TemporaryDirectory(prefix="memctl-bench-") as scratch:
        house = build(Path(scratch))
        for name, case in chosen(house, args).items():
            for row in rows(name, case):
                yield "| " + " | ".join(row) + " |"


def write(lines: list[str]) -> None:
    """Put the table into benchmarks/README.md, in the place of the one that is there."""
    page = Path(__file__).with_name("README.md")
    head, mark, rest = page.read_text(encoding="utf-8").partition("## Figures\n")
    _, following, after = rest.partition("\n## ")
    page.write_text(head + mark + "\n" + "\n".join(lines) + "\n" + following + after, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks/run", description=__doc__)
    parser.add_argument("--corpus", metavar="FOLDER", help="ingest this folder (default: Python's standard library)")
    parser.add_argument("--only", metavar="A,B", help="only these: startup, ingest, vectors, …")
    parser.add_argument("--runs", type=int, default=40, help="runs of each short command (default: %(default)s)")
    parser.add_argument("--items", type=int, default=20_000, help="items to import; half as many to search in")
    parser.add_argument("--against", metavar="VERSION", help="measure sync beside this version of the original memctl")
    parser.add_argument("--large", type=int, default=200_000, metavar="N", help="items of the large store")
    parser.add_argument("--sessions", type=int, default=1000, metavar="N", help="conversations to take in")
    parser.add_argument("--judged", metavar="FOLDER", help="a judged collection, or a folder of them")
    parser.add_argument("--write", action="store_true", help="put the table into benchmarks/README.md as well")
    args = parser.parse_args()
    sys.path.insert(0, str(ROOT / "src"))  # some of them measure functions of ours, in this process
    lines = []
    for line in table(args):
        print(line, flush=True)
        lines.append(line)
    if args.write:
        write(lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
