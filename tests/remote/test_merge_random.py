"""Machines at random: whatever fails in between, all end with the same rows and conflicts, and nothing is lost."""

import pytest

from merge_world import run_world

SEEDS, SLOW_SEEDS = 10, 120


@pytest.mark.parametrize("seed", range(SEEDS))
def test_machines_agree_and_lose_nothing(seed: int) -> None:
    _check_seed(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SEEDS, SLOW_SEEDS))
def test_more_machines_agree_and_lose_nothing(seed: int) -> None:
    _check_seed(seed, 400)


def _check_seed(seed: int, steps: int = 250) -> None:
    run_world(seed, steps)
