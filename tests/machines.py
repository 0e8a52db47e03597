"""Machines that write, lose their connection, crash and are restored from backups, in memory: the rules alone.

A machine does what a store does: it keeps states and rows, marks what its user changes, and takes stock of it before it
joins what others said. The remote is a log for each replica, which may be listed in part, read twice, or half.
"""

import random
from copy import deepcopy
from itertools import count
from typing import Any

from memctl.remote import merge

SCOPE = "team"
VIEW = merge.MergeView()
TEXTS = tuple(f"statement {n}" for n in range(12))
Log = list[tuple[str, list[tuple[str, merge.State]]]]  # segments: a name, and (key, own part) pairs


class Machine:
    """One replica with its user."""

    def __init__(self, name: str, chance: random.Random, skew: int) -> None:
        self.name, self.chance, self.skew = name, chance, skew
        self.replica = name
        self.said: dict[str, set[str]] = {}  # of all machines: the keys of each text
        self.clock = self.sent_clock = 0
        self.states: dict[str, merge.State] = {}
        self.known: dict[str, merge.MergedRow] = {}  # rows as they were written
        self.items: dict[str, dict[str, Any]] = {}  # by id
        self.keys: dict[str, str] = {}  # of ids that are items here
        self.dirty: dict[str, None] = {}
        self.purged: set[str] = set()
        self.released: set[str] = set()
        self.unsent: dict[str, None] = {}
        self.outbox: list[tuple[str, list[tuple[str, merge.State]]]] = []
        self.sent: list[str] = []
        self.read: dict[str, int] = {}

    # --- what the user does ---------------------------------------------------------------------------------------

    def say(self, text: str, **fields: Any) -> str:
        item_id = f"MEM-{self.chance.randrange(16**12):012x}"
        self.items[item_id] = {
            "content": text, "title": text[:9], "type": "note", "tier": "stm", "confidence": 0.5, "importance": 0.5,
            "validation": "unverified", "expires_at": None, "source": ["chat", "", []], "tags": [], "entities": [],
            "links": [], "archived": False, "superseded_by": None, "made": f"{self.chance.randrange(9)}", "held": (),
        } | fields  # fmt: skip
        self.dirty[item_id] = None
        return item_id

    def set(self, item_id: str, **fields: Any) -> None:
        self.items[item_id] |= fields
        self.dirty[item_id] = None

    def purge(self, item_id: str) -> None:
        del self.items[item_id]
        self.purged.add(item_id)
        self.dirty[item_id] = None

    def release(self, item_id: str) -> None:
        self.set(item_id, held=())
        self.released.add(item_id)

    # --- the exchange ---------------------------------------------------------------------------------------------

    def now(self, time: int) -> str:
        self.clock = max(time + self.skew, self.clock + 1)
        return merge.make_stamp(self.clock, self.replica)

    def take_stock(self, time: int) -> None:
        stamp = self.now(time)
        for item_id in self.dirty:
            now, key = self.items.get(item_id), self.keys.get(item_id)
            if key is None and now is None:
                continue
            if key is None and now is not None:
                keys = (merge.key_of(SCOPE, now["content"], number) for number in count())
                key = next(one for one in keys if one not in self.states)
                self.states[key] = merge.birth(item_id, now, now["held"], stamp)
                self.keys[item_id] = key
            elif key is not None:
                state = self.states[key]
                if item_id in self.purged:
                    state = merge.purge(state, stamp)
                    del self.keys[item_id]
                elif now is not None and not state.get("gone"):
                    if item_id in self.released:
                        state = merge.release(state)
                    state = merge.change(state, self.known[key], now, now["held"], stamp)
                self.states[key] = state
            if now is not None:
                self.said.setdefault(now["content"], set()).add(str(key))
            self.unsent[str(key)] = None
        self.dirty, self.purged, self.released = {}, set(), set()

    def receive(self, records: list[tuple[str, merge.State]]) -> None:
        for key, state in records:
            self.states[key] = merge.join(self.states.get(key, {}), state)
            self.clock = max(self.clock, merge.clock_of(merge.newest(state) or "0."))

    def write_rows(self) -> None:
        names = {key: item_id for item_id, key in self.keys.items()}
        for key, row in merge.rows(self.states, VIEW, names).items():
            item_id = names.get(key)
            if row.purge:
                if item_id is not None:
                    self.items.pop(item_id, None)
                    del self.keys[item_id]
                continue
            if item_id is None:
                item_id = next(one for one in (*merge.ids_of(self.states[key]), f"MEM-{key}") if one not in self.items)
                self.keys[item_id] = key
            self.known[key] = row
            self.items[item_id] = row.fields | {"held": row.held}

    def exchange(self, remote: dict[str, Log], time: int, fails: str = "") -> None:
        """Once. `fails`: where it ends ("stock", "pushed", "half"), or "blind": not all logs are seen."""
        self.recognise(remote)
        listed = {name: log for name, log in remote.items() if fails != "blind" or self.chance.random() < 0.5}
        self.take_stock(time)
        for name, log in listed.items():
            if name == self.replica:
                continue
            end = len(log) if fails != "half" else self.chance.randint(self.read.get(name, 0), len(log))
            for _, records in log[self.read.get(name, 0) : end]:
                self.receive([(key, merge.admitted(state, name, VIEW)) for key, state in records])
            self.read[name] = end
        self.write_rows()
        if self.unsent and not self.outbox:
            parts = [(key, merge.own_part(self.states[key], self.replica)) for key in self.unsent]
            name = f"{len(self.sent)} {self.replica} {self.chance.random()}"
            self.outbox.append((name, deepcopy(parts)))
            self.unsent = {}
        if fails == "stock":
            return
        log = remote.setdefault(self.replica, [])
        log.extend(self.outbox)
        if fails == "pushed":
            return
        self._acknowledge()

    def recognise(self, remote: dict[str, Log]) -> None:
        """Whether this is a copy: the log that has our name is another's."""
        there = [name for name, _ in remote.get(self.replica, [])]
        waiting = [name for name, _ in self.outbox]
        if there == self.sent + waiting and waiting:  # it ended after the push
            self._acknowledge()
        elif there != self.sent + waiting[:0]:
            self.become_another(remote.get(self.replica, []))

    def _acknowledge(self) -> None:
        self.sent += [name for name, _ in self.outbox]
        stamps = (stamp for _, parts in self.outbox for _, one in parts for stamp in merge.stamps_of(one, self.replica))
        self.sent_clock = max((merge.clock_of(stamp) for stamp in stamps), default=self.sent_clock)
        self.outbox = []

    def become_another(self, log: Log) -> None:
        old = self.replica
        self.replica = f"{self.name}x{self.chance.randrange(16**8):08x}"
        theirs = [(key, merge.own_part(state, old)) for _, records in log for key, state in records]
        published = {stamp for _, state in theirs for stamp in merge.stamps_of(state, old)}
        for key in dict.fromkeys((*(key for _, records in self.outbox for key, _ in records), *self.unsent)):
            self.states[key] = merge.restamped(self.states[key], old, self.replica, self.sent_clock, published)
            self.unsent[key] = None
        self.sent, self.outbox = [], []
        self.read[old] = 0

    # --- what can be seen -----------------------------------------------------------------------------------------

    def view(self) -> tuple[dict[str, Any], list[Any]]:
        """The rows by key, and the conflicts."""
        found = merge.rows(self.states, VIEW)
        return found, sorted(one for row in found.values() for one in row.conflicts)


def snapshot(machine: Machine) -> Machine:
    """A backup of it, or its disk on another machine."""
    copy = deepcopy(machine)
    copy.said, copy.chance = machine.said, machine.chance
    return copy
