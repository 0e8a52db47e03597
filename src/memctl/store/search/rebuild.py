"""Making the full-text index: where it is missing, where it does not say what the items say, with another tokenizer.

Whether it can be believed says `database.index_state`; readers call `connect.ensure_index`. Only a write needs this.
"""

from collections.abc import Callable

from memctl import errors, ids
from memctl.store import schema
from memctl.store.database import FAILURES, FTS, STATE, Database, index_state, translate

#: Told how many rows of how many are indexed.
Progress = Callable[[int, int], None]
#: Rows that one statement indexes: about a tenth of a second.
FILL = 2000
#: What the states mean in which searches do without the index.
DOUBTS = {
    "unsound": "does not fit the items; the next search or write makes it anew",
    "unknown": "nobody knows whether it fits the items; the next search or write makes it anew",
}


def repair_index(db: Database, tokenizer: str | None = None) -> bool:
    """Make the full-text index if it is missing, and again if it is not sound; False when there is no FTS5.

    Call it after anything that may have renumbered the items, such as VACUUM. A sound index costs one look.
    """
    if index_state(db) == "sound":
        return True
    with db.atomic():
        db.look()
        if index_state(db) == "sound":  # another process did it while we waited
            return True
        known, held = STATE in db.tables, tokenizer_of(db)
        if not _make_index(db, held or tokenizer):
            return False
        count = int(db.value("SELECT count(*) FROM memory_items"))
        if held is not None and count:
            why = "did not fit the items any more" if known else "was kept by an older program"
            db.tell(f"The full-text index {why} and was made anew: {count} items.")
    return True


def rebuild_index(db: Database, tokenizer: str | None = None, progress: Progress | None = None) -> int:
    """Rebuild the index, with another tokenizer if one is named; the rows indexed, or -1 without FTS5.

    All in one transaction: interrupted, or given a name SQLite does not know (TokenizerInvalid), it changes nothing.
    `progress` is told how many rows of how many are indexed.
    """
    wanted = schema.tokenizer(tokenizer) if tokenizer is not None else None
    with db.atomic():
        if not _make_index(db, wanted or tokenizer_of(db), progress):
            return -1
        db.set_meta("fts_reindex_count", str(int(db.meta("fts_reindex_count") or 0) + 1))
        return int(db.value("SELECT count(*) FROM memory_items"))


def join_pieces(db: Database, added: int) -> None:
    """Make one piece of an index to which so many items were added at once, if that is much of it.

    Each write leaves a piece, and each read looks into all of them.
    """
    if added >= FILL and FTS in db.tables and added >= (db.value("SELECT max(rowid) FROM memory_items") or 0) // 4:
        db.run(f"INSERT INTO {FTS}({FTS}) VALUES ('optimize')")


def tokenizer_of(db: Database) -> str | None:
    """The tokenizer the full-text table was made with; None when there is no such table."""
    import re

    sql = db.value("SELECT sql FROM sqlite_master WHERE name = 'memory_items_fts'")
    if sql is None:
        return None
    found = re.search(r"tokenize\s*=\s*['\"]([^'\"]*)['\"]", sql)
    return found.group(1) if found else "unicode61"


def _make_index(db: Database, tokenizer: str | None, progress: Progress | None = None) -> bool:
    """Rebuild the table, entries and triggers of the index; False when SQLite has no FTS5. Raises TokenizerInvalid."""
    held = tokenizer_of(db)
    for name in schema.FTS_TRIGGER_NAMES:
        db.run(f"DROP TRIGGER IF EXISTS {name}")
    if held is not None and held == (tokenizer or held) and f"{FTS}_docsize" in db.tables:
        db.run(f"INSERT INTO {FTS}({FTS}) VALUES ('delete-all')")
    else:
        db.run(f"DROP TABLE IF EXISTS {FTS}")
        try:
            db.conn.execute(schema.fts_table(schema.tokenizer(tokenizer)))
        except FAILURES as exc:
            if "no such module" in str(exc):  # no FTS5: then search reads the text
                return False
            if "tokenizer" in str(exc) or "parse error" in str(exc):
                raise errors.TokenizerInvalid(tokenizer=tokenizer) from exc
            raise translate(exc, db.path) from exc
    # Some items at a time: FTS5's own `rebuild` is one long call, deaf to ^C and silent.
    count, done, last = int(db.value("SELECT count(*) FROM memory_items")), 0, -(2**63)
    while done < count:
        if progress is not None:
            progress(done, count)
        chunk = "SELECT max(rowid) FROM (SELECT rowid FROM memory_items WHERE rowid > ? ORDER BY rowid LIMIT ?)"
        until = db.value(chunk, (last, FILL))
        db.run(
            f"INSERT INTO {FTS}(rowid, title, content, tags, entities) "
            f"SELECT rowid, {schema.indexed_columns('i')} FROM memory_items AS i WHERE rowid > ? AND rowid <= ?",
            (last, until),
        )
        done, last = done + FILL, until
    for statement in schema.STATEMENT.findall(schema.FTS_STATE + schema.FTS_TRIGGERS):
        db.run(statement)
    db.set_meta("fts_indexed_at", ids.timestamp_sql())
    db.set_meta("fts_tokenizer", tokenizer_of(db) or "")
    db.upsert(STATE, "one sound replaced_row schema_version", [(1, 1, None, db.schema_version())])
    db.look()
    return True
