"""From candidates to ranked items: what each of several reasons adds to the scores that the words gave.

The best items are looked at more closely: when they were made, what their texts say, what they have in common, and what
the items beside them say for them: the turns of a conversation, the passages of a document. A short item says little by
itself: its neighbours' words count for it as if they were its own, more softly.
"""

import math
import sys
from collections.abc import Mapping, Sequence

from memctl.retrieve.candidates import K1, POOL, Scores, SearchResult, find_candidates
from memctl.retrieve.fts_terms import Term
from memctl.store.database import Database
from memctl.store.filters import Filters
from memctl.store.search import index
from memctl.store.search.index import Candidate
from memctl.text.contents import SIGNS, listed_pages
from memctl.text.query import EN_STOP_WORDS, FR_STOP_WORDS, Query, asks_for_news, document_kind, stem

#: The best items tell whether the items stand in an order.
PROBE = 24
#: What is done for short items is done half as much for one of this many characters.
SHORT = 600
#: What names the thing that is asked for (a title, a file) adds, as a share of the best score.
NAMED = 0.17

#: What having been made at the time that the query names adds, as a share of the best score; half, DAYS days away.
TIME = 0.4
DAYS = 5
#: When an item was made is looked up for this many of the best by words.
TIMED = 1000

#: What holding all of the query's words adds to a short item, as a share of its score.
COVERAGE = 0.5
#: A title of at most this many words, all of them in the query, names who or what is meant.
NAME_WORDS = 3
#: What holding all of the words in its opening adds to an item, as a share of the best score: in its first LINES lines,
#: at most OPENS characters. (An item of one line has a whole opening when it is long.)
OPENING = 0.2
LINES = 2
OPENS = 120
#: What holding all of the words as they are written adds to an answer to a French question, as a share of the best
#: score: to the index, whose stemmer is an English one, `île` is `il`.
WRITTEN = 0.4

#: What the topic adds at most, as a share of the best score; half of it where items have LONG characters.
TOPIC = 0.25
LONG = 600
#: Fewer items have no topic in common.
LEAST_ITEMS = 10
#: The best TELLING items say what the topic is, by WORDS words, chosen among CHOICE more frequent ones.
TELLING = 5
WORDS = 6
CHOICE = 20
#: How many of the best get a share of the topic, and how many characters of each are read.
TOPIC_POOL = 40
READ = 700
#: A word's first letters stand for all its forms; shorter ones say too little.
ROOT = 7
SHORTEST = 4
#: A word that a larger share of the items has says nothing.
TOO_MANY = 0.7

#: How much more a word counts that is there more often, with its neighbours'.
NEAR_K1 = 1.2
#: How much of a word counts for the items one and two places away.
NEAR = (0.6, 0.35)
#: The best SPREAD items are looked at with their neighbours; of the best WIDENED, also neighbours without a match.
SPREAD = 500
WIDENED = 20
#: Of passages of documents fewer: each says by itself what it is about, so that neighbours bring none in.
PASSAGES = 100
#: What a passage loses, as a share of its score, that tells what changed in some version, when nobody asks for that.
NEWS = 0.2
#: The first part of a function or class has this much of the score of the best part.
DEFINITION = 1.01
#: A page of contents has this much of the score of the best page that it lists, if it had more.
BEHIND = 0.99
#: How much a long item's words count less than a short one's (bm25's b; FTS5 has 0.75).
LENGTH = 0.15
FTS_LENGTH = 0.75
#: What the whole source adds, as a share of the best score, and how soon more of a word adds nothing there.
SOURCE = 0.15
SOURCE_K1 = 2.0
#: What the item before adds when it asks something: its share of the score.
REPLY = 0.35
#: What a turn keeps of its score for each better one right beside it, with which it is seen anyway.
BESIDE = 0.82

#: How a month begins, in English and French.
_MONTHS = frozenset((
    "jan", "feb", "fév", "fev", "mar", "apr", "avr", "may", "mai", "jun", "jui", "jul", "aug", "aoû", "aou", "sep",
    "oct", "nov", "dec", "déc",
))  # fmt: skip
_SILENT = EN_STOP_WORDS | FR_STOP_WORDS
#: Blanks for the ASCII characters that are in no word: in bytes, of which the others are left as they are.
_BLANKS = bytes(code if code > 127 or chr(code).isalnum() else 32 for code in range(256))


