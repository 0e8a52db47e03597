"""Lines of an export, made of what another program keeps: its types, relations and times in our words."""

from typing import Any

from memctl import ids
from memctl.names import ITEM_TYPES, LINK_RELATIONS

#: Other programs' words for our types.
_TYPES = {
    "preference": "constraint", "procedure": "pattern", "gotcha": "pattern", "technique": "pattern",
    "method": "pattern", "rule": "constraint", "requirement": "constraint", "process": "pattern", "task": "todo",
    "feedback": "constraint", "user": "fact", "project": "fact", "reference": "pointer",
}  # fmt: skip
_RELATION_WORDS = {"replaces": "supersedes", "strengthens": "supports", "consolidated_from": "derived_from"}


def statement(given_id: str, content: str, program: str, source: str, **fields: Any) -> dict[str, Any]:
    """The line of a statement that another program's model has written."""
    provenance = {"source_kind": "chat", "source_id": f"{program}:{source}", "chunk_ids": [f"model:{program}"]}
    return {"id": given_id or None, "content": content, "provenance": provenance} | {
        name: value for name, value in fields.items() if value is not None
    }


def type_of(*words: object) -> str:
    """The first of these words that means a type of ours."""
    for word in words:
        text = str(word).strip().lower()
        if text in ITEM_TYPES or text in _TYPES:
            return _TYPES.get(text, text)
    return "note"


def link(src: str, dst: str, relation: object) -> dict[str, Any]:
    """The record of a link, its relation in our words."""
    word = "_".join(str(relation).lower().replace("-", " ").split())
    word = _RELATION_WORDS.get(word, word)
    rel = word if word in LINK_RELATIONS else "related_to"
    return {"record": "link", "src_id": src, "dst_id": dst, "rel": rel, "created_at": ids.timestamp()}


def time_of(value: object) -> str | None:
    """Another program's time as an export has it; None where there is none."""
    from memctl.text.times import canonical

    found = canonical(value) if isinstance(value, str) else ""
    return found if found.endswith("+00:00") and "T" in found else None


def share_of(value: object) -> float | None:
    """A number as one from 0 to 1; None for anything else."""
    return min(1.0, max(0.0, float(value))) if isinstance(value, int | float) and not isinstance(value, bool) else None
