"""Candidates of conversations as short-term statements, each with the turn that it was said in as evidence.

They go through policy as every statement does, are in the queue of `memctl review`, and are gone after a while unless
somebody keeps them, or says the same in another conversation. What nearly repeats a statement that is there adds its
turn to it instead of an item, unless that conversation was told the statement: what memory said itself shows nothing.
"""

from collections.abc import Sequence

from memctl import ids
from memctl.annotations import TYPE_CHECKING, NamedTuple
from memctl.capture.distil import TYPES, WorthKeeping, distil
from memctl.capture.record import Exchange
from memctl.ingest import statements
from memctl.lifecycle.conflicts import find_similar
from memctl.store import sessions, transcripts
from memctl.store.database import Database
from memctl.store.items import attributes, items
from memctl.store.quarantine import protected_items
from memctl.text import clean, contradiction, source_trust
from memctl.types import MemoryItem, MemoryProvenance

if TYPE_CHECKING:
    from memctl.lifecycle.conflicts import Similar
    from memctl.policy import MemoryPolicy

#: Days after which one that nobody keeps is gone, and how sure of it one is, by who said it.
KEPT_DAYS = 90
_CONFIDENCE = {"user": 0.6, "assistant": 0.4}
_TITLE_CHARS = 80
#: Turns that are named as evidence of one statement.
_MOST_EVIDENCE = 20


class Compared(NamedTuple):
    """A statement that a conversation proposes.

    origin   what the exchange that it stands in is known by; `timed` whether the client says when that was
    by       who said it
    similar  statements that it nearly repeats or contradicts
    """

    item: MemoryItem
    origin: str
    timed: bool
    by: str
    similar: "list[Similar]"


def gather_candidates(
    db: Database, session_id: str, scope: str, exchanges: Sequence[Exchange], told: Sequence[str] = ()
) -> list[Compared]:
    """What is worth keeping of exchanges of a session in a scope, compared with what is known. Nothing is written.

    told  texts that memory gave the session: who says them again in other words proposes nothing
    """
    found: list[Compared] = []
    with db.snapshot():
        for one in distil(exchanges):
            if any(contradiction.repeats_told(one.text, text) for text in told):
                continue
            exchange = exchanges[one.exchange]
            item = _item(one, exchange, session_id, scope)
            found.append(Compared(item, exchange.origin, bool(exchange.first.time), one.by, find_similar(db, item)))
    return found


def keep_candidates(
    db: Database, policy: "MemoryPolicy", session_id: str, found: Sequence[Compared]
) -> dict[str, int]:  # fmt: skip
    """Store candidates of a session that is in the store; how many are new (`candidates`), and how many are evidence of
    what was known (`repeats`).
    """
    if not found:
        return {"candidates": 0, "repeats": 0}
    numbers = transcripts.known_origins(db, session_id)
    new: list[MemoryItem] = []
    contradicted: dict[str, list[tuple[str, str]]] = {}
    repeats, said = 0, list[str]()
    with db.atomic():
        for one in found:
            source = one.item.provenance
            if number := numbers.get(one.origin, 0):
                source.chunk_ids = [f"{session_id}#{number}", *source.chunk_ids]
            same = next((known.id for known in one.similar if known.is_repeat), "")
            if same:
                said.append(same)
                repeats += _add_evidence(db, same, one, session_id)
                continue
            before = next(
                (old.provenance for old in new if contradiction.find_repeat(one.item.content, old.content)), None
            )
            if before is not None:  # the conversation itself says it again
                before.chunk_ids = list(dict.fromkeys([*before.chunk_ids, *source.chunk_ids]))[:_MOST_EVIDENCE]
                repeats += 1
                continue
            new.append(one.item)
            contradicted[one.item.id] = [(known.id, known.why) for known in one.similar]
        done = statements.store_statements(db, policy, new, reason="capture", by_model=True, contradicted=contradicted)
        sessions.note_items(db, session_id, [*said, *(outcome.id for outcome in done if outcome.id)], now=False)
    stored = sum(outcome.kind == "stored" for outcome in done)
    return {"candidates": stored, "repeats": repeats + sum(outcome.kind == "duplicate" for outcome in done)}


def _item(one: WorthKeeping, exchange: Exchange, session_id: str, scope: str) -> MemoryItem:
    """The statement that a candidate becomes. An assistant's word is marked as a model's."""
    source = MemoryProvenance("chat", f"{source_trust.CAPTURED}:{session_id}")
    if one.by == "assistant":
        source.chunk_ids = [*source_trust.mark("chat", source.source_id, source_trust.CAPTURED)]
    title = clean.one_line(one.text, _TITLE_CHARS) + (f" (asked: {one.asked})" if one.asked else "")
    item = MemoryItem(
        tier="stm", type=TYPES[one.kind], title=clean.one_line(title), content=one.text,
        tags=[one.kind], confidence=_CONFIDENCE[one.by], scope=scope, provenance=source,
        expires_at=ids.timestamp(ids.now_seconds() + KEPT_DAYS * 86_400),
    )  # fmt: skip
    said = (exchange.asked if one.by == "user" else exchange.answered) or exchange.first
    if said.time:
        item.created_at = said.time
    return item


def _add_evidence(db: Database, known_id: str, one: Compared, session_id: str) -> bool:
    """Name the turn of a repeat in the statement that it repeats, unless it is a copy of a turn that is named there.

    One that a person says in another conversation stays for good; a model may have read it.
    """
    known, new = items.get(db, known_id), one.item
    if known is None or known.id in protected_items(db, [known]) or attributes.was_told(db, known_id, session_id):
        return False
    source = known.provenance
    turns = [one for one in new.provenance.chunk_ids if "#" in one and one not in source.chunk_ids]
    there = [one for one in source.chunk_ids if "#" in one]
    if not turns or len(there) >= _MOST_EVIDENCE or transcripts.is_copy(db, turns[0], there, timed=one.timed):
        return False
    source.chunk_ids = [*source.chunk_ids, *turns]
    changes: dict[str, object] = {"provenance": source.to_dict()}
    captured = source.source_id.startswith(source_trust.CAPTURED)
    if one.by == "user" and captured and source.source_id != new.provenance.source_id:
        changes["expires_at"] = None
    items.update(db, known.id, changes, "capture", compact=True)
    return True
