"""What an operation is: one function, and the words around its parameters.

The command line (`cli.parser`), the reference docs and the MCP server are projections of what is declared here.
This module imports nothing of ours and nothing heavy: it is on the path of every command.
"""

from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

Access = Literal["none", "read", "write", "create"]
NONE: Access = "none"
READ: Access = "read"
WRITE: Access = "write"
CREATE: Access = "create"


class Arg:
    """The words and bounds of one parameter; its name, type and default are the function's own.

    help    one line for people
    flags   how the command line spells it (`"--tier"`, `"-k"`); none = positional
    env     the environment variable that may give it       (flag > env > config > default)
    config  the `section.key` of config.json that may give it
    ge, le  inclusive bounds of a number
    metavar how help names its value
    cli, mcp  which faces show it
    """

    __slots__ = ("cli", "config", "env", "flags", "ge", "help", "le", "mcp", "metavar")

    def __init__(
        self,
        help: str,
        *flags: str,
        env: str | None = None,
        config: str | None = None,
        ge: float | None = None,
        le: float | None = None,
        metavar: str | None = None,
        cli: bool = True,
        mcp: bool = True,
    ) -> None:
        self.help, self.flags, self.env, self.config = help, flags, env, config
        self.ge, self.le, self.metavar, self.cli, self.mcp = ge, le, metavar, cli, mcp


class Param(NamedTuple):
    """One parameter of an operation, as the faces see it.

    `type` is the annotation without `Annotated`, `scalar` the same without `| None` and without `list[...]`.
    """

    name: str
    type: Any
    scalar: Any
    arg: Arg
    default: Any
    required: bool
    many: bool

    @property
    def positional(self) -> bool:
        """Whether the command line takes it by place rather than by flag."""
        return not self.arg.flags

    @property
    def choices(self) -> tuple[str, ...]:
        """The closed list of words it takes; empty when it is open."""
        return get_args(self.scalar) if get_origin(self.scalar) is Literal else ()


class Operation:
    """A function and how it is offered.

    access    what the store must be opened for: NONE, READ (must exist), WRITE (must exist), CREATE (made if missing)
    tool      its MCP name, None when only the command line has it
    examples  command lines as a user types them, each with a few words after two blanks and `#`
    exits     exit codes beyond the common ones: code -> meaning
    """

    __slots__ = ("access", "examples", "exits", "fn", "name", "tool")

    def __init__(
        self,
        fn: Callable[..., Any],
        *,
        name: str,
        tool: str | None,
        access: Access,
        examples: tuple[str, ...],
        exits: dict[int, str],
    ) -> None:
        self.fn, self.name, self.tool, self.access = fn, name, tool, access
        self.examples, self.exits = examples, exits

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.fn(*args, **kwargs)

    @property
    def summary(self) -> str:
        """The first line of the docstring, without its full stop."""
        return (self.fn.__doc__ or "").partition("\n")[0].rstrip(".")

    def params(self) -> Iterator[Param]:
        """The function's own parameters after `ctx`, read without `inspect` (which costs 7 ms)."""
        fn = self.fn
        code = fn.__code__  # type: ignore[attr-defined]
        names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
        positional = names[: code.co_argcount - 1]
        values = fn.__defaults__ or ()  # type: ignore[attr-defined]
        defaults = dict(zip(positional[len(positional) - len(values) :], values, strict=True))
        defaults.update(fn.__kwdefaults__ or {})  # type: ignore[attr-defined]
        for name in names:
            yield _param(name, fn.__annotations__[name], defaults)


def _param(name: str, annotation: Any, defaults: dict[str, Any]) -> Param:
    if get_origin(annotation) is not Annotated:
        raise TypeError(f"operation parameter {name} needs Annotated[type, Arg(...)]")
    kind, arg = annotation.__origin__, annotation.__metadata__[0]
    scalar = kind
    if type(None) in get_args(kind):
        scalar = next(t for t in get_args(kind) if t is not type(None))
    many = get_origin(scalar) is list
    if many:
        scalar = get_args(scalar)[0]
    return Param(name, kind, scalar, arg, defaults.get(name), name not in defaults, many)


def operation(
    *,
    access: Access,
    tool: str | None = None,
    name: str | None = None,
    examples: tuple[str, ...] = (),
    exits: dict[int, str] | None = None,
) -> Callable[[Callable[..., Any]], Operation]:
    """Declare a function as an operation; its module must also define `text(result) -> Iterator[str]`."""

    def wrap(fn: Callable[..., Any]) -> Operation:
        label = name or fn.__name__.rstrip("_")  # type: ignore[attr-defined]
        return Operation(fn, name=label, tool=tool, access=access, examples=examples, exits=exits or {})

    return wrap


class Result:
    """What an operation returns. Subclasses are small records; the faces only use these methods.

    `as_dict` is the structured result; `as_json` differs only where the command line's documented `--json` shape does
    (an array, say). `exit_code` is what the command ends with.
    """

    __slots__ = ()
    exit_code = 0

    def as_dict(self) -> dict[str, Any]:
        """The result as JSON-ready data."""
        raise NotImplementedError

    def as_json(self) -> Any:
        """What `--json` prints."""
        return self.as_dict()

    def settle(self) -> None:
        """Bookkeeping after the answer is out (use counts, say); must never fail because a store is read-only."""
