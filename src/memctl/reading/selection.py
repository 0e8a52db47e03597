"""Which items a command changes: those that are named, or those that words and filters find and a person agrees to.

Ids are whole or shortened, given by place or, as `-`, on standard input. Without ids a terminal shows what was found
and asks; a pipe, where nobody can be asked, needs a filter and `--yes`.
"""

from collections.abc import Callable, Iterable, Sequence

from memctl import errors, ids
from memctl.context import Context
from memctl.operation import PlainResult
from memctl.parameters import ReadRequest, Selection
from memctl.store.items import items as stored
from memctl.text.clean import one_line
from memctl.types import MemoryItem

#: Without `--limit` words find this many, as `search` shows; a terminal is asked about at most MOST_ASKED.
FOUND, MOST_ASKED = 10, 50
#: Ids in a report; `total` counts the others.
MOST_TOLD = 1000
_TITLE = 60
REASON_CHARS = 500
#: The time to come that is none.
NEVER = "never"


def named_items(ctx: Context, given: Sequence[str], command: str) -> list[MemoryItem]:
    """The items of these ids, each once, in order; `-` stands for the ids on standard input.

    Raises ItemNotFound for the first that is unknown or not clear, and UsageError where none is given: standard input
    may name none, then there is nothing to do.
    """
    words: list[str] = []
    for word in given:
        if word.strip() == "-" and ctx.bounds is None:
            words += ctx.stdin_text().split()
        elif word.strip():
            words.append(word.strip())
    if not words:
        if "-" not in (word.strip() for word in given):
            raise errors.UsageError("the id of the item is missing", command=command)
        ctx.note(f"[{command}] No ids on standard input.")
    whole = {word: word for word in dict.fromkeys(words)}
    known = {item.id: item for item in stored.get_many(ctx.db, whole)}
    for word in whole:
        if word not in known:
            whole[word] = whole_id(ctx, word)
    known |= {item.id: item for item in stored.get_many(ctx.db, [i for i in whole.values() if i not in known])}
    for word, item_id in whole.items():
        if item_id not in known:
            raise errors.ItemNotFound(id=one_line(word, _TITLE))
    return [known[item_id] for item_id in dict.fromkeys(whole.values())]


def named_item(ctx: Context, given: str, command: str) -> MemoryItem:
    """The one item of this id; `-` reads it from standard input. Raises ItemNotFound, and UsageError for several."""
    found = named_items(ctx, [given], command)
    if len(found) != 1:
        raise errors.UsageError(f"{command} takes one id here, and standard input names {len(found)}", command=command)
    return found[0]


def whole_id(ctx: Context, word: str) -> str:
    """The id that a word stands for: shortened, or what an item here is called on another machine."""
    item_id = stored.expand_id(ctx.db, word)
    if item_id == word and "memctl_remotes" in ctx.db.tables:
        from memctl.store.remotes import follow_alias

        item_id = follow_alias(ctx.db, word)
    return item_id


def select_items(
    ctx: Context,
    command: str,
    given: Sequence[str] | None,
    wanted: Selection,
    *,
    fits: Callable[[MemoryItem], bool] = lambda _: True,
    gone: bool = False,
) -> list[MemoryItem]:
    """The items that a command is to change: those of the ids, else those found that fit, once a person agrees.

    fits  which of the items that are found the command has anything to do for
    gone  archived and expired items are looked among, too
    Raises UsageError where neither ids nor a filter say which, and where nobody can be asked.
    """
    narrow = (wanted.query, wanted.tags, wanted.tier, wanted.type, wanted.source, wanted.since, wanted.until)
    for name, said in (("query", wanted.query), ("tags", wanted.tags), ("from", wanted.source)):
        if said is not None and not "".join(said).strip():  # as of an unset variable: it would mean everything
            raise errors.UsageError(f"--{name} is empty", command=command)
    is_filtered = any(value is not None for value in narrow)
    if given is not None:
        if is_filtered:
            raise errors.UsageError("give either ids or a filter", command=command)
        return named_items(ctx, given, command)
    can_ask = {"stdin", "stderr"} <= ctx.tty and ctx.bounds is None
    if not (is_filtered or can_ask):
        raise errors.UsageError("say which items: their ids, - for ids on standard input, or a filter", command=command)
    found = [item for item in _find(ctx, command, wanted, gone=gone, most=None if is_filtered else FOUND) if fits(item)]
    if not found:
        ctx.note(f"[{command}] No items.")
    if not found or wanted.yes or wanted.dry_run:
        return found
    if not can_ask:
        _list(ctx, command, found)
        raise errors.UsageError(f"{len(found)} item(s) are meant; --yes does it, --dry-run lists them", command=command)
    return _ask(ctx, command, found)


def _find(ctx: Context, command: str, wanted: Selection, *, gone: bool, most: int | None) -> list[MemoryItem]:
    """What the words and filters find: by words the best first, else the newest."""
    from memctl.reading.request import Retriever, read_filters, said_where

    request = ReadRequest(
        tags=wanted.tags, tier=wanted.tier, type=wanted.type, since=wanted.since, until=wanted.until,
        scope=wanted.scope, all_scopes=wanted.all_scopes, workspace=wanted.workspace, archived=gone,
    )  # fmt: skip
    passages = wanted.source is not None or wanted.query is not None
    filters = said_where(ctx, read_filters(ctx, request, command), wanted.source, passages=passages)
    if wanted.query is None:
        return stored.list_items(ctx.db, filters, wanted.limit or most or -1)
    retriever = Retriever(ctx, request, command)
    found = retriever.find(wanted.query, wanted.limit or FOUND, filters=filters).candidates
    return stored.get_many(ctx.db, [one.id for one in found])


