"""Review: what waits for a person's decision, as one queue; decided key by key at a terminal, or by its commands."""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, islice

from memctl.annotations import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple
from memctl.context import Context
from memctl.names import DEFAULT_SCOPE
from memctl.operation import READ, WRITE, Arg, PlainResult, operation
from memctl.parameters import seen_through
from memctl.store.filters import Filters
from memctl.store.items import overview
from memctl.text.clean import one_line

if TYPE_CHECKING:
    from typing import BinaryIO

    from memctl.types import MemoryItem

Kind = Literal["conflict", "stale", "held", "proposal", "duplicate"]
KINDS: tuple[Kind, ...] = ("conflict", "stale", "held", "proposal", "duplicate")
#: From this share of common words on, two statements are in the queue as near-duplicates.
_ALIKE = 0.7
#: Entries of a kind that are looked for.
_MOST = 1000
_SHOWN = 100
#: Turns that are named as evidence.
_TURNS = 3
_DAY = 10
_SKIP = {"s": "skip"}
#: Ctrl-D, where a terminal gives single keys.
_END_OF_INPUT = b"\x04"


class ReviewEntry(NamedTuple):
    """Something to decide.

    kind       conflict, stale (what it cites has changed), held (by policy), proposal (gone soon unless it is kept),
               duplicate (may say one thing)
    id         what the commands take: of the conflict, or of the item
    items      the items that it is about
    why        what is the matter
    decisions  key -> what it means
    commands   key -> the command that does it
    diff       of a stale one: what became of the text that it cites
    """

    kind: Kind
    id: str
    items: tuple[str, ...]
    why: str
    decisions: dict[str, str]
    commands: dict[str, str]
    diff: tuple[str, ...] = ()


@operation(
    access=WRITE,
    examples=(
        "memctl review              # at a terminal: one decision after the other",
        "memctl review list --kind conflict,held",
        "memctl review --json | jq -r '.entries[].commands[]'",
    ),
    exits={0: "also when nothing waits"},
)
def review(
    ctx: Context,
    *,
    kind: Annotated[list[Kind] | None, Arg("only these kinds", "--kind", comma=True)] = None,
    list_: Annotated[bool, Arg("only list what waits, at a terminal too", "--list", word="list")] = False,
    scope: Annotated[str, Arg("of this scope and of the scope global", "--scope")] = DEFAULT_SCOPE,
    all_scopes: Annotated[bool, Arg("of every scope", "--all-scopes")] = False,
    workspace: Annotated[str | None, Arg("of what this saved view reads", "-w", "--workspace", metavar="NAME")] = None,
    limit: Annotated[int, Arg("at most this many", "-n", "--limit", aliases=("-k",), ge=1, le=1000)] = 50,
) -> PlainResult:
    """Go through what waits for a decision.

    In the queue are statements that contradict each other, those that cite what has changed (with what changed in it),
    what policy holds back, proposals that are gone soon unless somebody keeps them (those of conversations with the
    turns that they were said in), and statements that may say one thing. At a terminal each is shown, and one key
    decides (on Windows with Enter); s skips, q ends. Elsewhere each is printed with its id, and the commands that
    decide. What was decided is one run: `memctl undo` takes it back.
    """
    can_ask = {"stdin", "stdout", "stderr"} <= ctx.tty and ctx.bounds is None and not (list_ or ctx.json)
    if not can_ask:
        ctx.narrow(READ)
    filters = seen_through(ctx, workspace, Filters(Filters.read_set(scope, all_scopes)), all_scopes=all_scopes)
    wanted = [one for one in KINDS if kind is None or one in kind]
    every = [entry for one in wanted for entry in islice(_SOURCES[one](ctx, filters), _MOST)]
    shown = every[:limit]
    if not every:
        ctx.note("[review] Nothing waits.")
    texts = _texts(ctx, shown)
    done = _ask(ctx, shown, texts) if can_ask else []
    data = {
        "status": "ok", "total": len(every), "truncated": len(every) > len(shown),
        "counts": {one: sum(entry.kind == one for entry in every) for one in wanted},
        "entries": [entry._asdict() | {"items": [texts[i] for i in entry.items]} for entry in shown],
    }  # fmt: skip
    if done:
        return PlainResult(
            data | {"decided": done} | ctx.run_key(), [f"{one['id']}  {one['decision']}" for one in done]
        )
    lines = [line for entry in shown for line in _lines(entry, texts)]
    if len(every) > len(shown):
        ctx.note(f"[review] {len(shown)} of {len(every)}; -n {min(len(every), 1000)} shows more")
    return PlainResult(data, [] if can_ask else lines)


