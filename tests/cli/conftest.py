"""A store that is open, a folder with documents, and commands made up for a test."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import folders
from memctl.context import Context, open_context
from memctl.operation import NONE, Access, operation
from memctl.ops import TABLE, Row
from stores import STORE


@pytest.fixture
def ctx() -> Iterator[Context]:
    """What an operation works with, on the store that `init` makes."""
    with open_context(STORE) as context:
        yield context


@pytest.fixture
def docs(scratch: Path) -> Path:
    """A folder with two documents, one of them in a folder below it."""
    return folders.guide_and_birds(scratch)


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes a function a command, for example `command(f, access=READ)`."""

    def add(fn: Callable[..., Any], access: Access = NONE, name: str = "made") -> None:
        module = ModuleType(f"made_up_{name}")
        op = operation(access=access, name=name)(fn)
        setattr(module, name, op)

        def text(result: Any) -> Iterator[str]:
            yield from result.lines

        monkeypatch.setitem(fn.__globals__, "text", text)
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setitem(TABLE, name, Row(module.__name__, "Made up", "Look"))

    return add
