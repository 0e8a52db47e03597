"""Runs: what was done to a store, by whom, and taking it back.

Undo puts rows back as `memory_undo` keeps them, and is a run itself, so that it can be taken back too. Of a run that is
not the newest, rows that somebody changed since are left as they are.
"""

import json
from collections.abc import Iterable, Iterator, Sequence

from memctl import errors, ids
from memctl.annotations import Any, NamedTuple
from memctl.store.database import BATCH, Database
from memctl.store.items import events, items
from memctl.store.journal import NOTED_KEYS, UNNOTED, NotedTable, count_parts, noted_table
from memctl.text.clean import one_line

_COLUMNS = (
    "number, run, command, actor, name, session, reason, started_at, finished_at, undoes, "
    "(SELECT u.run FROM memory_runs AS u WHERE u.number = r.undone_by), summary"
)
#: How a run's name may begin; its twelve hex digits may be shortened to four.
_PREFIXES = ("RUN-", "SCAN-")
#: Parts whose keys are the ids of items.
_SAID_OF_ITEMS = ("items", "importance", "palace_locations", "retention", "withheld")
#: Columns of items that go on counting.
_COUNTED_ON = ("usage_count", "last_used_at")
#: The parts of an item that an undo of its creation takes along, whatever the journal says of them.
_BESIDE = ("memory_embeddings", "memory_revisions", "memory_usefulness")


class Run(NamedTuple):
    """One command or call that wrote; `memctl.store.journal.RunAbout` says what the words mean.

    undoes     numbers of the runs that it took back
    undone_by  the run that took it back; None while it stands
    summary    what it did for good, or what it had changed when the journal forgot it; None: the journal knows
    """

    number: int
    id: str
    command: str
    actor: str
    name: str
    session: str
    reason: str
    started_at: str
    finished_at: str
    undoes: tuple[int, ...]
    undone_by: str | None
    summary: dict[str, Any] | None

    @property
    def who(self) -> str:
        """Who it was, in a few words."""
        named = f" {self.name}" if self.name else ""
        return f"{self.actor}{named}" + (f", session {self.session}" if self.session else "")


class Undone(NamedTuple):
    """What an undo did, by the ids of items: put back, or gone again because the run had made them.

    undone  the runs of which something was put back
    kept    rows that were left alone, as (part of the journal, key): they were changed or removed since
    rows    how many other rows were put back or removed
    """

    run: str
    undone: list[str]
    restored: list[str]
    removed: list[str]
    kept: list[tuple[str, str]]
    rows: int


# --- read ------------------------------------------------------------------------------------------------------------


def list_runs(
    db: Database, limit: int = -1, *, since: str = "", command: str | None = None, runs: Iterable[int] | None = None
) -> list[Run]:
    """Runs, the newest first; those that ended at `since` or later, of one command, of these numbers."""
    if "memory_runs" not in db.tables:
        return []
    where, values = "r.finished_at >= ?", list[object]([since])
    if command is not None:
        where, values = f"{where} AND r.command = ?", [*values, command]
    if runs is not None:
        where, values = f"{where} AND r.number IN (SELECT value FROM json_each(?))", [*values, json.dumps([*runs])]
    found = db.rows(
        f"SELECT {_COLUMNS} FROM memory_runs AS r WHERE {where} ORDER BY r.number DESC LIMIT ?", [*values, limit]
    )
    return [_to_run(row) for row in found]


def _to_run(row: tuple[Any, ...]) -> Run:
    *words, undoes, undone_by, summary = row
    numbers = items.load_json(undoes)
    undone = tuple(one for one in numbers if isinstance(one, int)) if isinstance(numbers, list) else ()
    return Run._make([*words, undone, undone_by, None if summary is None else items.load_object(summary)])


def find_run(db: Database, given: str) -> Run:
    """The run of this name, which may be shortened to four digits. Raises RunNotFound."""
    wanted = given.strip()
    digits = next((wanted.removeprefix(start) for start in _PREFIXES if wanted.startswith(start)), wanted)
    starts = [wanted] if digits != wanted else [start + wanted for start in _PREFIXES]
    if len(digits) >= 4 and not digits.strip("0123456789abcdef") and "memory_runs" in db.tables:
        found = [
            number
            for start in starts
            for (number,) in db.rows(
                "SELECT number FROM memory_runs WHERE run >= ? AND run < ? LIMIT 2", (start, start + "g")
            )
        ]
        if len(found) == 1:
            return list_runs(db, runs=found)[0]
    raise errors.RunNotFound(id=one_line(given, 60))


