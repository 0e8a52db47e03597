"""Remotes: where a scope's statements are exchanged with other machines, and what is known of each statement there.

The tables and triggers are made by the first `remote add`: a store without a remote has none and pays nothing. The
triggers note only which items changed (`memctl_dirty`), whatever program changes them; records are made of them when
they are exchanged. That something was purged or released is an intent, which the code that does it writes.
"""

import json
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial

from memctl import ids
from memctl.annotations import Any, NamedTuple
from memctl.errors import MemctlError
from memctl.store.connect import DIRTY_TRIGGERS
from memctl.store.database import Database
from memctl.text import jsons

TABLES = """
CREATE TABLE IF NOT EXISTS memctl_remotes (      -- what is exchanged with other machines, and where
    name         TEXT PRIMARY KEY,
    url          TEXT NOT NULL,
    scopes       TEXT NOT NULL,                  -- JSON object: scope here -> scope there
    trust        TEXT NOT NULL,                  -- low, medium or high: how far the word of others goes
    read_only    INTEGER NOT NULL,
    replica      TEXT NOT NULL,                  -- by which name this store writes there
    mine         TEXT NOT NULL,                  -- JSON array: all names that it has had
    clock        INTEGER NOT NULL DEFAULT 0,     -- microseconds: the newest that was seen
    exchanged_at TEXT NOT NULL DEFAULT '',       -- when an exchange last succeeded
    problem      TEXT NOT NULL DEFAULT ''        -- why the last one did not
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS memctl_remote_keys (  -- what is known of each statement there
    remote  TEXT NOT NULL,
    key     TEXT NOT NULL,
    scope   TEXT NOT NULL,                       -- the scope there
    item_id TEXT NOT NULL,                       -- the item here; '': none
    state   BLOB NOT NULL,                       -- JSON, as memctl.remote.merge says, compressed
    wrote   TEXT NOT NULL,                       -- JSON object: what the row here has otherwise, by this store's policy
    unsent  INTEGER NOT NULL,
    PRIMARY KEY (remote, key)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS memctl_remote_items ON memctl_remote_keys(item_id);
CREATE INDEX IF NOT EXISTS memctl_remote_unsent ON memctl_remote_keys(remote, unsent) WHERE unsent;
CREATE TABLE IF NOT EXISTS memctl_remote_ids (   -- which ids a statement goes by, beside that of its item here
    remote TEXT NOT NULL,
    id     TEXT NOT NULL,
    key    TEXT NOT NULL,
    kind   TEXT NOT NULL,                        -- born, or extra: a text of it that nobody has decided about
    PRIMARY KEY (remote, id, key)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS memctl_remote_extras ON memctl_remote_ids(remote, key) WHERE kind = 'extra';
CREATE TABLE IF NOT EXISTS memctl_remote_logs (  -- how far each log was read; our own: how far it was written
    remote  TEXT NOT NULL,
    scope   TEXT NOT NULL,
    replica TEXT NOT NULL,
    last    INTEGER NOT NULL,                    -- the number of the last segment
    hash    TEXT NOT NULL,                       -- of that segment, which covers all before it
    who     TEXT NOT NULL DEFAULT '',            -- as it calls itself
    records INTEGER NOT NULL DEFAULT 0,          -- how many were read
    clock   INTEGER NOT NULL DEFAULT 0,          -- of our own: the newest that has arrived
    read_at TEXT NOT NULL DEFAULT '',
    problem TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (remote, scope, replica)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS memctl_remote_outbox (  -- segments on their way out
    remote TEXT NOT NULL,
    scope  TEXT NOT NULL,
    number INTEGER NOT NULL,
    name   TEXT NOT NULL,
    body   BLOB NOT NULL,
    PRIMARY KEY (remote, scope, number)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS memctl_remote_plain (  -- what is in segments on their way out that are sealed
    remote TEXT NOT NULL,
    scope  TEXT NOT NULL,
    number INTEGER NOT NULL,
    body   BLOB NOT NULL,
    PRIMARY KEY (remote, scope, number)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS memctl_remote_options (  -- what remote add was given besides: author, files with keys
    remote TEXT NOT NULL,
    name   TEXT NOT NULL,
    value  TEXT NOT NULL,
    PRIMARY KEY (remote, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS memctl_dirty (        -- items that changed since stock was last taken
    item_id TEXT PRIMARY KEY
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS memctl_intents (      -- what was purged or released since then
    item_id TEXT NOT NULL,
    kind    TEXT NOT NULL,                       -- purge or release
    PRIMARY KEY (item_id, kind)
) WITHOUT ROWID;
"""

