"""PostgreSQL as a remote: a server is started for these tests, and the database refuses what no member may do."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clusters import OWNER, Cluster, cluster, fill, psycopg
from homes import Home, exchange
from memctl import ids
from memctl.remote import places, postgres, segments
from memctl.remote.carrier import SegmentPlace
from memctl.remote.errors import RemoteInvalid
from memctl.store.remotes import KnownLog
from support import PATIENCE, examples, ok, run

WIDGET, OTHER = "widget", "other"
FRIDAY = "We deploy on Fridays."
KILLED = 137


@pytest.fixture(scope="module")
def server() -> Iterator[Cluster]:
    """A database where anna and bert write in one scope, ci reads there, mallory writes in another, carl nowhere."""
    with cluster() as made:
        _admit(made)
        yield made


@pytest.fixture
def team(server: Cluster) -> Cluster:
    """That database, without logs."""
    server.clear()
    return server


@pytest.fixture
def fresh(server: Cluster) -> Iterator[Cluster]:
    """A database in which `remote init` was not run."""
    server.renew("anna", "crew", "secretive")
    yield server
    _admit(server)


def _admit(server: Cluster) -> None:
    server.renew("anna", "bert", "ci", "mallory", "carl")
    for scope, members, more in ((WIDGET, ("anna", "bert"), ()), (WIDGET, ("ci",), ("--read-only",)),
                                 (OTHER, ("mallory",), ())):  # fmt: skip
        script = ok("remote", "init", server.url(OWNER), "--scope", scope, *more).text
        for role in members:
            server.admit(role, script)


def member(team: Cluster, name: str, *more: str, scope: str = WIDGET, role: str = "") -> Home:
    return Home(name).join("--trust", "high", "--scope", f"project={scope}", *more, url=team.url(role or name))


def pair(team: Cluster) -> tuple[Home, Home]:
    return member(team, "anna"), member(team, "bert")


def replica_of(home: Home) -> str:
    return str(home.rows("SELECT replica FROM memctl_remotes")[0][0])


def numbers(team: Cluster, home: Home) -> list[tuple[int, int]]:
    """First and last of each segment of a home's log, as the server itself has them."""
    sql = "SELECT first, last FROM memctl.segments WHERE replica = %s ORDER BY last"
    return [(first, last) for first, last in team.ask(sql, replica_of(home))]


# --- what it carries -------------------------------------------------------------------------------------------------


def test_statements_travel_through_a_database(team: Cluster) -> None:
    anna, bert = pair(team)
    said, gone = anna.say(FRIDAY), anna.say("The cache lives in Redis.")
    exchange(anna, bert)
    bert.ok("edit", said, "--content", "We deploy on Mondays.")
    anna.ok("purge", gone, "--yes")
    exchange(anna, bert)
    assert anna.texts() == bert.texts() == ["We deploy on Mondays."]
    assert bert.json("remote", "verify", "team")["status"] == "ok"
    assert bert.json("remote", "status", "team")["remotes"][0]["behind"] == 0
    anna.ok("remote", "compact", "team")
    assert numbers(team, anna) == [(1, 3)]
    anna.say("Said after that.")
    exchange(anna, bert)
    assert bert.texts() == anna.texts()
    assert bert.json("remote", "verify", "team")["status"] == "ok"


def test_many_records_travel_in_few_calls(team: Cluster, asked: list[str]) -> None:
    anna, bert = pair(team)
    anna.ok("import", "-", stdin="".join(f'{{"content": "Fact {n} is about topic {n}."}}\n' for n in range(1001)))
    anna.sync()
    assert numbers(team, anna) == [(1, 1), (2, 2)]
    asked.clear()
    assert bert.sync()["new"] == 1001
    assert len(asked) == 3  # its settings, what is there, and both segments


