"""Taking stock: what changed here since the last time becomes states of keys, before anything of others is joined."""

import os
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property, reduce
from itertools import chain, count

from memctl import ids
from memctl.annotations import Any
from memctl.item_policy import ItemPolicy
from memctl.remote import merge, segments
from memctl.remote.known_again import birth_of_known, is_as_born
from memctl.store import purge, quarantine, remotes
from memctl.store.database import BATCH, Database
from memctl.store.items import attributes, items
from memctl.store.remotes import KnownKey, Remote
from memctl.text import clean
from memctl.types import MemoryItem

#: How a reference begins that says from whom an item came here.
FROM_REMOTE = "remote:"
#: Times that the same may have been said by which something is known again.
_SAID_AGAIN = 4
#: Statements there that may claim an id by which something is known again: with more of them somebody guesses at texts.
_MOST_KNOWN = 8
#: The fields that somebody words.
_WORDS = "content", "title", "type", "tags", "entities", "links"


class TheirStates:
    """What others say that was read and is not joined yet.

    by_key  by its scope there and key: what stands in whose log of it
    by_id   the same by the scope and an id that it was born with, and then by its key
    """

    def __init__(self, records: "Iterable[tuple[str, str, str, merge.State, str]]" = ()) -> None:
        self.by_key: dict[tuple[str, str], list[tuple[str, merge.State]]] = {}
        self.by_id: dict[tuple[str, str], dict[str, list[tuple[str, merge.State]]]] = {}
        for scope, replica, key, state, _ in records:
            self.by_key.setdefault((scope, key), []).append((replica, state))
        for (scope, key), some in self.by_key.items():
            for item_id in {one for _, state in some for one in merge.ids_of(state)}:
                self.by_id.setdefault((scope, item_id), {})[key] = some

    @cached_property
    def _places(self) -> list[tuple[str, str]]:
        return sorted(self.by_key)

    def that_may_be(self, scope: str, item_id: str) -> dict[str, list[tuple[str, merge.State]]]:
        """What an item of this id may be, by its key: what was born with it, and that of whose key it is made."""
        found = {**self.by_id.get((scope, item_id), {})}
        start = item_id.removeprefix("MEM-")
        for place in self._places[bisect_left(self._places, (scope, start)) :] if start != item_id else ():
            if place[0] != scope or merge.made_id(place[1]) != item_id:
                break
            found[place[1]] = self.by_key[place]
        return found


class RemoteRows:
    """What the states at one remote say of the items here, with all states that they depend on.

    free_ids  by key the id that an item gets which is not here, where another item has the one that it was born with
    """

    def __init__(self, db: Database, remote: Remote) -> None:
        self.db, self.remote = db, remote
        self.view = merge.MergeView(frozenset(remote.mine), remote.trust)
        self.known: dict[str, KnownKey] = {}
        self.free_ids: dict[str, str] = {}
        self._asked: set[str] = set()

    def load(self, known: Iterable[KnownKey]) -> None:
        """Take these keys, and those that their rows depend on: what replaces them, and what has an id of theirs."""
        new = {one.key: one for one in known}
        while new:
            self.known.update(new)
            wanted = {word for one in new.values() for word in merge.ids_of(one.state)}
            wanted |= {at[1] for one in new.values() for at in one.state.get("life", {}).values() if at[1]}
            wanted -= self._asked
            self._asked |= wanted
            keys = {key for some in remotes.keys_of_ids(self.db, self.remote.name, wanted).values() for key in some}
            keys |= {one.key for one in remotes.keys_of_items(self.db, self.remote.name, wanted).values()}
            new = remotes.get_keys(self.db, self.remote.name, sorted(keys - self.known.keys()))

    def all(self) -> dict[str, merge.MergedRow]:
        """The row of each key that is known well enough."""
        names = {key: one.item_id for key, one in self.known.items() if one.item_id}
        newborn_at = {key: one.newborn_at for key, one in self.known.items() if one.newborn_at}
        self._look_for_ids()
        states = {key: one.state for key, one in self.known.items()}
        return merge.rows(states, self.view, names | self.free_ids, newborn_at)

    def _look_for_ids(self) -> None:
        """Choose the ids of items that are not here, and whose own ones are taken."""
        born = {key: [*merge.ids_of(one.state)] for key, one in sorted(self.known.items())
                if not one.item_id and not one.wrote.get("left")}  # fmt: skip
        taken = remotes.ids_in_use(self.db, {item_id for some in born.values() for item_id in some})
        extras = remotes.keys_of_ids(self.db, self.remote.name, taken, "extra") if taken else ()
        texts = {item.id: item.content for item in items.get_many(self.db, extras)} if extras else {}
        given = {one.item_id for one in self.known.values()} | {*self.free_ids.values()}
        for key, some in born.items():
            others = {one for one in taken.intersection(some) if texts.get(one) != _text_of(self.known[key].state)}
            if some and key not in self.free_ids and not _is_usable(some[0], others):
                self.free_ids[key] = free_id(self.db, key, some, (others | given).__contains__)
                given.add(self.free_ids[key])


