"""Which carrier a URL means."""

import os
from collections.abc import Callable

from memctl.annotations import TYPE_CHECKING
from memctl.remote.problems import RemoteInvalid

if TYPE_CHECKING:
    from memctl.remote.carrier import Carrier


def resolve(url: str, absolute: Callable[[str], str]) -> str:
    """A URL in the form that is kept: a folder by its absolute path. Raises RemoteInvalid."""
    text = url.strip()
    if not text or "\0" in text or not text.isprintable():
        raise RemoteInvalid(reason="it has no URL")
    path = text.removeprefix("file://")
    if "://" in path:
        raise RemoteInvalid(reason=f"memctl knows no way to {path.partition('://')[0][:20]}://")
    path = absolute(path)
    if not os.path.isdir(path):
        raise RemoteInvalid(reason=f"there is no folder {path}")
    return path


def open_carrier(url: str) -> "Carrier":
    """What carries to this URL."""
    from memctl.remote.folder import FolderCarrier

    return FolderCarrier(url)
