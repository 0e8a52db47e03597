"""Which project a folder belongs to: the scope that the word `project` means in the personal store.

Worktrees, clones and renamed folders are one project, and a fork is another: the name is that of the repository's first
remote (`origin`, else the first one written down), without a user, a password, a port or the way to reach it; of a
repository without one it is made of its first commit; of a folder without git, of its path.

What the folder says of itself is read as text, by nobody's program, and may come from a stranger: a `.git` file counts
when what it names points back at it, links inside a repository count never. Only the first commit is git's to find. It
is asked once for a repository, with an empty repository of ours around the objects, as the settings of a stranger's
can name programs.
"""

import os

from memctl import state
from memctl.git import ask, head, is_bare, is_commit, read_config, repository
from memctl.paths import real_path

#: What a scope is named after.
REMOTE, COMMIT, FOLDER = "remote", "first commit", "folder"

#: How many clones of clones on one machine are followed.
_HOPS = 4
#: In the state folder: a line a repository, its mark and its first commit ("-": git found none).
FILE = "projects"
_KEPT = 1000
_NAME_CHARS = 100
#: A longer one of a remote is none.
_URL_CHARS = 2000
#: Signs in the name of a way to reach something.
_NO_SIGNS = {ord(sign): None for sign in "+-."}


class ProjectIdentity:
    """A folder's project.

    scope   the name of its scope in the personal store
    kind    what that is made of: REMOTE, COMMIT or FOLDER
    folder  its root
    former  the scopes that it had before it had this one: as a folder without git, as a repository without a remote
    """

    __slots__ = ("folder", "former", "kind", "scope")

    def __init__(self, scope: str, kind: str, folder: str, former: tuple[str, ...] = ()) -> None:
        self.scope, self.kind, self.folder = scope, kind, folder
        self.former = tuple(name for name in former if name != scope)


def project_of(folder: str, hops: int = _HOPS) -> ProjectIdentity:
    """The project of a folder. A repository that cannot be read is a folder like any other."""
    here = real_path(folder)
    found = repository(here)
    if found is None:
        return ProjectIdentity(_named_by_path(here), FOLDER, here)
    root, git = found
    as_folder = _named_by_path(root)
    if root == git:  # a bare one, which others have as their remote
        return ProjectIdentity(as_folder, FOLDER, root)
    config = read_config(git)
    url = next((value for key, value in config if key == "remote.origin.url"), "")
    url = url or next((value for key, value in config if key.startswith("remote.") and key.endswith(".url")), "")
    place = _local_path(url, root)
    if place and hops and os.path.isdir(place):
        other = project_of(place, hops - 1)
        if other.kind != FOLDER or is_bare(real_path(place)):
            return ProjectIdentity(other.scope, other.kind, root, (*_first_commit_scope(git, ask=False), as_folder))
    name = "" if place else remote_name(url)
    if name:
        return ProjectIdentity(name, REMOTE, root, (*_first_commit_scope(git, ask=False), as_folder))
    for scope in _first_commit_scope(git, ask=True):
        return ProjectIdentity(scope, COMMIT, root, (as_folder,))
    return ProjectIdentity(as_folder, FOLDER, root)


def _named_by_path(path: str) -> str:
    return f"{_plain(os.path.basename(path)) or 'root'}~{_hash(path)[:8]}"


def _hash(text: str) -> str:
    from memctl import ids

    return ids.bytes_hash(os.fsencode(text))


def _plain(name: str) -> str:
    """A name with what may stand in a scope's: letters, digits and a few signs."""
    return "".join(char if char.isalnum() or char in "_./~+-" else "-" for char in name).strip("-./")[:_NAME_CHARS]


# --- remotes ----------------------------------------------------------------------------------------------------------


def remote_name(url: str) -> str:
    """`github.com/acme/widget` for every way to write that remote; "" for none, and for a folder.

    Only the host and the path count. A path in which a password may stand becomes a hash.
    """
    url = url.strip()
    if len(url) > _URL_CHARS:
        return ""
    scheme, mark, rest = url.partition("://")
    if mark and scheme[:1].isalpha() and scheme.translate(_NO_SIGNS).isalnum():
        place, _, path = rest.partition("/")
        path = _unquoted(path.partition("?")[0].partition("#")[0])
        place = place.rpartition("@")[2]
        host = place[1:].partition("]")[0] if place[:1] == "[" else place
    else:
        host, path = _scp_parts(url)
    if host.count(":") == 1:  # more has an IPv6 address
        host = host.partition(":")[0]
    path = "/".join(part for part in path.split("/") if part not in ("", ".")).removesuffix(".git")
    if not (host and path):
        return ""
    host = host.lower()
    name = f"{host}/{path.lower()}"
    # What looks like no host may be a user with a password that has a slash in it.
    return name if _plain(name) == name else f"{host if _plain(host) == host else 'remote'}/{_hash(name)[:12]}"


def _scp_parts(url: str) -> tuple[str, str]:
    """Host and path of `user@host:path`, as ssh and scp have it; "" for what is none."""
    for start in (*(at for at in range(len(url) - 1, -1, -1) if url[at] == "@"), -1):
        rest = url[start + 1 :]
        host, mark, path = rest[1:].partition("]:") if rest[:1] == "[" else rest.partition(":")
        if mark and path[:1] != ":" and not set(host) & set("/[]"):
            return host, path
    return "", ""


def _unquoted(text: str) -> str:
    if "%" not in text:
        return text
    from urllib.parse import unquote

    return unquote(text)


def _local_path(url: str, root: str) -> str:
    """The folder that a remote on this machine is; "" for one elsewhere."""
    if "\0" in url or not url:
        return ""
    if url.startswith("file://"):
        return _unquoted("/" + url.removeprefix("file://").partition("/")[2])
    return "" if ":" in url.partition("/")[0] else os.path.normpath(os.path.join(root, url))


# --- the first commit -------------------------------------------------------------------------------------------------


def _first_commit_scope(git: str, *, ask: bool) -> tuple[str, ...]:
    """The scope that is named after a repository's first commit; nothing when that is not known.

    ask  let git look for it when it is not written down yet
    """
    try:
        info = os.stat(git)
        made = os.stat(os.path.join(git, "description")).st_mtime_ns  # nobody changes it after `git init`
    except OSError:
        made = 0
    mark = f"{info.st_dev}:{info.st_ino}:{made}"
    path = os.path.join(state.folder(), FILE)
    lines = os.fsdecode(state.read(path)).splitlines()
    found = next((line.split("\t")[1] for line in lines if line.startswith(f"{mark}\t")), "")
    if not found and ask:
        found = _first_commit(git)
        if found:
            from contextlib import suppress

            with suppress(OSError):  # then it is asked again
                kept = [line for line in lines if not line.startswith(f"{mark}\t")][-_KEPT:]
                state.write(path, os.fsencode("".join(f"{line}\n" for line in (*kept, f"{mark}\t{found}"))))
    return (f"commit~{found[:12]}",) if found not in ("", "-") else ()


def _first_commit(git: str) -> str:
    """The first commit of a repository; "-" when git finds none, "" when there is no git or nothing to ask it."""
    at = head(git)
    try:
        said = (ask(git, "rev-list", "--first-parent", "--max-parents=0", at) or "").strip() if at else ""
    except OSError:
        return ""
    return said if is_commit(said) else "-" if at else ""
