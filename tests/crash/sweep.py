"""Run one memctl command again and again, killing it at its first SQL statement, its second, and so on.

`python sweep.py` reads a JSON job on stdin and prints a JSON report. It is a program of its own because it forks: each
attempt is a child of one warm interpreter, with `os._exit` in SQLite's trace callback as the kill. After each kill the
store must be sound and must hold no half state; the same command again must end where an undisturbed run ends.
"""

import hashlib
import importlib
import json
import os
import re
import shutil
import sqlite3
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

KILLED = 137
#: Events that tell of use, not of content: a run that was killed after its answer may count a use twice.
USE = ("read", "recall", "search", "inject", "use")
#: What sessions and workspaces mean, without times.
SAVED = {
    "memory_sessions": "session_id, scope, turn_count, metadata_json",
    "memory_turns": "session_id, number, question, answer, injectable",
    "memory_session_links": "src_id, dst_id, rel",
    "memory_session_items": "session_id",
    "memory_workspaces": "name, scope, corpus_id, description",
    "memory_workspace_options": "name, read_scopes, budget",
}


class Job(NamedTuple):
    """What to run, where, on which store, and at which statements to kill it.

    `argv` and `stdin` are the command (`-c` and Python code: a program that uses the store); `base` is the store before
    it (None: there is none); `store` is where the command will find it; `most` is how many kill points to try
    at most, evenly spread (0: each one).
    """

    argv: list[str]
    folder: str
    store: str
    base: str | None = None
    stdin: str = ""
    most: int = 0


# --- running ----------------------------------------------------------------------------------------------------


