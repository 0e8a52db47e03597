"""From candidates to passages: search, score, packing into a token budget."""

from memctl.retrieve.find import Found, search

__all__ = ["Found", "search"]
