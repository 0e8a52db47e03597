"""Passages that follow each other in one source, written as one: the text runs on, and one frame says where it is."""

from collections.abc import Sequence

from memctl.text.block.block import Passage
from memctl.text.block.excerpt import CUT
from memctl.text.block.frames import Frame
from memctl.text.clean import union


def joined(passages: Sequence[Passage], frame: Frame) -> list[Passage]:
    """Passages that belong together become one, in the place of the best of them; the order is else kept.

    Passages of a document do when the lines shown of one go on where those of the other end. Turns of a conversation
    do in the order in which they were said, each with its speaker. Other parts of one document share its line, a mark
    between them. (In version 1 turns and parts stand for themselves.)
    """
    out = dict(enumerate(passages))
    by_source: dict[tuple[str, str], list[int]] = {}
    for rank, p in enumerate(passages):
        turn = frame.version > 1 and not p.path and p.source.startswith("chat:")
        if p.chunk.isdecimal() and (turn or (p.path and p.span)):
            by_source.setdefault((p.path, p.source), []).append(rank)
    for ranks in by_source.values():
        ranks.sort(key=lambda rank: (int(passages[rank].chunk), rank))
        for run in _runs(ranks, passages):
            best = min(run)
            chosen = [passages[rank] for rank in run]
            for rank in run:
                del out[rank]
            out[best] = (_document if chosen[0].path else _conversation)(chosen, passages[best])
    found = [out[rank] for rank in sorted(out)]
    return found if frame.version == 1 else _gathered(found)


def _gathered(passages: Sequence[Passage]) -> list[Passage]:
    """Parts of one document become one, in the place of the best of them and in the document's order."""
    parts: dict[tuple[str, str], list[Passage]] = {}
    for number, p in enumerate(passages):
        key = (p.path, p.source) if p.path and p.span else ("", str(number))
        parts.setdefault(key, []).append(p)
    return [_document_parts(many) if len(many) > 1 else many[0] for many in parts.values()]


def _document_parts(parts: Sequence[Passage]) -> Passage:
    best, ordered = parts[0], sorted(parts, key=lambda p: p.span or (0, 0))
    lines: list[str] = []
    for p in ordered:
        lines += [CUT, *p.lines] if lines else p.lines
    spans = tuple(p.span for p in ordered if p.span)
    same = {p.heading for p in parts} == {best.heading}
    return best._replace(
        ids=tuple(dict.fromkeys(i for p in ordered for i in p.ids)), lines=lines, chunk=ordered[0].chunk,
        span=(spans[0][0], max(last for _, last in spans)), spans=spans, heading=best.heading if same else "",
        handle=ordered[0].handle,
    )  # fmt: skip


def _runs(ranks: Sequence[int], passages: Sequence[Passage]) -> list[list[int]]:
    runs: list[list[int]] = []
    for rank in ranks:
        if runs and _follows(passages[runs[-1][-1]], passages[rank]):
            runs[-1].append(rank)
        else:
            runs.append([rank])
    return [run for run in runs if len(run) > 1]


def _follows(one: Passage, other: Passage) -> bool:
    if int(other.chunk) != int(one.chunk) + 1:
        return False
    if not one.path:
        return True
    return not one.cut[1] and not other.cut[0]


def _document(run: Sequence[Passage], best: Passage) -> Passage:
    first, last = run[0], run[-1]
    lines = list(first.lines)
    end = first.span[1] if first.span else 0
    tags, entities = list(first.tags), list(first.entities)
    for p in run[1:]:
        start, stop = p.span or (end + 1, end)
        if start > end + 1:
            lines.append("")
        overlap = max(0, end + 1 - start)
        exact = stop - start + 1 == len(p.lines)  # only then do line numbers say which lines are doubled
        lines += p.lines[overlap:] if exact else p.lines
        end = max(end, stop)
        tags, entities = union(tags, p.tags), union(entities, p.entities)
    start = first.span[0] if first.span else 0
    return best._replace(
        ids=tuple(i for p in run for i in p.ids), lines=lines, chunk=f"{first.chunk}-{last.chunk}",
        span=(start, end), tags=tags, entities=entities, heading=first.heading, handle=first.handle,
        cut=(first.cut[0], last.cut[1]),
    )  # fmt: skip


def _conversation(run: Sequence[Passage], best: Passage) -> Passage:
    """Turns in the order in which they were said; the first names the day."""
    first, last = run[0], run[-1]
    facts = tuple(dict.fromkeys(fact for p in run for fact in p.facts))
    return best._replace(
        ids=tuple(i for p in run for i in p.ids), lines=[line for p in run for line in spoken(p)],
        chunk=f"{first.chunk}-{last.chunk}", heading="", date=first.date, handle=first.handle, facts=facts,
    )  # fmt: skip


def spoken(p: Passage) -> list[str]:
    """The lines of a turn with who said it."""
    if not p.heading or not p.lines:
        return p.lines
    return [f"{p.heading}: {p.lines[0]}", *p.lines[1:]]
