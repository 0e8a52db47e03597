"""Office documents are zip archives of XML parts: what is checked before any library may look at one.

A part is unpacked here, piece by piece and once; the library is given an archive made anew of what came out, so that
no size, name or part that it meets is one that was not counted.
"""

import re
from collections.abc import Callable, Container, Iterator
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.extract import Limits, Unreadable, suffix_of
from memctl.extract.writer import EXPANDED
from memctl.text.clean import one_line

if TYPE_CHECKING:
    from zipfile import ZipInfo

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_MODERN = {".docx": ".doc", ".pptx": ".ppt", ".xlsx": ".xls"}
#: Encodings in which `<!ENTITY` is these very bytes, NULs aside.
_ENCODINGS = ("utf-8", "utf8", "utf-16", "us-ascii", "ascii", "iso-8859-1", "windows-1252")
_DECLARED = re.compile(rb"<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([^\"']{0,40})")
_TITLE = re.compile(rb"<dc:title[^>]{0,300}>([^<]{1,4000})</dc:title>")
#: How many parts an office document may have.
_PARTS = 20_000
_PIECE = 1 << 20
#: How many opening and closing tags a part may have that is read as a tree: each element takes some 200 bytes.
TAGS = 4_000_000


class Package(NamedTuple):
    """The XML parts of an office document, by name; of other parts (pictures, programs) only that they exist."""

    parts: dict[str, bytes]

    def part(self, name: str) -> bytes:
        """A part by its name; empty if it is not there."""
        return self.parts.get(name, b"")

    def file(self) -> BytesIO:
        """A new archive with these parts, not compressed, for a library to read."""
        from zipfile import ZIP_STORED, ZipFile, ZipInfo

        target = BytesIO()
        with ZipFile(target, "w", ZIP_STORED) as archive:
            for name, part in self.parts.items():
                archive.writestr(ZipInfo(name), part)
        target.seek(0)
        return target

    def title(self) -> str:
        """The title in the document's properties, "" if none."""
        from html import unescape

        found = next((m for name in ("docProps/core.xml", "meta.xml") if (m := _TITLE.search(self.part(name)))), None)
        return unescape(found[1].decode("utf-8", "replace")) if found else ""


def local(element: Any) -> str:
    """The name of an element of lxml without its namespace; "" for comments and processing instructions."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def attribute(element: Any, name: str) -> str:
    """An attribute of such an element by its local name, "" if there is none, or no element."""
    if element is None:
        return ""
    return next((str(value) for key, value in element.attrib.items() if key.rpartition("}")[2] == name), "")


def below(element: Any, wanted: str, skipped: Container[str] = ()) -> Iterator[Any]:
    """The nearest elements below that have this local name; elements in `skipped` are not looked into."""
    for child in element:
        name = local(child)
        if name == wanted:
            yield child
        elif name not in skipped:
            yield from below(child, wanted, skipped)


def unpack(
    data: bytes, name: str, limits: Limits, *, tags: int = TAGS, flat: Callable[[str], bool] = lambda _: False
) -> Package:
    """The parts of the office document `data`. Raises Unreadable for what is no safe one.

    A part has at most `tags` tags, but for the `flat` ones, which the library reads as a stream.
    """
    from zipfile import ZipFile

    suffix = suffix_of(name)
    if data.startswith(_OLE):
        if "EncryptedPackage".encode("utf-16-le") in data:
            raise Unreadable(path=name, reason="it is encrypted with a password")
        old = _MODERN.get(suffix, "office")
        raise Unreadable(path=name, reason=f"it is an old {old} document (OLE): save it as {suffix}")
    if not data:
        raise Unreadable(path=name, reason="it is empty")
    if not data.startswith(b"PK"):
        raise Unreadable(path=name, reason=f"it is no {suffix} file: those are zip archives")
    if data.count(b"PK\1\2") > 2 * _PARTS:  # what opening it would make an object of each
        raise Unreadable(path=name, reason=f"it has more than {_PARTS:,} parts")
    parts: dict[str, bytes] = {}
    left = limits.expanded
    with ZipFile(BytesIO(data)) as archive:
        entries = archive.infolist()
        _check_directory(entries, name, limits)
        for entry in entries:
            part = b""
            if entry.filename == "mimetype" or entry.filename.endswith((".xml", ".rels")):
                with archive.open(entry) as source:  # in pieces: a directory that gives a wrong size does no harm
                    pieces = []
                    while piece := source.read(_PIECE):
                        left -= len(piece)
                        if left < 0:
                            raise _too_large(name, limits)
                        pieces.append(piece)
                part = b"".join(pieces)
            if part and entry.filename != "mimetype":
                _check_xml(part, name, entry.filename, 1 << 62 if flat(entry.filename) else tags)
            parts[entry.filename] = part
    return Package(parts)


def _too_large(name: str, limits: Limits) -> Unreadable:
    reason = f"it expands to more than {limits.expanded:,} bytes (a zip bomb?), the limit ({EXPANDED})"
    return Unreadable(path=name, reason=reason)


def _check_directory(entries: "list[ZipInfo]", name: str, limits: Limits) -> None:
    from zipfile import ZIP_DEFLATED, ZIP_STORED

    seen: set[str] = set()
    for entry in entries:
        shown = one_line(entry.filename, 60)
        if entry.flag_bits & 1:
            raise Unreadable(path=name, reason="it is encrypted with a password")
        if entry.filename.startswith("/") or "\\" in entry.filename or ".." in entry.filename.split("/"):
            raise Unreadable(path=name, reason=f"a part of it points outside of it: {shown}")
        if entry.filename in seen:
            raise Unreadable(path=name, reason=f"it has two parts of one name: {shown}")
        if entry.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise Unreadable(path=name, reason=f"a part of it is packed in an unusual way: {shown}")
        seen.add(entry.filename)
    if len(entries) > _PARTS:
        raise Unreadable(path=name, reason=f"it has {len(entries):,} parts, and the limit is {_PARTS:,}")
    if sum(entry.file_size for entry in entries) > limits.expanded:
        raise _too_large(name, limits)


def _check_xml(part: bytes, name: str, part_name: str, tags: int) -> None:
    """Refuse entities of the document's own (they multiply), encodings that could hide them, and too many elements."""
    flat = part.replace(b"\0", b"") if b"\0" in part[:4] else part  # of two or four bytes a character
    declared = _DECLARED.search(flat[:300])
    encoding = declared[1].decode("ascii", "replace").lower() if declared else "utf-8"
    shown = one_line(part_name, 60)
    if encoding not in _ENCODINGS:
        raise Unreadable(path=name, reason=f"its part {shown} is in the encoding {one_line(encoding)}")
    if b"<!ENTITY" in flat:
        raise Unreadable(path=name, reason=f"its part {shown} defines XML entities (an XML bomb?)")
    count = flat.count(b"<")
    if count > tags:
        raise Unreadable(path=name, reason=f"its part {shown} has {count:,} tags, and the limit is {tags:,}")
