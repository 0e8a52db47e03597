"""Statements on their way into the store: what somebody says, where it is filed, and what became of it.

The operations that store statements and the chat go through a `StatementBatch`; `ingest.statements` judges and stores.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext

from memctl import errors, ids
from memctl.annotations import TYPE_CHECKING, Any
from memctl.context import Context
from memctl.operation import Result
from memctl.parameters import WriteTarget
from memctl.text import clean, source_trust
from memctl.text.block import markers
from memctl.types import MemoryItem, MemoryProvenance, standing_of

if TYPE_CHECKING:
    from memctl.ingest.statements import StatementOutcome, StatementOutcomes
    from memctl.text.proposals import Parsed, Proposed
    from memctl.text.references import Reference

#: Of more statements at once nobody is told which repeat or replace others.
MOST_NOTICED = 50
NO_REASON = "Missing why_store justification"
#: The action that `memory_propose` reports for each kind of outcome.
_ACTIONS = {"stored": "accept", "rejected": "reject", "duplicate": "duplicate", "quarantined": "quarantine"}


class StatementBatch:
    """The statements of one command: made with what is said of all of them, and stored in one transaction.

    door    the command or tool that takes them; it is their source, with the session, where none is named
    source  where they are from, for those that do not say it themselves

    In a session that the target names, all of them are noted to be said in it; it begins with the first of them.
    """

    def __init__(self, ctx: Context, door: str, target: WriteTarget, source: MemoryProvenance | None = None) -> None:
        self.ctx, self.door, self.target = ctx, door, target
        self.scope, self.corpus_id = target.place(ctx)
        session = target.session
        if session is None and source is None:
            session = ctx.env("MEMCTL_SESSION")
        self.session = session
        self.source = source or MemoryProvenance("tool", f"{door}:{session}" if session else door)
        self.items: list[MemoryItem] = []
        self._importance: dict[str, float] = {}
        self._replaced: dict[str, list[str]] = {}
        self._cited: dict[str, Sequence[Reference]] = {}

    def add(
        self,
        item: MemoryItem,
        importance: float | None = None,
        *,
        supersedes: str = "",
        cites: "Sequence[Reference]" = (),
    ) -> MemoryItem:
        """Take an item among those that `store` stores; `supersedes`: the id of the one that it replaces; `cites`:
        places that it is said to cite.
        """
        self.items.append(item)
        if cites:
            self._cited[item.id] = cites
        if importance is not None:
            self._importance[item.id] = importance
        if supersedes:
            self._replaced[item.id] = [supersedes]
        return item

    def statement(self, content: str, title: str, *, type: str = "note", confidence: float = 0.5) -> MemoryItem:
        """A statement in the words of whoever gives it; without a title, its beginning is one."""
        return MemoryItem(
            tier=self.target.tier, type=type, title=clean.one_line(title) or clean.opening(content),
            content=content, tags=clean.union(self.target.tags or [], []), confidence=confidence, scope=self.scope,
            corpus_id=self.corpus_id, provenance=self.source,
        )  # fmt: skip

    def proposed(self, found: "Proposed") -> MemoryItem:
        """The item that a proposal asks for; its content is blank when it only repeats injected memory.

        The source that the proposal names is shown as it says, and trusted no more than the model that says it; where
        in a document it stands is not taken from a model at all.
        """
        proposal = found.proposal
        item = proposal.to_memory_item(tier=self.target.tier, scope=self.scope)
        item.corpus_id = self.corpus_id
        hint, said = proposal.provenance_hint, item.provenance
        said.source_kind = source_trust.claimed(hint.get("source_kind"), self.source.source_kind)
        said.source_id = hint.get("source_id") or self.source.source_id
        if said.source_kind.strip().lower() == "doc":
            said.chunk_ids, said.content_hashes = [], []
        said.chunk_ids = [
            *source_trust.unmarked(said.chunk_ids),
            *source_trust.mark(said.source_kind, said.source_id, self.door),
        ]
        item.content = markers.without_injected(item.content)[0]
        item.title = item.title or clean.opening(item.content)
        item.tags = clean.union(item.tags, self.target.tags or [])
        item.entities = list(found.entities)
        if found.supersedes:
            self._replaced[item.id] = self._replaceable(found.supersedes)
        if found.confidence is not None:
            item.confidence = min(found.confidence, source_trust.MODEL_CONFIDENCE)
        return item

    def _replaceable(self, given: Sequence[str]) -> list[str]:
        """Those of the items that a model names which its statement may replace: active ones of the same scope, for
        which no person vouches and which policy does not hold back.
        """
        from memctl.store.items import items
        from memctl.store.quarantine import protected_items

        db = self.ctx.db
        found = items.get_many(db, dict.fromkeys(items.expand_id(db, word) for word in given))
        known = [item for item in found if not item.archived and item.scope == self.scope]
        kept = protected_items(db, known)
        for item_id, why in kept.items():
            self.ctx.warn(f"[{self.door.removeprefix('memctl-')}] {item_id} is not replaced: {why}")
        return [item.id for item in known if item.id not in kept]

    def store(self, reason: str, *, cut: bool = False, again: bool = False) -> "StatementOutcomes":
        """Judge and store the items; what became of each.

        reason  stands in the revisions
        cut     an item that is too long for a statement is stored in parts; otherwise policy refuses it
        again   what was purged before is stored, too
        """
        from memctl.ingest import statements
        from memctl.lifecycle import conflicts

        if not self.items:
            return statements.StatementOutcomes([], 0)
        db, policy = self.ctx.db, self.ctx.policy
        how: dict[str, Any] = {"reason": reason, "importance": self._importance, "replaced": self._replaced}
        how["by_model"] = self.door != "memctl-remember"
        similar = {}
        for item in self.items if len(self.items) <= MOST_NOTICED else ():
            some = conflicts.find_similar(db, item)
            similar[item.id] = tuple(one for one in some if one.id not in self._replaced.get(item.id, ()))
        how["contradicted"] = {
            item_id: [(one.id, one.why) for one in some if not one.is_repeat] for item_id, some in similar.items()
        }
        with nullcontext() if self.session is None else db.atomic():
            if cut:
                done = statements.store_long_statements(db, policy, self.items, **how)
            else:
                outcomes = statements.store_statements(db, policy, self.items, **how, again=again, cites=self._cited)
                done = statements.StatementOutcomes(outcomes, 0)
            if self.session is not None:
                said = [one.id for one in done.outcomes if one.id]
                statements.note_said(
                    db, policy, self.session, said, self.scope, fixed=self.target.workspace is not None
                )
        told = [one._replace(similar=similar.get(one.id, ())) if one.kind == "stored" else one for one in done.outcomes]
        return done._replace(outcomes=told)


# --- what comes in ------------------------------------------------------------------------------------------------


def read_stdin(ctx: Context, label: str) -> str:
    """Standard input as text. Raises EmptyInput and InputNotText."""
    from memctl.text.decoding import decode

    if "stdin" in ctx.tty:
        ctx.note(f"[{label}] reading from the terminal; Ctrl-D ends the input")
    name = "standard input"
    try:
        given, _, notes = decode(ctx.stdin_bytes(), name)
    except errors.DocumentUnreadable as exc:
        raise errors.InputNotText(name=name, reason=exc.fields["reason"]) from None
    if clean.is_blank(given):
        raise errors.EmptyInput
    for note in notes:
        ctx.warn(f"[{label}] {name}: {note}")
    return given


def without_injected(ctx: Context, given: str, label: str) -> str:
    """A text without the injected memory that it repeats; "" when nothing else is in it."""
    kept, count = markers.without_injected(given)
    if count:
        ctx.note(f"[{label}] left out {count} block(s) of injected memory that the input repeats")
    return "" if clean.is_blank(kept) else kept


def parse_proposals(ctx: Context, given: str) -> "Parsed":
    """The proposals in a model's output, in the forms that the config file names."""
    from memctl.text.proposals import parse

    how = ctx.config.proposer
    return parse(given, delimiter_open=how.delimiter_open, delimiter_close=how.delimiter_close, strategy=how.strategy)


