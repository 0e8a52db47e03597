"""Items as a folder of Markdown notes: people read them, git tells what changed, and `import` reads them back.

A note is one item: its fields between two lines of `---`, each as JSON (which is YAML, too) or as plain words, then the
content exactly as it is. The last field is a checksum of the rest: a note that somebody has edited is known by it, and
is neither written over nor removed.

Folders of notes that other programs keep (basic-memory, Claude Code's memory) are read as lines of an import: the text
of a note is a statement, and so is each of its observations; relations and links lead from note to note. What binds is
written as a rules file, too: CLAUDE.md, AGENTS.md, .cursor/rules, copilot-instructions.md.
"""

import hashlib
import json
import os
import re
import stat
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, BinaryIO, NamedTuple

from memctl import errors
from memctl.lifecycle.import_ import GivenLine
from memctl.lifecycle.jsonl import HEADER, InvalidLine, link, time_of, type_of
from memctl.names import ITEM_TYPES
from memctl.text import clean, notes
from memctl.text.block.markers import RULES, RULES_END
from memctl.text.clean import one_line

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
    checksum = hashlib.sha256((head + body).encode()).hexdigest()[:16]
    return f"{_FENCE}{_MARK}{head}checksum: {checksum}\n{body}".encode()


def _shown(value: Any) -> str:
    if isinstance(value, str) and re.fullmatch(_PLAIN, value):
        return value
    text = json.dumps(value, ensure_ascii=False)
    # No line end but \n ends a line of a note; what would look like one to another program is written as an escape.
    return re.sub("[\x7f-\x9f\u2028\u2029\ufeff]", lambda found: json.dumps(found[0])[1:-1], text)


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


#: The types that are told, in this order, and the heading of each.
_HEADINGS = {"constraint": "Constraints", "decision": "Decisions", "pattern": "How things are done",
             "definition": "Words"}  # fmt: skip


def binds(line: Mapping[str, Any]) -> bool:
    """Whether a line of an export is a rule: no passage of a document, nothing that is kept from models, nor what is
    gone soon unless somebody keeps it.
    """
    stays = not line["archived"] and line["expires_at"] is None and line["validation"] != "retracted"
    return stays and bool(line["injectable"]) and "source" not in line and line["type"] in _HEADINGS


