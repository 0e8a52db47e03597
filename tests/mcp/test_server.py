"""The server in this process, driven by the SDK's own client."""

import json
from pathlib import Path
from typing import Any

import pytest

from clients import said, talk, text_of
from memctl import MemoryStore
from memctl.mcp import tool_schema
from memctl.mcp.server import build_parser, create_server
from support import ok

try:
    from mcp.server.mcpserver import MCPServer as SdkServer
except ImportError:  # the first generation
    from mcp.server.fastmcp import FastMCP as SdkServer  # type: ignore[attr-defined,no-redef]

#: A call of each tool that works on a store with one folder and a few items; {id} is one of these.
CALLS: dict[str, dict[str, Any]] = {
    "memory_recall": {"query": "how are tokens rotated?"},
    "memory_recall_best_effort": {"query": "please tell me about JWT"},
    "memory_search": {"query": "tokens", "k": 3},
    "memory_propose": {"items": [{"title": "Port", "content": "The gateway listens on 8443.", "why_store": "asked"}]},
    "memory_write": {"title": "Freeze", "content": "Deploys freeze on Fridays.", "tier": "mtm"},
    "memory_read": {"ids": ["{id}"]},
    "memory_mount": {"action": "list"},
    "memory_sync": {"path": "docs"},
    "memory_inspect": {"path": "docs"},
    "memory_import": {"items": '[{"content": "An imported fact."}]'},
    "memory_corpus_drift": {"old": "v1", "new": "v1"},
    "memory_session_start": {"title": "Plan", "session_id": "app:zero"},
    "memory_session_tree": {"session_id": "app:zero"},
    "memory_session_link": {"src_id": "app:before", "relation": "follows_up_on", "dst_id": "app:zero"},
    "memory_session_inject": {"query": "tokens?", "session_id": "app:one"},
    "memory_session_store": {"session_id": "app:one", "response_text": "Tokens are rotated every hour."},
    "memory_workspace_register": {"name": "auth", "scope": "project"},
    "memory_workspace_remove": {"name": "auth"},
    "memory_forget": {"id": ["{forgotten}"]},
    "memory_diff": {"id1": "{id}", "id2": "{replaced}"},
    "memory_link": {"src_id": "{id}", "dst_id": "{replaced}", "relation": "refines"},
    "memory_context": {"query": "tokens?"},
    "memory_build_context": {"query": "tokens?"},
    "memory_palace_get": {"item_id": "{id}"},
    "memory_related": {"id": "{id}"},
    "memory_similar": {"id": "{id}"},
    "memory_reset": {"dry_run": True},
    "memory_update": {"id": "{id}", "title": "Auth"},
    "memory_promote": {"id": "{id}", "tier": "ltm"},
    "memory_supersede": {"old_id": "{replaced}", "new_content": "The cache has 3 GB."},
    "memory_ask": {"path": "docs", "question": "How are tokens rotated?"},
    "memory_loop": {"query": "tokens?", "initial_context": "none"},
}


@pytest.fixture
def item() -> str:
    """The id of an item, beside a mounted folder."""
    Path("docs").mkdir()
    Path("docs/auth.md").write_text("# Auth\n\nTokens are rotated every hour.\n")
    ok("sync", "docs", "--db", "memory.db")
    return ok("remember", "-q", "We chose JWT for stateless auth.", "--db", "memory.db").text.strip()


def test_a_client_gets_the_published_tools(server: Any) -> None:
    async def scenario(client: Any) -> Any:
        return said(await client.list_tools())["tools"]

    found = {tool["name"]: tool for tool in talk(server, scenario)}
    for listed in tool_schema.catalog("full"):
        if listed.annotations["openWorldHint"]:  # without a model
            continue
        tool = found.pop(listed.name)
        assert tool["inputSchema"] == listed.schema
        assert tool.get("outputSchema") is None, "results are structured; a schema of each would cost tokens"
        said_of = listed.listing()
        assert (tool["title"], tool["description"]) == (said_of["title"], listed.description)
        assert {key: value for key, value in tool["annotations"].items() if value is not None} == said_of["annotations"]
    assert found == {}


