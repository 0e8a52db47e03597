"""The engine: one text in, hits out. The gate opens rules, patterns run around their keywords, checks decide.

Cost is linear in the length of the text: every pattern is bounded, and windows around keywords never overlap.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from re import Match
from typing import NamedTuple

from memctl.names import PolicyAction
from memctl.policy import normalise
from memctl.policy.gate import SIGNS, Gate, Opening
from memctl.policy.normalise import View
from memctl.policy.rule import Rule

_BEFORE = 80  # characters before a keyword that its rule's pattern may cover, unless the rule reaches farther
_SIGN_BITS = 11
#: Signs that the text may be read in another form.
_DISGUISES = sum(1 << SIGNS.index(sign) for sign in ("#long", "#rot13", "#reversed", "#leet"))
_AS_IT_IS = frozenset(("secret", "pii"))
_WORD = re.compile(r"\w+")
_TOKEN_REACH = 400  # characters after its keyword that a broken token may cover
_FAR = 1000  # characters from where on a rule's secret is a long one, such as a key over many lines
_NEAR = 400  # characters around a hit in which words tell whether an attack is described rather than made


class Hit(NamedTuple):
    """A rule that matched, where in the text as it was given, and what that asks for on the interactive paths."""

    start: int
    end: int
    rule: Rule
    action: PolicyAction


class Engine:
    """A list of rules, ready to scan. Patterns are compiled when their keywords are first met."""

    __slots__ = ("_cues", "_far", "_tokens", "_worded", "compiled", "gate", "rules")

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self.rules = rules
        self.gate = Gate(rules)
        self._cues = [tuple(rule.cue.split()) for rule in rules]
        self._worded = frozenset(i for i, rule in enumerate(rules) if rule.kind != "secret")
        self._tokens = frozenset(
            i
            for i, rule in enumerate(rules)
            if rule.kind == "secret" and rule.severity == 3 and self.gate.anchors[i] >= 1 << _SIGN_BITS
        )
        self._far = {i: rule.reach for i, rule in enumerate(rules) if rule.kind == "secret" and rule.reach >= _FAR}
        self.compiled: dict[int, Pattern] = {}

    def far(self, opening: Opening) -> int:
        """How many characters a secret may go on that began in the text of this opening; 0 when it is no long one."""
        if self._far.keys().isdisjoint(opening.rules):
            return 0
        return max(self._far.get(i, 0) for i in opening.rules)

    def scan(self, text: str, opening: Opening | None = None) -> list[Hit]:
        """All hits in the text and in its disguised forms, by position; never raises."""
        opening = opening or self.gate.open(text)
        hits = self._hits(View(text), opening) if opening.rules else []
        if normalise.odd(text) or opening.signs & _DISGUISES or opening.spaced:
            for view, depth in _views(text, opening):
                hits += self._scan_view(view, depth)
        if not self._worded.isdisjoint(opening.rules):
            view_or_none = normalise.unjoined(text)
            if view_or_none is not None:
                hits += self._scan_view(view_or_none, 0)
        if not self._tokens.isdisjoint(opening.rules) and not any(h.rule.kind == "secret" for h in hits):
            hits += self._broken_tokens(text, opening)
        return _settled(text, hits) if hits else hits

    def _scan_view(self, view: View, depth: int) -> Iterator[Hit]:
        opening = self.gate.open(view.text)
        yield from self._hits(view, opening)
        if depth and opening.shows("#long"):
            for inner in normalise.decoded(view.text):
                for hit in self._scan_view(inner, depth - 1):
                    start, end = view.span(hit.start, hit.end)
                    yield hit._replace(start=start, end=end)

    def _broken_tokens(self, text: str, opening: Opening) -> Iterator[Hit]:
        """Tokens broken over lines, string pieces or groups: looked for only where a token's own keyword stands."""
        low = _lower(text)
        spots = {
            spot
            for i in self._tokens.intersection(opening.rules)
            for spot in _spots(low, opening, self.gate.anchors[i])
            if normalise.looks_broken(text, spot)
        }
        for lo, hi in _windows(sorted(spots), _BEFORE, _TOKEN_REACH, len(text)):
            piece = text[lo:hi]
            for view in filter(None, (normalise.joined(piece), normalise.regrouped(piece))):
                inner = self.gate.open(view.text)
                yield from self._hits(
                    view.shifted(lo), inner._replace(rules=tuple(self._tokens.intersection(inner.rules)))
                )

    def _hits(self, view: View, opening: Opening) -> list[Hit]:
        if not opening.rules:
            return []
        hits: list[Hit] = []
        text, low = view.text, _lower(view.text)
        found: dict[int, list[int]] = {}
        for index in opening.rules:
            if not _cued(low, self._cues[index]):
                continue
            rule = self.rules[index]
            anchor = self.gate.anchors[index]
            spots = found.get(anchor)
            if spots is None:
                found[anchor] = spots = _spots(low, opening, anchor)
            if spots:
                pattern = self.compiled.get(index) or self._compile(index)
                hay = text if rule.kind in _AS_IT_IS else low
                hits += [Hit(*view.span(*span), rule, rule.action) for span in pattern.spans(hay, spots, rule.reach)]
        return hits

    def _compile(self, index: int) -> Pattern:
        self.compiled[index] = made = Pattern(
            self.rules[index], everywhere=1 < self.gate.anchors[index] < 1 << _SIGN_BITS
        )
        return made


