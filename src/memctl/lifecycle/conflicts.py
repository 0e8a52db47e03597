"""Conflicts: found among all statements of some scopes, and ended by what somebody decides.

Two statements are compared when they share two of their rarest words, so the cost grows as the store does, not as its
square; of those that share them, the newest are compared.
"""

from collections import Counter
from collections.abc import Iterable
from itertools import chain, combinations

from memctl.store import conflicts
from memctl.store.database import Database
from memctl.store.filters import Filters
from memctl.store.items import attributes, events, items, overview
from memctl.text import contradiction
from memctl.text.similarity import SharedKeys
from memctl.types import MemoryItem

#: Of a statement its RAREST words are looked at; a word that more than COMMON statements have tells nothing.
RAREST, COMMON = 3, 2000
#: With so many statements of a pair of words, the newest of them, each one is compared.
COMPARED = 8
#: The share of the words of the shorter one that two have in common at least.
LEAST_SHARED = 0.5
#: Longer texts say more than one thing.
MOST_CHARS = 600


def scan(db: Database, filters: Filters) -> tuple[list[tuple[str, str, str]], int]:
    """The contradictions among the statements that pass the filters, and how many statements were compared.

    Each is the id of the older one, of the newer one, and why. Passages of documents, what policy holds back, and
    statements of different scopes or corpora are not compared.
    """
    read = overview.iterate_texts(db, filters.replace(injectable=True, archived=False, origin="statements"))
    rows = [(item_id, place, text) for item_id, place, text in read if len(text) <= MOST_CHARS]
    words = contradiction.TopicWords()
    topics = [tuple(words.of(text.split())) for _, _, text in rows]
    counts = Counter(chain.from_iterable(topics))
    telling = sorted((count, word) for word, count in counts.items() if 1 < count <= COMMON)
    ranks = {word: rank for rank, (_, word) in enumerate(telling, 1)}
    places: dict[tuple[object, ...], int] = {}
    found: list[tuple[str, str, str]] = []
    sharing = SharedKeys(COMPARED)
    for at, (item_id, place, text) in enumerate(rows):
        rarest = sorted(filter(None, map(ranks.get, topics[at])))[:RAREST]
        # What is compared shares a place and a pair of its rarest words, or its only one, as one number.
        pairs = combinations(rarest if len(rarest) > 1 else [0, *rarest], 2)
        start = places.setdefault(place, len(places)) * len(telling)
        for other in sharing.add(at, [(start + a) * (len(telling) + 1) + b for a, b in pairs]):
            shared = len(set(topics[other]).intersection(topics[at]))
            if shared < LEAST_SHARED * min(len(topics[other]), len(topics[at])):
                continue
            if why := contradiction.find(rows[other][2], text):
                found.append((rows[other][0], item_id, why))
    return sorted(found), len(rows)


def forget_outdated(db: Database, filters: Filters) -> int:
    """Forget open conflicts whose texts contradict each other no more, because somebody changed one; how many."""
    found = [one for one in conflicts.list_conflicts(db, filters) if one.why != conflicts.SAID]
    known = {item.id: item for item in items.get_many(db, {i for one in found for i in (one.a, one.b)})}
    over = [one.id for one in found if not contradiction.find(known[one.a].content, known[one.b].content)]
    conflicts.drop(db, over)
    return len(over)


def decide(db: Database, conflict: conflicts.Conflict, decision: str, reason: str = "") -> str:
    """End a conflict, in one transaction; the id of the item that is archived for it, or "".

    keep-a, keep-b  the other one is superseded by it
    both, dismiss   both stay: they are right beside each other, or say nothing against each other
    """
    with db.atomic():
        kept, gone = (conflict.a, conflict.b) if decision == "keep-a" else (conflict.b, conflict.a)
        if not decision.startswith("keep") or not attributes.supersede(db, gone, kept, "resolve"):
            gone = ""
        conflicts.decide(db, conflict.id, decision, reason)
        details = {
            "conflict": conflict.id,
            "decision": decision,
            "other": conflict.a if kept == conflict.b else conflict.b,
        }
        events.log(db, "resolve", kept, details | ({"reason": reason} if reason else {}))
    return gone


def sides(db: Database, found: Iterable[conflicts.Conflict]) -> dict[str, MemoryItem]:
    """The items of conflicts, by id."""
    return {item.id: item for item in items.get_many(db, dict.fromkeys(i for one in found for i in (one.a, one.b)))}
