"""What can be imported, recognised by its content: each format as lines of an export, which `import_` then judges.

Types, tiers and relations become ours. A foreign id is the line's id, so that references among lines hold; the item
gets a new one, and a second import finds it by its content. What another program's model wrote is marked as a model's
word. Nothing is written, and nothing beside the named file or below the named folder is read.
"""

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any, BinaryIO

from memctl import errors, ids
from memctl.lifecycle.import_ import GivenLine
from memctl.lifecycle.jsonl import InvalidLine, export_lines, number_lines, parse_line
from memctl.names import GLOBAL_SCOPE, ITEM_TYPES
from memctl.store import foreign
from memctl.store.database import Database
from memctl.store.filters import Filters
from memctl.text import clean, jsons, notes

#: A place in the source, and what stands there.
Lines = Iterator[tuple[int | str, GivenLine]]

#: A document of JSON is read as a whole; a note, too.
_DOCUMENT_BYTES, _NOTE_BYTES = 256 << 20, 4 << 20
_HEAD_BYTES = 65536
_SQLITE = b"SQLite format 3\0"
#: Other programs' words for our types.
_TYPES = {
    "preference": "constraint", "procedure": "pattern", "gotcha": "pattern", "technique": "pattern",
    "method": "pattern", "rule": "constraint", "requirement": "constraint", "process": "pattern", "task": "todo",
    "feedback": "constraint", "user": "fact", "project": "fact", "reference": "pointer",
}  # fmt: skip
_RELATIONS = (
    "supersedes", "contradicts", "supports", "refines", "derived_from", "depends_on", "references", "related_to",
)  # fmt: skip
_RELATION_WORDS = {"replaces": "supersedes", "strengthens": "supports", "consolidated_from": "derived_from"}
_TIERS = {"episodic": "stm", "semantic": "mtm", "permanent": "ltm"}
#: Where a link of Markdown leads, and what it is called.
_FILE_LINK = r"\[([^\[\]\n]{1,200})\]\(<?([^()<>\s]{1,300}\.md)>?\)"


@contextmanager
def open_source(
    path: str, stream: BinaryIO | None, named: str | None, tell: Callable[[str], None]
) -> Iterator[tuple[str, Lines]]:
    """The format of a source and its lines, while it is open. Raises UsageError when it is not of the named format.

    path    a file or a folder; with a stream only its name
    stream  what can be read and rewound; None: the folder or database at `path`
    tell    takes a line about what is passed over
    """
    found = "markdown" if stream is None and os.path.isdir(path) else _recognise(stream, path) if stream else "store"
    if stream is None and found == "store":
        with foreign.open_foreign(path) as db:
            kind = foreign.kind_of(db)
            found = "rekal" if kind.startswith("rekal") else "store"
            _check_format(path, found, named)
            if not kind:
                raise errors.NotADatabase(path=path, reason="it is a database of another program")
            if found == "store":
                foreign.prepare_store(db)
            yield found, _read_rekal(db) if found == "rekal" else _read_store(db)
        return
    if stream is not None and is_database(stream):
        raise errors.UsageError("a database is named, not piped: memctl import FILE", command="import")
    if named in ("jsonl", "markdown") and stream is not None:
        found = named
    _check_format(path, found, named)
    if stream is None:
        yield found, _read_folder(path, tell)
    elif found == "markdown":
        yield found, _read_notes([(os.path.basename(path), _whole_text(stream))], os.path.basename(path), tell)
    elif found == "mcp-memory":
        yield found, _read_entities(number_lines(stream))
    elif found == "mem-context":
        yield found, _read_mem_context(_document(stream, path or "standard input"))
    elif found in ("rekal", "array"):
        document = _document(stream, path or "standard input")
        yield (found, _read_rekal_export(document)) if found == "rekal" else ("jsonl", _entries(document))
    else:
        yield "jsonl", number_lines(stream)


def _entries(document: Any) -> Lines:
    return ((f"entry {number}", one) for number, one in enumerate(document, 1))


def is_database(stream: BinaryIO) -> bool:
    """Whether a file is an SQLite database, by its first bytes."""
    head = stream.read(len(_SQLITE))
    stream.seek(0)
    return head == _SQLITE


def _check_format(path: str, found: str, named: str | None) -> None:
    if named is not None and named != ("jsonl" if found == "array" else found):
        raise errors.UsageError(f"{path or 'standard input'}: it is {found}, not {named}", command="import")


