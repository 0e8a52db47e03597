"""What an error of SQLite means: ours says it in one sentence, with what to do."""

import sqlite3

from memctl import errors
from memctl.store.connect import BUSY_SECONDS


def error_for(exc: sqlite3.Error, path: str) -> errors.MemctlError:
    """Our error for an sqlite3 one (by message: Python 3.10 has no error codes)."""
    text = str(exc)
    low = text.lower()
    if "locked" in low or "busy" in low:
        return errors.StoreBusy(path=path, seconds=BUSY_SECONDS)
    if "readonly" in low or "read-only" in low:
        return errors.StoreReadOnly(path=path, reason=text)
    if "full" in low or "disk i/o" in low:
        return errors.StoreFull(path=path)
    if "not a database" in low or "unsupported file format" in low:
        return errors.NotADatabase(path=path, reason="it is not an SQLite file")
    if "malformed" in low or "corrupt" in low:
        return errors.StoreCorrupt(path=path, reason=text)
    if "unable to open" in low:
        return errors.StoreReadOnly(path=path, reason="the file or its folder cannot be opened")
    return errors.StoreFailed(path=path, reason=text)
