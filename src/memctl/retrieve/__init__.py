"""From a question to passages: search, score, packing into a token budget."""

from memctl.retrieve.find import search
from memctl.retrieve.ranking import SearchResult

__all__ = ["SearchResult", "search"]