def _recognise(stream: BinaryIO, path: str) -> str:
    """The format of a text, by how it begins."""
    head = stream.read(_HEAD_BYTES).removeprefix(b"\xef\xbb\xbf").lstrip()
    stream.seek(0)
    if re.match(rb'\{\s*"_format"\s*:\s*"mem-context-export/', head):
        return "mem-context"
    if first := re.match(rb"\[\s*\{\s*\"(.{0,4000})", head, re.DOTALL):
        keys = [key for key in (b'content"', b'provenance"', b'memory_type"', b'project"') if key in first[1]]
        return "rekal" if len(keys) > 1 and keys[0] == b'content"' and keys[1] != b'provenance"' else "array"
    if re.match(rb'\{[^\n]{0,300}"type"\s*:\s*"(entity|relation)"', head):
        return "mcp-memory"
    if head.startswith((b"---\n", b"---\r\n")) or (path.endswith(".md") and not head.startswith(b"{")):
        return "markdown"
    return "jsonl"


def _document(stream: BinaryIO, name: str) -> Any:
    """A whole document of JSON. Raises JsonInvalid."""
    data = stream.read(_DOCUMENT_BYTES + 1)
    if len(data) > _DOCUMENT_BYTES:
        raise errors.JsonInvalid(name=name, reason=f"the document is longer than {_DOCUMENT_BYTES >> 20} MB")
    try:
        text = data.decode("utf-8-sig")
        return jsons.read(text, jsons.after_blanks(text))[0]
    except ValueError as exc:
        raise errors.JsonInvalid(name=name, reason=str(exc)) from exc


# --- what all have in common -------------------------------------------------------------------------------------


def _statement(given_id: str, content: str, program: str, source: str, **fields: Any) -> dict[str, Any]:
    """The line of a statement that another program's model has written."""
    provenance = {"source_kind": "chat", "source_id": f"{program}:{source}", "chunk_ids": [f"model:{program}"]}
    return {"id": given_id or None, "content": content, "provenance": provenance} | {
        name: value for name, value in fields.items() if value is not None
    }


def _link(src: str, dst: str, relation: object) -> dict[str, Any]:
    """The record of a link, its relation in our words."""
    word = "_".join(str(relation).lower().replace("-", " ").split())
    word = _RELATION_WORDS.get(word, word)
    rel = word if word in _RELATIONS else "related_to"
    return {"record": "link", "src_id": src, "dst_id": dst, "rel": rel, "created_at": ids.timestamp()}


def _type(*words: object) -> str:
    """The first of these words that means a type of ours."""
    for word in words:
        text = str(word).strip().lower()
        if text in ITEM_TYPES or text in _TYPES:
            return _TYPES.get(text, text)
    return "note"


def _time(value: object) -> str | None:
    """Another program's time as an export has it; None where there is none."""
    from memctl.text.times import canonical

    found = canonical(value) if isinstance(value, str) else ""
    return found if found.endswith("+00:00") and "T" in found else None


def _share(value: object) -> float | None:
    return min(1.0, max(0.0, float(value))) if isinstance(value, int | float) and not isinstance(value, bool) else None


# --- databases ---------------------------------------------------------------------------------------------------


def _read_store(db: Database) -> Lines:
    """A store of memctl or RAGIX: what its complete export would say. What has no source is from this file."""
    for number, line in enumerate(export_lines(db, Filters(archived=True), complete=True), 1):
        if "record" not in line and not line["provenance"]["source_id"].strip():
            line["provenance"]["source_id"] = os.path.basename(db.path)
        yield f"entry {number}", line


def _read_rekal(db: Database) -> Lines:
    """A rekal database, 1.x or 3.x: memories, links; conversations as sessions."""
    links = foreign.rekal_links(db)
    replaced = {str(old): str(new) for new, old, relation in links if relation == "supersedes"}
    known = set[str]()
    for memory in foreign.rekal_memories(db):
        known.add(str(memory["id"]))
        yield f"memory {memory['id']}", _rekal_line(memory, replaced)
    for src, dst, relation in links:
        if str(src) in known and str(dst) in known:
            yield f"link {src}", _link(str(src), str(dst), relation)
    threads: dict[str, list[dict[str, str]]] = {}
    for src, dst, relation in foreign.rekal_threads(db):
        threads.setdefault(str(src), []).append({"rel": str(relation), "to": str(dst)})
    for one in foreign.rekal_conversations(db):
        session_id, started = str(one["id"]), _time(one["started_at"]) or ids.timestamp()
        project = str(one["project"]) if one["project"] else None
        metadata = {"client": "rekal", "title": str(one["title"] or ""), "threads": threads.get(session_id, [])}
        yield f"conversation {session_id}", {
            "record": "session", "session_id": session_id, "project_id": project, "scope": project or GLOBAL_SCOPE,
            "turn_count": 0, "created_at": started, "updated_at": started, "metadata": metadata,
        }  # fmt: skip


