"""A batch of prepared files against what the store holds of them: what stays, what takes whose place, what is new."""

import os
from collections import deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from memctl import ids
from memctl.ingest.moves import related
from memctl.ingest.outcome import FileReport, FileStatus, Outcome
from memctl.ingest.prepare import Options, Passage, Prepared, inferred_tags
from memctl.item_policy import ItemPolicy
from memctl.store.database import Database
from memctl.store.documents import corpus, passages
from memctl.store.documents.corpus import DocumentRoot, GoneFile, IngestedFile
from memctl.store.items import attributes, items
from memctl.store.items.items import ItemSummary
from memctl.store.items.rows import PassageRows
from memctl.store.quarantine import standings
from memctl.types import MemoryProvenance

if TYPE_CHECKING:
    from memctl.policy import MemoryPolicy

#: So many archived passages of a file are remembered, to come back when their text does.
FORMER = 1000


class _New(NamedTuple):
    """A passage that is to be stored; tags where it has others than its file."""

    file: PassageRows
    passage: Passage
    tags: list[str] | None = None


class Writer:
    """Writes one batch, inside the caller's transaction, by a few bulk statements.

    moved   where a file of the batch may have been before: new path -> old path
    full    files are taken as changed even if nothing says so
    mount   the mount that the files lie in: it, or the innermost one within, says where they are filed
    policy  what judged the passages
    """

    def __init__(
        self,
        db: Database,
        options: Options,
        *,
        moved: dict[str, str] | None = None,
        full: bool = False,
        mount: DocumentRoot | None = None,
        policy: "MemoryPolicy | None" = None,
        reporting: bool = False,
    ) -> None:
        self.db, self.options, self.full, self.mount, self.policy = db, options, full, mount, policy
        self.tally = Outcome()
        self._reporting = reporting
        self._moved = moved or {}
        self._known: dict[str, IngestedFile] = {}
        self._past: dict[str, GoneFile] = {}  # by path: what was archived of it earlier on
        self._former: dict[str, GoneFile] = {}  # the same as it will be
        self._back: list[str] = []  # passages that are active again
        self._found: dict[str, list[str]] = {}  # active items, of files whose record another program has written
        self._made: dict[str, _New] = {}
        self._ids: Iterator[str] = iter(())  # for them
        self._shared: dict[str, PassageRows] = {}
        self._places: dict[str, passages.SourcePosition] = {}
        self._withheld: dict[str, str] = {}
        self._rules: dict[str, tuple[str, ...]] = {}
        self._replaced: list[tuple[str, str | None]] = []  # old id, new id or None
        self._away: set[str] = set()  # old passages that are archived
        self._now = ids.timestamp()  # one moment for the batch

    def write(self, batch: Sequence[Prepared]) -> Outcome:
        """Write the batch; what was done, to be counted once the transaction is through."""
        self._look_up(batch)
        self._ids = iter(ids.new_ids("MEM", sum(len(prepared.passages or ()) for prepared in batch)))
        files = [self._file(prepared, prepared.file) for prepared in batch if prepared.file]
        self._flush()
        kept = [file for file in files if file]
        corpus.put_files(self.db, kept)
        corpus.forget_unread(self.db, [file.path for file in kept])
        corpus.forget_gone(self.db, [path for path, gone in self._former.items() if not gone.item_ids])
        corpus.record_gone(self.db, {path: gone for path, gone in self._former.items() if gone.item_ids})
        return self.tally

    def _look_up(self, batch: Sequence[Prepared]) -> None:
        paths = [prepared.path for prepared in batch]
        self._known = corpus.get_files(self.db, [*paths, *self._moved.values()])
        self._past = corpus.get_gone(self.db, [*paths, *self._moved.values()])
        foreign = [f.path for f in self._known.values() if not f.recipe.endswith(f":{f.sha256[:12]}")]
        self._found = items.passages_by_document(self.db, foreign)

    # --- one file --------------------------------------------------------------------------------------------------

    def _file(self, prepared: Prepared, file: IngestedFile) -> IngestedFile | None:
        """Compare one file with what the store holds of it; the record to keep, None to leave the one there is."""
        known = self._known.get(file.path)
        same = known is not None and known.sha256 == file.sha256
        full = self.full and (self.mount is None or self.mount.forces(file.path))
        if same and known and (prepared.passages is None or (known.recipe == file.recipe and not full)):
            self._count_file("unchanged", file.path, len(known.item_ids))
            recipe = known.recipe if prepared.passages is None else file.recipe
            return self._placed(file._replace(item_ids=known.item_ids, recipe=recipe), known)
        if prepared.passages is None:  # another process has stored it anew since we looked: theirs is as new as ours
            self._count_file("unchanged", file.path)
            return None
        if known is None:
            known = self._before(prepared, file)
        status: FileStatus = "changed" if known else "new"
        if known and known.path != file.path:
            status = "moved"
            corpus.forget_files(self.db, [known.path])
        elif same:
            status = "refiled"
        from_path = known.path if known and status == "moved" else ""
        if known is None and self._moved.get(file.path) in self._past:  # it was gone for a while
            status, from_path = "moved", self._moved[file.path]
        if known is None and not from_path and file.path not in self._past:  # nothing to compare it with
            item_ids = [self._make(prepared, file, passage) for passage in prepared.passages]
            self._count_file(status, file.path, len(item_ids))
            return self._placed(file._replace(item_ids=tuple(item_ids)), None)
        held = self._held(known, file.path)
        hashes = [p.content_hash for p in prepared.passages]
        kept, gone = _align(held, hashes)
        again = self._again(file, from_path, [h for h, old in zip(hashes, kept, strict=True) if not old], gone)
        item_ids = []
        for passage, old in zip(prepared.passages, kept, strict=True):
            before = old or again.popleft()
            item_ids.append(
                self._keep(before, passage, prepared, file, from_path)
                if before
                else self._make(prepared, file, passage)
            )
        self._succeed(_successors(held, kept, gone, item_ids), {old.id: old for old in gone})
        self._count_file(status, file.path, len(item_ids), f"was {from_path}" if from_path else "")
        return self._placed(file._replace(item_ids=tuple(item_ids)), None if from_path else known)

    def _before(self, prepared: Prepared, file: IngestedFile) -> IngestedFile | None:
        """The record of the file that this one was before it was moved or renamed."""
        old = self._known.get(self._moved.get(file.path, ""))
        if old is None or old.sha256 == file.sha256:
            return old
        return old if related(self.db, old, prepared.passages or ()) else None

    def _placed(self, file: IngestedFile, known: IngestedFile | None) -> IngestedFile:
        """The record with the mount it belongs to; without one of our own, the one it had."""
        if self.mount is not None:
            mount = self.mount.of(file.path)
            rel_path = file.path.removeprefix(mount.prefix)
            return file._replace(mount_id=mount.mount_id, rel_path=rel_path, lang_hint=mount.lang_hint)
        if known is None:
            return file
        return file._replace(mount_id=known.mount_id, rel_path=known.rel_path, lang_hint=known.lang_hint)

    def _held(self, known: IngestedFile | None, path: str) -> list[ItemSummary]:
        """The passages the store has of a file, in order."""
        if known is None:
            return []
        held_ids = list(dict.fromkeys([*known.item_ids, *self._found.get(path, ())]))
        found = items.get_summaries(self.db, held_ids)
        held = [found[i] for i in held_ids if i in found]
        self._away.update(old.id for old in held if old.archived)
        return held

    def _again(
        self, file: IngestedFile, from_path: str, hashes: list[str], gone: list[ItemSummary]
    ) -> deque[ItemSummary | None]:
        """For each of these hashes the passage that was archived of this file earlier on, if there is one; notes which
        ones are now.
        """
        past = list(dict.fromkeys(i for path in (file.path, from_path) if path in self._past
                                  for i in self._past[path].item_ids))  # fmt: skip
        stored = items.get_summaries(self.db, past) if past and hashes else {}
        found, _ = _align([stored[i] for i in past if i in stored], hashes)
        away = [old.id for old in found if old and old.archived]
        self._back += corpus.archived_by_ingest(self.db, away) if away else []
        used = {old.id for old in found if old}
        former = [*(old.id for old in gone), *(i for i in past if i not in used)]
        self._former |= {path: GoneFile(file.sha256, ()) for path in (file.path, from_path) if path in self._past}
        if former:
            self._former[file.path] = GoneFile(file.sha256, tuple(former[:FORMER]))
        return deque(found)

    def _succeed(self, pairs: list[tuple[str, str | None]], gone: dict[str, ItemSummary]) -> None:
        """Let new passages stand for old ones; they take over tags that somebody gave the old."""
        self._replaced += pairs
        for old_id, new_id in pairs:
            given = gone[old_id].tags
            if new_id is None or gone[old_id].archived:
                continue
            if (new := self._made.get(new_id)) is not None:
                self._made[new_id] = new._replace(tags=list(dict.fromkeys([*given, *(new.tags or new.file.tags)])))
            elif (heir := items.get(self.db, new_id)) and not set(given) <= set(heir.tags):
                tags = list(dict.fromkeys([*heir.tags, *given]))
                items.update(self.db, new_id, {"tags": tags}, "ingest", compact=True)

    # --- one passage -----------------------------------------------------------------------------------------------

    def _make(self, prepared: Prepared, file: IngestedFile, passage: Passage) -> str:
        shared = self._shared.get(file.path)
        if shared is None:
            shared = self._shared[file.path] = PassageRows(
                file.path, file.sha256, tags=prepared.tags, scope=self._scope(file.path),
                corpus_id=self.options.corpus_id, now=self._now,
            )  # fmt: skip
        item_id = next(self._ids)
        self._made[item_id] = _New(shared, passage)
        self._places[item_id] = passage.place
        self.tally.redacted += passage.redacted
        if passage.quarantined:
            self.tally.quarantined += 1
            self._withheld[item_id] = "policy"
            self._rules[item_id] = passage.quarantined
        elif not self.options.injectable:
            self._withheld[item_id] = "raw"
        return item_id

    def _row(self, item_id: str, new: "_New") -> tuple[Any, ...]:
        passage = new.passage
        return new.file.row(
            item_id, passage.title, passage.content, passage.content_hash, position=passage.place.position or 0,
            injectable=self.options.injectable and not passage.quarantined, tags=new.tags,
        )  # fmt: skip

    def _provenance(self, file: IngestedFile, passage: Passage) -> MemoryProvenance:
        chunk = f"{file.path}:{passage.place.position}"
        return MemoryProvenance("doc", file.path, [chunk], [f"sha256:{file.sha256}"], self._now)

    def _keep(self, old: ItemSummary, passage: Passage, prepared: Prepared, file: IngestedFile, from_path: str) -> str:
        """An unchanged passage keeps its item; its place moves along, and what this run adds is added."""
        self._places[old.id] = passage.place
        back = old.id in self._back
        if old.archived and not back:  # somebody put it away: that its document is read again does not bring it back
            self.tally.kept += 1
            return old.id
        changes = self._changes(old, passage, prepared, self._scope(file.path))
        if back:
            self.tally.restored += 1
            changes |= {"archived": False, "superseded_by": None}
        else:
            self.tally.kept += 1
        if from_path:
            changes |= self._moved_changes(old, passage, prepared, file, from_path)
        if changes:
            items.update(self.db, old.id, changes, "ingest", compact=True)
        if self.options.injectable and not old.injectable and not passage.quarantined:
            items.release_raw(self.db, [old.id], "ingest")
        return old.id

    def _changes(self, old: ItemSummary, passage: Passage, prepared: Prepared, scope: str) -> dict[str, object]:
        changes: dict[str, object] = {}
        merged = list(dict.fromkeys([*old.tags, *prepared.tags]))
        if merged != list(old.tags):
            changes["tags"] = merged
        if old.scope != scope:
            changes["scope"] = scope
            self.tally.rescoped += 1
        if self.options.corpus_id and old.corpus_id != self.options.corpus_id:
            changes["corpus_id"] = self.options.corpus_id
        if passage.quarantined and not self._was_released(
            old, passage.quarantined
        ):  # newer rules may see what older ones did not
            items.set_withheld(self.db, old.id, "policy", passage.quarantined)
            if old.injectable:
                changes["injectable"] = False
        return changes

    def _scope(self, path: str) -> str:
        """Where a file is filed."""
        return self.options.scope if self.mount is None else self.mount.of(path).scope

    def _was_released(self, old: ItemSummary, rules: tuple[str, ...]) -> bool:
        """Whether a person has let this passage, as it is, out of a quarantine that covers these rules."""
        found = standings(self.db, items.get_many(self.db, [old.id]))
        return self.policy is not None and ItemPolicy(self.policy).is_released(found[old.id], rules)

    def _moved_changes(
        self, old: ItemSummary, passage: Passage, prepared: Prepared, file: IngestedFile, from_path: str
    ) -> dict[str, object]:
        """What a passage says of where it is: source, tags of the old folder, and a title made from the old name."""
        changes: dict[str, object] = {"provenance": self._provenance(file, passage).to_dict()}
        if self.options.infer:
            stale = set(inferred_tags(from_path)) - set(prepared.tags)
            changes["tags"] = list(dict.fromkeys([*(t for t in old.tags if t not in stale), *prepared.tags]))
        item = items.get(self.db, old.id)
        stem = os.path.splitext(os.path.basename(from_path))[0]
        if item is not None and item.title.startswith(stem):
            changes["title"] = passage.title
        return changes

    # --- all of them -----------------------------------------------------------------------------------------------

    def _count_file(self, status: FileStatus, path: str, chunks: int = 0, reason: str = "") -> None:
        setattr(self.tally, status, getattr(self.tally, status) + 1)
        if self._reporting:
            self.tally.reports.append(FileReport(path, status, chunks, reason))

    def _flush(self) -> None:
        """Write what was collected."""
        made = [self._row(item_id, new) for item_id, new in self._made.items()]
        write = passages.bulk_insert if len(made) >= passages.WORTHWHILE else items.write_rows
        write(self.db, made, "ingest")
        passages.set_positions(self.db, self._places)
        corpus.unlink_superseding(self.db, self._back)
        for item_id, why in self._withheld.items():
            items.set_withheld(self.db, item_id, why, self._rules.get(item_id, ()))
        for old_id, new_id in self._replaced:
            if old_id in self._away:
                continue
            items.archive(self.db, old_id, "ingest", superseded_by=new_id)
            if new_id is None:
                self.tally.archived += 1
            else:
                self.tally.superseded += 1
                attributes.add_link(self.db, new_id, old_id, "supersedes")
        attributes.inherit_importance(
            self.db, [(o, n) for o, n in self._replaced if n is not None and o not in self._away]
        )
        self.tally.item_ids += self._made


