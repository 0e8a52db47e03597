"""Pure functions on text, without I/O: chunking, queries, the block, what models write. Here: what a text costs."""

#: How many characters one token is taken to be: one rule for the whole program.
CHARS_PER_TOKEN = 4


def estimate_tokens(text: str) -> int:
    """How many tokens `text` costs: its characters divided by four, rounded up."""
    return -(-len(text) // CHARS_PER_TOKEN)
