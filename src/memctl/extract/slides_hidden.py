"""What a presentation hides: shapes that are switched off or lie beside the slide, white text on white, tiny text."""

from collections.abc import Iterator
from typing import Any

from memctl.extract.hidden import TINY_POINTS
from memctl.extract.word import child_of, local

_WHITE_SCHEMES = ("bg1", "lt1")
_SHAPES = ("sp", "grpSp", "graphicFrame", "pic", "cxnSp")


class Hiding:
    """Takes hidden shapes and runs out of the slides of one presentation of this size (in EMU)."""

    __slots__ = ("_height", "_width")

    def __init__(self, width: int, height: int) -> None:
        self._width, self._height = width, height

    def take(self, slide: Any) -> Iterator[str]:
        """The hidden texts of a slide; they are not there any more afterwards."""
        dark = _is_dark(slide)
        for shape in [one for one in slide.element.iter() if local(one) in _SHAPES]:
            if _is_off(shape) or (_depth(shape) == 1 and self._is_beside(shape)):
                yield from _words(shape)
                if (parent := shape.getparent()) is not None:
                    parent.remove(shape)
        for run in [one for one in slide.element.iter() if local(one) in ("r", "fld")]:
            look = child_of(run, "rPr")
            if look is not None and (_is_tiny(look) or _is_clear(look) or (_is_white(look) and not dark)):
                text = child_of(run, "t")
                if text is not None and (text.text or "").strip() and (_is_tiny(look) or not _is_on_fill(run)):
                    yield text.text
                    text.text = ""

    def _is_beside(self, shape: Any) -> bool:
        """Whether nothing of a shape lies on the slide."""
        frame = next((one for one in shape.iter() if local(one) == "xfrm"), None)
        place, size = (child_of(frame, "off"), child_of(frame, "ext")) if frame is not None else (None, None)
        if place is None or size is None:
            return False
        try:
            x, y, w, h = (
                int(one.get(key, "0")) for one, key in ((place, "x"), (place, "y"), (size, "cx"), (size, "cy"))
            )
        except ValueError:
            return False
        return x >= self._width or y >= self._height or x + w <= 0 or y + h <= 0


def _depth(shape: Any) -> int:
    """How many groups a shape is in; those of a group have coordinates of their own."""
    count, parent = 0, shape.getparent()
    while parent is not None:
        count += local(parent) in ("grpSp", "spTree")
        parent = parent.getparent()
    return count


def _is_off(shape: Any) -> bool:
    own = next((one for one in shape if local(one).startswith("nv")), None)
    name = child_of(own, "cNvPr") if own is not None else None
    return name is not None and name.get("hidden") in ("1", "true")


def _is_tiny(look: Any) -> bool:
    size = look.get("sz", "")
    return size.isdecimal() and int(size) <= 100 * TINY_POINTS


def _is_clear(look: Any) -> bool:
    """Whether text is see-through, or has no fill at all."""
    if child_of(look, "noFill") is not None and child_of(look, "ln") is None:
        return True
    fill = child_of(look, "solidFill")
    return fill is not None and any(local(one) == "alpha" and one.get("val") in ("0", "0%") for one in fill.iter())


def _is_white(look: Any) -> bool:
    fill = child_of(look, "solidFill")
    return fill is not None and _is_white_fill(fill)


def _is_white_fill(fill: Any) -> bool:
    colour = next(iter(fill), None)
    if colour is None:
        return False
    value = colour.get("val", "")
    changed = any(local(one) in ("lumMod", "shade", "tint") for one in colour)
    return not changed and (value.lower() == "ffffff" or value in (*_WHITE_SCHEMES, "white"))


def _is_on_fill(run: Any) -> bool:
    """Whether the shape or the cell that a run is in has a fill of its own, or takes one from its style."""
    parent = run.getparent()
    while parent is not None and local(parent) not in ("sp", "tc", "graphicFrame", "spTree"):
        parent = parent.getparent()
    if parent is None or local(parent) in ("spTree", "graphicFrame"):
        return False
    if child_of(parent, "style") is not None:
        return True
    look = child_of(parent, "spPr" if local(parent) == "sp" else "tcPr")
    if look is None:
        return local(parent) == "tc"  # a table's style may shade it
    if local(parent) == "tc" and not any(local(one).endswith("Fill") for one in look):
        return True
    return any(
        local(one) in ("gradFill", "blipFill", "pattFill") or (local(one) == "solidFill" and not _is_white_fill(one))
        for one in look
    )


def _is_dark(slide: Any) -> bool:
    """Whether white text may be seen on a slide: it, its layout or its master has a background or a picture."""
    for one in (slide, slide.slide_layout, slide.slide_layout.slide_master):
        root = one.element
        if any(local(node) in ("pic", "blipFill") for node in root.iter()):
            return True
        behind = next((node for node in root.iter() if local(node) == "bg"), None)
        if behind is not None:
            fills = [node for node in behind.iter() if local(node) in ("solidFill", "bgRef")]
            return not fills or not all(_is_white_fill(fill) for fill in fills)
    return False


def _words(shape: Any) -> Iterator[str]:
    for paragraph in shape.iter():
        if local(paragraph) == "p":
            text = "".join(one.text or "" for one in paragraph.iter() if local(one) == "t")
            if text.strip():
                yield text
