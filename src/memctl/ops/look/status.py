"""memctl status: is there a store, what is in it, what feeds it."""

import os
from collections.abc import Iterator

from memctl.annotations import Any
from memctl.context import Context
from memctl.errors import MemctlError
from memctl.operation import READ, Result, operation
from memctl.store.search.fts import DOUBTS

#: Where the eco mode of older memctl is switched: relative to the current folder.
_ECO_OFF = (os.path.join(".memory", ".eco-disabled"), os.path.join(".claude", "eco", ".disabled"))
_ECO = os.path.join(".claude", "eco", "config.json")


_TRUST = {
    "named": "named (--db, MEMCTL_DB or --config chose it)",
    "trusted": "trusted (made here, or memctl trust said so)",
    "found": "found (somebody else's: read at low trust, not written to; memctl trust changes that)",
}


class Status(Result):
    """The documented keys; without a store only the first four."""

    __slots__ = ("config", "counts", "eco", "mounts", "path")

    def __init__(
        self, path: str, eco: str, counts: dict[str, Any], mounts: list[dict[str, Any]], config: str | None = None
    ) -> None:
        self.path, self.eco, self.counts, self.mounts, self.config = path, eco, counts, mounts, config

    def as_dict(self) -> dict[str, Any]:
        """Counts, the state of the index, and when a folder was last looked at."""
        head = {"status": "ok", "eco_mode": self.eco, "db_path": self.path, "db_exists": bool(self.counts)}
        return head | self.counts


@operation(
    access=READ,
    tool="memory_status",
    toolset="standard",
    about="Say whether there is a memory store, how many memories it holds, which folders feed it, and when they were "
    "last synced.",
    answer={"db_path": "string", "db_exists": "boolean", "total_items": "integer", "mounts": "integer"},
    examples=("memctl status", "memctl status --json | jq -r .db_path"),
)
def status(ctx: Context) -> Status:
    """Say which store is used, what it holds and what feeds it.

    A store that is not there yet is no error. `memctl stats` counts more.
    """
    path, eco = ctx.db_path, _eco_mode(ctx.cwd)
    if not os.path.exists(path):
        return Status(path, eco, {}, [])
    from memctl.store import sessions, workspaces
    from memctl.store.contents import count_contents
    from memctl.store.documents import mounts
    from memctl.store.items import events

    found, folders = count_contents(ctx.db), mounts.list_mounts(ctx.db)
    keys = (
        "total_items", "by_tier", "by_type", "fts5_available", "fts_tokenizer", "fts_tokenizer_mismatch", "fts_state",
    )  # fmt: skip
    loosened, ignored = _config(ctx)
    scans = [events.last_time(ctx.db, ["memory_inspect", "sync"]), *(folder.get("last_sync_at") for folder in folders)]
    counts = {key: found[key] for key in keys} | {
        "mounts": len(folders),
        "last_scan": max(filter(None, scans), default=None),
        "events_count": found["events_count"],
        "sessions": sessions.count_sessions(ctx.db),
        "workspaces": len(workspaces.list_workspaces(ctx.db)),
        "trust": trust_of(ctx), "config_loosens": loosened, "config_ignored": ignored,
    }  # fmt: skip
    if found["fts_tokenizer_mismatch"]:
        ctx.warn("Tokenizer mismatch — run: memctl reindex")
    return Status(path, eco, counts, folders, ctx.config_path)


def trust_of(ctx: Context) -> str:
    """Why the open store may be believed, or not: `named` by a person, `trusted` as their own, merely `found`."""
    if not ctx.is_found:
        return "named"
    return "trusted" if ctx.db.trusted else "found"


def _config(ctx: Context) -> tuple[list[str], list[str]]:
    """The keys of the config file that loosen or name something, and those that would and do not count."""
    try:
        _ = ctx.config
    except MemctlError as exc:  # whoever needs it fails; here it is only told
        ctx.warn(str(exc))
    return ctx.loosens, ctx.ignored


def _eco_mode(folder: str) -> str:
    """What older memctl calls the eco mode: a switch for a client's hooks, kept in files."""
    if any(os.path.exists(os.path.join(folder, name)) for name in _ECO_OFF):
        return "disabled"
    return "active" if os.path.exists(os.path.join(folder, _ECO)) else "not installed"


def text(result: Status) -> Iterator[str]:
    """Label and value, one a line."""
    counts = result.counts
    yield "memctl status"
    yield "=" * 40
    yield f"  Eco mode:  {result.eco}"
    yield f"  Database:  {result.path}" + ("" if counts else " (not created yet)")
    if not counts:
        yield "  Hint:      memctl init makes it, and so does the first command that stores something"
        return
    yield f"  Trust:     {_TRUST[counts['trust']]}"
    for word, keys in (("loosens", counts["config_loosens"]), ("not used", counts["config_ignored"])):
        if keys:
            yield f"  Config:    {result.config} ({word}: {', '.join(keys)})"
    yield f"  Items:     {counts['total_items']} active"
    for tier, count in counts["by_tier"].items():
        yield f"    {tier.upper():<4}: {count}"
    yield f"  FTS5:      {'yes' if counts['fts5_available'] else 'no'}" + (
        f" ({counts['fts_tokenizer']})" if counts["fts_tokenizer"] else ""
    )
    if counts["fts_state"] in DOUBTS:
        yield f"  Index:     {DOUBTS[counts['fts_state']]}"
    yield f"  Mounts:    {counts['mounts']}"
    for mount in result.mounts:
        yield f"    {mount['name'] or '(unnamed)':<12} -> {mount['path']}"
    if counts["last_scan"]:
        yield f"  Last scan: {counts['last_scan']}"
    yield f"  Events:    {counts['events_count']}"
