"""memctl docs and memctl help TOPIC: the documentation, from the package."""

import os
import re
from pathlib import Path

import pytest

import memctl
from memctl import errors
from memctl.cli import load
from memctl.errors import kinds
from memctl.ops import commands
from memctl.ops.start.docs import TOPICS, find_topic, pages
from support import ok, run

ROOT = Path(__file__).resolve().parents[2]


def test_the_pages_are_in_the_package_as_they_are_in_the_repository() -> None:
    package = Path(memctl.__file__).parent
    for path in [*(ROOT / "docs").glob("*.md"), ROOT / "README.md", ROOT / "SECURITY.md", ROOT / "CHANGELOG.md"]:
        assert (package / path.relative_to(ROOT)).read_text().startswith(path.read_text().partition("\n")[0])


def test_without_a_page_it_lists_all_of_them() -> None:
    index = ok("docs").text
    listed = set(re.findall(r"^\| \[([\w-]+)\]", index, re.MULTILINE))
    assert listed == pages().keys() - {"index"}


def test_a_page_is_printed_as_it_is_but_for_remarks_to_its_writers() -> None:
    assert ok("docs", "trust").text == (ROOT / "docs" / "trust.md").read_text()
    assert "<!--" not in ok("docs", "cli").text
    assert ok("docs", "TRUST.md").out == ok("docs", "docs/trust.md").out == ok("docs", "trust").out
    assert ok("docs", "trust", "--json").json()["text"] == ok("docs", "trust").text


def test_a_part_of_a_page() -> None:
    text = ok("docs", "errors#errors-and-exit-status").text
    assert text.startswith("# Errors and exit status\n")
    part = ok("docs", "workspaces#sessions").text
    assert part.startswith("## Sessions\n")
    assert "## Workspaces" not in part


@pytest.mark.parametrize(
    ("words", "first"),
    [
        (("tiers",), "## tier"),
        (("exit", "codes"), "# Errors and exit status"),
        (("block",), "## block"),
        (("glossary",), "# Glossary"),
        (("mcp-security",), "# The server's defences"),
        (("policy",), "usage: memctl policy"),
        (("quarantine", "release"), "usage: memctl quarantine"),
        (("RAGIX",), "## RAGIX"),
        ((), "usage: memctl [global options]"),
    ],
)
def test_help_tells_about_commands_and_topics(words: tuple[str, ...], first: str) -> None:
    assert ok("help", *words).text.startswith(first)


@pytest.mark.parametrize("topic", TOPICS)
def test_every_topic_leads_somewhere(topic: str) -> None:
    assert find_topic(topic)


def test_what_is_no_topic_is_an_error() -> None:
    done = run("help", "frobnicate")
    assert (done.code, done.out) == (1, b"")
    assert "unknown command 'frobnicate'" in done.notes
    done = run("docs", "trsut")
    assert (done.code, done.notes.splitlines()[0]) == (1, "memctl: there is no page 'trsut'; did you mean 'trust'?")
    assert run("docs", "../secret").code == run("docs", "trust#nothing").code == 1


def all_errors() -> list[type[errors.MemctlError]]:
    classes = [kind for kind in vars(kinds).values() if isinstance(kind, type)]
    return [kind for kind in classes if issubclass(kind, errors.MemctlError)]


def test_messages_name_no_file_that_is_not_installed() -> None:
    """A page is named as `memctl docs PAGE`, and there is one."""
    said = [kind.hint + (kind.__doc__ or "") for kind in all_errors()]
    for name in commands():
        op = load(name)
        said += [op.fn.__doc__ or "", *(param.arg.help for param in op.params())]
    text = "\n".join(said)
    assert re.findall(r"(?<!\")docs/[\w-]+\.md", text) == []
    named = re.findall(r"memctl docs ([a-z][\w-]*)", text)
    assert {"mcp", "trust", "embeddings", "mcp-security"} <= set(named) <= pages().keys() | {"the"}


def test_a_terminal_shows_it_with_the_pager() -> None:
    """In a process of its own, whose standard output is a terminal."""
    import pty
    import subprocess
    import sys

    def on_terminal(*argv: str, pager: str) -> bytes:
        leader, follower = pty.openpty()
        with subprocess.Popen(
            [sys.executable, "-m", "memctl", *argv], stdin=follower, stdout=follower, stderr=follower,
            env=os.environ | {"PAGER": pager, "TERM": "xterm"},
        ) as process:  # fmt: skip
            os.close(follower)
            data = b""
            try:
                while piece := os.read(leader, 1 << 16):
                    data += piece
            except OSError:  # Linux says so at the end
                pass
            assert process.wait(30) == 0
        os.close(leader)
        return data

    assert on_terminal("docs", "trust", pager="head -n 1") == b"# Whose store it is\r\n"
    assert on_terminal("help", "recall", pager="head -n 1").startswith(b"usage: memctl recall")
    assert b"adopted" in on_terminal("docs", "trust", pager="no-such-pager-here")
