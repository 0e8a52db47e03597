"""memctl trust and untrust: say that a store is trusted, after a look at what that means, or that it is not."""

import os
from collections.abc import Iterator

from memctl import errors, ids, registry, state
from memctl.annotations import Annotated, Any
from memctl.context import Context, store_trust
from memctl.context.nearest import DEFAULT_STORE, nearest_store
from memctl.operation import NONE, Arg, PlainResult, operation

#: Items that are judged to say what policy thinks of them; of a larger store `memctl scan --store` says it.
MAX_JUDGED = 20_000
StorePath = Annotated[
    str | None, Arg("the store, its folder, or the project's folder (else the nearest)", metavar="PATH", path=True)
]


@operation(
    access=NONE,
    examples=(
        "memctl trust            # the nearest store",
        "memctl trust ~/project  # the one of a project",
        "memctl trust list",
    ),
    exits={1: "there is no such store"},
)
def trust(
    ctx: Context,
    path: StorePath = None,
    *,
    listed: Annotated[bool, Arg("show the stores that are known", "--list", word="list")] = False,
) -> PlainResult:
    """Say that a store is trusted, though somebody else made it.

    A store that memctl made for you is trusted already. Of another one that lies in your way nothing counts until you
    say so: it is read as somebody else's, and not written to. Prints what will count. The config.json beside it is
    vouched for as it is now. memctl docs trust tells the whole of it.
    """
    if listed:
        rows, lines = [], []
        for one in registry.entries():
            there = os.path.exists(one.path)
            rows.append({"path": one.path, "how": one.how, "since": one.when, "there": there})
            lines.append(f"{one.how:<9}  {one.when:<20}  {one.path}" + ("" if there else " (gone)"))
        return PlainResult({"status": "ok", "stores": rows}, lines, printed=rows)
    store = store_at(ctx, path)
    entry = registry.find(store)
    counts = _describe(ctx, store)
    config = os.path.join(os.path.dirname(store), "config.json")
    vouched = store_trust.config_digest(config) if os.path.lexists(config) else ""
    if entry is not None and store_trust.is_trusted(store, entry):
        how, store_id, when = entry.how, entry.store_id, entry.when
    else:
        how, store_id, when = registry.TRUSTED, store_trust.give_store_id(store), ids.timestamp_seconds()
    if not registry.add(store, store_id, how, when, vouched):
        raise errors.TrustUnwritable(path=store, folder=state.folder())
    store_trust.note_mounts(store)
    return PlainResult({"status": "ok", "db_path": store, "how": how} | counts, list(_trusted_lines(store, counts)))


def store_at(ctx: Context, path: str | None) -> str:
    """The store that a person means by a path: a file, a `.memory` folder, a project's folder; None: the nearest.

    Raises StoreMissing, and StoreUnsafe for a link.
    """
    if path is None:
        store = ctx.absolute(DEFAULT_STORE)
        store = store if os.path.lexists(store) else nearest_store(ctx.cwd, ctx.warn_once)
    else:
        store = ctx.absolute(path)
        if os.path.isdir(store):
            inner = os.path.join(store, DEFAULT_STORE)
            store = inner if os.path.lexists(inner) else os.path.join(store, os.path.basename(DEFAULT_STORE))
    if not os.path.lexists(store):
        raise errors.StoreMissing(path=store)
    if os.path.islink(store) or os.path.islink(os.path.dirname(store)):
        raise errors.StoreUnsafe(path=store, what="it is a link", remedy="name the store that it leads to")
    return store


def _describe(ctx: Context, store: str) -> dict[str, Any]:
    """What the store holds and says of itself. Raises what is wrong with it."""
    from memctl.config import read_config
    from memctl.lifecycle import rescan
    from memctl.policy import MemoryPolicy
    from memctl.store import connect, untrusted
    from memctl.store.documents.mounts import is_outside, resolve_path

    connect.check_files(store)
    db = untrusted.open_raw(store)
    try:
        connect.check_triggers(db)
        claims = untrusted.read_claims(db)
    finally:
        db.close()
    mounts = [resolve_path(store, path) for path in claims.mounts]
    outside = [path for path in mounts if is_outside(store, path)]
    held = secret = None
    if claims.items <= MAX_JUDGED:  # today's own rules would hold back so many, and blot something out in so many
        db = untrusted.open_untrusted(store)
        try:
            changes = rescan.judge_store(db, MemoryPolicy()).changes
        finally:
            db.close()
        held, secret = sum(bool(one.held_by) for one in changes), sum(one.redacted for one in changes)
    path, loosening = os.path.join(os.path.dirname(store), "config.json"), []
    if os.path.lexists(path):
        try:
            loosening = read_config(path, named=False).loosening()
        except errors.ConfigUnreadable as exc:
            ctx.warn(str(exc))
    return {
        "items": claims.items, "verified": claims.verified, "released": claims.released,
        "mounts": mounts, "mounts_outside": outside, "config_loosens": loosening,
        "to_quarantine": held, "to_redact": secret,
    }  # fmt: skip


def _trusted_lines(store: str, counts: dict[str, Any]) -> Iterator[str]:
    """Label and value, one a line."""
    yield f"Trusted: {store}"
    yield f"  Items:    {counts['items']} ({counts['verified']} verified, {counts['released']} released)"
    yield f"  Mounts:   {len(counts['mounts'])}"
    for path in counts["mounts"]:
        yield f"    {path}" + (" (outside the project)" if path in counts["mounts_outside"] else "")
    if counts["config_loosens"]:
        yield f"  Config:   loosens or names {', '.join(counts['config_loosens'])}"
    if counts["to_quarantine"] is None:
        yield "  Policy:   too many items to judge here; memctl scan --store does it"
    elif counts["to_quarantine"] or counts["to_redact"]:
        yield (
            f"  Policy:   would hold back {counts['to_quarantine']}, blot out secrets in {counts['to_redact']}; "
            "memctl scan --store does it"
        )
    else:
        yield "  Policy:   has no objection"


# --- untrust ---------------------------------------------------------------------------------------------------------


@operation(
    access=NONE,
    examples=("memctl untrust ~/project",),
    exits={1: "there is no such store, and none is known by this path"},
)
def untrust(
    ctx: Context,
    path: Annotated[
        str, Arg("the store, its folder, or the project's folder, as memctl trust list shows it", path=True)
    ],
) -> PlainResult:
    """Trust a store no longer.

    From now on it is read as somebody else's, and not written to. Its file is left alone. A store that is gone is
    taken out of the list.
    """
    store = ctx.absolute(path)
    if os.path.lexists(store):
        store = store_at(ctx, path)
        if not registry.add(store, "", registry.UNTRUSTED, ids.timestamp_seconds()):
            raise errors.TrustUnwritable(path=store, folder=state.folder())
    elif not registry.forget(store):
        raise errors.StoreMissing(path=store)
    return PlainResult({"status": "ok", "db_path": store}, [f"No longer trusted: {store}"])
