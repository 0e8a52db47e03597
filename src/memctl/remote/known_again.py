"""A statement that is known again where a remote is added again: what was changed here since counts as an edit of it.

Nothing is left of what both sides knew last. What others say now is compared with what stands here, and where they
differ, with the item's own past: a field counts as it is here if a person or a tool changed it later than they did, or
knew what they have. What an exchange changed here is the word of others.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import reduce

from memctl import ids
from memctl.annotations import Any
from memctl.remote import merge
from memctl.store.database import Database
from memctl.store.items import events, items
from memctl.text import clean

#: Fields of one value, as they change: what somebody said something is from does not, and the last two are one.
_SINGLE = (*(name for name in merge.FIELDS if name != "source"), "life")


def is_as_born(state: merge.State, theirs: Sequence[merge.State]) -> bool:
    """Whether others say of something, in a birth each and nothing since, what is said of it here."""
    ((_, born),) = state["born"].items()
    for one in theirs:
        stamp = merge.newborn(one)
        if not stamp or one["born"][stamp][2:-1] != born[2:-1] or "life" in state:
            return False
        if any(one.get(name, {}).keys() != state.get(name, {}).keys() for name in merge.SETS):
            return False
    return bool(theirs)


def birth_of_known(
    db: Database, state: merge.State, fields: Mapping[str, Any], theirs: Sequence[merge.State], view: merge.MergeView
) -> merge.State:
    """A birth here of what others know under some key already, with what was changed here since as edits.

    theirs  what counts of what others say of the key
    """
    ((stamp, (item_id, *_)),) = state["born"].items()
    known = reduce(merge.join, theirs, merge.State())
    said = _with_its_text(state, theirs, known, {fields["content"], *items.past_contents(db, item_id)})
    row = merge.rows({"-": known}, view)["-"] if known.get("text") and any(map(_is_whole, theirs)) else None
    if row is None or not row.fields:
        return said
    past = _changes(db, item_id)
    now = {**row.fields}
    for name in _SINGLE:
        ours, there = _value(fields, name), _value(row.fields, name)
        if ours != there and not (name == "title" and "set" in said) and _counts(past.get(name, ""), name, known, row):
            now |= {"archived": ours[0], "superseded_by": ours[1]} if name == "life" else {name: ours}
    for name in merge.SETS:
        now[name] = _members(name, fields[name], known.get(name, {}), past)
    edits = merge.own_part(merge.change(known, row, now, row.held, stamp), merge.author_of(stamp))
    return merge.join({name: said[name] for name in said if name not in ("life", *merge.SETS)}, edits)


def _is_whole(state: merge.State) -> bool:
    return any(len(one) > 1 for one in state.get("born", {}).values())


def _with_its_text(
    state: merge.State, theirs: Sequence[merge.State], known: merge.State, before: Collection[str]
) -> merge.State:
    """The birth with its text as an edit, unless those of others come from it.

    The title of an edit comes with it, unless others have it too and it is not how the text begins.

    before  the texts that it has had here
    """
    ((stamp, (content, _)),) = state["text"].items()
    said = {entry[0] for one in theirs for entry in one.get("text", {}).values()}
    now = known.get("text", {})
    seen_here = {at: entry for at, entry in now.items() if entry[0] in before}
    if any(entry[0] == content for entry in now.values()) or (content in said and not seen_here):
        return state
    seen = {merge.author_of(stamp): stamp.partition(".")[0]}
    for at, entry in seen_here.items():
        for author, clock in [(merge.author_of(at), at.partition(".")[0]), *entry[-1].items()]:
            if f"{clock}." < stamp:
                seen[author] = max(clock, seen.get(author, ""))
    title, titles = state["born"][stamp][2], set[str]()
    for one in theirs:
        titles |= {born[2] for born in one.get("born", {}).values() if len(born) > 1}
        titles |= {said[1] for name, said in one.get("set", {}).items() if name == "title"}
    retitled = {"set": {"title": [stamp, title]}} if title not in titles or title == clean.opening(content) else {}
    return state | {"text": {stamp: [content, seen]}} | retitled


# --- the item's own past ----------------------------------------------------------------------------------------------


def _value(fields: Mapping[str, Any], name: str) -> Any:
    return (fields["archived"], fields["superseded_by"]) if name == "life" else fields[name]


def _changes(db: Database, item_id: str) -> dict[str, str]:
    """Of each field, and of each member of a set (`tags red`), whose last change here no exchange made, when that was;
    or the time of what it knew of others, where their clock is ahead.
    """
    out, was, seen = dict[str, str](), dict[str, Any](), ""
    for one in items.revisions(db, item_id):
        now, is_ours = dict(_values(one["snapshot"])), one["reason"] != "remote"
        for name in was.keys() | now.keys() if was else ():
            if now.get(name) != was.get(name):
                out[name] = max(one["changed_at"], seen) if is_ours else ""
        seen = seen if is_ours else max(seen, str(one["snapshot"].get("updated_at", "")))
        was = now or was
    for event in events.list_events(db, item_id, "edit"):  # newest first
        if "importance" in event.details.get("fields", ()):  # no state has it
            out["importance"] = max(event.timestamp, seen)
            break
    return out


def _values(snapshot: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The values of a state that an item was in, as far as it tells: by field, and by member."""
    for name in _SINGLE:
        if name == "life" and "archived" in snapshot:
            yield name, (bool(snapshot["archived"]), snapshot.get("superseded_by"))
        elif name in snapshot:
            yield name, snapshot[name]
    for name in merge.SETS:
        for one in snapshot.get(name) or ():
            said = f"{one.get('rel', '')} {one.get('to', '')}" if isinstance(one, dict) else str(one)
            yield f"{name} {said.casefold()}", True


def _counts(changed: str, name: str, known: merge.State, row: merge.MergedRow) -> bool:
    """Whether a field that others have otherwise, and that was changed here then, counts as it is here."""
    if name != "life":
        return _is_after(changed, [known["set"][name][0]] if name in known.get("set", {}) else known["born"])
    nobody_spoke = not known.get("life") or merge.BY_OTHERS[0] in row.held
    return nobody_spoke or _is_after(changed, known["life"])


def _is_after(changed: str, stamps: Iterable[str]) -> bool:
    """Whether a change was not before these stamps; "" is none."""
    return bool(changed) and changed >= ids.timestamp(max(map(merge.clock_of, stamps)) / 1_000_000)


def _members(name: str, ours: Sequence[str], known: Mapping[str, list[Any]], past: Mapping[str, str]) -> list[str]:
    """The members of a set: those here that others do not know or that came here later than others took them away,
    and those of others that were not taken away here later than they were said.
    """
    here = {one.casefold() for one in ours}
    out = []
    for one in ours:
        adds, drops = known.get(one.casefold(), ({}, ()))
        is_there = not adds or not adds.keys() <= {*drops}
        if is_there or _is_after(past.get(f"{name} {one.casefold()}", ""), adds):
            out.append(one)
    for key, (adds, drops) in known.items():
        alive = [at for at in adds if at not in drops]
        if alive and key not in here and not _is_after(past.get(f"{name} {key}", ""), alive):
            out.append(adds[min(alive)])
    return out
