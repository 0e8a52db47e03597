"""What the items beside an item say for it: the turns of a conversation, the passages of a document.

A short item says little by itself: its neighbours' words count for it as if they were its own, more softly.
"""

import math
from collections.abc import Iterator, Sequence

from memctl.retrieve.ranking import NAMED, POOL, SHORT, Scores, SearchResult, best_rows
from memctl.store.database import Database
from memctl.store.filters import Filters
from memctl.store.search import index
from memctl.store.search.index import Candidate
from memctl.text.query import Query

#: How much more a word counts that is there more often, with its neighbours'.
K1 = 1.2
#: How much of a word counts for the items one and two places away.
NEAR = (0.6, 0.35)
#: The best SPREAD items are looked at with their neighbours; of the best WIDENED, also neighbours without a match.
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


class Neighbours:
    """The scores with what neighbours add, and the reasons that need to know where items stand.

    places  the items at hand, by rowid: their source, their position in it
    lines   by source: position -> rowid
    own     for each term its strengths in these items, with less regard for their length
    share   how much neighbours count: half for items of SHORT characters; for longer ones it fades away, since each of
            them speaks for itself
    """

    def __init__(self, db: Database, result: SearchResult, filters: Filters, *, documents: bool) -> None:
        self.documents = documents
        self.words = words = result.parts[0][1]
        most = PASSAGES if documents else SPREAD
        rows = best_rows(words, most)[:most]
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
        counts = self.share * (OF_PASSAGES if self.documents else 1)
        steps = [(way * away, much * counts) for away, much in enumerate(NEAR, 1) for way in (-1, 1)]
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
            idf = result.idf(term) * (K1 + 1)
            for row, strength in strengths.items():
                scores[row] += idf * strength / (strength + K1)
        return {row: score for row, score in scores.items() if score}

    def reasons(self, head: Sequence[Candidate], query: Query) -> Iterator[tuple[str, Scores]]:
        """What else speaks for the best candidates: a file that is named, the source as a whole, a question before."""
        if not head:
            return
        top = max(c.score for c in head)
        words = {word.lower() for word in (*query.terms, *query.parts)}
        scores = {c.row: c.score for c in head if c.row in self.places}
        files = {row: self.places[row].source.rpartition("/")[2].lower() for row in scores}
        yield (
            "file",
            {
                row: NAMED * top
                for row, name in files.items()
                if name in words or ("." in name and name.rpartition(".")[0] in words)
            },
        )
        sources = self._score_sources()
        best = max(sources.values(), default=0.0)
        if best:
            most = SOURCE * self.share * top / best
            yield "source", {row: most * sources.get(self.places[row].source, 0.0) for row in scores}
        replies: Scores = {}
        for row in scores:
            place = self.places[row]
            before = self.lines[place.source].get(place.position - 1)
            if before is not None and self.places[before].asks and scores.get(before):
                replies[row] = REPLY * self.share * scores[before]
        yield "reply", replies
        if self.documents:
            yield "news", self._score_news(head, query)
            yield "definition", self._score_definitions(head)

    def _score_definitions(self, head: Sequence[Candidate]) -> Scores:
        """What lifts the first part of a function or class before its other parts: its name and docstring are there."""
        from memctl.text.query import document_kind

        parts: dict[tuple[str, str], list[Candidate]] = {}
        for c in head:
            if c.row in self.places and document_kind(self.places[c.row].source, c.title) == "program":
                parts.setdefault((self.places[c.row].source, c.title), []).append(c)
        added: Scores = {}
        for same in parts.values():
            first = min(same, key=lambda c: self.places[c.row].position)
            best = max(c.score for c in same)
            if best > first.score:
                added[first.row] = DEFINITION * best - first.score
        return added

    def _score_news(self, head: Sequence[Candidate], query: Query) -> Scores:
        """What passages of release notes and change logs lose, when the question is not after these."""
        from memctl.text.query import asks_for_news, document_kind

        if asks_for_news(query.text):
            return {}
        placed = [c for c in head if c.row in self.places]
        return {c.row: -NEWS * c.score for c in placed if document_kind(self.places[c.row].source, c.title) == "news"}

    def _score_sources(self) -> dict[str, float]:
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

    def score_beside(self, head: Sequence[Candidate]) -> Scores:
        """What turns lose for a better one right beside them: so what was said elsewhere finds a place, too."""
        kept = {c.row: c.score for c in head if c.row in self.places and not self.places[c.row].document}
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
        return {c.row: kept[c.row] - c.score for c in head if c.row in kept and kept[c.row] != c.score}
