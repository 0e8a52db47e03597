"""Numbers as bars of plain text, for people: the same width in a terminal, a pipe and a mail."""

#: Characters of the longest bar.
WIDTH = 24


def bar(value: float, most: float) -> str:
    """A bar as long beside WIDTH as `value` is beside `most`; what is more than nothing has one sign at least."""
    return "#" * max(round(WIDTH * value / most), 1) if value > 0 and most > 0 else ""


def share_bar(share: float) -> str:
    """A share of one as a bar with its ground: `[##########----------]`."""
    filled = round(WIDTH * min(max(share, 0.0), 1.0))
    return f"[{'#' * filled}{'-' * (WIDTH - filled)}]"
