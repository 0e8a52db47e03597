"""Corpora: versions of document sets, and what differs between two of them or two stores."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.store.documents.versions import VersionFile, drift
from stores import change
from support import golden, ok, run

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


@pytest.fixture(autouse=True)
def synced(scratch: Path) -> Path:
    docs = scratch / "docs"
    (docs / "api").mkdir(parents=True)
    for name in ("guide.md", "api/auth.md", "api/keys.md", "old.md"):
        (docs / name).write_text(f"# {name}\n\nThis tells of {name}.\n")
    ok("sync", "docs")
    ok("corpus", "register", "v1", "docs")
    (docs / "api" / "auth.md").write_text("# auth\n\nTokens are rotated every hour.\n")
    (docs / "old.md").unlink()
    (docs / "new.md").write_text("# new\n\nThis is new.\n")
    (docs / "api" / "keys.md").rename(docs / "keys.md")
    ok("sync", "docs")
    return docs


def drifted(*argv: str) -> dict[str, Any]:
    found: dict[str, Any] = ok("corpus", "drift", *argv, "--json").json()
    return found


def said(found: dict[str, Any]) -> dict[str, str]:
    return {one["path"]: one["change"] for one in found["documents"]}


CHANGED = {"api/auth.md": "changed", "keys.md": "moved", "new.md": "added", "old.md": "removed"}


def test_drift_between_a_version_and_now_and_between_two_versions() -> None:
    ok("corpus", "register", "v2", "docs", "--parent", "v1", "--label", "The manual")
    for other in ("v2", "docs"):
        found = drifted("v1", other)
        assert said(found) == CHANGED
        counts = {key: found[key] for key in ("added", "removed", "changed", "moved", "unchanged", "drift")}
        assert counts == {"added": 1, "removed": 1, "changed": 1, "moved": 1, "unchanged": 1, "drift": 0.75}
        assert [one["path"] for one in found["folders"]] == [".", "api"]
        assert found["folders"][1]["changed"] == 1
    assert said(drifted("v2", "docs")) == {}
    assert drifted("v2", "v2")["drift"] == 0
    golden("corpus-drift", ok("corpus", "drift", "v1", "v2").text)
    golden("corpus-drift-json", ok("corpus", "drift", "v1", "v2", "--json").text)
    golden("corpus-list-json", ok("corpus", "list", "--json").text)
    assert ok("corpus", "show", "v1", "--json").json()["children"] == ["v2"]
    assert [one["path"] for one in ok("corpus", "show", "v1", "--json").json()["documents"]] == [
        "api/auth.md", "api/keys.md", "guide.md", "old.md",
    ]  # fmt: skip
    assert [one["corpus_id"] for one in ok("stats", "--json").json()["corpora"]] == ["v1", "v2"]


def test_drift_between_two_stores_writes_to_neither(scratch: Path) -> None:
    ok("sync", "docs", "--db", "b.db")
    ok("corpus", "register", "v1", "docs", "--db", "b.db")
    before = (scratch / "b.db").read_bytes()
    assert said(drifted("v1", "--with", "b.db")) == CHANGED
    assert (scratch / "b.db").read_bytes() == before
    unknown = run("corpus", "drift", "v1", "v9", "--with", "b.db")
    assert (unknown.code, "'v9' in b.db, which has v1\n" in unknown.notes) == (1, True)
    assert run("corpus", "drift", "v1", "--with", "nowhere.db").code == 1
    (scratch / "text.db").write_text("no database")
    refused = run("corpus", "drift", "v1", "--with", "text.db")
    assert (refused.code > 0, refused.out, "Traceback" in refused.notes) == (True, b"", False)


def test_what_is_filed_through_a_workspace_can_be_registered(scratch: Path) -> None:
    ok("workspace", "set", "crew", "--corpus", "c1")
    (scratch / "more.md").write_text("# More\n\nThe cache is warm.\n")
    ok("ingest", "more.md", "-w", "crew")
    ok("corpus", "register", "c1")
    assert [one["path"] for one in ok("corpus", "show", "c1", "--json").json()["documents"]] == ["more.md"]
    (scratch / "more.md").write_text("# More\n\nThe cache is cold now.\n")
    ok("ingest", "more.md", "-w", "crew")
    assert ok("corpus", "show", "c1", "--json").json()["corpus"]["doc_count"] == 1
    ok("corpus", "register", "c1")
    assert "cold" in ok("search", "cache", "-w", "crew").text


def test_a_complete_export_and_undo_know_versions() -> None:
    ok("import", "--db", "b.db", stdin=ok("export", "--complete").out)
    assert said(drifted("v1", "--with", "b.db")) == {}
    ok("corpus", "remove", "v1")
    assert ok("corpus", "list", "--json").json()["corpora"] == []
    ok("undo")
    assert said(drifted("v1", "docs")) == CHANGED


def test_a_corpus_knows_the_folder_that_it_is(scratch: Path) -> None:
    """Undo takes the folder back with the version; one that was filed through a workspace has none."""
    assert said(drifted("v1")) == CHANGED
    assert ok("corpus", "register", "v1", "--json").json()["corpus"]["folder"] == str((scratch / "docs").resolve())
    assert said(drifted("v1")) == {}
    (scratch / "other").mkdir()
    (scratch / "other" / "x.md").write_text("# X\n\nAn x is a y.\n")
    ok("sync", "other")
    ok("corpus", "register", "v1", "other")
    assert ok("corpus", "show", "v1").text.splitlines()[-2].endswith("/other")
    ok("undo")
    assert ok("corpus", "list", "--json").json()["corpora"][0]["folder"].endswith("/docs")
    with change() as db:
        db.run("DELETE FROM memory_events")
    assert "drift takes two" in run("corpus", "drift", "v1").notes


def test_versions_never_run_in_a_circle() -> None:
    ok("corpus", "register", "v2", "docs", "--parent", "v1")
    for name, parent in (("v1", "v2"), ("v1", "v1"), ("v3", "v9")):
        assert run("corpus", "register", name, "docs", "--parent", parent).code == 1
    assert ok("corpus", "register", "v2", "docs", "--json").json()["corpus"]["parent_corpus_id"] == "v1"


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["register"], "the corpus is missing"),
        (["register", "v9"], "no document of the store is filed under it"),
        (["register", "v9", "nowhere"], "no document of the store is below nowhere"),
        (["register", "v1", ""], "is empty"),
        (["register", "", "docs"], "is empty"),
        (["register", TOKEN, "docs"], "policy refuses"),
        (["show", "v9"], "no corpus is called 'v9'"),
        (["drift", "v1", "v9"], "no corpus is called 'v9' in the store, which has v1"),
        (["list", "--parent", "v1"], "--parent is for register only"),
        (["show", "v1", "v2"], "unexpected argument 'v2'"),
    ],
)
def test_errors(argv: list[str], words: str) -> None:
    done = run("corpus", *argv)
    assert (done.code, done.out) == (1, b"")
    assert words in done.notes
    assert TOKEN not in done.notes


FILES = st.dictionaries(st.sampled_from("abcdef"), st.sampled_from(["1", "2", "3"]))


@given(old=FILES, new=FILES)
def test_each_document_is_told_once_and_rightly(old: dict[str, str], new: dict[str, str]) -> None:
    before, after = ([VersionFile(path, digest, 1) for path, digest in files.items()] for files in (old, new))
    found = drift(before, after)
    assert sorted([one.path for one in found] + [one.was for one in found if one.was]) == sorted(
        old.keys() | new.keys()
    )
    for one in found:
        kind = one.change
        assert (one.path in old, one.path in new) == {
            "added": (False, True), "removed": (True, False), "moved": (False, True)
        }.get(kind, (True, True))  # fmt: skip
        if kind in ("changed", "unchanged"):
            assert (old[one.path] == new[one.path]) == (kind == "unchanged")
        if kind == "moved":
            assert old[one.was] == new[one.path] and one.was not in new