def rank(
    db: Database, query: Query, filters: Filters, limit: int, *, count: bool = False, pieces: bool = True
) -> SearchResult:
    """The `limit` best items that hold any word of the query; a negative limit means all of them."""
    result, pool = find_candidates(db, query, filters, limit, count=count, pieces=pieces)
    scores = by_words = result.parts[0][1]
    most = max(pool, limit) if limit >= 0 else sys.maxsize
    first = best_rows(scores, max(most, SPREAD))
    rows = best_rows({row: scores[row] for row in first}, most)
    near = None
    places = index.read_order(db, rows[:PROBE])
    if places and 4 * len(places) >= len(rows[:PROBE]):  # else they have no order
        near = Neighbours(db, result, filters, first, documents=all(place.document for place in places.values()))
        result.total += len(near.scores) - len(scores)
        scores = near.scores
    scores = score_times(db, result, scores)
    if scores is not by_words:
        rows = best_rows(scores, most)
    found = index.fetch_candidates(db, scores, rows)
    if len(rows) > pool:
        found = index.sort_candidates(found)
    head = found[:pool]
    texts = score_texts(result, head)
    if near is not None:
        near.add_reasons(result, head)
    if len(head) >= LEAST_ITEMS and not (near is not None and near.documents):  # passages are told apart by documents
        fade = 1.0 if near is None else near.share
        result.add(head, "topic", score_topic(index.sort_candidates(head), query, texts, fade))
    if near is not None:
        turns = {c.row: c.score for c in head if c.row in near.places and not near.places[c.row].document}
        result.add(head, "beside", near.score_beside(turns) if turns else {})
    result.candidates = index.sort_candidates(head) + found[pool:]
    return result


def best_rows(scores: Scores, limit: int) -> list[int]:
    """The rows of the `limit` best, best first, and of those that tie with the last of them."""
    rows = list(scores)
    if limit < len(rows):
        least = sorted(scores.values(), reverse=True)[limit - 1]
        rows = [row for row, score in scores.items() if score >= least]
    rows.sort(key=scores.__getitem__, reverse=True)
    return rows


# --- by time ---------------------------------------------------------------------------------------------------


def score_times(db: Database, result: SearchResult, scores: Scores) -> Scores:
    """The scores with what it adds to have been made at the time that the query names, or near it."""
    text = result.query.text
    words = text.lower().replace("'", " ").replace("\u2019", " ").split()
    if not any(word[:3] in _MONTHS or "19" in word or "20" in word for word in words):
        return scores
    from memctl.text.times import named_days

    spans = named_days(text)
    most = TIME * max(scores.values(), default=0.0)
    if not spans or not most:
        return scores
    days = index.created_days(db, best_rows(scores, TIMED))
    added = {row: most / (1 + min([span.apart(day) for span in spans]) / DAYS) for row, day in days.items()}
    if not added:
        return scores
    result.parts.append(("time", added))
    return scores | {row: scores[row] + more for row, more in added.items()}


# --- by what the texts say --------------------------------------------------------------------------------------


def score_texts(result: SearchResult, head: Sequence[Candidate]) -> dict[int, str]:
    """Add to the scores of the best candidates what their texts say for them; the texts by row, if they were needed."""
    query, rows = result.query, {c.row for c in head}
    held: Scores = {}  # the weight of the words that an item holds
    every = 0.0
    for term in result.terms:
        if term.whole:
            idf = result.idf(term)
            every += idf
            for row in rows & term.rows.keys():
                held[row] = held.get(row, 0.0) + idf
    texts: dict[int, str] = {}
    rest = [term for term in result.rest if term.whole]
    if rest:
        texts = _lower_texts(head)
        weighed = [(term.root, result.idf(term)) for term in rest]
        for _, idf in weighed:
            every += idf
        result.add(head, "common words", _score_common(texts, head, weighed, held))
    if every:
        covered = {
            c.row: COVERAGE * c.score * SHORT / (SHORT + len(c.content)) * held[c.row] / every
            for c in head
            if c.row in held
        }
        result.add(head, "coverage", covered)
    if len(head) > POOL:  # all words are common, and have only now told which items are the best
        least = sorted([c.score for c in head], reverse=True)[POOL - 1]
        head = index.sort_candidates([c for c in head if c.score >= least])[:POOL]
    top = max((c.score for c in head), default=0.0)
    words = {word.lower() for word in (*query.terms, *query.parts)}
    # A short title, or the last part of one like `parser > Reader`.
    titles = ((c.row, part) for c in head for part in (c.title.lower(), c.title.lower().rpartition(" > ")[2]))
    starts = ((row, part.split(None, NAME_WORDS)) for row, part in titles)
    named = {row: NAMED * top for row, first in starts if 0 < len(first) <= NAME_WORDS and words.issuperset(first)}
    result.add(head, "name", named)
    if every:
        weights = [(term, result.idf(term) * top / every) for term in (*result.terms, *rest) if term.whole]
        result.add(head, "opening", _score_openings(head, weights))
        if query.language == "fr":
            texts = texts or _lower_texts(head)
            result.add(head, "as written", _score_spelling(texts, weights))
    return texts


