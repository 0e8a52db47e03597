"""memctl digest: what a scope holds, on one page."""

from collections.abc import Iterator

from memctl.annotations import TYPE_CHECKING, Annotated, Any
from memctl.context import Context
from memctl.operation import READ, Fields, Result, operation
from memctl.parameters import ReadRequest
from memctl.reading.request import block_budget, read_filters
from memctl.text.clean import one_line
from memctl.text.tokens import CHARS_PER_TOKEN, estimate

if TYPE_CHECKING:
    from memctl.types import MemoryItem

#: What is decided and what binds comes first.
_ORDER = ("constraint", "decision", "pattern", "definition", "fact", "todo", "pointer", "note")
#: So many items of a type are looked at; more would not fit on a page.
_EACH = 50
_TITLE_CHARS = 160


class Digest(Result):
    """The counts, and the newest titles of each type, as far as the budget goes."""

    __slots__ = ("by_type", "lines", "scope", "total")

    def __init__(self, scope: str, total: int, by_type: dict[str, int], lines: list[str]) -> None:
        self.scope, self.total, self.by_type, self.lines = scope, total, by_type, lines

    def as_dict(self) -> dict[str, Any]:
        """The counts and the page."""
        page = "\n".join(self.lines)
        return {
            "status": "ok", "scope": self.scope, "total": self.total, "by_type": self.by_type, "digest": page,
            "tokens_used": estimate(page), **({} if page else {"hint": "Nothing is remembered here."}),
        }  # fmt: skip


@operation(
    access=READ,
    tool="memory_digest",
    prose=True,
    about="Sum up what is remembered in a scope on one page: how many memories of each type, and the newest titles "
    "with their ids. For a first look at the start of work.",
    answer={
        "scope": "string", "total": "integer", "by_type": "object", "digest": "string", "tokens_used": "integer",
    },
    examples=("memctl digest", "memctl digest --scope global --budget 300"),
)  # fmt: skip
def digest(
    ctx: Context, *, request: Annotated[ReadRequest, Fields("scope workspace budget", budget={"default": 800})]
) -> Digest:
    """Sum up on one page what a scope holds.

    Types that bind come first: constraints, decisions. Of each type the newest titles are shown, with ids to read
    them by, as far as the budget goes. Items kept from models are left out.
    """
    from memctl.reading import delivery
    from memctl.store.items import items

    budget, filters = block_budget(ctx, request), read_filters(ctx, request, "digest", injectable=True)
    counts = {kind: items.count(ctx.db, filters.replace(type=kind)) for kind in _ORDER}
    counts = {kind: count for kind, count in counts.items() if count}
    newest = {kind: items.list_items(ctx.db, filters.replace(type=kind), _EACH) for kind in counts}
    free = delivery.items_for_models(ctx, [item for found in newest.values() for item in found], "digest")
    newest = {kind: [free[item.id] for item in found if item.id in free] for kind, found in newest.items()}
    name = " and ".join(filters.scopes or ()) or "all scopes"
    if not counts:
        ctx.note("[digest] Nothing is remembered here.")
    return Digest(name, sum(counts.values()), counts, list(_page(name, counts, newest, budget)))


def _page(name: str, counts: dict[str, int], newest: "dict[str, list[MemoryItem]]", budget: int) -> Iterator[str]:
    """The lines; types take turns, so that each shows its newest before one shows many. Never more than the budget."""
    head = f"Memory of {name}: " + ", ".join(f"{count} {kind}" for kind, count in counts.items())
    left = budget * CHARS_PER_TOKEN - len(head)
    shown: dict[str, list[str]] = {}
    for kind, item in ((kind, newest[kind][row]) for row in range(_EACH) for kind in counts if row < len(newest[kind])):
        line = f"- {one_line(item.title, _TITLE_CHARS) or '(untitled)'} [{item.id}]"
        left -= len(line) + 1 + (0 if kind in shown else len(kind) + 3)  # line breaks; a blank line and a heading
        if left < 0:
            break
        shown.setdefault(kind, []).append(line)
    if shown:
        yield head
    for kind in (kind for kind in counts if kind in shown):
        yield from ("", f"{kind}:", *shown[kind])


def text(result: Digest) -> Iterator[str]:
    """The page."""
    yield from result.lines
