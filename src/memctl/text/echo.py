"""Injected memory that a model repeats: found and taken out, so that recall does not feed itself."""

from collections.abc import Callable

HEADER = "## Memory (Injected)"
FOOTER = "--- End Memory ("
#: The block of `inspect`, which ends where its rows do.
STRUCTURE = "## Structure (Injected)"
#: What the second line of a block of version 2 begins with.
COMPACT = "format_version: 2"
TRUNCATED = "[...truncated]"
_SECTIONS = ("Folders:", "Largest files:", "Extensions:", "Observations:", "Staleness:", "Languages:", "Tree:")


def without_injected(text: str) -> tuple[str, int]:
    """The text without the injection blocks in it, and how many there were.

    A block goes from its header to its footer, or to where lines stop looking like a block when that comes first (it
    was cut off, and what follows is somebody's own): its `key: value` head, the line of each passage (`[1] [STM:...]`,
    in version 2 `[a3185e] ...`), and lines indented by four blanks (in version 2 by one). A structure block goes as
    far as its sections and their rows do.
    """
    text, count = _without(text, HEADER, _block_end)
    text, more = _without(text, STRUCTURE, _structure_end)
    return text, count + more


def _without(text: str, header: str, end_of: Callable[[str, int], int]) -> tuple[str, int]:
    if header not in text:
        return text, 0
    kept: list[str] = []
    start, count = 0, 0
    at = _line_starting(text, header, 0)
    while at >= 0:
        kept.append(text[start:at])
        start, count = end_of(text, at), count + 1
        at = _line_starting(text, header, start)
    kept.append(text[start:])
    return "".join(kept), count


def _line_starting(text: str, mark: str, start: int) -> int:
    """Where a line begins (up to three blanks allowed before it) with `mark`; -1 when none does."""
    at = text.find(mark, start)
    while at >= 0:
        line = at - (len(text[max(0, at - 3) : at]) - len(text[max(0, at - 3) : at].rstrip(" ")))
        if line == 0 or text[line - 1] == "\n":
            return line
        at = text.find(mark, at + len(mark))
    return -1


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1


def _block_end(text: str, at: int) -> int:
    end, in_head, compact = _line_end(text, at), True, False
    while end < len(text):
        following = _line_end(text, end)
        line = text[end:following].rstrip()
        if _is_footer(line):
            return following
        if line and not (_belongs_to_compact(line) if compact else _belongs(line, in_head)):
            return end
        compact = compact or (in_head and line.startswith(COMPACT))
        in_head = in_head and bool(line)
        end = following
    return end


def _structure_end(text: str, at: int) -> int:
    end, in_head = _line_end(text, at), True
    while end < len(text):
        following = _line_end(text, end)
        line = text[end:following].strip()
        if line == TRUNCATED:
            return following
        in_head = in_head and not line.startswith("Folders:")
        if line and not (line in _SECTIONS or _is_row(line) or (in_head and _is_total(line))):
            return end
        end = following
    return end


def _is_row(line: str) -> bool:
    """A row ends in counts, is an extension's, or tells of a sync or of what was left out; a model's own does not."""
    told = line.endswith(")") or line.startswith(("- .", "- (", "- …")) or " synced" in line
    return line.startswith("- ") and told


def _is_total(line: str) -> bool:
    key, colon, _ = line.partition(": ")
    return bool(colon) and key in {
        "format_version",
        "injection_type",
        "mount",
        "Total files",
        "Total chunks",
        "Total size",
    }


def _is_footer(line: str) -> bool:
    bare = line.lstrip(" ")
    return bare.startswith(FOOTER) and len(line) - len(bare) <= 3


def _belongs(line: str, in_head: bool) -> bool:
    if line.startswith("    ") or (line.startswith("[") and "] [" in line[:16]):
        return True
    key, colon, _ = f"{line} ".partition(": ")
    return in_head and bool(colon) and key.replace("_", "").isalpha()


def _belongs_to_compact(line: str) -> bool:
    if line.startswith(" "):
        return True
    handle, bracket, rest = line[1:].partition("]")
    return line.startswith("[") and bool(bracket and handle) and " " not in handle and rest[:1] in ("", " ")
