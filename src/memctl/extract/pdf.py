"""PDF files, page by page: through pdftotext where that is installed, else through pypdf."""

import re
from collections.abc import Sequence
from contextlib import suppress
from html import unescape
from importlib import import_module
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from memctl.extract import Document, Limits, Unreadable, library
from memctl.extract.writer import TINY_POINTS, TOO_MUCH_TEXT, DocumentWriter, one_kind_of_line_end

if TYPE_CHECKING:
    from subprocess import Popen

_TOOL = "pdftotext (Debian and Ubuntu: apt install poppler-utils; macOS: brew install poppler)"
_NEEDED = f"{_TOOL} or pypdf"
_BROKEN_WORD = re.compile(r"(?<!\w)(\w+)([-\u00ad\u2010])\n[ \t]*(\w+)[ \t]*")
_WORD = re.compile(r"\w+(?:-\w+)*")
_PIECE = 1 << 20
_SECONDS = "ingest.max_seconds in config.json"
_ENCRYPTED = "it is encrypted with a password"


def read(data: bytes, name: str, limits: Limits) -> Document:
    """The text of a .pdf file. What has no text says so: memctl reads no pictures of text."""
    from shutil import which

    if b"%PDF-" not in data[:1024]:
        raise Unreadable(path=name, reason="it is empty" if not data else "it is no PDF file")
    tool = which("pdftotext")
    writer = DocumentWriter(name, limits)
    if tool:
        pages = _through_tool(tool, _without_hidden(data, writer), name, limits)
    else:
        pages = _through_pypdf(data, name, limits, writer)
    known = frozenset(_WORD.findall("\n".join(pages)))
    for number, page in enumerate(pages, 1):
        writer.begin_place(f"page {number}")
        writer.add(_rejoined(page, known))
    found = writer.document("text")
    if not found.text and not found.hidden:
        raise Unreadable(path=name, reason="it has no text layer (a scan?)")
    return found._replace(title=_title(data))


def _title(data: bytes) -> str:
    """The title in the file's information dictionary or XMP packet; "" where there is none that says anything."""
    if b"/Encrypt" in data:
        return ""
    found = ""
    for info in reversed(re.findall(rb"/Info\s{1,9}(\d{1,10})\s{1,9}(\d{1,5})\s{1,9}R", data)):
        body = re.search(rb"(?<!\d)%s\s{1,9}%s\s{1,9}obj\b(.{0,5000}?)endobj" % info, data, re.DOTALL)
        value = (
            re.search(rb"(?s)/Title\s{0,9}(?:\(((?:\\.|[^\\()]){0,999})\)|<([0-9A-Fa-f\s]{0,3999})>)", body[1])
            if body
            else None
        )
        if value:
            found = _text_string(value[1], value[2])
            break
    if not found:
        xmp = re.search(rb"<dc:title>.{0,200}?<rdf:li[^>]{0,99}>([^<]{1,999})</rdf:li>", data, re.DOTALL)
        found = unescape(xmp[1].decode("utf-8", "replace")) if xmp else ""
    found = " ".join("".join(char if char.isprintable() else " " for char in found).split())
    found = found.removeprefix("Microsoft Word - ").removeprefix("Microsoft PowerPoint - ")
    return (
        "" if re.fullmatch(r"(?i)untitled|.*\.(?:docx?|pptx?|tex|dvi|indd|qxd|pdf|rtf|odt)|\W*", found) else found[:200]
    )


def _text_string(literal: bytes, digits: bytes) -> str:
    """A text string of PDF, written in parentheses or as hexadecimal digits: UTF-16 with its mark, else Latin-1."""
    if digits:
        digits = b"".join(digits.split())
        raw = bytes.fromhex((digits + b"0" * (len(digits) % 2)).decode("ascii"))
    else:
        escapes = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"", b"f": b""}
        raw = re.sub(
            rb"\\([0-7]{1,3}|\r?\n|.)",
            lambda m: bytes([int(m[1], 8) & 255]) if m[1].isdigit() else escapes.get(m[1], m[1].strip(b"\r\n")),
            literal or b"",
            flags=re.DOTALL,
        )
    return raw[2:].decode("utf-16-be", "replace") if raw.startswith(b"\xfe\xff") else raw.decode("latin-1")


