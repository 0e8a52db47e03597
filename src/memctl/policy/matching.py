"""A rule at work in one text: where its keywords stand, where its expression is tried, which matches count."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from re import Match

from memctl.policy.prefilter import FIRST_WORD_BIT, Candidates
from memctl.policy.rule import Rule, lazy_regex

#: What follows a name that is given a value, or compared with one.
_ASSIGNED = lazy_regex(
    r"""(?=([\w.-]{0,120}))\1(?:\[\d{0,4}\])?[\s"'`\])\\]{0,8}(?:string\s{0,3})?(?:[:=>?|,!]|\.=|(?<=\s)["'`])"""
)
#: What a word in Latin letters goes on with.
_ALPHANUMERIC = frozenset("0123456789abcdefghijklmnopqrstuvwxyz")
_NOTHING: frozenset[str] = frozenset()

_WORD = lazy_regex(r"\w+")
_WORD_START = lazy_regex(r"\b\w")
_MANY_POSITIONS = 24  # keywords in one text from which on it pays to remember what was tried around them
_SEEN_BEFORE, _SEEN_AFTER = 32, 48  # characters that checks look at around a match
#: What an expression begins with that matches at the beginning of a word only, where a keyword stands.
_BORDERS = ("\\b", "(?<![A-Za-z0-9])", "(?<!\\w)", "(?:^|(?<=")


class KeywordPositions:
    """Where the keywords and numbers of one text stand, each looked for once.

    low: the text in lower case.
    """

    __slots__ = ("_assigned", "_by_anchor", "_by_word", "_candidates", "_given", "_low", "_numbers")

    def __init__(self, low: str, candidates: Candidates) -> None:
        self._low, self._candidates = low, candidates
        self._by_anchor: dict[int, list[int]] = {}
        self._by_word: dict[bytes, list[int]] = {}
        self._assigned: dict[int, list[int]] = {}
        self._given: dict[int, bool] = {}  # by position, whether a value is given to what stands there
        self._numbers: dict[tuple[int, int, int], list[tuple[int, int]]] = {}

    def keywords(self, anchor: int) -> list[int]:
        """Where the words stand that opened a rule, in order; for a sign, the beginning of the text."""
        positions = self._by_anchor.get(anchor)
        if positions is None:
            if 1 < anchor < FIRST_WORD_BIT:
                positions = [0]
            else:
                words = [b"@"] if anchor == 1 else [word for word, bits in self._candidates.words if bits & anchor]
                if len(words) == 1:
                    positions = self._of_word(words[0])
                else:
                    positions = sorted([place for word in words for place in self._of_word(word)])
            self._by_anchor[anchor] = positions
        return positions

    def _of_word(self, word: bytes) -> list[int]:
        """Where a word stands by itself, not within a longer one; in other scripts, wherever its letters stand."""
        positions = self._by_word.get(word)
        if positions is None:
            self._by_word[word] = positions = []
            low, said = self._low, word.decode("utf-8", "surrogatepass")
            continues = _ALPHANUMERIC if word.isalnum() else _NOTHING
            size = len(said)
            at = low.find(said)
            while at >= 0:
                end = at + size
                if low[end : end + 1] not in continues and (not at or low[at - 1] not in continues):
                    positions.append(at)
                at = low.find(said, end)
        return positions

    def assigned(self, anchor: int) -> list[int]:
        """Those positions of `keywords` after which a value is given to what stands there."""
        positions = self._assigned.get(anchor)
        if positions is None:
            given, match, low = self._given, _ASSIGNED.match, self._low
            positions = []
            for place in self.keywords(anchor):
                if place not in given:
                    given[place] = match(low, place) is not None
                if given[place]:
                    positions.append(place)
            self._assigned[anchor] = positions
        return positions

    def numbers(self, digits: int, before: int, after: int) -> list[tuple[int, int]]:
        """The stretches around numbers of at least `digits` digits, merged where they touch."""
        key = digits, before, after
        found = self._numbers.get(key)
        if found is None:
            self._numbers[key] = found = []
            for start, end, size in self._candidates.numbers:
                if size >= digits:
                    lo = start - before if start > before else 0
                    if found and lo <= found[-1][1]:
                        found[-1] = found[-1][0], end + after
                    else:
                        found.append((lo, end + after))
        return found


