"""Which stores this user trusts: those that memctl made for them, and those they said `memctl trust` to.

One small text file in the state folder, a line a store: what the file is (path, device, inode, owner) and a random id
that stands in the store, too. A clone, a copy or an unpacked archive can bring any content, but no inode, and no id
that was made here. A folder that is moved keeps its inode, a disk that is plugged in again its paths.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from memctl import errors, state
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

#: How a path is written, so that it is one field of one line; undone from the last to the first.
_CODES = {ord(char): f"%{ord(char):02X}" for char in "%\t\n\r"}
_HEAD = "# The stores that memctl trusts; memctl trust list shows them, memctl untrust takes one out.\n"


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

    def line(self) -> str:
        """The entry as it is written; the path comes last."""
        facts = (self.how, self.when, self.device, self.inode, self.owner, self.store_id, self.config)
        return "\t".join([*map(str, facts), self.path.translate(_CODES)]) + "\n"


def _parsed(data: str) -> Iterator[TrustEntry]:
    """The entries of a file; a line that is none, such as one of a later version, is passed over."""
    for line in data.split("\n"):
        parts = line.split("\t")
        if len(parts) == 8 and line[:1] != "#" and all(number.isdecimal() for number in parts[2:5]):
            how, when, device, inode, owner, store_id, config, path = parts
            for char, code in reversed(_CODES.items()):
                path = path.replace(code, chr(char))
            yield TrustEntry(how, when, int(device), int(inode), int(owner), store_id, config, path)


def _read(name: str) -> list[str]:
    """What a file of ours holds where it may be: in the state folder, and in the one for users without a home.

    In the latter only when nobody else made it.
    """
    first, second = state.folder(), state.fallback()
    folders = (here for here in dict.fromkeys((first, second)) if here != second or state.private(here))
    return [os.fsdecode(state.read(os.path.join(here, name))) for here in folders]


def entries() -> list[TrustEntry]:
    """All that is known, the oldest first."""
    return [entry for data in _read(FILE) for entry in _parsed(data)]


def find(path: str) -> TrustEntry | None:
    """What is known of the file at `path`; None when nothing is, or it is not there.

    Whether it is the same store is told by its id, which the caller compares.
    """
    try:
        info = os.stat(path)
    except OSError:
        return None
    mark = f"\t{info.st_ino}\t{info.st_uid}\t"
    known: TrustEntry | None = None
    for data in _read(FILE):
        if mark in data:
            real = real_path(path)
            for entry in _parsed(data):
                if entry.is_of(info, real) and (known is None or known.path != real):
                    known = entry
    return known


def add(path: str, store_id: str, how: str, when: str, config: str = "", *, part: str = "") -> bool:
    """Write down what a store is, in place of what was known of it; False when it cannot be written anywhere.

    part  the file that will be the store at this path: it is written down before it is there, so that nobody finds it
          unknown. What is known of the path stays, for another process may be making the same store; another `add`,
          or `withdraw`, follows.
    """
    try:
        info = os.stat(part or path)
    except OSError:
        return False
    real = real_path(path)
    entry = TrustEntry(how, when, info.st_dev, info.st_ino, info.st_uid, store_id, config, real)
    if part:
        return _change(lambda old: not old.is_of(info, ""), entry)
    return _change(lambda old: old.path != real and not old.is_of(info, real), entry)


def withdraw(info: os.stat_result) -> None:
    """Take back what was written down of a file that was to be a store: another process was first."""
    _change(lambda old: not old.is_of(info, ""))


def refresh(path: str) -> None:
    """Update the path and the device of a store that was moved, or whose disk was plugged in again."""
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
    line = f"{entry.store_id}\t{folder.translate(_CODES)}"
    return any(line in data.split("\n") for data in _read(FOLDERS))


def note_folders(store: str, folders: "Iterable[str]") -> bool:
    """Note folders outside a store's project as such that feed it; False when that cannot be written anywhere."""
    entry = find(store)
    new = [] if entry is None else [f"{entry.store_id}\t{folder.translate(_CODES)}" for folder in folders]
    known = {one.store_id for one in entries()}

    def noted(data: str) -> str:
        old = [line for line in data.split("\n") if line and line.split("\t")[0] in known]
        return "".join(f"{line}\n" for line in dict.fromkeys([*old, *new]))

    return not new or _rewrite(FOLDERS, noted)


def _change(stays: "Callable[[TrustEntry], bool]", entry: TrustEntry | None = None) -> bool:
    """Replace the list by the entries that stay and one more."""

    def changed(data: str) -> str:
        kept = [old for old in _parsed(data) if stays(old)]
        if len(kept) > MAX_ENTRIES:
            kept = [old for old in kept if os.path.lexists(old.path)]
        return "".join([_HEAD, *(old.line() for old in (*kept, entry) if old is not None)])

    return _rewrite(FILE, changed)


def _rewrite(name: str, changed: "Callable[[str], str]") -> bool:
    """Replace what a file of ours holds, in the first folder that can be written to; False when none can."""
    for here in dict.fromkeys((state.folder(), state.fallback())):
        try:
            with locked(here):
                path = os.path.join(here, name)
                state.write(path, os.fsencode(changed(os.fsdecode(state.read(path)))))
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


def check_placement(path: str) -> None:
    """Raises StoreUnsafe for a store that nobody named and that must not be used where it stands."""
    why, _, remedy = placement_problem(path).partition("; ")
    if why:
        raise errors.StoreUnsafe(path=path, what=why, remedy=remedy)


def is_own(info: os.stat_result, environ: "Mapping[str, str] | None" = None) -> bool:
    """Whether a file is this user's; root under sudo is also the user that gave the command, as for git."""
    if not hasattr(os, "geteuid"):
        return True
    me = os.geteuid()
    other = (os.environ if environ is None else environ).get("SUDO_UID", "") if me == 0 else ""
    return info.st_uid == me or (other.isdecimal() and info.st_uid == int(other))
