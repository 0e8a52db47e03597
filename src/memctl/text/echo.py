"""Injected memory that a model repeats: found and taken out, so that recall does not feed itself."""

HEADER = "## Memory (Injected)"
FOOTER = "--- End Memory ("


def without_injected(text: str) -> tuple[str, int]:
    """The text without the injection blocks in it, and how many there were.

    A block goes from its header to its footer, or to where lines stop looking like a block when that comes first (it
    was cut off, and what follows is somebody's own): its `key: value` head, `[1] [STM:...]` lines, and lines indented
    by four blanks.
    """
    if HEADER not in text:
        return text, 0
    kept: list[str] = []
    start, count = 0, 0
    at = _line_starting(text, HEADER, 0)
    while at >= 0:
        kept.append(text[start:at])
        start, count = _block_end(text, at), count + 1
        at = _line_starting(text, HEADER, start)
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
    end, in_head = _line_end(text, at), True
    while end < len(text):
        following = _line_end(text, end)
        line = text[end:following].rstrip()
        if _is_footer(line):
            return following
        if line and not _belongs(line, in_head):
            return end
        in_head = in_head and bool(line)
        end = following
    return end


def _is_footer(line: str) -> bool:
    bare = line.lstrip(" ")
    return bare.startswith(FOOTER) and len(line) - len(bare) <= 3


def _belongs(line: str, in_head: bool) -> bool:
    if line.startswith("    ") or (line.startswith("[") and "] [" in line[:16]):
        return True
    key, colon, _ = f"{line} ".partition(": ")
    return in_head and bool(colon) and key.replace("_", "").isalpha()