def _text_of(state: merge.State) -> str:
    """The text of an item, as far as a state says one."""
    return str(max(state.get("text", {"": [""]}).items())[1][0])


def _is_usable(item_id: str, taken: Collection[str]) -> bool:
    return bool(item_id) and item_id not in taken and clean.one_line(item_id, 80) == item_id


def free_id(db: Database, key: str, born: Iterable[str], is_taken: Callable[[str], bool]) -> str:
    """The id of a new item: the first that it was born with, if no other item here has it, else one made of its key.

    Whoever writes there chooses ids and keys: an id made of a key may be that of any item of this store, too.
    """
    usable = (one for one in born if _is_usable(one, ()))
    made = (merge.made_id(ids.bytes_hash(f"{key} {n}".encode()) if n else key) for n in count())
    unused = (one for one in made if items.get(db, one) is None)
    return next(one for one in chain(usable, unused) if not is_taken(one))


def written(one: KnownKey, row: merge.MergedRow) -> merge.MergedRow:
    """A row as it was written here, where this store's policy made something else of it."""
    theirs, ours = one.wrote.get("held", (None, ()))
    fields = {name: said for name, (given, said) in one.wrote.get("fields", {}).items() if row.fields[name] == given}
    return row._replace(fields=row.fields | fields, held=tuple(ours) if theirs == list(row.held) else row.held)


