"""What an operation is: one function, and the words around its parameters.

The command line (`cli.parser`), the reference docs and the MCP server are projections of what is declared here.
This module imports nothing heavy: it is on the path of every command.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from memctl.annotations import TYPE_CHECKING, Annotated, Any, Literal, args_of, origin_of
from memctl.names import DEFAULT_SCOPE

if TYPE_CHECKING:
    from typing import Concatenate, ParamSpec

    from typing_extensions import dataclass_transform

    Words = ParamSpec("Words")
else:

    def dataclass_transform(**_: object) -> Callable[[type], type]:
        """What tells a type checker which fields a group is made with."""
        return lambda group: group


Access = Literal["none", "read", "write", "create"]
NONE: Access = "none"
READ: Access = "read"
WRITE: Access = "write"
CREATE: Access = "create"

#: As `mcp_default`: a client must give it, though a Python caller need not.
REQUIRED = object()
Toolset = Literal["core", "standard", "full"]

#: Digits of a whole number; one of more may not fit into a column of the store.
MOST_DIGITS = 18
YES_OR_NO = dict.fromkeys(("1", "true", "yes", "on"), True) | dict.fromkeys(("0", "false", "no", "off"), False)

#: What `text()` puts around a matched word. The output layer turns them into colour on a terminal and drops them
#: elsewhere; every other control character of a human text is made visible, so a title cannot forge one.
MARK_ON, MARK_OFF = "\x0e", "\x0f"


class Arg:
    """The words and bounds of one parameter; its name, type and default are the function's own.

    help    one line for people
    flags   how the command line spells it (`"--tier"`, `"-n"`); none = positional
    aliases older spellings, which work and no page shows; of words that go by their place: options that give them
    env     the environment variable that may give it       (flag > env > config > default)
    config  the `section.key` of config.json that may give it
    ge, le  inclusive bounds of a number
    metavar how help names its value
    comma   a list parameter that the command line takes as one word, `a,b,c` (else as several words)
    path    names a file: its bytes are kept as they are, even if they are not UTF-8
    word    a word that, said first, stands for the flag: `mount list`; the flag itself works, and no page shows it
    cli, mcp  which faces show it; mcp="full": only the largest set of tools (`--toolset full`), "taken": none, but a
            client that gives it is understood
    mcp_name, mcp_default, mcp_help  how the MCP tool says it, where its documented name, default or words differ;
            a default of None there means: as if it were not given
    mcp_schema  the JSON Schema of one of the JSON objects that it takes
    """

    __slots__ = (
        "aliases", "cli", "comma", "config", "env", "flags", "ge", "help", "le", "mcp", "mcp_default", "mcp_help",
        "mcp_name", "mcp_schema", "metavar", "path", "word",
    )  # fmt: skip

    def __init__(
        self,
        help: str,
        *flags: str,
        env: str | None = None,
        config: str | None = None,
        ge: float | None = None,
        le: float | None = None,
        metavar: str | None = None,
        comma: bool = False,
        path: bool = False,
        cli: bool = True,
        mcp: bool | Literal["full", "taken"] = True,
        mcp_name: str | None = None,
        mcp_default: Any = ...,
        mcp_help: str | None = None,
        mcp_schema: dict[str, Any] | None = None,
        aliases: tuple[str, ...] = (),
        word: str = "",
    ) -> None:
        self.aliases: tuple[str, ...] = aliases
        self.word: str = word
        self.help, self.flags, self.env, self.config = help, flags, env, config
        self.ge, self.le, self.metavar = ge, le, metavar
        self.comma, self.path, self.cli, self.mcp = comma, path, cli, mcp
        self.mcp_name, self.mcp_default, self.mcp_help, self.mcp_schema = mcp_name, mcp_default, mcp_help, mcp_schema

    def changed(self, changes: dict[str, Any]) -> "Arg":
        """The same words, but for some that an operation says differently."""
        said: dict[str, Any] = {name: getattr(self, name) for name in self.__slots__} | changes
        flags = said.pop("flags")
        return Arg(said.pop("help"), *flags, **said)


class Param:
    """One parameter of an operation, as the faces see it.

    `type` is the annotation without `Annotated`, `scalar` the same without `| None` and without `list[...]`.
    """

    __slots__ = ("arg", "choices", "default", "many", "name", "positional", "required", "scalar", "type")

    def __init__(
        self, name: str, annotation: Any, defaults: Mapping[str, Any], changes: "dict[str, Any] | None" = None
    ) -> None:
        if origin_of(annotation) is not Annotated:
            raise TypeError(f"operation parameter {name} needs memctl.annotations.Annotated[type, Arg(...)]")
        self.type, arg = args_of(annotation)
        default = defaults.get(name)
        if changes:
            default = changes.get("default", default)
            arg = arg.changed({key: value for key, value in changes.items() if key != "default"})
        scalar = self.type
        if type(None) in args_of(scalar):
            scalar = next(kind for kind in args_of(scalar) if kind is not type(None))
        self.many = origin_of(scalar) is list
        self.scalar: Any = args_of(scalar)[0] if self.many else scalar
        self.name, self.arg, self.default, self.required = name, arg, default, name not in defaults
        self.positional = not arg.flags
        self.choices: tuple[str, ...] = args_of(self.scalar) if origin_of(self.scalar) is Literal else ()

    @property
    def metavar(self) -> str:
        """How help and messages name its value: `TIER`, `FILE`, `N`."""
        number = self.scalar in (int, float) and self.arg.flags
        return self.arg.metavar or ("N" if number else self.name.rstrip("_").upper().replace("_", "-"))

    @property
    def label(self) -> str:
        """What a message calls it: its word, its longest flag, or its place."""
        return self.arg.word or (max(self.arg.flags, key=len) if self.arg.flags else self.metavar)

    def value(self, text: str) -> Any:
        """The value that `text` (a word of a command line, an environment variable) means for this parameter.

        A list parameter gets a list: the parts between commas, or that one word. Raises ValueError, one sentence.
        """
        if not self.many:
            return self.check(self._scalar(text))
        words = [part.strip() for part in text.split(",")] if self.arg.comma else [text]
        return self.check([self._scalar(word) for word in words if word or self.arg.path])

    def check(self, value: Any) -> Any:
        """`value` itself if it lies within the bounds and the closed list. Raises ValueError, one sentence."""
        for one in value if self.many and isinstance(value, list) else [value]:
            if self.choices and one not in self.choices:
                raise ValueError(f"'{one}' is not one of {', '.join(self.choices)}")
            low, high = self.arg.ge, self.arg.le
            if isinstance(one, bool) or not isinstance(one, int | float):
                continue
            if not ((low is None or one >= low) and (high is None or one <= high)):
                if low is None:
                    raise ValueError(f"must be at most {high}, not {one}")
                raise ValueError(f"must be {f'at least {low}' if high is None else f'from {low} to {high}'}, not {one}")
        return value

    def _scalar(self, text: str) -> Any:
        if self.scalar is int:
            digits = text.strip().removeprefix("-").removeprefix("+")
            if not (digits.isascii() and digits.isdigit()):
                raise ValueError(f"'{text}' is not a whole number")
            if len(digits) > MOST_DIGITS:
                raise ValueError(f"{text[:24]} is too large")
            return int(text)
        if self.scalar is float:
            try:
                number = float(text)
            except ValueError:
                number = float("nan")
            if number - number != 0:  # nan and the infinities
                raise ValueError(f"'{text}' is not a number")
            return number
        if self.scalar is bool:
            word = text.strip().lower()
            if word not in YES_OR_NO:
                raise ValueError(f"'{text}' is neither yes nor no")
            return YES_OR_NO[word]
        return text if self.arg.path else utf8(text)


def _listed(param: Param, value: Any) -> Any:
    """A value that a program gives, as a list where the parameter is one."""
    return param.value(value) if param.many and isinstance(value, str) else value


def utf8(text: str) -> str:
    """`text` as storable Unicode: bytes of a command line that are not UTF-8 become U+FFFD."""
    if text.isascii():
        return text
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    except UnicodeEncodeError:  # halves of characters, which only a program can pass
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@dataclass_transform(kw_only_default=True)
class Group:
    """Parameters that belong together and that several operations take: the annotated attributes of a subclass.

    An operation takes a group as one parameter, with the fields that it offers: `Annotated[ReadRequest, Fields(...)]`.
    The faces show the fields like parameters of the operation's own; the function gets one object. Programs make one
    with the fields that differ from their defaults: `ReadRequest(scope="work")`.
    """

    def __init__(self, **given: Any) -> None:
        unknown = given.keys() - self.__annotations__.keys()
        if unknown:
            raise TypeError(f"{type(self).__name__} has no field {min(unknown)}")
        vars(self).update(given)


class Fields:
    """Which fields of a group an operation offers.

    names    the fields in the order in which the faces show them; the name of another parameter of the function stands
             where that parameter is to be shown
    changes  by field, what this operation says differently: attributes of its `Arg`, and its `default`
    """

    __slots__ = ("changes", "names")

    def __init__(self, names: str, **changes: dict[str, Any]) -> None:
        self.names, self.changes = names.split(), changes


class Operation:
    """A function and how it is offered.

    access    what the store must be opened for: NONE, READ (must exist), WRITE (must exist), CREATE (made if missing)
    tool      its MCP name, None when only the command line has it
    examples  command lines as a user types them, each with a few words after two blanks and `#`
    exits     exit codes beyond the common ones: code -> meaning
    takes_input  whether, with these values, it stores what stands on standard input: kept in a file when that fails
    silent    what goes wrong while it runs is not told, and it ends with 0, but for wrong usage: a program calls it
              that takes another end, or a word, for something else

    What only its MCP tool needs:

    about        its description for a model; the first sentence is what a search for tools finds (else the docstring)
    toolset      the smallest set of tools that it belongs to
    prose        the model reads text(); otherwise the structured result, for programs
    answer       the keys of that result beside `status`, each with its JSON type
    destructive  it can take away what cannot be brought back; idempotent: doing it again changes nothing more;
                 open_world: it reaches beyond the store and its folders (a model, a network)
    """

    __slots__ = (
        "_groups", "_params", "about", "access", "answer", "destructive", "examples", "exits", "fn", "idempotent",
        "name", "open_world", "prose", "silent", "takes_input", "tool", "toolset",
    )  # fmt: skip

    def __init__(
        self,
        fn: Callable[..., Any],
        *,
        access: Access,
        tool: str | None = None,
        name: str | None = None,
        examples: tuple[str, ...] = (),
        exits: dict[int, str] | None = None,
        about: str = "",
        toolset: Toolset = "full",
        prose: bool = False,
        answer: dict[str, str] | None = None,
        destructive: bool = False,
        idempotent: bool = False,
        open_world: bool = False,
        takes_input: Callable[[dict[str, Any]], bool] | None = None,
        silent: bool = False,
    ) -> None:
        self.takes_input, self.silent = takes_input, silent
        self.fn, self.name, self.tool, self.access = fn, name or fn.__name__.rstrip("_"), tool, access
        self.examples, self.exits = examples, exits or {}
        self.about, self.toolset, self.prose, self.answer = about, toolset, prose, answer or {}
        self.destructive, self.idempotent, self.open_world = destructive, idempotent, open_world
        self._params: list[Param] = []
        self._groups: dict[str, tuple[type[Group], list[Param]]] = {}

    def __call__(self, ctx: Any, *args: Any, **kwargs: Any) -> Any:
        """Run it as a plain function; the context learns what the store may be opened for.

        The fields of a group are given by their own names, or the group as a whole. One word where a list belongs is
        what it is on the command line: a list of that word, or of its parts between commas. The scope `project` becomes
        what it means where the context is.
        """
        ctx.allow(self.access)
        params = self.params()
        args = (*(_listed(param, value) for param, value in zip(params, args, strict=False)), *args[len(params) :])
        kwargs |= {param.name: _listed(param, kwargs[param.name]) for param in params if param.name in kwargs}
        for name, (group, fields) in self._groups.items():
            if name not in kwargs:
                kwargs[name] = group(**{field.name: kwargs.pop(field.name, field.default) for field in fields})
            if getattr(kwargs[name], "scope", None) == DEFAULT_SCOPE:
                kwargs[name].scope = ctx.scope_named(DEFAULT_SCOPE)
        said = {**(self.fn.__kwdefaults__ or {}), **kwargs}.get("scope")
        if said == DEFAULT_SCOPE and self.access != NONE:  # without a store it is no scope of memory
            kwargs["scope"] = ctx.scope_named(DEFAULT_SCOPE)
        first = ctx.begin_run(self.name, kwargs.get("reason"))
        try:
            return self.fn(ctx, *args, **kwargs)
        finally:
            if first:
                ctx.end_run()

    @property
    def text(self) -> Callable[[Any], Iterator[str]]:
        """The lines that people read of a result: `NAME_text` or `text` of its module, or a PlainResult's."""
        found, name = self.fn.__globals__, f"{self.fn.__name__.rstrip('_')}_text"
        text: Callable[[Any], Iterator[str]]
        text = found.get(name) or found.get("text") or (lambda result: iter(result.lines))
        return text

    @property
    def summary(self) -> str:
        """The first line of the docstring, without its full stop."""
        return (self.fn.__doc__ or "").partition("\n")[0].rstrip(".")

    def params(self) -> list[Param]:
        """The function's own parameters after `ctx` and the fields of its groups, in the order of the faces."""
        if not self._params:
            fn, code = self.fn, self.fn.__code__  # `inspect` costs 7 ms
            names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
            positional = names[: code.co_argcount - 1]
            values = fn.__defaults__ or ()
            defaults = dict(zip(positional[len(positional) - len(values) :], values, strict=True))
            defaults.update(fn.__kwdefaults__ or {})
            own = {name: fn.__annotations__[name] for name in names}
            while own:
                self._add(next(iter(own)), own, defaults)
        return self._params

    def _add(self, name: str, own: dict[str, Any], defaults: dict[str, Any]) -> None:
        """Take the next parameter from the function's own ones: itself, or the fields of the group that it is."""
        annotation = own.pop(name)
        kind, words = args_of(annotation) if origin_of(annotation) is Annotated else (annotation, None)
        if not isinstance(words, Fields):
            self._params.append(Param(name, annotation, defaults))
            return
        fields: list[Param] = []
        self._groups[name] = kind, fields
        for field in words.names:
            if field in own:
                self._add(field, own, defaults)
                continue
            param = Param(field, kind.__annotations__[field], vars(kind), words.changes.get(field))
            fields.append(param)
            self._params.append(param)


