"""Real office documents become text that is cut well and says where it stands."""

import subprocess
from io import BytesIO
from pathlib import Path
from shutil import which

import pytest

from data import documents as made
from memctl.extract import Anchor, Hidden, Limits, anchor_at, document, needs_worker
from memctl.text.chunking import chunk
from support import PATIENCE


def anchored(data: bytes, name: str) -> list[tuple[str, str]]:
    """(first line, place) of each passage."""
    found = document(data, name)
    cut = chunk(found, breaks=found.breaks)
    return [(piece.text.split("\n")[0], anchor_at(found.anchors, piece.start, piece.end)) for piece in cut]


# --- texts ------------------------------------------------------------------------------------------------------------

DOCX = """\
# Handbook

Opening words.

In a control

# Install

- first step
- second step

## Details

Item | Price
Bolt |  | steel plated

Closing words added\t[^2]

In a box

[^2]: See page 9.

Comment: Is this so?

Header: ACME internal
Footer: Version 7
"""
ODT = """\
# On the road

# Route

From   Ulm[^1]

In a box

- pack
  - socks

## Costs

What | Euro
Train | 80

[^1]: On the Danube.

Comment: Check the date

Header: Draft only
"""


@pytest.mark.parametrize(
    ("name", "text", "title", "at"), [("a.docx", DOCX, "Field & Guide", 21), ("A.ODT", ODT, "Travel", 17)]
)
def test_a_text_document_becomes_markdown(name: str, text: str, title: str, at: int) -> None:
    found = document(made.MAKERS[name[1:].lower()](), name)
    assert found.text == text
    assert (found.kind, found.title, found.lines_are_source, found.notes) == ("markdown", title, False, ())
    assert (found.anchors, found.breaks) == ((Anchor(at, "notes, headers and footers"),), (at,))
    assert anchored(made.MAKERS[name[1:].lower()](), name)[-1][1] == "notes, headers and footers"


def test_headings_of_a_word_document_are_heading_paths() -> None:
    document_ = made.lib("docx").Document()
    for level, words in ((1, "Guide"), (2, "Install")):
        document_.add_heading(words, level)
        for _ in range(3):
            document_.add_paragraph("words " * 300)
    found = document(made.saved(document_), "a.docx")
    assert chunk(found)[-1].heading == "Guide > Install"


def test_a_style_made_from_a_heading_is_a_heading() -> None:
    document_ = made.lib("docx").Document()
    style = document_.styles.add_style("Chapter", 1)
    style.base_style = document_.styles["Heading 2"]
    document_.add_paragraph("Of bolts", style="Chapter")
    assert document(made.saved(document_), "a.docx").text == "## Of bolts\n"


def test_the_same_header_of_many_sections_is_said_once() -> None:
    document_ = made.lib("docx").Document()
    for number in range(3):
        section = document_.add_section() if number else document_.sections[0]
        section.header.is_linked_to_previous = False
        section.header.paragraphs[0].text = "ACME"
        section.footer.is_linked_to_previous = False
        section.footer.paragraphs[0].text = f"Part {number}"
    text = document(made.saved(document_), "a.docx").text
    assert text == "Header: ACME\nFooter: Part 0\nFooter: Part 1\nFooter: Part 2\n"


def test_a_footnote_in_a_table_is_kept() -> None:
    data = made.odt()
    note = (
        '<text:note text:id="n2" text:note-class="footnote"><text:note-citation>2</text:note-citation>'
        "<text:note-body><text:p>By bus.</text:p></text:note-body></text:note>"
    )
    part = made.part_of(data, "content.xml").replace(b">Train<", f">Train{note}<".encode())
    text = document(made.rezipped(data, {"content.xml": part}), "a.odt").text
    assert "Train[^2] | 80\n" in text
    assert "[^2]: By bus.\n" in text


# --- slides -----------------------------------------------------------------------------------------------------------


def test_a_presentation_becomes_a_section_a_slide() -> None:
    found = document(made.pptx(), "a.pptx")
    assert found.text == (
        "# Results\n\n- Sales rose\n  - mostly abroad\n\nNotes: Thank the team\nand pause\n\n"
        "# Figures\n\nYear | Sum\n2024 | 12\n\nInside a group\n\nShare by region\n\n# Slide 3\n\nQuestions?\n"
    )
    assert found.anchors == (Anchor(1, "slide 1"), Anchor(9, "slide 2"), Anchor(18, "slide 3"))
    assert (found.kind, found.title) == ("markdown", "Quarter")
    assert anchored(made.pptx(), "a.pptx") == [("# Results", "slides 1-3")]


def test_full_slides_are_passages_of_their_own() -> None:
    deck = made.lib("pptx").Presentation()
    for number in range(3):
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = f"Topic {number}"
        slide.placeholders[1].text_frame.text = "words " * 200
    assert anchored(made.saved(deck), "a.pptx") == [(f"# Topic {n}", f"slide {n + 1}") for n in range(3)]


