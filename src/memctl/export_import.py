"""Items as JSON lines, under the documented names: `memctl export` and `memctl import` for programs."""

import io
import json
import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import IO, Any, NamedTuple

from memctl.context import open_context
from memctl.mount import Path
from memctl.ops.move.transfer import export, import_

__all__ = ["ImportResult", "export_items", "import_items"]


class ImportResult(NamedTuple):
    """What became of the lines; what is merged is among the duplicates."""

    total_lines: int = 0
    imported: int = 0
    skipped_dedup: int = 0
    skipped_policy: int = 0
    errors: int = 0

    def to_dict(self) -> dict[str, Any]:
        """The fields by their names."""
        return self._asdict()


def export_items(
    db_path: Path,
    *,
    tier: Any = None,
    type_filter: Any = None,
    scope: str | None = None,
    exclude_archived: bool = True,
    output: IO[str] | None = None,
    log: Callable[[str], None] | None = None,
) -> int:
    """Write items to `output` (standard output), a line each, the newest change first; returns how many."""
    stream = sys.stdout if output is None else output
    count = 0
    with open_context(db_path, say=log) as ctx:
        found = export(ctx, tier=tier, type=type_filter, scope=scope, include_archived=not exclude_archived)
        for count, line in enumerate(found.lines(), 1):  # noqa: B007 - the last number is the count
            stream.write(json.dumps(line, ensure_ascii=False) + "\n")
    return count


def import_items(
    db_path: Path,
    source: IO[str] | Path,
    *,
    preserve_ids: bool = False,
    dry_run: bool = False,
    log: Callable[[str], None] | None = None,
) -> ImportResult:
    """Read items from a file, or a stream of text, as JSON lines, each judged by policy; the counts.

    Lines with errors are counted and told to `log`; the others are imported. Raises FileNotFoundError.
    """
    with ExitStack() as opened:
        if isinstance(source, str | os.PathLike):
            stream: Any = opened.enter_context(open(source, "rb"))
        else:
            stream = getattr(source, "buffer", None) or io.BytesIO(source.read().encode())
        ctx = opened.enter_context(open_context(db_path, say=log, stdin=stream))
        done = import_(ctx, preserve_ids=preserve_ids, dry_run=dry_run).as_dict()
        return ImportResult(*(done[name] for name in ImportResult._fields))
