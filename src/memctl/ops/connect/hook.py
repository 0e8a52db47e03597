"""memctl hook: what a client runs at its events, so that its model is told what memory knows."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from memctl import errors
from memctl.annotations import TYPE_CHECKING, Annotated
from memctl.context import Context
from memctl.names import PROMPTED, STARTED
from memctl.operation import READ, WRITE, Access, Arg, PlainResult, operation

if TYPE_CHECKING:
    from memctl.clients.known import Client, Event
    from memctl.reading.hook_context import SessionMemory

#: Seconds after which a hook ends without a word. Clients wait longer; on a busy machine its own work takes one or two.
DEADLINE = 4.0


@operation(
    access=READ,
    silent=True,
    examples=(
        "memctl hook --client claude session-start < event.json  # as a client runs it",
        'echo \'{"prompt": "deploy?"}\' | memctl hook --client claude prompt --json',
    ),
    exits={0: "whatever happens: memory must not stop a client", 1: "no such client or event"},
)
def hook(
    ctx: Context,
    event: Annotated[
        str,
        Arg("session-start, prompt, pre-compact, post-compact, stop or session-end, or the client's word for it"),
    ],
    *,
    client: Annotated[str, Arg("who asks, as memctl setup names it", "--client")],
    deadline: Annotated[
        float, Arg("end without a word after this many seconds", "--deadline", metavar="SECONDS", ge=0.05, le=60)
    ] = DEADLINE,
) -> PlainResult:
    """Tell a client's model what memory knows, at an event of the client.

    The event stands as JSON on standard input, the answer on stdout in the words of that client. At the start of a
    session these are the statements that bind, within 600 tokens; at a prompt, what answers it, within 400, by the rule
    of `recall --auto`: for most prompts that is nothing. Nothing is told twice in a session, nothing that policy holds
    back, and nothing from a store that you did not trust. Where a session begins, or goes on after compaction, it is
    also told what the last one left open. When a turn or a session ends, and before compaction, what was said is taken
    in, as `memctl capture` does (not with capture.hooks false). No store is made, no network is used.
    """
    from memctl.clients import known

    asked = known.client(client)
    name = known.event_name(asked, event)
    if not name:
        raise errors.UsageError(f"'{event}' is no event at which {asked.title} calls memctl", command="hook")
    with _ended_after(deadline):
        data = b"" if ctx.stdin is None else ctx.stdin.read(known.MOST_OF_EVENT + 1)
        return _answer(ctx, asked, known.read_event(name, data))


@contextmanager
def _ended_after(seconds: float) -> Iterator[None]:
    """End the process with 0 when what is done here takes longer, whatever it waits for; reads leave nothing behind."""
    import _thread

    done = _thread.allocate_lock()
    done.acquire()

    def wait() -> None:
        if not done.acquire(timeout=seconds):
            os._exit(0)

    _thread.start_new_thread(wait, ())
    try:
        yield
    finally:
        done.release()


def _answer(ctx: Context, client: "Client", event: "Event") -> PlainResult:
    """What the client is to read of an event, as a result; its lines are empty where there is nothing to say."""
    from memctl.clients import known
    from memctl.reading import hook_context

    memory = hook_context.SessionMemory(client.name, event.session)
    if event.name in ("pre-compact", "post-compact") or event.source in ("clear", "compact"):
        memory.forget()
    told: tuple[str, list[str], Callable[[], object] | None] = "", [], None
    inner: Context | None = None
    if event.name in known.TAKING:
        _take_in(_silent(ctx, event, WRITE), client, event)
    if event.name in known.TELLING:
        inner = _silent(ctx, event, READ)
        told = _context(inner, event, memory)
        if told[1]:
            from memctl.text.tokens import estimate_tokens

            memory.keep(event.prompt, told[1], estimate_tokens(told[0]))
    context, ids, settle = told
    text = known.answer(client, event.name, context)
    data = {
        "status": "ok" if text else "silent", "client": client.name, "event": event.name, "context": context,
        "ids": ids,
    }  # fmt: skip

    def settled() -> None:
        if settle is not None:
            settle()
        if inner is not None:
            inner.close()  # the process ends at once: what was counted would stay in a log beside the store

    return PlainResult(data, [text] if text else [], after=settled, verbatim=True)


def _silent(ctx: Context, event: "Event", access: Access) -> Context:
    """The surroundings of the folder that the client works in; they say nothing to anybody but the model."""
    inner = Context(
        db=ctx.db_flag,
        config=ctx.config_flag,
        environ=ctx.environ,
        cwd=event.folder if os.path.isabs(event.folder) and os.path.isdir(event.folder) else ctx.cwd,
        emit=lambda _piece: None,
        quiet=True,
    )
    inner.allow(access)
    return inner


def _take_in(ctx: Context, client: "Client", event: "Event") -> None:
    """Take in what was said since the last event, as a run that `undo` takes back."""
    from memctl import handover

    ctx.begin_run("capture")
    try:
        handover.take_in(ctx, client, event)
    finally:
        ctx.end_run()
        ctx.close()


def _context(
    ctx: Context, event: "Event", memory: "SessionMemory"
) -> "tuple[str, list[str], Callable[[], object] | None]":
    """What the model is told, the items that it was given whole, and the bookkeeping for when it is out."""
    from memctl.reading import hook_context

    if event.name == "prompt":
        found = hook_context.at_prompt(ctx, event.prompt, memory)
        if found is None:
            return "", [], None
        return PROMPTED + found.text, list(found.block.ids), found.settle
    from memctl import handover

    memory.drop_old()
    goes_on = event.source in ("compact", "resume")
    left = None
    if event.source != "clear" and ctx.db.trusted:
        left = handover.session_named(ctx, event.session) if goes_on else handover.last_session(ctx, event.session)
    block = hook_context.at_start(ctx, memory, handover.TOKENS if left else 0)
    text = "" if block is None else block.text
    told = handover.told_of(ctx, left, known=text) if left else ""
    whole = told + text
    if not whole:
        return "", [], None
    entries = block.shown if block else ()
    return STARTED + whole, [item_id for one in entries if not any(one.cut) for item_id in one.ids], None
