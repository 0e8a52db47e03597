"""The nearest store: which `.memory/memory.db` a command means when none is named.

As git does it: the walk upwards ends at the home folder and at the border of a file system, and what belongs to another
user, or is a link, is passed over. Above the repository that one stands in, only a trusted store is used: a folder that
many share may lie there.
"""

import os
import stat

from memctl import registry
from memctl.annotations import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FOLDER = ".memory"
DEFAULT_STORE = os.path.join(FOLDER, "memory.db")


def nearest_store(folder: str, say: "Callable[[str], None] | None" = None) -> str:
    """The nearest store in `folder` or above it; where it would be made here, when there is none.

    `say` is told which ones are passed over, and that the store is above the repository.
    """
    tell = say or (lambda _: None)
    here, repository, home, device = folder, "", _file_identity(os.path.expanduser("~")), None
    while True:
        place = _file_identity(here)
        if device is not None and place[:1] != device:
            break
        device = place[:1]
        path = os.path.join(here, DEFAULT_STORE)
        if _is_there(path) and _may_use(path, repository, tell):
            return path
        if place == home or os.path.dirname(here) == here:
            break
        if not repository and os.path.lexists(os.path.join(here, ".git")):
            repository = here
        here = os.path.dirname(here)
    return os.path.join(folder, DEFAULT_STORE)


def _may_use(path: str, repository: str, tell: "Callable[[str], None]") -> bool:
    why = placement_problem(path)
    if not why and repository and not _is_trusted(path):
        why = f"it is above the repository {repository}; memctl trust {shell_quote(path)} lets it be used from there"
    if why:
        tell(f"Passed over {path}: {why}")
    elif repository:
        tell(f"Using {path}, which is above the repository {repository}")
    return not why


def _file_identity(path: str) -> tuple[int, ...]:
    """Which file this is; () when it is not there."""
    try:
        info = os.stat(path)
    except OSError:
        return ()
    return info.st_dev, info.st_ino


def _is_there(path: str) -> bool:
    try:
        return not stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


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
    if stranger is not None and not _is_vouched_for(path):
        command = f"memctl trust {shell_quote(path)}"
        return f"it belongs to another user (uid {stranger}); {command} lets it be used all the same"
    return ""


def is_own(info: os.stat_result, environ: "Mapping[str, str] | None" = None) -> bool:
    """Whether a file is this user's; root under sudo is also the user that gave the command, as for git."""
    if not hasattr(os, "geteuid"):
        return True
    me = os.geteuid()
    other = (os.environ if environ is None else environ).get("SUDO_UID", "") if me == 0 else ""
    return info.st_uid == me or (other.isdecimal() and info.st_uid == int(other))


def shell_quote(path: str) -> str:
    """A path as a shell takes it: people copy what messages say, and whoever planted a folder chose its name."""
    from shlex import quote

    return quote(path)


def _is_vouched_for(path: str) -> bool:
    entry = registry.find(path)
    return entry is not None and entry.how != registry.UNTRUSTED


def _is_trusted(path: str) -> bool:
    if _is_vouched_for(path):
        return True
    from memctl.context import vouching

    return vouching.adopt(path) is not None
