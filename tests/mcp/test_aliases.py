"""The tools of rekal and mem-context by their own names: answered, never listed, and nothing is deleted for good."""

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from clients import said, talk_stdio
from memctl import MemoryStore
from memctl.mcp.tool_schema import ALIASES
from support import ok

DB = "memory.db"
#: Tools of ours that are called by arguments of others.
OURS = {
    "memory_update", "memory_supersede", "memory_build_context", "memory_search", "memory_link", "memory_related",
    "memory_similar", "memory_palace_list",
}  # fmt: skip


def call(name: str, /, *, options: tuple[str, ...] = (), **arguments: Any) -> dict[str, Any]:
    """The structured answer of a server of its own to one call."""

    async def scenario(client: Any) -> dict[str, Any]:
        listed = {tool.name for tool in (await client.list_tools()).tools}
        assert name not in listed or name in OURS
        return dict(said(await client.call_tool(name, arguments))["structuredContent"])

    return dict(talk_stdio("--db", DB, *options, scenario=scenario))


def remember(*words: str, **how: Any) -> str:
    return ok("remember", *words, "--db", DB).text.strip()


def item(item_id: str) -> Any:
    with MemoryStore(DB) as store:
        return store.read_item(item_id)


def make_old(item_id: str, days: int) -> None:
    with MemoryStore(DB) as store:
        made = (datetime.now(timezone.utc) - timedelta(days=days)).isoformat()
        store._conn.execute("UPDATE memory_items SET created_at = ? WHERE id = ?", (made, item_id))
        store._conn.commit()


@pytest.mark.parametrize(
    ("name", "key", "more"), [("memory_delete", "memory_id", {}), ("delete_memory", "id", {"permanent": True})]
)
def test_deleting_is_archiving_and_the_answer_says_so(name: str, key: str, more: dict[str, Any]) -> None:
    made = remember("The gateway retries twice.")
    answer = call(name, **(more | {key: made}))
    assert answer["ids"] == [made]
    assert "archived, not deleted" in answer["warnings"][0]
    assert item(made).archived


@pytest.mark.parametrize("name", ["forget", "delete_memory"])
def test_what_is_to_be_forgotten_softly_needs_no_remark(name: str) -> None:
    made = remember("The gateway retries twice.")
    answer = call(name, id=made)
    assert answer["ids"] == [made]
    assert "warnings" not in answer


def test_fields_of_an_update_stand_within_an_object() -> None:
    made = remember("The gateway retries twice.")
    fields = {"content": "The gateway retries three times.", "summary": "Retries", "type": "permanent", "weight": 0.9}
    answer = call("update", id=made, fields=fields)
    assert sorted(answer["changed"]) == ["content", "importance", "tier", "title"]
    now = item(made)
    assert (now.content, now.title, now.tier) == ("The gateway retries three times.", "Retries", "ltm")


def test_our_tools_take_the_words_of_rekal() -> None:
    made = remember("The gateway retries twice.")
    assert call("memory_update", memory_id=made, memory_type="fact")["changed"] == ["type"]
    answer = call(
        "memory_supersede", old_id=made, new_content="The gateway retries four times.", memory_type="decision"
    )
    assert answer["old_id"] == made
    assert item(answer["id"]).type == "decision"


def test_a_purge_archives_what_is_old_of_one_scope_and_leaves_what_a_person_vouches_for() -> None:
    old, new = remember("The cache holds an hour."), remember("The queue holds ten jobs.")
    vouched, elsewhere = remember("The disk is encrypted."), remember("Deploys are on Mondays.", "--scope", "global")
    ok("verify", vouched, "--db", DB)
    for one in (old, vouched, elsewhere):
        make_old(one, 40)
    assert call("purge_memories", older_than_days=30, dry_run=True)["ids"] == [old]
    assert not item(old).archived
    answer = call("purge_memories", older_than_days=30, type="episodic")
    assert answer["ids"] == [old]
    assert answer["unchanged"] == [{"id": vouched, "why": "a person verified it"}]
    assert [item(one).archived for one in (old, new, vouched, elsewhere)] == [True, False, False, False]
    ok("undo", answer["run"], "--db", DB)
    assert not item(old).archived


def test_a_purge_without_a_filter_does_nothing() -> None:
    made = remember("The gateway retries twice.")
    answer = call("purge_memories")
    assert (answer["status"], item(made).archived) == ("error", False)


def test_candidates_and_health_are_answered() -> None:
    remember("The gateway retries twice.")
    found = call("consolidation_candidates")
    assert {"to_extract", "to_merge", "to_archive", "to_decay", "prompt"} <= set(found)
    assert call("memory_health")["total_items"] == 1
    built = call(
        "memory_build_context", query="gateway", project="project", limit=5, w_fts=0.4, half_life=30, w_recency=0
    )
    assert len(built["memories"]) == 1 and built["conflicts"] == [] and "1 memories" in built["timeline_summary"]


