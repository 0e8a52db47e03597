"""Folders of Markdown notes as lines of an import: basic-memory, Claude Code's memory, and what `export` has written.

The text of a note is a statement, and so is each of its observations; relations and links lead from note to note.
"""

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, BinaryIO

from memctl import errors
from memctl.lifecycle import markdown
from memctl.lifecycle.foreign_lines import link, time_of, type_of
from memctl.lifecycle.import_ import GivenLine
from memctl.lifecycle.jsonl import HEADER, InvalidLine
from memctl.text import clean, notes

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
    has_own = any(isinstance(text, str) and markdown.is_ours(text) for _, text in _files_below(folder))
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
        if markdown.is_ours(text):
            line = markdown.read_line(text)
            self._own_links += [(path, link) for link in markdown.links_of(line)]
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
