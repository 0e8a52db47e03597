"""Near-duplicate statements: what is one, what is none, and how many of a thousand are found."""

import random
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.text.duplicates import Statement, find_groups, is_slip, says_the_same, words_of

SAME = """\
We deploy on Fridays. | On Fridays, we deploy.
The gateway retries twice. | the gateway retries twice
Deploys happen on Friday. | Deploys happen on Friday!
Please note that the API is versioned. | The API is versioned
Backups run every night at two | Backups run evrey night at two
We use Redis for the session store | For the session store, we use Redis
It doesn't scale | It doesnt scale
To be clear, as far as I know: the cache is warm | the cache is warm.
The queue is drained. Workers stop then. | Workers stop then. The queue is drained.
"Tokens rotate daily" | Tokens  rotate daily
"""

OTHER = """\
Deploys on Friday. | Deploys on Thursday.
The gateway retries 2 times. | The gateway retries 3 times.
We must deploy on Friday | We must not deploy on Friday
Alice manages Bob in the platform team today | Bob manages Alice in the platform team today
Use tabs. Spaces are forbidden in this code. | Use spaces. Tabs are forbidden in this code.
Deploy api on friday. Restart web in the evening. | Deploy api. Restart web in the evening on friday.
Python 3.10 is supported | Python 3.11 is supported
The value is -5 | The value is 5
The limit is 1.5 MB for uploads | The limit is 15 MB for uploads
if the cache fails then restart the server | if the server fails then restart the cache
Anna owns the billing service and the rota | Anne owns the billing service and the rota
Jon owns release planning for Berlin | Joan owns release planning for Berlin
upload the report every night to the vault | unload the report every night to the vault
sync calls are used in the worker pool | async calls are used in the worker pool
The price is $5 for each seat | The price is €5 for each seat
Use C++ for the engine | Use C# for the engine
Deploys happen on Friday? | Deploys happen on Friday
backups move from primary to replica nightly | backups move from replica to primary nightly
tests run before deploys in the pipeline | deploys run before tests in the pipeline
Only admins can delete the project | Admins can delete the project
We deploy staging on Fridays | We deploy on Fridays
a == b is required in the check | a != b is required in the check
No, deploy on Friday at noon | No deploy on Friday at noon
the sixth item wins the raffle here | the sixty item wins the raffle here
All tests must pass | Not all tests must pass
Send reads to the replica and writes to the primary | Send writes to the replica and reads to the primary
the path is /srv/app/a | the path is /srv/app/b
部署在星期五 | 部署在星期四
Wir deployen am Dienstag vor zwölf | Wir deployen am Donnerstag vor zwölf
The client owns the server certificate | The server owns the client certificate
"""


def pairs(lines: str) -> list[tuple[str, str]]:
    return [(a.strip(), b.strip()) for a, _, b in (line.partition(" | ") for line in lines.splitlines())]


def note(content: str, id: str = "1", title: str = "", kind: tuple[object, ...] = ()) -> Statement:
    return Statement(id, kind, title, content)


def groups_of(statements: list[Statement]) -> list[set[str]]:
    by_id = {one.id: one for one in statements}
    return [set(group) for group in find_groups(lambda: statements, lambda ids: [by_id[i] for i in ids])]


def are_one(a: str, b: str, times: int = 1, **more: tuple[str, str]) -> bool:
    """Whether two texts are one; `times`: how often each word is found in the store besides."""
    counts = Counter(word.text for text in (a, b) for word in words_of(text))
    counts = Counter({word: times * count for word, count in counts.items()})
    here, there = (note(text, id) for text, id in ((a, "1"), (b, "2")))
    found = {says_the_same(here, there, counts), says_the_same(there, here, counts)}
    if times == 1:
        found.add(bool(groups_of([here, there])))
    (answer,) = found
    return answer


@pytest.mark.parametrize(("a", "b"), pairs(SAME))
def test_what_says_the_same_is_one(a: str, b: str) -> None:
    assert are_one(a, b)


@pytest.mark.parametrize(("a", "b"), pairs(OTHER))
def test_what_says_something_else_is_not(a: str, b: str) -> None:
    assert not are_one(a, b)
    assert not are_one(a, b, times=20)


def test_another_kind_is_another_statement() -> None:
    assert groups_of([note("A is on.", "1", kind=("fact",)), note("A is on.", "2", kind=("note",))]) == []


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("Login", "Billing", False),
        ("Release 1.2", "Release 1.3", False),
        ("", "OAuth", True),
        ("note 1", "note 2", True),
        ("Uses OAuth", "Uses OAuth for all use…", True),
        ("Uses OAuth", "Logout", False),
    ],
)
def test_a_title_that_says_more_counts(a: str, b: str, same: bool) -> None:
    content = "Uses OAuth for all users."
    assert bool(groups_of([note(content, "1", a), note(content, "2", b)])) is same


