"""memctl pull: what an LLM wrote goes into the store, governed, counted, and never lost in silence."""

import hashlib
import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from memctl import ids
from memctl.types import MemoryItem
from stores import STORE, change, fails_at
from support import Result, ok, run

SECRET = "password=hunter2hunter2"


def stored() -> list[dict[str, Any]]:
    """Every item, in the order it was written."""
    lines = [json.loads(line) for line in ok("export", "--include-archived", "-q").text.splitlines()]
    return sorted(lines, key=lambda line: line["created_at"])


def counts(done: Result) -> str:
    """The last line about counts."""
    return [line for line in done.notes.splitlines() if " stored, " in line][-1]


def proposals(*entries: object) -> str:
    return json.dumps(entries)


# --- a note ------------------------------------------------------------------------------------------------------


def test_plain_text_becomes_a_note() -> None:
    done = ok("pull", "--tags", "auth,decision", "--title", "Auth decision", stdin="We chose JWT.\n")
    (item,) = stored()
    assert done.out == b""
    assert done.notes.splitlines() == [
        "[pull] no structured proposals found — storing as single note",
        f"Made a store: {Path.cwd()}/.memory/memory.db",
        f"[pull] Stored as note {item['id']}: Auth decision",
        "[pull] 1 stored, 0 duplicate, 0 quarantined, 0 redacted, 0 rejected",
    ]
    assert (item["title"], item["content"], item["tags"]) == ("Auth decision", "We chose JWT.", ["auth", "decision"])
    assert (item["tier"], item["type"], item["scope"], item["injectable"]) == ("stm", "note", "project", True)
    assert item["provenance"]["source_kind"] == "tool"
    assert item["provenance"]["source_id"] == "memctl-pull"


def test_quiet_says_nothing() -> None:
    assert ok("pull", "-q", stdin="We chose JWT.").err == b""


@pytest.mark.parametrize("text", ["", " \n\t", "\ufeff"])
def test_no_input_is_an_error(text: str) -> None:
    done = run("pull", stdin=text)
    assert done.code == 1
    assert done.notes.startswith("memctl: no input received on stdin")
    assert not Path(STORE).exists()


@pytest.mark.usefixtures("frozen")
def test_the_default_title_is_the_local_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC-2")
    time.tzset()
    try:
        ok("pull", stdin="We chose JWT.")
    finally:
        monkeypatch.delenv("TZ")
        time.tzset()
    assert stored()[0]["title"] == "LLM capture 2026-11-20 14:00"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# Session store\n\nRedis.", "Session store"),
        ("\n### Closed ###\nx", "Closed"),
        ("#hashtag first", "LLM capture"),
        ("#!/bin/sh\nls", "LLM capture"),
        ("####### seven", "LLM capture"),
        ("#\nx", "LLM capture"),
    ],
)
def test_a_heading_is_the_title(text: str, title: str) -> None:
    ok("pull", stdin=text)
    assert stored()[0]["title"].startswith(title)


def test_a_title_is_one_line_of_200_characters() -> None:
    ok("pull", "--title", "a\nb\x1b[31mc\td\u2028e" + "x" * 300, stdin="text")
    title = stored()[0]["title"]
    assert title.startswith("a b [31mc d ex")
    assert len(title) == 200


def test_type_and_scope() -> None:
    ok("pull", "--type", "decision", "--scope", "team", stdin="We chose JWT.")
    (item,) = stored()
    assert (item["type"], item["scope"]) == ("decision", "team")


@pytest.mark.parametrize(
    ("argv", "env", "config", "tier"),
    [
        ([], {}, None, "stm"),
        ([], {}, "ltm", "ltm"),
        ([], {"MEMCTL_TIER": "mtm"}, "ltm", "mtm"),
        ([], {"MEMCTL_TIER": ""}, "ltm", "ltm"),
        (["--tier", "stm"], {"MEMCTL_TIER": "mtm"}, "ltm", "stm"),
    ],
)
def test_tier_comes_from_flag_then_environment_then_config(
    argv: list[str], env: dict[str, str], config: str | None, tier: str
) -> None:
    if config:
        Path(".memory").mkdir()
        Path(".memory/config.json").write_text(json.dumps({"pull": {"tier": config}}))
    ok("pull", *argv, stdin="We chose JWT.", env=env)
    assert stored()[0]["tier"] == tier


