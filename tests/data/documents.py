"""Documents of every format, made by the libraries that people's programs use, or by hand where there is none."""

import json
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from email.message import EmailMessage
from importlib import import_module
from io import BytesIO
from typing import Any

from memctl.extract import suffix_of


def lib(name: str) -> Any:
    """A library without types."""
    return import_module(name)


def saved(document: Any) -> bytes:
    target = BytesIO()
    document.save(target)
    return target.getvalue()


def docx() -> bytes:
    """Headings, a list, a table, a footnote, a comment, headers and footers, a content control, tracked changes."""
    made = lib("docx").Document()
    made.core_properties.title = "Field & Guide"
    made.add_heading("Handbook", 0)
    made.add_paragraph("Opening words.")
    made.add_heading("Install", 1)
    made.add_paragraph("first step", style="List Bullet")
    made.add_paragraph("second step", style="List Bullet")
    made.add_heading("Details", 2)
    table = made.add_table(2, 3)
    for row, words in zip(table.rows, (("Item", "Price", ""), ("Bolt", "", "steel\nplated")), strict=True):
        for cell, word in zip(row.cells, words, strict=True):
            cell.text = word
    section = made.sections[0]
    section.header.paragraphs[0].text = "ACME internal"
    section.footer.paragraphs[0].text = "Version 7"
    last = made.add_paragraph("Closing words")
    parse = lib("docx.oxml").parse_xml
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    for xml in (
        f"<w:ins {space}><w:r><w:t> added</w:t></w:r></w:ins>",
        f"<w:del {space}><w:r><w:delText> deleted</w:delText></w:r></w:del>",
        f'<w:r {space}><w:tab/><w:footnoteReference w:id="2"/></w:r>',
        f"<w:r {space}><w:pict><w:txbxContent><w:p><w:r><w:t>In a box</w:t></w:r></w:p></w:txbxContent></w:pict></w:r>",
    ):
        last._p.append(parse(xml))
    control = f"<w:sdt {space}><w:sdtContent><w:p><w:r><w:t>In a control</w:t></w:r></w:p></w:sdtContent></w:sdt>"
    made.element.body.insert(2, parse(control))
    for kind, one, said in (("footnotes", "footnote", "See page 9."), ("comments", "comment", "Is this so?")):
        inside = f'<w:{one} w:id="2"><w:p><w:r><w:t>{said}</w:t></w:r></w:p></w:{one}>'
        _attach(made, kind, f"<w:{kind} {space}>{inside}</w:{kind}>")
    return saved(made)


def _attach(document: Any, kind: str, xml: str) -> None:
    """Give a Word document a part that the library cannot make."""
    name = lib("docx.opc.packuri").PackURI(f"/word/{kind}.xml")
    content = f"application/vnd.openxmlformats-officedocument.wordprocessingml.{kind}+xml"
    part = lib("docx.opc.part").Part(name, content, xml.encode(), document.part.package)
    document.part.relate_to(part, f"http://schemas.openxmlformats.org/officeDocument/2006/relationships/{kind}")


def pptx() -> bytes:
    """Three slides: a list with levels and notes; a table, a group and a chart; one without a title."""
    made = lib("pptx").Presentation()
    units = lib("pptx.util").Inches
    made.core_properties.title = "Quarter"
    first = made.slides.add_slide(made.slide_layouts[1])
    first.shapes.title.text = "Results"
    body = first.placeholders[1].text_frame
    body.text = "Sales rose"
    deeper = body.add_paragraph()
    deeper.text, deeper.level = "mostly abroad", 1
    first.notes_slide.notes_text_frame.text = "Thank the team\nand pause"
    second = made.slides.add_slide(made.slide_layouts[5])
    second.shapes.title.text = "Figures"
    table = second.shapes.add_table(2, 2, units(1), units(1), units(4), units(1)).table
    for (row, column), text in {(0, 0): "Year", (0, 1): "Sum", (1, 0): "2024", (1, 1): "12"}.items():
        table.cell(row, column).text = text
    group = second.shapes.add_group_shape()
    group.shapes.add_textbox(0, 0, units(1), units(1)).text_frame.text = "Inside a group"
    data = lib("pptx.chart.data").CategoryChartData()
    data.categories = ["a"]
    data.add_series("s", (1,))
    kind = lib("pptx.enum.chart").XL_CHART_TYPE.PIE
    chart = second.shapes.add_chart(kind, 0, 0, units(1), units(1), data).chart
    chart.has_title = True
    chart.chart_title.text_frame.text = "Share by region"
    third = made.slides.add_slide(made.slide_layouts[6])
    third.shapes.add_textbox(0, 0, units(1), units(1)).text_frame.text = "Questions?"
    return saved(made)


