"""Whatever statements there are, consolidation loses none: each is there, or what replaced it says the same."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from memctl import MemoryItem
from memctl.types import MemoryProvenance
from stores import change, check_index, empty
from support import examples, ok

SAID = "the gateway retries 2 3 requests on Friday Monday not never Alice Bob and then, stops. Actually"
WORDS = st.sampled_from(SAID.split())
TEXTS = st.one_of(st.lists(WORDS, max_size=9).map(" ".join), st.text(max_size=30))
ITEMS = st.lists(
    st.tuples(
        TEXTS, st.sampled_from(["note", "decision"]), st.sampled_from(["a", "b"]), st.booleans(), st.text(max_size=8)
    ),
    max_size=7,
)
#: What no merge may change: words that deny, numbers, days, names.
VALUES = ("2", "3", "friday", "monday", "not", "never", "alice", "bob")


def values(text: str) -> list[str]:
    words = [word.strip(".,").casefold() for word in text.split()]
    return sorted(word for word in words if word in VALUES)


@examples(40)
@given(ITEMS)
def test_nothing_is_lost_and_a_second_run_does_nothing(
    tmp_path: Path, given: list[tuple[str, str, str, bool, str]]
) -> None:
    path = str(tmp_path / "m.db")
    for name in (path, f"{path}-wal", f"{path}-shm"):
        Path(name).unlink(missing_ok=True)
    empty(path)
    with change(path) as db:
        for number, (text, kind, scope, is_free, tag) in enumerate(given):
            item = MemoryItem(
                id=f"MEM-{number:012x}", content=text, type=kind, scope=scope, injectable=is_free,
                provenance=MemoryProvenance("chat", "s"), tags=[tag] if tag.strip() else [],
            )  # fmt: skip
            db.write(item, withheld="" if is_free else "policy")
    ok("consolidate", "--all-scopes", "--db", path)
    with change(path) as db:
        found = {item.id: item for item in db.items(archived=True)}
        for number, (text, kind, scope, is_free, _) in enumerate(given):
            item = found[f"MEM-{number:012x}"]
            assert item.content == text
            now = found[item.superseded_by] if item.superseded_by else item
            assert not now.archived
            assert (now.type, now.scope) == (kind, scope)
            assert values(now.content) == values(text)
            assert is_free or not now.injectable
            assert {tag.casefold() for tag in item.tags} <= {tag.casefold() for tag in now.tags}
        check_index(db)
    again = ok("consolidate", "--all-scopes", "--json", "--db", path).json()
    assert (again["items_merged"], again["items_promoted"]) == (0, 0)