def _rekal_line(memory: dict[str, Any], replaced: dict[str, str]) -> GivenLine:
    if not isinstance(memory["content"], str):
        return InvalidLine("content: expected a string")
    given_id = str(memory["id"])
    by = replaced.get(given_id)
    return _statement(
        given_id, memory["content"], "rekal", str(memory.get("conversation_id") or given_id), tier="mtm",
        type=_type(memory.get("memory_type")), tags=memory["tags"], scope=str(memory["project"] or GLOBAL_SCOPE),
        created_at=_time(memory["created_at"]), updated_at=_time(memory["updated_at"] or memory["created_at"]),
        expires_at=_time(memory.get("expires_at")), usage_count=memory.get("access_count"),
        last_used_at=_time(memory.get("last_accessed_at")), superseded_by=by, archived=by is not None,
    )  # fmt: skip


def _read_rekal_export(memories: Any) -> Lines:
    for number, memory in enumerate(memories, 1):
        if isinstance(memory, dict):
            tags = memory.get("tags")
            filled: dict[str, Any] = {"project": None, "created_at": None, "updated_at": None} | memory
            filled["tags"] = [str(tag) for tag in tags] if isinstance(tags, list) else []
            filled.setdefault("id", f"entry-{number}")
            yield f"entry {number}", _rekal_line(filled | {"content": memory.get("content")}, {})
        else:
            yield f"entry {number}", InvalidLine(f"expected an object, got {jsons.kind_of(memory)}")


# --- JSON --------------------------------------------------------------------------------------------------------


def _read_mem_context(document: Any) -> Lines:
    """An export of mem-context: memories, and relations as links."""
    known = set[str]()
    memories, relations = (
        found if isinstance(found := document.get(key), list) else [] for key in ("memories", "relations")
    )
    for number, memory in enumerate(memories, 1):
        content = (memory.get("content") or memory.get("summary")) if isinstance(memory, dict) else None
        if not isinstance(content, str):
            yield f"memory {number}", InvalidLine("content: expected a string")
            continue
        given_id = str(memory.get("id") or f"memory-{number}")
        tags = [str(tag) for tag in memory.get("tags") or [] if isinstance(tag, str)]
        known.add(given_id)
        parts = [(name, memory.get(name)) for name in ("error_trace", "diff_text")]
        content = "\n\n".join(
            [content, *(f"{name}:\n{text}" for name, text in parts if isinstance(text, str) and text)]
        )
        scope = memory.get("scope_name") or memory.get("scope") or GLOBAL_SCOPE
        files = memory.get("diff_files")
        yield f"memory {number}", _statement(
            given_id, content, "mem-context", str(memory.get("source_session") or given_id),
            title=str(memory.get("summary") or ""), tags=tags, type=_type(*tags), scope=str(scope),
            tier=_TIERS.get(str(memory.get("type")), "stm"), importance=_share(memory.get("weight")),
            entities=[str(file) for file in files] if isinstance(files, list) else [],
            created_at=_time(memory.get("created_at")), updated_at=_time(memory.get("created_at")),
            usage_count=memory.get("access_count"), last_used_at=_time(memory.get("last_accessed_at")),
            archived=memory.get("weight") == 0,
        )  # fmt: skip
    for number, one in enumerate(relations, 1):
        ends = [str(one.get(end)) for end in ("source_id", "target_id")] if isinstance(one, dict) else []
        if len(ends) == 2 and all(end in known for end in ends):
            yield f"relation {number}", _link(ends[0], ends[1], one.get("relation_type"))


def _read_entities(numbered: Iterable[tuple[int, bytes | None]]) -> Lines:
    """The file of the reference MCP memory server: an observation or a relation is a statement about its entities."""
    for number, data in numbered:
        try:
            if data is None:
                raise InvalidLine("longer than a line may be")
            value = parse_line(data)
            if not isinstance(value, dict):
                raise InvalidLine(f"expected an object, got {jsons.kind_of(value)}")
            lines = list(_entity_lines(value))
        except InvalidLine as exc:
            lines = [exc]
        for line in lines:
            yield number, line


