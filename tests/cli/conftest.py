"""Commands made up for a test."""

import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

from memctl.operation import NONE, Access, operation
from memctl.ops import TABLE, Row


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes a function a command, for example `command(f, access=READ)`."""

    def add(fn: Callable[..., Any], access: Access = NONE, name: str = "made") -> None:
        module = ModuleType(f"made_up.{name}")
        op = operation(access=access, name=name)(fn)
        setattr(module, name, op)

        def text(result: Any) -> Iterator[str]:
            yield from result.lines

        monkeypatch.setitem(fn.__globals__, "text", text)
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setitem(TABLE, name, Row(module.__name__, "Made up", "Look"))

    return add