def test_nothing_new_is_a_connection_and_two_calls(team: Cluster, asked: list[str]) -> None:
    anna, bert = pair(team)
    anna.say(FRIDAY)
    exchange(anna, bert)
    asked.clear()
    bert.sync()
    assert [one.split()[0] for one in asked] == ["SET", "SELECT"]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What connections are asked, as SQL."""
    found: list[str] = []
    execute = psycopg.Connection.execute

    def noted(conn: Any, query: str, *more: Any, **how: Any) -> Any:
        found.append(query.strip())
        return execute(conn, query, *more, **how)

    monkeypatch.setattr(psycopg.Connection, "execute", noted)
    return found


def test_only_what_is_not_known_is_listed(team: Cluster) -> None:
    anna, _ = pair(team)
    for number in range(4):
        anna.say(f"Fact {number} is about topic {number}.")
        anna.sync()
    log = (WIDGET, replica_of(anna))
    carrier = postgres.PostgresCarrier(team.url("bert"))
    assert [one.last for one in carrier.listing([WIDGET])[log]] == [1, 2, 3, 4]
    assert [one.last for one in carrier.listing([WIDGET], {log: KnownLog(*log, 3)})[log]] == [3, 4]
    assert [one.last for one in carrier.listing([WIDGET], {log: KnownLog(*log, 9)})[log]] == [
        4
    ]  # that it is shorter now is seen


def test_a_hint_ends_the_wait(team: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    anna, _ = pair(team)
    anna.say(FRIDAY)
    monkeypatch.setattr(ids, "pause", lambda *_: None)
    carrier = postgres.PostgresCarrier(team.url("bert"))
    ended = threading.Event()

    def wait() -> None:
        carrier.wait(PATIENCE)
        ended.set()

    waiting = threading.Thread(target=wait)
    waiting.start()
    while not team.ask("SELECT 1 FROM pg_stat_activity WHERE query = 'LISTEN memctl' AND state = 'idle'"):
        time.sleep(0.01)
    assert not ended.is_set()
    anna.sync()
    waiting.join(PATIENCE)
    assert ended.is_set()
    carrier.wait(0.01)  # nobody says anything


def test_watching_needs_no_minute_when_the_database_gives_a_hint(team: Cluster) -> None:
    anna, bert = pair(team)
    anna.say(FRIDAY)
    line = [sys.executable, "-m", "memctl", "remote", "sync", "--watch", "--interval", "86400"]
    watching = subprocess.Popen(line, env=os.environ | bert.env, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        _until(lambda: bool(bert.rows("SELECT 1 FROM memctl_remotes WHERE exchanged_at <> ''")))
        assert bert.texts() == []
        anna.sync()
        _until(lambda: bert.texts() == [FRIDAY])
    finally:
        watching.send_signal(signal.SIGINT)
        assert watching.wait(PATIENCE) == 0


def _until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


# --- who may what ----------------------------------------------------------------------------------------------------


def test_a_role_sees_its_scopes_only(team: Cluster) -> None:
    anna, bert = pair(team)
    mallory = member(team, "mallory", scope=OTHER)
    anna.say(FRIDAY)
    mallory.say("Said in another scope.")
    exchange(anna, bert, mallory)
    assert bert.texts() == [FRIDAY]
    assert mallory.texts() == ["Said in another scope."]
    count = "SELECT count(*), count(*) FILTER (WHERE scope = 'widget') FROM memctl.segments"
    assert [team.ask(count, role=one) for one in ("anna", "ci", "mallory")] == [[(1, 1)], [(1, 1)], [(1, 0)]]
    thief = member(team, "thief", role="mallory")  # asks for a scope that was not granted
    thief.sync()
    assert thief.texts() == []
    thief.say("Said where mallory may not write.")
    refused = thief.run("remote", "sync", "team")
    assert refused.code == 1
    assert "lacks a grant" in refused.notes
    assert team.ask("SELECT count(*) FROM memctl.segments") == [(2,)]


def test_a_reader_writes_nothing(team: Cluster) -> None:
    anna, _ = pair(team)
    anna.say(FRIDAY)
    anna.sync()
    reader = member(team, "ci", "--read-only")
    reader.say("Only here.")
    reader.sync()
    assert reader.texts() == ["Only here.", FRIDAY]
    writer = member(team, "writer", role="ci")
    writer.say("It wants to write.")
    assert writer.run("remote", "sync", "team").code == 1
    assert FRIDAY in writer.texts()
    assert team.ask("SELECT count(*) FROM memctl.segments") == [(1,)]


def test_who_was_granted_nothing_is_told_so(team: Cluster) -> None:
    for role, words in (("carl", "lacks a grant"), ("nobody_there", "does not exist")):
        refused = member(team, role).run("remote", "sync", "team")
        assert refused.code == 1
        assert words in refused.notes


def test_where_there_are_no_tables_init_is_named(fresh: Cluster) -> None:
    assert "memctl remote init" in member(fresh, "anna").run("remote", "sync", "team").notes


_SEGMENT = "INSERT INTO memctl.segments(scope, replica, first, last, hash, body) VALUES (%s, %s, %s, %s, %s, 'x')"


@pytest.mark.parametrize(
    "forged",
    [
        "replica", "scope", "hole", "taken", "owner", "adopted", "too large", "updated", "deleted", "truncated",
        "admitted", "redefined", "switched off",
    ],
)  # fmt: skip
def test_the_database_refuses_what_is_forged(team: Cluster, forged: str) -> None:
    anna, bert = pair(team)
    for one in (anna, bert):
        one.say(f"Said by {one.name}.")
        one.sync()
    hers, his, digest = replica_of(anna), replica_of(bert), "0" * 64
    before = team.ask("SELECT scope, replica, last, hash FROM memctl.segments ORDER BY 1, 2, 3")
    tried: dict[str, tuple[Any, ...]] = {
        "replica": (_SEGMENT, WIDGET, hers, 2, 2, digest),
        "scope": (_SEGMENT, OTHER, his, 1, 1, digest),
        "hole": (_SEGMENT, WIDGET, his, 3, 3, digest),
        "taken": (_SEGMENT, WIDGET, his, 1, 1, digest),
        "too large": (_SEGMENT.replace("'x'", f"decode(repeat('00', {segments.MOST_BYTES + 1}), 'hex')"),
                      WIDGET, his, 2, 2, digest),
        "owner": ("INSERT INTO memctl.replicas(replica, role) VALUES ('aaaaaaaaaaaa', 'anna')",),
        "adopted": ("UPDATE memctl.replicas SET role = session_user",),
        "updated": ("UPDATE memctl.segments SET body = 'x'",),
        "deleted": ("DELETE FROM memctl.segments",),
        "truncated": ("TRUNCATE memctl.segments",),
        "admitted": ("INSERT INTO memctl.members VALUES ('bert', 'other', true)",),
        "redefined": ("CREATE OR REPLACE FUNCTION memctl.granted(writing boolean) RETURNS SETOF text "  # noqa: ISC004
                      "LANGUAGE sql AS $$ SELECT 'other' $$",),
        "switched off": ("ALTER TABLE memctl.segments DISABLE ROW LEVEL SECURITY",),
    }  # fmt: skip
    sql, *values = tried[forged]
    with pytest.raises((psycopg.errors.InsufficientPrivilege, psycopg.errors.CheckViolation)):
        team.ask(sql, *values, role="bert")
    assert team.ask("SELECT scope, replica, last, hash FROM memctl.segments ORDER BY 1, 2, 3") == before


def test_nobody_compacts_the_log_of_another(team: Cluster) -> None:
    anna, bert = pair(team)
    anna.say(FRIDAY)
    exchange(anna, bert)
    hers = replica_of(anna)
    team.ask(_SEGMENT, WIDGET, hers, 1, 2, "0" * 64, role="anna")  # stands for all before it; she has not compacted yet
    team.ask("SELECT memctl.compact('widget', %s)", hers, role="bert")
    assert numbers(team, anna) == [(1, 1), (1, 2)]
    team.ask("SELECT memctl.compact('widget', %s)", hers, role="anna")
    assert numbers(team, anna) == [(1, 2)]


def test_who_made_the_tables_is_bound_by_them_as_anybody(fresh: Cluster) -> None:
    fresh.ask("ALTER DATABASE memory OWNER TO anna")
    script = ok("remote", "init", fresh.url("anna"), "--scope", OTHER).text
    assert "'other', true" in script
    fresh.ask("INSERT INTO memctl.replicas(replica) VALUES ('aaaaaaaaaaaa')", role="anna")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        fresh.ask(_SEGMENT, WIDGET, "aaaaaaaaaaaa", 1, 1, "0" * 64, role="anna")


def test_a_group_stands_for_its_members(fresh: Cluster) -> None:
    fresh.ask("GRANT crew TO anna")
    fresh.admit("crew", ok("remote", "init", fresh.url(OWNER), "--scope", WIDGET).text)
    anna = member(fresh, "anna")
    anna.say(FRIDAY)
    anna.sync()
    assert fresh.ask("SELECT role FROM memctl.replicas") == [("anna",)]


# --- init and the URL ------------------------------------------------------------------------------------------------


def test_init_says_what_it_does_and_does_it_once(fresh: Cluster) -> None:
    shown = ok("remote", "init", fresh.url(OWNER), "--dry-run", "--scope", "it's", "--json").json()
    assert (shown["status"], shown["dry_run"]) == ("dry_run", True)
    assert fresh.ask("SELECT to_regclass('memctl.segments') IS NULL") == [(True,)]
    made = [ok("remote", "init", fresh.url(OWNER), "--json").json()["changed"] for _ in range(2)]
    assert made == [True, False]
    fresh.admit("anna", "\n".join(shown["grants"]))
    assert fresh.ask("SELECT role, scope, writes FROM memctl.members") == [("anna", "it's", True)]
    fresh.renew("anna")
    fresh.admit(OWNER, ok("remote", "init", fresh.url(OWNER), "--dry-run", "--scope", WIDGET).text)
    fresh.admit("anna", ok("remote", "init", fresh.url(OWNER), "--scope", WIDGET).text)
    anna = member(fresh, "anna")
    anna.say(FRIDAY)
    assert anna.sync()["sent"] == 1


def test_init_of_what_is_not_there_is_refused(team: Cluster) -> None:
    for url in (team.url(OWNER, "nowhere"), team.url("carl"), "folder", "postgresql://owner:xyzzy@localhost/memory"):
        refused = run("remote", "init", url)
        assert refused.code == 1
        assert "cannot use this remote" in refused.notes
        assert "xyzzy" not in refused.notes
    assert run("remote", "init").code == 1


def test_a_password_is_libpqs_and_is_told_to_nobody(fresh: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh.admit("secretive", ok("remote", "init", fresh.url(OWNER), "--scope", WIDGET).text)
    home = member(fresh, "secretive")
    home.say(FRIDAY)
    assert home.run("remote", "sync", "team").code == 1
    monkeypatch.setenv("PGPASSWORD", "wrong-xyzzy")
    refused = home.run("remote", "sync", "team")
    assert "password authentication failed" in refused.notes
    monkeypatch.delenv("PGPASSWORD")
    Path("pass").write_text("*:*:*:secretive:xyzzy\n")
    os.chmod("pass", 0o600)
    monkeypatch.setenv("PGPASSFILE", os.path.abspath("pass"))
    assert home.sync()["sent"] == 1
    told = refused.notes + home.ok("remote", "status", "--json").text + home.ok("remote", "list").text
    assert "xyzzy" not in told
    assert all(b"xyzzy" not in path.read_bytes() for path in Path(home.db).parent.iterdir())


@given(st.lists(st.sampled_from(
    ["postgresql://", "postgres://", "anna", ":", "@", "host", "/", "memory", "?", "&", "=", "password", "pass%77ord",
     "sslpassword", "host=h", "sslmode=require", "%3A", "#", ",", ";", " ", "[::1]", "5432", "options=-cx",
     "hostaddr=::1", "passfile=x", "xyzzy"]),
    max_size=12))  # fmt: skip
@example(["?", "host=h", "hostaddr=::1", "@"])
@example(["anna", "#", ":", "xyzzy", "@", "host"])
@examples(300)
def test_no_url_with_a_password_is_kept(words: list[str]) -> None:
    try:
        url = places.resolve("postgresql://" + "".join(words), os.path.abspath)
    except RemoteInvalid:
        return
    try:
        found = psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.Error:
        return
    assert not {"password", "sslpassword", "options", "hostaddr", "passfile"} & found.keys()


@pytest.mark.parametrize("word", ["pw", "p@w", "p/w:x", "%"])
def test_a_password_in_a_url_is_refused(word: str) -> None:
    home = Home("anna")
    for url in (f"postgresql://anna:{quote(word, safe='')}@host/memory", f"postgresql://h/m?password={quote(word)}"):
        refused = home.run("remote", "add", "team", url)
        assert refused.code == 1
        assert "~/.pgpass" in refused.notes


def test_without_the_package_it_says_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    home = Home("anna").join(url="postgresql://host/memory")
    for argv in (("sync",), ("verify", "team"), ("init", "postgresql://host/memory")):
        refused = home.run("remote", *argv)
        assert refused.code == 1
        assert "memctl[postgres]" in refused.notes


# --- when something goes wrong ---------------------------------------------------------------------------------------


class _Dead(psycopg.OperationalError, OSError):  # type: ignore[misc]
    pass


#: Calls of an exchange that sends: before and after each.
CALLS = range(1, 15)


@pytest.mark.parametrize("at", CALLS[::2])
def test_a_database_that_fails_at_any_call_loses_nothing(
    team: Cluster, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    anna, bert = pair(team)
    anna.say("The first thing that anna says.")
    anna.sync()
    bert.say("The first thing that bert says.")

    def dies() -> None:
        raise _Dead("the line is dead")

    with monkeypatch.context() as patch:
        _watch(patch, at, dies)
        failed = bert.run("remote", "sync", "team")
        assert failed.code == 1
        assert "the line is dead" in failed.notes
    _agree(team, anna, bert)


@pytest.mark.parametrize("at", CALLS[1::3])
def test_an_exchange_that_is_killed_at_any_call_goes_on(team: Cluster, at: int) -> None:
    anna, bert = pair(team)
    anna.say("The first thing that anna says.")
    anna.sync()
    bert.say("The first thing that bert says.")
    pid = os.fork()
    if pid == 0:
        _watch(pytest.MonkeyPatch(), at, lambda: os._exit(KILLED))
        try:
            os._exit(bert.run("remote", "sync", "team").code)
        finally:
            os._exit(99)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == KILLED
    _agree(team, anna, bert)


def _watch(patch: pytest.MonkeyPatch, at: int, then: Callable[[], None]) -> None:
    """Let something happen at a call of psycopg's, counted before and after each."""
    left = at

    def count() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            then()

    def wrapped(call: Any) -> Any:
        def watched(*given_: Any, **how: Any) -> Any:
            count()
            done = call(*given_, **how)
            count()
            return done

        return watched

    for name in ("execute", "executemany"):
        patch.setattr(psycopg.Cursor, name, wrapped(getattr(psycopg.Cursor, name)))
    patch.setattr(postgres.PostgresCarrier, "publish", wrapped(postgres.PostgresCarrier.publish))


