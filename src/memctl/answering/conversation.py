"""A chat in progress: turns that are answered from the store, and the commands between them."""

from collections.abc import Callable

from memctl.annotations import TYPE_CHECKING, Any
from memctl.answering.grounding import Ground, Grounded, with_room_for
from memctl.answering.models import Model, least_coverage, streaming, tell_oddities
from memctl.answering.recording import Keeper
from memctl.context import Context
from memctl.llm import terminal
from memctl.llm.working import Exchange, session_block
from memctl.names import DEFAULT_SCOPE
from memctl.parameters import ReadRequest
from memctl.store.filters import Filters
from memctl.text.block import markers
from memctl.text.clean import one_line

if TYPE_CHECKING:
    from memctl.folders.visiting import Visit
    from memctl.llm.command import ModelCommand, Spend
    from memctl.llm.controller import LoopPlan

#: Phrases by which an answer says that its context was too thin (contract of older memctl).
UNSURE = (
    "insufficient", "cannot find", "not enough context", "no information", "unclear", "unable to determine",
    "no relevant", "not available",
)  # fmt: skip


class Past:
    """What a chat remembers of a turn.

    exchange  what the window shows of it, as policy leaves it; None when it is in no window
    stored    ids of notes that hold the answer; number: of the recorded turn, 0 when it is not recorded
    """

    __slots__ = ("exchange", "number", "stored", "title")

    def __init__(self, title: str, exchange: Exchange | None) -> None:
        self.title, self.exchange = title, exchange
        self.stored: list[str] = []
        self.number = 0


class Turn:
    """A question that was answered, what its answer was made from, and where that was looked for."""

    __slots__ = ("answer", "ground", "grounded", "past", "question", "spend")

    def __init__(self, question: str, grounded: Grounded, ground: Ground, spend: "Spend", past: Past) -> None:
        self.question, self.answer, self.grounded, self.spend = question, grounded.result.answer, grounded, spend
        self.ground, self.past = ground, past

    def as_dict(self) -> dict[str, Any]:
        """The turn as `--json` prints it."""
        done = self.grounded.result
        return {
            "question": self.question, "answer": self.answer, "sources": [str(one) for one in self.grounded.sources],
            "recall_items_used": len(self.grounded.ids), "loop_iterations": done.iterations,
            "converged": done.converged, "stop_reason": done.stop_reason, "truncated": done.truncated,
            "stored_ids": list(self.past.stored), "spend": self.spend.as_dict(),
        }  # fmt: skip


class Settings:
    """How a chat goes.

    plan            bounds of each turn; its budget is that of what is recalled
    session         whether earlier turns are in the prompt, the last `history_turns` within `session_budget` characters
    store           whether answers are stored and turns recorded
    """

    __slots__ = ("embedder", "history_turns", "plan", "session", "session_budget", "store", "stream")

    def __init__(
        self, plan: "LoopPlan", *, session: bool = False, history_turns: int = 5, session_budget: int = 4000,
        store: bool = False, stream: bool = False, embedder: str | None = None,
    ) -> None:  # fmt: skip
        self.plan, self.session, self.store, self.stream, self.embedder = plan, session, store, stream, embedder
        self.history_turns, self.session_budget = history_turns, session_budget


