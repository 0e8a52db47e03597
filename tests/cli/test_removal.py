"""Deleting for good, how long items last, and what is noticed on write: purge, reset, retain, remember."""

import re
from pathlib import Path

import pytest

from memctl import ids
from stores import STORE, change, check_index
from support import ok, run

FILLER = "It is described at some length, so that each part is a passage of its own. " * 40


def remember(*words: str) -> str:
    return ok("remember", "-q", *words).text.strip()


# --- purge --------------------------------------------------------------------------------------------------------


def test_a_purge_is_dry_without_yes_and_leaves_nothing() -> None:
    item = remember("The kestrel nests at the tower.", "--why", "a kestrel was seen")
    ok("edit", item, "--content", "The kestrel nests at the mill.")
    ok("forget", item, "--why", "no kestrel was there")
    ok("restore", item)
    plan = ok("purge", item, "--json").json()
    assert (plan["status"], plan["ids"]) == ("dry_run", [item])
    assert "mill" in ok("recall", "kestrel").text
    assert ok("purge", item, "--yes", "--json").json()["total"] == 1
    assert run("show", item).code == 1
    for ending in ("", "-wal"):
        path = Path(STORE + ending)
        assert not path.exists() or b"kestrel" not in path.read_bytes()
    with change() as store:
        check_index(store)
        assert store.value("SELECT count(*) FROM memory_revisions") == 0


def test_what_an_undo_took_away_is_purged_too() -> None:
    item = remember("The kestrel nests at the tower.")
    ok("undo")
    assert ok("purge", item, "--json").json()["ids"] == [item]
    assert b"kestrel" in Path(STORE).read_bytes()
    assert ok("purge", item, "--yes", "--json").json()["total"] == 1
    assert b"kestrel" not in Path(STORE).read_bytes()
    newest = [one["run"] for one in ok("log", "--json").json()["runs"]]
    assert run("undo", newest[1]).code == 1 and ok("list", "--json").json() == []
    assert run("purge", item).code == 1


def test_restore_names_nothing_that_is_not_there() -> None:
    old = remember("The kestrel nests at the tower.")
    new = ok("supersede", old, "The kestrel nests at the mill.").text.strip()
    ok("purge", new, "--yes")
    assert new not in ok("restore", old).notes


@pytest.mark.parametrize("given", ["MEM-1\nMEM-2", "z" * 5000])
def test_an_id_that_is_none_is_named_on_one_short_line(given: str) -> None:
    remember("The kestrel nests at the tower.")
    for command in (["forget"], ["purge", "--again"]):
        first, _, _ = run(*command, given).notes.partition("hint:")
        assert first.count("\n") == 1 and len(first) < 120


def test_an_empty_filter_does_not_mean_everything() -> None:
    item = remember("The kestrel nests at the tower.")
    for words in ("--tags", ""), ("--tags", ","), ("--query", " "), ("--from", ""):
        for command in ("purge", "forget"):
            done = run(command, *words, "--yes")
            assert done.code == 1 and f"{words[0]} is empty" in done.notes
    assert [one["id"] for one in ok("list", "--json").json()] == [item]


def test_a_reset_leaves_no_words_in_the_file() -> None:
    remember("The kestrel nests at the tower.", "--tags", "osprey")
    ok("reset", "--confirm")
    for ending in ("", "-wal"):
        path = Path(STORE + ending)
        assert not path.exists() or not {b"kestrel", b"osprey"} & set(re.findall(rb"[a-z]+", path.read_bytes()))
    assert "too long ago" not in run("undo", ok("log", "--json").json()["runs"][0]["run"]).notes


def test_what_was_purged_is_not_stored_again_unless_a_person_says_so() -> None:
    text = "The kestrel nests at the tower."
    line = ok("export").text if remember(text) else ""
    (item,) = (one["id"] for one in ok("list", "--json").json())
    ok("purge", item, "--yes")
    refused = run("remember", text)
    assert refused.code == 1 and "--again" in refused.notes
    assert run("pull", stdin=text).code == 1
    run("import", stdin=line)
    assert ok("list", "--json").json() == []
    assert item in ok("purge", "--purged").text
    new = remember(text, "--again")
    assert "tower" in ok("recall", "kestrel").text and item not in ok("purge", "--purged").text
    ok("purge", new, "--yes")
    assert ok("purge", "--again", new, "--json").json()["ids"] == [new]
    assert remember(text)
    assert run("purge", "--again").code == 1 and run("purge", "--again", "MEM-1").code == 1


