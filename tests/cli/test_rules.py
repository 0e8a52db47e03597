"""export --format rules: what binds, for the rules file of an AI client; and rules files as a source."""

from pathlib import Path

import pytest

from support import ok, run


@pytest.fixture(autouse=True)
def _store() -> None:
    ok("init")


def test_what_binds_is_written_by_type_the_oldest_first() -> None:
    ok("remember", "Never commit secrets.", "--type", "constraint")
    ok("remember", "We chose NATS.\n\nKafka was too much.", "--type", "decision")
    ok("remember", "Teal is nice.", "--type", "note")
    ok("remember", "Amounts are cents.", "--type", "constraint")
    said = ok("export", "--format", "rules")
    assert said.text == (
        "## Memory (Rules)\n\nWritten by `memctl export --format rules`; what is changed here is lost.\n\n"
        "### Constraints\n\n- Never commit secrets.\n- Amounts are cents.\n\n"
        "### Decisions\n\n- We chose NATS.\n\n  Kafka was too much.\n\n--- End of rules from memctl ---\n"
    )
    assert ok("export", "--format", "rules").text == said.text
    assert ok("export", "--format", "rules", "--json").json()["count"] == 3


def test_nothing_binds() -> None:
    ok("remember", "Teal is nice.", "--type", "note")
    done = ok("export", "--format", "rules")
    assert done.text == ""
    assert "Nothing binds" in done.notes


def test_what_is_to_expire_or_gone_is_no_rule() -> None:
    soon = ok("remember", "Never deploy on Fridays.", "--type", "constraint", "-q").text.strip()
    ok("retain", soon, "until", "2099-01-01")
    gone = ok("remember", "Never deploy on Mondays.", "--type", "constraint", "-q").text.strip()
    ok("forget", gone)
    assert ok("export", "--format", "rules").text == ""


def test_rules_that_were_exported_are_not_read_back() -> None:
    ok("remember", "Never commit secrets.", "--type", "constraint")
    rules = ok("export", "--format", "rules").text
    Path("CLAUDE.md").write_text(f"# Project\n\nThe giraffe is tall.\n\n{rules}\nThe koala sleeps.\n", encoding="utf-8")
    ok("mount", ".")
    ok("sync")
    passages = ok("list", "--passages", "--json").json()
    texts = [ok("show", one["id"], "--json").json() for one in passages]
    read = "\n".join(one["content"] for one in texts if one["provenance"]["source_kind"] == "doc")
    assert "giraffe" in read
    assert "koala" in read
    assert "secrets" not in read


def test_rules_files_of_clients_are_a_source_with_deletions() -> None:
    files = {
        "CLAUDE.md": "Use tabs in zebra files.", "AGENTS.md": "Run koala checks first.",
        ".cursor/rules/ts.mdc": "---\nalwaysApply: true\n---\nPrefer named giraffe exports.",
        ".github/copilot-instructions.md": "Answer in British panda English.",
        "memory/MEMORY.md": "- [Deploy](deploy.md): llama", "memory/deploy.md": "Deploys of llama happen on Tuesdays.",
    }  # fmt: skip
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")
    ok("mount", ".")
    ok("sync")
    for word in ("zebra", "koala", "giraffe", "panda", "Tuesdays"):
        assert word in ok("recall", word).text
    Path("memory/deploy.md").unlink()
    Path(".cursor/rules/ts.mdc").unlink()
    ok("sync")
    for word in ("giraffe", "Tuesdays"):
        assert word not in ok("recall", word).text


def test_rules_go_to_standard_output() -> None:
    assert "no other format" in run("export", "--format", "rules", "-o", "folder").notes
    assert run("export", "--format", "rules", "--complete").code == 1
