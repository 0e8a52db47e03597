"""Items: write, change, archive, supersede; revisions, events and the index go along."""

import json
import sqlite3
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.store.connect import MEMORY, open_read, open_write
from memctl.store.database import Database
from memctl.store.documents import passages
from memctl.store.documents.passages import SourcePosition
from memctl.store.filters import Filters
from memctl.store.items import attributes, events, items
from memctl.types import MemoryItem, MemoryProvenance
from stores import check_index
from support import examples

FULL = MemoryItem(
    id="MEM-1", tier="ltm", type="decision", title="Titel", content="Inhalt é 数据", tags=["a", "é"], entities=["X"],
    links=[{"rel": "supports", "to": "MEM-0"}],
    provenance=MemoryProvenance("doc", "/a.md", ["/a.md:0"], ["sha256:x"], "2024-01-01T00:00:00+00:00"),
    confidence=0.9, validation="verified", scope="team", expires_at="2999-01-01T00:00:00+00:00", usage_count=3,
    last_used_at="2024-01-02T00:00:00+00:00", created_at="2024-01-01T00:00:00+00:00",
    updated_at="2024-01-03T00:00:00+00:00", rule_id="R1", corpus_id="c", superseded_by="MEM-9", archived=True,
    injectable=False,
)  # fmt: skip


def test_every_field_comes_back(db: Database) -> None:
    items.write(db, FULL)
    assert items.get(db, "MEM-1") == FULL
    assert list(FULL.to_dict()) == list(MemoryItem.__slots__)
    assert json.loads(items.revisions(db, "MEM-1")[0]["snapshot"] and json.dumps(FULL.to_dict())) == FULL.to_dict()


def test_each_write_leaves_a_revision_and_an_event(db: Database) -> None:
    items.write(db, MemoryItem(id="MEM-1", content="one"), "pull")
    items.update(db, "MEM-1", {"content": "two"})
    history = items.revisions(db, "MEM-1")
    assert [(r["revision_num"], r["reason"], r["snapshot"]["content"]) for r in history] == [
        (1, "pull", "one"), (2, "update", "two"),
    ]  # fmt: skip
    log = events.list_events(db, "MEM-1")
    assert [e.details["reason"] for e in log] == ["update", "pull"]
    assert all(e.action == "write" and e.content_hash.startswith("sha256:") for e in log)


@pytest.mark.parametrize("change", [{"title": "new"}, {"tier": "mtm"}, {"archived": True}, {"tags": ["x"]}])
def test_a_compact_revision_keeps_the_old_state(db: Database, change: dict[str, Any]) -> None:
    item = MemoryItem(id="MEM-1", content="body", title="old", tags=["é"])
    items.write_many(db, [item], "ingest", compact=True)
    assert items.revisions(db, "MEM-1")[0]["snapshot"] == item.to_dict()
    items.update(db, "MEM-1", change, compact=True)
    first, second = items.revisions(db, "MEM-1")
    assert first["snapshot"] == item.to_dict()
    field, value = next(iter(change.items()))
    assert second["snapshot"][field] == value


def test_update_leaves_alone_what_it_must(db: Database) -> None:
    items.write(db, MemoryItem(id="MEM-1", content="x", created_at="2020-01-01T00:00:00+00:00", updated_at="2020"))
    item = items.update(db, "MEM-1", {"id": "MEM-2", "created_at": "1999", "nonsense": 1, "confidence": 0.8})
    assert item is not None
    assert (item.id, item.created_at, item.confidence) == ("MEM-1", "2020-01-01T00:00:00+00:00", 0.8)
    assert item.updated_at > "2020-01-02"
    assert items.update(db, "MEM-404", {"title": "x"}) is None


def test_update_refuses_what_other_programs_could_not_read(db: Database) -> None:
    items.write(db, MemoryItem(id="MEM-1", content="x"))
    with pytest.raises(ValueError, match="validation"):
        items.update(db, "MEM-1", {"validation": "perhaps"})
    assert len(items.revisions(db, "MEM-1")) == 1


def test_supersede_links_and_archives(db: Database) -> None:
    for n in ("MEM-1", "MEM-2"):
        items.write(db, MemoryItem(id=n, content=n))
    assert attributes.supersede(db, "MEM-1", "MEM-2")
    old = items.get(db, "MEM-1")
    assert old is not None and old.archived and old.superseded_by == "MEM-2"
    assert [(k.src_id, k.rel, k.dst_id) for k in attributes.links_of(db, "MEM-1")] == [("MEM-2", "supersedes", "MEM-1")]
    assert not attributes.supersede(db, "MEM-404", "MEM-2")
    assert not attributes.supersede(db, "MEM-2", "MEM-404")
    assert items.count(db, Filters()) == 1


