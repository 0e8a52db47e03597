"""memctl: memory for LLMs in one SQLite file.

`import memctl` costs nothing: each public name is loaded when it is first used (PEP 562).
"""

import sys

TYPE_CHECKING = False  # `typing` costs more than `memctl --version` may
__version__ = "0.25.0"

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


def _leave_the_current_folder() -> None:
    """Take the current folder off the module path, where `python -m memctl…` puts it: an `mcp/` that lies there, in a
    project of somebody else, is not the SDK. (`python -P` is of Python 3.11.)
    """
    words = sys.orig_argv
    asked = [word[2:] or after for word, after in zip(words, [*words[1:], ""]) if word.startswith("-m")]  # noqa: B905
    if sys.argv[:1] != ["-m"] or asked[:1] == [] or asked[0].partition(".")[0] != "memctl":
        return  # somebody else's program, or no `-m` at all
    if getattr(sys.flags, "safe_path", False) or sys.flags.isolated:
        return
    first = sys.path.pop(0)
    if __path__[0].rpartition("/")[0] == first:  # memctl itself is there: what it starts must find it, too
        sys.path.append(first)


_leave_the_current_folder()


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
    from memctl.types import CorpusMetadata as CorpusMetadata
    from memctl.types import MemoryEvent as MemoryEvent
    from memctl.types import MemoryItem as MemoryItem
    from memctl.types import MemoryLink as MemoryLink
    from memctl.types import MemoryProposal as MemoryProposal
    from memctl.types import MemoryProvenance as MemoryProvenance
    from memctl.types import SearchMeta as SearchMeta
    from memctl.types import SearchStrategy as SearchStrategy
