"""memctl config: the settings, where each comes from, and the file that keeps them."""

import json
import os

from memctl import errors, registry, state
from memctl.annotations import TYPE_CHECKING, Annotated, Any, Literal
from memctl.context import Context, store_trust
from memctl.errors import UsageError
from memctl.operation import NONE, Arg, Param, PlainResult, operation
from memctl.paths import real_path

if TYPE_CHECKING:
    from memctl.config import Key, Loaded

#: Characters of a value that `show` prints; `get` and --json print all of it.
SHOWN = 40


@operation(
    access=NONE,
    examples=(
        "memctl config show               # all settings, and where each comes from",
        "memctl config show recall        # those of a section",
        "memctl config get recall.budget_tokens",
        "memctl config set recall.budget_tokens 3000",
        "memctl config unset recall.budget_tokens  # the default counts again",
        "memctl config edit               # in $VISUAL or $EDITOR",
        "memctl config check && memctl sync",
    ),
    exits={1: "no such key, a value that it cannot have, a file that cannot be used; check: something is wrong"},
)
def config(
    ctx: Context,
    action: Annotated[Literal["show", "get", "set", "unset", "edit", "check"], Arg("what to do")],
    key: Annotated[
        str | None, Arg("get, set, unset: the setting, SECTION.NAME; show: a section", metavar="KEY")
    ] = None,
    value: Annotated[list[str] | None, Arg("set: its value; a list takes several, or JSON")] = None,
) -> PlainResult:
    """Show the settings and where each comes from, or change them.

    The flag of a command goes before the environment, that before the file, that before the default. The file is
    config.json beside the store, or the one that --config names. It is replaced as a whole or not at all, its other
    keys stay as they are, and one that is no JSON is never overwritten: edit mends it, and keeps your text if that
    is not right yet.
    """
    wants = {"set": (True, True), "get": (True, False), "unset": (True, False), "show": (None, False)}
    needs_key, needs_value = wants.get(action, (False, False))
    if (needs_key and not key) or (needs_value and not value):
        raise UsageError(f"{'the value' if key else 'the key'} to {action} is missing", command="config")
    extra = [*([key] if key and needs_key is False else []), *(value if value and not needs_value else [])]
    if extra:
        raise UsageError(f"unexpected argument '{extra[0]}'", command="config")
    if action == "show":
        return _show(ctx, key or "")
    if action == "check":
        return _check(ctx)
    if action == "edit":
        return _edit(ctx)
    wanted = _key(key or "")
    if action == "get":
        row = _setting(ctx, wanted)
        held = row["value"]
        return PlainResult({"status": "ok"} | row, [held if isinstance(held, str) else json.dumps(held)])
    wanted_value = _value(wanted, value or []) if action == "set" else None
    _check_plain(wanted, wanted_value)
    return _change(ctx, wanted, wanted_value)


# --- what holds ------------------------------------------------------------------------------------------------------


def _key(path: str) -> "Key":
    """The row of a key. Raises UsageError."""
    from difflib import get_close_matches

    from memctl.config import KEYS, SECTIONS

    known = {key.path: key for key in KEYS}
    if path in known:
        return known[path]
    if path in SECTIONS:
        raise UsageError(f"{path} is a section; memctl config show {path} lists its keys", command="config")
    near = [one for one in known if path == one.partition(".")[2]] or get_close_matches(path, known, 1)
    guess = f"; did you mean {near[0]}?" if near else ""
    raise UsageError(f"there is no setting '{path}'{guess}", command="config")


def _show(ctx: Context, section: str) -> PlainResult:
    """Every setting, or those of a section or of one key."""
    from memctl.config import KEYS, SECTIONS

    keys = [key for key in KEYS if section in ("", key.section)] if section in ("", *SECTIONS) else [_key(section)]
    rows = [_setting(ctx, key) for key in keys]
    path, origin = _store_origin(ctx)
    file = ctx.config_path
    lines = [f"Store:  {path} ({origin})", f"File:   {file or 'none: memctl config set makes it'}", ""]
    for row in rows:
        held = row["value"] if isinstance(row["value"], str) else json.dumps(row["value"], ensure_ascii=False)
        held = " ".join(held.split()) or "(empty)"
        held = held if len(held) <= SHOWN else held[: SHOWN - 1] + "…"
        lines.append(f"  {row['key']:<38}  {held:<{SHOWN}}  {row['origin']}")
    return PlainResult({"status": "ok", "db_path": path, "config_path": file, "settings": rows}, lines)


def _store_origin(ctx: Context) -> tuple[str, str]:
    path = ctx.db_path
    if ctx.db_flag or ctx.env("MEMCTL_DB"):
        return path, "flag --db" if ctx.db_flag else "environment MEMCTL_DB"
    if not ctx.is_found:
        return path, "config file"
    return path, "the nearest" if os.path.lexists(path) else "where it would be made"


