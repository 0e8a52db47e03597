"""What a compact block says around a passage: short ids, paths as seen from their mounts, days, what replaced what."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence

from memctl.store.database import Database
from memctl.store.documents import mounts
from memctl.store.items import items as stored
from memctl.text.block.block import BlockEntry, display_path
from memctl.text.clean import one_line
from memctl.types import MemoryItem

#: A path outside of mounts and of the current folder is shown by its last so many names, never whole.
NAMES = 2
_DAY = 10
_NAME = 60


class Labels:
    """What is said around the passages of some items.

    handles   item id -> the id as it is shown
    replaced  item id -> what is said of the items that it replaced or that replaced it
    """

    __slots__ = ("_cwd", "_near", "_roots", "handles", "replaced")

    def __init__(
        self, handles: Mapping[str, str], replaced: Mapping[str, tuple[str, ...]], roots: Sequence[tuple[str, str]],
        cwd: str, *, near: bool,
    ) -> None:  # fmt: skip
        self.handles, self.replaced, self._cwd, self._near = handles, replaced, cwd, near
        self._roots = sorted(roots, key=lambda root: len(root[0]), reverse=True)

    def path(self, path: str) -> str:
        """A path as seen from its mount, else from the current folder; never an absolute one.

        Where there are several mounts, the mount's name stands before it.
        """
        shown = display_path(path, self._cwd)
        if self._near and not shown.startswith("/"):
            return shown
        for root, name in self._roots:
            if path.startswith(root):
                inside = path[len(root) :]
                return one_line(f"{name}/{inside}" if len(self._roots) > 1 else inside)
        return "/".join(shown.split("/")[-NAMES:]) if shown.startswith("/") else shown

    def put(self, p: BlockEntry, item: MemoryItem) -> BlockEntry:
        """The passage with what is said around it."""
        source = item.provenance.source_id
        return p._replace(
            path=self.path(source) if p.path and source else p.path,
            handle=self.handles.get(item.id, p.handle),
            facts=() if p.path else self.replaced.get(item.id, ()),
        )


def read(
    db: Database, items: Sequence[MemoryItem], cwd: str, *, near: bool = False,
    name: Callable[[str], str] | None = None,
) -> Labels:  # fmt: skip
    """What is to be said around these items.

    near  paths below `cwd` are shown as seen from there, wherever their mount is: for answers that people read
    name  gives an id as a redacted view shows it
    """
    ids = [item.id for item in items]
    spoken = [item for item in items if item.provenance.source_kind != "doc"]
    old = _superseded(db, spoken)
    new = {item.id: item.superseded_by for item in spoken if item.superseded_by}
    handles = stored.shorten_ids(db, {*ids, *new.values(), *(found[0] for many in old.values() for found in many)})
    if name is not None:
        handles = {item_id: name(item_id) if name(item_id) != item_id else short for item_id, short in handles.items()}
    said: dict[str, tuple[str, ...]] = {}
    for item_id, many in old.items():
        said[item_id] = tuple(f"replaces {handles[i]}" + (f" of {day[:_DAY]}" if day else "") for i, day in many)
    for item_id, newer in new.items():
        said[item_id] = (*said.get(item_id, ()), f"replaced by {handles[newer]}")
    return Labels(handles, said, _roots(mounts.list_mounts(db)), cwd, near=near)


def _superseded(db: Database, spoken: Sequence[MemoryItem]) -> dict[str, list[tuple[str, str]]]:
    if not spoken:  # most blocks are of documents alone
        return {}
    from memctl.store.items import attributes

    return attributes.superseded_by_each(db, [item.id for item in spoken])


def _roots(rows: Iterable[Mapping[str, str | None]]) -> list[tuple[str, str]]:
    out = []
    for row in rows:
        path = os.path.join(str(row["path"] or ""), "")
        out.append((path, one_line(row["name"] or os.path.basename(path.rstrip("/")), _NAME)))
    return out
