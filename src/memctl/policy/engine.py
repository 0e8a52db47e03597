"""The engine: one text in, hits out. The prefilter opens rules, patterns run around their keywords, checks decide.

Cost is linear in the length of the text: every pattern is bounded, and windows around keywords never overlap.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from itertools import islice

from memctl.policy import normalise
from memctl.policy.clauses import ClauseReader, OrderMatcher
from memctl.policy.matching import KeywordPositions, RulePattern
from memctl.policy.normalise import NormalisedText
from memctl.policy.prefilter import FIRST_WORD_BIT, Candidates, Prefilter
from memctl.policy.rule import SIGNS, Hit, Rule
from memctl.policy.rules_injection import INJECTION
from memctl.policy.rules_pii import PII
from memctl.policy.rules_secrets import SECRETS
from memctl.policy.surroundings import resolve_overlaps

#: All the built-in rules, in the order in which reasons name them.
RULES = (*SECRETS, *INJECTION, *PII)

#: Raised when the engine itself judges differently under the same rows.
_ENGINE = 5

_BEFORE = 80  # characters before a keyword in which a broken token may begin
#: How many digits a number has at least that opens a rule, by the sign's bit.
_DIGITS = {
    SIGNS[sign]: digits
    for sign, digits in {
        "#num": 7, "#num9": 9, "#num12": 12, "#n324": 9, "#n334": 10, "#n63": 9, "#n67": 13, "#n8a": 7,
    }.items()
}  # fmt: skip
#: Signs that the text may be read in another form.
_DISGUISES = sum(SIGNS[sign] for sign in ("#blob", "#rot13", "#reversed", "#leet", "#folding"))
_TRIES = 40  # forms of broken tokens that are looked at in one text: cost stays linear
_ALIKE = 48  # characters in which two places are alike, so that what failed at one is not tried at the other
# A long text is looked at piece by piece: the words of a small piece open far fewer rules. All in characters.
PIECE = 1600
_OVERLAP = 120  # a finding may begin in a piece and be told by what follows so closely
_LONGEST = 10_000  # so much more is looked at for the end of a secret: a private key is longer than it takes to tell
_FAR = 1000  # characters from where on a rule's secret is a long one, such as a key over many lines


class Engine:
    """A list of rules, ready to scan. Patterns are compiled when their keywords are first met."""

    __slots__ = ("_far", "_orders", "_plans", "_tokens", "_worded", "compiled", "prefilter", "rules")

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self.rules = rules
        self.prefilter = Prefilter(rules)
        #: Of each rule: its cues, its anchor, whether it reads the text as it is, how many digits open it.
        self._plans = [
            (tuple(rule.cue.split()), anchor, rule.kind in ("secret", "pii"), _DIGITS.get(anchor, 0))
            for rule, anchor in zip(rules, self.prefilter.anchors, strict=True)
        ]
        self._orders: dict[int, OrderMatcher | None] = {i: None for i, rule in enumerate(rules) if rule.clause}
        self._worded = frozenset(i for i, rule in enumerate(rules) if rule.kind != "secret")
        self._tokens = frozenset(
            i
            for i, rule in enumerate(rules)
            if rule.kind == "secret"
            and rule.severity == 3
            and self.prefilter.anchors[i] >= FIRST_WORD_BIT
            and not rule.pattern.startswith(("(?i", "(?<![A-Za-z0-9])(?i"))  # found by a name, not by the token itself
        )
        self._far = {i: rule.reach for i, rule in enumerate(rules) if rule.kind == "secret" and rule.reach >= _FAR}
        self.compiled: dict[int, RulePattern] = {}

    def scan_long(self, text: str, most: int = sys.maxsize) -> list[Hit]:
        """The hits in a text of any length, by position, until there are `most`; a long one is looked at in pieces."""
        if len(text) <= PIECE + _OVERLAP:
            return self.scan(text)
        found: dict[tuple[int, int, str], Hit] = {}
        start = 0
        while start < len(text) and len(found) < most:
            stop = _piece_end(text, start, PIECE)
            piece = text[start : stop + _OVERLAP]
            candidates = self.prefilter.candidates(piece)
            far = self._secret_reach(piece, candidates) if candidates.rules else 0
            if far:  # a larger piece: what it overlaps with must be far longer, and shall not be looked at many times
                stop = _piece_end(text, start, far)
                hits = self.scan(text[start : stop + far])
            else:
                hits = self._scan_to_the_end(text, start, stop, self.scan(piece, candidates))
            for hit in hits:
                placed = hit._replace(start=hit.start + start, end=hit.end + start)
                found[placed.start, placed.end, hit.rule.id] = placed
            start = stop
        return [found[key] for key in sorted(found)]

    def _scan_to_the_end(self, text: str, start: int, stop: int, hits: list[Hit]) -> list[Hit]:
        """The hits in one piece, positions counted from its start; farther is looked only for a secret that goes on."""
        end = stop + _OVERLAP
        # What must be blotted out may go on after the piece's end where next to nothing comes after it.
        while end < min(len(text), stop + _LONGEST) and any(
            hit.is_blotted and len(text[start + hit.end : end].strip()) <= 2 for hit in hits
        ):
            end = stop + min((end - stop) * 4, _LONGEST)
            hits = self.scan(text[start:end])
        return hits

    def _secret_reach(self, text: str, candidates: Candidates) -> int:
        """How many characters a secret may go on that began in this text; 0 when it is no long one."""
        if self._far.keys().isdisjoint(candidates.rules):
            return 0
        low, rules = text.lower(), self._far.keys() & candidates.rules
        return min(max(self._far[i] if _any_in(low, self._plans[i][0]) else 0 for i in rules), _LONGEST)

    def scan(self, text: str, candidates: Candidates | None = None) -> list[Hit]:
        """All hits in the text and in its disguised forms, by position; never raises."""
        candidates = candidates or self.prefilter.candidates(text)
        rules = candidates.rules
        hits = self._hits(NormalisedText(text), candidates) if rules else []
        if candidates.spaced or candidates.signs & _DISGUISES or normalise.is_odd(text):
            for form, depth in normalise.forms(text, candidates.signs, spaced=candidates.spaced):
                hits += self._scan_form(form, depth)
        if not self._worded.isdisjoint(rules):
            form_or_none = normalise.unjoined(text)
            if form_or_none is not None:
                hits += self._scan_form(form_or_none, 0)
        if not self._tokens.isdisjoint(rules):
            whole = [(h.start, h.end) for h in hits if h.rule.kind == "secret" and h.rule.severity == 3]
            hits += self._broken_tokens(text, candidates, whole)
        return resolve_overlaps(text, hits) if hits else hits

    def _scan_form(self, form: NormalisedText, depth: int) -> Iterator[Hit]:
        candidates = self.prefilter.candidates(form.text)
        yield from self._hits(form, candidates)
        if depth and candidates.signs & SIGNS["#blob"]:
            for inner in normalise.decoded(form.text):
                for hit in self._scan_form(inner, depth - 1):
                    start, end = form.span(hit.start, hit.end)
                    yield hit._replace(start=start, end=end)

    def _broken_tokens(self, text: str, candidates: Candidates, whole: list[tuple[int, int]]) -> Iterator[Hit]:
        """Tokens broken over lines, string pieces or groups: looked for only where a token's own keyword stands.

        whole: where tokens stand that are not broken.
        """
        low = normalise.lower(text)
        # A cue's point may begin the next line.
        anchors = {
            self._plans[i][1]
            for i in self._tokens.intersection(candidates.rules)
            if _any_in(low, [cue.lstrip(".") for cue in self._plans[i][0]])
        }
        positions, done, tries = KeywordPositions(low, candidates), 0, _TRIES
        failed: set[str] = set()
        for position in sorted({place for anchor in anchors for place in positions.keywords(anchor)}):
            alike = text[position : position + _ALIKE]
            if position < done or alike in failed or any(lo <= position < hi for lo, hi in whole):
                continue
            if not tries or not normalise.looks_broken(text, position):
                continue
            failed.add(alike)
            for form in islice(normalise.mended(text, max(0, position - _BEFORE), position), tries):
                tries -= 1
                inner = self.prefilter.candidates(form.text)
                hits = self._hits(form, inner._replace(rules=tuple(self._tokens.intersection(inner.rules))))
                if hits:
                    yield from hits
                    done = max(hit.end for hit in hits)
                    break

    def _hits(self, form: NormalisedText, candidates: Candidates) -> list[Hit]:
        """The hits of the candidate rules in one form of a text."""
        hits: list[Hit] = []
        text = low = form.text
        if not text.islower():
            low = normalise.lower(text)
        positions = KeywordPositions(low, candidates)
        reader: ClauseReader | None = None
        for index in candidates.rules:
            cues, anchor, as_it_is, digits = self._plans[index]
            if cues and not _any_in(low, cues):
                continue
            rule = self.rules[index]
            if index in self._orders:
                reader = reader or ClauseReader(low)
                order = self._orders[index]
                if order is None:
                    self._orders[index] = order = OrderMatcher(rule.clause, dense=rule.keywords == "#cjk")
                spans = order.spans(reader, positions.keywords(anchor))
            elif digits:
                pattern = self.compiled.get(index) or self._compile(index)
                spans = pattern.within(text if as_it_is else low, positions.numbers(digits, rule.before, rule.reach))
            else:
                places = positions.assigned(anchor) if rule.assigned else positions.keywords(anchor)
                if not places:
                    continue
                pattern = self.compiled.get(index) or self._compile(index)
                spans = pattern.spans(text if as_it_is else low, places, rule.reach)
            if spans:
                hits += [Hit(*form.span(*span), rule, rule.action) for span in spans]
        return hits

    def _compile(self, index: int) -> RulePattern:
        everywhere = 1 < self.prefilter.anchors[index] < FIRST_WORD_BIT
        self.compiled[index] = made = RulePattern(self.rules[index], everywhere=everywhere)
        return made


def _piece_end(text: str, start: int, size: int) -> int:
    """Where a piece of about this size ends: at a line's end where there is one."""
    if len(text) - start <= size + _OVERLAP:
        return len(text)
    return text.rfind("\n", start + size // 2, start + size) + 1 or start + size


def _any_in(low: str, cues: Collection[str]) -> bool:
    """Whether a text holds one of these cues, or there are none."""
    for cue in cues:
        if cue in low:
            return True
    return not cues


@cache
def built_in_engine(*, document: bool) -> Engine:
    """The engine over the built-in rules, or over those that documents are judged by."""
    return Engine(document_rules(RULES) if document else RULES)


def document_rules(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """The rules that documents are judged by: theirs may hold mail addresses and telephone numbers."""
    return tuple(rule for rule in rules if not rule.statement and (rule.kind != "pii" or rule.severity == 3))


def fingerprint() -> str:
    """What `version.RULES_VERSION` must say: another word when the rules or the engine judge differently."""
    from hashlib import sha256

    from memctl.policy import lexicon

    words = (lexicon.ANYWHERE, lexicon.SPACED, lexicon.DENSE)
    return f"{_ENGINE}-{sha256(repr((RULES, words)).encode()).hexdigest()[:12]}"


def broken_example(rule: Rule) -> str:
    """What is wrong with a rule's own examples, in a sentence; "" when they hold; one that is missing says nothing."""
    engine = Engine((rule,))
    if rule.example and not engine.scan(rule.example):
        return "its example is not caught"
    if rule.counterexample and engine.scan(rule.counterexample):
        return "its counterexample is caught"
    return ""
