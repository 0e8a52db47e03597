"""The structure block: its documented form, and that no name and no budget can break it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.config import InspectConfig
from memctl.ingest.inspect import ReportedFile, StructureReport, make_tree, tree_lines
from memctl.text.block.folder_structure import size_text
from memctl.text.block.markers import STRUCTURE as HEADER
from memctl.text.block.markers import TRUNCATED
from support import golden

SYNC = {"mount_id": "MNT-1", "label": "d1", "last_sync_at": "2026-11-20T12:34:56.000000+00:00", "stale": False}


def file(path: str, chunks: int = 1, size: int = 37) -> ReportedFile:
    folder, _, name = path.rpartition("/")
    dot = name.rfind(".")
    return ReportedFile(folder or ".", name, size, chunks, name[dot:] if dot > 0 else "(none)", "markdown")


def made(files: list[ReportedFile], label: str = "d1") -> StructureReport:
    return StructureReport(files, label, InspectConfig())


DOCUMENTED = """\
## Structure (Injected)
format_version: 1
injection_type: structure_inspect
mount: d1

Total files: 4
Total chunks: 3
Total size: 111 B

Folders:
- sub/ (3 files, 3 chunks, 111 B)
- ./ (1 files, 0 chunks, unknown)

Largest files:
- sub/f1.md (37 B, 1 chunks)
- sub/f2.md (37 B, 1 chunks)
- sub/f3.md (37 B, 1 chunks)
- empty.txt (unknown, 0 chunks)

Extensions:
- .md: 3
- .txt: 1

Observations:
- sub/ dominates content (100% of chunks)
- .md files dominate (75% of all files)"""
SMALL = [file("empty.txt", 0, 0), file("sub/f1.md"), file("sub/f2.md"), file("sub/f3.md")]


def test_the_documented_block_comes_first() -> None:
    report = made(SMALL)
    report.note_syncs([SYNC])
    exact = (len(DOCUMENTED) + 1 + 3) // 4
    assert report.block(exact) == DOCUMENTED
    assert (
        report.block(2200)
        == DOCUMENTED
        + """

Staleness:
- d1: synced 2026-11-20 12:34 UTC, up to date

Languages:
- markdown (4 files, 3 chunks, 111 B)

Tree:
- sub/ (3 files, 3 chunks)
  - f1.md (1 chunk)
  - f2.md (1 chunk)
  - f3.md (1 chunk)
