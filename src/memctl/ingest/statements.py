"""The one gate through which what somebody says gets into the store: one form, policy, duplicates, one transaction.

A statement is a short text that somebody (a person, a model) says; documents go through `ingest.run`. A statement that
the store knows already adds what is new about it (tags, entities, sources, confidence, importance) to the item there.

A turn of a conversation is treated as a document is: secrets are blotted out of it. One that speaks to a model
(injected instructions, a page that was quoted) is kept for people, and marked so that no model is given it again.
"""

from collections.abc import Mapping, Sequence

from memctl import citing, errors, ids
from memctl.annotations import TYPE_CHECKING, Literal, NamedTuple
from memctl.item_policy import REDACTED, ItemPolicy, holding_rules, redact_across, tidy_statement
from memctl.store import conflicts, purge, sessions
from memctl.store.database import Database
from memctl.store.documents.passages import get_positions
from memctl.store.items import attributes, events
from memctl.store.items import items as store
from memctl.store.items.attributes import ImportanceChanges
from memctl.store.quarantine import protected_items, standings
from memctl.text import clean, source_trust
from memctl.types import MemoryItem

if TYPE_CHECKING:
    from memctl.lifecycle.conflicts import Similar
    from memctl.policy import MemoryPolicy, PolicyVerdict
    from memctl.text.references import Reference

#: From this number of statements in one run, revisions say "as the row still is" instead of copying a text that is cut.
_COMPACT_FROM = 101
#: Why a statement is rejected that somebody has deleted for good.
RETRACTED = "a person said that it is wrong, and put it away; memctl restore and verify say otherwise"
PURGED = "it was purged, and is not stored again; memctl remember --again stores it"


class StatementOutcome(NamedTuple):
    """What became of one statement.

    id       of the new item, or of the one that says the same already; empty when it was rejected
    reasons  why policy rejected or quarantined it; they never quote the text
    changed  whether a duplicate added anything to the item that was there
    replaced the id of the item that this one supersedes now, or several, with commas
    similar  items that it nearly repeats or contradicts, each with what shows it
    """

    kind: Literal["stored", "duplicate", "rejected"]
    title: str
    id: str = ""
    reasons: tuple[str, ...] = ()
    quarantined: bool = False
    changed: bool = False
    replaced: str = ""
    similar: "tuple[Similar, ...]" = ()


class StatementOutcomes(NamedTuple):
    """What became of statements of any length: one outcome for each part, and how many stored ones were redacted."""

    outcomes: list[StatementOutcome]
    redacted: int

    @property
    def stored(self) -> list[StatementOutcome]:
        """The parts that are new in the store."""
        return [outcome for outcome in self.outcomes if outcome.kind == "stored"]


def store_long_statements(
    db: Database,
    policy: "MemoryPolicy",
    items: Sequence[MemoryItem],
    *,
    reason: str,
    importance: Mapping[str, float] | None = None,
    replaced: Mapping[str, Sequence[str]] | None = None,
    by_model: bool = False,
    contradicted: Mapping[str, Sequence[tuple[str, str]]] | None = None,
) -> StatementOutcomes:
    """Store governed statements of any length: what is too long for policy is stored in parts.

    reason      stands in the revisions ("pull")
    importance  how much an item matters, by its id; its parts matter as much
    replaced    by an item's id those that it supersedes; of several parts the first does
    by_model    as for `store_statements`
    """
    said, old = dict(importance or {}), dict(replaced or {})
    parts: list[MemoryItem] = []
    wholes: list[int] = []
    redacted: set[str] = set()
    for number, item in enumerate(items):
        given_id = item.id
        divided, some_redacted = divide_statement(policy, item)
        parts += divided
        wholes += [number] * len(divided)
        redacted.update(some_redacted)
        if given_id in said:
            said.update(dict.fromkeys((part.id for part in divided), said[given_id]))
        if given_id in old:
            old[divided[0].id] = old[given_id]
    outcomes = []
    if parts:
        outcomes = store_statements(
            db, policy, parts, reason=reason, wholes=wholes, importance=said, replaced=old, by_model=by_model,
            contradicted=contradicted,
        )  # fmt: skip
    return StatementOutcomes(outcomes, sum(o.id in redacted for o in outcomes if o.kind == "stored"))


