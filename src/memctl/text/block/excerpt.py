"""The part of a passage that fits, cut at line or sentence borders, around the lines that speak of the query."""

from collections.abc import Iterator, Mapping, Sequence

from memctl.text.query import Query, stem

#: Stems in lower case to look for: with what each weighs, or alike (a rare one in the text then weighs more).
Weighed = Mapping[str, float] | Sequence[str]

CUT = "[…]"

#: What a line costs beside its characters: the indent and the line break.
LINE_COST = 5
#: A line longer than this is taken apart into sentences.
LONG_LINE = 200
#: What a word that is there again adds, as a share of its weight, divided by how often it was there.
AGAIN = 0.3
#: What it adds to a stretch to begin where a paragraph, a list item or a block of code does, and to end there.
BORDER = 0.1
#: A first line of at most this many characters is kept before a stretch from further down, if at least
#: LEAST_AFTER_OPENING characters are left for that.
OPENING = 120
LEAST_AFTER_OPENING = 200


class Excerpt:
    """Some lines of a text, and the zero-based numbers of the first and the last.

    shown  how many of the lines at the end are these; the one before them, if there is one, is what the text opens with
    """

    __slots__ = ("first", "last", "lines", "shown")

    def __init__(self, lines: list[str], first: int, last: int, shown: int) -> None:
        self.lines, self.first, self.last, self.shown = lines, first, last, shown


class _Piece:
    """A line or a part of one; `cost` in characters. `opens`: a paragraph, a list item, a block of code begins."""

    __slots__ = ("cost", "line", "opens", "starts_line", "text")

    def __init__(self, line: int, text: str, *, line_cost: int | None = None, opens: bool = False) -> None:
        self.line, self.text, self.opens = line, text, opens
        self.starts_line = line_cost is not None
        self.cost = len(text) + (1 if line_cost is None else line_cost)


def stems(query: Query) -> list[str]:
    """What to look for in a line so that it counts as speaking of the query."""
    return list(dict.fromkeys(stem(word) for word in (*query.terms, *query.parts, *query.runs)))


def cost(lines: Sequence[str], line_cost: int = LINE_COST) -> int:
    """What lines cost in a block: their characters, indents and line breaks."""
    return sum(map(len, lines)) + line_cost * len(lines)


def opened(lines: Sequence[str], limit: int, words: Weighed = (), line_cost: int = LINE_COST) -> Excerpt | None:
    """The same as `excerpt`, after the first line where that says what it is all about: a heading, a definition.

    Such a line is short, and marked or underlined, or has the next one below it.
    """
    cut = excerpt(lines, limit, words, line_cost)
    if cut is None or cut.first == 0 or not 0 < len(lines[0]) <= OPENING:
        return cut
    first, second = lines[0], lines[1]
    underlined = len(second) >= 3 and not second[0].isalnum() and second.strip(second[0]) == ""
    below = bool(second) and len(second) - len(second.lstrip()) > len(first) - len(first.lstrip())
    room = limit - cost(lines[:1], line_cost)
    if room < LEAST_AFTER_OPENING or not (first.startswith("#") or underlined or below):
        return cut
    rest = excerpt(lines, room, words, line_cost)
    if rest is None or rest.first == 0:
        return cut
    return Excerpt([first, *rest.lines], rest.first, rest.last, len(rest.lines))


def excerpt(lines: Sequence[str], limit: int, words: Weighed = (), line_cost: int = LINE_COST) -> Excerpt | None:
    """At most `limit` characters of some lines (see `cost`), a cut marked with […]; None when nothing fits.

    The stretch that holds most of the `words` is kept, with what stands around them. It begins and ends where
    paragraphs, list items and blocks of code do, if that loses little.
    """
    if cost(lines, line_cost) <= limit:
        return Excerpt(list(lines), 0, len(lines) - 1, len(lines))
    room = limit - line_cost - 2 * (len(CUT) + 1)
    if room < 1:
        return None
    pieces = _pieces(lines, room, line_cost)
    start, end = _best_window(pieces, room + line_cost, words, line_cost)
    while start < end and not pieces[start].text.strip():
        start += 1
    while end > start and not pieces[end - 1].text.strip():
        end -= 1
    if start == end:
        return None
    out: list[str] = []
    for piece in pieces[start:end]:
        if piece.starts_line or not out:
            out.append(piece.text)
        else:
            out[-1] += " " + piece.text
    if start > 0:
        out[0] = f"{CUT} {out[0].lstrip()}"
    if end < len(pieces):
        out[-1] = f"{out[-1].rstrip()} {CUT}"
    return Excerpt(out, pieces[start].line, pieces[end - 1].line, len(out))


