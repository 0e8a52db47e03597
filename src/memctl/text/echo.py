"""Injected memory that a model repeats: found and taken out, so that recall does not feed itself."""

HEADER = "## Memory (Injected)"
FOOTER = "--- End Memory ("


def without_injected(text: str) -> tuple[str, int]:
    """The text without the injection blocks in it, and how many there were.

    A block goes from its header to its footer. One that was cut off before the footer ends where lines stop looking
    like a block: its `key: value` head, `[1] [STM:...]` lines, and lines indented by four blanks.
    """
    if HEADER not in text:
        return text, 0
    kept: list[str] = []
    start, count, footer = 0, 0, -2
    at = _line_starting(text, HEADER, 0)
    while at >= 0:
        following = _line_starting(text, HEADER, at + len(HEADER))
        if footer != -1 and footer < at:  # look each stretch over once, however many headers there are
            footer = _line_starting(text, FOOTER, at)
        closed = footer >= 0 and (following < 0 or footer < following)
        end = _line_end(text, footer) if closed else _block_end(text, at)
        kept.append(text[start:at])
        start, count, at = end, count + 1, following
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
        if line and not _belongs(line, in_head):
            return end
        in_head = in_head and bool(line)
        end = following
    return end


def _belongs(line: str, in_head: bool) -> bool:
    if in_head:
        return line.partition(": ")[0].replace("_", "").isalpha() and ": " in line
    return line.startswith("    ") or (line.startswith("[") and "] [" in line[:16])
