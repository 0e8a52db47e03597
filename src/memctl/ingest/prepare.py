"""From a file to judged passages, without touching the store: what a batch commits later in one transaction."""

import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from memctl import errors, ids
from memctl.extract import Document, document
from memctl.ingest.governed import Governed
from memctl.store.corpus import File
from memctl.store.sources import Source
from memctl.text.chunking import chunk, title_of

if TYPE_CHECKING:
    from memctl.policy import MemoryPolicy

#: Passages aim at this many tokens, so that several fit a budget; --chunk-tokens is the bound, this the target.
TARGET_TOKENS = 440

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
    """A file as read: its record (without item ids yet), passages in order, and remarks for people.

    passages is None when the file was seen to be the same as before.
    """

    file: File
    passages: list[Passage] | None
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


def record(path: str, data: bytes, info: os.stat_result | None) -> File:
    """What the store keeps of a file's state; a time stamp too fresh to be trusted is left out (the hash decides)."""
    fresh = info is None or info.st_mtime_ns > ids.now_seconds() * 1e9 - _RACY_NS
    return File(
        path=path,
        sha256=ids.bytes_hash(data),
        size=len(data),
        mtime_ns=None if fresh or info is None else info.st_mtime_ns,
        inode=None if info is None else info.st_ino,
        ext=os.path.splitext(path)[1].lower() or None,
    )


class Preparer:
    """Extracts, cuts and judges file after file, with one set of options."""

    def __init__(self, options: Options, policy: "MemoryPolicy | None") -> None:
        self.options, self.policy = options, policy
        self._tags: dict[tuple[str, str], list[str]] = {}

    def prepare(self, file: File, data: bytes) -> Prepared:
        """One file. Raises DocumentUnreadable."""
        options, policy = self.options, self.policy
        name = os.path.basename(file.path)
        doc = document(data, name)
        governed = Governed(policy, file.path, doc.text) if policy else None
        text = governed.text if governed else doc.text
        title = self._title(doc._replace(text=text), name, governed)
        target = min(TARGET_TOKENS, options.chunk_tokens)
        cut = chunk(text, kind=doc.kind, language=doc.language, max_tokens=options.chunk_tokens, target_tokens=target)
        passages = []
        for number, piece in enumerate(cut):
            start, end = (piece.start, piece.end) if doc.lines_are_source else (None, None)
            heading = governed.label(piece.heading) if governed else piece.heading
            place = Source(number, start, end, heading)
            redacted, rules = (governed.redacted(piece.text), governed.rules(piece)) if governed else (False, ())
            passages.append(Passage(full_title(title, heading), piece.text, place, redacted, rules))
        return Prepared(file, passages, self.tags(file.path), doc.notes)

    def _title(self, doc: Document, name: str, governed: Governed | None) -> str:
        """The document's title, or its file's name where policy lets no title stand; both are judged."""
        stem = os.path.splitext(name)[0]
        title = title_of(doc, name) if self.options.infer else stem
        if governed is None:
            return title
        return governed.label(title, ours=title in doc.text) or governed.label(stem, ours=False) or "untitled"

    def shown(self, path: str) -> str:
        """A path as it may be printed and logged."""
        return self.policy.redact(path) if self.policy else path

    def tags(self, path: str) -> list[str]:
        """The caller's tags, then what the suffix and the two nearest folders say."""
        key = (os.path.dirname(path), os.path.splitext(path)[1].lower())
        if key not in self._tags:
            inferred = _inferred_tags(*key) if self.options.infer and os.path.isabs(path) else []
            clear = self.policy.clear if self.policy else None
            safe = [tag for tag in inferred if clear is None or clear(tag, document=True)]
            self._tags[key] = list(dict.fromkeys([*self.options.tags, *safe]))
        return self._tags[key]


def full_title(title: str, heading: str) -> str:
    """The document's title and where in it the passage stands, said once."""
    if not heading or heading == title:
        return title
    return heading if heading.startswith(title + " > ") else f"{title} > {heading}"


_SUFFIX_TAGS = {
    ".md": "markdown", ".txt": "text", ".py": "python", ".js": "javascript", ".ts": "typescript", ".rs": "rust",
    ".sh": "shell", ".yml": "yaml", ".yaml": "yaml", ".htm": "html", ".html": "html", ".json": "json", ".csv": "csv",
    ".rst": "rst", ".toml": "toml", ".xml": "xml", ".java": "java", ".go": "go", ".c": "c", ".cpp": "cpp",
    ".sql": "sql", ".css": "css", ".rb": "ruby", ".php": "php",
}  # fmt: skip


def _inferred_tags(folder: str, suffix: str) -> list[str]:
    folders = [part for part in folder.split(os.sep) if part][-2:]
    word = _SUFFIX_TAGS.get(suffix)
    return [*([word] if word else []), *(f.lower().replace(" ", "-") for f in folders if len(f) <= 40)]
