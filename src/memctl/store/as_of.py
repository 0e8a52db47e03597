"""The store as it was: inside `at`, every read through the handle sees the items of a past moment. Nothing is written.

A temporary view of this connection stands before memory_items. It leaves out what was made later, and shows the items
that were changed later in the state their revisions keep. Where their words were others, the full-text index is made
anew, of the words of then, for as long as the answer takes. All of it lives in one transaction that is rolled back, so
the answer is of one moment of the file, and the file is left alone.

Two things stay as they are today, because looking back must not undo them: what is held back or retracted now was
never fit to be given to a model, and what `memctl scan` has blotted out stays so. What was purged is gone.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from memctl.annotations import Any
from memctl.store import connect
from memctl.store.database import Database
from memctl.store.filters import utc, utc_of
from memctl.store.items import items
from memctl.store.search import rebuild
from memctl.types import MemoryItem

#: The reason of a revision that `memctl scan --store` made begins so.
SCAN_REASON = "SCAN-"
_WORDS = ("title", "content", "tags", "entities")
#: What a scan may have blotted out, beside where the words stand.
_SCANNED_FIELDS = (*_WORDS, "links", "provenance", "scope", "rule_id", "corpus_id")


@contextmanager
def view_as_of(db: Database, moment: str) -> Iterator[None]:
    """Let reads of `db` see the items of a moment (in the shape of `ids.timestamp`) until the block ends."""
    connect.ensure_index(db)
    with db.snapshot(temporary=True):
        with db.briefly_writable():  # for temporary tables; nothing here names a table of the file to write to
            older = db.value("SELECT sql FROM sqlite_temp_master WHERE type = 'view' AND name = 'memory_items'")
            base = f"({str(older).partition(' AS ')[2]})" if older else "main.memory_items"
            changed = list(_changed_since(db, moment))
            db.run(f"CREATE TEMP TABLE memctl_then (at INTEGER PRIMARY KEY, {', '.join(items.COLUMNS)})")
            marks = ", ".join("?" * (1 + len(items.COLUMNS)))
            db.run_many(f"INSERT INTO temp.memctl_then VALUES ({marks})", [(row, *state) for row, state, _ in changed])
            db.run("DROP VIEW IF EXISTS temp.memory_items")
            if changed:
                columns = ", ".join(f"CASE WHEN t.at IS NULL THEN m.{c} ELSE t.{c} END AS {c}" for c in items.COLUMNS)
                source = f"{base} AS m LEFT JOIN temp.memctl_then AS t ON t.at = m.rowid"
            else:
                columns, source = ", ".join(f"m.{c} AS {c}" for c in items.COLUMNS), f"{base} AS m"
            db.run(
                f"CREATE TEMP VIEW memory_items AS SELECT m.rowid AS rowid, {columns} FROM {source} "
                f"WHERE {utc_of('m.created_at')} <= '{moment}'"
            )
            if any(reworded for _, _, reworded in changed):
                from memctl.store import schema

                tokenizer = rebuild.tokenizer_of(db)
                if tokenizer is not None:
                    db.run(
                        schema.fts_table(tokenizer).replace("CREATE VIRTUAL TABLE ", "CREATE VIRTUAL TABLE temp.", 1)
                    )
                    db.run(
                        "INSERT INTO temp.memory_items_fts(rowid, title, content, tags, entities) "
                        f"SELECT i.rowid, {schema.indexed_columns('i')} FROM temp.memory_items AS i"
                    )
        yield


def _changed_since(db: Database, moment: str) -> Iterator[tuple[int, tuple[Any, ...], bool]]:
    """Items that were there and were changed later: rowid, the earlier row, and whether its words differ."""
    if "memory_revisions" not in db.tables:
        return
    # An undo puts the time of the last change back, too.
    undone = "0"
    if "memory_undo" in db.tables:
        undone = (
            "i.id IN (SELECT u.key FROM memory_runs AS n CROSS JOIN memory_undo AS u ON u.run = n.number "
            f"AND u.part = 'items' WHERE n.undoes <> '[]' AND n.finished_at > '{moment}')"
        )
    later = db.rows(
        f"SELECT i.rowid, {items.SELECT} FROM memory_items AS i "
        f"WHERE {utc_of('i.created_at')} <= ? AND ({utc_of('i.updated_at')} > ? OR {undone}) AND EXISTS "
        "(SELECT 1 FROM memory_revisions AS r WHERE r.item_id = i.id AND r.snapshot <> ?)",
        (moment, moment, items.UNCHANGED),
    )
    for rowid, *row in later:
        item = items.to_item(tuple(row), db.path)
        state = _state_at(item, items.revisions(db, item.id), moment)
        if state is not None:
            reworded = any(getattr(state, name) != getattr(item, name) for name in _WORDS)
            yield rowid, items.from_item(state), reworded


def _state_at(item: MemoryItem, revisions: list[dict[str, Any]], moment: str) -> MemoryItem | None:
    """The item as it was; None where no revision says anything else than the row."""
    known = [r for r in revisions if isinstance(r["snapshot"], dict) and r["snapshot"]]
    if not known:
        return None
    before = [number for number, r in enumerate(known) if utc(r["changed_at"]) <= moment]
    chosen = before[-1] if before else 0
    state = item.to_dict() | known[chosen]["snapshot"]
    for later in known[chosen + 1 :]:
        if str(later["reason"]).startswith(SCAN_REASON):
            state |= {name: later["snapshot"][name] for name in _SCANNED_FIELDS if name in later["snapshot"]}
    state["id"] = item.id
    state["injectable"] = bool(state["injectable"]) and item.injectable
    if item.validation == "retracted":
        state["validation"] = "retracted"
    try:
        return MemoryItem.from_dict(state)
    except (ValueError, TypeError):  # another program's snapshot
        return None
