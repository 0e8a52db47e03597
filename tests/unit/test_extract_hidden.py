"""Text that documents hide is read as such: sixty ways of hiding it, and ways that only look like it."""

from collections.abc import Callable
from typing import Any

import pytest

from data.documents import _odf, lib, pdf, saved
from memctl.extract import Document, Unreadable, document

SEEN = "Seen words"
MARK = "zebra marker"
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def html(inside: str, head: str = "") -> bytes:
    return f"<html><head>{head}</head><body><p>{SEEN}</p>{inside}<p>End</p></body></html>".encode()


def styled(style: str) -> bytes:
    return html(f'<div style="{style}">{MARK}</div>')


def markdown(inside: str) -> bytes:
    return f"# Guide\n\n{SEEN} {inside} more.\n".encode()


def word(run: str = "", paragraph: str = "", change: Callable[[Any], None] | None = None) -> bytes:
    made = lib("docx").Document()
    made.add_paragraph(SEEN)
    xml = f"<w:p {W}>{paragraph}<w:r><w:rPr>{run}</w:rPr><w:t>{MARK}</w:t></w:r></w:p>"
    made.element.body.insert(1, lib("docx.oxml").parse_xml(xml))
    if change:
        change(made)
    return saved(made)


def word_style(kind: str, look: str, based: str = "") -> bytes:
    """A document with a style, and one based on it, which is used."""

    def change(made: Any) -> None:
        parse = lib("docx.oxml").parse_xml
        for name, base, inside in (("Ghost0", "", look), ("Ghost", "Ghost0", based)):
            on = f'<w:basedOn w:val="{base}"/>' if base else ""
            props = f"<w:rPr>{inside}</w:rPr>" if inside else ""
            xml = f'<w:style {W} w:type="{kind}" w:styleId="{name}"><w:name w:val="{name}"/>{on}{props}</w:style>'
            made.styles.element.append(parse(xml))

    if kind == "character":
        return word(run='<w:rStyle w:val="Ghost"/>', change=change)
    return word(paragraph='<w:pPr><w:pStyle w:val="Ghost"/></w:pPr>', change=change)


def word_table(row: str = "", cell: str = "", run: str = "") -> bytes:
    def change(made: Any) -> None:
        xml = (
            f"<w:tbl {W}><w:tr><w:trPr>{row}</w:trPr><w:tc><w:tcPr>{cell}</w:tcPr><w:p><w:r><w:rPr>{run}</w:rPr>"
            f"<w:t>{MARK}</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"
        )
        made.element.body.remove(made.element.body[1])
        made.element.body.insert(1, lib("docx.oxml").parse_xml(xml))

    return word(change=change)


def word_header() -> bytes:
    def change(made: Any) -> None:
        paragraph = made.sections[0].header.paragraphs[0]
        paragraph.add_run(MARK).font.hidden = True
        made.element.body.remove(made.element.body[1])

    return word(change=change)


def show(change: Callable[[Any, Any, Any], None]) -> bytes:
    """A presentation of two slides; `change` is given the second one, a text box on it with a run, and that."""
    made, inches = lib("pptx").Presentation(), lib("pptx.util").Inches
    first = made.slides.add_slide(made.slide_layouts[5])
    first.shapes.title.text = SEEN
    second = made.slides.add_slide(made.slide_layouts[6])
    box = second.shapes.add_textbox(inches(1), inches(1), inches(3), inches(1))
    run = box.text_frame.paragraphs[0].add_run()
    run.text = MARK
    change(second, box, run)
    return saved(made)


def coloured(fill: str, more: str = "", size: str = "") -> Callable[[Any, Any, Any], None]:
    def change(_slide: Any, _box: Any, run: Any) -> None:
        space = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
        xml = f"<a:rPr {space} {size}>{fill}{more}</a:rPr>"
        for old in [one for one in run._r if one.tag.endswith("}rPr")]:
            run._r.remove(old)
        run._r.insert(0, lib("pptx.oxml").parse_xml(xml))

    return change


def moved(slide: Any, box: Any, run: Any) -> None:
    box.left = lib("pptx.util").Inches(-9)


def book(change: Callable[[Any, Any], None], at: str = "B3") -> bytes:
    """A workbook with a mark in a cell of its second sheet."""
    made = lib("openpyxl").Workbook()
    made.active["A1"] = SEEN
    sheet = made.create_sheet("Data")
    sheet["A1"], sheet[at] = "Item", MARK
    change(made, sheet)
    return saved(made)


