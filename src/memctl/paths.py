"""Canonical paths of files that others may rename, replace or remove at the same moment."""

import os

from memctl import errors

#: How often a path is resolved anew when somebody changes it meanwhile; a rename takes microseconds.
ATTEMPTS = 16


def real_path(path: str) -> str:
    """The path without links, as `os.path.realpath` gives it. Raises FileMissing for one that never holds still.

    Before Python 3.13, `os.path.realpath` raises OSError when a link is replaced between its look and its use.
    """
    for _ in range(ATTEMPTS):
        try:
            return os.path.realpath(path)
        except OSError:
            continue
    raise errors.FileMissing(path=path, reason="it is being renamed all the time")
