"""Redaction views: what leaves by who may see it, in every field."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memctl.lifecycle import jsonl
from memctl.policy import MemoryPolicy
from memctl.policy.redaction import Redaction
from memctl.store.documents.passages import SourcePosition
from memctl.types import MemoryItem, MemoryProvenance
from support import ok, operation

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
POLICY = MemoryPolicy()
SAMPLES = {
    "path": ["/srv/jane/plans", "~/jobs/plans", "src/auth/login", r"C:\Users\jane\plans", "../up/and/away", "/etc"],
    "email": ["jane.doe@corp-mail.org"],
    "file": ["budget.xlsx", "notes-2026.md", "app.log"],
    "ip": ["10.11.12.13", "2001:0db8:85a3:0000:0000:8a2e:0370:7334"],
    "host": ["vault.corp", "build.eu.internal", "srv-01", "db2"],
    "hash": ["sha256:" + "ab" * 32, "cd" * 20],
}
INSIDE = {"path", "email", "file"}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in SAMPLES.items() for text in texts])
@pytest.mark.parametrize("view", ["S0", "public", "S2", "internal", "S3", "full"])
def test_each_class_by_view(view: str, name: str, text: str) -> None:
    shown = Redaction(view, POLICY).text(f"see {text}, then rest")
    stays = view in ("S3", "full") or (view in ("S2", "internal") and name in INSIDE)
    assert (text in shown) == stays
    assert shown.startswith("see ")
    assert shown.endswith(", then rest")


@pytest.mark.parametrize(
    "text", ["and/or", "read/write", "version 1.2.3", "https://example.org/a/b", "12:30:45", "e.g. this", "a local bus"]
)
def test_plain_words_stay_in_public(text: str) -> None:
    assert Redaction("public", POLICY).text(f"say {text} again") == f"say {text} again"


def line() -> dict[str, object]:
    item = MemoryItem(
        id="MEM-00000000000a", title="Plan of vault.corp in /srv/jane/plans", content=f"Old {TOKEN} at 10.11.12.13",
        tags=["srv-01", "plans"], entities=["jane.doe@corp-mail.org"], scope="/srv/jane/proj", corpus_id="db-1",
        links=[{"rel": "supersedes", "to": "MEM-00000000000b"}], superseded_by="MEM-00000000000c", rule_id="vault.corp",
        provenance=MemoryProvenance("doc", "/srv/jane/a.md", ["/srv/jane/a.md:0"], ["sha256:" + "ab" * 32]),
    )  # fmt: skip
    return jsonl.make_line(item, SourcePosition(0, 1, 2, "In /srv/jane/plans"), "")


@pytest.mark.parametrize("view", ["public", "internal"])
def test_every_field_is_covered(view: str) -> None:
    shown = Redaction(view, POLICY).record(line())
    said = json.dumps(shown)
    gone = [TOKEN, "vault.corp", "10.11.12.13", "abab", "srv-01", "db-1"]
    gone += ["jane", "/srv", "MEM-"] if view == "public" else []
    assert [word for word in gone if word in said] == []
    assert list(shown) == list(line())
    jsonl.read_item(shown)


def test_full_is_as_it_is() -> None:
    given = line()
    assert Redaction("full", POLICY).record(given) == given


def test_an_id_has_one_name_in_one_answer() -> None:
    redaction = Redaction("public", POLICY)
    first = redaction.record(line())
    assert first["id"] == redaction.text("MEM-00000000000a") == "ITEM-1"
    assert redaction.text("see MEM-00000000000d") != redaction.text("see MEM-00000000000e")


@settings(max_examples=60)
@given(st.text(alphabet="ab./\\:@~-_ 1é漢\n", max_size=200))
def test_any_text_is_taken_and_public_says_no_more_than_internal(text: str) -> None:
    for view in ("public", "internal"):
        once = Redaction(view, POLICY).text(text)
        assert once.count("\n") <= text.count("\n")


def test_an_export_leaves_as_its_view_shows_it() -> None:
    ok("pull", "--title", "Host", stdin="The build runs on build.internal, see /srv/jane/plans.")
    full, inside, public = (ok("export", "--redact", view).text for view in ("full", "S2", "public"))
    assert full == ok("export").text
    assert "build.internal" not in inside
    assert "/srv/jane/plans" in inside
    assert "jane" not in public
    assert "[REDACTED:path]" in public
    assert ok("import", "-", stdin=public, env={"MEMCTL_DB": "other/memory.db"}).code == 0


def test_search_and_the_block_leave_as_their_view_shows_them(tmp_path: Path) -> None:
    for name, host in (("one", "build.internal"), ("two", "vault.corp")):
        (tmp_path / f"{name}.md").write_text(
            f"# Runner {name}\n\nThe runner {name} talks to {host}, see /srv/{name}/x.\n"
        )
    ok("push", "runner", "--source", str(tmp_path))
    hidden = [str(tmp_path), "build.internal", "vault.corp", "/srv/", "MEM-"]
    for argv in (
        ("search", "runner"), ("search", "runner", "--json"), ("search", "runner", "--explain"), ("recall", "runner"),
        ("recall", "runner", "--json"), ("push", "runner"),
    ):  # fmt: skip
        full = ok(*argv).text
        assert any(word in full for word in hidden)
        assert full == ok(*argv, "--redact", "S3").text or "generated_at" in full
        public = ok(*argv, "--redact", "public")
        assert [word for word in hidden if word in public.text + public.notes] == []
        assert "[REDACTED:host]" in public.text
    block = ok("recall", "runner", "--redact", "S0").text
    lines = {line.partition(" >")[0] for line in block.splitlines()}
    assert {"[ITEM-1] SOURCE-1:1-3", "[ITEM-2] SOURCE-2:1-3"} <= lines
    block = ok("recall", "runner", "--redact", "S0", "--frame", "full").text
    assert {"[path:SOURCE-1 chunk:0", "[path:SOURCE-2 chunk:0"} <= {line.strip()[:22] for line in block.splitlines()}


@pytest.mark.parametrize("argv", [("search", "runner"), ("recall", "runner")], ids=" ".join)
def test_other_scopes_are_named_in_the_full_view_only(argv: tuple[str, ...]) -> None:
    ok("pull", "--scope", "host.corp", stdin="The runner is warm.")
    assert "host.corp" in ok(*argv).notes
    assert "host.corp" not in ok(*argv, "--redact", "internal").notes


def test_a_redacted_recall_counts_the_use_of_what_it_showed() -> None:
    item = ok("pull", "--json", stdin="The runner talks to build.internal.").json()["item_ids"][0]
    ok("recall", "runner", "--redact", "public")
    assert ok("show", item, "--json").json()["usage_count"] == 1


@pytest.fixture
def salaries(tmp_path: Path) -> None:
    """A document in the store whose path says whose it is; its words do not."""
    folder = tmp_path / "home" / "alice smith" / "notes"
    folder.mkdir(parents=True)
    (folder / "salary-bob.txt").write_text("The zanzibar figure rises by ten a year.\n")
    ok("push", "zanzibar", "--source", str(folder), "--scope", "notes")


@pytest.mark.parametrize(
    "argv",
    [
        ("export",), ("export", "--json"), ("search", "zanzibar", "--all-scopes"),
        ("search", "zanzibar", "--all-scopes", "--json"), ("search", "zanzibar", "--all-scopes", "--explain"),
        ("search", "zanzibar", "--all-scopes", "--as-of", "2100-01-01"),
        ("recall", "zanzibar", "--all-scopes"), ("recall", "zanzibar", "--all-scopes", "--json"),
        ("push", "zanzibar", "--scope", "notes"),
    ],
    ids=" ".join,
)  # fmt: skip
@pytest.mark.usefixtures("salaries")
def test_titles_tags_and_scopes_made_of_a_path_are_paths(argv: tuple[str, ...]) -> None:
    words = ("alice", "salary", "bob", "notes")
    assert [word for word in words if word in ok(*argv).text]
    public = ok(*argv, "--redact", "public")
    assert "zanzibar figure" in public.text
    assert [word for word in words if word in public.text.casefold()] == []
    assert "alice" not in public.notes


@pytest.mark.usefixtures("salaries")
def test_the_servers_export_leaves_as_its_view_shows_it() -> None:
    from memctl.context import open_context

    export = operation("export")

    with open_context(".memory/memory.db") as ctx:
        (found,) = list(export(ctx, redact="public").lines())
    assert (found["title"], found["tags"], found["scope"]) == ("[REDACTED:path]", ["text", "[REDACTED:path]"],
                                                               "[REDACTED:path]")  # fmt: skip


@pytest.mark.parametrize(
    ("title", "path", "shown"),
    [
        ("salary-bob", "/n/salary-bob.txt", "[REDACTED:path]"),
        ("Salary-Bob > May", "/n/salary-bob.txt", "[REDACTED:path] > May"),
        ("salary-bob [1/3]", "/n/salary-bob.txt", "[REDACTED:path] [1/3]"),
        ("salary-bob.txt", "/n/salary-bob.txt", "[REDACTED:path]"),
        ("salary", "C:\\n\\salary.txt", "[REDACTED:path]"),
        ("A new cache", "/n/a.md", "A new cache"),
        ("Guide", "", "Guide"),
    ],
)
def test_a_title_that_begins_with_the_name_of_its_file(title: str, path: str, shown: str) -> None:
    line = {"title": title, "provenance": {"source_id": path}}
    assert Redaction("public", POLICY).record(line)["title"] == shown
    assert Redaction("internal", POLICY).record(line)["title"] == title
