"""A PostgreSQL server of the tests' own, on a socket in a folder that is thrown away."""

import glob
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from memctl import ids
from memctl.remote import merge, segments
from support import PATIENCE

psycopg = pytest.importorskip("psycopg", reason="memctl[postgres] is not installed")

DATABASE, OWNER = "memory", "owner"
#: Who is let in by name alone, and who by a password.
_HBA = "local all secretive scram-sha-256\nlocal all all trust\n"


class Cluster:
    """The server, with a database that `remote init` has made ready; its members are those that `admit` names."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def url(self, role: str, database: str = DATABASE) -> str:
        return f"postgresql://{role}@/{database}?host={self.folder}"

    def ask(self, sql: Any, *values: Any, role: str = OWNER, database: str = DATABASE) -> list[tuple[Any, ...]]:
        """What the database says to a role. Raises psycopg.Error."""
        with psycopg.connect(self.url(role, database), autocommit=True) as conn:
            cursor = conn.execute(sql, values or None)
            return cursor.fetchall() if cursor.description else []

    def clear(self) -> None:
        """No logs; members stay."""
        self.ask("TRUNCATE memctl.segments, memctl.replicas")

    def renew(self, *roles: str) -> None:
        """An empty database, and roles without a right in it."""
        self.ask(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)", database="postgres")
        self.ask(f"CREATE DATABASE {DATABASE}", database="postgres")
        for role in roles:
            if not self.ask("SELECT 1 FROM pg_roles WHERE rolname = %s", role, database="postgres"):
                self.ask(f"CREATE ROLE {role} LOGIN PASSWORD 'xyzzy'", database="postgres")

    def admit(self, role: str, script: str) -> None:
        """What an administrator does with the script that `remote init` prints."""
        subprocess.run(
            [_program("psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1", "-v", f"member={role}", self.url(OWNER)],
            input=script, text=True, check=True, capture_output=True,
        )  # fmt: skip


def _program(name: str) -> str:
    found = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"))
    return found[-1] if found else shutil.which(name) or ""


@contextmanager
def cluster() -> Iterator[Cluster]:
    """A server that runs as long as this; the test is skipped where none is installed."""
    if not all(map(_program, ("initdb", "postgres", "psql"))):
        pytest.skip("no PostgreSQL server is installed")
    folder = tempfile.mkdtemp(prefix="memctl-pg-", dir="/tmp")  # short: a socket's path has at most 107 bytes
    as_root = os.geteuid() == 0  # the server refuses to be
    who: dict[str, Any] = {"user": "nobody", "group": "nogroup", "extra_groups": []} if as_root else {}
    if as_root:
        shutil.chown(folder, "nobody", "nogroup")
    data = os.path.join(folder, "data")
    setup = ["-A", "trust", "-U", OWNER, "--no-sync", "-E", "UTF8", "--locale=C"]
    server = None
    try:
        subprocess.run([_program("initdb"), "-D", data, *setup], check=True, capture_output=True, cwd=folder, **who)
        Path(data, "pg_hba.conf").write_text(_HBA)
        options = ["listen_addresses=", f"unix_socket_directories={folder}", "fsync=off", "logging_collector=off"]
        with open(os.path.join(folder, "log"), "wb") as log:
            server = subprocess.Popen(
                [_program("postgres"), "-D", data, *(f"-c{one}" for one in options)],
                cwd=folder, stdout=log, stderr=log, stdin=subprocess.DEVNULL, **who,
            )  # fmt: skip
        made = Cluster(folder)
        _await(made, server)
        yield made
    finally:
        if server is not None:
            server.send_signal(signal.SIGQUIT)  # at once: nothing of it is kept
            server.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _await(made: Cluster, server: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            made.ask("SELECT 1", database="postgres")
        except psycopg.OperationalError:
            assert server.poll() is None, Path(made.folder, "log").read_text()
            time.sleep(0.05)
        else:
            return
    raise AssertionError("the server did not start")


# --- a large one -----------------------------------------------------------------------------------------------------


def fill(team: Cluster, scope: str) -> list[tuple[str, str]]:
    """200 logs of 5000 records each, as large as real ones, and five more in each: replica, and hash before these."""
    read, news = [], []
    for number in range(200):
        replica, digest = f"{number:012x}", ids.bytes_hash(str(number).encode())
        read.append((replica, digest))
        made = [_said(scope, f"Fact {number}.{n} is about topic {n} of {number}.", replica, 5 * number + n)
                for n in range(5)]  # fmt: skip
        news += [(replica, *one) for one in segments.pack(scope, replica, f"m{number}", 5, digest, made)]
    with psycopg.connect(team.url(OWNER)) as conn, conn.cursor() as cursor:
        cursor.execute("ALTER TABLE memctl.segments DISABLE TRIGGER check_number")
        cursor.executemany("INSERT INTO memctl.replicas VALUES (%s, 'bert')", [(replica,) for replica, _ in read])
        with cursor.copy("COPY memctl.segments FROM STDIN") as copy:
            for replica, digest in read:
                for last in range(1, 6):
                    copy.write_row((scope, replica, last, last, digest, os.urandom(186_000)))
            for replica, name, body in news:
                copy.write_row((scope, replica, *name, body))
        cursor.execute("ALTER TABLE memctl.segments ENABLE TRIGGER check_number")
    team.ask("VACUUM ANALYZE memctl.segments")
    return read


def _said(scope: str, content: str, replica: str, number: int) -> tuple[str, merge.State]:
    """A record of a replica's."""
    fields: dict[str, Any] = {
        "content": content, "title": "T", "type": "note", "tier": "ltm", "confidence": 1.0, "importance": 1.0,
        "validation": "unverified", "expires_at": None, "source": ["chat", "m", []], "tags": [], "entities": [],
        "links": [], "archived": False, "superseded_by": None, "made": "2026-01-01T00:00:00.000000+00:00",
    }  # fmt: skip
    stamp = merge.make_stamp(1_700_000_000_000_000, replica)
    return merge.key_of(scope, content, 0), merge.birth(f"MEM-{number:012x}", fields, (), stamp)
