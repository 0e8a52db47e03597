"""Topics: what the items of a store are about, as groups that are named by their words.

Every item goes to that of its words which most items share, unless nearly all do; so the cost grows as the store does,
and the same store gives the same topics. Nothing of it is stored.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import chain, islice
from typing import NamedTuple

from memctl.text.contradiction import TopicWords, topic_stem

#: A word that more than this share of the items have names no topic; in small stores, more than LEAST_COMMON items.
COMMON_SHARE, LEAST_COMMON = 0.2, 5
#: Items of a topic at least, and words that name one.
LEAST_ITEMS, NAMING_WORDS = 2, 3
#: Items of a topic that are named, the newest.
NEWEST = 3
#: Another word of a name is one that this share of the items have.
NAMING_SHARE = 0.2


class Topic(NamedTuple):
    """A group of items.

    words   what names it: the word that all have, then those that tell most
    told    of each word ids of the newest items that have it
    size    how many items it has
    newest  ids of the newest ones
    latest  when the newest one was made
    """

    words: tuple[str, ...]
    told: tuple[tuple[str, ...], ...]
    size: int
    newest: tuple[str, ...]
    latest: str


def find_topics(given: Iterable[tuple[str, str, str, list[str]]]) -> tuple[list[Topic], int, int]:
    """The topics of items (id, when it was made, text, tags; newest first), largest first; how many items there are,
    and how many belong to none.
    """
    stems = _Stems()
    rows: list[tuple[str, str, tuple[str, ...]]] = []
    for item_id, made, text, tags in given:
        rows.append((item_id, made, tuple(stems.of((*text.split(), *tags)))))
    counts = Counter(chain.from_iterable(words for _, _, words in rows))
    most = max(COMMON_SHARE * len(rows), LEAST_COMMON)
    usable = sorted((-count, word) for word, count in counts.items() if LEAST_ITEMS <= count <= most)
    ranks = {word: rank for rank, (_, word) in enumerate(usable)}
    groups: dict[int, list[int]] = defaultdict(list)
    for at, (_, _, words) in enumerate(rows):
        if known := ranks.keys() & words:
            groups[min(map(ranks.__getitem__, known))].append(at)
    topics = []
    for rank, members in groups.items():
        if len(members) < LEAST_ITEMS:
            continue
        head = usable[rank][1]
        inside = Counter(filter(ranks.__contains__, chain.from_iterable(rows[at][2] for at in members)))
        least = max(LEAST_ITEMS, NAMING_SHARE * len(members))
        others = [word for word, count in inside.items() if word != head and count >= least]
        others.sort(key=lambda word: (-inside[word] * inside[word] / counts[word], word))
        naming = (head, *others[: NAMING_WORDS - 1])
        having = ((rows[at][0] for at in members if word in rows[at][2]) for word in naming)
        told = tuple(tuple(islice(some, NEWEST)) for some in having)
        newest = tuple(rows[at][0] for at in members[:NEWEST])
        topics.append(Topic(tuple(map(stems.shown, naming)), told, len(members), newest, rows[members[0]][1]))
    topics.sort(key=lambda topic: (-topic.size, topic.words))
    return topics, len(rows), len(rows) - sum(topic.size for topic in topics)


class _Stems(TopicWords):
    """The stems of words; and of each stem the word that is shown for it."""

    def __init__(self) -> None:
        super().__init__()
        self._shown: dict[str, str] = {}

    def stem(self, word: str) -> str:
        """The stem of a word, which may be the one that is shown for it: the shortest form, retry and not retries."""
        stem = topic_stem(word)
        best = self._shown.get(stem)
        if best is None or (len(word), word) < (len(best), best):
            self._shown[stem] = word
        return stem

    def shown(self, stem: str) -> str:
        """A word of this stem, as it is written somewhere."""
        return self._shown.get(stem, stem).lower()
