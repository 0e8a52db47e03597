"""Five machines at random, whatever fails in between, and what must hold at the end."""

import random

from machines import TEXTS, VIEW, Log, Machine, snapshot
from memctl.names import TIERS
from memctl.remote import merge

STEPS = 250


class World:
    """Five machines, their remote, and what their users know."""

    def __init__(self, seed: int, machines: int = 5) -> None:
        self.chance = random.Random(seed)
        self.machines = [Machine(f"r{n}", self.chance, self.chance.randrange(-90, 91)) for n in range(machines)]
        for machine in self.machines:
            machine.said = self.machines[0].said
        self.remote: dict[str, Log] = {}
        self.time = 100
        self.backups: list[Machine | None] = [None] * machines
        self.written: set[str] = set()
        self.given_up: set[str] = set()

    # --- a step ---------------------------------------------------------------------------------------------------

    def step(self) -> None:
        self.time += self.chance.randrange(3)
        number = self.chance.randrange(len(self.machines))
        machine = self.machines[number]
        what = self.chance.random()
        if what < 0.25:
            fails = self.chance.choice(("", "", "stock", "pushed", "half", "blind"))
            machine.exchange(self.remote, self.time, fails)
        elif what < 0.28:
            self.backups[number] = snapshot(machine)
        elif what < 0.30 and (backup := self.backups[number]) is not None:
            self._forget_unsent(machine)
            self.machines[number] = snapshot(backup)
        elif what < 0.31:
            machine.read = {}  # it reads all again
        else:
            self.write(machine)

    def _forget_unsent(self, machine: Machine) -> None:
        """What a machine never sent is gone with its disk: no design brings it back."""
        for item_id in machine.items:
            self.give_up_seen(machine, item_id)

    def write(self, machine: Machine) -> None:
        known = [one for one, item in machine.items.items() if not item["archived"]]
        if not known or self.chance.random() < 0.3:
            text = self.chance.choice(TEXTS)
            self.written.add(text)
            tags = [self.chance.choice(("Red", "red", "blue", "green"))]
            machine.say(text, tags=tags, expires_at=self.chance.choice((None, "2030", "2031")))
            return
        item_id = self.chance.choice(known)
        self.chance.choice((self._edit, self._edit, self._tag, self._replace, self._replace, self._settle_fields,
                            self._hold, self._purge, self._restore))(machine, item_id)  # fmt: skip

    def _edit(self, machine: Machine, item_id: str) -> None:
        self.give_up_seen(machine, item_id)
        text = f"edit {self.chance.randrange(10**9)}"
        self.written.add(text)
        machine.set(item_id, content=text)

    def _tag(self, machine: Machine, item_id: str) -> None:
        tag = self.chance.choice(("red", "blue", "green"))
        others = [one for one in machine.items[item_id]["tags"] if one.casefold() != tag]
        machine.set(item_id, tags=[*others, tag] if self.chance.random() < 0.5 else others)

    def _replace(self, machine: Machine, item_id: str) -> None:
        others = [one for one in machine.items if one != item_id]
        by = self.chance.choice(others) if others else None
        if by is not None:
            self.give_up_seen(machine, item_id)
        machine.set(item_id, archived=True, superseded_by=by)

    def _settle_fields(self, machine: Machine, item_id: str) -> None:
        machine.set(item_id, tier=self.chance.choice(TIERS), expires_at=self.chance.choice((None, "2032")))

    def _hold(self, machine: Machine, item_id: str) -> None:
        if machine.items[item_id]["held"]:
            machine.release(item_id)
        else:
            machine.set(item_id, held=("a.rule",))

    def _purge(self, machine: Machine, item_id: str) -> None:
        if self.chance.random() < 0.3:
            self.give_up_seen(machine, item_id)
            machine.purge(item_id)

    def _restore(self, machine: Machine, _item_id: str) -> None:
        gone = [one for one, item in machine.items.items() if item["archived"]]
        if gone:
            machine.set(self.chance.choice(gone), archived=False, superseded_by=None)

    def give_up_seen(self, machine: Machine, item_id: str) -> None:
        """Whoever edits has the texts before him that his machine shows."""
        self.given_up.add(machine.items[item_id]["content"])
        key = machine.keys.get(item_id)
        if key in machine.known:
            self.given_up |= {machine.known[key].fields["content"], *machine.known[key].extras.values()}

    # --- what must hold at the end --------------------------------------------------------------------------------

    def settle(self) -> None:
        for _ in range(3):
            for machine in self.machines:
                self.time += 10
                machine.exchange(self.remote, self.time)

    def check(self) -> None:
        rows, conflicts = self.machines[0].view()
        for other in self.machines[1:]:
            assert other.view() == (rows, conflicts), "machines differ"
        for machine in self.machines:
            self._check_items(machine, rows)
        self._check_snapshot(rows)
        self._check_texts(rows)
        self._check_circles(rows)

    def _check_items(self, machine: Machine, rows: dict[str, merge.MergedRow]) -> None:
        """What the store holds is what the states say, but for the names of twins."""
        kept = {machine.keys[one]: item for one, item in machine.items.items()}
        assert kept.keys() == {key for key, row in rows.items() if not row.purge}
        for key, item in kept.items():
            for name in ("content", "archived", "tier", "tags", "expires_at"):
                assert item[name] == rows[key].fields[name], name
            assert tuple(item["held"]) == rows[key].held

    def _check_snapshot(self, rows: dict[str, merge.MergedRow]) -> None:
        """All logs at once, in any order, are what everybody has."""
        records = [
            (key, merge.own_part(state, name))
            for name, log in self.remote.items()
            for _, records in log
            for key, state in records
        ]
        self.chance.shuffle(records)
        states: dict[str, merge.State] = {}
        for key, state in [*records, *records[: len(records) // 3]]:
            states[key] = merge.join(states.get(key, {}), state)
        assert merge.rows(states, VIEW) == rows, "a snapshot differs"

    def _check_texts(self, rows: dict[str, merge.MergedRow]) -> None:
        there = {row.fields["content"] for row in rows.values() if not row.purge}
        there |= {text for row in rows.values() for text in row.extras.values()}
        states = self.machines[0].states
        there |= {entry[0] for state in states.values() for entry in state.get("text", {}).values()}
        gone = {key for key, row in rows.items() if row.purge}
        there |= {text for text, keys in self.machines[0].said.items() if keys & gone}
        lost = self.written - there - self.given_up
        assert not lost, f"texts are lost: {lost}"

    def _check_circles(self, rows: dict[str, merge.MergedRow]) -> None:
        by_id = {one: key for key, state in self.machines[0].states.items() for one in merge.ids_of(state)}
        for start in rows:
            seen, key = set[str](), start
            while key in rows and not rows[key].purge and rows[key].fields["superseded_by"]:
                assert key not in seen, "a circle of replacements"
                seen.add(key)
                key = by_id.get(rows[key].fields["superseded_by"], "")

    def check_last_word(self) -> None:
        """What somebody changes who knows it all holds everywhere, also where his clock is slow."""
        for machine in self.machines:
            for item_id in [one for one, item in machine.items.items() if not item["archived"]][:1]:
                key, text = machine.keys[item_id], f"the last word of {machine.name}"
                self.give_up_seen(machine, item_id)
                machine.set(item_id, content=text, tier="ltm", expires_at=machine.name, tags=["last"])
                self.settle()
                self.check()
                for other in self.machines:
                    row = other.view()[0][key]
                    found = row.fields["content"], row.fields["expires_at"], row.fields["tags"], row.extras
                    assert found == (text, machine.name, ["last"], {}), "the last word does not hold"


def run_world(seed: int, steps: int = STEPS) -> World:
    world = World(seed)
    for _ in range(steps):
        world.step()
    world.settle()
    world.check()
    world.check_last_word()
    return world
