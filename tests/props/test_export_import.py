"""Export → import → export is identity, for any items; and any bytes at all are lines that are told what is wrong."""

import contextlib
import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from memctl.item_policy import tidy_statement
from memctl.lifecycle import jsonl
from memctl.lifecycle.import_ import ImportCounts, import_lines
from memctl.policy import MemoryPolicy
from memctl.types import MemoryItem, MemoryProvenance
from stores import MEMORY, Database, Filters, SourcePosition, attributes, check_index, items, open_write, passages

ALL = Filters(archived=True)
POLICY = MemoryPolicy()

#: Words that policy has no opinion on, with what text can hold besides letters.
WORDS = st.sampled_from(
    ["alpha", "béta", "数据库", "x", "\u2028", "\u00a0", "“q”", "🜁", "é", "e\u0301", "0", "-", "'", "\t"]
)
LINE = st.lists(WORDS, max_size=4).map(" ".join).filter(lambda t: t.isprintable())
TEXT = st.lists(WORDS | st.just("\n"), max_size=8).map(" ".join)
NAME = st.sampled_from(["a", "b", "MEM-1", "MEM-2"])
STAMP = st.integers(0, 2**31).map(lambda n: f"{1970 + n % 80}-01-{1 + n % 28:02d}T00:00:00.{n % 10**6:06d}+00:00")
WORD_LISTS = st.lists(LINE, max_size=3)


PASSAGES = st.builds(
    lambda path, place, stamp: MemoryProvenance("doc", path, [f"{path}:{place}"], ["sha256:" + "ab" * 32], stamp),
    NAME, st.integers(0, 9), STAMP,
)  # fmt: skip
STATEMENTS = st.builds(
    MemoryProvenance, st.sampled_from(["doc", "chat", "tool", "mixed"]), NAME, st.lists(NAME, max_size=2),
    st.lists(NAME, max_size=1), STAMP,
)  # fmt: skip


@st.composite
def stored_items(draw: st.DrawFn) -> tuple[MemoryItem, SourcePosition | None, str]:
    """An item as a store may hold it, its place, and why it is withheld."""
    passage = draw(st.booleans())
    withheld = draw(st.sampled_from(["", "raw", "policy"]))
    item = MemoryItem(
        id=draw(st.text("abcdef0123456789-", min_size=1, max_size=6)),
        tier=draw(st.sampled_from(["stm", "mtm", "ltm"])),
        type=draw(st.sampled_from(["note", "fact", "todo"])),
        title=draw(LINE),
        content=draw(TEXT) * (60 if passage and draw(st.booleans()) else 1),
        tags=draw(WORD_LISTS),
        entities=draw(WORD_LISTS),
        links=draw(st.lists(st.fixed_dictionaries({"rel": LINE, "to": NAME}), max_size=2)),
        provenance=draw(PASSAGES if passage else STATEMENTS),
        confidence=draw(st.floats(0, 1)),
        validation=draw(st.sampled_from(["unverified", "verified", "contested", "retracted"])),
        scope=draw(st.sampled_from(["project", "team", "global"])),
        expires_at=draw(st.none() | STAMP),
        usage_count=draw(st.integers(0, 10**6)),
        last_used_at=draw(st.none() | STAMP),
        created_at=draw(STAMP),
        updated_at=draw(STAMP),
        rule_id=draw(st.none() | NAME),
        corpus_id=draw(st.none() | NAME),
        superseded_by=draw(st.none() | NAME),
        archived=draw(st.booleans()),
        injectable=not withheld and draw(st.booleans()),
    )
    assume(item.content.strip() or item.title.strip())  # what says nothing is no line of a file
    place = draw(st.none() | st.builds(SourcePosition, st.integers(0, 9), st.integers(1, 9), st.integers(9, 20), LINE))
    return item, place, withheld


def like(item: MemoryItem) -> tuple[Any, ...]:
    """What must differ, or two items are one: see `lifecycle.import_`."""
    source = item.provenance
    place = tuple(source.chunk_ids) if source.is_passage else ()
    return (item.content, item.scope, item.title, item.type, source.source_kind, source.source_id, place)


STORES = st.lists(stored_items(), max_size=6, unique_by=(lambda held: held[0].id, lambda held: like(held[0])))

