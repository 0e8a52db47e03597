"""What other programs left in a store or a file, and what is there already in another state: clear answers."""

import json
import math
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from stores import STORE
from support import ok, run

SEA = "The sea is blue."
LINK = {"src_id": "MEM-aaaaaaaaaaaa", "dst_id": "MEM-bbbbbbbbbbbb", "rel": "supports"}
KEEP = {"item_id": "MEM-aaaaaaaaaaaa", "kind": "keep", "rate": 0}
WHEN = "2026-01-01T00:00:00+00:00"


def remember(text: str = SEA) -> str:
    return ok("remember", text).text.strip()


@pytest.mark.parametrize("value", ["9e999", "-9e999", "7"])
def test_a_confidence_that_is_none_leaves_as_one(value: str) -> None:
    """Infinity is no JSON: what reads it elsewhere refuses the whole line."""
    remember()
    with closing(sqlite3.connect(STORE)) as other, other:
        other.execute(f"UPDATE memory_items SET confidence = {value}")
    for words in (("export",), ("list", "--json"), ("search", "sea", "--json"), ("export", "--complete")):
        told = ok(*words).text
        assert "Infinity" not in told
    found = json.loads(ok("export").text)["confidence"]
    assert math.isfinite(found)
    assert 0 <= found <= 1
    assert "1 item(s) have values" in run("doctor").notes


@pytest.mark.parametrize("given", ["Infinity", "NaN", "1e999", "-1", '"high"'])
def test_a_line_with_such_a_confidence_is_named(given: str) -> None:
    line = f'{{"title": "t", "content": "The sea is wide.", "confidence": {given}}}\n'
    done = run("import", stdin=line.encode())
    assert (done.code, "on line 1" in done.notes) == (1, True)


@pytest.mark.parametrize(
    ("kind", "record"), [("link", LINK | {"created_at": WHEN}), ("retention", KEEP | {"set_at": WHEN})]
)
def test_what_stands_beside_an_item_that_is_not_here_is_said(kind: str, record: dict[str, object]) -> None:
    """It comes in, as a store of another program may have it; and it can be taken away."""
    remember()
    lines = [{"record": "export", "version": 1}, {"record": kind, **record}]
    given = "".join(json.dumps(line) + "\n" for line in lines).encode()
    for words in (["--dry-run"], []):
        done = ok("import", "--json", *words, stdin=given)
        assert done.json()["records"] == {kind: 1}
        assert "beside an item that is not here" in done.notes
    ok("doctor", "--fix")
    assert "Rows of items that are not there" not in run("doctor").notes


def test_no_note_is_a_folder_too(tmp_path: Path) -> None:
    remember()
    folder = tmp_path / "notes"
    ok("export", "--format", "markdown", "-o", str(folder), "--scope", "nowhere")
    assert folder.is_dir()
    assert "no note" in run("import", str(folder)).notes


def test_what_was_retracted_and_put_away_comes_back_by_a_person_alone() -> None:
    item = remember()
    ok("retract", item)
    ok("forget", item)
    done = run("pull", stdin=json.dumps([{"content": SEA, "why_store": "it is so"}]).encode())
    assert "a person said that it is wrong" in done.notes
    assert json.loads(ok("list", "--json").text) == []
    assert remember() != item


def test_salvage_does_not_send_people_to_salvage(tmp_path: Path) -> None:
    remember()
    junk = tmp_path / "junk.db"
    junk.write_bytes(os.urandom(5000))
    done = run("salvage", str(junk), "new.db")
    assert (done.code, "no item can be read" in done.notes, "memctl salvage" in done.notes) == (1, True, False)
    assert not os.path.exists("new.db")
    taken = run("salvage", STORE, str(junk))
    assert (taken.code, "--force" in taken.notes) == (1, False)
    assert junk.stat().st_size == 5000


def test_others_may_write_while_an_import_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    from memctl.lifecycle import import_

    remember()
    judge, written = import_._judge_line, []

    def meanwhile(*given: object) -> object:
        with closing(sqlite3.connect(STORE, timeout=0)) as other, other:
            other.execute("UPDATE memory_items SET confidence = 0.7")
            written.append(True)
        return judge(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(import_, "_judge_line", meanwhile)
    lines = "".join(json.dumps({"content": f"The port of worker {n} is {n}."}) + "\n" for n in range(5))
    assert ok("import", "--json", stdin=lines.encode()).json()["imported"] == 5
    assert len(written) == 5


def test_an_import_is_one_run() -> None:
    remember()
    lines = "".join(json.dumps({"content": f"The port of worker {n} is {n}."}) + "\n" for n in range(1100))
    done = ok("import", "--json", stdin=lines.encode()).json()
    assert done["imported"] == 1100
    ok("undo", done["run"])
    assert [one["title"] for one in json.loads(ok("list", "--json").text)] == [SEA]
    again = ok("import", "--json", "--dry-run", stdin=lines.encode()).json()
    assert (again["imported"], "run" in again) == (1100, False)