def test_review_lists_what_contradicts_each_other() -> None:
    remember("The port of the gateway is 8080.")
    remember("The port of the gateway is 9090.")
    found = call("review")
    assert [one["why"] for one in found["conflicts"]] == ["another number"]
    assert "memctl review" in " ".join(found["warnings"])


def test_each_alias_names_a_tool_and_arguments_that_it_takes() -> None:
    from memctl.mcp.tool_schema import tools

    known = {tool.name: tool for tool in tools("full")}
    for alias in ALIASES.values():
        ours = {one for one in [*alias.names.values(), *alias.fixed, *alias.worded, *alias.values] if one}
        assert not known[alias.tool].unknown(dict.fromkeys(ours))


def test_conversations_are_sessions() -> None:
    first = call("conversation_start", title="Plan", project="project")["session_id"]
    second = call("conversation_start", title="Review", project="project", follows_up_on=first)["session_id"]
    remember("The gateway retries twice.", "--session", second)
    assert call("conversation_tree", id=first)["total"] == 2
    found = call("conversation_tree", conversation_id=first)
    assert [(one["src_id"], one["relation"], one["dst_id"]) for one in found["links"]] == [
        (second, "follows_up_on", first)
    ]
    recent = call("conversation_threads", project="project", limit=1)
    assert [(one["session_id"], one["memory_count"]) for one in recent["sessions"]] == [(second, 1)]
    assert call("conversation_stale")["sessions"] == []
    assert [one["days_inactive"] for one in call("conversation_stale", days=0)["sessions"]] == [0, 0]
    assert call("conversation_start", branches_from="nothing")["status"] == "error"


def test_our_tools_take_the_ids_that_rekal_gives() -> None:
    a, b = remember("The gateway retries twice."), remember("The gateway retries failed calls.")
    assert call("memory_link", from_id=a, to_id=b, relation="refines")["dst_id"] == b
    assert call("memory_related", memory_id=a)["related"][0]["id"] == b
    assert [one["id"] for one in call("memory_similar", memory_id=a)["items"]] == [b]
    assert call("memory_search", query="gateway", project="project", memory_type="decision")["count"] == 0
    assert call("memory_search", query="gateway", project="project", memory_type="note")["count"] == 2


def test_what_rekal_stores_has_a_type_a_scope_and_a_session_here() -> None:
    session = call("conversation_start", title="Plan", project="billing")["session_id"]
    first = call("memory_store", content="The gateway retries twice.")
    assert (item(first["id"]).type, item(first["id"]).scope) == ("fact", "project")
    assert item(first["id"]).title == "The gateway retries twice."
    second = call(
        "memory_store", content="Answers come as JSON.", memory_type="preference", project="billing", tags=["api"],
        conversation_id=session,
    )  # fmt: skip
    made = item(second["id"])
    assert (made.type, made.scope, made.tags) == ("constraint", "billing", ["api"])
    assert call("conversation_threads", project="billing")["sessions"][0]["memory_count"] == 1
    third = call("memory_store", content="The gateway retries five times.", replaces=first["id"])
    assert item(first["id"]).superseded_by == third["id"]
    assert call("memory_update", memory_id=third["id"], memory_type="procedure")["changed"] == ["type"]
    assert call("memory_search", query="gateway", memory_type="procedure")["count"] == 1


def test_weights_that_cannot_be_honoured_are_named() -> None:
    remember("The gateway retries twice.")
    found = call("memory_search", query="gateway", w_fts=0.9, w_vec=0.1)
    assert found["warnings"] == ["not used here: w_fts, w_vec"]
    built = call("memory_build_context", query="gateway", weights={"w_vec": 1.0, "w_recency": 0.5})
    assert built["warnings"] == ["not used here: w_vec"]
    assert "warnings" not in call("memory_build_context", query="gateway", weights={"w_recency": 0.5, "half_life": 9})


def test_a_place_among_the_items_is_no_folder(tmp_path: Path) -> None:
    """Also where a folder of its name is, and where the server may read none."""
    made = remember("The gateway retries twice.", "--tags", "deploy")
    Path("default/deploy").mkdir(parents=True)
    for options in ((), ("--allow-root", str(tmp_path))):
        found = call("memory_palace_list", path="default/deploy", options=options)
        assert [one["item_id"] for one in found["locations"]] == [made]
        assert call("memory_palace_list", path="../..", options=options)["locations"] == []


def test_what_hangs_together_is_told_to_models() -> None:
    a, b = remember("The gateway of `src/gate.py` retries twice."), remember("Clients wait a second.")
    call("memory_link", src_id=b, dst_id=a, relation="depends_on")
    graph = call("memory_graph", around=a, kind="depends_on")
    assert [(one["src"], one["kind"], one["dst"]) for one in graph["edges"]] == [(b, "depends_on", a)]
    (named,) = call("memory_entities", name="gate.py")["entities"]
    assert (named["kind"], [one["id"] for one in named["items"]]) == ("path", [a])