def test_a_tier_that_is_none_is_an_error() -> None:
    done = run("pull", stdin="x", env={"MEMCTL_TIER": "xyz"})
    assert done.code == 1
    assert "MEMCTL_TIER" in done.notes


def test_the_session_is_in_the_provenance() -> None:
    ok("pull", stdin="We chose JWT.", env={"MEMCTL_SESSION": "s7"})
    assert stored()[0]["provenance"]["source_id"] == "memctl-pull:s7"


# --- bytes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "content", "replaced"),
    [
        ("Café".encode(), "Café", False),
        (b"\xef\xbb\xbfmarked", "marked", False),
        ("Größe".encode("utf-16"), "Größe", False),
        (b"nul\x00s are dropped", "nuls are dropped", False),
        ("Größe".encode("utf-16-le"), "Größe", False),
        ("Größe … schön".encode("cp1252") + b" in plain words", "Größe … schön in plain words", True),
        ("Größe äöü ".encode() + b"\xe9 broken", "Größe äöü \ufffd broken", True),
        (b"dos\r\nlines\r\n", "dos\nlines", False),
        ("e\u0301".encode(), "\xe9", False),
    ],
)
def test_bytes_become_text(data: bytes, content: str, replaced: bool) -> None:
    done = ok("pull", stdin=data)
    assert stored()[0]["content"] == content
    assert ("not valid UTF-8" in done.notes) is replaced


@pytest.mark.parametrize(
    "data", [bytes(range(256)) * 40, b"\x7fELF\x02\x01\x01" + b"\0" * 200, "Привет".encode("cp1251") * 50]
)
def test_what_is_no_text_is_refused(data: bytes) -> None:
    done = run("pull", stdin=data)
    assert done.code == 1
    assert "cannot read standard input as text" in done.notes
    assert not Path(STORE).exists()


# --- proposals ---------------------------------------------------------------------------------------------------


def test_proposals_are_stored_with_their_fields() -> None:
    done = ok(
        "pull", "--tags", "extra,DB", "--scope", "team",
        stdin=proposals(
            {"type": "rule", "title": "Port", "content": "The API listens on 8080.", "tags": "db,net", "scope": "other",
             "confidence": 0.9, "entities": ["API"], "provenance_hint": {"source_kind": "chat", "source_id": "c1"}},
            {"content": "Deploys are on Tuesday."},
        ),
    )  # fmt: skip
    first, second = stored()
    assert "[pull] Stored 2 item(s) from proposals (0 rejected by policy)" in done.notes
    assert (first["type"], first["title"], first["scope"]) == ("constraint", "Port", "team")
    assert first["tags"] == ["db", "net", "extra"]
    assert (first["confidence"], first["entities"]) == (0.9, ["API"])
    assert (first["provenance"]["source_kind"], first["provenance"]["source_id"]) == ("chat", "c1")
    assert (second["title"], second["tags"]) == ("Deploys are on Tuesday.", ["extra", "DB"])
    assert second["provenance"]["source_id"] == "memctl-pull"
    # No reason to store was given: that alone keeps nothing out of recall.
    assert [i["injectable"] for i in (first, second)] == [True, True]


def test_the_order_of_tags_never_changes() -> None:
    tags = [f"t{n}" for n in range(40)]
    ok("pull", "--tags", "z,a", stdin=proposals({"content": "c", "tags": tags}))
    assert stored()[0]["tags"] == [*tags, "z", "a"]


def test_a_bad_proposal_does_not_stop_the_others() -> None:
    done = ok("pull", stdin=proposals({"content": 7}, {"content": "good", "tags": 3}, "words"))
    assert [i["content"] for i in stored()] == ["good"]
    assert "[pull] proposal 1: content: expected a string, got a whole number" in done.notes
    assert "[pull] proposal 2: tags: expected a list of strings, got a whole number" in done.notes
    assert "[pull] proposal 3: expected an object with content, got a string" in done.notes


def test_only_bad_proposals_are_an_error() -> None:
    done = run("pull", stdin=proposals({"content": 7}))
    assert done.code == 1
    assert "memctl: nothing was stored: 1 unusable" in done.notes
    assert not Path(STORE).exists()


def test_an_empty_list_is_no_error() -> None:
    done = ok("pull", stdin="[]")
    assert "Stored 0 item(s)" in done.notes
    assert not Path(STORE).exists()