def xlsx() -> bytes:
    """Two sheets, the second hidden; dates, numbers, blank rows, a formula nobody has calculated."""
    from datetime import date, datetime

    made = lib("openpyxl").Workbook()
    sheet = made.active
    sheet.title = "Budget"
    for row in (
        ("Item", "Cost", "When", None),
        ("Rent", 1200.5, date(2024, 3, 1)),
        (),
        ("Sum", "=SUM(B2:B2)", datetime(2024, 3, 2, 10, 30)),  # noqa: DTZ001 - as a sheet has it
        ("Done", True, 0.1 + 0.2),
    ):
        sheet.append(row)
    hidden = made.create_sheet("Salaries")
    hidden.sheet_state = "hidden"
    hidden["B3"] = "Ann"
    made.properties.title = "Plan 2024"
    made.create_sheet("Empty")
    return saved(made)


def rows(count: int, width: int = 2) -> bytes:
    """A workbook of one sheet with a header row and `count` - 1 rows more."""
    made = lib("openpyxl").Workbook(write_only=True)
    sheet = made.create_sheet("Long")
    sheet.append([f"column {n}" for n in range(width)])
    for number in range(2, count + 1):
        sheet.append([f"row {number}", *range(width - 1)])
    return saved(made)


def _odf(made: Any) -> bytes:
    target = BytesIO()
    made.write(target)
    return target.getvalue()


def odt() -> bytes:
    """A title, headings, nested lists, a table, a footnote, a comment, spaces, a header, a box, a deleted passage."""
    text, table, style, draw = lib("odf.text"), lib("odf.table"), lib("odf.style"), lib("odf.draw")
    made = lib("odf.opendocument").OpenDocumentText()
    made.meta.addElement(lib("odf.dc").Title(text="Travel"))
    page = style.PageLayout(name="pm")
    made.automaticstyles.addElement(page)
    made.styles.addElement(style.Style(name="Title", family="paragraph"))
    made.automaticstyles.addElement(style.Style(name="P1", family="paragraph", parentstylename="Title"))
    master = style.MasterPage(name="Standard", pagelayoutname=page)
    made.masterstyles.addElement(master)
    header = style.Header()
    header.addElement(text.P(text="Draft only"))
    master.addElement(header)
    body = made.text
    gone = text.Deletion()
    gone.addElement(text.P(text="deleted words"))
    region = text.ChangedRegion(check_grammar=False)
    region.addElement(gone)
    changes = text.TrackedChanges()
    changes.addElement(region)
    body.addElement(changes)
    body.addElement(text.P(text="On the road", stylename="P1"))
    body.addElement(text.H(outlinelevel=1, text="Route"))
    paragraph = text.P(text="From")
    paragraph.addElement(text.S(c=3))
    paragraph.addText("Ulm")
    note = text.Note(noteclass="footnote", id="n1")
    note.addElement(text.NoteCitation(text="1"))
    note_body = text.NoteBody()
    note_body.addElement(text.P(text="On the Danube."))
    note.addElement(note_body)
    paragraph.addElement(note)
    annotation = lib("odf.office").Annotation()
    annotation.addElement(text.P(text="Check the date"))
    paragraph.addElement(annotation)
    frame, box = draw.Frame(name="f", width="1cm"), draw.TextBox()
    box.addElement(text.P(text="In a box"))
    frame.addElement(box)
    paragraph.addElement(frame)
    body.addElement(paragraph)
    outer, inner = text.List(), text.List()
    item, deep = text.ListItem(), text.ListItem()
    item.addElement(text.P(text="pack"))
    deep.addElement(text.P(text="socks"))
    inner.addElement(deep)
    item.addElement(inner)
    outer.addElement(item)
    body.addElement(outer)
    body.addElement(text.H(outlinelevel=2, text="Costs"))
    grid = table.Table(name="T")
    grid.addElement(table.TableColumn(numbercolumnsrepeated=2))
    for words in (("What", "Euro"), ("Train", "80")):
        line = table.TableRow()
        for word in words:
            cell = table.TableCell()
            cell.addElement(text.P(text=word))
            line.addElement(cell)
        grid.addElement(line)
    body.addElement(grid)
    return _odf(made)


