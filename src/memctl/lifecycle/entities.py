"""The knowledge graph of the reference MCP memory server: its file as lines of an import, and items as its lines.

Each line of the file is an entity with observations, or a relation between two entities. An observation is a statement,
and so is a relation: it is about both of its entities, whatever it is called.
"""

from collections.abc import Iterable, Iterator, Mapping

from memctl.annotations import Any
from memctl.lifecycle.import_ import GivenLine
from memctl.lifecycle.jsonl import InvalidLine, parse_line, statement, type_of
from memctl.text import clean, jsons

_PROGRAM = "mcp-memory"


# --- reading ---------------------------------------------------------------------------------------------------------


def read_lines(numbered: Iterable[tuple[int, bytes | None]]) -> Iterator[tuple[int, GivenLine]]:
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


# --- writing ---------------------------------------------------------------------------------------------------------


def write_lines(
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
