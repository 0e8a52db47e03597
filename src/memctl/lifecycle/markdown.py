"""Items as a folder of Markdown notes: people read them, git tells what changed, and `import` reads them back.

A note is one item: its fields between two lines of `---`, each as JSON (which is YAML, too) or as plain words, then the
content exactly as it is. The last field is a checksum of the rest: a note that somebody has edited is known by it, and
is neither written over nor removed.
"""

import hashlib
import json
import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from memctl import errors
from memctl.lifecycle.jsonl import InvalidLine
from memctl.names import ITEM_TYPES

#: The first field of a note of ours: the version of its form.
_MARK = "memctl: 1\n"
_FENCE = "---\n"
#: Fields in the order in which people want them; the content is no field.
_ORDER = (
    "id", "title", "type", "tier", "tags", "scope", "importance", "confidence", "validation", "entities", "provenance",
    "source", "links", "relations", "created_at", "updated_at", "expires_at", "usage_count", "last_used_at", "rule_id",
    "corpus_id", "superseded_by", "archived", "injectable", "withheld", "held_by",
)  # fmt: skip
#: What is not said where it is so.
_DEFAULTS: dict[str, Any] = {
    "title": "", "tags": [], "entities": [], "links": [], "confidence": 0.5, "validation": "unverified",
    "expires_at": None, "usage_count": 0, "last_used_at": None, "rule_id": None, "corpus_id": None,
    "superseded_by": None, "archived": False, "injectable": True, "relations": [],
}  # fmt: skip
#: A text that stands without quotes: no JSON begins so, and YAML takes it for text, too.
_PLAIN = (
    r"(?!(?i:true|false|null|yes|no|on|off|nan|infinity)\Z)[A-Za-z_][\w ,.;/()+-]{0,150}(?<! )|\d{4}-\d\d-\d\dT[\d:.+]+"
)
_OUR_ID = r"[A-Z]{2,6}-[0-9a-f]{8,64}"


class NotesWritten(NamedTuple):
    """What became of the notes of a folder; `edited` are those that somebody has changed since, by path."""

    written: int
    unchanged: int
    removed: int
    edited: list[str]


# --- writing ---------------------------------------------------------------------------------------------------------


def write_notes(
    folder: str, lines: Iterable[Mapping[str, Any]], links: Mapping[str, list[dict[str, str]]], *, whole: bool
) -> NotesWritten:
    """Write a note for each line of an export into a folder, which is made.

    links  the links of each item, by its id
    whole  the lines are all items: notes of items that are no more are removed
    Raises FolderUnwritable.
    """
    written = unchanged = removed = 0
    edited: list[str] = []
    kept = set[str]()
    try:
        os.makedirs(folder, exist_ok=True)  # also for no note: who reads it next finds it
        for line in lines:
            path = os.path.join(line["type"], _file_name(line))
            kept.add(path)
            data = compose({**line, "relations": links.get(line["id"], [])})
            there = _read_own(folder, path)
            if there == data:
                unchanged += 1
            elif there is not None and not is_unedited(there):
                edited.append(path)
            else:
                _write(folder, path, data)
                written += 1
        for path in _notes_in(folder) if whole else ():
            there = None if path in kept else _read_own(folder, path)
            if there is not None and is_unedited(there):
                os.unlink(os.path.join(folder, path))
                removed += 1
    except OSError as exc:
        raise errors.FolderUnwritable(path=folder, reason=exc.strerror or str(exc)) from exc
    return NotesWritten(written, unchanged, removed, edited)


def compose(line: Mapping[str, Any]) -> bytes:
    """The note of a line of an export."""
    fields = [
        (key, line[key]) for key in _ORDER if key in line and (key not in _DEFAULTS or line[key] != _DEFAULTS[key])
    ]
    head = "".join(f"{key}: {_shown(value)}\n" for key, value in fields)
    body = f"{_FENCE}\n{line['content']}\n"
    return f"{_FENCE}{_MARK}{head}checksum: {_checksum(head, body)}\n{body}".encode()


