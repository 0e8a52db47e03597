"""memctl mount: folders that feed the store."""

import os
from collections.abc import Iterator

from memctl import errors
from memctl.annotations import Annotated, Any, Literal
from memctl.context import Context
from memctl.operation import CREATE, READ, WRITE, Arg, Result, operation
from memctl.paths import real_path


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
        """A line for each mount, whatever its folder is called."""
        from memctl.text.clean import one_line

        for one in self.mounts:
            name, path = f" ({one['name']})" if one["name"] else "", one["path"]
            shown = path if path.isprintable() else one_line(path, len(path))
            yield f"  {one['mount_id']}{name}  {shown}  synced={one['last_sync_at'] or 'never'}"


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
    toolset="standard",
    destructive=True,
    idempotent=True,
    about="List, register or remove the folders whose documents feed the memory. Nothing is read until memory_sync.",
    answer={"mounts": "array", "count": "integer", "mount_id": "string", "path": "string", "removed": "string"},
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
    action: Annotated[Literal["list", "register", "remove"] | None, Arg("", cli=False, mcp_default="list")] = None,
    name: Annotated[str | None, Arg("a short name for it", "--name")] = None,
    ignore: Annotated[
        list[str] | None,
        Arg(
            "patterns as in .gitignore of what to pass over, relative to the folder",
            "--ignore",
            path=True,
            mcp_name="ignore_patterns",
            mcp_help="as in .gitignore, comma-separated",
        ),
    ] = None,
    lang: Annotated[
        Literal["fr", "en", "mix"] | None,
        Arg("the language of its documents, noted with each file", "--lang", mcp_help=""),
    ] = None,
    scope: Annotated[
        str | None, Arg("the scope its passages are filed under (else project)", "--scope", mcp="full")
    ] = None,
    chunk_tokens: Annotated[
        int | None, Arg("no passage of its documents is longer", "--chunk-tokens", ge=20, le=100_000, mcp=False)
    ] = None,
    list: Annotated[bool, Arg("list the mounts; with a folder, those at or below it", "--list", mcp=False)] = False,
    remove: Annotated[
        str | None,
        Arg(
            "forget a mount; its passages stay",
            "--remove",
            metavar="ID_OR_NAME",
            path=True,
            mcp_name="mount_id",
            mcp_help="remove: id, name or path; its passages stay",
        ),
    ] = None,
) -> Mounts | Mounted:
    """Register a folder that feeds the store.

    Nothing is read yet: `memctl sync` does that. A folder that is registered already keeps its id and the options that
    are not named again. `.gitignore` and `.memctlignore` files count too; `--ignore` is stronger than they are.
    """
    if action is None:
        _one_thing(
            listing=list,
            remove=remove,
            path=path,
            name=name,
            ignore=ignore,
            lang=lang,
            scope=scope,
            chunk_tokens=chunk_tokens,
        )
    if list or action == "list":
        return _list(ctx, path)
    if action == "remove" or (remove is not None and action != "register"):
        return _remove(ctx, remove)
    if path is None:
        lacking = (
            "path is required for register" if action == "register" else "mount needs a folder, --list or --remove"
        )
        raise errors.UsageError(lacking, command="mount")
    from memctl.folders.registered import canonical_folder, mount_at, register

    folder = canonical_folder(ctx, path, "mount")
    done = "Mounted" if mount_at(ctx, folder) is None else "Mounted already, options brought up to date"
    found = register(ctx, folder, name=name, ignore=ignore, lang=lang, scope=scope, chunk_tokens=chunk_tokens)
    ctx.note(f"{done}: {found['mount_id']} → {folder}")
    return Mounted(found)


def _one_thing(*, listing: bool, remove: str | None, path: str | None, **options: object) -> None:
    """Raise UsageError for words that would do nothing beside --list or --remove."""
    if not listing and remove is None:
        return
    idle = [f"--{name.replace('_', '-')}" for name, value in options.items() if value is not None]
    if remove is not None:
        idle = [*(["--list"] if listing else []), *(["a folder"] if path is not None else []), *idle]
    if idle:
        kind = "--list" if remove is None else "--remove"
        raise errors.UsageError(f"{kind} and {idle[0]} do not go together", command="mount")


def _list(ctx: Context, path: str | None) -> Mounts:
    """All mounts; with a path, those of that folder and of the folders below it."""
    from memctl.store.documents import mounts

    ctx.narrow(READ)
    found, where = mounts.list_mounts(ctx.db), ""
    if path is not None:
        folder = real_path(ctx.absolute(path))
        found = [one for one in found if os.path.join(one["path"], "").startswith(os.path.join(folder, ""))]
        where = f" at or below {folder}"
    if not found:
        ctx.note(f"No mounts registered{where}.")
    return Mounts(found)


def _remove(ctx: Context, key: str | None) -> Mounted:
    from memctl.folders.registered import mount_named
    from memctl.store.documents import mounts

    if key is None:
        raise errors.UsageError("mount_id is required for remove", command="mount")
    ctx.narrow(WRITE)
    found = mount_named(ctx, key, "mount")
    if not mounts.is_by_tool(ctx.db, found["mount_id"]):
        ctx.refuse_to_tools("remove what a person has mounted", "memctl mount --remove")
    mounts.remove(ctx.db, found["mount_id"])
    ctx.note(f"Removed mount: {key}")
    return Mounted(found, removed=True)


def text(result: Mounts | Mounted) -> Iterator[str]:
    """The list, when it was asked for."""
    return result.text()
