"""memctl chat: questions one after the other, answered from the store."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

from memctl import errors, state
from memctl.annotations import TYPE_CHECKING, Annotated, Any
from memctl.answering.answer import Model, ModelOptions
from memctl.answering.chat import (
    ChatCommand,
    ChatOptions,
    ChatRecorder,
    ChatTurn,
    Conversation,
    find_session,
    parse_line,
)
from memctl.context import Context
from memctl.folders.mounted import Visit, VisitOptions, bring_in, canonical_folder, mount_at
from memctl.ingest.statements import check_session_id
from memctl.names import DEFAULT_SCOPE
from memctl.operation import CREATE, READ, Arg, Fields, Result, operation
from memctl.parameters import Budget, ByMeaning
from memctl.text.clean import clean

if TYPE_CHECKING:
    from typing import BinaryIO

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
                said = parse_line(line)
                try:
                    if isinstance(said, ChatCommand):
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
    visit = None
    if folder is not None:
        path = canonical_folder(ctx, folder, "chat")
        visit = Visit(path, mount_at(ctx, path))
        bring_in(ctx, visit, visiting.when, "persist", {})
    if how.store:
        ctx.allow(CREATE)
    _ = ctx.db  # a store that is missing is an error now, not after the first question
    conversation = Conversation(model, plan, how, recorder, visit, embedder)
    _greet(conversation, conversation.resume() if before else 0)
    ctx.close()
    return Chat(ctx=ctx, conversation=conversation, interactive="stdin" in ctx.tty)


def _ingest(ctx: Context, sources: list[str], scope: str) -> None:
    from memctl.folders.documents import ingest_sources, limits
    from memctl.ingest.prepare import Options

    if "-" in sources:
        raise errors.UsageError("--source -: standard input is where the questions come from", command="chat")
    ctx.allow(CREATE)
    ingest_sources(ctx, "chat", sources, Options(ctx.config.ingest.chunk_tokens, (), scope, limits=limits(ctx)))


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
        yield from piped_questions(ctx.stdin)
        return
    if not _is_our_terminal(ctx):
        yield from typed_questions(partial(unedited_line, ctx.stdin))
        return
    older = os.path.join(ctx.env("XDG_DATA_HOME") or os.path.expanduser("~/.local/share"), "memctl", HISTORY)
    history = ChatHistory(
        os.path.join(state.folder(), HISTORY), ctx.config.chat.history_max,
        safe=lambda line: ctx.policy.redact(line) == line, older=older,
    )  # fmt: skip
    with edited_lines(history) as read:
        yield from typed_questions(read, cancelled=lambda: ctx.warn(""))
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


# --- the terminal -----------------------------------------------------------------------------------------------------
#
# Questions are typed on a terminal, or come one a line from a pipe. On a terminal Enter sends what was typed, and a
# line that ends with a backslash goes on; Ctrl-C drops what was typed, Ctrl-D sends it too, or ends the chat when
# nothing is typed. Lines are edited with readline where Python has it; what was typed is remembered in a file.

PROMPT, MORE = "> ", ". "


# --- questions ----------------------------------------------------------------------------------------------------


def piped_questions(stream: "BinaryIO | None") -> Iterator[str]:
    """One question a line; blank lines are none."""
    for number, line in enumerate(stream or ()):
        text = clean(line.decode("utf-8-sig" if number == 0 else "utf-8", "replace")).strip()
        if text:
            yield text


def typed_questions(read: Callable[[str], str], cancelled: Callable[[], None] = lambda: None) -> Iterator[str]:
    """A question a line; a line that ends with a backslash goes on with the next, and what is pasted comes as a whole.

    read       takes a prompt and gives one line without its end; raises EOFError and KeyboardInterrupt
    cancelled  is called after Ctrl-C
    """
    while True:
        lines: list[str] = []
        ended = False
        while True:
            try:
                typed = read(MORE if lines else PROMPT)
            except EOFError:
                ended = True
                break
            except KeyboardInterrupt:
                cancelled()
                lines.clear()
                continue
            pasted = typed.splitlines() or [""]
            lines += pasted
            if not lines[-1].endswith("\\"):
                break
            lines[-1] = lines[-1][:-1]
        question = clean("\n".join(lines)).strip()
        if question:
            yield question
        elif ended:
            return


def unedited_line(stream: "BinaryIO", _prompt: str) -> str:
    """The next line as the stream gives it; the prompt is not shown. Raises EOFError."""
    line = stream.readline()
    if not line:
        raise EOFError
    return line.decode("utf-8", "replace").rstrip("\r\n")


# --- a terminal ---------------------------------------------------------------------------------------------------


@contextmanager
def edited_lines(history: "ChatHistory") -> Iterator[Callable[[str], str]]:
    """A reader of lines from the process's own terminal, with line editing; prompts go to stderr.

    Nothing of it reaches stdout, even when that is a file: readline writes what it draws to descriptor 1, so this one
    leads to stderr while a line is typed.
    """
    sys.stdin.reconfigure(errors="replace")  # type: ignore[union-attr]
    lines = history.lines()
    try:
        import readline
    except ImportError:
        readline = None  # type: ignore[assignment]
    else:
        readline.set_auto_history(False)
        readline.clear_history()
        for line in lines:
            readline.add_history(line)
    latest = ""

    def read(prompt: str) -> str:
        nonlocal latest
        if sys.stdout is not None:
            sys.stdout.flush()
        saved = os.dup(1)
        try:
            os.dup2(2, 1)
            line = input(prompt)
        finally:
            os.dup2(saved, 1)
            os.close(saved)
        if line.strip() and line != latest:
            latest = line
            history.add(line)
            if readline is not None:
                readline.add_history(line)
        return line

    try:
        yield read
    finally:
        if readline is not None:
            readline.clear_history()


class ChatHistory:
    """What was typed before: a line each in a file that only its owner may read.

    path   the file, "" for none
    most   lines that are kept
    safe   whether a line may be remembered (a secret may not)
    older  where older memctl kept its lines: taken over when there is no file at `path`
    """

    def __init__(self, path: str, most: int, safe: Callable[[str], bool], older: str = "") -> None:
        self._path, self._most, self._safe, self._older = path, most, safe, older

    def lines(self) -> list[str]:
        """The lines remembered, oldest first. A file that grew to twice its limit is cut."""
        lines = _read_lines(self._path)
        before = [] if lines is not None else list(filter(self._safe, _read_lines(self._older) or ()))
        kept = (lines or before)[-self._most :]
        if before or len(lines or ()) > 2 * self._most:
            with suppress(OSError):
                part = f"{self._path}.{os.getpid()}.part"
                _write_private(part, os.O_TRUNC, "".join(line + "\n" for line in kept))
                os.replace(part, self._path)
        return kept

    def add(self, line: str) -> None:
        """Remember a line; a file that cannot be written to is no error."""
        if self._path and self._safe(line):
            with suppress(OSError):
                _write_private(self._path, os.O_APPEND, " ".join(line.split()) + "\n")


def _write_private(path: str, flag: int, text: str) -> None:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    number = os.open(path, os.O_WRONLY | os.O_CREAT | flag, 0o600)
    with open(number, "w", encoding="utf-8", errors="replace") as file:
        os.fchmod(number, 0o600)
        file.write(text)


def _read_lines(path: str) -> list[str] | None:
    """The lines of a file; None when it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return [line.rstrip("\n") for line in file]
    except (OSError, ValueError):
        return None
