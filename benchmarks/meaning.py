"""What an embedder adds: judged questions answered by words alone, and with the vectors of a model.

    python3 -m benchmarks.meaning FOLDER --embedder http://127.0.0.1:8000/v1#all-minilm-l6-v2

FOLDER is a judged collection, or a folder of them (see recall.py). Each is put into a scratch store, `memctl embed`
makes its vectors and learns their weight, and the questions are asked twice. A row holds recall at 10 and that weight.
"""

import argparse
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.house import ROOT, build
from benchmarks.measure import check, spawn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from benchmarks.recall import Question


def recall10(db: str, asked: "Sequence[Question]", embedder: str) -> float:
    """The mean recall at 10."""
    from benchmarks import recall
    from memctl.context import Context
    from memctl.ops.recall.search import search

    per = []
    with Context(db=db, quiet=True) as ctx:
        for question in asked:
            hits = search(ctx, question.text, scope=question.scope, limit=recall.SHOWN, embedder=embedder)
            per.append(recall.judged([c.id for c in hits.found.candidates], question.gold)[1])
    return statistics.fmean(per)


def weight(db: str) -> float:
    """What the vectors may count in this store."""
    from memctl.retrieve.embedding import learned_weight
    from memctl.store import connect
    from memctl.store.search import vectors

    store = connect.open_read(db)
    try:
        return max((learned_weight(store, model) or 0.0 for model in vectors.count_by_model(store)), default=0.0)
    finally:
        store.close()


def table(folders: Sequence[Path], scratch: Path, embedder: str) -> Iterator[str]:
    """The rows, each as soon as it is known."""
    from benchmarks import recall

    house = build(scratch)
    yield "| collection | words | both | weight |"
    yield "|---|--:|--:|--:|"
    for folder in folders:
        db, asked = recall.load(house, folder), recall.questions(folder)
        check(spawn(house.command("embed", "--embedder", embedder, "--db", db, "-q"), house.env), "embed")
        words, both = (recall10(db, asked, spec) for spec in ("none", embedder))
        yield f"| {folder.name} | {words:.3f} | {both:.3f} | {weight(db):.2f} |"


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.meaning", description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", type=Path, help="a judged collection, or a folder of them")
    parser.add_argument("--embedder", required=True, help="as memctl embed takes it")
    args = parser.parse_args()
    sys.path.insert(0, str(ROOT / "src"))
    from benchmarks import recall

    with tempfile.TemporaryDirectory(prefix="memctl-meaning-") as scratch:
        for line in table(recall.sets(args.folder), Path(scratch), args.embedder):
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