def cell_look(**look: Any) -> Callable[[Any, Any], None]:
    def change(_made: Any, sheet: Any) -> None:
        for name, value in look.items():
            setattr(sheet["B3"], name, value)

    return change


def font(**look: Any) -> Any:
    return lib("openpyxl.styles").Font(**look)


def setting(part: str, **look: object) -> Callable[[Any, Any], None]:
    """A change of a row or a column."""

    def change(_made: Any, sheet: Any) -> None:
        key = 3 if part == "row_dimensions" else "B"
        for name, value in look.items():
            setattr(getattr(sheet, part)[key], name, value)

    return change


def state(value: str) -> Callable[[Any, Any], None]:
    return lambda _made, sheet: setattr(sheet, "sheet_state", value)


def writer(family: str = "text", more: Callable[[Any, Any], None] | None = None, **look: Any) -> bytes:
    """An .odt file with a mark in a span, or a paragraph, of a style."""
    text, style = lib("odf.text"), lib("odf.style")
    made = lib("odf.opendocument").OpenDocumentText()
    ghost = style.Style(name="T1", family=family)
    ghost.addElement(style.TextProperties(**look))
    made.automaticstyles.addElement(ghost)
    made.text.addElement(text.P(text=SEEN))
    if more:
        more(made, text)
    elif family == "paragraph":
        made.text.addElement(text.P(text=MARK, stylename="T1"))
    else:
        paragraph = text.P(text="Some ")
        paragraph.addElement(text.Span(text=MARK, stylename="T1"))
        made.text.addElement(paragraph)
    return _odf(made)


def section(made: Any, text: Any) -> None:
    part = text.Section(name="s", display="none")
    part.addElement(text.P(text=MARK))
    made.text.addElement(part)


def hidden_field(made: Any, text: Any) -> None:
    paragraph = text.P(text="Some ")
    paragraph.addElement(text.HiddenText(condition="true", stringvalue=MARK, ishidden="true"))
    made.text.addElement(paragraph)


def odf_row(made: Any, text: Any) -> None:
    table = lib("odf.table")
    grid = table.Table(name="T")
    row = table.TableRow(visibility="collapse")
    cell = table.TableCell()
    cell.addElement(text.P(text=MARK))
    row.addElement(cell)
    grid.addElement(row)
    made.text.addElement(grid)


def impress() -> bytes:
    """An .odp file whose second slide is hidden."""
    text, draw, style = lib("odf.text"), lib("odf.draw"), lib("odf.style")
    made = lib("odf.opendocument").OpenDocumentPresentation()
    layout = style.PageLayout(name="pm")
    made.automaticstyles.addElement(layout)
    off = style.Style(name="dp1", family="drawing-page")
    off.addElement(style.DrawingPageProperties(visibility="hidden"))
    made.automaticstyles.addElement(off)
    master = style.MasterPage(name="m", pagelayoutname=layout)
    made.masterstyles.addElement(master)
    for name, words, more in (("a", SEEN, {}), ("b", MARK, {"stylename": "dp1"})):
        page, frame, box = draw.Page(masterpagename=master, name=name, **more), draw.Frame(), draw.TextBox()
        box.addElement(text.P(text=words))
        frame.addElement(box)
        page.addElement(frame)
        made.presentation.addElement(page)
    return _odf(made)


def calc(column: str = "", row: str = "", white: bool = False) -> bytes:
    """An .ods file with a mark in the second column of the second row."""
    text, table, style = lib("odf.text"), lib("odf.table"), lib("odf.style")
    made = lib("odf.opendocument").OpenDocumentSpreadsheet()
    ghost = style.Style(name="ce1", family="table-cell")
    ghost.addElement(style.TextProperties(color="#ffffff"))
    made.automaticstyles.addElement(ghost)
    grid = table.Table(name="Data")
    grid.addElement(table.TableColumn())
    grid.addElement(table.TableColumn(**({"visibility": column} if column else {})))
    for words, more in (((SEEN, "Count"), {}), (("nut", MARK), {"visibility": row} if row else {})):
        line = table.TableRow(**more)
        for word_ in words:
            cell = table.TableCell(**({"stylename": "ce1"} if white and word_ == MARK else {}))
            cell.addElement(text.P(text=word_))
            line.addElement(cell)
        grid.addElement(line)
    made.spreadsheet.addElement(grid)
    return _odf(made)