def odp() -> bytes:
    """Two slides, the first with a title, a list and notes, the second with a bare shape."""
    text, draw, style = lib("odf.text"), lib("odf.draw"), lib("odf.style")
    presentation = lib("odf.presentation")
    made = lib("odf.opendocument").OpenDocumentPresentation()
    layout = style.PageLayout(name="pm")
    made.automaticstyles.addElement(layout)
    master = style.MasterPage(name="m", pagelayoutname=layout)
    made.masterstyles.addElement(master)
    first, second = draw.Page(masterpagename=master, name="a"), draw.Page(masterpagename=master, name="b")
    made.presentation.addElement(first)
    made.presentation.addElement(second)

    def frame(kind: str, *content: Any) -> Any:
        outer = draw.Frame(width="1cm", height="1cm")
        if kind:
            outer.setAttrNS(lib("odf.namespaces").PRESENTATIONNS, "class", kind)
        inner = draw.TextBox()
        for element in content:
            inner.addElement(element)
        outer.addElement(inner)
        return outer

    first.addElement(frame("title", text.P(text="Aims")))
    points, item = text.List(), text.ListItem()
    item.addElement(text.P(text="be quick"))
    points.addElement(item)
    first.addElement(frame("outline", points))
    notes = presentation.Notes()
    notes.addElement(frame("notes", text.P(text="Speak slowly")))
    first.addElement(notes)
    group = draw.G()
    group.addElement(frame("", text.P(text="Only a box")))
    second.addElement(group)
    return _odf(made)


def ods(repeated_rows: int = 1_048_570, repeated_columns: int = 16_380) -> bytes:
    """Two sheets, one hidden, the first with the endless empty repetitions that real files have."""
    text, table, style = lib("odf.text"), lib("odf.table"), lib("odf.style")
    made = lib("odf.opendocument").OpenDocumentSpreadsheet()
    look = style.Style(name="ta2", family="table")
    look.addElement(style.TableProperties(display="false"))
    made.automaticstyles.addElement(look)

    def cell(word: str, **more: Any) -> Any:
        made_cell = table.TableCell(**more)
        if word:
            made_cell.addElement(text.P(text=word))
        return made_cell

    def row(*cells: Any, **more: Any) -> Any:
        line = table.TableRow(**more)
        for each in cells:
            line.addElement(each)
        return line

    stock = table.Table(name="Stock")
    stock.addElement(row(cell("Part"), cell("Count"), cell("", numbercolumnsrepeated=repeated_columns)))
    remark = lib("odf.office").Annotation()
    remark.addElement(text.P(text="a remark"))
    stock.lastChild.firstChild.addElement(remark)
    stock.addElement(row(cell("nut"), cell("5", numbercolumnsrepeated=2)))
    stock.addElement(row(cell(""), numberrowsrepeated=10))
    stock.addElement(row(cell("same"), numberrowsrepeated=3))
    stock.addElement(row(cell("end"), cell("", numbercolumnsrepeated=repeated_columns), cell("far")))
    stock.addElement(row(cell("", numbercolumnsrepeated=repeated_columns), numberrowsrepeated=repeated_rows))
    made.spreadsheet.addElement(stock)
    hidden = table.Table(name="Old", stylename=look)
    hidden.addElement(row(cell("gone")))
    made.spreadsheet.addElement(hidden)
    return _odf(made)


def pdf(*pages: str, extra: str = "", pack: bool = False, trailer: str = "") -> bytes:
    """A PDF with these pages, drawn line by line in Helvetica; `extra` are more objects, from number 100 on."""
    objects: dict[int, bytes] = {1: b"<< /Type /Catalog /Pages 2 0 R >>"}
    objects[3] = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    kids = []
    for number, page in enumerate(pages):
        at = 4 + 2 * number
        kids.append(f"{at} 0 R")
        drawn = "".join(f"({line}) Tj T*\n" for line in page.split("\n")) if page else ""
        stream = f"BT /F1 12 Tf 14 TL 72 720 Td\n{drawn}ET".encode("latin-1")
        stream, packed = (zlib.compress(stream), "/Filter /FlateDecode ") if pack else (stream, "")
        objects[at] = (
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {at + 1} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        ).encode()
        objects[at + 1] = f"<< {packed}/Length {len(stream)} >>\nstream\n".encode() + stream + b"\nendstream"
    objects[2] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>".encode()
    if extra:
        objects[100] = extra.encode()
    out = bytearray(b"%PDF-1.4\n")
    places = {}
    for number in sorted(objects):
        places[number] = len(out)
        out += f"{number} 0 obj\n".encode() + objects[number] + b"\nendobj\n"
    start = len(out)
    out += b"xref\n0 1\n0000000000 65535 f \n"
    for number, place in places.items():
        out += f"{number} 1\n{place:010d} 00000 n \n".encode()
    out += f"trailer\n<< /Size {max(objects) + 1} /Root 1 0 R {trailer}>>\nstartxref\n{start}\n%%EOF\n".encode()
    return bytes(out)


