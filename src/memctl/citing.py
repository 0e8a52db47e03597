"""What statements cite: found when they are stored, tied to documents of the store, and followed as these change.

A statement whose cited text is not as it was is stale. That is no standing of its own: it follows from the references'
states, and goes when the text is back, or a person verifies the statement. Nothing but the store is looked at, and in a
work tree of git what that keeps: the commit and the blob of a document that is cited, and whether it was renamed since.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

from memctl import errors, git, ids
from memctl.extract import kind_of, needs_worker
from memctl.paths import read_file, real_path
from memctl.store import purge
from memctl.store.database import Database
from memctl.store.documents import corpus, passages
from memctl.store.items import citations, items
from memctl.store.items.citations import STALE, CitationRow, StaleFact
from memctl.text.references import CitedDocument, CitedPlace, Reference, find_references, may_refer, parse_place
from memctl.types import MemoryItem

#: Characters of a statement in which references are looked for, and passages in which a symbol is.
_LOOKED_AT = 20_000
_PASSAGES = 400
#: Kinds that are tied to documents; the others are noted.
_FOLLOWED = ("path", "symbol")
#: The texts of the passages of a document, each with its first line, where they have lines.
Pieces = Sequence[tuple[int | None, str]]
#: Bytes of a document whose blob is noted.
_BLOB_BYTES = 4 << 20
#: Commits at which statements were made that one look for renames goes back to, the newest.
_COMMITS = 8
#: Lines of a diff.
_DIFF_LINES = 60


# --- from statements to references ------------------------------------------------------------------------------------


def cite(
    db: Database,
    statements: Iterable[MemoryItem],
    given: Mapping[str, Sequence[Reference]] | None = None,
    *,
    anew: bool = False,
) -> None:
    """Find what statements cite, and write it down in one transaction.

    given  by an item's id the places that were named beside it, with absolute paths
    anew   what is cited is taken as it is now; otherwise a reference that was tied stays tied to the text of then
    """
    found = [item for item in statements if not item.provenance.is_passage]
    with db.atomic():
        tie, rows = _Tie(db), list[CitationRow]()
        known = citations.of_items(db, [item.id for item in found])
        for item in found:
            there = known.get(item.id, [])
            named = [_reference(row) for row in there if row.given]
            named += [one for one in (given or {}).get(item.id, ()) if one not in named]
            tied = {} if anew else {row.cited: row for row in there if row.state != "open"}
            said = references_of(item)
            for row in tie.rows(item.id, named, said) if named or said else ():
                rows.append(tied[row.cited]._replace(number=row.number) if row.cited in tied else row)
        citations.drop(db, known)
        citations.put(db, rows)


def references_of(item: MemoryItem) -> list[Reference]:
    """What the words of an item refer to."""
    return find_references(item.content[:_LOOKED_AT])


def may_cite(item: MemoryItem) -> bool:
    """Whether an item has any sign of a reference: that is told sooner than what it refers to."""
    return may_refer(item.content[:_LOOKED_AT])


def _reference(row: CitationRow) -> Reference:
    """The reference that a row was made of."""
    if row.kind == "path":
        place = parse_place(row.cited)
        return place._replace(target=row.path or place.target)
    return Reference(row.kind, row.cited, row.symbol or row.cited)


class _Tie:
    """Ties references to what the store holds; documents are read once."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self._documents: dict[str, CitedDocument | None] = {}
        self._by_name: dict[str, list[str]] | None = None
        self._revisions: dict[str, str] = {}

    @cached_property
    def _has_passages(self) -> bool:
        return citations.has_passages(self.db)

    def rows(self, item_id: str, given: Sequence[Reference], found: Sequence[Reference]) -> list[CitationRow]:
        """The rows of a statement: places that were named first, then what its text says."""
        now = ids.timestamp()
        out: list[CitationRow] = []
        places = {one: self.path_of(one.target) for one in (*given, *found) if one.kind == "path"}
        named = [path for path in places.values() if path]
        # A path beside a symbol that it defines says where that is, and nothing of the rest of the document.
        ties = {one: self.find(one.target, named) for one in found if one.kind == "symbol"}
        only_where = {path for path, _ in filter(None, ties.values())}
        for number, one in enumerate([*given, *(ref for ref in found if ref not in given)], 1):
            is_given = one in given
            path, place, doc = "", None, None
            if one.kind == "path" and (path := places[one]):
                doc = self.document(path)
                place = (doc and (doc.place_of_lines(*one.lines) if one.lines else is_given and doc.whole)) or None
            elif one.kind == "symbol" and (tied := ties[one]):
                (path, place), doc = tied, self.document(tied[0])
            state = "noted" if one.kind not in _FOLLOWED else "fresh" if path else "open"
            if one.kind == "path" and path in only_where and not one.lines and not is_given:
                state = "noted"
            if one.lines and path and place is None:  # the document has no such lines
                state, path = "open", ""
            if is_given and not path:  # it will be there once its folder is synced
                path = one.target
            out.append(CitationRow(
                item_id, number, one.kind, one.cited, int(is_given), path,
                place.symbol if place else one.target if one.kind == "symbol" else "",
                place.start if place else None, place.end if place else None,
                doc.fingerprint(place) if doc and place else "",
                json.dumps(self.holding(path, place)), self.revision(path) if place else "", state, "", now,
            ))  # fmt: skip
        return out

    def path_of(self, target: str) -> str:
        """The document of the store that a path means; "" where none or several could be meant."""
        if os.path.isabs(target):
            return next((p for p in (target, real_path(target)) if corpus.get_files(self.db, [p])), "")
        if self._by_name is None:
            self._by_name = {}
            for path in citations.known_documents(self.db):
                self._by_name.setdefault(os.path.basename(path), []).append(path)
        target = os.path.normpath(target)
        fitting = [p for p in self._by_name.get(os.path.basename(target), ()) if p.endswith(f"/{target}")]
        if len(fitting) > 1:  # the one at the top of its folder
            least = min(path.count("/") for path in fitting)
            fitting = [path for path in fitting if path.count("/") == least]
        return fitting[0] if len(fitting) == 1 else ""

    def document(self, path: str) -> CitedDocument | None:
        """A document as the store holds it; None where it has no lines to speak of."""
        if path not in self._documents:
            self._documents[path] = stored_document(self.db, path)
        return self._documents[path]

    def revision(self, path: str) -> str:
        """The commit that a document's work tree is at, and the document's blob; "" outside of git.

        The file is only read, and only counts where it is what the store has.
        """
        if path not in self._revisions:
            self._revisions[path] = ""
            tree = git.work_tree(os.path.dirname(path))
            file = corpus.get_files(self.db, [path]).get(path) if tree else None
            if tree and file:
                try:
                    data, _ = read_file(path, _BLOB_BYTES)
                except errors.DocumentUnreadable:
                    data = b""
                if ids.bytes_hash(data) == file.sha256:
                    self._revisions[path] = f"{tree.head} {git.blob_id(data)}"
        return self._revisions[path]

    def find(self, symbol: str, named: Sequence[str]) -> tuple[str, CitedPlace] | None:
        """The one definition of a symbol: in the documents that are named, else in any; None where it is not clear."""
        for path in named:
            if (doc := self.document(path)) and (places := doc.find_symbol(symbol)):
                return path, places[0]
        tail = symbol.rpartition(".")[2]
        paths: dict[str, None] = {}
        for path, content in citations.passages_with(self.db, tail, _PASSAGES) if self._has_passages else ():
            if path not in paths and CitedDocument(path, [(1, content)], language_of(path)).definitions.get(tail):
                paths[path] = None
        found = []
        for path in paths if len(paths) <= 20 else ():
            doc = self.document(path)
            found += [(path, place) for place in (doc.find_symbol(symbol) if doc else ())]
        outermost = [one for one in found if one[1].symbol == symbol] or found
        return outermost[0] if len(outermost) == 1 else None

    def holding(self, path: str, place: CitedPlace | None) -> list[str]:
        """The passages that hold a place."""
        if place is None:
            return []
        file = corpus.get_files(self.db, [path]).get(path)
        held = passages.get_positions(self.db, file.item_ids) if file else {}
        return [
            item_id for item_id, at in held.items()
            if at.line_start and at.line_end and at.line_start <= place.end and at.line_end >= place.start
        ]  # fmt: skip