def _list(ctx: Context, command: str, found: Sequence[MemoryItem]) -> None:
    """Show people what was found, numbered."""
    silent = {i for i, why in stored.withheld_reasons(ctx.db, [i.id for i in found]).items() if why == "policy"}
    for number, item in enumerate(found[:MOST_ASKED], 1):
        title = "(held back by policy)" if item.id in silent else one_line(item.title or item.content, _TITLE)
        ctx.warn(f"[{command}] {number:>3}  {item.id}  {item.type:<10}  {title}")
    if len(found) > MOST_ASKED:
        ctx.warn(f"[{command}] … and {len(found) - MOST_ASKED} more")


def _ask(ctx: Context, command: str, found: list[MemoryItem]) -> list[MemoryItem]:
    """Those that the person at the terminal names by number; nothing on an empty line or the end of input."""
    _list(ctx, command, found)
    while True:
        ctx.warn(f"[{command}] Which? Numbers (1 3-5), all, or nothing for none:")
        line = (ctx.stdin.readline() if ctx.stdin is not None else b"").decode("utf-8", "replace").strip().lower()
        if not line:
            ctx.note(f"[{command}] Nothing was changed.")
            return []
        chosen = range(1, len(found) + 1) if line == "all" else _numbers(line, len(found))
        if chosen:
            return [found[number - 1] for number in chosen]
        ctx.warn(f"[{command}] '{one_line(line, _TITLE)}' names none of them")


def _numbers(line: str, most: int) -> list[int]:
    """The numbers that a line such as `1 3-5` names; none when any of it is wrong."""
    out: dict[int, None] = {}
    for word in line.replace(",", " ").split():
        first, dash, last = word.partition("-")
        if not (first.isdecimal() and (last.isdecimal() or not dash)) or max(len(first), len(last)) > 6:
            return []
        numbers = range(int(first), int(last if dash else first) + 1)
        if not numbers or numbers[0] < 1 or numbers[-1] > most:
            return []
        out.update(dict.fromkeys(numbers))
    return list(out)


# --- what became of it ------------------------------------------------------------------------------------------------


def report_changes(
    ctx: Context,
    command: str,
    changed: Iterable[str],
    unchanged: Iterable[tuple[str, str]] = (),
    *,
    done: str,
    dry_run: bool = False,
) -> PlainResult:
    """What a command did to items: the ids of those it changed, and of the others why it did not.

    done  what became of an item, in a word: "forgotten"
    """
    ids, left = list(changed), [{"id": item_id, "why": why} for item_id, why in unchanged]
    for one in left[:MOST_ASKED]:
        ctx.note(f"[{command}] {one['id']}: {one['why']}")
    if ids or left:
        ctx.note(f"[{command}] {len(ids)} item(s) {'would be ' * dry_run}{done}")
    data = {
        "status": "dry_run" if dry_run else "ok", **({"dry_run": True} if dry_run else {}), "total": len(ids),
        "truncated": len(ids) > MOST_TOLD, "ids": ids[:MOST_TOLD], "unchanged": left[:MOST_TOLD],
    }  # fmt: skip
    return PlainResult(data | (ctx.run_key() if command != "purge" else {}), ids)


# --- what is checked before -------------------------------------------------------------------------------------------


def checked_reason(ctx: Context, why: str | None, command: str) -> str:
    """A reason as it is kept with the history, on one line. Raises UsageError for one that policy refuses."""
    from memctl.item_policy import ItemPolicy

    reason = " ".join((why or "").split())
    if len(reason) > REASON_CHARS:
        raise errors.UsageError(f"the reason is longer than {REASON_CHARS} characters", command=command)
    if reason and ItemPolicy(ctx.policy).refuses(reason):
        raise errors.UsageError(
            "the reason holds what policy refuses: say it without quoting the item", command=command
        )
    return reason


def refuse_protected(ctx: Context, found: Sequence[MemoryItem], command: str) -> None:
    """Raise ToolRefused when a model calls, and a person vouches for one of them, or policy holds it back."""
    if ctx.bounds is None:
        return
    from memctl.store.quarantine import protected_items

    for item_id, why in protected_items(ctx.db, found).items():
        ctx.refuse_to_tools(f"change {item_id}: {why}", f"memctl {command} {item_id}")


def time_to_come(text: str, option: str) -> str | None:
    """The moment that a time to come means; None for never. Raises TimeInvalid, and TimeOver for one that has been."""
    from memctl.text import times

    if text.strip().lower() in (NEVER, ""):
        return None
    given = {"option": option, "value": " ".join(text.split())[:40]}
    try:
        end = times.deadline(text, ids.now_seconds())
    except ValueError:
        raise errors.TimeInvalid(**given) from None
    if end <= ids.timestamp():
        raise errors.TimeOver(**given)
    return end
