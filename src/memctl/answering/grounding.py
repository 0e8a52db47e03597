"""A question answered from what the store has for it, within one budget: what `ask` and `chat` share."""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from memctl.answering.models import Model
from memctl.context import Context
from memctl.llm import citations
from memctl.llm.citations import ContextPlace
from memctl.llm.controller import LoopPlan, LoopResult, run_loop
from memctl.llm.working import RecalledPassages
from memctl.parameters import ReadRequest
from memctl.reading.block import explain_delivery, find_passages
from memctl.reading.request import Retriever
from memctl.text.block import block
from memctl.text.block.block import Block, Passage
from memctl.text.block.excerpt import stems
from memctl.text.block.frames import Compact, place_within
from memctl.text.query import analyse
from memctl.text.tokens import CHARS_PER_TOKEN, estimate

#: Between two parts of a context.
GAP = "\n\n"


class Source(NamedTuple):
    """Something that the model was given: where it stands (None for what stands in no document), title, items."""

    place: ContextPlace | None
    title: str
    ids: tuple[str, ...]

    def __str__(self) -> str:
        return str(self.place) if self.place else self.ids[0]


class Grounded:
    """An answer and what it was made from.

    result   how the loop ended
    ids      the items that the model was given, those of the first call first
    places   where they stand, as the last context said it
    sources  the same with titles; what was in an earlier context only is left out
    """

    __slots__ = ("ids", "places", "result", "sources")

    def __init__(self, result: LoopResult, first: Block, passages: Mapping[str, Passage]) -> None:
        self.ids = (*first.ids, *(i for i in result.ids if i not in first.ids))
        self.places = citations.context_places(result.context)
        self.sources = list(_sources(self.ids, passages, self.places))
        self.result = result._replace(context="")  # a long chat keeps many of these


def _sources(ids: tuple[str, ...], passages: Mapping[str, Passage], places: list[ContextPlace]) -> Iterator[Source]:
    left = dict.fromkeys(places)
    for item_id in ids:
        p = passages.get(item_id)
        if p is None or p.ids[0] != item_id:
            continue
        if not p.path:
            yield Source(None, p.title, p.ids)
            continue
        for place in [one for one in left if _shows(one, p)]:
            del left[place]
            yield Source(place, p.title, p.ids)


def _shows(place: ContextPlace, p: Passage) -> bool:
    """Whether a place in the context shows some of a passage."""
    if place.path != p.path:
        return False
    if place.lines is not None and p.span is not None:
        return any(place.lines[0] <= last and first <= place.lines[1] for first, last in p.spans or [p.span])
    return str(place) == f"{p.path}:{place_within(p)}"


class Ground:
    """Where answers are looked for: the same request for the first recall and for every refined one."""

    def __init__(self, ctx: Context, request: ReadRequest, command: str) -> None:
        self.retriever = Retriever(ctx, request, command, injectable=True)
        self._passages: dict[str, Passage] = {}

    def recall(self, query: str, budget: int) -> RecalledPassages:
        """The passages for a query, best first."""
        found = find_passages(self.retriever, query, budget)
        self._passages.update({item_id: p for p in found.passages for item_id in p.ids})
        return found

    def block(self, query: str, budget: int) -> Block:
        """What there is for a question as one block within a budget."""
        self._passages.clear()
        found = self.recall(query, budget)
        return block.build(found.passages, Compact(), budget, stems(analyse(query)))

    def answer(
        self,
        model: Model,
        plan: LoopPlan,
        question: str,
        first: Block,
        *,
        before: str = "",
        stream: Callable[[str], None] | None = None,
    ) -> Grounded:
        """Ask the model, with `before` and the first block as context; more is recalled if the protocol asks for it.

        The plan's budget is that of the whole context, `before` included.
        """
        context = GAP.join(part for part in (before, first.text) if part)
        result = run_loop(
            plan, context, question, ask=model, recall=self.recall, stream=stream,
            on_trace=(lambda trace: model.ctx.warn(trace.line())) if model.ctx.verbose else None,
        )  # fmt: skip
        return Grounded(result, first, self._passages)

    def why(self, question: str, budget: int, given: tuple[str, ...]) -> list[str]:
        """How the search for a question was answered, and what the scores of the items that were given are made of."""
        return explain_delivery(self.retriever, question, budget, given)


def room_after(budget: int, before: str) -> int:
    """How many tokens of a budget a text and the gap after it leave."""
    return max(0, budget * CHARS_PER_TOKEN - len(before) - (len(GAP) if before else 0)) // CHARS_PER_TOKEN


def with_room_for(budget: int, before: str) -> int:
    """The budget of a context that begins with a text, so that `budget` tokens are left after it."""
    return budget + (estimate(before + GAP) if before else 0)
