"""Conflicts: found among all statements of some scopes, and ended by what somebody decides.

Two statements are compared when they share two of their rarest words, so the cost grows as the store does, not as its
square; of those that share them, the newest are compared.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations

from memctl.store import conflicts
from memctl.store.database import Database
from memctl.store.filters import Filters
from memctl.store.items import attributes, events, items, overview
from memctl.text import contradiction
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
    topics = [tuple(contradiction.topic_words(text)) for _, _, text in rows]
    counts = Counter(word for words in topics for word in words)
    found: list[tuple[str, str, str]] = []
    sharing: dict[int, list[int]] = defaultdict(list)
    for at, (item_id, place, text) in enumerate(rows):
        compared: set[int] = set()
        for key in _keys(topics[at], counts):
            others = sharing[hash((place, key))]  # a number takes less room; what shares one by chance is compared, too
            for other in others[-COMPARED:]:
                if other not in compared:
                    compared.add(other)
                    shared = len(set(topics[other]).intersection(topics[at]))
                    if shared < LEAST_SHARED * min(len(topics[other]), len(topics[at])):
                        continue
                    if why := contradiction.find(rows[other][2], text):
                        found.append((rows[other][0], item_id, why))
            others.append(at)
    return found, len(rows)


def _keys(words: Iterable[str], counts: Mapping[str, int]) -> Iterator[tuple[str, ...]]:
    """What statements share that are compared: pairs of their rarest words, or the only one."""
    shared = sorted((word for word in words if 1 < counts[word] <= COMMON), key=lambda word: (counts[word], word))
    yield from combinations(sorted(shared[:RAREST]), 2) if len(shared) > 1 else [tuple(shared)] if shared else []


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
