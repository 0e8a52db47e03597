"""Single words and the full-text index: which come near to a word, which an item holds, and which begin with one."""

from collections.abc import Sequence

from memctl.store import cache
from memctl.store.connect import Database
from memctl.store.search import fts
from memctl.store.search.index import BEGINNING_MIN_LEN, FTS, Candidate, begins, frequency, has_index, phrase
from memctl.text.query import stem


def words_from(db: Database, start: str, shortest: int, longest: int) -> list[tuple[str, int]]:
    """The words of the index that begin like this (stems, in a stemming one), and how many items have each.

    shortest, longest  of so many letters
    """
    known: dict[str, list[tuple[str, int]]] = cache.of(db, "words")
    if start not in known:
        sql = f"SELECT term, doc FROM {_table(db)} WHERE term >= ? AND term < ?"
        known[start] = db.rows(sql, (start, start + "\U0010ffff"))
        cache.of(db, "words", len(known[start]))
    return [word for word in known[start] if shortest <= len(word[0]) <= longest]


def words_with(db: Database, piece: str, limit: int) -> list[str]:
    """The most frequent words of the index that have this inside; reads the whole vocabulary."""
    sql = f"SELECT term FROM {_table(db)} WHERE instr(term, ?) ORDER BY doc DESC, term LIMIT ?"
    return [row[0] for row in db.rows(sql, (piece, limit))]


def _table(db: Database) -> str:
    """A temporary table over the index's words. It is of this connection only: the file is not written to."""
    name = "temp.memctl_words"
    if not db.value("SELECT 1 FROM sqlite_temp_master WHERE name = 'memctl_words'"):
        with db.briefly_writable():
            db.run(f"CREATE VIRTUAL TABLE {name} USING fts5vocab('main', '{FTS}', 'row')")
    return name


def covered(db: Database, best: Candidate, terms: Sequence[str], *, prefix: bool = False) -> list[bool]:
    """For each term, whether the index finds it in this item; with `prefix`, also as the beginning of a word."""
    text = f" {' '.join(f'{best.title} {best.content}'.lower().split())} "
    end = "" if prefix else " "
    asked = [stem(term) if prefix else term for term in terms]
    return [_stands(words, text, end) or _finds(db, best, words, prefix) for words in asked]


def _stands(word: str, text: str, end: str) -> bool:
    """Whether a plain word stands behind a blank, and before `end`: the index need not be asked, which takes longer."""
    return len(word) >= BEGINNING_MIN_LEN and word.isascii() and word.isalnum() and f" {word.lower()}{end}" in text


def _finds(db: Database, best: Candidate, words: str, prefix: bool) -> bool:
    expression = phrase(words) + "*" * prefix
    if (prefix and not begins(words)) or not frequency(db, expression, 1):
        return False
    row = best.row or db.value("SELECT rowid FROM memory_items WHERE id = ?", (best.id,))
    return db.row(f"SELECT 1 FROM {FTS} WHERE {FTS} MATCH ? AND rowid = ?", (expression, row)) is not None


def all_by_prefix(db: Database, terms: Sequence[str], least: int, limit: int) -> list[str]:
    """Ids of active items that hold all of the terms, those of `least` letters or more as the beginning of a word."""
    phrases = [phrase(term) + ("*" if len(term) >= least else "") for term in terms]
    if not phrases or not fts.mend(db) or not has_index(db):
        return []
    rows = db.rows(
        f"SELECT i.id FROM {FTS} CROSS JOIN memory_items AS i ON i.rowid = {FTS}.rowid "
        f"WHERE {FTS} MATCH ? AND i.archived = 0 ORDER BY bm25({FTS}), i.id LIMIT ?",
        [" AND ".join(phrases), limit],
    )
    return [row[0] for row in rows]
