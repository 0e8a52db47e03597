"""The context of a model's call: within its budget, with what was recalled since the loop began, and earlier turns.

What a query brings must reach the next prompt, so it makes room for itself: passages of older queries go first, then
the beginning context gives way, down to half of the budget, and keeps its best part.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from memctl.text.block import packing
from memctl.text.block.excerpt import CUT, LONG_LINE, excerpt, sentences, stems
from memctl.text.block.frames import Compact
from memctl.text.block.markers import COMPACT, FOOTER, HEADER, STRUCTURE
from memctl.text.block.packing import Block, BlockEntry
from memctl.text.query import analyse
from memctl.text.tokens import CHARS_PER_TOKEN, estimate_tokens

#: The share of the budget that a query's passages may take from the rest of the context.
SHARE = 0.5
#: Characters: a passage with fewer new ones brings nothing new.
LEAST_NEW = 12
#: Characters: a passage with less text is known only if its title is known too.
TELLING = 80
#: Characters of its text that a passage keeps at least when it is cut; with fewer it is left out.
LEAST_CUT = 60
_GAP = "\n\n"


class RecalledPassages(NamedTuple):
    """What the store has for a query.

    passages  best first, without repeats
    matched   how many items matched in all
    """

    passages: Sequence[BlockEntry]
    matched: int = 0


#: The documented name.
Found = RecalledPassages


class WorkingContext:
    """`text` is the context of the next prompt, `ids` are the items that were recalled into it so far."""

    def __init__(self, initial: str, budget: int, question: str) -> None:
        self.initial, self.room = initial.strip(), budget * CHARS_PER_TOKEN
        self.words = stems(analyse(question))
        self.base = fitted(self.initial, self.room, self.words)
        self.text, self.ids = self.base, ()  # type: tuple[str, tuple[str, ...]]
        self._recalled: tuple[BlockEntry, ...] = ()

    def extend(self, query: str, recall: Callable[[str, int], RecalledPassages]) -> int:
        """Bring what the store has for a query into the context; how many items are new there."""
        room = max(self.room - len(self.base) - len(_GAP), int(self.room * SHARE)) // CHARS_PER_TOKEN
        found = recall(query, room)
        words = list(dict.fromkeys((*stems(analyse(query)), *self.words)))
        before = _KnownText(self.text)
        fresh = before.new_parts(found.passages)
        if not fresh:
            return 0
        text, base, recalled = self._compose(fresh, room, words)
        # What the context said before it made room, and does not say any more, was asked for as well.
        added = {i for p in fresh for i in p.ids}
        lost = [p for p in _KnownText(text).new_parts(found.passages) if not added & {*p.ids}]
        if lost:
            text, base, recalled = self._compose([*fresh, *lost], room, words)
        new = list(dict.fromkeys(i for p in before.new_parts(recalled.shown) for i in p.ids))
        if not new:
            return 0
        self.text, self.base, self.words, self._recalled = text, base, words, recalled.shown
        self.ids = (*self.ids, *(i for i in new if i not in self.ids))
        return len(new)

    def _compose(self, fresh: Sequence[BlockEntry], room: int, words: Sequence[str]) -> tuple[str, str, Block]:
        """The context with these passages before those that are there; its beginning, and the block of passages."""
        recalled = packing.build([*fresh, *self._recalled], Compact(), room, words)
        base = fitted(self.initial, self.room - len(recalled.text) - len(_GAP), self.words)
        return _GAP.join(part for part in (base, recalled.text) if part), base, recalled


# --- what is new -------------------------------------------------------------------------------------------------


class _Sentence(NamedTuple):
    """A line of a passage, or a sentence of a long one: from where to where in which line."""

    line: int
    start: int
    end: int
    text: str


class _KnownText:
    """What a text says, whatever its line breaks and indents."""

    def __init__(self, text: str) -> None:
        self.text = " ".join(text.split())
        self.words = set(self.text.split())

    def new_parts(self, passages: Sequence[BlockEntry]) -> list[BlockEntry]:
        """What passages say beyond the text, in order, without what is known at their beginning and end; those that
        say nothing more are left out.
        """
        return [part for p in passages if (part := self._new_part(p)) is not None]

    def _new_part(self, p: BlockEntry) -> BlockEntry | None:
        whole = sum(len(line) for line in p.lines)
        if whole < TELLING and not self._says(p.heading):
            return p
        units: list[_Sentence] = []
        for number, line in enumerate(p.lines):
            end = 0
            for sentence in [line] if len(line) <= LONG_LINE else sentences(line):
                start = line.index(sentence, end)
                end = start + len(sentence)
                units.append(_Sentence(number, start, end, sentence))
        news = [unit for unit in units if not self._says(unit.text)]
        if not news or sum(len(unit.text.strip()) for unit in news) < min(LEAST_NEW, whole):
            return None
        if len(news) == len(units):
            return p
        first, last = news[0], news[-1]
        lines = p.lines[first.line : last.line + 1]
        if last.end < len(p.lines[last.line]):
            lines[-1] = f"{lines[-1][: last.end].rstrip()} {CUT}"
        if first.start:
            lines[0] = f"{CUT} {lines[0][first.start :].lstrip()}"
        span = p.span
        if span and span[1] - span[0] + 1 == len(p.lines):  # line for line as in the source: say which are shown
            span = (span[0] + first.line, span[0] + last.line)
        return p._replace(lines=lines, span=span)

    def _says(self, part: str) -> bool:
        part = " ".join(part.replace(CUT, " ").split())
        # Words inside the part are whole words of the text too: comparing them first spares most searches.
        return self.words.issuperset(part.split()[1:-1]) and part in self.text


# --- a context that is too long for its budget --------------------------------------------------------------------

_HEADER_LINE = rf"(?m)^{re.escape(HEADER)}$"
_FOOTER_LINE = rf"(?m)^{re.escape(FOOTER)}.*$"
#: Where the passages of a block begin, in version 2 and in version 1.
_COMPACT_PASSAGES = r"(?m)^(?=\[[^\]\s]+\](?: |$))"
_FULL_PASSAGES = r"(?m)^(?=\[\d+\] \[)"
#: In the line above a passage: its lines in the source, and the further ones of a document in several parts.
_LINE_SPAN = r"(?:(?<=\d) lines|^\[[^\]\s]+\] (?!\d{4}-\d\d-\d\d ).+?):(\d+)-(\d+)(?=\]$| > |; |$)"
_FURTHER_SPANS = r"(?<=\d)(?:, \d+(?:-\d+)?)+(?= > |; |$)"


def fitted(text: str, room: int, words: Sequence[str] = ()) -> str:
    """The text, cut to at most `room` characters if it is longer; `words` are stems of the question.

    Each of its parts keeps its best: blocks of injected memory are in order, so they lose their last passages first;
    other text keeps the lines that speak most of the question.
    """
    if len(text) <= room:
        return text
    parts = list(_blocks_and_rest(text))
    shares = _shares([len(part) for part in parts], room - len(_GAP) * (len(parts) - 1))
    kept = []
    for part, share in zip(parts, shares, strict=True):
        if len(part) <= share:
            kept.append(part)
        elif part.startswith(HEADER) and part.rpartition("\n")[2].startswith(FOOTER):
            kept.append(_cut_block(part, share, words))
        else:  # the lines that speak most of the question
            told = () if part.lstrip().startswith(STRUCTURE) else words
            limit, best = share, ""
            for _ in range(3):  # lines cost less here than in a block, for which an excerpt is made
                cut = excerpt(part.splitlines(), limit, told)
                lines = "\n".join(cut.lines) if cut else ""
                if len(lines) > share:
                    break
                best, limit = lines, limit + share - len(lines)
            kept.append(best)
    return _GAP.join(part for part in kept if part)


def _blocks_and_rest(text: str) -> Iterator[str]:
    """The blocks of injected memory in a text, and what stands between them."""
    header, footer = re.compile(_HEADER_LINE), re.compile(_FOOTER_LINE)
    start = 0
    while (first := header.search(text, start)) and (last := footer.search(text, first.end())):
        if text[start : first.start()].strip():
            yield text[start : first.start()].strip("\n")
        yield text[first.start() : last.end()]
        start = last.end()
    if text[start:].strip():
        yield text[start:].strip("\n")


def _shares(sizes: Sequence[int], room: int) -> list[int]:
    """Room for each: small ones get all they need, the others the same."""
    shares = [0] * len(sizes)
    left = len(sizes)
    for number in sorted(range(len(sizes)), key=lambda number: sizes[number]):
        shares[number] = min(sizes[number], max(0, room) // left)
        room -= shares[number]
        left -= 1
    return shares


def _cut_block(part: str, room: int, words: Sequence[str]) -> str:
    """The block with as many of its passages as fit, the last of them cut, and its numbers put right."""
    compact = part.partition("\n")[2].startswith(COMPACT)
    head, *passages = re.split(_COMPACT_PASSAGES if compact else _FULL_PASSAGES, part)
    if not passages:
        return ""
    passages[-1], _, footer = passages[-1].rpartition("\n")
    room -= len(head) + len(footer)
    kept: list[str] = []
    for passage in passages:
        whole = passage.rstrip("\n") + ("\n" if compact else "\n\n")
        if len(whole) > room:
            rest = _cut_passage(passage.rstrip("\n").split("\n"), room, words, compact=compact)
            kept += [rest] if rest else []
            break
        kept.append(whole)
        room -= len(whole)
    if not kept:
        return ""
    if compact:
        return head + "".join(kept) + f"{FOOTER}{len(kept)}) ---"
    text = head.rstrip("\n") + "\n\n" + "".join(kept) + footer
    used = estimate_tokens(text)
    text = re.sub(r"(?m)^used: \d+$", f"used: {used}", text, count=1)
    return re.sub(r"\d+ items, \d+ tokens\) ---$", f"{len(kept)} items, {used} tokens) ---", text)


def _cut_passage(lines: list[str], room: int, words: Sequence[str], *, compact: bool) -> str:
    """A passage with its frame and the part of its text that fits; "" when that is less than LEAST_CUT."""
    if compact:
        indent, head, content, tail = 1, lines[:1], lines[1:], []  # type: int, list[str], list[str], list[str]
        if f" {CUT}" in content:  # several parts of a document: the first one is left
            content = content[: content.index(f" {CUT}")]
            head = [re.sub(_FURTHER_SPANS, "", head[0], count=1)]
    else:
        indent = 4
        first = 2 if len(lines) > 1 and lines[1].startswith("    [path:") else 1
        last = next((n for n in range(len(lines) - 1, 0, -1) if lines[n].startswith("    provenance: ")), len(lines))
        head, content, tail = lines[:first], lines[first:last], lines[last:]
        room -= 2
    bare = [line[indent:] for line in content]
    span = re.search(_LINE_SPAN, head[-1])
    if span and int(span[2]) - int(span[1]) + 1 != len(bare):  # not line for line as in the source
        span = None
    spare = len(span[2]) - len(span[1]) if span else 0
    frame = sum(len(line) + 1 for line in (*head, *tail)) + spare + 1
    cut = excerpt(bare, room - frame, words, indent + 1) if room - frame >= LEAST_CUT else None
    if cut is None:
        return ""
    if span:  # say which of them are left
        start, end = int(span[1]) + cut.first, int(span[1]) + cut.last
        head = [*head[:-1], f"{head[-1][: span.start(1)]}{start}-{end}{head[-1][span.end(2) :]}"]
    blank = ["", ""] if tail else [""]
    return "\n".join([*head, *((" " * indent + line).rstrip() for line in cut.lines), *tail, *blank])


# --- the turns of a conversation ----------------------------------------------------------------------------------

SESSION_HEADER = "## Session History"

#: What a cut text ends with.
_CUT_END = " […]"
_TURN_FRAME = len("Q: \nA: ")


class ChatExchange(NamedTuple):
    """A question and its answer."""

    question: str
    answer: str


def session_block(history: Sequence[ChatExchange], turns: int, chars: int) -> str:
    """The newest turns that fit, oldest first, under their header; "" when there are none or none fits.

    turns  of the newest turns at most this number
    chars  the characters of the block at most, header and line breaks included. The newest turn is cut when it does
           not fit whole; older ones are left out.
    """
    room = chars - len(SESSION_HEADER)
    shown: list[str] = []
    for exchange in reversed(history[-turns:] if turns > 0 else ()):
        question, answer = map(indented, exchange)
        if not shown:  # the question gets half of the room, or what the answer leaves
            least = room - _TURN_FRAME - 1
            question = _shortened(question, max(least // 2, least - len(answer)))
            answer = _shortened(answer, least - len(question))
        pair = f"Q: {question}\nA: {answer}"
        if len(pair) + 1 > room or not (question and answer):
            break
        shown.append(pair)
        room -= len(pair) + 1
    return "\n".join([SESSION_HEADER, *reversed(shown)]) if shown else ""


def indented(text: str) -> str:
    """The text with further lines indented, so that no answer can begin a section or another turn."""
    return "\n   ".join(text.strip().splitlines())


def _shortened(text: str, room: int) -> str:
    return text if len(text) <= room else text[: max(0, room - len(_CUT_END))].rstrip() + _CUT_END
