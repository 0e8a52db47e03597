"""The journal: what each run changed, so that it can be told and taken back.

A run is one command, one call of a tool, or one call of the Python API that writes, in however many transactions. A
handle that writes makes temporary triggers on the tables it writes to. They note, the first time that a run touches a
row, what the row was (`memory_undo`), and at the commit the run itself is noted (`memory_runs`). No operation has to
think of it, and other programs that use the file never see a trigger.

Not journaled is what nobody would take back: counts of uses, times of syncs, vectors, the events, and new revisions,
which tell what was done. Rows that stand beside a new item are not noted either: they go with it.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext

from memctl import ids
from memctl.annotations import TYPE_CHECKING, Any, NamedTuple
from memctl.names import KEEP_DAYS, KEEP_SHARE

if TYPE_CHECKING:
    from memctl.store.database import Database

#: The table that a statement writes to, if it is one of the store's.
_WRITES = re.compile(
    r"\s*(?:INSERT\s+(?:OR\s+\w+\s+)?INTO|UPDATE|DELETE\s+FROM)\s+(?:main\.)?((?:memory|corpus)_\w+|schema_meta)\b"
)
#: Tables of which nothing is noted: logs, the index, what is made anew from the items, and the journal.
UNNOTED = frozenset(
    (
        "memory_events",
        "memory_embeddings",
        "memory_fts_state",
        "memory_items_fts",
        "memory_runs",
        "memory_undo",
        "memory_usefulness",
    )
)
#: Columns whose change alone is no change: table -> columns.
_BOOKKEEPING = {
    "memory_items": ("usage_count", "last_used_at"),
    "memory_mounts": ("last_sync_at",),
    "corpus_hashes": ("ingested_at", "mtime_epoch"),
}
#: Columns of items that are kept only when one of them changes, for they may be long: else `{}` stands for each, which
#: means what the row has.
_LONG = ("title", "content", "tags", "entities", "links_json", "provenance_json", "content_hash")
#: Parts of the journal that make no run by themselves: when files were looked at.
_UNTOLD_PARTS = ("files", "unread_files")
#: In `schema_meta`: the day on which what was too much was last dropped.
_TRIMMED_KEY = "memctl_trimmed"
#: Runs without a way back that are still listed.
_MOST_LISTED = 10_000
#: Events that only tell of uses.
_USES = ("read", "recall", "search", "inject")
#: Bytes that a row of the journal takes beside its key and what it keeps.
_ROW_BYTES = 24
#: Of `schema_meta`, what is said of a mount is noted.
NOTED_KEYS = "chunk_tokens "


class RunAbout(NamedTuple):
    """Whose run it is.

    command  the operation, such as `remember`, or the method of MemoryStore
    actor    person (on the command line), tool (a model called it), or program (the Python interface)
    name     the user of the computer, or the client
    session  the client's conversation
    reason   why, where it was said
    """

    command: str = ""
    actor: str = "program"
    name: str = ""
    session: str = ""
    reason: str = ""


class NotedTable(NamedTuple):
    """A table as the journal knows it: the name of its part there, its columns in order, and those of its key."""

    table: str
    part: str
    columns: tuple[str, ...]
    keys: tuple[str, ...]

    @property
    def is_beside_items(self) -> bool:
        """Whether its rows stand beside items, one for each."""
        return self.keys == ("item_id",)

    def key_of(self, row: str) -> str:
        """The key of a row as SQL: the value, or several as a JSON array."""
        if len(self.keys) == 1:
            return f"{row}.{self.keys[0]}"
        return f"json_array({', '.join(f'{row}.{name}' for name in self.keys)})"

    def key_values(self, key: Any) -> tuple[Any, ...]:
        """The values of the key's columns."""
        return (key,) if len(self.keys) == 1 else tuple(json.loads(key))