class Pattern:
    """A rule's expression and check, and how it is tried: at word starts, in windows, or over the whole text."""

    __slots__ = ("_before", "_check", "_everywhere", "_headed", "regex")

    def __init__(self, rule: Rule, *, everywhere: bool) -> None:
        self.regex = re.compile(rule.pattern, re.MULTILINE)
        self._everywhere = everywhere and not rule.keywords.startswith("#num")
        self._headed = not everywhere and all(part.startswith("\\b") for part in _alternatives(rule.pattern))
        self._before = rule.reach if 250 < rule.reach <= 1000 else _BEFORE
        self._check: Callable[[Match[str]], bool] | None = None
        if rule.check:
            from memctl.policy import checks

            self._check = checks.find(rule.check, rule.kind)

    def spans(self, hay: str, spots: list[int], reach: int) -> list[tuple[int, int]]:
        """Where the expression matches near `spots` and the check agrees."""
        if self._headed:
            matches = self._heads(hay, spots, reach)
        elif self._everywhere:
            matches = list(self.regex.finditer(hay))
        else:
            windows = _windows(spots, self._before, reach, len(hay))
            matches = [match for lo, hi in windows for match in self.regex.finditer(hay, lo, hi)]
        return [m.span(m.lastindex or 0) for m in matches if self._check is None or self._check(m)]

    def _heads(self, hay: str, spots: list[int], reach: int) -> list[Match[str]]:
        """Matches that begin at a word start at or before a keyword: far fewer places than there are characters."""
        matches = []
        match, before, done = self.regex.match, self._before, 0
        for spot in spots:
            for word in _WORD.finditer(hay, max(done, spot - before), spot + 1):
                found = match(hay, word.start(), spot + reach)
                if found:
                    matches.append(found)
                    done = found.end()
                    break
            done = max(done, spot + 1)
        return matches


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


def _cued(low: str, cues: tuple[str, ...]) -> bool:
    """Whether a text holds one of a rule's cues, or the rule has none."""
    for cue in cues:
        if cue in low:
            return True
    return not cues


def _lower(text: str) -> str:
    """Lower case of the same length, whatever the script."""
    low = text.lower()
    return low if len(low) == len(text) else "".join(c if len(c.lower()) != 1 else c.lower() for c in text)


def _spots(low: str, opening: Opening, anchor: int) -> list[int]:
    """Where the words stand that opened a rule, in order; for a sign, the beginning of the text."""
    if anchor == 2:
        return _numbers(low)
    if 1 < anchor < 1 << _SIGN_BITS:
        return [0]
    spots: list[int] = []
    words = ["@"] if anchor == 1 else [w.decode("utf-8", "surrogatepass") for w, bits in opening.words if bits & anchor]
    for word in words:
        at = low.find(word)
        while at >= 0:
            spots.append(at)
            at = low.find(word, at + len(word))
    spots.sort()
    return spots


def _windows(spots: list[int], before: int, reach: int, size: int) -> Iterator[tuple[int, int]]:
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


_NUMBER = re.compile(r"\d[\d ().+/-]{5,}\d")
_ASCII_NUMBER = re.compile(r"[0-9][0-9 ().+/-]{5,}[0-9]")  # the same of ASCII text, found in less time
#: Dates, times, decimals and versions, which no rule about numbers is after.
_EVERYDAY = re.compile(
    r"(?:19|20)\d\d([-/.])\d\d\1\d\d(?: \d\d?)?[-. ]*|\d{1,4}\.\d+|(?:19|20)\d{2} ?- ?(?:19|20)\d{2}|0+|"
    r"\d{1,3}(?:\.\d{1,3}){3}"
)


def _numbers(text: str) -> list[int]:
    """Where numbers of at least seven digits begin."""
    return [
        match.start()
        for match in (_ASCII_NUMBER if text.isascii() else _NUMBER).finditer(text)
        if not _EVERYDAY.fullmatch(match.group()) and sum(map(str.isdigit, match.group())) >= 7
    ]


