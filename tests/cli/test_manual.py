"""`memctl help --man`: the pages that the wheel brings for `man`."""

import shutil
import subprocess
from pathlib import Path

import pytest

from memctl import __version__
from memctl.ops import TABLE, commands
from support import golden, ok, run

PAGES = ["", *commands()]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_sound_and_says_all(name: str) -> None:
    page = ok("help", "--man", *([name] if name else [])).text
    assert page.isascii()
    title = f"memctl-{name}" if name else "memctl"
    assert f".TH {title.upper()} 1 " in page.replace("\\-", "-")
    shown = page.replace("\\-", "-")
    for param in TABLE[name].load(name).params() if name else ():
        if param.arg.cli and param.arg.flags and not param.arg.word:
            assert f".B {', '.join(param.arg.flags)}" in shown, param.name
    if mandoc := shutil.which("mandoc"):
        done = subprocess.run(
            [mandoc, "-T", "lint", "-W", "warning"], input=page, capture_output=True, text=True, check=False
        )
        assert [line for line in done.stdout.splitlines() if "missing date" not in line] == []


def test_what_would_be_a_request_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    op = TABLE["tag"].load("tag")
    monkeypatch.setattr(op.fn, "__doc__", "Tag.\n\n    .so /etc/passwd\n    'x é \\n ^ ~ `\n")
    page = ok("help", "--man", "tag").text
    assert "\n\\&.so" in page or " .so" in page
    assert "\n.so" not in page
    assert "\n'" not in page
    assert "\\[u00E9] \\en" in page


def test_the_page_of_a_command_reads_as_before() -> None:
    golden("man-scope", ok("help", "--man", "scope").text.replace(__version__, "<version>"))


def test_what_it_does_not_take() -> None:
    assert run("help", "--man", "nonsense").code == 1
    assert run("help", "--man", "tag", "list").code == 1


def test_the_build_writes_them_all(tmp_path: Path) -> None:
    from scripts.lib import man

    man.write(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {f"memctl{name and '-'}{name}.1" for name in PAGES}