def test_words_around_a_block_are_counted() -> None:
    block = f"<MEMORY_PROPOSALS_JSON>{proposals({'content': 'c'})}</MEMORY_PROPOSALS_JSON>"
    done = ok("pull", stdin=f"Here you are: {block}")
    assert "[pull] 13 character(s) around the proposals were not stored" in done.notes


def test_delimiters_and_strategy_come_from_the_config() -> None:
    ok("init")
    Path(".memory/config.json").write_text(
        json.dumps({"proposer": {"delimiter_open": "<<", "delimiter_close": ">>", "strategy": "delimiter"}})
    )
    ok("pull", stdin=f"x <<{proposals({'content': 'c'})}>>")
    assert [i["content"] for i in stored()] == ["c"]


def test_json_says_what_happened() -> None:
    done = ok("pull", "--json", "-q", stdin=proposals({"content": "a"}, {"content": "a"}))
    assert done.json() == {
        "status": "ok", "stored": 1, "duplicate": 1, "quarantined": 0, "redacted": 0, "rejected": 0, "problems": 0,
        "item_ids": [stored()[0]["id"]], "items": [{"id": stored()[0]["id"], "standing": "injectable"}],
    }  # fmt: skip


def test_what_is_quarantined_is_said_with_its_end() -> None:
    held = "Reach Jane Roe at jane.roe@example.com or +1 415 555 0132."
    done = ok("pull", "--json", stdin=proposals({"content": held, "title": "Mail"}))
    (item,) = done.json()["items"]
    assert (item["standing"], item["expires_at"]) == ("quarantined", stored()[0]["expires_at"])
    until = item["expires_at"][:16].replace("T", " ")
    assert f"[pull] quarantined until {until} UTC, kept out of recall: 'Mail' (" in done.notes


# --- long text ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "word " * 3000,
        "x" * 9000,
        "\n\n".join(f"Paragraph {n} says that worker {n} retries." for n in range(400)),
        "# A\n\n" + "alpha beta. " * 300 + "\n\n# B\n\n" + "gamma delta. " * 300,
    ],
    ids=["no paragraphs", "no blanks", "paragraphs", "sections"],
)
def test_long_text_is_split_and_not_lost(text: str) -> None:
    done = ok("pull", "--title", "Long", "--tags", "t", stdin=text)
    parts = sorted(stored(), key=lambda part: int(re.search(r"part (\d+)/", part["title"])[1]))  # type: ignore[index]
    assert all(0 < len(part["content"]) <= 2000 for part in parts)
    assert "".join("".join(part["content"] for part in parts).split()) == "".join(text.split())
    assert sorted(part["title"] for part in parts) == sorted(
        f"Long · part {n}/{len(parts)}" for n in range(1, len(parts) + 1)
    )
    assert all(part["tags"] == ["t"] for part in parts)
    assert f"[pull] Stored as {len(parts)} note(s): Long" in done.notes


def test_a_long_proposal_is_split_too() -> None:
    ok("pull", stdin=proposals({"title": "T", "type": "fact", "content": "Sentence of a fact. " * 300}))
    assert len(stored()) > 2
    assert {i["type"] for i in stored()} == {"fact"}


def test_the_limit_of_policy_is_the_limit_of_parts() -> None:
    Path(".memory").mkdir()
    Path(".memory/config.json").write_text(json.dumps({"policy": {"max_content_length": 300}}))
    ok("pull", stdin="Sentence of a note. " * 100)
    assert all(len(i["content"]) <= 300 for i in stored())


def test_a_secret_in_long_text_is_blotted_out_wherever_the_cuts_fall() -> None:
    text = ("Some words about nothing. " * 79) + SECRET + " " + ("And more of them here. " * 100)
    done = ok("pull", stdin=text)
    whole = " ".join(i["content"] for i in stored())
    assert "hunter2" not in whole
    assert "[REDACTED:" in whole
    assert re.search(r"0 quarantined, [12] redacted, 0 rejected", counts(done))


@pytest.mark.parametrize("before", [57_000, 59_200, 59_900, 60_050])
def test_a_key_is_blotted_out_across_the_slices_that_policy_sees(before: int) -> None:
    body = "".join(f"{hashlib.sha256(str(n).encode()).hexdigest()}\n" for n in range(20))
    key = f"-----BEGIN RSA PRIVATE KEY-----\n{body}-----END RSA PRIVATE KEY-----\n"
    ok("pull", stdin=("plain words here " * 5000)[:before] + "\n" + key + "and plain words there " * 200)
    whole = "\n".join(i["content"] for i in stored())
    assert not [line for line in body.splitlines() if line in whole]


