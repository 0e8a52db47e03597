"""Rows of passages made in bulk are those that an item each would make."""

from hypothesis import given
from hypothesis import strategies as st

from memctl import ids
from memctl.store.documents.passages import PassageRows
from memctl.store.items.items import from_item
from memctl.types import MemoryItem, MemoryProvenance

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
HASH = "ab" * 32
NOW = "2026-11-21T12:00:00.000000+00:00"


@given(
    path=TEXT.map("/docs/{}".format), title=TEXT, content=TEXT, scope=TEXT, corpus=st.none() | TEXT,
    tags=st.lists(TEXT, max_size=3), more=st.none() | st.lists(TEXT, max_size=3),
    position=st.integers(0, 10_000), injectable=st.booleans(),
)  # fmt: skip
def test_a_row_is_the_row_of_an_item(
    path: str, title: str, content: str, scope: str, corpus: str | None, tags: list[str], more: list[str] | None,
    position: int, injectable: bool,
) -> None:  # fmt: skip
    source = MemoryProvenance("doc", path, [f"{path}:{position}"], [f"sha256:{HASH}"], NOW)
    item = MemoryItem(
        id="MEM-1", title=title, content=content, tags=tags if more is None else more, provenance=source, scope=scope,
        corpus_id=corpus or "", injectable=injectable, created_at=NOW, updated_at=NOW,
    )  # fmt: skip
    shared = PassageRows(path, HASH, tags=tags, scope=scope, corpus_id=corpus, now=NOW)
    row = shared.row(
        "MEM-1", title, content, ids.content_hash(content), position=position, injectable=injectable, tags=more
    )
    assert row == from_item(item)
