"""A rule's expression at work: where it is tried around its keywords, and what its check makes of the matches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from re import Match

from memctl.policy.heads import beginnings
from memctl.policy.rule import Rule

_WORD = re.compile(r"\w+")
_OFTEN = 200  # texts in which a pattern was tried before it pays to know with which letters it begins
_MANY = 24  # keywords in one text from which on it pays to remember what was tried around them
_SEEN_BEFORE, _SEEN_AFTER = 32, 48  # characters that checks look at around a match
#: What an expression begins with that matches at the beginning of a word only, where a keyword stands.
_BORDERS = ("\\b", "(?<![A-Za-z0-9])", "(?<!\\w)", "(?:^|(?<=")
_HEAD = re.compile(r"\b\w")
_ANY = re.compile(r"\w")


class Pattern:
    """A rule's expression and check, and how it is tried: at word starts, in windows, or over the whole text."""

    __slots__ = (
        "_at_spot", "_before", "_check", "_everywhere", "_headed", "_heads_at", "_inside", "_insides_at", "_tried",
        "regex",
    )  # fmt: skip

    def __init__(self, rule: Rule, *, everywhere: bool) -> None:
        self.regex = re.compile(rule.pattern, re.MULTILINE)
        self._everywhere = everywhere
        self._headed = not everywhere and _all_begin(rule.pattern, "\\b")
        self._inside = rule.before == 0
        self._at_spot = self._inside and _all_begin(rule.pattern.removeprefix("(?i)"), _BORDERS)
        self._heads_at, self._insides_at = _HEAD, _ANY
        self._tried = 0
        self._before = rule.reach if 250 < rule.reach <= 1000 else rule.before
        self._check: Callable[[Match[str]], bool] | None = None
        if rule.check:
            from memctl.policy import checks

            self._check = checks.find(rule.check, rule.kind)

    def spans(self, hay: str, spots: list[int], reach: int) -> list[tuple[int, int]]:
        """Where the expression matches near `spots` and the check agrees."""
        self._tried += 1
        if self._tried == _OFTEN:
            self._heads_at, self._insides_at = _begun(beginnings(self.regex.pattern))
        if self._inside or self._headed:
            return self._at_starts(hay, spots, reach)
        if self._everywhere:
            return self._counted(self.regex.finditer(hay))
        return self._counted(self._within(hay, windows(spots, self._before, reach, len(hay))))

    def within(self, hay: str, stretches: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """Where the expression matches in these stretches and the check agrees."""
        return self._counted(self._within(hay, stretches))

    def _within(self, hay: str, windows: Iterable[tuple[int, int]]) -> Iterator[Match[str]]:
        matches = self.regex.finditer
        return (match for lo, hi in windows for match in matches(hay, lo, hi))

    def _counted(self, matches: Iterable[Match[str]]) -> list[tuple[int, int]]:
        return [m.span(m.lastindex or 0) for m in matches if self._check is None or self._check(m)]

    def _at_starts(self, hay: str, spots: list[int], reach: int) -> list[tuple[int, int]]:
        """The matches that begin inside a keyword's word, or at a word's start at or before a keyword.

        Those are far fewer places than there are characters. Where a text repeats itself, what failed is not tried
        again.
        """
        spans, match, check, inside, at_spot = [], self.regex.match, self._check, self._inside, self._at_spot
        repeats: set[str] | None = set() if len(spots) > _MANY else None
        done, around = 0, ""
        for spot in spots:
            if repeats is not None:
                around = hay[max(0, spot - self._before - _SEEN_BEFORE) : spot + reach + _SEEN_AFTER]
                if around in repeats:
                    continue
            if at_spot and spot < done:
                continue
            for start in (spot,) if at_spot else self._starts(hay, spot, done):
                found = match(hay, start, (start if inside else spot) + reach)
                if found:
                    if check is None or check(found):
                        spans.append(found.span(found.lastindex or 0))
                    elif repeats is not None:
                        repeats.add(around)
                    done = found.end()
                    break
            else:
                if repeats is not None:
                    repeats.add(around)
            done = max(done, spot + 1)
        return spans

    def _starts(self, hay: str, spot: int, done: int) -> Sequence[int]:
        """Where a match may begin that belongs to the keyword at `spot`, from `done` on."""
        if not self._inside:
            found = self._heads_at.finditer(hay, max(done, spot - self._before), spot + 1)
        else:
            word = _WORD.match(hay, max(done, spot))
            if word is None:
                return ()
            found = self._insides_at.finditer(hay, *word.span())
        return [start.start() for start in found]


@cache
def _begun(letters: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Where a match can begin with one of these letters: at a word's start, and anywhere."""
    return (re.compile(rf"\b{letters}"), re.compile(letters)) if letters else (_HEAD, _ANY)


def _all_begin(pattern: str, head: str | tuple[str, ...]) -> bool:
    """Whether all top-level alternatives of an expression begin so."""
    return pattern.startswith(head) and all(part.startswith(head) for part in _alternatives(pattern))


def _alternatives(pattern: str) -> list[str]:
    """The top-level alternatives of an expression."""
    parts, depth, at, in_set = [""], 0, 0, False
    while at < len(pattern):
        c = pattern[at : at + 2] if pattern[at] == "\\" else pattern[at]
        if in_set:
            in_set = c != "]"
        elif c == "[":
            in_set = True
        elif c in "()":
            depth += 1 if c == "(" else -1
        if c == "|" and not depth and not in_set:
            parts.append("")
        else:
            parts[-1] += c
        at += len(c)
    return parts


def windows(spots: list[int], before: int, reach: int, size: int) -> Iterator[tuple[int, int]]:
    """The stretches around `spots`, merged where they touch."""
    lo = hi = 0
    for at in spots:
        if at - before > hi and hi:
            yield lo, hi
            lo = at - before
        elif not hi:
            lo = max(0, at - before)
        hi = min(size, at + reach)
    if hi:
        yield lo, hi
