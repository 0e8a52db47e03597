"""The context of a loop: what it began with, and what was recalled since, together within one budget.

What a query brings must reach the next prompt, so it makes room for itself: passages of older queries go first, then
the beginning context gives way, down to half of the budget, and keeps its best part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from memctl.llm.fitting import fitted
from memctl.text.block import block
from memctl.text.block.block import Block, Passage
from memctl.text.block.excerpt import CUT, LONG_LINE, sentences, stems
from memctl.text.block.frames import Compact
from memctl.text.query import analyse
from memctl.text.tokens import CHARS_PER_TOKEN

#: What a query brings may take this share of the budget from the rest of the context.
SHARE = 0.5
#: A passage with fewer new characters than this brings nothing new.
LEAST_NEW = 12
#: A passage with less text than this is known only if its title is known too.
TELLING = 80
_GAP = "\n\n"


class Found(NamedTuple):
    """What the store has for a query.

    passages  best first, without repeats
    matched   how many items matched in all
    """

    passages: Sequence[Passage]
    matched: int = 0


class Working:
    """`text` is the context of the next prompt, `ids` are the items that were recalled into it so far."""

    def __init__(self, initial: str, budget: int, question: str) -> None:
        self.initial, self.room = initial.strip(), budget * CHARS_PER_TOKEN
        self.words = stems(analyse(question))
        self.base = fitted(self.initial, self.room, self.words)
        self.text, self.ids = self.base, ()  # type: tuple[str, tuple[str, ...]]
        self._recalled: tuple[Passage, ...] = ()

    def more(self, query: str, recall: Callable[[str, int], Found]) -> int:
        """Bring what the store has for a query into the context; how many items are new there."""
        room = max(self.room - len(self.base) - len(_GAP), int(self.room * SHARE)) // CHARS_PER_TOKEN
        found = recall(query, room)
        words = list(dict.fromkeys((*stems(analyse(query)), *self.words)))
        before = _Said(self.text)
        fresh = before.rest_of(found.passages)
        if not fresh:
            return 0
        base, recalled = self._composed(fresh, room, words)
        # What the context said before it made room, and does not say any more, was asked for all the same.
        added = {i for p in fresh for i in p.ids}
        lost = [p for p in _Said(_joined(base, recalled.text)).rest_of(found.passages) if not added & {*p.ids}]
        if lost:
            base, recalled = self._composed([*fresh, *lost], room, words)
        new = list(dict.fromkeys(i for p in before.rest_of(recalled.shown) for i in p.ids))
        if not new:
            return 0
        self.base, self.words, self._recalled = base, words, recalled.shown
        self.text = _joined(base, recalled.text)
        self.ids = (*self.ids, *(i for i in new if i not in self.ids))
        return len(new)

    def _composed(self, fresh: Sequence[Passage], room: int, words: Sequence[str]) -> tuple[str, Block]:
        """What the context begins with, and what is recalled, with these passages before those that are there."""
        recalled = block.build([*fresh, *self._recalled], Compact(), room, words)
        return fitted(self.initial, self.room - len(recalled.text) - len(_GAP), self.words), recalled


def _joined(base: str, recalled: str) -> str:
    return _GAP.join(part for part in (base, recalled) if part)


# --- what is new -------------------------------------------------------------------------------------------------


class _Said:
    """What a text says, whatever its line breaks and indents."""

    def __init__(self, text: str) -> None:
        self.text = _flat(text)
        self.words = set(self.text.split())

    def rest_of(self, passages: Sequence[Passage]) -> list[Passage]:
        """What passages say beyond it, in order; those that say nothing more are left out."""
        rest = (self._rest(p) for p in passages)
        return [p for p in rest if p is not None]

    def _rest(self, p: Passage) -> Passage | None:
        """A passage without what is known at its beginning and its end; None when that is all of it."""
        units = [unit for number, line in enumerate(p.lines) for unit in _units(number, line)]
        whole = sum(len(line) for line in p.lines)
        if whole < TELLING and not self._has(p.heading):
            return p
        news = [at for at, unit in enumerate(units) if not self._has(unit.of(p))]
        if not news or sum(len(units[at].of(p).strip()) for at in news) < min(LEAST_NEW, whole):
            return None
        if len(news) == len(units):
            return p
        return _between(p, units[news[0]], units[news[-1]])

    def _has(self, part: str) -> bool:
        part = _flat(part.replace(CUT, " "))
        # Words within it are whole ones here and there: a look at them spares most searches.
        return self.words.issuperset(part.split()[1:-1]) and part in self.text


def _flat(text: str) -> str:
    return " ".join(text.split())


class _Unit(NamedTuple):
    """A line of a passage, or a sentence of a long one: from where to where in which line."""

    line: int
    start: int
    end: int

    def of(self, p: Passage) -> str:
        return p.lines[self.line][self.start : self.end]


def _units(number: int, line: str) -> Iterator[_Unit]:
    if len(line) <= LONG_LINE:
        yield _Unit(number, 0, len(line))
        return
    end = 0
    for sentence in sentences(line):
        start = line.index(sentence, end)
        end = start + len(sentence)
        yield _Unit(number, start, end)


def _between(p: Passage, first: _Unit, last: _Unit) -> Passage:
    """The part of a passage from one of its sentences to another."""
    lines = p.lines[first.line : last.line + 1]
    if last.end < len(p.lines[last.line]):
        lines[-1] = f"{lines[-1][: last.end].rstrip()} {CUT}"
    if first.start:
        lines[0] = f"{CUT} {lines[0][first.start :].lstrip()}"
    span = p.span
    if span and span[1] - span[0] + 1 == len(p.lines):  # line for line as in the source: say which are shown
        span = (span[0] + first.line, span[0] + last.line)
    return p._replace(lines=lines, span=span)
