"""What binds, as a rules file for AI clients: CLAUDE.md, AGENTS.md, .cursor/rules, copilot-instructions.md."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from memctl.text.block.markers import RULES, RULES_END
from memctl.text.clean import one_line

#: The types that are told, in this order, and the heading of each.
_HEADINGS = {"constraint": "Constraints", "decision": "Decisions", "pattern": "How things are done",
             "definition": "Words"}  # fmt: skip


def binds(line: Mapping[str, Any]) -> bool:
    """Whether a line of an export is a rule: no passage of a document, nothing that is kept from models, nor what is
    gone soon unless somebody keeps it.
    """
    stays = not line["archived"] and line["expires_at"] is None and line["validation"] != "retracted"
    return stays and bool(line["injectable"]) and "source" not in line and line["type"] in _HEADINGS


def rules_file(lines: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The lines of a rules file for the lines of an export that bind; nothing where there are none.

    The oldest comes first, so that a file in git changes where something is new.
    """
    found: dict[str, list[tuple[str, str, str]]] = {}
    for line in lines:
        found.setdefault(line["type"], []).append((line["created_at"], line["id"], line["content"]))
    if not found:
        return
    yield from (RULES, "", "Written by `memctl export --format rules`; what is changed here is lost.")
    for kind, heading in _HEADINGS.items():
        if kind in found:
            yield from ("", f"### {heading}", "")
            yield from (f"- {_told(content)}" for _, _, content in sorted(found[kind]))
    yield from ("", RULES_END)


def _told(content: str) -> str:
    """A statement as an entry of a list: its further lines stand below it, and none of them is a heading."""
    first, *rest = [line.rstrip() for line in content.strip().splitlines()]
    return "\n".join([one_line(first, len(first)), *(f"  {line}" if line else "" for line in rest)])
