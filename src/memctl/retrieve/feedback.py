"""What the best items have in common beside the query's words speaks for others that have it too."""

import math
from collections.abc import Sequence

from memctl.store.search import Candidate
from memctl.text.query import EN_STOP_WORDS, FR_STOP_WORDS, Query, stem

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
_BLANKS = {code: " " for code in range(128) if not chr(code).isalnum()}


def feedback(head: Sequence[Candidate], query: Query) -> Scores:
    """What each of the best items gets for what it has in common with the very best; `head` is in order."""
    head = head[:POOL]
    texts = [f"{c.title}\n{c.content[:READ]}".lower() for c in head]
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
    much = [sum(topic[root] for root in chosen if holders[root][at]) for at in range(len(head))]
    most = max(much, default=0.0)
    if not most:
        return {}
    mean = sum(len(c.content) for c in head) / len(head)
    share = TOPIC * head[0].score * mean / (mean + LONG)
    return {c.row: share * m / most for c, m in zip(head, much, strict=True)}


def _telling(head: Sequence[Candidate], texts: Sequence[str]) -> dict[str, float]:
    """The roots that at least two of the very best items have, with the weight of these."""
    weights: dict[str, float] = {}
    once: set[str] = set()
    twice: set[str] = set()
    for c, text in zip(head[:TELLING], texts, strict=False):
        words = text.translate(_BLANKS).split()
        roots = [word[:ROOT] for word in words if len(word) >= SHORTEST and word not in _SILENT]
        share = c.score / max(1, len(words))
        for root in roots:
            weights[root] = weights.get(root, 0.0) + share
        here = set(roots)
        twice |= here & once
        once |= here
    return {root: weights[root] for root in twice}
