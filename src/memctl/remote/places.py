"""Which carrier a URL means."""

import os
import re
from collections.abc import Callable

from memctl.annotations import TYPE_CHECKING
from memctl.remote.problems import RemoteInvalid

if TYPE_CHECKING:
    from memctl.remote.carrier import Carrier
    from memctl.remote.git import GitCarrier

#: How git is reached; what runs programs (`ext::`) is none of them.
_SCHEMES = ("ssh", "https", "http", "git")
#: `git@host:path`, as ssh and scp have it.
_SCP = re.compile(r"[\w.-]+@[\w.-]+:[^:].*", re.ASCII)
#: Where logs stand in a repository, if not in refs/memctl.
_PREFIX = re.compile(r"refs/[a-z0-9_-]+(/[a-z0-9_-]+)*", re.ASCII)
#: How the URL of a repository on this machine is kept, to tell it from a folder.
_GIT = "git:"


def resolve(url: str, absolute: Callable[[str], str]) -> str:
    """A URL in the form that is kept: what is on this machine by its absolute path. Raises RemoteInvalid."""
    text = url.strip()
    place, mark, prefix = text.partition("#")
    if not place or place.startswith("-") or not text.isprintable():
        raise RemoteInvalid(reason="it has no URL")
    if mark and not _PREFIX.fullmatch(prefix):
        raise RemoteInvalid(reason=f"{prefix[:40]} is no place for refs, such as refs/heads/memory")
    if place.partition("://")[0] in _SCHEMES or (_SCP.fullmatch(place) and "::" not in place):
        return text
    path = place.removeprefix("file://")
    if "://" in path or "::" in path:
        raise RemoteInvalid(reason=f"memctl knows no way to {path.partition(':')[0][:20]}:")
    path = absolute(path)
    if not os.path.isdir(path):
        raise RemoteInvalid(reason=f"there is no folder {path}")
    if os.path.exists(os.path.join(path, ".git")) or all(
        os.path.exists(os.path.join(path, name)) for name in ("HEAD", "objects", "refs")
    ):
        return f"{_GIT}{path}{mark}{prefix}"
    if mark:
        raise RemoteInvalid(reason=f"{path} is no git repository: it has no refs")
    return path


def drop_copy(url: str) -> None:
    """Delete what git keeps here of a repository: older logs too, with texts that were purged since."""
    if not os.path.isabs(url):
        import shutil

        shutil.rmtree(_git_carrier(url).folder, ignore_errors=True)


def open_carrier(url: str) -> "Carrier":
    """What carries to a URL that `resolve` gave."""
    if os.path.isabs(url):
        from memctl.remote.folder import FolderCarrier

        return FolderCarrier(url)
    return _git_carrier(url)


def _git_carrier(url: str) -> "GitCarrier":
    from memctl.remote.git import GitCarrier

    is_here = url.startswith(_GIT) and not url.startswith("git://")
    return GitCarrier(url.removeprefix(_GIT) if is_here else url)