class RulePattern:
    """A rule's expression and check, and how it is tried: at word starts, in windows, or over the whole text."""

    __slots__ = ("_at_keyword", "_before", "_check", "_everywhere", "_headed", "_inside", "regex")

    def __init__(self, rule: Rule, *, everywhere: bool) -> None:
        self.regex = re.compile(rule.pattern, re.MULTILINE)
        self._everywhere = everywhere
        self._headed = not everywhere and _all_begin(rule.pattern, "\\b")
        self._inside = rule.before == 0
        self._at_keyword = self._inside and _all_begin(rule.pattern.removeprefix("(?i)"), _BORDERS)
        self._before = rule.reach if 250 < rule.reach <= 1000 else rule.before
        self._check = _check_named(rule.check, rule.kind) if rule.check else None

    def spans(self, hay: str, positions: list[int], reach: int) -> list[tuple[int, int]]:
        """Where the expression matches near keywords at `positions` and the check agrees."""
        if self._inside or self._headed:
            return self._at_starts(hay, positions, reach)
        if self._everywhere:
            return self._counted(self.regex.finditer(hay))
        return self.within(hay, windows(positions, self._before, reach, len(hay)))

    def within(self, hay: str, stretches: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """Where the expression matches in these stretches and the check agrees."""
        matches = self.regex.finditer
        return self._counted(match for lo, hi in stretches for match in matches(hay, lo, hi))

    def _counted(self, matches: Iterable[Match[str]]) -> list[tuple[int, int]]:
        return [m.span(m.lastindex or 0) for m in matches if self._check is None or self._check(m)]

    def _at_starts(self, hay: str, positions: list[int], reach: int) -> list[tuple[int, int]]:
        """The matches that begin inside a keyword's word, or at a word's start at or before a keyword.

        Those are far fewer places than there are characters. Where a text repeats itself, what failed is not tried
        again.
        """
        spans, match, check, inside, at_keyword = [], self.regex.match, self._check, self._inside, self._at_keyword
        before = self._before
        failed: set[str] | None = set() if len(positions) > _MANY_POSITIONS else None
        done, around = 0, ""
        for position in positions:
            if failed is not None:
                around = hay[max(0, position - before - _SEEN_BEFORE) : position + reach + _SEEN_AFTER]
                if around in failed:
                    continue
            if at_keyword and position < done:
                continue
            starts: Iterable[int]
            if at_keyword:
                starts = (position,)
            elif inside:
                word = _WORD.match(hay, max(done, position))
                starts = range(*word.span()) if word else ()
            else:
                starts = [m.start() for m in _WORD_START.finditer(hay, max(done, position - before), position + 1)]
            for start in starts:
                found = match(hay, start, (start if inside else position) + reach)
                if found:
                    if check is None or check(found):
                        spans.append(found.span(found.lastindex or 0))
                    elif failed is not None:
                        failed.add(around)
                    done = found.end()
                    break
            else:
                if failed is not None:
                    failed.add(around)
            done = max(done, position + 1)
        return spans


def _check_named(name: str, kind: str) -> Callable[[Match[str]], bool]:
    """The check of this name for rules of `kind`; no secret is what is published as a sample."""
    home = {"secret": "checks_secrets", "pii": "checks_pii"}.get(kind, "checks_injection")
    checks = import_module(f"memctl.policy.{home}")
    check: Callable[[Match[str]], bool] = getattr(checks, name)
    if kind != "secret":
        return check
    return lambda match: check(match) and not checks.is_published(checks.value_of(match))


def _all_begin(pattern: str, head: str | tuple[str, ...]) -> bool:
    """Whether all top-level alternatives of an expression begin so."""
    if not pattern.startswith(head):
        return False
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
    return all(part.startswith(head) for part in parts)


def windows(positions: list[int], before: int, reach: int, size: int) -> Iterator[tuple[int, int]]:
    """The stretches around `positions`, merged where they touch."""
    lo = hi = 0
    for at in positions:
        if at - before > hi and hi:
            yield lo, hi
            lo = at - before
        elif not hi:
            lo = max(0, at - before)
        hi = min(size, at + reach)
    if hi:
        yield lo, hi
