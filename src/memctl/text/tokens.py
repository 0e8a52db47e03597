"""Counting tokens: one rule for the whole program, four characters are one token."""

#: How many characters one token is taken to be.
CHARS_PER_TOKEN = 4


def estimate_tokens(text: str) -> int:
    """How many tokens `text` costs: its characters divided by four, rounded up."""
    return -(-len(text) // CHARS_PER_TOKEN)
