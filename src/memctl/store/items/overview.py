"""Many items at a time, without making items of them: their texts, and on which days they were made."""

from collections.abc import Iterable, Iterator

from memctl.store.database import Database
from memctl.store.filters import Filters, utc_of
from memctl.store.items.items import load_strings


def iterate_texts(db: Database, filters: Filters) -> Iterator[tuple[str, tuple[object, ...], str]]:
    """Of each item that passes the filters its id, its scope and corpus, and its content; oldest first."""
    where, values = filters.where()
    for item_id, scope, corpus_id, content in db.each(
        f"SELECT i.id, i.scope, i.corpus_id, CAST(i.content AS TEXT) FROM memory_items AS i WHERE {where} "
        "ORDER BY i.created_at, i.id",
        values,
    ):
        yield str(item_id), (scope, corpus_id), str(content or "")


def iterate_words(db: Database, filters: Filters, most: int) -> Iterator[tuple[str, str, str, list[str]]]:
    """Of each item that passes the filters its id, when it was made, its title with the first `most` characters of its
    content, and its tags; newest first.
    """
    where, values = filters.where()
    for item_id, made, text, tags in db.each(
        f"SELECT i.id, i.created_at, "
        f"CAST(i.title AS TEXT) || ' ' || substr(CAST(i.content AS TEXT), 1, ?), i.tags "
        f"FROM memory_items AS i WHERE {where} ORDER BY i.created_at DESC, i.id",
        [most, *values],
    ):
        yield str(item_id), str(made or ""), str(text or ""), [] if tags == "[]" else load_strings(tags)


def passing_ids(db: Database, filters: Filters, item_ids: Iterable[str]) -> set[str]:
    """Those of these items that pass the filters."""
    where, values = filters.where()
    return {str(i) for (i,) in db.rows(f"SELECT i.id FROM memory_items AS i WHERE {where} AND i.id IN (?*)", values,
                                       keys=item_ids)}  # fmt: skip


def count_by_day(db: Database, filters: Filters) -> dict[str, int]:
    """How many items that pass the filters were made on each day (UTC, `2026-11-20`), the first day first."""
    where, values = filters.where()
    # Whatever stands behind the day: a time in UTC, as nearly all programs write it, costs no call.
    utc = f"CASE WHEN i.created_at GLOB '????-??-??T*+00:00' THEN i.created_at ELSE {utc_of('i.created_at')} END"
    found = db.rows(
        f"SELECT substr({utc}, 1, 10) AS day, count(*) FROM memory_items AS i WHERE {where} GROUP BY day ORDER BY day",
        values,
    )
    return {str(day): int(count) for day, count in found if day}
