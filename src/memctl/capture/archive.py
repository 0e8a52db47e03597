"""Copies of transcripts, for their owner alone: made under another name first, so that none is ever half."""

import os
import shutil
from collections.abc import Sequence
from contextlib import suppress

from memctl.annotations import TYPE_CHECKING
from memctl.paths import open_regular
from memctl.store import transcripts

if TYPE_CHECKING:
    from memctl.capture.found import Found


class Archived:
    """What came of copying: the copies by path, those that were there already, what failed and why, bytes written."""

    def __init__(self) -> None:
        self.copied: list[str] = []
        self.failed: list[tuple[str, str]] = []
        self.unchanged = self.size = 0


def archive(found: "Sequence[Found]", folder: str, *, dry: bool) -> Archived:
    """Copy transcripts into a folder, by client; one is left alone whose copy has its size and time.

    A file that became shorter was begun anew: the copy of what it held stays, under a name with its time.
    """
    done = Archived()
    for one in found:
        target = os.path.join(folder, one.client, _name(one))
        try:
            info = os.stat(one.path)
            with suppress(FileNotFoundError):
                there = os.stat(target)
                if there.st_mtime_ns == info.st_mtime_ns and (
                    there.st_size >= info.st_size or one.path.endswith(".db")
                ):
                    done.unchanged += 1
                    continue
                if there.st_size > info.st_size and not dry and not one.path.endswith(".db"):
                    stem, ending = os.path.splitext(target)
                    os.rename(target, f"{stem}.{there.st_mtime_ns}{ending}")
            if not dry:
                _copy(one.path, target)
                os.utime(target, ns=(info.st_atime_ns, info.st_mtime_ns))
        except OSError as exc:
            done.failed.append((one.path, exc.strerror or str(exc)))
            continue
        done.copied.append(target)
        done.size += info.st_size
    return done


def _name(one: "Found") -> str:
    """The way to a copy: what the transcript is called, and the three folders that it is in."""
    parts = one.path.split(os.sep)[-4:]
    return os.path.join(*(part for part in parts if part not in ("", os.pardir)))


def _copy(path: str, target: str) -> None:
    os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
    part = f"{target}.{os.urandom(6).hex()}.part"
    try:
        number = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(number, "wb") as copy:
            if path.endswith(".db"):
                transcripts.copy_database(path, part)
            else:
                with open_regular(path) as data:
                    shutil.copyfileobj(data, copy)
        os.replace(part, target)
    finally:
        with suppress(OSError):
            os.unlink(part)