def in_child(work: Callable[[], int]) -> int:
    """Run `work` in a forked child; its exit status. Nothing of the child's survives."""
    pid = os.fork()
    if pid == 0:
        status = 99
        try:
            status = work()
        except SystemExit as exc:
            status = exc.code if isinstance(exc.code, int) else 1
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def counted(die_at: int, tally: str) -> Callable[..., sqlite3.Connection]:
    """`sqlite3.connect`, but the process dies at its statement number `die_at`; `tally` gets one byte for each."""
    connect = sqlite3.connect
    seen = 0
    log = os.open(tally, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)

    def count(_sql: str) -> None:
        nonlocal seen
        seen += 1
        os.write(log, b".")
        if seen == die_at:
            os._exit(KILLED)

    def watched(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        conn: sqlite3.Connection = connect(*args, **kwargs)
        conn.set_trace_callback(count)
        return conn

    return watched


def attempt(job: Job, die_at: int = 0) -> int:
    """One run of the command in a fresh process; dies at statement `die_at` (0: never)."""

    def work() -> int:
        from memctl.cli import main
        from memctl.store import database

        os.chdir(job.folder)
        stdin = os.open(os.path.join(job.folder, "stdin"), os.O_RDONLY)
        os.dup2(stdin, 0)
        out = os.open(os.path.join(job.folder, "out"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1)
        os.dup2(out, 2)
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
        watched = counted(die_at, os.path.join(job.folder, "tally"))
        sqlite3.connect = vars(database)["sqlite3"].connect = watched  # type: ignore[assignment]
        status = 0
        if job.argv[0] == "-c":
            exec(job.argv[1], {"store": job.store})
        else:
            status = main(job.argv)
        sys.stdout.flush()
        if not die_at:
            with open(os.path.join(job.folder, "modules"), "w") as file:
                file.write("\n".join(sys.modules))
        return status

    return in_child(work)


def warm(job: Job) -> None:
    """Import what an undisturbed run imported, so that the attempts need not, each of them."""
    with open(os.path.join(job.folder, "modules")) as file:
        for name in file.read().split("\n"):
            if name not in sys.modules:
                importlib.import_module(name)


def reset(job: Job) -> None:
    """The store as it was before the command."""
    for tail in ("", "-wal", "-shm", "-journal"):
        if os.path.exists(job.store + tail):
            os.unlink(job.store + tail)
    if job.base:
        shutil.copyfile(job.base, job.store)


# --- looking -----------------------------------------------------------------------------------------------------


def problems(path: str) -> list[str]:
    """What is wrong with a store; nothing if it is sound. A store that is not there is sound."""
    if not os.path.exists(path):
        return []
    from memctl import MemoryStore

    db = sqlite3.connect(path)
    found = []
    if (said := db.execute("PRAGMA integrity_check").fetchone()[0]) != "ok":
        found.append(f"integrity: {said}")
    try:
        db.execute("INSERT INTO memory_items_fts(memory_items_fts, rank) VALUES ('integrity-check', 1)")
    except sqlite3.Error as exc:
        found.append(f"full-text index: {exc}")
    ids = [row[0] for row in db.execute("SELECT id FROM memory_items")]
    found += half_files(db)
    db.close()
    store = MemoryStore(path)
    found += [f"{i} has no revision" for i in ids if not store.read_revisions(i)]
    store.close()
    return found


def half_files(db: sqlite3.Connection) -> list[str]:
    """Files that are registered with other passages than the store holds, and passages of files not registered."""
    found = []
    known = {}
    for path, count, text in db.execute("SELECT file_path, chunk_count, item_ids FROM corpus_hashes"):
        ids = json.loads(text)
        known[path] = set(ids)
        held = {
            i for i in ids if db.execute("SELECT 1 FROM memory_items WHERE id = ? AND archived = 0", (i,)).fetchone()
        }
        if held != set(ids):
            found.append(f"{path}: {len(ids)} passages registered, {len(held)} live")
        if count < len(ids):
            found.append(f"{path}: says {count} passages, lists {len(ids)}")
    rows = db.execute("SELECT id, provenance_json FROM memory_items WHERE archived = 0").fetchall()
    for item, text in rows:
        source = json.loads(text)
        path = source.get("source_id", "")
        if source.get("source_kind") == "doc" and path in known and item not in known[path]:
            found.append(f"{item} is a live passage of {path}, but not registered")
    return found


def dump(path: str) -> Any:
    """All that a store means, without ids and times: two runs that did the same give the same."""
    if not os.path.exists(path):
        return None
    db = sqlite3.connect(path)
    items = {}
    for row in db.execute(
        "SELECT id, tier, type, title, content, tags, scope, archived, injectable, validation, confidence, "
        "superseded_by IS NOT NULL, expires_at IS NOT NULL, content_hash FROM memory_items"
    ):
        items[row[0]] = row[1:]
    links = db.execute("SELECT src_id, dst_id, rel FROM memory_links").fetchall()
    files = db.execute("SELECT file_path, sha256, chunk_count, item_ids FROM corpus_hashes").fetchall()
    revisions = db.execute("SELECT item_id, count(*) FROM memory_revisions GROUP BY item_id").fetchall()
    events = db.execute(
        f"SELECT action, count(*) FROM memory_events WHERE action NOT IN ({', '.join('?' * len(USE))}) GROUP BY action",
        USE,
    ).fetchall()
    withheld = db.execute("SELECT item_id, reason FROM memory_withheld").fetchall()
    saved = {
        table: sorted(map(repr, db.execute(f"SELECT {columns} FROM {table}")))
        for table, columns in SAVED.items()
        if db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    }
    matter = []
    if db.execute("SELECT 1 FROM sqlite_master WHERE name = 'memory_importance'").fetchone():
        matter = db.execute("SELECT item_id, importance FROM memory_importance").fetchall()
    cited = []
    if db.execute("SELECT 1 FROM sqlite_master WHERE name = 'memory_citations'").fetchone():
        cited = db.execute(
            "SELECT item_id, number, kind, cited, path, symbol, line_start, line_end, text_hash, state, moved_to "
            "FROM memory_citations"
        ).fetchall()
    places = db.execute("SELECT item_id, position, line_start, line_end, anchor FROM memory_sources").fetchall()
    db.close()
    return {
        "items": sorted(items.values(), key=repr),
        "links": sorted(repr((items.get(a), items.get(b), rel)) for a, b, rel in links),
        "files": sorted(repr((p, h, n, [items.get(i) for i in json.loads(ids)])) for p, h, n, ids in files),
        "revisions": sorted(repr((items.get(i), n)) for i, n in revisions),
        "events": sorted(events),
        "withheld": sorted(repr((items.get(i), r)) for i, r in withheld),
        "importance": sorted(repr((items.get(i), value)) for i, value in matter),
        "citations": sorted(repr((items.get(i), *rest)) for i, *rest in cited),
        "saved": saved,
        "places": sorted(repr((items.get(i), *rest)) for i, *rest in places),
    }


# --- the sweep ---------------------------------------------------------------------------------------------------


def everything(path: str) -> str:
    """All rows of all tables but those of the index, and the files beside: what the next run begins with.

    Ids and times have stand-ins, because each run makes others.
    """
    folder, tables = os.path.dirname(path), {}
    if os.path.exists(path):
        db = sqlite3.connect(path)
        names = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        tables = {name: sorted(map(repr, db.execute(f"SELECT * FROM {name}"))) for name in names if "_fts_" not in name}
        db.close()  # and its -wal and -shm are gone
    beside = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    text = repr((beside, tables))
    text = re.sub(r"\b(?:MEM|EVT|REV|MNT|RUN|SCAN|STO)-[0-9a-f]{12}\b", "ID", text)
    text = re.sub(r"\.[0-9a-f]{12}\.part", ".part", text)
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+\+00:00", "TIME", text)


def as_left(path: str) -> str:
    """A digest of the store and what lies beside it, to the byte, as a kill left it.

    Not of `-shm`: whoever opens a store that nobody has open makes that anew.
    """
    folder, digest = os.path.dirname(path), hashlib.sha256()
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        whole = os.path.join(folder, name)
        if os.path.isfile(whole) and not name.endswith("-shm"):
            with open(whole, "rb") as file:
                digest.update(repr((name, hashlib.sha256(file.read()).digest())).encode())
        else:
            digest.update(repr(name).encode())
    return digest.hexdigest()


def one_point(job: Job, number: int, wanted: Any, before: Any, known: set[str]) -> list[str]:
    """Kill at statement `number`, look, run again, look again; what was wrong.

    What an earlier kill left to the byte, such as inside of one transaction, was looked at then; and the second run is
    left out where an earlier one began with the same rows.
    """
    reset(job)
    status = attempt(job, number)
    if status != KILLED:
        return [f"expected to be killed, ended with {status}"]
    left = as_left(job.store)
    if left in known:
        return []
    known.add(left)
    wrong = problems(job.store)
    torn = dump(job.store)
    if before is not None and torn is None:
        wrong.append("the store is gone")
    start = everything(job.store)
    if start in known:
        return wrong
    known.add(start)
    status = attempt(job)
    if status:
        with open(os.path.join(job.folder, "out")) as file:
            wrong.append(f"the run after it ended with {status}: {file.read()}")
    wrong += problems(job.store)
    if dump(job.store) != wanted:
        wrong.append("the run after it ended somewhere else: " + difference(dump(job.store), wanted))
    return wrong


def difference(found: Any, wanted: Any) -> str:
    """The parts of two dumps that differ, shortened."""
    if found is None or wanted is None:
        return f"{found is not None} against {wanted is not None}"
    return "; ".join(
        f"{key}: {len(found[key])} {str(found[key])[:600]} != {len(wanted[key])} {str(wanted[key])[:600]}"
        for key in wanted
        if found[key] != wanted[key]
    )


def sweep(job: Job) -> dict[str, Any]:
    """All kill points of a job: how many statements there are, which were tried, and what went wrong at each."""
    with open(os.path.join(job.folder, "stdin"), "w") as file:
        file.write(job.stdin)
    reset(job)
    before = dump(job.store)
    status = attempt(job)
    total = os.path.getsize(os.path.join(job.folder, "tally"))
    wanted = dump(job.store)
    wrong = {"undisturbed": problems(job.store)} if problems(job.store) else {}
    if status:
        with open(os.path.join(job.folder, "out")) as file:
            wrong["undisturbed"] = [f"ended with {status}: {file.read()}"]
    else:
        warm(job)
    points = list(range(1, total + 1))
    if job.most and total > job.most:
        points = sorted({round(1 + (total - 1) * i / (job.most - 1)) for i in range(job.most)})
    known: set[str] = set()
    for number in points if not wrong else []:
        if found := one_point(job, number, wanted, before, known):
            wrong[str(number)] = found
    return {"statements": total, "tried": len(points), "wrong": wrong, "changed": wanted != before}


if __name__ == "__main__":
    import memctl.cli
    import memctl.store  # noqa: F401 - warm before forking

    print(json.dumps(sweep(Job(**json.load(sys.stdin)))))
