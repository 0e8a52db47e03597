"""What to try next when an answer is empty or could be better: the `hint` of recall and search as tools."""

from memctl.annotations import TYPE_CHECKING
from memctl.text import query as queries
from memctl.text.clean import one_line

if TYPE_CHECKING:
    from memctl.types import SearchMeta

#: A question with more words than this is long: its keywords alone may do better with other stores.
LONG_QUERY = 4
#: So many characters of a question are repeated.
_SHOWN = 200


def hint(query: str, meta: "SearchMeta", found: bool) -> str:
    """One piece of advice, the most pressing first; "" when there is none to give."""
    if not found:
        return _nothing(query, meta)
    plain = queries.normalised(queries.analyse(query))
    if len(query.split()) > LONG_QUERY and plain and plain != query:
        return f"Long query: its keywords alone are '{one_line(plain, _SHOWN)}'."
    return meta.morphological_hint or ""


def _nothing(query: str, meta: "SearchMeta") -> str:
    if not query.strip():
        return "Nothing is remembered here."
    shown = one_line(query, _SHOWN)
    lines = [f"Nothing matches '{shown}' (strategy {meta.strategy})."]
    if meta.strategy != "AND" and meta.dropped_terms:
        lines.append(f"- Words that were left out: {', '.join(meta.dropped_terms)}.")
    lines += ["- Try other or fewer words, or a name from the code.", "- Try another scope."]
    return "\n".join(lines)