# --- what became of it --------------------------------------------------------------------------------------------


def outcome_kind(outcome: "StatementOutcome") -> str:
    """What became of a statement: stored, duplicate, rejected, or quarantined (stored, and kept out of recall)."""
    return "quarantined" if outcome.kind == "stored" and outcome.quarantined else outcome.kind


def standings_of(ctx: Context, item_ids: Iterable[str]) -> dict[str, dict[str, Any]]:
    """How stored items stand, by id: their `id`, `standing` and, where they expire, `expires_at`."""
    from memctl.store.items import items

    found = items.get_many(ctx.db, item_ids)
    withheld = items.withheld_reasons(ctx.db, [item.id for item in found if not item.injectable])
    return {
        item.id: {"id": item.id, "standing": standing_of(item, withheld.get(item.id, ""))}
        | ({"expires_at": item.expires_at} if item.expires_at else {})
        for item in found
    }


def standing_words(row: Mapping[str, Any]) -> str:
    """The standing of `standings_of` for people: `quarantined until 2026-11-25 12:50 UTC`."""
    until = str(row.get("expires_at") or "")
    return str(row["standing"]) + (f" until {until[:16].replace('T', ' ')} UTC" if until else "")


def tell_similar(
    ctx: Context, label: str, outcomes: "Iterable[StatementOutcome]", rows: Mapping[str, dict[str, Any]]
) -> None:
    """Say of what was stored which items it nearly repeats or contradicts, and add that to its row."""
    from memctl.store.conflicts import conflict_id
    from memctl.text import contradiction

    for done in outcomes:
        for one in done.similar:
            if one.is_repeat:
                which = ", which was retracted" if one.why != contradiction.SAME else ""
                ctx.note(f"[{label}] nearly repeats {one.id}{which}; memctl forget {done.id} takes it back")
            else:
                how = f"memctl resolve {conflict_id(one.id, done.id)} keep-b"
                ctx.note(f"[{label}] contradicts {one.id} ({one.why}); {how} lets it replace that")
        if done.similar and done.id in rows:
            rows[done.id]["similar"] = [
                one._asdict() | ({} if one.is_repeat else {"conflict": conflict_id(one.id, done.id)})
                for one in done.similar
            ]


