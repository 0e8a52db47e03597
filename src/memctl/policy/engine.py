"""The engine: one text in, hits out, in one walk.

A long text is cut into pieces. Of each piece the prefilter tells which rules its words may break; most pieces break
none and are done. Else the piece is read as it is written and in its undisguised forms (`normalise`): around the
keywords of each rule its expression is tried, or the clause is read (`clauses`), and its check has the last word. What
stands around the hits (`surroundings`) decides which of them count.

Cost is linear in the length of the text: every pattern is bounded, and stretches around keywords never overlap.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib import import_module
from itertools import islice
from re import Match

from memctl.annotations import NamedTuple
from memctl.policy import normalise
from memctl.policy.clauses import ClauseReader, OrderMatcher
from memctl.policy.normalise import NormalisedText
from memctl.policy.prefilter import FIRST_WORD_BIT, Candidates, Prefilter
from memctl.policy.published_keys import is_published
from memctl.policy.rule import SIGNS, Hit, Rule, lazy_regex
from memctl.policy.rules_injection import INJECTION
from memctl.policy.rules_pii import PII
from memctl.policy.rules_secrets import SECRETS
from memctl.policy.surroundings import farthest_end, resolve_overlaps

#: All the built-in rules, in the order in which reasons name them.
RULES = (*SECRETS, *INJECTION, *PII)

#: Raised when the engine itself judges differently under the same rows.
_ENGINE = 7

# A long text is looked at piece by piece: the words of a small piece open far fewer rules. All in characters.
PIECE = 1600
_OVERLAP = 120  # a finding may begin in a piece and be told by what follows so closely
_LONGEST = 10_000  # so much more is looked at for the end of a secret: a private key is longer than it takes to tell
_FAR = 1000  # characters from where on a rule's secret is a long one, such as a key over many lines

_BEFORE = 80  # characters before a keyword in which a broken token may begin
_TRIES = 40  # forms of broken tokens that are looked at in one text: cost stays linear
_ALIKE = 48  # characters in which two places are alike, so that what failed at one is not tried at the other

#: How many digits a number has at least that opens a rule, by the sign's bit.
_DIGITS = {
    SIGNS[sign]: digits
    for sign, digits in {
        "#num": 7, "#num9": 9, "#num12": 12, "#n324": 9, "#n334": 10, "#n63": 9, "#n67": 13, "#n8a": 7,
    }.items()
}  # fmt: skip
#: Signs that the text may be read in another form.
_DISGUISES = sum(SIGNS[sign] for sign in ("#blob", "#rot13", "#reversed", "#leet", "#folding"))
#: What follows a name that is given a value, or compared with one.
_ASSIGNED = lazy_regex(
    r"""(?=([\w.-]{0,120}))\1(?:\[\d{0,4}\])?[\s"'`\])\\]{0,8}(?:string\s{0,3})?(?:[:=>?|,!]|\.=|(?<=\s)["'`])"""
)
_WORD = lazy_regex(r"\w+")
#: By rule, the word at which it is tried, with what follows wherever it matches: code and prose have such words too.
_AHEAD = {
    rule: lazy_regex(rf"\w+(?!\w)(?={follows})")
    for rule, follows in {
        "password-labelled": r"[^\n:=>|\t<\uff1a\uff1d\u2192]{0,220}[:=>|\t<\uff1a\uff1d\u2192]|"
        r"[ \t*_]{0,3}\n[ \t>*-]{0,6}`?\S{6}",
        "password-said": r"[^\n]{0,34}?[ \t]\S{1,7}[ \t]",
        "password-quoted": r"""[\w\s\[\]"':=>!@-]{0,48}?["']""",
    }.items()
}
#: By a rule's check, what is in any text in which it can agree: six marks in one value; what stands in quotes.
_ASKED = {
    "busy": lazy_regex(r"""[^\s"'A-Za-z0-9](?:[A-Za-z0-9]{0,115}[^\s"'A-Za-z0-9]){5}"""),
    "password_quoted": lazy_regex("[\"']"),
}
#: What a word in Latin letters goes on with.
_ALPHANUMERIC = frozenset("0123456789abcdefghijklmnopqrstuvwxyz")
_NOTHING: frozenset[str] = frozenset()
_WORD_START = lazy_regex(r"\b\w")
_MANY_POSITIONS = 24  # keywords in one text from which on it pays to remember what was tried around them
_SEEN_BEFORE, _SEEN_AFTER = 32, 48  # characters that checks look at around a match
#: What an expression begins with that matches at the beginning of a word only, where a keyword stands.
_BORDERS = ("\\b", "(?<![A-Za-z0-9])", "(?<!\\w)", "(?:^|(?<=")


