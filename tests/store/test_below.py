"""`Filters.below`: only passages of documents below a folder, whatever else the store holds."""

import pytest

from memctl.retrieve.find import search
from memctl.store.connect import SCRATCH, open_write
from memctl.store.database import Database
from memctl.store.filters import Filters
from memctl.store.items import items
from memctl.types import MemoryItem, MemoryProvenance


def passage(db: Database, path: str, kind: str = "doc", scope: str = "project") -> str:
    item = MemoryItem(content=f"The gateway of {path}.", provenance=MemoryProvenance(kind, path), scope=scope)
    return items.write(db, item).id


@pytest.fixture
def db() -> Database:
    """A store that no file keeps."""
    return open_write(SCRATCH, create=True)


def test_only_what_is_below_the_folder(db: Database) -> None:
    inside = {passage(db, "/a/docs/x.md"), passage(db, "/a/docs/deep/é \U0001f600.md", scope="other")}
    for path in ("/a/docs", "/a/docs.md", "/a/docs2/x.md", "/a/Docs/x.md", "/b/a/docs/x.md", "", "docs/x.md"):
        passage(db, path)
    passage(db, "memctl-pull", kind="tool")
    filters = Filters(below="/a/docs/")
    assert {c.id for c in search(db, "gateway", filters=filters, limit=50).candidates} == inside
    assert {item.id for item in items.iterate(db, filters)} == inside
    assert items.count(db, filters) == 2
    assert items.count(db, filters.replace(scopes=("other",))) == 1
    assert items.count(db, Filters(below="/")) == 7


@pytest.mark.parametrize("provenance", ["", "null", "[]", "{broken", '{"source_id": 7}', '{"source_id": null}'])
def test_what_another_program_wrote_as_provenance_is_below_nothing(db: Database, provenance: str) -> None:
    item_id = passage(db, "/a/docs/x.md")
    with db.atomic():
        db.run("UPDATE memory_items SET provenance_json = ? WHERE id = ?", (provenance, item_id))
    assert items.count(db, Filters(below="/a/docs/")) == 0
    assert items.count(db, Filters()) == 1


def test_a_scratch_store_is_each_ones_own_and_gone_when_it_is_closed(db: Database) -> None:
    passage(db, "/a/docs/x.md")
    other = open_write(SCRATCH, create=True)
    assert items.count(other, Filters()) == 0
    assert db.value("PRAGMA database_list") == 0
    assert db.row("PRAGMA database_list")[2] == ""