def locked_pdf(password: str) -> bytes:
    """A PDF that asks for a password; "" is one that only forbids printing."""
    pypdf = lib("pypdf")
    writer = pypdf.PdfWriter(clone_from=BytesIO(pdf("secret words")))
    writer.encrypt(user_password=password, owner_password="owner", algorithm="RC4-128")
    target = BytesIO()
    writer.write(target)
    return target.getvalue()


def ipynb(cells: Iterable[Mapping[str, Any]] | None = None, **more: Any) -> bytes:
    """A notebook in format 4."""
    if cells is None:
        cells = (
            {"cell_type": "markdown", "source": ["# Study\n", "Why we *do* it."]},
            {
                "cell_type": "code",
                "source": "print(6 * 7)\n",
                "outputs": [
                    {"output_type": "stream", "text": ["\x1b[31m42\x1b[0m\n"]},
                    {"output_type": "display_data", "data": {"image/png": "AAAA", "text/plain": "<Figure>"}},
                    {"output_type": "error", "ename": "ValueError", "evalue": "bad", "traceback": ["long"]},
                ],
            },
            {"cell_type": "raw", "source": "as it is"},
        )
    metadata = {"language_info": {"name": "Python"}}
    return json.dumps({"cells": list(cells), "metadata": metadata, "nbformat": 4, **more}).encode()


def eml() -> bytes:
    """A mail with encoded words, plain text beside HTML, and attachments: text, code, a picture, another mail."""
    made = EmailMessage()
    made["From"], made["To"], made["Subject"] = "Jürgen <j@example.org>", "ann@example.org", "Über den Plan"
    made["Date"] = "Mon, 04 Mar 2024 10:00:00 +0100"
    made.set_content("Dear Ann,\n\nplease read ünder this.\n")
    made.add_alternative("<p>Dear <b>Ann</b>, not this</p>", subtype="html")
    made.add_attachment("one,two\n1,2\n", subtype="csv", filename="données.csv")
    made.add_attachment("# Notes\n\nkept\n", filename="notes.md")
    made.add_attachment(b"\x89PNG\r\n\x1a\n", maintype="image", subtype="png", filename="photo.png")
    inner = EmailMessage()
    inner["From"], inner["Subject"] = "bob@example.org", "Older mail"
    inner.set_content("Inner words.\n")
    made.add_attachment(inner)
    return made.as_bytes()


#: One good document of each format that has a reader of its own.
MAKERS: dict[str, Callable[[], bytes]] = {
    ".docx": docx,
    ".pptx": pptx,
    ".xlsx": xlsx,
    ".odt": odt,
    ".odp": odp,
    ".ods": ods,
    ".pdf": lambda: pdf("Page one says this.", "Page two says that."),
    ".ipynb": ipynb,
    ".eml": eml,
}
ZIPPED = (".docx", ".pptx", ".xlsx", ".odt", ".odp", ".ods")


def main_part(name: str) -> str:
    """The part of an office document that has its text."""
    parts = {".docx": "word/document.xml", ".pptx": "ppt/slides/slide1.xml", ".xlsx": "xl/worksheets/sheet1.xml"}
    return parts.get(suffix_of(name), "content.xml")


def rezipped(data: bytes, change: Mapping[str, bytes | None], more: Iterable[tuple[str, bytes]] = ()) -> bytes:
    """An archive with parts replaced, taken out (None), or added."""
    target = BytesIO()
    with zipfile.ZipFile(BytesIO(data)) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            part = change.get(name, old.read(name))
            if part is not None:
                new.writestr(name, part)
        for name, part in more:
            new.writestr(name, part)
    return target.getvalue()


def part_of(data: bytes, name: str) -> bytes:
    with zipfile.ZipFile(BytesIO(data)) as archive:
        return archive.read(name)
