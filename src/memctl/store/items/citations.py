"""What statements cite, as rows of `memory_citations`."""

from collections.abc import Iterable, Mapping, Sequence

from memctl import ids
from memctl.annotations import NamedTuple
from memctl.store.database import MANY, Database

#: States in which what is cited is not as it was.
STALE = ("changed", "moved", "gone")


class CitationRow(NamedTuple):
    """One reference of a statement; the columns of the table, in their order."""

    item_id: str
    number: int
    kind: str
    cited: str
    given: int
    path: str
    symbol: str
    line_start: int | None
    line_end: int | None
    text_hash: str
    passages: str
    revision: str
    state: str
    moved_to: str
    state_at: str


_COLUMNS = ", ".join(CitationRow._fields)


def _read(db: Database, where: str, keys: Iterable[str]) -> list[CitationRow]:
    if "memory_citations" not in db.tables:
        return []
    wanted, sql = dict.fromkeys(keys), f"SELECT {_COLUMNS} FROM memory_citations"
    if len(wanted) > MANY:
        found = [CitationRow(*row) for row in db.rows(f"{sql} ORDER BY item_id, number")]
        return [row for row in found if getattr(row, where) in wanted]
    sql = f"{sql} WHERE {where} IN (?*) ORDER BY item_id, number"
    return [CitationRow(*row) for row in db.rows(sql, keys=wanted)]


def of_items(db: Database, item_ids: Iterable[str]) -> dict[str, list[CitationRow]]:
    """What these items cite; those that cite nothing are left out."""
    out: dict[str, list[CitationRow]] = {}
    for row in _read(db, "item_id", item_ids):
        out.setdefault(row.item_id, []).append(row)
    return out


def at_paths(db: Database, paths: Iterable[str]) -> list[CitationRow]:
    """The references into these documents."""
    return _read(db, "path", paths)


def in_states(db: Database, states: Iterable[str]) -> list[CitationRow]:
    """The references in these states."""
    return _read(db, "state", states)


def put(db: Database, rows: Sequence[CitationRow]) -> None:
    """Write references, in the caller's transaction."""
    changed = ", ".join(f"{name} = excluded.{name}" for name in CitationRow._fields[2:])
    db.run_many(
        f"INSERT INTO memory_citations({_COLUMNS}) VALUES (?{', ?' * (len(CitationRow._fields) - 1)}) "
        f"ON CONFLICT(item_id, number) DO UPDATE SET {changed}",
        rows,
    )


def drop(db: Database, item_ids: Iterable[str]) -> None:
    """Forget what these items cite, in the caller's transaction."""
    db.run_many("DELETE FROM memory_citations WHERE item_id = ?", [(item_id,) for item_id in item_ids])


def follow_moved(db: Database, moved: Mapping[str, str]) -> None:
    """Let references into documents that have moved (new path -> old path) name where these are now."""
    pairs = [(new, old) for new, old in moved.items()]
    db.run_many("UPDATE memory_citations SET path = ? WHERE path = ?", pairs)
    db.run_many("UPDATE memory_citations SET moved_to = ? WHERE moved_to = ?", pairs)


def known_documents(db: Database) -> list[str]:
    """The paths of all documents in the store."""
    return [row[0] for row in db.rows("SELECT file_path FROM corpus_hashes")]


def has_passages(db: Database) -> bool:
    """Whether the store has any text of documents at all."""
    return bool(db.value("SELECT EXISTS (SELECT 1 FROM memory_sources)"))


def passages_with(db: Database, word: str, limit: int) -> list[tuple[str, str]]:
    """Passages that have a word: the path of the document, and the text."""
    quoted = '"' + word.replace('"', '""') + '"'
    return [
        (path, content)
        for path, content in db.rows(
            "SELECT iif(json_valid(i.provenance_json), json_extract(i.provenance_json, '$.source_id'), ''), i.content "
            "FROM memory_items_fts AS f CROSS JOIN memory_items AS i ON i.rowid = f.rowid "
            "WHERE memory_items_fts MATCH ? AND i.archived = 0 "
            "AND EXISTS (SELECT 1 FROM memory_sources AS s WHERE s.item_id = i.id) LIMIT ?",
            (f"content : {quoted}", limit),
        )
        if path
    ]


# --- what is stale ----------------------------------------------------------------------------------------------------


class StaleFact:
    """A statement's reference whose text is not as it was.

    state  changed, moved or gone, since the moment `since`
    words  "cited src/auth.py:40 changed 3 days ago"
    """

    __slots__ = ("cited", "item_id", "path", "since", "state", "words")

    def __init__(self, item_id: str, cited: str, state: str, since: str, path: str, words: str) -> None:
        self.item_id, self.cited, self.state, self.since = item_id, cited, state, since
        self.path, self.words = path, words


def stale_facts(db: Database, item_ids: Iterable[str]) -> dict[str, list[StaleFact]]:
    """What of these items' references is not as it was, by item."""
    out: dict[str, list[StaleFact]] = {}
    for item_id, rows in of_items(db, item_ids).items():
        told = [stale_fact(row) for row in rows if row.state in STALE]
        if told:
            out[item_id] = told
    return out


def stale_fact(row: CitationRow) -> StaleFact:
    """What there is to say of a stale reference."""
    from memctl.text import times

    days = (times.day_of(ids.timestamp()) or 0) - (times.day_of(row.state_at) or 0)
    ago = "today" if days <= 0 else "yesterday" if days == 1 else f"{days} days ago"
    name = row.moved_to.replace("\\", "/").rpartition("/")[2]
    what = f"moved to {name}" if name else "disappeared" if row.state == "gone" else row.state
    return StaleFact(row.item_id, row.cited, row.state, row.state_at, row.path, f"cited {row.cited} {what} {ago}")