def test_a_call_may_choose_among_the_commands_of_the_person() -> None:
    """The first runs by itself; another one runs when it is named; nothing else does."""
    for name in ("one", "two"):
        Path(f"{name}.sh").write_text(f"#!/bin/sh\ncat >/dev/null\necho I am {name}.\n")
        Path(f"{name}.sh").chmod(0o755)
    one, two = (str(Path(f"{name}.sh").resolve()) for name in ("one", "two"))
    words = ["--db", "memory.db", "--toolset", "full", "--no-rate-limit", "--audit-log", "audit.jsonl"]
    server, store = create_server(build_parser().parse_args([*words, "--llm", one, two]))

    async def scenario(client: Any) -> list[str]:
        asked = {"query": "who?", "initial_context": "nobody", "protocol": "passive"}
        extras: tuple[dict[str, str], ...] = (
            {},
            {"llm_cmd": one},
            {"llm_cmd": two},
            {"llm": two},
            {"llm_cmd": "touch pwned"},
        )
        return [text_of(await client.call_tool("memory_loop", asked | extra)) for extra in extras]

    *answers, refused = talk(server, scenario)
    store.close()
    assert [answer.split("\n")[0] for answer in answers] == ["I am one.", "I am one.", "I am two.", "I am two."]
    assert '"code":"refused"' in refused
    assert not Path("pwned").exists()


