"""Consolidation: near-duplicate statements become one, what proved itself is promoted, what is over is archived.

Everything is found first, which only reads; then one transaction makes the changes, and leaves alone what somebody has
changed meanwhile. The same store gives the same changes, and a second run finds nothing to do.

What a model may tidy up instead is only listed (`find_candidates`): its answer comes back through `memctl pull`.
"""

from collections.abc import Container, Iterator, Sequence
from typing import TYPE_CHECKING

from memctl import ids
from memctl.annotations import NamedTuple
from memctl.item_policy import ItemPolicy
from memctl.names import TIERS
from memctl.store.database import Database
from memctl.store.filters import Filters
from memctl.store.items import events, items, merging
from memctl.store.items.attributes import get_importance, links_of_items
from memctl.store.quarantine import Standing, protected_items, record_release, standings
from memctl.text import clean, source_trust
from memctl.text.duplicates import Statement, find_groups, words_of
from memctl.text.source_trust import CAPTURED
from memctl.types import MemoryItem

if TYPE_CHECKING:
    from memctl.policy import MemoryPolicy

#: An item that was to fade is over when less than this share of its strength is left.
_FADED = 0.05


class Rules(NamedTuple):
    """What consolidation does: which tiers it looks at, and what speaks for promotion.

    types    are promoted for what they are
    uses     as many make an item long-term
    release  whether raw items are let into recall, too
    promote  whether anything is promoted
    spare    what a person vouches for is merged into nothing: a model asks
    """

    tiers: tuple[str, ...] = TIERS
    types: tuple[str, ...] = ("constraint", "decision", "definition")
    uses: int = 5
    release: bool = True
    promote: bool = True
    spare: bool = False


class Merge(NamedTuple):
    """One item that stands for several: `held_by` are the rules that keep it from models, `why` is why it is so."""

    item: MemoryItem
    sources: list[MemoryItem]
    why: str = ""
    held_by: tuple[str, ...] = ()
    released_from: tuple[str, ...] | None = None


class Consolidation(NamedTuple):
    """What is to be done, or was done, in one scope.

    processed  how many statements were compared
    promoted   the new tier of items, by id, merged ones among them; released: items that were raw
    expired    items whose time is over, or that have faded: they are archived
    """

    scope: str
    processed: int
    merges: list[Merge]
    promoted: dict[str, str]
    released: list[str]
    expired: list[str]


def plan(db: Database, policy: "MemoryPolicy", scope: str, rules: Rules) -> Consolidation:
    """What consolidation of a scope would do now; nothing is written."""
    with db.snapshot():
        processed, groups = _find_duplicates(db, scope, rules.tiers)
        merges = list(_merge_groups(db, policy, _spared(db, groups) if rules.spare else groups))
        promoted, released = _find_promotions(db, policy, scope, rules) if rules.promote else ({}, [])
        for merge in merges:
            for source in merge.sources:
                promoted.pop(source.id, None)
            item = merge.item
            speaks_for = item.usage_count >= rules.uses or item.type in rules.types or item.validation == "verified"
            if (
                rules.promote
                and speaks_for
                and not merge.why
                and _outranks("ltm", item.tier)
                and item.expires_at is None
            ):
                item.tier = promoted[item.id] = _allowed_tier(policy, item.tier, "ltm", item.provenance.source_id)
        merged = {source.id for merge in merges for source in merge.sources}
        released = [item_id for item_id in released if item_id not in merged]
        over = [item_id for item_id in _find_over(db, scope) if item_id not in merged]
        promoted = {item_id: tier for item_id, tier in promoted.items() if item_id not in over}
        return Consolidation(scope, processed, merges, promoted, released, over)


def _find_over(db: Database, scope: str) -> list[str]:
    """Items whose time is over, and those that were to fade and have."""
    return [*merging.find_expired(db, scope), *merging.find_faded(db, scope, _FADED)]