def language_of(path: str) -> str:
    """The programming language of a document; "" for any other."""
    kind, language = kind_of(path)
    return language if kind == "code" else ""


def has_lines(path: str, first: int, last: int) -> bool:
    """Whether a file has these lines, and something stands in them; True where that cannot be told without a sync."""
    from memctl.text.decoding import decode

    if needs_worker(path):  # what counts are the lines of its text
        return True
    try:
        text, _, _ = decode(read_file(path, _BLOB_BYTES)[0], path)
    except errors.DocumentUnreadable:
        return True
    return CitedDocument(path, [(1, text)]).place_of_lines(first, last) is not None


def stored_document(db: Database, path: str) -> CitedDocument | None:
    """A document as its passages hold it; None where the store has none, or they have no lines."""
    file = corpus.get_files(db, [path]).get(path)
    return None if file is None else _document_of(db, path, file.item_ids)


def _document_of(db: Database, path: str, item_ids: Sequence[str]) -> CitedDocument | None:
    places = passages.get_positions(db, item_ids)
    found = items.get_many(db, item_ids)
    return document_of(path, [(places[one.id].line_start, one.content) for one in found if one.id in places])


def document_of(path: str, pieces: Pieces) -> CitedDocument | None:
    """A document of its passages, each with its first line; None where they have no lines."""
    lines = sorted((start, text) for start, text in pieces if start)
    return CitedDocument(path, lines, language_of(path)) if lines else None


