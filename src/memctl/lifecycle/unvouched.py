"""What a model hands in as an export: none of what its lines say of themselves counts, but for what holds them back.

A model can write any line: that a person said it, that it was verified, that it is a passage of a document. A file that
a person imports is another matter; it says what an earlier export said.
"""

from memctl import ids
from memctl.lifecycle.record import Record
from memctl.store.database import Database
from memctl.store.documents import corpus
from memctl.text import trust
from memctl.types import MemoryItem, MemoryProvenance

#: The tool that took the line, where the line may name no source of its own.
DOOR = "memory_import"


def unvouched(db: Database | None, record: Record) -> Record:
    """The record without what it claims: its item is changed in place.

    Unverified, at most MTM, of default confidence and importance, never used, not from a person, made now at the
    latest. It is a passage of a document only if the store knows that very file with that very hash.
    """
    item, now = record.item, ids.timestamp()
    default = MemoryItem(content=item.content)
    item.tier = "mtm" if item.tier == "ltm" else item.tier
    item.validation, item.confidence = default.validation, default.confidence
    item.usage_count, item.last_used_at = 0, None
    item.created_at, item.updated_at = min(item.created_at, now), now
    source = item.provenance
    source.source_kind = trust.claimed(source.source_kind, "tool")
    is_document = source.source_kind.strip().lower() == "doc"
    if is_document and not _is_known(db, source):
        named = [source.source_id] if source.source_id.strip() else []
        item.provenance = source = MemoryProvenance("tool", DOOR, named)
    elif not source.source_id.strip():
        source.source_kind, source.source_id = "tool", DOOR
    if not (is_document and source.source_kind == "doc"):
        record = record._replace(place=None)
    marks = trust.mark(source.source_kind, source.source_id, DOOR)
    source.chunk_ids = [*trust.unmarked(source.chunk_ids), *marks]
    return record._replace(importance=None)


def _is_known(db: Database | None, source: MemoryProvenance) -> bool:
    """Whether the store has read this file with these bytes."""
    if db is None:
        return False
    known = corpus.get_files(db, [source.source_id])
    return source.content_hashes == [f"sha256:{file.sha256}" for file in known.values() if file.sha256] != []
