"""A PostgreSQL database that a team has anyway: the database itself says who reads which scope, and who writes as whom.

Roles are the database's own. Row-level security shows a role the scopes that it was granted, and lets it write nothing
but new segments of replicas that are its own. Passwords are libpq's to know: PGPASSFILE, PGPASSWORD, service files.
"""

import os
import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager

from memctl import ids
from memctl.annotations import TYPE_CHECKING, Any
from memctl.remote.carrier import LostRace, ReadAhead, SegmentPlace
from memctl.remote.errors import CarrierMissing
from memctl.remote.segments import SegmentName, is_replica, parse_name

if TYPE_CHECKING:
    from psycopg import Connection, Error

    from memctl.store.remotes import KnownLog

#: What the database has for us. Whoever made it is its administrator; members get what `GRANTS` says.
SCHEMA = """
CREATE SCHEMA memctl;

-- Who reads which scope, and who writes in it; a role stands for its members, too.
CREATE TABLE memctl.members (
    role   name NOT NULL,
    scope  text NOT NULL,
    writes boolean NOT NULL DEFAULT false,
    PRIMARY KEY (role, scope)
);
-- Whose word each log is.
CREATE TABLE memctl.replicas (
    replica text PRIMARY KEY CHECK (replica ~ '^[0-9a-f]{12}$'),
    role    name NOT NULL DEFAULT session_user
);
-- The logs. Nobody changes a segment, and only memctl.compact deletes one.
CREATE TABLE memctl.segments (
    scope   text NOT NULL,
    replica text NOT NULL REFERENCES memctl.replicas,
    first   integer NOT NULL,
    last    integer NOT NULL,
    hash    text NOT NULL CHECK (hash ~ '^[0-9a-f]{64}$'),
    body    bytea NOT NULL CHECK (octet_length(body) <= 4194304),
    PRIMARY KEY (scope, replica, last),
    CHECK (first BETWEEN 1 AND last AND last <= 99999999)
);
ALTER TABLE memctl.segments ALTER COLUMN body SET STORAGE EXTERNAL;

CREATE FUNCTION memctl.granted(writing boolean) RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT m.scope FROM memctl.members m JOIN pg_roles r ON r.rolname = m.role
    WHERE pg_has_role(session_user, r.oid, 'MEMBER') AND (m.writes OR NOT writing)
$$;

ALTER TABLE memctl.members ENABLE ROW LEVEL SECURITY;
ALTER TABLE memctl.replicas ENABLE ROW LEVEL SECURITY;
ALTER TABLE memctl.segments ENABLE ROW LEVEL SECURITY;
ALTER TABLE memctl.segments FORCE ROW LEVEL SECURITY;
CREATE POLICY known ON memctl.replicas FOR SELECT USING (EXISTS (SELECT memctl.granted(false)));
CREATE POLICY own ON memctl.replicas FOR INSERT
    WITH CHECK (role = session_user AND EXISTS (SELECT memctl.granted(true)));
CREATE POLICY granted ON memctl.segments FOR SELECT USING (scope IN (SELECT memctl.granted(false)));
CREATE POLICY own ON memctl.segments FOR INSERT WITH CHECK (scope IN (SELECT memctl.granted(true))
    AND replica IN (SELECT r.replica FROM memctl.replicas r WHERE r.role = session_user));
CREATE POLICY compacted ON memctl.segments FOR DELETE TO CURRENT_USER USING (true);

-- Numbers have no holes: a segment follows the last one, or stands for the whole log. What is there already stays.
CREATE FUNCTION memctl.check_number() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    top integer := (SELECT max(s.last) FROM memctl.segments s WHERE s.scope = NEW.scope AND s.replica = NEW.replica);
BEGIN
    top := coalesce(top, 0);
    IF (NEW.first = NEW.last AND NEW.last = top + 1) OR (NEW.first = 1 AND NEW.last > top) THEN
        RETURN NEW;
    ELSIF EXISTS (SELECT FROM memctl.segments s WHERE (s.scope, s.replica, s.last, s.hash)
                  = (NEW.scope, NEW.replica, NEW.last, NEW.hash)) THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION 'segment % does not follow segment %', NEW.last, top USING ERRCODE = 'check_violation';
END
$$;
CREATE TRIGGER check_number BEFORE INSERT ON memctl.segments FOR EACH ROW EXECUTE FUNCTION memctl.check_number();

-- Of a log of the caller's: delete what a later segment stands for.
CREATE FUNCTION memctl.compact(of_scope text, of_replica text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    DELETE FROM memctl.segments s USING memctl.replicas r
    WHERE s.scope = of_scope AND s.replica = of_replica AND r.replica = of_replica AND r.role = session_user
      AND s.scope IN (SELECT memctl.granted(true))
      AND s.last < (SELECT max(c.last) FROM memctl.segments c
                    WHERE c.scope = of_scope AND c.replica = of_replica AND c.first < c.last)
$$;
"""

