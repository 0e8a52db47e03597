"""Blotting secrets out of a text: each place where one stands gets the name of its rule."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memctl.policy.rule import Hit

_FEW = 32  # different secrets that are each looked for all over a text; more of them only where words begin
_HEAD = 8  # characters by which such a secret is known, and the shortest that is looked for elsewhere


def blot(text: str, hits: list[Hit]) -> str:
    """Replace the hits' spans, and every other place where the same secret stands, by their rules' names."""
    spans = [(h.start, h.end, h.rule.id) for h in hits]
    spans += _elsewhere(text, {text[start:end]: rule for start, end, rule in reversed(spans) if end - start >= _HEAD})
    out: list[str] = []
    done = 0
    for start, end, rule in sorted(spans, key=lambda s: (s[0], -s[1])):
        if start >= done:
            # Line ends inside a secret stay, so that every other line keeps its number.
            out += [text[done:start], f"[REDACTED:{rule}]", "\n" * text.count("\n", start, end)]
        done = max(done, end)
    return "".join([*out, text[done:]])


def _elsewhere(text: str, secrets: dict[str, str]) -> Iterator[tuple[int, int, str]]:
    """Where these secrets stand in a text, each with its rule's name; cost is linear in the text for any number."""
    if len(secrets) <= _FEW:
        for secret, rule in secrets.items():
            at = text.find(secret)
            while at >= 0:
                yield at, at + len(secret), rule
                at = text.find(secret, at + len(secret))
        return
    by_head: dict[str, list[str]] = {}
    for secret in secrets:
        by_head.setdefault(secret[:_HEAD], []).append(secret)
    for match in _word_starts().finditer(text):
        at = match.start()
        for secret in by_head.get(text[at : at + _HEAD], ()):
            if text.startswith(secret, at):
                yield at, at + len(secret), secrets[secret]


@cache
def _word_starts() -> re.Pattern[str]:
    return re.compile(r"(?<![A-Za-z0-9])\S")
