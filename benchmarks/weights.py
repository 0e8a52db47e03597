"""Whether the weights of the ranking are right: each is chosen on half of the judged questions, and tried on the rest.

    python3 -m benchmarks.weights FOLDER        # a judged collection, or a folder of them (see recall.py)

The questions of each collection fall into two halves by a hash of their ids. Of every weight some values are tried,
the others left as they are. A half's figure is the mean of recall at 10 and nDCG at 10, each collection counting alike.
A weight that is right loses nothing on the half it was not chosen on.
"""

import argparse
import hashlib
import importlib
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.house import ROOT, build

TYPE_CHECKING = False
if TYPE_CHECKING:
    from benchmarks.recall import Question

#: So many questions tell whether a weight does anything in a collection.
SAMPLE = 60
Halves = tuple[float, float]


class Weight(NamedTuple):
    """A constant, the modules of memctl.retrieve that have it, and the values to try."""

    name: str
    modules: str
    values: tuple[Any, ...]

    def put(self, value: Any) -> Any:
        """Set it everywhere; what it was."""
        before = None
        for module in self.modules.split():
            place = importlib.import_module(f"memctl.retrieve.{module}")
            before = getattr(place, self.name)
            setattr(place, self.name, value)
        return before


WEIGHTS = (
    Weight("K1", "candidates ranking", (1.0, 1.4, 1.8)),
    Weight("SHORT", "ranking", (300, 600, 1200)),
    Weight("NAMED", "ranking", (0.13, 0.17, 0.21)),
    Weight("TIME", "ranking", (0.2, 0.4, 0.6)),
    Weight("DAYS", "ranking", (3, 5, 10)),
    Weight("COVERAGE", "ranking", (0.25, 0.5, 0.75)),
    Weight("OPENING", "ranking", (0.1, 0.2, 0.3)),
    Weight("WRITTEN", "ranking", (0.2, 0.4, 0.6)),
    Weight("NEAR", "ranking", ((0.5, 0.3), (0.6, 0.35), (0.7, 0.4))),
    Weight("SOURCE", "ranking", (0.1, 0.15, 0.25)),
    Weight("REPLY", "ranking", (0.25, 0.35, 0.45)),
    Weight("BESIDE", "ranking", (0.75, 0.82, 0.9)),
    Weight("TOPIC", "ranking", (0.15, 0.25, 0.35)),
    Weight("PART", "fts_terms", (0.5, 0.7, 0.9)),
    Weight("BEGINNING", "fts_terms", (0.3, 0.5, 0.7)),
)


class Trial:
    """The collections, each in a store, and what the ranking as it stands finds in them."""

    def __init__(self, folders: list[Path], scratch: Path) -> None:
        from benchmarks import recall

        house = build(scratch)
        self.sets = [(recall.load(house, folder), recall.questions(folder)) for folder in folders]
        self.known: list[dict[tuple[tuple[str, float], ...], Halves]] = [{} for _ in self.sets]

    def halves(self) -> Halves:
        """The figure of each half. A collection where the first questions get the same scores is not asked again."""
        means = []
        for (db, asked), known in zip(self.sets, self.known, strict=True):
            sample = tuple(hit for question, hits in _asked(db, asked[:SAMPLE]) for hit in hits)
            if sample not in known:
                known[sample] = _halves(db, asked)
            means.append(known[sample])
        first, second = zip(*means, strict=True)
        return statistics.fmean(first), statistics.fmean(second)


def _halves(db: str, asked: "list[Question]") -> Halves:
    from benchmarks import recall

    per: tuple[list[float], list[float]] = ([], [])
    for question, hits in _asked(db, asked):
        _, recall10, _, ndcg = recall.judged([name for name, _ in hits], question.gold)
        per[half(question.id)].append((recall10 + ndcg) / 2)
    return statistics.fmean(per[0] or [0.0]), statistics.fmean(per[1] or [0.0])


def _asked(db: str, asked: "list[Question]") -> "Iterator[tuple[Question, list[tuple[str, float]]]]":
    from benchmarks import recall
    from memctl.context import Context
    from memctl.ops.recall.search import search

    with Context(db=db, quiet=True) as ctx:
        for question in asked:
            hits = search(ctx, question.text, scope=question.scope, limit=recall.SHOWN).found.candidates
            yield question, [(c.id, c.score) for c in hits]


def half(question: str) -> int:
    """Which half a question is in: 0 or 1, by a hash of its id."""
    return hashlib.sha256(question.encode()).digest()[0] & 1


def tried(trial: Trial) -> Iterator[str]:
    """The rows of the table, each as soon as it is known."""
    today = trial.halves()
    best: list[dict[Weight, Any]] = [{}, {}]
    yield "| weight | today | chosen on the first half | chosen on the second half |"
    yield "|---|--:|--:|--:|"
    yield f"| all | {_both(today)} | | |"
    for weight in WEIGHTS:
        before = weight.put(weight.values[0])
        found: dict[Any, Halves] = {before: today}
        for value in weight.values:
            if value != before:
                weight.put(value)
                found[value] = trial.halves()
        weight.put(before)
        cells = []
        for side in (0, 1):
            best[side][weight] = max(found, key=lambda value: found[value][side])
            cells.append(f"{best[side][weight]}: {_both(found[best[side][weight]])}")
        yield f"| {weight.name} | {before} | {' | '.join(cells)} |"
    cells = []
    for chosen in best:
        before_all = {weight: weight.put(value) for weight, value in chosen.items()}
        cells.append(_both(trial.halves()))
        for weight, value in before_all.items():
            weight.put(value)
    yield f"| all that were chosen | {_both(today)} | {' | '.join(cells)} |"


def _both(halves: Halves) -> str:
    return " / ".join(f"{value:.4f}" for value in halves)


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.weights", description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", type=Path, help="a judged collection, or a folder of them")
    args = parser.parse_args()
    sys.path.insert(0, str(ROOT / "src"))  # it changes constants of ours, in this process
    from benchmarks import recall

    with tempfile.TemporaryDirectory(prefix="memctl-weights-") as scratch:
        for line in tried(Trial(recall.sets(args.folder), Path(scratch))):
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
