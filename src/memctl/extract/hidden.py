"""Text that a document hides from those who look at it: what says so in its styles, and how it is kept apart.

Such text is for programs, or for the models that read what programs extract. It is read, but never as if a person could
see it: each stretch becomes a passage of its own that says `hidden`.
"""

import re
from collections.abc import Iterable

from memctl.extract import Hidden

#: Text of at most so many points cannot be read by anybody.
TINY_POINTS = 2.0

_DECLARATION = re.compile(r"([a-z-]{1,40})\s{0,9}:\s{0,9}([^;]{1,200})")
_NUMBER = re.compile(r"(-?\d{0,9}\.?\d{1,9})\s{0,3}([a-z%]{0,4})")
_ZERO_ALPHA = re.compile(r"(?:rgba|hsla)\([^)]{0,40}[,/]\s*0?\.?0+%?\s*\)")
_WHITE = re.compile(r"#fff(?:fff)?(?:ff)?\Z|white\Z|rgba?\(\s*25[0-5]\s*[, ]\s*25[0-5]\s*[, ]\s*25[0-5]\b")
#: Beyond so many pixels to the left or above, nothing is on the screen.
_FAR = -900
_POINTS = {"px": 0.75, "pt": 1.0, "em": 12.0, "rem": 12.0, "%": 0.12, "": 0.75}


def joined(found: Iterable[Hidden]) -> tuple[Hidden, ...]:
    """Hidden texts, those that follow each other at one place as one."""
    out: list[Hidden] = []
    for one in found:
        if not one.text.strip():
            continue
        if out and out[-1].place == one.place and not one.line:
            out[-1] = out[-1]._replace(text=f"{out[-1].text}\n{one.text.strip()}")
        else:
            out.append(one._replace(text=one.text.strip("\n")))
    return tuple(out)


def declarations(style: str) -> dict[str, str]:
    """The declarations of a CSS style, in lower case; of those said twice the last, as browsers have it."""
    return {name: value.replace("!important", "").strip() for name, value in _DECLARATION.findall(style.lower())}


def is_hiding(style: dict[str, str]) -> bool:
    """Whether CSS declarations make text invisible, whatever is around it; its colour aside."""
    if style.get("display") == "none" or style.get("visibility") in ("hidden", "collapse"):
        return True
    if any(_is_zero(style.get(name)) for name in ("opacity", "font-size", "zoom", "scale")):
        return True
    if _points(style.get("font-size")) <= TINY_POINTS:
        return True
    return _is_off_screen(style) or _is_clipped(style)


def is_see_through(style: dict[str, str]) -> bool:
    """Whether the colour of text is none at all, or that of its own background."""
    colour, behind = style.get("color", ""), style.get("background-color", style.get("background", ""))
    return colour == "transparent" or bool(_ZERO_ALPHA.match(colour)) or bool(colour and colour == behind)


def is_white(colour: str) -> bool:
    """Whether a CSS colour is white: that of the page where nothing else is said."""
    return bool(_WHITE.match(colour.strip().lower()))


def has_background(style: dict[str, str]) -> bool:
    """Whether CSS declarations give something a background of another colour than white."""
    said = style.get("background-color") or style.get("background") or style.get("background-image") or ""
    return bool(said) and said not in ("none", "transparent", "inherit") and not is_white(said)


def _is_off_screen(style: dict[str, str]) -> bool:
    if style.get("position") in ("absolute", "fixed") and any(
        _pixels(style.get(side)) <= _FAR for side in ("left", "top", "right", "bottom")
    ):
        return True
    moves = [style.get(name, "") for name in ("text-indent", "margin-left", "margin-top")]
    moves += re.findall(r"translate[xy]?\((-[^,)]{1,20})", style.get("transform", ""))
    return any(_pixels(move) <= _FAR for move in moves) or "scale(0)" in style.get("transform", "")


def _is_clipped(style: dict[str, str]) -> bool:
    clip = style.get("clip", "").replace(" ", "")
    if clip.startswith(("rect(0,0,0,0", "rect(0000", "rect(1px,1px,1px,1px", "rect(0px,0px,0px,0px")):
        return True
    if re.match(r"inset\((?:50|100)%|circle\(0", style.get("clip-path", "")):
        return True
    small = any(_is_zero(style.get(name)) or style.get(name) == "1px" for name in ("width", "height", "max-height"))
    return small and style.get("overflow", "").startswith(("hidden", "clip"))


def _is_zero(value: str | None) -> bool:
    found = _NUMBER.fullmatch(value or "")
    return bool(found) and abs(float(found[1])) < 0.02  # type: ignore[index]


def _points(value: str | None) -> float:
    found = _NUMBER.fullmatch(value or "")
    return float(found[1]) * _POINTS.get(found[2], 12.0) if found else 12.0


def _pixels(value: str | None) -> float:
    found = _NUMBER.fullmatch((value or "").strip())
    if not found:
        return 0.0
    return float(found[1]) * {"em": 16, "rem": 16, "%": 10, "vw": 10, "vh": 10}.get(found[2], 1)
