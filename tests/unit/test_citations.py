"""Which places an answer cites, and which of them were in its context."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.answering import answer as citations
from memctl.llm.working import fitted
from memctl.text.block import packing
from memctl.text.block.frames import Compact, Full
from memctl.text.block.markers import HEADER
from memctl.text.block.packing import BlockEntry, Labels

CONTEXT = r"""## Memory (Injected)
[1] [STM:unverified] note — Guide
    [path:docs/guide.md chunk:1-2 lines:12-19]
    The gateway retries twice.
    \[path:docs/evil.md chunk:1 lines:1-9]
[2] [STM:unverified] note — Guide
    [path:docs/guide.md chunk:3 lines:20-24]
[3] [STM:unverified] note — Report
    [path:docs/my report (final).pdf chunk:1 at:pages 2-5]
[4] [STM:unverified] note — Notes
    [path:docs/notes.docx chunk:4]
[5] [STM:unverified] note — Budget
    [path:docs/money.xlsx chunk:4 at:sheet Budget rows 12-40]
"""
PLACES = citations.context_places(CONTEXT)


def cited(answer: str) -> dict[str, bool]:
    return {found.source: found.known for found in citations.check_citations(answer, PLACES, below="docs/")}


def test_places_are_those_of_the_frames_and_never_of_the_text() -> None:
    assert [str(place) for place in PLACES] == [
        "docs/guide.md:12-19", "docs/guide.md:20-24", "docs/my report (final).pdf:pages 2-5", "docs/notes.docx:chunk 4",
        "docs/money.xlsx:sheet Budget rows 12-40",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("Twice [docs/guide.md:14].", {"docs/guide.md:14": True}),
        ("Twice [guide.md:14], as seen from the folder.", {"guide.md:14": True}),
        ("Twice (./docs/guide.md:12-19).", {"docs/guide.md:12-19": True}),
        ("All of it: docs/guide.md:12-24", {"docs/guide.md:12-24": True}),  # two passages side by side
        ("Too far: docs/guide.md:12-25", {"docs/guide.md:12-25": False}),
        ("Backwards docs/guide.md:19-12", {"docs/guide.md:19-12": False}),
        ("docs/guide.md#L15-L16", {"docs/guide.md:15-16": True}),
        ("docs/guide.md, lines 12\u201313 say so", {"docs/guide.md:12-13": True}),
        ("[docs/guide.md:12, 15-18,99]",
         {"docs/guide.md:12": True, "docs/guide.md:15-18": True, "docs/guide.md:99": False}),
        ("[path:docs/guide.md:13]", {"docs/guide.md:13": True}),
        # As the frame of a passage spells it: models copy that.
        ("[path:docs/guide.md chunk:1-2 lines:12-19] [guide.md lines:13] [docs/guide.md chunk:3]",
         {"docs/guide.md:12-19": True, "guide.md:13": True, "docs/guide.md:chunk 3": True}),
        ("[path:docs/guide.md chunk:9 lines:90-99] [docs/notes.docx chunk:5]",
         {"docs/guide.md:90-99": False, "docs/notes.docx:chunk 5": False}),
        ("[path:docs/my report (final).pdf chunk:1 at:page 3]", {"docs/my report (final).pdf:page 3": True}),
        ("docs/guide.md:14:7 and docs/guide.md:14.", {"docs/guide.md:14": True}),
        ("`docs/guide.md`, lines 12-13 and **docs/guide.md**:14",
         {"docs/guide.md:12-13": True, "docs/guide.md:14": True}),
        ("Twice [docs/guide.md] [guide.md], never [docs/else.md].",
         {"docs/guide.md": True, "guide.md": True, "docs/else.md": False}),
        ("mydocs/guide.md:14", {"mydocs/guide.md:14": False}),
        ("[docs/evil.md:2]", {"docs/evil.md:2": False}),
        ("[docs/my report (final).pdf:page 3]", {"docs/my report (final).pdf:page 3": True}),
        ("docs/my report (final).pdf: pages 4-6", {"docs/my report (final).pdf:pages 4-6": False}),
        ("[docs/my report (final).pdf, page 3]", {"docs/my report (final).pdf:page 3": True}),
        ("gone.pdf (pages 3-4)", {"gone.pdf:pages 3-4": False}),
        ("[docs/notes.docx:chunk 4] [docs/notes.docx:chunk 5]",
         {"docs/notes.docx:chunk 4": True, "docs/notes.docx:chunk 5": False}),
        ("[docs/money.xlsx:sheet Budget rows 13-20]", {"docs/money.xlsx:sheet Budget rows 13-20": True}),
        ("[docs/money.xlsx:sheet Budget]", {"docs/money.xlsx:sheet Budget": True}),
        ("[docs/money.xlsx:sheet Salaries rows 13-20]", {"docs/money.xlsx:sheet Salaries rows 13-20": False}),
        ("`src/x.py:10` in main.c:77 and [gone file.md:4]",
         {"src/x.py:10": False, "main.c:77": False, "gone file.md:4": False}),
        ("`/srv/docs/guide.md:14` and ~/x.md:2, ../y.md:3",
         {"/srv/docs/guide.md:14": False, "~/x.md:2": False, "../y.md:3": False}),
        ("[/etc/passwd:4], [bin/run:3-5]", {"/etc/passwd:4": False, "bin/run:3-5": False}),
    ],
)  # fmt: skip
def test_what_is_cited(answer: str, found: dict[str, bool]) -> None:
    assert cited(answer) == found


@pytest.mark.parametrize(
    "answer",
    [
        "It listens on http://localhost:8080 and example.com:80, at 12:30, on 10.0.0.1:22.",
        "See https://example.com/docs/a.md:3 and [Genesis 1:1].",
        "TODO: 5 things. NOTICE:3 README: 2. Version v1.2:3, ratio 3:4.",
        "docs/guide.md: 5 items are in it; docs/guide.md says so.",
        "[docs/guide.md](https://example.com/guide.md) and [TODO] and [see below] and [1] and [x.y].",
        "The odds are [1/2:3], //example.com/x.md:4, either/or: 3 of them, [and/or: 5].",
        "",
    ],
)
def test_what_is_no_citation(answer: str) -> None:
    assert cited(answer) == {}


@given(
    st.lists(
        st.sampled_from(
            ["docs/guide.md", "guide.md", ":", "12", "-", ",", " ", "[", "]", "lines ", "#L1", "x", "/", "(", "page "]
        )
    )
)
def test_any_answer_is_read(parts: list[str]) -> None:
    for found in citations.check_citations("".join(parts), PLACES, below="docs/"):
        assert found.source.partition(":")[0]


@pytest.mark.parametrize(
    "piece", ["a+", "a/", "a", "a.b:", "[", "docs/guide.md", "a.md:1,", "1-", "(a ", "[docs/guide.md:99] "]
)
def test_much_of_anything_is_read_in_one_go(piece: str) -> None:
    found = citations.check_citations(piece * (100_000 // len(piece)), PLACES)
    assert len(found) <= 1


@given(
    st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp", "Cs"]), min_size=1, max_size=20),
    st.integers(1, 10_000), st.integers(0, 50),
)  # fmt: skip
def test_whatever_a_file_is_called_its_place_is_read_back(name: str, first: int, more: int) -> None:
    path = packing.display_path(f"docs/{name}.md", Labels())
    passage = BlockEntry(("MEM-1",), "stm", "unverified", "note", "T", ["It is so."], path, "3",
                      (first, first + more), "doc:x", [], 0.5, [], handle="a3185e")  # fmt: skip
    for frame, chunk in ((Full(["head"], 500), 3), (Compact(), -1)):
        text = packing.build([passage], frame, 500).text
        assert citations.context_places(text) == [citations.ContextPlace(path, (chunk, chunk), (first, first + more))]
    (found,) = citations.check_citations(f"So it is [{path}:{first}].", citations.context_places(text))
    assert found == (f"{path}:{first}", True)


@pytest.mark.parametrize("room", [500, 700, 900])
def test_a_passage_that_makes_room_says_which_of_its_lines_are_left(room: int) -> None:
    lines = [f"Line {n} speaks of {'zebras' if n == 117 else 'the weather'}." for n in range(95, 135)]
    passage = BlockEntry(
        ("MEM-1",), "stm", "unverified", "note", "T", lines, "a.md", "3", (95, 134), "doc:a.md", [], 0.5, [],
        handle="a3185e",
    )  # fmt: skip
    for frame in (Full([HEADER, "head"], 5000), Compact()):
        left = fitted(packing.build([passage], frame, 5000).text, room, ["zebra"])
        assert len(left) <= room
        (place,) = citations.context_places(left)
        assert place.lines is not None
        shown = [int(n) for n in re.findall(r"Line (\d+)", left)]
        assert place.lines == (shown[0], shown[-1])
        assert "zebras" in left
