"""From a question to passages: search, score, packing into a token budget."""

from memctl.retrieve.candidates import SearchResult
from memctl.retrieve.find import search

__all__ = ["SearchResult", "search"]
