"""From a question to candidates in order: terms, search, ranking; and whether they answer it at all."""

from memctl.retrieve.candidates import SearchResult
from memctl.retrieve.find import search

__all__ = ["SearchResult", "search"]
