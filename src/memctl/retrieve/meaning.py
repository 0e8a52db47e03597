"""Finding by meaning: what the vectors add to a search by words, and how much of it a store can trust.

Vectors find what is said in other words, and miss what is said in the same: names, numbers, languages their model does
not know. So they only add to the scores of the words, with a weight that `memctl embed` learns from the store itself.
"""

from array import array
from collections.abc import Callable, Iterator, Sequence

from memctl import errors
from memctl.annotations import TYPE_CHECKING
from memctl.store.database import Database
from memctl.store.filters import Filters
from memctl.store.search import index, vectors

if TYPE_CHECKING:
    from memctl.retrieve.embedder import Embedder
    from memctl.retrieve.find import Found

#: So many of the best by words, and as many by meaning, are put into one order.
POOL = 100
#: What a weight is learnt from: at most so many questions, made of the first words of items, among so many vectors.
QUESTIONS = 150
BATCH = 32
WORDS = 8
AMONG = 20_000
#: A scope with fewer vectors says nothing about chance; a store where none has more gets this weight.
FEW = 30
UNSURE = 0.2
#: How much one standard deviation beyond chance is worth, and the most that meaning may count beside the words.
STEP = 0.8
MOST = 1.0
#: A question whose nearest item stands out by more than so much counts by itself, whatever was learnt.
SURE = 1.6

#: What a question says is cut to so many characters before it is embedded.
QUESTION_CHARS = 2000


class Meaning:
    """An embedder as a search uses it: `seconds` is how long a question may take, `warn` is told when it cannot."""

    def __init__(self, embedder: "Embedder", seconds: float, warn: Callable[[str], None]) -> None:
        self.embedder, self.seconds, self.warn = embedder, seconds, warn
        self._told = False
        self._asked: tuple[str, array[float] | None] = ("", None)

    def add(self, db: Database, found: "Found", filters: Filters, limit: int) -> None:
        """Put what is near in meaning among what was found by words, and cut the list at `limit` (all, if negative).

        When the embedder cannot be reached, says so once and leaves what the words found.
        """
        learnt = weight_of(db, self.embedder.model)
        if learnt is None:
            others = ", ".join(vectors.count_by_model(db)) or "none"
            self._tell(f"the store has no vectors of {self.embedder.model} (it has: {others}); memctl embed makes them")
        query = None if learnt is None else self._fitting(db, found.query.text)
        if learnt is not None and query is not None:
            near = vectors.nearest(db, query, self.embedder.model, filters, max(POOL, limit))
            known = near.cosines
            if not found.candidates:  # nothing but the meaning speaks for them: it must be more than chance
                known = {row: cosine for row, cosine in known.items() if cosine > near.chance}
            weight = min(MOST, max(learnt, STEP * (near.beyond() - SURE)))
            if weight > 0 or not found.candidates:
                self._merge(db, found, filters, query, known, weight or UNSURE, max(POOL, limit))
        if limit >= 0:
            del found.candidates[limit:]
        found.total = max(found.total, len(found.candidates))

    def _merge(
        self,
        db: Database,
        found: "Found",
        filters: Filters,
        query: "array[float]",
        known: dict[int, float],
        weight: float,
        pool: int,
    ) -> None:
        rows = sorted(known, key=lambda row: (-known[row], row))[:pool]
        if not rows:
            return
        top, floor = known[rows[0]], known[rows[-1]] if len(rows) >= pool else 0.0
        if found.like:  # what was found by substring comes without rowids
            places = vectors.rows_of(db, [c.id for c in found.candidates])
            for c in found.candidates:
                c.row = places.get(c.id, 0)
        here = {c.row for c in found.candidates}
        lacking = [c.id for c in found.candidates if c.row not in known]
        known |= vectors.cosines(db, query, lacking[:POOL], self.embedder.model, filters)
        scale = weight * max((c.score for c in found.candidates), default=1.0) / max(top - floor, 1e-6)
        new = index.fetch_candidates(db, dict.fromkeys(rows, 0.0), [row for row in rows if row not in here])
        added = {}
        for c in (*found.candidates, *new):
            added[c.row] = scale * max(0.0, known.get(c.row, floor) - floor)
            c.score += added[c.row]
        found.candidates = index.sort_candidates([*found.candidates, *new])
        if found.ranking is not None:
            found.ranking.parts.append(("meaning", added))

    def _fitting(self, db: Database, question: str) -> "array[float] | None":
        """The question's vector, if the store's can be compared with it."""
        vector, held = self._vector(question), vectors.dimension_of(db, self.embedder.model)
        if vector is None or held in (None, len(vector)):
            return vector
        self._tell(
            f"the vectors of {self.embedder.model} have {len(vector)} numbers, those in the store {held}; "
            "memctl embed --forget makes room for new ones"
        )
        return None

    def _vector(self, question: str) -> "array[float] | None":
        """The question's vector; None when the embedder cannot be used, which it says."""
        if self._told:
            return None
        if self._asked[0] != question:
            try:
                self._asked = (question, self.embedder.vectors([question[:QUESTION_CHARS]], self.seconds)[0])
            except errors.EmbedderFailed as exc:
                self._tell(exc.message)
                return None
        return self._asked[1]

    def _tell(self, why: str) -> None:
        if not self._told:
            self.warn(f"searching by words only: {why}")
        self._told = True