def _lower_texts(head: Sequence[Candidate]) -> dict[int, str]:
    return {c.row: f"{c.title}\n{c.content}".lower() for c in head}


def _score_common(
    texts: dict[int, str], head: Sequence[Candidate], words: Sequence[tuple[str, float]], held: Scores
) -> Scores:
    """What common words, by root and weight, say for texts; which hold them is noted in `held`."""
    mean = sum(len(c.content) for c in head) / max(1, len(head)) or 1.0
    lengths = {row: 0.25 + 0.75 * len(text) / mean for row, text in texts.items()}  # what bm25 makes of a length
    added: Scores = {}
    for root, idf in words:
        weight = idf * (K1 + 1)
        for row, text in texts.items():
            times = text.count(root)
            if times:
                strength = times / lengths[row]
                held[row] = held.get(row, 0.0) + idf
                added[row] = added.get(row, 0.0) + weight * strength / (strength + K1)
    return added


def _score_openings(head: Sequence[Candidate], weights: Sequence[tuple[Term, float]]) -> Scores:
    """What the words in their first lines say for items."""
    openings: dict[int, str] = {}
    shares: Scores = {}
    for c in head:
        text = c.content
        if "\n" in text:
            lines = text[: 4 * OPENS].split("\n", 2 * LINES)
            text = "\n".join([line for line in lines if line and not line.isspace()][:LINES])
        else:
            shares[c.row] = len(text) / (len(text) + SHORT)
        openings[c.row] = text[:OPENS].lower()
    added: Scores = {}
    for term, weight in weights:
        for row, text in openings.items():
            if term.root in text:
                added[row] = added.get(row, 0.0) + OPENING * weight
    return {row: weight * shares.get(row, 1.0) for row, weight in added.items() if weight}


def _score_spelling(texts: dict[int, str], weights: Sequence[tuple[Term, float]]) -> Scores:
    """What it says for items that they hold words as they are written, not as pieces of longer ones."""
    added: Scores = {}
    for term, weight in weights:
        word = term.word.lower()
        for row, text in texts.items():
            at = text.find(word)
            while at >= 0:
                end = at + len(word)
                if not (text[at - 1 : at].isalnum() or text[end : end + 1].isalnum()):
                    added[row] = added.get(row, 0.0) + WRITTEN * weight
                    break
                at = text.find(word, end)
    return added


# --- by what the best have in common ----------------------------------------------------------------------------


def score_topic(head: Sequence[Candidate], query: Query, known: Mapping[int, str], fade: float) -> Scores:
    """What each of the best items gets for what it has in common with the very best, beside the query's words.

    head   the best items, in order
    known  texts of them in lower case, the title before the content, as far as somebody made them
    fade   what is left of it: among turns of a conversation less, the longer they are
    """
    head = head[:TOPIC_POOL]
    texts = [
        known[c.row][: len(c.title) + 1 + READ] if c.row in known else f"{c.title}\n{c.content[:READ]}".lower()
        for c in head
    ]
    asked = tuple(stem(word)[:ROOT] for word in (*query.terms, *query.parts))
    weights = {root: weight for root, weight in _weigh_roots(head, texts).items() if not root.startswith(asked)}
    frequent = sorted(weights, key=lambda root: (-weights[root], root))[:CHOICE]
    holders = {root: [root in text for text in texts] for root in frequent}
    topic: dict[str, float] = {}
    for root, holds in holders.items():
        n = sum(holds)
        if 0 < n <= TOO_MANY * len(head):
            topic[root] = weights[root] * math.log1p(len(head) / n)
    chosen = sorted(topic, key=lambda root: (-topic[root], root))[:WORDS]
    telling = [(topic[root], holders[root]) for root in chosen]
    much = [sum([weight for weight, holds in telling if holds[at]]) for at in range(len(head))]
    most = max(much, default=0.0)
    if not most:
        return {}
    mean = sum(len(c.content) for c in head) / len(head)
    share = fade * TOPIC * head[0].score * mean / (mean + LONG)
    return {c.row: share * m / most for c, m in zip(head, much, strict=True)}


