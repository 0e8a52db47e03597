"""One way to search for all: `memctl search`, recall, push and `MemoryStore.search_fulltext`.

Ranked items are weighed by what is known beside their words, and what says the same as a better one goes behind what is
new. Which texts say the same is strict on purpose: a short text repeats another only word for word; a long one may
differ in one word of twenty, but not in a number, nor in a *not*: "port 8080" and "port 9090" are two statements,
however alike the rest is.
"""

import sys
from collections.abc import Mapping, Sequence

from memctl import ids
from memctl.names import STRENGTH
from memctl.retrieve.candidates import Scores, SearchResult
from memctl.retrieve.ranking import rank
from memctl.store import connect
from memctl.store.database import Database
from memctl.store.filters import Filters
from memctl.store.search import index
from memctl.store.search.index import Matches
from memctl.text.query import analyse, is_paired

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memctl.retrieve.embedding import Meaning

#: How many of the best are looked at for what is known about an item beside its words.
WEIGHED = 100
#: An item that was used this many times counts half as much as one that is used all the time.
USES = 4
#: What is said of a statement, as a share of the weight of `validation`.
VALIDATED = {"verified": 0.5, "unverified": 0.0, "contested": -0.5, "retracted": -1.0}
_SECONDS = 86_400

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


def search(
    db: Database, text: str, *, filters: Filters, limit: int = 10, count: bool = False,
    meaning: "Meaning | None" = None, weights: Mapping[str, float] = STRENGTH, pieces: bool = True,
) -> SearchResult:  # fmt: skip
    """The `limit` best items for a question or some words; any text is legal, a blank one lists the newest.

    A negative limit means all that match. With `count`, `total` counts everything that matches. `meaning` adds what is
    near in meaning; `weights` say how much it counts to be new, used, important and verified. `pieces`: where no word
    is known, words that have one inside are looked for. What repeats a better hit stands behind what is new.
    """
    query = analyse(text)
    wide = limit if limit < 0 or query.blank else max(limit, LOOKED_AT)
    connect.ensure_index(db)
    with db.snapshot():
        if query.blank:
            newest = index.newest_items(db, filters, limit)
            return SearchResult(query, newest.candidates, newest.total)
        indexed = index.has_index(db)
        result = SearchResult(query, [], 0)
        if indexed:
            result = rank(db, query, filters, wide, count=count, pieces=pieces)
        paired = indexed and bool(query.runs) and all(map(is_paired, query.runs)) and index.has_pairs(db)
        if (query.runs and not paired) or not query.terms or not indexed:  # then by substring
            from memctl.store.search import words

            found = words.match_substrings(db, query, filters, wide)
            if indexed:
                found = words.merge_matches(Matches(result.candidates, result.total), found, wide)
            result.candidates, result.total, result.like = found.candidates, found.total, True
        else:
            result.like = paired  # pairs of characters are no words
            del result.candidates[wide if wide >= 0 else len(result.candidates) :]
    if meaning is not None:
        meaning.add(db, result, filters, wide)
    _weigh(db, result, filters, weights)
    _demote_repeats(result, limit)
    if limit >= 0:
        del result.candidates[limit:]
    return result


# --- what is known about an item beside its words ---------------------------------------------------------------


