"""The one gate through which a statement gets into the store: one form, policy, duplicates, one transaction.

A statement is a short text that somebody (a person, a model) says; documents go through `ingest.bulk`. A statement that
the store knows already adds what is new about it (tags, entities, sources, confidence, importance) to the item there.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from memctl import ids
from memctl.store import rule_versions
from memctl.store.connect import Database
from memctl.store.documents import sources
from memctl.store.items import items as store
from memctl.store.items.importance import Said
from memctl.store.quarantine import holds
from memctl.text import clean, trust
from memctl.types import MemoryItem, MemoryProvenance

if TYPE_CHECKING:
    from memctl.policy import MemoryPolicy, PolicyVerdict

#: From here on revisions say "as the row still is" instead of copying a text that is cut into so many parts.
_MANY = 100


class Outcome(NamedTuple):
    """What became of one statement.

    id       of the new item, or of the one that says the same already; empty when it was rejected
    reasons  why policy rejected or quarantined it; they never quote the text
    changed  whether a duplicate added anything to the item that was there
    """

    kind: Literal["stored", "duplicate", "rejected"]
    title: str
    id: str = ""
    reasons: tuple[str, ...] = ()
    quarantined: bool = False
    changed: bool = False


class Divided(NamedTuple):
    """A long statement in parts, and the ids of those in which policy blotted something out."""

    parts: list[MemoryItem]
    redacted: tuple[str, ...] = ()


class Kept(NamedTuple):
    """What became of statements of any length: one outcome for each part, and how many stored ones were redacted."""

    outcomes: list[Outcome]
    redacted: int

    @property
    def stored(self) -> list[Outcome]:
        """The parts that are new in the store."""
        return [outcome for outcome in self.outcomes if outcome.kind == "stored"]


def keep(
    db: Database,
    policy: "MemoryPolicy",
    items: Sequence[MemoryItem],
    *,
    reason: str,
    importance: Mapping[str, float] | None = None,
) -> Kept:
    """Store governed statements of any length: what is too long for policy is stored in parts.

    reason      stands in the revisions ("pull")
    importance  how much an item matters, by its id; its parts matter as much
    """
    said = dict(importance or {})
    parts: list[MemoryItem] = []
    wholes: list[int] = []
    redacted: set[str] = set()
    for number, item in enumerate(items):
        divided = divide(policy, item)
        parts += divided.parts
        wholes += [number] * len(divided.parts)
        redacted.update(divided.redacted)
        if item.id in said:
            said.update(dict.fromkeys((part.id for part in divided.parts), said[item.id]))
    outcomes = store_statements(db, policy, parts, reason=reason, wholes=wholes, importance=said) if parts else []
    return Kept(outcomes, sum(o.id in redacted for o in outcomes if o.kind == "stored"))


def store_statements(
    db: Database,
    policy: "MemoryPolicy",
    items: Sequence[MemoryItem],
    *,
    reason: str,
    wholes: Sequence[int] = (),
    importance: Mapping[str, float] | None = None,
) -> list[Outcome]:
    """Judge statements and store them in one transaction; what became of each, in the order given.

    What policy quarantines is stored with the tier, validation and expiry that the verdict forces, not injectable.

    reason      stands in the revisions ("pull")
    wholes      for each item the number of the text that it is a part of: parts of one text are no duplicates of each
                other
    importance  how much an item matters, by its id, where somebody said it
    """
    verdicts = [judge(policy, tidy(item)) for item in items]
    with db.atomic(), rule_versions.by(db, rule_versions.word(policy.switches)):
        return _Writer(db, reason, items, wholes or range(len(items)), importance or {}, policy).write(verdicts)


def tidy(item: MemoryItem) -> MemoryItem:
    """The item in the one form that is judged, hashed and stored (changed in place)."""
    item.content = clean.statement(item.content)
    item.title = clean.one_line(item.title)
    item.tags = clean.union(_lines(item.tags), [])
    item.entities = clean.union(_lines(item.entities), [])
    source = item.provenance
    source.source_kind, source.source_id = clean.one_line(source.source_kind), clean.one_line(source.source_id, 1000)
    source.chunk_ids, source.content_hashes = _lines(source.chunk_ids), _lines(source.content_hashes)
    return item


def _lines(words: Iterable[str]) -> list[str]:
    return [line for line in map(clean.one_line, words) if line]


def judge(policy: "MemoryPolicy", item: MemoryItem) -> "PolicyVerdict":
    """Policy's verdict on everything a statement carries, the references in its provenance too."""
    verdict = policy.evaluate_item(item)
    if verdict.rejected:
        return verdict
    other = "\n".join((*item.provenance.chunk_ids, *item.provenance.content_hashes, item.rule_id or "", item.scope))
    if policy.clear(other) or policy.judge(other, field="references", document=False).action != "reject":
        return verdict
    from memctl.policy import PolicyVerdict

    return PolicyVerdict("reject", ["HARD_BLOCK: a reference, rule id or scope holds what no statement may"])


