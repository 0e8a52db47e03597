"""What stands beside items, into a store: the records of a complete export, each judged by policy and merged.

A record that is here already is a duplicate; one that is here with other values is left alone, and told. What belongs
to an item that policy refused does not come in, nor what belongs to one that was purged here: its revisions say what it
said. The history of an item that is new here is the one of the file; of an
item that was here already, both histories are put in the order of time.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memctl.item_policy import ItemPolicy, holding_rules
from memctl.lifecycle.jsonl import InvalidLine, ItemLine, RecordLine, read_item
from memctl.store import conflicts, purge, quarantine, records
from memctl.store.database import Database
from memctl.store.items import items

if TYPE_CHECKING:
    from memctl.policy import MemoryPolicy

#: Kinds that are nothing without their item.
_BESIDE = frozenset(("link", "revision", "withheld", "retention", "conflict", "citation", "pin"))
_JUDGED_ANEW = "what a person released elsewhere is judged anew here (--released takes it over, of your own export)"
_HELD_HERE = "what is held back here already stays so (memctl quarantine release frees it)"
#: What becomes of an item's text: the line as it may be stored, or None and the reasons why it may not.
Judge = Callable[[ItemLine], tuple[ItemLine | None, list[str]]]


class RecordRefused(Exception):
    """A record does not come in: it is here, or policy refuses it. `what` names the count, the text says why."""

    def __init__(self, what: str, why: str = "") -> None:
        super().__init__(why)
        self.what = what


class RecordImport:
    """The records of one import.

    alias    a line's item id -> the id that it has here, where that is another one
    fresh    ids of items that this import has made
    refused  ids of items that policy refused
    counts   records that came in, by kind
    takes_releases  whether a person says that what was released from quarantine there stays so here
    """

    takes_releases = False

    def __init__(
        self, policy: "MemoryPolicy", judge: Judge, alias: Mapping[str, str], fresh: set[str], refused: set[str]
    ) -> None:
        self._policy, self._items, self._judge = policy, ItemPolicy(policy), judge
        self._alias, self._fresh, self._refused = alias, fresh, refused
        self.counts: dict[str, int] = {}
        #: Items that are here with other content: id -> what the line said. It becomes a part of their history.
        self.differing: dict[str, Any] = {}
        #: Items that are free in the file and held back here: id -> the rules, the end that the line said, the hash.
        self.held: dict[str, tuple[tuple[str, ...], str | None, str]] = {}
        self._freed: dict[tuple[str, str], tuple[str, ...]] = {}  # id and hash -> rules that it was released from there
        self.orphans = 0  # ids of items that are nowhere, in records that stand beside items
        self.purged: set[str] = set()  # ids of items that stay out because they were purged here
        self._told_history: set[str] = set()  # fresh items whose own revisions have come
        self._mixed: dict[str, None] = {}  # items of two histories
        self._mounts: dict[str, str] = {}  # a line's mount -> the mount that this folder has here
        self._events: tuple[int, int | None] = (0, None)  # the rows of the events that it logged before others came
        self._has_turns = False
        self.is_complete = False  # the file says all, conflicts too
        self._contradicting: list[tuple[str, str, str]] = []  # pairs of items that it says contradict each other

    def begin(self, db: Database) -> None:
        """Note where the log ends before anything is written."""
        self._events = (records.newest_event(db), None)

    def judge(self, line: RecordLine) -> RecordLine:
        """The record as policy leaves it: needs no store, so nobody waits. Raises RecordRefused and InvalidLine."""
        given = dict(zip(line.kind.columns, line.row, strict=True))
        self._govern(line.kind, given)
        return line._replace(row=list(given.values()))

    def take(self, db: Database | None, line: RecordLine, *, write: bool) -> None:
        """Bring one record in that was judged. Raises RecordRefused and InvalidLine."""
        kind, given = line.kind, dict(zip(line.kind.columns, line.row, strict=True))
        self._refer(db, line, given)
        may_come = self._may_come(kind, given)
        row = [_cell(holds, given[column]) for column, holds in kind.columns.items()]
        if db is not None:
            if kind.name == "mount" and (here := records.mount_at(db, str(given["path"]))) is not None:
                self._mounts[str(given["mount_id"])] = here
            if kind.name == "withheld":
                self._date(db, given, write=write)
                return
            found = records.find_record(db, kind, row) if kind.table in db.tables else None
            if found is not None:
                if _same(kind, found, row):
                    raise RecordRefused("skipped_dedup", "" if may_come else self._why_held(db, given))
                raise RecordRefused("skipped_conflict", f"{kind.name} {given[kind.key[0]]} is here with other values")
        if not may_come:
            raise RecordRefused("skipped_policy", self._why_kept)
        if db is not None:
            if kind.name == "revision" and self._is_purged(db, str(given["item_id"])):
                raise RecordRefused("skipped_conflict", "revision of an item that was purged here")
            if write:
                if kind.table not in db.tables:
                    raise InvalidLine(f"{kind.name}: this store has no table for it")
                self._prepare(db, kind, given)
                if not records.add_record(db, kind, row):
                    raise RecordRefused(
                        "skipped_conflict", f"{kind.name} {given[kind.key[0]]} is here under another id"
                    )
        self.counts[kind.name] = self.counts.get(kind.name, 0) + 1

    def finish(self, db: Database) -> None:
        """Put in order what came from two stores."""
        records.number_revisions(db, list(self._mixed))
        if self._events[1] is not None:
            records.put_events_last(db, self._events[0], self._events[1])
        if self._has_turns:
            records.count_turns(db)
        if not self.is_complete:
            there = items.get_summaries(db, [one for pair in self._contradicting for one in pair[:2]])
            found = [one for one in self._contradicting if {*one[:2]} <= there.keys() and one[0] != one[1]]
            conflicts.open_conflicts(db, found)

    def let_go(self, db: Database | None) -> int:
        """Let items of this import be given to models that a person released where they come from; how many."""
        going = []
        for item_id, (rules, expires_at, content_hash) in self.held.items():
            standing = quarantine.Standing("released", released_from=self._freed.get((item_id, content_hash)))
            if self._items.is_released(standing, rules):
                going.append((item_id, expires_at))
        if db is not None:
            records.free_items(db, going)
        return len(going)

    # --- one record ----------------------------------------------------------------------------------------------

    def _refer(self, db: Database | None, line: RecordLine, given: dict[str, Any]) -> None:
        """Let a record name the items and mounts as they are called here. Raises RecordRefused."""
        for column, holds in line.kind.columns.items():
            if holds.rstrip("?") == "id" and given[column] is not None:
                if given[column] in self._refused:
                    raise RecordRefused("skipped_policy", f"{line.kind.name} of an item that policy refused")
                if line.kind.name in _BESIDE and given[column] in self.purged:
                    raise RecordRefused("skipped_conflict", f"{line.kind.name} of an item that was purged here")
                given[column] = self._alias.get(given[column], given[column])
                self.orphans += line.kind.name in _BESIDE and not self._is_here(db, given[column])
            elif holds == "ids":
                # A file's next reading archives passages that it has no more: it may name none but its own.
                named = [self._alias.get(one, one) for one in given[column]]
                if db is not None:
                    found = items.get_many(db, named)
                    path = given["file_path"]
                    named = [i.id for i in found if i.provenance.is_passage and i.provenance.source_id == path]
                given[column] = named
        if line.kind.name == "revision":
            given["snapshot"] = self._refer_snapshot(given["item_id"], given["snapshot"])
        if line.kind.name == "conflict":
            given["id"] = conflicts.conflict_id(given["a_id"], given["b_id"])
        if given.get("mount_id") in self._mounts:
            given["mount_id"] = self._mounts[given["mount_id"]]

    def _may_come(self, kind: records.RecordKind, given: dict[str, Any]) -> bool:
        """Whether a record may come in: a release only where a person says so, and of an item that came with it, so
        that nobody here holds it back. What a release says is kept for `let_go`.
        """
        if kind.name != "event" or given["action"] != "release":
            return True
        freed = str(given["item_id"]), str(given["content_hash"])
        if not (self.takes_releases and freed[0] in self._fresh):
            return False
        rules = items.load_strings(items.load_object(_cell("json", given["details_json"])).get("rules"))
        self._freed[freed] = (*self._freed.get(freed, ()), *rules)
        return True

    @property
    def _why_kept(self) -> str:
        return _HELD_HERE if self.takes_releases else _JUDGED_ANEW

    def _why_held(self, db: Database, given: dict[str, Any]) -> str:
        """Why a release that is in the log here has no effect, as after an undo; "" where its item is not held back."""
        there = quarantine.standings(db, items.get_many(db, [str(given["item_id"])]))
        return self._why_kept if any(one.is_held for one in there.values()) else ""

    def _is_here(self, db: Database | None, item_id: str) -> bool:
        """Whether there is an item of this id, or it came with this import."""
        return item_id in self._fresh or (db is not None and bool(items.get_summaries(db, [item_id])))

    def _is_purged(self, db: Database, item_id: str) -> bool:
        """Whether an item is not here because somebody purged it."""
        if item_id in self._fresh or not purge.purged_ids(db, [item_id]):
            return False
        return not items.get_many(db, [item_id])

    def _govern(self, kind: records.RecordKind, given: dict[str, Any]) -> None:
        """Judge the texts of a record, each as where it is written elsewhere. Raises RecordRefused, InvalidLine."""
        if kind.name == "setting" and not str(given["key"]).startswith("chunk_tokens "):
            raise InvalidLine("setting.key: no such setting comes with an export")
        if kind.name == "conflict" and given["state"] not in conflicts.STATES:
            raise InvalidLine(f"conflict.state: not one of {', '.join(conflicts.STATES)}")
        if kind.name == "revision":
            given["snapshot"] = self._judge_snapshot(given["snapshot"])
            return
        judged: set[str] = set()
        if kind.name == "turn":
            question, answer = (self._policy.judge(given[name]) for name in ("question", "answer"))
            given["question"], given["answer"] = question.text, answer.text
            if holding_rules((*question.findings, *answer.findings)):
                given["injectable"] = 0
            judged = {"question", "answer"}
        words = [word for name, value in given.items() if name not in judged for word in _words(value)]
        if self._items.refuses(*words):
            raise RecordRefused("skipped_policy", f"{kind.name} holds what no record may")

    def _judge_snapshot(self, state: Any) -> Any:
        if not isinstance(state, dict) or not state:
            return {}  # "as the row is"
        line = read_item({key: value for key, value in state.items() if key != "id"})
        judged, reasons = self._judge(line)
        if judged is None:
            raise RecordRefused("skipped_policy", f"an earlier state: {'; '.join(reasons)}")
        if judged is line:
            return state | {"links": line.item.links if "links" in state else []}
        return state | judged.item.to_dict(key for key in judged.item.__slots__ if key in state)

    def _refer_snapshot(self, item_id: str, state: dict[str, Any]) -> dict[str, Any]:
        """An earlier state that names the items as they are called here."""
        if not state:
            differing: dict[str, Any] = self.differing.get(item_id, {})
            return differing  # "as the row is", which is not the row that is here
        out = dict(state)
        if "links" in out:
            out["links"] = [
                {k: v if k == "rel" else self._alias.get(v, v) for k, v in link.items()} for link in state["links"]
            ]
        for name, value in (("id", item_id), ("superseded_by", state.get("superseded_by"))):
            if name in out:
                out[name] = self._alias.get(str(value), value)
        return out

    def _prepare(self, db: Database, kind: records.RecordKind, given: dict[str, Any]) -> None:
        """Make room for a record. Raises RecordRefused."""
        if kind.name == "tombstone":
            holders = items.ids_by_hash(db, [given["content_hash"]]).get(given["content_hash"], [])
            is_here = given["item_id"] not in self._fresh and items.get_summaries(db, [given["item_id"]])
            if is_here or any(holder.id not in self._fresh for holder in holders):
                raise RecordRefused("skipped_conflict", f"what was purged elsewhere, {given['item_id']}, is here")
        if kind.name == "revision":
            item_id = given["item_id"]
            if item_id not in self._fresh:
                if not given["snapshot"]:  # "as the row still is" is true of the row there, not of the one here
                    raise RecordRefused("skipped_dedup")
                self._mixed[item_id] = None
            elif item_id not in self._told_history:
                self._told_history.add(item_id)
                records.forget_import(db, item_id)
        elif kind.name == "event" and self._events[1] is None:
            self._events = (self._events[0], records.newest_event(db))
        elif kind.name == "link" and given["rel"] == "contradicts":
            self._contradicting.append((given["dst_id"], given["src_id"], conflicts.SAID))
        self._has_turns |= kind.name == "turn"

    def _date(self, db: Database, given: dict[str, Any], *, write: bool) -> None:
        """An item's line said why it is withheld; this says since when."""
        if given["item_id"] not in self._fresh:
            raise RecordRefused("skipped_dedup")
        if write:
            records.date_withheld(db, given["item_id"], given["reason"], given["withheld_at"])
        self.counts["withheld"] = self.counts.get("withheld", 0) + 1


def _cell(holds: str, value: Any) -> Any:
    """What stands in the table."""
    if value is None or holds.rstrip("?") not in ("json", "ids"):
        return value
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _same(kind: records.RecordKind, found: Sequence[Any], row: Sequence[Any]) -> bool:
    """Whether two rows say the same; JSON by what it means. What nobody changes is the same under its key."""
    if kind.name in ("link", "revision", "event"):
        return True
    for holds, one, other in zip(kind.columns.values(), found, row, strict=True):
        is_json = holds.rstrip("?") in ("json", "ids")
        if (items.load_json(one) != items.load_json(other)) if is_json else one != other:
            return False
    return True


def _words(value: Any) -> Iterator[str]:
    """All texts in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, one in value.items():
            yield str(key)
            yield from _words(one)
    elif isinstance(value, list):
        for one in value:
            yield from _words(one)