_TRIGGER_NAMES = [line.split()[5] for line in DIRTY_TRIGGERS.splitlines()]
_TABLE_NAMES = (
    "memctl_remotes", "memctl_remote_keys", "memctl_remote_ids", "memctl_remote_logs", "memctl_remote_outbox",
    "memctl_remote_plain", "memctl_remote_options", "memctl_dirty", "memctl_intents",
)  # fmt: skip


class Remote(NamedTuple):
    """A remote, as `memctl_remotes` has it: `scopes` maps the scopes here to those there.

    options  author: as whom this store writes there; sign, signers, recipients, identity: files with keys
    """

    name: str
    url: str
    scopes: dict[str, str]
    trust: str
    read_only: bool
    replica: str
    mine: tuple[str, ...]
    clock: int = 0
    exchanged_at: str = ""
    problem: str = ""
    options: dict[str, str] = {}  # noqa: RUF012 - never changed


class RemoteStateDamaged(MemctlError):
    """what this store knows of statement {key} at a remote is damaged, or from a later memctl"""

    exit_code = 2
    hint = "memctl remote remove NAME and remote add NAME URL begin anew: all statements stay, here and there"


class KnownKey(NamedTuple):
    """What is known of one statement there, as `memctl_remote_keys` has it.

    newborn_at  what `merge.newborn` says of the state, where that was asked already
    """

    key: str
    scope: str
    item_id: str
    state: dict[str, Any]
    wrote: dict[str, Any]
    unsent: bool = False
    newborn_at: str = ""


class KnownLog(NamedTuple):
    """How far a log is known: the number and hash of its last segment, who writes it, and what is wrong with it."""

    scope: str
    replica: str
    last: int = 0
    hash: str = ""
    who: str = ""
    records: int = 0
    clock: int = 0
    read_at: str = ""
    problem: str = ""


class OutgoingSegment(NamedTuple):
    """A segment on its way out; where it is sealed, `plain` is what is in it."""

    scope: str
    number: int
    name: str
    body: bytes
    plain: bytes = b""


# --- remotes ---------------------------------------------------------------------------------------------------------


def are_there(db: Database) -> bool:
    """Whether the store has, or has had, a remote."""
    return "memctl_remotes" in db.tables


_OPTIONS = "SELECT remote, name, value FROM memctl_remote_options ORDER BY remote, name"


def list_remotes(db: Database) -> list[Remote]:
    """The remotes, by name."""
    if not are_there(db):
        return []
    sql = "SELECT name, url, scopes, trust, read_only, replica, mine, clock, exchanged_at, problem FROM memctl_remotes"
    options: dict[str, dict[str, str]] = {}
    for remote, option, value in db.rows(_OPTIONS) if "memctl_remote_options" in db.tables else ():
        options.setdefault(remote, {})[option] = value
    return [
        Remote(name, url, json.loads(scopes), trust, bool(read_only), replica, tuple(json.loads(mine)), clock, at,
               problem, options.get(name, {}))
        for name, url, scopes, trust, read_only, replica, mine, clock, at, problem in db.rows(f"{sql} ORDER BY name")
    ]  # fmt: skip


def add_remote(db: Database, remote: Remote) -> None:
    """Make a remote, with the tables and triggers if it is the first; all items are to be looked at."""
    from memctl.store.schema import STATEMENT

    with db.atomic():
        for statement in (*STATEMENT.findall(TABLES), *DIRTY_TRIGGERS.splitlines()):
            db.run(statement)
        db.look()
        save_remote(db, remote)
        given = [(remote.name, option, value) for option, value in sorted(remote.options.items())]
        db.run_many("INSERT INTO memctl_remote_options(remote, name, value) VALUES (?, ?, ?)", given)
        db.run(
            "INSERT INTO memctl_dirty(item_id) SELECT id FROM memory_items "
            f"WHERE scope IN ({', '.join('?' * len(remote.scopes))}) ON CONFLICT DO NOTHING",
            list(remote.scopes),
        )