def test_an_odf_presentation_has_titles_lists_and_notes() -> None:
    found = document(made.odp(), "a.odp")
    assert found.text == "# Aims\n\n- be quick\n\nNotes: Speak slowly\n\n# Slide 2\n\nOnly a box\n"
    assert found.anchors == (Anchor(1, "slide 1"), Anchor(7, "slide 2"))


# --- sheets -----------------------------------------------------------------------------------------------------------


def test_a_workbook_becomes_rows_with_their_numbers() -> None:
    found = document(made.xlsx(), "a.xlsx")
    assert found.text == (
        "# Budget\nItem | Cost | When\nRent | 1200.5 | 2024-03-01\n\nSum |  | 2024-03-02 10:30:00\nDone | TRUE | 0.3\n"
    )
    assert (found.kind, found.title, found.breaks) == ("table", "Plan 2024", ())
    assert found.hidden == (Hidden(" | Ann", "sheet Salaries"),)
    assert found.notes == ("1 formula has no saved result",)
    cut = chunk(found, breaks=found.breaks)
    assert [anchor_at(found.anchors, piece.start, piece.end) for piece in cut] == [
        "sheet Budget rows 1-5",
    ]
    assert cut[0].heading == "Budget > Item | Cost | When"


def test_an_odf_spreadsheet_is_read_without_its_repetitions() -> None:
    found = document(made.ods(), "a.ods")
    assert found.text == ("# Stock\nPart | Count\nnut | 5 | 5\n\nsame\n\nend | … | far\n")
    assert found.hidden == (Hidden("gone", "sheet Old"),)
    places = [place for _, place in anchored(made.ods(), "a.ods")]
    assert places == ["sheet Stock rows 1-16"]
    assert anchor_at(found.anchors, 5, 5) == "sheet Stock row 13"


def test_each_part_of_a_long_sheet_says_its_rows_and_its_header() -> None:
    found = document(made.rows(1000), "a.xlsx")
    cut = chunk(found, breaks=found.breaks)
    assert len(cut) > 3
    assert {piece.heading for piece in cut} == {"Long > column 0 | column 1"}
    for piece in cut[1:]:
        first, last = (line.split(" |")[0][4:] for line in (piece.text.split("\n")[0], piece.text.split("\n")[-1]))
        assert anchor_at(found.anchors, piece.start, piece.end) == f"sheet Long rows {first}-{last}"


@pytest.mark.parametrize(("count", "notes"), [(10, 0), (11, 1)])
def test_rows_over_the_limit_are_left_out_and_said(count: int, notes: int) -> None:
    found = document(made.rows(count), "a.xlsx", Limits(rows=10))
    assert len(found.text.splitlines()) == 11  # with the sheet's name
    assert len(found.notes) == notes
    assert not notes or found.notes == (
        "only the first 10 rows were read, up to sheet Long (ingest.max_rows in config.json)",
    )


@pytest.mark.parametrize("name", [*(f"a{suffix}" for suffix in made.ZIPPED), "b/A.PDF", "a.eml"])
def test_what_others_read_needs_a_worker(name: str) -> None:
    assert needs_worker(name)


@pytest.mark.parametrize("name", ["a.md", "a.html", "a.ipynb", "a.csv", "docx", "a.unknown"])
def test_what_we_read_needs_none(name: str) -> None:
    assert not needs_worker(name)


# --- other producers --------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.skipif(not which("soffice"), reason="LibreOffice is not here")
@pytest.mark.parametrize(
    ("source", "target", "words"),
    [
        (
            ".docx",
            ".odt",
            ["# Handbook", "- first step", "## Details", "Item | Price", "Header: ACME"],
        ),
        (".odt", ".docx", ["# Route", "- pack", "## Costs", "What | Euro", "On the Danube.", "Header: Draft only"]),
        (".pptx", ".odp", ["# Results", "Sales rose", "Year | Sum", "Inside a group", "Thank the team"]),
        (".odp", ".pptx", ["Aims", "be quick", "Only a box"]),
        (".xlsx", ".ods", ["# Budget", "Item | Cost | When", "Rent | 1200.5"]),
        (".ods", ".xlsx", ["# Stock", "Part | Count", "nut | 5 | 5"]),
        (".docx", ".pdf", ["Handbook", "first step", "Bolt", "ACME internal"]),
    ],
)
def test_documents_of_libreoffice(tmp_path: Path, source: str, target: str, words: list[str]) -> None:
    (tmp_path / f"a{source}").write_bytes(made.MAKERS[source]())
    command = ["soffice", f"-env:UserInstallation=file://{tmp_path}/profile", "--headless", "--convert-to", target[1:]]
    subprocess.run([*command, f"a{source}"], cwd=tmp_path, check=True, capture_output=True, timeout=PATIENCE)
    text = document((tmp_path / f"a{target}").read_bytes(), f"a{target}").text
    assert [word for word in words if word not in text] == []


def test_the_makers_documents_open_in_their_own_libraries() -> None:
    assert made.lib("docx").Document(BytesIO(made.docx())).paragraphs[0].text == "Handbook"
    assert len(made.lib("pptx").Presentation(BytesIO(made.pptx())).slides) == 3
    assert made.lib("odf.opendocument").load(BytesIO(made.ods())).spreadsheet is not None
