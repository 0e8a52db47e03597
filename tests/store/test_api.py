"""The documented Python API: names, signatures, behaviour."""

import datetime as dt
import importlib
import inspect
import threading
from pathlib import Path

import pytest

import memctl
from memctl import MemoryItem, MemoryStore
from memctl.types import CorpusMetadata, MemoryLink, MemoryProposal, MemoryProvenance


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    return MemoryStore(db_path=str(tmp_path / "deep" / "memory.db"))


@pytest.mark.parametrize("name", [n for n in memctl.__all__ if n not in ("MemoryConfig", "MemoryPolicy")])
def test_public_names_are_there(name: str) -> None:
    assert getattr(memctl, name) is not None
    assert name in dir(memctl)


def test_an_unknown_name_is_an_attribute_error() -> None:
    for module in (memctl, importlib.import_module("memctl.store")):
        with pytest.raises(AttributeError):
            module.nonsense  # noqa: B018


@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        ("write_item", "item, reason='create'"),
        (
            "search_fulltext",
            "query, tier=None, type_filter=None, scope=None, corpus_id=None, exclude_archived=True, limit=100",
        ),
        ("search_by_tags", "tags, tier=None, type_filter=None, scope=None, exclude_archived=True, limit=50"),
        ("list_items", "tier=None, type_filter=None, scope=None, corpus_id=None, exclude_archived=True, limit=100"),
        ("count_items", "tier=None, scope=None, exclude_archived=True"),
        ("read_events", "item_id=None, action=None, limit=100"),
        ("reset", "preserve_mounts=True, dry_run=False"),
        ("write_palace_location", "id, domain='default', room='', shelf='', card=''"),
    ],
)
def test_signatures_are_the_documented_ones(method: str, parameters: str) -> None:
    signature = inspect.signature(getattr(MemoryStore, method))
    got = ", ".join(
        name if p.default is p.empty else f"{name}={p.default!r}" for name, p in list(signature.parameters.items())[1:]
    )
    assert got == parameters


def test_write_search_read_update_delete(store: MemoryStore) -> None:
    item = store.write_item(
        MemoryItem(title="Auth decision", content="We chose JWT tokens", tags=["auth"]), reason="pull"
    )
    assert [i.id for i in store.search_fulltext("which token did we choose?", limit=5)] == [item.id]
    assert store._last_search_meta is not None
    assert store.exists_by_content_hash(item.content_hash)
    read = store.read_item(item.id)
    assert read is not None and read.usage_count == 1
    changed = store.update_item(item.id, {"title": "Auth"})
    assert changed is not None and changed.title == "Auth"
    assert [r["snapshot"]["title"] for r in store.read_revisions(item.id)] == ["Auth decision", "Auth"]
    assert store.delete_item(item.id) and not store.delete_item("MEM-404")
    assert store.search_fulltext("JWT") == [] and store.list_items() == []
    assert [i.id for i in store.list_items(exclude_archived=False)] == [item.id]
    assert not store.exists_by_content_hash(item.content_hash)
    assert store.read_items([item.id, "MEM-404"])[0].archived


def test_what_stands_beside_items(store: MemoryStore) -> None:
    a, b = (store.write_item(MemoryItem(content=c)) for c in "ab")
    store.write_link(MemoryLink(a.id, b.id, "supports"))
    assert [k.rel for k in store.read_links(b.id)] == ["supports"]
    store.write_embedding(a.id, [0.5, -1.0], "m", 2)
    assert store.read_embedding(a.id) == ([0.5, -1.0], "m")
    assert store.read_embedding(b.id) is None
    assert store.all_embeddings() == [(a.id, [0.5, -1.0])]
    with pytest.raises(ValueError, match="numbers"):
        store.write_embedding(a.id, [0.5], "m", 2)
    store.write_palace_location(a.id, "work", "auth")
    place = store.read_palace_location(a.id)
    assert place is not None and (place["domain"], place["room"]) == ("work", "auth")
    assert len(store.list_palace_locations("work", "auth")) == 1
    assert store.list_palace_locations("work", "x") == []
    assert store.supersede_item(a.id, b.id) and store.count_items() == 1
    assert store.last_event(["link"]) and store.last_event(["nothing"]) is None and store.last_event()


