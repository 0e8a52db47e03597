"""memctl untrust: trust a store no longer."""

import os
from collections.abc import Iterator

from memctl import errors, ids, registry, state
from memctl.annotations import Annotated, Any
from memctl.context import Context
from memctl.operation import NONE, Arg, Result, operation
from memctl.ops.care.trust import store_at


class Untrusted(Result):
    """The store that is not trusted any more."""

    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = path

    def as_dict(self) -> dict[str, Any]:
        """Its path."""
        return {"status": "ok", "db_path": self.path}


@operation(
    access=NONE,
    examples=("memctl untrust ~/project",),
    exits={1: "there is no such store, and none is known by this path"},
)
def untrust(
    ctx: Context,
    path: Annotated[
        str, Arg("the store, its folder, or the project's folder, as memctl trust --list shows it", path=True)
    ],
) -> Untrusted:
    """Trust a store no longer.

    From now on it is read as somebody else's, and not written to. Its file is left alone. A store that is gone is
    taken out of the list.
    """
    store = ctx.absolute(path)
    if not os.path.lexists(store):
        if not registry.forget(store):
            raise errors.StoreMissing(path=store)
        return Untrusted(store)
    store = store_at(ctx, path)
    if not registry.add(store, "", registry.UNTRUSTED, ids.timestamp_seconds()):
        raise errors.TrustUnwritable(path=store, folder=state.folder())
    return Untrusted(store)


def text(result: Untrusted) -> Iterator[str]:
    """What was done."""
    yield f"No longer trusted: {result.path}"
