"""memctl config: what holds and why, and a file that is replaced as a whole or not at all."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from memctl.cli import load
from memctl.config import KEYS, NAMED_ONLY, VARIABLES, parse_config
from memctl.ops import commands
from support import ok, run, spawn

FILE = Path(".memory/config.json")


@pytest.fixture(autouse=True)
def store() -> None:
    ok("init", "-q")
    FILE.unlink()


def settings(*argv: str, **how: Any) -> dict[str, tuple[Any, str]]:
    rows = ok("config", "show", "--json", *argv, **how).json()["settings"]
    return {row["key"]: (row["value"], row["origin"]) for row in rows}


def test_every_setting_is_shown_with_where_it_comes_from() -> None:
    FILE.write_text('{"pull": {"tier": "mtm"}, "recall": {"budget_tokens": 300}}')
    shown = settings(env={"MEMCTL_BUDGET": "400"})
    assert list(shown) == [key.path for key in KEYS]
    assert shown["recall.budget_tokens"] == (400, "environment MEMCTL_BUDGET")
    assert shown["pull.tier"] == ("mtm", "config file")
    assert shown["recall.frame"] == ("compact", "default")
    assert shown["store.db_path"] == (os.path.abspath(".memory/memory.db"), "the nearest")
    assert settings("--db", "x.db")["store.db_path"] == (os.path.abspath("x.db"), "flag --db")
    assert settings(env={"MEMCTL_DB": "e.db"})["store.db_path"][1] == "environment MEMCTL_DB"
    text = ok("config", "show", "pull").text.splitlines()
    assert text[0] == f"Store:  {os.path.abspath('.memory/memory.db')} (the nearest)"
    assert text[1] == f"File:   {FILE.absolute()}"
    assert text[3].split() == ["pull.tier", "mtm", "config", "file"]
    assert ok("config", "show", "pull.tier").text.splitlines()[3:] == text[3:]


def test_what_of_a_file_does_not_count_is_said() -> None:
    FILE.write_text('{"llm": {"command": "rm"}, "store": {"db_path": "elsewhere.db"}}')
    assert settings()["llm.command"] == ("", "default; the config file's does not count")
    assert settings("--config", str(FILE))["llm.command"] == ("rm", "config file")
    assert settings("--config", str(FILE))["store.db_path"][1] == "config file"


def test_get_prints_the_value_alone() -> None:
    assert ok("config", "get", "recall.frame").text == "compact\n"
    assert ok("config", "get", "policy.require_provenance_for").text == '["mtm", "ltm"]\n'
    assert ok("config", "get", "recall.budget_tokens", "--json").json()["value"] == 2200


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("get",), "the key to get is missing"),
        (("set", "recall.frame"), "the value to set is missing"),
        (("get", "recall"), "recall is a section; memctl config show recall lists its keys"),
        (("get", "budget_tokens"), "there is no setting 'budget_tokens'; did you mean recall.budget_tokens?"),
        (("set", "recall.buget_tokens", "3"), "did you mean recall.budget_tokens?"),
        (("check", "x"), "unexpected argument 'x'"),
        (("get", "recall.frame", "x"), "unexpected argument 'x'"),
        (("set", "recall.budget_tokens", "many"), "recall.budget_tokens: 'many' is not a whole number"),
        (("set", "recall.budget_tokens", "0"), "recall.budget_tokens: must be from 1 to 1000000, not 0"),
        (("set", "pull.tier", "xyz"), "pull.tier: 'xyz' not in"),
        (("set", "store.wal_mode", "perhaps"), "'perhaps' is neither yes nor no"),
        (("set", "policy.rules", "[1"), "policy.rules: it is no JSON"),
        (("set", "policy.rules", "[1]"), "policy.rules: expected list of objects"),
        (("set", "policy.rules", '[{"id": "x"}]'), "policy.rules"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_written(words: tuple[str, ...], message: str) -> None:
    done = run("config", *words)
    assert (done.code, done.out) == (1, b"")
    assert message in done.notes
    assert not FILE.exists()


def test_set_and_unset_keep_all_else_as_it_is() -> None:
    FILE.write_text('{"zebra": {"é": [1, 2.50]}, "recall": {"frame": "full"}, "pull": {}}')
    FILE.chmod(0o640)
    assert ok("config", "set", "recall.budget_tokens", "3000").out == b""
    ok("config", "set", "policy.silenced_rules", "email", "us-ssn")
    ok("config", "set", "store.wal_mode", "no")
    assert json.loads(FILE.read_text()) == {
        "zebra": {"é": [1, 2.5]}, "recall": {"frame": "full", "budget_tokens": 3000}, "pull": {},
        "policy": {"silenced_rules": ["email", "us-ssn"]}, "store": {"wal_mode": False},
    }  # fmt: skip
    assert "é" in FILE.read_text()
    assert FILE.stat().st_mode & 0o777 == 0o640
    for key in ("recall.budget_tokens", "policy.silenced_rules", "store.wal_mode"):
        ok("config", "unset", key)
    assert json.loads(FILE.read_text()) == {"zebra": {"é": [1, 2.5]}, "recall": {"frame": "full"}, "pull": {}}
    assert sorted(os.listdir(".memory")) == [".gitignore", "config.json", "memory.db"]


def test_set_tells_what_goes_before_it() -> None:
    done = ok("config", "set", "recall.budget_tokens", "3000", env={"MEMCTL_BUDGET": "7"})
    assert "MEMCTL_BUDGET is set and goes before it" in done.notes
    assert "counts only in a file that --config names" in ok("config", "set", "llm.command", "claude -p").notes


@pytest.mark.parametrize("broken", [b"{bad", b"[1]", b'{"a": "\xe9"}', b'{"pull": {}, "pull": {"tier": "mtm"}}', b""])
def test_a_file_that_cannot_be_read_is_never_overwritten(broken: bytes) -> None:
    FILE.write_bytes(broken)
    done = run("config", "set", "recall.budget_tokens", "3000")
    assert (done.code, FILE.read_bytes()) == (1, broken)
    assert "cannot use the config file" in done.notes
    assert "memctl config edit" in done.notes
    assert run("config", "check").code == 1


def test_without_a_store_nothing_is_made() -> None:
    os.mkdir("elsewhere")
    done = run("config", "set", "pull.tier", "mtm", "--db", "elsewhere/m.db")
    assert (done.code, os.listdir("elsewhere")) == (1, [])
    assert ok("config", "show", "--db", "elsewhere/m.db").text.startswith("Store:")


def test_a_file_that_was_vouched_for_stays_so() -> None:
    FILE.write_text('{"policy": {"silenced_rules": ["email"]}}')
    ok("trust")
    ok("config", "set", "policy.pii_patterns_enabled", "false")
    assert settings()["policy.pii_patterns_enabled"] == (False, "config file")
    assert settings()["policy.silenced_rules"] == (["email"], "config file")


def test_check_names_everything_that_is_wrong() -> None:
    assert ok("config", "check").text == "no config file: the defaults hold\n"
    FILE.write_text('{"recall": {"budget": 1, "frame": "odd"}, "pul": {}, "pull": {"tier": "mtm"}}')
    done = run("config", "check", env={"MEMCTL_BUDGET": "x"})
    assert done.code == 1
    assert done.text.splitlines() == [
        f"{FILE.absolute()}: recall.frame: 'odd' not in ['compact', 'full', 'none']",
        f"{FILE.absolute()}: unknown key recall.budget; did you mean recall.budget_tokens?",
        f"{FILE.absolute()}: unknown section pul; did you mean pull?",
        "MEMCTL_BUDGET: 'x' is not a whole number",
    ]
    FILE.write_text('{"policy": {"rules": [{"id": "x"}]}}')
    assert "policy.rules" in run("config", "check").text
    FILE.write_text('{"pull": {"tier": "mtm"}}')
    assert ok("config", "check").text == f"{FILE.absolute()}: fine, 1 key(s)\n"


def test_a_value_is_set_beside_a_wrong_one() -> None:
    FILE.write_text('{"recall": {"recency": 7}}')
    done = ok("config", "set", "recall.use", "0.1")
    assert json.loads(FILE.read_text())["recall"] == {"recency": 7, "use": 0.1}
    assert "does not count as long as it is wrong" in done.notes


def test_a_file_of_very_many_names_is_read_at_once() -> None:
    FILE.write_text(json.dumps({"recall": {"use": 0.1}} | {f"x{n}": 1 for n in range(200_000)}))
    assert parse_config(FILE.read_bytes(), str(FILE), whole=True)["x1"] == 1


# --- edit ------------------------------------------------------------------------------------------------------------


def drafts() -> Path:
    """Where texts are kept that are not right yet: in the user's own state folder."""
    return Path(os.environ["HOME"], ".local/state/memctl/drafts")


