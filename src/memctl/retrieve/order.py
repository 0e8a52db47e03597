"""What the items beside an item say for it: the turns of a conversation, the passages of a document.

A short item says little by itself: its neighbours' words count for it as if they were its own, more softly.
"""

import math
from collections.abc import Iterator, Mapping, Sequence

from memctl.retrieve.rank import NAMED, POOL, SHORT, Ranking, Scores, best
from memctl.store.database import Database
from memctl.store.filters import Filters
from memctl.store.search import index
from memctl.store.search.index import Candidate
from memctl.text.query import Query

#: How much more a word counts that is there more often, with its neighbours'.
K1 = 1.2
#: How much of a word counts for the items one and two places away.
NEAR = (0.6, 0.35)
#: So many of the best items are looked at with their neighbours; of so many, also neighbours without a match.
SPREAD = 500
WIDENED = 20
#: Of passages of documents fewer: each says by itself what it is about, so that neighbours add less, and bring none in.
PASSAGES = 100
OF_PASSAGES = 0.5
#: What a passage loses, as a share of its score, that tells what changed in some version, when nobody asks for that.
NEWS = 0.2
#: The first part of a function or class has this much of the score of the best part.
DEFINITION = 1.01
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


def _longer(ratio: float) -> float:
    """What makes a strength that FTS5 reckoned with an item's length one with less regard for it."""
    return (1 - FTS_LENGTH + FTS_LENGTH * ratio) / (1 - LENGTH + LENGTH * ratio)


