"""Machines with a store each that share a folder: what tests of `memctl remote` do on them."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from memctl.context import open_context
from memctl.operation import READ
from memctl.store import remotes
from support import Result, ok, run

SHARED = "shared"


class Home:
    """A store of one user, on a machine of its own."""

    def __init__(self, name: str) -> None:
        self.name = name
        Path(name).mkdir(exist_ok=True)
        self.db = str(Path(name, "memory.db").resolve())

    @property
    def env(self) -> dict[str, str]:
        return {"MEMCTL_DB": self.db, "USER": self.name, "LOGNAME": self.name}

    def ok(self, *argv: str, **how: Any) -> Result:
        return ok(*argv, env=self.env, **how)

    def run(self, *argv: str, **how: Any) -> Result:
        return run(*argv, env=self.env, **how)

    def json(self, *argv: str) -> Any:
        return self.ok(*argv, "--json").json()

    def join(self, *more: str, url: str = SHARED) -> "Home":
        self.ok("remote", "add", "team", url, *more)
        return self

    def sync(self, *more: str) -> Any:
        (row,) = self.json("remote", "sync", *more)["remotes"]
        return row

    def say(self, text: str, *more: str) -> str:
        return self.ok("remember", text, *more).text.strip()

    def texts(self) -> list[str]:
        """What is active here."""
        return sorted(one["content"] for one in self.items() if not one["archived"])

    def items(self) -> list[dict[str, Any]]:
        lines = self.ok("export", "--include-archived").text.splitlines()
        return [json.loads(line) for line in lines]

    def item(self, start: str) -> dict[str, Any]:
        """The item whose text begins so."""
        (found,) = (one for one in self.items() if one["content"].startswith(start))
        return found

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.db)) as conn:
            return conn.execute(sql, values).fetchall()

    def known(self) -> list[remotes.KnownKey]:
        """What is known here of each statement at the remote."""
        with open_context(db=self.db) as ctx:
            ctx.allow(READ)
            return remotes.all_keys(ctx.db, "team")

    def change(self, sql: str, *values: object) -> None:
        with closing(sqlite3.connect(self.db)) as conn, conn:
            conn.execute(sql, values)


def homes(*names: str, trust: str = "high") -> list[Home]:
    """Stores that share all they say."""
    Path(SHARED).mkdir(exist_ok=True)
    made = [Home(name) for name in names]
    for one in made:
        one.join("--trust", trust)
    return made


def exchange(*given: Home, rounds: int = 2) -> None:
    """Until all know all."""
    for _ in range(rounds):
        for one in given:
            one.sync()
