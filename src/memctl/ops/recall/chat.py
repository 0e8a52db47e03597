"""memctl chat: questions one after the other, answered from the store."""

import os
import sys
from collections.abc import Iterator
from functools import partial

from memctl import errors, state
from memctl.annotations import Annotated, Any
from memctl.answering.answer import Model, ModelOptions
from memctl.answering.chat import ChatOptions, ChatRecorder, ChatTurn, Conversation, find_session
from memctl.context import Context
from memctl.folders import SyncMode, Visit, VisitOptions, bring_in, canonical_folder, mount_at
from memctl.ingest.statements import check_session_id
from memctl.llm import terminal
from memctl.names import DEFAULT_SCOPE
from memctl.operation import CREATE, READ, Arg, Fields, Result, operation
from memctl.parameters import Budget, ByMeaning

#: The file of what was typed, in the state folder.
HISTORY = "chat_history"


class Chat(Result):
    """A chat: it goes on while what it says is printed.

    interactive  somebody types the questions: Ctrl-C stops an answer, not the chat
    """

    verbatim = True
    ctx: Context
    conversation: Conversation
    interactive: bool

    def as_dict(self) -> dict[str, Any]:
        """All turns, once the questions have ended."""
        return {"status": "ok", "turns": list(self.as_json())}

    def as_json(self) -> Iterator[dict[str, Any]]:
        """One object a turn, while the chat goes on."""
        return (turn.as_dict() for turn in self.turns(whole=True))

    def turns(self, *, whole: bool = False) -> Iterator[ChatTurn]:
        """The turns as they are answered; commands are obeyed and failures told on the way.

        whole  a turn comes when all is done that follows from it; otherwise its answer comes first
        """
        self.ctx.begin_run("chat")
        try:
            for line in _questions(self.ctx):
                said = terminal.parse_line(line)
                try:
                    if isinstance(said, terminal.ChatCommand):
                        if not self.conversation.obey(said):
                            return
                        continue
                    turn = self.conversation.ask(said)
                except (errors.MemctlError, KeyboardInterrupt) as exc:
                    self._tell_failure(exc)
                    continue
                if not whole:
                    yield turn
                try:
                    self.conversation.settle(turn)
                except (errors.MemctlError, KeyboardInterrupt) as exc:
                    self._tell_failure(exc, "Not stored: ")
                if whole:
                    yield turn
        finally:
            if self.conversation.spend.calls:
                self.ctx.note(f"[chat] spent {self.conversation.spend.line()}")
            if self.conversation.options.store:
                from memctl.ops.care.consolidate import consolidate_at_end

                consolidate_at_end(self.ctx)

    def _tell_failure(self, exc: errors.MemctlError | KeyboardInterrupt, what: str = "") -> None:
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
        'printf "%s\\n" "Where do sessions live?" "How long?" | memctl chat --llm llm',
    ),
    exits={
        0: "the questions ended; also when the model failed at some of them",
        1: "there is no store, a source or folder cannot be used, or the model is not named",
    },
)
def chat(
    ctx: Context,
    *,
    options: Annotated[
        ModelOptions,
        Fields(
            "llm protocol max_calls threshold budget scope folder visiting source how system_prompt llm_mode "
            "timeout embedder stream"
        ),
    ],
    budget: Budget = 2200,
    scope: Annotated[
        str, Arg("recall items of this scope and of the scope global, and store there", "--scope")
    ] = DEFAULT_SCOPE,
    folder: Annotated[
        str | None,
        Arg("recall from this folder only; it is mounted and synced first", "--folder", metavar="PATH", path=True),
    ] = None,
    visiting: Annotated[VisitOptions, Fields("sync no_sync")],
    source: Annotated[
        list[str] | None,
        Arg("files, folders or glob patterns to ingest first", "--source", metavar="SOURCE", path=True),
    ] = None,
    how: Annotated[ChatOptions, Fields("session history_turns session_budget store tags resume")],
    embedder: ByMeaning = None,
) -> Chat:
    """Answer questions from the store, one after the other.

    On a terminal Enter sends a question, and a line that ends with \\ goes on; Ctrl-C drops what was typed or stops the
    model, quit, exit or Ctrl-D ends the chat, and answers are printed while they are made. From a pipe each line is a
    question. A line that begins with / is a command to the chat (/help lists them, in pipes too), one that begins with
    // a question. Stdout gets the answers, each with a blank line after it, and nothing else.
    """
    model = Model(ctx, options, "chat")
    plan = model.plan(budget)
    ctx.narrow(READ)
    before = find_session(ctx, how.resume) if how.resume is not None else None
    if before is not None:
        how.session = how.store = True
        scope = before.scope if scope == ctx.scope_named(DEFAULT_SCOPE) else scope
    recorder = ChatRecorder(ctx, scope, how.tags or (), before.id if before else "")
    if how.store:
        check_session_id(ctx.policy, recorder.session)  # an id that is refused is an error now, not at the first turn
    if source:
        _ingest(ctx, source, scope)
    if folder is None and visiting.when != "auto":
        ctx.warn("[chat] --sync and --no-sync are for --folder: not used")
    visit = None if folder is None else _visit(ctx, folder, visiting.when)
    if how.store:
        ctx.allow(CREATE)
    _ = ctx.db  # a store that is missing is an error now, not after the first question
    conversation = Conversation(model, plan, how, recorder, visit, embedder)
    _greet(conversation, conversation.resume() if before else 0)
    ctx.close()
    return Chat(ctx=ctx, conversation=conversation, interactive="stdin" in ctx.tty)


def _ingest(ctx: Context, sources: list[str], scope: str) -> None:
    from memctl.folders import ingest_sources, limits
    from memctl.ingest.prepare import Options

    if "-" in sources:
        raise errors.UsageError("--source -: standard input is where the questions come from", command="chat")
    ctx.allow(CREATE)
    ingest_sources(ctx, "chat", sources, Options(ctx.config.ingest.chunk_tokens, (), scope, limits=limits(ctx)))


def _visit(ctx: Context, folder: str, when: SyncMode) -> Visit:
    path = canonical_folder(ctx, folder, "chat")
    visit = Visit(path, mount_at(ctx, path))
    bring_in(ctx, visit, when, "persist", {})
    return visit


def _greet(conversation: Conversation, resumed: int) -> None:
    ctx = conversation.ctx
    typed = "Enter to send, \\ at the end of a line to go on, quit or Ctrl-D to exit, Ctrl-C to cancel"
    how = typed if "stdin" in ctx.tty else "Ctrl-D to exit"
    ctx.note(f"memctl chat — {how}")
    if "stdin" in ctx.tty:
        ctx.note(f"recalls from {conversation.place}; /help lists the commands")
    if conversation.options.store:
        after = f", going on after {resumed} turn(s)" if resumed else ""
        ctx.note(f"session: recorded as {ctx.policy.redact(conversation.recorder.session)}{after}")
    elif conversation.options.session:
        ctx.note("session: in-memory only (not persisted)")


# --- where questions come from ---------------------------------------------------------------------------------------


def _questions(ctx: Context) -> Iterator[str]:
    if "stdin" not in ctx.tty or ctx.stdin is None:
        yield from terminal.piped_questions(ctx.stdin)
        return
    if not _is_our_terminal(ctx):
        yield from terminal.typed_questions(partial(terminal.unedited_line, ctx.stdin))
        return
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
            yield turn.grounded.result.answer
            yield ""
            continue
        try:
            emit("\n" if result.conversation.model.streamed else turn.grounded.result.answer + "\n\n")
        except KeyboardInterrupt:
            if not result.interactive:
                raise
            emit("\n")