class Neighbours:
    """The scores with what neighbours add, and the reasons that need to know where items stand."""

    def __init__(self, db: Database, ranking: Ranking, filters: Filters, *, documents: bool) -> None:
        self.ranking, self.documents = ranking, documents
        self.words = words = ranking.parts[0][1]
        much = PASSAGES if documents else SPREAD
        rows = best(words, much)[:much]
        widened = () if documents else rows[:WIDENED]
        beside = {near for row in widened for near in range(row - len(NEAR), row + len(NEAR) + 1)}
        silent = index.filter_rows(db, filters, beside - words.keys())
        self.places = index.read_order(db, [*rows, *silent])
        self.at: dict[str, dict[int, int]] = {}
        for row in sorted(self.places):
            place = self.places[row]
            self.at.setdefault(place.source, {})[place.position] = row
        lengths = {row: place.length for row, place in self.places.items()}
        self.mean = sum(lengths.values()) / max(1, len(lengths)) or 1.0
        self.longer = {row: _longer(length / self.mean) for row, length in lengths.items()}
        # Half for items of SHORT characters; for longer ones it fades away: each of them speaks for itself.
        self.share = SHORT / (SHORT + self.mean) * min(1.0, SHORT / self.mean)
        counts = self.share * (OF_PASSAGES if documents else 1)
        self.steps = [(way * away, much * counts) for away, much in enumerate(NEAR, 1) for way in (-1, 1)]
        self.own = [self._own(term.rows) for term in ranking.terms]
        spread = self._spread()
        self.added = {row: score - words.get(row, 0.0) for row, score in spread.items()}
        self.scores = words | spread
        ranking.parts.append(("neighbours", self.added))

    def _own(self, rows: Mapping[int, float]) -> Scores:
        """A term's strengths in the items at hand, with less regard for their length."""
        return {row: rows[row] * self.longer[row] for row in rows.keys() & self.places.keys()}

    def _spread(self) -> Scores:
        scores: Scores = dict.fromkeys(self.places, 0.0)
        beside: dict[int, list[tuple[int, float]]] = {}
        for term, own in zip(self.ranking.terms, self.own, strict=True):
            strengths = dict(own)
            for row, strength in own.items():
                if row not in beside:
                    beside[row] = self._beside(row)
                for near, weight in beside[row]:
                    strengths[near] = strengths.get(near, 0.0) + weight * strength
            idf = self.ranking.idf(term) * (K1 + 1)
            for row, strength in strengths.items():
                scores[row] += idf * strength / (strength + K1)
        return {row: score for row, score in scores.items() if score}

    def _beside(self, row: int) -> list[tuple[int, float]]:
        """The items beside one, with what its words count for them."""
        place = self.places[row]
        line, at = self.at[place.source], place.position
        found = [(line[at + step], weight) for step, weight in self.steps if at + step in line]
        if place.document:  # a passage that holds none of the words is not brought in by the one beside it
            return [(near, weight) for near, weight in found if near in self.words]
        return found

    def reasons(self, head: Sequence[Candidate], query: Query) -> Iterator[tuple[str, Scores]]:
        """What else speaks for the best candidates: a file that is named, the source as a whole, a question before."""
        if not head:
            return
        top = max(c.score for c in head)
        words = {word.lower() for word in (*query.terms, *query.parts)}
        scores = {c.row: c.score for c in head if c.row in self.places}
        yield "file", {row: NAMED * top for row in scores if self._in_named(row, words)}
        sources = self._by_source()
        best = max(sources.values(), default=0.0)
        if best:
            much = SOURCE * self.share * top / best
            yield "source", {row: much * sources.get(self.places[row].source, 0.0) for row in scores}
        yield "reply", dict(self._replies(scores))
        if self.documents:
            yield "news", self._news(head, query)
            yield "definition", self._definitions(head)

    def _definitions(self, head: Sequence[Candidate]) -> Scores:
        """What lifts the first part of a function or class before its other parts: its name and docstring are there."""
        from memctl.text.query import is_program

        parts: dict[tuple[str, str], list[Candidate]] = {}
        for c in head:
            if c.row in self.places and is_program(self.places[c.row].source):
                parts.setdefault((self.places[c.row].source, c.title), []).append(c)
        added: Scores = {}
        for same in parts.values():
            first = min(same, key=lambda c: self.places[c.row].position)
            best = max(c.score for c in same)
            if best > first.score:
                added[first.row] = DEFINITION * best - first.score
        return added

    def _news(self, head: Sequence[Candidate], query: Query) -> Scores:
        """What passages of release notes and change logs lose, when the question is not after these."""
        from memctl.text.query import asks_for_news, tells_news

        if asks_for_news(query.text):
            return {}
        told = [c for c in head if c.row in self.places and tells_news(self.places[c.row].source, c.title)]
        return {c.row: -NEWS * c.score for c in told}

    def _in_named(self, row: int, words: set[str]) -> bool:
        name = self.places[row].source.rpartition("/")[2].lower()
        return name in words or ("." in name and name.rpartition(".")[0] in words)

    def _by_source(self) -> dict[str, float]:
        """How well each source as a whole answers, its items taken together."""
        every = len({place.source for place in self.places.values()})
        out: dict[str, float] = {}
        for own in self.own:
            held: dict[str, float] = {}
            for row, strength in own.items():
                source = self.places[row].source
                held[source] = held.get(source, 0.0) + (K1 + 1) * strength / (strength + K1)
            idf = math.log1p((every - len(held) + 0.5) / (len(held) + 0.5))
            for source, much in held.items():
                out[source] = out.get(source, 0.0) + idf * much / (much + SOURCE_K1)
        return out

    def _replies(self, scores: Scores) -> Iterator[tuple[int, float]]:
        for row in scores:
            place = self.places[row]
            before = self.at[place.source].get(place.position - 1)
            if before is not None and self.places[before].asks and scores.get(before):
                yield row, REPLY * self.share * scores[before]

    def beside(self, head: Sequence[Candidate]) -> Scores:
        """What turns lose for a better one right beside them: so what was said elsewhere finds a place, too."""
        kept = {c.row: c.score for c in head if c.row in self.places and not self.places[c.row].document}
        waiting = sorted(kept, key=kept.__getitem__)[-POOL:]
        left = set(waiting)
        while waiting:
            row = waiting.pop()
            left.remove(row)
            line, at = self.at[self.places[row].source], self.places[row].position
            beside = [near for near in (line.get(at - 1), line.get(at + 1)) if near in left]
            for near in beside:
                kept[near] *= BESIDE
            if beside:
                waiting.sort(key=kept.__getitem__)
        return {c.row: kept[c.row] - c.score for c in head if c.row in kept and kept[c.row] != c.score}
