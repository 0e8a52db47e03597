"""memctl: memory for LLMs in one SQLite file.

`import memctl` costs nothing: each public name is loaded when it is first used (PEP 562).
"""

TYPE_CHECKING = False  # `typing` costs more than `memctl --version` may
__version__ = "0.24.0"

_HOMES = {
    "MemoryItem": "memctl.types",
    "MemoryProposal": "memctl.types",
    "MemoryEvent": "memctl.types",
    "MemoryLink": "memctl.types",
    "MemoryProvenance": "memctl.types",
    "CorpusMetadata": "memctl.types",
    "SearchMeta": "memctl.types",
    "SearchStrategy": "memctl.types",
    "MemoryStore": "memctl.store",
    "SCHEMA_VERSION": "memctl.store",
    "MemoryPolicy": "memctl.policy",
    "MemoryConfig": "memctl.config",
}

__all__ = ["__version__", *_HOMES]  # noqa: PLE0604 - the table is the list


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'memctl' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:
    from memctl.config import MemoryConfig as MemoryConfig
    from memctl.policy import MemoryPolicy as MemoryPolicy
    from memctl.store import SCHEMA_VERSION as SCHEMA_VERSION
    from memctl.store import MemoryStore as MemoryStore
    from memctl.types import (
        CorpusMetadata as CorpusMetadata,
    )
    from memctl.types import (
        MemoryEvent as MemoryEvent,
    )
    from memctl.types import (
        MemoryItem as MemoryItem,
    )
    from memctl.types import (
        MemoryLink as MemoryLink,
    )
    from memctl.types import (
        MemoryProposal as MemoryProposal,
    )
    from memctl.types import (
        MemoryProvenance as MemoryProvenance,
    )
    from memctl.types import (
        SearchMeta as SearchMeta,
    )
    from memctl.types import (
        SearchStrategy as SearchStrategy,
    )
