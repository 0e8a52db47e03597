"""Which texts say the same: so that a list, or a block, does not tell one thing twice.

Strict on purpose. A short text repeats another only word for word; a long one may differ in one word of twenty, but not
in a number, nor in a *not*: "port 8080" and "port 9090" are two statements, however alike the rest is.
"""

import math
from collections.abc import Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memctl.retrieve.ranking import SearchResult

#: A text of fewer different words must be there word for word.
LONG = 20
#: What share of its different words may be missing in the other.
MAY_MISS = 0.05
#: Texts in a list are only compared when the shorter one has this share of the longer one's length.
ALIKE = 0.9
#: What a repeat in a list keeps of its score, for each time that its text was there: what is new comes before it.
KEPT = 0.5
#: How many of the best are looked at, and how many characters of each text.
LOOKED_AT = 100
READ = 4000

_AROUND = ".,;:!?\"'`*_()[]{}<>«»“”\u2018\u2019…"
_NEGATION = frozenset(
    ("no", "not", "nor", "never", "none", "without", "cannot", "ne", "pas", "non", "jamais", "aucun", "aucune", "sans")
)
_STOPS, _END = ".!?;:", "|"
_PROBES, _PROBE = 6, 12


def demote(result: "SearchResult", limit: int) -> None:
    """Put repeats of better hits behind what is new among the best.

    The second of its kind keeps half of its score, the third a quarter, and so on, and says so. Nothing is taken out.
    Looking ends when `limit` hits (negative: LOOKED_AT) are told apart.
    """
    wanted = LOOKED_AT if limit < 0 else min(limit, LOOKED_AT)
    texts = _ListedTexts()
    lost: dict[int, float] = {}
    for c in result.candidates[:LOOKED_AT]:
        if len(texts.times) >= wanted:
            break
        times = texts.count_before((c.content.strip() or c.title)[:READ].casefold())
        if times:
            lost[c.row] = -c.score * (1 - KEPT**times)
            c.score += lost[c.row]
    if lost:
        from memctl.store.search.index import sort_candidates

        result.candidates = sort_candidates(result.candidates)
        lost.pop(0, None)  # what was found by substring has no row; its score is told whole
        result.parts.append(("repeat", lost))


class ComparedText:
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

    def is_within(self, other: "ComparedText") -> bool:
        """Whether `other` says all of it: "use it" is not said by "do not use it", so whole sentences count."""
        if self.line == other.line or (self.line and self.sentences in other.sentences):
            return True
        missing = self.words - other.words
        if len(self.words) < LONG or len(missing) > MAY_MISS * len(self.words):
            return False
        return not any(  # a number or a negation makes another statement
            word in _NEGATION or word.endswith(("n't", "n\u2019t")) or any(char.isdigit() for char in word)
            for word in missing
        )


class _ListedTexts:
    """The texts of a list so far, each with how often it was there, and all those of about one length in a row."""

    __slots__ = ("_compared", "_rows", "times")

    def __init__(self) -> None:
        self.times: dict[str, int] = {}
        self._compared: dict[str, ComparedText] = {}
        self._rows: dict[int, str] = {}

    def count_before(self, text: str) -> int:
        """How often this text, or one that says the same, was there; from now on once more."""
        there = text if text in self.times else self._find_twin(text)
        if there is not None:
            self.times[there] += 1
            return self.times[there] - 1
        self.times[text] = 1
        length = _length_class(len(text))
        self._rows[length] = f"{self._rows.get(length, '')}\n{text}"
        return 0

    def _find_twin(self, text: str) -> str | None:
        """The first of the texts that says what `text` says, and the other way round."""
        least, most = ALIKE * len(text), len(text) / ALIKE
        probes = _take_probes(text)
        classes = range(_length_class(least), _length_class(most) + 1)
        if not any(_may_hold(probes, self._rows[length]) for length in classes if length in self._rows):
            return None
        for other in self.times:
            if least <= len(other) <= most and _may_hold(probes, other):
                for one in (text, other):
                    if one not in self._compared:
                        self._compared[one] = ComparedText(one)
                mine, its = self._compared[text], self._compared[other]
                if mine.is_within(its) and its.is_within(mine):
                    return other
        return None


class BlockTexts:
    """The texts of a block so far: they tell whether a further one says something that none of them says."""

    __slots__ = ("_compared", "_row")

    def __init__(self) -> None:
        self._compared: dict[str, ComparedText | None] = {}  # None: it was not compared yet
        self._row = ""  # all of them

    def repeats(self, text: str) -> bool:
        """Whether one of them says all of `text`; if none does, it is one of them from now on."""
        folded = text.casefold()
        probes = _take_probes(folded)
        compared = None
        if _may_hold(probes, self._row):
            for other, known in self._compared.items():
                if not _may_hold(probes, other):
                    continue
                compared = compared or ComparedText(folded)
                its = known or ComparedText(other)
                self._compared[other] = its
                if compared.is_within(its):
                    return True
        self._compared[folded] = compared
        self._row = f"{self._row}\n{folded}"
        return False


def _length_class(length: float) -> int:
    """A number for lengths that are much the same."""
    return int(math.log2(max(length, 1)) * 16)


def _take_probes(text: str) -> list[str]:
    """Pieces of a text from a few places: most pairs of texts are told apart by them. None of a short one."""
    step = len(text) // _PROBES
    return [text[at : at + _PROBE] for at in range(0, step * _PROBES, step)] if step > _PROBE else []


def _may_hold(probes: Sequence[str], other: str) -> bool:
    """Whether half of the pieces are in another text; in a row of texts they are if they are in one of these."""
    may_miss = len(probes) // 2
    for probe in probes:
        if probe not in other:
            may_miss -= 1
            if may_miss < 0:
                return False
    return True
