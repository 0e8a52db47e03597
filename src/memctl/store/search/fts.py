"""Whether the full-text index says what the items say; where it does not, it is made anew before it is asked.

The index is keyed by rowids, which `.dump`, VACUUM and REPLACE change. The triggers in `schema.FTS_TRIGGERS` fire for
every program that writes to the file; what they see stands in `memory_fts_state`. So one look at a few rows tells, in a
store of any size. Whoever must not or cannot write to the file searches the text itself (`store.substring`).
"""

from memctl import errors
from memctl.store.connect import Database

#: How long a reader waits for the write lock to make the index anew, in seconds.
WAIT = 0.5
TABLE = "memory_items_fts"
STATE = "memory_fts_state"
#: What the states mean in which searches do without the index.
DOUBTS = {
    "unsound": "does not fit the items; the next search or write makes it anew",
    "unknown": "nobody knows whether it fits the items; the next search or write makes it anew",
}
_FITS = (
    "SELECT sound AND replaced_row IS NULL AND (SELECT max(rowid) FROM main.memory_items) IS "
    f"(SELECT max(id) FROM main.{TABLE}_docsize), schema_version FROM main.{STATE}"
)


def believed(db: Database) -> bool:
    """Whether the index can be believed: nothing has renumbered the items or left their words in it or out of it."""
    return state(db) == "sound"


def state(db: Database) -> str:
    """`sound`, `unsound` (it must be made anew), `unknown` (of an older program, or of somebody else), or `none`."""
    if not db.has(TABLE):
        return "none"
    if not (db.trusted and db.has(STATE)):
        return "unknown"
    try:
        fits, compared = db.row(_FITS) or (False, None)
    except errors.StoreFailed:  # a table is missing
        return "unsound"
    if not fits:
        return "unsound"
    return "sound" if compared == _schema_version(db) or _has_our_triggers(db) else "unsound"


def mend(db: Database) -> bool:
    """Make the index anew unless it can be believed, on a handle that reads, too; returns whether it now can be.

    Outside of any transaction. It waits no longer than `WAIT` seconds for another writer. Where nothing can be done,
    the handle says once that searches read the text instead.
    """
    if believed(db):
        return True
    if db.conn.in_transaction or (db.has(STATE) and not db.has(TABLE)):  # the latter: no FTS5 where it was made
        return False
    reason = "the store cannot be written to here"
    if db.writable and db.trusted:
        from memctl.store import migrate

        try:
            with db.briefly_writable(WAIT), db.atomic(WAIT):
                migrate.up(db)
        except errors.StoreBusy:
            reason = "another program is writing to the store"
        except errors.MemctlError as exc:
            reason = exc.message
    if not believed(db) and db.has(TABLE):
        if db.trusted:  # else it was said when the store was opened
            db.tell(
                "The full-text index may not fit the items, and cannot be made anew now: "
                f"{reason}. The text itself is searched instead, which ranks less well."
            )
        return False
    return True


def note_schema(db: Database) -> None:
    """Remember that the triggers were compared, so that the next look need not compare them."""
    version = _schema_version(db)
    if db.value(f"SELECT schema_version FROM {STATE}") != version:
        with db.atomic():
            db.run(f"UPDATE {STATE} SET schema_version = ?", (version,))


def note_sound(db: Database) -> None:
    """Remember that the index was made anew, within the transaction that made it."""
    db.run(
        f"INSERT INTO {STATE}(one, sound, replaced_row, schema_version) VALUES (1, 1, NULL, ?) ON CONFLICT(one) "
        "DO UPDATE SET sound = 1, replaced_row = NULL, schema_version = excluded.schema_version",
        (_schema_version(db),),
    )


def _schema_version(db: Database) -> int:
    """SQLite's count of changes of the schema: VACUUM and every CREATE and DROP by any program add to it."""
    version: int = db.value("PRAGMA main.schema_version")
    return version


def _has_our_triggers(db: Database) -> bool:
    """Whether the triggers are those of this version: older programs make theirs anew when they reindex."""
    from memctl.store import schema

    ours = {*schema.statements(schema.FTS_TRIGGERS)}
    held = db.rows("SELECT sql FROM main.sqlite_master WHERE type = 'trigger' AND tbl_name = 'memory_items'")
    return ours <= {f"{sql};" for (sql,) in held}