def newest_standing(db: Database, count: int) -> tuple[list[Run], list[Run]]:
    """The newest runs that can be taken back, the newest first; and the newer ones that cannot, such as a purge.

    None of them is an undo, or is undone.
    """
    found: list[int] = []
    final: list[int] = []
    for number, kept in db.each(
        "SELECT number, EXISTS (SELECT 1 FROM memory_undo AS u WHERE u.run = number) FROM memory_runs "
        "WHERE undone_by IS NULL AND undoes = '[]' ORDER BY number DESC"
    ):
        (found if kept else final).append(number)
        if len(found) == count:
            break
    return list_runs(db, runs=found), list_runs(db, runs=final)


def changed_items(db: Database, run: Run, limit: int = -1) -> list[tuple[str, bool]]:
    """The items that a run changed, or what stands beside them, by id, and whether it made them."""
    beside = ", ".join(f"'{part}'" for part in _SAID_OF_ITEMS)
    found = db.rows(
        f"SELECT key, max(part = 'items' AND before IS NULL) FROM memory_undo WHERE run = ? AND part IN ({beside}) "
        "GROUP BY key ORDER BY key LIMIT ?",
        (run.number, limit),
    )
    return [(key, bool(made)) for key, made in found]


def kept_items(db: Database, item_ids: Iterable[str]) -> list[str]:
    """Those of these ids under which there is no item any more, but the journal keeps what one was."""
    if "memory_undo" not in db.tables:
        return []
    found = db.rows(
        "SELECT DISTINCT key FROM memory_undo AS u WHERE part = 'items' AND key IN (?*) "
        "AND NOT EXISTS (SELECT 1 FROM memory_items AS i WHERE i.id = u.key)",
        keys=item_ids,
    )
    return [key for (key,) in found]


def count_changes(db: Database, run: Run) -> dict[str, int]:
    """How many rows a run changed: items it made, changed and removed, and the parts of the store beside them."""
    return dict(count_parts(db, run.number)) | {k: v for k, v in (run.summary or {}).items() if isinstance(v, int)}


def runs_of_item(db: Database, item_id: str) -> list[tuple[int, int, bool]]:
    """Which runs changed an item, oldest first: number, how many revisions it had before, whether it was made."""
    if "memory_undo" not in db.tables:
        return []
    # CROSS JOIN: a look at each run, instead of all that the journal holds.
    found = db.rows(
        "SELECT r.number, coalesce(u.revision, 0), u.before IS NULL FROM memory_runs AS r CROSS JOIN memory_undo AS u "
        "ON u.run = r.number AND u.part = 'items' AND u.key = ? ORDER BY r.number",
        (item_id,),
    )
    return [(number, revision, bool(made)) for number, revision, made in found]


# --- undo ------------------------------------------------------------------------------------------------------------


class _Rehearsed(Exception):
    """Nothing of a dry run is to stay."""


def undo(db: Database, runs: Sequence[Run], *, dry_run: bool = False) -> Undone:
    """Take runs back, the newest first, in one transaction. Raises RunFinal for one that cannot be undone.

    One that is undone already stays so.
    With `dry_run` all is rolled back, and the answer says what would be. When nothing could be put back, nothing is
    changed, and the answer is of what was kept alone.
    """
    done = Undone("", [], [], [], [], 0)
    try:
        with db.atomic():
            for run in sorted(runs, reverse=True):
                if db.value("SELECT undone_by FROM memory_runs WHERE number = ?", (run.number,)) is not None:
                    continue
                if db.value("SELECT 1 FROM memory_undo WHERE run = ? LIMIT 1", (run.number,)) is None:
                    raise final_error(run)
                part = _Undoing(db, run).run()
                if part.undone:
                    _mark_undone(db, run)
                done = Undone(
                    "", done.undone + part.undone, done.restored + part.restored, done.removed + part.removed,
                    done.kept + part.kept, done.rows + part.rows,
                )  # fmt: skip
            if dry_run or not done.undone:
                raise _Rehearsed
    except _Rehearsed:
        return _once(done)
    return _once(done)._replace(run=db.journal.id if db.journal is not None else "")