def test_filters_hold_before_the_limit(db: Database) -> None:
    for n in range(30):
        items.write(db, MemoryItem(content=f"n{n}", scope="other", tags=["Common"]))
    items.write(db, MemoryItem(id="MEM-t", content="t", scope="mine", tags=["Été"], updated_at="2001"))
    items.write(db, MemoryItem(id="MEM-g", content="g", scope="global", updated_at="2000"))

    def listed(filters: Filters) -> list[str]:
        return [i.id for i in items.list_items(db, filters, 2)]

    assert listed(Filters(scopes=Filters.read_set("mine"))) == ["MEM-t", "MEM-g"]
    assert listed(Filters(tags=("été",))) == ["MEM-t"]
    assert len(listed(Filters(tags=("common", "nothing")))) == 2


def test_what_has_expired_or_is_retracted_is_not_given_away(db: Database) -> None:
    items.write(db, MemoryItem(id="MEM-old", content="x", expires_at="2001-01-01T00:00:00+00:00"))
    items.write(db, MemoryItem(id="MEM-wrong", content="x", validation="retracted"))
    items.write(db, MemoryItem(id="MEM-held", content="x", injectable=False))
    items.write(db, MemoryItem(id="MEM-good", content="x"))
    assert [i.id for i in items.list_items(db, Filters(injectable=True))] == ["MEM-good"]
    assert {i.id for i in items.list_items(db, Filters())} == {"MEM-wrong", "MEM-held", "MEM-good"}
    assert items.count(db, Filters(archived=True)) == 4


def test_a_quarantine_is_not_weakened(db: Database) -> None:
    items.write(db, MemoryItem(id="MEM-1", content="x", injectable=False), withheld="policy")
    items.set_withheld(db, {"MEM-1": ("raw", ())})
    assert items.withheld_reasons(db, ["MEM-1"]) == {"MEM-1": "policy"}
    assert items.release_raw(db, ["MEM-1"], "promote") == 0
    items.write(db, MemoryItem(id="MEM-2", content="y", injectable=False), withheld="raw")
    assert items.release_raw(db, ["MEM-1", "MEM-2"], "promote") == 1
    released = items.get(db, "MEM-2")
    assert released is not None and released.injectable


def test_contents_are_found_by_hash(db: Database) -> None:
    for n, archived in (("MEM-1", True), ("MEM-2", False)):
        items.write(db, MemoryItem(id=n, content="same", archived=archived, created_at="2024", updated_at="2024"))
    wanted = MemoryItem(content="same").content_hash
    found = items.ids_by_hash(db, [wanted, "sha256:" + "0" * 64])
    assert {key: [(one.id, one.scope, one.archived) for one in held] for key, held in found.items()} == {
        wanted: [("MEM-1", "project", True), ("MEM-2", "project", False)]
    }


def test_uses_are_counted_and_reads_are_not(db: Database) -> None:
    items.write(db, MemoryItem(id="MEM-1", content="x"))
    items.get(db, "MEM-1")
    assert items.mark_used(db, ["MEM-1", "MEM-404"], "recall")
    item = items.get(db, "MEM-1")
    assert item is not None and item.usage_count == 1 and item.last_used_at
    assert len(items.revisions(db, "MEM-1")) == 1
    items.write(db, MemoryItem(id="MEM-2", content="writing still works"))


def test_reading_again_and_again_does_not_fill_the_store(db: Database) -> None:
    items.write_many(db, [MemoryItem(id=f"MEM-{n}", content=str(n)) for n in (1, 2)], "create")
    for _ in range(items.USES_KEPT + 5):
        assert items.mark_used(db, ["MEM-1"], "recall")
    items.mark_used(db, ["MEM-1", "MEM-2"])
    kept = [event.action for event in events.list_events(db, "MEM-1", limit=1000)]
    assert kept == ["read", *["recall"] * items.USES_KEPT, "write"]
    (item,) = items.get_many(db, ["MEM-1"])
    assert item.usage_count == items.USES_KEPT + 6