def test_many_parts_are_told_in_few_lines() -> None:
    text = "\n\n".join(f"Paragraph {n} says that worker {n} retries. " + "word " * 200 for n in range(60))
    ok("pull", stdin=text)
    again = ok("pull", stdin=text)
    assert "0 stored" in counts(again)
    assert len(again.notes.splitlines()) < 30


# --- duplicates --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("again", ["We chose JWT.", "  We chose JWT.\r\n\n", "\ufeffWe chose JWT."])
def test_the_same_statement_is_stored_once_and_learns_tags(again: str) -> None:
    ok("pull", "--tags", "Auth,b", stdin="We chose JWT.\n")
    done = ok("pull", "--tags", "auth,c", "--title", "other", stdin=again)
    (item,) = stored()
    assert item["tags"] == ["Auth", "b", "c"]
    assert "[pull] skip duplicate: 'other' (what is new about it was added)" in done.notes
    assert counts(done) == "[pull] 0 stored, 1 duplicate, 0 quarantined, 0 redacted, 0 rejected"


def test_nfc_and_nfd_are_one_statement() -> None:
    ok("pull", stdin="Le café ferme.")
    ok("pull", stdin="Le cafe\u0301 ferme.")
    assert len(stored()) == 1


def test_a_duplicate_adds_its_source_and_its_confidence() -> None:
    ok("pull", stdin=proposals({"content": "c", "confidence": 0.4}), env={"MEMCTL_SESSION": "one"})
    ok("pull", stdin=proposals({"content": "c", "confidence": 0.8}), env={"MEMCTL_SESSION": "two"})
    ok("pull", stdin=proposals({"content": "c", "confidence": 0.2}), env={"MEMCTL_SESSION": "two"})
    (item,) = stored()
    assert item["confidence"] == 0.8
    assert item["provenance"]["source_id"] == "memctl-pull:one"
    assert item["provenance"]["chunk_ids"] == ["memctl-pull:two"]


def test_a_duplicate_that_adds_nothing_writes_nothing() -> None:
    ok("pull", "--tags", "a", stdin="We chose JWT.")
    before = stored()
    done = ok("pull", "--tags", "A", stdin="We chose JWT.")
    assert stored() == before
    assert "were added" not in done.notes


def test_duplicates_within_one_input() -> None:
    done = ok("pull", stdin=proposals({"content": "c", "tags": "a"}, {"content": "c ", "tags": "b"}))
    (item,) = stored()
    assert item["tags"] == ["a", "b"]
    assert counts(done).startswith("[pull] 1 stored, 1 duplicate")


def test_another_scope_is_another_statement() -> None:
    ok("pull", stdin="We chose JWT.")
    ok("pull", "--scope", "team", stdin="We chose JWT.")
    assert len(stored()) == 2


@pytest.mark.parametrize("gone", ["archived", "expired", "raw"])
def test_what_recall_does_not_see_is_no_duplicate(gone: str) -> None:
    old = MemoryItem(content="We chose JWT.")
    with change() as db:
        if gone == "archived":
            old.archived = True
        elif gone == "expired":
            old.expires_at = "2001-01-01T00:00:00+00:00"
        else:
            old.injectable = False
        db.write(old, withheld="raw" if gone == "raw" else "")
    ok("pull", stdin="We chose JWT.")
    assert len(stored()) == 2


def test_a_passage_of_a_document_is_no_duplicate() -> None:
    Path("doc.md").write_text("We chose JWT.\n")
    ok("push", "JWT", "--source", "doc.md", "-q")
    ok("pull", stdin="We chose JWT.")
    assert len(stored()) == 2
    Path("doc.md").write_text("We chose cookies.\n")
    ok("push", "cookies", "--source", "doc.md", "-q")
    assert [i["content"] for i in stored() if not i["archived"] and i["provenance"]["source_kind"] == "tool"] == [
        "We chose JWT."
    ]


# --- policy ------------------------------------------------------------------------------------------------------


def test_a_secret_is_never_stored_nor_shown() -> None:
    done = run("pull", "--title", f"my {SECRET}", stdin=f"remember {SECRET}")
    assert done.code == 1
    assert "Rejected by policy" in done.notes
    assert "memctl: nothing was stored: 1 rejected by policy" in done.notes
    assert "hunter2" not in done.notes
    assert stored() == []


