"""memctl useful: what came of what conversations were told, and what that changes."""

import json
from pathlib import Path

import pytest

from memctl import MemoryStore
from memctl.context import open_context
from memctl.ops.look.sessions import session_inject, session_store
from memctl.reading.hook_context import SessionMemory, Telling
from memctl.reading.learning import Answered, judge_conversation
from stores import STORE, Filters, change
from support import golden, ok

PORT = "The zebra service listens on port 7421."
ASKED = "On which port does the zebra service listen?"


@pytest.fixture
def item() -> str:
    ok("init")
    return ok("remember", PORT, "--type", "fact").text.split()[0]


def judge(session: str, told: list[Telling], *exchanges: Answered) -> dict[str, int]:
    with MemoryStore(STORE) as store:
        return judge_conversation(store._db, session, told, exchanges)


def rows(*flags: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = ok("useful", "--json", *flags).json()["items"]
    return found


def test_nothing_was_told_yet(item: str) -> None:
    done = ok("useful")
    assert done.text == ""
    assert "Nothing was told" in done.notes
    assert "Useful" not in ok("show", item).text


def test_what_the_hook_told_is_counted_once_for_each_conversation(item: str) -> None:
    event = json.dumps({"session_id": "s1", "prompt": ASKED})
    assert PORT in ok("hook", "--client", "claude", "prompt", "--deadline", "60", stdin=event).text
    told = SessionMemory("claude", "s1").told
    assert [one.ids for one in told] == [(item,)]
    assert 0 < told[0].tokens <= 400
    spoken = Answered(ASKED, "It is 7421.")
    for expected in (1, 0):  # the second time nothing is new
        assert judge("claude:s1", told, Answered("Hello", "Hi, port 7421!"), spoken)["used"] == expected
    assert judge("claude:s2", told, Answered(ASKED, "I do not know."))["used"] == 0
    (row,) = rows()
    assert (row["told"], row["used"]) == (2, 1)
    assert row["tokens"] == 2 * told[0].tokens
    assert row["tokens_unused"] == told[0].tokens
    assert "used in 1 of 2 conversations" in ok("show", item).text
    assert "Told: 1 items, 1 of them used" in ok("stats").text
    assert rows("--ignored") == []
    assert judge("claude:s2", told, Answered(ASKED, "I do not know."), Answered("so?", "It is 7421."))["used"] == 1


def test_a_block_that_the_model_fetched_itself_is_judged_like_what_it_was_told(item: str) -> None:
    """It is no evidence for itself either."""
    block = ok("recall", ASKED).text
    other = ok("remember", "The yak service deploys with make ship.", "--type", "fact").text.split()[0]
    block += ok("recall", "how does the yak service deploy?").text
    said = [
        ("user", ASKED),
        ("assistant", [{"type": "tool_use", "id": "t1", "name": "mcp__memctl__memory_recall", "input": {}}]),
        ("user", [{"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": block}]}]),
        ("assistant", "It listens on 7421, said of the zebra service."),
        ("user", f"Remember: {PORT}"), ("assistant", "OK"),
    ]  # fmt: skip
    lines = [
        {"type": role, "uuid": f"00000000-0000-4000-8000-{number:012}", "sessionId": "s1",
         "message": {"role": role, "content": content}}
        for number, (role, content) in enumerate(said)
    ]  # fmt: skip
    Path("t.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in lines))
    done = ok("capture", "t.jsonl", "--scope", "project", "--json").json()
    assert (done["turns"], done["candidates"], done["repeats"]) == (2, 0, 0)
    assert [(row["id"], row["used"]) for row in rows()] == [(item, 1), (other, 0)]
    assert b"make ship" not in json.dumps(ok("session", "show", "s1", "--json").json()["turns"]).encode()


def test_the_json_of_it(item: str) -> None:
    judge("claude:s1", [Telling("=0", 90, (item,))], Answered(ASKED, "Port 7421."))
    golden("useful-json", ok("useful", "--json").text.replace(item, "MEM-<id>"))


def test_compaction_keeps_what_was_told_before(item: str) -> None:
    memory = SessionMemory("claude", "s1")
    memory.keep(ASKED, [item], 70)
    SessionMemory("claude", "s1").forget()
    again = SessionMemory("claude", "s1")
    assert again.given == set()
    assert [one.ids for one in again.told] == [(item,)]


def test_a_program_that_ends_a_turn_counts_too(item: str) -> None:
    with open_context(db=STORE) as ctx:
        session_inject(ctx, ASKED, "proj:1")
    with open_context(db=STORE) as ctx:
        session_store(ctx, "Zebra is on port 7421.", "proj:1")
    (row,) = rows()
    assert (row["id"], row["told"], row["used"]) == (item, 1, 1)


def told_often(item: str, used: int, ignored: int) -> None:
    for number in range(used + ignored):
        answer = "Port 7421." if number < used else "No idea."
        judge(f"claude:{number}", [Telling("=0", 50, (item,))], Answered("where?", answer))


def test_what_helps_gains_strength_slowly_and_within_bounds(item: str) -> None:
    other = ok("remember", "The zebra service listens on port 9000 at night.").text.split()[0]

    def share() -> float:
        (hit,) = [hit for hit in ok("search", "zebra port", "--explain", "--json").json() if hit["id"] == item]
        return float(hit["explain"]["reasons"].get("usefulness", 0.0)) / float(hit["score"])

    assert share() == 0
    told_often(item, 1, 0)
    once = share()
    assert 0 < once < 0.02
    told_often(item, 60, 0)
    assert once < share() <= 0.1
    told_often(other, 0, 3)
    assert rows("--ignored")[0]["id"] == other


def test_what_never_helps_is_told_less_readily(item: str) -> None:
    for number in range(30):
        ok("remember", f"Herd {number} grazes on meadow {number} since spring.")
    asked = "What listens on the zebra port, and which meadow grazes nobody tonight?"
    from memctl.retrieve.abstention import coverage
    from memctl.retrieve.find import search

    def share() -> float:
        with MemoryStore(STORE) as store:
            found = search(store._db, asked, filters=Filters(None))
            return coverage(found, found.usefulness)[0]

    before = share()
    told_often(item, 0, 30)
    assert 0.8 * before <= share() < before


def test_what_goes_takes_its_counts_along(item: str) -> None:
    judge("claude:s1", [Telling("=0", 50, (item,))], Answered(ASKED, "Port 7421."))
    ok("purge", item, "--yes")
    with change() as store:
        assert store.rows("SELECT count(*) FROM memory_usefulness") == [(0,)]


def test_a_complete_export_takes_them_along(item: str, tmp_path: Path) -> None:
    judge("claude:s1", [Telling("=0", 50, (item,))], Answered(ASKED, "Port 7421."))
    given = ok("export", "--complete").out
    ok("init", str(tmp_path / "other"))
    other = str(tmp_path / "other/.memory/memory.db")
    ok("--db", other, "import", "-", stdin=given)
    assert ok("--db", other, "useful", "--json").json()["items"][0]["used"] == 1
