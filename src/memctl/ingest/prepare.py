"""From a file to judged passages, without touching the store: what a batch commits later in one transaction."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from memctl import errors, ids
from memctl.extract import LIMITS, Document, Hidden, Limits, anchor_at, document
from memctl.paths import read_file
from memctl.store.documents.corpus import IngestedFile, make_stand_in
from memctl.store.documents.passages import SourcePosition
from memctl.text.block.markers import without_rules

if TYPE_CHECKING:
    from memctl.policy import MemoryPolicy

#: Passages aim at this many tokens, so that several fit a budget; --chunk-tokens is the bound, this the target.
TARGET_TOKENS = 200

#: How much of what a user asked stands in the titles of the answers, in characters.
_ASKED_CHARS = 80

#: Documents whose blank lines end no paragraphs.
_NO_PARAGRAPHS = frozenset(("code", "data", "table", "transcript"))

#: Hidden passages stand so far from others that none is taken for the next one.
_APART = 10

#: A file that changed less than this before it was read may change again within its time stamp's resolution: of a file
#: system that counts in whole hundredths or seconds, or of one that asks the kernel's clock.
_COARSE_NS, _FINE_NS = 2_000_000_000, 50_000_000


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
    mount: str = ""  # folders above this one are no tags: where a project lies says nothing of it


class FileTask(NamedTuple):
    """A file to read.

    size        in bytes, as far as known
    is_known    the store holds it
    is_current  it would come out the same today, so that equal bytes need no further work
    sha256      the hash of the bytes that need no preparing, if there is one
    """

    path: str
    size: int
    is_known: bool = False
    is_current: bool = False
    sha256: str | None = None


class PreparedPassage(NamedTuple):
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
    passages: list[PreparedPassage] | None = None
    tags: Sequence[str] = ()
    notes: tuple[str, ...] = ()
    problem: str = ""
    lasting: bool = False


def recipe_of(options: Options, policy: "MemoryPolicy | None") -> str:
    """A word that changes when a file would be cut, judged or filed in another way though its bytes are the same."""
    from memctl.store.items import events

    rules = "" if policy is None else events.name_rules(policy.switches)
    how = repr((4, TARGET_TOKENS, rules, *options[:6], options.limits.rows))
    return f"{crc32(how.encode()):08x}"


class Preparer:
    """Reads, extracts, cuts and judges file after file, with one set of options."""

    def __init__(self, options: Options, policy: "MemoryPolicy | None") -> None:
        self.options, self.policy, self.recipe = options, policy, recipe_of(options, policy)
        self._tags: dict[tuple[str, str], list[str]] = {}

    @property
    def limits(self) -> Limits:
        """What reading a file may cost."""
        return self.options.limits

    def read(self, path: str, sha256: str | None) -> Prepared:
        """A file by its path. `sha256`: the hash of the bytes that need not be prepared again, if there is one."""
        try:
            asked = ids.now_seconds()
            data, info = read_file(path, self.options.limits.bytes, self.options.roots)
        except errors.DocumentUnreadable as exc:
            unopened = isinstance(exc.__cause__, OSError)  # else it is too large, or no file any more
            return Prepared(path, None if unopened else IngestedFile(path, ""), problem=str(exc.fields["reason"]))
        return self.prepare(path, data, info, asked, sha256)

    def prepare(
        self,
        path: str,
        data: bytes,
        info: os.stat_result | None = None,
        asked: float = 0,
        known: str | None = None,
    ) -> Prepared:
        """A file whose bytes are here; `info` was `asked` for at that time in seconds, `known` is as for `read`.

        A time stamp too fresh to be trusted is left out of the record: next time the hash decides.
        """
        sha256 = ids.bytes_hash(data)
        stamps = (info.st_mtime_ns, info.st_ctime_ns) if info else ()
        fresh = any(ns > asked * 1e9 - (_FINE_NS if ns % 10_000_000 else _COARSE_NS) for ns in stamps)
        file = IngestedFile(
            path,
            sha256,
            size=len(data),
            mtime_ns=info.st_mtime_ns if info and not fresh else None,
            ctime_ns=info.st_ctime_ns if info and not fresh else None,
            inode=info.st_ino if info else None,
            recipe=f"{self.recipe}:{sha256[:12]}",  # what another program makes of the record will not fit its hash
            ext=os.path.splitext(path)[1].lower() or None,
        )
        if sha256 == known:
            return Prepared(path, file)
        try:
            doc = document(data, os.path.basename(path), self.options.limits)
            doc = doc._replace(text=without_rules(doc.text))  # they are in the store
            passages = self._cut_turns(path, doc) if doc.kind == "transcript" else self._cut(path, doc)
        except errors.DocumentUnreadable as exc:
            lasting = not exc.fields.get("lacking")  # a library that is missing today
            return Prepared(path, file, problem=str(exc.fields["reason"]), lasting=lasting)
        count = 0 if doc.lines_are_source else len(doc.hidden)  # comments in Markdown are nothing unusual
        hidden = (f"{'1 stretch' if count == 1 else f'{count:,} stretches'} of hidden text",) if count else ()
        return Prepared(path, file, passages, self.tags(path), (*doc.notes, *hidden))

    def _cut(self, path: str, doc: Document) -> list[PreparedPassage]:
        """The passages of a document, those of what it hides behind the others."""
        from memctl.item_policy import JudgedDocument
        from memctl.text.chunking import chunk, title_of

        options = self.options
        judged = JudgedDocument(self.policy, path, doc.text) if self.policy else None
        text = judged.text if judged else doc.text
        name = os.path.basename(path)
        stem = os.path.splitext(name)[0]
        title = title_of(doc._replace(text=text), name) if options.infer else stem
        if judged:  # where policy lets no title stand, the file's name does
            title = judged.judge_label(title, is_part=title in text)
            title = title or judged.judge_label(stem, is_part=False) or "untitled"
        out: list[PreparedPassage] = []
        suspect = None if judged is None or judged.is_clear else judged
        pieces = chunk(
            text, kind=doc.kind, language=doc.language, max_tokens=options.chunk_tokens,
            target_tokens=min(TARGET_TOKENS, options.chunk_tokens), breaks=doc.breaks,
        )  # fmt: skip
        divide = doc.kind not in _NO_PARAGRAPHS
        parts = (
            ((p, ()) for p in pieces)
            if suspect is None
            else (q for p in pieces for q in suspect.parts(p, divide=divide))
        )
        for piece, rules in parts:
            heading = suspect.judge_label(piece.heading) if suspect else piece.heading
            anchor = anchor_at(doc.anchors, piece.start, piece.end) if doc.anchors else ""
            if judged and anchor:  # sheets have names, so policy sees it
                anchor = judged.judge_label(anchor, is_part=False)
            start, end = (piece.start, piece.end) if doc.lines_are_source else (None, None)
            place = SourcePosition(len(out), start, end, anchor or heading)
            redacted = suspect is not None and suspect.is_redacted(piece.text)
            full_title = _full_title(title, heading)
            out.append(PreparedPassage(full_title, piece.text, ids.content_hash(piece.text), place, redacted, rules))
        return out + self._cut_hidden(path, doc, title, len(out) - 1)

    def _cut_turns(self, path: str, doc: Document) -> list[PreparedPassage]:
        """The passages of a transcript: each turn is judged and cut by itself, titled with what the user asked last."""
        from memctl.item_policy import REDACTED, JudgedDocument, redact_across
        from memctl.text.chunking import Passage
        from memctl.text.clean import one_line

        title = os.path.splitext(os.path.basename(path))[0]
        whole = None  # what goes over several turns, so that each alone says too little of it
        if self.policy:
            whole = JudgedDocument(self.policy, path, doc.spoken())
            title = whole.judge_label(title, is_part=False) or "untitled"
        out: list[PreparedPassage] = []
        asked = ""
        turns = [text for _, text in doc.turns()]
        if self.policy and whole and whole.is_redacted(REDACTED):
            turns = redact_across(self.policy, turns, doc.spoken_turns())
        for (line, said), text in zip(doc.turns(), turns, strict=True):
            turn, anchor = self._cut(path, Document(text, "markdown")), anchor_at(doc.anchors, line, line)
            for number, piece in enumerate(turn):
                start, end = line - 1 + (piece.place.line_start or 1), line - 1 + (piece.place.line_end or 1)
                across = whole.rules_holding(Passage(piece.content, start, end, "")) if whole else ()
                held = tuple(dict.fromkeys([*piece.quarantined, *across]))
                if not number and anchor.endswith("(user)"):
                    words = piece.content.partition(":")[2].strip("* \n").partition("\n")[0]
                    asked = "" if held else one_line(words, _ASKED_CHARS)
                place = SourcePosition(len(out), start, end, anchor)
                blotted = piece.redacted or (REDACTED in piece.content and REDACTED not in said)
                title_ = _full_title(title, asked)
                out.append(piece._replace(title=title_, place=place, redacted=blotted, quarantined=held))
        return out + self._cut_hidden(path, doc, title, len(out) - 1)

    def _cut_hidden(self, path: str, doc: Document, title: str, last: int) -> list[PreparedPassage]:
        """The passages of all that the document hides, behind the `last` position of the others.

        Each says so, and none follows on another. What addresses anybody is kept from models, whatever else policy
        finds in it.
        """
        by_place: dict[str, list[Hidden]] = {}
        for one in doc.hidden:
            by_place.setdefault(one.place, []).append(one)
        out: list[PreparedPassage] = []
        for where, some in by_place.items():  # of several texts at one place no line is said
            from memctl.item_policy import JudgedDocument
            from memctl.policy.checks_injection import HIDDEN_TEXT, addresses_anybody
            from memctl.text.chunking import chunk

            hidden = some[0] if len(some) == 1 else Hidden("\n".join(one.text for one in some), where)
            judged = JudgedDocument(self.policy, path, hidden.text) if self.policy else None
            speaks = (HIDDEN_TEXT,) if judged and addresses_anybody(hidden.text) else ()
            anchor = (judged.judge_label(hidden.anchor, is_part=False) if judged else hidden.anchor) or "hidden text"
            pieces = chunk(
                judged.text if judged else hidden.text,
                max_tokens=self.options.chunk_tokens, target_tokens=min(TARGET_TOKENS, self.options.chunk_tokens),
            )  # fmt: skip
            behind, before = (out[-1].place.position or 0) if out else max(0, last), hidden.line - 1
            for number, piece in enumerate(pieces, 1):
                start, end = (before + piece.start, before + piece.end) if hidden.line else (None, None)
                place = SourcePosition(behind + number * _APART, start, end, anchor)
                redacted = judged is not None and judged.is_redacted(piece.text)
                held_by = tuple(dict.fromkeys([*(judged.rules_holding(piece) if judged else ()), *speaks]))
                called, digest = _full_title(title, "hidden text"), ids.content_hash(piece.text)
                out.append(PreparedPassage(called, piece.text, digest, place, redacted, held_by))
        return out

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
            inferred = inferred_tags(path, self.options.mount) if self.options.infer else []
            safe = [tag for tag in inferred if self.policy is None or self.policy.is_clean(tag, document=True)]
            self._tags[key] = list(dict.fromkeys([*self.options.tags, *safe]))
        return self._tags[key]


def _full_title(title: str, heading: str) -> str:
    """The document's title and where in it the passage stands, said once."""
    if heading in ("", title):
        return title
    return heading if heading.startswith(title + " > ") else f"{title} > {heading}"


_SUFFIX_TAGS = {
    ".md": "markdown", ".txt": "text", ".py": "python", ".js": "javascript", ".ts": "typescript", ".rs": "rust",
    ".sh": "shell", ".yml": "yaml", ".yaml": "yaml", ".htm": "html", ".html": "html", ".json": "json", ".csv": "csv",
    ".rst": "rst", ".toml": "toml", ".xml": "xml", ".java": "java", ".go": "go", ".c": "c", ".cpp": "cpp",
    ".sql": "sql", ".css": "css", ".rb": "ruby", ".php": "php",
}  # fmt: skip


def inferred_tags(path: str, mount: str = "") -> list[str]:
    """Tags that the suffix and the two nearest folders suggest, none above the mount; none for what is no file."""
    if not os.path.isabs(path):
        return []
    above = os.path.join(os.path.dirname(mount), "")
    inside = os.path.dirname(path).removeprefix(above) if mount else os.path.dirname(path)
    folders = [part for part in inside.split(os.sep) if part][-2:]
    word = _SUFFIX_TAGS.get(os.path.splitext(path)[1].lower())
    return [*([word] if word else []), *(f.lower().replace(" ", "-") for f in folders if len(f) <= 40)]
