"""memctl mount: folders that feed the store."""

from collections.abc import Iterator

from memctl import errors
from memctl.annotations import Annotated, Any, Literal
from memctl.operation import CREATE, READ, WRITE, Arg, Result, operation
from memctl.ops.context import Context


class Mounts(Result):
    """The mounts there are."""

    __slots__ = ("mounts",)

    def __init__(self, mounts: list[dict[str, Any]]) -> None:
        self.mounts = mounts

    def as_dict(self) -> dict[str, Any]:
        """The mounts and how many there are."""
        return {"status": "ok", "count": len(self.mounts), "mounts": self.mounts}

    def as_json(self) -> list[dict[str, Any]]:
        """The documented array."""
        return self.mounts

    def text(self) -> Iterator[str]:
        """A line for each mount."""
        for one in self.mounts:
            name = f" ({one['name']})" if one["name"] else ""
            yield f"  {one['mount_id']}{name}  {one['path']}  synced={one['last_sync_at'] or 'never'}"


class Mounted(Result):
    """One mount as it is after it was registered, changed or removed."""

    __slots__ = ("mount", "removed")

    def __init__(self, mount: dict[str, Any], *, removed: bool = False) -> None:
        self.mount, self.removed = mount, removed

    def as_dict(self) -> dict[str, Any]:
        """The mount's row, or the id of the one that was removed."""
        if self.removed:
            return {"status": "ok", "removed": self.mount["mount_id"]}
        return {"status": "ok"} | self.mount

    def text(self) -> Iterator[str]:
        """Nothing on stdout: what was done is talk, and went to stderr."""
        return iter(())


@operation(
    access=CREATE,
    tool="memory_mount",
    examples=(
        "memctl mount docs/ --name docs --ignore drafts/ '*.bak'",
        "memctl mount docs/ --ignore ''       # again: other options (here: no patterns any more)",
        "memctl mount --list --json | jq -r '.[].path'",
        "memctl mount --remove docs           # by name, id or path; the passages stay",
    ),
    exits={1: "the folder does not exist, the name is taken, or there is no such mount"},
)
def mount(
    ctx: Context,
    path: Annotated[str | None, Arg("the folder to register", path=True)] = None,
    *,
    name: Annotated[str | None, Arg("a short name for it", "--name")] = None,
    ignore: Annotated[
        list[str] | None,
        Arg("patterns as in .gitignore of what to pass over, relative to the folder", "--ignore", path=True),
    ] = None,
    lang: Annotated[
        Literal["fr", "en", "mix"] | None, Arg("the language of its documents, noted with each file", "--lang")
    ] = None,
    scope: Annotated[str | None, Arg("the scope its passages are filed under (else project)", "--scope")] = None,
    list: Annotated[bool, Arg("list the mounts", "--list")] = False,
    remove: Annotated[
        str | None, Arg("forget a mount; its passages stay", "--remove", metavar="ID_OR_NAME", path=True)
    ] = None,
) -> Mounts | Mounted:
    """Register a folder that feeds the store.

    Nothing is read yet: `memctl sync` does that. A folder that is registered already keeps its id and the options that
    are not named again. `.gitignore` and `.memctlignore` files count too; `--ignore` is stronger than they are.
    """
    if list:
        return _list(ctx)
    if remove is not None:
        return _remove(ctx, remove)
    if path is None:
        raise errors.UsageError("mount needs a folder, --list or --remove", command="mount")
    from memctl.ops.folders import canonical_folder, mount_at, register

    folder = canonical_folder(ctx, path, "mount")
    known = mount_at(ctx, folder) is not None
    found = register(ctx, folder, name=name, ignore=ignore, lang=lang, scope=scope)
    ctx.note(f"{'Mounted already, options brought up to date' if known else 'Mounted'}: {found['mount_id']} → {folder}")
    return Mounted(found)


def _list(ctx: Context) -> Mounts:
    from memctl.store import mounts

    ctx.narrow(READ)
    found = mounts.every(ctx.db)
    if not found:
        ctx.note("No mounts registered.")
    return Mounts(found)


def _remove(ctx: Context, key: str) -> Mounted:
    from memctl.ops.folders import mount_named
    from memctl.store import mounts

    ctx.narrow(WRITE)
    found = mount_named(ctx, key, "mount")
    mounts.remove(ctx.db, found["mount_id"])
    ctx.note(f"Removed mount: {key}")
    return Mounted(found, removed=True)


def text(result: Mounts | Mounted) -> Iterator[str]:
    """The list, when it was asked for."""
    return result.text()