def _once(done: Undone) -> Undone:
    """Of what several runs did, each item once: gone if the oldest of them made it."""
    removed = list(dict.fromkeys(done.removed))
    restored = [one for one in dict.fromkeys(done.restored) if one not in set(removed)]
    return done._replace(removed=removed, restored=restored, kept=list(dict.fromkeys(done.kept)))


def final_error(run: Run) -> "errors.RunFinal":
    """Why a run of which nothing is kept cannot be undone."""
    reason = "nothing is kept of what it changed"
    if run.summary:
        reason = "it is too long ago" if "forgotten_at" in run.summary else "it deleted for good"
    return errors.RunFinal(run=run.id, command=run.command, reason=reason)


def _mark_undone(db: Database, run: Run) -> None:
    """Note that a run is taken back by the one that is going on: what it had taken back stands again, and so on."""
    if db.journal is None:
        return
    db.journal.undoes.append(run.number)
    now, seen = [(run.number, db.journal.number)], set[int]()
    while now and seen.isdisjoint(number for number, _ in now):
        seen.update(number for number, _ in now)
        db.run_many("UPDATE memory_runs SET undone_by = ? WHERE number = ?", [(by, number) for number, by in now])
        after = []
        for number, _ in now:
            stands = list_runs(db, runs=[number])[0].undoes
            db.run_many("UPDATE memory_runs SET undone_by = NULL WHERE number = ?", [(one,) for one in stands])
            after += [(below, one) for one in stands for below in list_runs(db, runs=[one])[0].undoes]
        now = after


