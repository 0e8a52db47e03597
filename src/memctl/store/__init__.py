"""The SQLite file. The only package that imports sqlite3; `MemoryStore` is handed on from `memctl.api`."""

from memctl.annotations import TYPE_CHECKING, Any

_HOMES = {
    "MemoryStore": "memctl.api",  # stands above search and ingest, so it lives upstairs
    "_rank_by_coverage": "memctl.query",
    "SCHEMA_VERSION": "memctl.store.schema",
    "FTS_TOKENIZER_PRESETS": "memctl.store.schema",
    "Filters": "memctl.store.filters",
    "open_read": "memctl.store.connect",
    "open_write": "memctl.store.connect",
}

__all__ = [name for name in _HOMES if name[0] != "_"]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'memctl.store' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(home), name)


if TYPE_CHECKING:
    from memctl.api import MemoryStore as MemoryStore
    from memctl.store.connect import open_read as open_read
    from memctl.store.connect import open_write as open_write
    from memctl.store.filters import Filters as Filters
    from memctl.store.schema import FTS_TOKENIZER_PRESETS as FTS_TOKENIZER_PRESETS
    from memctl.store.schema import SCHEMA_VERSION as SCHEMA_VERSION
