"""What a page of a PDF hides: text that is drawn invisibly, in white on nothing, beside the page, or too small to read.

pypdf gives the drawing operators of a page. Those that show hidden text are taken out, so that any reader of what is
left gives what can be seen; and alone they give what is hidden.
"""

from typing import Any, NamedTuple

from memctl.extract.hidden import TINY_POINTS

_SHOWING = (b"Tj", b"TJ", b"'", b'"')
_PAINTING = (b"f", b"F", b"f*", b"B", b"B*", b"b", b"b*")
_ENDING = (*_PAINTING, b"S", b"s", b"n")
#: How many operators of a page are looked at, and how many filled places are remembered.
_MOST, _PLACES = 500_000, 2_000
_INVISIBLE = 3
#: How far beside the page text may stand and still be taken for a part of it, in points.
_MARGIN = 2.0

Matrix = tuple[float, float, float, float, float, float]
Box = tuple[float, float, float, float]
_UNIT: Matrix = (1, 0, 0, 1, 0, 0)


class _State(NamedTuple):
    """What of the graphics state matters here."""

    matrix: Matrix = _UNIT
    white: bool = False
    mode: int = 0
    size: float = 0.0
    clear: bool = False


class Divided(NamedTuple):
    """The operators of a page without those that show hidden text, and without those that show text one can see."""

    visible: list[Any]
    hidden: list[Any]


def divide(page: Any, operations: list[Any]) -> Divided | None:
    """The operators of a page divided by whether what they show can be seen; None where nothing is hidden."""
    if len(operations) > _MOST:
        return None
    walk = _Walk(page)
    showing: dict[int, int] = {}  # number of the operator -> how it is drawn, for those that are hidden
    shown = 0
    for number, (operands, operator) in enumerate(operations):
        if operator in _SHOWING:
            shown += 1
            if walk.is_hidden():
                showing[number] = walk.state.mode
        walk.step(operands, operator)
    if walk.pictures and shown == len(showing) == sum(mode == _INVISIBLE for mode in showing.values()):
        return None  # a scan, and the text that was recognised in it
    if not showing:
        return None
    hidden = [one for number, one in enumerate(operations) if number in showing or one[1] not in _SHOWING]
    return Divided([one for number, one in enumerate(operations) if number not in showing], hidden)