def rules_file(lines: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The lines of a rules file for the lines of an export that bind; nothing where there are none.

    The oldest comes first, so that a file in git changes where something is new.
    """
    found: dict[str, list[tuple[str, str, str]]] = {}
    for line in lines:
        found.setdefault(line["type"], []).append((line["created_at"], line["id"], line["content"]))
    if not found:
        return
    yield from (RULES, "", "Written by `memctl export --format rules`; what is changed here is lost.")
    for kind, heading in _HEADINGS.items():
        if kind in found:
            yield from ("", f"### {heading}", "")
            yield from (f"- {_told(content)}" for _, _, content in sorted(found[kind]))
    yield from ("", RULES_END)


def _told(content: str) -> str:
    """A statement as an entry of a list: its further lines stand below it, and none of them is a heading."""
    first, *rest = [line.rstrip() for line in content.strip().splitlines()]
    return "\n".join([one_line(first, len(first)), *(f"  {line}" if line else "" for line in rest)])


#: The path of a note, and what it says.
NoteLines = Iterator[tuple[int | str, GivenLine]]
_NOTE_BYTES = 4 << 20
#: Where a link of Markdown leads, and what it is called.
_FILE_LINK = r"\[([^\[\]\n]{1,200})\]\(<?([^()<>\s]{1,300}\.md)>?\)"


def read_file(path: str, stream: BinaryIO, tell: Callable[[str], None]) -> NoteLines:
    """The lines of one note."""
    name = os.path.basename(path) or "note.md"
    return _read_notes([(name, _whole_text(stream))], _NoteReader(name), tell)


def _whole_text(stream: BinaryIO) -> str | InvalidLine:
    data = stream.read(_NOTE_BYTES + 1)
    if len(data) > _NOTE_BYTES:
        return InvalidLine(f"longer than {_NOTE_BYTES >> 20} MB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return InvalidLine("not UTF-8")


def read_folder(folder: str, tell: Callable[[str], None]) -> NoteLines:
    """The notes in a folder and below it, by path; hidden ones and what links lead to are none."""
    files = _files_below(folder)
    first = next(files, None)
    if first is None:
        raise errors.FileMissing(path=folder, reason="no note (.md) is in it", remedy="name a folder of Markdown notes")
    has_own = any(isinstance(text, str) and is_ours(text) for _, text in _files_below(folder))
    reader = _NoteReader(os.path.basename(os.path.abspath(folder)), folder, has_own=has_own)
    return _read_notes(chain([first], files), reader, tell)


def _files_below(folder: str) -> Iterator[tuple[str, str | InvalidLine]]:
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = os.path.join(place, name)
            relative = os.path.relpath(path, folder).replace(os.sep, "/")
            if name.startswith(".") or not name.lower().endswith((".md", ".markdown")):
                continue
            try:
                # No link is followed, and no pipe waited for.
                handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
                with open(handle, "rb") as stream:
                    regular = stat.S_ISREG(os.fstat(handle).st_mode)
                    yield relative, _whole_text(stream) if regular else InvalidLine("not a regular file")
            except OSError as exc:
                yield (
                    relative,
                    InvalidLine("a link, which is not followed" if os.path.islink(path) else str(exc.strerror)),
                )


def _read_notes(
    files: Iterable[tuple[str, str | InvalidLine]], reader: "_NoteReader", tell: Callable[[str], None]
) -> NoteLines:
    for path, text in files:
        try:
            if isinstance(text, InvalidLine):
                raise text
            lines = reader.read(path, text)
        except InvalidLine as exc:
            lines = [exc]
        for line in lines:
            yield path, line
    yield from reader.links()
    if reader.left:
        some = ", ".join(sorted(reader.left)[:10])
        count = sum(reader.left.values())
        tell(f"[import] fields of notes that were passed over, as they are not understood: {count} ({some})")
    if reader.missing:
        tell(f"[import] {reader.missing} relation(s) lead to notes that are not there")


class _NoteReader:
    """What is known of the notes of a folder: where their relations lead shows when all are read.

    folder  what their source is called
    place   where they are; None for a single note
    has_own whether notes of ours are among them: these keep their ids, and a foreign one, which has none, gets one
    """

    def __init__(self, folder: str, place: str | None = None, *, has_own: bool = False) -> None:
        self._folder, self._place = folder, place
        self._names: dict[str, str] = {}  # what a note may be called -> the id of its line
        self._relations: list[tuple[str, str, str]] = []
        self._own_links: list[tuple[str, dict[str, Any]]] = []
        self._has_own, self._is_begun = has_own, False
        self.left: dict[str, int] = {}  # fields that are not understood, and how often
        self.missing = 0

    def read(self, path: str, text: str) -> list[GivenLine]:
        """The lines of a note; the first of a foreign one has the id `path#0`. Raises InvalidLine."""
        if is_ours(text):
            line = read_line(text)
            self._own_links += [(path, link) for link in links_of(line)]
            header = [] if self._is_begun else [dict(HEADER)]  # it keeps its ids, as a complete export does
            self._has_own = self._is_begun = True
            return [*header, line]
        note = notes.read_note(text)
        if path == "MEMORY.md":  # an index of the other notes: of those that are read as well, it says nothing new
            note = note._replace(text=re.sub(rf"(?m)^[-*] {_FILE_LINK}[^\n]*\n?", self._unless_there, note.text))
        for key in note.left:
            self.left[key] = self.left.get(key, 0) + 1
        title, first = clean.one_line(_title(note, path)), f"{path}#0"
        lines = list(_note_lines(note, path, self._folder, title))
        if self._has_own:
            return [{key: value for key, value in line.items() if key != "id"} for line in lines]
        if lines:
            stem = path.rpartition("/")[2].rpartition(".")[0]
            for name in (title, note.field("permalink"), path, path.rpartition(".")[0], stem, note.field("name")):
                self._names.setdefault(name.casefold(), first)
            self._relations += [(first, relation, target) for relation, target in note.relations]
            self._relations += [(first, "references", target) for _, target in re.findall(_FILE_LINK, note.text)]
        return list(lines)

    def _unless_there(self, line: re.Match[str]) -> str:
        if self._place is None or not os.path.isfile(os.path.join(self._place, line[2])):
            return line[0]
        self._relations.append(("MEMORY.md#0", "references", line[2]))
        return ""

    def links(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The links between the notes."""
        yield from self._own_links
        known = set(self._names.values())
        for src, relation, target in self._relations:
            there = self._names.get(target.casefold()) or self._names.get(target.removeprefix("./").casefold())
            self.missing += there is None
            if there is not None and there != src and src in known:
                yield src.rpartition("#")[0], link(src, there, relation)


def _title(note: notes.Note, path: str) -> str:
    heading = re.match(r"\s*# +([^\n]+)", note.text)
    stem = path.rpartition("/")[2].rpartition(".")[0]
    return note.field("title", "name") or (heading[1].strip() if heading else "") or stem


def _note_lines(note: notes.Note, path: str, folder: str, title: str) -> Iterator[dict[str, Any]]:
    """The lines of a note; the first has the id `path#0`."""
    by_model = path.rpartition("/")[2] == "MEMORY.md" or note.field("type") in (
        "user",
        "feedback",
        "project",
        "reference",
    )
    provenance = {"source_kind": "doc", "source_id": f"{folder}/{path}", "chunk_ids": ["model:notes"] * by_model}
    made = time_of(note.field("created", "date")) or time_of(note.field("modified", "updated"))
    times = {"created_at": made, "updated_at": time_of(note.field("modified", "updated")) or made} if made else {}
    tags = clean.union(note.words("tags"), [])
    common = {"title": title, "provenance": provenance, "tier": "mtm", **times}
    text = re.sub(r"\A\s*# +[^\n]+\n*", "", note.text) if note.text.lstrip().startswith("# ") else note.text
    text = re.sub(r"(?m)^#+ (?:Observations|Relations)[ \t]*\n?", "", text).strip()
    text = text or ("" if note.observations else note.field("description"))
    targets = clean.union(target for _, target in note.relations)
    contents = [(text, type_of(note.field("type")), tags)] if not clean.is_blank(text) else []
    contents += [(one.text, type_of(one.category), [*tags, one.category, *one.tags]) for one in note.observations]
    for number, (content, type_, words) in enumerate(contents):
        about = targets if number == 0 else []
        line = {"id": f"{path}#{number}", "content": content, "type": type_, "tags": clean.union(words), **common}
        yield line | {"entities": about}
