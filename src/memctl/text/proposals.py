"""What a model's output proposes to remember, in every form that models write it.

The whole output may be JSON: an array, `{"items": [...]}`, one object with `content`, JSON lines, tool calls named
memory.propose. Or prose with blocks in it: between the two delimiters, or in Markdown code fences. Anything else is
plain text. Any text is accepted, in time linear in its length; what is wrong with a proposal is a line in `problems`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memctl.annotations import Any, NamedTuple
from memctl.text import clean, jsons
from memctl.types import MemoryProposal

DELIMITER_OPEN = "<MEMORY_PROPOSALS_JSON>"
DELIMITER_CLOSE = "</MEMORY_PROPOSALS_JSON>"

_TOOLS = ("memory.propose", "memory_propose")
_OTHER_KEYS = frozenset(
    (
        "type",
        "title",
        "tags",
        "why_store",
        "provenance_hint",
        "rule_id",
        "confidence",
        "importance",
        "entities",
        "supersedes",
        "replaces",
    )
)


class Proposed(NamedTuple):
    """One proposal, with what a MemoryProposal has no room for. Numbers are None when the model gave none."""

    proposal: MemoryProposal
    confidence: float | None = None
    entities: list[str] = []  # noqa: RUF012 - never changed in place
    importance: float | None = None
    supersedes: list[str] = []  # noqa: RUF012 - never changed in place


class Parsed(NamedTuple):
    """What was found.

    proposals   in the order of the text
    rest        the text without the blocks the proposals came from
    problems    one line per proposal (or part of one) that could not be used
    structured  whether there was any form of proposals at all, be it an empty list
    """

    proposals: list[Proposed]
    rest: str
    problems: list[str]
    structured: bool


def parse(
    text: str,
    *,
    delimiter_open: str = DELIMITER_OPEN,
    delimiter_close: str = DELIMITER_CLOSE,
    strategy: str = "both",
) -> Parsed:
    """Find the proposals in a model's output. Never raises.

    strategy: "tool" reads tool calls and JSON, "delimiter" reads delimiter blocks and JSON, "both" reads all of them.
    """
    finder = _ProposalFinder(tools=strategy != "delimiter")
    rest = finder.whole(text)
    if rest is None:
        rest = text
        if strategy != "tool" and delimiter_open and delimiter_close:
            rest = finder.delimited(rest, delimiter_open, delimiter_close)
        rest = finder.fenced(rest)
    return Parsed(finder.proposals, rest.strip(), finder.problems, finder.structured)


def checked(entry: Any) -> tuple[Proposed | None, list[str]]:
    """One proposal that is JSON already, or None when it is none; and what is wrong with it or with parts of it."""
    problems: list[str] = []
    return _ProposalCheck("", problems).proposed(entry), problems


class _ProposalFinder:
    """Collects proposals and problems from the pieces of one text."""

    __slots__ = ("count", "problems", "proposals", "structured", "tools")

    def __init__(self, *, tools: bool) -> None:
        self.tools = tools
        self.proposals: list[Proposed] = []
        self.problems: list[str] = []
        self.structured = False
        self.count = 0

    def whole(self, text: str) -> str | None:
        """Read the text as JSON from its first character on; the rest, or None when it holds no proposals."""
        entries, end = self._read(text)
        if entries is not None and end < len(text) and not _all_proposals(entries):
            return None  # prose that begins with a bracket: a link, a check box, an example
        if entries is None:
            entries, end = _salvaged(text)
            if entries is None:
                return None
            self.problems.append(f"the JSON breaks off after {len(entries)} proposal(s)")
        self._take(entries)
        return text[end:]

    def delimited(self, text: str, opening: str, closing: str) -> str:
        """Read the blocks between delimiters; the text without those that could be read."""
        kept, start, at = [], 0, text.find(opening)
        while at >= 0:
            body = at + len(opening)
            end = text.find(closing, body)
            closed = end >= 0
            end = end if closed else len(text)
            if self._block(text[body:end], opening, closed=closed):
                kept.append(text[start:at])
                start = min(end + len(closing), len(text))
            at = text.find(opening, end) if closed else -1
        return "".join((*kept, text[start:]))

    def _block(self, body: str, opening: str, *, closed: bool) -> bool:
        # A model that speaks of the delimiter before it uses it: the block begins at its last mention.
        for piece in (body, body.rpartition(opening)[2]) if opening in body else (body,):
            fences = list(_fences(piece)) if "```" in piece or "~~~" in piece else []
            inner = (piece[fences[0][1] : fences[0][2]] if len(fences) == 1 else piece).strip()
            entries, end = self._read(inner)
            if entries is not None and end < len(inner):
                entries = None
            if entries is None and not closed:
                entries, _ = _salvaged(inner)
                if entries is not None:
                    self.problems.append(f"the block after {opening} breaks off after {len(entries)} proposal(s)")
            if entries is not None:
                self._take(entries)
                return True
        if closed:
            self.problems.append(f"a block after {opening} holds no JSON list of proposals")
        return False

    def fenced(self, text: str) -> str:
        """Read the fenced code blocks that hold proposals; the text without those."""
        if "```" not in text and "~~~" not in text:
            return text
        kept, start, first = [], 0, jsons.after_blanks(text)
        for block_start, body_start, body_end, block_end in _fences(text):
            entries, end = self._read(text[body_start:body_end])
            if entries is None or end < body_end - body_start:
                continue
            # Among prose a fence may be an example of anything: only what cannot be else is a proposal.
            alone = block_start <= first and jsons.after_blanks(text, block_end) == len(text)
            if not (alone or _all_proposals(entries)):
                continue
            self._take(entries)
            kept.append(text[start:block_start])
            start = block_end
        return "".join((*kept, text[start:]))

    def _read(self, text: str) -> tuple[list[Any] | None, int]:
        """The unchecked proposals of the JSON values a text begins with, and where those end; None without any."""
        at = jsons.after_blanks(text)
        if text[at : at + 1] not in ("[", "{"):
            return None, at
        entries: list[Any] | None = None
        while at < len(text):
            try:
                value, end = jsons.read(text, at)
            except ValueError:
                break
            found = self._entries(value)
            if found is None:
                return None, at
            entries = [] if entries is None else entries
            entries += found
            at = jsons.after_blanks(text, end)
        return entries, at

    def _entries(self, value: Any) -> list[Any] | None:
        """The proposals a JSON value holds, unchecked; None when it is about something else."""
        if isinstance(value, dict):
            call = _tool_items(value) if self.tools else None
            if call is not None:
                return call
            listed = ("tool_calls", "items") if self.tools else ("items",)
            inner = next((value[name] for name in listed if isinstance(value.get(name), list)), None)
            if inner is None:
                return [value] if "content" in value else None
            value = inner
        if not isinstance(value, list):
            return None
        out: list[Any] = []
        found = not value
        for each in value:
            call = _tool_items(each) if self.tools and isinstance(each, dict) else None
            found = found or call is not None or (isinstance(each, dict) and "content" in each)
            out += [each] if call is None else call
        return out if found else None

    def _take(self, entries: list[Any]) -> None:
        self.structured = True
        for entry in entries:
            self.count += 1
            checked = _ProposalCheck(f"proposal {self.count}", self.problems).proposed(entry)
            if checked is not None:
                self.proposals.append(checked)


class _ProposalCheck(NamedTuple):
    """Types one proposal's values; what has the wrong type is left out, with a line that says so."""

    label: str
    problems: list[str]

    def proposed(self, entry: Any) -> Proposed | None:
        if not isinstance(entry, dict):
            self._tell("", f"expected an object with content, got {jsons.kind_of(entry)}")
            return None
        content = entry.get("content")
        if "content" not in entry:
            self._tell("", "content is missing")
        elif not isinstance(content, str):
            self._tell("content", f"expected a string, got {jsons.kind_of(content)}")
        elif not content.strip():
            self._tell("", "content is empty")
        else:
            rule = self._line(entry, "rule_id")
            proposal = MemoryProposal(
                type=self._line(entry, "type") or "note",
                title=self._line(entry, "title"),
                content=clean.clean(content),
                tags=self._words(entry, "tags"),
                why_store=self._line(entry, "why_store"),
                provenance_hint=self._hint(entry),
                scope=self._line(entry, "scope") or "project",
                rule_id=rule or None,
            )
            confidence, importance = self._share(entry, "confidence"), self._share(entry, "importance")
            entities = self._words(entry, "entities")
            replaced = [one for name in ("supersedes", "replaces") for one in self._words(entry, name)]
            return Proposed(proposal, confidence, entities, importance, replaced)
        return None

    def _tell(self, field: str, problem: str) -> None:
        self.problems.append(": ".join(filter(None, (self.label, field, problem))))

    def _line(self, entry: dict[str, Any], field: str) -> str:
        value = entry.get(field)
        if value is None or isinstance(value, str):
            return clean.one_line(value or "")
        self._tell(field, f"expected a string, got {jsons.kind_of(value)}")
        return ""

    def _words(self, entry: dict[str, Any], field: str) -> list[str]:
        value = entry.get(field)
        if value is None:
            return []
        if isinstance(value, str):
            value = value.split(",")
        words = [word for word in value if isinstance(word, str)] if isinstance(value, list) else []
        if not isinstance(value, list) or len(words) < len(value):
            wrong = next(word for word in value if not isinstance(word, str)) if isinstance(value, list) else value
            self._tell(field, f"expected a list of strings, got {jsons.kind_of(wrong)}")
        return clean.union(filter(None, map(clean.one_line, words)))

    def _share(self, entry: dict[str, Any], field: str) -> float | None:
        value = entry.get(field)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
            return float(value)
        if value is not None:
            self._tell(field, f"expected a number from 0 to 1, got {jsons.kind_of(value)}")
        return None

    def _hint(self, entry: dict[str, Any]) -> dict[str, Any]:
        value = entry.get("provenance_hint")
        if not isinstance(value, dict):
            if value is not None:
                self._tell("provenance_hint", f"expected an object, got {jsons.kind_of(value)}")
            return {}
        inner = _ProposalCheck(": ".join(filter(None, (self.label, "provenance_hint"))), self.problems)
        hint: dict[str, Any] = {name: inner._line(value, name) for name in ("source_kind", "source_id")}
        hint.update({name: inner._words(value, name) for name in ("chunk_ids", "content_hashes")})
        return {name: held for name, held in hint.items() if held}


