"""Policy's families: texts that must be found and that must pass, by language; a third of them is set aside.

The rules are written with the other two thirds in sight. `aside` says which third that is, by a hash of the text, so
that a row stays where it is when others come and go. `python -m tests.families` prints what policy finds.
"""

from __future__ import annotations

import random
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
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


def main(files: list[str]) -> None:
    """Print how much of each family is found; of the third that was set aside nothing but figures."""
    from memctl.policy import MemoryPolicy
    from memctl.types import MemoryProposal

    policy = MemoryPolicy()
    seen: defaultdict[tuple[str, bool, bool], list[int]] = defaultdict(lambda: [0, 0])
    tongues: defaultdict[tuple[str, str, bool], list[int]] = defaultdict(lambda: [0, 0])
    for row in (row for name in files for row in rows(name)):
        found = policy.evaluate_proposal(
            MemoryProposal(
                title="", content=row.text, type="pointer", why_store="x", provenance_hint={"source_id": "x"}
            )
        ).findings
        hit = bool(
            {f.kind for f in found} & ({"secret"} if row.family == "credential" else {"injection", "instructional"})
        )
        for table, key in (
            (seen, (row.family, row.positive, row.aside)),
            (tongues, (row.family, row.language, row.aside)),
        ):
            if table is seen or row.positive:
                table[key][0] += 1
                table[key][1] += hit
        if hit != row.positive and not row.aside and "-q" not in sys.argv:
            print(
                "MISSED" if row.positive else "ALARM ",
                row.family,
                row.language,
                repr(row.text),
                [f.rule for f in found],
            )
    print(f"{'family':<14}{'found':>14}{'set aside':>14}{'alarms':>12}{'set aside':>12}")
    for family in dict.fromkeys(key[0] for key in seen):
        cells = [seen[family, positive, aside] for positive in (True, False) for aside in (False, True)]
        print(f"{family:<14}" + "".join(f"{hit:>6}/{size:<3}{100 * hit / max(size, 1):4.0f}%" for size, hit in cells))
    for aside in (False, True):
        by: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
        for (_, language, where), (size, hit) in tongues.items():
            if where == aside:
                by[language][0] += size
                by[language][1] += hit
        print("set aside:" if aside else "in sight: ", " ".join(f"{k} {h}/{n}" for k, (n, h) in by.items()))


if __name__ == "__main__":
    main([arg for arg in sys.argv[1:] if arg != "-q"] or ["injections.txt", "credentials.txt"])