class _Walk:
    """Follows the operators of a page: where text would be shown, how, and what is painted already."""

    def __init__(self, page: Any) -> None:
        self.state = _State()
        self.pictures = 0
        self._stack: list[_State] = []
        self._text = self._line = _UNIT
        self._leading = 0.0
        self._painted: list[Box] = []
        self._path: list[tuple[float, float]] = []
        box = page.cropbox
        self._page: Box = (float(box.left), float(box.bottom), float(box.right), float(box.top))
        self._alphas = _alphas(page)

    def is_hidden(self) -> bool:
        """Whether text that is shown now cannot be seen."""
        state = self.state
        if state.mode == _INVISIBLE or state.clear:
            return True
        at = _times(self._text, state.matrix)
        height = abs(state.size) * (at[2] ** 2 + at[3] ** 2) ** 0.5
        if 0 < height <= TINY_POINTS:
            return True
        x, y = at[4], at[5]
        left, bottom, right, top = self._page
        if x >= right + _MARGIN or y >= top + _MARGIN or y <= bottom - _MARGIN or x <= left - 10 * max(height, 50):
            return True
        return state.white and state.mode in (0, 4) and not any(_is_in(x, y, box) for box in self._painted)

    def step(self, operands: Any, operator: bytes) -> None:
        """Take an operator into account. One with broken operands changes nothing."""
        try:
            self._step([float(one) if _is_number(one) else one for one in operands], operator)
        except (TypeError, ValueError, IndexError, KeyError, OverflowError):
            return

    def _step(self, given: list[Any], operator: bytes) -> None:
        if operator == b"q" and len(self._stack) < 1000:
            self._stack.append(self.state)
        elif operator == b"Q" and self._stack:
            self.state = self._stack.pop()
        elif operator == b"cm":
            self.state = self.state._replace(matrix=_times(_matrix(given), self.state.matrix))
        elif operator == b"gs":
            self.state = self.state._replace(clear=self._alphas.get(str(given[0]), self.state.clear))
        elif operator in (b"g", b"rg", b"k", b"sc", b"scn"):
            self.state = self.state._replace(white=_is_white(given, operator))
        elif operator == b"cs":
            self.state = self.state._replace(white=False)
        elif operator[:1] in (b"T", b"B", b"'", b'"') and operator not in _PAINTING:
            self._text_step(given, operator)
        else:
            self._paint_step(given, operator)

    def _text_step(self, given: list[Any], operator: bytes) -> None:
        if operator == b"BT":
            self._text = self._line = _UNIT
        elif operator == b"Tr":
            self.state = self.state._replace(mode=int(given[0]))
        elif operator == b"Tf":
            self.state = self.state._replace(size=given[1])
        elif operator == b"TL":
            self._leading = given[0]
        elif operator == b"Tm":
            self._text = self._line = _matrix(given)
        elif operator in (b"Td", b"TD"):
            self._leading = -given[1] if operator == b"TD" else self._leading
            self._move(given[0], given[1])
        elif operator in (b"T*", b"'", b'"'):
            self._move(0, -self._leading)

    def _move(self, x: float, y: float) -> None:
        self._text = self._line = _times((1, 0, 0, 1, x, y), self._line)

    def _paint_step(self, given: list[Any], operator: bytes) -> None:
        if operator == b"re":
            x, y, w, h = given
            self._path += [(x, y), (x + w, y + h), (x, y + h), (x + w, y)]
        elif operator in (b"m", b"l", b"c", b"v", b"y"):
            self._path += zip(given[0::2], given[1::2], strict=False)
        elif operator in (b"Do", b"sh", b"INLINE IMAGE", b"BI"):
            self.pictures += operator != b"sh"
            self._cover([(0, 0), (1, 1), (0, 1), (1, 0)] if operator != b"sh" else [self._page[:2], self._page[2:]])
        elif operator in _ENDING:
            if operator in _PAINTING and not self.state.white:
                self._cover(self._path)
            self._path = []

    def _cover(self, points: list[Any]) -> None:
        """Remember that something other than white is painted in the box around these points."""
        a, b, c, d, e, f = self.state.matrix
        placed = [(a * x + c * y + e, b * x + d * y + f) for x, y in points[:1000]]
        if placed and len(self._painted) < _PLACES:
            xs, ys = [x for x, _ in placed], [y for _, y in placed]
            self._painted.append((min(xs), min(ys), max(xs), max(ys)))


def _alphas(page: Any) -> dict[str, bool]:
    """Graphics states by their names: whether they make what is filled see-through."""
    try:
        states = page["/Resources"]["/ExtGState"].get_object()
        return {name: float(states[name].get_object().get("/ca", 1)) < 0.02 for name in states}
    except Exception as exc:  # whatever a broken file makes pypdf throw: there are no such states
        if isinstance(exc, MemoryError | RecursionError):
            raise
        return {}


def _is_white(given: list[Any], operator: bytes) -> bool:
    numbers = [one for one in given if isinstance(one, float)]
    if len(numbers) != len(given) or not numbers:
        return False  # a pattern
    if operator == b"k" or len(numbers) == 4:
        return sum(numbers) < 0.04
    return all(one > 0.985 for one in numbers)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _matrix(given: list[Any]) -> Matrix:
    a, b, c, d, e, f = given
    return a, b, c, d, e, f


def _times(one: Matrix, other: Matrix) -> Matrix:
    a, b, c, d, e, f = one
    g, h, i, j, k, l = other  # noqa: E741 - as in the textbooks
    return a * g + b * i, a * h + b * j, c * g + d * i, c * h + d * j, e * g + f * i + k, e * h + f * j + l


def _is_in(x: float, y: float, box: Box) -> bool:
    return box[0] - 1 <= x <= box[2] + 1 and box[1] - 1 <= y <= box[3] + 1
