"""Stores that somebody else made, as they lie there after a clone or out of an archive."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from memctl.types import MemoryItem
from stores import change

#: How an item of such a store is shown.
LOW = "low (store of somebody else)"


def plant(*found: MemoryItem, folder: str | Path = ".", sql: Sequence[str] = ()) -> Path:
    """Put a copy of a made-up store at `.memory/memory.db` in a folder; the copy's path. `sql`: done to it before."""
    made = Path.home() / "theirs" / "memory.db"
    made.parent.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as theirs:  # what they have made stands in their list
        theirs.setenv("XDG_STATE_HOME", str(made.parent))
        with change(str(made)) as db:
            for item in found or (MemoryItem(id="MEM-1", content="The gateway retries twice."),):
                db.write(item, "pull")
            for statement in sql:
                db.run(statement)
    place = Path(folder).absolute() / ".memory"
    place.mkdir(parents=True, exist_ok=True)
    copy = Path(shutil.copy(made, place / "memory.db"))
    made.unlink()
    return copy
