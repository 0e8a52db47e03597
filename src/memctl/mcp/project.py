"""Operation → tool: the schema a client sees, and the values its JSON becomes.

Everything is read from the operation, and nothing is decided here. This module needs no SDK; schemas are written
straight from the table (pydantic's way of making them would be a tenth of the server's start).
"""

import json
from collections.abc import Callable, Iterator, Mapping

from memctl.annotations import TYPE_CHECKING, Any
from memctl.errors import ArgumentInvalid, JsonInvalid
from memctl.operation import CREATE, REQUIRED, WRITE, Operation, Param, utf8

if TYPE_CHECKING:
    from inspect import Signature

    from memctl.context import Context

Schema = dict[str, Any]
#: Whole numbers beyond this are no number of anything we count, and SQLite would not take them.
_LARGEST = 10**18
#: A bound that nobody comes near costs tokens in every schema and is only checked.
_FAR = 10_000
_JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", dict: "object"}


class _OfAnotherKind(ValueError):
    """A JSON value that is not of the kind the parameter takes."""


class Input:
    """One parameter as a tool has it: its published name and default, and what a client's value means."""

    __slots__ = ("aliases", "default", "name", "param", "required")

    def __init__(self, param: Param) -> None:
        arg = param.arg
        self.param = param
        self.name = arg.mcp_name or param.name.rstrip("_")
        flags = (flag.lstrip("-").replace("-", "_") for flag in arg.flags if flag.startswith("--"))
        self.aliases = frozenset({param.name, param.name.rstrip("_"), *flags}) - {self.name}
        self.required = param.required or arg.mcp_default is REQUIRED
        self.default = param.default if arg.mcp_default in (..., REQUIRED) else arg.mcp_default

    @property
    def records(self) -> bool:
        """Whether it takes JSON objects: an array of them, one alone, or their text."""
        return self.param.scalar is dict or getattr(self.param.scalar, "__origin__", None) is dict

    def schema(self) -> Schema:
        """Its JSON Schema: `null` stands for "not given", a list may be a text with commas."""
        kinds = [self._kind()]
        if self.param.many:  # a list; documented as its text, which is enough where one may leave it out
            kinds = [{"type": "array", "items": kinds[0]}] * self.required + [{"type": "string"}]
        if not self.required and self.default is None:
            kinds.append({"type": "null"})
        schema = kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
        if not self.required and self.default is not None:
            schema["default"] = self.default
        help = self.param.arg.mcp_help if self.param.arg.mcp_help is not None else self.param.arg.help
        return schema | {"description": help} if help else schema

    def _kind(self) -> Schema:
        param, arg = self.param, self.param.arg
        if self.records:
            return {"type": "object"}
        kind: Schema = {"type": _JSON_TYPES.get(param.scalar, "string")}
        if param.choices:
            kind["enum"] = list(param.choices)
        bounds = {"minimum": arg.ge, "maximum": arg.le if arg.le is not None and arg.le < _FAR else None}
        return kind | {key: bound for key, bound in bounds.items() if bound is not None}

    def value(self, given: Any) -> Any:
        """What the operation gets. Raises ArgumentInvalid."""
        try:
            if self.records:
                return list(self._records(given))
            if self.param.many:
                return self.param.check([self._scalar(one) for one in _listed(given)])
            return self.param.check(self._scalar(given))
        except ValueError as exc:
            raise ArgumentInvalid(name=self.name, message=str(exc)) from exc

    def _scalar(self, given: Any) -> Any:
        kind = self.param.scalar
        if kind in (int, float, bool):
            return self._number(kind, given)
        if not isinstance(given, str):
            raise _OfAnotherKind(f"must be a text, not {_kind_of(given)}")
        if self.param.arg.path and "\0" in given:
            raise ValueError("a path has no NUL character")
        return utf8(given)

    def _number(self, kind: type, given: Any) -> Any:
        if isinstance(given, str):
            return self.param._scalar(given)
        if isinstance(given, bool) is not (kind is bool) or not isinstance(given, int | float):
            raise ValueError(f"must be {'true or false' if kind is bool else 'a number'}, not {_kind_of(given)}")
        if kind is int and given != given // 1:
            raise ValueError(f"{given} is not a whole number")
        if not -_LARGEST < given < _LARGEST:
            raise ValueError("the number is too large")
        return kind(given)

    def _records(self, given: Any) -> Iterator[dict[str, Any]]:
        if isinstance(given, str):
            given = _parsed(given, self.name)
        for one in given if isinstance(given, list) else [given]:
            if not isinstance(one, dict):
                raise _OfAnotherKind(f"each entry must be a JSON object, not {_kind_of(one)}")
            yield one