def _weigh(db: Database, result: SearchResult, filters: Filters, weights: Mapping[str, float]) -> None:
    """Let the parts change the scores of the best, put those in order, and keep the parts for `--explain`.

    Each part changes an item's score by a small share of itself, so that of two items that answer nearly as well the
    newer, more used, more important or verified one comes first, and none of them makes an item of what does not
    answer. Where all items are alike in these, as the passages of one folder are, nothing changes. It is reckoned when
    it is read, never stored: the same question finds the same until the day changes, or somebody writes or uses
    something.

    The weights (`memctl.names.STRENGTH`; config.json: `recall.recency` and so on) say how much each part may add, as a
    share of an item's score:

    recency     for an item made today; half of it `recency_days` days later, and so on
    use         for one that was used a great many times and today: n / (n + 4), halved each `recency_days` days since
    importance  for an item of importance 1; as much less for 0, nothing for the neutral 0.5
    validation  half of it for what is verified, half less for what is contested, all of it less for what is retracted
    usefulness  for one that answers used in all of very many conversations that were told it; half as much less for one
                that none used, nothing for one that was never told

    What somebody lets fade (`memctl retain`) loses its share a day of the score, whatever the weights.
    """
    head = result.candidates[:WEIGHED]
    if not head:
        return
    with db.snapshot():
        known = index.read_usage(db, [c.id for c in head])
    today = index.day_number(db, filters.as_of) if filters.as_of else int(ids.now_seconds() // _SECONDS)
    days = weights["recency_days"]
    added: dict[str, Scores] = {}
    for c in head:
        usage = known.get(c.id)
        if usage is None:
            continue
        shares: dict[str, float] = {}
        if usage.made is not None:  # of a day to come nothing has faded
            shares["recency"] = weights["recency"] * 0.5 ** (max(0, today - usage.made) / days)
        if usage.used is not None and usage.uses > 0:
            left = 0.5 ** (max(0, today - usage.used) / days)
            shares["use"] = weights["use"] * usage.uses / (usage.uses + USES) * left
        if usage.importance is not None:
            shares["importance"] = weights["importance"] * (2 * usage.importance - 1)
        if usage.fade is not None and (since := usage.used or usage.made) is not None:
            shares["retention"] = (1 - usage.fade) ** max(0, today - max(since, usage.made or 0)) - 1
        if usage.told:
            worth = result.usefulness[c.id] = usage.usefulness
            shares["usefulness"] = weights["usefulness"] * (worth if worth > 0 else worth / 2)
        shares["validation"] = weights["validation"] * VALIDATED.get(c.validation, 0.0)
        for name, share in shares.items():
            if share and c.row:  # what was found by substring has no row; its score is told whole
                added.setdefault(name, {})[c.row] = share * c.score
        c.score += sum([share * c.score for share in shares.values()])
    result.candidates[:WEIGHED] = index.sort_candidates(head)
    result.parts += added.items()


# --- what says the same -----------------------------------------------------------------------------------------


def _demote_repeats(result: SearchResult, limit: int) -> None:
    """Put repeats of better hits behind what is new among the best.

    The second of its kind keeps half of its score, the third a quarter, and so on, and says so. Nothing is taken out.
    Looking ends when `limit` hits (negative: LOOKED_AT) are told apart.
    """
    wanted = LOOKED_AT if limit < 0 else min(limit, LOOKED_AT)
    texts = KnownTexts(twins=True)
    times: dict[str, int] = {}
    lost: Scores = {}
    for c in result.candidates[:LOOKED_AT]:
        if len(times) >= wanted:
            break
        text = (c.content.strip() or c.title)[:READ].casefold()
        first = texts.find(text)
        if first is None:
            times[text] = 1
            continue
        lost[c.row] = -c.score * (1 - KEPT ** times[first])
        c.score += lost[c.row]
        times[first] += 1
    if lost:
        result.candidates = index.sort_candidates(result.candidates)
        lost.pop(0, None)  # what was found by substring has no row; its score is told whole
        result.parts.append(("repeat", lost))


class KnownTexts:
    """The texts of a list or of a block so far, in lower case: is a further one said by one of them?

    twins  in a list a text is only said by one of about its length that it says, too
    """

    __slots__ = ("_texts", "_twins")

    def __init__(self, *, twins: bool = False) -> None:
        self._twins = twins
        self._texts: dict[str, ComparedText | None] = {}  # None: it was not compared yet

    def find(self, text: str) -> str | None:
        """The first of them that says all of `text`; if none does, `text` is one of them from now on."""
        if text in self._texts:
            return text
        length, mine = len(text), None
        least, most = (ALIKE * length, length / ALIKE) if self._twins else (0, sys.maxsize)
        # Pieces from a few places tell most pairs of texts apart; a short text has none.
        step = length // _PROBES
        probes = [text[at : at + _PROBE] for at in range(0, step * _PROBES, step)] if step > _PROBE else []
        for other, its in self._texts.items():
            if least <= len(other) <= most and _may_hold(probes, other):
                mine, known = mine or ComparedText(text), its or ComparedText(other)
                self._texts[other] = known
                if mine.is_within(known) and (not self._twins or known.is_within(mine)):
                    return other
        self._texts[text] = mine
        return None


def _may_hold(probes: Sequence[str], other: str) -> bool:
    """Whether half of the pieces are in another text."""
    may_miss = len(probes) // 2
    for probe in probes:
        if probe not in other:
            may_miss -= 1
            if may_miss < 0:
                return False
    return True


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
