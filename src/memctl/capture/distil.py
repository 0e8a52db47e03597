"""What of a conversation is worth keeping, found by form alone: decisions and their reasons, what somebody always wants
done so, errors and what fixed them, commands that worked, what files are for, and what is still to do.

A candidate is in the words of whoever said it, and names the exchange that it stands in. No model is asked: what is
found is a proposal, which people go through (`memctl review`), and a model may refine (`consolidate --candidates`).

Stored, it is a short-term statement with the turn that it was said in as evidence. It goes through policy as every
statement does, and is gone after a while unless somebody keeps it, or says the same in another conversation. What
nearly repeats a statement that is there adds its turn to it instead of an item, unless that conversation was told the
statement: what memory said itself shows nothing.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from memctl import ids
from memctl.annotations import TYPE_CHECKING, Literal, NamedTuple
from memctl.capture import cues
from memctl.capture.record import Exchange
from memctl.capture.turns import Command, Turn
from memctl.ingest import statements
from memctl.lifecycle.conflicts import find_similar
from memctl.store import sessions, transcripts
from memctl.store.database import Database
from memctl.store.items import attributes, items
from memctl.store.quarantine import protected_items
from memctl.text import clean, contradiction, source_trust
from memctl.text.clean import one_line
from memctl.types import MemoryItem, MemoryProvenance

if TYPE_CHECKING:
    from memctl.lifecycle.conflicts import Similar
    from memctl.policy import MemoryPolicy

Kind = Literal["decision", "preference", "fix", "command", "file", "task"]
#: The type of the statement that each becomes.
TYPES: dict[Kind, str] = {
    "decision": "decision", "preference": "constraint", "fix": "pattern", "command": "pattern", "file": "fact",
    "task": "todo",
}  # fmt: skip
#: Characters of a sentence that may be one; of a turn that is looked at; of a whole candidate.
_LEAST, _MOST, _LOOKED_AT, _WHOLE = 10, 400, 20_000, 600
#: Words of a candidate that are no small ones; candidates of one exchange.
_LEAST_WORDS = 2
_MOST_OF_EXCHANGE = 4
#: Candidates of what is distilled at once: where every sentence decides something, nobody goes through all of them.
_MOST_AT_ONCE = 100
#: A choice answers a question so many prompts before it at most.
_QUESTION_BEFORE = 2
#: Two candidates of a session with this share of common words are one.
_ALIKE = 0.6
#: What somebody quotes, or has pasted, is not what they say.
_QUOTED = re.compile(r"[\"“„«][^\"“”»]{60,}[\"”»]|^(?:>|\t| {2,}).*$", re.MULTILINE)
_CODE = re.compile(r"^(```|~~~).*?(?:^\1|\Z)", re.DOTALL | re.MULTILINE)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+(?=\S)|(?<=[。！？])|\n+")  # noqa: RUF001
_LIST_MARK = re.compile(r"^(?:[-*+>#]+|\d+[.)])\s+")


class WorthKeeping(NamedTuple):
    """Something worth keeping.

    kind      what sort of thing it is
    text      what is to be kept
    exchange  where it was said; the number of it in what was given
    by        who said it
    asked     the question that it answers; "" for none
    """

    kind: Kind
    text: str
    exchange: int
    by: str
    asked: str = ""


def distil(exchanges: Sequence[Exchange]) -> list[WorthKeeping]:
    """The candidates of one conversation, in order; what is said again in it is one.

    Of more than `_MOST_AT_ONCE` those of a person go before those of an assistant, and the newest before older ones.
    """
    found = _Found()
    asked_before = [""] * _QUESTION_BEFORE
    commands: dict[str, WorthKeeping] = {}
    for number, one in enumerate(exchanges):
        if one.asked is not None:
            for kind, text, asked in _of_prompt(one.asked, asked_before):
                found.add(WorthKeeping(kind, text, number, "user", asked))
            asked_before = [*asked_before[1:], one.asked.text]
        if one.answered is not None:
            told = {found.all[at].kind for at in found.near if found.all[at].exchange == number}
            for kind, text in _of_answer(one.answered, exchanges[number : number + 2]):
                if kind != "task" or kind not in told:  # else it repeats what the prompt says
                    found.add(WorthKeeping(kind, text, number, "assistant"))
            for purpose, line in _commands(one.answered.commands):
                commands[purpose] = WorthKeeping("command", line, number, "assistant")
    best = sorted([*found.all, *commands.values()], key=lambda one: (one.by == "user", one.exchange))[-_MOST_AT_ONCE:]
    return sorted(best, key=lambda one: one.exchange)


class _Found:
    """The candidates of a conversation so far."""

    def __init__(self) -> None:
        self.all: list[WorthKeeping] = []
        self._texts: list[str] = []
        self.near: list[int] = []  # where those of this exchange and the one before stand

    def add(self, new: WorthKeeping) -> None:
        """Take one, unless it says next to nothing, the session has said it already, or its exchange has enough."""
        new = new._replace(text=new.text.rstrip("; "))
        words, beside = _words(new.text), 0
        if len(words) < _LEAST_WORDS:
            return
        self.near = [at for at in self.near if new.exchange - self.all[at].exchange <= 1]
        says_more = any(map(new.text.__contains__, self._texts))
        for at in range(len(self.all)) if says_more else self.near:
            old = self.all[at]
            if old.text in new.text:
                self.all[at], self._texts[at] = new, new.text
                self.near = sorted({*self.near, at})
                return
            if new.exchange - old.exchange <= 1:
                beside += new.exchange == old.exchange
                there = _words(old.text)
                if len(words & there) >= _ALIKE * max(1, min(len(words), len(there))):
                    return
        if beside < _MOST_OF_EXCHANGE:
            self.near.append(len(self.all))
            self.all.append(new)
            self._texts.append(new.text)


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w{4,}|[\u3400-\u9fff]", text.casefold()))


# --- what a person says -----------------------------------------------------------------------------------------------


def _of_prompt(turn: Turn, asked_before: Sequence[str]) -> Iterator[tuple[Kind, str, str]]:
    """Decisions, preferences and tasks in a prompt, with what they answer; `asked_before`: the prompts before it."""
    text = _QUOTED.sub("", turn.text[:_LOOKED_AT])
    if not cues.PROMPT.search(text):
        return
    before, question = "", _question(asked_before[-1])
    for sentence in _sentences(text):
        said = bare = cues.NODS.sub("", sentence).strip()
        if cues.REFERS.search(said) or len(_words(said)) < _LEAST_WORDS:
            said = f"{before} {said}".strip()
        before = bare
        kind = _kind_of(said, sentence)
        if not kind or _asks(sentence) or cues.DOUBT.search(sentence):
            continue
        if kind == "choice":
            asked = next(filter(None, map(_question, reversed(asked_before))), "")
            if asked:
                yield "decision", f"{said} (asked: {asked})", asked
        else:
            yield kind, said, question if kind == "decision" and cues.OPEN.search(question) else ""
            question = "" if kind == "decision" else question  # the next one answers another question


def _kind_of(said: str, sentence: str) -> "Kind | Literal['choice', '']":
    """What a sentence of a person says, without what does not count before it, and as it stands; "" for nothing."""
    if cues.TASK.search(said):
        return "task"
    if cues.DECISION.search(said) and not cues.ORDER.search(said):
        return "decision"
    if cues.PREFERENCE.search(said):
        return "preference"
    return "choice" if cues.CHOICE.search(sentence) else ""


def _question(text: str) -> str:
    """The last question of a prompt; "" for none."""
    if "?" not in text and "？" not in text:  # noqa: RUF001
        return ""
    return next((one for one in reversed(list(_sentences(text[:_LOOKED_AT]))) if _asks(one)), "")


def _asks(sentence: str) -> bool:
    return sentence.rstrip(" )\"'").endswith(("?", "？"))  # noqa: RUF001


# --- what an assistant says -------------------------------------------------------------------------------------------


def _of_answer(turn: Turn, exchanges: Sequence[Exchange]) -> Iterator[tuple[Kind, str]]:
    """Fixes that held, what files are for, and tasks in an answer; `exchanges`: its own and the next."""
    text = turn.text[:_LOOKED_AT]
    if not cues.ANSWER.search(text):
        return
    sentences = [one for one in _sentences(text) if not _asks(one)]
    fix = _fix(sentences)
    fix = fix if fix and (turn.files or _worked(exchanges)) else ""
    if fix:
        yield "fix", fix
    for sentence in (cues.NODS.sub("", one) for one in sentences):
        kind: Kind | None = "task" if cues.TASK.search(sentence) else "file" if cues.FILE.search(sentence) else None
        if kind and not cues.DOUBT.search(sentence) and (kind == "task" or sentence not in fix):
            yield kind, sentence


def _fix(sentences: Sequence[str]) -> str:
    """What was wrong, and what put it right, as one text: from the sentence that says so to the one that says how."""
    fixed = [cues.FIXED.search(sentence) for sentence in sentences]
    for at, sentence in enumerate(sentences):
        if not any(fixed[at : at + 4]) or not cues.WRONG.search(sentence):
            continue
        for end in range(at, min(at + 4, len(sentences))):
            if fixed[end]:
                told = sentences[at : end + 1]
                if any(map(cues.WHY.search, told)):
                    return one_line(" ".join(told), _WHOLE)
    return ""


def _worked(exchanges: Sequence[Exchange]) -> bool:
    """Whether the last command of an answer worked, or the next prompt says that it does."""
    if any(one.answered and one.answered.commands and one.answered.commands[-1].exit_code == 0 for one in exchanges):
        return True
    return len(exchanges) > 1 and bool(exchanges[1].asked and cues.HOLDS.search(exchanges[1].asked.text[:200]))


def _commands(ran: Iterable[Command]) -> Iterator[tuple[str, str]]:
    """Commands that worked and say by themselves what they are for: its purpose, and the text."""
    for one in ran:
        line = one_line(one.line, _MOST)
        if one.exit_code == 0 and line == one.line.strip() and not cues.PARTIAL.search(line):
            for purpose, pattern in cues.PURPOSES:
                if pattern.search(line):
                    yield purpose, f"`{line}` {purpose}."
                    break


def _sentences(text: str) -> Iterator[str]:
    """The sentences of a text without its code; what is too short or too long to be one thing is left out."""
    for line in _SENTENCE.split(_CODE.sub("\n", text)):
        said = _LIST_MARK.sub("", line.strip())
        if (len(said) >= _LEAST or (not said.isascii() and len(said) > 4)) and len(said) <= _MOST:
            yield one_line(said, _MOST)


#: Days after which one that nobody keeps is gone, and how sure of it one is, by who said it.
KEPT_DAYS = 90
_CONFIDENCE = {"user": 0.6, "assistant": 0.4}
_TITLE_CHARS = 80
#: Turns that are named as evidence of one statement.
_MOST_EVIDENCE = 20


class Compared(NamedTuple):
    """A statement that a conversation proposes.

    origin   what the exchange that it stands in is known by; `timed` whether the client says when that was
    by       who said it
    similar  statements that it nearly repeats or contradicts
    """

    item: MemoryItem
    origin: str
    timed: bool
    by: str
    similar: "list[Similar]"


def gather_candidates(
    db: Database, session_id: str, scope: str, exchanges: Sequence[Exchange], told: Sequence[str] = ()
) -> list[Compared]:
    """What is worth keeping of exchanges of a session in a scope, compared with what is known. Nothing is written.

    told  texts that memory gave the session: who says them again in other words proposes nothing
    """
    found: list[Compared] = []
    with db.snapshot():
        for one in distil(exchanges):
            if any(contradiction.repeats_told(one.text, text) for text in told):
                continue
            exchange = exchanges[one.exchange]
            item = _item(one, exchange, session_id, scope)
            found.append(Compared(item, exchange.origin, bool(exchange.first.time), one.by, find_similar(db, item)))
    return found


def keep_candidates(
    db: Database, policy: "MemoryPolicy", session_id: str, found: Sequence[Compared]
) -> dict[str, int]:  # fmt: skip
    """Store candidates of a session that is in the store; how many are new (`candidates`), and how many are evidence of
    what was known (`repeats`).
    """
    if not found:
        return {"candidates": 0, "repeats": 0}
    numbers = transcripts.known_origins(db, session_id)
    new: list[MemoryItem] = []
    contradicted: dict[str, list[tuple[str, str]]] = {}
    repeats, said = 0, list[str]()
    with db.atomic():
        for one in found:
            source = one.item.provenance
            if number := numbers.get(one.origin, 0):
                source.chunk_ids = [f"{session_id}#{number}", *source.chunk_ids]
            same = next((known.id for known in one.similar if known.is_repeat), "")
            if same:
                said.append(same)
                repeats += _add_evidence(db, same, one, session_id)
                continue
            before = next(
                (old.provenance for old in new if contradiction.find_repeat(one.item.content, old.content)), None
            )
            if before is not None:  # the conversation itself says it again
                before.chunk_ids = list(dict.fromkeys([*before.chunk_ids, *source.chunk_ids]))[:_MOST_EVIDENCE]
                repeats += 1
                continue
            new.append(one.item)
            contradicted[one.item.id] = [(known.id, known.why) for known in one.similar]
        done = statements.store_statements(db, policy, new, reason="capture", by_model=True, contradicted=contradicted)
        sessions.note_items(db, session_id, [*said, *(outcome.id for outcome in done if outcome.id)], now=False)
    stored = sum(outcome.kind == "stored" for outcome in done)
    return {"candidates": stored, "repeats": repeats + sum(outcome.kind == "duplicate" for outcome in done)}


def _item(one: WorthKeeping, exchange: Exchange, session_id: str, scope: str) -> MemoryItem:
    """The statement that a candidate becomes. An assistant's word is marked as a model's."""
    source = MemoryProvenance("chat", f"{source_trust.CAPTURED}:{session_id}")
    if one.by == "assistant":
        source.chunk_ids = [*source_trust.mark("chat", source.source_id, source_trust.CAPTURED)]
    title = clean.one_line(one.text, _TITLE_CHARS) + (f" (asked: {one.asked})" if one.asked else "")
    item = MemoryItem(
        tier="stm", type=TYPES[one.kind], title=clean.one_line(title), content=one.text,
        tags=[one.kind], confidence=_CONFIDENCE[one.by], scope=scope, provenance=source,
        expires_at=ids.timestamp(ids.now_seconds() + KEPT_DAYS * 86_400),
    )  # fmt: skip
    said = (exchange.asked if one.by == "user" else exchange.answered) or exchange.first
    if said.time:
        item.created_at = said.time
    return item


def _add_evidence(db: Database, known_id: str, one: Compared, session_id: str) -> bool:
    """Name the turn of a repeat in the statement that it repeats, unless it is a copy of a turn that is named there.

    One that a person says in another conversation stays for good; a model may have read it.
    """
    known, new = items.get(db, known_id), one.item
    if known is None or known.id in protected_items(db, [known]) or attributes.was_told(db, known_id, session_id):
        return False
    source = known.provenance
    turns = [one for one in new.provenance.chunk_ids if "#" in one and one not in source.chunk_ids]
    there = [one for one in source.chunk_ids if "#" in one]
    if not turns or len(there) >= _MOST_EVIDENCE or transcripts.is_copy(db, turns[0], there, timed=one.timed):
        return False
    source.chunk_ids = [*source.chunk_ids, *turns]
    changes: dict[str, object] = {"provenance": source.to_dict()}
    captured = source.source_id.startswith(source_trust.CAPTURED)
    if one.by == "user" and captured and source.source_id != new.provenance.source_id:
        changes["expires_at"] = None
    items.update(db, known.id, changes, "capture", compact=True)
    return True
