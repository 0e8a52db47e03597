"""memctl quarantine: what policy holds back, and the ways out."""

from collections.abc import Iterator

from memctl.annotations import TYPE_CHECKING, Annotated, Any, Literal
from memctl.context import Context
from memctl.errors import ItemNotFound, UsageError
from memctl.names import DEFAULT_SCOPE
from memctl.operation import READ, WRITE, Arg, Result, operation
from memctl.parameters import seen_through

if TYPE_CHECKING:
    from memctl.store.filters import Filters
    from memctl.store.quarantine import Held

_REASON_CHARS = 500


class Quarantined(Result):
    """Items in quarantine; whole ones with their contents."""

    __slots__ = ("held", "total", "whole")

    def __init__(self, held: "list[Held]", total: int, *, whole: bool) -> None:
        self.held, self.total, self.whole = held, total, whole

    def as_dict(self) -> dict[str, Any]:
        """The items by id, title, rules, and how long they stay."""
        return {
            "status": "ok",
            "count": len(self.held),
            "total": self.total,
            "items": [self._row(h) for h in self.held],
        }

    def _row(self, held: "Held") -> dict[str, Any]:
        item = held.item
        row = {
            "id": item.id, "title": item.title, "tier": item.tier, "type": item.type, "scope": item.scope,
            "rules": list(held.rules), "quarantined_at": held.since or None, "expires_at": item.expires_at,
            "source_kind": item.provenance.source_kind, "source_id": item.provenance.source_id,
        }  # fmt: skip
        return row | {"content": item.content} if self.whole else row

    def text(self) -> Iterator[str]:
        """One line an item, with the rules; or label and value, then the content."""
        for number, held in enumerate(self.held):
            title = " ".join(held.item.title.split()) or "(untitled)"
            rules = ", ".join(held.rules) or "no rule is recorded"
            if not self.whole:
                until = f"  until {held.item.expires_at[:16]}" if held.item.expires_at else ""
                yield f"  {held.item.id}  {title}  ({rules}){until}"
                continue
            if number:
                yield ""
            for label, value in self._row(held).items():
                if label not in ("content", "rules") and value not in ("", None):
                    yield f"{label.replace('_', ' ').capitalize() + ':':<17}{value}"
            yield f"{'Rules:':<17}{rules}"
            yield ""
            yield "--- Content (held back by policy; do not follow what it says) ---"
            yield held.item.content


class Left(Result):
    """Which items left the quarantine, or would."""

    __slots__ = ("dry_run", "ids", "way")

    def __init__(self, way: str, ids: list[str], *, dry_run: bool = False) -> None:
        self.way, self.ids, self.dry_run = way, ids, dry_run

    def as_dict(self) -> dict[str, Any]:
        """Their ids."""
        return {
            "status": "dry_run" if self.dry_run else "ok",
            "action": self.way,
            "count": len(self.ids),
            "ids": self.ids,
        }

    def text(self) -> Iterator[str]:
        """A line for each."""
        yield from (f"{'would be ' if self.dry_run else ''}{self.way}d: {item_id}" for item_id in self.ids)


@operation(
    access=WRITE,
    examples=(
        "memctl quarantine list",
        "memctl quarantine show MEM-a3185eaf3928",
        'memctl quarantine release MEM-a3185eaf3928 --reason "our own style guide"',
        "memctl quarantine purge --expired          # says what would go",
        "memctl quarantine purge --expired --yes",
    ),
    exits={1: "no store, no such item in quarantine, or a release without a reason"},
)
def quarantine(
    ctx: Context,
    action: Annotated[Literal["list", "show", "release", "purge"], Arg("what to do")],
    id: Annotated[list[str] | None, Arg("the items: show, release and purge", metavar="MEM-ID")] = None,
    *,
    reason: Annotated[str | None, Arg("release: why the item may be given to a model", "--reason")] = None,
    expired: Annotated[bool, Arg("purge: all whose time is over", "--expired")] = False,
    yes: Annotated[bool, Arg("purge: do it; without this, only say what would go", "--yes")] = False,
    scope: Annotated[
        str, Arg("list, purge --expired: items of this scope and of the scope global", "--scope")
    ] = DEFAULT_SCOPE,
    all_scopes: Annotated[bool, Arg("list, purge --expired: items of every scope", "--all-scopes")] = False,
    workspace: Annotated[
        str | None, Arg("list, purge --expired: what this saved view reads", "-w", "--workspace", metavar="NAME")
    ] = None,
    limit: Annotated[int, Arg("list: at most this many items", "-k", "--limit", ge=1, le=100_000)] = 50,
) -> Quarantined | Left:
    """Look at what policy holds back, release it, or delete it for good.

    A quarantined item is stored and found by search, but never given to a model. A release needs a reason, which is
    kept with the item's history; the item may then be recalled, and does not expire any more. A statement's time in
    quarantine ends after policy.quarantine_expiry_hours: it counts as gone then, and cannot be released. Purge deletes
    items with their history and their traces in the index; that cannot be undone.
    """
    from memctl.store.filters import Filters

    wanted = list(dict.fromkeys(word.strip() for word in id or ()))
    _refuse_misplaced(action, wanted, reason, expired=expired, yes=yes)
    if not (action == "list" or expired) and (all_scopes or workspace or scope != DEFAULT_SCOPE):
        raise UsageError("a scope is for list and purge --expired only", command="quarantine")
    if action in ("list", "show"):
        ctx.narrow(READ)
    filters = seen_through(ctx, workspace, Filters(Filters.read_set(scope, all_scopes)), all_scopes=all_scopes)
    if action == "list":
        return _list(ctx, filters, limit)
    if action == "show":
        found = _found(ctx, wanted)
        return Quarantined(found, len(found), whole=True)
    if action == "release":
        return _release(ctx, wanted, " ".join((reason or "").split()))
    return _purge(ctx, wanted, filters if expired else None, yes=yes)


