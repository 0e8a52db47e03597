"""The records every part of memctl speaks: items, proposals, provenance, links, events.

Plain slotted classes: `dataclasses` costs 10 ms at start-up, more than the search itself.
"""

from __future__ import annotations

from collections.abc import Iterable

from memctl import ids
from memctl.annotations import TYPE_CHECKING, Any
from memctl.names import (
    ITEM_TYPES,
    SOURCE_KINDS,
    TIERS,
    VALIDATIONS,
    SearchStrategy,
    SourceKind,
    Tier,
    Validation,
    item_type,
)
from memctl.names import ItemType as MemoryType

if TYPE_CHECKING:
    from typing import ClassVar, TypeVar

    RecordClass = TypeVar("RecordClass", bound="SlottedRecord")

__all__ = [
    "VALID_SOURCE_KINDS",
    "VALID_TIERS",
    "VALID_TYPES",
    "VALID_VALIDATION_STATES",
    "CorpusMetadata",
    "MemoryEvent",
    "MemoryItem",
    "MemoryLink",
    "MemoryProposal",
    "MemoryProvenance",
    "MemoryTier",
    "MemoryType",
    "SearchMeta",
    "SearchStrategy",
    "SourceKind",
    "ValidationState",
    "content_hash",
]

MemoryTier = Tier
ValidationState = Validation

VALID_TIERS = frozenset(TIERS)
VALID_TYPES = frozenset(ITEM_TYPES)
VALID_VALIDATION_STATES = frozenset(VALIDATIONS)
VALID_SOURCE_KINDS = frozenset(SOURCE_KINDS)

content_hash = ids.content_hash
_generate_id = ids.new_id
_now_iso = ids.timestamp


class _DataclassFields:
    """`__dataclass_fields__`, made when `dataclasses` asks: its `replace`, `asdict` and `fields` take our records."""

    def __get__(self, _record: object, cls: type[SlottedRecord]) -> dict[str, Any]:
        from dataclasses import make_dataclass  # noqa: TID251 - whoever asks has it loaded

        fields: dict[str, Any] = vars(make_dataclass(cls.__name__, cls.__slots__))["__dataclass_fields__"]
        return fields


class SlottedRecord:
    """Value semantics for a slotted class, as a dataclass has them: equality, a readable repr, copies with changes."""

    __slots__: tuple[str, ...] = ()
    __dataclass_fields__ = _DataclassFields()
    __hash__: ClassVar[None]  # type: ignore[assignment]  # mutable values are not hashable

    @classmethod
    def from_dict(cls: type[RecordClass], data: dict[str, Any]) -> RecordClass:  # noqa: PYI019 - typing.Self is 3.11
        """Build from a dict, such as an export line or a snapshot; keys that are unknown here are dropped."""
        return cls(**{name: data[name] for name in cls.__slots__ if name in data})

    def to_dict(self, names: Iterable[str] | None = None) -> dict[str, Any]:
        """The fields in their documented order, or those of these names; nested records as dicts, lists copied."""
        found = {name: getattr(self, name) for name in (self.__slots__ if names is None else names)}
        for name, value in found.items():
            if value.__class__ not in _ATOMS:
                found[name] = _to_plain(value)
        return found

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and all(getattr(self, n) == getattr(other, n) for n in self.__slots__)

    def __replace__(self: RecordClass, **changes: Any) -> RecordClass:  # noqa: PYI019 - typing.Self is 3.11
        """A copy with other values in some fields: what `copy.replace` calls (Python 3.13)."""
        return type(self)(**{name: getattr(self, name) for name in self.__slots__} | changes)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{n}={getattr(self, n)!r}' for n in self.__slots__)})"


#: Nothing needs to be copied of values of these classes.
_ATOMS = frozenset((str, int, float, bool, type(None)))


def _to_plain(value: Any) -> Any:
    if isinstance(value, SlottedRecord):
        return value.to_dict()
    if isinstance(value, list):
        return [v if v.__class__ in _ATOMS else _to_plain(v) for v in value]
    return dict(value) if isinstance(value, dict) else value


