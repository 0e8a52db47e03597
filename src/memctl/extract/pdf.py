"""PDF files, page by page: through pdftotext where that is installed, else through pypdf."""

import re
from collections.abc import Iterator
from html import unescape
from importlib import import_module
from typing import IO, TYPE_CHECKING, Any

from memctl.extract import Document, Limits, Unreadable
from memctl.extract.guard import library
from memctl.extract.places import TOO_MUCH_TEXT, Lines, one_kind_of_line_end

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
    lines = Lines(name, limits)
    if tool:
        pages = _through_tool(tool, _shown_to_tool(data, lines), name, limits)
    else:
        pages = _through_pypdf(data, name, limits, lines)
    known = frozenset(_WORD.findall("\n".join(pages)))
    for number, page in enumerate(pages, 1):
        lines.at(f"page {number}")
        lines.add(_rejoined(page, known))
    if lines.is_empty:
        raise Unreadable(path=name, reason="it has no text layer (a scan?)")
    return lines.document("text")._replace(title=_title(data))


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


def _shown_to_tool(data: bytes, lines: Lines) -> bytes:
    """The file without hidden text, which is noted in `lines`; the file itself where pypdf is missing or fails."""
    from importlib.util import find_spec

    if find_spec("pypdf") is None:
        return data
    from io import BytesIO

    pypdf = import_module("pypdf")
    _hush()
    found = []
    try:
        writer = pypdf.PdfWriter(clone_from=BytesIO(data))
        for number, page in enumerate(writer.pages, 1):
            if text := _take_hidden(pypdf, page):
                found.append((text, f"page {number}"))
        target = BytesIO()
        if found:
            writer.write(target)
    except Exception as exc:  # the tool reads what pypdf cannot, and says itself what is wrong with a file
        if isinstance(exc, MemoryError):
            raise
        return data
    for text, place in found:
        lines.hide(text, place)
    return target.getvalue() if found else data


def _take_hidden(pypdf: Any, page: Any) -> str:
    """The hidden text of a page, which is not in it any more afterwards."""
    from memctl.extract.pdf_hidden import divide

    contents = page.get_contents()
    if contents is None:
        return ""
    stream = pypdf.generic.ContentStream(contents, page.pdf)
    divided = divide(page, stream.operations)
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


def _through_pypdf(data: bytes, name: str, limits: Limits, lines: Lines) -> list[str]:
    pypdf = library("pypdf", _NEEDED, name)
    _hush()
    try:
        return list(_pages(pypdf, data, name, limits, lines))
    except pypdf.errors.DependencyError as exc:  # for AES it needs another library
        raise Unreadable(path=name, reason=f"it is encrypted with AES, which needs {_TOOL}") from exc


def _pages(pypdf: Any, data: bytes, name: str, limits: Limits, lines: Lines) -> Iterator[str]:
    from io import BytesIO

    reader = pypdf.PdfReader(BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):  # files that only forbid printing open with no password
        raise Unreadable(path=name, reason=_ENCRYPTED)
    left = limits.expanded
    for number, page in enumerate(reader.pages, 1):
        lines.hide(_take_hidden(pypdf, page), f"page {number}")
        text = one_kind_of_line_end(page.extract_text())
        left -= len(text)
        if left < 0:
            raise Unreadable(path=name, reason=TOO_MUCH_TEXT)
        yield text


def _hush() -> None:
    """Keep pypdf's remarks about damage off stderr: what matters ends as a refusal."""
    import logging  # noqa: TID251 - pypdf has loaded it already

    logging.getLogger("pypdf").setLevel(logging.CRITICAL + 1)
