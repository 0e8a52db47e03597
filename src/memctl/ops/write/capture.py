"""Conversations that AI clients wrote down: memctl capture, memctl archive-sessions."""

import os
from functools import partial

from memctl import errors, ids
from memctl.annotations import TYPE_CHECKING, Annotated
from memctl.context import Context
from memctl.operation import CREATE, NONE, READ, Arg, Fields, PlainResult, operation
from memctl.parameters import Acting, first_moment
from memctl.text.clean import one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from memctl.capture.record import Capture
    from memctl.capture.transcript import Found
    from memctl.handover import SessionScopes

#: How a form of `capture` is said in words: of one file, and of standard input.
_TRANSCRIPT, _PIPE = "transcript", "pipe"
_NONE = "there is no conversation in it that memctl can read"
#: Sessions that an answer names.
_LISTED = 1000


@operation(
    access=CREATE,
    examples=(
        "memctl capture --dry-run  # what past sessions of this project are on disk",
        "memctl capture                           # take them in; again, what is new",
        "memctl capture chat.jsonl notes/chat.txt ~/old-sessions/",
        "memctl capture transcript ~/.codex/sessions/2026/11/20/rollout-1.jsonl",
        "llm logs --json | memctl capture pipe --client generic",
    ),
    exits={1: "a file that was named holds no conversation, or cannot be read"},
)
def capture(
    ctx: Context,
    paths: Annotated[
        list[str] | None,
        Arg(
            "transcripts, folders of them, `transcript PATH`, or `pipe`; without one, all of this project",
            metavar="PATH",
            path=True,
        ),
    ] = None,
    *,
    client: Annotated[
        str | None,
        Arg(
            "whose form it is (claude, codex, gemini, copilot, qwen, opencode, cline, aider, llm, generic, text); else "
            "it is recognised",
            "--client",
            metavar="NAME",
        ),
    ] = None,
    session: Annotated[
        str | None, Arg("pipe: the session's id, where none is in it", "--session", metavar="ID")
    ] = None,
    since: Annotated[str | None, Arg("only what was said at this time or later", "--since", metavar="WHEN")] = None,
    scope: Annotated[str | None, Arg("file sessions in this scope, not in their folder's", "--scope")] = None,
    all_projects: Annotated[bool, Arg("take in the sessions of every folder", "--all-projects")] = False,
    watch: Annotated[bool, Arg("go on taking in what is new until interrupted", "--watch")] = False,
    interval: Annotated[float, Arg("seconds between two looks with --watch", "--interval", ge=0.2, le=86400)] = 5.0,
    acting: Annotated[Acting, Fields("dry_run", dry_run={"help": "only say what would be taken in"})],
) -> PlainResult:
    """Take in what was said with AI clients.

    Reads the transcripts of Claude Code, Codex, Gemini, Copilot, Qwen, opencode, Cline, aider and llm, chats as JSON,
    and text in which each part says who speaks. Prompts and answers become the turns of a session, in order, as policy
    leaves them. What tools answered, what a model thought, side chains, and what memory itself had injected are left
    out. What was taken in is known: only what is new is read the next time, and a session that you deleted stays
    deleted. What is worth keeping (decisions, preferences, fixes, commands, tasks) is found by form, and proposed as
    short-term statements: `memctl review` goes through them. No model is asked.
    """
    from memctl.capture.record import Capture
    from memctl.capture.transcript import ALIASES, FORMS
    from memctl.handover import SessionScopes
    from memctl.reading.learning import learn

    words = list(paths or ())
    form = ALIASES.get(client or "", client or "")
    if form and form not in FORMS:
        problem = f"'{ctx.policy.redact(one_line(form, 80))}' is no form of transcripts; {', '.join(FORMS)}"
        raise errors.UsageError(problem, command="capture")
    piped = words in ([_PIPE], ["-"])
    if words[:1] == [_TRANSCRIPT] and len(words) == 1:
        raise errors.UsageError("the transcript is missing", command="capture")
    words = words[1:] if words[:1] == [_TRANSCRIPT] else words
    if (watch and (acting.dry_run or piped)) or (session and not piped):
        problem = "--session goes with pipe" if session else "--watch goes with files that are taken in"
        raise errors.UsageError(problem, command="capture")
    if acting.dry_run:
        ctx.narrow(READ)
    db = ctx.scratch().db if acting.dry_run and not os.path.exists(ctx.db_path) else ctx.db
    scopes = SessionScopes(ctx, scope)
    taker = Capture(db, ctx.policy, scopes.of, dry=acting.dry_run, learn=partial(learn, db, ctx.policy))
    moment = first_moment(since)
    if piped:
        _take_pipe(ctx, taker, form, session, moment)
        return _told(ctx, taker, scopes, acting.dry_run, {})
    look = partial(_take_files, ctx, taker, scopes, words, form, moment, all_projects=all_projects)
    others = look(None)
    if watch:
        _follow(ctx, taker, look, interval)
    return _told(ctx, taker, scopes, acting.dry_run, others)


