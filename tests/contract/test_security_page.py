"""SECURITY.md names a test beside each attack: they are there."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
PAGE = (TESTS.parent / "SECURITY.md").read_text(encoding="utf-8")


def named() -> list[tuple[str, str]]:
    """The files and functions of the table of attacks; `…` stands for the file named before."""
    section = PAGE.partition("\n## Attacks, and the tests that carry them out\n")[2].partition("\n## ")[0]
    out: list[tuple[str, str]] = []
    for row in section.splitlines():
        cells = [cell.strip() for cell in row.split("|")]
        if len(cells) == 5 and not cells[3].startswith(("test", "---")):
            for words in re.findall(r"`([^`]+)`", cells[3]) or [""]:
                file, _, function = words.partition("::")
                out.append((out[-1][0] if file == "…" else file, function))
    return out


@pytest.mark.parametrize(("file", "function"), named(), ids="::".join)
def test_the_test_of_each_attack_is_there(file: str, function: str) -> None:
    text = (TESTS / file).read_text(encoding="utf-8")
    assert not function or re.search(rf"^(?:async )?def {function}\(", text, re.MULTILINE)


def test_the_table_is_read() -> None:
    assert len(named()) > 20