def save_remote(db: Database, remote: Remote) -> None:
    """Write down what is known of a remote."""
    db.upsert(
        "memctl_remotes",
        "name url scopes trust read_only replica mine clock exchanged_at problem",
        [
            (remote.name, remote.url, json.dumps(remote.scopes), remote.trust, int(remote.read_only), remote.replica,
             json.dumps(remote.mine), remote.clock, remote.exchanged_at, remote.problem)
        ],
    )  # fmt: skip


def remove_remote(db: Database, name: str) -> None:
    """Forget a remote; items stay. With the last one go tables and triggers."""
    with db.atomic():
        for table in [one for one in _TABLE_NAMES[:7] if one in db.tables]:
            column = "name" if table == "memctl_remotes" else "remote"
            db.run(f"DELETE FROM {table} WHERE {column} = ?", (name,))
        if not list_remotes(db):
            drop_all(db)


def drop_all(db: Database) -> None:
    """Forget all remotes: the store is as one that never had any."""
    with db.atomic():
        for trigger in _TRIGGER_NAMES:
            db.run(f"DROP TRIGGER IF EXISTS {trigger}")
        for table in _TABLE_NAMES:
            db.run(f"DROP TABLE IF EXISTS {table}")
    db.look()


# --- what changed ----------------------------------------------------------------------------------------------------


def dirty_ids(db: Database) -> list[str]:
    """The items that changed since stock was last taken."""
    return [row[0] for row in db.rows("SELECT item_id FROM memctl_dirty ORDER BY item_id")]


def version_of(db: Database) -> int:
    """What is another number as soon as another process, or another handle, has written."""
    return int(db.value("PRAGMA data_version"))


def count_dirty(db: Database, scopes: Sequence[str]) -> int:
    """How many items of these scopes changed since then."""
    marks = ", ".join("?" * len(scopes))
    sql = "SELECT count(*) FROM memctl_dirty AS d JOIN memory_items AS i ON i.id = d.item_id"
    return int(db.value(f"{sql} WHERE i.scope IN ({marks})", scopes))


def clear_dirty(db: Database, item_ids: Iterable[str]) -> None:
    """Take the marks of items away."""
    db.run_many("DELETE FROM memctl_dirty WHERE item_id = ?", [(one,) for one in item_ids])


def intend(db: Database, item_ids: Iterable[str], kind: str) -> None:
    """Note that a person purged or released items."""
    sql = "INSERT INTO memctl_intents(item_id, kind) VALUES (?, ?) ON CONFLICT DO NOTHING"
    db.run_many(sql, [(one, kind) for one in item_ids])


def intents(db: Database) -> dict[str, set[str]]:
    """What was intended since stock was last taken: item id -> purge, release."""
    out: dict[str, set[str]] = {}
    for item_id, kind in db.rows("SELECT item_id, kind FROM memctl_intents"):
        out.setdefault(item_id, set()).add(kind)
    return out


def clear_intents(db: Database, item_ids: Iterable[str]) -> None:
    """What was intended has been noted elsewhere."""
    db.run_many("DELETE FROM memctl_intents WHERE item_id = ?", [(one,) for one in item_ids])


# --- keys ------------------------------------------------------------------------------------------------------------

_KEY = "SELECT key, scope, item_id, state, wrote, unsent FROM memctl_remote_keys WHERE remote = ?"


def _to_key(row: tuple[Any, ...]) -> KnownKey:
    key, scope, item_id, state, wrote, unsent = row
    try:
        if not isinstance(state, str):  # as it stands in stores of before
            state = zlib.decompressobj(zdict=_ZDICT).decompress(state)
        return KnownKey(key, scope, item_id, json.loads(state), json.loads(wrote), bool(unsent))
    except (zlib.error, ValueError) as exc:
        raise RemoteStateDamaged(key=key) from exc


def get_keys(db: Database, remote: str, keys: Iterable[str]) -> dict[str, KnownKey]:
    """What is known of these keys."""
    found = map(_to_key, db.rows(f"{_KEY} AND key IN (?*)", [remote], keys=keys))
    return {one.key: one for one in found}


