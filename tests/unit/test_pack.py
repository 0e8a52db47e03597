"""From ranked items to passages: repeats go, neighbours are joined."""

from blocks import pack
from memctl.answering import answer as citations
from memctl.llm.working import fitted
from memctl.reading.block import Deliverable, choose_passages
from memctl.store.documents.passages import SourcePosition
from memctl.text.block.frames import Compact, Full, header_lines
from memctl.text.block.packing import BlockEntry, Labels, block_entry, joined
from memctl.text.query import analyse
from memctl.types import MemoryItem

PATH = "/w/guide.md"


def chunk(position: int, first: int, content: str, path: str = PATH) -> tuple[MemoryItem, SourcePosition]:
    item = MemoryItem(
        id=f"MEM-{position}", title=f"part {position}", content=content, tags=[f"t{position}"],
        provenance={"source_kind": "doc", "source_id": path, "chunk_ids": [f"{path}:{position}"], "content_hashes": []},
    )  # fmt: skip
    return item, SourcePosition(position, first, first + content.count("\n"), "")


def passages(*chunks: tuple[MemoryItem, SourcePosition]) -> list[BlockEntry]:
    return [block_entry(item, place, Labels("/w")) for item, place in chunks]


def kept(*chunks: tuple[MemoryItem, SourcePosition], budget: int = 10_000) -> list[str]:
    items, places = [item for item, _ in chunks], {item.id: place for item, place in chunks}
    return [p.chunk for p in choose_passages(Deliverable(items, places, []), budget)]


def test_neighbours_become_one_in_the_place_of_the_best() -> None:
    ranked = passages(chunk(7, 90, "far away"), chunk(2, 5, "third\nfourth"), chunk(1, 1, "first\nsecond"))
    out = joined(ranked, Full([], 100))
    assert [p.chunk for p in out] == ["7", "1-2"]
    assert out[1].lines == ["first", "second", "", "third", "fourth"]
    assert out[1].span == (1, 6)
    assert out[1].ids == ("MEM-1", "MEM-2")
    assert out[1].title == "part 2"
    assert out[1].tags == ["t1", "t2"]


def test_lines_that_overlap_are_shown_once() -> None:
    out = joined(passages(chunk(0, 1, "a\nb\nc"), chunk(1, 3, "c\nd")), Compact())
    assert out[0].lines == ["a", "b", "c", "d"]
    assert out[0].span == (1, 4)


def test_neighbours_in_different_sources_stay_apart() -> None:
    assert len(joined(passages(chunk(0, 1, "a"), chunk(1, 2, "b", "/w/other.md")), Compact())) == 2


def test_what_was_cut_between_is_not_joined() -> None:
    one, other = passages(chunk(0, 1, "a\nb"), chunk(1, 3, "c\nd"))
    assert len(joined([one._replace(lines=["a"], cut=(False, True)), other], Full([], 100))) == 2
    assert len(joined([one, other._replace(lines=["d"], cut=(True, False))], Full([], 100))) == 2


def test_parts_of_one_document_share_its_line_in_its_order() -> None:
    chunks = [
        chunk(9, 90, "the gateway again"),
        chunk(3, 30, "of gardens", "/w/b.md"),
        chunk(2, 20, "the gateway\nfirst"),
    ]
    items = [item for item, _ in chunks]
    block = pack(items, {item.id: place for item, place in chunks}, analyse("gateway"), 400, cwd="/w")
    assert block.text.splitlines()[2:-1] == [
        "[MEM-2+1] guide.md:20-21, 90", " the gateway", " first", " […]", " the gateway again",
        "[MEM-3] b.md:30 > part 3", " of gardens",
    ]  # fmt: skip
    found = citations.context_places(block.text)
    assert [(place.path, place.lines) for place in found] == [
        ("guide.md", (20, 21)), ("guide.md", (90, 90)), ("b.md", (30, 30)),
    ]  # fmt: skip
    chunks = [chunk(2, 20, "the gateway " * 40), chunk(9, 90, "the gateway again " * 40)]
    block = pack([item for item, _ in chunks], {item.id: place for item, place in chunks}, analyse("gateway"), 600)
    left = fitted(block.text, 500, ["gateway"])
    assert [place.lines for place in citations.context_places(left)] == [(20, 20)]
    assert "again" not in left


def turn(position: int, who: str, said: str) -> MemoryItem:
    return MemoryItem(
        id=f"MEM-{position}", title=who, content=said, created_at="2026-03-04T10:00:00+00:00",
        provenance={"source_kind": "chat", "source_id": "s1", "chunk_ids": [f"s1:{position}"]},
    )  # fmt: skip


def test_turns_in_a_row_share_a_line_in_the_order_in_which_they_were_said() -> None:
    items = [turn(4, "Ben", "On Monday."), turn(9, "Ann", "Good."), turn(3, "Ann", "When does it sail?")]
    block = pack(items, {}, analyse("when"), 400)
    assert block.text.splitlines()[2:-1] == [
        "[MEM-3+1] 2026-03-04", " Ann: When does it sail?", " Ben: On Monday.", "[MEM-9] 2026-03-04 Ann", " Good.",
    ]  # fmt: skip
    assert block.ids == ("MEM-3", "MEM-4", "MEM-9")
    full = pack(items, {}, analyse("when"), 400, frame=Full([], 400))
    assert full.text.count("provenance: chat:s1") == 3