class MemoryProvenance(SlottedRecord):
    """Where an item comes from: kind (chat, doc, tool, mixed), id (a path, a session), its chunk, the source's hash."""

    __slots__ = ("source_kind", "source_id", "chunk_ids", "content_hashes", "created_at")  # noqa: RUF023 - dict order

    def __init__(
        self,
        source_kind: str = "chat",
        source_id: str = "",
        chunk_ids: list[str] | None = None,
        content_hashes: list[str] | None = None,
        created_at: str | None = None,
    ) -> None:
        self.source_kind = source_kind
        self.source_id = source_id
        self.chunk_ids = [] if chunk_ids is None else chunk_ids
        self.content_hashes = [] if content_hashes is None else content_hashes
        self.created_at = ids.timestamp() if created_at is None else created_at

    @property
    def is_passage(self) -> bool:
        """Whether this is where a piece of a document stands, not what a statement was said about.

        Every reader of documents writes the place (`path:3`) and the hash of the file; a statement that names a
        document as its source has neither.
        """
        return (
            self.source_kind == "doc"
            and bool(self.source_id.strip())
            and bool(self.content_hashes)
            and bool(self.chunk_ids)
            and self.chunk_ids[0].startswith(f"{self.source_id}:")
        )


class MemoryItem(SlottedRecord):
    """One memory: a statement or a passage, how established it is, and where it comes from.

    The 22 fields and their order are the export format. Raises ValueError for an unknown tier or validation; an
    unknown type becomes "note".
    """

    __slots__ = (  # noqa: RUF023 - the order is the export format
        "id", "tier", "type", "title", "content", "tags", "entities", "links", "provenance", "confidence",
        "validation", "scope", "expires_at", "usage_count", "last_used_at", "created_at", "updated_at", "rule_id",
        "corpus_id", "superseded_by", "archived", "injectable",
    )  # fmt: skip

    def __init__(
        self,
        id: str | None = None,
        tier: str = "stm",
        type: str = "note",
        title: str = "",
        content: str = "",
        tags: list[str] | None = None,
        entities: list[str] | None = None,
        links: list[dict[str, str]] | None = None,
        provenance: MemoryProvenance | dict[str, Any] | None = None,
        confidence: float = 0.5,
        validation: str = "unverified",
        scope: str = "project",
        expires_at: str | None = None,
        usage_count: int = 0,
        last_used_at: str | None = None,
        created_at: str | None = None,
        updated_at: str | None = None,
        rule_id: str | None = None,
        corpus_id: str | None = None,
        superseded_by: str | None = None,
        archived: bool = False,
        injectable: bool = True,
    ) -> None:
        if tier not in VALID_TIERS:
            raise ValueError(f"Invalid tier: {tier!r}. Must be one of {', '.join(TIERS)}")
        if validation not in VALID_VALIDATION_STATES:
            raise ValueError(f"Invalid validation: {validation!r}. Must be one of {', '.join(VALIDATIONS)}")
        now = ids.timestamp() if created_at is None or updated_at is None else ""
        self.id = ids.new_id("MEM") if id is None else id
        self.tier = tier
        self.type = type if type in VALID_TYPES else item_type(type)
        self.title = title
        self.content = content
        self.tags = [] if tags is None else tags
        self.entities = [] if entities is None else entities
        self.links = [] if links is None else links
        if isinstance(provenance, dict):
            provenance = MemoryProvenance.from_dict(provenance)
        self.provenance = provenance if isinstance(provenance, MemoryProvenance) else MemoryProvenance()
        self.confidence = confidence
        self.validation = validation
        self.scope = scope
        self.expires_at = expires_at
        self.usage_count = usage_count
        self.last_used_at = last_used_at
        self.created_at = now if created_at is None else created_at
        self.updated_at = now if updated_at is None else updated_at
        self.rule_id = rule_id
        self.corpus_id = corpus_id
        self.superseded_by = superseded_by
        self.archived = archived
        self.injectable = injectable

    @property
    def content_hash(self) -> str:
        """`sha256:` and the hash of the content exactly as it is."""
        return ids.content_hash(self.content)

    def to_json(self) -> str:
        """The dict as indented JSON, non-ASCII kept."""
        import json

        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def touch(self) -> None:
        """Set `updated_at` to now."""
        self.updated_at = ids.timestamp()

    def format_inject(self) -> str:
        """The bracketed inline form that RAGIX's chat middleware reads."""
        source = self.provenance
        head = f"[MEMORY: {self.id} | {self.type} | {self.tier} | tags={','.join(self.tags)}"
        return f"{head} | provenance={source.source_kind}:{source.source_id}]\n{self.content}\n[/MEMORY]"

    def format_catalog_entry(self) -> dict[str, Any]:
        """The short form for lists: everything but the content."""
        keys = ("id", "title", "tags", "tier", "type", "confidence", "validation")
        return self.to_dict(keys)


def standing_of(item: MemoryItem, withheld: str) -> str:
    """Whether models are given an item: injectable, raw (as it was ingested), quarantined (policy holds it back), or
    retracted (somebody said that it is wrong).

    `withheld` is the recorded reason why it is not injectable: "raw", "policy", or "" where none is.
    """
    if not item.injectable:
        return "raw" if withheld == "raw" else "quarantined"
    return "retracted" if item.validation == "retracted" else "injectable"