@pytest.mark.parametrize(
    ("argv", "entry"),
    [
        (["--tags", f"{SECRET},x"], {"content": "c"}),
        ([], {"content": "c", "title": SECRET}),
        ([], {"content": "c", "entities": [SECRET]}),
        ([], {"content": "c", "provenance_hint": {"source_id": SECRET}}),
        ([], {"content": "c", "provenance_hint": {"chunk_ids": [SECRET]}}),
        ([], {"content": "c", "rule_id": SECRET}),
    ],
)
def test_every_field_passes_policy(argv: list[str], entry: dict[str, Any]) -> None:
    done = run("pull", *argv, stdin=proposals(entry))
    assert done.code == 1
    assert stored() == []


def test_a_rejected_proposal_is_named_and_the_others_stay() -> None:
    done = ok("pull", stdin=proposals({"content": "good"}, {"title": "bad", "content": f"x {SECRET}"}))
    assert [i["content"] for i in stored()] == ["good"]
    assert "[pull] Rejected by policy: 'bad'" in done.notes
    assert "[pull] Stored 1 item(s) from proposals (1 rejected by policy)" in done.notes
    assert run("pull", "-q", stdin=proposals({"title": "bad", "content": SECRET})).notes.startswith("[pull] Rejected")


def test_a_quarantine_is_kept_to(frozen: None) -> None:
    done = ok("pull", "--tier", "ltm", stdin="Write to bob.smith@corvid-labs.io when it breaks.")
    (item,) = stored()
    assert (item["tier"], item["injectable"], item["validation"]) == ("stm", False, "unverified")
    assert item["expires_at"] == ids.timestamp(ids.now_seconds() + 72 * 3600)
    assert item["withheld"] == "policy"
    assert "1 quarantined" in counts(done)
    with change() as db:
        assert json.loads(db.value("SELECT details FROM memory_withheld WHERE item_id = ?", (item["id"],)))


def test_what_is_held_back_adds_nothing_to_what_may_be_injected() -> None:
    ok("pull", stdin="We chose JWT.")
    before = stored()
    done = ok("pull", "--tags", "bob.smith@corvid-labs.io", stdin="We chose JWT.")
    assert stored() == before
    assert counts(done).startswith("[pull] 0 stored, 1 duplicate")


@pytest.mark.parametrize("at_once", [True, False])
def test_a_clean_statement_is_no_duplicate_of_one_that_is_held_back(at_once: bool) -> None:
    held, clean = {"content": "We use Bazel.", "title": "ask bob.smith@corvid-labs.io"}, {"content": "We use Bazel."}
    for entries in [(held, clean)] if at_once else [(held,), (clean,)]:
        ok("pull", stdin=proposals(*entries))
    assert sorted(i["injectable"] for i in stored()) == [False, True]
    again = ok("pull", stdin=proposals(clean, held))
    assert counts(again).startswith("[pull] 0 stored, 2 duplicate")


@pytest.mark.parametrize("text", ["It broke.", "It broke again and again. " * 200])
def test_a_title_that_holds_a_number_of_a_person_is_not_shown(text: str) -> None:
    done = ok("pull", "--title", "ask mary, SSN 536-22-8145", stdin=text)
    assert "Stored as" in done.notes
    assert "536-22" not in done.notes


# --- the feedback loop -------------------------------------------------------------------------------------------


def test_injected_memory_that_is_repeated_is_not_stored() -> None:
    ok("pull", "--title", "Cache", stdin="The cache lives in Redis.")
    block = ok("push", "where does the cache live").text
    assert "Redis" in block
    only = ok("pull", "--json", stdin=block)
    assert "[pull] the input only repeats injected memory: not stored" in only.notes
    assert (only.json()["stored"], only.json()["empty"]) == (0, 1)
    assert len(stored()) == 1
    ok("pull", "--title", "Answer", stdin=f"You told me:\n{block}\nSo it is Redis, as I see it.")
    assert stored()[-1]["content"] == "You told me:\n\nSo it is Redis, as I see it."


def test_rounds_of_push_and_pull_settle() -> None:
    ok("pull", "--title", "Cache", stdin="The cache lives in Redis.")
    for _ in range(4):
        block = ok("push", "where does the cache live").text
        ok("pull", "--title", "Answer", stdin=block + "\nIt lives in Redis.")
    assert len(stored()) == 2


