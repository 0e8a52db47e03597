"""memctl init."""

import json
import os

from memctl import errors, registry
from memctl.annotations import Annotated, Any
from memctl.context import Context, personal_store
from memctl.operation import NONE, Arg, PlainResult, operation
from memctl.paths import real_path

_SAFE = frozenset("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-./@%+=:,~#[]{}() ")


@operation(
    access=NONE,
    tool=None,
    examples=(
        'eval "$(memctl init)"  # make .memory/ here and select it',
        "memctl init ~/notes --fts-tokenizer fr",
        "memctl init --personal  # one memory for all folders, a scope per project",
    ),
)
def init(
    ctx: Context,
    path: Annotated[str | None, Arg("the folder to keep the store in (default .memory)", path=True)] = None,
    *,
    personal: Annotated[
        bool, Arg("make the personal store, which is used wherever a project has none of its own", "--personal")
    ] = False,
    force: Annotated[bool, Arg("start a new store; an existing one is moved aside, never deleted", "--force")] = False,
    fts_tokenizer: Annotated[
        str | None,
        Arg(
            "how text is cut into words: fr, en, raw, or an FTS5 tokenizer",
            "--fts-tokenizer",
            env="MEMCTL_FTS",
            metavar="NAME",
        ),
    ] = None,
) -> PlainResult:
    """Make a store and print the line that selects it.

    Makes PATH/memory.db, PATH/config.json and PATH/.gitignore where they are missing, and leaves alone what is there.
    The printed line is safe for eval whatever the path is. MEMCTL_DB is ignored; --db FILE without PATH makes
    exactly that file.

    --personal makes the store in $XDG_DATA_HOME/memctl (~/.local/share/memctl). From then on every command and server
    that finds no project's store uses it, and keeps projects apart by scopes (memctl docs scopes).
    """  # fmt: skip
    db = _target(ctx, path, personal=personal)
    folder = os.path.dirname(db)
    config = os.path.join(folder, "config.json")
    exists = os.path.lexists(db)
    named = None if ctx.config_flag is None else ctx.absolute(ctx.config_flag)
    store = _store_settings(named or config, named=bool(named)) if named or os.path.exists(config) else {}
    from memctl.config import MemoryConfig
    from memctl.context import store_trust
    from memctl.store import connect, schema

    tokenizer = schema.tokenizer(store.get("fts_tokenizer") if fts_tokenizer is None else fts_tokenizer)
    found = personal or path is not None or not ctx.db_flag  # nobody gave the very file
    if found:  # whoever names a folder may name a link
        place = db if path is None else real_path(db)
        registry.check_placement(place)
        if not force:  # naming a store that somebody else made would trust it
            store_trust.check_known(place)
    moved = _move_aside(db) if exists and force else ""
    if os.path.lexists(db):
        connect.open_read(db).close()  # says so if it is no store
    else:
        connect.open_write(db, create=True, tokenizer=tokenizer, wal=store.get("wal_mode", True), found=found).close()
    ignore = _write_new(os.path.join(folder, ".gitignore"), "*.db\n*.db-wal\n*.db-shm\n")
    usual = MemoryConfig()
    text = {"store": {"fts_tokenizer": tokenizer}, "inspect": usual.inspect.to_dict(), "chat": usual.chat.to_dict()}
    _write_new(config, json.dumps(text, indent=2, ensure_ascii=False) + "\n")
    _tell(ctx, folder, db, config, ignore if not exists else "", moved)
    if not exists and path is None:
        from memctl.handover import offer_past

        offer_past(ctx, "init")
    data = {"status": "ok", "db_path": db, "config_path": config, "created": bool(moved) or not exists}
    # The line for `eval`. The personal store is never selected: it would be used where a project has its own, too.
    return PlainResult(data | ({"moved_to": moved} if moved else {}), [] if personal else [export_line(db)])