def _rejoined(page: str, known: frozenset[str]) -> str:
    """The page with words put together that a hyphen divides at the end of a line, where it is sure how.

    It is sure when the document has the word elsewhere, with or without the hyphen, or when the hyphen is a soft one.
    """

    def joined(match: re.Match[str]) -> str:
        first, hyphen, second = match.groups()
        ends_line = match.end() == len(page) or page[match.end()] == "\n"
        rest = "" if ends_line else "\n"
        if hyphen == "\u00ad" or first + second in known:
            return first + second + rest
        return f"{first}-{second}{rest}" if f"{first}-{second}" in known else match[0]

    return _BROKEN_WORD.sub(joined, page)


def _through_tool(tool: str, data: bytes, name: str, limits: Limits) -> list[str]:
    """The pages as pdftotext gives them, with a form feed after each."""
    import subprocess
    from tempfile import TemporaryFile
    from threading import Event, Timer

    late = Event()

    def stop() -> None:
        late.set()
        process.kill()

    command = (tool, "-q", "-enc", "UTF-8", "-eol", "unix", "-", "-")
    with TemporaryFile() as source:  # not a pipe, which two writers could block; it has no name that could be left over
        source.write(data)
        source.seek(0)
        with subprocess.Popen(  # noqa: S603 - the tool's own path, arguments of ours
            command, stdin=source, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            watch = Timer(limits.seconds, stop)
            watch.daemon = True
            watch.start()
            try:
                text = _output(process, name, limits)
            finally:
                watch.cancel()
                process.kill()  # after its end this does nothing
    if late.is_set():
        raise Unreadable(path=name, reason=f"pdftotext did not finish within {limits.seconds:g} s ({_SECONDS})")
    if process.returncode:
        reason = _ENCRYPTED if b"/Encrypt" in data else f"pdftotext cannot read it (exit status {process.returncode})"
        raise Unreadable(path=name, reason=reason)
    return text.decode("utf-8", "replace").split("\f")


def _output(process: "Popen[bytes]", name: str, limits: Limits) -> bytes:
    """All that the tool writes, up to the limit on expanded size; waits for its end."""
    stream: IO[bytes] | None = process.stdout
    pieces: list[bytes] = []
    left = limits.expanded
    while stream and (piece := stream.read(_PIECE)):
        left -= len(piece)
        if left < 0:
            raise Unreadable(path=name, reason=TOO_MUCH_TEXT)
        pieces.append(piece)
    process.wait()
    return b"".join(pieces)


def _without_hidden(data: bytes, writer: DocumentWriter) -> bytes:
    """The file without hidden text, which is hidden in the writer; the file itself where pypdf is missing or fails."""
    from importlib.util import find_spec

    if find_spec("pypdf") is None:
        return data
    from io import BytesIO

    pypdf = import_module("pypdf")
    _hush()
    found = []
    try:
        clone = pypdf.PdfWriter(clone_from=BytesIO(data))
        for number, page in enumerate(clone.pages, 1):
            if text := _take_hidden(pypdf, page):
                found.append((text, f"page {number}"))
        target = BytesIO()
        if found:
            clone.write(target)
    except Exception as exc:  # the tool reads what pypdf cannot, and says itself what is wrong with a file
        if isinstance(exc, MemoryError):
            raise
        return data
    for text, place in found:
        writer.hide(text, place)
    return target.getvalue() if found else data


def _take_hidden(pypdf: Any, page: Any) -> str:
    """The hidden text of a page, which is not in it any more afterwards."""
    contents = page.get_contents()
    if contents is None:
        return ""
    stream = pypdf.generic.ContentStream(contents, page.pdf)
    divided = _divide(page, stream.operations)
    if divided is None:
        return ""
    key = pypdf.generic.NameObject("/Contents")
    stream.operations = divided.hidden
    page[key] = stream
    text = one_kind_of_line_end(page.extract_text())
    stream = pypdf.generic.ContentStream(contents, page.pdf)
    stream.operations = divided.visible
    page[key] = stream
    return text if text.strip() else ""


def _through_pypdf(data: bytes, name: str, limits: Limits, writer: DocumentWriter) -> list[str]:
    from io import BytesIO

    pypdf = library("pypdf", _NEEDED, name)
    _hush()
    try:
        reader = pypdf.PdfReader(BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):  # files that only forbid printing open with no password
            raise Unreadable(path=name, reason=_ENCRYPTED)
        left = limits.expanded
        pages = []
        for number, page in enumerate(reader.pages, 1):
            writer.hide(_take_hidden(pypdf, page), f"page {number}")
            pages.append(one_kind_of_line_end(page.extract_text()))
            left -= len(pages[-1])
            if left < 0:
                raise Unreadable(path=name, reason=TOO_MUCH_TEXT)
    except pypdf.errors.DependencyError as exc:  # for AES it needs another library
        raise Unreadable(path=name, reason=f"it is encrypted with AES, which needs {_TOOL}") from exc
    return pages


def _hush() -> None:
    """Keep pypdf's remarks about damage off stderr: what matters ends as a refusal."""
    import logging  # noqa: TID251 - pypdf has loaded it already

    logging.getLogger("pypdf").setLevel(logging.CRITICAL + 1)


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


class _Drawing(NamedTuple):
    """What of the graphics state matters here."""

    matrix: Matrix = _UNIT
    white: bool = False
    mode: int = 0
    size: float = 0.0
    clear: bool = False


class _DividedPage(NamedTuple):
    """The operators of a page without those that show hidden text, and without those that show text one can see."""

    visible: list[Any]
    hidden: list[Any]


def _divide(page: Any, operations: list[Any]) -> _DividedPage | None:
    """The operators of a page divided by whether what they show can be seen; None where nothing is hidden."""
    if len(operations) > _MOST:
        return None
    walk = _DrawnText(page)
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
    return _DividedPage([one for number, one in enumerate(operations) if number not in showing], hidden)


class _DrawnText:
    """Follows the operators of a page: where text would be shown, how, and what is painted already."""

    def __init__(self, page: Any) -> None:
        self.state = _Drawing()
        self.pictures = 0
        self._stack: list[_Drawing] = []
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
        return (
            state.white
            and state.mode in (0, 4)
            and not any(box[0] - 1 <= x <= box[2] + 1 and box[1] - 1 <= y <= box[3] + 1 for box in self._painted)
        )

    def step(self, operands: Any, operator: bytes) -> None:
        """Take an operator into account. One with broken operands changes nothing."""
        with suppress(TypeError, ValueError, IndexError, KeyError, OverflowError):
            given = [
                float(one) if isinstance(one, int | float) and not isinstance(one, bool) else one for one in operands
            ]
            if operator == b"q" and len(self._stack) < 1000:
                self._stack.append(self.state)
            elif operator == b"Q" and self._stack:
                self.state = self._stack.pop()
            elif operator == b"cm":
                self.state = self.state._replace(matrix=_times(given, self.state.matrix))
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
            self._text = self._line = _times(given, _UNIT)
        elif operator in (b"Td", b"TD"):
            self._leading = -given[1] if operator == b"TD" else self._leading
            self._text = self._line = _times((1, 0, 0, 1, given[0], given[1]), self._line)
        elif operator in (b"T*", b"'", b'"'):
            self._text = self._line = _times((1, 0, 0, 1, 0, -self._leading), self._line)

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


def _times(one: Sequence[float], other: Matrix) -> Matrix:
    a, b, c, d, e, f = one
    g, h, i, j, k, l = other  # noqa: E741 - as in the textbooks
    return a * g + b * i, a * h + b * j, c * g + d * i, c * h + d * j, e * g + f * i + k, e * h + f * j + l
