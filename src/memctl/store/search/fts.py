"""The full-text index: whether it says what the items say, and how it is made anew where it does not.

The index is keyed by rowids, which `.dump`, VACUUM and REPLACE change. The triggers in `schema.FTS_TRIGGERS` fire for
every program that writes to the file; what they see stands in `memory_fts_state`. So one look at a few rows tells, in a
store of any size. Whoever must not or cannot write to the file searches the text itself (`words`); readers call
`connect.ensure_index`.

Making the index anew is write-only code, and here because it is the other half of the same state: it imports what only
it needs when it runs.
"""

from collections.abc import Callable

from memctl import errors, ids
from memctl.store.database import FAILURES, Database, translate

#: Told how many rows of how many are indexed.
Progress = Callable[[int, int], None]
#: Rows that one statement indexes: about a tenth of a second.
FILL = 2000

#: How long a reader waits for the write lock to make the index anew, in seconds.
LOCK_SECONDS = 0.5
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


def index_state(db: Database) -> str:
    """Whether the index can be believed: nothing has renumbered the items or left their words in it or out of it.

    `sound`, `unsound` (it must be made anew), `unknown` (of an older program, or of somebody else), or `none`.
    """
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
    if compared == db.schema_version():
        return "sound"
    from memctl.store import schema

    # The triggers may not be those of this version: older programs make theirs anew when they reindex.
    held = db.rows("SELECT sql FROM main.sqlite_master WHERE type = 'trigger' AND tbl_name = 'memory_items'")
    return "sound" if {*schema.statements(schema.FTS_TRIGGERS)} <= {f"{sql};" for (sql,) in held} else "unsound"


# --- making it anew --------------------------------------------------------------------------------------------------


def ensure_index(db: Database, tokenizer: str | None = None) -> bool:
    """Make the full-text index if it is missing, and anew if it is not sound; False when there is no FTS5.

    To be called after whatever may have renumbered the items, such as VACUUM. Where nothing is amiss it costs a look.
    """
    if index_state(db) == "sound":
        return True
    with db.atomic():
        db.look()
        if index_state(db) == "sound":  # another process did it while we waited
            return True
        known, held = db.has(STATE), tokenizer_of(db)
        if not _make_index(db, held or tokenizer, None):
            return False
        count = int(db.value("SELECT count(*) FROM memory_items"))
        if held is not None and count:
            why = "did not fit the items any more" if known else "was kept by an older program"
            db.tell(f"The full-text index {why} and was made anew: {count} items.")
    return True


def rebuild_index(db: Database, tokenizer: str | None = None, progress: Progress | None = None) -> int:
    """Make the index anew, with another tokenizer if one is named; the rows indexed, or -1 without FTS5.

    All in one transaction: interrupted, or given a name SQLite does not know (TokenizerInvalid), it changes nothing.
    `progress` is told how many rows of how many are indexed.
    """
    from memctl.store import schema

    wanted = schema.tokenizer(tokenizer) if tokenizer is not None else None
    with db.atomic():
        if not _make_index(db, wanted or tokenizer_of(db), progress):
            return -1
        db.set_meta("fts_reindex_count", str(int(db.meta("fts_reindex_count") or 0) + 1))
        return int(db.value("SELECT count(*) FROM memory_items"))


def tokenizer_of(db: Database) -> str | None:
    """The tokenizer the full-text table was made with; None when there is no such table."""
    import re

    sql = db.value("SELECT sql FROM sqlite_master WHERE name = 'memory_items_fts'")
    if sql is None:
        return None
    found = re.search(r"tokenize\s*=\s*['\"]([^'\"]*)['\"]", sql)
    return found.group(1) if found else "unicode61"


def _make_index(db: Database, tokenizer: str | None, progress: Progress | None) -> bool:
    """Table, entries and triggers of the index, all anew; False when SQLite has no FTS5. Raises TokenizerInvalid."""
    from memctl.store import schema

    held = tokenizer_of(db)
    for name in schema.FTS_TRIGGER_NAMES:
        db.run(f"DROP TRIGGER IF EXISTS {name}")
    if held is not None and (held != (tokenizer or held) or not db.has(f"{TABLE}_docsize")):
        db.run(f"DROP TABLE {TABLE}")
        held = None
    if held is not None:
        db.run(f"INSERT INTO {TABLE}({TABLE}) VALUES ('delete-all')")
    else:
        try:
            db.conn.execute(schema.fts_table(schema.tokenizer(tokenizer)))
        except FAILURES as exc:
            if "no such module" in str(exc):  # no FTS5: then search reads the text
                return False
            if "tokenizer" in str(exc) or "parse error" in str(exc):
                raise errors.TokenizerInvalid(tokenizer=tokenizer) from exc
            raise translate(exc, db.path) from exc
    _fill(db, progress)
    for statement in schema.statements(schema.FTS_STATE + schema.FTS_TRIGGERS):
        db.run(statement)
    db.set_meta("fts_indexed_at", ids.timestamp_sql())
    db.set_meta("fts_tokenizer", tokenizer_of(db) or "")
    db.run(
        f"INSERT INTO {STATE}(one, sound, replaced_row, schema_version) VALUES (1, 1, NULL, ?) ON CONFLICT(one) "
        "DO UPDATE SET sound = 1, replaced_row = NULL, schema_version = excluded.schema_version",
        (db.schema_version(),),
    )
    db.look()
    return True


def _fill(db: Database, progress: Progress | None) -> None:
    """Index every item, some at a time: FTS5's own `rebuild` is one long call, deaf to ^C and silent."""
    from memctl.store import schema

    count = int(db.value("SELECT count(*) FROM memory_items"))
    done, last = 0, -(2**63)
    while done < count:
        if progress is not None:
            progress(done, count)
        until = db.value(
            "SELECT max(rowid) FROM (SELECT rowid FROM memory_items WHERE rowid > ? ORDER BY rowid LIMIT ?)",
            (last, FILL),
        )
        db.run(
            f"INSERT INTO {TABLE}(rowid, title, content, tags, entities) "
            f"SELECT rowid, {schema.indexed_columns('i')} FROM memory_items AS i WHERE rowid > ? AND rowid <= ?",
            (last, until),
        )
        done, last = done + FILL, until
