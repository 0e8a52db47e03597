"""A file that is made beside its final name, and put there when it is whole."""

import os
from contextlib import suppress

#: What SQLite keeps beside a database while it is open, or after a crash.
BESIDE = ("-wal", "-shm", "-journal")


def settle(path: str) -> None:
    """Wait until a file is on the disk."""
    fd = os.open(path, os.O_RDWR)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def publish(part: str, path: str) -> None:
    """Give a file its name; when another process has made one there meanwhile, that one stays: it is as good."""
    try:
        os.link(part, path)
    except FileExistsError:
        pass
    except OSError:  # no hard links here (some network and FAT file systems)
        if not os.path.exists(path):
            os.replace(part, path)


def remove(path: str) -> None:
    """Delete a file, if it is there and may be deleted."""
    with suppress(OSError):
        os.unlink(path)
