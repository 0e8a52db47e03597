"""The part of a passage that fits, cut at line or sentence borders, around the lines that speak of the query."""

from collections.abc import Iterable, Iterator, Sequence

from memctl.text.query import Query, stem

CUT = "[…]"

#: What a line costs beside its characters: the indent and the line break.
LINE_COST = 5
#: A line longer than this is taken apart into sentences.
LONG_LINE = 200


class Excerpt:
    """Some lines of a text, and the zero-based numbers of the first and the last."""

    __slots__ = ("first", "last", "lines")

    def __init__(self, lines: list[str], first: int, last: int) -> None:
        self.lines, self.first, self.last = lines, first, last


class _Unit:
    """A line or a sentence of one; `cost` in characters."""

    __slots__ = ("cost", "line", "starts_line", "text")

    def __init__(self, line: int, text: str, starts_line: bool) -> None:
        self.line, self.text, self.starts_line = line, text, starts_line
        self.cost = len(text) + (LINE_COST if starts_line else 1)


def stems(query: Query) -> list[str]:
    """What to look for in a line so that it counts as speaking of the query."""
    return list(dict.fromkeys(stem(word) for word in (*query.terms, *query.parts, *query.runs)))


def cost(lines: Iterable[str]) -> int:
    """What lines cost in a block: their characters, indents and line breaks."""
    return sum(len(line) + LINE_COST for line in lines)


def excerpt(lines: Sequence[str], limit: int, words: Sequence[str] = ()) -> Excerpt | None:
    """At most `limit` characters of some lines (see `cost`), a cut marked with […]; None when nothing fits.

    `words` are stems in lower case; the stretch that holds most of them, rare ones first, is kept.
    """
    if cost(lines) <= limit:
        return Excerpt(list(lines), 0, len(lines) - 1)
    room = limit - LINE_COST - 2 * (len(CUT) + 1)
    if room < 1:
        return None
    units = [unit for number, line in enumerate(lines) for unit in _units(number, line, room)]
    start, end = _best_window(units, room + LINE_COST, _weights(units, words))
    while start < end and not units[start].text.strip():
        start += 1
    while end > start and not units[end - 1].text.strip():
        end -= 1
    if start == end:
        return None
    out = _lines(units[start:end])
    if start > 0:
        out[0] = f"{CUT} {out[0].lstrip()}"
    if end < len(units):
        out[-1] = f"{out[-1].rstrip()} {CUT}"
    return Excerpt(out, units[start].line, units[end - 1].line)


def _lines(units: Sequence[_Unit]) -> list[str]:
    out: list[str] = []
    for unit in units:
        if unit.starts_line or not out:
            out.append(unit.text)
        else:
            out[-1] += " " + unit.text
    return out


def _units(number: int, line: str, room: int) -> Iterator[_Unit]:
    first = True
    if not line:
        yield _Unit(number, line, first)
    for sentence in sentences(line) if len(line) > min(LONG_LINE, room) else (line,):
        for piece in _hard(sentence, room):
            yield _Unit(number, piece, first)
            first = False


def sentences(line: str) -> Iterator[str]:
    """The sentences of a line, without the blanks between them."""
    start = 0
    for i in range(1, len(line)):
        if line[i] == " " and line[i - 1] in ".!?;:…" and i - start > 20:
            yield line[start:i]
            start = i + 1
        elif line[i - 1] in "\u3002\uff01\uff1f":
            yield line[start:i]
            start = i
    if line[start:]:
        yield line[start:]


def _hard(text: str, room: int) -> Iterator[str]:
    """Pieces of at most `room` characters, cut at blanks where there are any."""
    start = 0
    while len(text) - start > room:
        blank = text.rfind(" ", start + room // 2, start + room)
        end = blank if blank > start else start + room
        yield text[start:end]
        start = end + 1 if text[end] == " " else end
    if start < len(text):
        yield text[start:]


def _weights(units: Sequence[_Unit], words: Sequence[str]) -> list[float]:
    """For each unit the sum over the words in it; a word in few units weighs more."""
    low = [unit.text.lower() for unit in units]
    out = [0.0] * len(units)
    for word in words:
        where = [i for i, text in enumerate(low) if word in text]
        for i in where:
            out[i] += 1.0 / len(where)
    return out


def _best_window(units: Sequence[_Unit], room: int, weights: Sequence[float]) -> tuple[int, int]:
    """The stretch of units within `room` that weighs most; the earliest of equals."""
    best, best_weight = (0, 0), -1.0
    end, size, weight = 0, 0, 0.0
    for start, unit in enumerate(units):
        if end < start:
            end, size, weight = start, 0, 0.0
        # A window that starts inside a line pays for a line start there.
        extra = 0 if unit.starts_line else LINE_COST
        while end < len(units) and size + units[end].cost + extra <= room:
            size += units[end].cost
            weight += weights[end]
            end += 1
        if end > start and weight > best_weight + 1e-9:
            best, best_weight = (start, end), weight
        if end > start:
            size -= unit.cost
            weight -= weights[start]
    return best
