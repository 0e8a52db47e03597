"""What a Word document hides: text that is marked so, white on white, or too small to be read."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from memctl.extract.hidden import TINY_POINTS

#: How long a chain of styles is followed: they may be based on each other in a ring.
_CHAIN = 10
_WHITE = ("ffffff", "fefefe", "fdfdfd")
_NO_FILL = ("", "auto", *_WHITE)


class _Look(NamedTuple):
    """What properties say of a run's text; None where they say nothing."""

    vanish: bool | None = None
    colour: str | None = None
    points: float | None = None
    shaded: bool | None = None

    def over(self, other: "_Look") -> "_Look":
        """This look, and where it says nothing what `other` says."""
        return other._replace(**{name: value for name, value in self._asdict().items() if value is not None})

    @property
    def is_hidden(self) -> bool:
        white = self.colour in _WHITE and not self.shaded
        return bool(self.vanish) or white or (self.points is not None and self.points <= TINY_POINTS)


class Hiding:
    """Takes hidden runs out of the parts of one document. `styles` and `body`: the root elements of these parts."""

    __slots__ = ("_shading", "_styles", "_white_page")

    def __init__(self, styles: Any, body: Any) -> None:
        own: dict[str, tuple[str, _Look]] = {}
        self._shading: set[str] = set()
        for style in _children(styles, "style"):
            name = _value(style, "styleId")
            own[name] = (_value(_child(style, "basedOn")), _look(_child(style, "rPr"), _child(style, "pPr")))
            if any(_is_filled(shading) for shading in style.iter() if _local(shading) == "shd"):
                self._shading.add(name)
        self._styles = {name: _resolved(name, own) for name in own}
        colour = _value(_child(body, "background"), "color").lower()
        self._white_page = colour in _NO_FILL

    def take(self, root: Any) -> Iterator[str]:
        """The hidden text below `root`, a paragraph at a time; it is not there any more afterwards."""
        for paragraph in [one for one in root.iter() if _local(one) == "p"]:
            words = []
            for run in [one for one in paragraph.iter() if _local(one) == "r" and _own_paragraph(one) is paragraph]:
                if self._is_hidden(run, paragraph):
                    words.append("".join(one.text or "" for one in run.iter() if _local(one) == "t"))
                    run.getparent().remove(run)
            if text := "".join(words).strip():
                yield text

    def _is_hidden(self, run: Any, paragraph: Any) -> bool:
        own, around = _child(run, "rPr"), _child(paragraph, "pPr")
        look = _look(own, None).over(self._styles.get(_value(_child(own, "rStyle")), _Look()))
        look = look.over(self._styles.get(_value(_child(around, "pStyle")), _Look())).over(_look(None, around))
        above = list(_above(paragraph))
        if any(_child(_child(row, "trPr"), "hidden") is not None for row in above if _local(row) == "tr"):
            return True
        if look.colour in _WHITE and (not self._white_page or any(map(self._is_dark, above))):
            look = look._replace(shaded=True)
        return look.is_hidden

    def _is_dark(self, element: Any) -> bool:
        """Whether white can be read in it: shaded cells, tables of a style that shades, boxes, which may be filled."""
        name = _local(element)
        if name == "tc":
            return _is_filled(_child(_child(element, "tcPr"), "shd"))
        if name == "tbl":
            look = _child(element, "tblPr")
            return _is_filled(_child(look, "shd")) or _value(_child(look, "tblStyle")) in self._shading
        return name == "txbxContent"


def _look(run: Any, paragraph: Any) -> _Look:
    """What run properties, and the shading in paragraph properties, say."""
    vanish = _child(run, "vanish")
    colour, size = _child(run, "color"), _value(_child(run, "sz"))
    shading = [one for one in (_child(run, "shd"), _child(paragraph, "shd")) if one is not None]
    shaded: bool | None = any(map(_is_filled, shading)) if shading else None
    if _value(_child(run, "highlight")).lower() not in ("", "none", "white"):
        shaded = True
    white = _value(colour, "themeColor") in ("background1", "light1")
    return _Look(
        None if vanish is None else _value(vanish).lower() not in ("0", "false", "off"),
        None if colour is None else "ffffff" if white else _value(colour).lower(),
        float(size) / 2 if size.replace(".", "", 1).isdecimal() else None,
        shaded,
    )


def _resolved(name: str, own: dict[str, tuple[str, _Look]]) -> _Look:
    look = _Look()
    for _ in range(_CHAIN):
        base, its = own.get(name, ("", _Look()))
        look, name = look.over(its), base
    return look


def _is_filled(shading: Any) -> bool:
    return shading is not None and (
        _value(shading, "fill").lower() not in _NO_FILL or _value(shading, "themeFill") not in ("", "background1")
    )


def _own_paragraph(run: Any) -> Any:
    return next((one for one in _above(run) if _local(one) == "p"), None)


def _above(element: Any) -> Iterator[Any]:
    parent = element.getparent()
    while parent is not None:
        yield parent
        parent = parent.getparent()


def _local(element: Any) -> str:
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def _children(element: Any, name: str) -> Iterator[Any]:
    return (child for child in element if _local(child) == name)


def _child(element: Any, name: str) -> Any:
    return None if element is None else next(_children(element, name), None)


def _value(element: Any, name: str = "val") -> str:
    if element is None:
        return ""
    return next((str(value) for key, value in element.attrib.items() if key.rpartition("}")[2] == name), "")
