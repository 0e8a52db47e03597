"""Which stores this user trusts: those that memctl made for them, and those they said `memctl trust` to.

One small text file in the state folder, a line a store: what the file is (path, device, inode, owner) and a random id
that stands in the store, too. A clone, a copy or an unpacked archive can bring any content, but no inode, and no id
that was made here. A folder that is moved keeps its inode, a disk that is plugged in anew its paths.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from memctl import state
from memctl.annotations import TYPE_CHECKING
from memctl.paths import real_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

FILE = "trusted"
#: Beside it: a line for each folder outside a store's project that feeds the store, the store's id and the path.
FOLDERS = "mounts"
#: How an entry came about: memctl made the store here, a person said so, it was shown to be of this machine; or a
#: person said that it is not to be trusted, which keeps it from being adopted.
MADE, TRUSTED, ADOPTED, UNTRUSTED = "made", "trusted", "adopted", "untrusted"
#: As an entry's `config`: a config.json was there before the store, and nobody has vouched for it.
UNVOUCHED = "unvouched"
#: Entries that the list holds before those whose files are gone are dropped.
MAX_ENTRIES = 500

_HEAD = b"# The stores that memctl trusts; memctl trust --list shows them, memctl untrust takes one out.\n"


class TrustEntry:
    """A store that is known.

    how, when              how it came to be trusted, and when
    device, inode, owner   of its file
    store_id               the random id that the store holds, too; "" where it could not be written
    config                 the hash of the config.json beside it that a person vouched for, UNVOUCHED, or ""
    path                   where it was last
    """

    __slots__ = ("config", "device", "how", "inode", "owner", "path", "store_id", "when")

    def __init__(
        self, how: str, when: str, device: int, inode: int, owner: int, store_id: str, config: str, path: str
    ) -> None:
        self.how, self.when, self.device, self.inode, self.owner = how, when, device, inode, owner
        self.store_id, self.config, self.path = store_id, config, path

    def is_of(self, info: os.stat_result, path: str) -> bool:
        """Whether it is about this file: owner and inode are the same, and the device or the path."""
        same = self.inode == info.st_ino and self.owner == info.st_uid
        return same and (self.device == info.st_dev or self.path == path)

    def line(self) -> bytes:
        """The entry as it is written; the path comes last."""
        facts = (self.how, self.when, self.device, self.inode, self.owner, self.store_id, self.config)
        return b"\t".join([*(str(fact).encode() for fact in facts), _escaped(self.path)]) + b"\n"


def _escaped(path: str) -> bytes:
    raw = os.fsencode(path).replace(b"%", b"%25")
    return raw.replace(b"\t", b"%09").replace(b"\n", b"%0A").replace(b"\r", b"%0D")


def _parsed(data: bytes) -> Iterator[TrustEntry]:
    """The entries of a file; a line that is none, such as one of a later version, is passed over."""
    for line in data.split(b"\n"):
        parts = line.split(b"\t")
        if len(parts) != 8 or line[:1] == b"#":
            continue
        how, when, device, inode, owner, store_id, config = (part.decode("ascii", "replace") for part in parts[:7])
        if device.isdigit() and inode.isdigit() and owner.isdigit():
            path = parts[7]
            for code, char in ((b"%0D", b"\r"), (b"%0A", b"\n"), (b"%09", b"\t"), (b"%25", b"%")):
                path = path.replace(code, char)
            yield TrustEntry(how, when, int(device), int(inode), int(owner), store_id, config, os.fsdecode(path))


def _folders() -> tuple[str, ...]:
    """Where the file may be: the state folder; the one for users without a home, when nobody else made it."""
    first, second = state.folder(), state.fallback()
    return tuple(here for here in dict.fromkeys((first, second)) if here != second or state.private(here))


def entries() -> list[TrustEntry]:
    """All that is known, the oldest first."""
    return [entry for here in _folders() for entry in _parsed(state.read(os.path.join(here, FILE)))]


def find(path: str) -> TrustEntry | None:
    """What is known of the file at `path`; None when nothing is, or it is not there.

    Whether it is the same store is told by its id, which the caller compares.
    """
    try:
        info = os.stat(path)
    except OSError:
        return None
    mark = f"\t{info.st_ino}\t{info.st_uid}\t".encode()
    known: TrustEntry | None = None
    for here in _folders():
        data = state.read(os.path.join(here, FILE))
        if mark not in data:
            continue
        real = real_path(path)
        for entry in _parsed(data):
            if entry.is_of(info, real) and (known is None or known.path != real):
                known = entry
    return known


def add(path: str, store_id: str, how: str, when: str, config: str = "") -> bool:
    """Write down what a store is, in place of what was known of it; False when it cannot be written anywhere."""
    try:
        info = os.stat(path)
    except OSError:
        return False
    real = real_path(path)
    entry = TrustEntry(how, when, info.st_dev, info.st_ino, info.st_uid, store_id, config, real)
    return _change(lambda old: old.path != real and not old.is_of(info, real), entry)


def announce(part: str, path: str, store_id: str, when: str, config: str = "") -> bool:
    """Write down that the file `part` will be the store at `path`: before it is there, so that nobody finds it unknown.

    What is known of that path stays, for another process may be making the same store; `add` or `withdraw` follows.
    """
    info = os.stat(part)
    entry = TrustEntry(MADE, when, info.st_dev, info.st_ino, info.st_uid, store_id, config, real_path(path))
    return _change(lambda old: not old.is_of(info, ""), entry)


def withdraw(info: os.stat_result) -> None:
    """Take back what was announced of a file: another process was first."""
    _change(lambda old: not old.is_of(info, ""))


def refresh(path: str) -> None:
    """Bring the path and the device of a store up to date that was moved, or whose disk was plugged in anew."""
    entry = find(path)
    if entry is not None and (entry.path, entry.device) != (real_path(path), os.stat(path).st_dev):
        add(path, entry.store_id, entry.how, entry.when, entry.config)


def forget(path: str) -> bool:
    """Take out what is known of the file at a path, which may be gone; False when nothing was known."""
    real = real_path(path)
    known = find(path)
    gone = [one for one in entries() if one.path == real or (known is not None and one.inode == known.inode)]
    lines = {one.line() for one in gone}
    return bool(gone) and _change(lambda old: old.line() not in lines)


def may_feed(store: str, folder: str) -> bool:
    """Whether a folder outside a store's project was noted as one that feeds it.

    True, too, when the store stands in no list: then nothing was noted of it, and whoever names it answers for it.
    """
    entry = find(store)
    if entry is None or entry.how == UNTRUSTED:
        return True
    line = _folder_line(entry, folder)
    return any(line in state.read(os.path.join(here, FOLDERS)).splitlines(keepends=True) for here in _folders())


def note_folders(store: str, folders: "Iterable[str]") -> bool:
    """Note folders outside a store's project as such that feed it; False when that cannot be written anywhere."""
    entry = find(store)
    new = [] if entry is None else [_folder_line(entry, folder) for folder in folders]
    known = {one.store_id.encode() for one in entries()}

    def noted(data: bytes) -> bytes:
        old = [line for line in data.splitlines(keepends=True) if line.split(b"\t")[0] in known]
        return b"".join(dict.fromkeys([*old, *new]))

    return not new or _rewrite(FOLDERS, noted)


