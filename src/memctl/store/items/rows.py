"""Rows of memory_items: from and to a MemoryItem, and straight from a document's passages.

Rows of other programs may hold odd values: reading never fails.
"""

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from memctl import errors, ids
from memctl.names import VALIDATIONS
from memctl.types import MemoryItem, MemoryProvenance

COLUMNS = (
    "id", "tier", "type", "title", "content", "tags", "entities", "links_json", "provenance_json", "confidence",
    "validation", "scope", "expires_at", "usage_count", "last_used_at", "created_at", "updated_at", "rule_id",
    "superseded_by", "archived", "content_hash", "corpus_id", "injectable",
)  # fmt: skip

SELECT = ", ".join(f"i.{c}" for c in COLUMNS)


def to_item(row: tuple[Any, ...], path: str = "") -> MemoryItem:
    """The item a row of COLUMNS holds. Raises StoreCorrupt, which names the store's `path`, for a damaged one."""
    (item_id, tier, type_, title, content, tags, entities, links, source, confidence, validation, scope, expires,
     used, last_used, created, updated, rule, superseded, archived, _hash, corpus, injectable) = row  # fmt: skip
    found = load_json(links)
    try:
        return MemoryItem(
            id=str(item_id), tier=tier, type=type_, title=_text(title), content=_text(content),
            tags=load_strings(tags), entities=load_strings(entities),
            links=[link for link in found if isinstance(link, dict)] if isinstance(found, list) else [],
            provenance=load_provenance(source),
            confidence=float(confidence) if isinstance(confidence, int | float) else 0.5,
            validation=validation if validation in VALIDATIONS else "unverified", scope=_text(scope),
            expires_at=_optional(expires),
            usage_count=int(used) if isinstance(used, int | float) and abs(used) < 1 << 63 else 0,
            last_used_at=_optional(last_used), created_at=_text(created), updated_at=_text(updated),
            rule_id=_optional(rule), superseded_by=_optional(superseded), archived=bool(archived),
            corpus_id=_optional(corpus), injectable=bool(injectable),
        )  # fmt: skip
    except (ValueError, TypeError, OverflowError) as exc:  # no program stores what its table refuses
        raise errors.StoreCorrupt(path=path, reason=f"item {_text(item_id)}: {exc}") from exc


def from_item(item: MemoryItem) -> tuple[Any, ...]:
    """The row of COLUMNS for an item."""
    p = item.provenance
    source = {  # `to_dict` would copy each list first
        "source_kind": p.source_kind, "source_id": p.source_id, "chunk_ids": p.chunk_ids,
        "content_hashes": p.content_hashes, "created_at": p.created_at,
    }  # fmt: skip
    return (
        item.id, item.tier, item.type, item.title, item.content, _dump_strings(tuple(item.tags)),
        _dump_strings(tuple(item.entities)),
        dump_json(item.links), dump_json(source), item.confidence, item.validation, item.scope,
        item.expires_at, item.usage_count, item.last_used_at, item.created_at, item.updated_at, item.rule_id,
        item.superseded_by, int(item.archived), ids.content_hash(item.content), item.corpus_id, int(item.injectable),
    )  # fmt: skip


def load_strings(held: object) -> list[str]:
    """A JSON array, or a list that was one, as a list of strings; anything else is an empty list."""
    value = held if isinstance(held, list) else load_json(held)
    return [_text(v) for v in value if isinstance(v, str | int | float)] if isinstance(value, list) else []


def load_json(text: object) -> Any:
    """JSON, or None when it is none."""
    if not isinstance(text, str | bytes):
        return None
    if text == "[]":  # most are
        return []
    try:
        return _decode(text) if isinstance(text, str) else json.loads(text)
    except (ValueError, RecursionError):  # the latter: lists in lists in lists, which nobody stores
        return None


#: `json.loads` without its questions about bytes and byte order marks.
_decode = json.JSONDecoder().decode
#: Unescaped, so that the full-text index sees é and not \\u00e9; one encoder, because json.dumps makes one a call.
dump_json = json.JSONEncoder(ensure_ascii=False).encode


@lru_cache(maxsize=256)
def _dump_strings(words: tuple[str, ...]) -> str:
    """A list as JSON; the passages of a document share their tags."""
    return dump_json(words)


def load_provenance(text: object) -> MemoryProvenance:
    """Where an item comes from, as its column says it."""
    value = load_json(text)
    source = MemoryProvenance.from_dict(value) if isinstance(value, dict) else MemoryProvenance()
    source.source_kind, source.source_id = _text(source.source_kind), _text(source.source_id)
    source.chunk_ids, source.content_hashes = load_strings(source.chunk_ids), load_strings(source.content_hashes)
    return source


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else "" if value is None else str(value)


def _optional(value: object) -> str | None:
    return None if value is None else _text(value)


# --- passages --------------------------------------------------------------------------------------------------------


class PassageRows:
    """Makes the rows of one file's passages.

    path, sha256  of the file; tags: those that its passages share; now: when they are stored (ISO 8601)
    """

    __slots__ = ("_corpus", "_now", "_scope", "_source", "_tags", "tags")

    def __init__(
        self, path: str, sha256: str, *, tags: Sequence[str], scope: str, corpus_id: str | None, now: str
    ) -> None:
        name = dump_json(path)
        chunk = name[:-1]  # the position and the quote come behind it
        head = f'{{"source_kind": "doc", "source_id": {name}, "chunk_ids": [{chunk}:'
        self._source = (head, f'"], "content_hashes": ["sha256:{sha256}"], "created_at": "{now}"}}')
        self.tags = list(tags)
        self._tags, self._scope, self._corpus, self._now = dump_json(self.tags), scope, corpus_id or "", now

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
            item_id, "stm", "note", title, content, self._tags if tags is None else dump_json(list(tags)), "[]", "[]",
            f"{head}{position}{tail}", 0.5, "unverified", self._scope, None, 0, None, self._now, self._now, None,
            None, 0, content_hash, self._corpus, int(injectable),
        )  # fmt: skip