def page(drawn: str, resources: str = "") -> bytes:
    """A PDF of one page with words, and what else is drawn on it."""
    made = pdf("X")
    old = b"BT /F1 12 Tf 14 TL 72 720 Td\n(X) Tj T*\nET"
    new = f"BT /F1 12 Tf 14 TL 72 720 Td\n({SEEN}) Tj T*\nET\n{drawn}".encode()
    made = made.replace(b"/Length %d " % len(old), b"/Length %d " % len(new)).replace(old, new)
    return made.replace(b"/Font <<", f"{resources} /Font <<".encode())


def said(setup: str, at: str = "72 600 Td") -> str:
    return f"BT {setup} /F1 12 Tf {at} ({MARK}) Tj ET"


PRINT = "<style>@media print{.x{display:none}}</style>"
DARK = '<w:shd w:val="clear" w:fill="000080"/>'
WHITE = '<w:color w:val="FFFFFF"/>'
SOLID = '<a:solidFill><a:{} val="{}"/></a:solidFill>'

#: Sixty ways: name of the file, and what is in it.
HIDDEN: dict[str, tuple[str, Callable[[], bytes]]] = {
    "html display none": ("a.html", lambda: styled("display:none")),
    "html display none important": ("a.html", lambda: styled("DISPLAY : none !important")),
    "html visibility hidden": ("a.html", lambda: styled("visibility: hidden")),
    "html hidden attribute": ("a.html", lambda: html(f"<p hidden>{MARK}</p>")),
    "html hidden by a class": (
        "a.html",
        lambda: html(f'<p class="a x">{MARK}</p>', "<style>p.x{display:none}</style>"),
    ),
    "html hidden by an id": ("a.html", lambda: html(f'<p id="x">{MARK}</p>', "<style>#x{opacity:0}</style>")),
    "html opacity 0": ("a.html", lambda: styled("opacity:0.0")),
    "html font size 0": ("a.html", lambda: styled("font-size:0px")),
    "html font size 1px": ("a.html", lambda: styled("font-size:1px")),
    "html off screen left": ("a.html", lambda: styled("position:absolute; left:-9999px")),
    "html off screen top": ("a.html", lambda: styled("position:fixed;top:-200em")),
    "html text indent": ("a.html", lambda: styled("text-indent:-9999px")),
    "html transparent": ("a.html", lambda: styled("color:transparent")),
    "html alpha 0": ("a.html", lambda: styled("color:rgba(0, 0, 0, 0)")),
    "html white": ("a.html", lambda: styled("color:#FFFFFF")),
    "html font white": ("a.html", lambda: html(f'<font color="white">{MARK}</font>')),
    "html colour of its background": ("a.html", lambda: styled("color:#123456;background-color:#123456")),
    "html no height": ("a.html", lambda: styled("height:0;overflow:hidden")),
    "html clipped": ("a.html", lambda: styled("clip: rect(0,0,0,0); position:absolute")),
    "html within": ("a.html", lambda: html(f"<div hidden><ul><li>one<li><b>{MARK}</b></ul></div>")),
    "html closed dialog": ("a.html", lambda: html(f"<dialog>{MARK}</dialog>")),
    "markdown comment": ("a.md", lambda: markdown(f"<!-- {MARK} -->")),
    "markdown comment of lines": ("a.md", lambda: markdown(f"\n\n<!--\n{MARK}\n-->\n\n")),
    "markdown definition as comment": ("a.md", lambda: markdown(f"\n\n[//]: # ({MARK})\n\n")),
    "markdown hidden element": ("a.md", lambda: markdown(f'<span style="display:none">{MARK}</span>')),
    "markdown hidden attribute": ("a.md", lambda: markdown(f"<div hidden>{MARK}</div>")),
    "mail html": ("a.eml", lambda: b"Subject: x\nContent-Type: text/html\n\n" + styled("display:none")),
    "docx vanish": ("a.docx", lambda: word("<w:vanish/>")),
    "docx character style": ("a.docx", lambda: word_style("character", "<w:vanish/>")),
    "docx paragraph style": ("a.docx", lambda: word_style("paragraph", "<w:vanish/>")),
    "docx white": ("a.docx", lambda: word(WHITE)),
    "docx nearly white": ("a.docx", lambda: word('<w:color w:val="FEFEFE"/>')),
    "docx colour of the page": ("a.docx", lambda: word('<w:color w:val="auto" w:themeColor="background1"/>')),
    "docx white style": ("a.docx", lambda: word_style("paragraph", WHITE)),
    "docx 1 pt": ("a.docx", lambda: word('<w:sz w:val="2"/>')),
    "docx hidden row": ("a.docx", lambda: word_table(row="<w:hidden/>")),
    "docx white cell": ("a.docx", lambda: word_table(run=WHITE)),
    "docx header": ("a.docx", word_header),
    "pptx hidden slide": ("a.pptx", lambda: show(lambda slide, _box, _run: slide.element.set("show", "0"))),
    "pptx hidden shape": (
        "a.pptx",
        lambda: show(lambda _slide, box, _run: box._element.nvSpPr.cNvPr.set("hidden", "1")),
    ),
    "pptx beside the slide": ("a.pptx", lambda: show(moved)),
    "pptx white": ("a.pptx", lambda: show(coloured(SOLID.format("srgbClr", "FFFFFF")))),
    "pptx colour of the slide": ("a.pptx", lambda: show(coloured(SOLID.format("schemeClr", "bg1")))),
    "pptx 1 pt": ("a.pptx", lambda: show(coloured("", size='sz="100"'))),
    "xlsx hidden sheet": ("a.xlsx", lambda: book(state("hidden"))),
    "xlsx very hidden sheet": ("a.xlsx", lambda: book(state("veryHidden"))),
    "xlsx hidden row": ("a.xlsx", lambda: book(setting("row_dimensions", hidden=True))),
    "xlsx row of no height": ("a.xlsx", lambda: book(setting("row_dimensions", height=0.5))),
    "xlsx hidden column": ("a.xlsx", lambda: book(setting("column_dimensions", hidden=True))),
    "xlsx column of no width": ("a.xlsx", lambda: book(setting("column_dimensions", width=0.1))),
    "xlsx white": ("a.xlsx", lambda: book(cell_look(font=font(color="FFFFFFFF")))),
    "xlsx 1 pt": ("a.xlsx", lambda: book(cell_look(font=font(sz=1)))),
    "xlsx format of nothing": ("a.xlsx", lambda: book(cell_look(number_format=";;;"))),
    "odt not shown": ("a.odt", lambda: writer(display="none")),
    "odt paragraph not shown": ("a.odt", lambda: writer("paragraph", display="none")),
    "odt white": ("a.odt", lambda: writer(color="#ffffff")),
    "odt 1 pt": ("a.odt", lambda: writer(fontsize="1pt")),
    "odt hidden section": ("a.odt", lambda: writer(more=section)),
    "odt hidden field": ("a.odt", lambda: writer(more=hidden_field)),
    "odt hidden row": ("a.odt", lambda: writer(more=odf_row)),
    "odp hidden slide": ("a.odp", impress),
    "ods hidden column": ("a.ods", lambda: calc(column="collapse")),
    "ods hidden row": ("a.ods", lambda: calc(row="filter")),
    "ods white": ("a.ods", lambda: calc(white=True)),
    "pdf render mode 3": ("a.pdf", lambda: page(said("3 Tr"))),
    "pdf white": ("a.pdf", lambda: page(said("1 1 1 rg"))),
    "pdf white gray": ("a.pdf", lambda: page(said("1 g"))),
    "pdf white cmyk": ("a.pdf", lambda: page(said("0 0 0 0 k"))),
    "pdf beside the page": ("a.pdf", lambda: page(said("", "72 2000 Td"))),
    "pdf tiny": ("a.pdf", lambda: page(f"BT /F1 1 Tf 72 600 Td ({MARK}) Tj ET")),
    "pdf scaled down": ("a.pdf", lambda: page(f"q .05 0 0 .05 0 0 cm {said('')} Q")),
    "pdf see-through": ("a.pdf", lambda: page(f"/G gs {said('')}", "/ExtGState << /G << /ca 0 >> >>")),
}

