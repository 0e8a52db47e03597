"""What an item was: its states, which run brought each, and what differs between two of them."""

from collections.abc import Iterator, Sequence

from memctl.annotations import Any, NamedTuple
from memctl.store import undo
from memctl.store.database import Database
from memctl.store.items import items
from memctl.types import MemoryItem

#: The fields of an item that say what it is, in the order in which they are told.
FIELDS = (
    "title", "content", "type", "tier", "tags", "entities", "validation", "confidence", "scope", "injectable",
    "archived", "expires_at", "superseded_by", "rule_id", "corpus_id", "links", "provenance",
)  # fmt: skip


class ItemState(NamedTuple):
    """An item as it was written once.

    number  of the revision: 1, 2, ...
    reason  why, as the revision says: create, update, archive, undo RUN-... and so on
    run     the run that wrote it; None where another program or an older memctl did
    """

    number: int
    at: str
    reason: str
    item: MemoryItem
    run: undo.Run | None

    def by(self) -> dict[str, Any]:
        """When it was, why, and who did it: None where nobody knows."""
        run = self.run
        return {
            "revision": self.number, "at": self.at, "reason": self.reason, "run": run and run.id,
            "command": run and run.command, "actor": run and run.actor, "name": run and run.name,
            "session": run and run.session, "why": run and run.reason,
        }  # fmt: skip


class FieldChange(NamedTuple):
    """A field that differs, and its values; `old` is None for the first state."""

    field: str
    old: Any
    new: Any


def item_states(db: Database, item: MemoryItem) -> list[ItemState]:
    """The states of an item, oldest first; those that another program wrote as something else are left out."""
    touched = [(number, before) for number, before, made in undo.runs_of_item(db, item.id) if not made or not before]
    by_number = {run.number: run for run in undo.list_runs(db, runs=[number for number, _ in touched])}
    # A run that takes an undo back makes the row again, and its old revisions with it.
    touched = [(n, before) for n, before in touched if before or not by_number[n].undoes]
    out = []
    for revision in items.revisions(db, item.id):
        state, number = revision["snapshot"], int(revision["revision_num"])
        try:
            was = MemoryItem.from_dict(item.to_dict() | state)
        except (ValueError, TypeError):  # another program's
            continue
        before, run = max(
            ((b, by_number[n]) for n, b in touched if b < number), default=(0, None), key=lambda one: one[0]
        )
        at = str(revision["changed_at"])
        if run is not None and number > before + 1 and at > run.finished_at:
            run = None
        out.append(ItemState(number, at, str(revision["reason"]), was, run))
    return out


def changes(old: MemoryItem | None, new: MemoryItem) -> list[FieldChange]:
    """What differs, field by field; of the first state all that is said at all."""
    before, after = old.to_dict() if old else {}, new.to_dict()
    found = (FieldChange(name, before.get(name), after[name]) for name in FIELDS)
    return [one for one in found if one.old != one.new and (old is not None or one.new not in (None, "", [], False))]


class BlamedPart(NamedTuple):
    """Where a part of an item comes from: the state since which it is what it is now."""

    field: str
    value: Any
    state: ItemState


def blamed_parts(states: Sequence[ItemState]) -> Iterator[BlamedPart]:
    """Each field of the newest state, and each paragraph of its content, with where it comes from."""
    said = [one.item.to_dict() for one in states]
    for name in FIELDS:
        value = said[-1][name]
        if name != "content" and value not in (None, "", [], False):
            yield BlamedPart(name, value, _since(states, [one[name] == value for one in said]))
    for text in dict.fromkeys(paragraphs(states[-1].item.content)):
        yield BlamedPart("content", text, _since(states, [text in paragraphs(one.item.content) for one in states]))


def _since(states: Sequence[ItemState], holds: Sequence[bool]) -> ItemState:
    """The first state from which on something holds without a break."""
    first = len(states) - 1
    while first and holds[first - 1]:
        first -= 1
    return states[first]


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a text: what stands between blank lines."""
    return [part.strip() for part in text.replace("\r\n", "\n").split("\n\n") if part.strip()]
