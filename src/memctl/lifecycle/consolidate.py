"""Consolidation: near-duplicate statements become one, what proved itself is promoted, what is over is archived.

Everything is found first, which only reads; then one transaction makes the changes, and leaves alone what somebody has
changed meanwhile. The same store gives the same changes, and a second run finds nothing to do.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from memctl import ids
from memctl.item_policy import ItemPolicy
from memctl.names import TIERS
from memctl.store.database import Database
from memctl.store.items import events, items, merging
from memctl.store.quarantine import Standing, protected_items, record_release, standings
from memctl.text import clean, source_trust
from memctl.text.duplicates import Statement, find_groups
from memctl.types import MemoryItem

if TYPE_CHECKING:
    from memctl.policy import MemoryPolicy

#: An item that was to fade is over when less than this share of its strength is left.
_FADED = 0.05
#: Uses from which an item is no longer short-term.
_USES_FOR_MTM = 2


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
            _write_merges(db, policy, merges)
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


def _write_merges(db: Database, policy: "MemoryPolicy", merges: Sequence[Merge]) -> None:
    with events.judged_write(db, policy.switches):
        items.write_many(db, [merge.item for merge in merges], "consolidate")
    items.set_withheld(db, {merge.item.id: (merge.why, merge.held_by) for merge in merges if merge.why})
    for merge in merges:
        if merge.released_from is not None:
            record_release(db, merge.item.id, "consolidate", merge.released_from, merge.item.content_hash)
    archived = {
        source.id: {"archived": 1, "superseded_by": merge.item.id} for merge in merges for source in merge.sources
    }
    merging.change_rows(db, archived, "consolidate")
    merging.replace_by(db, {merge.item.id: [source.id for source in merge.sources] for merge in merges})
