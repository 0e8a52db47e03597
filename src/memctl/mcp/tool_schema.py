"""Operation → tool: the schema a client sees, and the values its JSON becomes.

Everything is read from the operation, and nothing is decided here. This module needs no SDK; schemas are written
straight from the table (pydantic's way of making them would be a tenth of the server's start).

What is published of the tools is kept in catalog.json, so that to list them costs no import of any operation.
`scripts/docs` writes that file, and a test holds that it says what the operations say. The operation itself is imported
when its tool is first called.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pkgutil import get_data
from typing import NamedTuple

from memctl.annotations import TYPE_CHECKING, Any
from memctl.errors import ArgumentInvalid, JsonInvalid
from memctl.operation import CREATE, REQUIRED, WRITE, Operation, Param, utf8
from memctl.ops import TABLE

if TYPE_CHECKING:
    from memctl.context import Context

Schema = dict[str, Any]
#: Whole numbers beyond this are no number of anything we count, and SQLite would not take them.
_LARGEST = 10**18
#: A bound that nobody comes near costs tokens in every schema and is only checked.
_FAR = 10_000
_JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", dict: "object"}
#: Each set of tools with those it is made of.
SETS = {"core": ("core",), "standard": ("core", "standard"), "full": ("core", "standard", "full")}
CATALOG_FILE = "catalog.json"
#: What a client takes for granted of a tool that says nothing.
_ASSUMED = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}
#: The argument that asks for what did not fit into an answer.
CURSOR = "cursor"


class ToolInput:
    """One parameter as a tool has it: its published name and default, and what a client's value means."""

    __slots__ = ("aliases", "default", "help", "name", "param", "required", "takes_records")

    def __init__(self, param: Param) -> None:
        arg = param.arg
        self.param = param
        self.name = arg.mcp_name or param.name.rstrip("_")
        flags = (flag.lstrip("-").replace("-", "_") for flag in arg.flags if flag.startswith("--"))
        self.aliases = frozenset({param.name, param.name.rstrip("_"), *flags}) - {self.name}
        self.required = param.required or arg.mcp_default is REQUIRED
        self.default = param.default if arg.mcp_default in (..., REQUIRED) else arg.mcp_default
        self.help = arg.help if arg.mcp_help is None else arg.mcp_help
        # JSON objects: an array of them, one alone, or their text.
        self.takes_records = param.scalar is dict or getattr(param.scalar, "__origin__", None) is dict

    def schema(self) -> Schema:
        """Its JSON Schema. What may be left out is never `null`; a list that may be left out is a text with commas."""
        param, arg = self.param, self.param.arg
        schema: Schema = {"type": _JSON_TYPES.get(param.scalar, "string")}
        if self.takes_records:
            schema = arg.mcp_schema or {"type": "object"}
        elif param.choices:
            schema["enum"] = list(param.choices)
        else:
            bounds = {"minimum": arg.ge, "maximum": arg.le if arg.le is not None and arg.le < _FAR else None}
            schema |= {key: bound for key, bound in bounds.items() if bound is not None}
        if param.many and (self.required or self.takes_records):
            schema = {"type": "array", "items": schema}
        elif param.many:
            schema = {"type": "string"}
        if not self.required and self.default is not None:
            schema["default"] = self.default
        return schema | {"description": self.help} if self.help else schema

    def value(self, given: Any) -> Any:
        """What the operation gets; a list may come as a text with commas or as a JSON array. Raises ArgumentInvalid."""
        try:
            if self.takes_records:
                return self._records(given)
            if not self.param.many:
                return self.param.check(self._scalar(given))
            if isinstance(given, str) and given.lstrip().startswith("["):
                with suppress(ValueError):  # else it is a text that only looks like a JSON array
                    given = list(json.loads(given))
            if isinstance(given, str):
                given = [part.strip() for part in given.split(",") if part.strip()]
            if not isinstance(given, list):
                raise _wrong_kind("must be a list of texts", given)
            return self.param.check([self._scalar(one) for one in given])
        except ValueError as exc:
            raise ArgumentInvalid(name=self.name, message=str(exc)) from exc

    def _scalar(self, given: Any) -> Any:
        kind = self.param.scalar
        if kind in (int, float, bool):
            if isinstance(given, str):
                return self.param._scalar(given)
            if isinstance(given, bool) is not (kind is bool) or not isinstance(given, int | float):
                raise _wrong_kind("must be true or false" if kind is bool else "must be a number", given)
            if kind is int and given != given // 1:
                raise ValueError(f"{given} is not a whole number")
            if not -_LARGEST < given < _LARGEST:
                raise ValueError("the number is too large")
            return kind(given)
        if not isinstance(given, str):
            raise _wrong_kind("must be a text", given)
        if self.param.arg.path and "\0" in given:
            raise ValueError("a path has no NUL character")
        return utf8(given)

    def _records(self, given: Any) -> list[dict[str, Any]]:
        if isinstance(given, str):
            try:
                given = json.loads(given)
            except (ValueError, RecursionError) as exc:
                reason = "it is nested too deeply" if isinstance(exc, RecursionError) else str(exc)
                raise JsonInvalid(name=self.name, reason=reason) from exc
        records = given if isinstance(given, list) else [given]
        for one in records:
            if not isinstance(one, dict):
                raise _wrong_kind("each entry must be a JSON object", one)
        return records

    def annotation(self) -> Any:
        """`Annotated[type, Field(...)]`, for frameworks that read signatures; without pydantic only the words."""
        import typing

        kind: typing.Any = dict[str, typing.Any] if self.takes_records else self.param.scalar
        if self.param.choices:
            kind = typing.Literal[self.param.choices]
        if self.param.many:
            kind = list[kind] | str
        if not self.required and self.default is None:
            kind = kind | None
        words: Any = self.help
        try:
            from pydantic import Field
        except ImportError:
            return typing.Annotated[kind, words]
        return typing.Annotated[kind, Field(description=words, ge=self.param.arg.ge, le=self.param.arg.le)]


