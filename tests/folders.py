"""What tests of folders share: a small tree, ways to change it, and what the store says of it afterwards."""

import os
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import support
from stores import Store, change, check_index

STORE = "memory.db"


def write(path: Path, text: str | bytes) -> Path:
    """A file with this text, in folders that are made when they are missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def document(*statements: str) -> str:
    """A Markdown text with one passage for each statement, long enough not to be packed together."""
    fill = " ".join(f"word{n}" for n in range(150))
    return "".join(f"# Part {n}\n\n{statement} {fill}.\n\n" for n, statement in enumerate(statements))


GUIDE = document("The gateway retries twice,", "The cache lives in Redis,")


def guide_and_birds(scratch: Path) -> Path:
    """A folder `docs` with a guide of two passages, and a note in a folder of its own."""
    write(scratch / "docs" / "guide.md", GUIDE)
    write(scratch / "docs" / "notes" / "birds.txt", "The kingfisher nests by the river.\n")
    return scratch / "docs"


def sync(*argv: str | os.PathLike[str], db: str | os.PathLike[str] = STORE, **how: Any) -> dict[str, Any]:
    """`memctl sync --json`, which must succeed; what it prints."""
    found: dict[str, Any] = support.ok("sync", *argv, "--json", "--db", db, **how).json()
    return found


def counts(done: dict[str, Any], *names: str) -> tuple[int, ...]:
    """These of the counts of a sync, without their `files_`."""
    return tuple(done[f"files_{name}"] for name in names)


def changes(done: dict[str, Any]) -> dict[str, int]:
    """What a sync did to files, only kinds that happened; {} if it did nothing."""
    kinds = ("new", "changed", "moved", "refiled", "deleted")
    found = {kind: done[f"files_{kind}"] for kind in kinds if done[f"files_{kind}"]}
    return found | ({"failed": len(done["files_failed"])} if done["files_failed"] else {})


def opened(db: str | os.PathLike[str] = STORE) -> AbstractContextManager[Store]:
    """The store, to look into it."""
    return change(os.fspath(db))


def passages(db: str | os.PathLike[str] = STORE) -> list[tuple[str, str]]:
    """The active passages as (path, content), sorted."""
    with opened(db) as store:
        return sorted((i.provenance.source_id, i.content) for i in store.items())


def statements(db: str | os.PathLike[str] = STORE) -> str:
    """All active passages as one text."""
    return "\n".join(content for _, content in passages(db))


def item_ids(db: str | os.PathLike[str] = STORE) -> dict[str, str]:
    """The active items: path and content -> id."""
    with opened(db) as store:
        found = [(f"{i.provenance.source_id}: {i.content}", i.id) for i in store.items()]
    assert len(dict(found)) == len(found)
    return dict(found)


def recalled(words: str, db: str | os.PathLike[str] = STORE) -> str:
    """What a push of these words injects."""
    return support.ok("push", words, "--db", db, "-q").text


def check(db: str | os.PathLike[str] = STORE) -> None:
    """Fail when the store is damaged, an item belongs to two files, or an active passage belongs to none."""
    with opened(db) as store:
        check_index(store)
        held = [row[0] for row in store.rows("SELECT e.value FROM corpus_hashes AS c, json_each(c.item_ids) AS e")]
        assert len(held) == len(set(held))
        assert {i.id for i in store.items()} <= set(held)