class Engine:
    """A list of rules, ready to scan. Patterns are compiled when their keywords are first met."""

    __slots__ = ("_cues", "_far", "_tokens", "_worded", "compiled", "prefilter", "rules")

    def __init__(self, rules: Iterable[Rule], *, document: bool = False) -> None:
        """`document`: only the rules that documents are judged by: theirs may hold mail addresses and telephones."""
        if document:
            rules = [rule for rule in rules if not rule.statement and (rule.kind != "pii" or rule.severity == 3)]
        self.rules = rules = tuple(rules)
        self.prefilter = Prefilter(rules)
        #: The matchers of the rules whose keywords were met.
        self.compiled: dict[int, RulePattern | OrderMatcher] = {}
        self._cues = [tuple(rule.cue.split()) for rule in rules]
        secrets = [(i, rule) for i, rule in enumerate(rules) if rule.kind == "secret"]
        #: Rules whose secrets are long, and how long.
        self._far = {i: min(rule.reach, _LONGEST) for i, rule in secrets if rule.reach >= _FAR}
        #: Rules that find a token by itself, not by a name beside it.
        self._tokens = frozenset(
            i
            for i, rule in secrets
            if rule.severity == 3
            and self.prefilter.anchors[i] >= FIRST_WORD_BIT
            and not rule.pattern.startswith(("(?i", "(?<![A-Za-z0-9])(?i"))
        )
        #: Rules about words, which underscores may join.
        self._worded = frozenset(range(len(rules))).difference(i for i, _ in secrets)

    def scan(self, text: str, most: int = sys.maxsize, beside: str = "") -> list[Hit]:
        """The hits in a text of any length, by position, until there are `most`; never raises.

        beside: if not empty, only the pieces are looked at in which this stands: the rest of the text was read before.
        """
        found: dict[tuple[int, int, str], Hit] = {}
        start = 0
        waiting: _CutPiece | None = None  # whether what it cuts is whole in the next piece is asked there
        while start < len(text) and len(found) < most:
            stop = _piece_end(text, start, PIECE)
            end = stop + _OVERLAP
            if beside and text.find(beside, max(0, start - _OVERLAP), end) < 0:
                for hit in self._whole(text, waiting, []) if waiting else ():
                    found[hit.start, hit.end, hit.rule.id] = hit
                start, waiting = stop, None
                continue
            piece = text[start:end]
            candidates = self.prefilter.candidates(piece)
            far = self._reach(piece, candidates)
            if far:  # a larger piece: what it overlaps with must be far longer, and shall not be looked at many times
                stop = _piece_end(text, start, far)
                piece = text[start : stop + far]
                candidates = self.prefilter.candidates(piece)
            hits = self._scan_piece(piece, candidates, start)
            settled = self._whole(text, waiting, hits) if waiting else []
            cut = [] if far or end >= len(text) else _cut(hits, start, piece)
            waiting = _CutPiece(start, stop, hits, cut)
            if not cut:
                settled, waiting = settled + hits, None
            elif cut[0].start < stop:  # the next piece will not see all of it
                settled, waiting = settled + self._whole(text, waiting, []), None
            for hit in settled:
                found[hit.start, hit.end, hit.rule.id] = hit
            start = stop
        for hit in self._whole(text, waiting, []) if waiting else ():
            found[hit.start, hit.end, hit.rule.id] = hit
        checks = sys.modules.get("memctl.policy.checks_secrets")  # loaded where a value is first met
        if checks is not None:
            checks.forget_values()
        return [found[key] for key in sorted(found)]

    def _reach(self, piece: str, candidates: Candidates) -> int:
        """How long a secret may be of which a piece has what tells it; 0 for those of usual length."""
        if self._far.keys().isdisjoint(candidates.rules):
            return 0
        low, far, cues = piece.lower(), self._far, self._cues
        told = [i for i in far.keys() & candidates.rules if not cues[i] or any(map(low.__contains__, cues[i]))]
        return max([far[i] for i in told], default=0)

    def _whole(self, text: str, cut_piece: _CutPiece, next_hits: list[Hit]) -> list[Hit]:
        """The hits of a piece at whose end something to be blotted out is cut: that of them which may go on is whole.

        Where the next piece has found it, that is all; else more is read until nothing is cut.
        """
        start, stop, hits, cut = cut_piece
        seen = farthest_end([hit for hit in next_hits if hit.is_blotted])
        if next_hits and all(seen(hit.start + 1) >= hit.end for hit in cut):
            return [hit for hit in hits if hit not in cut]
        first = end = stop + _OVERLAP
        while cut and end < min(len(text), stop + _LONGEST):
            end = stop + min((end - stop) * 4, _LONGEST)
            piece = text[start:end]
            hits = self._scan_piece(piece, self.prefilter.candidates(piece), start)
            if end < len(text):  # what begins behind the first end, and may go on, is the next piece's
                cut = _cut(hits, start, piece)
                hits = [hit for hit in hits if hit not in cut or hit.start < first]
                cut = [hit for hit in cut if hit.start < first]
        return hits

    def _scan_piece(self, text: str, candidates: Candidates, offset: int) -> list[Hit]:
        """All hits in a piece of a text and in its disguised forms, by position; `offset` is where it begins."""
        rules = candidates.rules
        reading = _Reading(text, candidates)
        hits = self._hits(NormalisedText(text), reading) if rules else []
        if candidates.spaced or candidates.signs & _DISGUISES or normalise.is_odd(text):
            for form, depth in normalise.forms(text, candidates.signs, spaced=candidates.spaced):
                hits += self._scan_form(form, depth)
        if not self._worded.isdisjoint(rules):
            unjoined = normalise.unjoined(text)
            if unjoined is not None:
                hits += self._scan_form(unjoined, 0)
        if not self._tokens.isdisjoint(rules):
            whole = [h for h in hits if h.rule.kind == "secret" and h.rule.severity == 3]
            hits += self._broken_tokens(reading, farthest_end(whole))
        found = resolve_overlaps(text, hits) if hits else hits
        return [Hit(hit[0] + offset, hit[1] + offset, hit[2], hit[3]) for hit in found] if offset else found

    def _scan_form(self, form: NormalisedText, depth: int) -> Iterator[Hit]:
        candidates = self.prefilter.candidates(form.text)
        yield from self._hits(form, _Reading(form.text, candidates))
        if depth and candidates.signs & SIGNS["#blob"]:
            for inner in normalise.decoded(form.text):
                for hit in self._scan_form(inner, depth - 1):
                    start, end = form.span(hit.start, hit.end)
                    yield hit._replace(start=start, end=end)

    def _broken_tokens(self, reading: _Reading, whole: Callable[[int], int]) -> Iterator[Hit]:
        """Tokens broken over lines, string pieces or groups: looked for only where a token's own keyword stands.

        whole: the farthest end of the tokens that are not broken and begin before a position.
        """
        text = reading.text
        # A cue's point may begin the next line.
        anchors = {
            self.prefilter.anchors[i]
            for i in self._tokens.intersection(reading.candidates.rules)
            if not self._cues[i] or any(cue.lstrip(".") in reading.low for cue in self._cues[i])
        }
        done, tries = 0, _TRIES
        failed: set[str] = set()
        for position in sorted({place for anchor in anchors for place in reading.keywords(anchor)}):
            alike = text[position : position + _ALIKE]
            if position < done or alike in failed or whole(position + 1) > position:
                continue
            if not tries or not normalise.BROKEN.match(text, position):
                continue
            failed.add(alike)
            for form in islice(normalise.mended(text, max(0, position - _BEFORE), position), tries):
                tries -= 1
                inner = self.prefilter.candidates(form.text)
                inner = inner._replace(rules=tuple(self._tokens.intersection(inner.rules)))
                hits = self._hits(form, _Reading(form.text, inner))
                if hits:
                    yield from hits
                    done = max(hit.end for hit in hits)
                    break

    def _hits(self, form: NormalisedText, reading: _Reading) -> list[Hit]:
        """The hits of the candidate rules in one form of a text."""
        hits: list[Hit] = []
        low = reading.low
        for index in reading.candidates.rules:
            cues = self._cues[index]
            if cues and not any(map(low.__contains__, cues)):
                continue
            matcher = self.compiled.get(index) or self._compile(index, reading)
            if matcher is None:
                continue
            if isinstance(matcher, OrderMatcher):
                spans = self._orders(index, matcher, reading)
            else:
                spans = matcher.spans(reading)
            if spans:
                rule = self.rules[index]
                hits += [Hit(*form.span(*span), rule, rule.action) for span in spans]
        return hits

    def _compile(self, index: int, reading: _Reading) -> RulePattern | OrderMatcher | None:
        """The matcher of a rule that a text has the keywords of, ready for the next texts; None where it has none."""
        rule, anchor = self.rules[index], self.prefilter.anchors[index]
        matcher: RulePattern | OrderMatcher
        if rule.clause:
            matcher = OrderMatcher(rule.clause, rule.common.split(), dense=rule.keywords == "#cjk")
        elif anchor in _DIGITS or (reading.assigned(anchor) if rule.assigned else reading.keywords(anchor)):
            matcher = RulePattern(rule, anchor)
        else:
            return None
        self.compiled[index] = matcher
        return matcher

    def _orders(self, index: int, matcher: OrderMatcher, reading: _Reading) -> list[tuple[int, int]]:
        """Where the orders of a rule stand: nearly no text has all that one of them needs."""
        reading.clauses = clauses = reading.clauses or ClauseReader(reading.low, reading.candidates.runs)
        if not clauses.may_have(matcher):
            return []
        beside = [[*reading.words(bit), *matcher.common] for bit in self.prefilter.beside[index]]
        return matcher.spans(clauses, reading.keywords(self.prefilter.anchors[index]), beside)