class Stock:
    """What changed here, as states of one remote. It is taken inside of the transaction that goes on to join.

    changed  the keys that are other than before, and are to be sent
    waits    items that policy does not let out, and why
    theirs   what others say that was read and is not joined yet; asked when something is born here
    """

    def __init__(
        self, db: Database, remote: Remote, judge: ItemPolicy, stamp: str,
        theirs: Callable[[], TheirStates] = TheirStates,
    ) -> None:  # fmt: skip
        self.db, self.remote, self.stamp, self._judge, self._theirs = db, remote, stamp, judge, theirs
        self._view = merge.MergeView(frozenset(remote.mine), remote.trust)
        self.changed: dict[str, KnownKey] = {}
        self.waits: dict[str, str] = {}
        self._settled: list[str] = []
        self._birth_keys: dict[str, KnownKey] = {}
        self._first_keys: dict[tuple[str, str], str] = {}  # of scopes and texts
        self._admitted: dict[tuple[str, str], tuple[list[merge.State], set[str]]] = {}  # by scopes and keys, with texts

    def take(self, dirty: list[str]) -> None:
        """Note what has changed of these items; whoever asks saves the keys that did."""
        intents = remotes.intents(self.db)
        rivals = [one for one in remotes.list_remotes(self.db) if one.name != self.remote.name]
        others = {scope for one in rivals for scope in one.scopes}
        done = []
        for start in range(0, len(dirty), BATCH):
            done += self._take_batch(dirty[start : start + BATCH], intents, others)
        remotes.clear_dirty(self.db, done)
        remotes.clear_intents(self.db, intents.keys() & set(done))
        remotes.drop_extras(self.db, self.remote.name, self._settled)

    def _take_batch(self, batch: list[str], intents: Mapping[str, set[str]], others: set[str]) -> list[str]:
        """Note what changed of some items; those of which no other remote has to be told."""
        db, name = self.db, self.remote.name
        found = {item.id: item for item in items.get_many(db, batch)}
        known = remotes.keys_of_items(db, name, batch) | self._left_before([i for i in batch if i in found])
        extras = remotes.keys_of_ids(db, name, batch, "extra")
        settled = remotes.get_keys(db, name, {key for some in extras.values() for key in some})
        elsewhere = remotes.remotes_of_items(db, batch)
        rows = RemoteRows(db, self.remote)
        rows.load([*known.values(), *settled.values()])
        self._look_up(found, rows.known)
        self._rows = rows.all()
        done = []
        for item_id in batch:
            item, one = found.get(item_id), known.get(item_id)
            for key in extras.get(item_id, ()):  # somebody decided about a text that was in conflict
                self._settle(settled[key])
                self._settled.append(item_id)
            if one is not None:
                self._update(self.changed.get(one.key, one), item, intents.get(item_id, set()))
            elif item is not None and item.scope in self.remote.scopes:
                self._born(item)
            if item_id not in self.waits and not (
                elsewhere.get(item_id, set()) - {name} or (item is not None and item.scope in others)
            ):
                done.append(item_id)
        return done

    def _left_before(self, item_ids: list[str]) -> dict[str, KnownKey]:
        """Keys of items that were taken away here and are back, as an undo does it."""
        by_id = remotes.keys_of_ids(self.db, self.remote.name, item_ids)
        keys = remotes.get_keys(self.db, self.remote.name, {key for some in by_id.values() for key in some})
        return {
            item_id: keys[key]._replace(item_id=item_id)
            for item_id, some in by_id.items()
            for key in some
            if keys[key].wrote.get("left") == item_id and not keys[key].state.get("gone")
        }

    def _look_up(self, found: Mapping[str, MemoryItem], known: Mapping[str, KnownKey]) -> None:
        """Read what stands beside the items, and what is known of their texts."""
        self._standings = quarantine.standings(self.db, [*found.values()])
        self._importance = attributes.get_importance(self.db, found)
        self._links = remotes.links_from(self.db, found)
        self._first_keys = {
            (scope, item.content): merge.key_of(scope, item.content, 0)
            for item in found.values()
            if (scope := self.remote.scopes.get(item.scope)) is not None
        }
        self._birth_keys = {**known, **remotes.get_keys(self.db, self.remote.name, self._first_keys.values())}

    def _fields(self, item: MemoryItem) -> dict[str, Any]:
        return fields_of(item, self._importance.get(item.id, 0.5), self._links.get(item.id, ()))

    def _held(self, item: MemoryItem) -> tuple[str, ...]:
        standing = self._standings[item.id]
        return (standing.rules or ("policy",)) if standing.is_held else ()

    def _save(self, one: KnownKey, state: merge.State, item_id: str, wrote: "dict[str, Any] | None" = None) -> None:
        wrote = one.wrote if wrote is None else wrote
        if (state, item_id, wrote) != (one.state, one.item_id, one.wrote):
            unsent = one.unsent or state != one.state
            self.changed[one.key] = one._replace(state=state, item_id=item_id, wrote=wrote, unsent=unsent)

    def _settle(self, one: KnownKey) -> None:
        one = self.changed.get(one.key, one)
        row = self._rows.get(one.key)
        if row is not None and row.extras:
            self._save(one, merge.settle(one.state, row.fields["content"], self.stamp), one.item_id)

    def _born(self, item: MemoryItem) -> None:
        """Something new is said, unless it is one of those things that stay here."""
        standing = self._standings[item.id]
        if item.provenance.is_passage or not (standing.state in ("injectable", "released") or standing.is_held):
            return
        is_sent = not standing.is_held
        if is_sent:
            verdict = self._judge.judge(item, links=self._links.get(item.id, ()))
            if verdict.rejected or verdict.forced_non_injectable:
                self.waits[item.id] = "; ".join(verdict.reasons) or "policy"
                is_sent = False
        scope, fields = self.remote.scopes[item.scope], self._fields(item)
        birth = merge.birth(item.id, fields, (), self.stamp)
        key, state = self._known_there(item, scope, birth, fields)
        if is_sent:
            key = key or next(one for one in self._keys(scope, item.content) if one not in self.changed)
            self.changed[key] = KnownKey(key, scope, item.id, state, {}, unsent=True)
        elif key:  # it says nothing, and what others say of it is not brought beside it
            held = {"held": [[], list(self._held(item))]} if standing.is_held else {}
            self.changed[key] = KnownKey(key, scope, item.id, {}, held)

    def _known_there(
        self, item: MemoryItem, scope: str, state: merge.State, fields: Mapping[str, Any]
    ) -> tuple[str, merge.State]:
        """The key that others know an item by which was shared there once, and its birth as one of that; or no key.

        It has the id that they know and a text that both have had. An id alone is no proof: anybody may state one, and
        a text under any key: one that is made of a text of ours comes first.
        """
        found, first = self._theirs().that_may_be(scope, item.id), self._first_keys[scope, item.content]
        if not found or len(found) > _MOST_KNOWN:
            return "", state
        is_free = first not in self.changed and first not in self._birth_keys
        if is_free and is_as_born(state, [one for _, one in found.get(first, ())]):
            return first, state  # as most; it costs no look at their past
        before = {item.content, *items.past_contents(self.db, item.id)}
        own = {merge.key_of(scope, text, number) for text in before for number in range(_SAID_AGAIN)}
        for key in sorted(found, key=lambda one: (one not in own, one)):
            theirs, texts = self._admit(scope, key, found[key])
            if key in self.changed or any(one.get("gone") for one in theirs):
                continue
            is_same = key in own or not before.isdisjoint(texts)
            if is_same and not remotes.get_keys(self.db, self.remote.name, [key]):
                return key, birth_of_known(self.db, state, fields, theirs, self._view)
        return "", state

    def _admit(self, scope: str, key: str, said: list[tuple[str, merge.State]]) -> tuple[list[merge.State], set[str]]:
        """What counts of what others say of a key, with its texts. They may say much, of many ids: it is asked once."""
        if (scope, key) not in self._admitted:
            theirs = [merge.admitted(one, replica, self._view) for replica, one in said]
            texts = {entry[0] for one in theirs for entry in one.get("text", {}).values()}
            self._admitted[scope, key] = theirs, texts
        return self._admitted[scope, key]

    def _keys(self, scope: str, content: str) -> Iterator[str]:
        """The keys that a text may have, which are nobody's yet, nor of what was purged here."""
        for number in count():
            key = merge.key_of(scope, content, number) if number else self._first_keys[scope, content]
            is_known = key in self._birth_keys if not number else remotes.get_keys(self.db, self.remote.name, [key])
            if not is_known and not self._is_purged(scope, key, content):
                yield key

    def _is_purged(self, scope: str, key: str, content: str) -> bool:
        """Whether others have changed this text to something that was purged here: it would come back in its place."""
        said = self._theirs().by_key.get((scope, key), [])
        if all(merge.newborn(one) for _, one in said):  # as most, where there is any
            return False
        theirs, _ = self._admit(scope, key, said)
        now = reduce(merge.join, theirs, merge.State())
        text, ids_there = _text_of(now), merge.ids_of(now)
        return text not in ("", content) and bool(
            purge.purged_hashes(self.db, [ids.content_hash(text)]) or purge.purged_ids(self.db, ids_there)
        )

    def _update(self, one: KnownKey, item: MemoryItem | None, intents: set[str]) -> None:
        """Something that is known there was changed, purged or moved here."""
        if "purge" in intents:
            self._save(one, merge.purge(one.state, self.stamp), "", {})
            return
        if item is None or self.remote.scopes.get(item.scope) != one.scope:  # it has gone, or is private now
            state = merge.withdraw(one.state, self.stamp) if not one.state.get("gone") else one.state
            self._save(one, state, "", {"left": one.item_id})
            if item is not None and item.scope in self.remote.scopes:
                self._born(item)
            return
        if one.state.get("gone"):  # others purged it, and it waited here for a word
            if not self._standings[item.id].is_held:
                self._save(one, one.state, "", {})
                self._born(item)
            return
        row = self._rows.get(one.key)
        if row is None or not row.fields:
            return
        state = merge.release(one.state) if "release" in intents else one.state
        was, held = written(one, row), self._held(item)
        now = self._fields(item) | {"source": was.fields["source"], "made": was.fields["made"]}
        if held:  # a text that is held back stays here
            now = was.fields | {name: now[name] for name in ("archived", "superseded_by")}
        elif any(now[name] != was.fields[name] for name in _WORDS):
            verdict = self._judge.judge(item, links=self._links.get(item.id, ()))
            is_released = self._standings[item.id].state == "released"
            if verdict.rejected or (verdict.forced_non_injectable and not is_released):
                self.waits[item.id] = "policy"
                return
        if self._judge.holds(now["superseded_by"] or ""):
            now["superseded_by"] = was.fields["superseded_by"]
        wrote = {name: one.wrote[name] for name in one.wrote if name != "left" and (held or name != "held")}
        self._save(one, merge.change(state, was, now, held, self.stamp), item.id, wrote)


