"""Where a passage stands in a file: anchors, the borders no passage goes across, and rows that are never torn."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.extract import Anchor, Document, Limits, Unreadable, anchor_at
from memctl.extract.writer import EMPTY, DocumentWriter, row_of
from memctl.text.chunking import chunk

PAGES = (Anchor(1, "page 1"), Anchor(5, "page 2"), Anchor(9, "page 4"))
SHEETS = (
    Anchor(1, "sheet Budget"),
    Anchor(2, "sheet Budget", 1),
    Anchor(6, "sheet Budget", 12),
    Anchor(10, "hidden sheet Old"),
    Anchor(11, "hidden sheet Old", 3),
)
MAIL = (Anchor(4, "attachment a.txt"), Anchor(9, "attachment b.txt"))


@pytest.mark.parametrize(
    ("anchors", "first", "last", "place"),
    [
        (PAGES, 1, 1, "page 1"),
        (PAGES, 2, 4, "page 1"),
        (PAGES, 4, 5, "pages 1-2"),
        (PAGES, 6, 30, "pages 2-4"),
        (SHEETS, 1, 1, "sheet Budget"),
        (SHEETS, 1, 2, "sheet Budget row 1"),
        (SHEETS, 2, 4, "sheet Budget rows 1-3"),
        (SHEETS, 3, 7, "sheet Budget rows 2-13"),
        (SHEETS, 6, 6, "sheet Budget row 12"),
        (SHEETS, 10, 12, "hidden sheet Old rows 3-4"),
        (SHEETS, 7, 11, "sheet Budget to hidden sheet Old"),
        (MAIL, 1, 3, ""),
        (MAIL, 1, 5, "attachment a.txt"),
        (MAIL, 4, 10, "attachment a.txt to attachment b.txt"),
        ((), 1, 100, ""),
    ],
)
def test_a_range_of_lines_has_a_place(anchors: tuple[Anchor, ...], first: int, last: int, place: str) -> None:
    assert anchor_at(anchors, first, last) == place


def made(*steps: tuple[str, str, bool]) -> Document:
    writer = DocumentWriter("a.x", Limits())
    for place, text, apart in steps:
        writer.begin_place(place, apart=apart)
        writer.add(text)
    return writer.document("text")


def test_an_anchor_is_at_the_first_line_of_what_it_names() -> None:
    found = made(("page 1", "one\ntwo", False), ("page 2", "", False), ("page 3", "three\r\nfour\ffive", True))
    assert found.text == "one\ntwo\n\nthree\nfour\nfive\n"
    assert found.anchors == (Anchor(1, "page 1"), Anchor(4, "page 3"))
    assert found.breaks == (4,)
    assert not found.lines_are_source


def test_more_text_than_the_limit_is_refused() -> None:
    writer = DocumentWriter("a.x", Limits(expanded=10))
    writer.add("12345")
    with pytest.raises(Unreadable, match=r"a\.x: it holds more text than the limit"):
        writer.add("123456")


@pytest.mark.parametrize(
    ("cells", "row"),
    [
        (["a", "b"], "a | b"),
        (["", "a", "", ""], " | a"),
        (["a\n b", " c\t"], "a b | c"),
        (["a", *[""] * EMPTY, "b"], "a |" + "  |" * EMPTY + " b"),
        (["a", *[""] * (EMPTY + 1), "b"], "a | … | b"),
        ([""] * 99, ""),
    ],
)
def test_a_row_is_one_line(cells: list[str], row: str) -> None:
    assert row_of(cells) == row


SAFE = st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("\n\r\f\v\0\u2028"), max_size=20)


@given(st.lists(st.tuples(SAFE, st.booleans()), max_size=12))
def test_every_block_stands_at_its_place(blocks: list[tuple[str, bool]]) -> None:
    found = made(*((f"page {n}", text, apart) for n, (text, apart) in enumerate(blocks)))
    lines = found.text.split("\n")
    for anchor in found.anchors:
        words = blocks[int(anchor.place[5:])][0].replace("\0", "").split()
        here = anchor_at(found.anchors, anchor.line, anchor.line)
        assert here == anchor.place
        assert words[:1] == lines[anchor.line - 1].split()[:1] or not lines[anchor.line - 1].split()
    assert set(found.breaks) <= {anchor.line for anchor in found.anchors}


# --- borders ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["markdown", "rst", "text", "code", "data", "table"])
def test_no_passage_goes_across_a_break(kind: str) -> None:
    text = "# A\n\none\n\n# B\n\ntwo\n\nthree\n"
    assert [(p.start, p.end) for p in chunk(text, kind=kind)] == [(1, 9)]
    cut = chunk(text, kind=kind, breaks=(5, 9))
    assert [(p.text, p.start, p.end) for p in cut] == [("# A\n\none", 1, 3), ("# B\n\ntwo", 5, 7), ("three", 9, 9)]


def test_a_heading_path_ends_at_a_break() -> None:
    text = "# A\n\n" + "words here. " * 300 + "\n\n" + "more words. " * 300 + "\n"
    assert [p.heading for p in chunk(text, kind="markdown")][1:] != [""]
    assert chunk(text, kind="markdown", breaks=(5,))[-1].heading == ""


@given(SAFE, st.lists(st.integers(1, 12), max_size=4), st.sampled_from(["markdown", "text", "table"]))
def test_breaks_lose_nothing(text: str, breaks: list[int], kind: str) -> None:
    lines = text.split("\n")
    for piece in chunk(text, kind=kind, breaks=sorted(breaks)):
        assert piece.text == "\n".join(lines[piece.start - 1 : piece.end])
        assert not [at for at in breaks if piece.start < at <= piece.end]
    words = " ".join(piece.text for piece in chunk(text, kind=kind, breaks=sorted(breaks)))
    assert words.split() == text.split()


@pytest.mark.parametrize(
    ("text", "heading"),
    [
        ("a,b\n1,2\n", "a,b"),
        ("# Budget\nItem | Cost\nRent | 5\n", "Budget > Item | Cost"),
        ("\n\n# Budget\n", "Budget"),
        ("# " + "x" * 300 + "\n" + "y" * 300, "x" * 120 + " > " + "y" * 120),
    ],
)
def test_the_heading_of_a_table_is_its_header_row(text: str, heading: str) -> None:
    assert chunk(text, kind="table")[0].heading == heading


def test_a_row_with_a_quoted_line_break_is_not_torn() -> None:
    rows = ["id;text", *(f'{n};"first line of row {n}\nsecond ""line""\nthird; line"' for n in range(400))]
    text = "\n".join(rows) + "\n"
    cut = chunk(text, kind="table")
    assert len(cut) > 5
    assert all(piece.text.count('"') % 2 == 0 for piece in cut)
    assert "\n".join(piece.text for piece in cut) + "\n" == text


def test_an_inch_sign_is_no_quoted_field() -> None:
    text = "size,name\n" + '5" pipe,a\n6",b\nplain,c\n' * 300
    assert [p.text.count("\n") for p in chunk(text, kind="table")] == [
        p.text.count("\n") for p in chunk(text.replace('"', "x"), kind="table")
    ]
