"""Corrections of items: other fields, put away and brought back, right or wrong, established.

Each is one transaction, and reads the item anew in it, so that two programs that change different fields of an item
both do. What is written is judged first; a change that policy refuses, or for which no model could be given the item
any more, is not made: the item stays as it is.
"""

from collections.abc import Mapping

from memctl import citing, errors, ids
from memctl.annotations import TYPE_CHECKING, Any, NamedTuple
from memctl.item_policy import ItemPolicy, tidy_statement
from memctl.names import TIERS
from memctl.store import quarantine
from memctl.store.database import Database
from memctl.store.documents import corpus
from memctl.store.items import attributes, events, items, merging
from memctl.types import MemoryItem

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memctl.policy import MemoryPolicy

#: Fields that a passage of a document has from its file, and that reading the file again would set back.
OF_FILE = ("title", "content", "scope")


class Edited(NamedTuple):
    """An item before and after a change, and the names of the fields that differ."""

    before: MemoryItem
    after: MemoryItem
    fields: list[str]


def edit_item(
    db: Database,
    policy: "MemoryPolicy",
    item_id: str,
    changes: Mapping[str, Any],
    *,
    importance: float | None = None,
    dry_run: bool = False,
) -> Edited:
    """Give an item other fields, judged by policy.

    Raises ItemNotFound, ItemUnchangeable (it is held back, or the field is its document's) and NothingStored.
    """
    with events.judged_write(db, policy.switches):
        before = items.get(db, item_id)
        if before is None:
            raise errors.ItemNotFound(id=item_id)
        after = MemoryItem.from_dict(before.to_dict() | dict(changes))
        if not before.provenance.is_passage:
            tidy_statement(after)
        fields = [name for name in changes if getattr(before, name) != getattr(after, name)]
        matters = attributes.get_importance(db, [item_id]).get(item_id, attributes.NEUTRAL_IMPORTANCE)
        more = ["importance"] if importance is not None and importance != matters else []
        if not (fields or more):
            return Edited(before, before, [])
        standing = quarantine.standings(db, [before])[item_id]
        if standing.is_held:
            raise errors.ItemUnchangeable(
                id=before.id, reason="policy holds it back",
                remedy=f"memctl quarantine release {before.id} --reason WHY lets it go first, supersede replaces it",
            )  # fmt: skip
        if before.provenance.is_passage and (theirs := [name for name in fields if name in OF_FILE]):
            raise errors.ItemUnchangeable(
                id=before.id, reason=f"its {' and '.join(theirs)} stand in its file",
                remedy=f"change {before.provenance.source_id} and run memctl sync, or let a statement supersede it",
            )  # fmt: skip
        _judge(policy, before, after, standing)
        if not dry_run:
            if fields:
                after = items.update(db, item_id, {name: getattr(after, name) for name in fields}, "edit") or after
                if "content" in fields:
                    citing.cite(db, [after])
                if "expires_at" in fields and after.expires_at and attributes.drop_keep(db, item_id):
                    more.append("retention")
                if standing.released_from is not None and "content" in fields:
                    quarantine.record_release(db, item_id, "edit", standing.released_from, after.content_hash)
            if importance is not None and more:
                attributes.set_importance(db, {item_id: importance})
            events.log(db, "edit", item_id, {"fields": fields + more})
    return Edited(before, after, fields + more)


def _judge(policy: "MemoryPolicy", before: MemoryItem, after: MemoryItem, standing: quarantine.Standing) -> None:
    """Raise NothingStored where policy refuses an item as it is to become, or would keep it from models.

    A passage is judged as one, and so is a longer text that stays as it was: a part of a conversation, say.
    """
    judge = ItemPolicy(policy)
    is_long = len(after.content) > policy.max_content_length and after.content == before.content
    if after.provenance.is_passage or is_long:
        change = judge.redact(after, standing)
        reasons = change.rules if change is not None else ()
    else:
        verdict = judge.judge(after)
        doubted = verdict.forced_non_injectable and not judge.is_released(standing, {f.rule for f in verdict.findings})
        reasons = tuple(verdict.reasons) if verdict.rejected or doubted else ()
    if reasons:
        raise errors.NothingStored(
            reason=f"policy does not let it be so ({'; '.join(reasons)}); {after.id} is as it was"
        )


# --- put away, and brought back ---------------------------------------------------------------------------------------


def forget_items(db: Database, item_ids: "Iterable[str]", why: str = "") -> list[str]:
    """Archive items, in one transaction; the ids of those that were not archived before."""
    with db.atomic():
        wanted = list(dict.fromkeys(item_ids))
        there = items.get_summaries(db, wanted)
        gone = [one for one in wanted if one in there and not there[one].archived]
        merging.change_rows(db, {one: {"archived": 1} for one in gone}, "forget")
        events.log_each(db, "forget", gone, why)
    return gone


def restore_items(db: Database, item_ids: "Iterable[str]") -> dict[str, str]:
    """Bring items back that were archived or have expired, in one transaction; id -> what replaced it until now, or "".

    Nothing supersedes them any more. An end that is over is taken away, but for that of a quarantine.
    """
    with db.atomic():
        found = [item for item in items.get_many(db, item_ids) if is_gone(item)]
        changes: dict[str, dict[str, Any]] = {item.id: {"archived": 0, "superseded_by": None} for item in found}
        for item in found:
            if item.expires_at is not None and item.expires_at <= ids.timestamp() and item.injectable:
                changes[item.id]["expires_at"] = None
        merging.change_rows(db, changes, "restore")
        corpus.unlink_superseding(db, list(changes))
        events.log_each(db, "restore", list(changes))
    return {item.id: item.superseded_by or "" for item in found}


def is_gone(item: MemoryItem) -> bool:
    """Whether no read shows an item, unless it is asked for archived ones."""
    return item.archived or (item.expires_at is not None and item.expires_at <= ids.timestamp())


# --- right or wrong, established --------------------------------------------------------------------------------------


def set_validation(db: Database, item_ids: "Iterable[str]", validation: str, action: str, why: str = "") -> list[str]:
    """Say of items whether they are right, in one transaction, each with an event; the ids of those that changed."""
    with db.atomic():
        changed = [item.id for item in items.get_many(db, item_ids) if item.validation != validation]
        merging.change_rows(db, {one: {"validation": validation} for one in changed}, action)
        events.log_each(db, action, changed, why)
    return changed


class Promoted(NamedTuple):
    """An item that is more established now, and whether it was raw before, which it is no longer."""

    id: str
    from_tier: str
    to_tier: str
    released: bool


def promote_items(db: Database, item_ids: "Iterable[str]", tier: str) -> list[Promoted]:
    """Raise items to a tier, in one transaction, and let those be recalled that were only raw.

    Those that stand as high already and are not raw are left out, and so is what policy holds back, or is archived.
    """
    done = []
    with db.atomic():
        found = items.get_many(db, item_ids)
        for item, standing in zip(found, quarantine.standings(db, found).values(), strict=True):
            rises, raw = TIERS.index(tier) > TIERS.index(item.tier), standing.state == "raw"
            if item.archived or standing.is_held or not (rises or raw):
                continue
            to_tier = tier if rises else item.tier
            if rises:
                items.update(db, item.id, {"tier": tier}, "promote", compact=True)
            if raw:
                items.release_raw(db, [item.id], "promote")
            events.log(db, "promote", item.id, {"from_tier": item.tier, "to_tier": to_tier})
            done.append(Promoted(item.id, item.tier, to_tier, raw))
    return done
