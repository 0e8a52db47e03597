"""The tools of the programs beside memctl by their own names: answered as documented there, and never listed.

A row says which tool of ours does it, and how its arguments are called here. The call is then one of our tool in every
way: its limits, its grant, its line of the audit log. What differs from the documented one is said in `warnings`.
"""

from collections.abc import Mapping
from typing import NamedTuple

from memctl.annotations import Any

#: The kinds of memory that mem-context has are tiers here.
_TIERS = {"episodic": "stm", "semantic": "mtm", "permanent": "ltm"}
_UNUSED = "not used here: {}"
_ARCHIVED = "archived, not deleted: memctl restore brings it back, and only a person deletes for good (memctl purge)"


class Alias(NamedTuple):
    """Another name of a tool, or other names of its arguments.

    tool    our tool
    names   its argument -> ours; "" for one that is understood and no use is made of it here
    values  our argument -> what a word of theirs is here
    worded  our argument -> the words around their value: `{}d` makes 30 days of 30
    fixed   our arguments that the name alone gives
    within  the argument whose fields are arguments themselves
    unless  what is said of the answer, unless their argument of this name is false
    """

    tool: str
    names: Mapping[str, str] = {}
    values: Mapping[str, Mapping[str, str]] = {}
    worded: Mapping[str, str] = {}
    fixed: Mapping[str, Any] = {}
    within: str = ""
    said: str = ""
    unless: str = ""


#: The kinds of memory that rekal has are types here.
_TYPES = {"preference": "constraint", "procedure": "pattern", "context": "note", "episode": "note"}
_MEMORY = {"memory_id": "id", "memory_type": "type"}
_SEARCHED = {
    "project": "scope", "memory_type": "type_filter", "conversation_id": "session_id", "w_fts": "", "w_vec": "",
    "w_recency": "", "half_life": "",
}  # fmt: skip
#: By the name that is called; a tool of ours stands here for the arguments that others give it.
ALIASES: dict[str, Alias] = {
    # rekal 1.x and 3.x
    "memory_store": Alias(
        "memory_write",
        {"memory_type": "type", "project": "scope", "conversation_id": "session_id", "replaces": "supersedes"},
        {"type": _TYPES}, fixed={"title": "", "type": "fact"},
    ),
    "memory_update": Alias("memory_update", _MEMORY, {"type": _TYPES}),
    "memory_delete": Alias("memory_forget", {"memory_id": "id"}, said=_ARCHIVED),
    "memory_supersede": Alias(
        "memory_supersede", {"memory_type": "type", "project": "", "conversation_id": ""}, {"type": _TYPES}
    ),
    "memory_health": Alias("memory_stats"),
    "memory_build_context": Alias(
        "memory_build_context",
        {"w_fts": "", "w_vec": "", "w_recency": "recency", "half_life": "recency_days", "weights": ""},
        within="weights",
    ),
    "memory_search": Alias("memory_search", _SEARCHED, {"type_filter": _TYPES}),
    "memory_link": Alias("memory_link", {"from_id": "src_id", "to_id": "dst_id"}),
    "memory_related": Alias("memory_related", {"memory_id": "id"}),
    "memory_similar": Alias("memory_similar", {"memory_id": "id"}),
    "conversation_start": Alias("memory_session_start", {"project": "scope", "conversation_id": "session_id"}),
    "conversation_tree": Alias("memory_session_tree", {"conversation_id": "session_id", "id": "session_id"}),
    "conversation_threads": Alias("memory_session_list", {"project": "scope"}),
    "conversation_stale": Alias(
        "memory_session_list", {"project": "scope", "days": "stale_days"}, fixed={"stale_days": 30}
    ),
    # mem-context
    "forget": Alias("memory_forget"),
    "update": Alias(
        "memory_update", {"summary": "title", "type": "tier", "weight": "importance"}, {"tier": _TIERS}, within="fields"
    ),
    "delete_memory": Alias("memory_forget", {"permanent": ""}, said=_ARCHIVED, unless="permanent"),
    "purge_memories": Alias(
        "memory_forget",
        {"type": "tier", "older_than_days": "until"}, {"tier": _TIERS}, {"until": "{}d"}, {"id": [], "yes": True},
        said=_ARCHIVED,
    ),
    "consolidation_candidates": Alias("memory_consolidate", fixed={"candidates": True}),
    "review": Alias("memory_conflicts", said="what else waits for a decision is a person's: memctl review"),
}  # fmt: skip


def translate(name: str, arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any], str]:
    """Our tool's name and arguments for a call as it came, and what is to be said of the answer."""
    alias = ALIASES.get(name)
    if alias is None:
        return name, dict(arguments), ""
    inner = arguments.get(alias.within) if alias.within else None
    given = {key: value for key, value in arguments.items() if value is not inner} if isinstance(inner, dict) else {}
    given = given | inner if isinstance(inner, dict) else dict(arguments)
    found: dict[str, Any] = dict(alias.fixed)
    for key, value in given.items():
        ours = alias.names.get(key, key)
        if value is not None and (ours or key not in alias.names):
            known = alias.values.get(ours, {})
            word = known.get(value, value) if isinstance(value, str) else value
            found[ours] = alias.worded[ours].format(word) if ours in alias.worded else word
    unused = [key for key, value in given.items() if value is not None and alias.names.get(key) == ""]
    if alias.unless:
        return alias.tool, found, alias.said if given.get(alias.unless) else ""
    return alias.tool, found, alias.said or (_UNUSED.format(", ".join(unused)) if unused else "")
