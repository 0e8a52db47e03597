"""From sources to items: find files, extract, chunk, judge, store, in bulk.

The documented names for programs stand in `memctl.ingest.library`, and are loaded when they are first used.
"""

from memctl.annotations import Any

_PUBLIC = ("IngestResult", "chunk_paragraphs", "corpus_stats", "ingest_file", "ingest_stdin", "resolve_sources")
_OLDER = ("_INGESTABLE_EXTS", "_file_sha256", "_infer_tags_from_path", "_infer_title")

__all__ = [*_PUBLIC]  # noqa: PLE0604 - the table is the list


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC + _OLDER:
        raise AttributeError(f"module 'memctl.ingest' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module("memctl.ingest.library"), name)