def test_of_statements_that_changed_the_newest_stands_first_and_all_are_dated() -> None:
    said = [("6379", "2026-01-10"), ("7001", "2026-03-12"), ("6380", "2026-02-11")]
    items = [
        MemoryItem(id=f"MEM-{port}", content=f"Redis runs on port {port}.", created_at=f"{day}T10:00:00+00:00")
        for port, day in said
    ]
    items.insert(1, MemoryItem(id="MEM-x", content="The cache is Redis, and it is behind the proxy."))
    lines = pack(items, {}, analyse("which port"), 400).text.splitlines()
    assert [line[:18] for line in lines if line.startswith(("[MEM-6", "[MEM-7"))] == [
        "[MEM-7001] 2026-03", "[MEM-6380] 2026-02", "[MEM-6379] 2026-01",
    ]  # fmt: skip
    assert sum(line.startswith("[MEM-x] ") for line in lines) == 1


def test_statements_of_one_day_say_it_once_unless_more_is_said_of_them() -> None:
    def said(number: int, day: int, title: str = "", tier: str = "stm") -> MemoryItem:
        moment = f"2026-11-{day:02d}T09:00:00+00:00"
        return MemoryItem(
            id=f"MEM-{number}", content=f"Deploy {number} is done.", created_at=moment, title=title, tier=tier
        )

    items = [said(1, 20, title="Deploy"), said(2, 20), said(3, 20), said(4, 20, tier="ltm"), said(5, 20, title="Log")]
    block = pack([*items, said(6, 21), said(7, 20)], {}, analyse("deploy"), 400)
    lines = [line for line in block.text.splitlines() if line.startswith("[MEM")]
    days = {line.partition("]")[0][1:]: line.partition("] ")[2] for line in lines}
    assert days["MEM-4"] == "2026-11-20; ltm"
    assert days["MEM-5"] == "2026-11-20 Log"
    before = ""
    for name, stated in days.items():
        day = "2026-11-21" if name == "MEM-6" else "2026-11-20"
        if name not in ("MEM-4", "MEM-5"):
            assert stated == ("" if before == day else day)
        before = day


def test_what_adds_nothing_waits_behind_what_does() -> None:
    said = ("the gateway retries", "the gateway retries again", "the alarm rings")
    items = [MemoryItem(id=f"MEM-{n}", content=text, created_at="2026-01-01") for n, text in enumerate(said)]
    words = {"gateway": 1.0, "retri": 1.0, "alarm": 2.0}
    order = choose_passages(Deliverable(items, {}, words), 500)
    assert [p.ids[0] for p in order] == ["MEM-0", "MEM-2", "MEM-1"]


def test_what_ranks_first_stands_first_and_one_document_does_not_take_all() -> None:
    items = [chunk(2 * n, 20 * n + 1, f"gateway part {n}")[0] for n in range(4)]
    items.append(chunk(40, 1, "gateway elsewhere", "/w/other.md")[0])
    scores = {item.id: 1.0 - n / 100 for n, item in enumerate(items)}
    order = choose_passages(Deliverable(items, {}, {"gateway": 1.0}, scores=scores), 500)
    assert [p.ids[0] for p in order][:2] == ["MEM-0", "MEM-40"]


def test_a_cut_keeps_the_line_that_the_passage_opens_with() -> None:
    body = [f"    step {n} does little" for n in range(60)]
    body[45] = "    here the needle is threaded"
    item, place = chunk(0, 1, "\n".join(["def sew(cloth):", *body]))
    block = pack([item], {item.id: place}, analyse("threaded"), 120)
    lines = block.text.splitlines()
    assert lines[3] == " def sew(cloth):"
    assert lines[4].startswith("     step ")
    assert lines[2].startswith(f"[MEM-0] /w/guide.md:{2 + int(lines[4].split()[1])}-")
    assert "here the needle is threaded" in block.text


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
    block = pack(items, places, analyse("words"), 400, cwd="/w")
    assert set(block.ids) == {"MEM-1", "MEM-2", "MEM-9"}
    assert block.items == 1
    assert "[MEM-1+2] guide.md:1-2, 50\n first words\n second words\n […]\n third thing\n" in block.text
    head = header_lines("memory_recall", 400, 12)
    full = pack(items, places, analyse("words"), 400, frame=Full(head, 400), cwd="/w")
    assert "matched: 12" in full.text
    assert "[path:guide.md chunk:1-2 lines:1-2]" in full.text
    assert f"2 items, {full.tokens} tokens" in full.text


def test_looking_ends_when_no_more_can_find_room() -> None:
    many = [chunk(2 * n, 20 * n + 1, f"passage {n}\n" + f"words of {n} " * 40) for n in range(40)]
    assert 3 <= len(kept(*many, budget=200)) < 10


def test_small_passages_are_looked_at_until_the_room_is_full() -> None:
    many = [chunk(2 * n, 20 * n + 1, f"short statement {n}") for n in range(40)]
    assert len(kept(*many, budget=2000)) == 40
