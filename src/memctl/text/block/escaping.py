"""Lines of a text that could be taken for the block's own: they get a backslash."""

from memctl.text.echo import HEADER

#: Lines of the frame that say where a passage comes from, and who speaks in a conversation: a text must say neither of
#: itself.
_OURS = ("trust:", "provenance:", "user:", "assistant:", "system:", "human:", "developer:")
#: Tags in which prompts keep what they give to a model apart: a text must not end or begin one.
_APART = (
    "memory", "memories", "context", "system", "system-reminder", "instructions", "prompt", "user", "human",
    "assistant", "document", "documents", "injected", "tool_result", "function_results",
)  # fmt: skip
#: A short id in a block has at least so many hexadecimal digits.
_SHORTEST_ID = 6
_HEX = frozenset("0123456789abcdef")


def escaped(line: str) -> str:
    """A content line that looks like the block's own gets a backslash, so that no reader takes it for one."""
    if not any(_is_ours(look.lstrip()) for look in ((line,) if line.isascii() else _looks(line))):
        return line
    start = len(line) - len(line.lstrip())
    return f"{line[:start]}\\{line[start:]}"


def _is_ours(bare: str) -> bool:
    if bare.startswith("["):
        inside, _, rest = bare[1:].partition("]")
        numbered = inside.strip().isdigit() and rest.lstrip().startswith("[")
        return bare.startswith("[path:") or numbered or (rest[:1] == " " and _is_id(inside.partition("+")[0]))
    if bare.startswith("<"):
        name = bare[1:30].lstrip("/ ").partition(">")[0].partition(" ")[0]
        return ">" in bare and name.lower() in _APART
    return bare.startswith((HEADER, "--- End Memory")) or bare[:11].lower().startswith(_OURS)


def _is_id(text: str) -> bool:
    """Whether this is an item's id as a block prints it, short or whole."""
    return text.startswith("MEM-") or (len(text) >= _SHORTEST_ID and not set(text.lower()) - _HEX)


def _looks(line: str) -> tuple[str, str]:
    """A line as it looks: compatible forms as the usual ones, dashes as hyphens, nothing that cannot be seen.

    A soft hyphen is seen or not, as the reader has it: with it as a hyphen, and without it.
    """
    import unicodedata

    seen = [
        "-" if unicodedata.category(char) == "Pd" or char == "\u2212" else char
        for char in unicodedata.normalize("NFKC", line)
        if unicodedata.category(char) not in ("Cf", "Mn", "Me") or char == "\u00ad"
    ]
    folded = "".join(seen)
    return folded.replace("\u00ad", "-"), folded.replace("\u00ad", "")
