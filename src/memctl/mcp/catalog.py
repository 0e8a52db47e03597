"""What is published of the tools, kept in a file: to list them costs no import of any operation.

`scripts/docs` writes catalog.json from the operations; a test holds that it says what they say. The operation itself is
imported when its tool is first called.
"""

import json
from collections.abc import Iterator
from pkgutil import get_data

from memctl.annotations import Any
from memctl.mcp.project import SETS, Tool, tools
from memctl.ops import TABLE

FILE = "catalog.json"


class Listed:
    """A tool as clients see it, in one set of tools; its operation is imported when it is called."""

    __slots__ = ("_tool", "annotations", "answer", "description", "full", "name", "row", "schema")

    def __init__(self, entry: dict[str, Any], *, full: bool) -> None:
        self.name: str = entry["name"]
        self.row: str = entry["operation"]
        self.description: str = entry["description"]
        self.schema: dict[str, Any] = entry["full"] if full and "full" in entry else entry["schema"]
        self.answer: dict[str, Any] | None = entry["answer"]
        self.annotations: dict[str, bool] = entry["annotations"]
        self.full = full
        self._tool: Tool | None = None

    @property
    def tool(self) -> Tool:
        """The operation as a tool."""
        if self._tool is None:
            self._tool = Tool(TABLE[self.row].load(self.row), full=self.full)
        return self._tool


def chosen(toolset: str) -> list[Listed]:
    """The tools of a set, in the table's order."""
    data = get_data(__package__ or "", FILE)
    found = json.loads(data or b"[]")
    return [Listed(entry, full=toolset == "full") for entry in found if entry["toolset"] in SETS[toolset]]


def text() -> Iterator[str]:
    """What catalog.json must be: one tool a line."""
    entries = [_entry(tool) for tool in tools("full")]
    yield "[\n" + ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in entries) + "\n]\n"


def _entry(tool: Tool) -> dict[str, Any]:
    small = Tool(tool.op, full=False).schema()
    entry = {
        "name": tool.name, "operation": tool.op.name, "toolset": tool.op.toolset, "description": tool.description,
        "schema": small, "answer": tool.answer_schema(), "annotations": tool.annotations(),
    }  # fmt: skip
    return entry if small == tool.schema() else entry | {"full": tool.schema()}
