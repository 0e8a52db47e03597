"""From a file to judged passages, without touching the store: what a batch commits later in one transaction."""

import os
import stat
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from memctl import errors, ids
from memctl.extract import LIMITS, Document, Hidden, Limits, anchor_at, document
from memctl.ingest import below
from memctl.store.documents.corpus import IngestedFile, make_stand_in
from memctl.store.documents.passages import SourcePosition

if TYPE_CHECKING:
    from memctl.item_policy import JudgedDocument
    from memctl.policy import MemoryPolicy
    from memctl.text.chunking import Passage as Piece

#: Passages aim at this many tokens, so that several fit a budget; --chunk-tokens is the bound, this the target.
TARGET_TOKENS = 200

#: Hidden passages stand so far from others that none is taken for the next one.
_APART = 10

#: A file that changed less than this before it was read may change again within its time stamp's resolution: of a file
#: system that counts in whole hundredths or seconds, or of one that asks the kernel's clock.
_COARSE_NS, _FINE_NS = 2_000_000_000, 50_000_000

_MODE = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class Options(NamedTuple):
    """How documents are cut and filed."""

    chunk_tokens: int = 1800
    tags: tuple[str, ...] = ()
    scope: str = "project"
    injectable: bool = True
    corpus_id: str | None = None
    infer: bool = True  # take tags from suffix and folders, and the title from the text
    limits: Limits = LIMITS
    roots: tuple[str, ...] | None = None  # nothing is read outside of these folders, whatever links do meanwhile

    def recipe(self, rules: str) -> str:
        """A word that changes when a file would come out differently though its bytes are the same."""
        how = repr((3, TARGET_TOKENS, rules, *self[:6], self.limits.rows))
        return f"{crc32(how.encode()):08x}"


class Passage(NamedTuple):
    """A passage as it will be stored. `quarantined`: the rules that keep it from being injected."""

    title: str
    content: str
    content_hash: str
    place: SourcePosition
    redacted: bool = False
    quarantined: tuple[str, ...] = ()


class Prepared(NamedTuple):
    """A file as read: its record (without item ids yet), passages in order, and remarks for people.

    passages is None when the file was seen to be the same as before. problem says why it cannot be read; `file` is then
    None if its bytes were not seen either (it may be as it was). lasting: the same bytes would not be read next time.
    """

    path: str
    file: IngestedFile | None
    passages: list[Passage] | None = None
    tags: Sequence[str] = ()
    notes: tuple[str, ...] = ()
    problem: str = ""
    lasting: bool = False


def read_file(path: str, max_bytes: int, roots: Sequence[str] | None = None) -> tuple[bytes, os.stat_result]:
    """The bytes of a regular file. Raises DocumentUnreadable with the reason in words; never blocks on a pipe.

    roots  folders that the file must be in (see `below`); None: it may be anywhere
    """
    try:
        fd = os.open(path, _MODE) if roots is None else below.open_file(path, roots, _MODE)
        with os.fdopen(fd, "rb", buffering=0) as file:
            info = os.fstat(fd)
            if not stat.S_ISREG(info.st_mode):
                raise errors.DocumentUnreadable(path=path, reason="it is not a regular file")
            if info.st_size > max_bytes:
                raise errors.DocumentUnreadable(path=path, reason=too_large(info.st_size, max_bytes))
            return file.readall(), info
    except OSError as exc:
        raise errors.DocumentUnreadable(path=path, reason=exc.strerror or str(exc)) from exc


def too_large(size: int, limit: int) -> str:
    """The sentence for a file over the limit."""
    mega = 1024 * 1024
    if limit < mega:
        return f"its {size:,} bytes are over the limit of {limit:,}"
    return f"{size / mega:.0f} MB is over the limit of {limit // mega} MB (ingest.max_file_mb in config.json)"


def record(path: str, sha256: str, size: int, info: os.stat_result | None, asked: float) -> IngestedFile:
    """What the store keeps of a file's state, as it was `asked` for at that time in seconds.

    A time stamp too fresh to be trusted is left out: next time the hash decides.
    """
    steady = info is not None and not any(_is_fresh(ns, asked) for ns in (info.st_mtime_ns, info.st_ctime_ns))
    return IngestedFile(
        path=path,
        sha256=sha256,
        size=size,
        mtime_ns=info.st_mtime_ns if info and steady else None,
        ctime_ns=info.st_ctime_ns if info and steady else None,
        inode=None if info is None else info.st_ino,
        ext=os.path.splitext(path)[1].lower() or None,
    )


