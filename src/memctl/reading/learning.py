"""What is learned of conversations that were taken in: statements worth keeping, and what their answers used.

Each answer is compared with what was given before it (`memctl.text.usefulness`), and what it used is noted in the store
(`memctl.store.items.attributes`).
"""

from collections.abc import Callable, Iterable, Sequence

from memctl.annotations import TYPE_CHECKING, NamedTuple
from memctl.reading.hook_context import SessionMemory, Telling, prompt_mark

if TYPE_CHECKING:
    from memctl.capture.record import Exchange
    from memctl.policy import MemoryPolicy
    from memctl.store.database import Database
    from memctl.types import MemoryItem

#: An answer that comes so many exchanges after an item was given is no longer said to be due to it.
WINDOW = 10


def learn(
    db: "Database", policy: "MemoryPolicy", client: str, session_id: str, scope: str, exchanges: "Sequence[Exchange]"
) -> Callable[[], dict[str, int]]:
    """Find candidates in new exchanges of a session; what stores them, and notes what answers used of what was told.

    What tools brought the model from memory counts as told: it proposes nothing new by saying that again.

    Other programs may write while they are looked for. What stores them says how many statements are new
    (`candidates`), and how many candidates are evidence of known ones (`repeats`).
    """
    from memctl.capture.distil import gather_candidates, keep_candidates
    from memctl.store.items import items

    told = SessionMemory(client, session_id).told
    fetched = [
        Telling(prompt_mark(one.asked.text if one.asked else ""), 0, tuple(items.expand_id(db, i) for i in ids))
        for one in exchanges
        if one.answered and (ids := one.answered.fetched)
    ]
    given = items.get_many(db, {item_id for one in (*told, *fetched) for item_id in one.ids}) if told or fetched else []
    found = gather_candidates(db, session_id, scope, exchanges, [item.content for item in given])

    def keep() -> dict[str, int]:
        if told or fetched:
            said = [
                Answered(one.asked.text if one.asked else "", one.answered.text, one.answered.files)
                for one in exchanges
                if one.answered
            ]
            judge_conversation(db, session_id, told, said)
            judge_conversation(db, session_id, fetched, said)
        return keep_candidates(db, policy, session_id, found)

    return keep


# --- what answers used -----------------------------------------------------------------------------------------------


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
