"""memctl export: items as JSON lines."""

from collections.abc import Iterator

from memctl.annotations import Annotated, Any
from memctl.context import Context
from memctl.names import ItemType, RedactionView, Tier
from memctl.operation import READ, Arg, Result, operation
from memctl.parameters import ReadIn, seen_through

#: So many items are given in one piece; the command line streams them, and has no such limit.
AT_ONCE = 1000
#: What a secret may stand in.
_TEXTS = frozenset({"title", "content", "tags", "entities", "provenance"})


class Exported(Result):
    """The lines, made while they are read; they can be read once."""

    __slots__ = ("_ctx", "_lines", "_offset")
    verbatim = True

    def __init__(self, ctx: Context, lines: Iterator[dict[str, Any]], offset: int = 0) -> None:
        self._ctx, self._lines, self._offset = ctx, lines, offset

    def lines(self) -> Iterator[dict[str, Any]]:
        """The line of each item; when all are out, their number is told."""
        count = 0
        for line in self._lines if self._ctx.db.trusted else self._of_a_stranger():
            count += 1
            yield line
        self._ctx.note(f"[export] {count} item(s) exported")

    def as_dict(self) -> dict[str, Any]:
        """The first items in one piece, and where the next ones begin; what is kept from models is only counted."""
        from itertools import islice

        found = list(islice(self.lines(), AT_ONCE + 1))
        truncated, page = len(found) > AT_ONCE, found[:AT_ONCE]
        free = self._free([line for line in page if line["injectable"]])
        return {
            "status": "ok",
            "count": len(free),
            "items": free,
            "truncated": truncated,
            "withheld": len(page) - len(free),
            "next_offset": self._offset + len(page),
        }

    def _of_a_stranger(self) -> Iterator[dict[str, Any]]:
        """The lines of a store of somebody else, as today's rules leave them."""
        from itertools import islice

        while batch := list(islice(self._lines, AT_ONCE)):
            yield from self._free(batch)

    def _free(self, lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The lines as a model may see them: what today's rules have not seen is judged by them."""
        from memctl.reading import delivery
        from memctl.types import MemoryItem

        asked = [MemoryItem.from_dict(line) for line in lines]
        free = delivery.items_for_models(self._ctx, asked, "export")
        out = []
        for line, item in zip(lines, asked, strict=True):
            given = free.get(item.id)
            if given is item:
                out.append(line)
            elif given is not None:  # shown without a secret
                out.append(line | {key: value for key, value in given.to_dict().items() if key in _TEXTS})
        return out

    def as_json(self) -> Iterator[dict[str, Any]]:
        """An array, printed while it is made."""
        return self.lines()


@operation(
    access=READ,
    tool="memory_export",
    toolset="standard",
    about="Export memories with all their fields, 1000 from offset on. Those kept from models are only counted.",
    answer={
        "count": "integer",
        "items": "array",
        "truncated": "boolean",
        "withheld": "integer",
        "next_offset": "integer",
    },
    examples=(
        "memctl export --include-archived > backup.jsonl",
        "memctl export --tier ltm --type decision > decisions.jsonl",
        "memctl export --db a.db | memctl import --db b.db",
        "memctl export --redact public > for-everybody.jsonl",
    ),
)
def export(
    ctx: Context,
    *,
    tier: Annotated[Tier | None, Arg("only this tier", "--tier", mcp_help="")] = None,
    type: Annotated[ItemType | None, Arg("only this type", "--type", mcp_name="type_filter", mcp_help="")] = None,
    scope: Annotated[
        str | None, Arg("only this scope (default: all of them)", "--scope", mcp_help="default: all")
    ] = None,
    workspace: ReadIn = None,
    include_archived: Annotated[bool, Arg("also what was archived or has expired", "--include-archived")] = False,
    redact: Annotated[RedactionView, Arg("who may see it; RAGIX says S0, S2, S3", "--redact", mcp="full")] = "full",
    offset: Annotated[int, Arg("", cli=False, ge=0)] = 0,
) -> Exported:
    """Write items as JSON lines.

    An export is a backup: without --scope it has the items of every scope. One item is one line, the newest change
    first, in the same order every time. `memctl import` reads it back without loss.

    With --redact every field leaves as that view shows it, provenance and paths included: internal is without host
    names, IP addresses and hashes, public also without paths, file names, mail addresses, personal data and item ids.
    Both are without secrets that older rules let in.
    """
    from memctl.lifecycle.export import lines
    from memctl.reading.redaction import redaction
    from memctl.store.filters import Filters

    scopes = None if scope is None else (scope,)
    filters = Filters(scopes=scopes, tier=tier, type=type, archived=include_archived)
    filters = seen_through(ctx, workspace, filters)
    view = None if redact in ("full", "S3") else redaction(ctx, redact)
    from itertools import islice

    return Exported(ctx, islice(lines(ctx.db, filters, view), offset, None), offset)


def text(result: Exported) -> Iterator[str]:
    """One line of JSON per item."""
    import json

    from memctl.text.clean import escaped

    for line in result.lines():
        yield escaped(json.dumps(line, ensure_ascii=False))
