"""memctl consolidate: near-duplicates become one, what proved itself is promoted, what is over is archived."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from memctl import MemoryItem, ids
from memctl.types import MemoryProvenance
from stores import add, change, check_index, stored
from support import golden, ok, run, spawn

A, B = "The gateway retries twice before it gives up.", "Actually, the gateway retries twice before it gives up"
SOURCE = MemoryProvenance("chat", "s:1")


def consolidated(*flags: str) -> dict[str, Any]:
    found: dict[str, Any] = ok("consolidate", "--json", *flags).json()
    return found


def active() -> list[str]:
    return sorted(item.content for item in stored())


def test_near_duplicates_become_one_and_it_says_which_they_were() -> None:
    ok("remember", A, "--tags", "net,Retry", "--confidence", "0.4", "--importance", "0.8")
    ok("remember", B, "--tags", "retry,ops", "--confidence", "0.9")
    done = consolidated()
    (chain,) = done["merge_chains"]
    assert (done["items_processed"], done["clusters_found"], done["items_merged"]) == (2, 1, 2)
    assert done["merge_chains"][0]["source_titles"] == [B, A]
    (item,) = stored()
    assert (item.id, item.tier, item.confidence) == (chain["merged_id"], "mtm", 0.9)
    assert sorted(tag.lower() for tag in item.tags) == ["net", "ops", "retry"]
    assert set(chain["source_ids"]) <= set(item.provenance.chunk_ids)
    with change() as db:
        assert {db.item(source).superseded_by for source in chain["source_ids"]} == {item.id}
        links = db.rows("SELECT src_id, dst_id, rel FROM memory_links ORDER BY dst_id")
        assert links == [(item.id, source, "supersedes") for source in sorted(chain["source_ids"])]
        assert db.value("SELECT importance FROM memory_importance WHERE item_id = ?", (item.id,)) == 0.8
    with change() as db:
        check_index(db)
    assert "gives up" in ok("recall", "gateway retries").text


def test_a_second_run_finds_nothing_to_do() -> None:
    for text in (A, B):
        ok("remember", text, "--type", "decision")
    assert consolidated()["items_promoted"] == 1
    before = active()
    again = consolidated()
    assert (again["items_merged"], again["items_promoted"]) == (0, 0)
    assert active() == before


def test_undo_takes_a_run_back(tmp_path: Path) -> None:
    for text in (A, B):
        ok("remember", text, "--importance", "0.8")
    add("Over.", provenance=SOURCE, expires_at=ids.timestamp(ids.now_seconds() - 60))
    add("Proved.", provenance=SOURCE, validation="verified")
    (tmp_path / "doc.md").write_text("Raw words.\n")
    ok("ingest", "--source", str(tmp_path / "doc.md"))
    tables = ("memory_items", "memory_links", "memory_withheld", "memory_importance")

    def rows() -> list[list[str]]:
        with change() as db:
            return [sorted(map(repr, db.rows(f"SELECT * FROM {table}"))) for table in tables]

    before = rows()
    done = consolidated()
    assert (done["items_merged"], done["items_promoted"], done["items_released"], done["items_expired"]) == (2, 2, 1, 1)
    assert rows() != before
    ok("undo", done["run"])
    assert rows() == before
    with change() as db:
        check_index(db)


def test_a_dry_run_says_the_same_and_writes_nothing() -> None:
    for text in (A, B):
        ok("remember", text)
    before = Path(".memory/memory.db").read_bytes()
    said = ok("consolidate", "--dry-run").text
    planned = consolidated("--dry-run")
    assert Path(".memory/memory.db").read_bytes() == before
    assert planned["dry_run"] is True
    assert planned["merge_chains"][0]["dry_run"] is True
    assert said.startswith("Consolidation complete (dry run):\n")
    done = consolidated()
    assert done["merge_chains"][0]["source_ids"] == planned["merge_chains"][0]["source_ids"]
    assert {k: v for k, v in planned.items() if k.startswith("items")} == {
        k: v for k, v in done.items() if k.startswith("items")
    }


def test_the_report_is_golden() -> None:
    for number, text in enumerate((A, B, "We deploy on Fridays."), 1):
        add(
            text, id=f"MEM-00000000000{number}", title=text, provenance=SOURCE, created_at=f"2026-01-0{number}T00:00:00"
        )
    golden("consolidate-json", ok("consolidate", "--json", "--all-scopes").text)
    golden("consolidate", ok("consolidate").text)
    shown = ok("consolidate", "--candidates", "--json").text
    golden("consolidate-candidates-json", re.sub(r"\[[0-9a-f]{4,12}\]", "[<id>]", shown))


def test_documents_with_one_tag_stay_as_they_are(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for number in range(13):
        (docs / f"topic{number}.md").write_text(f"# Topic {number}\n\nThe word of this page is kestrel{number}.\n")
    ok("ingest", "--source", str(docs), "--tags", "manual")
    done = consolidated()
    assert (done["items_merged"], done["items_released"]) == (0, 13)
    for number in range(13):
        assert f"kestrel{number}." in ok("recall", f"kestrel{number}").text


def test_the_same_words_of_two_documents_are_two_statements() -> None:
    for name in ("a.md", "b.md"):
        add(A, provenance=MemoryProvenance("doc", name))
    assert consolidated()["items_merged"] == 0


@pytest.mark.parametrize(
    "fields",
    [{"type": "fact"}, {"scope": "other"}, {"corpus_id": "c"}, {"rule_id": "R1"}, {"validation": "contested"},
     {"validation": "retracted"}, {"injectable": False}, {"archived": True}, {"expires_at": "2020-01-01T00:00:00"}],
    ids=str,
)  # fmt: skip
def test_what_differs_beside_its_words_is_not_merged(fields: dict[str, Any]) -> None:
    add(A, provenance=SOURCE)
    add(B, provenance=SOURCE, **fields)
    assert consolidated("--all-scopes")["items_merged"] == 0


def test_what_is_held_back_stays_so_when_it_is_merged() -> None:
    for text in (A, B):
        add(text, provenance=SOURCE, injectable=False, withheld="policy")
    assert consolidated()["items_quarantined"] == 1
    (item,) = stored()
    assert not item.injectable
    assert item.tier == "stm"
    with change() as db:
        assert db.withheld(item.id) == "policy"
    assert ok("recall", "gateway").text == ""
    assert ok("quarantine", "list", "--json").json()["total"] == 1


def test_a_persons_words_are_kept_and_a_models_are_not_trusted_more_for_it() -> None:
    add("The gateway retries twice before it gives up on a request!!!", provenance=MemoryProvenance("model", "m"))
    add("The gateway retries twice before it gives up on a request", provenance=MemoryProvenance("person", "ann"))
    consolidated()
    (item,) = stored()
    assert (item.provenance.source_kind, item.provenance.source_id) == ("person", "ann")
    assert not item.content.endswith("!")


def test_what_proved_itself_is_promoted_when_nothing_is_merged() -> None:
    proofs: tuple[dict[str, Any], ...] = (
        {"usage_count": 5},
        {"usage_count": 2},
        {"type": "constraint"},
        {"validation": "verified"},
        {},
    )
    for number, fields in enumerate(proofs, 1):
        add(f"Statement {number}.", provenance=SOURCE, **fields)
    add("Held back.", provenance=SOURCE, usage_count=9, injectable=False, withheld="policy")
    add("For a while.", provenance=SOURCE, usage_count=9, expires_at=ids.timestamp(ids.now_seconds() + 3600))
    add("From nowhere.", provenance=MemoryProvenance("chat", ""), usage_count=9)
    assert consolidated()["items_promoted"] == 4
    tiers = {item.content: item.tier for item in stored()}
    assert tiers == {
        "Statement 1.": "ltm", "Statement 2.": "mtm", "Statement 3.": "ltm", "Statement 4.": "ltm",
        "Statement 5.": "stm", "Held back.": "stm", "For a while.": "stm", "From nowhere.": "stm",
    }  # fmt: skip
    assert consolidated()["items_promoted"] == 0


def test_promotion_can_be_left_out() -> None:
    add("A.", provenance=SOURCE, usage_count=9)
    assert consolidated("--no-promote")["items_promoted"] == 0


def test_what_is_over_is_archived() -> None:
    add("Over.", provenance=SOURCE, id="MEM-000000000001", expires_at=ids.timestamp(ids.now_seconds() - 60))
    assert consolidated()["items_expired"] == 1
    with change() as db:
        assert db.item("MEM-000000000001").archived
    assert consolidated()["items_expired"] == 0


def test_what_has_faded_is_archived_and_what_is_kept_or_used_is_not() -> None:
    long_ago = ids.timestamp(ids.now_seconds() - 86_400 * 40)
    made_so: tuple[dict[str, Any], ...] = (
        {"created_at": long_ago}, {"created_at": long_ago, "last_used_at": ids.timestamp()},
        {"created_at": long_ago, "validation": "verified"}, {},
    )  # fmt: skip
    for number, fields in enumerate(made_so):
        item = add(f"Item {number}.", provenance=SOURCE, **fields)
        ok("retain", item.id, "fade", "0.1")
    assert consolidated()["items_expired"] == 1
    assert active() == ["Item 1.", "Item 2.", "Item 3."]


def test_a_merged_item_is_kept_if_one_of_its_sources_was_to_be() -> None:
    for number, text in enumerate((A, B)):
        add(text, id=f"MEM-00000000000{number}", provenance=SOURCE)
    ok("retain", "MEM-000000000000", "keep")
    (chain,) = consolidated()["merge_chains"]
    with change() as db:
        rows = db.rows("SELECT kind FROM memory_retention WHERE item_id = ?", (chain["merged_id"],))
    assert rows == [("keep",)]


@pytest.mark.parametrize("pinned", ["MEM-000000000000", "MEM-000000000001"])
def test_a_merged_item_has_the_pin_of_any_of_its_sources(pinned: str) -> None:
    for number, text in enumerate((A, B)):
        add(text, id=f"MEM-00000000000{number}", provenance=SOURCE)
    with change() as db:
        db.write_palace_location(pinned, "work")
    (chain,) = consolidated()["merge_chains"]
    with change() as db:
        assert db.read_palace_location(chain["merged_id"]) is not None


def test_links_of_the_sources_lead_to_the_merged_item() -> None:
    for number, text in enumerate((A, B, "Retries are capped."), 1):
        add(text, id=f"MEM-00000000000{number}", provenance=SOURCE)
    with change() as db:
        db.run("INSERT INTO memory_links VALUES ('MEM-000000000003', 'MEM-000000000001', 'supports', 'x')")
        db.run("INSERT INTO memory_links VALUES ('MEM-000000000002', 'MEM-000000000001', 'refines', 'x')")
    (chain,) = consolidated()["merge_chains"]
    with change() as db:
        links = db.rows("SELECT src_id, rel FROM memory_links WHERE dst_id = ?", (chain["merged_id"],))
    assert links == [("MEM-000000000003", "supports")]


def test_scopes_are_apart() -> None:
    for scope in ("a", "b"):
        for text in (A, B):
            add(text, scope=scope, provenance=SOURCE)
    assert consolidated()["items_processed"] == 0
    done = consolidated("--all-scopes")
    assert (done["clusters_found"], done["scopes_processed"]) == (2, ["a", "b"])
    assert sorted(item.scope for item in stored()) == ["a", "b"]


def test_only_the_tiers_that_are_named() -> None:
    add(A, provenance=SOURCE)
    add(B, tier="ltm", provenance=SOURCE)
    assert consolidated("--tiers", "stm,mtm")["items_merged"] == 0
    assert consolidated()["items_merged"] == 2
    assert [item.tier for item in stored()] == ["ltm"]


def test_the_union_is_judged_again() -> None:
    add(A, provenance=SOURCE)
    add(B, provenance=SOURCE, tags=["mail jane.doe@corp-mail.org"])
    assert consolidated()["items_quarantined"] == 1
    (item,) = stored()
    assert not item.injectable
    assert ok("recall", "gateway").text == ""


def test_there_must_be_a_store() -> None:
    done = run("consolidate")
    assert done.code == 1
    assert "no store" in done.notes.lower() or "memctl init" in done.notes


def test_an_item_of_another_program_may_be_odd() -> None:
    add(A, provenance=SOURCE)
    with change() as db:
        db.write(MemoryItem(content=B, provenance=SOURCE, id="MEM-00000000000b"))
        db.run("UPDATE memory_items SET provenance_json = 'none', tags = 'x' WHERE id = 'MEM-00000000000b'")
    assert consolidated()["items_merged"] == 2
    json.loads(ok("list", "--json").text)


# --- candidates for a model ----------------------------------------------------------------------------------------

ALIKE = (
    "The gateway retries twice before it gives up on a request.",
    "The gateway retries a request twice, then gives up.",
)


def test_candidates_are_a_prompt_within_the_budget_and_nothing_is_changed() -> None:
    for text in ALIKE:
        ok("remember", text)
    ok("remember", "One of many facts. " * 40)
    before = Path(".memory/memory.db").read_bytes()
    found = consolidated("--candidates")
    assert Path(".memory/memory.db").read_bytes() == before
    assert [len(one["ids"]) for one in found["to_merge"]] == [2]
    assert len(found["to_extract"]) == 1
    assert found["tokens_used"] <= 2000
    assert "<MEMORY_PROPOSALS_JSON>" in found["prompt"]
    assert all(text in found["prompt"] for text in ALIKE)
    assert ok("consolidate", "--candidates").text.rstrip("\n") == found["prompt"]
    small = consolidated("--candidates", "--budget", "330")
    assert small["truncated"]
    assert small["tokens_used"] <= 330


def test_old_statements_that_nobody_used_are_named() -> None:
    made_so: tuple[tuple[int, dict[str, Any]], ...] = (
        (40, {}), (10, {}), (40, {"usage_count": 1}), (40, {"tier": "ltm"}), (1, {}),
    )  # fmt: skip
    for number, (days, fields) in enumerate(made_so):
        made = ids.timestamp(ids.now_seconds() - 86_400 * days)
        add(f"Words of item {number}.", id=f"MEM-00000000000{number}", created_at=made, provenance=SOURCE, **fields)
    found = consolidated("--candidates")
    assert [one["ids"] for one in found["to_archive"]] == [["MEM-000000000000"]]
    assert [one["ids"] for one in found["to_decay"]] == [["MEM-000000000001"]]


def test_a_model_is_given_nothing_that_is_held_back() -> None:
    for text in ALIKE:
        add(text, provenance=SOURCE, injectable=False, withheld="policy")
    assert consolidated("--candidates")["total"] == 0
    assert ok("consolidate", "--candidates").text == ""


def test_the_answer_comes_back_through_pull_and_replaces_what_it_names() -> None:
    for text in ALIKE:
        ok("remember", text)
    (group,) = consolidated("--candidates")["to_merge"]
    proposal = {
        "type": "fact", "title": "Retries", "content": "The gateway gives a request up after two retries.",
        "why_store": "one of two", "supersedes": group["ids"],
    }  # fmt: skip
    done = ok("pull", stdin=json.dumps([proposal]))
    assert all(item_id in done.notes for item_id in group["ids"])
    (item,) = stored()
    assert item.content == proposal["content"]
    with change() as db:
        assert {db.item(old).superseded_by for old in group["ids"]} == {item.id}


def test_a_model_replaces_nothing_that_a_person_verified_and_nothing_elsewhere() -> None:
    kept = ok("remember", "The kingfisher nests by the river.").text.strip()
    ok("verify", kept)
    other = ok("remember", "The heron nests by the lake.", "--scope", "birds").text.strip()
    proposal = {
        "content": "No bird nests here.",
        "title": "Birds",
        "why_store": "x",
        "supersedes": [kept, other, "MEM-0"],
    }
    done = ok("pull", stdin=json.dumps([proposal]))
    assert f"{kept} is not replaced: a person verified it" in done.notes
    with change() as db:
        assert not db.item(kept).archived
        assert not db.item(other).archived


# --- by itself, and for programs -----------------------------------------------------------------------------------


def automatic(**keys: Any) -> None:
    Path(".memory").mkdir(exist_ok=True)
    ok("remember", "A store.")
    for key, value in ({"automatic": True, "stm_threshold": 2} | keys).items():
        ok("config", "set", f"consolidate.{key}", json.dumps(value))


def chat() -> str:
    answer = """python3 -c 'import sys; sys.stdin.read(); print("We deploy on Fridays, said the gateway.")'"""
    return ok("chat", "--llm", answer, "--store", stdin="When?\n").notes


@pytest.mark.parametrize(
    ("keys", "merged"),
    [({}, True), ({"automatic": False}, False), ({"enabled": False}, False), ({"stm_threshold": 50}, False)],
    ids=str,
)
def test_a_chat_that_ends_consolidates_only_where_that_is_configured(keys: dict[str, Any], merged: bool) -> None:
    automatic(**keys)
    for text in (A, B):
        add(text, provenance=SOURCE)
    add("Raw.", provenance=SOURCE, injectable=False, withheld="raw")
    chat()
    left = {item.content for item in stored()}
    assert (len({A, B} & left) == 1) is merged
    with change() as db:
        assert db.value("SELECT count(*) FROM memory_withheld WHERE reason = 'raw'") == 1
        runs = [row[0] for row in db.rows("SELECT command FROM memory_runs ORDER BY number")]
    assert ("consolidate" in runs) is merged


def test_a_server_on_stdio_that_ends_consolidates_where_that_is_configured() -> None:
    automatic()
    for text in (A, B):
        add(text, provenance=SOURCE)
    done = spawn("serve", stdin=b"")
    assert done.code == 0, done.notes
    assert "[consolidate] 2 merged" in done.notes
    assert len({A, B} & {item.content for item in stored()}) == 1


def test_a_program_consolidates_by_the_documented_name() -> None:
    from memctl import MemoryStore
    from memctl.consolidate import ConsolidationPipeline

    for text in (A, B):
        add(text, provenance=SOURCE)
    store = MemoryStore(".memory/memory.db")
    pipeline = ConsolidationPipeline(store)
    assert pipeline.run(dry_run=True)["merge_chains"][0]["dry_run"] is True
    assert pipeline.run("other")["items_processed"] == 0
    done = pipeline.run(scope=None)
    assert (done["items_merged"], done["scopes_processed"]) == (2, ["project"])
    store.close()