def divide(policy: "MemoryPolicy", item: MemoryItem) -> Divided:
    """A statement that is too long for policy, cut along its structure into parts that are not. Nothing is lost.

    Before it is cut it is treated as the document it is: secrets are blotted out, because half of one is none that a
    rule could find. Parts are titled `title · part 1/3`.
    """
    limit = policy.max_content_length
    text = clean.statement(item.content)
    if len(text) <= limit or item.type == "pointer":
        return Divided([item])
    judged = policy.judge(text)
    texts = passages(clean.statement(judged.text), limit)
    if len(texts) == 1:
        item.content = texts[0]
        parts = [item]
    else:
        parts = [_part(item, content, number, len(texts)) for number, content in enumerate(texts, 1)]
    return Divided(parts, tuple(p.id for p in parts if "[REDACTED:" in p.content) if judged.redacted else ())


def _part(item: MemoryItem, content: str, number: int, count: int) -> MemoryItem:
    part = MemoryItem.from_dict(item.to_dict())
    part.id, part.content = ids.new_id(), content
    tail = f" · part {number}/{count}"
    part.title = clean.one_line(item.title, clean.TITLE_CHARS - len(tail)) + tail
    return part


def passages(text: str, limit: int) -> list[str]:
    """The text in pieces of at most `limit` characters, cut at headings and paragraphs where there are any."""
    from memctl.text.chunking import chunk

    # A token counts as four characters or fewer, so a piece of this many tokens fits nearly always.
    tokens = max(limit // 4, 20)
    pieces: list[str] = []
    for passage in chunk(text, kind="markdown", max_tokens=tokens, target_tokens=max(tokens * 4 // 5, 20)):
        pieces += _slices(passage.text, limit)
    return [piece for piece in map(str.strip, pieces) if piece]


def _slices(text: str, limit: int) -> list[str]:
    """The text in slices of at most `limit` characters, cut before white space where there is any; joined, the text."""
    slices, start = [], 0
    while len(text) - start > limit:
        lowest = start + limit // 2
        end = max(text.rfind(" ", lowest, start + limit), text.rfind("\n", lowest, start + limit))
        end = end if end > start else start + limit
        slices.append(text[start:end])
        start = end
    return [*slices, text[start:]]


class _Writer:
    """Compares judged statements with what the store holds and writes them, inside the caller's transaction."""

    def __init__(
        self,
        db: Database,
        reason: str,
        items: Sequence[MemoryItem],
        wholes: Sequence[int],
        importance: Mapping[str, float],
        policy: "MemoryPolicy",
    ) -> None:
        self.policy = policy
        self.db, self.reason, self.items, self.importance = db, reason, items, importance
        self.said = Said()
        self.whole = {item.id: whole for item, whole in zip(items, wholes, strict=True)}
        # (content hash, scope, corpus or None for any, whether it is held back) -> the item that says it
        self.known: dict[tuple[str, str, str | None, bool], MemoryItem] = {}
        self.held: dict[str, PolicyVerdict] = {}
        self.fresh: dict[str, MemoryItem] = {}
        self.changed: dict[str, MemoryItem] = {}

    def write(self, verdicts: "Sequence[PolicyVerdict]") -> list[Outcome]:
        """Store what is new; what became of each statement."""
        accepted = [i for i, v in zip(self.items, verdicts, strict=True) if not v.rejected]
        self._look_up(accepted)
        outcomes = [self._one(i, v) for i, v in zip(self.items, verdicts, strict=True)]
        store.write_many(self.db, list(self.fresh.values()), self.reason, compact=len(self.fresh) > _MANY)
        for item_id, verdict in self.held.items():
            store.set_withheld(self.db, item_id, "policy", sorted({f.rule for f in verdict.findings}))
        for item in self.changed.values():
            item.touch()
        store.write_many(self.db, list(self.changed.values()), "merge")
        self.said.write(self.db)
        return outcomes

    def _look_up(self, items: Sequence[MemoryItem]) -> None:
        found = store.ids_by_hash(self.db, {item.content_hash for item in items})
        wanted = [known.id for group in found.values() for known in group if not known.archived]
        raw = {i for i, why in store.withheld(self.db, wanted).items() if why == "raw"}
        passages = sources.get_many(self.db, wanted)
        if self.importance:
            self.said.look(self.db, wanted)
        now = ids.timestamp()
        for item in store.get_many(self.db, wanted):
            # A passage lives and dies with its document, a raw one is not in recall, an expired one is gone: a
            # statement that relied on one of these would be lost with it.
            gone = item.expires_at is not None and item.expires_at <= now
            if not (gone or item.id in raw or item.id in passages or item.provenance.is_passage):
                self._learn(item)

    def _one(self, item: MemoryItem, verdict: "PolicyVerdict") -> Outcome:
        reasons = tuple(verdict.reasons)
        if verdict.rejected:
            return Outcome("rejected", item.title, reasons=reasons)
        quarantined = verdict.forced_non_injectable
        there = self._known(item, held=quarantined or not item.injectable)
        if there is not None and self.whole.get(there.id) != self.whole[item.id]:
            # What policy holds back must not reach an item that may be injected, but for what a person released there.
            free = quarantined and self._is_released(there, verdict)
            changed = (free or not quarantined) and self._add(there, item)
            return Outcome(
                "duplicate", item.title, there.id, () if free else reasons, quarantined and not free, changed
            )
        if quarantined:
            hold(item, verdict)
            self.held[item.id] = verdict
        self.fresh[item.id] = item
        self.said.take(item.id, self.importance.get(item.id))
        self._learn(item)
        return Outcome("stored", item.title, item.id, reasons, quarantined)

    def _is_released(self, there: MemoryItem, verdict: "PolicyVerdict") -> bool:
        """Whether a person has let this very text out of quarantine; tags and sources that come with it now are new."""
        if any(f.field not in ("title", "content") for f in verdict.findings):  # its title stays the one that is there
            return False
        hold = holds(self.db, [there]).get(there.id)
        kinds = {f.kind for f in verdict.findings}
        return hold is not None and hold.released and kinds <= self.policy.covered(hold.rules, released=True)

    def _add(self, there: MemoryItem, item: MemoryItem) -> bool:
        """Add to an item what a duplicate knows besides; whether that was anything."""
        matters = self.said.rises(there.id, self.importance.get(item.id))
        changed = absorb(there, item)
        if changed and there.id not in self.fresh:
            self.changed[there.id] = there
        return changed or matters

    def _learn(self, item: MemoryItem) -> None:
        for corpus in {item.corpus_id, None}:
            self.known.setdefault((item.content_hash, item.scope, corpus, not item.injectable), item)

    def _known(self, item: MemoryItem, *, held: bool) -> MemoryItem | None:
        """The item that says the same, within the item's corpus if it is for one.

        One that is held back stands only for another that is.
        """
        key = (item.content_hash, item.scope, item.corpus_id)
        return self.known.get((*key, False)) or (self.known.get((*key, True)) if held else None)


def hold(item: MemoryItem, verdict: "PolicyVerdict") -> None:
    """Put a quarantine's terms on an item: not injectable, and the tier, validation and expiry that are forced."""
    item.injectable = False
    item.tier = verdict.forced_tier or item.tier
    item.validation = verdict.forced_validation or item.validation
    item.expires_at = verdict.forced_expires_at or item.expires_at


def absorb(there: MemoryItem, new: MemoryItem) -> bool:
    """Add to an item what another one that says the same knows besides; whether that was anything.

    First spellings of tags and entities stay, the higher confidence counts, and a second source is kept among the
    provenance's references. What was to expire stays for good when it is said again without an end.
    """
    before = (there.tags, there.entities, there.confidence, there.expires_at, there.provenance.to_dict())
    there.tags = clean.union(there.tags, new.tags)
    there.entities = clean.union(there.entities, new.entities)
    there.confidence = max(there.confidence, new.confidence)
    if there.injectable and new.expires_at is None:
        there.expires_at = None
    _add_source(there.provenance, new.provenance)
    return before != (there.tags, there.entities, there.confidence, there.expires_at, there.provenance.to_dict())


def _add_source(there: MemoryProvenance, new: MemoryProvenance) -> None:
    taken = not there.source_id
    if taken:
        there.source_kind, there.source_id = new.source_kind, new.source_id
    elif new.source_id and new.source_id != there.source_id:
        there.chunk_ids = list(dict.fromkeys((*there.chunk_ids, new.source_id)))
        if new.source_kind != there.source_kind:
            there.source_kind = "mixed"
    # A mark says how far the source of its own item is trusted, and nothing of another one's.
    more = new.chunk_ids if taken else trust.unmarked(new.chunk_ids)
    there.chunk_ids = list(dict.fromkeys((*there.chunk_ids, *more)))
    there.content_hashes = list(dict.fromkeys((*there.content_hashes, *new.content_hashes)))