def _shown(value: Any) -> str:
    if isinstance(value, str) and re.fullmatch(_PLAIN, value):
        return value
    text = json.dumps(value, ensure_ascii=False)
    # No line end but \n ends a line of a note; what would look like one to another program is written as an escape.
    return re.sub("[\x7f-\x9f\u2028\u2029\ufeff]", lambda found: json.dumps(found[0])[1:-1], text)


def _checksum(head: str, body: str) -> str:
    return hashlib.sha256((head + body).encode()).hexdigest()[:16]


def _file_name(line: Mapping[str, Any]) -> str:
    """A name that people can read and that is the item's own: words of the title, then the id."""
    words = line["title"].strip() or " ".join(line["content"][:200].split())
    plain = unicodedata.normalize("NFKD", words).encode("ascii", "ignore").decode().lower()
    slug = "-".join(re.findall("[a-z0-9]+", plain))[:48].strip("-")
    item_id = line["id"]
    if not re.fullmatch(_OUR_ID, item_id):  # another program's, which may be a path, or differ in case alone
        item_id = "id-" + hashlib.sha256(item_id.encode()).hexdigest()[:16]
    return f"{slug}--{item_id}.md" if slug else f"{item_id}.md"


def _write(folder: str, path: str, data: bytes) -> None:
    """Put a whole note into its place; a link that stands there is replaced, one that stands for its folder refused."""
    place = os.path.join(folder, os.path.dirname(path))
    os.makedirs(place, exist_ok=True)
    if os.path.islink(place):
        raise NotADirectoryError(20, f"{os.path.dirname(path)} in it is a link")
    part = os.path.join(place, f".{os.path.basename(path)}.part")
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), 0o600)
    with open(handle, "wb") as file:
        file.write(data)
    os.replace(part, os.path.join(folder, path))


def _read_own(folder: str, path: str) -> bytes | None:
    """What stands at a path of a note; None where nothing does, or what is no file."""
    try:
        handle = os.open(
            os.path.join(folder, path), os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        )
    except OSError:
        return None
    with open(handle, "rb") as file:
        return file.read()


def _notes_in(folder: str) -> Iterator[str]:
    """The paths of notes that may be ours."""
    for kind in ITEM_TYPES:
        place = os.path.join(folder, kind)
        if os.path.isdir(place) and not os.path.islink(place):
            yield from (os.path.join(kind, name) for name in sorted(os.listdir(place)) if name.endswith(".md"))


# --- reading ---------------------------------------------------------------------------------------------------------


def is_ours(text: str) -> bool:
    """Whether a note says that it is an item of memctl."""
    return text.replace("\r\n", "\n", 2).startswith(_FENCE + _MARK)


def is_unedited(data: bytes) -> bool:
    """Whether a note is as it was written, by its checksum. One that is not ours is edited."""
    found = re.match(rb"---\nmemctl: 1\n(.*?\n)checksum: ([0-9a-f]{16})\n(---\n.*)\Z", data, re.DOTALL)
    return found is not None and hashlib.sha256(found[1] + found[3]).hexdigest()[:16].encode() == found[2]


def read_line(text: str) -> dict[str, Any]:
    """The line of an export that a note of ours is; `relations` are its links. Raises InvalidLine."""
    if "\r\n" in text.partition("\n")[0] + "\n":  # git has changed all its line ends
        text = text.replace("\r\n", "\n")
    head, fence, body = text[len(_FENCE) :].partition("\n" + _FENCE)
    if not fence:
        raise InvalidLine("the line --- that ends its fields is missing")
    line: dict[str, Any] = {}
    for row in head.split("\n"):
        key, colon, given = row.partition(":")
        if key in _ORDER and colon:
            line[key] = _value(given.strip())
    line["content"] = body.removeprefix("\n").removesuffix("\n")
    return line


def links_of(line: dict[str, Any]) -> list[dict[str, Any]]:
    """The records of the links that a note says, and that leave its line."""
    found = line.pop("relations", [])
    named = [link for link in found if isinstance(link, dict)] if isinstance(found, list) else []
    return [{"record": "link", "src_id": line.get("id")} | link for link in named]


def _value(given: str) -> Any:
    try:
        return json.loads(given)
    except (ValueError, RecursionError):
        return given