def weight_of(db: Database, model: str) -> float | None:
    """What a model's vectors may add to the best score by words, as a share of it; None when nothing was learnt."""
    noted = vectors.get_model_note(db, model)
    if noted is None:
        return None
    try:
        return min(MOST, max(0.0, float(noted)))
    except ValueError:  # another program's note
        return UNSURE


def learn(db: Database, embedder: "Embedder", filters: Filters, seconds: float) -> float:
    """What meaning may count in this store, as a share of the best score by words; noted in the store.

    The first words of an item are asked like a question. Where the nearest other item stands out from the rest by more
    than chance would have it, the vectors tell these texts apart, and are worth listening to. Where it does not (a
    language the model does not know, small talk), they are noise. Raises EmbedderFailed.
    """
    dimension = vectors.dimension_of(db, embedder.model)
    known = [] if dimension is None else vectors.list_sign_codes(db, embedder.model, dimension, filters)
    known = known[:: max(1, len(known) // AMONG)]
    scopes: dict[str, list[vectors.SignCode]] = {}
    for code in known:
        scopes.setdefault(code.scope, []).append(code)
    usable = [code for code in known if len(scopes[code.scope]) > FEW]
    chosen = usable[:: max(1, len(usable) // QUESTIONS)][:QUESTIONS]
    weight = UNSURE
    if chosen:
        beyond = [
            _beyond(vectors.signs_of(vector), [c.signs for c in scopes[code.scope] if c.id != code.id])
            for code, vector in _questions(db, embedder, chosen, filters, seconds)
        ]
        weight = min(MOST, max(0.0, STEP * sum(beyond) / max(1, len(beyond))))
    vectors.set_model_note(db, embedder.model, f"{weight:.4f}")
    return round(weight, 4)


def _questions(
    db: Database, embedder: "Embedder", chosen: Sequence[vectors.SignCode], filters: Filters, seconds: float
) -> "Iterator[tuple[vectors.SignCode, array[float]]]":
    asked = {text.id: " ".join(text.content.split()[:WORDS])[:QUESTION_CHARS]
             for text in vectors.texts_to_embed(db, [code.id for code in chosen], filters)}  # fmt: skip
    chosen = [code for code in chosen if asked.get(code.id)]
    for at in range(0, len(chosen), BATCH):
        batch = chosen[at : at + BATCH]
        yield from zip(batch, embedder.vectors([asked[code.id] for code in batch], seconds), strict=True)


def _beyond(asked: int, others: list[int]) -> float:
    """By how many standard deviations more than by chance the nearest stands out."""
    bits = [(asked ^ signs).bit_count() for signs in others]
    mean, spread = vectors.mean_and_deviation(bits)
    return (mean - min(bits)) / spread - vectors.chance_deviations(len(bits)) if spread else 0.0
