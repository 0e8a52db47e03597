"""What tests of blocks share: a block of items that nobody searched for."""

from collections.abc import Mapping, Sequence

from memctl.reading.block import Deliverable, choose_passages
from memctl.store.documents.passages import SourcePosition
from memctl.text.block.excerpt import stems
from memctl.text.block.frames import Compact, Frame
from memctl.text.block.packing import Block, Labels, build
from memctl.text.query import Query
from memctl.types import MemoryItem


def pack(
    ranked: Sequence[MemoryItem], places: Mapping[str, SourcePosition], query: Query, budget: int, *,
    frame: Frame | None = None, cwd: str = "",
) -> Block:  # fmt: skip
    """The block for items in rank order that are alike; `cwd` shortens paths below it."""
    found = Deliverable(ranked, places, stems(query), labels=Labels(cwd))
    return build(choose_passages(found, budget), frame or Compact(), budget, found.words)
