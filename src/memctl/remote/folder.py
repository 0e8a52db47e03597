"""A folder that something else carries: Syncthing, Dropbox, a network drive, a stick.

ROOT/memctl/SCOPE/REPLICA/SEGMENT. A file gets its name when it is whole and on the disk; what a sync program makes of
it (conflict copies, parts) has another name and is passed over, and what is half there fails its hash. Links that
somebody else puts there are not followed.
"""

import os
import stat
from collections.abc import Collection, Iterable

from memctl.remote.carrier import SegmentPlace, folded_name, in_order
from memctl.remote.segments import MOST_BYTES, SegmentName, is_replica, parse_name

_ROOM = "memctl"


class FolderCarrier:
    """A folder of segments; it must be there, its room in it is made."""

    def __init__(self, path: str) -> None:
        self.path = path

    def listing(self, scopes: Collection[str], _known: object = None) -> dict[tuple[str, str], list[SegmentName]]:
        """The segments of each log."""
        if not os.path.isdir(self.path):
            raise FileNotFoundError(2, "there is no such folder", self.path)
        found = {}
        for scope in scopes:
            room = self._folder(scope)
            for replica in _names(room):
                names = map(parse_name, _names(os.path.join(room, replica))) if is_replica(replica) else ()
                if segments := in_order(name for name in names if name is not None):
                    found[scope, replica] = segments
        return found

    def read(self, place: SegmentPlace) -> bytes:
        """The bytes of a segment."""
        path = os.path.join(self._folder(place.scope), place.replica, str(place.name))
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        try:
            number = os.open(path, flags)
        except FileNotFoundError:
            return b""
        except OSError:
            if stat.S_ISREG(os.lstat(path).st_mode):
                raise
            return b""  # a link, which is not followed
        info = os.fstat(number)
        if not stat.S_ISREG(info.st_mode) or info.st_size > MOST_BYTES:
            os.close(number)
            return b""
        with open(number, "rb") as file:
            return file.read(MOST_BYTES + 1)

    def publish(self, new: Iterable[tuple[SegmentPlace, bytes]], drop: Iterable[SegmentPlace] = ()) -> None:
        """Write segments, then take older ones away."""
        for place, body in new:
            room = self._folder(place.scope, place.replica)
            path = os.path.join(room, str(place.name))
            if not os.path.exists(path):
                _write(room, path, body)
        for place in drop:
            try:
                os.unlink(os.path.join(self._folder(place.scope), place.replica, str(place.name)))
            except FileNotFoundError:
                continue

    def _folder(self, scope: str, replica: str = "") -> str:
        """The folder of a scope, or of a log, which is made. Raises OSError where a link stands in its place."""
        path = self.path
        for name in (_ROOM, folded_name(scope), *filter(None, (replica,))):
            path = os.path.join(path, name)
            if replica and not os.path.lexists(path):
                os.makedirs(path, mode=0o777, exist_ok=True)
            if os.path.islink(path):
                raise OSError(f"{path} is a link")
        return path


def _names(folder: str) -> list[str]:
    try:
        return [] if os.path.islink(folder) else sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _write(folder: str, path: str, body: bytes) -> None:
    part = os.path.join(folder, f".{os.urandom(6).hex()}.tmp")
    number = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o644)
    try:
        with open(number, "wb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        os.unlink(part)
        raise
    if hasattr(os, "O_DIRECTORY"):
        room = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(room)
        finally:
            os.close(room)
