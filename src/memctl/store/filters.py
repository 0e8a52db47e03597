"""Which items a read may see, as one value: every read applies it in SQL, before any limit."""

from memctl import ids
from memctl.annotations import Any
from memctl.names import GLOBAL_SCOPE


class Filters:
    """Conditions on `memory_items`; None means "any". All of them hold before a limit is applied.

    scopes      the read set; `Filters.read_set(name)` makes it: that scope and the reserved scope `global`
    tags        items that carry at least one of these, compared without case
    injectable  True: only what may be given to a model (not withheld, not retracted)
    archived    True: also what was archived or has expired
    """

    __slots__ = ("archived", "corpus_id", "injectable", "scopes", "tags", "tier", "type")

    def __init__(
        self,
        scopes: tuple[str, ...] | None = None,
        tier: str | None = None,
        type: str | None = None,
        tags: tuple[str, ...] = (),
        corpus_id: str | None = None,
        injectable: bool = False,
        archived: bool = False,
    ) -> None:
        self.scopes, self.tier, self.type, self.tags = scopes, tier, type, tags
        self.corpus_id, self.injectable, self.archived = corpus_id, injectable, archived

    def but(self, **changes: Any) -> "Filters":
        """The same conditions with some of them changed."""
        return Filters(**{name: getattr(self, name) for name in self.__slots__} | changes)

    @staticmethod
    def read_set(scope: str | None, all_scopes: bool = False) -> tuple[str, ...] | None:
        """The scopes a read in `scope` sees: that one and `global`; None (every scope) only when asked for."""
        if all_scopes or scope is None:
            return None
        return (scope,) if scope == GLOBAL_SCOPE else (scope, GLOBAL_SCOPE)

    def where(self, table: str = "i") -> tuple[str, list[object]]:
        """An SQL condition over the alias `table` of memory_items, and its bound values. Never empty."""
        parts: list[str] = []
        values: list[object] = []
        if not self.archived:
            parts.append(f"{table}.archived = 0 AND ({table}.expires_at IS NULL OR {table}.expires_at > ?)")
            values.append(ids.timestamp())
        if self.scopes is not None:
            parts.append(f"{table}.scope IN ({', '.join('?' * len(self.scopes))})")
            values += self.scopes
        for column in ("tier", "type", "corpus_id"):
            value = getattr(self, column)
            if value is not None:
                parts.append(f"{table}.{column} = ?")
                values.append(value)
        if self.tags:
            parts.append(
                f"json_valid({table}.tags) AND EXISTS (SELECT 1 FROM json_each({table}.tags) AS tag "
                f"WHERE memctl_fold(tag.value) IN ({', '.join('?' * len(self.tags))}))"
            )
            values += [fold(tag) for tag in self.tags]
        if self.injectable:
            parts.append(f"{table}.injectable = 1 AND {table}.validation <> 'retracted'")
        return " AND ".join(parts) or "1", values


def fold(text: object) -> str:
    """A tag without its case, in every script (registered as the SQL function `memctl_fold`)."""
    return str(text).casefold()
