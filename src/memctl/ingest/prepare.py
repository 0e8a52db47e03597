"""From a file to judged passages, without touching the store: what a batch commits later in one transaction."""

import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from memctl import errors, ids
from memctl.extract import document
from memctl.store.corpus import File
from memctl.store.sources import Source
from memctl.text.chunking import Passage as Piece
from memctl.text.chunking import chunk, title_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memctl.policy import Finding, MemoryPolicy

#: How policy marks what it blotted out.
MARK = "[REDACTED:"

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
        # Policy sees the whole before it is cut: half of a secret is none that a rule could find. What is blotted out
        # keeps its line ends, so line numbers stay as they are.
        judged = policy.judge(doc.text) if policy else None
        text = judged.text if judged else doc.text
        held = _held_lines(doc.text, judged.findings) if judged else []
        title = title_of(doc._replace(text=text), name) if options.infer else os.path.splitext(name)[0]
        if policy and title not in text:  # a file's name is as good a place for a secret as any
            title = policy.judge(title, field="title").text
        target = min(TARGET_TOKENS, options.chunk_tokens)
        cut = chunk(text, kind=doc.kind, language=doc.language, max_tokens=options.chunk_tokens, target_tokens=target)
        passages = []
        for number, piece in enumerate(cut):
            start, end = (piece.start, piece.end) if doc.lines_are_source else (None, None)
            passages.append(
                Passage(
                    full_title(title, piece.heading),
                    piece.text,
                    Source(number, start, end, piece.heading),
                    bool(judged and judged.redacted and MARK in piece.text),
                    _rules(held, piece, policy) if held and policy else (),
                )
            )
        return Prepared(file, passages, self.tags(file.path), doc.notes)

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


class _Held(NamedTuple):
    """Lines of a document that hold what no model should be given, and the rule that says so."""

    first: int
    last: int
    rule: str


def _held_lines(text: str, findings: "Sequence[Finding]") -> list[_Held]:
    """The lines of the findings that quarantine, counted from 1."""
    held = []
    line, counted = 1, 0
    for f in sorted((f for f in findings if f.action == "quarantine"), key=lambda f: f.start):
        line += text.count("\n", counted, f.start)
        counted = f.start
        held.append(_Held(line, line + text.count("\n", f.start, f.end), f.rule))
    return held


def _rules(held: list[_Held], piece: Piece, policy: "MemoryPolicy") -> tuple[str, ...]:
    """The rules that keep a passage from being injected.

    Where a finding lies within the passage's lines, the passage itself is asked again: of a line that was cut into
    many passages only one may hold it.
    """
    near = [h for h in held if h.first <= piece.end and piece.start <= h.last]
    across = [h.rule for h in near if h.first < piece.start or h.last > piece.end]
    within = [f.rule for f in policy.judge(piece.text).findings if f.action == "quarantine"] if near else []
    return tuple(dict.fromkeys(across + within))


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