def test_files_corpora_and_mounts(store: MemoryStore, tmp_path: Path) -> None:
    store.write_corpus_hash("/d/a.md", "00", item_ids=["MEM-1"], mount_id="MNT-1", size_bytes=3, mtime_epoch=7)
    row = store.read_corpus_hash("/d/a.md")
    assert row is not None and row["item_ids"] == ["MEM-1"] and row["mtime_epoch"] == 7
    assert (
        [r["file_path"] for r in store.list_corpus_files("MNT-1")]
        == ["/d/a.md"]
        == [r["file_path"] for r in store.list_corpus_files()]
    )
    assert row["chunk_count"] == 1
    store.write_corpus_hash("/d/c.md", "33", 3, ["MEM-1", "MEM-2"])
    assert (store.read_corpus_hash("/d/c.md") or {})["chunk_count"] == 3
    changed = store.find_changed_files({"/d/a.md": "11", "/d/b.md": "22", "/d/c.md": "33"})
    assert changed == {"new": ["/d/b.md"], "modified": ["/d/a.md"], "unchanged": ["/d/c.md"], "deleted": []}
    store.write_corpus_metadata(CorpusMetadata("v1", "Version 1", scope="docs"))
    found = store.read_corpus_metadata("v1")
    assert found is not None and found.corpus_label == "Version 1"
    assert [c.corpus_id for c in store.list_corpora("docs")] == ["v1"] and store.list_corpora("x") == []
    mount = store.write_mount(str(tmp_path), name="t", ignore_patterns=["*.log"])
    assert store.write_mount(str(tmp_path), name="u") == mount
    assert [m["name"] for m in store.list_mounts()] == ["u"]
    for key in (mount, str(tmp_path), "u"):
        known = store.read_mount(key)
        assert known is not None and known["mount_id"] == mount
    store.update_mount_sync_time(mount)
    assert store.list_mounts()[0]["last_sync_at"]
    assert store.remove_mount("u") and not store.remove_mount("u")


def test_stats_reset_and_moving(store: MemoryStore) -> None:
    store.write_item(MemoryItem(content="alpha", tier="ltm", type="decision"))
    kept = store.write_item(MemoryItem(content="b"))
    store.delete_item(kept.id)
    lines = store.export_jsonl()
    assert store.stats()["by_tier"] == {"ltm": 1} and len(lines.splitlines()) == 2
    assert store.reset(dry_run=True)["memory_items"] == 2 and store.count_items() == 1
    assert store.reset()["memory_items"] == 2 and store.count_items(exclude_archived=False) == 0
    assert [e.action for e in store.read_events()] == ["reset"]
    assert store.import_jsonl(lines) == 2
    assert store.export_jsonl() == lines
    assert store.rebuild_fts("fr") == 2 and not store._is_porter_tokenizer()
    assert [i.content for i in store.search_fulltext("alpha b")] == ["alpha"]


@pytest.mark.filterwarnings("ignore:The default date adapter")
def test_what_older_programs_reach_for(store: MemoryStore) -> None:
    from memctl.store import _rank_by_coverage

    both = store.write_item(MemoryItem(content="rotating signing keys"))
    one = store.write_item(MemoryItem(content="signing a contract"))
    assert store._PREFIX_MIN_LEN == 5
    assert [i.id for i in store._search_fts5_prefix_and(["signi", "key"])] == []
    assert [i.id for i in store._search_fts5_prefix_and(["signing", "keys"])] == [both.id]
    assert _rank_by_coverage([one, both], ["signing", "keys"]) == [both, one]
    assert store._conn.execute("SELECT count(*) AS n FROM memory_items").fetchone()["n"] == 2
    assert store._conn.execute("SELECT ? AS day", (dt.date(2026, 1, 2),)).fetchone()["day"] == "2026-01-02"
    store._log_event("custom", both.id, {"a": 1})
    assert store.read_events(both.id, "custom")[0].details == {"a": 1}
    store._fts5_available = False
    assert [i.id for i in store.search_fulltext("rotating")] == [both.id]
    meta = store._last_search_meta
    assert meta is not None and meta.strategy == "LIKE"


def test_threads_share_a_store(store: MemoryStore) -> None:
    def write(n: int) -> None:
        for k in range(20):
            store.write_item(MemoryItem(id=f"MEM-{n}-{k}", content="x"))

    threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert store.count_items() == 80


def test_in_memory_and_as_a_context() -> None:
    with MemoryStore() as store:
        store.write_item(MemoryItem(content="alpha"))
        assert len(store.search_fulltext("alpha")) == 1


def test_records() -> None:
    proposal = MemoryProposal(type="rule", title="T", content="C", tags=["a"], provenance_hint={"source_id": "s"})
    item = proposal.to_memory_item(tier="mtm", scope="x")
    assert (item.type, item.tier, item.scope, item.provenance.source_id) == ("constraint", "mtm", "x", "s")
    assert MemoryItem.from_dict(item.to_dict() | {"unknown": 1}) == item
    assert MemoryProvenance.from_dict({"source_kind": "doc", "zzz": 1}).source_kind == "doc"
    assert item.format_inject().startswith(f"[MEMORY: {item.id} | constraint | mtm | tags=a")
    assert list(item.format_catalog_entry()) == ["id", "title", "tags", "tier", "type", "confidence", "validation"]
    assert item != proposal and repr(item).startswith("MemoryItem(id='MEM-")
    for wrong in ({"tier": "xl"}, {"validation": "maybe"}):
        with pytest.raises(ValueError, match="Invalid"):
            MemoryItem(**wrong)  # type: ignore[arg-type]


def test_an_export_comes_back_whatever_its_lines_hold(store: MemoryStore) -> None:
    store.write_item(MemoryItem(title="a\x85b", content="one\u2028two\x85three\x0cfour"))
    exported = store.export_jsonl()
    with MemoryStore(":memory:") as other:
        assert other.import_jsonl(exported) == 1
        assert other.export_jsonl() == exported