def test_gathered_uses_are_counted_together(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    db = open_write(path, create=True)
    items.write_many(db, [MemoryItem(id=f"MEM-{n}", content=f"{n}") for n in range(3)], "create")
    reader, other = open_read(path), open_read(path)
    reader.uses = []
    for use in (["MEM-1", "MEM-2"], ["MEM-1"], ["MEM-404"]):
        assert items.mark_used(reader, use, "recall")
    assert items.mark_used(other, ["MEM-1"])  # another handle counts at once
    assert [item.usage_count for item in items.get_many(db, ["MEM-0", "MEM-1", "MEM-2"])] == [0, 1, 0]
    last = [use[0] for use in reader.uses]
    with db.atomic():
        assert not items.count_uses(reader)  # busy: they are kept
    assert len(reader.uses) == 3
    for _ in range(2):
        assert items.count_uses(reader)
        used = items.get_many(db, ["MEM-0", "MEM-1", "MEM-2"])
        assert [(item.usage_count, item.last_used_at) for item in used] == [(0, None), (3, last[1]), (1, last[0])]
    assert db.value("SELECT count(*) FROM memory_events WHERE action = 'recall'") == 4
    monkeypatch.setattr(items, "MOST_GATHERED", 1)
    assert [items.mark_used(reader, ["MEM-0"]) for _ in range(2)] == [True, False]
    for handle in (db, reader, other):
        handle.close()


def test_counting_uses_leaves_the_index_alone(db: Database) -> None:
    items.write(db, MemoryItem(id="MEM-1", content="alpha"))
    held = "SELECT id, block FROM memory_items_fts_data"
    before = db.rows(held)
    assert items.mark_used(db, ["MEM-1"])
    assert db.rows(held) == before
    db.run("UPDATE memory_items SET title = 'beta' WHERE id = 'MEM-1'")  # as another program does
    assert db.rows(held) != before
    check_index(db)


def test_odd_rows_of_other_programs_can_be_read(db: Database) -> None:
    db.run(
        "INSERT INTO memory_items(id, tier, type, title, content, tags, entities, links_json, provenance_json, "
        "confidence, validation, created_at, updated_at) "
        "VALUES ('MEM-1', 'stm', 'saga', 'T', x'ff00', '[1, null, \"a\"]', 'oops', "
        "'{}', '[]', 'high', 'perhaps', '2024', '2024')"
    )
    item = items.list_items(db, Filters(tags=("A",)))[0]
    assert (item.tags, item.entities, item.links, item.type) == (["1", "a"], [], [], "note")
    assert (item.confidence, item.validation, item.provenance.source_kind) == (0.5, "unverified", "chat")
    odd = [
        ("null", "often", ("", 0)),
        ("5", 2.5, ("5", 2)),
        ('["a"]', 1e300, ("['a']", 0)),
        ('"doc"', b"7", ("doc", 0)),
    ]
    for kind, used, read in odd:
        source = f'{{"source_kind": {kind}}}'
        db.run("UPDATE memory_items SET provenance_json = ?, usage_count = ?", (source, used))
        found = items.get(db, "MEM-1")
        assert found is not None
        assert (found.provenance.source_kind, found.usage_count) == read


def test_places_in_sources(db: Database) -> None:
    passages.set_positions(db, {"MEM-1": SourcePosition(0, 1, 9, "Guide > Install"), "MEM-2": SourcePosition()})
    passages.set_positions(db, {"MEM-1": SourcePosition(1, 2, 10, "Guide")})
    assert passages.get_positions(db, ["MEM-2", "MEM-1", "MEM-3"]) == {
        "MEM-1": (1, 2, 10, "Guide"),
        "MEM-2": SourcePosition(),
    }


def test_streaming_is_complete_and_ordered(db: Database) -> None:
    many = [MemoryItem(content=str(n), updated_at=f"2024-01-{1 + n % 28:02}", created_at="2024") for n in range(1203)]
    items.write_many(db, many, "import")
    listed = [i.id for i in items.iterate(db, Filters())]
    assert listed == [i.id for i in sorted(sorted(many, key=lambda i: i.id), key=lambda i: i.updated_at, reverse=True)]


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
STEP = st.tuples(st.sampled_from(["write", "update", "archive", "supersede", "use", "bulk"]), st.integers(0, 5), TEXT)


@examples(40)
@given(st.lists(STEP, max_size=30))
def test_the_index_stays_sound_under_any_updates(steps: list[tuple[str, int, str]]) -> None:
    db = open_write(MEMORY)
    for what, n, words in steps:
        key, other = f"MEM-{n}", f"MEM-{(n + 1) % 6}"
        if what == "write":
            items.write(db, MemoryItem(id=key, title=words, content=words, tags=[words]))
        elif what == "bulk":
            items.write_many(db, [MemoryItem(id=key, content=words)], "ingest", compact=True)
        elif what == "update":
            items.update(db, key, {"content": words, "entities": [words]})
        elif what == "archive":
            items.archive(db, key)
        elif what == "supersede":
            attributes.supersede(db, key, other)
        else:
            items.mark_used(db, [key])
    check_index(db)
    for item in items.iterate(db, Filters(archived=True)):
        history = items.revisions(db, item.id)
        assert [r["revision_num"] for r in history] == list(range(1, len(history) + 1))
        assert history[-1]["snapshot"]["content"] == item.content
    db.close()


def test_the_index_is_sound_after_thousands_of_updates(db: Database) -> None:
    with db.atomic():
        for n in range(3000):
            key = f"MEM-{n * 7919 % 400}"
            if n % 3:
                items.write(db, MemoryItem(id=key, title=f"t{n}", content=f"words {n} " * (n % 40)))
            else:
                items.update(db, key, {"content": f"changed {n}"}, compact=n % 2 == 0)
    check_index(db)


def test_links_of_other_programs_have_an_order_whatever_their_relations_are(db: Database) -> None:
    with closing(sqlite3.connect(db.path)) as other, other:
        for rel, made in ((b"\x00", "2024-03"), ("supports", "2024-02"), ("owns", "2024-01")):
            other.execute("INSERT INTO memory_links VALUES ('MEM-1', 'MEM-2', ?, ?)", (rel, made))
    found = [(one.rel, one.created_at) for one in attributes.links_of(db, "MEM-2")]
    assert found == [("related_to", "2024-01"), ("supports", "2024-02"), ("related_to", "2024-03")]
    assert len(attributes.links_of_items(db, ["MEM-1", "MEM-2"])) == 3
