"""What an error of SQLite means: ours says it in one sentence, with what to do."""

import re

from memctl import errors
from memctl.store.connect import BUSY_SECONDS

#: What SQLite says when its message begins or goes on so (Python 3.10 has no error codes), and what we make of it.
_MISSING = re.compile(r"no such (table|column): (?:\w+\.)?(\w+)")
_DAMAGED = ("malformed", "corrupt", "vtable constructor failed")


def error_for(exc: Exception, path: str) -> errors.MemctlError:
    """Our error for one of `connect.FAILURES`."""
    text = str(exc)
    low = text.lower()
    if isinstance(exc, MemoryError):
        return errors.StoreOversized(path=path, reason="there is not enough memory")
    if "too big" in low:
        return errors.StoreOversized(path=path, reason=text)
    if "locked" in low or "busy" in low:
        return errors.StoreBusy(path=path, seconds=BUSY_SECONDS)
    if "readonly" in low or "read-only" in low:
        return errors.StoreReadOnly(path=path, reason=text)
    if "full" in low or "disk i/o" in low:
        return errors.StoreFull(path=path)
    if "not a database" in low or "unsupported file format" in low:
        return errors.NotADatabase(path=path, reason="it is not an SQLite file")
    if "unable to open" in low:
        return errors.StoreReadOnly(path=path, reason="the file or its folder cannot be opened")
    return _about_content(exc, path)


def _about_content(exc: Exception, path: str) -> errors.MemctlError:
    """The error for what is wrong in the file itself."""
    if isinstance(exc, UnicodeDecodeError) or not str(exc):  # Python 3.10 leaves out a message that it cannot decode
        return errors.StoreCorrupt(path=path, reason="what SQLite says of it is not UTF-8")
    text = str(exc)
    missing = _MISSING.search(text)
    if missing:
        return errors.StoreIncomplete(path=path, reason=f"there is no {missing[1]} {missing[2]}")
    if any(word in text.lower() for word in _DAMAGED):
        return errors.StoreCorrupt(path=path, reason=text)
    return errors.StoreFailed(path=path, reason=text)
