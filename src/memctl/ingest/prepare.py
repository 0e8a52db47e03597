"""From a file to judged passages, without touching the store: what a batch commits later in one transaction."""

import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from memctl import errors, ids
from memctl.extract import document
from memctl.store.corpus import File
from memctl.store.sources import Source
from memctl.text.chunking import chunk, title_of

if TYPE_CHECKING:
    from memctl.policy import MemoryPolicy

#: Passages aim at this many tokens, so that several fit a budget; --chunk-tokens is the bound, this the target.
TARGET_TOKENS = 400

#: A file that changed less than this before it was read may change again within its time stamp's resolution.
_RACY_NS = 2_000_000_000

_MODE = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class Options(NamedTuple):
    """How documents are cut and filed."""

    chunk_tokens: int = 1800
    tags: tuple[str, ...] = ()
    scope: str = "project"
    injectable: bool = True
    corpus_id: str | None = None
    infer: bool = True  # take tags from suffix and folders, and the title from the text
    max_bytes: int = 64 * 1024 * 1024

    def recipe(self, rules: str) -> str:
        """A word that changes when a file would come out differently though its bytes are the same."""
        how = repr((1, TARGET_TOKENS, rules, *self[:6]))
        return ids.content_hash(how)[7:23]


class Passage(NamedTuple):
    """A passage as it will be stored. `quarantined`: the rules that keep it from being injected."""

    title: str
    content: str
    place: Source
    redacted: bool = False
    quarantined: tuple[str, ...] = ()


class Prepared(NamedTuple):
    """A file as read: its record (without item ids yet), passages in order, and remarks for people."""

    file: File
    passages: list[Passage]
    tags: list[str]
    notes: tuple[str, ...]


def read_file(path: str, max_bytes: int) -> tuple[bytes, os.stat_result]:
    """The bytes of a regular file. Raises DocumentUnreadable with the reason in words; never blocks on a pipe."""
    try:
        fd = os.open(path, _MODE)
        with os.fdopen(fd, "rb") as file:
            info = os.fstat(fd)
            if not stat.S_ISREG(info.st_mode):
                raise errors.DocumentUnreadable(path=path, reason="it is not a regular file")
            if info.st_size > max_bytes:
                raise errors.DocumentUnreadable(path=path, reason=too_large(info.st_size, max_bytes))
            return file.read(), info
    except OSError as exc:
        raise errors.DocumentUnreadable(path=path, reason=exc.strerror or str(exc)) from exc


def too_large(size: int, limit: int) -> str:
    """The sentence for a file over the limit."""
    mega = 1024 * 1024
    return f"{size / mega:.0f} MB is over the limit of {limit // mega} MB (ingest.max_file_mb in config.json)"


def record(path: str, data: bytes, recipe: str, info: os.stat_result | None) -> File:
    """What the store keeps of a file's state; a time stamp too fresh to be trusted is left out (the hash decides)."""
    fresh = info is None or info.st_mtime_ns > ids.now_seconds() * 1e9 - _RACY_NS
    return File(
        path=path,
        sha256=ids.bytes_hash(data),
        size=len(data),
        mtime_ns=None if fresh or info is None else info.st_mtime_ns,
        inode=None if info is None else info.st_ino,
        recipe=recipe,
        ext=os.path.splitext(path)[1].lower() or None,
    )


def prepare(file: File, data: bytes, options: Options, policy: "MemoryPolicy | None") -> Prepared:
    """Extract, cut and judge. Raises DocumentUnreadable."""
    name = os.path.basename(file.path)
    doc = document(data, name)
    title = title_of(doc, name) if options.infer else os.path.splitext(name)[0]
    target = min(TARGET_TOKENS, options.chunk_tokens)
    cut = chunk(doc.text, kind=doc.kind, language=doc.language, max_tokens=options.chunk_tokens, target_tokens=target)
    passages = []
    for number, piece in enumerate(cut):
        start, end = (piece.start, piece.end) if doc.lines_are_source else (None, None)
        place = Source(number, start, end, piece.heading)
        passage = Passage(full_title(title, piece.heading), piece.text, place)
        passages.append(_judged(passage, policy) if policy else passage)
    return Prepared(file, passages, _tags(file.path, options, policy), doc.notes)


def full_title(title: str, heading: str) -> str:
    """The document's title and where in it the passage stands, said once."""
    if not heading or heading == title:
        return title
    return heading if heading.startswith(title + " > ") else f"{title} > {heading}"


def _judged(passage: Passage, policy: "MemoryPolicy") -> Passage:
    """The passage after policy: secrets blotted out, and the rules that keep it from being injected."""
    if policy.clear(f"{passage.title}\n{passage.content}"):
        return passage
    judged = policy.judge(passage.content)
    title = policy.judge(passage.title, field="title")
    anchor = policy.judge(passage.place.anchor, field="title")
    found = judged.findings + title.findings
    return Passage(
        title.text, judged.text, passage.place._replace(anchor=anchor.text), judged.redacted or title.redacted,
        tuple(dict.fromkeys(f.rule for f in found if f.action == "quarantine")),
    )  # fmt: skip


_SUFFIX_TAGS = {
    ".md": "markdown", ".txt": "text", ".py": "python", ".js": "javascript", ".ts": "typescript", ".rs": "rust",
    ".sh": "shell", ".yml": "yaml", ".yaml": "yaml", ".htm": "html", ".html": "html", ".json": "json", ".csv": "csv",
    ".rst": "rst", ".toml": "toml", ".xml": "xml", ".java": "java", ".go": "go", ".c": "c", ".cpp": "cpp",
    ".sql": "sql", ".css": "css", ".rb": "ruby", ".php": "php",
}  # fmt: skip


def _tags(path: str, options: Options, policy: "MemoryPolicy | None") -> list[str]:
    """The caller's tags, then what the suffix and the two nearest folders say."""
    found = list(options.tags)
    if options.infer and os.path.isabs(path):
        suffix = _SUFFIX_TAGS.get(os.path.splitext(path)[1].lower())
        folders = [p for p in os.path.dirname(path).split(os.sep) if p][-2:]
        inferred = [suffix] if suffix else []
        inferred += [f.lower().replace(" ", "-") for f in folders if len(f) <= 40]
        found += [tag for tag in inferred if policy is None or policy.clear(tag)]
    return list(dict.fromkeys(found))
