"""Presentations (.pptx): each slide with its title as heading, its text, tables, diagrams and speaker notes.

What a slide hides is taken out of it first: shapes that are switched off or lie beside it, white text on white, tiny
text.
"""

from collections.abc import Iterator
from typing import Any

from memctl.extract import Document, Limits, library
from memctl.extract.container import below, local, unpack
from memctl.extract.writer import TINY_POINTS, DocumentWriter, row_of

_TITLES = ("title", "ctrTitle")
#: Placeholders that are not what the slide says: its number and the date.
_FURNITURE = ("sldNum", "dt", "hdr")
_SHAPES = ("sp", "grpSp", "graphicFrame", "pic", "cxnSp")
_WHITE_SCHEMES = ("bg1", "lt1", "white")
_FILLS = ("gradFill", "blipFill", "pattFill")


def read(data: bytes, name: str, limits: Limits) -> Document:
    """The text of a .pptx file."""
    pptx = library("pptx", "python-pptx", name)
    package = unpack(data, name, limits)
    writer = DocumentWriter(name, limits)
    parse, footers = library("pptx.oxml", "python-pptx", name).parse_xml, set[str]()
    show = pptx.Presentation(package.file())
    size = int(show.slide_width or 0), int(show.slide_height or 0)
    for number, slide in enumerate(show.slides, 1):
        writer.begin_place(f"slide {number}")
        for text in _take_hidden(slide, size):
            writer.hide(text)
        if slide.element.get("show") in ("0", "false"):
            apart = DocumentWriter(name, limits)
            _write_slide(slide, number, apart, footers, parse)
            writer.hide(apart.document("markdown").text)
        else:
            _write_slide(slide, number, writer, footers, parse)
    return writer.document("markdown", title=package.title())


def _write_slide(slide: Any, number: int, writer: DocumentWriter, footers: set[str], parse: Any) -> None:
    """Write a slide but for those `footers` that an earlier one had; `parse` makes a tree of a part."""
    shapes = [(shape, _role(shape)) for shape in _shapes(slide.element)]
    titles = [" ".join(_text(shape).split()) for shape, role in shapes if role in _TITLES]
    writer.add(f"# {' '.join(filter(None, titles)) or f'Slide {number}'}")
    for shape, role in shapes:
        if local(shape) == "graphicFrame":
            for table in below(shape, "tbl"):
                writer.add_gap()
                for row in below(table, "tr"):
                    writer.add(row_of([_text(cell) for cell in below(row, "tc")]), "row")
                writer.add_gap()
        elif role == "ftr":
            text = " ".join(_text(shape).split())
            if text and text not in footers:
                footers.add(text)
                writer.add(f"Footer: {text}")
        elif role not in (*_TITLES, *_FURNITURE):
            _write_paragraphs(shape, writer, listed=role not in ("", "subTitle"))
    for relation in slide.part.rels.values():
        if not relation.is_external and relation.reltype.endswith(("/diagramData", "/chart")):
            # The words of a diagram (SmartArt), the title and axes of a chart.
            part = relation.target_part
            root = getattr(part, "element", None)
            _write_paragraphs(parse(part.blob) if root is None else root, writer, listed=False)
    if slide.has_notes_slide:
        notes = [_text(shape).strip() for shape in _shapes(slide.notes_slide.element) if _role(shape) == "body"]
        if any(notes):
            writer.add("Notes: " + "\n".join(filter(None, notes)))


def _write_paragraphs(shape: Any, writer: DocumentWriter, *, listed: bool) -> None:
    """Paragraphs of a placeholder become list items by their level, those of a text box lines."""
    writer.add_gap()
    for paragraph in below(shape, "p"):
        text = _runs(paragraph).strip()
        properties = paragraph.find("{*}pPr")
        level = "" if properties is None else str(properties.get("lvl", ""))
        if listed:
            writer.add_item(text, int(level) if level.isdecimal() else 0)
        else:
            writer.add(text, "item")
    writer.add_gap()


def _shapes(element: Any) -> Iterator[Any]:
    """The shapes of a slide in the order of the file, those in groups too; of alternatives the first."""
    for child in element:
        name = local(child)
        if name in ("sp", "graphicFrame", "cxnSp"):
            yield child
        elif name != "Fallback":
            yield from _shapes(child)


def _role(shape: Any) -> str:
    """What a placeholder is for: title, body, ftr, …; "" for a shape that is none."""
    placeholder = shape.find("{*}nvSpPr/{*}nvPr/{*}ph")
    return "" if placeholder is None else str(placeholder.get("type", "obj"))