def _agree(team: Cluster, anna: Home, bert: Home) -> None:
    assert not bert.sync().get("became")
    anna.sync()
    assert len(anna.texts()) == len(bert.texts()) == 2
    assert numbers(team, bert) == [(1, 1)]
    assert anna.json("remote", "verify", "team")["status"] == "ok"


@pytest.mark.parametrize("harm", ["damaged", "half", "empty", "gone", "rolled back", "lost", "swapped"])
def test_a_database_that_lies_and_forgets_damages_no_store(team: Cluster, harm: str) -> None:
    """Its administrator, or a backup that was put back, may do what no member may."""
    anna, bert = pair(team)
    for number in range(3):
        anna.say(f"Fact number {number} is about topic {number}.")
        anna.sync()
    bert.sync()
    anna.say("Said later.")
    anna.sync()
    hers = replica_of(anna)
    kept = team.ask("SELECT scope, replica, first, last, hash, body FROM memctl.segments")
    harms = {
        "damaged": "UPDATE memctl.segments SET body = set_byte(body, 9, 0) WHERE last = 4",
        "half": "UPDATE memctl.segments SET body = substr(body, 1, 40) WHERE last = 4",
        "empty": "UPDATE memctl.segments SET body = '' WHERE last = 4",
        "gone": "DELETE FROM memctl.segments WHERE last = 3",
        "rolled back": "DELETE FROM memctl.segments WHERE last > 2",
        "lost": "DELETE FROM memctl.segments",
        "swapped": "UPDATE memctl.segments SET hash = repeat('0', 64) WHERE last = 3",
    }
    team.ask(harms[harm])
    row = bert.sync()
    assert (len(row["problems"]) == 1) == (harm != "lost")
    assert len(bert.texts()) >= 3
    if harm in ("rolled back", "lost"):
        exchange(anna, bert)  # its author says it once more
    else:
        team.ask("DELETE FROM memctl.segments WHERE replica = %s", hers)
        for one in kept:
            team.ask("INSERT INTO memctl.segments(scope, replica, first, last, hash, body) "
                     "VALUES (%s, %s, %s, %s, %s, %s)", *one)  # fmt: skip
    assert bert.sync()["problems"] == {}
    exchange(anna, bert)
    assert bert.texts() == anna.texts()
    assert len(bert.texts()) == 4


