"""Policy's families: texts that must be found and that must pass, by language; a third of them is set aside.

The rules are written with the other two thirds in sight. `aside` says which third that is, by a hash of the text, so
that a row stays where it is when others come and go. `python tests/families.py` prints what policy finds.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

HOME = Path(__file__).parent / "data" / "policy"
_HEADING = re.compile(r"\[(\S+) (\S+) ([+-])\]")
_ALPHABETS = {
    "k": "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789",
    "h": "0123456789abcdef",
}


class Row(NamedTuple):
    """One text: of which family and language, whether it must be found, and whether it was set aside."""

    family: str
    language: str
    positive: bool
    text: str
    aside: bool


def _aside(text: str) -> bool:
    return int(sha256(text.encode()).hexdigest(), 16) % 3 == 0


def _value(kind: str, dice: random.Random) -> str:
    """A made-up secret: nothing that anybody uses, and in no file that a scanner reads."""
    if kind != "p":
        return "".join(dice.choice(_ALPHABETS[kind]) for _ in range(dice.choice((24, 32, 40))))
    word = "".join(dice.choice("bdfgklmnprstvz") + dice.choice("aeiou") for _ in range(dice.choice((2, 3, 4)))).title()
    mark, digits = dice.choice("!#$%&*+?@_-."), str(dice.randrange(10, 9999))
    other = "".join(dice.choice(_ALPHABETS["k"]) for _ in range(dice.choice((3, 6, 9))))
    return dice.choice((word + mark + digits, digits + word + mark + other, other + mark + word, word + digits + other))


def _filled(dice: random.Random, match: re.Match[str]) -> str:
    return _value(match[1], dice)


def rows(name: str) -> Iterator[Row]:
    """The rows of a file in `data/policy`."""
    family = language = ""
    positive = False
    for line in (HOME / name).read_text("utf-8").splitlines():
        heading = _HEADING.fullmatch(line)
        if heading:
            family, language, positive = heading[1], heading[2], heading[3] == "+"
        elif line and not line.startswith("# "):
            dice = random.Random(line)
            text = re.sub(r"\{([pkh])\}", partial(_filled, dice), line)
            yield Row(family, language, positive, re.sub(r"(?<!\\)\\n", "\n", text).replace("\\\\", "\\"), _aside(line))


def _tally(rows_: list[tuple[Row, bool]], keep: Callable[[Row], bool]) -> str:
    kept = [hit for row, hit in rows_ if keep(row)]
    return f"{sum(kept):>5}/{len(kept):<3}{100 * sum(kept) / max(len(kept), 1):4.0f}%"


def main(names: list[str], *, quiet: bool) -> None:
    """Print how much of each family is found; of the third that was set aside nothing but figures."""
    from memctl.policy import MemoryPolicy
    from memctl.types import MemoryProposal

    policy = MemoryPolicy()
    seen: list[tuple[Row, bool]] = []
    for row in (row for name in names for row in rows(name)):
        hint = {"source_id": "x"}
        proposal = MemoryProposal(title="", content=row.text, type="pointer", why_store="x", provenance_hint=hint)
        kinds = {f.kind for f in policy.evaluate_proposal(proposal).findings}
        hit = bool(kinds & ({"secret"} if row.family == "credential" else {"injection", "instructional"}))
        seen.append((row, hit))
        if hit != row.positive and not row.aside and not quiet:
            print("MISSED" if row.positive else "ALARM ", row.family, row.language, repr(row.text))
    print(f"{'family':<14}{'found':>13}{'set aside':>13}{'alarms':>13}{'set aside':>13}")
    for family in dict.fromkeys(row.family for row, _ in seen):
        cells = (
            _tally(seen, lambda row, p=positive, a=aside, f=family: (row.family, row.positive, row.aside) == (f, p, a))  # type: ignore[misc]
            for positive in (True, False)
            for aside in (False, True)
        )
        print(f"{family:<14}" + "".join(cells))
    for language in dict.fromkeys(row.language for row, _ in seen):
        cells = (
            _tally(seen, lambda row, a=aside, la=language: (row.language, row.positive, row.aside) == (la, True, a))  # type: ignore[misc]
            for aside in (False, True)
        )
        print(f"{language:<14}" + "".join(cells))


if __name__ == "__main__":
    given = [arg for arg in sys.argv[1:] if arg != "-q"]
    main(given or ["injections.txt", "credentials.txt"], quiet="-q" in sys.argv)