class Talk:
    """The state of a chat. What is recalled is of `scope` (None: of every one), or of the visited folder."""

    def __init__(
        self,
        ctx: Context,
        command: "ModelCommand",
        settings: Settings,
        *,
        scope: str,
        visit: "Visit | None",
        keeper: Keeper,
    ) -> None:
        from memctl.llm.command import Spend

        self.ctx, self.command, self.settings, self.keeper, self.visit = ctx, command, settings, keeper, visit
        self.spend = Spend()
        self.turns: list[Past] = []
        self.last: Turn | None = None
        self._start = 0  # of the turns that the window may show
        self.scope: str | None
        self.in_folder: bool
        self._ground: Ground
        self.look_in(scope, folder=visit is not None)

    def look_in(self, scope: str | None, *, folder: bool = False) -> None:
        """Recall from here on from a scope (and global), from every scope (None), or from the folder."""
        self.scope, self.in_folder = scope, folder and self.visit is not None
        below = self.visit.root.prefix if self.in_folder and self.visit is not None else None
        request = ReadRequest(
            scope=scope or DEFAULT_SCOPE, all_scopes=scope is None or below is not None, below=below,
            embedder=self.settings.embedder, min_coverage=least_coverage(self.ctx),
        )  # fmt: skip
        self._ground = Ground(self.ctx, request, "chat")

    def go_on(self) -> int:
        """Take up the recorded turns of the keeper's session, as far as the window shows them; how many."""
        from memctl.store import sessions

        for turn in sessions.list_turns(self.ctx.db, self.keeper.session, self.settings.history_turns):
            exchange = self._exchange(turn.question, turn.answer) if turn.injectable else None
            past = Past(one_line(turn.question, 80), exchange)
            past.number = turn.number
            self.turns.append(past)
        return len(self.turns)

    # --- one turn ------------------------------------------------------------------------------------------------

    def ask(self, question: str) -> Turn:
        """Answer a question; it is in the window from now on. Raises what a model's failure raises."""
        plan = self.settings.plan
        before = self._window()
        first = self._ground.block(question, plan.budget)
        if not first.ids:
            self.ctx.note("[chat] No matching items.")
        model = Model(self.ctx, self.command, "chat")
        roomy = plan._replace(budget=with_room_for(plan.budget, before))
        try:
            with streaming(self.ctx, wanted=self.settings.stream) as out:
                grounded = self._ground.answer(model, roomy, question, first, before=before, stream=out)
        finally:
            self.spend.add(model.spend)
        past = Past(one_line(question, 80), self._exchange(question, grounded.result.answer))
        self.turns.append(past)
        self.last = Turn(question, grounded, self._ground, model.spend, past)
        return self.last

    def _window(self) -> str:
        settings = self.settings
        if not settings.session:
            return ""
        shown = [turn.exchange for turn in self.turns[self._start :] if turn.exchange is not None]
        return session_block(shown, settings.history_turns, settings.session_budget)

    def _exchange(self, question: str, answer: str) -> Exchange | None:
        """What the window may show of a turn: as much as it has room for, secrets and injected memory taken out."""
        if not self.settings.session:
            return None
        answer = markers.without_injected(answer)[0].strip()
        if not answer:
            return None
        texts = []
        for text in (question, answer):
            judged = self.ctx.policy.judge(text[: self.settings.session_budget])
            if any(finding.action == "quarantine" for finding in judged.findings):
                self.ctx.warn("[chat] Policy keeps this turn out of the session: it speaks to a model")
                return None
            texts.append(judged.text)
        return Exchange(*texts)

    def settle(self, turn: Turn) -> None:
        """What is done once an answer is out: uses are counted, and it is stored when that was asked for."""
        if turn.grounded.ids:
            from memctl.store.items import items

            items.mark_used(self.ctx.db, turn.grounded.ids, action="recall")
        tell_oddities(self.ctx, "chat", turn.grounded.result)
        if turn.answer and self.settings.store:
            sources = [str(source) for source in turn.grounded.sources]
            turn.past.number = self.keeper.record(turn.question, turn.answer, sources)
            turn.past.stored += self.keeper.store(turn.question, turn.answer)
        if self.settings.plan.protocol == "passive" and any(phrase in turn.answer.lower() for phrase in UNSURE):
            self.ctx.note("[info] Tip: rerun with --protocol json --max-calls 3, so that the model can ask for more")
        self.ctx.close()  # the next question may be long in coming

    # --- commands to the chat ------------------------------------------------------------------------------------

    def obey(self, command: terminal.ChatCommand) -> bool:
        """Do what a command says, on stderr; whether the chat goes on."""
        doing: dict[str, Callable[[str], None]] = {
            "help": self._help, "sources": self._sources, "why": self._why, "save": self._save,
            "forget": self._forget, "scope": self._scope, "clear": self._clear,
        }  # fmt: skip
        if command.name == "quit":
            return False
        if command.name in doing:
            doing[command.name](command.rest)
            self.ctx.close()
            return True
        guess, name = terminal.nearest_command(command.name), one_line(command.name, 40)
        meant = f"; did you mean /{guess}?" if guess else ""
        self.ctx.warn(f"[chat] There is no /{name}{meant} (/help lists what there is; //{name} asks it)")
        return True

    def _help(self, _rest: str) -> None:
        self._say(terminal.help_lines())

    def _sources(self, _rest: str) -> None:
        turn = self._answered()
        if turn is not None:
            told = [f"{source}  {source.title}" for source in turn.grounded.sources]
            self._say(told or ["[chat] Nothing was recalled for the last answer."])

    def _why(self, _rest: str) -> None:
        turn = self._answered()
        if turn is None:
            return
        self._say(turn.ground.why(turn.question, self.settings.plan.budget, turn.grounded.ids))
        done = turn.grounded.result
        self._say([f"[chat] {done.iterations} iteration(s), stop={done.stop_reason}; spent {turn.spend.line()}"])

    def _save(self, rest: str) -> None:
        turn = self._answered()
        if turn is not None:
            turn.past.stored += self.keeper.store(turn.question, turn.answer, rest)

    def _forget(self, rest: str) -> None:
        if rest:
            self.keeper.archive(rest)
        elif not self.turns:
            self.ctx.warn("[chat] There is no turn to forget.")
        else:
            past = self.turns.pop()
            self._start = min(self._start, len(self.turns))
            self.last = None
            if past.stored or past.number:
                self.keeper.take_back(past.stored, past.number)
            self.ctx.note(f"[chat] Forgotten: {past.title}")

    def _scope(self, rest: str) -> None:
        if rest == "folder" and self.visit is None:
            self.ctx.warn("[chat] There is no folder: --folder PATH gives one")
            return
        if rest:
            self.look_in(None if rest == "all" else rest, folder=rest == "folder")
        self.ctx.warn(f"[chat] Recalls from {self.place()}")

    def place(self) -> str:
        """What is recalled, in words."""
        if self.in_folder and self.visit is not None:
            return f"the folder {self.ctx.policy.redact(self.visit.folder)}"
        if self.scope is None:
            return "every scope"
        return " and ".join(f"the scope {one_line(name)}" for name in Filters.read_set(self.scope) or ())

    def _clear(self, _rest: str) -> None:
        self._start = len(self.turns)
        self.ctx.note("[chat] The session starts anew.")

    def _answered(self) -> Turn | None:
        if self.last is None:
            self.ctx.warn("[chat] There is no answer yet.")
        return self.last

    def _say(self, lines: list[str]) -> None:
        for line in lines:
            self.ctx.warn(line)
