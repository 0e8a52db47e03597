"""Cutting a text into ranges of about one size, at the strongest border within reach."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from memctl.text.chunking.marks import INNER, Marks
from memctl.text.tokens import CHARS_PER_TOKEN

#: Where a line that is too long is divided, best first; the border is after the separator.
_BREAKS = (". ", "! ", "? ", "。", "！", "？", "; ", ", ", "\t", " ", "、", "，", ",", ";", ">")  # noqa: RUF001 - CJK stops


class Size(NamedTuple):
    """How big passages are, in characters.

    target   what to aim for; passages are filled up to it
    stretch  as far as a part that would otherwise be torn may reach; never above the caller's maximum
    floor    a passage is filled at least so far before a border is good enough
    crumb    a passage smaller than this is merged with a neighbour
    """

    target: int
    stretch: int
    floor: int
    crumb: int

    @staticmethod
    def of(max_tokens: int, target_tokens: int, fill: int) -> "Size":
        """The sizes for a maximum and an aim in tokens, and the floor in percent of the aim.

        An aim above the maximum is the maximum.
        """
        most = max(1, max_tokens) * CHARS_PER_TOKEN
        target = max(1, min(target_tokens * CHARS_PER_TOKEN, most))
        return Size(target, min(target * 3 // 2, most), max(1, target * fill // 100), target * 15 // 100)


class Rules(NamedTuple):
    """What differs between kinds of text.

    fill        the floor, in percent of the target
    paragraphs  blank lines are borders
    indents     among such borders the least indented is best (code, data), else the last
    eager       cut at the first heading once the floor is reached (prose), else at the last within the target (code)
    """

    fill: int = 35
    paragraphs: bool = True
    indents: bool = False
    eager: bool = False


def ranges(text: str, marks: Marks, size: Size, rules: Rules) -> Iterator[tuple[int, int]]:
    """Ranges that cover `text` without gap or overlap, none longer than `size.stretch`.

    A range ends at the end of a line, except where one line alone is longer than `size.stretch`.
    """
    chooser = _Chooser(marks, size, rules, len(text))
    at, end = 0, len(text)
    least = size.floor if rules.eager else size.target
    while end - at > least:
        cut = chooser.mark(at) or _border(text, at, size, rules)
        if not cut:
            line_end = text.find("\n", at + size.stretch) + 1 or end
            yield from _parts(text, at, line_end, size)
            cut = line_end
        elif end - cut < size.crumb and end - at <= size.stretch:
            break
        else:
            yield at, cut
        at = cut
    if at < end:
        yield at, end


class _Chooser:
    """Picks the best mark for the passage that starts at a place; places must rise."""

    __slots__ = ("_eager", "_end", "_here", "_here_at", "_marks", "_next", "_size")

    def __init__(self, marks: Marks, size: Size, rules: Rules, end: int) -> None:
        self._marks, self._size, self._eager, self._end = marks, size, rules.eager, end
        self._next, self._here, self._here_at = 0, INNER, 0

    def mark(self, start: int) -> int:
        """Where to cut, 0 when no mark is within reach.

        The strongest mark between floor and target wins: the first of equals in prose, so that sections stay pure,
        the last of them in code, so that passages are full. Failing a clean one, a part may stretch to its end.
        """
        early, early_rank = self._early(start)
        if self._eager and early_rank < min(INNER, self._here + (self._here_at < start)):
            return early  # the section ends here, and the next is no sibling, or not of what this is the rest of
        best, best_rank = self._good(start)
        if best_rank < INNER:
            return best
        if self._end <= start + self._size.target:
            return self._end
        far, far_rank = self._far(start)
        return far if far and (not best or far_rank < INNER) else best or early

    def _early(self, start: int) -> tuple[int, int]:
        """The strongest mark that leaves more than a crumb but less than the floor."""
        offsets, ranks, _ = self._marks
        i, count = self._next, len(offsets)
        crumb, floor = start + max(1, self._size.crumb), start + self._size.floor
        while i < count and offsets[i] < crumb:
            if ranks[i] < INNER:
                self._here, self._here_at = ranks[i], offsets[i]
            i += 1
        self._next = i
        best = 0
        best_rank = 2 * INNER
        while i < count and offsets[i] < floor:
            if ranks[i] < best_rank or (ranks[i] == best_rank and not self._eager):
                best, best_rank = offsets[i], ranks[i]
            i += 1
        return best, best_rank

    def _good(self, start: int) -> tuple[int, int]:
        """The strongest mark between floor and target."""
        offsets, ranks, _ = self._marks
        count, target = len(offsets), start + self._size.target
        i = bisect_left(offsets, start + self._size.floor, self._next)
        first_of_equals = self._eager
        best = 0
        best_rank = 2 * INNER
        while i < count and (offset := offsets[i]) <= target:
            rank = ranks[i]
            if rank < best_rank or (rank == best_rank and not (first_of_equals and rank < INNER)):
                best, best_rank = offset, rank
            i += 1
        return best, best_rank

    def _far(self, start: int) -> tuple[int, int]:
        """The first mark between target and stretch, a clean one if there is; the text's end counts as one."""
        offsets, ranks, _ = self._marks
        i = bisect_right(offsets, start + self._size.target, self._next)
        stretch = start + self._size.stretch
        best = 0
        while i < len(offsets) and offsets[i] <= stretch:
            if ranks[i] < INNER:
                return offsets[i], ranks[i]
            best = best or offsets[i]
            i += 1
        if offsets and self._end <= stretch:
            return self._end, 0
        return best, INNER


