"""RemoteRows of what was joined: each is judged by this store's policy, and written as any statement is."""

from collections.abc import Collection, Iterable, Mapping
from itertools import chain, count

from memctl import citing, ids
from memctl.annotations import Any, args_of
from memctl.item_policy import REFUSED, ItemPolicy, tidy_statement
from memctl.names import LinkRelation
from memctl.remote import merge
from memctl.remote.errors import RemovalsWait
from memctl.remote.stock import FROM_REMOTE, RemoteRows, fields_of, free_id, written
from memctl.store import conflicts, purge, remotes
from memctl.store.database import Database
from memctl.store.items import attributes, events, items
from memctl.store.remotes import KnownKey, Remote
from memctl.text import clean, source_trust, times
from memctl.types import MemoryItem, MemoryProvenance

#: Of what others take away at once this many items are taken over, or this share of those that are shared, or a few.
MOST_REMOVED, SHARE_REMOVED, FEW = 100, 0.1, 10
_PERSON = ("person", "user", "human")


def check_removals(db: Database, remote: Remote, touched: Iterable[KnownKey], before: int) -> None:
    """Raises RemovalsWait if the rows of these keys, as they are to become, take too much away at once.

    before  how many went in this exchange already
    """
    rows = RemoteRows(db, remote)
    rows.load(touched)
    becomes = {rows.known[key].item_id: row for key, row in rows.all().items()}
    removed = [item for item in items.get_many(db, sorted(filter(None, becomes))) if (row := becomes[item.id]).purge
               or (row.fields.get("archived") and not item.archived)]  # fmt: skip
    total, _ = remotes.count_keys(db, remote.name)
    if removed and before + len(removed) > max(FEW, min(MOST_REMOVED, int(SHARE_REMOVED * total))):
        raise RemovalsWait(count=before + len(removed), total=total, name=remote.name)


