"""Jupyter notebooks (.ipynb): text cells as they are, code in fences, and what it printed, shortened."""

import json
import re
from typing import Any

from memctl.extract import Document, Limits, Unreadable
from memctl.extract.writer import DocumentWriter

#: How much of a cell's output is kept, in characters.
_OUTPUT = 2000
_COLOURS = re.compile(r"\x1b\[[0-9;]{0,40}[A-Za-z]")


def read(data: bytes, name: str, limits: Limits) -> Document:
    """The text of a notebook, of the formats 3 and 4."""
    try:
        notebook = json.loads(data.decode("utf-8-sig"))
    except ValueError as exc:
        raise Unreadable(path=name, reason=f"it is no notebook: not JSON ({exc})") from exc
    cells = _cells(notebook)
    if cells is None:
        raise Unreadable(path=name, reason="it is no notebook: it has no list of cells")
    writer = DocumentWriter(name, limits)
    metadata = _dict(notebook.get("metadata"))
    title = metadata.get("title")
    named = (_dict(metadata.get("language_info")).get("name"), _dict(metadata.get("kernelspec")).get("language"))
    words = [word for word in named if isinstance(word, str) and re.fullmatch(r"[\w.+#-]{1,30}", word)]
    language = words[0].lower() if words else "python"  # one word, which may stand behind a fence
    for number, cell in enumerate(cells, 1):
        if not isinstance(cell, dict):
            continue
        writer.begin_place(f"cell {number}")
        source = _joined(cell.get("source", cell.get("input")))
        kind = cell.get("cell_type")
        if kind == "code":
            writer.add(fenced(source, language))
            writer.add(fenced(_output(cell.get("outputs")), "text"))
        elif kind == "heading":
            level = cell.get("level")
            writer.add(f"{'#' * (min(level, 6) if isinstance(level, int) and level > 0 else 1)} {source}")
        else:
            writer.add(source)
    return writer.document("markdown", title=title if isinstance(title, str) else "")


def fenced(text: str, language: str) -> str:
    """A text as a code block; "" when it is blank. The fence is longer than any in the text."""
    if not text.strip():
        return ""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}{language}\n{text.strip(chr(10))}\n{ticks}"


def _cells(notebook: Any) -> list[Any] | None:
    if not isinstance(notebook, dict):
        return None
    cells = notebook.get("cells")
    if isinstance(cells, list):
        return cells
    sheets = notebook.get("worksheets")  # format 3
    if not isinstance(sheets, list):
        return None
    lists = [sheet["cells"] for sheet in sheets if isinstance(sheet, dict) and isinstance(sheet.get("cells"), list)]
    return [cell for cells in lists for cell in cells]


def _output(outputs: Any) -> str:
    """The text of a cell's outputs without colours; pictures and HTML are left out."""
    parts: list[str] = []
    for output in outputs if isinstance(outputs, list) else []:
        if not isinstance(output, dict):
            continue
        if output.get("output_type") in ("error", "pyerr"):
            parts.append(f"{output.get('ename')}: {output.get('evalue')}")
        else:
            data = _dict(output.get("data"))
            parts.append(_joined(output.get("text", data.get("text/plain"))))
    text = "\n".join(part.strip("\n") for part in parts if part.strip())
    if len(text) > _OUTPUT:
        text = f"{text[:_OUTPUT]}\n… ({len(text) - _OUTPUT:,} more characters)"
    return _COLOURS.sub("", text)


def _joined(text: Any) -> str:
    """A multi-line string of the format: one string, or a list of lines with their ends."""
    if isinstance(text, list):
        return "".join(line for line in text if isinstance(line, str))
    return text if isinstance(text, str) else ""


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
