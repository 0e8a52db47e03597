"""Which texts say the same: so that a list, or a block, does not tell one thing twice.

Strict on purpose. A short text repeats another only word for word; a long one may differ in one word of twenty, but not
in a number, nor in a *not*: "port 8080" and "port 9090" are two statements, however alike the rest is.
"""

import math
from collections.abc import Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memctl.retrieve.find import Found

#: A text of fewer different words must be there word for word.
LONG = 20
#: What share of its different words may be missing in the other.
MAY_MISS = 0.05
#: Texts in a list are only compared when the shorter one has this share of the longer one's length.
ALIKE = 0.9
#: What a repeat in a list keeps of its score, for each time that its text was there: what is new comes before it.
KEPT = 0.5
#: So many of the best are looked at, and so much of a text.
LOOKED_AT = 100
READ = 4000

_AROUND = ".,;:!?\"'`*_()[]{}<>«»“”\u2018\u2019…"
_NEGATION = frozenset(
    ("no", "not", "nor", "never", "none", "without", "cannot", "ne", "pas", "non", "jamais", "aucun", "aucune", "sans")
)
_STOPS, _END = ".!?;:", "|"
_PROBES, _PROBE = 6, 12


class Said:
    """A text as it is compared: its words in order, without case and the marks around them, and each of them once.

    sentences  the words with a mark where a sentence or a line ends
    """

    __slots__ = ("line", "sentences", "words")

    def __init__(self, text: str) -> None:
        line: list[str] = []
        sentences = [_END]
        for row in text.casefold().splitlines():
            for word in row.split():
                line.append(word.strip(_AROUND) or word)
                sentences.append(line[-1])
                if word[-1] in _STOPS:
                    sentences.append(_END)
            if sentences[-1] != _END:
                sentences.append(_END)
        self.line, self.words, self.sentences = line, set(line), " ".join(sentences)

    def within(self, other: "Said") -> bool:
        """Whether `other` says all of it: "use it" is not said by "do not use it", so whole sentences count."""
        if self.line == other.line or (self.line and self.sentences in other.sentences):
            return True
        missing = self.words - other.words
        return len(self.words) >= LONG and len(missing) <= MAY_MISS * len(self.words) and not any(map(_tells, missing))


def _tells(word: str) -> bool:
    """Whether a single word makes another statement: a number, a negation."""
    return word in _NEGATION or word.endswith(("n't", "n\u2019t")) or any(char.isdigit() for char in word)


def demote(found: "Found", limit: int) -> None:
    """Put repeats of better hits behind what is new among the best.

    The second of its kind keeps half of its score, the third a quarter, and so on, and says so. Nothing is taken out.
    Looking ends when `limit` hits (negative: LOOKED_AT) are told apart.
    """
    wanted = LOOKED_AT if limit < 0 else min(limit, LOOKED_AT)
    told = _Told()
    lost: dict[int, float] = {}
    for c in found.candidates[:LOOKED_AT]:
        if len(told.times) >= wanted:
            break
        times = told.before((c.content.strip() or c.title)[:READ].casefold())
        if times:
            lost[c.row] = -c.score * (1 - KEPT**times)
            c.score += lost[c.row]
    if lost:
        from memctl.store.search.index import sort_candidates

        found.candidates = sort_candidates(found.candidates)
        if found.ranking is not None:
            lost.pop(0, None)  # what was found by substring has no row; its score is told whole
            found.ranking.parts.append(("repeat", lost))


class _Told:
    """The texts of a list so far, each with how often it was there, and all those of about one length in a row."""

    __slots__ = ("_rows", "_said", "times")

    def __init__(self) -> None:
        self.times: dict[str, int] = {}
        self._said: dict[str, Said] = {}
        self._rows: dict[int, str] = {}

    def before(self, text: str) -> int:
        """How often this text, or one that says the same, was there; from now on once more."""
        there = text if text in self.times else self._twin(text)
        if there is not None:
            self.times[there] += 1
            return self.times[there] - 1
        self.times[text] = 1
        length = _about(len(text))
        self._rows[length] = f"{self._rows.get(length, '')}\n{text}"
        return 0

    def _twin(self, text: str) -> str | None:
        """The first of the texts that says what `text` says, and the other way round."""
        least, most = ALIKE * len(text), len(text) / ALIKE
        probes = _probes(text)
        rows = [self._rows[length] for length in range(_about(least), _about(most) + 1) if length in self._rows]
        if not any(_likely(probes, row) for row in rows):
            return None
        for other in self.times:
            if least <= len(other) <= most and _likely(probes, other):
                for one in (text, other):
                    if one not in self._said:
                        self._said[one] = Said(one)
                if self._said[text].within(self._said[other]) and self._said[other].within(self._said[text]):
                    return other
        return None


def _about(length: float) -> int:
    """A number for lengths that are much the same."""
    return int(math.log2(max(length, 1)) * 16)


def _probes(text: str) -> list[str]:
    """Pieces of a text from a few places: most pairs of texts are told apart by them. None of a short one."""
    step = len(text) // _PROBES
    return [text[at : at + _PROBE] for at in range(0, step * _PROBES, step)] if step > _PROBE else []


def _likely(probes: Sequence[str], other: str) -> bool:
    """Whether half of the pieces are in another text; in a row of texts they are if they are in one of these."""
    may_miss = len(probes) // 2
    for probe in probes:
        if probe not in other:
            may_miss -= 1
            if may_miss < 0:
                return False
    return True


class Heard:
    """The texts of a block so far: it tells whether a further one says something that none of them says."""

    __slots__ = ("_row", "_said", "_texts")

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._row = ""  # of them
        self._said: dict[str, Said] = {}

    def again(self, text: str) -> bool:
        """Whether one of them says all of `text`; if none does, it is one of them from now on."""
        folded = text.casefold()
        probes = _probes(folded)
        if _likely(probes, self._row):
            for other in self._texts:
                if _likely(probes, other) and self._of(folded).within(self._of(other)):
                    return True
        self._texts.append(folded)
        self._row = f"{self._row}\n{folded}"
        return False

    def _of(self, text: str) -> Said:
        if text not in self._said:
            self._said[text] = Said(text)
        return self._said[text]
