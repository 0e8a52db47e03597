"""Canonical paths while somebody else renames what they lead through."""

import os
from collections.abc import Callable

import pytest

from memctl import errors
from memctl.paths import ATTEMPTS, real_path


def failing(times: int) -> Callable[[str], str]:
    """`os.path.realpath` of Python 3.10 to 3.12, where a link is gone between its look and its use."""
    left = [times]
    real = os.path.realpath

    def realpath(path: str) -> str:
        left[0] -= 1
        if left[0] >= 0:
            raise FileNotFoundError(2, "No such file or directory", path)
        return real(path)

    return realpath


def test_a_link_that_is_replaced_meanwhile_is_resolved_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = os.path.realpath(".")
    monkeypatch.setattr(os.path, "realpath", failing(ATTEMPTS - 1))
    assert real_path(".") == wanted


def test_a_path_that_never_holds_still_is_refused_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os.path, "realpath", failing(ATTEMPTS))
    with pytest.raises(errors.FileMissing, match="renamed all the time"):
        real_path("docs")