_FENCES = ("```", "~~~")
_BULLETS = ("- ", "* ", "+ ", "• ", "#")


def _pieces(lines: Sequence[str], room: int, line_cost: int) -> list[_Piece]:
    """Lines whole; a long one in sentences, and a sentence longer than `room` cut at blanks where there are any.

    With note of where a paragraph, a heading, a list item or a fenced block begins; nothing begins inside such a block.
    """
    pieces: list[_Piece] = []
    fenced, after_blank = False, True
    longest = min(LONG_LINE, room)
    for number, line in enumerate(lines):
        parts = [line] if len(line) <= longest else _parts(line, room)
        bare = parts[0].lstrip()
        fence = bare.startswith(_FENCES)
        sign = bare.partition(" ")[0]
        item = bare.startswith(_BULLETS) or (sign[-1:] in ".)" and sign[:-1].isdigit())
        opens = not fenced and bool(bare) and (after_blank or fence or item)
        pieces.append(_Piece(number, parts[0], line_cost=line_cost, opens=opens))
        pieces += [_Piece(number, text) for text in parts[1:]]
        fenced ^= fence
        after_blank = not bare and len(parts) == 1
    return pieces


def _parts(line: str, room: int) -> list[str]:
    """A long line in sentences, and these in pieces of at most `room` characters."""
    parts: list[str] = []
    for sentence in sentences(line):
        text = sentence
        while len(text) > room:
            blank = text.rfind(" ", room // 2, room)
            end = blank if blank > 0 else room
            parts.append(text[:end])
            text = text[end:].removeprefix(" ")
        if text or not parts:
            parts.append(text)
    return parts


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


def _best_window(pieces: Sequence[_Piece], room: int, words: Weighed, line_cost: int) -> tuple[int, int]:
    """The stretch of pieces within `room` in which the words weigh most; the earliest of equals.

    A word counts in full once, and a little for each time that it is there again.
    """
    low = [piece.text.lower() for piece in pieces]
    held: list[list[tuple[int, float]]] = [[] for _ in pieces]  # the words in each, as (number, weight)
    weights = words if isinstance(words, Mapping) else None
    for number, word in enumerate(words):
        where = [i for i, text in enumerate(low) if word in text]
        word_weight = 1.0 / max(1, len(where)) if weights is None else weights[word]
        for i in where:
            held[i].append((number, word_weight))
    best, best_weight = (0, 0), -1.0
    end, size, said, times = 0, 0, 0.0, [0] * len(words)
    for start, piece in enumerate(pieces):
        if end < start:
            end, size, said, times = start, 0, 0.0, [0] * len(words)
        # A window that starts inside a line pays for a line start there.
        extra = 0 if piece.starts_line else line_cost
        while end < len(pieces) and size + pieces[end].cost + extra <= room:
            size += pieces[end].cost
            for number, weight in held[end]:
                said += weight * (AGAIN / times[number] if times[number] else 1.0)
                times[number] += 1
            end += 1
        if end > start:
            whole = piece.opens + (end == len(pieces) or pieces[end].opens)
            worth = said * (1 + BORDER * whole)
            if worth > best_weight + 1e-9:
                best, best_weight = (start, end), worth
            size -= piece.cost
            for number, weight in held[start]:
                times[number] -= 1
                said -= weight * (AGAIN / times[number] if times[number] else 1.0)
    return best
