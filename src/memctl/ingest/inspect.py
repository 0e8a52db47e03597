"""What the store knows of the files of a folder: totals, folders, sizes, languages, and what is odd about them.

Which files belong to a folder is decided by their path, so nested folders and ones that are mounted again need nothing
special. Files are named relative to the folder, and no name is shown before policy has seen it.
"""

import heapq
import itertools
import os
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.extract import kind_of, suffix_of
from memctl.store.database import Database
from memctl.store.documents import corpus, mounts
from memctl.store.documents.corpus import FileSummary
from memctl.text.block.folder_structure import structure_block
from memctl.text.clean import one_line
from memctl.text.tokens import CHARS_PER_TOKEN

if TYPE_CHECKING:
    from memctl.config import ConfigSection
    from memctl.policy import MemoryPolicy

#: How many of the largest files are named.
LARGEST = 5
#: A folder with fewer files is never reported as thin or sparse.
_WORTH_A_WORD = 3
_NO_SUFFIX = "(none)"
_WITHHELD = "[withheld]"

#: Suffixes of formats that `kind_of` counts as the kind of text they are turned into.
_FORMATS = {
    ".html": "html", ".htm": "html", ".xhtml": "html", ".csv": "csv", ".tsv": "csv",
    **{suffix: suffix[1:] for suffix in (".docx", ".odt", ".pptx", ".odp", ".xlsx", ".ods", ".pdf")},
}  # fmt: skip


class Root(NamedTuple):
    """A folder that files are looked at below: its canonical path and what it is called."""

    path: str
    label: str

    @property
    def prefix(self) -> str:
        """What the paths of its files begin with."""
        return os.path.join(self.path, "")


class ReportedFile(NamedTuple):
    """A file as it is reported; `folder` is relative to the root, `.` for the root itself."""

    folder: str
    name: str
    size: int
    chunks: int
    ext: str
    language: str

    @property
    def path(self) -> str:
        """Where it is, relative to the root."""
        return self.name if self.folder == "." else f"{self.folder}/{self.name}"


class StructureReport:
    """The documented statistics of some files, and the two texts that are made to a budget."""

    def __init__(self, files: Sequence[ReportedFile], label: str, limits: "ConfigSection") -> None:
        self.files, self.label = files, label
        self.stats = _stats(files, limits)
        self._root = make_tree(("" if f.folder == "." else f.folder, f.name, f.chunks) for f in files)

    def note_syncs(self, syncs: Sequence[dict[str, Any]]) -> None:
        """Add what is known of the last syncs: mount_id, label, last_sync_at, stale (None = not looked)."""
        times = [sync["last_sync_at"] for sync in syncs]
        states = [sync["stale"] for sync in syncs]
        self.stats["staleness"] = {
            "last_sync_at": min(times) if times and all(times) else None,
            "stale": True if True in states else None if None in states or not states else False,
            "mounts": list(syncs),
        }

    def tree(self, room: int) -> list[str]:
        """The lines of the tree in at most `room` characters."""
        return tree_lines(self._root, room)

    def block(self, budget_tokens: int) -> str:
        """The structure block within a budget, without a final line break."""
        return structure_block(self.stats, self.label, budget_tokens, self.tree)

    def as_dict(self, budget_tokens: int) -> dict[str, Any]:
        """The statistics with the tree, as text within the budget."""
        return self.stats | {"tree": "\n".join(self.tree(budget_tokens * CHARS_PER_TOKEN))}


def report(
    db: Database,
    root: Root | None,
    limits: "ConfigSection",
    policy: "MemoryPolicy | None",
    scopes: tuple[str, ...] | None = None,
) -> StructureReport:
    """The report on the files below a folder, or on all files when `root` is None.

    limits  the thresholds of the observations (`config.inspect`)
    policy  names that it would blot out or withhold are not shown
    scopes  only passages in these count, and files without one there are left out
    """
    held = corpus.list_files_below(db, root.prefix if root else "", scopes)
    placed = [file.path[len(root.prefix) :] for file in held] if root else _placed(held, roots(db))
    label = shown([root.label], policy)[0] if root else ""
    return StructureReport(list(_files(held, placed, policy)), label, limits)


