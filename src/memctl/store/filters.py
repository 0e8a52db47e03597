"""Which items a read may see, as one value: every read applies it in SQL, before any limit."""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from memctl import ids
from memctl.annotations import TYPE_CHECKING, Any
from memctl.names import GLOBAL_SCOPE

if TYPE_CHECKING:
    from memctl.store.database import Database

#: SQL: whether a row of memory_items is a passage of a document, by the two things that every reader of documents
#: writes and no statement has. Plain functions, as in an index of other programs too; `MemoryProvenance.is_passage`
#: looks closer.
_OF_DOCUMENT = 'instr(provenance_json, \'"source_kind": "doc"\') > 0'
IS_PASSAGE = f'({_OF_DOCUMENT} AND instr(provenance_json, \'"content_hashes": ["\') > 0)'
#: SQL: whether a row of memory_items may fail the plain filters, now or later. An index has these few rows: SQLite
#: takes it for a query that says these very words.
MAY_FAIL = "(archived = 0 AND injectable = 1 AND validation <> 'retracted' AND expires_at IS NULL) IS NOT 1"
#: Where items stand that nobody pinned anywhere (`memctl browse`).
DEFAULT_DOMAIN = "default"
#: What ends no text: the end of all that begins with the same words.
LAST = "\U0010ffff"
# The whole hash would cost 80 bytes a row; 12 hex digits of it find the row, the query then compares the whole.
HASH_KEY = "substr(content_hash, 8, 12)"


class Filters:
    """Conditions on `memory_items`; None means "any". All of them hold before a limit is applied.

    scopes      the read set; `Filters.read_set(name)` makes it: that scope and the reserved scope `global`
    tags        items that carry at least one of these, compared without case
    injectable  True: only what may be given to a model (not withheld, not retracted)
    archived    True: also what was archived or has expired
    since       only items that were made at this moment or later, until: at this one or earlier
    below       only passages of documents below this folder (its path ends in a separator)
    origin      whose word it is: docs (a passage of a document), statements (anything else), people or models (of the
                statements those of people, and those of models, tools and the web)
    source      only what is from this file, or from a file below this folder, or was said about one (an absolute path)
    session     only what was said in the session of this id
    domain      only what stands in this domain of the view that `browse` shows
    as_of       the moment at which an item counts as expired, instead of now (see `memctl.store.as_of`)

    Moments have the shape of `ids.timestamp`.
    """

    __slots__ = (
        "archived", "as_of", "below", "corpus_id", "domain", "injectable", "name", "origin", "scopes", "session",
        "since", "source", "tags", "tier", "type", "until",
    )  # fmt: skip

    def __init__(
        self,
        scopes: tuple[str, ...] | None = None,
        tier: str | None = None,
        type: str | None = None,
        tags: tuple[str, ...] = (),
        corpus_id: str | None = None,
        injectable: bool = False,
        archived: bool = False,
        since: str | None = None,
        until: str | None = None,
        as_of: str | None = None,
        below: str | None = None,
        origin: str | None = None,
        source: str | None = None,
        session: str | None = None,
        domain: str | None = None,
    ) -> None:
        self.scopes, self.tier, self.type, self.tags = scopes, tier, type, tags
        self.corpus_id, self.injectable, self.archived = corpus_id, injectable, archived
        self.since, self.until, self.as_of, self.below = since, until, as_of, below
        self.origin, self.source, self.session, self.domain = origin, source, session, domain
        # What filters that most items of their scopes pass are known by; "" for narrower ones.
        narrow = (tier, type, corpus_id, since, until, as_of, below, origin, source, session, domain)
        is_narrow = tags or narrow.count(None) < len(narrow)
        self.name = "" if is_narrow else repr((scopes, injectable, archived))

    def replace(self, **changes: Any) -> "Filters":
        """The same conditions with some of them changed."""
        return Filters(**{name: getattr(self, name) for name in self.__slots__ if name != "name"} | changes)

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
            values.append(self.as_of or ids.timestamp())
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
                f"WHERE {folded('tag.value')} IN ({', '.join('?' * len(self.tags))}))"
            )
            values += [fold(tag) for tag in self.tags]
        for sign, moment in ((">=", self.since), ("<=", self.until)):
            if moment is not None:
                parts.append(f"{utc_of(f'{table}.created_at')} {sign} ?")
                values.append(moment)
        if self.session is not None:
            parts.append(f"{table}.id IN (SELECT item_id FROM memory_session_items WHERE session_id = ?)")
            values.append(self.session)
        if self.domain is not None:  # an item that nobody pinned elsewhere stands in the domain `default`
            pinned = f"SELECT 1 FROM memory_palace_locations AS p WHERE p.item_id = {table}.id AND p.domain"
            here = "NOT EXISTS" if self.domain == DEFAULT_DOMAIN else "EXISTS"
            parts.append(f"{here} ({pinned} {'<>' if self.domain == DEFAULT_DOMAIN else '='} ?)")
            values.append(self.domain)
        for part, bound in self._of_source(table):
            parts.append(part)
            values += bound
        if self.injectable:
            parts.append(f"{table}.injectable = 1 AND {table}.validation <> 'retracted'")
        return " AND ".join(parts) or "1", values

    def _of_source(self, table: str) -> Iterator[tuple[str, list[str]]]:
        """The conditions on where an item is from."""
        provenance = f"{table}.provenance_json"
        spans: list[tuple[str, str]] = []
        if self.below is not None:
            spans = [(self.below, self.below + LAST)]
        elif self.source is not None:  # it itself, what is below it, a line of it
            starts = (f"{self.source}/", f"{self.source}:")
            spans = [(self.source, self.source), *((start, start + LAST) for start in starts)]
        if spans:
            source = f"CASE WHEN json_valid({provenance}) THEN json_extract({provenance}, '$.source_id') END"
            yield (
                f"({' OR '.join([f'{source} BETWEEN ? AND ?'] * len(spans))})",
                [end for span in spans for end in span],
            )
        if self.origin is not None:
            is_passage = IS_PASSAGE.replace("provenance_json", provenance)
            yield is_passage if self.origin == "docs" else f"NOT {is_passage}", []
        if self.origin in ("people", "models"):
            yield f"memctl_said_by(CAST({provenance} AS BLOB)) = ?", [self.origin]


