"""memctl chat: questions one after the other, answered from the store."""

import os
import sys
from collections.abc import Iterator

from memctl import errors
from memctl.annotations import TYPE_CHECKING, Annotated, Any
from memctl.answering import models
from memctl.context import Context
from memctl.folders.visiting import SyncMode
from memctl.names import DEFAULT_SCOPE
from memctl.operation import CREATE, READ, Arg, Result, operation
from memctl.parameters import Budget, ByMeaning

if TYPE_CHECKING:
    from memctl.answering.conversation import Talk, Turn
    from memctl.folders.visiting import Visit

#: The file of what was typed, in the state folder.
HISTORY = "chat_history"


Scope = Annotated[str, Arg("recall items of this scope and of the scope global, and store there", "--scope")]
Folder = Annotated[
    str | None, Arg("recall from this folder only; mounted and synced first", "--folder", metavar="PATH", path=True)
]
Sync = Annotated[SyncMode, Arg("read files of the folder that changed: if any, always or never", "--sync")]
Source = Annotated[
    list[str] | None, Arg("files, folders or glob patterns, ingested first", "--source", metavar="SOURCE", path=True)
]
HistoryTurns = Annotated[int, Arg("so many of them at most", "--history-turns", ge=0, le=1000)]
SessionBudget = Annotated[int, Arg("and so many characters, beside --budget", "--session-budget", ge=0, le=4_000_000)]
Resume = Annotated[
    str | None,
    Arg("go on with a recorded session, by its id or `last`; with --session and --store", "--resume", metavar="ID"),
]


class Chat(Result):
    """A chat: it goes on while what it says is printed.

    interactive  somebody types the questions: Ctrl-C stops an answer, not the chat
    streamed     answers are printed while they are made
    """

    __slots__ = ("ctx", "interactive", "streamed", "talk")
    verbatim = True

    def __init__(self, ctx: Context, talk: "Talk", *, streamed: bool) -> None:
        self.ctx, self.talk, self.streamed = ctx, talk, streamed
        self.interactive = "stdin" in ctx.tty

    def as_dict(self) -> dict[str, Any]:
        """All turns, once the questions have ended."""
        return {"status": "ok", "turns": list(self.as_json())}

    def as_json(self) -> Iterator[dict[str, Any]]:
        """One object a turn, while the chat goes on."""
        return (turn.as_dict() for turn in self.turns(whole=True))

    def turns(self, *, whole: bool = False) -> "Iterator[Turn]":
        """The turns as they are answered; commands are obeyed and failures told on the way.

        whole  a turn comes when all is done that follows from it; otherwise its answer comes first
        """
        from memctl.llm.terminal import ChatCommand, parse_line

        try:
            for line in _questions(self.ctx):
                said = parse_line(line)
                try:
                    if isinstance(said, ChatCommand):
                        if not self.talk.obey(said):
                            return
                        continue
                    turn = self.talk.ask(said)
                except (errors.MemctlError, KeyboardInterrupt) as exc:
                    self._told(exc)
                    continue
                if not whole:
                    yield turn
                try:
                    self.talk.settle(turn)
                except (errors.MemctlError, KeyboardInterrupt) as exc:
                    self._told(exc, "Not stored: ")
                if whole:
                    yield turn
        finally:
            if self.talk.spend.calls:
                self.ctx.note(f"[chat] spent {self.talk.spend.line()}")

    def _told(self, exc: "errors.MemctlError | KeyboardInterrupt", what: str = "") -> None:
        """Say what went wrong with a turn, so that the chat can go on. Raises Ctrl-C again when nobody types."""
        if isinstance(exc, KeyboardInterrupt):
            if not self.interactive:
                raise exc
            self.ctx.warn("[chat] Stopped.")
            return
        if isinstance(exc, errors.ModelFailed | errors.ModelTimeout | errors.ModelMissing | errors.ModelUnusable):
            what = "LLM error: "
        self.ctx.warn(f"[chat] {what}{exc.message}")
        self.ctx.close()


