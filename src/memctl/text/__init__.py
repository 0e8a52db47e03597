"""Pure functions on text: tokens, chunking, queries, the injection block, LLM output. No I/O."""

#: How many characters one token is taken to be.
CHARS_PER_TOKEN = 4


def estimate_tokens(text: str) -> int:
    """How many tokens `text` costs: its characters divided by four, rounded up."""
    return -(-len(text) // CHARS_PER_TOKEN)