def test_files_do_not_bring_back_what_was_purged(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    doc = docs / "guide.md"
    doc.write_text(f"# One\n\nThe gateway retries twice. {FILLER}\n\n# Two\n\nBackups run at night. {FILLER}\n")
    ok("sync", str(docs))
    found = [one["id"] for one in ok("search", "gateway retries", "--json").json()]
    ok("purge", *found, "--yes")
    doc.write_text(doc.read_text().replace("night", "noon"))
    done = ok("sync", str(docs))
    assert "purged before" in done.notes
    ok("sync", "--full", str(docs))
    ok("push", "x", "--source", str(doc))
    doc.rename(docs / "moved.md")
    ok("sync", str(docs))
    assert ok("search", "gateway", "--json").json() == []
    assert "noon" in ok("recall", "backups").text


def test_a_purge_by_a_filter_takes_archived_items_only_when_asked() -> None:
    gone, here = remember("The kestrel nests.", "--tags", "bird"), remember("The heron fishes.", "--tags", "bird")
    ok("forget", gone)
    assert ok("purge", "--tags", "bird", "--json").json()["ids"] == [here]
    assert set(ok("purge", "--tags", "bird", "--archived", "--json").json()["ids"]) == {gone, here}
    assert run("purge").code == 1


# --- reset --------------------------------------------------------------------------------------------------------


def test_reset_as_documented(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    ok("mount", str(tmp_path / "docs"))
    remember("The kestrel nests.")
    refused = run("reset")
    assert refused.code == 1 and "Safety gate: --confirm is required" in refused.notes
    plan = ok("reset", "--dry-run", "--json")
    assert plan.json()["dry_run"] is True and plan.json()["memory_items"] == 1 and "  Total: " in plan.notes
    done = ok("reset", "--confirm", "--json").json()
    assert (done["status"], done["preserve_mounts"], done["total_records"]) == (
        "ok", True, sum(count for key, count in done.items() if key.startswith(("memory_", "corpus_"))),
    )  # fmt: skip
    assert ok("list", "--json").json() == [] and str(tmp_path / "docs") in ok("mount", "--list").text
    ok("reset", "--confirm", "--clear-mounts")
    assert str(tmp_path / "docs") not in ok("mount", "--list").text
    with change() as store:
        check_index(store)


# --- retain -------------------------------------------------------------------------------------------------------


def later(monkeypatch: pytest.MonkeyPatch, days: float) -> None:
    real = ids.now_seconds
    monkeypatch.setattr(ids, "now_seconds", lambda: real() + 86_400 * days)


def test_what_has_an_end_ends_and_what_is_kept_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    item = remember("The kestrel nests at the tower.")
    ok("retain", item, "until", "10d")
    ok("retain", remember("The kestrel hunts at the mill."), "keep")
    later(monkeypatch, 20)
    assert "tower" not in ok("recall", "kestrel").text and "mill" in ok("recall", "kestrel").text
    ok("retain", item, "keep")
    assert "tower" in ok("recall", "kestrel").text


def test_what_fades_stands_behind_what_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    remember("The kestrel nests at the mill.")
    remember("The kestrel nests at the tower.")
    later(monkeypatch, 30)
    fading, lasting = (one["id"] for one in ok("search", "kestrel nests", "--json").json())
    assert ok("retain", fading, "fade", "0.05", "--json").json()["ids"] == [fading]
    assert [one["id"] for one in ok("search", "kestrel nests", "--json").json()] == [lasting, fading]
    assert "fades by 0.05 a day" in ok("show", fading).text and "Retention" not in ok("show", lasting).text
    ok("retain", fading, "usual")
    assert [one["id"] for one in ok("search", "kestrel nests", "--json").json()] == [fading, lasting]


@pytest.mark.parametrize("words", ["", "keep", "ID", "ID fade", "ID fade 2", "ID fade x", "ID until", "ID until soon",
                                   "ID until 2001-01-01", "ID keep 3", "MEM-ffffffffffff keep"])  # fmt: skip
def test_other_words_are_refused(words: str) -> None:
    item = remember("The kestrel nests.")
    assert run("retain", *words.replace("ID", item).split()).code == 1


# --- noticing -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("The gateway retries twice.", "The gateway retries five times.", "another number"),
        ("The port of the gateway is 8080.", "The port of the gateway is 9090", "another number"),
        ("Deploys freeze on Fridays.", "Deploys freeze on Thursdays.", "another date"),
        ("The release branch is Falcon.", "The release branch is Merlin.", "another name"),
        ("We use JWT for the login.", "We do not use JWT for the login.", "one of them says not"),
        (
            "The cache of the gateway lives in Redis.",
            "the cache of the gateway lives in Redis",
            "nearly the same words",
        ),
        ("We chose Redis for sessions.", "We chose Redis for queues.", ""),
        ("Alice owns the billing service.", "The kestrel nests at the tower.", ""),
    ],
)
def test_remember_notices_what_is_alike(old: str, new: str, why: str) -> None:
    item = remember(old)
    remember("Something else altogether about backups at night.")
    done = ok("remember", new, "--json")
    noticed = [(one["id"], one["why"]) for one in done.json().get("similar", [])]
    assert noticed == ([(item, why)] if why else [])
    assert (item in done.notes) == bool(why)


def test_what_repeats_a_retracted_statement_is_noticed_and_contradicts_nothing() -> None:
    item = remember("The cache of the gateway lives in Redis.")
    ok("retract", item)
    done = ok("remember", "the cache of the gateway lives in Redis!", "--json")
    assert done.json()["similar"] == [{"id": item, "why": "nearly the same words, and it was retracted"}]
    assert f"nearly repeats {item}, which was retracted" in done.notes
    assert "similar" not in ok("remember", "The build takes seven minutes.", "--json").json()
    ok("retract", remember("We use JWT for the login."))
    assert "similar" not in ok("remember", "We do not use JWT for the login.", "--json").json()
    assert ok("conflicts").text == ""


def test_pull_notices_too_and_a_proposal_may_replace() -> None:
    item = remember("The gateway retries twice.")
    done = ok("pull", "--json", stdin="The gateway retries three times.")
    (noticed,) = done.json()["items"][0]["similar"]
    assert (noticed["id"], noticed["why"]) == (item, "another number")
    assert f"contradicts {item} (another number)" in done.notes
    assert f"memctl resolve {noticed['conflict']}" in done.notes
    entry = '[{"content": "The gateway retries %s times.", "title": "t", "why_store": "w", "replaces": "%s"}]'
    ok("pull", stdin=entry % ("four", item))
    assert ok("show", item, "--json").json()["archived"]
    ok("restore", item)
    ok("verify", item)
    assert "a person verified it" in ok("pull", stdin=entry % ("nine", item)).notes
    assert not ok("show", item, "--json").json()["archived"]
