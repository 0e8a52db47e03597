"""Whether git tracks a file: then whoever writes to the repository writes this file, too, at the next pull."""

import os

from memctl.paths import real_path

#: Bytes of an index that are read: that of a repository of a million files has some 100 MB.
MOST = 512 << 20


def is_tracked(path: str) -> bool:
    """Whether the repository around a file has it in its index. An index that cannot be read tracks everything."""
    path = real_path(path)
    found = _repository(os.path.dirname(path))
    if found is None:
        return False
    root, folder = found
    name = os.fsencode(os.path.relpath(path, root).replace(os.sep, "/"))
    try:
        shared = [one for one in os.listdir(folder) if one.startswith("sharedindex.")]
    except OSError:
        return True
    return any(_holds(os.path.join(folder, one), name) for one in ("index", *shared))


def _repository(folder: str) -> tuple[str, str] | None:
    """The root of the nearest repository, and the folder that its index is in."""
    while True:
        git = os.path.join(folder, ".git")
        if os.path.isdir(git):
            return folder, git
        if os.path.isfile(git):  # a worktree or a submodule names the folder
            return folder, _named(git)
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def _named(git: str) -> str:
    try:
        with open(git, encoding="utf-8", errors="surrogateescape") as file:
            line = file.readline(5000)
    except OSError:
        line = ""
    return os.path.join(os.path.dirname(git), line.removeprefix("gitdir:").strip())


def _holds(index: str, name: bytes) -> bool:
    try:
        if not os.path.isfile(index):
            return False
        with open(index, "rb") as file:
            data = file.read(MOST)
    except OSError:
        return True
    if data[4:8] == b"\0\0\0\x04":  # its paths are shortened by what they share with the one before
        name = name.rpartition(b"/")[2]
    return name + b"\0" in data