def _tool_items(value: dict[str, Any]) -> list[Any] | None:
    """The proposals of a tool call that proposes memories; None when the object is something else."""
    function = value.get("function")
    call = function if isinstance(function, dict) else value
    name = next((call[k] for k in ("action", "name", "tool_name") if isinstance(call.get(k), str)), "")
    if not name.endswith(_TOOLS) or (name not in _TOOLS and not name.endswith("__memory_propose")):
        return None
    given = next((jsons.loaded(call[k]) for k in ("arguments", "input", "parameters", "params") if k in call), call)
    if not isinstance(given, dict):
        return [given]
    items = jsons.loaded(given.get("items"))
    if isinstance(items, list):
        return items
    return [given if items is None else items]


def _salvaged(text: str) -> tuple[list[Any] | None, int]:
    """The complete proposals of an array that breaks off, and where the last one ends; None when there are none."""
    start = jsons.after_blanks(text)
    if text[start : start + 1] != "[":
        return None, start
    found: list[Any] = []
    end, at = start, start + 1
    while True:
        try:
            value, end_of_value = jsons.read(text, jsons.after_blanks(text, at))
        except ValueError:
            break
        if not isinstance(value, dict) or "content" not in value:
            return None, start
        found.append(value)
        end = jsons.after_blanks(text, end_of_value)
        if text[end : end + 1] != ",":
            break
        at = end + 1
    return found or None, end


def _all_proposals(entries: list[Any]) -> bool:
    """Whether there are entries, and all of them are proposals beyond doubt (a chat message has content too)."""
    return bool(entries) and all(
        isinstance(entry, dict)
        and isinstance(entry.get("content"), str)
        and "role" not in entry
        and not _OTHER_KEYS.isdisjoint(entry)
        for entry in entries
    )


def _fences(text: str) -> Iterator[tuple[int, int, int, int]]:
    """Each fenced block marked json or unmarked: where it starts, where its body starts and ends, where it ends."""
    start, body, mark, language = 0, 0, "", ""
    for fence in re.finditer(r"^ {0,3}(`{3,}|~{3,})", text, re.MULTILINE):
        line_end = text.find("\n", fence.end())
        line_end = len(text) if line_end < 0 else line_end
        info = text[fence.end() : line_end].strip()
        if not mark:
            if "`" not in info:
                start, body, mark, language = fence.start(), line_end, fence[1], info.lower()
        elif not info and fence[1].startswith(mark):
            if language in ("", "json", "jsonl", "json5"):
                yield start, body, fence.start(), line_end
            mark = ""