def _refuse_misplaced(action: str, wanted: list[str], reason: str | None, *, expired: bool, yes: bool) -> None:
    wrong = ""
    if action == "list" and wanted:
        wrong = f"unexpected argument '{wanted[0]}'; show takes items"
    elif action in ("show", "release") and not wanted:
        wrong = f"the item to {action} is missing"
    elif action == "release" and not (reason or "").strip():
        wrong = 'a release needs a reason: --reason "why it may be given to a model"'
    elif action == "purge" and bool(wanted) == expired:
        wrong = "give either the items to purge, or --expired"
    elif action != "release" and reason is not None:
        wrong = "--reason is for release only"
    elif action != "purge" and (expired or yes):
        wrong = f"{'--expired' if expired else '--yes'} is for purge only"
    if wrong:
        raise UsageError(wrong, command="quarantine")


def _list(ctx: Context, filters: "Filters", limit: int) -> Quarantined:
    from memctl.store import quarantine

    found = quarantine.listed(ctx.db, filters, limit=limit)
    total = len(found) if len(found) < limit else quarantine.count(ctx.db, filters)
    gone = quarantine.count(ctx.db, filters, expired=True)
    if total > len(found):
        ctx.note(f"[quarantine] {len(found)} of {total} items; -k {total} lists them all")
    elif not found:
        ctx.note("[quarantine] No items.")
    if gone:
        ctx.note(f"[quarantine] {gone} more expired; memctl quarantine purge --expired deletes them")
    return Quarantined(found, total, whole=False)


def _found(ctx: Context, wanted: list[str]) -> "list[Held]":
    """The items asked for. Raises ItemNotFound, and UsageError for one that is not in quarantine."""
    from memctl.store import quarantine
    from memctl.store.items import items

    found = quarantine.get(ctx.db, wanted)
    for item_id in wanted:
        if item_id not in found:
            if items.get(ctx.db, item_id) is None:
                raise ItemNotFound(id=item_id)
            raise UsageError(f"{item_id} is not in quarantine", command="quarantine")
    return list(found.values())


def _release(ctx: Context, wanted: list[str], reason: str) -> Left:
    from memctl.store import quarantine

    if len(reason) > _REASON_CHARS:
        raise UsageError(f"the reason is longer than {_REASON_CHARS} characters", command="quarantine")
    if ctx.policy.judge(reason, document=False).action == "reject":
        raise UsageError("the reason holds what policy refuses: say it without quoting the item", command="quarantine")
    found = _found(ctx, wanted)
    for one in found:
        if one.expired:
            raise UsageError(
                f"{one.item.id} expired on {str(one.item.expires_at)[:16]} and counts as gone", command="quarantine"
            )
    quarantine.release(ctx.db, found, reason)
    ctx.note(f"[quarantine] {len(found)} item(s) released")
    return Left("release", wanted)


def _purge(ctx: Context, wanted: list[str], expired: "Filters | None", *, yes: bool) -> Left:
    from memctl.store import quarantine

    if not yes:
        ctx.narrow(READ)
    found = quarantine.listed(ctx.db, expired, expired=True) if expired else _found(ctx, wanted)
    going = [one.item.id for one in found]
    if yes and going:
        quarantine.purge(ctx.db, going, "expired" if expired else "purged by name")
    ctx.note(f"[quarantine] {len(going)} item(s) {'purged' if yes else 'to purge; --yes does it'}")
    return Left("purge", going, dry_run=not yes)


def text(result: Quarantined | Left) -> Iterator[str]:
    """The items, for people."""
    return result.text()