class Journal:
    """What a handle that writes does for the journal: the triggers, and the run that is going on.

    id      the run's name
    number  the run's number inside of a transaction; 0: nothing is noted
    keep    how long before images are kept, in days, and the share of the file that they may take
    undoes  the numbers of the runs that this one takes back
    """

    __slots__ = (
        "_about", "_before", "_final", "_kept", "_noted", "_seen", "_trimmed", "id", "keep", "number", "undoes",
    )  # fmt: skip

    def __init__(self) -> None:
        self.keep = KEEP_DAYS, KEEP_SHARE
        self._trimmed = False  # whether this handle has looked today, or so
        self._seen: set[str] = set()  # beginnings of statements whose tables have their triggers
        self.start(RunAbout())

    @property
    def committed(self) -> str:
        """The run's name, once something of it is in the store; "" before."""
        return self.id if self._kept else ""

    def start(self, about: RunAbout) -> None:
        """Let what is written from now on be another run."""
        self._about, self.id, self.number, self._kept, self._before = about, ids.new_id("RUN"), 0, 0, 0
        self._noted = False  # whether the transaction that is going on belongs to the run
        self._final: dict[str, int] | None = None  # what was done for good
        self.undoes: list[int] = []

    # --- called by `Database` ---------------------------------------------------------------------------------------

    def begin(self, db: "Database") -> None:
        """A transaction begins: the run has a number that no other has while it lasts."""
        self._before, self._noted = db.conn.total_changes, False
        if not self._kept and "memory_runs" not in db.tables:  # a migration is making it
            return
        self.number = self._kept or int(db.value("SELECT coalesce(max(number), 0) + 1 FROM main.memory_runs"))

    def watch(self, db: "Database", sql: str) -> None:
        """A statement is about to run: its table gets its triggers."""
        head = sql[:64]
        if head in self._seen:
            return
        found = _WRITES.match(sql)
        if found and found[1] not in UNNOTED:
            table = noted_table(db, found[1])
            for trigger in () if table is None else _triggers(table):
                db.conn.execute(trigger)
        self._seen.add(head)

    def disarm(self) -> None:
        """The temporary triggers may be gone: they are made again where they are needed."""
        self._seen.clear()

    def end(self, db: "Database") -> None:
        """The transaction is about to be committed: the run is noted, if it changed anything worth telling."""
        if not self.number or db.conn.total_changes == self._before:
            return
        marks = ", ".join("?" * len(_UNTOLD_PARTS))
        told = f"SELECT 1 FROM memory_undo WHERE run = ? AND part NOT IN ({marks}) LIMIT 1"
        is_told = self._kept or self._final is not None or db.value(told, (self.number, *_UNTOLD_PARTS))
        if not is_told:
            db.run("DELETE FROM memory_undo WHERE run = ?", (self.number,))
            return
        now, summary = ids.timestamp(), None if self._final is None else json.dumps(self._final)
        db.run(
            "INSERT INTO memory_runs(number, run, command, actor, name, session, reason, started_at, finished_at, "
            "undoes, summary) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(number) DO UPDATE SET "
            "finished_at = excluded.finished_at, undoes = excluded.undoes, "
            "summary = coalesce(excluded.summary, summary)",
            (self.number, self.id, *self._about, now, now, json.dumps(self.undoes), summary),
        )
        self._noted = True
        if not self._trimmed:
            self._trimmed = True
            if db.meta(_TRIMMED_KEY) != now[:10]:
                db.set_meta(_TRIMMED_KEY, now[:10])
                trim(db, self.number, *self.keep)

    def close(self, *, committed: bool) -> None:
        """The transaction is over."""
        if committed and self._noted:
            self._kept = self.number
        self.number = 0

    @contextmanager
    def paused(self, what: dict[str, int]) -> Iterator[None]:
        """Note nothing of the rows that are written within, only what is done: how many of which there are no more."""
        number, self.number, self._final = self.number, 0, (self._final or {}) | what
        try:
            yield
        finally:
            self.number = number


@contextmanager
def for_good(db: "Database", keys: Sequence[str], **what: int) -> Iterator[None]:
    """A transaction whose writes have no way back, and after which nobody knows what rows of these keys were.

    keys  ids of items, paths of files, or whatever else is a key or a part of one
    what  what the run is told to have done, such as `purged=3`
    """
    with db.atomic(), nullcontext() if db.journal is None else db.journal.paused(what):
        yield
        found = db.rows(
            "SELECT run, part, key FROM memory_undo WHERE key IN (?*) OR (part = 'revisions' AND "
            "json_extract(before, '$[1]') IN (?*)) OR (key GLOB '[[]*' AND json_valid(key) AND EXISTS "
            "(SELECT 1 FROM json_each(key) AS k WHERE k.value IN (?*)))",
            keys=keys,
        )
        # Why somebody changed a row may quote it.
        db.run_many("UPDATE memory_runs SET reason = '' WHERE number = ?", [(n,) for n in {row[0] for row in found}])
        db.run_many("DELETE FROM memory_undo WHERE run = ? AND part = ? AND key = ?", found)


def trim(db: "Database", current: int, days: int, share: float) -> None:
    """Forget what rows were before runs that are older than `days`, and of the oldest ones until the rest fits.

    current  the run that is going on, of which nothing is forgotten
    share    of the file's size; the journal's is reckoned from what it keeps
    """
    limit = ids.timestamp(ids.now_seconds() - days * 86_400)
    size = int(db.value("PRAGMA page_count")) * int(db.value("PRAGMA page_size"))
    kept = db.rows(
        f"SELECT u.run, sum(length(u.key) + ifnull(length(CAST(u.before AS BLOB)), 0) + {_ROW_BYTES}), "
        "(SELECT r.finished_at FROM memory_runs AS r WHERE r.number = u.run) "
        "FROM memory_undo AS u GROUP BY u.run ORDER BY u.run"
    )
    total, dropped = sum(taken for _, taken, _ in kept), list[int]()
    for number, taken, finished in kept:
        if number != current and (str(finished or "") < limit or total > share * size):
            dropped.append(number)
            total -= taken
    for number in dropped:
        counts = dict(count_parts(db, number)) | {"forgotten_at": ids.timestamp()}
        db.run("DELETE FROM memory_undo WHERE run = ?", (number,))
        db.run(
            "UPDATE memory_runs SET summary = json_patch(ifnull(summary, '{}'), ?) WHERE number = ?",
            (json.dumps(counts), number),
        )
    db.run(
        "DELETE FROM memory_runs WHERE number <= (SELECT max(number) FROM memory_runs) - ? AND NOT EXISTS "
        "(SELECT 1 FROM memory_undo AS u WHERE u.run = number)",
        (_MOST_LISTED,),
    )
    marks = ", ".join("?" * len(_USES))
    db.run(f"DELETE FROM memory_events WHERE action IN ({marks}) AND timestamp < ?", (*_USES, limit))


