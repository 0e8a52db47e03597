"""What a project lets pass: rows of `policy.allow` in config.json, and marks in the documents themselves.

A mark is `memctl:allow RULE[,RULE] -- REASON` on the line of the finding. It comes with the document, whoever wrote
that, so it answers to `memctl scan` for any rule, but lets into the store only what could harm its own author: weak
signs of a secret, and personal data. Config.json is the project's own: its rows hold for any rule wherever policy is
asked for a file (`MemoryPolicy.at`).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from memctl.policy.rule import Hit, Rule

#: What every mark begins with; a text without it needs no further look.
MARK = "memctl:allow"


class Allowed(NamedTuple):
    """One row: the rule (its id, or a kind) that is let pass in files whose path fits, and why.

    A path pattern may begin at any folder; its `*` stands for anything, slashes too.
    """

    rule: str
    path: str
    reason: str

    def covers(self, path: str, rule: str, kind: str) -> bool:
        """Whether this row lets a finding pass."""
        if self.rule not in (rule, kind):
            return False
        return fnmatchcase(path, self.path) or fnmatchcase(path, f"*/{self.path}")


def marks(line: str) -> dict[str, str]:
    """The rules that a line lets pass, and why; a mark without a reason lets nothing pass."""
    found: dict[str, str] = {}
    for rules, reason in _mark().findall(line):
        why = reason.strip().removesuffix("-->").removesuffix("*/").strip()
        if any(c.isalnum() for c in why):
            found |= dict.fromkeys((rule.strip() for rule in rules.split(",")), why)
    return found


@lru_cache(maxsize=1)
def _mark() -> re.Pattern[str]:
    return re.compile(MARK + r"[ \t]+([a-z0-9-]+(?:[ \t]*,[ \t]*[a-z0-9-]+)*)[ \t]+--[ \t]+([^\r\n]*)")


class Marked(NamedTuple):
    """A line with marks: where it begins and ends, and the rules that it lets pass, with the reasons."""

    start: int
    end: int
    rules: dict[str, str]


@lru_cache(maxsize=1)
def marked_lines(text: str) -> tuple[Marked, ...]:
    """The lines of a text that carry marks, in order; each is read once, however much is found on it."""
    lines: list[Marked] = []
    at = text.find(MARK)
    while at >= 0:
        start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
        end = len(text) if end < 0 else end
        lines.append(Marked(start, end, marks(text[start:end])))
        at = text.find(MARK, end)
    return tuple(lines)


def marked(text: str, at: int, rule: str) -> str:
    """Why a mark on the line of a finding lets it pass; "" when none does."""
    if MARK not in text:
        return ""
    lines = marked_lines(text)
    nth = bisect_right(lines, at, key=lambda line: line.start) - 1
    return lines[nth].rules.get(rule, "") if nth >= 0 and at <= lines[nth].end else ""


def unmarked(text: str, hits: Iterable[Hit]) -> list[Hit]:
    """The hits of a document that is to be stored without those that a mark lets pass."""
    return [hit for hit in hits if not (_harmless(hit.rule) and marked(text, hit.start, hit.rule.id))]


def _harmless(rule: Rule) -> bool:
    return rule.kind == "pii" or (rule.kind == "secret" and rule.severity < 3)