def _is_fresh(stamp_ns: int, asked: float) -> bool:
    resolution = _FINE_NS if stamp_ns % 10_000_000 else _COARSE_NS
    return stamp_ns > asked * 1e9 - resolution


def signed(recipe: str, sha256: str) -> str:
    """The recipe as a record keeps it: a record that another program has written since does not fit its hash."""
    return f"{recipe}:{sha256[:12]}"


class Preparer:
    """Reads, extracts, cuts and judges file after file, with one set of options.

    `recipe`: what `Options.recipe` made of the options and the policy.
    """

    def __init__(self, options: Options, policy: "MemoryPolicy | None", recipe: str = "") -> None:
        self.options, self.policy, self.recipe = options, policy, recipe
        self._tags: dict[tuple[str, str], list[str]] = {}

    @property
    def limits(self) -> Limits:
        """What reading a file may cost."""
        return self.options.limits

    def warm_up(self) -> None:
        """Load what every text needs, so that processes forked from this one need not load it each."""
        self.prepare(record("", "", 0, None, 0), b"")

    def read(self, path: str, known: str | None) -> Prepared:
        """A file by its path. `known`: the hash of the bytes that need not be prepared again, if there is one."""
        try:
            asked = ids.now_seconds()
            data, info = read_file(path, self.options.limits.bytes, self.options.roots)
        except errors.DocumentUnreadable as exc:
            seen = (
                None if isinstance(exc.__cause__, OSError) else IngestedFile(path, "")
            )  # too large, or no file any more
            return Prepared(path, seen, problem=str(exc.fields.get("reason", exc.message)))
        file = record(path, ids.bytes_hash(data), len(data), info, asked)
        if file.sha256 == known:
            return Prepared(path, file._replace(recipe=signed(self.recipe, file.sha256)))
        return self.prepare(file, data)

    def answer(self, value: object, path: str) -> Prepared:
        """What `read` gave, of the JSON that it became between processes."""
        from memctl.ingest.answers import prepared

        return prepared(value, path)

    def prepare(self, file: IngestedFile, data: bytes) -> Prepared:
        """A file whose bytes are here."""
        file = file._replace(recipe=signed(self.recipe, file.sha256))
        try:
            return self._prepare(file, data)
        except errors.DocumentUnreadable as exc:
            lasting = not exc.fields.get("lacking")  # a library that is missing today
            return Prepared(file.path, file, problem=str(exc.fields.get("reason", exc.message)), lasting=lasting)

    def _prepare(self, file: IngestedFile, data: bytes) -> Prepared:
        from memctl.item_policy import JudgedDocument
        from memctl.text.chunking import chunk

        options, policy = self.options, self.policy
        name = os.path.basename(file.path)
        doc = document(data, name, options.limits)
        judged = JudgedDocument(policy, file.path, doc.text) if policy else None
        text = judged.text if judged else doc.text
        title = self._title(doc._replace(text=text), name, judged)
        target = min(TARGET_TOKENS, options.chunk_tokens)
        cut = chunk(
            text, kind=doc.kind, language=doc.language, max_tokens=options.chunk_tokens, target_tokens=target,
            breaks=doc.breaks,
        )  # fmt: skip
        passages = []
        suspect = None if judged is None or judged.is_clear else judged
        for number, piece in enumerate(cut):
            start, end = (piece.start, piece.end) if doc.lines_are_source else (None, None)
            heading = suspect.judge_label(piece.heading) if suspect else piece.heading
            place = SourcePosition(number, start, end, self._anchor(doc, piece, judged) or heading)
            redacted = suspect is not None and suspect.is_redacted(piece.text)
            rules = suspect.rules_holding(piece) if suspect else ()
            passages.append(
                Passage(full_title(title, heading), piece.text, ids.content_hash(piece.text), place, redacted, rules)
            )
        for hidden in _by_place(doc.hidden):
            passages += self._hidden(hidden, file.path, title, (passages[-1].place.position or 0) if passages else 0)
        return Prepared(file.path, file, passages, self.tags(file.path), (*doc.notes, *_note_hidden(doc)))

    def _hidden(self, hidden: Hidden, path: str, title: str, last: int) -> list[Passage]:
        """The passages of a text that the document hides: each says so, and none follows on another.

        What addresses anybody is kept from models, whatever else policy finds in it.
        """
        from memctl.item_policy import JudgedDocument
        from memctl.policy.addressing import RULE, addresses_anybody
        from memctl.text.chunking import chunk

        judged = JudgedDocument(self.policy, path, hidden.text) if self.policy else None
        text = judged.text if judged else hidden.text
        speaks = (RULE,) if judged and addresses_anybody(hidden.text) else ()
        anchor = judged.judge_label(hidden.anchor, is_part=False) if judged else hidden.anchor
        target = min(TARGET_TOKENS, self.options.chunk_tokens)
        out = []
        for number, piece in enumerate(chunk(text, max_tokens=self.options.chunk_tokens, target_tokens=target), 1):
            before = hidden.line - 1
            start, end = (before + piece.start, before + piece.end) if hidden.line else (None, None)
            place = SourcePosition(last + number * _APART, start, end, anchor or "hidden text")
            redacted = judged is not None and judged.is_redacted(piece.text)
            rules = judged.rules_holding(piece) if judged else ()
            called, digest = full_title(title, "hidden text"), ids.content_hash(piece.text)
            out.append(Passage(called, piece.text, digest, place, redacted, tuple(dict.fromkeys([*rules, *speaks]))))
        return out

    def _anchor(self, doc: Document, piece: "Piece", judged: "JudgedDocument | None") -> str:
        """The page, slide or sheet that a passage comes from; sheets have names, so policy sees it."""
        if not doc.anchors:
            return ""
        anchor = anchor_at(doc.anchors, piece.start, piece.end)
        return judged.judge_label(anchor, is_part=False) if judged else anchor

    def _title(self, doc: Document, name: str, judged: "JudgedDocument | None") -> str:
        """The document's title, or its file's name where policy lets no title stand; both are judged."""
        stem = os.path.splitext(name)[0]
        from memctl.text.chunking import title_of

        title = title_of(doc, name) if self.options.infer else stem
        if judged is None:
            return title
        label = judged.judge_label(title, is_part=title in doc.text) or judged.judge_label(stem, is_part=False)
        return label or "untitled"

    def shown(self, path: str) -> str:
        """A path as it may be printed and logged."""
        return self.policy.redact(path) if self.policy else path

    def check_path(self, path: str) -> None:
        """Raise DocumentUnreadable for a file that policy does not let in because of its path."""
        if self.policy:
            from memctl.item_policy import judge_path

            judge_path(self.policy.for_path(path), path)

    def stored(self, path: str) -> str:
        """A path as it may be stored: where policy sees a secret in it, one that only tells the same file again."""
        return make_stand_in(path, self.policy.for_path(path).redact(path)) if self.policy else path

    def tags(self, path: str) -> list[str]:
        """The caller's tags, then what the suffix and the two nearest folders say."""
        key = (os.path.dirname(path), os.path.splitext(path)[1].lower())
        if key not in self._tags:
            inferred = inferred_tags(path) if self.options.infer else []
            is_clean = self.policy.is_clean if self.policy else None
            safe = [tag for tag in inferred if is_clean is None or is_clean(tag, document=True)]
            self._tags[key] = list(dict.fromkeys([*self.options.tags, *safe]))
        return self._tags[key]


def _by_place(hidden: Sequence[Hidden]) -> Iterable[Hidden]:
    """Hidden texts, one for each place; of several together no line is said."""
    found: dict[str, list[Hidden]] = {}
    for one in hidden:
        found.setdefault(one.place, []).append(one)
    for place, some in found.items():
        yield some[0] if len(some) == 1 else Hidden("\n".join(one.text for one in some), place)


def _note_hidden(doc: Document) -> tuple[str, ...]:
    """What is said of a document with hidden text."""
    count = 0 if doc.lines_are_source else len(doc.hidden)  # comments in Markdown are nothing unusual
    return (f"{'1 stretch' if count == 1 else f'{count:,} stretches'} of hidden text",) if count else ()


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


def inferred_tags(path: str) -> list[str]:
    """Tags that the suffix and the two nearest folders suggest; none for what is no file."""
    if not os.path.isabs(path):
        return []
    folders = [part for part in os.path.dirname(path).split(os.sep) if part][-2:]
    word = _SUFFIX_TAGS.get(os.path.splitext(path)[1].lower())
    return [*([word] if word else []), *(f.lower().replace(" ", "-") for f in folders if len(f) <= 40)]
