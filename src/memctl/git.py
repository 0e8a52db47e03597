"""What a repository keeps, read as text or asked of the `git` program, which nothing in the repository can steer.

What a folder says of itself may come from a stranger: a `.git` file counts when what it names points back at it, links
inside a repository count never. The program is given an empty repository of ours around the objects, as the settings of
a stranger's can name programs to run; its hooks, filters and attributes are not looked at either.
"""

import os

from memctl import errors, ids, registry
from memctl.annotations import NamedTuple
from memctl.paths import read_file, real_path

#: Bytes of a file of git that are read; a larger one says nothing.
MOST = 4 << 20
#: Seconds that git may take for an answer, and bytes of it.
SECONDS, _ANSWER = 3, 16 << 20


class WorkTree(NamedTuple):
    """A folder that git looks after: its root, the repository's common folder, and the commit that it is at."""

    root: str
    git: str
    head: str


def work_tree(folder: str) -> WorkTree | None:
    """The work tree around a folder, which may be gone; None without one, or before its first commit."""
    folder = real_path(folder)
    while not os.path.isdir(folder) and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
    found = repository(folder)
    if found is None or found[0] == found[1]:
        return None
    root, git = found
    own = os.path.join(root, ".git")
    if not os.path.isdir(own):  # one of several of a repository: it is at a commit of its own
        named = read_text(own).partition("\n")[0].removeprefix("gitdir:").strip()
        own = real_path(os.path.join(root, named))
    at = head(git, own)
    return WorkTree(root, git, at) if at else None


def blob_id(data: bytes) -> str:
    """The name that git gives to a file of these bytes."""
    import hashlib

    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def read_blob(tree: WorkTree, blob: str) -> str | None:
    """The text of a blob; None where the repository has none of this name, or there is no git."""
    if not is_commit(blob):
        return None
    try:
        return ask(tree.git, "cat-file", "blob", blob)
    except OSError:
        return None


def renames_since(tree: WorkTree, commit: str) -> list[tuple[str, str, str]]:
    """The files that were renamed since a commit, by the commit of the work tree: old path, new path, old blob."""
    if not is_commit(commit) or commit == tree.head:
        return []
    try:
        words = ("diff-tree", "-r", "-z", "-M", "--diff-filter=R", "--raw", commit, tree.head)
        said = ask(tree.git, *words) or ""
    except OSError:
        return []
    parts = said.split("\0")  # `:mode mode blob blob how`, old path, new path, and so on
    root, rows = tree.root, zip(parts[0::3], parts[1::3], parts[2::3], strict=False)
    return [(os.path.join(root, old), os.path.join(root, new), head.split(" ")[2]) for head, old, new in rows]


def is_committed(path: str) -> bool:
    """Whether a file came with the commit that its work tree is at: then anybody may have written it."""
    folder, name = os.path.split(path)
    tree = work_tree(folder)
    if tree is None:
        return False
    place = os.path.relpath(os.path.join(real_path(folder), name), tree.root)
    try:
        return bool(ask(tree.git, "ls-tree", "--name-only", "-z", tree.head, "--", place))
    except OSError:
        return False


def repository(folder: str) -> tuple[str, str] | None:
    """The root of the repository around a folder and its common folder; None where there is none to be believed."""
    device = None
    while True:
        try:
            info = os.stat(folder)
        except OSError:
            return None
        if device not in (None, info.st_dev):  # as for git, a repository ends where its file system does
            return None
        device = info.st_dev
        git = os.path.join(folder, ".git")
        if os.path.lexists(git):
            common = _common_folder(git)
            return (folder, common) if common else None
        if is_bare(folder):
            return folder, folder
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def is_bare(folder: str) -> bool:
    """Whether a folder is a repository without a work tree."""
    return (
        os.path.basename(folder) != ".git"
        and all(os.path.exists(os.path.join(folder, name)) for name in ("HEAD", "objects", "refs", "config"))
        and not os.path.lexists(os.path.join(folder, ".git"))
    )