def edit(script: str) -> Any:
    """Edit with a shell script for an editor, which finds the draft in $1."""
    Path("editor").write_text(f"#!/bin/sh\n{script}\n")
    os.chmod("editor", 0o755)
    return run("config", "edit", env={"EDITOR": os.path.abspath("editor")})


def test_edit_replaces_the_file_when_the_draft_is_right() -> None:
    assert edit("""echo '{"pull": {"tier": "mtm"}}' > "$1" """).code == 0
    assert FILE.read_text() == '{"pull": {"tier": "mtm"}}\n'
    assert edit("true").notes.endswith("is as it was\n")
    assert sorted(os.listdir(".memory")) == [".gitignore", "config.json", "memory.db"]


def test_a_draft_that_is_not_right_is_kept_and_taken_up_again() -> None:
    FILE.write_text("{}")
    done = edit("""echo '{"pull": {"tier":' > "$1" """)
    assert (done.code, FILE.read_text()) == (1, "{}")
    assert "was not changed: line 2, column 1" in done.notes
    (kept,) = drafts().iterdir()
    assert str(kept) in done.notes
    done = edit("""echo '"xyz"}}' >> "$1" """)
    assert (done.code, FILE.read_text()) == (1, "{}")
    assert "'xyz' not in" in done.notes
    assert edit("""sed s/xyz/ltm/ "$1" > made && cat made > "$1" """).code == 0
    assert json.loads(FILE.read_text()) == {"pull": {"tier": "ltm"}}
    assert not kept.exists()