def fields_of(item: MemoryItem, importance: float, links: Iterable[str]) -> dict[str, Any]:
    """The fields of an item as a state has them; what says where on this machine it is from stays here."""
    source = item.provenance
    said = [f"{link.get('rel', '')} {link.get('to', '')}" for link in item.links if link.get("rel") != "supersedes"]
    said = [one for one in (*links, *said) if segments.is_reference(one.partition(" ")[2])]
    places = [clean.one_line(_portable(one)) for one in source.chunk_ids if not one.startswith(FROM_REMOTE)]
    places = [one for one in places if one and not one.startswith(FROM_REMOTE)]
    successor = item.superseded_by if segments.is_reference(item.superseded_by) else None
    return {
        "content": item.content, "title": item.title, "type": item.type, "tier": item.tier,
        "confidence": item.confidence, "importance": importance, "validation": item.validation,
        "expires_at": item.expires_at,
        "source": [source.source_kind, _portable(source.source_id), places[:segments.MOST_REFERENCES]],
        "tags": item.tags, "entities": item.entities, "links": sorted({*said}), "archived": item.archived,
        "superseded_by": successor, "made": item.created_at,
    }  # fmt: skip


def _portable(place: str) -> str:
    """A source without the folders of this machine: of a path its last part."""
    if not place:
        return place
    rest = place.removeprefix("file://")
    is_path = rest != place or os.path.isabs(rest) or rest.startswith("~") or rest[1:3] in (":\\", ":/")
    return rest.replace("\\", "/").rstrip("/").rpartition("/")[2] if is_path else place