def _weigh_roots(head: Sequence[Candidate], texts: Sequence[str]) -> dict[str, float]:
    """The roots that at least two of the very best items have, with the weight of these."""
    said: list[tuple[float, list[str]]] = []
    once: set[str] = set()
    twice: set[str] = set()
    for c, text in zip(head[:TELLING], texts, strict=False):
        words = text.encode().translate(_BLANKS).decode().split()
        roots = [word[:ROOT] for word in words if len(word) >= SHORTEST and word not in _SILENT]
        said.append((c.score / max(1, len(words)), roots))
        here = set(roots)
        twice |= here & once
        once |= here
    weights = dict.fromkeys(twice, 0.0)
    for share, roots in said:
        for root in roots:
            if root in twice:
                weights[root] += share
    return weights


# --- by what stands beside them -------------------------------------------------------------------------------------


class Neighbours:
    """The scores with what neighbours add, and the reasons that need to know where items stand.

    places  the items at hand, by rowid: their source, their position in it
    lines   by source: position -> rowid
    own     for each term its strengths in these items, with less regard for their length
    share   how much neighbours count: half for items of SHORT characters; for longer ones it fades away, since each of
            them speaks for itself
    """

    def __init__(
        self, db: Database, result: SearchResult, filters: Filters, best: Sequence[int], *, documents: bool
    ) -> None:
        self.documents = documents
        self.words = words = result.parts[0][1]
        rows = best[: PASSAGES if documents else SPREAD]
        widened = () if documents else rows[:WIDENED]
        beside = {near for row in widened for near in range(row - len(NEAR), row + len(NEAR) + 1)}
        silent = index.filter_rows(db, filters, beside - words.keys())
        self.places = index.read_order(db, [*rows, *silent])
        self.lines: dict[str, dict[int, int]] = {}
        for row in sorted(self.places):
            place = self.places[row]
            self.lines.setdefault(place.source, {})[place.position] = row
        mean = sum(place.length for place in self.places.values()) / max(1, len(self.places)) or 1.0
        ratios = {row: place.length / mean for row, place in self.places.items()}
        # What makes a strength that FTS5 reckoned with an item's length one with less regard for it.
        longer = {
            row: (1 - FTS_LENGTH + FTS_LENGTH * ratio) / (1 - LENGTH + LENGTH * ratio) for row, ratio in ratios.items()
        }
        self.own = [
            {row: term.rows[row] * longer[row] for row in term.rows.keys() & self.places.keys()}
            for term in result.terms
        ]
        self.share = SHORT / (SHORT + mean) * min(1.0, SHORT / mean)
        spread = self._spread_words(result)
        result.parts.append(("neighbours", {row: score - words.get(row, 0.0) for row, score in spread.items()}))
        self.scores = words | spread

    def _spread_words(self, result: SearchResult) -> Scores:
        """The scores of the items at hand when the words of each count, more softly, for those beside it."""
        steps = [(way * away, much * self.share) for away, much in enumerate(NEAR, 1) for way in (-1, 1)]
        scores: Scores = dict.fromkeys(self.places, 0.0)
        beside: dict[int, list[tuple[int, float]]] = {}
        for term, own in zip(result.terms, self.own, strict=True):
            strengths = dict(own)
            for row, strength in own.items():
                if row not in beside:
                    place = self.places[row]
                    line, at = self.lines[place.source], place.position
                    found = [(line[at + step], weight) for step, weight in steps if at + step in line]
                    if place.document:  # a passage that holds none of the words is not brought in by the one beside it
                        found = [(near, weight) for near, weight in found if near in self.words]
                    beside[row] = found
                for near, weight in beside[row]:
                    strengths[near] = strengths.get(near, 0.0) + weight * strength
            idf = result.idf(term) * (NEAR_K1 + 1)
            for row, strength in strengths.items():
                scores[row] += idf * strength / (strength + NEAR_K1)
        return {row: score for row, score in scores.items() if score}

    def add_reasons(self, result: SearchResult, head: Sequence[Candidate]) -> None:
        """Add what else speaks for the best: a file that is named, the source as a whole, a question before.

        A passage of release notes or of a change log loses a little, when the question is not after these.
        """
        if not head:
            return
        query, top = result.query, max(c.score for c in head)
        words = {word.lower() for word in (*query.terms, *query.parts)}
        placed = [c for c in head if c.row in self.places]
        scores = {c.row: c.score for c in placed}
        files: Scores = {}
        for row in scores:
            name = self.places[row].source.rpartition("/")[2].lower()
            if name in words or ("." in name and name.rpartition(".")[0] in words):
                files[row] = NAMED * top
        result.add(head, "file", files)
        sources = self._score_sources()
        best = max(sources.values(), default=0.0)
        if best:
            most = SOURCE * self.share * top / best
            result.add(head, "source", {row: most * sources.get(self.places[row].source, 0.0) for row in scores})
        replies: Scores = {}
        for row in scores:
            place = self.places[row]
            before = self.lines[place.source].get(place.position - 1)
            if before is not None and self.places[before].asks and scores.get(before):
                replies[row] = REPLY * self.share * scores[before]
        result.add(head, "reply", replies)
        if not self.documents:
            return
        kinds = {c.row: document_kind(self.places[c.row].source, c.title) for c in placed}
        if not asks_for_news(query.text):
            result.add(head, "news", {c.row: -NEWS * c.score for c in placed if kinds[c.row] == "news"})
        programs = [c for c in placed if kinds[c.row] == "program"]
        result.add(head, "definition", self._score_definitions(programs) if programs else {})
        lists = [c for c in placed if any(map(c.content.__contains__, SIGNS))]
        result.add(head, "contents", self._score_contents(lists, placed) if lists else {})

    def _score_definitions(self, programs: Sequence[Candidate]) -> Scores:
        """What lifts the first part of a function or class before its other parts: its name and docstring are there."""
        definitions: dict[tuple[str, str], list[Candidate]] = {}
        for c in programs:
            definitions.setdefault((self.places[c.row].source, c.title), []).append(c)
        lifted: Scores = {}
        for parts in definitions.values():
            first = min(parts, key=lambda c: self.places[c.row].position)
            best = max(c.score for c in parts)
            if best > first.score:
                lifted[first.row] = DEFINITION * best - first.score
        return lifted

    def _score_contents(self, lists: Sequence[Candidate], placed: Sequence[Candidate]) -> Scores:
        """What puts a page of contents behind the best of the pages that it lists: these say what it only names."""
        stems = {c.row: self.places[c.row].source.rpartition(".")[0] for c in placed}
        lost: Scores = {}
        for c in lists:
            pages = tuple(listed_pages(c.content, self.places[c.row].source))
            listed = [other.score for other in placed if pages and stems[other.row].endswith(pages)]
            best = max(listed, default=0.0)
            if 0 < best <= c.score:
                lost[c.row] = BEHIND * best - c.score
        return lost

    def _score_sources(self) -> dict[str, float]:
        """How well each source as a whole answers, its items taken together."""
        every = len({place.source for place in self.places.values()})
        out: dict[str, float] = {}
        for own in self.own:
            held: dict[str, float] = {}
            for row, strength in own.items():
                source = self.places[row].source
                held[source] = held.get(source, 0.0) + (NEAR_K1 + 1) * strength / (strength + NEAR_K1)
            idf = math.log1p((every - len(held) + 0.5) / (len(held) + 0.5))
            for source, much in held.items():
                out[source] = out.get(source, 0.0) + idf * much / (much + SOURCE_K1)
        return out

    def score_beside(self, scores: Scores) -> Scores:
        """What turns lose for a better one right beside them: so what was said elsewhere finds a place, too."""
        kept = dict(scores)
        waiting = sorted(kept, key=kept.__getitem__)[-POOL:]
        left = set(waiting)
        while waiting:
            row = waiting.pop()
            left.remove(row)
            line, at = self.lines[self.places[row].source], self.places[row].position
            beside = [near for near in (line.get(at - 1), line.get(at + 1)) if near in left]
            for near in beside:
                kept[near] *= BESIDE
            if beside:
                waiting.sort(key=kept.__getitem__)
        return {row: kept[row] - score for row, score in scores.items() if kept[row] != score}
