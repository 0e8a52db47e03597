"""From ranked items to the passages of a block: repeats dropped, neighbours joined, packed into a token budget."""

from collections.abc import Mapping, Sequence

from memctl.retrieve import repeats
from memctl.store.sources import Source
from memctl.text import block
from memctl.text.block import Block, Passage
from memctl.text.clean import union
from memctl.text.excerpt import cost, stems
from memctl.text.query import Query
from memctl.text.tokens import CHARS_PER_TOKEN
from memctl.types import MemoryItem

#: So many times the room is looked through: runs that are joined leave some of theirs to others.
RESERVE = 1.5


def pack(
    items: Sequence[MemoryItem],
    places: Mapping[str, Source],
    query: Query,
    budget: int,
    *,
    matched: int,
    cwd: str = "",
    kind: str = "memory_recall",
    framed: bool = True,
) -> Block:
    """The block for items in rank order; `matched` is how many there were in all, `cwd` shortens paths below it.

    `kind` is the header's injection_type; a block that is not `framed` has neither header nor footer.
    """
    head = block.header_lines(kind, budget, matched) if framed else None
    return block.build(passages(items, places, budget, cwd=cwd), head, budget, stems(query))


def passages(
    items: Sequence[MemoryItem], places: Mapping[str, Source], budget: int, *, cwd: str = "", whole: bool = False
) -> list[Passage]:
    """What a block of so many tokens chooses from: the items' passages in rank order, repeats dropped, runs joined.

    Looking ends when there is more than can find room; with `whole` it does not, for a caller who has some already.
    """
    room = budget * CHARS_PER_TOKEN
    said = repeats.Heard()
    found: list[Passage] = []
    taken = 0
    for item in items:
        passage = block.passage(item, places.get(item.id), cwd)
        if said.again("\n".join(passage.lines) or passage.title):
            continue
        found.append(passage)
        taken += min(cost(passage.lines), int(room * block.FAIR_SHARE))  # the least of the room that it will get
        if taken > RESERVE * room and not whole:
            break
    return joined(found, room)


def joined(passages: Sequence[Passage], room: int) -> list[Passage]:
    """Passages that follow each other in one source become one, in the place of the best of them.

    Only those that would fit into `room` characters in rank order are joined: the rest are a reserve.
    """
    within, size = 0, 0
    while within < len(passages) and size < room:
        size += cost(passages[within].lines)
        within += 1
    chosen = list(passages[:within])
    by_source: dict[tuple[str, str], list[int]] = {}
    for rank, p in enumerate(chosen):
        if p.path and p.chunk.isdecimal() and p.span:
            by_source.setdefault((p.path, p.provenance), []).append(rank)
    out = dict(enumerate(chosen))
    for ranks in by_source.values():
        ranks.sort(key=lambda rank: int(chosen[rank].chunk))
        for run in _runs(ranks, chosen):
            best = min(run)
            merged = _join([chosen[rank] for rank in run], chosen[best])
            for rank in run:
                del out[rank]
            out[best] = merged
    return [out[rank] for rank in sorted(out)] + list(passages[within:])


def _runs(ranks: Sequence[int], passages: Sequence[Passage]) -> list[list[int]]:
    runs: list[list[int]] = []
    for rank in ranks:
        if runs and int(passages[rank].chunk) == int(passages[runs[-1][-1]].chunk) + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    return [run for run in runs if len(run) > 1]


def _join(run: Sequence[Passage], best: Passage) -> Passage:
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
        span=(start, end), tags=tags, entities=entities,
    )  # fmt: skip