#: How much each of them matters.
MATTER = st.lists(st.just(attributes.NEUTRAL_IMPORTANCE) | st.floats(0, 1), min_size=6, max_size=6)


def lines_of(db: Database) -> list[dict[str, Any]]:
    return list(jsonl.export_lines(db, ALL))


def load(db: Database, lines: list[dict[str, Any]], *, preserve_ids: bool = False) -> tuple[ImportCounts, list[str]]:
    said: list[str] = []
    data = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()
    return import_lines(db, POLICY, io.BytesIO(data), preserve_ids=preserve_ids, warn=said.append), said


@pytest.fixture
def fresh() -> Iterator[Any]:
    opened: list[Database] = []

    def make() -> Database:
        opened.append(open_write(MEMORY, create=True))
        return opened[-1]

    yield make
    for db in opened:
        db.close()


@settings(max_examples=60)
@given(held=STORES, matter=MATTER)
def test_there_and_back_is_identity(
    fresh: Any, held: list[tuple[MemoryItem, SourcePosition | None, str]], matter: list[float]
) -> None:
    db, copy = fresh(), fresh()
    attributes.set_importance(db, {item.id: value for (item, _, _), value in zip(held, matter, strict=False)})
    for item, place, withheld in held:
        items.write(db, item, withheld=withheld)
        if place:
            passages.set_positions(db, {item.id: place})
    before = lines_of(db)
    counts, said = load(copy, before, preserve_ids=True)
    assert (counts.imported, said) == (len(held), [])
    assert lines_of(copy) == before
    check_index(copy)
    again, _ = load(copy, before, preserve_ids=True)
    assert (again.imported, again.skipped_dedup) == (0, len(held))
    assert lines_of(copy) == before


@settings(max_examples=40)
@given(held=STORES, matter=MATTER)
def test_with_new_ids_only_ids_and_references_change(
    fresh: Any, held: list[tuple[MemoryItem, SourcePosition | None, str]], matter: list[float]
) -> None:
    db = fresh()
    held = [one for one in held if one[0].content.strip()]
    for item, _, _ in held:
        if not item.provenance.is_passage:
            tidy_statement(item)
    assume(len({like(item) for item, _, _ in held}) == len(held))
    given_lines = [
        jsonl.make_line(item, place, withheld, None if value == attributes.NEUTRAL_IMPORTANCE else value)
        for (item, place, withheld), value in zip(held, matter, strict=False)
    ]
    load(db, given_lines)
    names = {"id", "links", "superseded_by", "provenance"}

    def rest(line: dict[str, Any]) -> str:
        return json.dumps({k: v for k, v in line.items() if k not in names}, sort_keys=True)

    assert sorted(map(rest, lines_of(db))) == sorted(map(rest, given_lines))
    again, _ = load(db, given_lines)
    assert (again.imported, again.merged) == (0, 0)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from([*MemoryItem.__slots__, "source", "withheld", "importance", "other"])


@settings(max_examples=150)
@given(
    lines=st.lists(
        st.binary(max_size=40)
        | st.dictionaries(NAMES, JSON, max_size=6).map(lambda value: json.dumps({"content": "c", **value}).encode()),
        max_size=5,
    )
)
def test_any_bytes_are_stored_right_or_named(fresh: Any, lines: list[bytes]) -> None:
    db = fresh()
    said: list[str] = []
    counts = import_lines(db, POLICY, io.BytesIO(b"\n".join(lines)), preserve_ids=True, warn=said.append)
    assert counts.total_lines == (
        counts.imported + counts.skipped_dedup + counts.skipped_policy + counts.skipped_conflict + counts.errors
    )
    assert len(said) == counts.errors + counts.skipped_policy + counts.skipped_conflict
    for line in lines_of(db):
        jsonl.read_item(line)
        assert all(isinstance(tag, str) for tag in line["tags"])
        assert 0 <= line["confidence"] <= 1
        assert 0 <= line.get("importance", 0) <= 1
    check_index(db)


@given(st.binary(max_size=60))
def test_reading_a_line_fails_only_in_its_own_way(data: bytes) -> None:
    with contextlib.suppress(jsonl.InvalidLine):
        assert isinstance(jsonl.parse_line(data).item.content, str)