def _setting(ctx: Context, key: "Key") -> dict[str, Any]:
    """A setting's value, and where it comes from."""
    from memctl.config import NAMED_ONLY, VARIABLES

    default, held = key.default, ctx.config.value(key.path)
    if key.path == "store.fts_tokenizer":
        from memctl.store import schema

        default = schema.DEFAULT_TOKENIZER
    variable = VARIABLES.get(key.path, "")
    said = ctx.env(variable) if variable else None
    counts = ctx.is_configured(key.path) and (key.path not in NAMED_ONLY or ctx.config_flag is not None)
    if key.path == "store.db_path":
        held, origin = _store_origin(ctx)
    elif said is not None:
        try:
            held, origin = _value(key, [said]), f"environment {variable}"
        except UsageError as exc:
            raise errors.SettingInvalid(origin=variable, message=exc.message.partition(": ")[2]) from exc
    elif counts:
        origin = "config file"
    else:
        held = default
        ignored = key.path in ctx.ignored or ctx.is_configured(key.path)
        origin = "default; the config file's does not count" if ignored else "default"
    return {"key": key.path, "value": held, "origin": origin, "default": default, "help": key.help}


# --- the file --------------------------------------------------------------------------------------------------------


def _file(ctx: Context) -> str:
    """The file to write to. Raises StoreMissing, and StoreUntrusted and StoreUnsafe where nothing may be written."""
    if ctx.config_flag is not None:
        return real_path(ctx.absolute(ctx.config_flag))
    if not os.path.lexists(ctx.db_path):
        raise errors.StoreMissing(path=ctx.db_path)
    if ctx.is_found:
        store_trust.check_known(ctx.db_path)
    return os.path.join(os.path.dirname(ctx.db_path), "config.json")


def _bytes(ctx: Context, path: str) -> bytes | None:
    """What the file holds; None when there is none. Raises ConfigUnreadable."""
    from memctl.config import read_bytes

    try:
        return read_bytes(path, named=ctx.config_flag is not None) if os.path.lexists(path) else None
    except OSError as exc:
        raise errors.ConfigUnreadable(path=path, reason=exc.strerror or str(exc)) from exc


def _value(key: "Key", words: list[str]) -> Any:
    """The value that words mean for a key. Raises UsageError."""
    from memctl.config import Rows

    text = " ".join(words)
    kind = list[str] if key.type is list else key.type
    param = Param(key.path, Annotated[kind, Arg("", ge=key.low, le=key.high, comma=True)], {})
    try:
        if key.type is Rows or (param.many and text.startswith("[")):
            value = json.loads(text)
        elif param.many:
            value = [one for word in words for one in param.value(word)]
        else:
            value = param.value(text)
    except json.JSONDecodeError as exc:
        raise UsageError(
            f"{key.path}: it is no JSON: {exc.msg} (at character {exc.pos + 1})", command="config"
        ) from exc
    except ValueError as exc:
        raise UsageError(f"{key.path}: {exc}", command="config") from exc
    problem = key.problem(value)
    if problem:
        raise UsageError(problem, command="config")
    return value


def _check_plain(key: "Key", value: Any) -> None:
    """Raise UsageError for a value that holds a secret; rules and their examples are about such things."""
    if key.section == "policy" or not isinstance(value, str):
        return
    from memctl.policy import MemoryPolicy

    found = MemoryPolicy().judge(value, document=False).findings
    rules = [f.rule for f in found if f.kind == "secret"]
    if rules:
        raise UsageError(
            f"{key.path}: the value holds a secret ({rules[0]}), and the file would keep it: "
            "let the command read it from its environment",
            command="config",
        )


def _change(ctx: Context, key: "Key", value: Any) -> PlainResult:
    """Write one value into the file, or take it out (None); all else in it stays."""
    from memctl.config import MemoryConfig, parse_config
    from memctl.policy.project import project_of

    path = _file(ctx)
    with registry.locked(os.path.dirname(path)):
        old = _bytes(ctx, path)
        data = {} if old is None else parse_config(old, path, whole=True)
        section = data.setdefault(key.section, {})
        if not isinstance(section, dict):
            raise errors.SettingInvalid(origin=path, message=f"{key.section}: expected an object")
        section.pop(key.name, None) if value is None else section.update({key.name: value})
        if not section:
            del data[key.section]
        if key.section == "policy" and value is not None:  # raises SettingInvalid for a rule that is none
            project_of(MemoryConfig.from_dict({"policy": {key.name: value}}).policy)
        _replace(ctx, path, old, (json.dumps(data, indent=2, ensure_ascii=False) + "\n").encode())
    done = f"{key.path} = {json.dumps(value, ensure_ascii=False)}" if value is not None else f"{key.path} is not set"
    ctx.note(f"[config] {done} in {path}")
    _tell_what_counts(ctx, path, key)
    return PlainResult({"status": "ok", "config_path": path, "key": key.path, "value": value})