def test_a_draft_that_stood_beside_the_store_is_not_taken_up() -> None:
    Path(f"{FILE}.edit").write_text('{"policy": {"injection_patterns_enabled": false}}')
    assert edit("true").code == 0
    assert "policy" not in FILE.read_text()


def test_a_folder_for_drafts_that_others_may_write_to_is_not_used() -> None:
    drafts().mkdir(parents=True)
    drafts().chmod(0o777)
    assert "open to others" in edit("true").notes
    assert not FILE.exists()


def test_edit_mends_a_broken_file_and_loses_no_change_of_somebody_else() -> None:
    FILE.write_text("{broken")
    assert edit("""grep broken "$1" && echo '{}' > "$1" """).code == 0
    assert FILE.read_text() == "{}\n"
    done = edit(f"""echo '{{"pull": {{}}}}' > {FILE}; echo '{{"recall": {{}}}}' > "$1" """)
    assert (done.code, FILE.read_text()) == (1, '{"pull": {}}\n')
    assert "changed by somebody else" in done.notes
    (kept,) = drafts().iterdir()
    assert kept.read_text() == '{"recall": {}}\n'


def test_an_editor_that_fails_changes_nothing() -> None:
    assert "it ended with 3" in edit("exit 3").notes
    assert run("config", "edit", env={"VISUAL": "no-such-editor-here"}).code == 1
    assert not FILE.exists()


def test_of_many_that_set_at_once_none_is_lost() -> None:
    from concurrent.futures import ThreadPoolExecutor

    keys = [key for key in KEYS if key.section == "recall" and key.type is float]
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda key: spawn("config", "set", key.path, str(key.high)), keys))
    assert [one.code for one in done] == [0] * len(keys)
    assert set(json.loads(FILE.read_text())["recall"]) == {key.name for key in keys}


# --- the table -------------------------------------------------------------------------------------------------------


def test_the_variables_of_keys_are_those_of_the_operations() -> None:
    params = [param for name in commands() for param in load(name).params() if param.arg.env and param.arg.config]
    assert {param.arg.config: param.arg.env for param in params}.items() <= VARIABLES.items()
    assert {*VARIABLES, *NAMED_ONLY} <= {key.path for key in KEYS}


def test_a_value_that_holds_a_secret_is_refused() -> None:
    token = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6"
    done = run("config", "set", "llm.command", f"GITHUB_TOKEN={token} model")
    assert (done.code, b"holds a secret (github-token)" in done.err, token.encode() in done.err) == (1, True, False)
    assert not FILE.exists()
    ok("config", "set", "llm.command", "model --key-from-environment")