def _listed(given: Any) -> list[Any]:
    """A list as it is; a text as the parts between its commas, or as the JSON array it holds."""
    if isinstance(given, list):
        return given
    if not isinstance(given, str):
        raise _OfAnotherKind(f"must be a list of texts, not {_kind_of(given)}")
    if given.lstrip().startswith("["):
        try:
            found = json.loads(given)
        except ValueError:
            pass  # a text that only looks like one
        else:
            return list(found)
    return [part.strip() for part in given.split(",") if part.strip()]


def _parsed(text: str, name: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as exc:
        reason = "it is nested too deeply" if isinstance(exc, RecursionError) else str(exc)
        raise JsonInvalid(name=name, reason=reason) from exc


def _kind_of(given: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(given), "a number")


class Tool:
    """An operation as a tool: what is published of it, and how arguments become a call."""

    def __init__(self, op: Operation, *, full: bool = True) -> None:
        if op.tool is None:
            raise ValueError(f"{op.name} is no tool")
        self.op, self.name = op, op.tool
        self.params = list(op.params())
        self.inputs = [Input(param) for param in self.params if param.arg.mcp is True or (full and param.arg.mcp)]
        self._by_name = {alias: one for one in self.inputs for alias in one.aliases}
        self._by_name |= {one.name: one for one in self.inputs}

    @property
    def description(self) -> str:
        """What a model is told about it."""
        return self.op.about or f"{self.op.summary}."

    def schema(self) -> Schema:
        """The JSON Schema of its arguments."""
        out: Schema = {"type": "object", "properties": {one.name: one.schema() for one in self.inputs}}
        required = [one.name for one in self.inputs if one.required]
        return out | {"required": required} if required else out

    def answer_schema(self) -> Schema | None:
        """The JSON Schema of its structured result; None for one that answers in prose.

        Only `status` is always there: an error has other keys.
        """
        if self.op.prose:
            return None
        keys = {"status": {"type": "string"}} | {key: {"type": kind} for key, kind in self.op.answer.items()}
        return {"type": "object", "properties": keys, "required": ["status"]}

    def annotations(self) -> dict[str, bool]:
        """The four hints of the protocol, by which a client decides whether to ask its user."""
        reads = not self.writes
        return {
            "readOnlyHint": reads,
            "destructiveHint": self.op.destructive,
            "idempotentHint": reads or self.op.idempotent,
            "openWorldHint": self.op.open_world,
        }

    @property
    def writes(self) -> bool:
        """Whether it may change the store."""
        return self.op.access in (WRITE, CREATE)

    def named(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """A client's arguments under their published names; `null` means "not given".

        Names it does not know are ignored, as documented.
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

        signature = self.signature()
        tool.__name__ = tool.__qualname__ = self.name
        tool.__doc__ = self.description
        tool.__signature__ = signature  # type: ignore[attr-defined]
        annotations = {name: one.annotation for name, one in signature.parameters.items()}
        tool.__annotations__ = annotations | {"return": signature.return_annotation}
        return tool

    def signature(self) -> "Signature":
        """The signature that a framework reads: types, bounds, defaults and words."""
        import typing
        from inspect import Parameter, Signature

        params = [
            Parameter(
                one.name,
                Parameter.POSITIONAL_OR_KEYWORD,
                default=Parameter.empty if one.required else one.default,
                annotation=_annotation(one),
            )
            for one in sorted(self.inputs, key=lambda one: not one.required)
        ]
        return Signature(params, return_annotation=dict[str, typing.Any])


def _annotation(one: Input) -> Any:
    """`Annotated[type, Field(...)]`; without pydantic the words stand alone."""
    import typing

    kind: typing.Any = dict[str, typing.Any] if one.records else one.param.scalar
    if one.param.choices:
        kind = typing.Literal[one.param.choices]
    if one.param.many:
        kind = list[kind] | str
    if not one.required and one.default is None:
        kind = kind | None
    arg = one.param.arg
    words: Any = arg.mcp_help if arg.mcp_help is not None else arg.help
    try:
        from pydantic import Field
    except ImportError:
        return typing.Annotated[kind, words]
    return typing.Annotated[kind, Field(description=words, ge=arg.ge, le=arg.le)]


#: Each set of tools with those it is made of.
SETS = {"core": ("core",), "standard": ("core", "standard"), "full": ("core", "standard", "full")}


def tools(toolset: str = "full") -> list[Tool]:
    """The tools of a set, in the table's order: `full` has them all, `standard` the documented ones, `core` few.

    It imports every operation (60 ms); `catalog` knows what they publish without.
    """
    from memctl.ops import TABLE

    wanted = SETS[toolset]
    found = []
    for name, row in TABLE.items():
        op = row.load(name)
        if op.tool is not None and op.toolset in wanted:
            found.append(Tool(op, full=toolset == "full"))
    return found