def keys_of_items(db: Database, remote: str, item_ids: Iterable[str]) -> dict[str, KnownKey]:
    """What is known of these items, by item id."""
    # The plus: by the index of items. SQLite takes the key that begins with a remote for narrower, and reads it all.
    sql = f"{_KEY.replace('remote =', '+remote =')} AND item_id IN (?*)"
    found = map(_to_key, db.rows(sql, [remote], keys=item_ids))
    return {one.item_id: one for one in found}


def unsent_keys(db: Database, remote: str, scope: str = "", most: int = -1) -> list[KnownKey]:
    """What has not been sent (of one scope there, at most so many), in the order of the keys."""
    sql = f"{_KEY} AND unsent AND ? IN ('', scope) ORDER BY key LIMIT ?"
    return [_to_key(row) for row in db.rows(sql, [remote, scope, most])]


def keys_after(db: Database, remote: str, scope: str, after: str, most: int) -> list[KnownKey]:
    """What is known of the keys of a scope there that come after one, at most so many, in their order."""
    sql = f"{_KEY} AND key > ? AND scope = ? ORDER BY key LIMIT ?"
    return [_to_key(row) for row in db.rows(sql, [remote, after, scope, most])]


def purged_here(db: Database, remote: str) -> list[KnownKey]:
    """What is to be deleted for good here, because it was there."""
    sql = f"{_KEY} AND item_id <> '' AND json_extract(wrote, '$.purge')"
    return [*map(_to_key, db.rows(sql, [remote]))]


def all_keys(db: Database, remote: str) -> list[KnownKey]:
    """All that is known there."""
    return [_to_key(row) for row in db.rows(f"{_KEY} ORDER BY key", [remote])]


def damaged_keys(db: Database, remote: str) -> list[str]:
    """The keys whose row cannot be read."""
    out = []
    for row in db.each(_KEY, [remote]):
        try:
            read: list[object] = [*_to_key(row)[3:5]]
            if not all(isinstance(one, dict) for one in read):
                out.append(str(row[0]))
        except RemoteStateDamaged:
            out.append(str(row[0]))
    return sorted(out)


def remotes_of_items(db: Database, item_ids: Iterable[str]) -> dict[str, set[str]]:
    """The remotes at which items are known, by item id."""
    out: dict[str, set[str]] = {}
    sql = "SELECT item_id, remote FROM memctl_remote_keys WHERE item_id IN (?*)"
    for item_id, remote in db.rows(sql, keys=item_ids):
        out.setdefault(item_id, set()).add(remote)
    return out


def save_keys(db: Database, remote: str, known: Iterable[KnownKey]) -> None:
    """Write down what is known of keys, with the ids that they go by beside that of their item."""
    known = list(known)
    others = {(entry[0], one.key): "born" for one in known for entry in one.state.get("born", {}).values()
              if entry[0] != one.item_id}  # fmt: skip
    set_ids(db, remote, others)
    db.run_many(
        "INSERT INTO memctl_remote_keys(remote, key, scope, item_id, state, wrote, unsent) "
        "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT(remote, key) DO UPDATE SET item_id = excluded.item_id, "
        "state = excluded.state, wrote = excluded.wrote, unsent = excluded.unsent",
        [
            (
                remote,
                one.key,
                one.scope,
                one.item_id,
                _compressed(one.state),
                _dump(one.wrote) if one.wrote else "{}",
                int(one.unsent),
            )
            for one in known
        ],
    )


def _compressed(state: Mapping[str, Any]) -> bytes:
    engine = zlib.compressobj(wbits=13, memLevel=6, zdict=_ZDICT)  # less room is made sooner, and they are short
    return engine.compress(_dump(state).encode()) + engine.flush()


#: What states have in common. Never change it: no store could read its states.
_ZDICT = (
    b'"verified",null,["person","text":{"entities":{"links":{"life":{"set":{"held":{"free":[true,"pointer","fact","rule",'
    b'"constraint","definition","decision","ltm","mtm",1.0,0.8,"note","stm",0.5,0.5,"unverified",null,["chat","",[]]]},'
    b'"text":{"",{}]},"tags":{":[{"":""},[]]}}{"born":{"17:["MEM-","2026-00+00:00","'
)
#: Compact, and characters as they are: the store has one for each statement.
_dump = partial(jsons.encode, compact=True)