def roots(db: Database) -> list[Root]:
    """The mounted folders that are in no other mounted folder, by path; their labels differ."""
    out: list[Root] = []
    taken: set[str] = set()
    known = mounts.list_mounts(db)
    for path, name in sorted((mount["path"], mount["name"]) for mount in known):
        if not (out and path.startswith(out[-1].prefix)):
            label = wanted = name or base_name(path)
            number = 1
            while label in taken:
                number += 1
                label = f"{wanted}-{number}"
            taken.add(label)
            out.append(Root(path, label))
    return out


def base_name(path: str) -> str:
    """What a folder without a name is called: the last part of its path."""
    return os.path.basename(path.rstrip(os.sep)) or "root"


# --- where files are --------------------------------------------------------------------------------------------


def _placed(held: Sequence[FileSummary], known: Sequence[Root]) -> list[str]:
    """The paths of files below several roots: of several, each path begins with the label of its own.

    Files below none are relative to the folder that they have in common; they are never named by their whole path.
    """
    prefixes = [root.prefix for root in known]
    homes = []
    for file in held:
        at = bisect_right(prefixes, file.path) - 1
        homes.append(at if at >= 0 and file.path.startswith(prefixes[at]) else -1)
    stray = (file.path for file, at in zip(held, homes, strict=True) if at < 0 and not file.rel_path)
    folders = {os.path.dirname(path) for path in stray if os.path.isabs(path)}
    common = os.path.commonpath(folders) if folders else ""
    common = "" if common == os.path.dirname(common) else common + os.sep  # the root is no folder in common
    several = len(set(homes)) > 1
    out = []
    for file, at in zip(held, homes, strict=True):
        if at >= 0:
            path = file.path[len(prefixes[at]) :]
            out.append(f"{known[at].label}/{path}" if several else path)
        elif file.rel_path:
            out.append(file.rel_path.lstrip("/"))
        elif common and file.path.startswith(common):
            out.append(file.path[len(common) :])
        else:
            out.append(os.path.basename(file.path))
    return out


def _files(held: Sequence[FileSummary], placed: Sequence[str], policy: "MemoryPolicy | None") -> Iterator[ReportedFile]:
    parts = [path.rpartition("/") for path in placed]
    folders = list(dict.fromkeys(folder for folder, _, _ in parts))
    safe = dict(zip(folders, shown(folders, policy), strict=True))
    names = shown([name for _, _, name in parts], policy)
    for file, (folder, _, raw), name in zip(held, parts, names, strict=True):
        ext = (file.ext or os.path.splitext(raw)[1].lower()) if name == raw else ""
        size = file.size
        if not isinstance(size, int):  # an older program recorded none, or no number
            try:
                size = os.stat(file.path).st_size
            except (OSError, ValueError):
                size = 0
        kind, language = kind_of(raw)
        language = language or _FORMATS.get(suffix_of(raw)) or kind
        yield ReportedFile(safe[folder] or ".", name, size, file.chunks, ext or _NO_SUFFIX, language)


def shown(names: list[str], policy: "MemoryPolicy | None") -> list[str]:
    """The names as policy lets them be shown: secrets blotted out, those that speak to a model withheld."""
    if policy is None or policy.is_clean("\n".join(names), document=True):
        return names
    judged = [policy.judge(name, field="provenance") for name in names]
    return [_WITHHELD if one.action == "quarantine" else one.text for one in judged]


# --- statistics -------------------------------------------------------------------------------------------------


