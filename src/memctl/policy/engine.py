"""The engine: one text in, hits out. The gate opens rules, patterns run around their keywords, checks decide.

Cost is linear in the length of the text: every pattern is bounded, and windows around keywords never overlap.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice

from memctl.policy import normalise
from memctl.policy.clauses import Clause, Clauses
from memctl.policy.gate import SIGNS, Gate, Opening
from memctl.policy.normalise import View
from memctl.policy.pattern import Pattern
from memctl.policy.rule import Hit, Rule
from memctl.policy.settle import settled
from memctl.policy.spots import Spots

_BEFORE = 80  # characters before a keyword in which a broken token may begin
_SIGN_BITS = len(SIGNS)
#: How many digits a number has at least that opens a rule, by the sign's bit.
_DIGITS = {
    1 << SIGNS.index(sign): digits
    for sign, digits in {
        "#num": 7, "#num9": 9, "#num12": 12, "#n324": 9, "#n334": 10, "#n63": 9, "#n67": 13, "#n8a": 7,
    }.items()
}  # fmt: skip
#: Signs that the text may be read in another form.
_DISGUISES = sum(1 << SIGNS.index(sign) for sign in ("#blob", "#rot13", "#reversed", "#leet", "#folding"))
_AS_IT_IS = frozenset(("secret", "pii"))
_TRIES = 40  # forms of broken tokens that are looked at in one text: cost stays linear
_ALIKE = 48  # characters in which two places are alike, so that what failed at one is not tried at the other
_FAR = 1000  # characters from where on a rule's secret is a long one, such as a key over many lines


class Engine:
    """A list of rules, ready to scan. Patterns are compiled when their keywords are first met."""

    __slots__ = (
        "_begun",
        "_clausal",
        "_cues",
        "_far",
        "_orders",
        "_plans",
        "_tokens",
        "_worded",
        "compiled",
        "gate",
        "rules",
    )

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self.rules = rules
        self.gate = Gate(rules)
        self._cues = [tuple(rule.cue.split()) for rule in rules]
        self._plans = [
            (self._cues[i], self.gate.anchors[i], rule.kind in _AS_IT_IS, _DIGITS.get(self.gate.anchors[i], 0))
            for i, rule in enumerate(rules)
        ]
        self._begun = [tuple(cue.lstrip(".") for cue in cues) for cues in self._cues]  # a point may begin the next line
        self._clausal = frozenset(i for i, rule in enumerate(rules) if rule.clause)
        self._orders: dict[int, Clause] = {}
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
        if self._far.keys().isdisjoint(opening.rules):
            return 0
        low = text.lower()
        return max(self._far[i] if i in self._far and _cued(low, self._cues[i]) else 0 for i in opening.rules)

    def scan(self, text: str, opening: Opening | None = None) -> list[Hit]:
        """All hits in the text and in its disguised forms, by position; never raises."""
        opening = opening or self.gate.open(text)
        hits = self._hits(View(text), opening) if opening.rules else []
        if normalise.odd(text) or normalise.wrapped(text) or opening.signs & _DISGUISES or opening.spaced:
            for view, depth in _views(text, opening):
                hits += self._scan_view(view, depth)
        if not self._worded.isdisjoint(opening.rules):
            view_or_none = normalise.unjoined(text)
            if view_or_none is not None:
                hits += self._scan_view(view_or_none, 0)
        if not self._tokens.isdisjoint(opening.rules):
            whole = [(h.start, h.end) for h in hits if h.rule.kind == "secret" and h.rule.severity == 3]
            hits += self._broken_tokens(text, opening, whole)
        return settled(text, hits) if hits else hits

    def _scan_view(self, view: View, depth: int) -> Iterator[Hit]:
        opening = self.gate.open(view.text)
        yield from self._hits(view, opening)
        if depth and opening.shows("#blob"):
            for inner in normalise.decoded(view.text):
                for hit in self._scan_view(inner, depth - 1):
                    start, end = view.span(hit.start, hit.end)
                    yield hit._replace(start=start, end=end)

    def _broken_tokens(self, text: str, opening: Opening, whole: list[tuple[int, int]]) -> Iterator[Hit]:
        """Tokens broken over lines, string pieces or groups: looked for only where a token's own keyword stands.

        whole: where tokens stand that are not broken.
        """
        low = _lower(text)
        rules = [i for i in self._tokens.intersection(opening.rules) if _cued(low, self._begun[i])]
        of, done, tries = Spots(low, opening).of, 0, _TRIES
        failed: set[str] = set()
        for spot in sorted({spot for anchor in {self.gate.anchors[i] for i in rules} for spot in of(anchor)}):
            alike = text[spot : spot + _ALIKE]
            if spot < done or alike in failed or any(lo <= spot < hi for lo, hi in whole):
                continue
            if not tries or not normalise.looks_broken(text, spot):
                continue
            failed.add(alike)
            for view in islice(normalise.mended(text, max(0, spot - _BEFORE), spot), tries):
                tries -= 1
                inner = self.gate.open(view.text)
                hits = self._hits(view, inner._replace(rules=tuple(self._tokens.intersection(inner.rules))))
                if hits:
                    yield from hits
                    done = max(hit.end for hit in hits)
                    break

    def _hits(self, view: View, opening: Opening) -> list[Hit]:
        hits: list[Hit] = []
        text = low = view.text
        if not text.islower():
            low = _lower(text)
        spots = Spots(low, opening)
        clauses: Clauses | None = None
        for index in opening.rules:
            if index in self._clausal:
                clauses = clauses or Clauses(low)
                hits += self._ordered(view, index, clauses, spots)
                continue
            cues, anchor, as_it_is, digits = self._plans[index]
            if cues and not _cued(low, cues):
                continue
            rule = self.rules[index]
            hay = text if as_it_is else low
            pattern = self.compiled.get(index)
            if digits:
                pattern = pattern or self._compile(index)
                spans = pattern.within(hay, spots.of_numbers(digits, rule.before, rule.reach))
            else:
                places = spots.assigned(anchor) if rule.assigned else spots.of(anchor)
                if not places:
                    continue
                spans = (pattern or self._compile(index)).spans(hay, places, rule.reach)
            if spans:
                hits += [Hit(*view.span(*span), rule, rule.action) for span in spans]
        return hits

    def _ordered(self, view: View, index: int, clauses: Clauses, spots: Spots) -> list[Hit]:
        """The hits of a rule about clauses."""
        rule, anchor = self.rules[index], self.gate.anchors[index]
        clause = self._orders.get(index)
        if clause is None:
            self._orders[index] = clause = Clause(rule.clause, dense=rule.keywords == "#cjk")
        spans = clause.spans(clauses, spots.of(anchor))
        return [Hit(*view.span(*span), rule, rule.action) for span in spans]

    def _compile(self, index: int) -> Pattern:
        self.compiled[index] = made = Pattern(
            self.rules[index], everywhere=1 < self.gate.anchors[index] < 1 << _SIGN_BITS
        )
        return made


def _cued(low: str, cues: tuple[str, ...]) -> bool:
    """Whether a text holds one of a rule's cues, or the rule has none."""
    for cue in cues:
        if cue in low:
            return True
    return not cues