def mark_sent(db: Database, remote: str, keys: Iterable[str], *, unsent: bool = False) -> None:
    """These keys stand in the outbox as they are, or no longer do."""
    sql = "UPDATE memctl_remote_keys SET unsent = ? WHERE remote = ? AND key = ?"
    db.run_many(sql, [(int(unsent), remote, key) for key in keys])


def count_keys(db: Database, remote: str) -> tuple[int, int]:
    """How many statements are known there and are here, and how many are to be sent."""
    sql = "SELECT count(*), ifnull(sum(unsent), 0) FROM memctl_remote_keys WHERE remote = ?"
    total, unsent = db.row(f"{sql} AND (item_id <> '' OR unsent)", (remote,))
    return int(total), int(unsent)


def count_held(db: Database, remote: str) -> int:
    """How many items that are known there wait in quarantine here for a person."""
    sql = "SELECT count(*) FROM memctl_remote_keys AS k JOIN memory_withheld AS w ON w.item_id = k.item_id"
    return int(db.value(f"{sql} WHERE k.remote = ? AND w.reason = 'policy'", (remote,)))


# --- ids -------------------------------------------------------------------------------------------------------------


def set_ids(db: Database, remote: str, named: Mapping[tuple[str, str], str]) -> None:
    """Note which ids keys go by: (id, key) -> born or extra."""
    db.run_many(
        "INSERT INTO memctl_remote_ids(remote, id, key, kind) VALUES (?, ?, ?, ?) "
        "ON CONFLICT(remote, id, key) DO UPDATE SET kind = excluded.kind",
        [(remote, item_id, key, kind) for (item_id, key), kind in named.items()],
    )


def drop_extras(db: Database, remote: str, item_ids: Iterable[str]) -> None:
    """These ids stand for no undecided text any more."""
    sql = "DELETE FROM memctl_remote_ids WHERE remote = ? AND id = ? AND kind = 'extra'"
    db.run_many(sql, [(remote, one) for one in item_ids])


def keys_of_ids(db: Database, remote: str, item_ids: Iterable[str], kind: str = "born") -> dict[str, list[str]]:
    """The keys that go by these ids, smallest first."""
    out: dict[str, list[str]] = {}
    sql = "SELECT id, key FROM memctl_remote_ids WHERE remote = ? AND kind = ? AND id IN (?*) ORDER BY id, key"
    for item_id, key in db.rows(sql, [remote, kind], keys=item_ids):
        out.setdefault(item_id, []).append(key)
    return out


def ids_in_use(db: Database, item_ids: Iterable[str]) -> set[str]:
    """Those of these ids that items here have, shared or not."""
    return {row[0] for row in db.rows("SELECT id FROM memory_items WHERE id IN (?*)", keys=item_ids)}


def extras_of(db: Database, remote: str, keys: Iterable[str]) -> dict[str, list[str]]:
    """The items that stand for undecided texts of keys."""
    out: dict[str, list[str]] = {}
    # The plus: by the index of extras, which are few, and not through all ids of the remote.
    sql = "SELECT key, id FROM memctl_remote_ids WHERE +remote = ? AND kind = 'extra' AND key IN (?*)"
    for key, item_id in db.rows(sql, [remote], keys=keys):
        out.setdefault(key, []).append(item_id)
    return out


def follow_alias(db: Database, given: str) -> str:
    """The id of the item here that goes by another id on other machines; what was given where there is none."""
    sql = (
        "SELECT k.item_id FROM memctl_remotes AS r CROSS JOIN memctl_remote_ids AS a ON a.remote = r.name "
        "JOIN memctl_remote_keys AS k ON k.remote = a.remote AND k.key = a.key "
        "WHERE a.id >= ? AND a.id <= ? AND k.item_id <> '' "
        "UNION SELECT id FROM memory_items WHERE id >= ? AND id <= ? LIMIT 2"
    )
    digits = given.removeprefix("MEM-")
    is_short = 4 <= len(digits) < 12 and not digits.strip("0123456789abcdef")
    start = f"MEM-{digits}" if is_short else given
    found = db.rows(sql, (start, f"{start}g" if is_short else start) * 2)
    return str(found[0][0]) if len(found) == 1 else given


