"""Conflicts: found among all statements of some scopes, noticed of a new one, and ended by what somebody decides.

Two statements are compared when they share two of their rarest words, so the cost grows as the store does, not as its
square; of those that share them, the newest are compared. Of a new statement the full-text index tells which these are.
"""

from collections import Counter
from collections.abc import Iterable
from itertools import chain, combinations

from memctl.annotations import NamedTuple
from memctl.store import conflicts
from memctl.store.database import Database
from memctl.store.filters import Filters
from memctl.store.items import attributes, events, items
from memctl.store.search import index
from memctl.text import contradiction
from memctl.text.query import analyse
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
    from memctl.store.items import overview  # storing a statement needs none of it

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


#: Of so many words of a statement the index is asked how many items have them; the ASKED that any has are looked for.
WORDS_COUNTED, ASKED = 12, 4
#: Counting the items of a word ends here; first all words are counted so far, since few words are as rare.
COMMON_ENOUGH, RARE_ENOUGH = 500, 25
#: What is said of two statements of which the older one is known to be wrong.
RETRACTED = f"{contradiction.SAME}, and it was retracted"
#: How many statements are compared, the newest first, and how many are told.
MATCHES, MOST_TOLD = 20, 3


class Similar(NamedTuple):
    """A stored statement that a new one nearly repeats, or contradicts, and what shows it."""

    id: str
    why: str

    @property
    def is_repeat(self) -> bool:
        """Whether both say the same."""
        return self.why in (contradiction.SAME, RETRACTED)


def find_similar(db: Database, item: MemoryItem) -> list[Similar]:
    """The statements in the item's scope that it nearly repeats or contradicts, the newest first.

    Passages of documents are not among them, nor what policy holds back. What was retracted is only repeated: that the
    new one says something else is what it was retracted for.
    """
    if not index.has_index(db):
        return []
    asked = list(dict.fromkeys(map(index.quote_phrase, analyse(item.content).terms[:WORDS_COUNTED])))
    # Which of them is rarer is counted on only where it decides.
    counts = {phrase: index.count_matches(db, phrase, RARE_ENOUGH) for phrase in asked}
    known = [phrase for phrase in asked if counts[phrase]]
    if len(known) > ASKED > sum(counts[phrase] < RARE_ENOUGH for phrase in known):
        more = (phrase for phrase in known if counts[phrase] == RARE_ENOUGH)
        counts |= {phrase: index.count_matches(db, phrase, COMMON_ENOUGH) for phrase in more}
    known = sorted(known, key=counts.__getitem__)[:ASKED]
    if not known or (len(known) == 1 and index.count_matches(db, known[0], COMMON_ENOUGH) >= COMMON_ENOUGH):
        return []
    expression = _two_of(known) or known[0]
    filters = Filters((item.scope,), corpus_id=item.corpus_id, origin="statements")
    rows = index.newest_matches(db, expression, filters, MATCHES)
    found = index.fetch_candidates(db, dict.fromkeys(rows, 0.0), rows)
    told = ((one.id, _compare(one, item)) for one in found if one.injectable)
    return [Similar(item_id, why) for item_id, why in told if why][:MOST_TOLD]


def _compare(old: index.Candidate, new: MemoryItem) -> str:
    """What a new statement is to an old one; "" when they have nothing to do with each other."""
    against, same = contradiction.find(old.content, new.content), contradiction.find_repeat(new.content, old.content)
    if old.validation == "retracted":
        return RETRACTED if same and not against else ""
    return against or same


def _two_of(phrases: list[str]) -> str:
    """An expression for what has two of these phrases at least, each asked for as seldom as can be: that costs."""
    if len(phrases) < 2:
        return ""
    left, right = phrases[: len(phrases) // 2], phrases[len(phrases) // 2 :]
    of_each = f"(({' OR '.join(left)}) AND ({' OR '.join(right)}))"
    return " OR ".join(filter(None, (of_each, _two_of(left), _two_of(right))))