def _find_promotions(
    db: Database, policy: "MemoryPolicy", scope: str, rules: Rules
) -> tuple[dict[str, str], list[str]]:
    """The new tiers of items that proved themselves, and the raw items that are released."""
    promoted: dict[str, str] = {}
    released = []
    for one in merging.find_established(db, scope, rules.tiers, rules.types, rules.uses):
        if one.is_raw and not rules.release:
            continue
        wanted = "ltm" if one.uses >= rules.uses else "mtm"
        target = _allowed_tier(policy, one.tier, wanted, one.source)
        if target != one.tier:
            promoted[one.id] = target
        if one.is_raw:
            released.append(one.id)
    return promoted, released


def _allowed_tier(policy: "MemoryPolicy", tier: str, wanted: str, source: str) -> str:
    """The higher one of two tiers; the first one where policy asks for a source, and there is none."""
    is_allowed = bool(source.strip()) or wanted not in policy.require_provenance_for
    return wanted if is_allowed and _outranks(wanted, tier) else tier


def _outranks(tier: str, other: str) -> bool:
    return TIERS.index(tier) > TIERS.index(other)


def _find_duplicates(db: Database, scope: str, tiers: Sequence[str]) -> tuple[int, list[list[str]]]:
    """How many statements there are, and the groups of those that say the same."""
    count = 0

    def read() -> Iterator[Statement]:
        nonlocal count
        count = 0
        for row in merging.read_statements(db, scope, tiers):
            count += 1
            yield _statement(row)

    groups = find_groups(read, lambda wanted: [_statement(row) for row in merging.read_these(db, wanted)])
    return count, groups


def _statement(row: merging.StatementRow) -> Statement:
    item_id, kind, standing, corpus, rule, provenance, title, content = row
    source = items.load_object(provenance)
    # What is said of different documents, or has the ids of different rules, is not the same though the words are.
    document = source.get("source_id") if source.get("source_kind") == "doc" else None
    return Statement(item_id, (kind, standing, corpus, rule, str(document)), title, content)


# --- merging ---------------------------------------------------------------------------------------------------------


def _spared(db: Database, groups: Sequence[Sequence[str]]) -> list[list[str]]:
    """The groups without what a model may not change; those of one item are none."""
    left = []
    for group in groups:
        protected = protected_items(db, items.get_many(db, group))
        left.append([item_id for item_id in group if item_id not in protected])
    return [group for group in left if len(group) > 1]


def _merge_groups(db: Database, policy: "MemoryPolicy", groups: Sequence[Sequence[str]]) -> Iterator[Merge]:
    judge = ItemPolicy(policy)
    for group in groups:
        sources = sorted(items.get_many(db, group), key=_rank)  # of equals, the order of the group is kept
        known = standings(db, sources)
        state = known[sources[0].id].state
        item = _merged_item(policy, sources)
        if state == "raw":
            yield Merge(item, sources, "raw")
        elif known[sources[0].id].is_held:
            rules = tuple(dict.fromkeys(rule for source in sources for rule in known[source.id].rules))
            yield Merge(item, sources, "policy", rules)
        else:
            yield _judged(judge, Merge(item, sources), known[sources[0].id])


def _rank(item: MemoryItem) -> tuple[bool, int]:
    """Which of several items gives its text: a verified one, a person's, the best spelt, the longest."""
    source = item.provenance
    trust, _ = source_trust.trust_of(source.source_kind, source.source_id, source.chunk_ids)
    return item.validation != "verified", -trust


