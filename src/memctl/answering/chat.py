"""A chat in progress: turns that are answered from the store, commands between them, and what is recorded of it."""

from collections.abc import Sequence
from typing import NamedTuple

from memctl import errors, ids
from memctl.annotations import TYPE_CHECKING, Annotated, Any
from memctl.answering.answer import GAP, Ground, GroundedAnswer, Model, least_coverage
from memctl.context import Context
from memctl.ingest import statements
from memctl.item_policy import holding_rules
from memctl.llm.command import Spend
from memctl.llm.controller import LoopPlan
from memctl.llm.working import ChatExchange, session_block
from memctl.names import DEFAULT_SCOPE
from memctl.operation import CREATE, Arg, Group
from memctl.parameters import ReadRequest, WriteTarget
from memctl.reading.block import explain_delivery
from memctl.store import sessions
from memctl.store.filters import Filters
from memctl.store.items import items
from memctl.text import clean
from memctl.text.block import markers
from memctl.text.tokens import estimate_tokens
from memctl.types import MemoryProvenance
from memctl.writing import StatementBatch, standing_words, standings_of, tell_outcomes

if TYPE_CHECKING:
    from memctl.folders.mounted import Visit
    from memctl.ingest.statements import StatementOutcome

#: What sessions that were recorded here name as their client.
CLIENT = "memctl chat"
#: Phrases by which an answer says that its context was too thin (contract of older memctl).
UNSURE = (
    "insufficient", "cannot find", "not enough context", "no information", "unclear", "unable to determine",
    "no relevant", "not available",
)  # fmt: skip
_TITLE_CHARS = 80
#: Lines of a kind, and ids, that are printed of what was stored.
_LINES = 10

#: Each command's words after its name, and what it does.
COMMANDS = {
    "help": ("", "this list"),
    "sources": ("", "where the passages of the last context come from"),
    "why": ("", "why these passages: the search, the scores, the calls of the model"),
    "save": ("[TITLE]", "store the last answer, governed as everything that is stored"),
    "forget": (
        "[MEM-… …]",
        "take the last turn back: out of the session, and what it stored into the archive; or these items",
    ),
    "scope": ("[NAME|all|folder]", "show or change what is recalled"),
    "clear": ("", "forget the turns of the session so far; what is stored stays"),
    "quit": ("", "end the chat (quit, exit and Ctrl-D do too)"),
}
#: Words that end the chat without a slash.
QUIT = ("quit", "exit")


class ChatCommand(NamedTuple):
    """A command to the chat: its name without the slash, and the rest of the line."""

    name: str
    rest: str = ""


def parse_line(line: str) -> "ChatCommand | str":
    """A line as a command or, without the slash that `//` escapes one with, as a question."""
    if line.strip().lower() in QUIT:
        return ChatCommand("quit")
    if line.startswith("//"):
        return line[1:]
    if not line.startswith("/") or "\n" in line:
        return line
    name, _, rest = line[1:].partition(" ")
    return ChatCommand(name.lower(), rest.strip())


def help_lines() -> list[str]:
    """The list that /help prints."""
    names = {f"/{name} {words}".rstrip(): about for name, (words, about) in COMMANDS.items()}
    width = max(map(len, names))
    rows = [f"{name:<{width}}  {about}" for name, about in names.items()]
    return [*rows, "Anything else is a question; // at its beginning stands for a / of its own."]


class ChatOptions(Group):
    """What the model is told of earlier turns, and what is kept of a chat."""

    session: Annotated[bool, Arg("let the model see earlier turns", "--session")] = False
    history_turns: Annotated[
        int, Arg("earlier turns that the model sees at most", "--history-turns", ge=0, le=1000)
    ] = 5
    session_budget: Annotated[
        int, Arg("characters of earlier turns at most, beside --budget", "--session-budget", ge=0, le=4_000_000)
    ] = 4000
    store: Annotated[bool, Arg("store answers as notes, and record the turns as a session", "--store")] = False
    tags: Annotated[list[str] | None, Arg("tags of stored answers, beside the tag chat", "--tags", comma=True)] = None
    resume: Annotated[
        str | None,
        Arg(
            "continue a recorded session, by its id or `last`; implies --session and --store", "--resume", metavar="ID"
        ),
    ] = None


