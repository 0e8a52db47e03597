"""The prefilter: which rules could match a text, told from its set of words alone.

Almost every passage is clean, so this is where the time goes. The text is cut into runs of letters and digits with C
speed, known plain words drop out by one set difference, and only what remains is looked up. No pattern runs unless its
keywords are there.
"""

from __future__ import annotations

import re
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
_SPACED = 10  # different one-letter words from which on a text may be s p a c e d

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
    filled where `#num` is among the signs.
    """

    rules: tuple[int, ...]
    words: list[tuple[bytes, int]]
    signs: int
    spaced: bool = False
    numbers: list[tuple[int, int, int]] = []  # noqa: RUF012 - never changed


class Prefilter:
    """The keywords of a list of rules as sets and dictionaries.

    Bits number the signs, then the first groups of the rules, then their other groups. A word or sign opens the rules
    in whose first group it stands, which is remembered by its bits; of these, the other groups strike some out.
    """

    __slots__ = (
        "_also", "_by_bit", "_contains", "_enough", "_exact", "_first", "_known", "_needs", "_opened",
        "_opening_signs", "_plain", "_prefix", "_shaped", "_shapes", "_sizes", "_within", "anchors",
    )  # fmt: skip

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        first_groups, others = dict(SIGNS), dict[str, int]()
        parsed = [[" ".join(group.split()) for group in rule.keywords.split(" + ")] for rule in rules]
        for first, *_ in parsed:
            first_groups.setdefault(first, 1 << len(first_groups))
        #: Of each rule the bit of its first group.
        self.anchors = [first_groups[first] for first, *_ in parsed]
        self._first = (1 << len(first_groups)) - 1
        short = any(_SHORTER & set(rule.keywords.split()) for rule in rules)
        self._enough = b"0" * (_DIGITS if short else _DIGITS + 2)
        needing = []
        for index, (_, *groups) in enumerate(parsed):
            wordy = [name for name in groups if name.partition(" ")[0] not in SIGNS]
            for name in wordy:
                others.setdefault(name, 1 << (len(first_groups) + len(others)))
            need = reduce(or_, [SIGNS.get(name.partition(" ")[0]) or others[name] for name in groups], 0)
            needing.append((bool(wordy), self.anchors[index], index, need))
        # Those that need no words beside their first come first.
        needing.sort()
        #: A rule's index, and the bits of all that it needs beside its first group; and where in it a bit's rules are.
        self._needs = [(index, need) for _, _, index, need in needing]
        self._by_bit: dict[int, list[int]] = {}
        for place, (_, bit, _, _) in enumerate(needing):
            self._by_bit.setdefault(bit, []).append(place)
        self._opening_signs = sum(bit for bit in self._by_bit if bit < FIRST_WORD_BIT)
        #: Signs, and the groups in which they stand beside words.
        self._also = [(SIGNS[word], bit) for name, bit in others.items() for word in name.split() if word in SIGNS]
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
        self._plain: set[bytes] = set()  # words that say nothing
        self._known: dict[bytes, int] = {}  # words that say something, and what
        self._opened: dict[int, tuple[int, ...]] = {}  # by the bits of a word, places in _needs

    def _enter(self, group: str, bit: int) -> None:
        """Let the keywords of a group stand for a bit."""
        for keyword in group.split():
            word, table = keyword.encode(), self._exact
            if keyword in SIGNS:
                continue
            if keyword[0] == "/":
                self._shapes.append((word[1:-1], bit))
                continue
            if keyword[0] == "*":
                word, table = word[1:-1], self._within
            elif keyword[-1] == "*":
                word, table = word[:-1], self._prefix
            table[word] = table.get(word, 0) | bit

    def candidates(self, text: str) -> Candidates:
        """The rules that `text` may break."""
        bits = _AT_SIGN if "@" in text and _AT.search(text) else 0
        if "<" in text and _TAG.search(text):
            bits |= SIGNS["#tag"]
        if "~" in text and _TILDE.search(text):
            bits |= SIGNS["#tilde"]
        raw = text.encode("utf-8", "surrogatepass")
        if not text.isascii():
            raw, signs = _wide_signs(text, raw)
            bits |= signs
        words = raw.translate(_BREAKS).split()
        hot = []
        unknown = []
        known, first = self._known, self._first
        for word in set(words).difference(self._plain):
            seen = known.get(word)
            if seen is None:
                unknown.append(word)
            else:
                bits |= seen
                if seen & first:
                    hot.append((word, seen))
        for word, seen in self._meet(unknown) if unknown else ():
            bits |= seen
            if seen & first:
                hot.append((word, seen))
        if len(text) <= _SHORT:
            bits |= _SHORT_TEXT
        numbers: list[tuple[int, int, int]] = []
        if _NUMBER_LIKE.search(raw.translate(_NUMERIC)) and self._enough in raw.translate(_AS_DIGITS, _IN_NUMBERS):
            signs, numbers = _numbers(text)
            bits |= signs
        rules = self._rules(bits, hot) if hot or bits & self._opening_signs else ()
        spaced = len(words) * 4 > len(text) and (
            len(_LETTERS.intersection(words)) >= _SPACED or _SPACED_NUMBER.search(text) is not None
        )
        return Candidates(rules, hot, bits & FIRST_WORD_BIT - 1, spaced, numbers)

    def _meet(self, words: list[bytes]) -> list[tuple[bytes, int]]:
        """What words say that were never seen; they are remembered unless they could be part of a secret."""
        if len(self._plain) + len(self._known) > _KNOWN_WORDS:
            self._plain.clear()
            self._known.clear()
        seen = []
        for word in words:
            size = len(word)
            bits = self._exact.get(word, 0)
            for length in self._sizes.get(word[:2], ()):
                bits |= self._prefix.get(word[:length], 0)
            if size >= _LEAST and not word.isalpha() and not word.isdigit():
                bits |= self._mixed(word)
            for found in self._contains.findall(word):
                bits |= self._within[found]
            seen.append((word, bits))
            if bits & _VALUE or size > _LONG_WORD:
                continue
            if bits:
                self._known[word] = bits
            else:
                self._plain.add(word)
        return seen

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

    def _rules(self, bits: int, hot: list[tuple[bytes, int]]) -> tuple[int, ...]:
        """The rules that these words and signs open, and whose other groups and signs are there, too."""
        for sign, bit in self._also:
            if bits & sign:
                bits |= bit
        signs = bits & self._opening_signs
        opened, places = self._opened, set[int]()
        for _, seen in [(b"", signs), *hot] if signs else hot:
            found = opened.get(seen)
            if found is None:
                if len(opened) > _KNOWN_OPENINGS:
                    opened.clear()
                found = opened[seen] = tuple(place for bit in self._by_bit if seen & bit for place in self._by_bit[bit])
            places.update(found)
        needs, rules = self._needs, []
        for place in sorted(places):
            index, need = needs[place]
            if not need or bits & need == need:
                rules.append(index)
        return tuple(rules)


def _wide_signs(text: str, raw: bytes) -> tuple[bytes, int]:
    """A text that is not all ASCII with its wide letters in lower case and its signs as blanks, and what they say."""
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
    return raw, bits


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
