"""What HTML hides: the elements that their attributes or the page's style sheets make invisible, and where they end."""

import re
from html import unescape

from memctl.extract.hidden import declarations, has_background, is_hiding, is_see_through, is_white

_ATTRIBUTES = re.compile(
    r"""(?<![\w-])(style|class|id|color|bgcolor|background|open|hidden)(?:\s{0,9}=\s{0,9}(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?""",
    re.IGNORECASE,
)
_BLOCK_OF_RULES = re.compile(
    r"@[^{}]{0,200}\{(?:[^{}]{0,400}\{[^{}]{0,2000}\}){0,200}[^{}]{0,400}\}|/\*.{0,2000}?\*/", re.DOTALL
)
_RULE = re.compile(r"([^{}]{1,400})\{([^{}]{1,2000})\}")
_SIMPLE = re.compile(r"[a-z0-9]{0,20}[.#][\w-]{1,80}\Z", re.IGNORECASE)
_VOID = frozenset((
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr",
))  # fmt: skip
#: Elements that end where the next one like them begins.
_IMPLIED = frozenset(("p", "li", "td", "th", "tr", "dt", "dd", "option"))
#: Pages are hidden as a whole until a script shows them: that hides nothing from anybody.
_PAGE = ("html", "body")
_DEEPEST = 1000
#: A tag with so few characters behind its name has no attribute that matters.
_SHORTEST = 3


class Hiding:
    """Follows the elements of a page, and says whether the text at hand can be seen."""

    __slots__ = ("_behind", "_open", "_rules")

    def __init__(self) -> None:
        self._open: list[str] = []  # the elements within the hidden one, and that itself; empty where text is visible
        self._behind: list[str] = []  # open elements with a background, on which white can be read
        self._rules: dict[str, dict[str, str]] = {}

    @property
    def active(self) -> bool:
        """Whether what comes now is hidden."""
        return bool(self._open)

    def sheet(self, css: str) -> None:
        """Take in a style sheet: rules for a class or an id that hide, or that say how text is coloured."""
        for selectors, body in _RULE.findall(_BLOCK_OF_RULES.sub("", css)):
            for selector in selectors.split(","):
                name = selector.strip()
                if _SIMPLE.fullmatch(name):
                    name = name[re.search(r"[.#]", name).start() :]  # type: ignore[union-attr]
                    self._rules[name] = self._rules.get(name, {}) | declarations(body)

    def open(self, name: str, source: str, start: int, end: int) -> None:
        """An element begins; its attributes are in source[start:end]."""
        if self._open:
            if self._open[0] == name and name in _IMPLIED and len(self._open) == 1:
                self._open.clear()
            elif name not in _VOID and len(self._open) < _DEEPEST:
                self._open.append(name)
                return
            else:
                return
        look = self._look(source, start, end) if end - start > _SHORTEST else {}
        closed = name == "dialog" and "open" not in look
        if name not in (*_VOID, *_PAGE) and (closed or self._is_hidden(look)):
            self._open.append(name)
        else:
            self._note_background(name, look)

    def close(self, name: str) -> None:
        """An element ends."""
        if self._open:
            if name in self._open:
                del self._open[len(self._open) - 1 - self._open[::-1].index(name) :]
            elif name in self._behind or name in _PAGE or self._open[0] in _IMPLIED:
                self._open.clear()
        elif name in self._behind:
            del self._behind[len(self._behind) - 1 - self._behind[::-1].index(name) :]

    def _look(self, source: str, start: int, end: int) -> dict[str, str]:
        """The declarations that hold for an element, its own ones before those of style sheets."""
        found = {m[1].lower(): unescape(m[2] or m[3] or m[4] or "") for m in _ATTRIBUTES.finditer(source, start, end)}
        look: dict[str, str] = {}
        if self._rules:
            for word in found.get("class", "").split()[:20]:
                look |= self._rules.get(f".{word}", {})
            look |= self._rules.get(f"#{found.get('id', '')}", {})
        if "color" in found:
            look["color"] = found["color"].strip().lower()
        for name in ("bgcolor", "background"):
            if name in found:
                look["background"] = found[name].strip().lower() or "image"
        look |= declarations(found.get("style", ""))
        if "hidden" in found and found["hidden"] != "until-found":
            look.setdefault("display", "none")
        return look | ({"open": ""} if "open" in found else {})

    def _is_hidden(self, look: dict[str, str]) -> bool:
        if not look:
            return False
        white = is_white(look.get("color", "")) and not self._behind and not has_background(look)
        return white or is_hiding(look) or is_see_through(look)

    def _note_background(self, name: str, look: dict[str, str]) -> None:
        if name not in _VOID and has_background(look) and len(self._behind) < _DEEPEST:
            self._behind.append(name)