def _follow(ctx: Context, taker: "Capture", look: "Callable[[set[str]], object]", interval: float) -> None:
    """Look again and again, and say what is new, until it is interrupted; what is wrong is said once, and may pass."""
    from memctl.store import transcripts

    ctx.note("[capture] Watching; ^C stops")
    wrong: set[str] = set()
    try:
        while True:
            ids.pause(interval, interval)
            before = taker.taken.turns + taker.taken.grown
            try:
                taker.files = transcripts.read_files(taker.db)  # others may have taken some in
                look(wrong)
            except errors.MemctlError as exc:  # of the store: another program writes, or has put it away
                _warn_once(ctx, wrong, exc)
            if new := taker.taken.turns + taker.taken.grown - before:
                ctx.note(f"[capture] {new} turn(s) taken in")
    except KeyboardInterrupt:
        ctx.note("[capture] Stopped")


def _warn_once(ctx: Context, wrong: set[str], problem: errors.MemctlError) -> None:
    if str(problem) not in wrong:
        wrong.add(str(problem))
        ctx.warn(f"[capture] {problem}")


def _take_pipe(ctx: Context, taker: "Capture", form: str, session: str | None, since: str) -> None:
    from memctl.capture.transcript import of_bytes

    found = of_bytes(ctx.stdin_bytes(), form=form, session=session or "", cwd=ctx.cwd)
    taker.transcript(found, since=since)
    taker.form = found.form
    if not ctx.input:
        raise errors.EmptyInput
    if not found.form:
        raise errors.DocumentUnreadable(path="standard input", reason=_NONE)


def _take_files(
    ctx: Context,
    taker: "Capture",
    scopes: "SessionScopes",
    words: list[str],
    form: str,
    since: str,
    wrong: set[str] | None,
    *,
    all_projects: bool,
) -> "dict[str, list[Found]]":
    """Take in the files that are named, else those of clients; the clients' files of other projects are the answer.

    wrong  what has been said to be wrong, while files are watched: one that is gone may come back; None: a named file
           that cannot be read raises
    """
    from memctl.capture.transcript import Found, transcripts_in, transcripts_on_disk

    others: dict[str, list[Found]] = {}
    given: list[Found] = []
    named: set[str] = set()
    for word in map(ctx.absolute, words):
        given += transcripts_in(word) if os.path.isdir(word) else [Found(form, word, "")]
        named.add(word)
    if not words:
        given = []
        for one in transcripts_on_disk(ctx.environ, ctx.project.folder):
            mine = all_projects or one.client == "opencode" or (one.folder and scopes.is_here(one.folder))
            given += [one] if mine else []
            if not mine:
                others.setdefault(one.client, []).append(one)
        taker.only = None if all_projects else scopes.is_here
    for number, one in enumerate(given):
        ctx.progress(f"[capture] {number + 1}/{len(given)} {one_line(one.path, 60)}")
        try:
            known = taker.file(one.path, form=form or one.client, cwd=one.folder, since=since)
        except errors.DocumentUnreadable as exc:
            if one.path in named and wrong is None:
                raise
            _warn_once(ctx, set() if wrong is None else wrong, exc)
            continue
        if one.path in named and known and not taker.form and wrong is None:
            raise errors.DocumentUnreadable(path=ctx.policy.redact(one.path), reason=_NONE)
    return others


