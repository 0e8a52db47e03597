"""Any text is a query: it can be taken apart, and FTS5 takes what comes out."""

import sqlite3
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.query import normalize_query
from memctl.retrieve.explain import describe, reasons
from memctl.retrieve.find import search
from memctl.retrieve.fts_terms import terms_of
from memctl.store.connect import MEMORY
from memctl.store.database import Database
from memctl.store.items import items
from memctl.text.query import analyse, grams, is_identifier, pieces, stem
from memctl.types import MemoryItem, MemoryProvenance
from stores import Filters, open_write

SYNTAX = st.sampled_from(
    [
        '"',
        "'",
        "AND",
        "OR",
        "NOT",
        "NEAR(a b, 2)",
        "title:",
        "*",
        "^",
        "{",
        "}",
        "(",
        ")",
        "-",
        "+",
        ":",
        "\0",
        "a",
        "b",
    ]
)
WORDS = st.sampled_from(
    ["the", "May", "auth", "getUserID", "l'été", "où", "数据库", "ฐาน", "v1.2.3", "snake_case", "🎉"]
)
TEXT = st.one_of(
    st.text(), st.lists(st.one_of(SYNTAX, WORDS, st.text(max_size=6)), max_size=12).map(" ".join),
    st.text(st.characters(codec=None, categories=["Cs", "Co", "Mn", "Lo", "Nd"])),
)  # fmt: skip


@pytest.fixture(scope="module", params=["porter unicode61 remove_diacritics 2", "unicode61", "trigram"])
def table(request: pytest.FixtureRequest) -> Iterator[sqlite3.Connection]:
    conn = sqlite3.connect(":memory:")
    conn.execute(f"CREATE VIRTUAL TABLE t USING fts5(title, content, tokenize='{request.param}')")
    conn.execute("INSERT INTO t VALUES ('auth', 'a b the token 数据库')")
    yield conn
    conn.close()


@given(text=TEXT)
def test_fts5_takes_every_query(table: sqlite3.Connection, text: str) -> None:
    query = analyse(text)
    for stems in (True, False):
        expression = " OR ".join(form for term in terms_of(query, stems=stems) for form, _ in term.forms)
        assert bool(expression) == bool(query.terms)
        if expression:
            table.execute("SELECT rowid FROM t WHERE t MATCH ?", (expression,)).fetchall()


@pytest.fixture(scope="module", params=["en", "fr", "trigram"])
def store(request: pytest.FixtureRequest) -> Iterator[Database]:
    db = open_write(MEMORY, create=True, tokenizer=request.param)
    for n, content in enumerate(
        ["the auth token of getUserID", "a b? 数据库", "May 🎉 l'été", "where is v1.2.3 ฐาน", ""] * 3
    ):
        source = MemoryProvenance(source_kind="chat", source_id=f"S{n % 2}", chunk_ids=[str(n // 2)])
        items.write(db, MemoryItem(id=f"MEM-{n}", title=f"Ann {n % 3}", content=content, provenance=source))
    yield db
    db.close()


@given(text=TEXT, limit=st.integers(-1, 20))
def test_every_text_can_be_searched_and_the_answer_explained(store: Database, text: str, limit: int) -> None:
    found = search(store, text, filters=Filters(), limit=limit, count=True)
    ids = [c.id for c in found.candidates]
    assert len(set(ids)) == len(ids) <= found.total
    assert limit < 0 or len(ids) <= limit
    scores = [c.score for c in found.candidates]
    assert scores == sorted(scores, reverse=True)
    for c in found.candidates:
        assert sum(reasons(found, c).values()) == pytest.approx(c.score, abs=0.01)
    assert describe(store, found).strategy
    again = search(store, text, filters=Filters(), limit=limit, count=True)
    assert [(c.id, c.score) for c in again.candidates] == [(c.id, c.score) for c in found.candidates]


@given(text=TEXT)
def test_a_query_is_made_of_its_text(text: str) -> None:
    query = analyse(text)
    squeezed = "".join(char for char in query.text.casefold() if char.isalnum())
    for term in (*query.terms, *query.parts, *query.dropped):
        assert term.strip() == term != ""
        assert "".join(char for char in term.casefold() if char.isalnum()) in squeezed
    assert len({term.casefold() for term in query.terms}) == len(query.terms)
    assert query.blank == (not query.text)
    query.text.encode("utf-8")


@given(text=TEXT)
def test_a_text_with_words_has_terms(text: str) -> None:
    query = analyse(text)
    if any(char.isalnum() for char in query.text):
        assert query.terms


@given(word=st.text(min_size=1))
def test_words_are_taken_apart_without_loss_of_the_word(word: str) -> None:
    assert stem(word)[:4] == word.lower()[: len(stem(word))][:4]
    assert is_identifier(word) in (True, False)
    assert all(piece in word for piece in pieces(word))
    assert grams(word)[0] == word


@given(text=TEXT)
def test_normalising_never_empties_a_query(text: str) -> None:
    assert bool(normalize_query(text).strip()) or not analyse(text).terms