#: What looks like it, and can be seen.
SHOWN: dict[str, tuple[str, Callable[[], bytes]]] = {
    "html white on dark": ("a.html", lambda: html(f'<p style="background:#000"><b style="color:#fff">{MARK}</b></p>')),
    "html white on its own background": ("a.html", lambda: styled("color:#fff;background-color:navy")),
    "html cell with a colour": ("a.html", lambda: html(f'<table bgcolor="#003"><td style="color:#fff">{MARK}</table>')),
    "html print only": ("a.html", lambda: html(f'<p class="x">{MARK}</p>', PRINT)),
    "html page that a script shows": ("a.html", f'<body style="opacity:0"><p>{SEEN}</p>{MARK}</body>'.encode),
    "html after a hidden item": ("a.html", lambda: html(f"<ul><li hidden>x<li>{MARK}</ul>")),
    "html after a hidden paragraph": ("a.html", lambda: html(f"<div><p hidden>x</div>{MARK}")),
    "html half see-through": ("a.html", lambda: styled("opacity:.5; left:-2px; position:relative")),
    "markdown code": ("a.md", lambda: markdown(f"\n\n```html\n<!-- {MARK} -->\n```\n\n")),
    "markdown code in a line": ("a.md", lambda: markdown(f"`<!-- {MARK} -->`")),
    "markdown without an end": ("a.md", lambda: markdown(f"<!-- {MARK}")),
    "docx not vanished": ("a.docx", lambda: word('<w:vanish w:val="0"/>')),
    "docx white on shading": ("a.docx", lambda: word(WHITE + '<w:shd w:val="clear" w:fill="000080"/>')),
    "docx white highlighted": ("a.docx", lambda: word(WHITE + '<w:highlight w:val="black"/>')),
    "docx white in a dark cell": ("a.docx", lambda: word_table(cell=DARK, run=WHITE)),
    "docx style that shows again": ("a.docx", lambda: word_style("character", "<w:vanish/>", '<w:vanish w:val="0"/>')),
    "pptx black": ("a.pptx", lambda: show(coloured(SOLID.format("srgbClr", "000000")))),
    "xlsx white on dark": ("a.xlsx", lambda: book(cell_look(
        font=font(color="FFFFFFFF"), fill=lib("openpyxl.styles").PatternFill("solid", fgColor="FF000080")))),
    "odt white on a background": ("a.odt", lambda: writer(color="#ffffff", backgroundcolor="#000080")),
    "pdf white on black": ("a.pdf", lambda: page(f"0 g 60 590 300 30 re f {said('1 g')}")),
    "pdf white on a picture": ("a.pdf", lambda: page(f"q 500 0 0 500 50 300 cm /Im Do Q {said('1 g')}")),
}  # fmt: skip