def _told(
    ctx: Context, taker: "Capture", scopes: "SessionScopes", dry: bool, others: "dict[str, list[Found]]"
) -> PlainResult:
    taken = taker.taken
    elsewhere = sum(map(len, others.values()))
    would = "would be " if dry else ""
    ctx.note(
        f"[capture] {taken.turns} turn(s) of {len(taken.sessions)} session(s) {would}taken in, {taken.grown} grown, "
        f"{taken.known} known, {taken.redacted} redacted, {taken.quarantined} quarantined, {taken.bad} bad line(s)"
    )
    if taken.made["candidates"]:
        review = "memctl review --all-scopes" if scopes.elsewhere() else "memctl review"
        ctx.note(f"[capture] {taken.made['candidates']} statement(s) proposed; {review} goes through them")
    if elsewhere:
        ctx.note(f"[capture] {elsewhere} transcript(s) of other folders are on disk; --all-projects takes them in, too")
    listed = list(taken.sessions.items())
    data = {
        "status": "ok", "sessions": len(taken.sessions), "turns": taken.turns, "grown": taken.grown,
        "known": taken.known, "redacted": taken.redacted, "quarantined": taken.quarantined, "bad_lines": taken.bad,
        "injected": taken.hidden, **taken.made, "other_transcripts": elsewhere,
        "captured": [{"session_id": named, "turns": turns} for named, turns in listed[:_LISTED]],
        "total": len(listed), "truncated": len(listed) > _LISTED, **({"dry_run": True} if dry else ctx.run_key()),
    }  # fmt: skip
    return PlainResult(data, [f"{named}  {turns} turn(s)" for named, turns in listed])


# --- copies -----------------------------------------------------------------------------------------------------------


@operation(
    name="archive-sessions",
    access=NONE,
    examples=(
        "memctl archive-sessions                  # before clients delete them",
        "memctl archive-sessions /backup/sessions --dry-run",
    ),
    exits={1: "a copy could not be written"},
)
def archive_sessions(
    ctx: Context,
    folder: Annotated[
        str | None, Arg("where the copies go (else `sessions` beside the personal store)", metavar="FOLDER", path=True)
    ] = None,
    *,
    acting: Annotated[Acting, Fields("dry_run", dry_run={"help": "only say what would be copied"})],
) -> PlainResult:
    """Copy the transcripts of AI clients before these delete them.

    Clients delete transcripts, Claude Code after 30 days. Copies stand by client under their own names, for you alone
    to read (mode 0600); one that grew is copied again, and none is ever deleted. Nothing is judged in a copy: it holds
    what the client wrote, secrets too.
    """
    from memctl.capture.transcript import archive, transcripts_on_disk
    from memctl.context.nearest import personal_store

    target = ctx.absolute(folder) if folder else os.path.join(os.path.dirname(personal_store()), "sessions")
    if not os.path.isabs(target):
        raise errors.UsageError(
            "there is no personal store to put them beside; name a folder", command="archive-sessions"
        )
    found = list(transcripts_on_disk(ctx.environ, ctx.project.folder))
    done = archive(found, target, dry=acting.dry_run)
    would = "would be " if acting.dry_run else ""
    ctx.note(f"[archive-sessions] {len(done.copied)} of {len(found)} transcript(s) {would}copied to {target}")
    for path, reason in done.failed:
        ctx.warn(f"[archive-sessions] {path}: {reason}")
    data = {
        "status": "ok" if not done.failed else "partial", "folder": target, "copied": len(done.copied),
        "unchanged": done.unchanged, "failed": len(done.failed), "bytes": done.size,
        **({"dry_run": True} if acting.dry_run else {}),
    }  # fmt: skip
    return PlainResult(data, done.copied, 1 if done.failed else 0)