def _align(held: list[ItemSummary], new_hashes: list[str]) -> tuple[list[ItemSummary | None], list[ItemSummary]]:
    """For each new passage the old one with the same content (each used once, in order), and the old ones left."""
    waiting: dict[str, deque[ItemSummary]] = {}
    for old in held:
        waiting.setdefault(old.content_hash, deque()).append(old)
    kept = [waiting[h].popleft() if waiting.get(h) else None for h in new_hashes]
    used = {old.id for old in kept if old}
    return kept, [old for old in held if old.id not in used]


def _successors(
    held: list[ItemSummary], kept: list[ItemSummary | None], gone: list[ItemSummary], item_ids: list[str]
) -> list[tuple[str, str | None]]:
    """Which new passage stands for each old one that is gone: the one made after the same unchanged neighbour."""
    made: dict[str, deque[str]] = {}
    before = ""
    for old, item_id in zip(kept, item_ids, strict=True):
        if old:
            before = old.id
        else:
            made.setdefault(before, deque()).append(item_id)
    lost = {old.id for old in gone}
    out: list[tuple[str, str | None]] = []
    before = ""
    for old in held:
        if old.id in lost:
            heirs = made.get(before)
            out.append((old.id, heirs.popleft() if heirs else None))
        else:
            before = old.id
    return out