def test_a_proposal_that_repeats_a_block_is_left_out() -> None:
    block = "## Memory (Injected)\nformat_version: 1\n\n[1] [STM:unverified] note — x\n    y\n\n--- End Memory (z) ---"
    done = ok("pull", stdin=proposals({"content": block}, {"content": f"{block}\nNew words."}))
    assert [i["content"] for i in stored()] == ["New words."]
    assert "1 proposal(s) only repeat injected memory" in done.notes


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("## Memory (Injected)\nused: 3\n\n[1] [STM:unverified] note — x\n    y\n\nMy words.", "My words."),
        (
            "A\n## Memory (Injected)\nused: 1\n\n    y\nB\n## Memory (Injected)\nc: d\n--- End Memory (x) ---\nD",
            "A\nB\nD",
        ),
        (
            "## Memory (Injected)\nused: 1\n\n[1] [STM:unverified] x\n    y\n\nMy words.\n--- End Memory (it says.",
            "My words.\n--- End Memory (it says.",
        ),
        ("## Memory (Injected)\ninjection_type:\n[1] [STM:unverified] x\n    y\n  --- End Memory (z) ---\nB", "B"),
        ("Its heading is ## Memory (Injected), inside a line.", "Its heading is ## Memory (Injected), inside a line."),
    ],
)
def test_a_block_that_was_cut_off_ends_where_it_stops_looking_like_one(text: str, kept: str) -> None:
    ok("pull", stdin=text)
    assert stored()[0]["content"] == kept


# --- all or nothing ----------------------------------------------------------------------------------------------


def test_one_input_is_one_transaction() -> None:
    ok("pull", stdin="first")
    with fails_at(RuntimeError("power cut"), "INSERT INTO memory_withheld"):
        done = run("pull", stdin=proposals({"content": "good"}, {"content": "mail bob.smith@corvid-labs.io"}))
    assert done.code == 2
    assert [i["content"] for i in stored()] == ["first"]


# --- what is not worth keeping, and what is passed on -----------------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    [
        "I'm sorry, but I can't help with that.", "I\u2019m sorry, there is nothing about it.", "ok", "Done!",
        "Sure, thanks.",
        "As an AI, I have no access to your files.", "Je suis désolé, je ne peux pas répondre.",
        "Es tut mir leid, das steht dort nicht.", "Lo siento, no puedo ayudar con eso.", "抱歉, 我无法回答这个问题。",
        "\u041a сожалению, я не могу ответить.", "The context does not say when the ferry runs.", "好的", "👍",
    ],
)  # fmt: skip
def test_a_refusal_is_not_stored(said: str) -> None:
    ok("init")
    done = ok("pull", stdin=said)
    assert done.out == b""
    assert "[pull] the input is a refusal, or says nothing: not stored" in done.notes
    assert ok("list", "--json").json() == []
    assert ok("pull", "--json", stdin=said).json()["empty"] == 1


@pytest.mark.parametrize(
    "said",
    [
        "We chose JWT.", "Sorry is the hardest word, sang Elton John in 1976.", "Done with Redis: we use Valkey now.",
        "I cannot overstate it: port 8080 is public. The port 9090 is not. Both are up. Neither is fast.",
        "Nous utilisons Redis.",
    ],
)  # fmt: skip
def test_what_says_something_is_stored(said: str) -> None:
    assert ok("pull", "--json", stdin=said).json()["stored"] == 1


def test_tee_passes_the_answer_on() -> None:
    proposals = '<MEMORY_PROPOSALS_JSON>\n[{"content": "Keys rotate.", "title": "Keys"}]\n</MEMORY_PROPOSALS_JSON>'
    done = ok("pull", "--tee", stdin=f"Every 17 days.\n\n{proposals}\n")
    assert done.text == "Every 17 days.\n"
    assert "1 stored" in done.notes
    assert ok("pull", "--tee", stdin="We chose JWT.").text == "We chose JWT.\n"
    assert ok("pull", "--tee", stdin="I'm sorry, I can't.").text == "I'm sorry, I can't.\n"
    alone = '[{"content": "The port is 8080.", "title": "Port"}]'
    assert ok("pull", "--tee", stdin=alone).text == alone + "\n"
    assert run("pull", "--tee", "--json", stdin="x").code == 1


def test_tee_passes_on_what_could_not_be_stored() -> None:
    block = "## Memory (Injected)\nformat_version: 2\n[a3185e] 2026-01-01\n Keys rotate.\n--- End Memory (1) ---\n"
    done = ok("pull", "--tee", stdin=block)
    assert done.text == block
