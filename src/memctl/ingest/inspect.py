"""What the store knows of the files of a folder: totals, folders, sizes, languages, and what is odd about them.

Which files belong to a folder is decided by their path, so nested folders and ones that are mounted again need nothing
special. Files are named relative to the folder, and no name is shown before policy has seen it.
"""

import os
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.extract import kind_of, suffix_of
from memctl.ingest.tree import lines, tree
from memctl.store.database import Database
from memctl.store.documents import corpus, mounts
from memctl.store.documents.corpus import FileSummary
from memctl.text.block.structure import structure_block
from memctl.text.clean import one_line
from memctl.text.tokens import CHARS_PER_TOKEN

if TYPE_CHECKING:
    from memctl.config import InspectConfig
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


class File(NamedTuple):
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


class Report:
    """The documented statistics of some files, and the two texts that are made to a budget."""

    def __init__(self, files: Sequence[File], label: str, limits: "InspectConfig") -> None:
        self.files, self.label = files, label
        self.stats = _stats(files, limits)
        self._root = tree(("" if f.folder == "." else f.folder, f.name, f.chunks) for f in files)

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
        """The lines of the tree in at most so many characters."""
        return lines(self._root, room)

    def block(self, budget_tokens: int) -> str:
        """The structure block within a budget, without a final line break."""
        return structure_block(self.stats, self.label, budget_tokens, self.tree)

    def as_dict(self, budget_tokens: int) -> dict[str, Any]:
        """The statistics with the tree, as text within the budget."""
        return self.stats | {"tree": "\n".join(self.tree(budget_tokens * CHARS_PER_TOKEN))}


def report(
    db: Database,
    root: Root | None,
    limits: "InspectConfig",
    policy: "MemoryPolicy | None",
    scopes: tuple[str, ...] | None = None,
) -> Report:
    """The report on the files below a folder, or on all files when `root` is None.

    limits  the thresholds of the observations (`config.inspect`)
    policy  names that it would blot out or withhold are not shown
    scopes  only passages in these count, and files without one there are left out
    """
    held = corpus.list_files_below(db, root.prefix if root else "", scopes)
    placed = [file.path[len(root.prefix) :] for file in held] if root else _placed(held, roots(db))
    label = shown([root.label], policy)[0] if root else ""
    return Report(list(_files(held, placed, policy)), label, limits)


def roots(db: Database) -> list[Root]:
    """The mounted folders that are in no other mounted folder, by path; their labels differ."""
    out: list[Root] = []
    taken: set[str] = set()
    known = mounts.list_mounts(db)
    for path, name in sorted((mount["path"], mount["name"]) for mount in known):
        if not (out and path.startswith(out[-1].prefix)):
            out.append(Root(path, _unlike(name or base_name(path), taken)))
    return out


def base_name(path: str) -> str:
    """What a folder without a name is called: the last part of its path."""
    return os.path.basename(path.rstrip(os.sep)) or "root"


def _unlike(label: str, taken: set[str]) -> str:
    number, made = 1, label
    while made in taken:
        number += 1
        made = f"{label}-{number}"
    taken.add(made)
    return made


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
    common = _common(f.path for f, at in zip(held, homes, strict=True) if at < 0 and not f.rel_path)
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


def _common(paths: Iterable[str]) -> str:
    """The folder that all these files are below, as their paths begin; "" when it is none but the root."""
    folders = {os.path.dirname(path) for path in paths if os.path.isabs(path)}
    common = os.path.commonpath(folders) if folders else ""
    return "" if common == os.path.dirname(common) else common + os.sep


def _files(held: Sequence[FileSummary], placed: Sequence[str], policy: "MemoryPolicy | None") -> Iterator[File]:
    parts = [path.rpartition("/") for path in placed]
    folders = list(dict.fromkeys(folder for folder, _, _ in parts))
    safe = dict(zip(folders, shown(folders, policy), strict=True))
    names = shown([name for _, _, name in parts], policy)
    for file, (folder, _, raw), name in zip(held, parts, names, strict=True):
        ext = (file.ext or os.path.splitext(raw)[1].lower()) if name == raw else ""
        yield File(safe[folder] or ".", name, _size(file), file.chunks, ext or _NO_SUFFIX, _language(raw))


def shown(names: list[str], policy: "MemoryPolicy | None") -> list[str]:
    """The names as policy lets them be shown: secrets blotted out, those that speak to a model withheld."""
    if policy is None or policy.is_clean("\n".join(names), document=True):
        return names
    judged = [policy.judge(name, field="provenance") for name in names]
    return [_WITHHELD if one.action == "quarantine" else one.text for one in judged]


def _size(file: FileSummary) -> int:
    """The recorded size; where an older program recorded none, or no number, that of the file as it is now."""
    if isinstance(file.size, int):
        return file.size
    try:
        return os.stat(file.path).st_size
    except (OSError, ValueError):
        return 0


def _language(name: str) -> str:
    kind = kind_of(name)
    return kind.language or _FORMATS.get(suffix_of(name)) or kind.kind


# --- statistics -------------------------------------------------------------------------------------------------


def _stats(files: Sequence[File], limits: "InspectConfig") -> dict[str, Any]:
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


def _sums(files: Iterable[File], key: Callable[[File], str], names: tuple[str, str, str]) -> dict[str, dict[str, int]]:
    """Files, passages and bytes by what `key` says, in alphabetical order."""
    found: dict[str, list[int]] = {}
    for file in files:
        sums = found.setdefault(key(file), [0, 0, 0])
        sums[0] += 1
        sums[1] += file.chunks
        sums[2] += file.size
    return {word: dict(zip(names, found[word], strict=True)) for word in sorted(found)}


def _observations(
    folders: dict[str, dict[str, int]], extensions: dict[str, int], limits: "InspectConfig"
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
