"""Export → import → export is identity, for any items; and any bytes at all are lines that are told what is wrong."""

import json
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from memctl.types import MemoryItem, MemoryProvenance
from stores import change, check_index, empty
from support import examples, run

Place = tuple[int, int, int, str]

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
def stored_items(draw: st.DrawFn) -> tuple[MemoryItem, Place | None, str]:
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
    place = draw(st.none() | st.tuples(st.integers(0, 9), st.integers(1, 9), st.integers(9, 20), LINE))
    return item, place, withheld


def like(item: MemoryItem) -> tuple[Any, ...]:
    """What must differ, or two items are one: see `lifecycle.import_`."""
    source = item.provenance
    place = tuple(source.chunk_ids) if source.is_passage else ()
    return (item.content, item.scope, item.title, item.type, source.source_kind, source.source_id, place)


STORES = st.lists(stored_items(), max_size=6, unique_by=(lambda held: held[0].id, lambda held: like(held[0])))

#: How much each of them matters; what nobody said has no row.
NEUTRAL = 0.5
MATTER = st.lists(st.just(NEUTRAL) | st.floats(0, 1), min_size=6, max_size=6)


def lines_of(db: str) -> list[dict[str, Any]]:
    done = run("export", "--include-archived", "--db", db)
    assert done.code == 0, done.notes
    return [json.loads(line) for line in done.out.splitlines()]


def load(db: str, lines: list[dict[str, Any]], *argv: str) -> dict[str, Any]:
    return import_bytes(db, "\n".join(map(json.dumps, lines)).encode(), *argv)


def import_bytes(db: str, data: bytes, *argv: str) -> dict[str, Any]:
    """The counts of an import, and what it warned of."""
    done = run("import", "--json", "-q", "--db", db, *argv, stdin=data or b"\n")
    assert done.code in (0, 1), done.notes
    counts: dict[str, Any] = done.json() | {"said": [line for line in done.notes.splitlines() if line[:1] == "["]}
    return counts


Held = list[tuple[MemoryItem, Place | None, str]]


def hold(db: str, held: Held, matter: list[float]) -> list[dict[str, Any]]:
    """The lines of a store that holds this."""
    with change(db) as store:
        for (item, place, withheld), value in zip(held, matter, strict=False):
            store.write(item, withheld=withheld)
            if place:
                store.place(item.id, *place)
            if value != NEUTRAL:
                store.run("INSERT INTO memory_importance VALUES (?, ?)", (item.id, value))
    return lines_of(db)


@pytest.fixture
def fresh(scratch: Path) -> Callable[[], str]:
    """Paths for stores, which are gone with the test."""
    numbers = count()
    return lambda: empty(f"{next(numbers)}.db")


@examples(60)
@given(held=STORES, matter=MATTER)
def test_there_and_back_is_identity(fresh: Callable[[], str], held: Held, matter: list[float]) -> None:
    before, copy = hold(fresh(), held, matter), fresh()
    done = load(copy, before, "--preserve-ids")
    assert (done["imported"], done["said"]) == (len(held), [])
    assert lines_of(copy) == before
    with change(copy) as store:
        check_index(store)
    again = load(copy, before, "--preserve-ids")
    assert (again["imported"], again["skipped_dedup"]) == (0, len(held))
    assert lines_of(copy) == before


#: What is tidied in a line that keeps no id, and what names other lines.
TIDIED = {"title", "content", "tags", "entities"}
REFERENCES = {"id", "links", "superseded_by", "provenance"}


def without(names: set[str], lines: list[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps({k: v for k, v in line.items() if k not in names}, sort_keys=True) for line in lines)


@examples(40)
@given(held=STORES, matter=MATTER)
def test_with_new_ids_only_ids_and_references_change(fresh: Callable[[], str], held: Held, matter: list[float]) -> None:
    before, tidy, copy = hold(fresh(), [one for one in held if one[0].content.strip()], matter), fresh(), fresh()
    assume(load(tidy, before)["imported"] == len(before))  # else two of them say the same, once they are tidied
    given_lines = lines_of(tidy)
    assert without(REFERENCES | TIDIED, given_lines) == without(REFERENCES | TIDIED, before)
    load(copy, given_lines)
    assert without(REFERENCES, lines_of(copy)) == without(REFERENCES, given_lines)
    again = load(copy, given_lines)
    assert (again["imported"], again["merged"]) == (0, 0)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from([*MemoryItem.__slots__, "source", "withheld", "importance", "other"])


@examples(150)
@given(
    lines=st.lists(
        st.binary(max_size=40)
        | st.dictionaries(NAMES, JSON, max_size=6).map(lambda value: json.dumps({"content": "c", **value}).encode()),
        max_size=5,
    )
)
def test_any_bytes_are_stored_right_or_named(fresh: Callable[[], str], lines: list[bytes]) -> None:
    db = fresh()
    done = import_bytes(db, b"\n".join(lines), "--preserve-ids")
    refused = done["skipped_policy"] + done["skipped_conflict"] + done["errors"]
    assert done["total_lines"] == done["imported"] + done["skipped_dedup"] + refused
    assert len(done["said"]) == refused
    stored = lines_of(db)
    for line in stored:
        assert all(isinstance(tag, str) for tag in line["tags"])
        assert 0 <= line["confidence"] <= 1
        assert 0 <= line.get("importance", 0) <= 1
    assert load(fresh(), stored)["errors"] == 0
    with change(db) as store:
        check_index(store)