# --- logs ------------------------------------------------------------------------------------------------------------


def get_logs(db: Database, remote: str) -> dict[tuple[str, str], KnownLog]:
    """How far each log is known, by scope and replica."""
    sql = "SELECT scope, replica, last, hash, who, records, clock, read_at, problem FROM memctl_remote_logs"
    found = (KnownLog(*row) for row in db.rows(f"{sql} WHERE remote = ? ORDER BY scope, replica", (remote,)))
    return {(one.scope, one.replica): one for one in found}


def save_logs(db: Database, remote: str, logs: Collection[KnownLog]) -> None:
    """Write down how far logs are known."""
    columns = "scope, replica, last, hash, who, records, clock, read_at, problem"
    changes = ", ".join(f"{c} = excluded.{c}" for c in columns.split(", ")[2:])
    db.run_many(
        f"INSERT INTO memctl_remote_logs(remote, {columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
        f"ON CONFLICT(remote, scope, replica) DO UPDATE SET {changes}",
        [(remote, *one) for one in logs],
    )


def get_outbox(db: Database, remote: str) -> list[OutgoingSegment]:
    """What is on its way out, in order."""
    sql = "SELECT scope, number, name, body FROM memctl_remote_outbox WHERE remote = ? ORDER BY scope, number"
    plain = {}
    if "memctl_remote_plain" in db.tables:
        inside = db.rows("SELECT scope, number, body FROM memctl_remote_plain WHERE remote = ?", (remote,))
        plain = {(scope, number): body for scope, number, body in inside}
    return [OutgoingSegment(*row)._replace(plain=plain.get(row[:2], b"")) for row in db.rows(sql, (remote,))]


def last_out(db: Database, remote: str, scope: str) -> str:
    """The name of the last segment of a log that is on its way out; "" where there is none."""
    sql = "SELECT name FROM memctl_remote_outbox WHERE remote = ? AND scope = ? ORDER BY number DESC LIMIT 1"
    found = db.rows(sql, (remote, scope))
    return str(found[0][0]) if found else ""


def put_out(db: Database, remote: str, segments: Sequence[OutgoingSegment]) -> None:
    """Let segments be on their way out."""
    sql = "INSERT INTO memctl_remote_outbox(remote, scope, number, name, body) VALUES (?, ?, ?, ?, ?)"
    db.run_many(sql, [(remote, *one[:4]) for one in segments])
    sealed = [(remote, one.scope, one.number, one.plain) for one in segments if one.plain]
    if sealed:
        db.run_many("INSERT INTO memctl_remote_plain(remote, scope, number, body) VALUES (?, ?, ?, ?)", sealed)


def take_out(db: Database, remote: str, segments: Sequence[OutgoingSegment]) -> None:
    """Segments have arrived, or go another way."""
    sql = "DELETE FROM memctl_remote_outbox WHERE remote = ? AND scope = ? AND number = ? AND name = ?"
    db.run_many(sql, [(remote, one.scope, one.number, one.name) for one in segments])
    if sealed := [(remote, one.scope, one.number) for one in segments if one.plain]:
        db.run_many("DELETE FROM memctl_remote_plain WHERE remote = ? AND scope = ? AND number = ?", sealed)


def new_replica() -> str:
    """The name of a replica that nobody else has: 12 hex digits."""
    return ids.new_id("R").removeprefix("R-")


# --- what travels with items -----------------------------------------------------------------------------------------


def links_from(db: Database, item_ids: Iterable[str]) -> dict[str, list[str]]:
    """The links of each of these items to others, `relation id`, but what says that they replace something."""
    out: dict[str, list[str]] = {}
    sql = "SELECT src_id, rel, dst_id FROM memory_links WHERE src_id IN (?*) AND rel <> 'supersedes' ORDER BY 1, 2, 3"
    for src, rel, dst in db.rows(sql, keys=item_ids):
        out.setdefault(src, []).append(f"{rel} {dst}")
    return out