def test_a_restored_backup_is_a_copy_and_harmless(team: Cluster) -> None:
    anna, bert = pair(team)
    anna.say(FRIDAY)
    exchange(anna, bert)
    anna.ok("backup", "backup.db")
    anna.say("Said after the backup.")
    exchange(anna, bert)
    twin = Home("twin")
    shutil.copy("backup.db", twin.db)
    twin.say("Said by the copy.")
    assert twin.sync()["became"]
    exchange(anna, bert, twin)
    assert anna.texts() == bert.texts() == twin.texts()
    assert len(anna.texts()) == 3


def test_two_copies_at_once_do_not_overwrite_each_other(team: Cluster) -> None:
    carriers = [postgres.PostgresCarrier(team.url("anna")) for _ in range(2)]
    made = [next(segments.pack(WIDGET, "a" * 12, "anna", 0, "", [("a" * 32, {"gone": {}})])),
            next(segments.pack(WIDGET, "a" * 12, "twin", 0, "", [("b" * 32, {"gone": {}})]))]  # fmt: skip
    carriers[0].publish([(SegmentPlace(WIDGET, "a" * 12, made[0][0]), made[0][1])])
    carriers[0].publish([(SegmentPlace(WIDGET, "a" * 12, made[0][0]), made[0][1])])  # what is there stays
    with pytest.raises(OSError, match="another copy"):
        carriers[1].publish([(SegmentPlace(WIDGET, "a" * 12, made[1][0]), made[1][1])])
    assert team.ask("SELECT hash FROM memctl.segments") == [(made[0][0].hash,)]