def find_session(ctx: Context, name: str) -> sessions.Session:
    """A session that was recorded: by its id, or the `last` one of a chat. Raises SessionNotFound."""
    if name == "last":
        found = next((one for one in sessions.list_sessions(ctx.db) if one.client == CLIENT), None)
    else:
        found = sessions.get_session(ctx.db, name)
    if found is None:
        raise errors.SessionNotFound(id=name)
    return found


class ChatRecorder:
    """Stores answers as notes and records turns, in a scope and in the session with this id."""

    def __init__(self, ctx: Context, scope: str, tags: Sequence[str], session: str = "") -> None:
        self.ctx, self.scope = ctx, scope
        self.tags = clean.union(list(tags), ["chat"])
        self.session = session or f"{scope}:{ids.new_id('CHAT')}"
        self._begun = bool(session)

    def store(self, question: str, answer: str, title: str = "") -> list[str]:
        """Store an answer as a note, in parts when it is long; the ids of what is new in the store."""
        content, repeated = markers.without_injected(answer)
        if clean.is_blank(content):
            why = "only repeats injected memory" if repeated else "is empty"
            self.ctx.warn(f"[chat] Not stored: the answer {why}")
            return []
        source = MemoryProvenance("chat", f"memctl-chat:{self.session}" if self._begun else "memctl-chat")
        target = WriteTarget(scope=self.scope, tags=self.tags, session=self.session if self._begun else None)
        batch = StatementBatch(self.ctx, "memctl-chat", target, source)
        batch.add(batch.statement(content, clean.one_line(title) or clean.one_line(question, _TITLE_CHARS)))
        self.ctx.allow(CREATE)
        kept = batch.store("chat-store", cut=True)
        rows = standings_of(self.ctx, [outcome.id for outcome in kept.stored if outcome.quarantined])

        def line(outcome: "StatementOutcome") -> str:
            reasons = "; ".join(outcome.reasons)
            if outcome.kind == "rejected":
                return f"Not stored, rejected by policy: {reasons}"
            if outcome.kind == "duplicate":
                return f"Known already: {outcome.id}"
            return f"Stored as {outcome.id}, but {standing_words(rows[outcome.id])} and kept out of recall: {reasons}"

        warn, note = self.ctx.warn, self.ctx.note
        kinds = (("rejected", warn), ("quarantined", warn), ("duplicate", note))
        tell_outcomes("chat", kept.outcomes, line, kinds, _LINES)
        if kept.redacted:
            warn(f"[chat] Policy redacted {kept.redacted} part(s) of what was stored")
        free = [outcome.id for outcome in kept.stored if not outcome.quarantined]
        if free:
            parts = f"{len(free)} notes: " if len(free) > 1 else "note "
            note(f"[chat] Stored as {parts}{', '.join(free[:_LINES])}{', …' * (len(free) > _LINES)}")
        return [outcome.id for outcome in kept.stored]

    def record(self, question: str, answer: str, sources: Sequence[str]) -> int:
        """Append a turn to the session; its number."""
        self.ctx.allow(CREATE)
        done = statements.record_turn(
            self.ctx.db, self.ctx.policy, self.session, question, answer, sources, scope=self.scope, client=CLIENT
        )
        self._begun = True
        if done.redacted:
            self.ctx.warn("[chat] Policy blotted something out of the recorded turn")
        if not done.injectable:
            self.ctx.warn("[chat] The recorded turn speaks to a model: it is kept for you, and given to none")
        return done.number

    def take_back(self, stored: Sequence[str], turn: int) -> None:
        """Archive what a turn stored, and delete the turn from the session."""
        self.ctx.allow(CREATE)
        with self.ctx.db.atomic():
            gone = [item_id for item_id in stored if items.archive(self.ctx.db, item_id, "forget")]
            if turn:
                sessions.drop_turn(self.ctx.db, self.session, turn)
        if gone:
            self.ctx.note(f"[chat] Archived: {', '.join(gone)}")


