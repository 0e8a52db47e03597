"""`typing` for what every command imports: itself it costs 3 ms of the 20 that a search has.

A type checker sees typing's own. At run time a subscript of these is a `types.GenericAlias`, which carries what it was
given in `__origin__` and `__args__` and joins with `| None` as typing's do.
"""

__all__ = ["TYPE_CHECKING", "Annotated", "Any", "Literal", "NamedTuple", "args_of", "origin_of"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Annotated, Any, Literal, NamedTuple
else:
    from types import GenericAlias

    class Any:
        """Any type."""

    class Annotated:
        """`Annotated[int, Arg(...)]`: a type and the words around it."""

        __class_getitem__ = classmethod(GenericAlias)

    class Literal:
        """`Literal["a", "b"]`: one of these words."""

        __class_getitem__ = classmethod(GenericAlias)

    class _NamedTupleMaker(type):
        """Makes a named tuple of a class body, as typing's does."""

        def __new__(cls, name, _bases, body):
            from collections import namedtuple

            fields = body.get("__annotations__", {})
            defaults = [body.pop(field) for field in fields if field in body]
            made = namedtuple(name, fields, defaults=defaults, module=body["__module__"])  # noqa: PYI024 - it is this one
            for key, value in body.items():
                setattr(made, key, value)
            return made

    NamedTuple = type.__new__(_NamedTupleMaker, "NamedTuple", (), {})


def args_of(kind: object) -> tuple[Any, ...]:
    """What stands in the brackets of a type, or the members of a union; () for a plain one."""
    args: tuple[Any, ...] = getattr(kind, "__args__", ())
    return args


def origin_of(kind: object) -> object:
    """What stands before the brackets of a type; None for a plain one."""
    return getattr(kind, "__origin__", None)