def _folder_line(entry: TrustEntry, folder: str) -> bytes:
    return entry.store_id.encode() + b"\t" + _escaped(folder) + b"\n"


def _change(stays: "Callable[[TrustEntry], bool]", entry: TrustEntry | None = None) -> bool:
    """Write the list anew, with the entries that stay and one more."""

    def changed(data: bytes) -> bytes:
        kept = [old for old in _parsed(data) if stays(old)]
        if len(kept) > MAX_ENTRIES:
            kept = [old for old in kept if os.path.lexists(old.path)]
        return b"".join([_HEAD, *(old.line() for old in (*kept, entry) if old is not None)])

    return _rewrite(FILE, changed)


def _rewrite(name: str, changed: "Callable[[bytes], bytes]") -> bool:
    """Replace what a file of ours holds, in the first folder that can be written to; False when none can."""
    for here in dict.fromkeys((state.folder(), state.fallback())):
        try:
            with locked(here):
                path = os.path.join(here, name)
                state.write(path, changed(state.read(path)))
        except OSError:
            continue
        return True
    return False


@contextmanager
def locked(here: str) -> Iterator[None]:
    """Alone with the files of a folder: of two processes that write one at once, none loses. Raises OSError."""
    os.makedirs(here, mode=0o700, exist_ok=True)
    if here == state.fallback() and not state.private(here):
        raise PermissionError(f"{here} is somebody else's")
    try:
        import fcntl
    except ImportError:  # Windows: the last one wins
        yield
        return
    number = os.open(here, os.O_RDONLY)
    try:
        fcntl.flock(number, fcntl.LOCK_EX)
        yield
    finally:
        os.close(number)


# --- where a store may stand ------------------------------------------------------------------------------------------


def is_vouched_for(path: str) -> bool:
    """Whether the file at `path` is in the registry, and not as one that is not to be trusted."""
    entry = find(path)
    return entry is not None and entry.how != UNTRUSTED


def placement_problem(path: str) -> str:
    """Why a store that nobody named must not be used where it stands; "" when nothing speaks against it."""
    folder = os.path.dirname(path)
    found = []
    for place, what in ((folder, f"{os.path.basename(folder)} "), (path, "it ")):
        try:
            info = os.lstat(place)
        except OSError:
            continue
        if stat.S_ISLNK(info.st_mode):
            return f"{what}is a link; --db names a store wherever it is"
        if place == path and not stat.S_ISREG(info.st_mode):
            return "it is no regular file"
        found.append(info)
    stranger = next((info.st_uid for info in found if not is_own(info)), None)
    if stranger is not None and not is_vouched_for(path):
        from shlex import quote  # people copy what messages say, and whoever planted a folder chose its name

        return f"it belongs to another user (uid {stranger}); memctl trust {quote(path)} lets it be used all the same"
    return ""


def is_own(info: os.stat_result, environ: "Mapping[str, str] | None" = None) -> bool:
    """Whether a file is this user's; root under sudo is also the user that gave the command, as for git."""
    if not hasattr(os, "geteuid"):
        return True
    me = os.geteuid()
    other = (os.environ if environ is None else environ).get("SUDO_UID", "") if me == 0 else ""
    return info.st_uid == me or (other.isdecimal() and info.st_uid == int(other))
