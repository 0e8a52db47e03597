"""How well `--min-coverage` tells questions that a store can answer from those that it cannot.

Answerable: the questions of a judged collection, asked to its own store. Foreign: those of the other collections, asked
to the same store; where a collection has scopes (the conversations of a dialogue set), also its own questions asked in
another scope, which is the hard case: the same kind of talk, the same words.
"""

import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks import recall
from benchmarks.house import House
from memctl.context import Context
from memctl.ops.recall.block import recall as ask

#: A block is printed from here on.
LEAST = 0.5
#: So many questions of each collection, evenly chosen, and so many of every other one as foreign ones.
ASKED = 300
FOREIGN = 75
#: Collections that share a subject are not foreign to each other: halves of one set have a name in common.
_HALVES = ("-dev", "-test", "-held", "-a", "-b")


class Fired(NamedTuple):
    """In what share of the questions a block was printed; `elsewhere` is None without other scopes."""

    name: str
    answerable: float
    foreign: float
    elsewhere: float | None


def measure(house: House, folders: Sequence[Path], least: float = LEAST) -> Iterator[Fired]:
    """The shares for each collection; there must be two of them at least."""
    asked = {folder.name: _some(recall.questions(folder), ASKED) for folder in folders}
    for folder in folders:
        own = asked[folder.name]
        scopes = sorted({question.scope for question in own})
        foreign = [q.text for name, others in asked.items() if _set(name) != _set(folder.name)
                   for q in _some(others, FOREIGN)]  # fmt: skip
        with Context(db=recall.load(house, folder), quiet=True) as ctx:
            answerable = [_fires(ctx, q.text, q.scope, least) for q in own]
            none = [_fires(ctx, text, scopes[at % len(scopes)], least) for at, text in enumerate(foreign)]
            other = None
            if len(scopes) > 1:
                following = dict(zip(scopes, [*scopes[1:], scopes[0]], strict=True))
                other = statistics.fmean(_fires(ctx, q.text, following[q.scope], least) for q in own)
        yield Fired(folder.name, statistics.fmean(answerable), statistics.fmean(none) if none else 0.0, other)


def _fires(ctx: Context, text: str, scope: str, least: float) -> bool:
    return bool(ask(ctx, text, scope=scope, budget=1000, min_coverage=least).block.ids)


def _some(questions: Sequence[recall.Question], most: int) -> list[recall.Question]:
    return list(questions[:: max(1, len(questions) // most)][:most])


def _set(name: str) -> str:
    for tail in _HALVES:
        name = name.removesuffix(tail)
    return name
