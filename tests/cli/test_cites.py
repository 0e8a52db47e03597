"""Facts that know what they cite: they are stale when it changed, moved or is gone, and fresh when it is back."""

import json
import time
from pathlib import Path

import pytest

from folders import write
from memctl import MemoryItem, MemoryStore, ids
from stores import open_read
from support import ok, run

AUTH = """\
LIMIT = 3


def check(token):
    if token:
        return True
    return False


class Store:
    def open(self, path):
        return path

    def close(self):
        return None
"""
GUIDE = "# Guide\n\nInstall with pip.\n\n## Limits\n\nTokens last 15 minutes.\n"


@pytest.fixture
def project(scratch: Path) -> Path:
    """A project with code and a guide, synced."""
    write(scratch / "src" / "auth.py", AUTH)
    write(scratch / "guide.md", GUIDE)
    ok("sync", ".")
    return scratch


def remember(*argv: str) -> str:
    return ok("remember", "-q", *argv).text.strip()


def states() -> dict[str, str]:
    """The state of what is cited, by its words; without what is only noted."""
    store = open_read(".memory/memory.db")
    try:
        found = store.rows("SELECT cited, state FROM memory_citations WHERE state <> 'noted'")
    finally:
        store.close()
    return dict(found)


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    write(path, text.replace(old, new))
    ok("sync", ".")


@pytest.mark.parametrize(
    ("said", "cited"),
    [
        ("The check at src/auth.py:5 is naive.", "src/auth.py:5"),
        ("The check (src/auth.py:4-7) is naive.", "src/auth.py:4-7"),
        ("The check in src/auth.py#L4-L7 is naive.", "src/auth.py#L4-L7"),
        ("`check` in src/auth.py is naive.", "`check`"),
        ("Callers of check() do not catch anything.", "check()"),
        ("See auth.py, line 5: naive.", "auth.py, line 5"),
    ],
)
def test_a_statement_is_stale_when_its_function_changed_and_no_other_is(project: Path, said: str, cited: str) -> None:
    remember(said)
    other = remember("`Store.open` gives the path back.")
    assert states() == {cited: "fresh", "`Store.open`": "fresh"}
    change(project / "src" / "auth.py", "return True", "return token > LIMIT")
    assert states() == {cited: "changed", "`Store.open`": "fresh"}
    block = ok("recall", "naive check catch open path").text
    assert f"; cited {cited} changed today" in block
    assert "Store.open` changed" not in block, other
    change(project / "src" / "auth.py", "return token > LIMIT", "return True")
    assert set(states().values()) == {"fresh"}
    assert "changed today" not in ok("recall", "naive check").text


def test_lines_that_move_within_their_file_stay_fresh(project: Path) -> None:
    remember("Lines src/auth.py:4-7 decide.")
    remember("Tokens are short-lived.", "--cites", "guide.md:7")
    write(project / "guide.md", "# Guide\n\nA new paragraph.\n" + GUIDE.partition("\n")[2])
    change(project / "src" / "auth.py", "LIMIT = 3\n", "import os\n\nLIMIT = 3\n")
    assert states() == {"src/auth.py:4-7": "fresh", "guide.md:7": "fresh"}
    change(project / "guide.md", "15 minutes", "20 minutes")
    assert states()["guide.md:7"] == "changed"


def test_a_renamed_file_keeps_its_references(project: Path) -> None:
    remember("`check` in src/auth.py is naive.")
    (project / "src" / "auth.py").rename(project / "src" / "login.py")
    ok("sync", ".")
    assert states() == {"`check`": "fresh"}
    change(project / "src" / "login.py", "return True", "return 1")
    assert states() == {"`check`": "changed"}


def test_what_moved_to_another_file_and_what_is_gone_is_told(project: Path) -> None:
    remember("`check` in src/auth.py is naive.")
    body = AUTH.partition("def check")[2].partition("\n\n\nclass")[0]
    write(project / "src" / "tokens.py", f"def check{body}\n")
    change(project / "src" / "auth.py", f"def check{body}", "")
    assert states() == {"`check`": "moved"}
    assert "cited `check` moved to tokens.py today" in ok("recall", "naive check").text
    change(project / "src" / "auth.py", "LIMIT = 3\n", f"LIMIT = 3\n\n\ndef check{body}\n")
    assert states() == {"`check`": "fresh"}
    (project / "src" / "auth.py").unlink()
    (project / "src" / "tokens.py").unlink()
    ok("sync", ".")
    assert "cited `check` disappeared today" in ok("recall", "naive check").text
    write(project / "src" / "auth.py", AUTH)
    ok("sync", ".")
    assert states() == {"`check`": "fresh"}


def test_a_statement_made_before_its_file_is_read_is_tied_by_the_next_sync(scratch: Path) -> None:
    remember("`check` in src/auth.py is naive.")
    write(scratch / "notes.md", "Something.\n")
    remember("The notes say little.", "--cites", "notes.md")
    assert states() == {"`check`": "open", "src/auth.py": "open", "notes.md": "open"}
    write(scratch / "src" / "auth.py", AUTH)
    ok("sync", ".")
    assert states() == {"`check`": "fresh", "notes.md": "fresh"}
    change(scratch / "notes.md", "Something", "Nothing")
    assert states()["notes.md"] == "changed"


def test_a_path_in_passing_is_stale_only_when_the_file_is_gone(project: Path) -> None:
    remember("guide.md is for users.")
    change(project / "guide.md", "15", "20")
    assert states() == {"guide.md": "fresh"}
    (project / "guide.md").unlink()
    ok("sync", ".")
    assert states() == {"guide.md": "gone"}