def read(name: str, data: bytes) -> Document:
    try:
        return document(data, name)
    except Unreadable as exc:
        if exc.fields.get("lacking"):
            pytest.skip(str(exc))
        raise


def test_there_are_sixty_ways() -> None:
    assert len(HIDDEN) >= 60


@pytest.mark.parametrize("way", HIDDEN)
def test_hidden_text_is_read_apart(way: str) -> None:
    name, make = HIDDEN[way]
    found = read(name, make())
    assert MARK not in found.text
    assert SEEN in found.text
    assert MARK in "\n".join(one.text for one in found.hidden)
    assert all(one.anchor.startswith("hidden text") for one in found.hidden)


@pytest.mark.parametrize("way", SHOWN)
def test_what_can_be_seen_is_text(way: str) -> None:
    name, make = SHOWN[way]
    found = read(name, make())
    assert MARK in found.text
    assert MARK not in "\n".join(one.text for one in found.hidden)


def test_text_that_was_recognised_in_a_scan_is_text() -> None:
    scan = page(f"/Im Do {said('3 Tr')}").replace(b"BT /F1 12 Tf 14 TL", b"BT 3 Tr /F1 12 Tf 14 TL")
    scan = scan.replace(b"BT 3 Tr /F1 12 Tf 72", b"BT 3 Tr /F1 12 Tf 72")
    found = read("a.pdf", scan)
    assert MARK in found.text
    assert found.hidden == ()


def test_a_place_is_said_and_stretches_of_one_place_are_one() -> None:
    found = read("a.pptx", show(moved))
    assert [(one.text, one.anchor) for one in found.hidden] == [(MARK, "hidden text, slide 2")]
    found = read("a.md", markdown(f"<!-- one -->\n\nx <!-- {MARK} -->"))
    assert [(one.text, one.line) for one in found.hidden] == [("one", 3), (MARK, 5)]


def test_marks_of_code_without_blank_lines_are_read_once() -> None:
    """Each would have looked for the end of the paragraph anew: a minute for this text, now a fraction of a second."""
    found = read("a.md", markdown("`a " * 300_000 + f"`\n\n<!-- {MARK} -->"))
    assert [one.text for one in found.hidden] == [MARK]


@pytest.mark.parametrize(
    ("before", "is_code"),
    [("```\n", True), ("   ~~~ py\n", True), ("    ```\n", False), ("~~\n", False), ("x ~~~\n", False),
     ("````\n```\n", True), ("~~~\n~~~\n", False), ("```\n``` x\n", True), ("`\n\n", False), ("``a`\n", False)],
)  # fmt: skip
def test_code_hides_nothing_and_ends_where_it_ends(before: str, is_code: bool) -> None:
    assert bool(read("a.md", markdown(f"\n\n{before}<!-- {MARK} -->")).hidden) is not is_code