def store_statements(
    db: Database,
    policy: "MemoryPolicy",
    items: Sequence[MemoryItem],
    *,
    reason: str,
    wholes: Sequence[int] = (),
    importance: Mapping[str, float] | None = None,
    replaced: Mapping[str, Sequence[str]] | None = None,
    again: bool = False,
    by_model: bool = False,
    cites: "Mapping[str, Sequence[Reference]] | None" = None,
    contradicted: Mapping[str, Sequence[tuple[str, str]]] | None = None,
) -> list[StatementOutcome]:
    """Judge statements and store them in one transaction; what became of each, in the order given.

    What policy quarantines is stored with the tier, validation and expiry that the verdict forces, not injectable.

    reason      stands in the revisions ("pull")
    wholes      for each item the number of the text that it is a part of: parts of one text are no duplicates of each
                other
    importance  how much an item matters, by its id, where somebody said it
    replaced    by an item's id those that it supersedes: they are archived once the item, or one that says the same,
                may be given to a model; what policy holds back, or what is to expire, replaces nothing
    again       what was purged before is stored
    by_model    nothing is added to an item that a person vouches for, and what a person retracted does not come back
    cites       by an item's id the places that it was said to cite
    contradicted  by an item's id those that it contradicts, and why: a conflict is noted, unless policy holds it back
    """
    judge = ItemPolicy(policy)
    verdicts = []
    for item in items:
        tidy_statement(item)
        verdicts.append(judge.judge(item))
    with events.judged_write(db, policy.switches):
        if again:
            purge.lift(db, hashes=[item.content_hash for item in items])
        writer = _StatementWriter(db, judge, importance or {}, dict(zip((i.id for i in items), wholes, strict=False)))
        writer.by_model = by_model
        outcomes = writer.write(items, verdicts, reason)
        _cite(db, items, outcomes, cites or {})
        for at, item in enumerate(items if replaced else ()):
            done = outcomes[at]
            if done.kind == "rejected" or done.quarantined or item.expires_at is not None:
                continue
            old_ids = [old_id for old_id in (replaced or {}).get(item.id, ()) if old_id != done.id]
            for old_id in old_ids:
                attributes.supersede(db, old_id, done.id)
            outcomes[at] = done._replace(replaced=", ".join(old_ids))
        if contradicted:
            new = [one.id for one in outcomes if one.kind == "stored" and not one.quarantined]
            pairs = [(old_id, new_id, why) for new_id in new for old_id, why in contradicted.get(new_id, ())]
            conflicts.open_conflicts(db, pairs)
        return outcomes


def _cite(
    db: Database,
    items: Sequence[MemoryItem],
    outcomes: Sequence[StatementOutcome],
    cites: "Mapping[str, Sequence[Reference]]",
) -> None:
    """Tie new items, and known ones of which more places were named, to what they cite."""
    given = {done.id: cites[item.id] for item, done in zip(items, outcomes, strict=True) if cites.get(item.id)}
    new = [item for item, done in zip(items, outcomes, strict=True) if done.kind == "stored"]
    known = store.get_many(db, [done.id for done in outcomes if done.kind == "duplicate" and done.id in given])
    citing.cite(db, [*new, *known], given)


def divide_statement(policy: "MemoryPolicy", item: MemoryItem) -> tuple[list[MemoryItem], list[str]]:
    """A statement that is too long for policy, cut along its structure into parts that are not. Nothing is lost.

    Before it is cut it is treated as the document it is: secrets are blotted out, because half of one is none that a
    rule could find. Parts are titled `title · part 1/3`. The second value: the ids of the parts that are redacted.
    """
    limit = policy.max_content_length
    text = clean.statement(item.content)
    if len(text) <= limit or item.type == "pointer":
        return [item], []
    judged = policy.judge(text)
    texts = cut_text(clean.statement(judged.text), limit)
    if not texts:  # far too many findings: it is refused whole, for its length
        return [item], []
    parts = [item] if len(texts) == 1 else [MemoryItem.from_dict(item.to_dict()) for _ in texts]
    for number, (part, content) in enumerate(zip(parts, texts, strict=True), 1):
        part.content = content
        if len(texts) > 1:
            tail = f" · part {number}/{len(texts)}"
            part.id, part.title = ids.new_id(), clean.one_line(item.title, clean.TITLE_CHARS - len(tail)) + tail
    return parts, [part.id for part in parts if judged.redacted and REDACTED in part.content]