# --- where there is no mark: blank lines, then lines, then sentences, then anywhere ---------------------------------


@cache
def _pattern(paragraphs: bool) -> re.Pattern[str]:
    """A line that does not close a bracket, its indent as group 1; with `paragraphs` only after a blank line."""
    return re.compile((r"\n[ \t]*" if paragraphs else "") + r"\n([ \t]*)(?=[^\s)}\]])")


def _border(text: str, start: int, size: Size, rules: Rules) -> int:
    """The best end of a line to cut at, 0 when the line at `start` is longer than `size.stretch`."""
    floor, target = start + size.floor, start + size.target
    stretch = start + size.stretch
    if rules.paragraphs:
        cut = (
            _blank(text, floor, target, rules)
            or (len(text) if len(text) <= stretch else 0)
            or _after(text.find("\n\n", target - 1, stretch), 2)
            or _blank(text, start + max(1, size.crumb), floor, rules)
        )
        if cut:
            return cut
    return (
        (_least_indented(text, floor, target, paragraphs=False) if rules.indents else 0)
        or _after(text.rfind("\n", floor - 1, target), 1)
        or _after(text.find("\n", target, stretch), 1)
        or _after(text.rfind("\n", start, floor), 1)
    )


def _blank(text: str, low: int, high: int, rules: Rules) -> int:
    """The start of the paragraph to cut before, between low and high; 0 if there is none."""
    if rules.indents:
        return _least_indented(text, low, high, paragraphs=True)
    found = text.rfind("\n\n", low - 1, high)
    return found + 2 if found >= 0 else _least_indented(text, low, high, paragraphs=True)


def _least_indented(text: str, low: int, high: int, *, paragraphs: bool) -> int:
    """The last of the least indented borders between low and high; 0 if there is none."""
    best = 0
    best_indent = 1 << 30
    for match in _pattern(paragraphs).finditer(text, low - 1, high):
        begin, end = match.span(1)
        if end - begin <= best_indent:
            best, best_indent = begin, end - begin
    return best


def _after(found: int, width: int) -> int:
    """Where the text goes on after a separator of `width` found at `found`; 0 when it was not found."""
    return found + width if found >= 0 else 0


def _parts(text: str, start: int, end: int, size: Size) -> Iterator[tuple[int, int]]:
    """Parts of the one line start..end, of about equal size, divided after a sentence or a word where that is near."""
    count = -(-(end - start) // size.target)
    while count > 1:
        share = -(-(end - start) // count)
        cut = _break(text, start + max(1, share * 3 // 4), start + share)
        yield start, cut
        start, count = cut, max(1, -(-(end - cut) // size.target))
    yield start, end


def _break(text: str, low: int, high: int) -> int:
    """The best place to divide a line between low and high: after a sentence, a clause, a word, else at high."""
    for separator in _BREAKS:
        found = text.rfind(separator, low - 1, high)
        if found >= 0 and found + len(separator) >= low:
            return found + len(separator)
    return high