def export_line(db: str) -> str:
    """`export MEMCTL_DB=...` on one line, safe for `eval "$(...)"` and for `eval $(...)`, whatever the path is."""
    if all(char in _SAFE or char.isalnum() for char in db) and "  " not in db:
        return f'export MEMCTL_DB="{db}"'
    if db.isprintable() and not set(db) & set("'*?[]\\") and "  " not in db:
        return f"export MEMCTL_DB='{db}'"
    # Line breaks, runs of blanks, patterns and bytes that are no text: in octal, which no shell splits or expands.
    octal = "".join(
        chr(byte) if chr(byte).isascii() and (chr(byte).isalnum() or byte in b"/._-") else f"\\{byte:03o}"
        for byte in os.fsencode(db)
    )
    return f"export MEMCTL_DB=\"$(printf '{octal}')\""


def _target(ctx: Context, path: str | None, *, personal: bool) -> str:
    if personal:
        if path is not None or ctx.db_flag:
            raise errors.UsageError(
                "--personal says where the store goes: it takes no PATH and no --db", command="init"
            )
        if not personal_store():
            raise errors.UsageError("--personal needs HOME or XDG_DATA_HOME to be a folder", command="init")
        return personal_store()
    if path == "":
        raise errors.UsageError("PATH is empty", command="init")
    if path is not None:
        if ctx.db_flag:
            ctx.note("[init] --db is ignored: PATH says where the store goes")
        return os.path.join(ctx.absolute(path), "memory.db")
    return ctx.absolute(ctx.db_flag or os.path.join(".memory", "memory.db"))


def _store_settings(path: str, *, named: bool) -> dict[str, Any]:
    """What the config file (named with --config, else the one that is there already) says of the store."""
    from memctl.config import read_config

    loaded = read_config(path, named=named)
    if loaded.invalid:
        raise errors.SettingInvalid(origin=path, message="; ".join(loaded.invalid))
    given = [key.partition(".")[2] for key in loaded.given if key.startswith("store.")]
    return {key: getattr(loaded.config.store, key) for key in given}


def _move_aside(db: str) -> str:
    from contextlib import suppress

    from memctl import ids
    from memctl.context import store_trust
    from memctl.store import connect

    with suppress(errors.MemctlError):  # damaged, no store, or somebody else's: it is moved as it is
        store_id = store_trust.check_known(db)
        connect.open_write(db, store_id=store_id).close()  # the last close puts what is in the WAL into the file
    stamp = ids.timestamp_sql().replace("-", "").replace(":", "").replace(" ", "T") + "Z"
    name, extension = os.path.splitext(db)  # the extension stays last: .gitignore goes by it
    target = f"{name}.bak-{stamp}{extension}"
    number = 1
    while os.path.lexists(target):
        number += 1
        target = f"{name}.bak-{stamp}-{number}{extension}"
    try:
        for suffix in ("-journal", "-wal", "-shm", ""):
            if os.path.lexists(db + suffix):
                os.rename(db + suffix, target + suffix)
    except OSError as exc:
        raise errors.StoreReadOnly(path=db, reason=exc.strerror) from exc
    return target


def _write_new(path: str, text: str) -> str:
    """Write a file unless there is one; its path."""
    try:
        with open(path, "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        pass
    except OSError as exc:
        raise errors.StoreReadOnly(path=path, reason=exc.strerror) from exc
    return path


def _tell(ctx: Context, folder: str, db: str, config: str, ignore: str, moved: str) -> None:
    ctx.note(f"Memory workspace initialized: {folder}" if ignore or moved else f"Workspace exists: {folder}")
    ctx.note(f"  Database:  {db}")
    if ignore or moved:
        ctx.note(f"  Config:    {config}")
    if ignore:
        ctx.note(f"  .gitignore: {ignore}")
    if moved:
        ctx.note(f"  The former store was moved to {moved}")
    yaml = os.path.join(folder, "config.yaml")
    if os.path.exists(yaml):
        ctx.note(f"  {yaml} is not read any more; its settings belong into {config}")