def _lower(text: str) -> str:
    """Lower case of the same length, whatever the script."""
    low = text.lower()
    return low if len(low) == len(text) else "".join(c.lower()[0] for c in text)


def _views(text: str, opening: Opening) -> Iterator[tuple[View, int]]:
    """The other forms in which the text must be read, each with how deep encoded runs in it are followed."""
    base = text
    folded = normalise.fold(text) if opening.shows("#folding") else None
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
    if opening.shows("#blob"):
        for blob in normalise.decoded(text):
            yield blob, 1
    yield from ((view, 0) for view in _games(text, opening))


def _games(text: str, opening: Opening) -> Iterator[View]:
    candidates = [
        normalise.despaced(text) if opening.spaced else None,
        normalise.undigited(text) if opening.spaced else None,
        normalise.unwrapped(text),
        normalise.unhyphenated(text),
        normalise.uncommented(text),
        normalise.rot13(text) if opening.shows("#rot13") else None,
        normalise.backwards(text) if opening.shows("#reversed") else None,
        normalise.unleet(text) if opening.shows("#leet") else None,
    ]
    yield from filter(None, candidates)


@cache
def default_engine() -> Engine:
    """The engine over the built-in rules."""
    from memctl.policy.rules import RULES

    return Engine(RULES)


@cache
def document_engine() -> Engine:
    """The engine over the rules that documents are judged by: theirs may hold mail addresses and telephone numbers."""
    from memctl.policy.rules import RULES

    return Engine(for_documents(RULES))


def for_documents(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """The rules that documents are judged by."""
    return tuple(rule for rule in rules if not rule.statement and (rule.kind != "pii" or rule.severity == 3))
