"""What the best items have in common beside the query's words speaks for others that have it too."""

import math
from collections.abc import Mapping, Sequence

from memctl.store.search.index import Candidate
from memctl.text.languages import EN_STOP_WORDS, FR_STOP_WORDS
from memctl.text.query import Query, stem

Scores = dict[int, float]

#: What the topic adds at most, as a share of the best score; half of it where items have so many characters.
TOPIC = 0.25
LONG = 600
#: The best so many items say what the topic is, by so many words, chosen among so many more frequent ones.
TELLING = 5
WORDS = 6
CHOICE = 20
#: So many of the best are read.
POOL = 40
#: A word's first letters stand for all its forms; shorter ones say too little.
ROOT = 7
SHORTEST = 4
#: Of a long item the first so many characters are read.
READ = 700
#: A word that more of the items have says nothing.
TOO_MANY = 0.7

_SILENT = EN_STOP_WORDS | FR_STOP_WORDS
#: Blanks for the ASCII characters that are in no word: in bytes, of which the others are left as they are.
_BLANKS = bytes(code if code > 127 or chr(code).isalnum() else 32 for code in range(256))


def feedback(head: Sequence[Candidate], query: Query, known: Mapping[int, str], *, fade: float = 1.0) -> Scores:
    """What each of the best items gets for what it has in common with the very best.

    head   the best items, in order
    known  texts of them in lower case, the title before the content, as far as somebody made them
    fade   what is left of it: among turns of a conversation less, the longer they are
    """
    head = head[:POOL]
    texts = [
        known[c.row][: len(c.title) + 1 + READ] if c.row in known else f"{c.title}\n{c.content[:READ]}".lower()
        for c in head
    ]
    asked = tuple(stem(word)[:ROOT] for word in (*query.terms, *query.parts))
    weights = {root: weight for root, weight in _telling(head, texts).items() if not root.startswith(asked)}
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


def _telling(head: Sequence[Candidate], texts: Sequence[str]) -> dict[str, float]:
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
