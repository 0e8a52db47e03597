"""What many machines said of one statement, joined: pure functions, without files, database or clock.

A state is what is known of one key, as JSON. Joining two states is union and maximum, so that order, repeats and
batches of records do not matter (a delta-state CRDT). A row is a function of joined states.

    born   {stamp: [id, made, *FIELDS]}   who said it first, with which id, when, and what else; several are twins
    text   {stamp: [content, seen]}     contents; one that another has seen is over
    life   {stamp: [archived, successor, seen]}   the same of whether it counts, and what replaced it
    set    {field: [stamp, value]}      other fields that somebody changed
    tags, entities, links  {key: [{stamp: spelling}, [stamps that were taken away]]}
    held   {stamp: rules}               what keeps it from models
    free   [stamps of `held` that a person released]
    gone   {stamp: ""}                  purges: of births only the ids are left beside them

A stamp is a hybrid clock and a replica, `0001764000000000.3f2a…`: stamps compare as text. `seen` names the newest
clock of each replica that whoever wrote the entry knew of this key.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping

from memctl.annotations import Any, NamedTuple
from memctl.names import TIERS

State = dict[str, Any]
_dump = json.JSONEncoder().encode
#: Fields with one value; the newest edit wins; without one, what twins were born with is joined by `_first`.
FIELDS = ("title", "type", "tier", "confidence", "importance", "validation", "expires_at", "source")
SETS = ("tags", "entities", "links")
#: Why two items are in conflict, as `memctl conflicts` says it.
EDITED, REPLACED, REPLACED_TWICE, CIRCLE = (
    "changed on two machines", "changed while it was replaced", "replaced by both", "each replaces the other",
)  # fmt: skip
#: Rules of what others took away, and what waits here for a person's word.
BY_OTHERS = "remote.archived", "remote.purged"
#: How far the word of others goes: low, medium, high.
TRUST = ("low", "medium", "high")
#: What others say of their own certainty counts for this much at low trust.
LOW_CONFIDENCE = 0.5


class MergeView(NamedTuple):
    """Who looks: `mine` are the replica ids that this store has had, `trust` how far the word of others goes."""

    mine: frozenset[str] = frozenset()
    trust: str = "high"


class MergedRow(NamedTuple):
    """What joined states say of one item.

    fields     content, archived, superseded_by, made, the FIELDS and the SETS
    held       the rules for which no model may be given it
    purge      it is to be deleted for good
    extras     texts that no edit has seen, each an item of its own: id -> text
    conflicts  pairs of ids with a reason: what somebody must decide
    """

    fields: dict[str, Any]
    held: tuple[str, ...] = ()
    purge: bool = False
    extras: "dict[str, str]" = {}  # noqa: RUF012 - never changed
    conflicts: tuple[tuple[str, str, str], ...] = ()


# --- stamps and keys -------------------------------------------------------------------------------------------------


def make_stamp(clock: int, replica: str) -> str:
    """The stamp of a clock in microseconds."""
    return f"{clock:016d}.{replica}"


def clock_of(stamp: str) -> int:
    """The clock of a stamp in microseconds."""
    return int(stamp.partition(".")[0])


def author_of(stamp: str) -> str:
    """The replica that wrote what has this stamp."""
    return stamp.partition(".")[2]


def key_of(scope: str, content: str, number: int) -> str:
    """The key of what is said for the `number`th time in a remote scope: machines that say the same share it."""
    return hashlib.sha256(_dump([scope, content, number]).encode()).hexdigest()[:32]


def made_id(key: str) -> str:
    """The id that an item has where the one that it was born with is taken."""
    return f"MEM-{key[:12]}"


def newest(state: State) -> str:
    """The newest stamp in a state."""
    return newborn(state) or max(_stamps(state), default="")


def newborn(state: State) -> str:
    """The stamp of a state that is one birth and nothing since, as most are; "" of any other."""
    births, texts = state.get("born", ()), state.get("text", {})
    if len(births) != 1 or len(texts) != 1:
        return ""
    ((stamp, birth),) = births.items()
    if len(birth) == 1 or stamp not in texts or texts[stamp][1]:
        return ""
    parts = 2
    for name in SETS:
        if members := state.get(name):
            parts += 1
            for adds, drops in members.values():
                if drops or len(adds) != 1 or stamp not in adds:
                    return ""
    return str(stamp) if parts == len(state) else ""


def _stamps(state: State) -> Iterator[str]:
    for name in ("born", "text", "life", "held", "gone"):
        yield from state.get(name, ())
    yield from (stamp for stamp, _ in state.get("set", {}).values())
    for name in SETS:
        yield from (stamp for adds, _ in state.get(name, {}).values() for stamp in adds)


def words_of(state: State, stamp: str) -> tuple[list[str], list[str]]:
    """All that a state says: its texts, and words beside them. The first text has the lines by which an item of it
    is judged: title, content, tags, entities, source. The stamp is what `newborn` says of the state.
    """
    if stamp:
        item_id, made, title, kind, tier, *_, validation, expires, source = state["born"][stamp]
        words, lines = list[Any](), [title, state["text"][stamp][0]]
        for name in SETS:
            if members := state.get(name):
                words += members
                (words if name == "links" else lines).extend(_members(members))
        lines.append(source[1])
        words += item_id, made, kind, tier, validation, expires, source[0], *source[2]
        return ["\n".join(filter(None, lines))], [one for one in words if one and one not in lines]
    texts, births = state.get("text", {}), _births(state)
    said = dict(zip(FIELDS, births[max(births)][2:], strict=True)) if births else {}
    said |= {name: value for name, (_, value) in state.get("set", {}).items()}
    shown = max(texts, default="")
    lines = [said.get("title", ""), *(texts[shown][:1] if shown else ()), *_members(state.get("tags", {})),
             *_members(state.get("entities", {})), said.get("source", ("", ""))[1]]  # fmt: skip
    words = []
    for name in ("born", "life", "set", "held", "gone", *SETS):
        part = state.get(name, {})
        words += [*part.values(), *(part if name in SETS else ())]
    for one in words:  # grows meanwhile
        words += one if isinstance(one, list) else one.values() if isinstance(one, dict) else ()
    known = {*lines}
    beside = [one for one in words if isinstance(one, str) and one not in known]
    return ["\n".join(filter(None, lines)), *(one[0] for at, one in texts.items() if at != shown)], beside


def ids_of(state: State) -> dict[str, str]:
    """The ids that a state's item was born with, each with its first stamp; the first id is the first one born."""
    births, out = state.get("born", {}), dict[str, str]()
    if len(births) == 1:  # nearly always
        ((stamp, one),) = births.items()
        return {one[0]: stamp}
    for stamp in sorted(births):
        out.setdefault(births[stamp][0], stamp)
    return out


