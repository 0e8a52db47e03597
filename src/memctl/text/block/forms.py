"""Reading an injection block, and the other documented forms of items for a model."""

from collections.abc import Iterable, Mapping
from typing import Any

from memctl.text.block.frames import tokens_of
from memctl.text.echo import COMPACT


def parse_injection_block(text: str) -> dict[str, Any]:
    """What a block says in short: source, chunk, tokens_used, matched and a first telling line (insight).

    A block of version 2 does not say how much matched, nor which chunk a passage with lines is.
    """
    import re

    if re.search(rf"^{COMPACT}\b", text, re.MULTILINE):
        return _parsed_compact(text)
    place = re.search(r"^\s*\[path:(.+?) chunk:(\S+?)(?: (?:lines|at):.+?)?\]\s*$", text, re.MULTILINE)
    footer = re.findall(r"^--- End Memory \(.*?(\d+) tokens\) ---\s*$", text, re.MULTILINE)
    used = re.search(r"^used: (\d+)", text, re.MULTILINE)
    matched = re.search(r"^matched: (\d+)", text, re.MULTILINE)
    return {
        "source": place[1].replace("\\", "/").rpartition("/")[2] if place else "unknown",
        "chunk": place[2] if place else "?",
        "tokens_used": int(footer[-1] if footer else used[1] if used else 0),
        "matched": int(matched[1]) if matched else 0,
        "insight": _insight(text[place.end() :] if place else ""),
    }


def _parsed_compact(text: str) -> dict[str, Any]:
    import re

    place = re.search(
        r"^\[[^\]\s]+\] (?!\d{4}-\d\d-\d\d(?:[ ;]|$))(.+?):"
        r"(?:\d+(?:-\d+)?(?:, \d+(?:-\d+)?)*|chunk (\d+\S*)|[A-Za-z][^;>\n]*?)(?: > .*|; .*)?$",
        text,
        re.MULTILINE,
    )
    footer = re.search(r"^--- End Memory \((\d+)\) ---\s*$", text, re.MULTILINE)
    return {
        "source": place[1].rpartition("/")[2] if place else "unknown",
        "chunk": (place[2] if place else None) or "?",
        "tokens_used": tokens_of(text.rstrip("\n")),
        "matched": int(footer[1]) if footer else 0,
        "insight": _insight(text[place.end() :] if place else ""),
    }


def _insight(text: str) -> str:
    fenced = False
    for raw in text.splitlines():
        line = raw.strip()
        if line.startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced and len(line) >= 20 and not line.startswith(_NOT_TELLING):
            return line[:120]
    return "(no extractable content)"


_NOT_TELLING = (
    "#", "[", "\\", "---", "provenance:", "trust:", "tags:", "confidence:", "entities:", "format_version:",
    "injection_type:", "generated_at:", "budget_tokens:", "matched:", "used:", "fts_strategy:",
)  # fmt: skip


def format_combined_prompt(user_question: str, inject_block: str, mode_hint: str = "") -> str:
    """A prompt with the question first and the block behind it as reference."""
    parts = ["## User Question (answer THIS; do not modify or reinterpret it)", "", user_question, ""]
    if mode_hint == "exploration":
        parts += ["Mode: exploration. Explain from the context below; do not read or edit files.", ""]
    elif mode_hint == "modification":
        parts += ["Mode: modification. Read a file before you change it; never edit using chunk content.", ""]
    if inject_block.strip():
        parts += ["## Additional Context (reference only)", "", inject_block, ""]
    return "\n".join(parts).rstrip() + "\n"


def format_search_results(items: Iterable[Any], query: str) -> list[dict[str, Any]]:  # noqa: ARG001 - documented
    """Items as short dicts: id, title, tier, type, tags, confidence, validation, content_preview (200 characters)."""
    out = []
    keys = ("id", "title", "tier", "type", "tags", "confidence", "validation")
    for item in items:
        data = item if isinstance(item, Mapping) else item.fields((*keys, "content"))
        out.append({key: data.get(key) for key in keys} | {"content_preview": str(data.get("content") or "")[:200]})
    return out