#: What the administrator runs for each member, in psql: `member` is the role.
GRANTS = """
GRANT USAGE ON SCHEMA memctl TO :"member";
GRANT SELECT ON memctl.replicas, memctl.segments TO :"member";
GRANT INSERT (replica) ON memctl.replicas TO :"member";
GRANT INSERT (scope, replica, first, last, hash, body) ON memctl.segments TO :"member";
"""
_ADMIT = (
    "INSERT INTO memctl.members(role, scope, writes) VALUES (:'member', '{}', {}) "
    "ON CONFLICT (role, scope) DO UPDATE SET writes = excluded.writes;"
)
_IS_THERE = "SELECT to_regclass('memctl.segments') IS NOT NULL"
#: For each log what is not known of it, and its last segment in any case.
_LIST = """
SELECT s.scope, s.replica, s.first, s.last, s.hash, octet_length(s.body)
FROM memctl.replicas r CROSS JOIN unnest(%s::text[]) AS w(scope)
LEFT JOIN unnest(%s::text[], %s::text[], %s::integer[]) AS k(scope, replica, have)
     ON k.scope = w.scope AND k.replica = r.replica
CROSS JOIN LATERAL (SELECT max(m.last) AS top FROM memctl.segments m
                    WHERE m.scope = w.scope AND m.replica = r.replica) AS t
JOIN memctl.segments s ON s.scope = w.scope AND s.replica = r.replica AND s.last >= least(coalesce(k.have, 0), t.top)
"""
_READ = """
SELECT scope, replica, s.first, last, hash, s.body
FROM memctl.segments s JOIN unnest(%s::text[], %s::text[], %s::integer[], %s::text[])
     AS w(scope, replica, last, hash) USING (scope, replica, last, hash)
"""
_ARE_THERE = """
SELECT count(*) FROM unnest(%s::text[], %s::text[], %s::integer[], %s::text[]) AS w(scope, replica, last, hash)
JOIN memctl.segments USING (scope, replica, last, hash)
"""
_REGISTER = "INSERT INTO memctl.replicas(replica) SELECT unnest(%s::text[]) ON CONFLICT DO NOTHING"
_INSERT = (
    "INSERT INTO memctl.segments(scope, replica, first, last, hash, body) VALUES (%s, %s, %s, %s, %s, %b) "
    "ON CONFLICT DO NOTHING"
)
#: Seconds that a connection and a call may take.
_CONNECT, _PATIENCE = 10, 60
_OTHER = "the segments there have other numbers: another copy of this store writes there"
#: What an error's code says in our words; the server's own words are a stranger's.
_CODES = {
    "42501": "this role may not do that there: it lacks a grant, or the replica is another role's",
    "3F000": "there are no tables of memctl in that database: memctl remote init URL makes them",
    "42P01": "there are no tables of memctl in that database: memctl remote init URL makes them",
    "23514": _OTHER,
    "57014": f"a call took more than {_PATIENCE} seconds",
    "53100": "its disk is full",
}