class MemoryProposal(SlottedRecord):
    """What a model proposes to remember, before policy has judged it."""

    __slots__ = (  # noqa: RUF023 - dict order
        "type", "title", "content", "tags", "why_store", "provenance_hint", "scope", "rule_id",
    )  # fmt: skip

    def __init__(
        self,
        type: str = "note",
        title: str = "",
        content: str = "",
        tags: list[str] | None = None,
        why_store: str = "",
        provenance_hint: dict[str, Any] | None = None,
        scope: str = "project",
        rule_id: str | None = None,
    ) -> None:
        self.type = type if type in VALID_TYPES else item_type(type)
        self.title = title
        self.content = content
        self.tags = [] if tags is None else tags
        self.why_store = why_store
        self.provenance_hint = {} if provenance_hint is None else provenance_hint
        self.scope = scope
        self.rule_id = rule_id

    def to_memory_item(self, tier: str = "stm", scope: str | None = None, confidence: float = 0.5) -> MemoryItem:
        """The item this proposal becomes; its provenance is the hint's."""
        hint = self.provenance_hint
        source = MemoryProvenance(
            source_kind=str(hint.get("source_kind") or "chat"),
            source_id=str(hint.get("source_id") or ""),
            chunk_ids=[str(c) for c in hint.get("chunk_ids") or []],
            content_hashes=[str(h) for h in hint.get("content_hashes") or []],
        )
        return MemoryItem(
            tier=tier, type=self.type, title=self.title, content=self.content, tags=list(self.tags),
            provenance=source, confidence=confidence, scope=self.scope if scope is None else scope,
            rule_id=self.rule_id,
        )  # fmt: skip


class MemoryEvent(SlottedRecord):
    """One line of the store's log: what was done to which item."""

    __slots__ = ("id", "action", "item_id", "details", "content_hash", "timestamp")  # noqa: RUF023 - dict order

    def __init__(
        self,
        id: str | None = None,
        action: str = "",
        item_id: str | None = None,
        details: dict[str, Any] | None = None,
        content_hash: str = "",
        timestamp: str | None = None,
    ) -> None:
        self.id = ids.new_id("EVT") if id is None else id
        self.action = action
        self.item_id = item_id
        self.details = {} if details is None else details
        self.content_hash = content_hash
        self.timestamp = ids.timestamp() if timestamp is None else timestamp


class MemoryLink(SlottedRecord):
    """A directed relation between two items, for example (new, old, "supersedes")."""

    __slots__ = ("src_id", "dst_id", "rel", "created_at")  # noqa: RUF023 - dict order

    def __init__(self, src_id: str = "", dst_id: str = "", rel: str = "", created_at: str | None = None) -> None:
        self.src_id, self.dst_id, self.rel = src_id, dst_id, rel
        self.created_at = ids.timestamp() if created_at is None else created_at


class CorpusMetadata(SlottedRecord):
    """A versioned document set."""

    __slots__ = (  # noqa: RUF023 - dict order
        "corpus_id", "corpus_label", "parent_corpus_id", "doc_count", "item_count", "scope", "ingested_at",
    )  # fmt: skip

    def __init__(
        self,
        corpus_id: str = "",
        corpus_label: str = "",
        parent_corpus_id: str | None = None,
        doc_count: int = 0,
        item_count: int = 0,
        scope: str = "project",
        ingested_at: str | None = None,
    ) -> None:
        self.corpus_id, self.corpus_label, self.parent_corpus_id = corpus_id, corpus_label, parent_corpus_id
        self.doc_count, self.item_count, self.scope = doc_count, item_count, scope
        self.ingested_at = ids.timestamp() if ingested_at is None else ingested_at


class SearchMeta(SlottedRecord):
    """How a search was answered: the best hit's coverage of the query's terms, and which terms counted."""

    __slots__ = (  # noqa: RUF023 - dict order
        "strategy", "original_terms", "effective_terms", "dropped_terms", "total_candidates", "morphological_hint",
    )  # fmt: skip

    def __init__(
        self,
        strategy: str = "AND",
        original_terms: list[str] | None = None,
        effective_terms: list[str] | None = None,
        dropped_terms: list[str] | None = None,
        total_candidates: int = 0,
        morphological_hint: str | None = None,
    ) -> None:
        self.strategy = strategy
        self.original_terms = [] if original_terms is None else original_terms
        self.effective_terms = [] if effective_terms is None else effective_terms
        self.dropped_terms = [] if dropped_terms is None else dropped_terms
        self.total_candidates = total_candidates
        self.morphological_hint = morphological_hint
