"""`MemoryStore`: the documented class for Python programs. Each method is a few words around the room that does it.

It is the privileged door: `write_item` stores what it is given. Programs that store what a model or a web page said
ask `MemoryPolicy` first, as every command does.
"""

import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial, wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from memctl import citing
from memctl.store import connect, contents
from memctl.store.documents import corpus, mounts
from memctl.store.filters import Filters
from memctl.store.items import attributes, events, items
from memctl.store.journal import RunAbout
from memctl.store.schema import tokenizer as resolve_tokenizer
from memctl.store.search import rebuild, vectors
from memctl.types import CorpusMetadata, MemoryEvent, MemoryItem, MemoryLink, SearchMeta

if TYPE_CHECKING:
    from memctl.retrieve.candidates import SearchResult

P = ParamSpec("P")
R = TypeVar("R")


def _locked(method: Callable[Concatenate["MemoryStore", P], R]) -> Callable[Concatenate["MemoryStore", P], R]:
    def call(self: "MemoryStore", /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self._lock:
            if self._db.journal is not None:
                self._db.journal.start(RunAbout(f"MemoryStore.{method.__name__}"))
            return method(self, *args, **kwargs)

    wraps(method)(call)
    return call


class MemoryStore:
    """An open store. One object may be shared by threads; several processes may open the same file.

    db_path: a file (made if missing) or ":memory:". fts_tokenizer: a preset (fr, en, raw) or a tokenizer string for a
    file that is made now; an existing file keeps its own.
    """

    _PREFIX_MIN_LEN = 5

    def __init__(self, db_path: str = ":memory:", wal_mode: bool = True, fts_tokenizer: str | None = None) -> None:
        self._db = connect.open_write(str(db_path), create=True, tokenizer=fts_tokenizer, wal=wal_mode)
        self._db.as_documented()
        self._lock = threading.RLock()
        self._fts_tokenizer = rebuild.tokenizer_of(self._db) or resolve_tokenizer(fts_tokenizer)
        self._last_found: SearchResult | None = None

    @property
    def _conn(self) -> Any:
        return self._db.conn

    @property
    def _fts5_available(self) -> bool:
        return "memory_items_fts" in self._db.tables

    @_fts5_available.setter
    def _fts5_available(self, there: bool) -> None:
        tables = self._db.tables - {"memory_items_fts"}
        self._db.tables = tables | {"memory_items_fts"} if there else tables

    @property
    def _last_search_meta(self) -> SearchMeta | None:
        from memctl.retrieve.explain import describe

        return None if self._last_found is None else describe(self._db, self._last_found)

    @cached_property
    def _search(self) -> "Callable[..., SearchResult]":
        """A search with the weights and the embedder of the config.json beside the store; in memory there are none.

        MEMCTL_EMBEDDER names another embedder; what cannot be reached is a RuntimeWarning.
        """
        from memctl import retrieve

        if self._db.path == ":memory:":
            return partial(retrieve.search, self._db)
        from memctl.context import Context
        from memctl.parameters import ReadRequest
        from memctl.reading.request import Retriever

        retriever = Retriever(Context(db=os.path.abspath(self._db.path), say=_warn_caller), ReadRequest(), "search")
        return partial(retrieve.search, self._db, meaning=retriever.meaning, weights=retriever.weights)

    @_locked
    def close(self) -> None:
        """Close the file; the object is of no use afterwards."""
        self._db.close()

    def __enter__(self) -> "MemoryStore":  # noqa: PYI034 - typing.Self needs 3.11
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    # --- items

    @_locked
    def write_item(self, item: MemoryItem, reason: str = "create") -> MemoryItem:
        """Insert an item, or replace that of its id, and tie it to what it cites; a revision and an event are kept."""
        item.touch()
        with self._db.atomic():
            written = items.write(self._db, item, reason)
            citing.cite(self._db, [written])
        return written

    @_locked
    def exists_by_content_hash(self, ch: str) -> bool:
        """Whether an active item has exactly this content."""
        return any(not known.archived for known in items.ids_by_hash(self._db, [ch]).get(ch, []))

    @_locked
    def read_item(self, id: str) -> MemoryItem | None:
        """Open an item: counts as a use. None when there is none with this id."""
        if items.get(self._db, id) is None:
            return None
        items.mark_used(self._db, [id])
        return items.get(self._db, id)

    @_locked
    def read_items(self, ids: Iterable[str]) -> list[MemoryItem]:
        """Open several items, in the order asked; unknown ids are left out."""
        return [item for item in map(self.read_item, ids) if item is not None]

    @_locked
    def update_item(self, id: str, patch: Mapping[str, Any]) -> MemoryItem | None:
        """Change some fields in one transaction; id, created_at and unknown keys are left alone."""
        with self._db.atomic():
            changed = items.update(self._db, id, patch)
            if changed is not None and "content" in patch:
                citing.cite(self._db, [changed])
        return changed

    @_locked
    def delete_item(self, id: str) -> bool:
        """Archive an item: it leaves every read and can be restored. False when there is none."""
        return items.archive(self._db, id)

    @_locked
    def supersede_item(self, old: str, new: str) -> bool:
        """Let the item `new` stand for `old`: link, pointer, archive."""
        return attributes.supersede(self._db, old, new)

    @_locked
    def list_items(
        self,
        tier: str | None = None,
        type_filter: str | None = None,
        scope: str | None = None,
        corpus_id: str | None = None,
        exclude_archived: bool = True,
        limit: int = 100,
    ) -> list[MemoryItem]:
        """Items, newest change first."""
        return items.list_items(self._db, _filters(tier, type_filter, scope, corpus_id, exclude_archived), limit)

    @_locked
    def count_items(self, tier: str | None = None, scope: str | None = None, exclude_archived: bool = True) -> int:
        """How many items there are."""
        return items.count(self._db, _filters(tier, None, scope, None, exclude_archived))

    # --- search

    @_locked
    def search_fulltext(
        self,
        query: str,
        tier: str | None = None,
        type_filter: str | None = None,
        scope: str | None = None,
        corpus_id: str | None = None,
        exclude_archived: bool = True,
        limit: int = 100,
    ) -> list[MemoryItem]:
        """Items that answer a query, best first: the ranking of `memctl search`. Any text is a legal query.

        What MEMCTL_EMBEDDER, or the config.json beside the file, names finds by meaning too. The `recall` section of
        that file says how much newness, use, importance and validation count.
        """
        filters = _filters(tier, type_filter, scope, corpus_id, exclude_archived)
        found = self._last_found = self._search(query, filters=filters, limit=limit)
        return items.get_many(self._db, [hit.id for hit in found.candidates])

    @_locked
    def search_by_tags(
        self,
        tags: Sequence[str],
        tier: str | None = None,
        type_filter: str | None = None,
        scope: str | None = None,
        exclude_archived: bool = True,
        limit: int = 50,
    ) -> list[MemoryItem]:
        """Items that carry at least one of the tags (without case), newest change first."""
        filters = _filters(tier, type_filter, scope, None, exclude_archived).replace(tags=tuple(tags))
        return items.list_items(self._db, filters, limit) if tags else []

    @_locked
    def rebuild_fts(self, tokenizer: str | None = None) -> int:
        """Rebuild the full-text index, with another tokenizer if one is given; rows indexed, -1 without FTS5."""
        done = rebuild.rebuild_index(self._db, tokenizer)
        self._fts_tokenizer = rebuild.tokenizer_of(self._db) or self._fts_tokenizer
        return done

    @_locked
    def _search_fts5_prefix_and(self, terms: Sequence[str], limit: int = 100) -> list[MemoryItem]:
        """Items that hold all of the terms, longer ones at least as the beginning of a word (older programs ask so)."""
        from memctl.store.search import words

        ids = words.items_with_all_prefixes(self._db, terms, self._PREFIX_MIN_LEN, limit)
        return items.get_many(self._db, ids)

    def _is_porter_tokenizer(self) -> bool:
        return "porter" in self._fts_tokenizer

    # --- what stands beside items

    @_locked
    def write_link(self, link: MemoryLink) -> None:
        """Add a link between two items."""
        attributes.add_link(self._db, link.src_id, link.dst_id, link.rel, link.created_at)

    @_locked
    def read_links(self, id: str) -> list[MemoryLink]:
        """The links an item is either end of."""
        return attributes.links_of(self._db, id)

    @_locked
    def read_events(self, item_id: str | None = None, action: str | None = None, limit: int = 100) -> list[MemoryEvent]:
        """Events, newest first."""
        return events.list_events(self._db, item_id, action, limit)

    @_locked
    def last_event(self, actions: list[str] | None = None) -> str | None:
        """When the newest event was."""
        return events.last_time(self._db, actions)

    @_locked
    def _log_event(
        self, action: str, item_id: str | None = None, details: dict[str, Any] | None = None, ch: str = ""
    ) -> None:
        events.log(self._db, action, item_id, details, ch)

    @_locked
    def read_revisions(self, id: str) -> list[dict[str, Any]]:
        """The states an item was written in, oldest first."""
        return items.revisions(self._db, id)

    @_locked
    def write_embedding(self, item_id: str, vector: Sequence[float], model_name: str, dimension: int) -> None:
        """Store an item's vector as packed float32."""
        vectors.put_vector(self._db, item_id, vector, model_name, dimension)

    @_locked
    def read_embedding(self, id: str) -> tuple[list[float], str] | None:
        """An item's vector and the model that made it."""
        return vectors.get_vector(self._db, id)

    @_locked
    def all_embeddings(self, exclude_archived: bool = True) -> list[tuple[str, list[float]]]:
        """(item id, vector) of every item that has one."""
        return vectors.list_vectors(self._db, exclude_archived)

    @_locked
    def write_palace_location(
        self, id: str, domain: str = "default", room: str = "", shelf: str = "", card: str = ""
    ) -> None:
        """Pin an item to a place."""
        attributes.set_pin(self._db, id, (domain, room, shelf, card))

    @_locked
    def read_palace_location(self, id: str) -> dict[str, str] | None:
        """Where an item is pinned."""
        found = attributes.list_pins(self._db, item_id=id)
        return found[0] if found else None

    @_locked
    def list_palace_locations(self, domain: str | None = None, room: str | None = None) -> list[dict[str, str]]:
        """Pins, at most of one domain and room."""
        return attributes.list_pins(self._db, domain=domain, room=room)

    # --- files, corpora, mounts

    @_locked
    def write_corpus_hash(
        self,
        file_path: str,
        sha256: str,
        chunk_count: int = 0,
        item_ids: Sequence[str] | None = None,
        *,
        mount_id: str | None = None,
        rel_path: str | None = None,
        ext: str | None = None,
        size_bytes: int | None = None,
        mtime_epoch: int | None = None,
        lang_hint: str | None = None,
    ) -> None:
        """Record a file as it was ingested; a `chunk_count` of 0 is the number of `item_ids`."""
        mtime_ns = None if mtime_epoch is None else int(mtime_epoch) * 1_000_000_000
        entry = corpus.IngestedFile(
            path=file_path, sha256=sha256, item_ids=tuple(item_ids or ()), size=size_bytes, mtime_ns=mtime_ns,
            ext=ext, mount_id=mount_id, rel_path=rel_path, lang_hint=lang_hint, chunk_count=chunk_count,
        )  # fmt: skip
        corpus.put_files(self._db, [entry])

    @_locked
    def read_corpus_hash(self, path: str) -> dict[str, Any] | None:
        """What is known of a file."""
        found = corpus.list_files(self._db, path=path)
        return found[0] if found else None

    @_locked
    def list_corpus_files(self, mount_id: str | None = None) -> list[dict[str, Any]]:
        """The files that were ingested, at most those of one mount."""
        return corpus.list_files(self._db, mount_id=mount_id)

    @_locked
    def find_changed_files(self, registry: Mapping[str, str]) -> dict[str, list[str]]:
        """Compare path -> sha256 with what was ingested: new, modified, unchanged, deleted paths."""
        known = {row["file_path"]: row["sha256"] for row in corpus.list_files(self._db)}
        out: dict[str, list[str]] = {"new": [], "modified": [], "unchanged": []}
        for path, sha in registry.items():
            kind = "new" if path not in known else "unchanged" if known[path] == sha else "modified"
            out[kind].append(path)
        return out | {"deleted": [path for path in known if path not in registry]}

    @_locked
    def write_corpus_metadata(self, m: CorpusMetadata) -> None:
        """Record a document set."""
        corpus.put_corpus(self._db, m)
        self._log_event("corpus_register", None, {"corpus_id": m.corpus_id, "parent": m.parent_corpus_id})

    @_locked
    def read_corpus_metadata(self, id: str) -> CorpusMetadata | None:
        """A document set by id."""
        return next((c for c in corpus.list_corpora(self._db) if c.corpus_id == id), None)

    @_locked
    def list_corpora(self, scope: str | None = None) -> list[CorpusMetadata]:
        """The document sets, at most those of one scope."""
        return corpus.list_corpora(self._db, scope)

    @_locked
    def write_mount(
        self,
        path: str,
        *,
        name: str | None = None,
        ignore_patterns: Sequence[str] | None = None,
        lang_hint: str | None = None,
    ) -> str:
        """Register a folder, or bring its options up to date; returns the mount id."""
        return mounts.put(self._db, path, name, ignore_patterns, lang_hint)

    @_locked
    def read_mount(self, id_or_path: str) -> dict[str, Any] | None:
        """A mount by id, path or name."""
        return mounts.find_mount(self._db, id_or_path)

    @_locked
    def list_mounts(self) -> list[dict[str, Any]]:
        """All mounts, oldest first."""
        return mounts.list_mounts(self._db)

    @_locked
    def remove_mount(self, id_or_name: str) -> bool:
        """Forget a mount; its items stay."""
        return mounts.remove(self._db, id_or_name)

    @_locked
    def update_mount_sync_time(self, id: str) -> None:
        """Set a mount's last sync to now."""
        mounts.mark_synced(self._db, id)

    # --- the whole store

    @_locked
    def stats(self) -> dict[str, Any]:
        """Counts of active items, and the state of the index."""
        return contents.count_contents(self._db)

    @_locked
    def reset(self, preserve_mounts: bool = True, dry_run: bool = False) -> dict[str, Any]:
        """Empty the store for good; with `dry_run` only say what would go."""
        return contents.reset_store(self._db, preserve_mounts=preserve_mounts, dry_run=dry_run)

    @_locked
    def export_jsonl(self) -> str:
        """Every item, archived ones too, as JSON lines."""
        import json

        every = items.iterate(self._db, Filters(archived=True))
        return "".join(json.dumps(item.to_dict(), ensure_ascii=False) + "\n" for item in every)

    @_locked
    def import_jsonl(self, data: str) -> int:
        """Store items from JSON lines as they are, in one transaction; returns how many. `memctl import` governs."""
        import json

        found = [MemoryItem.from_dict(json.loads(line)) for line in data.split("\n") if line.strip()]
        items.write_many(self._db, found, "import")
        return len(found)


def _filters(
    tier: str | None, type_filter: str | None, scope: str | None, corpus_id: str | None, exclude_archived: bool
) -> Filters:
    return Filters(
        scopes=None if scope is None else (scope,), tier=tier, type=type_filter, corpus_id=corpus_id,
        archived=not exclude_archived,
    )  # fmt: skip


def _warn_caller(message: str) -> None:
    """Say something as a warning about the line outside of memctl that called it."""
    import sys
    import warnings

    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "memctl":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, RuntimeWarning, stacklevel=level)
