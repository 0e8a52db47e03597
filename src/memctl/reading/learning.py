"""What is learned of conversations that were taken in: statements worth keeping, and what their answers used."""

from collections.abc import Callable, Sequence

from memctl.annotations import TYPE_CHECKING

if TYPE_CHECKING:
    from memctl.capture.record import Exchange
    from memctl.policy import MemoryPolicy
    from memctl.store.database import Database


def learn(
    db: "Database", policy: "MemoryPolicy", client: str, session_id: str, scope: str, exchanges: "Sequence[Exchange]"
) -> Callable[[], dict[str, int]]:
    """Find candidates in new exchanges of a session; what stores them, and notes what answers used of what was told.

    What tools brought the model from memory counts as told: it proposes nothing new by saying that again.

    Other programs may write while they are looked for. What stores them says how many statements are new
    (`candidates`), and how many candidates are evidence of known ones (`repeats`).
    """
    from memctl.capture.distil import gather_candidates, keep_candidates
    from memctl.reading.hook_context import SessionMemory, Telling, prompt_mark
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
            from memctl.reading.usefulness import Answered, judge_conversation

            said = [
                Answered(one.asked.text if one.asked else "", one.answered.text, one.answered.files)
                for one in exchanges
                if one.answered
            ]
            judge_conversation(db, session_id, told, said)
            judge_conversation(db, session_id, fetched, said)
        return keep_candidates(db, policy, session_id, found)

    return keep
