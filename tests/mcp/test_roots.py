"""A server that was started in the home folder asks its client where it works."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import clients
import wire
from memctl.context import personal_store
from memctl.context.project import project_of
from memctl.mcp.protocol import ROOTS_ID
from support import ok, run, spawn

FACT = "We deploy on Fridays."
ABLE: dict[str, Any] = wire.HELLO | {"capabilities": {"roots": {"listChanged": True}}}
CALL: dict[str, Any] = {
    "method": "tools/call",
    "params": {"name": "memory_propose", "arguments": {"items": [{"content": FACT, "why_store": "a rule"}]}},
}


@pytest.fixture(autouse=True)
def personal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The personal store, and a server that is started in the home folder."""
    ok("init", "--personal")
    monkeypatch.chdir(Path.home())


def folder(path: Path) -> str:
    path.mkdir(parents=True)
    return project_of(str(path)).scope


def roots(*uris: Any) -> dict[str, Any]:
    return {"id": ROOTS_ID, "result": {"roots": [{"uri": uri} for uri in uris]}}


def conversation(*messages: dict[str, Any], hello: dict[str, Any] = ABLE) -> list[dict[str, Any]]:
    """What a server says to these messages, after the greeting."""
    greeting: dict[str, Any] = {"id": 1, "method": "initialize", "params": hello}
    first = greeting, {"method": "notifications/initialized"}
    lines = [json.dumps({"jsonrpc": "2.0", **one}).encode() + b"\n" for one in (*first, *messages)]
    return [json.loads(line) for line in spawn("serve", stdin=b"".join(lines)).out.splitlines()]


def scopes() -> set[str]:
    """The scopes that have items in the personal store."""
    with closing(sqlite3.connect(personal_store())) as db:
        return {scope for (scope,) in db.execute("SELECT DISTINCT scope FROM memory_items")}


@pytest.mark.parametrize("late", [False, True], ids=["answer first", "call first"])
def test_what_is_stored_is_filed_under_the_project_of_the_root(tmp_path: Path, late: bool) -> None:
    name = folder(tmp_path / "my widget")
    answer = roots("file:///nowhere", (tmp_path / "my widget").as_uri(), tmp_path.as_uri())
    said = conversation(*([{"id": 2, **CALL}, answer] if late else [answer, {"id": 2, **CALL}]))
    assert [one["method"] for one in said if "method" in one] == ["roots/list"]
    assert "this project's and global" in next(one for one in said if one["id"] == 1)["result"]["instructions"]
    assert scopes() == {name}


@pytest.mark.parametrize(
    "answer",
    [
        roots(), roots("https://x/y"), roots("file:///%00"), roots("file://elsewhere/tmp"), roots("file:tmp"), roots(5),
        roots("file://[x"), {"id": ROOTS_ID, "error": {"code": -1, "message": "no"}}, {"id": ROOTS_ID, "result": []},
        {"id": "another", "result": {"roots": [{"uri": "file:///"}]}},
    ],
)  # fmt: skip
def test_an_answer_that_names_no_folder_changes_nothing(answer: dict[str, Any]) -> None:
    said = conversation(answer, {"id": 2, **CALL})
    assert next(one for one in said if one["id"] == 2)["result"]["isError"] is False
    assert scopes() == {project_of(str(Path.home())).scope}


def test_a_client_that_never_answers_is_not_waited_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    said = conversation({"id": 2, **CALL}, {"id": 3, **CALL})
    assert {one["id"] for one in said} == {1, 2, 3, ROOTS_ID}


def test_roots_that_change_are_asked_for_again(tmp_path: Path) -> None:
    names = {folder(tmp_path / one) for one in ("a", "b")}
    changed = {"method": "notifications/roots/list_changed"}
    uris = [(tmp_path / one).as_uri() for one in ("a", "b")]
    first = conversation(roots(uris[0]), {"id": 2, **CALL})
    second = conversation(roots(uris[0]), changed, roots(uris[1]), {"id": 2, **CALL})
    assert [sum("method" in one for one in said) for said in (first, second)] == [1, 2]
    assert scopes() == names


def test_a_store_of_the_project_of_the_root_is_used(tmp_path: Path) -> None:
    ok("init", tmp_path / "p" / ".memory")
    conversation({"id": 2, **CALL}, roots((tmp_path / "p").as_uri()))
    assert scopes() == set()
    assert ok("list", "--db", tmp_path / "p" / ".memory" / "memory.db", "--json").json()[0]["title"]


@pytest.mark.parametrize("words", [("--db", "own.db"), ("--secure",)])
def test_a_server_whose_store_was_named_does_not_ask(words: tuple[str, ...]) -> None:
    greeting: dict[str, Any] = {"id": 1, "method": "initialize", "params": ABLE}
    lines = [greeting, {"method": "notifications/initialized"}]
    data = b"".join(json.dumps({"jsonrpc": "2.0", **one}).encode() + b"\n" for one in lines)
    assert b"roots/list" not in spawn("serve", *words, stdin=data).out


def test_a_client_without_roots_or_a_server_in_a_project_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not any("method" in one for one in conversation(hello=wire.HELLO))
    folder(tmp_path / "p")
    monkeypatch.chdir(tmp_path / "p")
    assert not any("method" in one for one in conversation())


def test_the_sdk_answers(tmp_path: Path) -> None:
    name = folder(tmp_path / "p")
    from mcp.types import ListRootsResult

    async def listed(_context: Any) -> Any:
        return ListRootsResult.model_validate({"roots": [{"uri": (tmp_path / "p").as_uri()}]})

    async def scenario(client: Any) -> Any:
        return await client.call_tool(CALL["params"]["name"], CALL["params"]["arguments"])

    clients.talk_stdio(scenario=scenario, roots=listed)
    assert scopes() == {name}
    assert run("scope", "list").code == 0