def _texts(ctx: Context, entries: Sequence[ReviewEntry]) -> dict[str, dict[str, Any]]:
    """What is shown of the items; the words of what policy holds back only at a terminal."""
    from memctl.reading import delivery
    from memctl.store.items import items

    found = items.get_many(ctx.db, dict.fromkeys(i for entry in entries for i in entry.items))
    if "stdout" not in ctx.tty:
        free = delivery.items_for_models(ctx, found, "review")
        found = [free.get(item.id) or delivery.without_words(item) for item in found]
    return {
        item.id: {"id": item.id, "title": item.title, "content": item.content, "created_at": item.created_at}
        for item in found
    }  # fmt: skip


def _lines(entry: ReviewEntry, texts: dict[str, dict[str, Any]]) -> Iterator[str]:
    """The entry, its items, and the commands that decide."""
    yield f"{entry.kind}  {entry.id}  {entry.why}"
    for item_id in entry.items:
        item = texts[item_id]
        yield f"  {item['created_at'][:_DAY]}  {item_id}  {one_line(item['content'], _SHOWN) or '(not shown)'}"
    yield from (f"    {line}" for line in entry.diff)
    for key, command in entry.commands.items():
        yield f"    {entry.decisions[key]}: {command}"


# --- deciding --------------------------------------------------------------------------------------------------------