class _CutPiece(NamedTuple):
    """A piece of a text, from where to where it is, its hits, and those of them that may go on behind its end."""

    start: int
    stop: int
    hits: list[Hit]
    cut: list[Hit]


def _cut(hits: list[Hit], start: int, piece: str) -> list[Hit]:
    """The hits to be blotted out behind which the piece that begins at `start` has next to nothing."""
    edge = start + len(piece.rstrip()[:-2].rstrip())
    return [hit for hit in hits if hit.end >= edge and hit.is_blotted]


class _Reading:
    """A text that is being read: where its keywords, numbers and clauses are, each looked for once."""

    __slots__ = (
        "_assigned", "_by_anchor", "_by_word", "_stretches", "_sure", "_whole", "_words",
        "candidates", "clauses", "low", "text",
    )  # fmt: skip

    def __init__(self, text: str, candidates: Candidates) -> None:
        self.text = text
        self.low = text if text.islower() else normalise.lower(text)
        self.clauses: ClauseReader | None = None
        self.candidates = candidates
        self._by_anchor: dict[int, list[int]] = {}
        self._by_word: dict[str, list[int]] = {}
        self._words: dict[int, list[str]] = {}
        self._assigned: dict[int, bool] = {}  # by position, whether a value is given to what stands there
        self._stretches: dict[tuple[int, int, int], list[tuple[int, int]]] = {}
        self._sure: list[tuple[int, int]] = []  # where tokens stand that are told by their own format
        self._whole: Callable[[int], int] | None = None

    def note_sure(self, spans: list[tuple[int, int]]) -> None:
        """Keep in mind where tokens stand that are told by their own format."""
        self._sure += spans
        self._whole = None

    def whole(self) -> Callable[[int], int] | None:
        """What says the farthest end of those tokens that begin before a position; None where there are none."""
        if self._whole is None and self._sure:
            self._whole = farthest_end(self._sure)
        return self._whole

    def words(self, bit: int) -> list[str]:
        """The words of a group that are in the text."""
        words = self._words.get(bit)
        if words is None:
            self._words[bit] = words = [word for word, bits in self.candidates.words if bits & bit]
        return words

    def keywords(self, anchor: int) -> list[int]:
        """Where the words stand that opened a rule, in order; for a sign, the beginning of the text.

        A word stands by itself, not within a longer one; in other scripts, wherever its letters stand.
        """
        positions = self._by_anchor.get(anchor)
        if positions is not None:
            return positions
        positions = [0] if 1 < anchor < FIRST_WORD_BIT else []
        low = self.low
        for word in () if positions else ("@",) if anchor == 1 else self.words(anchor):
            places = self._by_word.get(word)
            if places is None:
                self._by_word[word] = places = []
                continues = _ALPHANUMERIC if word.isascii() and word.isalnum() else _NOTHING
                size = len(word)
                at = low.find(word)
                while at >= 0:
                    end = at + size
                    if low[end : end + 1] not in continues and (not at or low[at - 1] not in continues):
                        places.append(at)
                    at = low.find(word, end)
            positions += places
        positions.sort()
        self._by_anchor[anchor] = positions
        return positions

    def assigned(self, anchor: int) -> list[int]:
        """Those positions of `keywords` after which a value is given to what stands there."""
        given = self._assigned
        positions = self.keywords(anchor)
        for place in positions:
            if place not in given:
                given[place] = _ASSIGNED.match(self.low, place) is not None
        return [place for place in positions if given[place]]

    def numbers(self, digits: int, before: int, after: int) -> list[tuple[int, int]]:
        """The stretches around numbers of at least `digits` digits."""
        key = digits, before, after
        if key not in self._stretches:
            numbers = [(start, end) for start, end, size in self.candidates.numbers if size >= digits]
            self._stretches[key] = _stretches(numbers, before, after)
        return self._stretches[key]