def test_a_name_that_several_files_define_is_tied_to_none(project: Path) -> None:
    write(project / "src" / "other.py", "def check():\n    return 1\n")
    ok("sync", ".")
    remember("check() is naive.")
    assert states() == {"check()": "open"}


def test_verify_renews_and_undo_takes_that_back(project: Path) -> None:
    item = remember("`check` is naive.")
    ok("verify", item)
    change(project / "src" / "auth.py", "return True", "return 1")
    assert states() == {"`check`": "changed"}
    assert ok("verify", item, "--json").json()["ids"] == [item]
    assert states() == {"`check`": "fresh"}
    ok("undo")
    assert states() == {"`check`": "changed"}
    change(project / "src" / "auth.py", "def check", "def checked")
    ok("verify", item)
    assert states() == {}


def test_undo_of_a_sync_takes_staleness_back(project: Path) -> None:
    remember("`check` is naive.")
    change(project / "src" / "auth.py", "return True", "return 1")
    ok("undo")
    assert states() == {"`check`": "fresh"}


def test_days_are_told_and_a_stale_fact_stands_behind_a_fresh_one(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stale = remember("The check of tokens is naive: `check`.")
    fresh = remember("The check of tokens is old: `Store.open`.")
    change(project / "src" / "auth.py", "return True", "return 1")
    later = time.time() + 3 * 86400
    monkeypatch.setattr(ids, "now_seconds", lambda: later)
    text = ok("recall", "check of tokens").text
    assert "cited `check` changed 3 days ago" in text
    assert text.index("Store.open") < text.index("is naive:"), (stale, fresh)


def test_models_and_edits_are_tied_too(project: Path) -> None:
    item = ok("pull", "--json", stdin="The limit at src/auth.py:5 is naive.\n").json()["items"][0]["id"]
    assert states() == {"src/auth.py:5": "fresh"}
    ok("edit", item, "--content", "`Store.close` gives nothing.")
    assert states() == {"`Store.close`": "fresh"}
    ok("purge", item, "--yes")
    assert states() == {}


def test_cites_names_files_that_are_there(project: Path) -> None:
    for wrong in ("nowhere.py:3", "guide.md:9-3", "src", " "):
        failed = run("remember", "Something.", "--cites", wrong)
        assert failed.code == 1
        assert b"--cites" in failed.err


def test_a_complete_export_brings_references_along(project: Path) -> None:
    remember("`check` is naive.", "--cites", "guide.md:7")
    data = ok("export", "--complete", "-q").out
    ok("import", "-q", "--db", "other.db", stdin=data)
    lines = [line for line in data.splitlines() if json.loads(line).get("record") == "citation"]
    assert len(lines) == 2
    assert ok("export", "--complete", "-q", "--db", "other.db").out == data


def test_other_languages_are_outlined(scratch: Path) -> None:
    source = "package a\n\nfunc Open(p string) string {\n\treturn p\n}\n\nfunc Close() {\n\tdone()\n}\n"
    write(scratch / "a.go", source)
    ok("sync", ".")
    remember("`Open` in a.go echoes.")
    remember("`Close` in a.go ends.")
    change(scratch / "a.go", "return p", 'return p + "x"')
    assert states() == {"`Open`": "changed", "`Close`": "fresh"}


def test_search_says_what_became_of_what_a_statement_cites(project: Path) -> None:
    item = remember("The check of tokens is naive: `check`.")
    said = remember("The check of tokens is old.")
    before = ids.timestamp()
    change(project / "src" / "auth.py", "return True", "return 1")
    ok("sync")
    rows = {row["id"]: row for row in ok("search", "check of tokens", "--json").json()}
    assert rows[item]["stale"] == ["cited `check` changed today"] and "stale" not in rows[said]
    assert "    cited `check` changed today\n" in ok("search", "check of tokens").text
    assert "changed today" not in ok("search", "check of tokens", "--as-of", before).text
    ok("verify", item)
    assert "stale" not in ok("search", "check of tokens", "--json").text


def test_what_a_program_writes_is_tied_too(project: Path) -> None:
    with MemoryStore(".memory/memory.db") as store:
        item = store.write_item(MemoryItem(content="Tokens are checked by `check`."))
        assert states() == {"`check`": "fresh"}
        store.update_item(item.id, {"content": "`Store.close` gives nothing."})
        assert states() == {"`Store.close`": "fresh"}


@pytest.mark.parametrize("lines", ["900", "1-900", "2-3"])
def test_lines_that_are_not_there_are_refused(project: Path, lines: str) -> None:
    """Also lines where nothing stands; of a file that was not synced yet, too."""
    write(project / "later" / "new.py", AUTH)
    for path in ("src/auth.py", "later/new.py"):
        done = run("remember", "Tokens are checked.", "--cites", f"{path}:{lines}")
        assert (done.code, done.out) == (1, b"") and "has no such lines" in done.notes
    write(project / "later" / "text.pdf", "%PDF-1.4 no line of it is known before a sync")
    assert remember("Tokens are checked there.", "--cites", "later/text.pdf:3")


def test_a_call_with_its_class_is_a_symbol_and_no_file(project: Path) -> None:
    remember("Store.open() of src/auth.py takes a path.")
    assert states() == {"Store.open()": "fresh"}
    write(project / "src" / "auth.py", AUTH.replace("return path", "return str(path)"))
    ok("sync")
    assert states()["Store.open()"] == "changed"
