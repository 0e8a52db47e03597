"""Around every reader: whatever it throws becomes one sentence, and what it needs but lacks an install command."""

from importlib import import_module
from typing import Any

from memctl.extract import Document, Limits, Reader, Unreadable
from memctl.extract.kinds import suffix_of
from memctl.text.clean import one_line

#: How much of a library's own message is shown, in characters.
_DETAIL = 120


def guarded(module: str, data: bytes, name: str, limits: Limits) -> Document:
    """What the reader in `module` makes of `data`. Raises Unreadable, and nothing else, for whatever goes wrong."""
    import warnings

    read: Reader = import_module(module).read
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # libraries warn about what they skip: nothing the user can act on
            return read(data, name, limits)
    except Exception as exc:
        if isinstance(exc, Unreadable):
            raise
        raise Unreadable(path=name, reason=_in_words(exc, suffix_of(name))) from exc


def library(module: str, package: str, name: str) -> Any:
    """An optional library's module, by its full name. Raises Unreadable with the command that installs it."""
    try:
        return import_module(module)
    except ImportError as exc:
        reason = f"reading {suffix_of(name)} files needs {package}: pip install 'memctl[docs]'"
        raise Unreadable(path=name, reason=reason, lacking=True) from exc


def _in_words(exc: Exception, suffix: str) -> str:
    if isinstance(exc, MemoryError):
        return "reading it takes more memory than there is"
    if isinstance(exc, RecursionError):
        return "it is nested too deeply"
    detail = one_line(str(exc), _DETAIL)
    return f"it is damaged, or no {suffix} file ({type(exc).__name__}{': ' if detail else ''}{detail})"
