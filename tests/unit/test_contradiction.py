"""Whether two statements contradict each other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.text.contradiction import DATE, NAME, NUMBER, OPPOSITE, WORD, claim_of, find

PAIRS = [
    ("The port is 8080.", "The port is 9090.", NUMBER),
    ("Three replicas serve the search.", "Five replicas serve the search.", NUMBER),
    ("The build worker needs 4 GB of memory.", "We give the build worker 512 MB of memory.", NUMBER),
    ("Releases are on the 2026-12-01", "Releases are on the 2026-11-01", DATE),
    ("The contract ends on 30 June 2026.", "The contract ends on 1 May 2027.", DATE),
    ("The contract ends on 30 June 2026.", "The contract ends on 30.06.2026", ""),
    ("La livraison est le lundi.", "La livraison est le mardi.", DATE),
    ("Das Backup startet um 2 Uhr.", "Um 23 Uhr startet das Backup.", DATE),
    ("The owner of billing is Alice.", "The owner of billing is Bob Jones.", NAME),
    ("Alice owns the billing service.", "The billing service is owned by Bob.", NAME),
    ("I prefer dark for the terminal.", "For the terminal I prefer light.", WORD),
    ("Never deploy on a Friday.", "Deploy on a Friday.", OPPOSITE),
    ("Der Cache ist aktiviert.", "Der Cache ist nicht aktiviert.", OPPOSITE),
    ("Une relecture est obligatoire.", "La relecture est facultative.", OPPOSITE),
    # two places differ, or what the statement is about
    ("Server Ann listens on port 80.", "Server Bob listens on port 81.", ""),
    ("Server 3 has 8 disks.", "Server 4 has 6 disks.", ""),
    ("In 2023 we had 5 people.", "In 2024 we had 9 people.", ""),
    ("The staging database uses Postgres.", "The production database uses MySQL.", ""),
    ("We chose Redis for queues.", "We chose Redis for sessions.", ""),
    # may both be so
    ("The API supports XML.", "The API supports JSON.", ""),
    ("The build needs a compiler.", "The build needs a network.", ""),
    ("The office is big.", "The office is cold.", ""),
    # the same in other units, or with more words
    ("Tests take 5 minutes.", "Tests take 300 seconds.", ""),
    ("The cache is enabled.", "The cache is enabled, not only for admins.", ""),
    ("Does the gateway retry 3 times?", "The gateway retries 5 times.", ""),
    ("", "The port is 9090.", ""),
    ("8080", "9090", ""),
]


@pytest.mark.parametrize(("old", "new", "why"), PAIRS)
def test_what_contradicts(old: str, new: str, why: str) -> None:
    assert find(old, new) == why
    assert bool(find(new, old)) == bool(why)


@given(st.text(max_size=400), st.text(max_size=400))
def test_any_text_can_be_compared_and_none_contradicts_itself(a: str, b: str) -> None:
    claim_of.cache_clear()
    assert bool(find(a, b)) == bool(find(b, a))
    assert find(a, a) == ""