def count_parts(db: "Database", number: int) -> Iterator[tuple[str, int]]:
    """How many rows a run changed: items it made, items it changed, and rows of the parts beside them."""
    found = db.rows(
        "SELECT CASE WHEN part <> 'items' THEN part WHEN before IS NULL THEN 'made' ELSE 'changed' END AS name, "
        "count(*) FROM memory_undo WHERE run = ? AND part <> 'revisions' GROUP BY name ORDER BY part <> 'items', "
        "name DESC",
        (number,),
    )
    yield from found


def noted_table(db: "Database", name: str) -> NotedTable | None:
    """What the journal needs to know of a table of the file; None for one that has no key."""
    info = db.rows(f"PRAGMA main.table_info({name})")
    keys = tuple(row[1] for row in sorted((row for row in info if row[5]), key=lambda row: int(row[5])))
    if not keys:
        return None
    return NotedTable(name, name.removeprefix("memory_"), tuple(row[1] for row in info), keys)


def _triggers(table: NotedTable) -> Iterator[str]:
    """The temporary triggers of a table, as statements."""
    name, part = table.table, table.part
    is_item = name == "memory_items"
    revision = "(SELECT max(revision_num) FROM memory_revisions WHERE item_id = old.id)" if is_item else "NULL"
    compared = (c for c in table.columns if c not in _BOOKKEEPING.get(name, ()))
    whole, short, fill = f"json_array({', '.join(map(_image, table.columns))})", "", "NOTHING"
    cases = [("insert", "INSERT", ""), ("update", "UPDATE", f" AND ({_differ(compared)})"), ("delete", "DELETE", "")]
    if is_item:
        cells = ("json('{}')" if column in _LONG else _image(column) for column in table.columns)
        short, fill = f"json_array({', '.join(cells)})", _fill(table.columns)
        cases.append(("reword", "UPDATE", f" AND ({_differ(_LONG)})"))
        cases[1] = ("update", "UPDATE", f"{cases[1][2]} AND NOT ({_differ(_LONG)})")
    noted = ""
    for case, action, changed in cases:
        row = "new" if case == "insert" else "old"
        if name == "memory_revisions" and action != "DELETE":
            continue
        if name == "schema_meta":
            noted = f" AND {row}.key GLOB '{NOTED_KEYS}*'"
        elif table.is_beside_items:
            noted = (
                " AND NOT EXISTS (SELECT 1 FROM memory_undo WHERE run = memctl_run() AND part = 'items' "
                f"AND key = {row}.item_id AND before IS NULL)"
            )
        image = short if short and case == "update" else whole
        was = "NULL, NULL" if row == "new" else f"{revision}, {image}"
        yield (
            f"CREATE TEMP TRIGGER IF NOT EXISTS memctl_note_{part}_{case} "
            f"{'AFTER' if row == 'new' else 'BEFORE'} {action} ON main.{name} WHEN memctl_run(){changed}{noted} BEGIN "
            f"INSERT INTO memory_undo(run, part, key, revision, before) VALUES (memctl_run(), '{part}', "
            f"{table.key_of(row)}, {was}) ON CONFLICT DO {fill if case in ('reword', 'delete') else 'NOTHING'}; END"
        )


def _image(column: str) -> str:
    """A cell of the old row as SQL, as the journal keeps it."""
    return (
        f"CASE typeof(old.{column}) WHEN 'blob' THEN json_object('hex', hex(old.{column})) "
        f"WHEN 'real' THEN json_object('real', printf('%!.17g', old.{column})) ELSE old.{column} END"
    )


def _differ(columns: Iterable[str]) -> str:
    return " OR ".join(f"old.{c} IS NOT new.{c}" for c in columns)


def _fill(columns: Sequence[str]) -> str:
    """What is done to a row that the run has noted without what is long, before that changes or goes."""
    cells = (
        f"CASE WHEN json_type(before, '$[{n}]') = 'object' AND json_extract(before, '$[{n}]') = '{{}}' "
        f"THEN '$[{n}]' ELSE '$.none' END, {_image(column)}"
        for n, column in enumerate(columns)
        if column in _LONG
    )
    return f"UPDATE SET before = json_replace(before, {', '.join(cells)}) WHERE instr(before, '{{}}')"
