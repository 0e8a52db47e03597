"""What can be imported, recognised by its content: each format as lines of an export, which `import_` then judges.

Types, tiers and relations become ours. A foreign id is the line's id, so that references among lines hold; the item
gets a new one, and a second import finds it by its content. What another program's model wrote is marked as a model's
word. Nothing is written, and nothing beside the named file or below the named folder is read.

The file of the reference MCP memory server is written as well as read. Each of its lines is an entity with
observations, or a relation between two entities. An observation is a statement, and so is a relation: it is about both
of its entities.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO

from memctl import errors, ids
from memctl.lifecycle import markdown
from memctl.lifecycle.import_ import GivenLine
from memctl.lifecycle.jsonl import (
    InvalidLine,
    export_lines,
    link,
    number_lines,
    parse_line,
    share_of,
    statement,
    time_of,
    type_of,
)
from memctl.names import GLOBAL_SCOPE, SESSION_RELATIONS
from memctl.store import foreign
from memctl.store.database import Database
from memctl.store.filters import Filters
from memctl.text import clean, jsons

#: A place in the source, and what stands there.
Lines = Iterator[tuple[int | str, GivenLine]]

#: A document of JSON is read as a whole; a note, too.
_DOCUMENT_BYTES, _NOTE_BYTES = 256 << 20, 4 << 20
_HEAD_BYTES = 65536
_SQLITE = b"SQLite format 3\0"
_TIERS = {"episodic": "stm", "semantic": "mtm", "permanent": "ltm"}


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
        yield found, markdown.read_folder(path, tell)
    elif found == "markdown":
        yield found, markdown.read_file(path, stream, tell)
    elif found == "mcp-memory":
        yield found, read_entities(number_lines(stream))
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
    said: list[tuple[str, str]] = []
    newest: dict[str, str] = {}  # by conversation: when a memory was last stored in it
    for memory in foreign.rekal_memories(db):
        known.add(str(memory["id"]))
        if within := str(memory.get("conversation_id") or ""):
            said.append((str(memory["id"]), within))
            newest[within] = max(newest.get(within, ""), time_of(memory["created_at"]) or "")
        yield f"memory {memory['id']}", _rekal_line(memory, replaced)
    for src, dst, relation in links:
        if str(src) in known and str(dst) in known:
            yield f"link {src}", link(str(src), str(dst), relation)
    yield from _rekal_threads(db, newest)
    for item_id, within in said:
        yield f"memory {item_id}", {"record": "session_item", "item_id": item_id, "session_id": within}


def _rekal_threads(db: Database, newest: dict[str, str]) -> Lines:
    """Its conversations as sessions, and the links between them."""
    begun: dict[str, str] = {}
    for one in foreign.rekal_conversations(db):
        session_id, started = str(one["id"]), time_of(one["started_at"]) or ids.timestamp()
        begun[session_id] = started
        project = str(one["project"]) if one["project"] else None
        yield f"conversation {session_id}", {
            "record": "session", "session_id": session_id, "project_id": project, "scope": project or GLOBAL_SCOPE,
            "turn_count": 0, "created_at": started, "updated_at": max(started, newest.get(session_id, "")),
            "metadata": {"client": "rekal", "title": str(one["title"] or "")},
        }  # fmt: skip
    for src, dst, relation in foreign.rekal_threads(db):
        if relation in SESSION_RELATIONS and str(src) in begun and str(dst) in begun:
            yield f"conversation {src}", {
                "record": "session_link", "src_id": str(src), "dst_id": str(dst), "rel": str(relation),
                "created_at": begun[str(src)],
            }  # fmt: skip


def _rekal_line(memory: dict[str, Any], replaced: dict[str, str]) -> GivenLine:
    if not isinstance(memory["content"], str):
        return InvalidLine("content: expected a string")
    given_id = str(memory["id"])
    by = replaced.get(given_id)
    return statement(
        given_id, memory["content"], "rekal", str(memory.get("conversation_id") or given_id), tier="mtm",
        type=type_of(memory.get("memory_type")), tags=memory["tags"], scope=str(memory["project"] or GLOBAL_SCOPE),
        created_at=time_of(memory["created_at"]), updated_at=time_of(memory["updated_at"] or memory["created_at"]),
        expires_at=time_of(memory.get("expires_at")), usage_count=memory.get("access_count"),
        last_used_at=time_of(memory.get("last_accessed_at")), superseded_by=by, archived=by is not None,
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
        named = memory.get("tags")
        tags = [tag for tag in named if isinstance(tag, str)] if isinstance(named, list) else []
        known.add(given_id)
        parts = [(name, memory.get(name)) for name in ("error_trace", "diff_text")]
        content = "\n\n".join(
            [content, *(f"{name}:\n{text}" for name, text in parts if isinstance(text, str) and text)]
        )
        scope = memory.get("scope_name") or memory.get("scope") or GLOBAL_SCOPE
        files = memory.get("diff_files")
        yield f"memory {number}", statement(
            given_id, content, "mem-context", str(memory.get("source_session") or given_id),
            title=str(memory.get("summary") or ""), tags=tags, type=type_of(*tags), scope=str(scope),
            tier=_TIERS.get(str(memory.get("type")), "stm"), importance=share_of(memory.get("weight")),
            entities=[str(file) for file in files] if isinstance(files, list) else [],
            created_at=time_of(memory.get("created_at")), updated_at=time_of(memory.get("created_at")),
            usage_count=memory.get("access_count"), last_used_at=time_of(memory.get("last_accessed_at")),
            archived=memory.get("weight") == 0,
        )  # fmt: skip
    for number, one in enumerate(relations, 1):
        ends = [str(one.get(end)) for end in ("source_id", "target_id")] if isinstance(one, dict) else []
        if len(ends) == 2 and all(end in known for end in ends):
            yield f"relation {number}", link(ends[0], ends[1], one.get("relation_type"))


_PROGRAM = "mcp-memory"


# --- the reference MCP memory server: reading -----------------------------------------------------------------------


def read_entities(numbered: Iterable[tuple[int, bytes | None]]) -> Iterator[tuple[int, GivenLine]]:
    """The file of the reference MCP memory server: an observation or a relation is a statement about its entities."""
    for number, data in numbered:
        try:
            if data is None:
                raise InvalidLine("longer than a line may be")
            value = parse_line(data)
            if not isinstance(value, dict):
                raise InvalidLine(f"expected an object, got {jsons.kind_of(value)}")
            for line in _entity_lines(value):
                yield number, line
        except InvalidLine as exc:
            yield number, exc


def _entity_lines(value: dict[str, Any]) -> Iterator[GivenLine]:
    kind = value.get("type")
    keys = ("name", "entityType") if kind == "entity" else ("from", "to", "relationType")
    if kind not in ("entity", "relation") or not all(isinstance(value.get(key), str) for key in keys):
        raise InvalidLine(f"expected an entity or a relation with {', '.join(keys)}")
    if kind == "relation":
        start, end, relation = (value[key] for key in keys)
        content = f"{start} {relation.replace('_', ' ')} {end}"
        tags = ["relation", relation]
        yield statement("", content, "mcp-memory", start, title=start, tags=tags, entities=[start, end])
        return
    name, about = value["name"], value["entityType"]
    observations = value.get("observations") or []
    if not isinstance(observations, list):
        raise InvalidLine(f"observations: expected a list of strings, got {jsons.kind_of(observations)}")
    if not observations:
        tags = [about, "entity"]
        yield statement("", f"{name}: {about}", "mcp-memory", name, title=name, tags=tags, entities=[name])
    for one in observations:
        if isinstance(one, str):
            yield statement(
                "", one, "mcp-memory", name, title=name, type=type_of(about), tags=[about], entities=[name]
            )  # fmt: skip
        else:
            yield InvalidLine(f"observations: expected a list of strings, got {jsons.kind_of(one)}")


# --- the reference MCP memory server: writing -----------------------------------------------------------------------


def write_entities(
    lines: Iterable[Mapping[str, Any]], links: Mapping[str, list[dict[str, str]]]
) -> Iterator[dict[str, Any]]:
    """Entities by name, then relations, of the lines of an export; `links` are the links of each item by its id.

    Items of one title are one entity. What is kept from models is left out: these lines cannot say so. All entities are
    in memory at once, as they are in the server that reads them.
    """
    about: dict[str, str] = {}
    observations: dict[str, dict[str, None]] = {}
    names: dict[str, str] = {}
    relations: dict[tuple[str, str, str], None] = {}
    ends: list[tuple[str, str, str]] = []
    for line in lines:
        if not line["injectable"] or line["validation"] == "retracted":
            continue
        tags, source = line["tags"], line["provenance"]["source_id"]
        is_own = source.startswith(f"{_PROGRAM}:") and tags
        if is_own and tags[0] == "relation" and len(line["entities"]) == 2:
            relations[line["entities"][0], line["entities"][1], tags[-1]] = None
            continue
        name = line["title"].strip() or clean.one_line(line["content"], 60)
        names[line["id"]] = name
        about.setdefault(name, tags[0] if is_own else line["type"])
        said = observations.setdefault(name, {})
        if not (is_own and "entity" in tags[1:]):
            said[line["content"]] = None
        ends += [(line["id"], link["to"], link.get("rel", "related_to")) for link in line["links"] if "to" in link]
        ends += [(line["id"], link["dst_id"], link["rel"]) for link in links.get(line["id"], ())]
    relations.update(
        dict.fromkeys((names[src], names[to], rel) for src, to, rel in ends if src in names and to in names)
    )
    for name in sorted(observations):
        yield {"type": "entity", "name": name, "entityType": about[name], "observations": sorted(observations[name])}
    for start, end, relation in sorted(relations):
        yield {"type": "relation", "from": start, "to": end, "relationType": relation}
