"""Each call that writes is a run of its client, and memory_diff says what a model may know."""

import json

from memctl import MemoryStore
from support import ok
from wire import CoreClient, built


def propose(client: CoreClient, text: str) -> None:
    line = [{"type": "decision", "title": text[:20], "content": text, "why_store": "a test"}]
    assert not client.call("memory_propose", items=json.dumps(line))["isError"]


def test_each_call_is_a_run_of_its_client() -> None:
    client = CoreClient(built("--db", "memory.db", "--toolset", "full").core)
    client.hello()
    propose(client, "We deploy on Fridays.")
    propose(client, "We never deploy on Mondays.")
    client.call("memory_search", query="deploy")
    runs = ok("log", "--json", "--db", "memory.db").json()["runs"]
    assert [(run["command"], run["actor"], run["name"]) for run in runs] == [("propose", "tool", "test")] * 2
    ok("undo", "--db", "memory.db")
    assert [one["title"] for one in ok("list", "--json", "--db", "memory.db").json()] == ["We deploy on Fridays."[:20]]


def test_what_policy_holds_back_is_not_told_by_a_difference() -> None:
    item = ok("remember", "We deploy on Fridays.", "--db", "memory.db").text.strip()
    client = CoreClient(built("--db", "memory.db", "--toolset", "full").core)
    client.hello()
    ok("edit", item, "--content", "We deploy on Sundays.", "--db", "memory.db")
    assert "Sundays" in json.dumps(client.call("memory_diff", id1=item))
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    with MemoryStore("memory.db") as store:  # an older memctl let it in
        store.update_item(item, {"content": f"The token is {token}."})
        store.update_item(item, {"content": "The token is in the vault."})
    assert token not in json.dumps(client.call("memory_diff", id1=item))
    with MemoryStore("memory.db") as store:
        store.update_item(item, {"injectable": False})
    assert "vault" not in json.dumps(client.call("memory_diff", id1=item))
