"""New passages of documents as rows of memory_items: what the passages of a file share is written down once.

The same as a MemoryItem each, made into a row by `store.rows` (a test compares them), at a third of the cost.
"""

from collections.abc import Sequence
from typing import Any

from memctl.store.items import rows


class FileRows:
    """Makes the rows of one file's passages.

    path, sha256  of the file; tags: those that its passages share; now: when they are stored (ISO 8601)
    """

    __slots__ = ("_corpus", "_now", "_scope", "_source", "_tags", "tags")

    def __init__(
        self, path: str, sha256: str, *, tags: Sequence[str], scope: str, corpus_id: str | None, now: str
    ) -> None:
        name = rows.dump(path)
        chunk = name[:-1]  # the position and the quote come behind it
        head = f'{{"source_kind": "doc", "source_id": {name}, "chunk_ids": [{chunk}:'
        self._source = (head, f'"], "content_hashes": ["sha256:{sha256}"], "created_at": "{now}"}}')
        self.tags = list(tags)
        self._tags, self._scope, self._corpus, self._now = rows.dump(self.tags), scope, corpus_id or "", now

    def row(
        self,
        item_id: str,
        title: str,
        content: str,
        content_hash: str,
        *,
        position: int,
        injectable: bool,
        tags: Sequence[str] | None = None,
    ) -> tuple[Any, ...]:
        """The row of a passage, in the order of `rows.COLUMNS`; `tags` where it has others than the file."""
        head, tail = self._source
        return (
            item_id, "stm", "note", title, content, self._tags if tags is None else rows.dump(list(tags)), "[]", "[]",
            f"{head}{position}{tail}", 0.5, "unverified", self._scope, None, 0, None, self._now, self._now, None,
            None, 0, content_hash, self._corpus, int(injectable),
        )  # fmt: skip