def _tell_what_counts(ctx: Context, path: str, key: "Key") -> None:
    """Say of a value that was written that something else goes before it, or that it does not count there."""
    from memctl.config import NAMED_ONLY, VARIABLES

    variable = VARIABLES.get(key.path, "")
    if variable and ctx.env(variable) is not None:
        ctx.warn(f"[config] {variable} is set and goes before it")
    if ctx.config_flag is None and key.path in NAMED_ONLY:
        ctx.warn(f"[config] {key.path} counts only in a file that --config names")
    fresh = Context(db=ctx.db_flag, config=ctx.config_flag, environ=ctx.environ, cwd=ctx.cwd)
    try:
        _ = fresh.config
    except errors.SettingInvalid as exc:  # the file was wrong before, too
        ctx.warn(f"[config] the file does not count as long as it is wrong: {exc.message}")
        return
    if key.path in fresh.ignored:
        ctx.warn(f"[config] {key.path} does not count: {store_trust.config_objection(fresh, path)}")


def _replace(ctx: Context, path: str, old: bytes | None, new: bytes) -> None:
    """Put the new text in the place of the old; a file that somebody has vouched for stays so."""
    entry = None if ctx.config_flag is not None else registry.find(ctx.db_path)
    vouched = entry is not None and old is not None and entry.config == store_trust.config_digest(path)
    try:
        state.write(path, new, 0o600 if old is None else os.stat(path).st_mode & 0o777)
    except OSError as exc:
        raise errors.ConfigUnreadable(path=path, reason=exc.strerror or str(exc)) from exc
    if entry is not None and vouched:
        registry.add(ctx.db_path, entry.store_id, entry.how, entry.when, store_trust.config_digest(path))


# --- edit and check --------------------------------------------------------------------------------------------------


def _edit(ctx: Context) -> PlainResult:
    """Let the user's editor work on a draft, which replaces the file when it is right."""
    path = _file(ctx)
    old = _bytes(ctx, path)
    from memctl.ops.change.edit import draft_of, edit_draft

    draft = draft_of(path, ".json")
    edit_draft(ctx, draft, b"{\n}\n" if old is None else old, "config")
    try:
        with open(draft, "rb") as file:
            new = file.read()
        problems = _problems(ctx, draft)[1]
    except (OSError, errors.ConfigUnreadable) as exc:
        problems = [str(exc.fields["reason"]) if isinstance(exc, errors.ConfigUnreadable) else str(exc)]
    if not problems:
        with registry.locked(os.path.dirname(path)):
            if _bytes(ctx, path) != old:
                problems = ["it was changed by somebody else meanwhile"]
            elif new != old:
                _replace(ctx, path, old, new)
    if problems:
        raise errors.ConfigNotChanged(path=path, reason="; ".join(problems), draft=draft)
    os.unlink(draft)
    ctx.note(f"[config] {path} {'saved' if new != old else 'is as it was'}")
    return PlainResult({"status": "ok", "config_path": path, "changed": new != old})


def _check(ctx: Context) -> PlainResult:
    """Say what is wrong with the file and with the variables that go before it."""
    from memctl.config import KEYS, VARIABLES

    path, problems, given = ctx.config_path, [], 0
    if path is not None:
        try:
            loaded, found = _problems(ctx, path)
            problems += [f"{path}: {one}" for one in found]
            given = len(loaded.given)
        except errors.ConfigUnreadable as exc:
            problems.append(f"{path}: {exc.fields['reason']}")
    for key in KEYS:
        said = ctx.env(VARIABLES.get(key.path, "")) if key.path in VARIABLES else None
        try:
            _ = None if said is None else _value(key, [said])
        except UsageError as exc:
            problems.append(f"{VARIABLES[key.path]}: {exc.message.partition(': ')[2]}")
    fine = "no config file: the defaults hold" if path is None else f"{path}: fine, {given} key(s)"
    data = {"status": "ok", "config_path": path, "count": len(problems), "problems": problems}
    return PlainResult(data, problems or [fine], exit_code=1 if problems else 0)


def _problems(ctx: Context, path: str) -> "tuple[Loaded, list[str]]":
    """A config file, and what is wrong with it. Raises ConfigUnreadable."""
    from memctl.config import parse_config, read_config
    from memctl.policy.project import project_of

    loaded = read_config(path, named=ctx.config_flag is not None)
    found = [*loaded.invalid, *loaded.unknown]
    try:
        parse_config(_bytes(ctx, path) or b"", path, whole=True)
    except errors.ConfigUnreadable as exc:
        found.append(str(exc.fields["reason"]))
    try:
        if not loaded.invalid:
            project_of(loaded.config.policy)
    except errors.SettingInvalid as exc:
        found.append(exc.message)
    return loaded, found