def test_every_tool_can_be_called(item: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("llm.sh").write_text("#!/bin/sh\ncat >/dev/null\necho Tokens are rotated every hour.\n")
    Path("llm.sh").chmod(0o755)
    words = ["--db", "memory.db", "--toolset", "full", "--no-rate-limit", "--audit-log", "audit.jsonl"]
    server, store = create_server(build_parser().parse_args([*words, "--llm", str(Path("llm.sh").resolve())]))
    tools = tool_schema.catalog("full")
    others = {
        word: ok("remember", "-q", content, "--db", "memory.db").text.strip()
        for word, content in (("{forgotten}", "The gateway listens on 8080."), ("{replaced}", "The cache has 2 GB."))
    }

    ok("session", "start", "app:before", "--db", "memory.db")
    Path("manual").mkdir()
    Path("manual/a.md").write_text("# A\n\nThe cache is warm.\n")
    ok("sync", "manual", "--db", "memory.db")
    ok("corpus", "register", "v1", "manual", "--db", "memory.db")

    async def scenario(client: Any) -> dict[str, Any]:
        answers = {}
        for tool in tools:
            given = json.dumps(CALLS.get(tool.name, {}))
            for word, known in (others | {"{id}": item}).items():
                given = given.replace(word, known)
            arguments = json.loads(given)
            answers[tool.name] = said(await client.call_tool(tool.name, arguments))
        return answers

    answers = talk(server, scenario)
    store.close()
    for tool in tools:
        answer = answers[tool.name]
        assert not answer["isError"], answer
        text = answer["content"][0]["text"]
        if tool.tool.op.prose:
            assert answer.get("structuredContent") is None, "a client would show the model this instead of the text"
            assert answer["_meta"]["memctl/result"]["status"] == "ok", text
        else:
            structured = answer["structuredContent"]
            assert json.loads(text) == structured
            assert structured["status"] in ("ok", "duplicate", "dry_run"), (tool.name, structured)
            undeclared = set(tool.tool.op.answer) - set(structured) - OPTIONAL.get(tool.name, set())
            assert undeclared == set(), f"{tool.name} does not answer with what it declares"
    assert len(Path("audit.jsonl").read_text().splitlines()) == len(tools)


#: Declared keys that are there only sometimes.
OPTIONAL = {
    "memory_search": {"hint", "guessed"},
    "memory_write": {"message"},
    "memory_mount": {"mount_id", "path", "removed"},
    "memory_sync": {"synced", "mount_count"},
}


def test_recall_is_readable(server: Any, item: str) -> None:
    async def scenario(client: Any) -> Any:
        return (
            await client.call_tool("memory_recall", {"query": "which auth?"}),
            await client.call_tool("memory_recall", {"query": "zebra"}),
        )

    found, none = talk(server, scenario)
    assert text_of(found).startswith("## Memory (Injected)\n")
    assert item in {one["id"] for one in said(found)["_meta"]["memctl/result"]["items"]}
    assert "inject_text" not in said(found)["_meta"]["memctl/result"]
    assert "zebra" in text_of(none)


@pytest.mark.parametrize(
    ("name", "arguments", "marked", "code"),
    [
        ("memory_search", {"query": "x", "k": "many"}, True, "argument-invalid"),
        ("memory_recall", {"query": "x", "workspace": "nowhere"}, True, "workspace-not-found"),
        ("memory_inspect", {"path": "/etc"}, True, "refused"),
        ("memory_import", {"items": "[{"}, True, "json-invalid"),
    ],
)
def test_an_error_is_a_result_with_code_message_and_hint(
    server: Any, name: str, arguments: dict[str, Any], marked: bool, code: str
) -> None:
    async def scenario(client: Any) -> Any:
        return await client.call_tool(name, arguments)

    answer = talk(server, scenario)
    error = json.loads(text_of(answer))
    assert said(answer)["isError"] is marked
    assert (error["status"], error["code"]) == ("error", code)
    assert error["message"]
    assert error["hint"]


def test_an_unknown_tool_is_a_protocol_error(server: Any) -> None:
    async def scenario(client: Any) -> Any:
        return await client.call_tool("memory_nothing", {})

    assert said(talk(server, scenario))["isError"] is True


def test_warnings_come_with_the_error_they_explain(server: Any) -> None:
    Path("docs").mkdir()
    Path("docs/broken.pdf").write_bytes(b"%PDF-1.4 nothing more")

    async def scenario(client: Any) -> Any:
        return await client.call_tool("memory_sync", {"path": "docs"})

    error = json.loads(text_of(talk(server, scenario)))
    assert error["code"] == "nothing-readable"
    assert "broken.pdf" in error["warnings"][0]


# --- beside the tools ------------------------------------------------------------------------------------------------


def test_resources(server: Any, item: str) -> None:
    with MemoryStore("memory.db") as store:
        (mount,) = store.list_mounts()

    async def scenario(client: Any) -> Any:
        templates = said(await client.list_resource_templates())["resourceTemplates"]
        uris = [f"memory://item/{item}", "memory://scope/project/digest", f"memory://mount/{mount['mount_id']}/tree"]
        texts = [said(await client.read_resource(uri))["contents"][0]["text"] for uri in uris]
        return [one["uriTemplate"] for one in templates], texts

    templates, (one, digest, tree) = talk(server, scenario)
    assert templates == ["memory://item/{id}", "memory://scope/{scope}/digest", "memory://mount/{name}/tree"]
    assert json.loads(one)["content"] == "We chose JWT for stateless auth."
    assert item in digest
    assert "auth.md" in tree


@pytest.mark.parametrize("uri", ["memory://item/MEM-000000000000", "memory://mount/none/tree", "memory://nothing/x"])
def test_a_resource_that_is_not_there_is_an_error_with_words(server: Any, uri: str) -> None:
    async def scenario(client: Any) -> str:
        try:
            return str(await client.read_resource(uri))
        except Exception as exc:  # noqa: BLE001 - each generation has its own class
            return f"refused: {exc}"

    assert talk(server, scenario).startswith("refused: ")


def test_a_scope_may_have_any_name(server: Any) -> None:
    ok("remember", "We chose JWT.", "--scope", "a b/c", "--db", "memory.db")

    async def scenario(client: Any) -> Any:
        return said(await client.read_resource("memory://scope/a%20b%2Fc/digest"))["contents"][0]["text"]

    assert "We chose JWT." in talk(server, scenario)


def test_prompts(server: Any, item: str) -> None:
    async def scenario(client: Any) -> Any:
        names = [one["name"] for one in said(await client.list_prompts())["prompts"]]
        asked = {
            "recall": {"question": "which auth?"},
            "remember": {"topic": "the port"},
            "handoff": {},
            "memory_guide": {},
        }
        return names, {name: said(await client.get_prompt(name, given))["messages"][0] for name, given in asked.items()}

    names, written = talk(server, scenario)
    assert names == ["recall", "remember", "handoff", "memory_guide"]
    assert all(message["role"] == "user" for message in written.values())
    texts = {name: message["content"]["text"] for name, message in written.items()}
    assert "JWT" in texts["recall"]
    assert texts["recall"].endswith("Question: which auth?")
    assert "the port" in texts["remember"]
    assert item in texts["handoff"]
    assert "memory_recall" in texts["memory_guide"]


def test_completions(server: Any, item: str) -> None:
    ok("remember", "Ops rotate keys.", "--scope", "platform", "--tags", "Ops,keys", "--db", "memory.db")
    from mcp.types import PromptReference, ResourceTemplateReference

    prompt = PromptReference(type="ref/prompt", name="recall")
    template = ResourceTemplateReference(type="ref/resource", uri="memory://item/{id}")
    wanted = [(prompt, "scope", "pl"), (prompt, "tags", "x,op"), (template, "id", item[:-1]), (prompt, "question", "a")]

    async def scenario(client: Any) -> Any:
        return [
            said(await client.complete(ref, {"name": name, "value": start}))["completion"]["values"]
            for ref, name, start in wanted
        ]

    assert talk(server, scenario) == [["platform"], ["x,Ops"], [item], []]


def test_progress_is_told_to_who_asks(server: Any) -> None:
    shown: list[str | None] = []

    async def progress(_done: float, _total: float | None, message: str | None) -> None:
        shown.append(message)

    async def scenario(client: Any) -> Any:
        items = [{"content": f"Fact number {n} of the import."} for n in range(400)]
        return await client.call_tool("memory_import", {"items": items}, progress_callback=progress)

    assert json.loads(text_of(talk(server, scenario)))["imported"] == 400
    assert shown
    assert all(shown)
    shown.clear()

    async def syncing(client: Any) -> Any:
        return await client.call_tool("memory_sync", {"path": "docs"}, progress_callback=progress)

    Path("docs").mkdir()
    Path("docs/auth.md").write_text("# Auth\n\nTokens are rotated every hour.\n")
    assert json.loads(text_of(talk(server, syncing)))["files_new"] == 1
    assert shown[-1] == "[sync] 1/1 files: auth.md"


def test_a_slow_tool_delays_no_other(server: Any) -> None:
    import anyio

    ok("remember", "We chose JWT.", "--db", "memory.db")
    order = []

    async def scenario(client: Any) -> None:
        async def write() -> None:
            await client.call_tool("memory_write", {"title": "t", "content": "It waits for the lock."})
            order.append("write")

        blocker = MemoryStore("memory.db")
        async with anyio.create_task_group() as tasks:
            with blocker._db.atomic():
                tasks.start_soon(write)
                for _ in range(20):
                    assert "JWT" in text_of(await client.call_tool("memory_recall", {"query": "jwt"}))
                order.append("reads")

    talk(server, scenario)
    assert order == ["reads", "write"]


def test_the_store_may_be_replaced_under_a_running_server(server: Any) -> None:
    ok("remember", "We chose JWT.", "--db", "memory.db")

    def replace() -> None:
        for path in Path().glob("memory.db*"):
            path.unlink()
        ok("remember", "We chose sessions.", "--db", "memory.db")

    async def scenario(client: Any) -> Any:
        before = text_of(await client.call_tool("memory_recall", {"query": "chose"}))
        replace()
        return before, text_of(await client.call_tool("memory_recall", {"query": "chose"}))

    before, after = talk(server, scenario)
    assert "JWT" in before
    assert "sessions" in after
    assert "JWT" not in after


@pytest.mark.parametrize("toolset", ["core", "standard"])
def test_a_smaller_set_has_no_other_tools(toolset: str) -> None:
    server, _ = create_server(build_parser().parse_args(["--db", "memory.db", "--toolset", toolset]))

    async def scenario(client: Any) -> Any:
        return [tool["name"] for tool in said(await client.list_tools())["tools"]]

    known = tool_schema.catalog(toolset)
    assert talk(server, scenario) == [one.name for one in known if not one.annotations["openWorldHint"]]


def test_the_tools_work_on_a_server_of_somebody_elses(store: MemoryStore) -> None:
    """`register_memory_tools` on a server that a program made with the SDK: it reads the functions' signatures."""
    from memctl.mcp.guard import ServerGuard
    from memctl.mcp.tools import register_memory_tools

    theirs: Any = SdkServer("theirs")
    register_memory_tools(theirs, store, guard=ServerGuard())

    calls: tuple[tuple[str, dict[str, Any]], ...] = (
        ("memory_write", {"title": "Auth", "content": "We chose JWT.", "tags": "a,b"}),
        ("memory_recall", {"query": "what did we choose?", "budget_tokens": 300}),
        ("memory_propose", {"items": [{"title": "Port", "content": "It is 8443."}]}),
        ("memory_search", {"query": "JWT", "min_coverage": 2}),
    )

    async def scenario(client: Any) -> Any:
        tools = {tool["name"]: tool for tool in said(await client.list_tools())["tools"]}
        return tools, *[said(await client.call_tool(name, arguments)) for name, arguments in calls]

    tools, written, found, proposed, wrong = talk(theirs, scenario)
    assert {tool.name for tool in tool_schema.tools()} == tools.keys()
    schema = tools["memory_search"]["inputSchema"]
    assert (schema["required"], schema["properties"]["query"]["type"]) == (["query"], "string")
    assert schema["properties"]["k"]["default"] == 10
    assert schema["properties"]["min_coverage"]["maximum"] == 1
    answers = [json.loads(one["content"][0]["text"]) for one in (written, found, proposed)]
    assert [one["status"] for one in answers] == ["ok", "ok", "ok"]
    assert "We chose JWT." in answers[1]["inject_text"]
    assert answers[2]["accepted"] == 1
    assert wrong["isError"]
    item = store.read_item(answers[0]["id"])
    assert item is not None
    assert item.tags == ["a", "b"]