def _stats(files: Sequence[ReportedFile], limits: "ConfigSection") -> dict[str, Any]:
    folders = _sums(files, lambda f: f.folder, ("file_count", "chunk_count", "size"))
    extensions: dict[str, int] = {}
    for file in files:
        extensions[file.ext] = extensions.get(file.ext, 0) + 1
    extensions = dict(sorted(extensions.items()))
    size = sum(f.size for f in files)
    return {
        "total_files": len(files),
        "total_chunks": sum(f.chunks for f in files),
        "total_size": size,
        "per_folder": folders,
        "per_extension": extensions,
        "extensions": extensions,  # as older memctl and its documentation call it
        "top_largest": [
            {"path": f.path, "size_bytes": f.size, "chunk_count": f.chunks}
            for f in sorted(files, key=lambda f: (-f.size, f.path))[:LARGEST]
        ],
        "observations": list(_observations(folders, extensions, limits)),
        "observation_thresholds": limits.to_dict(),
        "languages": _sums(files, lambda f: f.language, ("files", "chunks", "size")),
        "staleness": {"last_sync_at": None, "stale": None, "mounts": []},
        "tokens": -(-size // CHARS_PER_TOKEN),
    }


def _sums(
    files: Iterable[ReportedFile], key: Callable[[ReportedFile], str], names: tuple[str, str, str]
) -> dict[str, dict[str, int]]:
    """Files, passages and bytes by what `key` says, in alphabetical order."""
    found: dict[str, list[int]] = {}
    for file in files:
        sums = found.setdefault(key(file), [0, 0, 0])
        sums[0] += 1
        sums[1] += file.chunks
        sums[2] += file.size
    return {word: dict(zip(names, found[word], strict=True)) for word in sorted(found)}


def _observations(
    folders: dict[str, dict[str, int]], extensions: dict[str, int], limits: "ConfigSection"
) -> Iterator[str]:
    files = sum(extensions.values())
    chunks = sum(n["chunk_count"] for n in folders.values())
    if not files or not chunks:
        return
    for folder, n in folders.items():
        if n["chunk_count"] / chunks >= limits.dominance_frac:
            yield f"{one_line(folder)}/ dominates content ({n['chunk_count'] * 100 // chunks}% of chunks)"
    yield from _thin(folders, limits.low_density_threshold)
    for ext, count in extensions.items():
        if count / files >= limits.ext_concentration_frac:
            yield f"{one_line(ext)} files dominate ({count * 100 // files}% of all files)"
    for folder, n in folders.items():
        if n["chunk_count"] <= limits.sparse_threshold and n["file_count"] >= _WORTH_A_WORD:
            yield f"{one_line(folder)}/ is sparse ({n['chunk_count']} chunks across {n['file_count']} files)"


def _thin(folders: dict[str, dict[str, int]], share: float) -> Iterator[str]:
    """The folders with fewest passages a file, where there are enough folders to compare."""
    if len(folders) < _WORTH_A_WORD:
        return
    density = {folder: n["chunk_count"] / n["file_count"] for folder, n in folders.items()}
    for folder in sorted(density, key=lambda f: (density[f], f))[: max(1, int(len(folders) * share))]:
        count = folders[folder]["file_count"]
        if count >= _WORTH_A_WORD:
            yield f"{one_line(folder)}/ has low chunk density ({density[folder]:.1f} chunks/file, {count} files)"


# --- a tree of the files ----------------------------------------------------------------------------------------------
#
# It fits into a number of characters: what holds most passages is shown, the rest is counted. Folders open one after
# the other, the one with most passages first, and their largest entries come first; what stays closed says how much is
# in it. The lines themselves are in alphabetical order.

#: Longer names are cut: one of 4000 characters would push everything else out.
_NAME_CHARS = 80
#: No line is shorter: `- a (1 chunk)`.
_LEAST = 14


class TreeNode:
    """A folder or a file: its name, what is in it, and for folders its entries by name."""

    __slots__ = ("chunks", "entries", "files", "folder", "name")

    def __init__(self, name: str, *, folder: bool) -> None:
        self.name, self.folder = name, folder
        self.files = 0 if folder else 1
        self.chunks = 0
        self.entries: dict[tuple[str, bool], TreeNode] = {}  # a redacted name may stand for a folder and for a file

    def line(self, depth: int) -> str:
        """The folder or file on one line, `depth` folders below the root."""
        name, inner = one_line(self.name, _NAME_CHARS), self.inner()
        if not self.folder:
            return f"{'  ' * depth}- {name} ({_count(self.chunks, 'chunk')})"
        if inner is not self:
            node, names = self, [self.name]
            while node is not inner:
                (node,) = node.entries.values()
                names.append(node.name)
            name = one_line("/".join(names), _NAME_CHARS)
        return f"{'  ' * depth}- {name}/ ({_count(self.files, 'file')}, {_count(self.chunks, 'chunk')})"

    def inner(self) -> "TreeNode":
        """The folder that a chain of folders, each alone in the one above, ends in."""
        node = self
        while len(node.entries) == 1:
            (only,) = node.entries.values()
            if not only.folder:
                break
            node = only
        return node


def _count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _rest(depth: int, files: int, chunks: int) -> str:
    return f"{'  ' * depth}- … and {_count(files, 'more file')} ({_count(chunks, 'chunk')})"


def make_tree(files: Iterable[tuple[str, str, int]]) -> TreeNode:
    """The root over files given as (folder with `/` between its parts and "" for the root, name, passages)."""
    root = TreeNode("", folder=True)
    folders = {"": [root]}
    for folder, name, chunks in files:
        way = folders.get(folder)
        if way is None:
            way = folders[folder] = [root]
            for part in folder.split("/"):
                node = way[-1].entries.get((part, True))
                if node is None:
                    node = way[-1].entries[part, True] = TreeNode(part, folder=True)
                way.append(node)
        leaf = way[-1].entries.get((name, False))
        if leaf is None:
            leaf = way[-1].entries[name, False] = TreeNode(name, folder=False)
        else:  # two names that policy blotted out alike
            leaf.files += 1
        leaf.chunks += chunks
        for node in way:
            node.files += 1
            node.chunks += chunks
    return root


class _OpenFolder:
    """A folder whose entries are being shown, the ones with most passages first."""

    __slots__ = ("depth", "node", "shown", "total", "waiting")

    def __init__(self, node: TreeNode, depth: int) -> None:
        self.node, self.depth = node, depth
        found = sorted(node.entries.values(), key=lambda n: (-n.chunks, not n.folder, n.name))
        self.total, self.waiting = len(found), iter(found)
        self.shown: dict[TreeNode, _OpenFolder | None] = {}


def tree_lines(root: TreeNode, room: int) -> list[str]:
    """The tree in at most `room` characters, a line break after each line counted; [] when nothing fits."""
    top = _OpenFolder(root, 0)
    queue: list[tuple[int, int, int, _OpenFolder, TreeNode]] = []
    turn = itertools.count()

    def wait(opened: _OpenFolder) -> None:
        node = next(opened.waiting, None)
        if node is not None:
            heapq.heappush(queue, (-node.chunks, opened.depth, next(turn), opened, node))

    wait(top)
    while queue and room >= _LEAST:
        *_, opened, node = heapq.heappop(queue)
        cost = len(node.line(opened.depth)) + 1
        # The line that counts those not shown is paid for with the first line, and given back with the last.
        spare = len(_rest(opened.depth, opened.node.files, opened.node.chunks)) + 1 if opened.total > 1 else 0
        cost += spare * ((not opened.shown) - (len(opened.shown) + 1 == opened.total))
        if cost <= room:
            room -= cost
            below = _OpenFolder(node.inner(), opened.depth + 1) if node.folder else None
            opened.shown[node] = below
            if below is not None:
                wait(below)
        wait(opened)
    return list(_written(top))


def _written(top: _OpenFolder) -> Iterator[str]:
    stack: list[tuple[_OpenFolder, Iterator[TreeNode]]] = []
    below: _OpenFolder | None = top
    while below or stack:
        if below is not None:
            stack.append((below, iter(sorted(below.shown, key=lambda n: (not n.folder, n.name)))))
        opened, nodes = stack[-1]
        node = next(nodes, None)
        below = opened.shown[node] if node else None
        if node is not None:
            yield node.line(opened.depth)
            continue
        stack.pop()
        if 0 < len(opened.shown) < opened.total:
            files = opened.node.files - sum(n.files for n in opened.shown)
            yield _rest(opened.depth, files, opened.node.chunks - sum(n.chunks for n in opened.shown))