def _views(text: str, opening: Opening) -> Iterator[tuple[View, int]]:
    """The other forms in which the text must be read, each with how deep encoded runs in it are followed."""
    base = text
    folded = None if text.isascii() else normalise.fold(text)
    if folded is not None:
        yield folded, 1
        base = folded.text
    plain = normalise.unescape(base)
    if plain is not None:
        plain = plain.through(folded)
        yield plain, 1
        again = normalise.fold(plain.text) if not plain.text.isascii() else None
        if again is not None:
            yield again.through(plain), 0
    if opening.shows("#long"):
        for blob in normalise.decoded(text):
            yield blob, 1
    yield from ((view, 0) for view in _games(text, opening))


def _games(text: str, opening: Opening) -> Iterator[View]:
    candidates = [
        normalise.despaced(text) if opening.spaced else None,
        normalise.unhyphenated(text),
        normalise.uncommented(text),
        normalise.rot13(text) if opening.shows("#rot13") else None,
        normalise.backwards(text) if opening.shows("#reversed") else None,
        normalise.unleet(text) if opening.shows("#leet") else None,
    ]
    yield from filter(None, candidates)


def _settled(text: str, hits: list[Hit]) -> list[Hit]:
    """By position, each rule once per place; nothing but secrets inside a secret; quoted attacks only held back."""
    secrets = [h for h in hits if h.rule.kind == "secret"]
    sure = [s for s in secrets if s.rule.severity == 3]
    kept = {
        (h.start, h.end, h.rule.id): weighed(text, h)
        for h in hits
        if not _eclipsed(h, sure if h.rule.kind == "secret" else secrets)
    }
    return [kept[key] for key in sorted(kept)]


def _eclipsed(hit: Hit, secrets: list[Hit]) -> bool:
    """Whether a secret says all there is to say: it covers this weaker secret, or touches this other finding."""
    if hit.rule.kind == "secret":
        return hit.rule.severity < 3 and any(s.start <= hit.start and hit.end <= s.end for s in secrets)
    return any(s.start < hit.end and hit.start < s.end for s in secrets)


#: What a text says that shows an attack, a prompt format or an example instead of making one.
_DESCRIBED = re.compile(
    r"(?i)\b(?:prompt[- ]injection|inject(?:s|ed|ing|ion)\b|jailbreak|attack(?:er|ers|s|ing)?\b|adversar|payload|"
    r"malicious|vulnerab|red[- ]?team|guardrail|example|e\.g\.|template|few-shot|prompt\s*:|stop\s*=|tokenizer)|"
    "```"
)
#: Nobody quotes hidden characters, nor tells a memory to keep an order while describing how that is done.
_NEVER_QUOTED = frozenset(("hidden-characters", "store-as-system", "memory-mark"))


def weighed(text: str, hit: Hit) -> Hit:
    """The hit, held back instead of rejected where the text around it speaks about attacks and formats."""
    if hit.action != "reject" or hit.rule.kind in {"secret", "pii"} or hit.rule.id in _NEVER_QUOTED:
        return hit
    if _DESCRIBED.search(text, max(0, hit.start - _NEAR), hit.end + _NEAR):
        return hit._replace(action="quarantine")
    return hit


@cache
def default_engine() -> Engine:
    """The engine over the built-in rules."""
    from memctl.policy.rules import RULES

    return Engine(RULES)


@cache
def document_engine() -> Engine:
    """The engine over the rules that documents are judged by: theirs may hold mail addresses and telephone numbers."""
    from memctl.policy.rules import RULES

    return Engine(tuple(rule for rule in RULES if rule.kind != "pii" or rule.severity == 3))


#: The pattern lists that the first memctl documented: list name -> (kind, action).
_LISTS = {
    "_SECRET_PATTERNS": ("secret", None),
    "_INJECTION_PATTERNS": ("injection", None),
    "_INSTRUCTIONAL_BLOCK_PATTERNS": ("instructional", "reject"),
    "_INSTRUCTIONAL_QUARANTINE_PATTERNS": ("instructional", "quarantine"),
    "_PII_PATTERNS": ("pii", None),
}


def __getattr__(name: str) -> list[re.Pattern[str]]:
    if name not in _LISTS:
        raise AttributeError(f"module 'memctl.policy.engine' has no attribute {name!r}")
    kind, action = _LISTS[name]
    rows = [r for r in default_engine().rules if r.kind == kind and action in {None, r.action}]
    return [re.compile(row.pattern, re.MULTILINE) for row in rows]