class PastTurn:
    """What a chat remembers of a turn.

    exchange  what the window shows of it, as policy leaves it; None when it is in no window
    stored    ids of notes that hold the answer; number: of the recorded turn, 0 when it is not recorded
    """

    __slots__ = ("exchange", "number", "stored", "title")

    def __init__(self, title: str, exchange: ChatExchange | None, number: int = 0) -> None:
        self.title, self.exchange, self.number = title, exchange, number
        self.stored: list[str] = []


class ChatTurn(NamedTuple):
    """A question that was answered, what its answer was made from, and where that was looked for."""

    question: str
    grounded: GroundedAnswer
    ground: Ground
    spend: Spend
    past: PastTurn

    def as_dict(self) -> dict[str, Any]:
        """The turn as `--json` prints it."""
        done = self.grounded.result
        return {
            "question": self.question, "answer": done.answer, "sources": [str(one) for one in self.grounded.sources],
            "recall_items_used": len(self.grounded.ids), "loop_iterations": done.iterations,
            "converged": done.converged, "stop_reason": done.stop_reason, "truncated": done.truncated,
            "stored_ids": list(self.past.stored), "spend": self.spend.as_dict(),
        }  # fmt: skip


class Conversation:
    """The state of a chat. What is recalled is of `scope` (None: of every one), or of the visited folder."""

    def __init__(
        self, model: Model, plan: LoopPlan, options: ChatOptions, recorder: ChatRecorder, visit: "Visit | None",
        embedder: str | None,
    ) -> None:  # fmt: skip
        self.ctx, self.model, self.plan, self.options = model.ctx, model, plan, options
        self.recorder, self.visit, self.embedder = recorder, visit, embedder
        self.spend = Spend()
        self.turns: list[PastTurn] = []
        self.last: ChatTurn | None = None
        self._start = 0  # of the turns that the window may show
        self.recall_from(recorder.scope, folder=visit is not None)

    def recall_from(self, scope: str | None, *, folder: bool = False) -> None:
        """Recall from here on from a scope (and global), from every scope (None), or from the folder."""
        below = self.visit.root.prefix if folder and self.visit is not None else None
        request = ReadRequest(
            scope=scope or DEFAULT_SCOPE, all_scopes=scope is None or below is not None, below=below,
            embedder=self.embedder, min_coverage=least_coverage(self.ctx),
        )  # fmt: skip
        self._ground = Ground(self.ctx, request, "chat")
        if below is not None and self.visit is not None:
            self.place = f"the folder {self.ctx.policy.redact(self.visit.folder)}"
        elif scope is None:
            self.place = "every scope"
        else:
            self.place = " and ".join(f"the scope {clean.one_line(name)}" for name in Filters.read_set(scope) or ())

    def resume(self) -> int:
        """Take up the recorded turns of the session, as far as the window shows them; how many."""
        for turn in sessions.list_turns(self.ctx.db, self.recorder.session, self.options.history_turns):
            exchange = self._exchange(turn.question, turn.answer) if turn.injectable else None
            self.turns.append(PastTurn(clean.one_line(turn.question, _TITLE_CHARS), exchange, turn.number))
        return len(self.turns)

    # --- one turn ------------------------------------------------------------------------------------------------

    def ask(self, question: str) -> ChatTurn:
        """Answer a question; it is in the window from now on. Raises what a model's failure raises."""
        plan, options, before = self.plan, self.options, ""
        if options.session:
            shown = [turn.exchange for turn in self.turns[self._start :] if turn.exchange is not None]
            before = session_block(shown, options.history_turns, options.session_budget)
        first = self._ground.block(question, plan.budget)
        if not first.ids:
            self.ctx.note("[chat] No matching items.")
        # The budget is that of what is recalled: the window has its own.
        roomy = plan._replace(budget=plan.budget + (estimate_tokens(before + GAP) if before else 0))
        spend = self.model.spend = Spend()
        try:
            grounded = self._ground.answer(self.model, roomy, question, first, before=before)
        finally:
            self.spend.add(spend)
        past = PastTurn(clean.one_line(question, _TITLE_CHARS), self._exchange(question, grounded.result.answer))
        self.turns.append(past)
        self.last = ChatTurn(question, grounded, self._ground, spend, past)
        return self.last

    def _exchange(self, question: str, answer: str) -> ChatExchange | None:
        """What the window may show of a turn: as much as it has room for, secrets and injected memory taken out."""
        if not self.options.session:
            return None
        answer = markers.without_injected(answer)[0].strip()
        if not answer:
            return None
        texts = []
        for text in (question, answer):
            judged = self.ctx.policy.judge(text[: self.options.session_budget])
            if holding_rules(judged.findings):
                self.ctx.warn("[chat] Policy keeps this turn out of the session: it speaks to a model")
                return None
            texts.append(judged.text)
        return ChatExchange(*texts)

    def settle(self, turn: ChatTurn) -> None:
        """What is done once an answer is out: uses are counted, and it is stored when that was asked for."""
        if turn.grounded.ids:
            items.mark_used(self.ctx.db, turn.grounded.ids, action="recall")
        self.model.tell_end(turn.grounded.result, how=False)
        answer = turn.grounded.result.answer
        if answer and self.options.store:
            sources = [str(source) for source in turn.grounded.sources]
            turn.past.number = self.recorder.record(turn.question, answer, sources)
            turn.past.stored += self.recorder.store(turn.question, answer)
        if self.plan.protocol == "passive" and any(phrase in answer.lower() for phrase in UNSURE):
            self.ctx.note("[info] Tip: rerun with --protocol json --max-calls 3, so that the model can ask for more")
        self.ctx.close()  # the next question may be long in coming

    # --- commands to the chat ------------------------------------------------------------------------------------

    def obey(self, command: ChatCommand) -> bool:
        """Do what a command says, on stderr; whether the chat goes on."""
        name, rest = command
        told: list[str] = []
        if name == "quit":
            return False
        if name == "help":
            told = help_lines()
        elif name == "forget":
            self._forget(rest)
        elif name == "scope" and rest == "folder" and self.visit is None:
            told = ["[chat] There is no folder: --folder PATH gives one"]
        elif name == "scope":
            if rest:
                self.recall_from(None if rest == "all" else rest, folder=rest == "folder")
            told = [f"[chat] Recalls from {self.place}"]
        elif name == "clear":
            self._start = len(self.turns)
            self.ctx.note("[chat] The session starts anew.")
        elif name in COMMANDS:
            told = self._about_last(name, rest)
        else:
            from difflib import get_close_matches

            guess = next(iter(get_close_matches(name, COMMANDS, 1, cutoff=0.5)), "")
            name = clean.one_line(name, 40)
            meant = f"; did you mean /{guess}?" if guess else ""
            told = [f"[chat] There is no /{name}{meant} (/help lists what there is; //{name} asks it)"]
        for line in told:
            self.ctx.warn(line)
        self.ctx.close()
        return True

    def _about_last(self, name: str, rest: str) -> list[str]:
        """Do /save, or say what /sources and /why say of the last answer."""
        turn = self.last
        if turn is None:
            return ["[chat] There is no answer yet."]
        if name == "save":
            turn.past.stored += self.recorder.store(turn.question, turn.grounded.result.answer, rest)
            return []
        if name == "sources":
            told = [f"{source}  {source.title}" for source in turn.grounded.sources]
            return told or ["[chat] Nothing was recalled for the last answer."]
        done = turn.grounded.result
        return [
            *explain_delivery(turn.ground.retriever, turn.question, self.plan.budget, turn.grounded.ids),
            f"[chat] {done.iterations} iteration(s), stop={done.stop_reason}; spent {turn.spend.line()}",
        ]

    def _forget(self, given: str) -> None:
        """Archive items, whoever stored them, or take back the last turn."""
        ids = [items.expand_id(self.ctx.db, word) for word in given.split()]
        missing = [item_id for item_id in ids if items.get(self.ctx.db, item_id) is None]
        if missing:
            self.ctx.warn(f"[chat] Item not found: {clean.one_line(missing[0])}")
        elif ids:
            self.recorder.take_back(ids, 0)
        elif not self.turns:
            self.ctx.warn("[chat] There is no turn to forget.")
        else:
            past = self.turns.pop()
            self._start = min(self._start, len(self.turns))
            self.last = None
            if past.stored or past.number:
                self.recorder.take_back(past.stored, past.number)
            self.ctx.note(f"[chat] Forgotten: {past.title}")
