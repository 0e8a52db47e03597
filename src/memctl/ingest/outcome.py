"""What a run over files did: counts, and on request a line for each file."""

from collections.abc import Callable
from typing import Literal, NamedTuple

from memctl.ingest.delta import DELETED
from memctl.ingest.sources import Target

FileStatus = Literal["new", "changed", "moved", "refiled", "unchanged", "deleted", "left out", "failed"]


class FileReport(NamedTuple):
    """What happened to one file: how many active passages it has now, and why."""

    path: str
    status: FileStatus
    chunks: int = 0
    reason: str = ""


def lost_report(path: str, why: str) -> FileReport:
    """The line for a file whose passages were archived; `why` is one of the words of `ingest.delta`."""
    return FileReport(path, "deleted") if why == DELETED else FileReport(path, "left out", 0, why)


class Outcome:
    """What a run did, in counts, and the item ids it made."""

    __slots__ = (
        "archived", "changed", "deleted", "failed", "files", "item_ids", "kept", "moved", "new", "quarantined",
        "redacted", "refiled", "reports", "rescoped", "restored", "superseded", "unchanged",
    )  # fmt: skip

    def __init__(self) -> None:
        self.files = 0  # files found
        self.new = self.changed = self.unchanged = 0  # files stored for the first time, changed, or skipped
        self.moved = 0  # files that are now somewhere else, or have another name
        self.refiled = 0  # files whose text is as before, read again for other tags, scope, rules ...
        self.deleted = 0  # files that are gone from a folder that was given as a whole, or no longer taken in
        self.failed: list[Target] = []
        self.kept = self.superseded = self.archived = 0  # passages of changed files
        self.restored = 0  # passages that were archived, and whose text is back
        self.rescoped = 0  # kept passages that were in another scope
        self.redacted = self.quarantined = 0  # passages
        self.item_ids: list[str] = []
        self.reports: list[FileReport] = []

    @property
    def processed(self) -> int:
        """Files that were read and stored anew in some way."""
        return self.new + self.changed + self.refiled + self.moved

    def passages(self) -> dict[str, int]:
        """What happened to passages that were there, and what policy did, by the keys of `--json`."""
        names = ("kept", "superseded", "archived", "restored", "redacted", "quarantined")
        return {f"chunks_{name}": getattr(self, name) for name in names}

    def note_left_out(self, left_out: list[FileReport]) -> None:
        """Report what the walk left out, but for files of which there is a line already."""
        said = {one.path for one in self.reports}
        self.reports += [one for one in left_out if one.path not in said]

    def show_paths(self, shown: Callable[[str], str]) -> None:
        """Let the reports, and what is said of files that failed, name files as they may be shown."""
        self.reports = [one._replace(path=shown(one.path), reason=shown(one.reason)) for one in self.reports]
        self.failed = [one._replace(path=shown(one.path), problem=shown(one.problem)) for one in self.failed]

    def add(self, part: "Outcome") -> None:
        """Take over the counts of a part that has been committed."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(part, name))
