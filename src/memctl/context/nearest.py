"""The nearest store: which `.memory/memory.db` a command means when none is named.

As git does it: the walk upwards ends at the home folder and at the border of a file system, and what belongs to another
user, or is a link, is passed over. Above the repository that one stands in, only a trusted store is used: a folder that
many share may lie there. Where there is none, it is the personal store, once `memctl init --personal` has made that.
"""

import os

from memctl import registry
from memctl.annotations import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

FOLDER = ".memory"
DEFAULT_STORE = os.path.join(FOLDER, "memory.db")


def personal_store() -> str:
    """Where the personal store is, made or not: `$XDG_DATA_HOME/memctl`, by default `~/.local/share/memctl`.

    "" for a user without a home.
    """
    base = os.environ.get("XDG_DATA_HOME") or ""
    base = base if os.path.isabs(base) else os.path.expanduser("~/.local/share")
    return os.path.join(base, "memctl", "memory.db") if os.path.isabs(base) else ""


def nearest_store(folder: str, say: "Callable[[str], None] | None" = None) -> str:
    """The nearest store in `folder` or above it, else the personal one; where it would be made here, without either.

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
        is_folder = os.path.isdir(path) and not os.path.islink(path)
        if os.path.lexists(path) and not is_folder and _may_use(path, repository, tell):
            return path
        if place == home or os.path.dirname(here) == here:
            break
        if not repository and os.path.lexists(os.path.join(here, ".git")):
            repository = here
        here = os.path.dirname(here)
    personal = personal_store()
    if personal and os.path.lexists(personal) and _may_use(personal, "", tell):
        its_folder = os.path.dirname(personal)
        if hasattr(os, "geteuid") and os.stat(its_folder).st_mode & 0o022:
            from shlex import quote

            tell(
                f"Others may write to the folder of your personal store; chmod go-w {quote(its_folder)} keeps it yours"
            )
        return personal
    return os.path.join(folder, DEFAULT_STORE)


def _may_use(path: str, repository: str, tell: "Callable[[str], None]") -> bool:
    why = registry.placement_problem(path)
    if not why and repository and not registry.is_vouched_for(path):
        from shlex import quote

        from memctl.context import store_trust

        if store_trust.adopt(path) is None:
            why = f"it is above the repository {repository}; memctl trust {quote(path)} lets it be used from there"
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
