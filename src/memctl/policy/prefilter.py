"""The prefilter: which rules could match a text, told from its set of words alone.

Almost every passage is clean, so this is where the time goes. The text is cut into runs of letters and digits with C
speed, known plain words drop out by one set difference, and only what remains is looked up. No pattern runs unless its
keywords are there.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import reduce
from operator import or_

from memctl.annotations import NamedTuple
from memctl.policy.normalise import SUSPICIOUS
from memctl.policy.rule import SIGNS, Rule, lazy_regex

_KNOWN_WORDS = 60_000  # words remembered between texts, about 5 MB; forgotten all at once when full
_KNOWN_OPENINGS = 20_000
_KNOWN_GROUPS = 5_000
_LEAST = 4  # characters of a word worth a look at its digits
_VALUE_WORD = 8
_LONG_WORD = 20
_LOOKED_AT = 64  # of a longer word only the beginning is examined: cost stays linear
_HEXADECIMAL = b"0123456789abcdef"
_DIGITS = 7  # fewer digits make no number worth a look
_SHORTER = frozenset(("#num", "#n8a"))  # signs of numbers of fewer than nine digits
_SHORT = 120  # characters of a text that may be nothing but a number
_BRIEF = 700  # characters of a text that is a statement rather than a document
_SPACED = 10  # different one-letter words from which on a text may be s p a c e d

_SIGN, _SLASH, _STAR = b"#/*"  # what keywords begin with that are not words
_BREAKS = bytes(
    c | 32 if 65 <= c <= 90 else c if 48 <= c <= 57 or 97 <= c <= 122 or c >= 128 else 32 for c in range(256)
)
_ASCII = bytes(range(128))
_HEAD = 24  # hexadecimal digits that nearly always tell whether they are text
_TEXTUAL = bytes(c for c in range(256) if (c >= 32 and c != 127) or c in b"\t\n\r")
_NO_DIGITS = bytes(c for c in range(256) if not 48 <= c <= 57)
_AS_DIGITS = bytes(48 if 48 <= c <= 57 else 32 for c in range(256))
_IN_NUMBERS = b" ()._+/-"  # what may stand between the digits of one number
_NUMERIC = bytes(48 if 48 <= c <= 57 else 46 if c in _IN_NUMBERS else 32 for c in range(256))
_NUMBER_LIKE = re.compile(b"0[0.]{6}")  # nearly no text has it, and that is told three times as quick
_EMOJI, _JOINER = "\ufe0f", "\u200d"  # what pictures are made of
_UNLEET = bytes.maketrans(b"013457@$", b"oieastas")

#: The first bit that stands for a group of words.
FIRST_WORD_BIT = 1 << len(SIGNS)
_AT_SIGN, _VALUE, _LONG, _HIDDEN, _CJK, _BLOB = (
    SIGNS[s] for s in ("#@", "#value", "#long", "#hidden", "#cjk", "#blob")
)
_SHORT_TEXT, _NUMBER, _NUMBER_9, _NUMBER_12 = (SIGNS[s] for s in ("#short", "#num", "#num9", "#num12"))
#: What the digits of a number, written as zeros, look like with what follows it, where these signs shall be seen.
_GROUPED = tuple(
    (SIGNS[sign], lazy_regex(shape))
    for sign, shape in (
        ("#n324", r"000[-. _]00[-. _]?0000"),
        ("#n334", r"000[-. _)]{1,2}000[-. _]0000"),
        ("#n63", r"000000[-+_]000"),
        ("#n67", r"000000[-_]0000000"),
        ("#n8a", r"0000000[-_][A-Za-z]"),
    )
)
_ZEROS = str.maketrans("123456789", "000000000")
# Patterns that begin with one plain character run at the speed of a character search.
_TILDE = lazy_regex(r"~(?<=[Q6]~)\w")
_AT = lazy_regex(r"@(?<=\S@)[\w\[]")
_TAG = lazy_regex(
    r"<(?:[|<\uff5c]|/?\s?(?i:system|assistant|developer|human|agent|function|tool|invoke|antml|information|important|start_of|end_of|admin|urgent|reserved|s>))"
)
#: Words that say a text is disguised: rule keywords as ROT13 and backwards writing turn them.
_CORE = frozenset(
    b"ignore disregard forget instructions instruction previous system prompt override reveal password".split()
)
#: Words that stand in every fifth passage, and in every twentieth: rules are rather opened by others.
_EVERYWHERE_WORDS = (
    "a is if this as not are from s will return when use name all t has you have no new any at data type"
)
_OFTEN_WORDS = (
    "list should import now more false must note number call key i n called following each user instead arguments time "
    "do your add order need without text types format before after read pass above re end print way system context "
    "write always message information run start https output request api session include model models allow what "
    "command append mode last input doesn update full next longer provide access calling close cannot state present "
    "keys automatically point"
)
_EVERYWHERE, _OFTEN = frozenset(_EVERYWHERE_WORDS.split()), frozenset(_OFTEN_WORDS.split())
_LETTERS = frozenset(bytes([c]) for c in range(97, 123))
_ROT13 = bytes.maketrans(b"abcdefghijklmnopqrstuvwxyz", b"nopqrstuvwxyzabcdefghijklm")
_SPACED_NUMBER = lazy_regex(r"(?<![0-9])[0-9](?: [0-9]){2}")
#: A number, which does not begin within a word; the letters of a country or a kind may stand before it.
_NUMBER_WRITTEN = lazy_regex(r"[0-9](?<![0-9A-Za-z]{4}[0-9])[0-9 ()._+/-]{5,}[0-9]")
#: Dates, times, decimals and versions, which no rule about numbers is after.
_EVERYDAY = lazy_regex(
    r"(?:19|20)\d\d([-/.])\d\d\1\d\d(?: \d\d?)?[-. ]*|\d{1,4}\.\d+|(?:19|20)\d{2} ?- ?(?:19|20)\d{2}|0+|"
    r"\d{1,3}(?:\.\d{1,3}){3}"
)
# Characters beyond ASCII: what stands between words; letters of scripts whose words are not cut; invisible ones; the
# one that joins pictures, behind a letter; between letters or digits and the CJK or Hangul letters (all of three bytes)
# that follow them without a blank.
_WIDE_BREAKS = lazy_regex("[\x80-\xa9\xab-\xb4\xb6-\xb9\xbb-\xbf\u2000-\u2bff\u3000-\u3004\u3008-\u3020\uff01-\uff0f]")
_UNDIVIDED = lazy_regex("[\u0900-\u0dff\u0e00-\u0e7f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_INVISIBLE = lazy_regex("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff\U000e0000-\U000e01ef]")
_MISUSED_JOINER = lazy_regex("\u200d(?<=[A-Za-z]\u200d)")


class Candidates(NamedTuple):
    """What the prefilter saw in one text: the rules that may match, the words that opened them, and signs of disguise.

    `numbers` says where what may be a number of seven digits or more begins and ends, and how many digits it has;
    filled where `#num` is among the signs. `runs` are all the runs of letters and digits in lower case, where those are
    all ASCII.
    """

    rules: tuple[int, ...]
    words: list[tuple[str, int]]
    signs: int
    spaced: bool = False
    numbers: list[tuple[int, int, int]] = []  # noqa: RUF012 - never changed
    runs: list[bytes] | None = None


#: A rule's number, and the bits of all that it needs.
_Need = tuple[int, int]


class _Known(dict[bytes, tuple[int, tuple[_Need, ...]]]):
    """What words say, as bits, and the rules that they open; the plain ones say nothing.

    Those that could be part of a secret are not remembered.
    """

    def __init__(self, meet: Callable[[bytes], tuple[int, tuple[_Need, ...]]], plain: set[bytes]) -> None:
        super().__init__()
        self._meet, self._plain = meet, plain

    def __missing__(self, word: bytes) -> tuple[int, tuple[_Need, ...]]:
        said = self._meet(word)
        if not said[0] & _VALUE and len(word) <= _LONG_WORD:
            if len(self) + len(self._plain) >= _KNOWN_WORDS:
                self.clear()
                self._plain.clear()
            if said[0]:
                self[word] = said
            else:
                self._plain.add(word)
        return said


class Prefilter:
    """The keywords of a list of rules as sets and dictionaries.

    Bits number the signs, then the first groups of the rules, then their other groups. Of the groups of a rule the one
    whose words are the rarest opens it; the others, and its signs, strike it out again where they are missing.
    """

    __slots__ = (
        "_also", "_contains", "_enough", "_exact", "_known", "_opened", "_opens", "_plain", "_prefix", "_shaped",
        "_shapes", "_signs", "_sizes", "_wanted", "_within", "anchors", "beside",
    )  # fmt: skip

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        first_groups, others = dict(SIGNS), dict[str, int]()
        parsed = [[*map(str.strip, rule.keywords.split(" + "))] for rule in rules]
        for first, *_ in parsed:
            first_groups.setdefault(first, 1 << len(first_groups))
        #: Of each rule the bit of its first group.
        self.anchors = [first_groups[first] for first, *_ in parsed]
        short = any("#" in rule.keywords and not _SHORTER.isdisjoint(rule.keywords.split()) for rule in rules)
        self._enough = b"0" * (_DIGITS if short else _DIGITS + 2)
        #: Of each rule that reads clauses the bits of its groups but the first.
        self.beside: list[list[int]] = []
        #: By the bit of a group of words the rules that it opens; and those that signs open.
        self._opened: dict[int, list[_Need]] = {}
        for index, (first, *groups) in enumerate(parsed):
            for name in groups:
                if name.partition(" ")[0] not in SIGNS:
                    others.setdefault(name, 1 << (len(first_groups) + len(others)))
            bits = [self.anchors[index], *(SIGNS.get(name.partition(" ")[0]) or others[name] for name in groups)]
            opening = bits[0]
            if groups and first not in SIGNS:
                commonness = [*map(_commonness, (first, *groups))]
                opening = bits[commonness.index(min(commonness))]
            self._opened.setdefault(opening, []).append((index, reduce(or_, bits)))
            self.beside.append([bit for bit in bits[1:] if rules[index].clause and bit >= FIRST_WORD_BIT])
        self._wanted = [reduce(or_, bits, anchor) for bits, anchor in zip(self.beside, self.anchors, strict=True)]
        self._signs = [(bit, self._opened.pop(bit)) for bit in list(self._opened) if bit < FIRST_WORD_BIT]
        #: Signs, and the groups in which they stand beside words.
        self._also = [
            (SIGNS[word], bit) for name, bit in others.items() if "#" in name for word in name.split() if word in SIGNS
        ]
        self._exact: dict[bytes, int] = {}
        self._prefix: dict[bytes, int] = {}
        self._within: dict[bytes, int] = {}
        self._shapes: list[tuple[bytes, int]] = []
        for name, bit in (*first_groups.items(), *others.items()):
            self._enter(name, bit)
        for word in _CORE:
            for disguised, sign in ((word.translate(_ROT13), "#rot13"), (word[::-1], "#reversed")):
                self._exact[disguised] = self._exact.get(disguised, 0) | SIGNS[sign]
        # Any of the keywords that may stand within words, the longest first; by first letter, so that few are tried.
        by_letter: dict[bytes, list[bytes]] = {}
        for part in sorted(self._within, key=lambda part: -len(part)):
            by_letter.setdefault(part[:1], []).append(re.escape(part[1:]))
        branches = [re.escape(letter) + b"(?:" + b"|".join(rest) + b")" for letter, rest in by_letter.items()]
        self._contains = lazy_regex(b"|".join(branches) or b"(?!)")
        self._shaped = lazy_regex(b"|".join(shape for shape, _ in self._shapes) or b"(?!)")
        self._sizes: dict[bytes, list[int]] = {}  # how long the beginnings are that begin with these two characters
        for head, size in sorted({(prefix[:2], len(prefix)) for prefix in self._prefix}):
            self._sizes.setdefault(head, []).append(size)
        self._opens: dict[int, tuple[_Need, ...]] = {}  # by the bits of a word
        self._plain: set[bytes] = set()  # words that say nothing
        self._known = _Known(self._meet, self._plain)

    def _enter(self, group: str, bit: int) -> None:
        """Let the keywords of a group stand for a bit."""
        for word in group.encode().split():
            table, head = self._exact, word[0]
            if head == _SIGN:
                continue
            if head == _SLASH:
                self._shapes.append((word[1:-1], bit))
                continue
            if head == _STAR:
                word, table = word[1:-1], self._within  # noqa: PLW2901
            elif word[-1] == _STAR:
                word, table = word[:-1], self._prefix  # noqa: PLW2901
            table[word] = table.get(word, 0) | bit

    def candidates(self, text: str) -> Candidates:
        """The rules that `text` may break."""
        bits = _marks(text)
        raw = text.encode("utf-8", "surrogatepass")
        is_plain = text.isascii()
        if not is_plain:
            raw, signs, is_plain = _wide_signs(text, raw)
            bits |= signs
        words = raw.translate(_BREAKS).split()
        telling = set(words) - self._plain
        known = self._known
        opened: list[_Need] = []
        meanings = [known[word] for word in telling]
        for said, opens in meanings:
            bits |= said
            opened += opens
        numbers: list[tuple[int, int, int]] = []
        if _NUMBER_LIKE.search(raw.translate(_NUMERIC)) and self._enough in raw.translate(_AS_DIGITS, _IN_NUMBERS):
            signs, numbers = _numbers(text)
            bits |= signs
        hot: list[tuple[str, int]] = []
        rules = self._rules(bits, opened)
        if rules:
            wanted = reduce(or_, [self._wanted[index] for index in rules])
            pairs = zip(telling, meanings, strict=True)
            hot = [(word.decode("utf-8", "surrogatepass"), said) for word, (said, _) in pairs if said & wanted]
        spaced = len(words) * 4 > len(text) and (
            len(_LETTERS.intersection(words)) >= _SPACED or _SPACED_NUMBER.search(text) is not None
        )
        return Candidates(rules, hot, bits & FIRST_WORD_BIT - 1, spaced, numbers, words if is_plain else None)

    def _rules(self, bits: int, opened: list[_Need]) -> tuple[int, ...]:
        """Those of the opened rules, and of those that signs open, that find all that they need."""
        if bits & FIRST_WORD_BIT - 1:
            for sign, opens in self._signs:
                if bits & sign:
                    opened += opens
            for sign, bit in self._also:
                if bits & sign:
                    bits |= bit
        if not opened:
            return ()
        missing = ~bits
        return tuple(sorted({index for index, need in opened if not need & missing}))

    def _meet(self, word: bytes) -> tuple[int, tuple[_Need, ...]]:
        """What a word says that was never seen, and the rules that it opens."""
        bits = self._exact.get(word, 0)
        for length in self._sizes.get(word[:2], ()):
            bits |= self._prefix.get(word[:length], 0)
        if len(word) >= _LEAST and not word.isalpha() and not word.isdigit():
            bits |= self._mixed(word)
        for found in self._contains.findall(word):
            bits |= self._within[found]
        if not bits:
            return 0, ()
        opens = self._opens.get(bits)
        if opens is None:
            if len(self._opens) >= _KNOWN_OPENINGS:
                self._opens.clear()
            found = [need for bit, needs in self._opened.items() if bits & bit for need in needs]
            self._opens[bits] = opens = tuple(found)
        return bits, opens

    def _mixed(self, word: bytes) -> int:
        """The signs of a word that is not all letters: digits among them, a length that only encodings have."""
        size, head = len(word), word[:_LOOKED_AT]
        bits = SIGNS["#leet"] if size <= _LONG_WORD and word.translate(_UNLEET) in _CORE else 0
        if size >= _VALUE_WORD and head.translate(None, _NO_DIGITS):
            bits |= _VALUE
            if size >= _LONG_WORD:
                bits |= _LONG
                if head.translate(None, _HEXADECIMAL):
                    bits |= _BLOB
                else:  # nearly always a hash, if it is no text; its last letter may be cut
                    said = bytes.fromhex(word[: min(_HEAD, size & ~1)].decode())
                    cut = 0 if said.isascii() else len(said) - len(said.decode("utf-8", "ignore").encode())
                    if cut < 4 and not said.translate(None, _TEXTUAL):
                        bits |= _BLOB
        if self._shaped.fullmatch(word):
            bits |= sum(bit for shape, bit in self._shapes if re.fullmatch(shape, word))
        return bits


def _commonness(group: str) -> int:
    """How common the words of a group are; one of signs opens a rule last."""
    words = group.split()
    if "#" in group and not SIGNS.keys().isdisjoint(words):
        return sys.maxsize
    return 4 * len(_EVERYWHERE.intersection(words)) + len(_OFTEN.intersection(words))


def _marks(text: str) -> int:
    """The signs of single characters."""
    bits = _AT_SIGN if "@" in text and _AT.search(text) else 0
    if "<" in text and _TAG.search(text):
        bits |= SIGNS["#tag"]
    if "~" in text and _TILDE.search(text):
        bits |= SIGNS["#tilde"]
    if len(text) <= _BRIEF and "```" not in text:
        bits |= SIGNS["#brief"] | (_SHORT_TEXT if len(text) <= _SHORT else 0)
    return bits


def _wide_signs(text: str, raw: bytes) -> tuple[bytes, int, bool]:
    """A text that is not all ASCII with its wide letters in lower case and its signs as blanks, and what they say.

    Also whether it had nothing but signs beyond ASCII.
    """
    letters = "".join(set(raw.translate(None, _ASCII).decode("utf-8", "surrogatepass")))
    bits = SIGNS["#folding"] if SUSPICIOUS.search(letters) else 0
    if letters.lower() != letters or "\u0307" in letters:
        raw = text.lower().replace("i\u0307", "i").encode("utf-8", "surrogatepass")  # of a capital I with a dot
        letters = letters.lower().replace("i\u0307", "i")
    misused = _JOINER in letters and _MISUSED_JOINER.search(text)
    if _INVISIBLE.search(letters if misused else letters.replace(_EMOJI, "").replace(_JOINER, "")):
        bits |= _HIDDEN
    for sign in _WIDE_BREAKS.findall(letters):
        raw = raw.replace(sign.encode(), b" ")
    if _UNDIVIDED.search(letters):
        bits |= _CJK
        raw = re.sub(rb"(?<=[0-9A-Za-z])(?=[\xe3-\xed])", b" ", raw)
    return raw, bits, raw.isascii() and not any(map(str.isalnum, letters))


def _numbers(text: str) -> tuple[int, list[tuple[int, int, int]]]:
    """Where numbers of at least seven digits begin and end, and their digits; and the signs that they give."""
    numbers = []
    bits = 0
    for match in _NUMBER_WRITTEN.finditer(text):
        number = match.group()
        digits = len(number.encode().translate(None, _NO_DIGITS))
        if digits < _DIGITS or _EVERYDAY.fullmatch(number):
            continue
        start, end = match.span()
        numbers.append((start, end, digits))
        bits |= _NUMBER | (_NUMBER_9 if digits >= 9 else 0) | (_NUMBER_12 if digits >= 12 else 0)
        shape = text[start : end + 2].translate(_ZEROS)
        groups = _group_signs.get(shape)
        if groups is None:
            groups = sum(sign for sign, expression in _GROUPED if expression.search(shape))
            if len(_group_signs) >= _KNOWN_GROUPS:
                _group_signs.clear()
            if len(shape) <= _LOOKED_AT:
                _group_signs[shape] = groups
        bits |= groups
    return bits, numbers


#: The signs that the groups of digits of a number give, by the number written as zeros with what follows it.
_group_signs: dict[str, int] = {}
