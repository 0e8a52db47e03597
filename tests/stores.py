"""What tests ask of a store file."""

from memctl.store.connect import Database


def check_index(db: Database) -> None:
    """Fail when the file is damaged or the full-text index does not say exactly what the items say."""
    db.conn.execute("INSERT INTO memory_items_fts(memory_items_fts, rank) VALUES ('integrity-check', 1)")
    assert db.value("PRAGMA integrity_check") == "ok"
