"""The borders of a text, and cutting it at them into ranges of about one size."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from memctl.text.tokens import CHARS_PER_TOKEN

#: Ranks from here on are borders inside one section (paragraphs, list items); below are headings and definitions.
INNER = 1000
#: Borders inside one section, best first: between paragraphs, list items, and parts of these.
PARAGRAPH, ITEM, SUB_ITEM = INNER, INNER + 1, INNER + 2
#: Before what the lines above introduce (they end in a colon): a list, a table, an example. The last place to cut at.
INTRODUCED = INNER + 3
#: Definitions in prose (a directive, an option of a command) are below all headings, and deeper by their indent.
DEFINITION = 500


class Marks(NamedTuple):
    """Borders of a text, in order: three lists of one length, one entry a border.

    offsets  where a part begins, always the first character of a line, strictly rising
    ranks    how deep the part is nested; lower is stronger, and a part ends where one of its rank or lower begins
    names    what the part is called in a heading path; "" for a part without a name (a paragraph, a statement)
    """

    offsets: list[int]
    ranks: list[int]
    names: list[str]

    def add(self, offset: int, rank: int, name: str) -> None:
        """Append a border; one at the last border's place names it rather than standing beside it."""
        if self.offsets and offset <= self.offsets[-1]:
            if offset == self.offsets[-1]:
                self.ranks[-1], self.names[-1] = rank, name
            return
        self.offsets.append(offset)
        self.ranks.append(rank)
        self.names.append(name)


class CutRules(NamedTuple):
    """What differs between kinds of text.

    fill        how full a passage is at least, in percent of the target, before a border is good enough
    paragraphs  blank lines are borders
    indents     among such borders the least indented is best (code, data), else the last
    eager       cut at the first heading once the floor is reached (prose), else at the last within the target (code)
    """

    fill: int = 35
    paragraphs: bool = True
    indents: bool = False
    eager: bool = False


class PassageSize(NamedTuple):
    """How big passages are, in characters.

    target   what to aim for; passages are filled up to it
    stretch  as far as a part that would otherwise be torn may reach; never above the caller's maximum
    floor    a passage is filled at least this far before a border is good enough
    crumb    a passage smaller than this is merged with a neighbour
    """

    target: int
    stretch: int
    floor: int
    crumb: int


