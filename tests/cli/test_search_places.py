"""memctl search says where its words stand, or who said them and when; and what it took an unknown word for."""

import re
import subprocess
from pathlib import Path

import pytest

from memctl.types import MemoryItem
from stores import change
from support import PATIENCE, ok

GUIDE = "# Guide\n\nAll about doors.\n\n" + "Filler line.\n" * 30 + "\n## Footer\n\nThe footer is green.\n"


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = Path("docs")
    folder.mkdir()
    (folder / "guide.md").write_text(GUIDE)
    ok("sync", "docs")
    return folder


def line_of(text: str) -> int:
    return GUIDE.splitlines().index(text) + 1


@pytest.mark.usefixtures("docs")
def test_a_passage_has_the_line_where_its_words_stand() -> None:
    (row,) = ok("search", "footer green", "--json", "-n", "1").json()
    at = line_of("The footer is green.")
    assert row["source_kind"] == "doc"
    assert Path(row["source"]).samefile("docs/guide.md")
    assert row["line_start"] <= row["line"] <= at <= row["line_end"]
    assert f"    docs/guide.md:{row['line']}\n" in ok("search", "footer green").text


@pytest.mark.usefixtures("docs")
def test_places_are_read_by_editors() -> None:
    """The form of `grep -n`, which vim and others take for a list of places."""
    ok("remember", "The footer is blue since May.", "--source", "docs/guide.md:7")
    lines = ok("search", "footer", "--places").text.splitlines()
    places = [re.fullmatch(r"(docs/guide.md):(\d+): (.+)", line) for line in lines]
    assert len(places) == 2
    assert all(places)
    assert "docs/guide.md:7: The footer is blue since May." in lines


@pytest.mark.usefixtures("docs")
def test_vim_jumps_to_them() -> None:
    from shutil import which

    if which("vim") is None:
        pytest.skip("no vim here")
    Path("places").write_bytes(ok("search", "footer", "--places").out)
    command = ["vim", "-es", "-u", "NONE", "-q", "places", "+redir! > at", "+echo expand('%').':'.line('.')", "+qa!"]
    subprocess.run(command, check=False, timeout=PATIENCE, stdin=subprocess.DEVNULL)
    assert Path("at").read_text().strip().startswith("docs/guide.md:")


def test_a_statement_has_who_said_it_and_when() -> None:
    ok("remember", "Zebras are striped.")
    ok("pull", stdin="Zebras are quick, the model says.")
    ok("import", stdin='{"content": "Zebras on Fridays", "provenance": {"source_kind": "chat", "source_id": "s-7"}}')
    text = ok("search", "zebras").text
    for who in ("a person", "a model", "chat s-7"):
        assert re.search(rf"^    {who}, \d{{4}}-\d\d-\d\d$", text, re.MULTILINE)
    row = next(row for row in ok("search", "striped", "--json").json())
    assert (row["source_kind"], row["line"], row["line_start"]) == ("tool", None, None)
    assert row["created_at"]


def test_a_statement_without_a_file_has_its_id_among_places() -> None:
    item_id = ok("remember", "Zebras are striped.").text.strip()
    assert ok("search", "zebras", "--places").text == f"{item_id}: Zebras are striped.\n"


def test_raw_is_called_raw() -> None:
    Path("notes.md").write_text("# Notes\n\nThe zebra is raw.\n")
    ok("ingest", "notes.md")
    text = ok("search", "zebra").text
    assert "[RAW]" in text
    assert "QUARANTINED" not in text
    (row,) = ok("search", "zebra", "--json").json()
    assert (row["quarantined"], row["standing"]) == (True, "raw")


@pytest.mark.usefixtures("docs")
def test_the_public_view_names_no_path() -> None:
    for how in (["--json"], ["--places"], []):
        done = ok("search", "footer green", "--redact", "public", *how)
        assert "guide.md" not in done.text
        assert "SOURCE-1" in done.text


def test_how_many_there_are_is_said_on_stderr() -> None:
    for number in range(12):
        ok("remember", f"zebra number {number}")
    done = ok("search", "zebra", "-n", "3")
    assert done.notes == "Found 3 item(s); 12 or more match, -n shows more\n"
    assert "Found" not in done.text
    assert ok("search", "zebra", "-n", "3", "-q").notes == ""


@pytest.mark.parametrize(
    ("asked", "instead"),
    [("foot", "foot…"), ("fotoer", "footer"), ("ooter", "footer"), ("depoly", "deploys"), ("rotatde", "rotated")],
)
def test_a_guess_at_a_word_is_said(asked: str, instead: str) -> None:
    ok("remember", "The footer is green; whoever deploys it is rotated.")
    assert f"No item has '{asked}'; looked for {instead}\n" in ok("search", asked).notes
    assert f"[recall] No item has '{asked}'; looked for {instead}\n" in ok("recall", asked).notes
    assert "No item has" not in ok("search", "footer").notes


def test_a_guess_tells_nothing_of_what_is_held_back() -> None:
    ok("remember", "The fooler is green.")
    with change() as db:
        db.write(MemoryItem(title="held", content="the footer", injectable=False))
    assert "footer" not in ok("search", "fooer").notes
    assert "looked for fooler" in ok("search", "fooer").notes
