"""Items as JSON lines, one after another: a backup, or the way into another store."""

from collections.abc import Iterator
from contextlib import nullcontext
from itertools import islice
from typing import TYPE_CHECKING, Any

from memctl.lifecycle import record
from memctl.store.database import Database
from memctl.store.documents import passages
from memctl.store.filters import Filters
from memctl.store.items import attributes, items

if TYPE_CHECKING:
    from memctl.policy.redaction import Redaction

_BATCH = 500


def lines(db: Database, filters: Filters, redaction: "Redaction | None" = None) -> Iterator[dict[str, Any]]:
    """The line of each item that passes the filters, newest change first (ties by id), all from one moment.

    A line has the 22 fields of an item, `source` for a passage (its position, lines and anchor there),
    `withheld` ("raw" or "policy") for an item that is not injectable for a known reason, and `importance` where
    somebody said it. `redaction`: the view in which each of these fields leaves; None is as it is stored.
    """
    with nullcontext() if db.conn.in_transaction else db.snapshot():  # one moment for all batches
        found = items.iterate(db, filters)
        while batch := list(islice(found, _BATCH)):
            ids = [item.id for item in batch]
            places, reasons, matter = (
                passages.get_positions(db, ids),
                items.withheld_reasons(db, ids),
                attributes.get_importance(db, ids),
            )
            for item in batch:
                line = record.to_dict(item, places.get(item.id), reasons.get(item.id, ""), matter.get(item.id))
                yield line if redaction is None else redaction.record(line)