def ranges(
    text: str, marks: Marks, rules: CutRules, *, max_tokens: int, target_tokens: int
) -> Iterator[tuple[int, int]]:
    """Ranges that cover `text` without gap or overlap, at most half as long again as the target.

    A range ends at the end of a line, except where one line alone is longer than that. A target above the maximum is
    the maximum.
    """
    most = max(1, max_tokens) * CHARS_PER_TOKEN
    target = max(1, min(target_tokens * CHARS_PER_TOKEN, most))
    size = PassageSize(target, min(target * 3 // 2, most), max(1, target * rules.fill // 100), target * 15 // 100)
    chooser = _MarkChooser(marks, size, len(text), eager=rules.eager)
    at, end = 0, len(text)
    least = size.floor if rules.eager else size.target
    while end - at > least:
        cut = chooser.choose(at) or _unmarked_border(text, at, size, rules)
        if not cut:
            line_end = text.find("\n", at + size.stretch) + 1 or end
            yield from _line_parts(text, at, line_end, size.target)
            cut = line_end
        elif end - cut < size.crumb and end - at <= size.stretch:
            break
        else:
            yield at, cut
        at = cut
    if at < end:
        yield at, end


class _MarkChooser:
    """Picks the best mark for the passage that starts at a place; places must rise.

    `_heading_rank` is the rank of the last heading before the place, `_heading_at` where it stands.
    """

    __slots__ = ("_eager", "_end", "_heading_at", "_heading_rank", "_marks", "_next", "_size")

    def __init__(self, marks: Marks, size: PassageSize, end: int, *, eager: bool) -> None:
        self._marks, self._size, self._end, self._eager = marks, size, end, eager
        self._next, self._heading_rank, self._heading_at = 0, INNER, 0

    def choose(self, start: int) -> int:
        """Where to cut, 0 when no mark is within reach.

        The strongest mark between floor and target wins: the first of equals in prose, so that sections stay pure,
        the last of them in code, so that passages are full. Failing a clean one, a part may stretch to its end.
        """
        offsets, ranks, _ = self._marks
        size, eager = self._size, self._eager
        at, crumb = self._next, start + max(1, size.crumb)
        while at < len(offsets) and offsets[at] < crumb:
            if ranks[at] < INNER:
                self._heading_rank, self._heading_at = ranks[at], offsets[at]
            at += 1
        self._next = at
        floor = bisect_left(offsets, start + size.floor, at)
        early = 0
        if eager:
            early, early_rank = self._strongest(at, floor, first_below=2 * INNER)
            if early_rank < min(INNER, self._heading_rank + (self._heading_at < start)):
                return early  # the section ends here, and the next is no sibling, or not of what this is the rest of
        target = bisect_right(offsets, start + size.target, at)
        best, best_rank = self._strongest(floor, target, first_below=INNER if eager else 0)
        if best_rank < INNER:
            return best
        if self._end <= start + size.target:
            return self._end
        far, far_rank = self._beyond_target(target, start + size.stretch)
        if far and (not best or far_rank < INNER):
            return far
        return best or early or self._strongest(at, floor, first_below=0)[0]

    def _strongest(self, first: int, end: int, *, first_below: int) -> tuple[int, int]:
        """(offset, rank) of the strongest mark of some, 0 without one; the first of equals below a rank, else the last.

        The marks are those with the numbers `first` up to `end`, exclusive.
        """
        offsets, ranks, _ = self._marks
        best, best_rank = 0, 2 * INNER
        for at in range(first, end):
            rank = ranks[at]
            if rank < best_rank or (rank == best_rank and rank >= first_below):
                best, best_rank = offsets[at], rank
        return best, best_rank

    def _beyond_target(self, first: int, stretch: int) -> tuple[int, int]:
        """The first mark from the number `first` on up to `stretch`, a clean one if there is; the text's end is one."""
        offsets, ranks, _ = self._marks
        best = 0
        for at in range(first, bisect_right(offsets, stretch, first)):
            if ranks[at] < INNER:
                return offsets[at], ranks[at]
            best = best or offsets[at]
        if offsets and self._end <= stretch:
            return self._end, 0
        return best, INNER


# --- where there is no mark: blank lines, then lines, then sentences, then anywhere ---------------------------------


def _unmarked_border(text: str, start: int, size: PassageSize, rules: CutRules) -> int:
    """The best end of a line to cut at, 0 when the line at `start` is longer than `size.stretch`."""
    floor, target, stretch = start + size.floor, start + size.target, start + size.stretch
    if rules.paragraphs:
        cut = _blank_line(text, floor, target, rules)
        if not cut and len(text) <= stretch:
            cut = len(text)
        if not cut:
            below_target = text.find("\n\n", target - 1, stretch)
            cut = below_target + 2 if below_target >= 0 else 0
        cut = cut or _blank_line(text, start + max(1, size.crumb), floor, rules)
        if cut:
            return cut
    return (
        (_least_indented(text, floor, target, paragraphs=False) if rules.indents else 0)
        or text.rfind("\n", floor - 1, target) + 1
        or text.find("\n", target, stretch) + 1
        or text.rfind("\n", start, floor) + 1
    )


def _blank_line(text: str, low: int, high: int, rules: CutRules) -> int:
    """The start of the paragraph to cut before, between low and high; 0 if there is none."""
    found = -1 if rules.indents else text.rfind("\n\n", low - 1, high)
    return found + 2 if found >= 0 else _least_indented(text, low, high, paragraphs=True)


def _least_indented(text: str, low: int, high: int, *, paragraphs: bool) -> int:
    """The last of the least indented borders between low and high; 0 if there is none.

    A border is a line that does not close a bracket, with `paragraphs` only after a blank line.
    """
    border = re.compile((r"\n[ \t]*" if paragraphs else "") + r"\n([ \t]*)(?=[^\s)}\]])")
    best, best_indent = 0, 1 << 30
    for match in border.finditer(text, low - 1, high):
        begin, end = match.span(1)
        if end - begin <= best_indent:
            best, best_indent = begin, end - begin
    return best


#: Where a line that is too long is divided, best first; the border is after the separator.
_SEPARATORS = (". ", "! ", "? ", "。", "！", "？", "; ", ", ", "\t", " ", "、", "，", ",", ";", ">")  # noqa: RUF001 - CJK stops


def _line_parts(text: str, start: int, end: int, target: int) -> Iterator[tuple[int, int]]:
    """Parts of the one line start..end, of about equal size, divided after a sentence, a clause or a word."""
    count = -(-(end - start) // target)
    while count > 1:
        share = -(-(end - start) // count)
        low, cut = start + max(1, share * 3 // 4), start + share
        for separator in _SEPARATORS:
            found = text.rfind(separator, low - 1, start + share)
            if found >= 0 and found + len(separator) >= low:
                cut = found + len(separator)
                break
        yield start, cut
        start, count = cut, max(1, -(-(end - cut) // target))
    yield start, end
