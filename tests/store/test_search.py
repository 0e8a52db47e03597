"""The full-text search: what it finds, in which order, and what its filters keep out."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memctl.retrieve.explain import describe
from memctl.retrieve.find import search
from memctl.retrieve.fts_terms import terms_of
from memctl.store import schema
from memctl.store.connect import open_read, open_write
from memctl.store.database import Database
from memctl.store.filters import Filters
from memctl.store.items import items
from memctl.store.search import index
from memctl.store.search.index import covered_terms, is_stemming
from memctl.text.query import analyse
from memctl.types import MemoryItem
from stores import check_index

Put = Callable[..., MemoryItem]


@pytest.fixture(params=["en", "fr"])
def store(request: pytest.FixtureRequest, path: str) -> Database:
    """A stemming store and one as older memctl made them."""
    return open_write(path, create=True, tokenizer=request.param)


def put(db: Database, content: str, **fields: Any) -> str:
    fields.setdefault("id", f"MEM-{content[:12]}")
    return items.write(db, MemoryItem(content=content, **fields)).id


def found(db: Database, text: str, limit: int = 20, **filters: Any) -> list[str]:
    return [c.content for c in search(db, text, filters=Filters(**filters), limit=limit).candidates]


def without_index(db: Database) -> None:
    for name in ("ai", "bd", "bu", "au"):
        db.run(f"DROP TRIGGER memory_items_fts_{name}")
    db.run("DROP TABLE memory_items_fts")
    db.look()


# --- what is found ----------------------------------------------------------------------------------------------


def test_every_item_with_one_of_the_words_is_found_best_first(store: Database) -> None:
    for content in ("JWT auth token rotation", "configuration of printers", "auth token lifetime", "unrelated"):
        put(store, content)
    hits = found(store, "auth token configuration")
    assert set(hits) == {"JWT auth token rotation", "configuration of printers", "auth token lifetime"}
    assert hits[-1] == "configuration of printers"


def test_an_exact_document_does_not_hide_the_others(store: Database) -> None:
    for content in ("payment retry policy", "retry policy of the queue", "policy of payment", "retry with backoff"):
        put(store, content)
    hits = found(store, "payment retry policy")
    assert hits[0] == "payment retry policy"
    assert len(hits) == 4


@pytest.mark.parametrize(
    ("content", "asked"),
    [
        ("we rotate the token daily", "rotating tokens"),
        ("the queue is monitored", "monitoring"),
        ("AuthService issues the JWT", "auth service"),
        ("AuthService issues the JWT", "JWTs"),
        ("auth service for all", "AuthService"),
        ("see src/auth/login.py", "login.py"),
        ("tokenizer settings", "tok"),
        ("sécurité du système", "securite"),
        ("release 3.12.1 is out", "3.12.1"),
    ],
)
def test_forms_and_parts_of_words(store: Database, content: str, asked: str) -> None:
    put(store, content)
    put(store, "something else entirely", id="MEM-other")
    assert found(store, asked)[:1] == [content]


def test_a_word_in_the_title_counts_more(store: Database) -> None:
    for n in range(3):
        put(store, f"filler number {n} about gardens and so on", id=f"MEM-f{n}")
    put(store, "a note that mentions deploy once", id="MEM-a", title="garden")
    put(store, "a note that mentions garden once", id="MEM-b", title="deploy")
    assert found(store, "deploy")[0] == "a note that mentions garden once"


def test_tags_are_searched_in_every_script(store: Database) -> None:
    put(store, "one", tags=["sécurité"])
    assert found(store, "sécurité") == ["one"]


@pytest.mark.parametrize("asked", ["数据库", "数据库在哪里", "postgres 数据库", "存储"])
def test_scripts_without_blanks(store: Database, asked: str) -> None:
    put(store, "我们使用数据库进行存储")
    put(store, "猫在睡觉")
    assert found(store, asked) == ["我们使用数据库进行存储"]


def test_of_scripts_without_blanks_rare_pairs_count_more_and_one_is_enough(store: Database) -> None:
    answer = "连接池的大小由参数决定，默认值为十。"  # noqa: RUF001 - how Chinese is written
    put(store, answer)
    for n in range(20):
        put(store, f"数据库的配置说明，第{n}部分，请参考手册。")  # noqa: RUF001
    hits = found(store, "如何修改数据库连接池的大小？")  # noqa: RUF001
    assert hits[0] == answer
    assert len(hits) > 1, "those that have only the common words stand behind it"
    assert found(store, "连接池在哪个文件里面可以进行更多更详细的调整") == [answer], "one pair of many is enough"


@pytest.mark.parametrize(
    ("content", "asked"),
    [
        ("Die Straße ist gesperrt", "Strasse"),
        ("Die Strasse ist gesperrt", "Straße"),
        ("قرأت الكتاب أمس", "كتاب"),
        ("قرأت كتاب أمس", "الكتاب"),
        ("قرأت كتاب أمس", "كِتَاب"),
        ("وصل بالكتاب أمس", "والكتاب"),
        ("הספר על השולחן", "ספר"),
        ("ספר על השולחן", "הספר"),
        ("ספר על השולחן", "סֵפֶר"),
        ("הַסֵּפֶר עַל הַשֻּׁלְחָן", "ספר"),
        ("הַסֵּפֶר עַל הַשֻּׁלְחָן", "הסֵפר"),
        ("قَرَأْتُ الْكِتَابَ أَمْسِ", "كتاب"),
        ("قَرَأْتُ الْكِتَابَ أَمْسِ", "الكِتاب"),
        ("كتـــاب أمس", "كتاب"),
        ("Die Straßenflüsse der Maßstab", "Strassenflüsse"),
        ("Der Strassenfluss", "Straßenfluss"),
        ("Der Straßenfluss", "Strassenfluss"),
        ("קראתי בספר אתמול", "הספר"),
    ],
)
def test_spellings_points_and_prefixes_of_one_word(store: Database, content: str, asked: str) -> None:
    put(store, content)
    put(store, "something else")
    assert found(store, asked) == [content]


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        ("猫", {"白猫在睡觉。", "猫咪喜欢鱼。", "我有一只猫。"}),
        ("备份", {"每天备份一次。", "titled", "tagged"}),
        ("バックアップはいつですか", {"バックアップは毎晩です。"}),
        ("백업은 언제", {"데이터베이스를 백업합니다."}),
    ],
)
def test_pairs_of_characters_are_in_the_index(store: Database, asked: str, wanted: set[str]) -> None:
    for text in ("白猫在睡觉。", "猫咪喜欢鱼。", "我有一只猫。", "每天备份一次。", "バックアップは毎晩です。"):
        put(store, text)
    put(store, "데이터베이스를 백업합니다.")
    put(store, "titled", title="备份计划")
    put(store, "tagged", tags=["数据备份"])
    statements: list[str] = []
    store.conn.set_trace_callback(statements.append)
    assert set(found(store, asked)) == wanted
    assert not any(" LIKE " in statement for statement in statements), "the texts were not read"
    check_index(store)


def test_an_index_without_pairs_is_made_anew_by_the_next_write(tmp_path: Path) -> None:
    path = str(tmp_path / "old.db")
    db = open_write(path, create=True)
    put(db, "每天备份一次数据库。")
    for name in schema.FTS_TRIGGER_NAMES:
        db.run(f"DROP TRIGGER {name}")
    db.conn.executescript(schema.without_pairs(schema.FTS_TRIGGERS))
    db.run("INSERT INTO memory_items_fts(memory_items_fts) VALUES ('rebuild')")
    db.run("DELETE FROM memctl_migrations WHERE number > 7")
    db.run("UPDATE memory_fts_state SET schema_version = ?", (db.schema_version(),))
    db.close()
    reader = open_read(path)
    assert found(reader, "数据库备份") == ["每天备份一次数据库。"], "as long as nobody writes, the texts are read"
    reader.close()
    db = open_write(path)
    check_index(db)
    assert found(db, "数据库备份") == ["每天备份一次数据库。"]
    db.close()


def test_what_no_tokenizer_knows_is_found_by_substring(store: Database) -> None:
    put(store, "party 🎉 today")
    put(store, "quiet day")
    assert found(store, "🎉") == ["party 🎉 today"]
    assert found(store, "100%") == []


@pytest.mark.parametrize(
    "asked",
    ['"', '""', "a AND", "NOT x", "NEAR(", "title:x", "x*", "^x", "{a b}: c", "'; DROP TABLE memory_items; --", "a\0b",
     "-", "x" * 50_000, " ".join("abcdefgh"[i % 8] * (i + 2) for i in range(3000)), "\ud800", '"open'],
)  # fmt: skip
def test_any_text_is_a_legal_query(store: Database, asked: str) -> None:
    put(store, "plain content")
    assert found(store, asked) in ([], ["plain content"])


# --- filters, limits, order -------------------------------------------------------------------------------------


def test_filters_hold_before_the_limit(store: Database) -> None:
    for n in range(60):
        put(store, f"deploy {n}", id=f"MEM-q{n:02}", injectable=False)
    put(store, "deploy deploy steps with quite a few more words in it", scope="project", tier="ltm", tags=["Ops"])
    wanted = ["deploy deploy steps with quite a few more words in it"]
    assert found(store, "deploy", limit=1, injectable=True) == wanted
    assert found(store, "deploy", limit=1, tier="ltm") == wanted
    assert found(store, "deploy", limit=1, tags=("ops",)) == wanted


def test_archived_and_expired_items_are_not_found(store: Database) -> None:
    put(store, "zebra archived", archived=True)
    put(store, "zebra expired", expires_at="2001-01-01T00:00:00+00:00")
    put(store, "zebra later", expires_at="2999-01-01T00:00:00+00:00")
    assert found(store, "zebra") == ["zebra later"]
    assert len(found(store, "zebra", archived=True)) == 3


def test_ties_go_to_the_newest_then_by_id(store: Database) -> None:
    for item_id, changed in (("MEM-b", "2026-01-01"), ("MEM-a", "2026-01-01"), ("MEM-c", "2026-02-02")):
        put(store, "same words", id=item_id, updated_at=changed)
    hits = search(store, "same words", filters=Filters(), limit=9).candidates
    assert [c.id for c in hits] == ["MEM-c", "MEM-a", "MEM-b"]


def test_a_shorter_list_is_the_beginning_of_a_longer_one(store: Database) -> None:
    for n in range(90):
        put(store, f"alpha {'beta ' * (n % 7)}{n}", id=f"MEM-{n:02}")
    every = found(store, "alpha beta", limit=-1)
    assert len(every) == 90
    for limit in (0, 1, 10, 64, 65):
        assert found(store, "alpha beta", limit=limit) == every[:limit]


def test_a_blank_query_lists_the_newest(store: Database) -> None:
    for day in (1, 3, 2):
        put(store, f"day {day}", updated_at=f"2026-01-0{day}")
    assert found(store, "  ", limit=2) == ["day 3", "day 2"]


def test_counting_counts_what_the_limit_left_out(store: Database) -> None:
    for n in range(70):
        put(store, f"deploy {n}", id=f"MEM-{n}")
    assert search(store, "deploy", filters=Filters(), limit=5, count=True).total == 70
    assert search(store, "nothing", filters=Filters(), limit=5, count=True).total == 0


# --- without an index -------------------------------------------------------------------------------------------


def test_without_an_index_words_are_substrings(store: Database) -> None:
    put(store, "The Token of Été")
    put(store, "50% done_now")
    put(store, "500 done now")
    without_index(store)
    assert found(store, "token") == ["The Token of Été"]
    assert found(store, "ÉTÉ") == ["The Token of Été"]
    assert found(store, "done_now") == ["50% done_now", "500 done now"]
    meta = describe(store, search(store, "token", filters=Filters(), limit=5))
    assert (meta.strategy, meta.morphological_hint) == ("LIKE", None)


@pytest.mark.parametrize("text", ["😀" * 16_000, "_" * 30_000, "%!" * 30_000, "数据" * 30_000, "x" * 200_000])
def test_no_text_is_too_long_for_a_search(store: Database, text: str) -> None:
    put(store, "something")
    assert found(store, text) == []
    without_index(store)
    assert found(store, text) == []


def test_old_stores_are_searched(old: str) -> None:
    db = open_read(old)
    try:
        assert not is_stemming(db)
        title = db.value("SELECT title FROM memory_items WHERE archived = 0 AND title <> '' LIMIT 1")
        assert title in [c.title for c in search(db, title, filters=Filters(), limit=20).candidates]
    finally:
        db.close()


# --- how it was answered ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "strategy", "effective", "dropped"),
    [
        ("alpha beta", "AND", ["alpha", "beta"], []),
        ("alph bet", "PREFIX_AND", ["alph", "bet"], []),
        ("alpha gamm", "PREFIX_AND", ["alpha", "gamm"], []),
        ("running gamm", "PREFIX_AND", ["running", "gamm"], []),
        ("alpha zeta", "REDUCED_AND", ["alpha"], ["zeta"]),
        ("alpha zeta eta", "OR_FALLBACK", ["alpha"], ["zeta", "eta"]),
        ("zeta", "OR_FALLBACK", ["zeta"], []),
        ("", "AND", [], []),
    ],
)
def test_the_strategy_says_what_the_best_hit_covers(
    db: Database, asked: str, strategy: str, effective: list[str], dropped: list[str]
) -> None:
    put(db, "alpha beta gammas run")
    put(db, "other words")
    meta = describe(db, search(db, asked, filters=Filters(), limit=5))
    assert (meta.strategy, meta.effective_terms, meta.dropped_terms) == (strategy, effective, dropped)


def test_the_hint_is_for_indexes_that_do_not_stem(store: Database) -> None:
    put(store, "alpha beta")
    meta = describe(store, search(store, "zeta eta theta", filters=Filters(), limit=5))
    said = "memctl reindex --tokenizer en" in (meta.morphological_hint or "")
    assert said == (not is_stemming(store))


def test_covered_asks_the_index(db: Database) -> None:
    put(db, "rotating tokens")
    put(db, "tok, tik and missings")
    best = search(db, "rotating tokens", filters=Filters()).candidates[0]
    assert covered_terms(db, best, ["tokens", "Rotating", "token", "rotation", "tok", "no"]) == [True] * 4 + [False] * 2
    assert covered_terms(db, best, ["tok", "missing", "to"], prefix=True) == [True, False, False]


def test_one_or_two_letters_are_no_beginning(store: Database) -> None:
    put(store, "zebra crossing")  # all words with c would have to be read for this
    hits = search(store, "zebra-c crossing", filters=Filters(), limit=5)
    assert {term.word for term in hits.terms} == {"zebra", "crossing"}
    meta = describe(store, hits)
    assert (meta.strategy, meta.dropped_terms) == ("REDUCED_AND", ["zebra-c"])


def test_a_column_of_another_type_does_not_stop_the_search(db: Database) -> None:
    put(db, "zebra")
    db.run("UPDATE memory_items SET content = CAST('zebra' AS BLOB), tags = 5")
    assert found(db, "zebra") == ["zebra"]


def test_the_expression_is_quoted_words_only() -> None:
    terms = terms_of(analyse('auth-token "say x now" OR'), stems=True)
    phrases = [expression for term in terms for expression, _ in term.forms]
    assert phrases[:3] == ['"auth-token"', '"say x now"', '"OR"']
    assert all(part.startswith('"') and part.endswith('"') for part in phrases)


@pytest.mark.parametrize(("limit", "more"), [(3, 0), (-1, 20)])
def test_common_words_find_nothing_while_rarer_ones_do_unless_all_is_wanted(
    db: Database, monkeypatch: pytest.MonkeyPatch, limit: int, more: int
) -> None:
    for module in ("candidates", "fts_terms"):
        monkeypatch.setattr(f"memctl.retrieve.{module}.COMMON", 8)
    for n in range(20):
        put(db, f"common {n}", id=f"MEM-{n}", scope="other")
    put(db, "common here")
    put(db, "rare there", scope="other")
    put(db, "rare common words", scope="other")
    hits = found(db, "common rare", limit=limit, scopes=("other",))
    assert set(hits[:2]) == {"rare common words", "rare there"}
    assert len(hits) == 2 + more
    assert found(db, "common", limit=1, scopes=("project",)) == ["common here"]
    assert found(db, "common rare", limit=limit, scopes=("project",)) == ["common here"]


def test_of_common_words_only_the_items_with_all_of_them_come_first(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("candidates", "fts_terms"):
        monkeypatch.setattr(f"memctl.retrieve.{module}.COMMON", 8)
    for n in range(20):
        put(db, f"alpha {n}", id=f"MEM-a{n}")
        put(db, f"omega {n}", id=f"MEM-o{n}")
    put(db, "alpha and omega", injectable=False)
    hits = found(db, "alpha omega")
    assert hits[0] == "alpha and omega"
    assert len(hits) == 20
    assert "alpha and omega" not in found(db, "alpha omega", injectable=True)


@pytest.mark.parametrize("count", [False, True])
@pytest.mark.parametrize("scope", ["project", "elsewhere"])
def test_the_index_is_asked_once_not_once_per_item(db: Database, count: bool, scope: str) -> None:
    put(db, "zebra")
    put(db, "zebra too", scope=scope)
    said: list[str] = []
    db.conn.set_trace_callback(said.append)
    search(db, "zebra", filters=Filters(scopes=("project",)), limit=5, count=count)
    db.conn.set_trace_callback(None)
    joined = [sql for sql in said if "CROSS JOIN" in sql]
    assert joined
    for sql in joined:
        steps = [row[3] for row in db.rows(f"EXPLAIN QUERY PLAN {sql}")]
        outer = next(n for n, step in enumerate(steps) if "memory_items_fts" in step or "SCAN chosen" in step)
        assert "SEARCH i USING INTEGER PRIMARY KEY" in steps[outer + 1]


@pytest.mark.parametrize("others", [0, 4, 40])  # of 20 items in the scopes: most, or few, pass
@pytest.mark.parametrize("filters", [{}, {"injectable": True}, {"archived": True}])
def test_which_items_pass_is_told_alike_before_and_after_most_are_known(
    db: Database, others: int, filters: dict[str, Any]
) -> None:
    odd: list[dict[str, Any]] = [
        {"archived": True}, {"injectable": False}, {"validation": "retracted"}, {"expires_at": "2999-01-01T00:00:00Z"},
        {"expires_at": "2001-01-01T00:00:00Z"},
    ]  # fmt: skip
    for number in range(20 + others):
        fields = odd[number] if number < len(odd) else {}
        put(db, f"{number} of the words", scope="project" if number < 20 else "elsewhere", **fields)
    wanted = Filters(("project", "global"), **filters)
    condition, values = wanted.where("i")
    expected = {row for (row,) in db.rows(f"SELECT rowid FROM memory_items AS i WHERE {condition}", values)}
    every = set(range(1, 21 + others))
    assert index.filter_rows(db, wanted, every) == expected
    with db.snapshot():
        for _ in range(2):
            strengths = index.match_strengths(db, '"words"', wanted, len(every), len(every))
            assert strengths.keys() == index.filter_rows(db, wanted, every) == expected