class PostgresCarrier(ReadAhead):
    """The logs in one database, which a URL names as libpq understands it."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.url = url
        self._open: Connection[Any] | None = None

    def listing(
        self, scopes: Collection[str], known: "Mapping[tuple[str, str], KnownLog] | None" = None
    ) -> dict[tuple[str, str], list[SegmentName]]:
        """The segments of each log that are not known: one call, after the connection."""
        have = [(*log, one.last) for log, one in (known or {}).items()]
        vector = [[*column] for column in zip(*have, strict=True)] or [[], [], []]
        with self._asked() as conn:
            rows = conn.execute(_LIST, [[*scopes], *vector]).fetchall()
        found: dict[SegmentPlace, int] = {}
        for scope, replica, first, last, digest, size in rows:
            name = parse_name(f"{first:08d}-{last:08d}-{digest}")
            if name is not None and scope in scopes and is_replica(replica):
                found[SegmentPlace(scope, replica, name)] = size
        return self.remember(found, known or {})

    def fetch(self, places: list[SegmentPlace]) -> dict[SegmentPlace, bytes]:
        """The bodies of segments, in one call."""
        with self._asked() as conn:
            rows = conn.execute(_READ, _columns(places), binary=True).fetchall()
        return {
            SegmentPlace(scope, replica, SegmentName(first, last, digest)): body
            for scope, replica, first, last, digest, body in rows
        }

    def publish(self, new: Iterable[tuple[SegmentPlace, bytes]], drop: Iterable[SegmentPlace] = ()) -> None:
        """Write segments, and let the database delete what a new one stands for: all in one transaction."""
        given = [*new]
        if not given:
            return
        places = [one for one, _ in given]
        rows = [(one.scope, one.replica, *one.name, body) for one, body in given]
        logs = sorted({(one.scope, one.replica) for one in drop})
        with self._asked() as conn, conn.transaction(), conn.cursor() as cursor:
            cursor.execute(_REGISTER, [sorted({one.replica for one in places})])
            cursor.executemany(_INSERT, rows)
            counted = cursor.execute(_ARE_THERE, _columns(places)).fetchone()
            if counted is None or counted[0] != len(places):
                raise LostRace(_OTHER)
            if logs:
                cursor.executemany("SELECT memctl.compact(%s, %s)", logs)
            cursor.execute("SELECT pg_notify('memctl', '')")

    def wait(self, seconds: float) -> None:
        """Until somebody has written, or about so long: a hint that anybody can give, so there is a pause after it."""
        try:
            with self._asked() as conn:
                conn.execute("LISTEN memctl")
                heard = any(True for _ in conn.notifies(timeout=seconds))
        except OSError:
            ids.pause(0.9 * seconds, 1.1 * seconds)
            heard = False
        if heard:
            ids.pause(1, 3)

    def create(self) -> bool:
        """Make the schema; whether it was not there."""
        with self._asked() as conn, conn.transaction():
            there = conn.execute(_IS_THERE).fetchone()
            if there is None or not there[0]:
                conn.execute(SCHEMA)
                return True
        return False

    @contextmanager
    def _asked(self) -> "Iterator[Connection[Any]]":
        """The connection, for one call. Raises OSError for what goes wrong there."""
        try:
            import psycopg
        except ImportError as exc:
            raise CarrierMissing(what="PostgreSQL", extra="postgres") from exc
        try:
            if self._open is None or self._open.closed:
                self._open = _connect(self.url)
                weakref.finalize(self, self._open.close)
            yield self._open
        except psycopg.Error as exc:
            raise (LostRace if exc.sqlstate == "23514" else OSError)(_told(exc)) from exc


def _connect(url: str) -> "Connection[Any]":
    import psycopg

    how: dict[str, Any] = {} if "connect_timeout" in url or os.environ.get("PGCONNECT_TIMEOUT") else {
        "connect_timeout": _CONNECT}  # fmt: skip
    conn = psycopg.connect(url, autocommit=True, prepare_threshold=None, client_encoding="utf8",
                           application_name="memctl", **how)  # fmt: skip
    try:
        conn.execute(f"SET statement_timeout = {_PATIENCE * 1000}")
    except BaseException:
        conn.close()
        raise
    return conn


def grants(scopes: Iterable[str], *, writes: bool) -> list[str]:
    """What psql reads for each member: rights on the tables, and a row for each scope."""
    rows = [_ADMIT.format(scope.replace("'", "''"), str(writes).lower()) for scope in scopes]
    return [*GRANTS.strip().splitlines(), *rows]


def _columns(places: Iterable[SegmentPlace]) -> list[list[Any]]:
    """Scopes, replicas, numbers and hashes of segments."""
    rows = [(one.scope, one.replica, one.name.last, one.name.hash) for one in places]
    return [[*column] for column in zip(*rows, strict=True)] or [[], [], [], []]


def _told(error: "Error") -> str:
    """What went wrong, on one line. Of a refused connection libpq tells why, and it knows to keep passwords out."""
    from memctl.text.clean import one_line

    return _CODES.get(error.sqlstate or "") or one_line(str(error).strip().rpartition("FATAL:")[2], 200)