def _declaring(
    kind: "Callable[Concatenate[Callable[..., Any], Words], Operation]",
) -> "Callable[Words, Callable[[Callable[..., Any]], Operation]]":
    """A decorator that takes what `kind` takes after the function, so that the parameters are stated once."""
    return lambda *words, **said: lambda fn: kind(fn, *words, **said)


#: Declare a function as an operation; its module also defines `NAME_text(result)` or `text(result)`.
operation = _declaring(Operation)


@dataclass_transform(kw_only_default=True)
class Result:
    """What an operation returns: a record of its annotated attributes; the faces only use these methods.

    `as_dict` is the structured result; `as_json` differs only where the command line's documented `--json` shape does
    (an array or an iterator, printed as an array while it runs). `exit_code` is what the command ends with.
    `verbatim` says that the text is data for a program (JSON lines, the block), printed byte for byte into a pipe.
    `paged` says that it is long text for a person, which a terminal shows with $PAGER.
    """

    exit_code = 0
    verbatim = paged = False

    def __init__(self, **given: Any) -> None:
        vars(self).update(given)

    def as_dict(self) -> dict[str, Any]:
        """The result as JSON-ready data."""
        raise NotImplementedError

    def as_json(self) -> Any:
        """What `--json` prints."""
        return self.as_dict()

    def settle(self) -> None:
        """Bookkeeping after the answer is out (use counts, say); must never fail because a store is read-only."""


class PlainResult(Result):
    """A result that is made whole: its data, and the lines that people read of it; it needs no `text` of its own.

    printed  what `--json` prints where its documented shape is not that of the data
    after    the bookkeeping once the answer is out
    """

    def __init__(
        self,
        data: dict[str, Any],
        lines: "Iterable[str]" = (),
        exit_code: int = 0,
        *,
        printed: Any = None,
        after: "Callable[[], object] | None" = None,
        verbatim: bool = False,
    ) -> None:
        self.data, self.lines, self.exit_code = data, lines, exit_code
        self.printed, self.after, self.verbatim = printed, after, verbatim

    def as_dict(self) -> dict[str, Any]:
        """The data."""
        return self.data

    def as_json(self) -> Any:
        """What `--json` prints."""
        return self.data if self.printed is None else self.printed

    def settle(self) -> None:
        """The bookkeeping that was given."""
        if self.after is not None:
            self.after()