class RulePattern:
    """A rule's expression and check, and how it is tried: at word starts, around keywords, or over the whole text."""

    __slots__ = (
        "_anchor", "_at_keyword", "_before", "_check", "_everywhere", "_from_starts", "_rule", "_word", "regex",
    )  # fmt: skip

    def __init__(self, rule: Rule, anchor: int) -> None:
        self._rule, self._anchor = rule, anchor
        self._word = _AHEAD.get(rule.id, _WORD)
        self.regex = re.compile(rule.pattern, re.MULTILINE)
        self._everywhere = 1 < anchor < FIRST_WORD_BIT
        self._at_keyword = rule.before == 0 and _all_begin(rule.pattern.removeprefix("(?i)"), _BORDERS)
        self._from_starts = rule.before == 0 or (not self._everywhere and _all_begin(rule.pattern, "\\b"))
        self._before = rule.reach if 250 < rule.reach <= 1000 else rule.before
        self._check: Callable[[Match[str]], bool] | None = None
        if rule.check:
            home = {"secret": "checks_secrets", "pii": "checks_pii"}.get(rule.kind, "checks_injection")
            checks = import_module(f"memctl.policy.{home}")
            self._check = check = getattr(checks, rule.check)
            if rule.kind == "secret":  # no secret is what is published as a sample
                self._check = lambda match: check(match) and not is_published(checks.value_of(match))

    def spans(self, reading: _Reading) -> list[tuple[int, int]]:
        """Where the expression matches near its keywords and the check agrees.

        Of a weaker secret within a token that is told by its own format nothing is asked.
        """
        if self._rule.kind != "secret":
            return self._spans(reading, None)
        if self._rule.severity < 3:
            return self._spans(reading, reading.whole())
        spans = self._spans(reading, None)
        if spans:
            reading.note_sure(spans)
        return spans

    def _spans(self, reading: _Reading, whole: Callable[[int], int] | None) -> list[tuple[int, int]]:
        rule, anchor, check = self._rule, self._anchor, self._check
        hay = reading.text if rule.kind in ("secret", "pii") else reading.low
        if whole is not None and check is not None:
            agrees = check

            def check(match: Match[str]) -> bool:
                start, end = match.span(match.lastindex or 0)
                return whole(start + 1) < end and agrees(match)

        if anchor in _DIGITS:
            stretches = reading.numbers(_DIGITS[anchor], rule.before, rule.reach)
        else:
            positions = reading.assigned(anchor) if rule.assigned else reading.keywords(anchor)
            asked = _ASKED.get(rule.check)
            if not positions or (asked and not asked.search(hay)):
                return []
            if self._from_starts:
                return self._at_starts(hay, positions, check)
            if self._everywhere:
                stretches = [(0, len(hay))]
            else:
                stretches = _stretches([(at, at) for at in positions], self._before, rule.reach)
        matches = [match for lo, hi in stretches for match in self.regex.finditer(hay, lo, hi)]
        return [match.span(match.lastindex or 0) for match in matches if check is None or check(match)]

    def _at_starts(
        self, hay: str, positions: list[int], check: Callable[[Match[str]], bool] | None
    ) -> list[tuple[int, int]]:
        """The matches that begin inside a keyword's word, or at a word's start at or before a keyword.

        Those are far fewer places than there are characters. Where a text repeats itself, what failed is not tried
        again.
        """
        spans, match, at_keyword, word_at = [], self.regex.match, self._at_keyword, self._word.match
        inside, before, reach = self._rule.before == 0, self._before, self._rule.reach
        failed: set[str] | None = set() if _repeats(hay, positions) else None
        done = 0

        def around(position: int) -> str:
            return hay[max(0, position - before - _SEEN_BEFORE) : position + reach + _SEEN_AFTER]

        for position in positions:
            if failed and around(position) in failed:
                continue
            if at_keyword and position < done:
                continue
            starts: Iterable[int]
            if at_keyword:
                starts = (position,)
            elif inside:
                word = word_at(hay, max(done, position))
                starts = range(*word.span()) if word else ()
            else:
                starts = [m.start() for m in _WORD_START.finditer(hay, max(done, position - before), position + 1)]
            for start in starts:
                found = match(hay, start, (start if inside else position) + reach)
                if found:
                    if check is None or check(found):
                        spans.append(found.span(found.lastindex or 0))
                    elif failed is not None:
                        failed.add(around(position))
                    done = found.end()
                    break
            else:
                if failed is not None:
                    failed.add(around(position))
            done = max(done, position + 1)
        return spans


