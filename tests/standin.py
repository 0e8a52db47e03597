"""What older programs register the tools on."""

from collections.abc import Callable
from typing import Any


class StandIn:
    """What older programs register the tools on: it has `tool()` and nothing else."""

    def __init__(self) -> None:
        self.tools: dict[str, Callable[..., dict[str, Any]]] = {}

    def tool(self) -> Callable[[Callable[..., dict[str, Any]]], Callable[..., dict[str, Any]]]:
        def keep(function: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
            self.tools[function.__name__] = function
            return function

        return keep
