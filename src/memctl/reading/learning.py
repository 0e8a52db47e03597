"""What is learned of conversations that were taken in: statements worth keeping, and what their answers used."""

from collections.abc import Iterable

from memctl.annotations import TYPE_CHECKING

if TYPE_CHECKING:
    from memctl.capture.record import Exchange
    from memctl.policy import MemoryPolicy
    from memctl.store.database import Database


def learn(db: "Database", policy: "MemoryPolicy", client: str, exchanges: "Iterable[Exchange]") -> dict[str, int]:
    """Make candidates of new exchanges, and note what their answers used of what `memctl hook` had told.

    How many statements are new (`candidates`), and how many candidates are evidence of known ones (`repeats`).
    """
    from memctl.capture.candidates import keep_candidates
    from memctl.reading.unasked import SessionMemory
    from memctl.reading.usefulness import Answered, judge_conversation

    held: dict[str, list[Exchange]] = {}
    for one in exchanges:
        held.setdefault(one.session, []).append(one)
    made = {"candidates": 0, "repeats": 0}
    for session, some in held.items():
        told = SessionMemory(client, session).told
        if told:
            said = [
                Answered(one.asked.text if one.asked else "", one.answered.text, one.answered.files)
                for one in some
                if one.answered
            ]
            judge_conversation(db, session, told, said)
        for name, count in keep_candidates(db, policy, session, some).items():
            made[name] += count
    return made
