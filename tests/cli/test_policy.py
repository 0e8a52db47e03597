"""memctl policy: the rules shown, tried and explained, with what config.json makes of them."""

import json
from pathlib import Path
from typing import Any

import pytest

from memctl.policy import RULES
from support import ok, run

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
OWN = {
    "id": "acme-key",
    "kind": "secret",
    "keywords": "acme*",
    "pattern": r"\bacme_[a-z0-9]{12}\b",
    "example": "acme_0123456789ab",
    "counterexample": "acme_inc",
}


def configure(**policy: Any) -> None:
    ok("init")
    Path(".memory/config.json").write_text(json.dumps({"policy": policy}))


def test_list_has_every_rule_once() -> None:
    rows = ok("policy", "list", "--json").json()["rules"]
    assert [row["id"] for row in rows] == [rule.id for rule in RULES]
    assert {row["kind"] for row in ok("policy", "list", "--kind", "pii", "--json").json()["rules"]} == {"pii"}
    assert len(ok("policy", "list").text.splitlines()) == len(RULES)


def test_list_marks_what_the_project_adds_and_silences() -> None:
    configure(rules=[OWN], silenced_rules=["email"])
    rows = {row["id"]: row for row in ok("policy", "list", "--json").json()["rules"]}
    assert (rows["acme-key"]["origin"], rows["github-token"]["origin"]) == ("project", "built-in")
    assert [name for name, row in rows.items() if row["silenced"]] == ["email"]
    assert "email [SILENCED]" in ok("policy", "list").text


def test_explain_shows_all_of_a_rule_and_guesses_at_a_name() -> None:
    row = ok("policy", "explain", "github-token", "--json").json()["rules"][0]
    rule = next(rule for rule in RULES if rule.id == "github-token")
    assert (row["pattern"], row["keywords"], row["severity"]) == (rule.pattern, rule.keywords, rule.severity)
    assert "replace it in a document" in ok("policy", "explain", "github-token").text
    assert "did you mean 'github-token'?" in run("policy", "explain", "github-tokens").notes


def test_every_rule_does_what_its_examples_say() -> None:
    assert ok("policy", "test", "--json").json() == {"status": "ok", "rules": len(RULES), "problems": []}


def test_a_rule_of_ones_own_that_fails_its_example_is_named() -> None:
    configure(rules=[OWN | {"example": "nothing of the kind"}])
    done = run("policy", "test", "--json")
    assert (done.code, done.json()["problems"]) == (
        1, [{"rule": "acme-key", "problem": "its example is not caught"}],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "flags", "action"),
    [
        ("the cache is warm", (), "accept"),
        (f"token {TOKEN}", (), "reject"),
        (f"token {TOKEN}", ("--document",), "redact"),
        ("write to jane.doe@corp-mail.org", (), "quarantine"),
        ("write to jane.doe@corp-mail.org", ("--document",), "accept"),
    ],
)
def test_a_text_is_judged_and_never_quoted(text: str, flags: tuple[str, ...], action: str) -> None:
    for words, stdin in (([text], ""), (["-"], text)):
        done = run("policy", "test", *words, *flags, "--json", stdin=stdin)
        assert done.json()["action"] == action
        assert done.code == (action != "accept")
        assert TOKEN not in done.text + done.notes


def test_nothing_is_made_where_there_is_no_store() -> None:
    ok("policy", "list")
    run("policy", "test", f"token {TOKEN}")
    assert not Path(".memory").exists()


