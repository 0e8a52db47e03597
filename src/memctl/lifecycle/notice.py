"""Noticing that a new statement nearly repeats one that is stored, or contradicts it.

The statements that share its rarest words are looked up in the full-text index, and compared with it word by word
(`memctl.text.replacing`, `memctl.text.contradiction`). Nothing is changed but that a conflict is noted: who stores the
statement is told.
"""

from memctl.annotations import NamedTuple
from memctl.store.database import Database
from memctl.store.filters import Filters
from memctl.store.search import index
from memctl.text import contradiction, replacing
from memctl.text.query import analyse
from memctl.types import MemoryItem

#: Of so many words of a statement the index is asked how many items have them; the RAREST that any has are looked for.
MOST_ASKED, RAREST = 12, 4
#: Counting the items of a word ends here; first all words are counted so far, since few words are as rare.
COMMON, RARE = 500, 25
#: What is said of two statements of which the older one is known to be wrong.
RETRACTED = f"{replacing.SAME}, and it was retracted"
#: How many statements are compared, the newest first, and how many are told.
COMPARED, MOST_TOLD = 20, 3


class Similar(NamedTuple):
    """A stored statement that a new one nearly repeats, or contradicts, and what shows it."""

    id: str
    why: str

    @property
    def is_repeat(self) -> bool:
        """Whether both say the same."""
        return self.why in (replacing.SAME, RETRACTED)


def find_similar(db: Database, item: MemoryItem) -> list[Similar]:
    """The statements in the item's scope that it nearly repeats or contradicts, the newest first.

    Passages of documents are not among them, nor what policy holds back. What was retracted is only repeated: that the
    new one says something else is what it was retracted for.
    """
    if not index.has_index(db):
        return []
    asked = list(dict.fromkeys(map(index.quote_phrase, analyse(item.content).terms[:MOST_ASKED])))
    known = _rarest(db, asked)
    if not known or (len(known) == 1 and index.count_matches(db, known[0], COMMON) >= COMMON):
        return []
    expression = _two_of(known) or known[0]
    filters = Filters((item.scope,), corpus_id=item.corpus_id, origin="statements")
    rows = index.newest_matches(db, expression, filters, COMPARED)
    found = index.fetch_candidates(db, dict.fromkeys(rows, 0.0), rows)
    told = ((one.id, _compare(one, item)) for one in found if one.injectable)
    return [Similar(item_id, why) for item_id, why in told if why][:MOST_TOLD]


def _compare(old: index.Candidate, new: MemoryItem) -> str:
    """What a new statement is to an old one; "" when they have nothing to do with each other."""
    against, same = contradiction.find(old.content, new.content), replacing.compare(new.content, old.content)
    if old.validation == "retracted":
        return RETRACTED if same and not against else ""
    return against or same


def _rarest(db: Database, phrases: list[str]) -> list[str]:
    """The rarest of the phrases that any item has; which of them is rarer is counted where it decides."""
    counts = {phrase: index.count_matches(db, phrase, RARE) for phrase in phrases}
    known = [phrase for phrase in phrases if counts[phrase]]
    if len(known) > RAREST > sum(counts[phrase] < RARE for phrase in known):
        more = (phrase for phrase in known if counts[phrase] == RARE)
        counts |= {phrase: index.count_matches(db, phrase, COMMON) for phrase in more}
    return sorted(known, key=counts.__getitem__)[:RAREST]


def _two_of(phrases: list[str]) -> str:
    """An expression for what has two of these phrases at least, each asked for as seldom as can be: that costs."""
    if len(phrases) < 2:
        return ""
    left, right = phrases[: len(phrases) // 2], phrases[len(phrases) // 2 :]
    of_each = f"(({' OR '.join(left)}) AND ({' OR '.join(right)}))"
    return " OR ".join(filter(None, (of_each, _two_of(left), _two_of(right))))