def test_two_processes_on_one_store_are_one_machine(team: Cluster) -> None:
    anna, bert = pair(team)
    for number in range(5):
        anna.say(f"Fact number {number} is about topic {number}.")
    line = [sys.executable, "-m", "memctl", "remote", "sync"]
    started = [subprocess.Popen(line, env=os.environ | anna.env, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
               for _ in range(3)]  # fmt: skip
    assert [one.wait(PATIENCE) for one in started] == [0, 0, 0]
    exchange(anna, bert)
    assert len(bert.texts()) == 5
    assert team.ask("SELECT count(DISTINCT replica) FROM memctl.segments") == [(1,)]


# --- how long it takes -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_thousand_records_behind_among_a_million_are_read_at_once(
    team: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """200 logs of 5000 records each that were read, and five more each; bodies are as large as real ones.

    What it costs are calls, and pages that the server looks at: those of the bodies that were read are 24 000.
    """
    anna = member(team, "anna")
    read = fill(team, WIDGET)
    known = {(WIDGET, replica): KnownLog(WIDGET, replica, 5) for replica, _ in read}
    execute, calls = psycopg.Connection.execute, []

    def counted(conn: Any, query: Any, *args: Any, **how: Any) -> Any:
        calls.append((query, args))
        return execute(conn, query, *args, **how)

    with monkeypatch.context() as patch:
        patch.setattr(psycopg.Connection, "execute", counted)
        carrier = postgres.PostgresCarrier(team.url("anna"))
        found = carrier.listing([WIDGET], known)
        bodies = [carrier.read(SegmentPlace(*log, name)) for log, names in found.items() for name in names if
                  name.last == 6]  # fmt: skip
    assert sum(len(segments.records_of(body)) for body in bodies) == 1000
    assert len(calls) <= 3, [query for query, _ in calls]
    for query, args in calls[1:]:
        ((plan,),) = team.ask(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {query}", *args[0])
        top = plan[0]["Plan"]
        assert top["Shared Hit Blocks"] + top["Shared Read Blocks"] < 2000, query
    for replica, digest in read:
        anna.change("INSERT INTO memctl_remote_logs(remote, scope, replica, last, hash) VALUES ('team', ?, ?, 5, ?)",
                    WIDGET, replica, digest)  # fmt: skip
    assert anna.sync()["new"] == 1000