def _ask(ctx: Context, entries: Sequence[ReviewEntry], texts: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """What the person at the terminal decides, entry by entry; done at once."""
    done: list[dict[str, Any]] = []
    for number, entry in enumerate(entries, 1):
        if any(i in one["items"] for one in done for i in entry.items):
            continue  # what was decided about one of its items may have settled it
        ctx.warn(f"[review] {number}/{len(entries)}  {entry.kind}: {entry.why}")
        for name, item_id in zip("abcdefgh", entry.items, strict=False):
            item = texts[item_id]
            ctx.warn(f"  {name}  {item['created_at'][:_DAY]}  {item_id}  {one_line(item['content'], _SHOWN)}")
        for line in entry.diff:
            ctx.warn(f"    {line}")
        keys = entry.decisions | _SKIP | {"q": "quit"}
        ctx.warn("  " + ", ".join(f"[{key}] {word}" for key, word in keys.items()))
        key = _key(ctx, keys)
        if key == "q":
            break
        if key != "s" and _DOERS[entry.kind](ctx, entry, key):
            done.append({"id": entry.id, "kind": entry.kind, "decision": entry.decisions[key],
                         "items": list(entry.items)})  # fmt: skip
    ctx.note(f"[review] {len(done)} decided")
    return done


def _key(ctx: Context, keys: dict[str, str]) -> str:
    """The key that the person gives; s on an empty line, q at the end of input."""
    while True:
        pressed = _pressed(ctx.stdin)
        line = ctx.stdin.readline() if pressed is None and ctx.stdin is not None else pressed or b""
        if line in (b"", _END_OF_INPUT):
            return "q"
        word = line.decode("utf-8", "replace").strip().lower()
        if not word and pressed:
            continue  # the Enter of a habit must not skip what comes next
        if not word:
            return "s"
        if word in keys:
            if pressed:
                ctx.warn(f"  {keys[word]}")
            return word
        ctx.warn(f"[review] '{one_line(word, 20)}' is none of {', '.join(keys)}")


def _pressed(stdin: "BinaryIO | None") -> bytes | None:
    """One key of a terminal that gives it without Enter; None where it must be read as a line."""
    try:
        import termios
        import tty
    except ImportError:
        return None
    try:
        number = stdin.fileno() if stdin is not None else -1
        before = termios.tcgetattr(number)
    except (OSError, ValueError, termios.error):
        return None
    try:
        tty.setcbreak(number, termios.TCSANOW)
        return stdin.read(1) if stdin is not None else None
    finally:
        termios.tcsetattr(number, termios.TCSANOW, before)


def _decide_conflict(ctx: Context, entry: ReviewEntry, key: str) -> bool:
    from memctl.lifecycle import conflicts as service
    from memctl.store import conflicts

    found = conflicts.get_conflict(ctx.db, entry.id)
    if found is not None:
        service.decide(ctx.db, found, entry.decisions[key])
    return found is not None


def _verify(ctx: Context, entry: ReviewEntry, key: str) -> bool:
    """Say that a statement is right though what it cites has changed, or put it away."""
    from memctl import citing
    from memctl.lifecycle import correct

    if key == "f":
        return bool(correct.forget_items(ctx.db, [entry.id]))
    with ctx.db.atomic():
        correct.set_validation(ctx.db, [entry.id], "verified", "verify")
        citing.renew(ctx.db, [entry.id])
    return True


def _release(ctx: Context, entry: ReviewEntry, key: str) -> bool:
    """Release an item, for a reason that the person gives, or put it away."""
    from memctl.lifecycle import correct
    from memctl.reading.selection import checked_reason
    from memctl.store import quarantine
    from memctl.store.items import items

    if key == "f":
        return bool(correct.forget_items(ctx.db, [entry.id]))
    ctx.warn("[review] Why may it be given to a model?")
    line = ctx.stdin.readline() if ctx.stdin is not None else b""
    why = checked_reason(ctx, line.decode("utf-8", "replace"), "review")
    found = items.get_many(ctx.db, [entry.id])
    if not why or not found:
        ctx.warn("[review] A release needs a reason: left as it is.")
        return False
    quarantine.release(ctx.db, quarantine.standings(ctx.db, found), why)
    return True


def _keep(ctx: Context, entry: ReviewEntry, key: str) -> bool:
    """Keep what would be gone soon, or put it away."""
    from memctl.lifecycle import correct
    from memctl.store.items import items

    if key == "f":
        return bool(correct.forget_items(ctx.db, [entry.id]))
    return items.update(ctx.db, entry.id, {"expires_at": None}, "review") is not None


def _settle_alike(ctx: Context, entry: ReviewEntry, key: str) -> bool:
    """Let the newest of several statements stand for the others, or link them: then they are different things."""
    from memctl.store.items import attributes

    newest, *others = entry.items
    with ctx.db.atomic():
        for pair in combinations(entry.items, 2) if key == "b" else ():
            attributes.say_link(ctx.db, *pair, "related_to")
        if key == "b":
            return True
        for other in others:
            attributes.supersede(ctx.db, other, newest, "review")
    return True


# --- what waits ------------------------------------------------------------------------------------------------------


def _conflicts(ctx: Context, filters: Filters) -> Iterator[ReviewEntry]:
    from memctl.store import conflicts

    meanings = {"a": "keep-a", "b": "keep-b", "2": "both", "d": "dismiss"}
    for one in conflicts.list_conflicts(ctx.db, filters, limit=_MOST):
        commands = {key: f"memctl resolve {one.id} {word}" for key, word in meanings.items()}
        yield ReviewEntry("conflict", one.id, (one.a, one.b), one.why, meanings, commands)


def _stale(ctx: Context, filters: Filters) -> Iterator[ReviewEntry]:
    from memctl import citing

    facts: dict[str, list[str]] = {}
    for fact in citing.find_stale(ctx.db):
        facts.setdefault(fact.item_id, []).append(fact.words)
    passing = overview.passing_ids(ctx.db, filters.replace(injectable=True), list(facts)[:_MOST])
    for item_id, words in facts.items():
        if item_id in passing:
            commands = {"v": f"memctl verify {item_id}", "f": f"memctl forget {item_id}"}
            meanings = {"v": "it is still right", "f": "forget"}
            diff = tuple(citing.stale_diff(ctx.db, item_id, ctx.policy.is_clean))
            yield ReviewEntry("stale", item_id, (item_id,), "; ".join(words), meanings, commands, diff)


def _held(ctx: Context, filters: Filters) -> Iterator[ReviewEntry]:
    from memctl.store import quarantine

    found, _ = quarantine.find_held(ctx.db, filters, limit=_MOST)
    standings = quarantine.standings(ctx.db, found)
    for item in found:
        why = f"policy holds it back ({', '.join(standings[item.id].rules) or 'no rule is recorded'})"
        commands = {
            "r": f"memctl quarantine release {item.id} --reason WHY",
            "f": f"memctl forget {item.id}",
        }  # fmt: skip
        yield ReviewEntry("held", item.id, (item.id,), why, {"r": "release", "f": "forget"}, commands)


def _proposals(ctx: Context, filters: Filters) -> Iterator[ReviewEntry]:
    """Statements of models that are to expire, as nobody said why they are worth keeping, and what was captured."""
    from memctl.store.items import attributes
    from memctl.text.source_trust import CAPTURED

    free = filters.replace(injectable=True)
    found = [
        *attributes.list_expiring(ctx.db, free.replace(origin="models"), _MOST),
        *(one for one in attributes.list_expiring(ctx.db, free.replace(origin="people"), _MOST)
          if one.provenance.source_id.startswith(CAPTURED)),
    ]  # fmt: skip
    for item in found:
        why = f"gone on {str(item.expires_at)[:_DAY]} unless it is kept"
        turns = [one for one in item.provenance.chunk_ids if "#" in one]
        if turns:
            why = f"said in {', '.join(turns[:_TURNS])}; {why}"
        commands = {"k": f"memctl retain {item.id} until never", "f": f"memctl forget {item.id}"}
        yield ReviewEntry("proposal", item.id, (item.id,), why, {"k": "keep", "f": "forget"}, commands)


def _duplicates(ctx: Context, filters: Filters) -> Iterator[ReviewEntry]:
    from memctl.lifecycle.consolidate import find_candidates
    from memctl.store import conflicts
    from memctl.store.items import merging

    for scope in filters.scopes if filters.scopes is not None else merging.list_scopes(ctx.db):
        for share, members in find_candidates(ctx.db, scope).merge:
            disputed = {i for one in conflicts.conflicts_of(ctx.db, [m.id for m in members], filters) for i in one[1:3]}
            alike: list[MemoryItem] = [item for item in members if item.id not in disputed]
            if share < _ALIKE or len(alike) < 2:
                continue
            alike.sort(key=lambda item: (item.created_at, item.id), reverse=True)
            newest, *others = (item.id for item in alike)
            commands = {
                "n": "; ".join(f"memctl supersede {other} --by {newest}" for other in others),
                "b": "; ".join(f"memctl link {a} related_to {b}" for a, b in combinations((newest, *others), 2)),
            }
            meanings = {"n": "the newest counts", "b": "both are right, and not the same"}
            why = f"may say one thing: {share:.0%} of their words are the same"
            yield ReviewEntry("duplicate", newest, (newest, *others), why, meanings, commands)


_SOURCES: dict[Kind, Callable[[Context, Filters], Iterator[ReviewEntry]]] = {
    "conflict": _conflicts, "stale": _stale, "held": _held, "proposal": _proposals, "duplicate": _duplicates,
}  # fmt: skip
_DOERS: dict[Kind, Callable[[Context, ReviewEntry, str], bool]] = {
    "conflict": _decide_conflict, "stale": _verify, "held": _release, "proposal": _keep, "duplicate": _settle_alike,
}  # fmt: skip