def _seen(state: State) -> dict[str, str]:
    """The newest clock of each replica that anything in a state knows."""
    out: dict[str, str] = {}
    for register in ("text", "life"):
        for stamp, entry in state.get(register, {}).items():
            for author, clock in [(author_of(stamp), stamp.partition(".")[0]), *entry[-1].items()]:
                out[author] = max(clock, out.get(author, ""))
    return out


def _knows(entry: list[Any], stamp: str) -> bool:
    """Whether whoever wrote an entry knew what has this stamp."""
    return bool(entry[-1].get(author_of(stamp), "") >= stamp.partition(".")[0])


# --- joining ---------------------------------------------------------------------------------------------------------


def join(a: State, b: State) -> State:
    """Both states as one: in any order, any number of times, with the same result."""
    if not a and newborn(b):
        return b
    born = _union(a.get("born", {}), b.get("born", {}))
    if a.get("gone") or b.get("gone"):  # later pieces of what was purged are dropped
        return {"born": {at: one[:1] for at, one in born.items()}, "gone": a.get("gone", {}) | b.get("gone", {})}
    out: State = {"born": born}
    for register in ("text", "life"):
        out[register] = _maximal(_union(a.get(register, {}), b.get(register, {})))
    if "set" in a or "set" in b:
        out["set"] = {
            name: max(some, key=lambda one: (one[0], _dump(one[1])))
            for name in FIELDS
            if (some := [one["set"][name] for one in (a, b) if name in one.get("set", {})])
        }
    for name in SETS:
        some, more = a.get(name, {}), b.get(name, {})
        out[name] = {key: _join_member(some.get(key), more.get(key)) for key in sorted(some.keys() | more.keys())}
    out["held"] = _union(a.get("held", {}), b.get("held", {}))
    out["free"] = sorted({*a.get("free", ()), *b.get("free", ())})
    return {name: value for name, value in out.items() if value}


