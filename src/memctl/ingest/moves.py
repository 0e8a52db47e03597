"""Files that were moved or renamed: which of the lost ones a file that was found may have been."""

import os
from collections import deque
from collections.abc import Iterable, Sequence

from memctl.ingest.delta import DELETED, Plan
from memctl.ingest.prepare import Passage
from memctl.store.database import Database
from memctl.store.documents import corpus
from memctl.store.documents.corpus import IngestedFile
from memctl.store.items import items

Key = tuple[str, str | int]


class Moves:
    """Files that are not there any more; each can have become one other: those that a plan found to be deleted, then
    those of other folders.
    """

    def __init__(self, db: Database, plan: Plan) -> None:
        self._db = db
        self._known = {task.path for task in plan.tasks if task.known}  # these have a record of their own
        self._waiting: set[str] = set()
        self._found: dict[str, str] = {}
        self._by: dict[Key, deque[str]] = {}
        for path, file in sorted(corpus.get_files(db, plan.lost).items()):
            if plan.lost[path] == DELETED:
                self._waiting.add(path)
                for key in _keys(file):
                    self._by.setdefault(key, deque()).append(path)

    def of(self, files: Sequence[IngestedFile]) -> dict[str, str]:
        """Where these files may have been before, new path -> old path: a file with the same bytes, at best with the
        same name, else one with the same inode.
        """
        strangers = [file for file in files if file.path not in self._known]
        out = {file.path: self._found[file.path] for file in strangers if file.path in self._found}
        for keys in zip(*map(_keys, strangers), strict=True):  # the best sort of key for all, then the next one
            for file, key in zip(strangers, keys, strict=True):
                if file.path not in out and (found := self._take(key)):
                    out[file.path] = found
        self._found |= out
        elsewhere = self._elsewhere([file for file in strangers if file.path not in out])
        self._found |= elsewhere
        return out | elsewhere

    def _elsewhere(self, files: Sequence[IngestedFile]) -> dict[str, str]:
        where = corpus.paths_with(self._db, [file.sha256 for file in files if file.size])
        taken = set(self._found.values())
        out = {}
        for file in files:
            for path in where.get(file.sha256, ()) if file.size else ():
                if path not in taken and path != file.path and _is_gone(path):
                    out[file.path] = path
                    taken.add(path)
                    break
        return out

    def _take(self, key: Key) -> str:
        queue = self._by.get(key)
        while queue:
            found = queue.popleft()
            if found in self._waiting:
                self._waiting.remove(found)
                return found
        return ""


def _is_gone(path: str) -> bool:
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return os.path.isabs(path)  # what came from standard input never was a file
    except OSError:
        return False
    return False


def _keys(file: IngestedFile) -> tuple[Key, Key, Key]:
    name = os.path.basename(file.path)
    return (f"named {name}", file.sha256), ("bytes", file.sha256), ("inode", file.inode or file.path)


def related(db: Database, old: IngestedFile, passages: Iterable[Passage]) -> bool:
    """Whether a file with the inode of `old` is that one, moved and edited, and not another one that was given its
    inode: then they have nothing in common.
    """
    ours = {passage.content_hash for passage in passages}
    return any(one.content_hash in ours for one in items.get_summaries(db, old.item_ids).values())