class _Undoing:
    """Putting back what one run changed, within a transaction."""

    def __init__(self, db: Database, given: Run) -> None:
        self.db, self.given = db, given
        self.tables = {part: table for part, table in self._tables() if table is not None}
        self.later = int(db.value("SELECT count(*) FROM memory_runs WHERE number > ?", (given.number,)))
        self.kept = self._changed_since()

    def run(self) -> Undone:
        """Remove what the run made, put back what it changed."""
        gone, back = list[tuple[str, str]](), list[tuple[str, str]]()
        for part, key, made in self.db.rows(
            "SELECT part, key, before IS NULL FROM memory_undo WHERE run = ? ORDER BY part, key", (self.given.number,)
        ):
            if part in self.tables and (part, key) not in self.kept:
                (gone if made else back).append((part, key))
        gone = self._without_named(gone)
        removed, others = self._remove(gone)
        restored, more = self._restore(back)
        beside = (key for part, key in gone if part in _SAID_OF_ITEMS and part != "items")
        restored = list(dict.fromkeys((*restored, *(key for key in beside if key not in set(removed)))))
        counts = {"run": self.given.id, "restored": len(restored), "removed": len(removed), "kept": len(self.kept)}
        events.log(self.db, "undo", None, counts)
        undone = [self.given.id] if restored or removed or others + more else []
        return Undone("", undone, restored, removed, sorted(self.kept), others + more)

    def _tables(self) -> Iterator[tuple[str, NotedTable | None]]:
        """The tables of the run's parts; what a part is called is in the file, so nothing else may be named by it."""
        for (part,) in self.db.rows("SELECT DISTINCT part FROM memory_undo WHERE run = ?", (self.given.number,)):
            name = next((name for name in (f"memory_{part}", part) if name in self.db.tables), "")
            ours = name.startswith(("memory_", "corpus_")) or name == "schema_meta"
            yield part, noted_table(self.db, name) if ours and name not in UNNOTED else None

    def _changed_since(self) -> set[tuple[str, str]]:
        """The rows that a later run which stands has changed, or another program."""
        number = self.given.number
        kept = set(
            self.db.rows(
                "SELECT l.part, l.key FROM memory_runs AS s CROSS JOIN memory_undo AS l ON l.run = s.number "
                "CROSS JOIN memory_undo AS o ON o.run = ? AND o.part = l.part AND o.key = l.key "
                "WHERE s.number > ? AND s.undoes = '[]' AND l.part <> 'revisions' AND NOT EXISTS "
                "(SELECT 1 FROM memory_undo AS u WHERE u.run = s.undone_by AND u.part = l.part AND u.key = l.key)",
                (number, number),
            )
        )
        # What the run wrote itself may carry a time of its own, as imports do.
        kept |= set(
            self.db.rows(
                "SELECT o.part, o.key FROM memory_undo AS o JOIN memory_items AS i ON i.id = o.key "
                "WHERE o.run = ? AND o.part = 'items' AND i.updated_at > ? AND NOT EXISTS "
                "(SELECT 1 FROM memory_revisions AS v WHERE v.item_id = i.id AND v.changed_at = i.updated_at "
                "AND v.revision_num <= coalesce(o.revision, 0) + 1)",
                (number, self.given.finished_at),
            )
        )
        return kept

    def _without_named(self, gone: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """What is to go, without items that a file which stays as it is still consists of."""
        if not (self.later or self.kept) or not any(part == "items" for part, _ in gone):
            return gone
        named = set[str]()
        for part in ("corpus_hashes", "gone_files"):
            table = "memory_gone_files" if part == "gone_files" else part
            changed = {key for p, key in gone if p == part}
            for path, held in self.db.each(
                f"SELECT f.file_path, f.item_ids FROM {table} AS f WHERE NOT EXISTS (SELECT 1 FROM memory_undo AS o "
                "WHERE o.run = ? AND o.part = ? AND o.key = f.file_path AND o.before IS NOT NULL)",
                (self.given.number, part),
            ):
                if path not in changed:
                    named.update(items.load_strings(held))
            for key in (key for p, key in self.kept if p == part):
                held = self.db.value(f"SELECT item_ids FROM {table} WHERE file_path = ?", (key,))
                named.update(items.load_strings(held))
        stays = {(part, key) for part, key in gone if part == "items" and key in named}
        self.kept |= stays
        return [one for one in gone if one not in stays]

    def _remove(self, gone: list[tuple[str, str]]) -> tuple[list[str], int]:
        """Delete rows that the run made; items with all that stands beside them."""
        there = items.get_summaries(self.db, (key for part, key in gone if part == "items"))
        beside = [name for name in self.db.tables if name.startswith("memory_") and name not in UNNOTED]
        tables = [table for table in (noted_table(self.db, name) for name in sorted(beside)) if table is not None]
        for name in (*(table.table for table in tables if table.is_beside_items), *_BESIDE):
            self.db.run_many(f"DELETE FROM {name} WHERE item_id = ?", [(one,) for one in there])
        for end in ("src_id", "dst_id"):
            self.db.run_many(f"DELETE FROM memory_links WHERE {end} = ?", [(one,) for one in there])
        self.db.run_many("DELETE FROM memory_items WHERE id = ?", [(one,) for one in there])
        count = 0
        for part, key in gone:
            if part != "items" and not self._is_guarded(part, key):
                table = self.tables[part]
                where = " AND ".join(f"{name} = ?" for name in table.keys)
                count += self.db.run(f"DELETE FROM {table.table} WHERE {where}", table.key_values(key)).rowcount
        return list(there), count

    def _restore(self, back: list[tuple[str, str]]) -> tuple[list[str], int]:
        """Write rows as they were; of items that are there, uses are counted on."""
        of_items = [key for part, key in back if part == "items"]
        restored, count, there = [], 0, self._texts(of_items)
        restored += self._restore_items(of_items)
        for part, key in back:
            if part == "items" or self._is_guarded(part, key):
                continue
            (text,) = self.db.row(
                "SELECT before FROM memory_undo WHERE run = ? AND part = ? AND key = ?", (self.given.number, part, key)
            )
            values = _row(text)
            if values is None or not self._put(self.tables[part], values):
                self.kept.add((part, key))
            elif part in _SAID_OF_ITEMS:
                restored.append(key)
            else:
                count += part != "revisions"
        restored = list(dict.fromkeys(restored))
        now = self._texts(restored)
        reworded = [(one,) for one in restored if one in there and there[one] != now.get(one)]
        self.db.run_many("DELETE FROM memory_embeddings WHERE item_id = ?", reworded)
        self._tell(one for one in restored if one in there)
        return restored, count

    def _restore_items(self, item_ids: Sequence[str]) -> list[str]:
        """Write the rows of items as they were, many at a time: of one that is there, only the columns that differ."""
        done = list[str]()
        for at in range(0, len(item_ids), BATCH):
            some, table = item_ids[at : at + BATCH], self.tables["items"]
            said = "SELECT key, before FROM memory_undo WHERE run = ? AND part = 'items' AND key IN (?*)"
            there = f"SELECT {', '.join(table.columns)} FROM memory_items WHERE id IN (?*)"
            now = {row[table.columns.index("id")]: row for row in self.db.rows(there, keys=some)}
            held = self.db.rows(said, (self.given.number,), keys=some)
            before = {key: _row(text, now.get(key)) for key, text in held}
            differing: dict[tuple[str, ...], list[list[Any]]] = {}
            for key in some:
                values = before[key]
                if values is None or (key not in now and not self._put(table, values)):
                    self.kept.add(("items", key))
                    continue
                done.append(key)
                if key in now:
                    cells = zip(table.columns, values, now[key], strict=False)
                    changes = {name: was for name, was, held in cells if was != held and name not in _COUNTED_ON}
                    differing.setdefault(tuple(changes), []).append([*changes.values(), key])
            for names, rows in differing.items():
                if names:
                    columns = ", ".join(f"{name} = ?" for name in names)
                    self.db.run_many(f"UPDATE memory_items SET {columns} WHERE id = ?", rows)
        return done

    def _texts(self, item_ids: Iterable[str]) -> dict[str, tuple[str, str]]:
        """What vectors are made of: title and content, as its hash."""
        found = self.db.rows("SELECT id, title, content_hash FROM memory_items WHERE id IN (?*)", keys=item_ids)
        return {item_id: (title, content_hash) for item_id, title, content_hash in found}

    def _is_guarded(self, part: str, key: str) -> bool:
        """Whether a row is none that the journal notes, whatever the file says."""
        return part == "schema_meta" and not key.startswith(NOTED_KEYS)

    def _put(self, table: NotedTable, values: list[Any]) -> bool:
        """Write one row; False when another row has what only one may have, such as the folder of a mount."""
        columns = table.columns[: len(values)]
        kept = {*table.keys, *_COUNTED_ON}
        changes = ", ".join(f"{c} = excluded.{c}" for c in columns if c not in kept) or f"{columns[0]} = {columns[0]}"
        try:
            with self.db.atomic():
                self.db.run(
                    f"INSERT INTO {table.table}({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))}) "
                    f"ON CONFLICT({', '.join(table.keys)}) DO UPDATE SET {changes}",
                    values,
                )
        except errors.StoreFailed as exc:
            if "UNIQUE" not in str(exc):
                raise
            return False
        return True

    def _tell(self, item_ids: Iterable[str]) -> None:
        """Add a revision and an event to items that are what they were: both say what happened, also this."""
        now, found = ids.timestamp(), items.get_summaries(self.db, item_ids)
        written = [(item_id, items.UNCHANGED, now, one.content_hash) for item_id, one in found.items()]
        items.record_writes(self.db, written, f"undo {self.given.id}")


def _row(text: str, now: Sequence[Any] | None = None) -> list[Any] | None:
    """The cells of a row as the journal keeps it; where it kept none (`{}`), those of the row as it is `now`.

    None of what is no row, as in a file that something has damaged, and where there is no row to take a cell from.
    """
    try:
        held = json.loads(text)
        cells = [now[n] if now and one == {} else _value(one) for n, one in enumerate(held)]
        return cells if isinstance(held, list) and held else None
    except (ValueError, TypeError, KeyError, IndexError):
        return None


def _value(held: Any) -> Any:
    """A cell as the journal keeps it: bytes and numbers with a fraction are told apart from text."""
    if isinstance(held, dict):
        return bytes.fromhex(held["hex"]) if "hex" in held else float(held["real"])
    return held