def _entity_lines(value: dict[str, Any]) -> Iterator[GivenLine]:
    kind = value.get("type")
    keys = ("name", "entityType") if kind == "entity" else ("from", "to", "relationType")
    if kind not in ("entity", "relation") or not all(isinstance(value.get(key), str) for key in keys):
        raise InvalidLine(f"expected an entity or a relation with {', '.join(keys)}")
    if kind == "relation":
        start, end, relation = (value[key] for key in keys)
        content = f"{start} {relation.replace('_', ' ')} {end}"
        tags = ["relation", relation]
        yield _statement("", content, "mcp-memory", start, title=start, tags=tags, entities=[start, end])
        return
    name, about = value["name"], value["entityType"]
    observations = value.get("observations") or []
    if not isinstance(observations, list):
        raise InvalidLine(f"observations: expected a list of strings, got {jsons.kind_of(observations)}")
    if not observations:
        tags = [about, "entity"]
        yield _statement("", f"{name}: {about}", "mcp-memory", name, title=name, tags=tags, entities=[name])
    for one in observations:
        if isinstance(one, str):
            yield _statement(
                "", one, "mcp-memory", name, title=name, type=_type(about), tags=[about], entities=[name]
            )  # fmt: skip
        else:
            yield InvalidLine(f"observations: expected a list of strings, got {jsons.kind_of(one)}")


# --- notes in Markdown -------------------------------------------------------------------------------------------


def _whole_text(stream: BinaryIO) -> str | InvalidLine:
    data = stream.read(_NOTE_BYTES + 1)
    if len(data) > _NOTE_BYTES:
        return InvalidLine(f"longer than {_NOTE_BYTES >> 20} MB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return InvalidLine("not UTF-8")


def _read_folder(folder: str, tell: Callable[[str], None]) -> Lines:
    """The notes in a folder and below it, by path; hidden ones and what links lead to are none."""
    files = _files_below(folder)
    first = next(files, None)
    if first is None:
        raise errors.FileMissing(path=folder, reason="no note (.md) is in it", remedy="name a folder of Markdown notes")
    return _read_notes(chain([first], files), os.path.basename(os.path.abspath(folder)), tell)


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


def _read_notes(files: Iterable[tuple[str, str | InvalidLine]], folder: str, tell: Callable[[str], None]) -> Lines:
    """Notes as statements: the text of each, each of its observations, and links where relations lead."""
    names: dict[str, str] = {}  # what a note may be called -> the id of its line
    relations: list[tuple[str, str, str]] = []
    left: dict[str, int] = {}
    for path, text in files:
        if isinstance(text, InvalidLine):
            yield path, text
            continue
        note = notes.read_note(text)
        for key in note.left:
            left[key] = left.get(key, 0) + 1
        title = clean.one_line(_title(note, path))
        first = f"{path}#0"
        lines = list(_note_lines(note, path, folder, title))
        if not lines:
            continue
        stem = path.rpartition("/")[2].rpartition(".")[0]
        for name in (title, note.field("permalink"), path, path.rpartition(".")[0], stem, note.field("name")):
            names.setdefault(name.casefold(), first)
        relations += [(first, relation, target) for relation, target in note.relations]
        relations += [(first, "references", target) for _, target in re.findall(_FILE_LINK, note.text)]
        for line in lines:
            yield path, line
    missing = 0
    for src, relation, target in relations:
        there = names.get(target.casefold()) or names.get(target.removeprefix("./").casefold())
        missing += there is None
        if there is not None and there != src:
            yield src.rpartition("#")[0], _link(src, there, relation)
    if left:
        some = ", ".join(sorted(left)[:10])
        tell(
            f"[import] fields of notes that were passed over, as they are not understood: {sum(left.values())} ({some})"
        )
    if missing:
        tell(f"[import] {missing} relation(s) lead to notes that are not there")


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
    made = _time(note.field("created", "date")) or _time(note.field("modified", "updated"))
    times = {"created_at": made, "updated_at": _time(note.field("modified", "updated")) or made} if made else {}
    tags = clean.union(note.words("tags"), [])
    common = {"title": title, "provenance": provenance, "tier": "mtm", **times}
    text = re.sub(r"\A\s*# +[^\n]+\n*", "", note.text) if note.text.lstrip().startswith("# ") else note.text
    text = re.sub(r"(?m)^#+ (?:Observations|Relations)[ \t]*\n?", "", text).strip()
    if path.rpartition("/")[2] == "MEMORY.md":  # an index of the other files: what it says beside their names
        text = re.sub(rf"(?m)^[-*] {_FILE_LINK}[^\n]*\n?", "", text).strip()
    text = text or ("" if note.observations else note.field("description"))
    targets = clean.union(target for _, target in note.relations)
    contents = [(text, _type(note.field("type")), tags)] if not clean.is_blank(text) else []
    contents += [(one.text, _type(one.category), [*tags, one.category, *one.tags]) for one in note.observations]
    for number, (content, type_, words) in enumerate(contents):
        entities = targets if number == 0 else []
        line = {"id": f"{path}#{number}", "content": content, "type": type_, "tags": clean.union(words), **common}
        yield line | {"entities": entities}
