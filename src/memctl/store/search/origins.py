"""Where the items of a search are from, and why some are kept from models: one question for all of them."""

from collections.abc import Iterable

from memctl.store.database import Database

_FIELD = "CASE WHEN json_valid(i.provenance_json) THEN json_extract(i.provenance_json, '$.{}') END"

_STALE = (
    "EXISTS (SELECT 1 FROM memory_citations AS c WHERE c.item_id = i.id AND c.state IN ('changed', 'moved', 'gone'))"
)


class Origin:
    """Where an item is from.

    kind, source  of the provenance: a document has the kind doc, and its path is the source
    marked        whether a model named the source (`text.source_trust.mark`)
    made          when the item was made
    withheld      why it is not injectable: raw, policy, or "" where nothing says it
    first, last   lines of the source, 1-based and inclusive; None where it has none
    stale         whether what it cites is not as it was
    place         what stands for lines: page 3, sheet Budget rows 2-9; for a passage with lines its heading
    """

    __slots__ = ("first", "kind", "last", "made", "marked", "place", "source", "stale", "withheld")

    def __init__(
        self,
        kind: str,
        source: str,
        marked: int,
        made: str,
        withheld: str,
        stale: int,
        first: int | None,
        last: int | None,
        place: str,
    ) -> None:
        self.kind, self.source, self.marked, self.made = kind, source, bool(marked), made
        self.withheld, self.first, self.last, self.place, self.stale = withheld, first, last, place, bool(stale)
        head, _, tail = source.rpartition(":")
        begin, dash, end = tail.partition("-")
        if kind == "doc" and head and first is None and begin.isdecimal() and (end.isdecimal() or not dash):
            self.source, self.first, self.last = head, int(begin), int(end or begin)  # remember --source FILE:LINE


def find_origins(db: Database, item_ids: Iterable[str]) -> dict[str, Origin]:
    """The origin of each of these items, by id."""
    placed, held, cited = (name in db.tables for name in ("memory_sources", "memory_withheld", "memory_citations"))
    keys = ("source_kind", "source_id", "chunk_ids")
    kind, source, chunks = (f"CAST(coalesce({_FIELD.format(key)}, '') AS TEXT)" for key in keys)
    sql = (
        f"SELECT i.id, {kind}, {source}, instr({chunks}, '\"model:') > 0, CAST(i.created_at AS TEXT), "
        f"{'coalesce(w.reason, char())' if held else 'char()'}, "
        f"{_STALE if cited else '0'}, "
        f"{'s.line_start, s.line_end, coalesce(s.anchor, char())' if placed else 'NULL, NULL, char()'} "
        "FROM memory_items AS i "
        + ("LEFT JOIN memory_withheld AS w ON w.item_id = i.id " if held else "")
        + ("LEFT JOIN memory_sources AS s ON s.item_id = i.id " if placed else "")
        + "WHERE i.id IN (?*)"
    )
    return {item_id: Origin(*rest) for item_id, *rest in db.rows(sql, keys=item_ids)}
