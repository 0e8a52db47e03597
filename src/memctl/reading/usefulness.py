"""What came of what a conversation was told: each answer is compared with what was given before it, and what it used is
noted in the store (`memctl.store.items.attributes`). Capture and `session-store` call it.
"""

from collections.abc import Iterable, Sequence

from memctl.annotations import TYPE_CHECKING, NamedTuple
from memctl.reading.hook_context import Telling, prompt_mark

if TYPE_CHECKING:
    from memctl.store.database import Database
    from memctl.types import MemoryItem

#: An answer that comes so many exchanges after an item was given is no longer said to be due to it.
WINDOW = 10


class Answered(NamedTuple):
    """A prompt, all that was answered to it, and the files that were edited meanwhile."""

    prompt: str
    answer: str
    files: Sequence[str] = ()


def judge_conversation(
    db: "Database", session_id: str, told: Iterable[Telling], exchanges: Sequence[Answered]
) -> dict[str, int]:
    """Note of each item that a conversation was told whether an answer used it: how many were told, and are used newly.

    told  what was given, in order; what was given at a prompt that is not found here counts as given at the beginning
    """
    from memctl.store.items import attributes, items
    from memctl.text.usefulness import Told, used_passages

    marks = [prompt_mark(one.prompt) for one in exchanges]
    given = list(told)
    known = {item.id: item for item in items.get_many(db, {item_id for one in given for item_id in one.ids})}
    passages = {
        item.id: Told(item.id, f"{item.title}\n{item.content}",
                      item.provenance.source_id if item.provenance.source_kind == "doc" else "")
        for item in known.values()
    }  # fmt: skip
    tokens, used, since = dict[str, int](), dict[str, str](), dict[str, int]()
    at = 0
    for one in given:
        at = next((place for place in range(at, len(marks)) if marks[place] == one.mark), at)
        for item_id, count in _shares(one, known):
            tokens[item_id] = tokens.get(item_id, 0) + count
            since[item_id] = at
    for number, exchange in enumerate(exchanges):
        new = [passages[i] for i, first in since.items() if first <= number < first + WINDOW and i not in used]
        if new and exchange.answer:
            asked = [one.prompt for one in exchanges[max(0, number - WINDOW) : number + 1]]
            used.update(used_passages(new, exchange.answer, asked, exchange.files))
    newly = attributes.record(db, session_id, tokens, used) if tokens else 0
    return {"told": len(tokens), "used": newly}


def _shares(one: Telling, known: "dict[str, MemoryItem]") -> list[tuple[str, int]]:
    """The items that were given at once, each with its part of the tokens by the length of its text."""
    from memctl.text.tokens import estimate_tokens

    sizes = {i: estimate_tokens(known[i].content) for i in one.ids if i in known}
    every = sum(sizes.values())
    if not one.tokens or not every:
        return list(sizes.items())
    return [(i, round(one.tokens * size / every)) for i, size in sizes.items()]
