"""The engine: one text in, hits out. The gate opens rules, patterns run around their keywords, checks decide.

Cost is linear in the length of the text: every pattern is bounded, and windows around keywords never overlap.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from re import Match
from typing import NamedTuple

from memctl.names import PolicyAction
from memctl.policy import normalise
from memctl.policy.gate import SIGNS, Gate, Opening
from memctl.policy.normalise import View
from memctl.policy.rule import Rule

_BEFORE = 80  # characters before a keyword in which a broken token may begin
_SIGN_BITS = len(SIGNS)
#: How many digits a number has at least that opens a rule, by the sign's bit.
_DIGITS = {1 << SIGNS.index(sign): digits for sign, digits in {"#num": 7, "#num9": 9, "#num12": 12}.items()}
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

    __slots__ = ("_begun", "_cues", "_far", "_tokens", "_worded", "compiled", "gate", "rules")

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self.rules = rules
        self.gate = Gate(rules)
        self._cues = [tuple(rule.cue.split()) for rule in rules]
        self._begun = [tuple(cue.lstrip(".") for cue in cues) for cues in self._cues]  # a point may begin the next line
        self._worded = frozenset(i for i, rule in enumerate(rules) if rule.kind != "secret")
        self._tokens = frozenset(
            i
            for i, rule in enumerate(rules)
            if rule.kind == "secret"
            and rule.severity == 3
            and self.gate.anchors[i] >= 1 << _SIGN_BITS
            and not rule.pattern.startswith(("(?i", "(?<![A-Za-z0-9])(?i"))  # found by a name, not by the token itself
        )
        self._far = {i: rule.reach for i, rule in enumerate(rules) if rule.kind == "secret" and rule.reach >= _FAR}
        self.compiled: dict[int, Pattern] = {}

    def far(self, text: str, opening: Opening) -> int:
        """How many characters a secret may go on that began in the text of this opening; 0 when it is no long one."""
        if not opening.rules or self._far.keys().isdisjoint(opening.rules):
            return 0
        low = text.lower()
        return max(self._far[i] if i in self._far and _cued(low, self._cues[i]) else 0 for i in opening.rules)

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
        rules = [i for i in self._tokens.intersection(opening.rules) if _cued(low, self._begun[i])]
        anchors = {self.gate.anchors[i] for i in rules}
        spots = {spot for anchor in anchors for spot in _spots(low, opening, anchor, {})}
        spots = {spot for spot in spots if normalise.looks_broken(text, spot)}
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
        seen: dict[bytes, list[int]] = {}
        for index in opening.rules:
            if not _cued(low, self._cues[index]):
                continue
            rule = self.rules[index]
            anchor = self.gate.anchors[index]
            hay = text if rule.kind in _AS_IT_IS else low
            if anchor in _DIGITS:
                numbers = [number[:2] for number in opening.numbers if number[2] >= _DIGITS[anchor]]
                spans = (self.compiled.get(index) or self._compile(index)).of_numbers(hay, numbers, rule.reach)
            else:
                spots = found.get(anchor)
                if spots is None:
                    found[anchor] = spots = _spots(low, opening, anchor, seen)
                if not spots:
                    continue
                spans = (self.compiled.get(index) or self._compile(index)).spans(hay, spots, rule.reach)
            if spans:
                hits += [Hit(*view.span(*span), rule, rule.action) for span in spans]
        return hits

    def _compile(self, index: int) -> Pattern:
        self.compiled[index] = made = Pattern(
            self.rules[index], everywhere=1 < self.gate.anchors[index] < 1 << _SIGN_BITS
        )
        return made


class Pattern:
    """A rule's expression and check, and how it is tried: at word starts, in windows, or over the whole text."""

    __slots__ = ("_before", "_check", "_everywhere", "_headed", "_inside", "regex")

    def __init__(self, rule: Rule, *, everywhere: bool) -> None:
        self.regex = re.compile(rule.pattern, re.MULTILINE)
        self._everywhere = everywhere
        self._headed = not everywhere and all(part.startswith("\\b") for part in _alternatives(rule.pattern))
        self._inside = rule.before == 0
        self._before = rule.reach if 250 < rule.reach <= 1000 else rule.before
        self._check: Callable[[Match[str]], bool] | None = None
        if rule.check:
            from memctl.policy import checks

            self._check = checks.find(rule.check, rule.kind)

    def spans(self, hay: str, spots: list[int], reach: int) -> list[tuple[int, int]]:
        """Where the expression matches near `spots` and the check agrees."""
        if self._inside:
            matches = self._insides(hay, spots, reach)
        elif self._headed:
            matches = self._heads(hay, spots, reach)
        elif self._everywhere:
            matches = list(self.regex.finditer(hay))
        else:
            matches = self._within(hay, _windows(spots, self._before, reach, len(hay)))
        return self._counted(matches)

    def of_numbers(self, hay: str, numbers: list[tuple[int, int]], reach: int) -> list[tuple[int, int]]:
        """Where the expression matches in or close around a number and the check agrees."""
        return self._counted(self._within(hay, _around(numbers, self._before, reach, len(hay))))

    def _within(self, hay: str, windows: Iterable[tuple[int, int]]) -> list[Match[str]]:
        matches = self.regex.finditer
        return [match for lo, hi in windows for match in matches(hay, lo, hi)]

    def _counted(self, matches: list[Match[str]]) -> list[tuple[int, int]]:
        return [m.span(m.lastindex or 0) for m in matches if self._check is None or self._check(m)]

    def _insides(self, hay: str, spots: list[int], reach: int) -> list[Match[str]]:
        """Matches that begin inside a keyword's word."""
        matches = []
        match, done = self.regex.match, 0
        for spot in spots:
            word = _WORD.match(hay, max(done, spot))
            for start in range(*word.span()) if word else ():
                found = match(hay, start, start + reach)
                if found:
                    matches.append(found)
                    done = found.end()
                    break
        return matches

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


def _spots(low: str, opening: Opening, anchor: int, seen: dict[bytes, list[int]]) -> list[int]:
    """Where the words stand that opened a rule, in order; for a sign, the beginning of the text.

    seen: where words stand that were asked for before, to be filled.
    """
    if 1 < anchor < 1 << _SIGN_BITS:
        return [0]
    spots: list[int] = []
    for word in [b"@"] if anchor == 1 else [word for word, bits in opening.words if bits & anchor]:
        places = seen.get(word)
        if places is None:
            seen[word] = places = _places(low, word.decode("utf-8", "surrogatepass"))
        spots += places
    spots.sort()
    return spots


def _places(low: str, word: str) -> list[int]:
    places = []
    at = low.find(word)
    while at >= 0:
        places.append(at)
        at = low.find(word, at + len(word))
    return places


def _around(numbers: list[tuple[int, int]], before: int, after: int, size: int) -> list[tuple[int, int]]:
    """The stretches around numbers, merged where they touch."""
    windows: list[tuple[int, int]] = []
    for start, end in numbers:
        lo, hi = max(0, start - before), min(size, end + after)
        if windows and lo <= windows[-1][1]:
            windows[-1] = windows[-1][0], hi
        else:
            windows.append((lo, hi))
    return windows


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
        normalise.undigited(text) if opening.spaced else None,
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