class Arrival:
    """What comes of joined states, inside of the transaction that joined them.

    new, changed, archived, held, refused  how many items
    purged       the items that are to be deleted for good, after the transaction
    """

    def __init__(self, db: Database, remote: Remote, judge: ItemPolicy, switches: str, who: Mapping[str, str]) -> None:
        self.db, self.remote, self._judge, self._switches, self._who = db, remote, judge, switches, who
        self._back, self._now = {there: here for here, there in remote.scopes.items()}, ids.timestamp()
        self.new = self.changed = self.archived = self.held = self.refused = 0
        self.purged: list[str] = []
        self._saved: dict[str, KnownKey] = {}
        self._ids: dict[tuple[str, str], str] = {}
        self._conflicts: list[tuple[str, str, str]] = []
        self._labels: dict[str, str] = {}  # of authors, as sources name them
        self._moments: dict[int, str] = {}  # of clocks
        self._items: list[MemoryItem] = []
        self._withheld: dict[str, tuple[str, tuple[str, ...]]] = {}
        self._freed: list[str] = []
        self._importance: dict[str, float] = {}
        self._cited: list[MemoryItem] = []
        self._given: dict[str, str] = {}  # by the ids of new items their texts
        self._replaced: list[tuple[str, str]] = []

    def write(self, touched: Collection[KnownKey]) -> None:
        """Write these keys, and bring their rows up to date."""
        rows = RemoteRows(self.db, self.remote)
        rows.load(touched)
        found = rows.all()
        self._saved = {one.key: one for one in touched}
        self._free_ids = rows.free_ids
        self._look_up(rows.known, found)
        for key, row in sorted(found.items()):
            one = rows.known[key]
            if row.purge:
                self._purge(one)
            elif row.fields:
                self._bring(one, row)
            else:
                self._hold(one, row)
        self._store()

    # --- one row --------------------------------------------------------------------------------------------------

    def _look_up(self, known: Mapping[str, KnownKey], rows: Mapping[str, merge.MergedRow]) -> None:
        """Read what is here of all rows."""
        named = {one.item_id for one in known.values() if one.item_id}
        free = {word for key, row in rows.items() if not known[key].item_id for word in merge.ids_of(known[key].state)}
        extras = {extra for row in rows.values() for extra in row.extras}
        self._extras = remotes.extras_of(self.db, self.remote.name, rows)
        extras = extras.union(*self._extras.values())
        self._there = {item.id: item for item in items.get_many(self.db, sorted(named | free | extras))}
        self._extra_ids = {i for some in self._extras.values() for i in some}
        self._extra_ids |= remotes.keys_of_ids(self.db, self.remote.name, free, "extra").keys()
        self._links = remotes.links_from(self.db, self._there)
        self._mattering = attributes.get_importance(self.db, self._there)
        texts = (text for row in rows.values() if row.fields for text in (row.fields["content"], *row.extras.values()))
        self._buried = purge.purged_hashes(self.db, map(ids.content_hash, texts))  # hashed if there are any
        self._purged_ids = purge.purged_ids(self.db, free)
        self._reasons = items.withheld_reasons(self.db, [i for i, item in self._there.items() if not item.injectable])

    def _purge(self, one: KnownKey) -> None:
        if one.item_id in self._there:
            self.purged.append(one.item_id)
            self._saved[one.key] = one._replace(wrote={"purge": True})

    def _hold(self, one: KnownKey, row: merge.MergedRow) -> None:
        """Others have purged it: no model is given it until a person here agrees, or releases it."""
        item = self._there.get(one.item_id)
        if item is None or [list(row.held)] * 2 == one.wrote.get("held"):
            return
        item.injectable = False
        self._withhold(item, row.held)
        self._items.append(item)
        self._saved[one.key] = one._replace(wrote=one.wrote | {"held": [list(row.held), list(row.held)]})

    def _bring(self, one: KnownKey, row: merge.MergedRow) -> None:
        """Bring one item to what its row says."""
        there = self._there.get(one.item_id)
        if there is None and self._stays_away(one, row):
            return
        was = self._fields(there) if there is not None else {}
        item = self._item(one, row, there)
        if (
            there is not None
            and _same(was, (before := written(one, row)).fields)
            and self._is_held(there) == bool(before.held)
        ):
            self._bring_extras(one._replace(item_id=there.id), row)
            return
        held = self._judged(one, row, item, was)
        if held is None:
            return
        self._settle_standing(item, there, held)
        self._count(item, there)
        self._items.append(item)
        self._importance[item.id] = row.fields["importance"]
        self._save_links(item)
        now = fields_of(item, row.fields["importance"], ()) | {"links": row.fields["links"]}
        wrote: dict[str, Any] = {}
        if now != row.fields:  # seldom
            other = {name: [row.fields[name], now[name]] for name in now if now[name] != row.fields[name]}
            wrote = {"fields": other} if other else {}
        if held != set(row.held):
            wrote["held"] = [list(row.held), sorted(held)]
        one = one._replace(item_id=item.id, wrote=wrote)
        self._saved[one.key] = one
        self._bring_extras(one, row)

    def _judged(
        self, one: KnownKey, row: merge.MergedRow, item: MemoryItem, was: Mapping[str, Any]
    ) -> "set[str] | None":
        """The rules that hold an item back as it is to be; None: nothing of it is taken over.

        was  the fields that it has here; empty where it is not here
        """
        fields, held = row.fields, set(row.held)
        if was and was["content"] != fields["content"] and self._is_buried(fields["content"]):
            self._refuse(one, "it was purged here", row, was)
            return None
        if not was or any(was[name] != fields[name] for name in ("content", "title", "tags", "entities")):
            verdict = self._judge.judge(item)
            if verdict.rejected:
                self._refuse(one, "; ".join(verdict.reasons), row, was)
                return None
            if verdict.forced_non_injectable:
                self._judge.hold(item, verdict)
                held |= {finding.rule for finding in verdict.findings} or {"policy"}
            if not was:
                self._name_author(item, min(one.state["born"]))
            elif was["content"] != fields["content"]:
                self._name_author(item, max(one.state["text"]))
        elif self._judge.holds(*_new_references(was, fields)):
            self._refuse(one, REFUSED, row, was)
            return None
        elif "held" in one.wrote:  # what policy found in these words it finds still
            held |= set(one.wrote["held"][1]) - set(merge.BY_OTHERS)
        return held

    def _stays_away(self, one: KnownKey, row: merge.MergedRow) -> bool:
        """Whether something that is not here has no business here."""
        if one.wrote.get("left") or one.item_id:  # it is private now, or was taken away here
            return True
        is_purged = self._is_buried(row.fields["content"]) or (
            bool(self._purged_ids) and not self._purged_ids.isdisjoint(merge.ids_of(one.state))
        )
        self.refused += is_purged
        return is_purged

    def _is_buried(self, text: str) -> bool:
        """Whether a text was purged here."""
        return bool(self._buried) and ids.content_hash(text) in self._buried

    def _refuse(self, one: KnownKey, why: str, row: merge.MergedRow, was: Mapping[str, Any]) -> None:
        """Take nothing over. What stays here instead is no edit of what others say."""
        self.refused += 1
        other = {name: [row.fields[name], was[name]] for name in was if was[name] != row.fields[name]}
        wrote = one.wrote | {"refused": why[:200]} | ({"fields": other} if other else {})
        self._saved[one.key] = one._replace(wrote=wrote)

    def _fields(self, item: MemoryItem) -> dict[str, Any]:
        return fields_of(item, self._mattering.get(item.id, 0.5), self._links.get(item.id, ()))

    def _is_held(self, item: MemoryItem) -> bool:
        return not item.injectable and self._reasons.get(item.id) != "raw"

    def _item(self, one: KnownKey, row: merge.MergedRow, there: MemoryItem | None) -> MemoryItem:
        """The item that a row asks for."""
        fields, clock = row.fields, merge.clock_of(one.newborn_at or merge.newest(one.state))
        if clock not in self._moments:  # of one exchange there it is the same of all
            self._moments[clock] = ids.timestamp(clock / 1_000_000)
        kept = {
            "title": fields["title"], "content": fields["content"], "type": fields["type"], "tier": fields["tier"],
            "confidence": fields["confidence"], "validation": fields["validation"], "archived": fields["archived"],
            "superseded_by": fields["superseded_by"], "updated_at": self._moments[clock], "injectable": True,
            "tags": list(fields["tags"]), "entities": list(fields["entities"]),
            "expires_at": times.canonical(fields["expires_at"]) if fields["expires_at"] else None,
            "links": [
                {"rel": rel, "to": to}
                for rel, _, to in (link.partition(" ") for link in fields["links"])
                if rel in args_of(LinkRelation) and to
            ],
        }  # fmt: skip
        if there is not None:
            item = MemoryItem.from_dict(there.to_dict() | kept)
        else:
            made = min(times.canonical(fields["made"]), self._now)
            item_id = self._free_id(one, fields["content"])
            source = self._source(one, fields)
            item = MemoryItem(id=item_id, scope=self._back[one.scope], created_at=made, provenance=source, **kept)
        tidy_statement(item)
        return item

    def _free_id(self, one: KnownKey, text: str) -> str:
        """The id of a new item."""
        found = self._free_ids.get(one.key) or free_id(
            self.db, one.key, merge.ids_of(one.state), lambda item_id: self._is_taken(item_id, text)
        )
        self._given[found] = text
        return found

    def _is_taken(self, item_id: str, text: str) -> bool:
        """Whether a new item of this text cannot have an id; what stands for the same text in conflict is no other."""
        there = self._there.get(item_id)
        is_other = there is not None and not (item_id in self._extra_ids and there.content == text)
        return item_id in self._given or is_other

    def _source(self, one: KnownKey, fields: Mapping[str, Any]) -> MemoryProvenance:
        """Where an item is from, as whoever said it has it, as far as he is trusted; and who that is."""
        kind, name, references = fields["source"]
        author = merge.author_of(min(one.state["born"]))
        if author not in self.remote.mine and self.remote.trust != "high":
            kind = "chat" if kind.strip().lower() in _PERSON else kind
        if author not in self.remote.mine and self.remote.trust == "low":
            references = [*references, *source_trust.mark(kind, name, "remote")]
        return MemoryProvenance(kind, name, references, [], fields["made"])

    def _name_author(self, item: MemoryItem, stamp: str) -> None:
        """Say in an item's source whose words came here. It is judged without: the names are few, and judged once."""
        author = merge.author_of(stamp)
        if author not in self._labels:
            who = clean.one_line(self._who.get(author) or author, 40)
            self._labels[author] = f"{FROM_REMOTE}{self.remote.name}/{author if self._judge.refuses(who) else who}"
        if self._labels[author] not in item.provenance.chunk_ids:
            item.provenance.chunk_ids = [*item.provenance.chunk_ids, self._labels[author]]

    def _settle_standing(self, item: MemoryItem, there: MemoryItem | None, held: set[str]) -> None:
        """Withhold an item, or let go one that only the remote withheld."""
        if held:
            item.injectable = False
            if there is None or not self._is_held(there):
                self._withhold(item, tuple(sorted(held)))
        elif there is not None and not there.injectable:
            self._freed.append(item.id)

    def _withhold(self, item: MemoryItem, rules: tuple[str, ...]) -> None:
        self.held += 1
        self._withheld[item.id] = ("policy", rules)

    def _count(self, item: MemoryItem, there: MemoryItem | None) -> None:
        if there is None:
            self.new += 1
            self._cited.append(item)
        elif item.archived and not there.archived:
            self.archived += 1
        else:
            self.changed += 1
        if item.archived and item.superseded_by and not (there is not None and there.superseded_by):
            self._replaced.append((item.superseded_by, item.id))

    def _save_links(self, item: MemoryItem) -> None:
        if not item.links and item.id not in self._links:
            return
        before = {*self._links.get(item.id, ())}
        for link in before ^ {f"{one['rel']} {one['to']}" for one in item.links}:
            rel, _, to = link.partition(" ")
            if link in before:
                attributes.remove_link(self.db, item.id, to, rel)
            else:
                attributes.add_link(self.db, item.id, to, rel)

    def _bring_extras(self, one: KnownKey, row: merge.MergedRow) -> None:
        """Let texts that nobody has decided about be items beside theirs, and take away those that are decided."""
        ids_here = {extra: self._extra_id(one.key, extra, text) for extra, text in row.extras.items()}
        for extra, text in row.extras.items():
            item_id = ids_here[extra]
            if item_id in self._there or item_id in self._given or self._is_buried(text):
                continue
            title = clean.retitled(row.fields["title"], row.fields["content"], text)
            fields = row.fields | {"title": title, "content": text, "links": []}
            item = self._item(one, row._replace(fields=fields), None)
            item.id, item.archived, item.superseded_by = item_id, False, None
            verdict = self._judge.judge(item)
            if verdict.rejected:
                continue
            self._name_author(item, min(one.state["born"]))
            held = set(row.held) | {finding.rule for finding in verdict.findings if verdict.forced_non_injectable}
            self._settle_standing(item, None, held)
            self._items.append(item)
            self._given[item_id] = text
            self._ids[item_id, one.key] = "extra"
        for extra in self._extras.get(one.key, ()):
            if extra in ids_here.values():
                continue
            remotes.drop_extras(self.db, self.remote.name, [extra])
            decided = self._there.get(extra) or items.get(self.db, extra)
            if decided is not None and not remotes.keys_of_items(self.db, self.remote.name, [extra]):
                decided.archived, decided.superseded_by = True, one.item_id
                self._items.append(decided)
        self._conflicts += [(ids_here.get(a, a), ids_here.get(b, b), why) for a, b, why in row.conflicts]

    def _extra_id(self, key: str, extra: str, text: str) -> str:
        """The id here of a text in conflict. Whoever reads the remote can say its own one first, of something else."""
        recorded = self._extras.get(key, ())
        known = (one for one in recorded if one in self._there and self._there[one].content == text)
        made = (merge.made_id(ids.bytes_hash(f"{extra} {n}".encode())) for n in count(1))
        for found in chain(known, (extra,), made):
            there = self._there.get(found) or (None if found == extra else items.get(self.db, found))
            said = self._given.get(found, there.content if there is not None else text)
            if said == text or (found in recorded and found not in self._given):
                return found
        raise AssertionError("there is always another one")

    # --- all of them ----------------------------------------------------------------------------------------------

    def _store(self) -> None:
        """Write what was gathered, and take back the marks that the writing makes."""
        db, name = self.db, self.remote.name
        with events.judged_write(db, self._switches):
            items.write_many(db, self._items, "remote", compact=True)
            items.set_withheld(db, self._withheld)
            items.set_withheld(db, dict.fromkeys(self._freed, ("", ())), anew=True)
            attributes.set_importance(db, self._importance)
            for new, old in self._replaced:
                attributes.add_link(db, new, old, "supersedes")
            conflicts.open_conflicts(db, self._conflicts)
            citing.cite(db, self._cited)
        remotes.save_keys(db, name, [*self._saved.values()])
        remotes.set_ids(db, name, self._ids)
        written_ids = {item.id for item in self._items} | {new for new, _ in self._replaced}
        remotes.clear_dirty(db, written_ids)


def _new_references(was: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What an item of these fields names that it did not name before."""
    links = set(now["links"]) - set(was["links"]) if now["links"] != was["links"] else ()
    successor = now["superseded_by"]
    return [*sorted(links), *([successor] if successor and successor != was["superseded_by"] else ())]


def _same(was: Mapping[str, Any], fields: Mapping[str, Any]) -> bool:
    """Whether an item says what its row says; the order of a set is nobody's."""
    for name, value in was.items():
        if name in ("source", "made"):
            continue
        if name in merge.SETS:
            if {one.casefold() for one in value} != {one.casefold() for one in fields[name]}:
                return False
        elif value != fields[name]:
            return False
    return True
