"""What a block is known by: its header and footer, and the lines between.

Blocks that a model repeats are found and taken out, so that recall does not feed itself; and a block is read back.
"""

from memctl.annotations import Any
from memctl.text.tokens import estimate_tokens

HEADER = "## Memory (Injected)"
FOOTER = "--- End Memory ("
#: The block of `inspect`, which ends where its rows do.
STRUCTURE = "## Structure (Injected)"
#: What stands around the rules that `memctl export --format rules` writes.
RULES, RULES_END = "## Memory (Rules)", "--- End of rules from memctl ---"
#: What the second line of a block of version 2 begins with.
COMPACT = "format_version: 2"
TRUNCATED = "[...truncated]"
_SECTIONS = ("Folders:", "Largest files:", "Extensions:", "Observations:", "Staleness:", "Languages:", "Tree:")
_TOTALS = ("format_version", "injection_type", "mount", "Total files", "Total chunks", "Total size")


def without_injected(text: str) -> tuple[str, int]:
    """The text without the injection blocks in it, and how many there were.

    A block goes from its header to its footer, or to where lines stop looking like a block when that comes first (it
    was cut off, and what follows is somebody's own): its `key: value` head, the line of each passage (`[1] [STM:...]`,
    in version 2 `[a3185e] ...`), and lines indented by four blanks (in version 2 by one). A structure block goes as
    far as its sections and their rows do, exported rules to their last line.
    """
    count = 0
    for header, end_of_block in ((HEADER, _block_end), (STRUCTURE, _structure_end), (RULES, _rules_end)):
        if header not in text:  # most texts: no pattern is compiled for them
            continue
        import re

        kept: list[str] = []
        start = 0
        line = re.compile(rf"^ {{0,3}}{re.escape(header)}", re.MULTILINE)
        while found := line.search(text, start):
            kept.append(text[start : found.start()])
            start, count = end_of_block(text, found.start()), count + 1
        text = "".join((*kept, text[start:]))
    return text, count


def _block_end(text: str, at: int) -> int:
    end, in_head, compact = text.find("\n", at) + 1 or len(text), True, False
    while end < len(text):
        following = text.find("\n", end) + 1 or len(text)
        line = text[end:following].rstrip()
        bare = line.lstrip(" ")
        if bare.startswith(FOOTER) and len(line) - len(bare) <= 3:
            return following
        if compact:  # the line of a passage, or its content
            handle, bracket, rest = line[1:].partition("]")
            names_passage = line.startswith("[") and bool(bracket and handle) and " " not in handle
            belongs = line.startswith(" ") or (names_passage and rest[:1] in ("", " "))
        else:
            key, colon, _ = f"{line} ".partition(": ")
            said = in_head and bool(colon) and key.replace("_", "").isalpha()
            belongs = said or line.startswith("    ") or (line.startswith("[") and "] [" in line[:16])
        if line and not belongs:
            return end
        compact = compact or (in_head and line.startswith(COMPACT))
        in_head = in_head and bool(line)
        end = following
    return end


def _structure_end(text: str, at: int) -> int:
    end, in_head = text.find("\n", at) + 1 or len(text), True
    while end < len(text):
        following = text.find("\n", end) + 1 or len(text)
        line = text[end:following].strip()
        if line == TRUNCATED:
            return following
        in_head = in_head and not line.startswith("Folders:")
        # A row ends in counts, is an extension's, or tells of a sync or of what was left out; a model's own does not.
        telling = line.endswith(")") or line.startswith(("- .", "- (", "- …")) or " synced" in line
        total = in_head and ": " in line and line.partition(": ")[0] in _TOTALS
        if line and not (line in _SECTIONS or (line.startswith("- ") and telling) or total):
            return end
        end = following
    return end


def _rules_end(text: str, at: int) -> int:
    end = text.find(f"\n{RULES_END}", at)
    if end < 0:  # it was cut off
        return text.find("\n", at) + 1 or len(text)
    return text.find("\n", end + 1) + 1 or len(text)


def without_rules(text: str) -> str:
    """A document without the rules that were exported into it; its other lines keep their numbers."""
    import re

    found = re.compile(rf"^{re.escape(RULES)}$.*?^{re.escape(RULES_END)}$", re.MULTILINE | re.DOTALL)
    return found.sub(lambda rules: "\n" * rules[0].count("\n"), text) if RULES_END in text else text


# --- a block read back ------------------------------------------------------------------------------------------------

#: The line of a passage in version 2: its path, and its chunk where it has neither lines nor a page.
_PLACE_COMPACT = (
    r"^\[[^\]\s]+\] (?!\d{4}-\d\d-\d\d(?:[ ;]|$))(.+?):"
    r"(?:\d+(?:-\d+)?(?:, \d+(?:-\d+)?)*|chunk (\d+\S*)|[A-Za-z][^;>\n]*?)(?: > .*|; .*)?$"
)
_PLACE_FULL = r"^\s*\[path:(.+?) chunk:(\S+?)(?: (?:lines|at):.+?)?\]\s*$"
_NOT_TELLING = (
    "#", "[", "\\", "---", "provenance:", "trust:", "tags:", "confidence:", "entities:", "format_version:",
    "injection_type:", "generated_at:", "budget_tokens:", "matched:", "used:", "fts_strategy:",
)  # fmt: skip


def parse_injection_block(text: str) -> dict[str, Any]:
    """What a block says in short: source, chunk, tokens_used, matched and a first telling line (insight).

    A block of version 2 does not say how much matched, nor which chunk a passage with lines is.
    """
    import re

    compact = re.search(rf"^{COMPACT}\b", text, re.MULTILINE)
    place = re.search(_PLACE_COMPACT if compact else _PLACE_FULL, text, re.MULTILINE)
    if compact:
        matched = re.findall(r"^--- End Memory \((\d+)\) ---\s*$", text, re.MULTILINE)
        used = estimate_tokens(text.rstrip("\n") + "\n")
    else:
        matched = re.findall(r"^matched: (\d+)", text, re.MULTILINE)
        footer = re.findall(r"^--- End Memory \(.*?(\d+) tokens\) ---\s*$", text, re.MULTILINE)
        said = re.findall(r"^used: (\d+)", text, re.MULTILINE)
        used = int(footer[-1] if footer else said[0] if said else 0)
    path = place[1] if place else "unknown"
    insight, fenced = "(no extractable content)", False
    for raw in text[place.end() :].splitlines() if place else ():
        line = raw.strip()
        if line.startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced and len(line) >= 20 and not line.startswith(_NOT_TELLING):
            insight = line[:120]
            break
    return {
        "source": (path if compact else path.replace("\\", "/")).rpartition("/")[2],
        "chunk": (place[2] if place else None) or "?",
        "tokens_used": used,
        "matched": int(matched[0]) if matched else 0,
        "insight": insight,
    }