def _text(container: Any) -> str:
    return "\n".join(_runs(paragraph) for paragraph in below(container, "p"))


def _runs(paragraph: Any) -> str:
    """The text of a paragraph with its breaks and fields."""
    parts: list[str] = []
    for child in paragraph:
        name = local(child)
        if name in ("r", "fld"):
            text = child.find("{*}t")
            parts.append("" if text is None else text.text or "")
        elif name == "br":
            parts.append("\n")
    return "".join(parts)


# --- what is hidden ---------------------------------------------------------------------------------------------------


def _take_hidden(slide: Any, size: tuple[int, int]) -> Iterator[str]:
    """The hidden texts of a slide of this size (in EMU); they are not there any more afterwards."""
    dark = _is_dark(slide)
    for shape in [one for one in slide.element.iter() if local(one) in _SHAPES]:
        own = next((one for one in shape if local(one).startswith("nv")), None)
        named = None if own is None else own.find("{*}cNvPr")
        is_off = named is not None and named.get("hidden") in ("1", "true")
        # Shapes within a group have coordinates of their own.
        groups = sum(1 for _ in shape.iterancestors("{*}grpSp", "{*}spTree"))
        if is_off or (groups == 1 and _is_beside(shape, size)):
            for paragraph in shape.iter("{*}p"):
                text = "".join(one.text or "" for one in paragraph.iter("{*}t"))
                if text.strip():
                    yield text
            if (parent := shape.getparent()) is not None:
                parent.remove(shape)
    for run in list(slide.element.iter("{*}r", "{*}fld")):
        text, look = run.find("{*}t"), run.find("{*}rPr")
        if look is not None and text is not None and (text.text or "").strip() and _is_unseen(run, look, dark=dark):
            yield text.text
            text.text = ""


def _is_beside(shape: Any, size: tuple[int, int]) -> bool:
    """Whether nothing of a shape lies on a slide of this size."""
    frame = next(shape.iter("{*}xfrm"), None)
    place, extent = (None, None) if frame is None else (frame.find("{*}off"), frame.find("{*}ext"))
    if place is None or extent is None:
        return False
    try:
        x, y = int(place.get("x", "0")), int(place.get("y", "0"))
        w, h = int(extent.get("cx", "0")), int(extent.get("cy", "0"))
    except ValueError:
        return False
    return x >= size[0] or y >= size[1] or x + w <= 0 or y + h <= 0


def _is_unseen(run: Any, look: Any, *, dark: bool) -> bool:
    """Whether nobody can see a run that looks so: it is tiny, see-through, or white where the slide is not `dark`."""
    size = look.get("sz", "")
    if size.isdecimal() and int(size) <= 100 * TINY_POINTS:
        return True
    fill = look.find("{*}solidFill")
    is_clear = look.find("{*}noFill") is not None and look.find("{*}ln") is None
    if fill is not None:
        is_clear = is_clear or any(one.get("val") in ("0", "0%") for one in fill.iter("{*}alpha"))
        is_clear = is_clear or (not dark and _is_white(fill))
    return is_clear and not _is_on_fill(run)


def _is_white(fill: Any) -> bool:
    colour = next(iter(fill), None)
    if colour is None or any(local(one) in ("lumMod", "shade", "tint") for one in colour):
        return False
    value = colour.get("val", "")
    return value.lower() == "ffffff" or value in _WHITE_SCHEMES


def _is_on_fill(run: Any) -> bool:
    """Whether the shape or the cell that a run is in has a fill of its own, or takes one from its style."""
    parent = next(run.iterancestors("{*}sp", "{*}tc", "{*}graphicFrame", "{*}spTree"), None)
    if parent is None or local(parent) in ("spTree", "graphicFrame"):
        return False
    if parent.find("{*}style") is not None:
        return True
    is_cell = local(parent) == "tc"
    look = parent.find("{*}tcPr" if is_cell else "{*}spPr")
    if look is None or (is_cell and not any(local(one).endswith("Fill") for one in look)):
        return is_cell  # a table's style may shade it
    return any(local(one) in _FILLS or (local(one) == "solidFill" and not _is_white(one)) for one in look)


def _is_dark(slide: Any) -> bool:
    """Whether white text may be seen on a slide: it, its layout or its master has a background or a picture."""
    for one in (slide, slide.slide_layout, slide.slide_layout.slide_master):
        root = one.element
        if next(root.iter("{*}pic", "{*}blipFill"), None) is not None:
            return True
        behind = next(root.iter("{*}bg"), None)
        if behind is not None:
            fills = list(behind.iter("{*}solidFill", "{*}bgRef"))
            return not fills or not all(map(_is_white, fills))
    return False
