"""What a model may tidy up: statements that are alike but not the same, long or captured ones, and those that nobody
needs.

Nothing is changed, and no model is asked: `memctl consolidate --candidates` prints what a model is to look at, and its
answer comes back through `memctl pull`.
"""

from collections.abc import Container, Iterator, Sequence

from memctl import ids
from memctl.annotations import NamedTuple
from memctl.store.database import Database
from memctl.store.filters import Filters
from memctl.store.items import items
from memctl.store.items.attributes import get_importance, links_of_items
from memctl.text.duplicates import words_of
from memctl.text.source_trust import CAPTURED
from memctl.types import MemoryItem

#: Statements that are looked at, the newest first.
_LOOKED_AT = 2000
#: The share of common words from which on two statements may say one thing, and the members of a group.
_ALIKE, _GROUP = 0.5, 6
#: A word in more statements than this brings none together.
_COMMON = 60
#: Characters from which on a statement may hold several, and days after which one that nobody used may be of no use.
_LONG, _OLD_DAYS, _UNUSED_DAYS = 500, 30, 7
#: How many there are at most of each: groups to merge, statements to extract from, to archive, to let fade.
MOST_MERGE, MOST_EXTRACT, MOST_OTHERS = 10, 20, 50


class TidyCandidates(NamedTuple):
    """What is worth a look in one scope; `merge` are groups, each with how much of their words they share."""

    merge: list[tuple[float, list[MemoryItem]]]
    extract: list[MemoryItem]
    archive: list[MemoryItem]
    decay: list[MemoryItem]


def find_candidates(db: Database, scope: str) -> TidyCandidates:
    """The candidates among the statements of a scope that a model may be given; deterministic."""
    found = items.list_items(db, Filters((scope,), injectable=True, origin="statements"), _LOOKED_AT)
    important = {item_id for item_id, value in get_importance(db, (item.id for item in found)).items() if value > 0.5}
    unused = [  # and nobody said that it stays: verified it, made it long-term, or meant it to bind
        item for item in found
        if not item.usage_count and item.id not in important and item.validation != "verified" and item.tier != "ltm"
        and item.type not in ("decision", "constraint", "definition")
    ]  # fmt: skip
    # Pairs that somebody has linked are two things, however alike they are.
    linked = {frozenset((one.src_id, one.dst_id)) for one in links_of_items(db, [item.id for item in found])}
    old, idle = (ids.timestamp(ids.now_seconds() - days * 86_400) for days in (_OLD_DAYS, _UNUSED_DAYS))
    unused.sort(key=lambda item: (item.created_at, item.id))
    return TidyCandidates(
        list(_alike(found, linked))[:MOST_MERGE],
        [item for item in found if _is_rough(item)][:MOST_EXTRACT],
        [item for item in unused if item.created_at <= old][:MOST_OTHERS],
        [item for item in unused if old < item.created_at <= idle][:MOST_OTHERS],
    )


def _is_rough(item: MemoryItem) -> bool:
    """Whether a model may say it better: it is long, or was found in a conversation by its form alone."""
    captured = item.provenance.source_id.startswith(CAPTURED) and item.expires_at is not None
    return item.tier == "stm" and (len(item.content) >= _LONG or captured)


def _alike(found: Sequence[MemoryItem], linked: Container[frozenset[str]]) -> Iterator[tuple[float, list[MemoryItem]]]:
    """Groups of statements that share many of their words, the most alike first; no two of them are linked."""
    words = [frozenset(word.text for word in words_of(item.content)) for item in found]
    having: dict[str, list[int]] = {}
    for at, some in enumerate(words):
        for word in some:
            having.setdefault(word, []).append(at)
    pairs: list[tuple[float, int, int]] = []
    for at, some in enumerate(words):
        near = {other for word in some if len(having[word]) <= _COMMON for other in having[word] if other > at}
        for other in near:
            share = len(some & words[other]) / len(some | words[other])
            pair = frozenset((found[at].id, found[other].id))
            if share >= _ALIKE and found[at].scope == found[other].scope and pair not in linked:
                pairs.append((-share, at, other))
    taken: dict[int, list[int]] = {}
    groups: list[tuple[float, list[int]]] = []
    for share, at, other in sorted(pairs):
        there = taken.get(at) or taken.get(other)
        if there is None:
            there = []
            groups.append((-share, there))
        for one in (at, other):
            apart = any(frozenset((found[one].id, found[member].id)) in linked for member in there)
            if one not in taken and len(there) < _GROUP and not apart:
                there.append(one)
                taken[one] = there
    for share, members in groups:
        if len(members) > 1:
            yield round(share, 2), [found[at] for at in members]