class Passing:
    """What is known of which items pass some filters.

    lasting   those that do, and go on doing so
    failing   those that do not
    doubtful  where most pass: every item that is not among these passes, and goes on doing so
    is_read   whether it was read which are doubtful
    """

    __slots__ = ("doubtful", "failing", "is_read", "lasting")

    def __init__(self) -> None:
        self.lasting, self.failing = set[int](), set[int]()
        self.doubtful: set[int] | None = None
        self.is_read = False

    def passes(self, rows: AbstractSet[int]) -> bool:
        """Whether all of these are known to pass, and to go on doing so."""
        return rows <= self.lasting if self.doubtful is None else not (rows & self.doubtful) - self.lasting


def count_active(db: "Database", scopes: Sequence[str]) -> int:
    """How many items of these scopes are neither archived nor expired."""
    where, values = Filters(tuple(scopes)).where()
    return int(db.value(f"SELECT count(*) FROM memory_items AS i WHERE {where}", values))


def fold(text: object) -> str:
    """A tag without its case, in every script (registered as the SQL function `memctl_fold`)."""
    return (text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)).casefold()


def folded(column: str) -> str:
    """SQL for a stored text without its case. As bytes: sqlite3 hands over no text that is not UTF-8."""
    return f"memctl_fold(CAST({column} AS BLOB))"


def utc_of(column: str) -> str:
    """SQL for a stored time in the one shape that compares: ours, and the usual ones of whole seconds, cost no call."""
    second = "????-??-??T??:??:??"
    return (
        f"CASE WHEN {column} GLOB '{second}.??????+00:00' THEN {column} "
        f"WHEN {column} GLOB '{second}Z' OR {column} GLOB '{second}+00:00' "
        f"THEN substr({column}, 1, 19) || '.000000+00:00' ELSE memctl_utc(CAST({column} AS BLOB)) END"
    )


def utc(text: object) -> str:
    """Another program's time as UTC, in the shape of `ids.timestamp` (registered as the SQL function `memctl_utc`)."""
    from memctl.text.times import canonical

    return canonical(text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text or ""))


def said_by(provenance: object) -> str:
    """Whose word a statement is, by its provenance as JSON: people or models (the SQL function `memctl_said_by`)."""
    import json

    from memctl.text.source_trust import LOW, trust_of

    text = provenance.decode("utf-8", "replace") if isinstance(provenance, bytes) else str(provenance or "")
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    source = found if isinstance(found, dict) else {}
    kind, name, references = (source.get(key) for key in ("source_kind", "source_id", "chunk_ids"))
    named = references if isinstance(references, list) else []
    return "models" if trust_of(str(kind or ""), str(name or ""), named)[0] == LOW else "people"