@operation(
    access=CREATE,
    examples=(
        'memctl chat --llm "claude -p"',
        'memctl chat --llm "claude -p" --folder docs/ --session --store',
        'memctl chat --llm "claude -p" --source notes/*.md --session',
        'memctl chat --llm "claude -p" --resume last',
        'printf "%s\\n" "Where do sessions live?" "And for how long?" | memctl chat --llm "claude -p" --session',
    ),
    exits={
        0: "the questions ended; also when the model failed at some of them",
        1: "there is no store, a source or folder cannot be used, or the model is not named",
    },
)
def chat(
    ctx: Context,
    *,
    llm: models.Llm = None,
    protocol: models.ProtocolArg = "passive",
    max_calls: models.MaxCalls = 1,
    threshold: models.Threshold = 0.92,
    budget: Budget = 2200,
    scope: Scope = DEFAULT_SCOPE,
    folder: Folder = None,
    sync: Sync = "auto",
    no_sync: Annotated[bool, Arg("the same as --sync never", "--no-sync")] = False,
    source: Source = None,
    session: Annotated[bool, Arg("let the model see the turns before", "--session")] = False,
    history_turns: HistoryTurns = 5,
    session_budget: SessionBudget = 4000,
    store: Annotated[bool, Arg("store answers as notes, and record the turns as a session", "--store")] = False,
    tags: Annotated[list[str] | None, Arg("tags for stored answers, beside chat", "--tags", comma=True)] = None,
    resume: Resume = None,
    system_prompt: models.SystemPrompt = None,
    llm_mode: models.LlmMode = "stdin",
    timeout: models.Timeout = 300.0,
    embedder: ByMeaning = None,
    stream: models.Stream = False,
) -> Chat:
    """Answer questions from the store, one after the other.

    On a terminal a question has several lines and a blank one sends it; Ctrl-C drops what was typed or stops the
    model, Ctrl-D ends the chat, and answers are printed while they are made. From a pipe each line is a question. A
    line that begins with / is a command to the chat (/help lists them, in pipes too), one that begins with // a
    question. Stdout gets the answers, each with a blank line after it, and nothing else.
    """
    from memctl.answering.conversation import Settings, Talk
    from memctl.answering.recording import Keeper, earlier
    from memctl.llm.controller import LoopPlan

    command = models.command_of(ctx, llm, llm_mode, timeout)
    models.refuse_both(ctx, "chat", stream=stream)
    plan = LoopPlan(
        protocol=protocol, max_calls=max_calls, threshold=threshold, budget=budget,
        system_prompt=models.system_prompt(ctx, system_prompt, "chat"),
    )  # fmt: skip
    ctx.narrow(READ)
    before = earlier(ctx, resume) if resume is not None else None
    session, store = session or before is not None, store or before is not None
    scope = before.scope if before and scope == DEFAULT_SCOPE else scope
    settings = Settings(
        plan, session=session, history_turns=history_turns, session_budget=session_budget, store=store,
        stream=(stream or "stdout" in ctx.tty) and not ctx.json, embedder=embedder,
    )  # fmt: skip
    keeper = Keeper(ctx, scope, tags or (), before.id if before else "")
    if store:
        keeper.check()
    if source:
        _ingest(ctx, source, scope)
    if folder is None and (no_sync or sync != "auto"):
        ctx.warn("[chat] --sync and --no-sync are for --folder: not used")
    visit = None if folder is None else _visited(ctx, folder, "never" if no_sync else sync)
    if store:
        ctx.allow(CREATE)
    _ = ctx.db  # a store that is missing is an error now, not after the first question
    talk = Talk(ctx, command, settings, scope=scope, visit=visit, keeper=keeper)
    _greet(ctx, talk, talk.go_on() if before else 0)
    ctx.close()
    return Chat(ctx, talk, streamed=settings.stream and ctx.emit is not None)


def _ingest(ctx: Context, sources: list[str], scope: str) -> None:
    from memctl.folders.documents import ingest_sources, limits
    from memctl.ingest.prepare import Options

    if "-" in sources:
        raise errors.UsageError("--source -: standard input is where the questions come from", command="chat")
    ctx.allow(CREATE)
    ingest_sources(ctx, "chat", sources, Options(ctx.config.ingest.chunk_tokens, (), scope, limits=limits(ctx)))


def _visited(ctx: Context, folder: str, when: SyncMode) -> "Visit":
    from memctl.folders.registered import canonical_folder, mount_at
    from memctl.folders.visiting import Visit, bring_in

    path = canonical_folder(ctx, folder, "chat")
    visit = Visit(path, mount_at(ctx, path))
    bring_in(ctx, visit, when, "persist", {})
    return visit


def _greet(ctx: Context, talk: "Talk", resumed: int) -> None:
    how = "blank line to send, Ctrl-D to exit, Ctrl-C to cancel" if "stdin" in ctx.tty else "Ctrl-D to exit"
    ctx.note(f"memctl chat — {how}")
    if "stdin" in ctx.tty:
        ctx.note(f"recalls from {talk.place()}; /help lists the commands")
    if talk.settings.store:
        after = f", going on after {resumed} turn(s)" if resumed else ""
        ctx.note(f"session: recorded as {ctx.policy.redact(talk.keeper.session)}{after}")
    elif talk.settings.session:
        ctx.note("session: in-memory only (not persisted)")


# --- where questions come from ---------------------------------------------------------------------------------------


def _questions(ctx: Context) -> Iterator[str]:
    from functools import partial

    from memctl.llm import terminal

    if "stdin" not in ctx.tty or ctx.stdin is None:
        yield from terminal.piped_questions(ctx.stdin)
        return
    if not _is_our_terminal(ctx):
        yield from terminal.typed_questions(partial(terminal.unedited_line, ctx.stdin))
        return
    from memctl import state

    older = os.path.join(ctx.env("XDG_DATA_HOME") or os.path.expanduser("~/.local/share"), "memctl", HISTORY)
    history = terminal.ChatHistory(
        os.path.join(state.folder(), HISTORY), ctx.config.chat.history_max,
        safe=lambda line: ctx.policy.redact(line) == line, older=older,
    )  # fmt: skip
    with terminal.edited_lines(history) as read:
        yield from terminal.typed_questions(read, cancelled=lambda: ctx.warn(""))
        ctx.warn("")  # the shell's prompt begins a line of its own


def _is_our_terminal(ctx: Context) -> bool:
    """Whether lines can be edited: on the process's own terminal, with stderr to draw on."""
    if sys.stdin is None or sys.stdout is None:  # closed; input() needs both
        return False
    try:
        return ctx.stdin is not None and ctx.stdin.fileno() == 0 and os.isatty(0) and "stderr" in ctx.tty
    except (OSError, ValueError):
        return False


def text(result: Chat) -> Iterator[str]:
    """Each answer with a blank line after it, at once."""
    emit = result.ctx.emit
    for turn in result.turns():
        if emit is None:
            yield turn.answer
            yield ""
            continue
        try:
            emit("\n" if result.streamed else turn.answer + "\n\n")
        except KeyboardInterrupt:
            if not result.interactive:
                raise
            emit("\n")