def _merged_item(policy: "MemoryPolicy", sources: Sequence[MemoryItem]) -> MemoryItem:
    """The item that stands for these: the first one's text and source, and what the others know besides."""
    first = sources[0]
    item = MemoryItem.from_dict(first.to_dict())
    item.id, item.archived, item.superseded_by = ids.new_id(), False, None
    item.tags = clean.union(*(source.tags for source in sources))
    item.entities = clean.union(*(source.entities for source in sources))
    item.links = []
    for link in (link for source in sources for link in source.links):
        if link not in item.links:
            item.links.append(link)
    item.confidence = max(source.confidence for source in sources)
    item.usage_count = sum(source.usage_count for source in sources)
    item.last_used_at = max((s.last_used_at for s in sources if s.last_used_at), default=None)
    item.created_at = max(source.created_at for source in sources)
    ends = [source.expires_at for source in sources if source.expires_at]
    item.expires_at = max(ends) if len(ends) == len(sources) else None  # one that stays for good stays
    item.touch()
    others = [source.provenance for source in sources[1:]]
    own = item.provenance
    own.chunk_ids = list(
        dict.fromkeys((
            *own.chunk_ids, *(source.id for source in sources),
            *(other.source_id for other in others if other.source_id not in ("", own.source_id)),
            *(chunk for other in others for chunk in source_trust.unmarked(other.chunk_ids)),
        ))
    )  # fmt: skip
    own.content_hashes = list(dict.fromkeys(h for source in sources for h in source.provenance.content_hashes))
    item.tier = max((source.tier for source in sources), key=TIERS.index)
    if item.injectable and item.expires_at is None:
        item.tier = _allowed_tier(policy, item.tier, "mtm", own.source_id)
    return item


def _judged(judge: ItemPolicy, merge: Merge, standing: Standing) -> Merge:
    """The merge as policy leaves it: the union of what several items carry may be what none of them does."""
    verdict = judge.judge(merge.item)
    if not (verdict.rejected or verdict.forced_non_injectable):
        return merge
    rules = tuple(sorted({finding.rule for finding in verdict.findings}))
    if rules and judge.is_released(standing, rules):
        return merge._replace(released_from=standing.released_from)
    judge.hold(merge.item, verdict)
    return merge._replace(why="policy", held_by=rules)


# --- writing ---------------------------------------------------------------------------------------------------------


def apply(db: Database, policy: "MemoryPolicy", found: Sequence[Consolidation]) -> list[Consolidation]:
    """Make the changes of these plans in one transaction; returns them without what somebody has changed since."""
    done = []
    with db.atomic():
        for one in found:
            merges = [merge for merge in one.merges if _is_unchanged(db, merge)]
            with events.judged_write(db, policy.switches):
                items.write_many(db, [merge.item for merge in merges], "consolidate")
            items.set_withheld(db, {merge.item.id: (merge.why, merge.held_by) for merge in merges if merge.why})
            for merge in merges:
                if merge.released_from is not None:
                    record_release(db, merge.item.id, "consolidate", merge.released_from, merge.item.content_hash)
            archived = {
                source.id: {"archived": 1, "superseded_by": merge.item.id}
                for merge in merges
                for source in merge.sources
            }
            merging.change_rows(db, archived, "consolidate")
            merging.replace_by(db, {merge.item.id: [source.id for source in merge.sources] for merge in merges})
            active = merging.still_active(db, [*one.promoted, *one.released])
            new = {merge.item.id for merge in merges}
            promoted = {i: tier for i, tier in one.promoted.items() if i in active or i in new}
            released = [item_id for item_id in one.released if item_id in active]
            changes: dict[str, dict[str, object]] = {i: {"tier": t} for i, t in promoted.items() if i not in new}
            for item_id in released:
                changes.setdefault(item_id, {})["injectable"] = 1
            merging.change_rows(db, changes, "promote")
            merging.release_rows(db, released)
            over = set(_find_over(db, one.scope))
            expired = [item_id for item_id in one.expired if item_id in over]
            merging.change_rows(db, {item_id: {"archived": 1} for item_id in expired}, "expire")
            done.append(one._replace(merges=merges, promoted=promoted, released=released, expired=expired))
            if merges or promoted or released or expired:
                counts = {"merged": len(merges), "promoted": len(promoted), "released": len(released)}
                events.log(db, "consolidate", None, {"scope": one.scope, **counts, "expired": len(expired)})
    return done


def _is_unchanged(db: Database, merge: Merge) -> bool:
    """Whether the sources of a merge are as they were when it was planned."""
    now = items.get_many(db, [source.id for source in merge.sources])
    return [(item.id, item.updated_at) for item in now] == [(source.id, source.updated_at) for source in merge.sources]


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
