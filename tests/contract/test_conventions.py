"""docs/conventions.md: what is the same in every command, held over the table of operations."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from memctl.cli import load
from memctl.operation import Param
from memctl.ops import ALIASES, MEANT, commands

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "conventions.md").read_text()
#: Options by the name of the one parameter that they always are.
ONE_MEANING = {
    "--limit": "limit", "--budget": "budget", "--scope": "scope", "--all-scopes": "all_scopes", "--tags": "tags",
    "--tier": "tier", "--type": "type", "--since": "since", "--until": "until", "--as-of": "as_of",
    "--dry-run": "dry_run", "--yes": "yes", "--redact": "redact", "--workspace": "workspace", "-w": "workspace",
    "-n": "limit", "--quarantined": "quarantined", "--llm": "llm", "--embedder": "embedder",
}  # fmt: skip


def params() -> Iterator[tuple[str, Param]]:
    for name in commands():
        for param in load(name).params():
            if param.arg.cli:
                yield name, param


@pytest.mark.parametrize("flag", ONE_MEANING)
def test_an_option_means_the_same_everywhere(flag: str) -> None:
    having = [(name, param) for name, param in params() if flag in param.arg.flags]
    assert having
    assert {param.name for _, param in having} == {ONE_MEANING[flag]}
    assert all(name in ONE_MEANING.values() or flag for name, _ in having)


def test_how_many_is_said_in_one_way() -> None:
    for name, param in params():
        if "--limit" in param.arg.flags:
            assert param.arg.flags == ("-n", "--limit"), name
            assert "-k" in param.arg.aliases, name
        assert "-k" not in param.arg.flags, name


def test_options_are_long_words_and_a_letter_means_one_thing() -> None:
    letters: dict[str, str] = {}
    for name, param in params():
        for flag in param.arg.flags:
            assert re.fullmatch(r"-[a-z]|--[a-z]+(-[a-z]+)*", flag), (name, flag)
            if len(flag) == 2:
                assert letters.setdefault(flag, param.name) == param.name, (name, flag)
        assert not param.arg.flags or any(flag.startswith("--") for flag in param.arg.flags), (name, param.name)


def test_what_is_done_is_a_word() -> None:
    """Not a flag such as `--list`; the flags that older memctl had stand behind words."""
    for name, param in params():
        if param.arg.flags and {"--list", "--remove", "--show", "--delete", "--add"} & set(param.arg.flags):
            assert param.arg.word, name


def test_what_cannot_be_undone_is_dry_without_yes() -> None:
    for name, param in params():
        if param.name in ("yes", "dry_run"):
            assert param.scalar is bool and param.default is False, name


def test_what_asks_for_yes_knows_dry_run() -> None:
    having = {flag: {name for name, param in params() if flag in param.arg.flags} for flag in ("--yes", "--dry-run")}
    assert having["--yes"] <= having["--dry-run"]


def test_paths_go_by_their_place() -> None:
    """But for push and chat, whose first word is a question, and for files that are beside the matter."""
    flagged = {(name, param.name) for name, param in params() if param.arg.path and not param.positional}
    assert {(name, what) for name, what in flagged if what in ("source", "path", "file", "files")} == {
        ("push", "source"), ("chat", "source"),
    }  # fmt: skip


def test_the_page_names_each_of_these_options() -> None:
    for flag in (
        "-n",
        "--limit",
        "--budget",
        "--scope",
        "--tags",
        "--tier",
        "--since",
        "--dry-run",
        "--yes",
        "--redact",
    ):
        assert f"`{flag}" in PAGE


def test_names_of_other_programs_lead_to_commands() -> None:
    assert {*MEANT.values(), *ALIASES.values()} <= set(commands())
    assert not {*MEANT, *ALIASES} & set(commands())