def tell_outcomes(
    label: str,
    outcomes: "Sequence[StatementOutcome]",
    line: "Callable[[StatementOutcome], str]",
    kinds: Iterable[tuple[str, Callable[[str], None]]],
    most: int,
) -> None:
    """Say line by line what became of statements, kind by kind; beyond `most` lines of a kind, how many more."""
    for kind, say in kinds:
        lines = [line(outcome) for outcome in outcomes if outcome_kind(outcome) == kind]
        for text in lines[:most]:
            say(f"[{label}] {text}")
        if len(lines) > most:
            say(f"[{label}] … and {len(lines) - most} more {kind}")


class Proposals(Result):
    """What became of each proposal, in the order given."""

    rows: list[dict[str, Any]]

    def as_dict(self) -> dict[str, Any]:
        """Counts (`accepted` has the quarantined ones too), and each proposal's id, title, action and reasons."""
        actions = [row["action"] for row in self.rows]
        return {
            "status": "ok",
            "accepted": actions.count("accept") + actions.count("quarantine"),
            "rejected": actions.count("reject") + actions.count("error"),
            "quarantined": actions.count("quarantine"),
            "duplicate": actions.count("duplicate"),
            "items": self.rows,
        }


def store_proposals(
    batch: StatementBatch, entries: "Iterable[tuple[str, Proposed | None, Sequence[str]]]", reason: str
) -> Proposals:
    """Judge and store what is proposed: each entry's title, the proposal unless it cannot be used, what is wrong.

    A proposal without why_store is stored for policy.quarantine_expiry_hours only.
    """
    rows: list[dict[str, Any]] = []
    pending: list[dict[str, Any]] = []
    policy = batch.ctx.policy
    for title, found, problems in entries:
        row: dict[str, Any] = {"title": title, "action": "error", "reasons": list(problems)}
        rows.append(row)
        if found is None:
            continue
        item = batch.proposed(found)
        row["title"] = item.title
        if clean.is_blank(item.content):
            row["reasons"].append("content only repeats injected memory")
            continue
        if not found.proposal.why_store.strip():
            item.expires_at = ids.timestamp(ids.now_seconds() + 3600 * policy.expiry_hours)
        batch.add(item, found.importance)
        pending.append(row)
    outcomes = batch.store(reason).outcomes
    standing = standings_of(batch.ctx, [done.id for done in outcomes if done.id])
    tell_similar(batch.ctx, reason, outcomes, standing)
    for row, item, done in zip(pending, batch.items, outcomes, strict=True):
        kind = outcome_kind(done)
        row["action"] = _ACTIONS[kind]
        if kind != "stored":
            row["reasons"] += done.reasons
        elif item.expires_at:
            row["action"], row["reasons"] = "quarantine", [*row["reasons"], NO_REASON]
            row["next"] = (
                f"recalled until {item.expires_at[:16]} UTC, then gone; proposed again with why_store, it stays"
            )
        if done.id:
            row.update(standing[done.id])
        if done.replaced:
            row["replaced"] = done.replaced
    # A title may hold the very secret that the proposal was rejected for.
    keys = ("id", "title", "action", "reasons", "standing", "expires_at", "next", "replaced", "similar")
    return Proposals(rows=[
        {key: row[key] for key in keys if key in row} | {"title": policy.redact(row["title"])} for row in rows
    ])  # fmt: skip