# --- as documents change ----------------------------------------------------------------------------------------------


class Follower:
    """Follows the references into the documents of one run; what waits for its document is read once."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self._waiting: dict[str, list[CitationRow]] | None = None

    def follow(self, documents: Mapping[str, Pieces | None], moved: Mapping[str, str]) -> None:
        """Compare what is cited with documents as they are now, inside the caller's transaction.

        documents  by path the texts of their passages, each with its first line; None: the document is gone
        moved      where a document was before: new path -> old path
        """
        if moved:
            citations.follow_moved(self.db, moved)
        if self._waiting is None:
            self._waiting = {}
            for row in citations.in_states(self.db, ("open", "gone")):
                self._waiting.setdefault(_name_of(row), []).append(row)
        now, changed, tie = ids.timestamp(), [], _Tie(self.db)
        made: dict[str, CitedDocument | None] = {}
        rows = citations.at_paths(self.db, documents)
        renamed = self._renamed([row for row in rows if documents[row.path] is None])
        for row in rows:
            if row.path in renamed:
                row = row._replace(path=renamed[row.path])  # noqa: PLW2901 - git has followed the document
                made.setdefault(row.path, stored_document(self.db, row.path))
            elif row.path not in made:
                pieces = documents[row.path]
                made[row.path] = document_of(row.path, pieces) if pieces is not None else None
            new = _compared(row, made[row.path])
            if new.state != row.state:
                new = new._replace(state_at=now)
                if new.state == "gone" and row.symbol and documents.get(row.path, ()) is None:
                    new = _elsewhere(tie, new)
                if new.state == "gone":
                    self._waiting.setdefault(_name_of(row), []).append(new)
            if new != row or row.path in renamed.values():
                changed.append(new)
        citations.put(self.db, changed)
        if self._waiting:
            self._tie_waiting({path: pieces for path, pieces in documents.items() if pieces}, now)

    def _renamed(self, gone: Sequence[CitationRow]) -> dict[str, str]:
        """Where documents that are gone are now, as git tells it of what was committed since they were cited."""
        by_tree: dict[git.WorkTree, dict[str, dict[str, str]]] = {}
        for row in gone:
            if row.revision and (tree := git.work_tree(os.path.dirname(row.path))):
                commit, _, blob = row.revision.partition(" ")
                by_tree.setdefault(tree, {}).setdefault(commit, {})[row.path] = blob
        found: dict[str, str] = {}
        for tree, commits in by_tree.items():
            for commit, wanted in list(commits.items())[:_COMMITS]:
                renames = git.renames_since(tree, commit)
                by_path = {old: new for old, new, _ in renames}
                for path, blob in wanted.items():  # a document that had moved before has another name in the commit
                    same = [by_path[path]] if path in by_path else [new for _, new, old in renames if old == blob]
                    if len(same) == 1:
                        found.setdefault(path, same[0])
        there = corpus.get_files(self.db, found.values())
        return {old: new for old, new in found.items() if new in there}

    def _tie_waiting(self, documents: Mapping[str, Pieces], now: str) -> None:
        """Tie references that were in no document, and see where text went that is gone."""
        waiting = self._waiting or {}
        again: dict[str, None] = {}
        found: list[CitationRow] = []
        for path, pieces in documents.items():
            names = _defined_names(path, pieces, waiting)
            doc = document_of(path, pieces) if names else None
            for name in (os.path.basename(path), *names):
                for row in waiting.get(name, ()):
                    if row.state == "open":
                        again[row.item_id] = None
                    elif path != row.path and doc and any(_is_text(row, doc, at) for at in doc.find_symbol(row.symbol)):
                        found.append(row._replace(state="moved", moved_to=path, state_at=now))
        citations.put(self.db, found)
        if again:
            cite(self.db, items.get_many(self.db, again))
            for many in waiting.values():
                many[:] = [row for row in many if row.item_id not in again]


def _elsewhere(tie: _Tie, row: CitationRow) -> CitationRow:
    """A reference into a document that is gone: moved, where another document of the store has the text."""
    path, place = tie.find(row.symbol, []) or ("", None)
    doc = tie.document(path) if path else None
    is_there = doc and place and _is_text(row, doc, place)
    return row._replace(state="moved", moved_to=path) if is_there else row


def _defined_names(path: str, pieces: Pieces, wanted: Iterable[str]) -> list[str]:
    """Those of the wanted names that a document of code may define; of Python those that it does define."""
    language = language_of(path)
    if not language:
        return []
    before = r"\b(?:def|class)[ \t]+" if language == "python" else r"\b"
    defined = {name for _, text in pieces for name in re.findall(before + r"(\w+)", text)}
    return [name for name in wanted if name in defined]


def _name_of(row: CitationRow) -> str:
    """The last part of what a reference names."""
    if row.kind == "symbol" or row.symbol:
        return (row.symbol or row.cited).rpartition(".")[2]
    return os.path.basename(_reference(row).target)


def _is_text(row: CitationRow, doc: CitedDocument, place: CitedPlace) -> bool:
    return doc.fingerprint(place) == row.text_hash


def _compared(row: CitationRow, doc: CitedDocument | None) -> CitationRow:
    """A reference against its document as it is now."""
    if row.state in ("noted", "open"):
        return row
    if doc is None:
        return row._replace(state="gone") if row.state != "moved" else row
    if not row.text_hash:  # the document was named, and nothing in it
        return row._replace(state="fresh")
    if row.symbol:
        places = doc.find_symbol(row.symbol)
        if not places:
            return row._replace(state="gone") if row.state != "moved" else row
    elif row.line_start == 1 and row.given and _reference(row).lines is None:
        places = [doc.whole]
    else:
        first, last = row.line_start or 1, row.line_end or 1
        found = doc.find_text(row.text_hash, last - first + 1, first)
        places = [found] if found else []
    place = next((one for one in places if _is_text(row, doc, one)), None)
    if place is None:
        return row._replace(state="changed", moved_to="")
    return row._replace(state="fresh", moved_to="", line_start=place.start, line_end=place.end)


def in_same_place(db: Database, item: MemoryItem) -> list[str]:
    """Passages that an item cites, or that stand beside it in its document, then statements that cite the documents."""
    if item.provenance.is_passage:
        paths, near = [item.provenance.source_id], list[str]()
        for file in corpus.get_files(db, paths).values():
            at = file.item_ids.index(item.id) if item.id in file.item_ids else -1
            near += [file.item_ids[n] for n in (at - 1, at + 1) if at >= 0 and 0 <= n < len(file.item_ids)]
    else:
        rows = citations.of_items(db, [item.id]).get(item.id, [])
        paths = list(dict.fromkeys(row.path for row in rows if row.path))
        near = [item_id for row in rows for item_id in json.loads(row.passages)]
    others = [row.item_id for row in citations.at_paths(db, paths)]
    return [one for one in dict.fromkeys((*near, *others)) if one != item.id]


# --- what is stale ----------------------------------------------------------------------------------------------------


def find_stale(db: Database) -> list[StaleFact]:
    """All stale references of active statements, those that became so last first; for `review`."""
    rows = citations.in_states(db, STALE)
    active = {item.id for item in items.get_many(db, {row.item_id for row in rows}) if not item.archived}
    facts = [citations.stale_fact(row) for row in rows if row.item_id in active]
    return sorted(facts, key=lambda one: (one.since, one.item_id), reverse=True)


def stale_diff(db: Database, item_id: str, may_show: Callable[[str], bool]) -> list[str]:
    """What became of the text that an item cites, as the lines of a unified diff; once, however often it cites that.

    Text that policy holds back is not in it, nor what was purged. The old text is that of its archived passages; where
    the store has them no more, that of the blob in git, if `may_show` allows it.
    """
    from difflib import unified_diff

    found: dict[tuple[str, ...], None] = {}
    for row in citations.of_items(db, [item_id]).get(item_id, ()):
        if row.state not in STALE or not row.text_hash:
            continue
        held = items.withheld_reasons(db, ids_of := json.loads(row.passages))
        before = None if "policy" in held.values() else _document_of(db, row.path, ids_of)
        if before is None and not held and not purge.purged_ids(db, ids_of):
            before = _document_in_git(row, may_show)
        after = stored_document(db, row.moved_to or row.path)
        old, new = (_text_in(doc, row) if doc else [] for doc in (before, after))
        name = os.path.basename(row.path)
        found[tuple(unified_diff(old, new, f"{name} as cited", f"{name} now", lineterm="", n=2))] = None
    out: list[str] = []
    for lines in found:
        out += [*lines[:_DIFF_LINES], *([f"… {len(lines) - _DIFF_LINES} more lines"] * (len(lines) > _DIFF_LINES))]
    return out


def _document_in_git(row: CitationRow, may_show: Callable[[str], bool]) -> CitedDocument | None:
    """The document as it was cited, where git still has it and it has the cited text at its place."""
    tree = git.work_tree(os.path.dirname(row.path)) if row.revision else None
    text = git.read_blob(tree, row.revision.partition(" ")[2]) if tree else None
    if text is None:
        return None
    doc = CitedDocument(row.path, [(1, text)], language_of(row.path))
    places = doc.find_symbol(row.symbol) if row.symbol else [CitedPlace(row.line_start or 1, row.line_end or 1)]
    is_cited = any(_is_text(row, doc, place) and may_show(doc.text(place)) for place in places)
    return doc if is_cited else None


def _text_in(doc: CitedDocument, row: CitationRow) -> list[str]:
    places = doc.find_symbol(row.symbol) if row.symbol else []
    place = places[0] if places else CitedPlace(row.line_start or 1, row.line_end or 1)
    return [] if row.symbol and not places else doc.text(place).split("\n")


def renew(db: Database, item_ids: Iterable[str]) -> list[str]:
    """Take what items cite as it is now: a person says that they are right. The ids of those that were stale."""
    with db.atomic():
        stale = list(citations.stale_facts(db, item_ids))
        gone = [row for rows in citations.of_items(db, stale).values() for row in rows if row.state in STALE]
        cite(db, items.get_many(db, stale), anew=True)
        left = {(row.item_id, row.cited) for row in gone}
        lost = [
            row._replace(state="noted")
            for rows in citations.of_items(db, stale).values() for row in rows
            if row.state == "open" and (row.item_id, row.cited) in left
        ]  # fmt: skip
        citations.put(db, lost)
    return stale