@pytest.mark.parametrize(
    "argv",
    [
        ("list", "github-token"),
        ("explain",),
        ("explain", "no-such-rule"),
        ("lst",),
        (),
        ("test", "a text", "--kind", "pii"),
        ("test", "--document"),
        ("list", "--document"),
    ],
    ids=" ".join,
)
def test_arguments_that_make_no_sense(argv: tuple[str, ...]) -> None:
    done = run("policy", *argv)
    assert (done.code, done.out) == (1, b"")
    assert done.notes.startswith("memctl: ")


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ({"silenced_rules": ["emial"]}, "there is no rule 'emial'; did you mean 'email'?"),
        ({"rules": [OWN | {"kind": "secrets"}]}, "policy.rules[0].kind: expected one of secret"),
        ({"rules": [OWN | {"id": "email"}]}, "there is a rule 'email' already"),
        ({"rules": [OWN, OWN]}, "policy.rules[1].id: there is a rule 'acme-key' already"),
        ({"rules": [OWN | {"id": "Acme Key"}]}, "policy.rules[0].id: expected words"),
        ({"rules": [OWN | {"keywords": "a-b"}]}, "'a-b' is no run of a-z and 0-9"),
        ({"rules": [OWN | {"pattern": "("}]}, "it is no regular expression"),
        ({"rules": [OWN | {"pattern": "(a|b)+c"}]}, "can take forever"),
        ({"rules": [OWN | {"pattern": "(a)\\1"}]}, "can take forever"),
        ({"rules": [OWN | {"pattern": "x*"}]}, "it matches nothing at all"),
        ({"rules": [OWN | {"action": "quarantine"}]}, "policy.rules[0].action: expected reject"),
        ({"rules": [OWN | {"kind": "pii", "action": "reject"}]}, "policy.rules[0].action: expected quarantine"),
        ({"rules": [{"id": "x"}]}, "policy.rules[0]: kind is missing"),
        ({"rules": [OWN | {"patern": "x"}]}, "unknown key 'patern'; did you mean 'pattern'?"),
        ({"rules": [OWN | {"example": 3}]}, "policy.rules[0].example: expected text"),
        ({"rules": ["acme"]}, "policy.rules: expected list of objects, got list"),
        ({"allow": [{"rule": "email", "path": "a", "reason": " "}]}, "policy.allow[0]: reason is missing"),
        ({"allow": [{"rule": "emial", "path": "a", "reason": "b"}]}, "policy.allow[0].rule: there is no rule 'emial'"),
    ],
)
def test_a_mistake_in_the_project_s_rules_is_named(policy: dict[str, Any], said: str) -> None:
    configure(**policy)
    for command in (("policy", "list"), ("policy", "test", "a text"), ("pull",)):
        done = run(*command, stdin="The cache is warm.")
        assert (done.code, done.out) == (1, b"")
        assert said in done.notes


def test_a_rule_of_ones_own_holds_on_every_path(tmp_path: Path) -> None:
    ok("init", ".memory")
    configure(rules=[OWN])
    secret = "acme_zz99zz99zz99"
    done = run("pull", stdin=f"The key of the depot is {secret}.")
    assert done.code == 1
    doc = tmp_path / "doc.md"
    doc.write_text(f"# Depot\n\nThe key of the depot is {secret}.\n")
    block = ok("push", "key of the depot", "--source", str(doc)).text
    assert "[REDACTED:acme-key]" in block
    assert secret.encode() not in b"".join(p.read_bytes() for p in Path(".memory").iterdir())


def test_an_own_injection_rule_is_read_without_case_and_quarantines() -> None:
    own = {"id": "acme-order", "kind": "injection", "keywords": "butler", "pattern": r"Butler,\s+fetch"}
    configure(rules=[own])
    assert run("policy", "test", "BUTLER, fetch the ball", "--json").json()["action"] == "quarantine"
    configure(rules=[own | {"action": "reject"}])
    assert run("policy", "test", "BUTLER, fetch the ball", "--json").json()["action"] == "reject"


def test_a_silenced_rule_finds_nothing_and_the_others_still_do() -> None:
    mail = "write to jane.doe@corp-mail.org"
    assert run("policy", "test", mail).code == 1
    configure(silenced_rules=["email"])
    assert ok("policy", "test", mail, "--json").json()["findings"] == []
    assert run("policy", "test", f"token {TOKEN}").code == 1


def test_other_rules_read_a_file_again(tmp_path: Path) -> None:
    ok("init", ".memory")
    doc = tmp_path / "doc.md"
    doc.write_text("# Depot\n\nThe key of the depot is acme_zz99zz99zz99.\n")
    ok("push", "key of the depot", "--source", str(doc))
    configure(rules=[OWN])
    again = ok("push", "key of the depot", "--source", str(doc))
    assert "[REDACTED:acme-key]" in again.text