- empty.txt (0 chunks)"""
    )


@pytest.mark.parametrize("label", ["d1", "d12", "d123", "d1234"])
def test_one_token_less_shortens_it_and_says_so(label: str) -> None:
    """Whatever its length is modulo four; the line break at the end costs too."""
    whole = DOCUMENTED.replace("mount: d1", f"mount: {label}")
    exact = -(-(len(whole) + 1) // 4)
    assert made(SMALL, label).block(exact) == whole
    text = made(SMALL, label).block(exact - 1)
    assert text.startswith(whole.partition("Folders:")[0])
    assert text.endswith("\n" + TRUNCATED)


def test_the_whole_store_has_no_mount_line() -> None:
    assert "mount:" not in made(SMALL, "").block(2200)


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (SYNC | {"stale": True}, "- d1: synced 2026-11-20 12:34 UTC, files have changed since"),
        (SYNC | {"stale": None}, "- d1: synced 2026-11-20 12:34 UTC, not compared with the folder"),
        (SYNC | {"stale": None, "last_sync_at": None}, "- d1: never synced"),
    ],
)
def test_staleness_in_words(state: dict[str, Any], said: str) -> None:
    report = made(SMALL)
    report.note_syncs([state])
    assert said in report.block(2200).splitlines()


def test_no_files() -> None:
    assert made([]).block(2200) == "## Structure (Injected)\nNo files found."
    assert [made([]).block(n) for n in (0, 3, 4, 9, 10)] == [
        "", "", TRUNCATED, TRUNCATED, f"{HEADER}\nNo files found."
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("size", "said"),
    [(-1, "unknown"), (0, "unknown"), (1, "1 B"), (1023, "1023 B"), (1024, "1.0 KB"), (1536, "1.5 KB"),
     (1024 * 1024 - 1, "1024.0 KB"), (1024 * 1024, "1.0 MB"), (3 * 2**30, "3072.0 MB")],
)  # fmt: skip
def test_sizes(size: int, said: str) -> None:
    assert size_text(size) == said


WIDE = [file(f"pkg{n % 40:02}/part{n % 3}/file{n:04}.md", n % 7) for n in range(2000)] + [
    file(f"root{n}.x{n}") for n in range(90)
]


def test_a_large_folder_in_a_small_budget() -> None:
    text = made(WIDE).block(700)
    assert 2300 < len(text) < 2800  # it uses what it has
    for title in ("Folders:", "Largest files:", "Extensions:", "Tree:"):
        assert f"\n\n{title}\n- " in text
    golden("inspect-large", text + "\n")


@pytest.mark.parametrize("budget", [300, 700, 900, 5000])
def test_equal_stores_give_equal_blocks(budget: int) -> None:
    assert made(WIDE).block(budget) == made(WIDE[::-1]).block(budget)


# --- the tree -----------------------------------------------------------------------------------------------------


def grown(*files: tuple[str, int], room: int = 10_000) -> list[str]:
    return tree_lines(make_tree((*path.rpartition("/")[::2], chunks) for path, chunks in files), room)


def test_folders_come_first_and_lonely_ones_share_a_line() -> None:
    assert grown(("z.md", 9), ("src/main/java/org/A.java", 2), ("src/main/java/org/B.java", 1), ("b/c/d.md", 3)) == [
        "- b/c/ (1 file, 3 chunks)",
        "  - d.md (3 chunks)",
        "- src/main/java/org/ (2 files, 3 chunks)",
        "  - A.java (2 chunks)",
        "  - B.java (1 chunk)",
        "- z.md (9 chunks)",
    ]


def test_what_holds_most_is_open_and_the_rest_is_counted() -> None:
    files = [(f"wide/{n:03}.md", 1) for n in range(400)] + [("deep/a.md", 90), ("deep/b.md", 60)]
    found = grown(*files, room=170)
    assert found == [
        "- deep/ (2 files, 150 chunks)",
        "  - a.md (90 chunks)",
        "  - b.md (60 chunks)",
        "- wide/ (400 files, 400 chunks)",
        "  - 000.md (1 chunk)",
        "  - … and 399 more files (399 chunks)",
    ]


def test_a_file_and_a_folder_of_one_name() -> None:
    assert grown(("a/x.md", 1), ("a", 2)) == ["- a/ (1 file, 1 chunk)", "  - x.md (1 chunk)", "- a (2 chunks)"]


def test_a_path_a_thousand_folders_deep() -> None:
    deep = "/".join(["d"] * 1000)
    many = [("/".join(["d", "e"] * n) + "/f.md", 1) for n in range(1, 500)]
    assert grown((f"{deep}/a.md", 1))[0].endswith("…/ (1 file, 1 chunk)")
    assert len("\n".join(grown(*many, room=100_000))) < 100_000


NAME = st.one_of(
    st.sampled_from(
        ["a", "b", "docs", "\n", "x\n## Structure (Injected)", "\x1b[2J", "--- End Memory (", "\u202e", "…"]
    ),
    st.text(min_size=1, max_size=12).filter(lambda name: "/" not in name),
    st.just("n" * 300),
)
PATH = st.lists(NAME, min_size=1, max_size=5).map("/".join)
FILES = st.lists(st.builds(file, PATH, st.integers(0, 50), st.integers(0, 5000)), max_size=40)


@given(FILES, NAME, st.one_of(st.integers(-2, 60), st.integers(0, 1500)))
def test_whatever_files_are_called_the_block_keeps_its_budget_and_its_shape(
    files: list[ReportedFile], label: str, budget: int
) -> None:
    report = made(files, label)
    report.note_syncs([SYNC | {"label": label}])
    text = report.block(budget)
    assert text == "" or len(text) + 1 <= 4 * budget
    assert budget < 4 or text
    assert text.isascii() or not {"\u2028", "\x85", "\u202e"} & set(text)
    known = ("format_version: 1", "injection_type: ", "mount: ", "Total ", "- ", "  ", "No files found.")
    titles = ("Folders:", "Largest files:", "Extensions:", "Observations:", "Staleness:", "Languages:", "Tree:")
    for number, line in enumerate(text.split("\n")):
        assert line in ("", TRUNCATED, *titles) or line.startswith(known) or (line, number) == (HEADER, 0)


@given(FILES, st.integers(-5, 2000))
def test_the_tree_counts_every_file_once(files: list[ReportedFile], room: int) -> None:
    once = {(f.folder, f.name): f for f in files}.values()
    found = tree_lines(make_tree(("" if f.folder == "." else f.folder, f.name, f.chunks) for f in once), room)
    assert sum(len(line) + 1 for line in found) <= max(room, 0)
    if found:
        top = [line for line in found if line.startswith("- ")]
        assert sum(map(chunks_in, top)) == sum(f.chunks for f in once)


def chunks_in(line: str) -> int:
    return int(line.rpartition(" chunk")[0].rpartition(" ")[2].lstrip("("))