def cut_text(text: str, limit: int) -> list[str]:
    """The text in pieces of at most `limit` characters, cut at headings and paragraphs where there are any.

    What has neither is cut before white space where there is any; nothing is lost.
    """
    from memctl.text.chunking import chunk

    # A token counts as four characters or fewer, so a piece of this many tokens fits nearly always.
    tokens = max(limit // 4, 20)
    pieces: list[str] = []
    for passage in chunk(text, kind="markdown", max_tokens=tokens, target_tokens=max(tokens * 4 // 5, 20)):
        rest = passage.text
        while len(rest) > limit:
            end = max(rest.rfind(" ", limit // 2, limit), rest.rfind("\n", limit // 2, limit))
            end = end if end > 0 else limit
            pieces.append(rest[:end])
            rest = rest[end:]
        pieces.append(rest)
    return [piece for piece in map(str.strip, pieces) if piece]


class _StatementWriter:
    """Compares judged statements with what the store holds and writes them, inside the caller's transaction.

    importance  how much an item matters, by its id
    wholes      the number of the text that an item is a part of, by its id
    """

    def __init__(
        self, db: Database, policy: ItemPolicy, importance: Mapping[str, float], wholes: Mapping[str, int]
    ) -> None:
        self.db, self.policy, self.importance, self.wholes = db, policy, importance, wholes
        self.said = ImportanceChanges()
        # (content hash, scope, corpus or None for any, whether it is held back) -> the item that says it
        self.known: dict[tuple[str, str, str | None, bool], MemoryItem] = {}
        self.purged: set[str] = set()  # hashes of what somebody purged
        self.retracted: set[tuple[str, str]] = set()  # hashes and scopes of what was said to be wrong and put away
        self.by_model = False
        self.protected: set[str] = set()  # what a person vouches for
        self.held: dict[str, PolicyVerdict] = {}
        self.fresh: dict[str, MemoryItem] = {}
        self.changed: dict[str, MemoryItem] = {}

    def write(
        self, items: Sequence[MemoryItem], verdicts: "Sequence[PolicyVerdict]", reason: str
    ) -> list[StatementOutcome]:
        """Store what is new; what became of each statement."""
        pairs = list(zip(items, verdicts, strict=True))
        self._look_up([item for item, verdict in pairs if not verdict.rejected])
        outcomes = [self._decide(item, verdict) for item, verdict in pairs]
        store.write_many(self.db, list(self.fresh.values()), reason, compact=len(self.fresh) >= _COMPACT_FROM)
        if self.held:
            held = {item_id: sorted({f.rule for f in verdict.findings}) for item_id, verdict in self.held.items()}
            store.set_withheld(self.db, {item_id: ("policy", rules) for item_id, rules in held.items()})
        for item in self.changed.values():
            item.touch()
        if self.changed:
            store.write_many(self.db, list(self.changed.values()), "merge")
        self.said.write(self.db)
        return outcomes

    def _look_up(self, items: Sequence[MemoryItem]) -> None:
        hashes = {item.content_hash for item in items}
        self.purged = purge.purged_hashes(self.db, hashes)
        found = store.ids_by_hash(self.db, hashes)
        wanted = [known.id for group in found.values() for known in group if not known.archived]
        raw = {i for i, why in store.withheld_reasons(self.db, wanted).items() if why == "raw"}
        passages = get_positions(self.db, wanted)
        if self.importance:
            self.said.look(self.db, wanted)
        now, there = ids.timestamp(), store.get_many(self.db, wanted)
        if self.by_model:
            self.protected = set(protected_items(self.db, there))
            away = store.get_many(self.db, [known.id for group in found.values() for known in group if known.archived])
            self.retracted = {(one.content_hash, one.scope) for one in away if one.validation == "retracted"}
        for item in there:
            # A passage lives and dies with its document, a raw one is not in recall, an expired one is gone: a
            # statement that relied on one of these would be lost with it.
            gone = item.expires_at is not None and item.expires_at <= now
            if not (gone or item.id in raw or item.id in passages or item.provenance.is_passage):
                self._learn(item)

    def _learn(self, item: MemoryItem) -> None:
        for corpus in {item.corpus_id, None}:
            self.known.setdefault((item.content_hash, item.scope, corpus, not item.injectable), item)

    def _decide(self, item: MemoryItem, verdict: "PolicyVerdict") -> StatementOutcome:
        reasons = tuple(verdict.reasons)
        if verdict.rejected:
            return StatementOutcome("rejected", item.title, reasons=reasons)
        held = verdict.forced_non_injectable
        # The item that says the same, within the item's corpus if it is for one. One that is held back stands only for
        # another that is.
        key = (item.content_hash, item.scope, item.corpus_id)
        there = self.known.get((*key, False))
        if there is None and (held or not item.injectable):
            there = self.known.get((*key, True))
        if there is not None and (item.id not in self.wholes or self.wholes[item.id] != self.wholes.get(there.id)):
            # What policy holds back must not reach an item that may be injected, but for what a person released there.
            if held and self._is_released(there, verdict):
                held, reasons = False, ()
            matters = is_more = False
            if not held and there.id not in self.protected:
                matters = self.said.rises(there.id, self.importance.get(item.id))
                is_more = absorb_duplicate(there, item)
                if is_more and there.id not in self.fresh:
                    self.changed[there.id] = there
            return StatementOutcome("duplicate", item.title, there.id, reasons, held, is_more or matters)
        if item.content_hash in self.purged:
            return StatementOutcome("rejected", item.title, reasons=(PURGED,))
        if (item.content_hash, item.scope) in self.retracted:
            return StatementOutcome("rejected", item.title, reasons=(RETRACTED,))
        if held:
            self.policy.hold(item, verdict)
            self.held[item.id] = verdict
        self.fresh[item.id] = item
        self.said.rises(item.id, self.importance.get(item.id), new=True)
        self._learn(item)
        return StatementOutcome("stored", item.title, item.id, reasons, held)

    def _is_released(self, there: MemoryItem, verdict: "PolicyVerdict") -> bool:
        """Whether a person has let this very text out of quarantine; tags and sources that come with it now are new."""
        if any(f.field not in ("title", "content") for f in verdict.findings):  # its title stays the one that is there
            return False
        standing = standings(self.db, [there])[there.id]
        return self.policy.is_released(standing, {f.rule for f in verdict.findings})


def absorb_duplicate(there: MemoryItem, new: MemoryItem) -> bool:
    """Add to an item what another one that says the same knows besides; whether that was anything.

    First spellings of tags and entities stay, the higher confidence counts, and a second source is kept among the
    provenance's references. What was to expire stays for good when it is said again without an end.
    """
    source, other = there.provenance, new.provenance
    before = (there.tags, there.entities, there.confidence, there.expires_at, source.to_dict())
    there.tags = clean.union(there.tags, new.tags)
    there.entities = clean.union(there.entities, new.entities)
    there.confidence = max(there.confidence, new.confidence)
    if there.injectable and new.expires_at is None:
        there.expires_at = None
    # A mark says how far the source of its own item is trusted, and nothing of another one's.
    chunks = source_trust.unmarked(other.chunk_ids)
    if not source.source_id:
        source.source_kind, source.source_id = other.source_kind, other.source_id
        chunks = other.chunk_ids
    elif other.source_id and other.source_id != source.source_id:
        chunks = [other.source_id, *chunks]
        if other.source_kind != source.source_kind:
            source.source_kind = "mixed"
    source.chunk_ids = list(dict.fromkeys((*source.chunk_ids, *chunks)))
    source.content_hashes = list(dict.fromkeys((*source.content_hashes, *other.content_hashes)))
    return before != (there.tags, there.entities, there.confidence, there.expires_at, source.to_dict())


# --- turns of a conversation ------------------------------------------------------------------------------------------

#: In characters: the longest id of a session.
_ID_CHARS = 200
#: Characters of turns that are judged as one text, beside each turn by itself.
_JUDGED_AT_ONCE = 16_000


class RecordedTurn(NamedTuple):
    """The number of a turn, whether policy blotted something out of it, and whether a model may be given it again."""

    number: int
    redacted: bool = False
    injectable: bool = True


def check_session_id(policy: "MemoryPolicy", session_id: str) -> str:
    """A session's id in the form it is stored in. Raises SessionInvalid for none, and for one that policy refuses."""
    wanted = clean.one_line(session_id, _ID_CHARS)
    if not wanted or wanted != session_id.strip():
        raise errors.SessionInvalid(reason=f"an id is one line of 1 to {_ID_CHARS} characters")
    if ItemPolicy(policy).refuses(wanted):
        raise errors.SessionInvalid(reason="the id holds what no statement may")
    return wanted


def begin_session(
    db: Database,
    policy: "MemoryPolicy",
    session_id: str,
    *,
    scope: str | None = None,
    client: str = "",
    title: str = "",
    fixed: bool = False,
) -> sessions.Session:
    """The session with this id, made when there is none. Raises SessionInvalid.

    fixed: one that is there must be in `scope` already: whoever sees one workspace gets no hold of other conversations
    """
    wanted = check_session_id(policy, session_id)
    there = sessions.get_session(db, wanted) if fixed else None
    if there is not None and there.scope != scope:
        raise errors.SessionInvalid(reason="it belongs to another scope")
    if ItemPolicy(policy).refuses(scope or "", client, title):
        raise errors.SessionInvalid(reason="its title, its scope or the client's name holds what no statement may")
    scope, client, title = (clean.one_line(word or "") for word in (scope, client, title))
    return sessions.begin_session(db, wanted, scope=scope or None, client=client, title=title)


def note_said(
    db: Database, policy: "MemoryPolicy", session_id: str, item_ids: Sequence[str], scope: str, *, fixed: bool = False
) -> None:
    """Note that items were said in a session, which begins in `scope` when there is none. Raises SessionInvalid."""
    wanted = check_session_id(policy, session_id)
    if not item_ids:
        return
    there = sessions.get_session(db, wanted)
    with db.atomic():
        begin_session(db, policy, wanted, scope=scope if fixed or there is None else None, fixed=fixed)
        sessions.note_items(db, wanted, item_ids)


def record_turn(
    db: Database,
    policy: "MemoryPolicy",
    session_id: str,
    question: str,
    answer: str,
    sources: Sequence[str] = (),
    *,
    scope: str | None = None,
    client: str = "",
) -> RecordedTurn:
    """Append a turn to a session, made when there is none. Raises SessionInvalid."""
    judged = judge_turn(policy, question, answer)
    places = [policy.judge(place, field="provenance").text for place in map(clean.one_line, sources) if place]
    with db.atomic():
        session = begin_session(db, policy, session_id, scope=scope, client=client)
        number = sessions.add_turn(
            db, session.id, judged.question, judged.answer, places, injectable=judged.injectable
        )  # fmt: skip
    return RecordedTurn(number, judged.redacted, judged.injectable)


class JudgedTurn(NamedTuple):
    """A turn as policy left it: whether something was blotted out of it, and whether a model may be given it again."""

    question: str
    answer: str
    redacted: bool
    injectable: bool


def judge_turn(policy: "MemoryPolicy", question: str, answer: str) -> JudgedTurn:
    """Judge what was asked and answered, also across the two of them."""
    return judge_turns(policy, [(question, answer)])[0]


def judge_turns(policy: "MemoryPolicy", said: Sequence[tuple[str, str]]) -> list[JudgedTurn]:
    """Judge questions with their answers that follow one another, also for secrets that are divided among them."""
    given = [f"{text}\n" if text else "" for turn in said for text in map(clean.statement, turn)]
    left, start = given[:], 0
    while start < len(left) - 1:
        end = start + 2
        while end < len(left) and sum(map(len, left[start : end + 1])) <= _JUDGED_AT_ONCE:
            end += 1
        left[start:end] = redact_across(policy, left[start:end])
        start = end - 1  # what ends there may begin here
    verdicts = [policy.judge(clean.statement(text)) for text in left]
    out = []
    for at in range(0, len(left), 2):
        asked, answered = verdicts[at : at + 2]
        redacted = left[at : at + 2] != given[at : at + 2] or asked.redacted or answered.redacted
        holding = holding_rules((*asked.findings, *answered.findings))
        out.append(JudgedTurn(asked.text, answered.text, redacted, not holding))
    return out


def record_answer(db: Database, policy: "MemoryPolicy", session_id: str, text: str) -> RecordedTurn:
    """Put the answer to a session's open question, or append it as a turn of its own. Raises SessionInvalid."""
    judged = policy.judge(clean.statement(text))
    injectable = not holding_rules(judged.findings)
    with db.atomic():
        session = begin_session(db, policy, session_id)
        number = sessions.answer_turn(db, session.id, judged.text, injectable=injectable)
    return RecordedTurn(number, judged.redacted, injectable)
