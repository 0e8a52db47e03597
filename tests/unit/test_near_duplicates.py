"""A thousand near-duplicates of a hundred statements: nearly all come together, and no two different ones do."""

import random
from collections.abc import Callable

import pytest

from memctl.text.duplicates import Statement, find_groups


def _words(text: str) -> list[str]:
    return text.split()


_SUBJECTS = _words(
    "gateway worker scheduler importer exporter indexer planner renderer compiler mailer crawler "
    "balancer ledger broker proxy registry notifier archiver validator dispatcher"
)
_VERBS = _words("retries rejects caches encrypts compresses forwards signs deletes replicates reloads")
_OBJECTS = _words(
    "invoices sessions uploads passwords snapshots messages payments certificates bookmarks "
    "subscriptions webhooks thumbnails transcripts receipts shipments migrations"
)
_CLAUSES = (
    "because the partner asked for it in the audit", "since the old provider lost several of them",
    "when the primary region is under heavy load", "so that support can answer customers quickly",
    "after the nightly report has been written", "while the maintenance window is open",
)  # fmt: skip
_FILLERS = ("actually", "basically", "really", "simply", "just", "currently")
_BEFORE = ("Note: ", "Please note: ", "As mentioned, ", "FYI, ", "By the way, ", "Reminder: ")

Change = Callable[[random.Random, str], str]


def originals(rng: random.Random, count: int) -> list[str]:
    """Statements that differ from each other in one word at least."""
    made: dict[str, None] = {}
    while len(made) < count:
        words = [rng.choice(some) for some in (_SUBJECTS, _VERBS, _OBJECTS, _CLAUSES)]
        number = rng.choice(["", f" within {rng.randint(2, 90)} seconds", f" up to {rng.randint(2, 9)} times"])
        made[f"The {words[0]} {words[1]} {words[2]}{number} {words[3]}."] = None
    return list(made)


def _punctuate(rng: random.Random, text: str) -> str:
    return rng.choice([text.rstrip("."), text.rstrip(".") + "!", f'"{text}"', text.replace(" because", ", because")])


def _recase(rng: random.Random, text: str) -> str:
    return rng.choice([text.lower(), text.upper(), text[0].lower() + text[1:]])


def _insert(rng: random.Random, text: str) -> str:
    words = text.split()
    words.insert(rng.randint(1, len(words) - 1), rng.choice(_FILLERS))
    return " ".join(words)


def _begin(rng: random.Random, text: str) -> str:
    return rng.choice(_BEFORE) + text[0].lower() + text[1:]


def _delete(rng: random.Random, text: str) -> str:
    words = text.split()
    at = rng.choice([n for n, word in enumerate(words) if word.lower() in ("the", "that", "so", "an")])
    return " ".join(words[:at] + words[at + 1 :])


def _swap_letters(rng: random.Random, text: str) -> str:
    words = text.split()
    at = rng.choice([n for n, word in enumerate(words) if word.isalpha() and word.islower() and len(word) > 6])
    n = rng.randint(1, len(words[at]) - 3)
    word = words[at]
    words[at] = word[:n] + word[n + 1] + word[n] + word[n + 2 :]
    return " ".join(words)


def _move(_: random.Random, text: str) -> str:
    clause = next(one for one in _CLAUSES if one in text)
    rest = text.replace(f" {clause}.", "")
    return f"{clause[0].upper()}{clause[1:]}, {rest[0].lower()}{rest[1:]}."


#: In the order in which they are made.
CHANGES: tuple[Change, ...] = (_move, _delete, _insert, _swap_letters, _begin, _punctuate, _recase)


def measure(seed: int) -> tuple[float, float, dict[str, int]]:
    """Precision and recall over pairs of statements with one original; changes that were missed."""
    rng = random.Random(seed)
    said, of, made_by = list[Statement](), dict[str, int](), dict[str, str]()
    for number, text in enumerate(originals(rng, 100)):
        for copy in range(10):
            changes = sorted(rng.sample(CHANGES, rng.randint(1, 2)) if copy else [], key=CHANGES.index)
            made = text
            for change in changes:
                made = change(rng, made)
            name = f"{number}-{copy}"
            said.append(Statement(name, ("note",), "", made))
            of[name], made_by[name] = number, "+".join(sorted(change.__name__ for change in changes))
    rng.shuffle(said)
    by_id = {one.id: one for one in said}
    groups = find_groups(lambda: said, lambda wanted: [by_id[one] for one in wanted])
    found = right = 0
    together = {name: {name} for name in of}
    for group in groups:
        for one in group:
            together[one] = set(group)
        pairs = [(a, b) for n, a in enumerate(group) for b in group[n + 1 :]]
        found += len(pairs)
        right += sum(of[a] == of[b] for a, b in pairs)
    missed: dict[str, int] = {}
    for number in range(100):
        names = [f"{number}-{n}" for n in range(10)]
        best = max((together[name] for name in names), key=len)
        for name in (one for one in names if one not in best):
            missed[made_by[name]] = missed.get(made_by[name], 0) + 1
    return right / max(found, 1), right / (100 * 45), missed


@pytest.mark.parametrize("seed", range(10))
def test_nearly_all_come_together_and_nothing_else(seed: int) -> None:
    precision, recall, missed = measure(seed)
    assert precision == 1.0
    assert recall >= 0.95, missed


def test_what_follows_from_something_is_not_what_it_is_for() -> None:
    """`so that` begins a phrase that may stand in front; `so` alone says what follows from the rest."""
    purpose = "The gateway caches sessions so that support can answer quickly."
    moved = "So that support can answer quickly, the gateway caches sessions."
    result, turned = (text.replace("o that", "o") for text in (purpose, moved))

    def groups(*texts: str) -> int:
        said = {str(n): Statement(str(n), ("note",), "", text) for n, text in enumerate(texts)}
        return len(find_groups(lambda: list(said.values()), lambda wanted: [said[one] for one in wanted]))

    assert (groups(purpose, moved), groups(result, turned)) == (1, 0)
