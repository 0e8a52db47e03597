"""Reading documents into a store that a program has opened, under the documented names of `memctl.ingest`."""

import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.extract import INGESTABLE, Document, document
from memctl.ids import bytes_hash
from memctl.ingest.plan import IngestOutcome
from memctl.ingest.prepare import Options, inferred_tags
from memctl.ingest.run import IngestRun
from memctl.ingest.sources import Target, resolve
from memctl.policy import MemoryPolicy
from memctl.text.chunking import MAX_TOKENS, chunk, title_of
from memctl.text.tokens import estimate_tokens

if TYPE_CHECKING:
    from memctl.store import MemoryStore

_INGESTABLE_EXTS = INGESTABLE
_infer_tags_from_path = inferred_tags


def _file_sha256(path: str) -> str:
    with open(path, "rb") as file:
        return bytes_hash(file.read())


def _infer_title(text: str, fallback: str) -> str:
    return title_of(Document(text, "markdown"), fallback)


class IngestResult(NamedTuple):
    """What an ingest did; `files_skipped` are as they were or could not be read, `item_ids` the new passages."""

    files_processed: int
    files_skipped: int
    chunks_created: int
    item_ids: list[str]
    rejected_policy: int
    quarantined: int


def ingest_file(
    store: "MemoryStore",
    path: str | os.PathLike[str],
    *,
    scope: str = "audit",
    corpus_id: str | None = None,
    max_tokens: int = MAX_TOKENS,
    tags: Sequence[str] | None = None,
    format_mode: str = "text",
    injectable: bool = False,
    policy: MemoryPolicy | bool | None = True,
    workspace: str = "default",  # noqa: ARG001 - documented, and never had a meaning
) -> IngestResult:
    """Store a file as passages; one that is known is compared, as every command does.

    format_mode  auto takes tags and title from the document and its folders, text only what is given
    policy       the rules that judge the passages; True: the usual ones, None or False: none
    Raises SourceNotFound when there is no such file; one that cannot be read is a RuntimeWarning.
    """
    options = Options(max_tokens, tuple(tags or ()), scope, injectable, corpus_id, infer=format_mode == "auto")
    return _ingest(store, resolve([os.fspath(path)], os.getcwd()), options, policy)


def ingest_stdin(
    store: "MemoryStore",
    *,
    scope: str = "audit",
    corpus_id: str | None = None,
    max_tokens: int = MAX_TOKENS,
    tags: Sequence[str] | None = None,
    injectable: bool = False,
    policy: MemoryPolicy | bool | None = True,
    workspace: str = "default",  # noqa: ARG001 - documented, and never had a meaning
) -> IngestResult:
    """Store standard input as passages."""
    options = Options(max_tokens, tuple(tags or ()), scope, injectable, corpus_id, infer=False)
    return _ingest(store, resolve(["-"], os.getcwd()), options, policy)


def _ingest(
    store: "MemoryStore", targets: Iterable[Target], options: Options, policy: MemoryPolicy | bool | None
) -> IngestResult:
    import warnings

    rules = MemoryPolicy() if policy is True else policy or None
    with store._lock:
        run = IngestRun(store._db, options, rules, warn=lambda line: warnings.warn(line, RuntimeWarning, stacklevel=4))
        done: IngestOutcome = run.run(targets, sys.stdin.buffer.read)
    read = done.new + done.changed + done.refiled + done.moved
    return IngestResult(read, done.unchanged + len(done.failed), len(done.item_ids), done.item_ids, 0, done.quarantined)


def resolve_sources(sources: Sequence[str]) -> list[str]:
    """The files that paths, folders and glob patterns name. Raises SourceNotFound."""
    return [target.path for target in resolve(sources, os.getcwd()) if not target.problem]


def chunk_paragraphs(text: str, max_tokens: int = MAX_TOKENS) -> list[tuple[str, int, int]]:
    """The passages of a text, each with its first and last line, counted from 1."""
    return [(piece.text, piece.start, piece.end) for piece in chunk(text, kind="markdown", max_tokens=max_tokens)]


def corpus_stats(paths: Iterable[str]) -> dict[str, Any]:
    """Lines and tokens (of four characters) of files, together and each."""
    rows = []
    for path in paths:
        with open(path, "rb") as file:
            text = document(file.read(), path).text
        rows.append({"name": os.path.basename(path), "lines": len(text.splitlines()), "tokens": estimate_tokens(text)})
    return {
        "files": len(rows), "total_lines": sum(row["lines"] for row in rows),
        "total_tokens": sum(row["tokens"] for row in rows), "per_file": rows,
    }  # fmt: skip