@pytest.mark.parametrize(
    ("a", "b", "one"),
    [("abcd", "abdc", True), ("abcd", "abd", True), ("abcd", "abxd", True), ("abcd", "abcd", False),
     ("abcd", "badc", False), ("abcd", "abxy", False), ("", "a", True), ("ab", "abcd", False)],
)  # fmt: skip
def test_a_slip_is_one_letter(a: str, b: str, one: bool) -> None:
    assert is_slip(a, b) is is_slip(b, a) is one


@given(st.lists(st.text(max_size=60), max_size=8))
def test_any_text_is_grouped_and_nobody_is_in_two_groups(texts: list[str]) -> None:
    statements = [note(text, str(number)) for number, text in enumerate(texts)]
    groups = groups_of(statements)
    assert sum(map(len, groups)) == len(set().union(*groups))
    same: dict[str, set[str]] = {}
    for one in statements:
        same.setdefault(one.content, set()).add(one.id)
    assert all(any(ids <= group for group in groups) for ids in same.values() if len(ids) > 1)


# --- a thousand ----------------------------------------------------------------------------------------------------

TEMPLATES = (
    "The {s} {v} {o} every {n} minutes on {d} because {p} asked for it.",
    "{p} decided that the {s} {v} {o} before they leave the datacentre.",
    "On {d} the {s} {v} at most {n} {o} per customer.",
    "We keep {o} for {n} days in the {s} and delete them afterwards.",
    "The {s} must not send {o} to {p} without a signed approval.",
    "Version {n}.{m} of the {s} {v} {o} faster than the previous release.",
    "Ask {p} when the {s} fails to deliver {o} during the night.",
)
WORDS = {
    "s": "gateway scheduler importer billing-service cache indexer frontend crawler exporter dispatcher notifier",
    "v": "retries rejects archives compresses validates forwards replicates schedules encrypts publishes",
    "o": "requests reports invoices messages snapshots tickets uploads sessions certificates metrics",
    "d": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    "p": "Alice Bernard Carmen Dmitri Eleanor Fatima Gustavo Helena Ingrid Jonathan",
}
LEAD_INS = ("Actually, ", "Please note that ", "As far as I know, ", "FYI: ", "In fact, ", "By the way: ", "Remember: ")


def original(dice: random.Random) -> str:
    words = {key: dice.choice(some.split()) for key, some in WORDS.items()}
    return dice.choice(TEMPLATES).format(n=dice.randint(2, 90), m=dice.randint(0, 20), **words)


def with_a_typo(dice: random.Random, text: str) -> str:
    words = text.split(" ")
    at = dice.choice([n for n, word in enumerate(words) if len(word) >= 5 and word.isalpha()])
    word, k = words[at], dice.randrange(1, len(words[at]) - 1)
    words[at] = dice.choice((
        word[:k] + word[k + 1] + word[k] + word[k + 2 :], word[:k] + word[k + 1 :], word[: k + 1] + word[k:],
        word[:k] + dice.choice("abcdefghijklmnopqrstuvwxyz") + word[k + 1 :],
    ))  # fmt: skip
    return " ".join(words)


def in_another_order(dice: random.Random, text: str) -> str:
    words = text.rstrip(".").split(" ")
    starts = [
        n for n, word in enumerate(words) if n > 2 and word in ("on", "before", "because", "during", "without", "per")
    ]
    if starts and dice.random() < 0.5:
        at = starts[-1]
        words = [words[at].capitalize(), *words[at + 1 :], words[0][0].lower() + words[0][1:], *words[1:at]]
    else:
        at = dice.randrange(len(words) - 1)
        words[at : at + 2] = words[at + 1], words[at]
    return " ".join(words) + "."


def punctuated(dice: random.Random, text: str) -> str:
    changed = (text.rstrip("."), text.lower(), f'"{text}"', text.rstrip(".") + "...", f"- {text}", text.upper())
    return dice.choice(changed)


def padded(dice: random.Random, text: str) -> str:
    if dice.random() < 0.7:
        return dice.choice(LEAD_INS) + text[0].lower() + text[1:]
    words = text.split(" ")
    words.insert(dice.randrange(1, len(words)), dice.choice(("really", "basically", "actually", "just", "simply")))
    return " ".join(words)


EDITS: tuple[Callable[[random.Random, str], str], ...] = (with_a_typo, in_another_order, punctuated, padded)


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_a_thousand_near_duplicates_of_a_hundred_collapse(seed: int) -> None:
    dice = random.Random(seed)
    originals = list(dict.fromkeys(original(dice) for _ in range(150)))[:100]
    statements = []
    for number, text in enumerate(originals):
        edited = [text, *(dice.choice(EDITS)(dice, text) for _ in range(9))]
        statements += [note(one, f"{number}/{at}") for at, one in enumerate(edited)]
    dice.shuffle(statements)
    groups = groups_of(statements)
    assert all(len({id.partition("/")[0] for id in group}) == 1 for group in groups)
    gone = sum(len(group) - 1 for group in groups)
    assert gone >= 0.95 * (len(statements) - len(originals))


def test_statements_that_differ_in_a_value_stay_apart_however_many_there_are() -> None:
    statements = [note(f"The worker number {n} retries its jobs twice on Monday.", str(n)) for n in range(3000)]
    assert groups_of(statements) == []