def _wrong_kind(wanted: str, given: Any) -> ValueError:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return ValueError(f"{wanted}, not {names.get(type(given), 'a number')}")


class Tool:
    """An operation as a tool: what is published of it, and how arguments become a call."""

    def __init__(self, op: Operation) -> None:
        if op.tool is None:
            raise ValueError(f"{op.name} is no tool")
        self.op, self.name = op, op.tool
        self.writes = op.access in (WRITE, CREATE)
        self.description = op.about or f"{op.summary}."
        self.params = list(op.params())
        self.inputs = [ToolInput(param) for param in self.params if param.arg.mcp]
        self._by_name = {alias: one for one in self.inputs for alias in one.aliases}
        self._by_name |= {one.name: one for one in self.inputs}

    def schema(self, *, full: bool = True) -> Schema:
        """The JSON Schema of its arguments; without `full` of those that the smaller sets of tools show."""
        levels = (True, "full") if full else (True,)
        shown = [one for one in self.inputs if one.param.arg.mcp in levels]
        out: Schema = {"type": "object", "properties": {one.name: one.schema() for one in shown}}
        is_list = "items" in self.op.answer and "next_offset" not in self.op.answer
        if is_list and not (self.writes or self.op.prose):  # one that may be longer than an answer may be
            out["properties"][CURSOR] = {"type": "string", "description": "next_cursor of the answer before"}
        required = [one.name for one in shown if one.required]
        return out | {"required": required} if required else out

    def unknown(self, arguments: Mapping[str, Any]) -> list[str]:
        """The names among a client's arguments that are no parameter's."""
        return [name for name in arguments if name not in self._by_name and name != CURSOR]

    def named(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """A client's arguments under their published names; `null` means "not given".

        Names it does not know are left out, as documented; `unknown` has them.
        """
        found: dict[str, Any] = {}
        for name, given in arguments.items():
            one = self._by_name.get(name)
            if one is not None and given is not None and (one.name not in found or name == one.name):
                found[one.name] = given
        return found

    def values(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The operation's own parameters from arguments under their published names. Raises ArgumentInvalid."""
        found = {one.param.name: one.value(arguments[one.name]) for one in self.inputs if one.name in arguments}
        for one in self.inputs:
            if one.required and one.param.name not in found:
                raise ArgumentInvalid(name=one.name, message="it is missing")
        return found

    def settings(self, ctx: "Context", given: Mapping[str, Any]) -> dict[str, Any]:
        """What the environment, the config or the documented default of the tool says of parameters nobody gave."""
        out: dict[str, Any] = {}
        for param in self.params:
            if param.name not in given and (param.arg.env or param.arg.config):
                out[param.name] = ctx.setting(param)
        for one in self.inputs:
            name, default = one.param.name, one.default
            if name not in given and default is not None and out.get(name, one.param.default) == one.param.default:
                out[name] = default
        return out

    # --- as a plain function -----------------------------------------------------------------------------------------

    def function(self, call: "Callable[[Tool, dict[str, Any]], dict[str, Any]]") -> Callable[..., dict[str, Any]]:
        """A plain callable with a real signature that returns `call(self, arguments)`."""
        names = [one.name for one in self.inputs]

        def tool(*args: Any, **arguments: Any) -> dict[str, Any]:
            if len(args) > len(names):
                raise TypeError(f"{self.name} takes at most {len(names)} arguments")
            return call(self, dict(zip(names, args, strict=False)) | arguments)

        import typing
        from inspect import Parameter, Signature

        params = [
            Parameter(
                one.name,
                Parameter.POSITIONAL_OR_KEYWORD,
                default=Parameter.empty if one.required else one.default,
                annotation=one.annotation(),
            )
            for one in sorted(self.inputs, key=lambda one: not one.required)
        ]
        signature = Signature(params, return_annotation=dict[str, typing.Any])  # types, bounds, defaults and words
        tool.__name__ = tool.__qualname__ = self.name
        tool.__doc__ = self.description
        tool.__signature__ = signature  # type: ignore[attr-defined]
        annotations = {name: one.annotation for name, one in signature.parameters.items()}
        tool.__annotations__ = annotations | {"return": signature.return_annotation}
        return tool


def tools(toolset: str = "full") -> list[Tool]:
    """The tools of a set, in the table's order: `full` has them all, `standard` the documented ones, `core` few.

    It imports every operation (60 ms); `catalog` knows what they publish without.
    """
    operations = [row.load(name) for name, row in TABLE.items()]
    return [Tool(op) for op in operations if op.tool is not None and op.toolset in SETS[toolset]]


# --- the catalog -----------------------------------------------------------------------------------------------------


class CatalogTool:
    """A tool as clients see it, in one set of tools; its operation is imported when it is called."""

    __slots__ = ("_tool", "annotations", "description", "name", "operation", "schema")

    def __init__(self, entry: dict[str, Any], *, full: bool) -> None:
        self.name: str = entry["name"]
        self.operation: str = entry["operation"]
        self.description: str = entry["description"]
        self.schema: dict[str, Any] = entry["full"] if full and "full" in entry else entry["schema"]
        self.annotations: dict[str, bool] = entry["annotations"]
        self._tool: Tool | None = None

    def listing(self) -> dict[str, Any]:
        """What clients are told of it; of the hints those that differ from what the protocol takes for granted."""
        hints = {name: value for name, value in self.annotations.items() if value != _ASSUMED[name]}
        if hints.pop("readOnlyHint", False):  # it destroys nothing, and may be repeated
            hints = {"readOnlyHint": True, "openWorldHint": self.annotations["openWorldHint"]}
        title = self.name.removeprefix("memory_").replace("_", " ").capitalize()
        return {
            "name": self.name, "title": title, "description": self.description, "inputSchema": self.schema,
            "annotations": hints,
        }  # fmt: skip

    @property
    def tool(self) -> Tool:
        """The operation as a tool."""
        if self._tool is None:
            self._tool = Tool(TABLE[self.operation].load(self.operation))
        return self._tool


def catalog(toolset: str) -> list[CatalogTool]:
    """The tools of a set, in the table's order; what answers a question comes first."""
    found = json.loads(get_data(__package__ or "", CATALOG_FILE) or b"[]")
    found.sort(key=lambda entry: entry["name"] != "memory_recall")
    return [CatalogTool(entry, full=toolset == "full") for entry in found if entry["toolset"] in SETS[toolset]]


def catalog_text() -> Iterator[str]:
    """What catalog.json must be: one tool a line.

    `annotations` are the four hints of the protocol, by which a client decides whether to ask its user.
    """
    entries = []
    for tool in tools("full"):
        op = tool.op
        small, full = tool.schema(full=False), tool.schema()
        entry = {
            "name": tool.name, "operation": op.name, "toolset": op.toolset, "description": tool.description,
            "schema": small,
            "annotations": {
                "readOnlyHint": not tool.writes, "destructiveHint": op.destructive,
                "idempotentHint": not tool.writes or op.idempotent, "openWorldHint": op.open_world,
            },
        }  # fmt: skip
        entries.append(json.dumps(entry if small == full else entry | {"full": full}, ensure_ascii=False))
    yield "[\n" + ",\n".join(entries) + "\n]\n"


# --- tools of other programs ------------------------------------------------------------------------------------------


#: The kinds of memory that mem-context has are tiers here.
_TIERS = {"episodic": "stm", "semantic": "mtm", "permanent": "ltm"}
_UNUSED = "not used here: {}"
_ARCHIVED = "archived, not deleted: memctl restore brings it back, and only a person deletes for good (memctl purge)"


class Alias(NamedTuple):
    """Another name of a tool, or other names of its arguments.

    tool    our tool
    names   its argument -> ours; "" for one that is understood and no use is made of it here
    values  our argument -> what a word of theirs is here
    worded  our argument -> the words around their value: `{}d` makes 30 days of 30
    fixed   our arguments that the name alone gives
    within  the argument whose fields are arguments themselves
    unless  what is said of the answer, unless their argument of this name is false
    """

    tool: str
    names: Mapping[str, str] = {}
    values: Mapping[str, Mapping[str, str]] = {}
    worded: Mapping[str, str] = {}
    fixed: Mapping[str, Any] = {}
    within: str = ""
    said: str = ""
    unless: str = ""


#: The kinds of memory that rekal has are types here.
_TYPES = {"preference": "constraint", "procedure": "pattern", "context": "note", "episode": "note"}
_MEMORY = {"memory_id": "id", "memory_type": "type"}
_SEARCHED = {
    "project": "scope", "memory_type": "type_filter", "conversation_id": "session_id", "w_fts": "", "w_vec": "",
    "w_recency": "", "half_life": "",
}  # fmt: skip
#: By the name that is called; a tool of ours stands here for the arguments that others give it.
ALIASES: dict[str, Alias] = {
    # rekal 1.x and 3.x
    "memory_store": Alias(
        "memory_write",
        {"memory_type": "type", "project": "scope", "conversation_id": "session_id", "replaces": "supersedes"},
        {"type": _TYPES}, fixed={"title": "", "type": "fact"},
    ),
    "memory_update": Alias("memory_update", _MEMORY, {"type": _TYPES}),
    "memory_delete": Alias("memory_forget", {"memory_id": "id"}, said=_ARCHIVED),
    "memory_supersede": Alias(
        "memory_supersede", {"memory_type": "type", "project": "", "conversation_id": ""}, {"type": _TYPES}
    ),
    "memory_health": Alias("memory_stats"),
    "memory_build_context": Alias(
        "memory_build_context",
        {"w_fts": "", "w_vec": "", "w_recency": "recency", "half_life": "recency_days", "weights": ""},
        within="weights",
    ),
    "memory_search": Alias("memory_search", _SEARCHED, {"type_filter": _TYPES}),
    "memory_link": Alias("memory_link", {"from_id": "src_id", "to_id": "dst_id"}),
    "memory_related": Alias("memory_related", {"memory_id": "id"}),
    "memory_similar": Alias("memory_similar", {"memory_id": "id"}),
    "conversation_start": Alias("memory_session_start", {"project": "scope", "conversation_id": "session_id"}),
    "conversation_tree": Alias("memory_session_tree", {"conversation_id": "session_id", "id": "session_id"}),
    "conversation_threads": Alias("memory_session_list", {"project": "scope"}),
    "conversation_stale": Alias(
        "memory_session_list", {"project": "scope", "days": "stale_days"}, fixed={"stale_days": 30}
    ),
    # mem-context
    "forget": Alias("memory_forget"),
    "update": Alias(
        "memory_update", {"summary": "title", "type": "tier", "weight": "importance"}, {"tier": _TIERS}, within="fields"
    ),
    "delete_memory": Alias("memory_forget", {"permanent": ""}, said=_ARCHIVED, unless="permanent"),
    "purge_memories": Alias(
        "memory_forget",
        {"type": "tier", "older_than_days": "until"}, {"tier": _TIERS}, {"until": "{}d"}, {"id": [], "yes": True},
        said=_ARCHIVED,
    ),
    "consolidation_candidates": Alias("memory_consolidate", fixed={"candidates": True}),
    "review": Alias("memory_conflicts", said="what else waits for a decision is a person's: memctl review"),
}  # fmt: skip


def translate_alias(name: str, arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any], str]:
    """Our tool's name and arguments for a call as it came, and what is to be said of the answer."""
    alias = ALIASES.get(name)
    if alias is None:
        return name, dict(arguments), ""
    inner = arguments.get(alias.within) if alias.within else None
    given = {key: value for key, value in arguments.items() if value is not inner} if isinstance(inner, dict) else {}
    given = given | inner if isinstance(inner, dict) else dict(arguments)
    found: dict[str, Any] = dict(alias.fixed)
    for key, value in given.items():
        ours = alias.names.get(key, key)
        if value is not None and (ours or key not in alias.names):
            known = alias.values.get(ours, {})
            word = known.get(value, value) if isinstance(value, str) else value
            found[ours] = alias.worded[ours].format(word) if ours in alias.worded else word
    unused = [key for key, value in given.items() if value is not None and alias.names.get(key) == ""]
    if alias.unless:
        return alias.tool, found, alias.said if given.get(alias.unless) else ""
    return alias.tool, found, alias.said or (_UNUSED.format(", ".join(unused)) if unused else "")
