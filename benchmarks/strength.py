"""What newness and use cost where they are no reason: judged questions, asked of a store that tempts the ranking.

    python3 -m benchmarks.strength FOLDER       # a judged collection, or a folder of them (see recall.py)

The answers of judged questions are as often old as new. So the newest item of each scope is made one of today, the
others as many days older as they are; and after each question its first five hits count as used. What is lost against a
weight of 0 is the price of preferring the new and the used where they do not answer better. Only items of different
dates tell about newness. A cell holds recall at 10 and the mean reciprocal rank.
"""

import argparse
import shutil
import sqlite3
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from benchmarks.house import ROOT, build

TYPE_CHECKING = False
if TYPE_CHECKING:
    from benchmarks.recall import Question

SHARES = (0.0, 0.05, 0.1, 0.2)
#: So many of the first hits count as used.
USED = 5


def shifted(db: str) -> bool:
    """Let the newest item of each scope be of today; whether the items have different dates at all."""
    with closing(sqlite3.connect(db)) as conn, conn:
        newest = conn.execute("SELECT scope, max(julianday(created_at)) FROM memory_items GROUP BY scope").fetchall()
        for scope, day in newest:
            conn.execute(
                "UPDATE memory_items SET created_at = strftime('%Y-%m-%dT%H:%M:%S+00:00', "
                "julianday(created_at) + julianday('now') - ?) WHERE scope = ?",
                (day, scope),
            )
        days = conn.execute("SELECT count(DISTINCT date(created_at)) FROM memory_items").fetchone()[0]
    return bool(days > 1)


def found(db: str, asked: "list[Question]", recency: float, use: float) -> tuple[float, float]:
    """Recall at 10 and the mean reciprocal rank, uses counted after each question."""
    from benchmarks import recall
    from memctl.names import STRENGTH
    from memctl.retrieve.find import search
    from memctl.store import connect
    from memctl.store.filters import Filters
    from memctl.store.items import items

    weights, per = STRENGTH | {"recency": recency, "use": use}, []
    with closing(connect.open_write(db, create=False)) as store:
        for question in asked:
            filters = Filters(Filters.read_set(question.scope))
            hits = [c.id for c in search(store, question.text, filters=filters, limit=10, weights=weights).candidates]
            if use:
                items.mark_used(store, hits[:USED])
            _, recall10, mrr, _ = recall.judged(hits, question.gold)
            per.append((recall10, mrr))
    return statistics.fmean(r for r, _ in per), statistics.fmean(m for _, m in per)


def table(folders: list[Path], scratch: Path) -> Iterator[str]:
    """The rows, each as soon as it is known."""
    from benchmarks import recall

    house = build(scratch)
    yield f"| collection | weight | {' | '.join(f'{share:g}' for share in SHARES)} |"
    yield f"|---|---|{'--:|' * len(SHARES)}"
    for folder in folders:
        db, asked = recall.load(house, folder), recall.questions(folder)
        dated = shifted(db)
        for name in ("recency", "use") if dated else ("use",):
            cells = []
            for share in SHARES:
                trial = shutil.copy(db, scratch / "trial.db")
                given = (share, 0.0) if name == "recency" else (0.0, share)
                cells.append("{:.4f} / {:.4f}".format(*found(str(trial), asked, *given)))
            yield f"| {folder.name} | {name} | {' | '.join(cells)} |"


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.strength", description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", type=Path, help="a judged collection, or a folder of them")
    args = parser.parse_args()
    sys.path.insert(0, str(ROOT / "src"))
    from benchmarks import recall

    with tempfile.TemporaryDirectory(prefix="memctl-strength-") as scratch:
        for line in table(recall.sets(args.folder), Path(scratch)):
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