def _union(a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
    """Entries of both; where a forged one has the stamp of another, everybody takes the same of the two."""
    if not (a and b):  # nearly always
        both = a or b
        return both if len(both) < 2 else dict(sorted(both.items()))
    both = a | b
    for stamp in a.keys() & b.keys():
        both[stamp] = max(a[stamp], b[stamp], key=_dump)
    return dict(sorted(both.items()))


def _maximal(entries: dict[str, Any]) -> dict[str, Any]:
    """The entries that no other one has seen. What was said at birth is the same on all machines: any edit saw it."""
    if len(entries) < 2:
        return entries
    edited = any(entry[-1] for entry in entries.values())
    return {
        stamp: entry
        for stamp, entry in entries.items()
        if (entry[-1] or not edited) and not any(_knows(other, stamp) for at, other in entries.items() if at != stamp)
    }


def _first(name: str, values: list[Any]) -> Any:
    """What machines that said the same mean together, as the store merges what it is told twice."""
    if len(values) == 1:
        return values[0]
    if name == "expires_at":  # the short life that one of them gave it must not end the other's
        return None if None in values else max(values)
    if name == "tier":
        return max(values, key=TIERS.index)
    return max(values) if name in ("confidence", "importance") else min(values, key=_dump)


def _join_member(a: "list[Any] | None", b: "list[Any] | None") -> list[Any]:
    some, more = a or [{}, []], b or [{}, []]
    return [_union(some[0], more[0]), sorted({*some[1], *more[1]}) if some[1] or more[1] else []]


# --- what this machine says ------------------------------------------------------------------------------------------


def birth(item_id: str, fields: Mapping[str, Any], held: Iterable[str], stamp: str) -> State:
    """The state of what is said for the first time here; `fields` as in MergedRow."""
    state: State = {"born": {stamp: [item_id, fields["made"], *(fields[name] for name in FIELDS)]}}
    state["text"] = {stamp: [fields["content"], {}]}
    for name in SETS:
        state[name] = {key: [{stamp: said}, []] for key, said in _keyed(fields[name]).items()}
    if fields["archived"]:
        state["life"] = {stamp: [True, fields["superseded_by"], {}]}
    if rules := sorted(held):
        state["held"] = {stamp: rules}
    return {name: value for name, value in state.items() if value}


def change(state: State, was: MergedRow, now: Mapping[str, Any], held: Iterable[str], stamp: str) -> State:
    """The state after what a person here changed: `was` is the row as it was written, `now` the fields as they are."""
    held = set(held)
    seen, delta = _seen(state), State()
    if now["content"] != was.fields["content"]:
        delta["text"] = {stamp: [now["content"], seen]}
    if (now["archived"], now["superseded_by"]) != (was.fields["archived"], was.fields["superseded_by"]):
        delta["life"] = {stamp: [now["archived"], now["superseded_by"], seen]}
    elif BY_OTHERS[0] in was.held and BY_OTHERS[0] not in held:  # a person lets it stay
        delta["life"] = {stamp: [False, None, seen]}
    if edited := {name: [stamp, now[name]] for name in FIELDS if now[name] != was.fields[name]}:
        delta["set"] = edited
    for name in SETS:
        before, after = _keyed(was.fields[name]), _keyed(now[name])
        members: dict[str, Any] = {key: [{stamp: after[key]}, []] for key in after.keys() - before.keys()}
        for key in before.keys() - after.keys():
            members[key] = [{}, sorted(state.get(name, {}).get(key, [{}])[0])]
        if members:
            delta[name] = members
    if rules := sorted(held - set(was.held)):
        delta["held"] = {stamp: rules}
    return join(state, delta)


def settle(state: State, content: str, stamp: str) -> State:
    """The state after somebody decided about its other texts: this one stands."""
    return join(state, {"text": {stamp: [content, _seen(state)]}})


def release(state: State) -> State:
    """The state after a person let models have it: what held it back until now no longer does."""
    return join(state, {"free": sorted(state.get("held", {}))})


def purge(state: State, stamp: str) -> State:
    """The state of what was deleted for good."""
    return join(state, {"gone": {stamp: ""}})


def withdraw(state: State, stamp: str) -> State:
    """The state of what is no longer shared: archived for the others, and not purged."""
    return join(state, {"life": {stamp: [True, None, _seen(state)]}})


def own_part(state: State, replica: str) -> State:
    """What one replica said of a key: what stands in its log, and all that a log of it may say."""
    if stamp := newborn(state):
        return state if author_of(stamp) == replica else {}
    out: State = {
        name: {stamp: one for stamp, one in state.get(name, {}).items() if author_of(stamp) == replica}
        for name in ("born", "text", "life", "held", "gone")
    }
    out["set"] = {name: one for name, one in state.get("set", {}).items() if author_of(one[0]) == replica}
    for name in SETS:
        members = {
            key: [{stamp: said for stamp, said in adds.items() if author_of(stamp) == replica}, drops]
            for key, (adds, drops) in state.get(name, {}).items()
        }
        out[name] = {key: one for key, one in members.items() if one[0] or one[1]}
    out["free"] = list(state.get("free", ()))
    return {name: value for name, value in out.items() if value}


def admitted(state: State, replica: str, view: MergeView) -> State:
    """What counts of a record in the log of a replica: what that replica may say.

    That is nothing in the name of others, no release from quarantine unless it is trusted highly, and no claim to have
    seen what came after it.
    """
    out = own_part(state, replica)
    if out is state:
        return out
    for name in ("text", "life"):
        out[name] = {
            stamp: entry
            for stamp, entry in out.get(name, {}).items()
            if not entry[-1] or max(entry[-1].values()) <= stamp.partition(".")[0]
        }
    if view.trust != "high" and replica not in view.mine:
        out.pop("free", None)
    return {name: value for name, value in out.items() if value}


def stamps_of(state: State, replica: str) -> set[str]:
    """The stamps of what a replica wrote in a state."""
    return {stamp for stamp in _stamps(state) if author_of(stamp) == replica}


def restamped(state: State, old: str, new: str, sent: int, published: Collection[str]) -> State:
    """The state of a copy that becomes another replica: what it has not sent yet was written by its new one.

    sent       the newest clock that this store knows it has sent
    published  the stamps in the log of the old replica
    """

    def stamp(given: str) -> str:
        theirs = author_of(given) != old or given in published or clock_of(given) <= sent
        return given if theirs else make_stamp(clock_of(given), new)

    def seen(given: dict[str, str]) -> dict[str, str]:
        clock = given.get(old, "")
        if not clock or int(clock) <= sent:
            return given
        return given | {old: f"{sent:016d}", new: clock}

    out = dict(state)
    out["set"] = {name: [stamp(at), value] for name, (at, value) in state.get("set", {}).items()}
    for name in ("text", "life"):
        out[name] = {stamp(at): [*one[:-1], seen(one[-1])] for at, one in state.get(name, {}).items()}
    for name in ("born", "held", "gone"):
        out[name] = {stamp(at): one for at, one in state.get(name, {}).items()}
    for name in SETS:
        out[name] = {
            key: [{stamp(at): said for at, said in adds.items()}, sorted(map(stamp, drops))]
            for key, (adds, drops) in state.get(name, {}).items()
        }
    out["free"] = sorted(map(stamp, state.get("free", ())))
    return {name: value for name, value in out.items() if value}


def _keyed(words: Iterable[str]) -> dict[str, str]:
    return {word.casefold(): word for word in reversed([*words])}


# --- rows ------------------------------------------------------------------------------------------------------------


def is_authored(state: State, stamp: str, mine: Collection[str] = ()) -> bool:
    """Whether whoever wrote this stamp alone said what the state is about; `mine` count as one."""
    authors = {author_of(one) for one in state.get("born", ())}
    return bool(authors) and (authors == {author_of(stamp)} or (author_of(stamp) in mine and authors <= {*mine}))


def rows(
    states: Mapping[str, State], view: MergeView, names: "Mapping[str, str] | None" = None,
    newborn_at: "Mapping[str, str] | None" = None,
) -> dict[str, MergedRow]:  # fmt: skip
    """The row of each key that is known well enough. The same states and view give the same rows.

    names       by key the id that it has here, where that is not the first one that it was born with
    newborn_at  by key what `newborn` says of its state, where that is known: its row needs fewer questions
    """
    states = dict(sorted(states.items()))
    ids = {key: [*ids_of(state)] for key, state in states.items()}
    shown = _shown_ids(ids, names or {})
    by_id = {one: key for key, some in reversed(ids.items()) for one in some} | {one: key for key, one in shown.items()}
    lives = {key: _life(state) for key, state in states.items()}
    cut = _circles(states, lives, by_id)
    purged = {one: state for key, state in states.items() if state.get("gone") for one in ids[key]}
    out = {}
    for key, state in states.items():
        taken = state if state.get("gone") else None
        taken = taken or (next((purged[one] for one in ids[key] if one in purged), None) if purged else None)
        if taken is not None:  # deleted, if who said it may want that, or is trusted; else it waits for a person
            final = view.trust == "high" or any(is_authored(state, stamp, view.mine) for stamp in taken["gone"])
            out[key] = MergedRow({}, () if final else (BY_OTHERS[1],), purge=final)
        elif view.trust == "high" and newborn_at and (stamp := newborn_at.get(key)):
            out[key] = MergedRow(_fields_at_birth(state, stamp))
        elif state.get("text") and _births(state):  # else its birth is still on its way
            out[key] = _row(key, state, None if key in cut else lives[key], shown, by_id, view)
            if key in cut:
                successor = lives[key][1] or ""
                pair = (shown[key], shown.get(by_id.get(successor, ""), successor), CIRCLE)
                out[key] = out[key]._replace(conflicts=(*out[key].conflicts, pair))
    return out


def _fields_at_birth(state: State, stamp: str) -> dict[str, Any]:
    """The fields of what was said once, and nothing since."""
    _, made, *fields = state["born"][stamp]
    out = dict(zip(FIELDS, fields, strict=True))
    out |= {name: _members(state[name]) if name in state else [] for name in SETS}
    return out | {"content": state["text"][stamp][0], "archived": False, "superseded_by": None, "made": made}


def _births(state: State) -> dict[str, list[Any]]:
    """The births of which more than the id is left."""
    return {stamp: one for stamp, one in state.get("born", {}).items() if len(one) > 1}


def _shown_ids(ids: Mapping[str, list[str]], names: Mapping[str, str]) -> dict[str, str]:
    """The id that each key's item has: what it has here, else the first one that it was born with.

    An id that belongs to another key already (an accident among a million, or an attack) is left to that: the smaller
    key has it, or the one whose item is here. `ids` are those that each was born with, in the order of the keys.
    """
    out = dict(names)
    taken = set(out.values())
    for key, some in ids.items():
        if key not in out:
            first = some[0] if some else ""
            out[key] = made_id(key) if first in taken or not first else first
            taken.add(out[key])
    return out


def _life(state: State) -> "tuple[bool, str | None, str]":
    """Whether it is archived, what replaced it, and the stamp that says so."""
    stamp, entry = max(state["life"].items()) if "life" in state else ("", (False, None))
    return bool(entry[0]), entry[1], stamp


def _circles(
    states: Mapping[str, State], lives: Mapping[str, tuple[bool, "str | None", str]], by_id: Mapping[str, str]
) -> set[str]:
    """The keys whose replacement does not count, because what replaces them is replaced by them: the newest of each."""
    cut = set[str]()
    for start in [key for key in states if lives[key][1]]:  # in order
        path, key = list[str](), start
        while key in lives and key not in path and key not in cut and lives[key][0] and lives[key][1]:
            path.append(key)
            key = by_id.get(str(lives[key][1]), "")
        if key in path:
            cut.add(max(path[path.index(key) :], key=lambda one: (lives[one][2], one)))
    return cut


def _row(
    key: str, state: State, life: "tuple[bool, str | None, str] | None", shown: Mapping[str, str],
    by_id: Mapping[str, str], view: MergeView,
) -> MergedRow:  # fmt: skip
    archived, successor, at = life or (False, None, "")
    free = state.get("free", ())
    held = {rule for stamp, rules in state.get("held", {}).items() if stamp not in free for rule in rules}
    if archived and not _may_archive(state, at, view):
        archived, successor = False, None
        held.add(BY_OTHERS[0])
    named = shown.get(by_id.get(successor or "", ""), successor)
    first = max(state["text"])
    extras, conflicts = dict[str, str](), list[tuple[str, str, str]]()
    by = named if archived else None
    for stamp in _unseen(state, first, at if by else "") if by or len(state["text"]) > 1 else ():
        extra = f"MEM-{hashlib.sha256(f'{key} {stamp}'.encode()).hexdigest()[:12]}"
        extras[extra] = state["text"][stamp][0]
        conflicts.append((by, extra, REPLACED) if by else (shown[key], extra, EDITED))
    if named:
        rivals = {shown.get(by_id.get(one[1] or "", ""), one[1]) for one in state["life"].values() if one[0] and one[1]}
        conflicts += [(named, rival, REPLACED_TWICE) for rival in sorted(rivals - {named})]
    fields = {name: _capped(name, state, view) for name in FIELDS}
    fields |= {name: _members(state.get(name, {})) for name in SETS}
    fields |= {"content": state["text"][first][0], "archived": archived, "superseded_by": named}
    fields["made"] = min(one[1] for one in _births(state).values())
    return MergedRow(fields, tuple(sorted(held)), extras=extras, conflicts=tuple(conflicts))


def _may_archive(state: State, stamp: str, view: MergeView) -> bool:
    """Whether what was archived elsewhere is archived here without a person's word."""
    return view.trust == "high" or author_of(stamp) in view.mine or is_authored(state, stamp)


def _unseen(state: State, first: str, replaced: str) -> list[str]:
    """The stamps of texts that nobody has decided about: of those beside the newest, or that a replacement hides.

    replaced  the stamp of what says that something else replaced it; "": nothing has
    """
    texts = state["text"]
    said = set() if replaced else {texts[first][0]}
    out = []
    for stamp in sorted(texts, reverse=True):
        entry = texts[stamp]
        hidden = entry[-1] and stamp != replaced and not _knows(entry, replaced)
        if replaced and (not hidden or _knows(state["life"][replaced], stamp)):
            continue
        if entry[0] not in said:
            said.add(entry[0])
            out.append(stamp)
    return out


def _capped(name: str, state: State, view: MergeView) -> Any:
    """The value of a field; what others say of how certain something is counts as far as they are trusted."""
    if name in state.get("set", {}):
        stamp, value = state["set"][name]
        authors = {author_of(stamp)}
    else:
        births = _births(state)
        values = [one[2 + FIELDS.index(name)] for one in births.values()]
        stamp, value, authors = max(births), _first(name, values), set(map(author_of, births))
    said = max(state["text"])
    is_other = name == "validation" and said > stamp and author_of(said) not in view.mine  # words edited since
    if view.trust == "high" or (authors & view.mine and not is_other):
        return value
    if name == "validation" and value == "verified":
        return "unverified"
    if view.trust == "low" and name == "tier":
        return min(value, "mtm", key=TIERS.index)
    return min(value, LOW_CONFIDENCE) if view.trust == "low" and name in ("confidence", "importance") else value


def _members(held: Mapping[str, list[Any]]) -> list[str]:
    """The members of a set: what was added and not taken away since, in the first spelling."""
    alive = sorted(
        ([*adds.items()] if len(adds) == 1 and not drops else sorted(x for x in adds.items() if x[0] not in drops), key)
        for key, (adds, drops) in held.items()
    )
    return [some[0][1] for some, _ in alive if some]