def _repeats(text: str, positions: list[int]) -> bool:
    """Whether these are many positions, and what stands at one stands at another as well."""
    return len(positions) > _MANY_POSITIONS and len({text[at : at + _ALIKE] for at in positions}) < len(positions)


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


def _stretches(places: list[tuple[int, int]], before: int, after: int) -> list[tuple[int, int]]:
    """The places, in order, with so much before and after each, merged where they touch."""
    merged: list[tuple[int, int]] = []
    for start, end in places:
        lo = max(0, start - before)
        if merged and lo <= merged[-1][1]:
            merged[-1] = merged[-1][0], end + after
        else:
            merged.append((lo, end + after))
    return merged


def _piece_end(text: str, start: int, size: int) -> int:
    """Where a piece of about this size ends: at a line's end where there is one."""
    if len(text) - start <= size + _OVERLAP:
        return len(text)
    return text.rfind("\n", start + size // 2, start + size) + 1 or start + size


@cache
def built_in_engine(*, document: bool) -> Engine:
    """The engine over the built-in rules, or over those that documents are judged by."""
    return Engine(RULES, document=document)


def fingerprint() -> str:
    """What `version.RULES_VERSION` must say: another word when the rules or the engine judge differently."""
    from hashlib import sha256

    from memctl.policy import lexicon, lexicon_others, weighing

    words = (lexicon.ANYWHERE, lexicon.SPACED, lexicon_others.DENSE, *map(weighing.weights, weighing.TABLES))
    return f"{_ENGINE}-{sha256(repr((RULES, words)).encode()).hexdigest()[:12]}"


def broken_example(rule: Rule) -> str:
    """What is wrong with a rule's own examples, in a sentence; "" when they hold; one that is missing says nothing."""
    engine = Engine((rule,))
    if rule.example and not engine.scan(rule.example):
        return "its example is not caught"
    if rule.counterexample and engine.scan(rule.counterexample):
        return "its counterexample is caught"
    return ""