def _common_folder(git: str) -> str:
    """What several worktrees share of a repository; "" for a `.git` that is somebody else's or does not hold."""
    try:
        if os.path.islink(git) or not registry.is_own(os.lstat(git)):
            return ""
    except OSError:
        return ""
    if os.path.isdir(git):
        return git
    named = read_text(git).partition("\n")[0]
    if not named.startswith("gitdir:"):
        return ""
    inner = real_path(os.path.join(os.path.dirname(git), named.removeprefix("gitdir:").strip()))
    common = read_text(os.path.join(inner, "commondir")).strip()
    if common:  # a worktree: it stands among those of its repository, and names the file that names it
        common = real_path(os.path.join(inner, common))
        back = real_path(os.path.join(inner, read_text(os.path.join(inner, "gitdir")).strip()))
        is_its = os.path.dirname(inner) == os.path.join(common, "worktrees")
        return common if is_its and back == git else ""
    tree = next((value for key, value in read_config(inner) if key == "core.worktree"), None)
    # A submodule, whose settings name the folder that it is checked out to.
    return inner if tree and real_path(os.path.join(inner, tree)) == os.path.dirname(git) else ""


def read_text(path: str) -> str:
    """What a small file says; nothing when it is none, or a link."""
    if os.path.islink(path):
        return ""
    try:
        return read_file(path, MOST)[0].decode("utf-8", "surrogateescape").replace("\0", "")
    except errors.DocumentUnreadable:
        return ""


def read_config(git: str) -> list[tuple[str, str]]:
    """The settings of a repository in their order, by full name, as far as names of remotes need it."""
    section, found = "", []
    for line in read_text(os.path.join(git, "config")).replace("\\\n", "").splitlines():
        line = line.strip()  # noqa: PLW2901 - of a line with a section's name the rest counts
        if line[:1] == "[":
            head, _, line = line[1:].partition('"]' if '"' in line else "]")  # noqa: PLW2901
            kind, _, name = head.partition('"')
            section = f"{kind.strip().lower()}.{name}" if name else kind.strip().lower()
        key, mark, value = line.partition("=")
        if mark and section:
            found.append((f"{section}.{key.strip().lower()}", _unescaped(value)))
    return found


def _unescaped(value: str) -> str:
    """A setting's value without quotes, escapes and what is a comment."""
    kept, quoted, signs = "", False, iter(value)
    for sign in signs:
        if sign == '"':
            quoted = not quoted
        elif sign in "#;" and not quoted:
            break
        else:
            kept += next(signs, "") if sign == "\\" else sign
    return kept.strip()


def head(git: str, own: str = "") -> str:
    """The commit that a repository stands at, or the work tree whose own folder is `own`; "" before the first one."""
    at = read_text(os.path.join(own or git, "HEAD")).strip()
    if at.startswith("ref:"):
        ref = at.removeprefix("ref:").strip()
        path = os.path.join(git, ref)
        packed = read_text(os.path.join(git, "packed-refs"))
        # A way through links could lead into a repository that is not this one.
        at = read_text(path).strip() if real_path(path) == os.path.join(real_path(git), ref) else ""
        at = at or next((line.split(" ")[0] for line in packed.splitlines() if line.endswith(f" {ref}")), "")
    return at if is_commit(at) else ""


def is_commit(text: str) -> bool:
    """Whether a text is a whole name of a commit, or of a blob."""
    return len(text) == 40 and not text.strip("0123456789abcdef")


def ask(git: str, *words: str) -> str | None:
    """What the git program says of the objects of a repository; None when it fails. Raises OSError without git."""
    from signal import SIGTERM
    from tempfile import TemporaryDirectory

    from memctl.process import running

    objects = os.path.join(git, "objects")
    if os.path.islink(objects):
        return None
    with TemporaryDirectory(prefix="memctl-") as ours:
        os.mkdir(os.path.join(ours, "refs"))
        os.mkdir(os.path.join(ours, "objects"))
        with open(os.path.join(ours, "HEAD"), "w", encoding="ascii") as file:
            file.write("ref: refs/heads/main\n")
        environ = {
            "PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "HOME": ours, "GIT_DIR": ours,
            "GIT_OBJECT_DIRECTORY": objects, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_NO_LAZY_FETCH": "1", "GIT_ATTR_NOSYSTEM": "1", "GIT_NO_REPLACE_OBJECTS": "1",
        }  # fmt: skip
        with running(_ANSWER) as program:
            program.start(["git", *words], None, cwd=ours, env=environ)
            if not program.exchange(ids.monotonic() + SECONDS):
                program.end(SIGTERM)
                return None
            return "".join(program.pieces) if program.status == 0 and not program.truncated else None
