"""From ranked items to passages: repeats go, neighbours are joined."""

from memctl.retrieve import pack as packing
from memctl.retrieve.pack import joined, pack
from memctl.store.sources import Source
from memctl.text.block import Passage, passage
from memctl.text.query import analyse
from memctl.types import MemoryItem

PATH = "/w/guide.md"


def chunk(position: int, first: int, content: str, path: str = PATH) -> tuple[MemoryItem, Source]:
    item = MemoryItem(
        id=f"MEM-{position}", title=f"part {position}", content=content, tags=[f"t{position}"],
        provenance={"source_kind": "doc", "source_id": path, "chunk_ids": [f"{path}:{position}"], "content_hashes": []},
    )  # fmt: skip
    return item, Source(position, first, first + content.count("\n"), "")


def passages(*chunks: tuple[MemoryItem, Source]) -> list[Passage]:
    return [passage(item, place, "/w") for item, place in chunks]


def kept(*chunks: tuple[MemoryItem, Source], budget: int = 10_000) -> list[str]:
    items, places = [item for item, _ in chunks], {item.id: place for item, place in chunks}
    return [p.chunk for p in packing.passages(items, places, budget)]


def test_neighbours_become_one_in_the_place_of_the_best() -> None:
    ranked = passages(chunk(7, 90, "far away"), chunk(2, 5, "third\nfourth"), chunk(1, 1, "first\nsecond"))
    out = joined(ranked, 10_000)
    assert [p.chunk for p in out] == ["7", "1-2"]
    assert out[1].lines == ["first", "second", "", "third", "fourth"]
    assert out[1].span == (1, 6)
    assert out[1].ids == ("MEM-1", "MEM-2")
    assert out[1].title == "part 2"
    assert out[1].tags == ["t1", "t2"]


def test_lines_that_overlap_are_shown_once() -> None:
    out = joined(passages(chunk(0, 1, "a\nb\nc"), chunk(1, 3, "c\nd")), 10_000)
    assert out[0].lines == ["a", "b", "c", "d"]
    assert out[0].span == (1, 4)


def test_neighbours_in_different_sources_stay_apart() -> None:
    assert len(joined(passages(chunk(0, 1, "a"), chunk(1, 2, "b", "/w/other.md")), 10_000)) == 2


def test_what_would_not_fit_is_not_joined() -> None:
    out = joined(passages(chunk(0, 1, "x" * 600), chunk(5, 90, "y" * 600), chunk(1, 2, "z" * 600)), 1000)
    assert [p.chunk for p in out] == ["0", "5", "1"]


def test_repeats_go_and_statements_that_differ_in_a_number_stay() -> None:
    long = "the service listens on the internal network of the cluster behind the proxy and its port is 8080"
    other = long.replace("8080", "9090")
    assert kept(chunk(0, 1, long), chunk(3, 9, long.upper()), chunk(5, 20, other)) == ["0", "5"]


def test_a_passage_inside_a_better_one_goes() -> None:
    whole = chunk(0, 1, "Alpha beta.\nGamma delta!")
    assert kept(whole, chunk(3, 9, "gamma DELTA"), chunk(5, 20, "delta gamma")) == ["0", "5"]


def test_a_statement_is_not_said_by_its_denial() -> None:
    assert len(kept(chunk(0, 1, "We do not use Postgres here."), chunk(3, 9, "use Postgres"))) == 2


def test_the_block_names_every_item_it_delivers() -> None:
    chunks = [chunk(1, 1, "first words"), chunk(2, 2, "second words"), chunk(9, 50, "third thing")]
    items = [item for item, _ in chunks]
    places = {item.id: place for item, place in chunks}
    block = pack(items, places, analyse("words"), 400, matched=12, cwd="/w")
    assert set(block.ids) == {"MEM-1", "MEM-2", "MEM-9"}
    assert block.items == 2
    assert "matched: 12" in block.text
    assert "[path:guide.md chunk:1-2 lines:1-2]" in block.text
    assert f"2 items, {block.tokens} tokens" in block.text


def test_looking_ends_when_no_more_can_find_room() -> None:
    many = [chunk(2 * n, 20 * n + 1, f"passage {n}\n" + f"words of {n} " * 40) for n in range(40)]
    assert 3 <= len(kept(*many, budget=200)) < 10


def test_small_passages_are_looked_at_until_the_room_is_full() -> None:
    many = [chunk(2 * n, 20 * n + 1, f"short statement {n}") for n in range(40)]
    assert len(kept(*many, budget=2000)) == 40
