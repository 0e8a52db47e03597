"""The rules of the merge one by one, and that each is needed: without it, what is checked here fails."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from machines import VIEW, Machine
from memctl.remote import merge
from merge_world import run_world

ME, YOU, HER = "aa", "bb", "cc"
FIELDS: dict[str, Any] = {
    "content": "We deploy on Fridays.", "title": "Deploys", "type": "note", "tier": "stm", "confidence": 0.5,
    "importance": 0.5, "validation": "unverified", "expires_at": None, "source": ["chat", "", []], "tags": ["ops"],
    "entities": [], "links": [], "archived": False, "superseded_by": None, "made": "2026-01-01",
}  # fmt: skip
KEY, OTHER = "a" * 32, "b" * 32


def at(clock: int, replica: str) -> str:
    return merge.make_stamp(clock, replica)


def born(clock: int = 1, replica: str = ME, item_id: str = "MEM-1", held: tuple[str, ...] = (), **fields: Any) -> Any:
    return merge.birth(item_id, FIELDS | fields, held, at(clock, replica))


def changed(state: merge.State, clock: int, replica: str, *, held: tuple[str, ...] = (), **fields: Any) -> merge.State:
    was = row(state)
    return merge.change(state, was, was.fields | fields, held or was.held, at(clock, replica))


def row(state: merge.State, view: merge.MergeView = VIEW) -> merge.MergedRow:
    return merge.rows({KEY: state}, view)[KEY]


def by(trust: str, mine: str = ME) -> merge.MergeView:
    return merge.MergeView(frozenset((mine,)), trust)


# --- the rules -------------------------------------------------------------------------------------------------------


def rule_order_repeats_and_batches_do_not_matter() -> None:
    chance = random.Random(7)
    start = born()
    parts = [start, born(2, YOU, "MEM-2", tags=["Ops", "x"], tier="ltm")]
    for clock in range(3, 12):
        one = chance.choice(parts)
        who = chance.choice((ME, YOU, HER))
        parts.append(changed(one, clock, who, content=f"text {clock}", tags=[f"t{clock % 3}"]))
    whole = merge.State()
    for one in parts:
        whole = merge.join(whole, one)
    for _ in range(20):
        chance.shuffle(parts)
        half = merge.State()
        for one in parts[:6]:
            half = merge.join(half, one)
        rest = merge.State()
        for one in (*parts[4:], parts[0]):
            rest = merge.join(one, rest)
        assert merge.join(rest, half) == whole


def rule_a_text_that_no_edit_has_seen_becomes_an_item_in_conflict() -> None:
    start = born()
    done = row(merge.join(changed(start, 5, ME, content="mine"), changed(start, 4, YOU, content="yours")))
    assert done.fields["content"] == "mine"
    assert [*done.extras.values()] == ["yours"]
    ((here, extra, why),) = done.conflicts
    assert (here, extra, why) == ("MEM-1", *done.extras, merge.EDITED)


def rule_an_edit_that_has_seen_both_ends_the_conflict() -> None:
    start = born()
    both = merge.join(changed(start, 5, ME, content="mine"), changed(start, 4, YOU, content="yours"))
    done = row(merge.join(changed(both, 6, HER, content="hers"), both))
    assert (done.fields["content"], done.extras, done.conflicts) == ("hers", {}, ())


def rule_what_is_replaced_stays_so_and_an_edit_meanwhile_is_not_hidden() -> None:
    start = born()
    replaced = changed(start, 4, YOU, archived=True, superseded_by="MEM-9")
    done = row(merge.join(changed(start, 5, ME, content="mine"), replaced))
    assert (done.fields["archived"], done.fields["superseded_by"]) == (True, "MEM-9")
    assert [*done.extras.values()] == ["mine"]
    assert [(one, why) for one, _, why in done.conflicts] == [("MEM-9", merge.REPLACED)]


def rule_two_replacements_contradict_each_other() -> None:
    start = born()
    some = changed(start, 4, YOU, archived=True, superseded_by="MEM-8")
    more = changed(start, 5, ME, archived=True, superseded_by="MEM-9")
    done = row(merge.join(some, more))
    assert done.fields["superseded_by"] == "MEM-9"
    assert done.conflicts == (("MEM-9", "MEM-8", merge.REPLACED_TWICE),)


def rule_a_circle_of_replacements_loses_its_newest_part() -> None:
    a, b = born(1, ME, "MEM-1"), born(2, YOU, "MEM-2", content="Never on Fridays.")
    states = {
        KEY: changed(a, 5, ME, archived=True, superseded_by="MEM-2"),
        OTHER: changed(b, 4, YOU, archived=True, superseded_by="MEM-1"),
    }
    done = merge.rows(states, VIEW)
    assert not done[KEY].fields["archived"]
    assert done[KEY].conflicts == (("MEM-1", "MEM-2", merge.CIRCLE),)
    assert done[OTHER].fields["superseded_by"] == "MEM-1"


def rule_twins_are_one_item_with_the_best_of_both() -> None:
    mine = born(3, ME, "MEM-1", tier="mtm", expires_at="2030", title="Alpha", confidence=0.9)
    yours = born(2, YOU, "MEM-2", tags=["Ops", "new"], title="Beta", made="2025-01-01", expires_at=None)
    done = row(merge.join(mine, yours))
    fields = done.fields
    assert merge.ids_of(merge.join(mine, yours)) == {"MEM-2": at(2, YOU), "MEM-1": at(3, ME)}
    assert (fields["tier"], fields["confidence"], fields["title"]) == ("mtm", 0.9, "Alpha")
    assert fields["made"] == "2025-01-01"
    assert fields["expires_at"] is None
    assert [tag.casefold() for tag in fields["tags"]] == ["ops", "new"]
    assert (done.extras, done.conflicts) == ({}, ())


def rule_an_edit_beats_what_a_twin_was_born_with() -> None:
    mine = changed(born(), 4, ME, tier="mtm", expires_at="2030", content="On Mondays.")
    done = row(merge.join(mine, born(9, YOU, "MEM-2", tier="ltm")))
    assert (done.fields["tier"], done.fields["expires_at"]) == ("mtm", "2030")
    assert (done.fields["content"], done.extras) == ("On Mondays.", {})


def rule_a_tag_that_was_added_elsewhere_stays_when_it_is_taken_away_here() -> None:
    start = born()
    without = changed(start, 5, ME, tags=[])
    again = changed(changed(start, 3, YOU, tags=[]), 4, YOU, tags=["OPS"])
    assert row(without).fields["tags"] == []
    assert row(merge.join(without, again)).fields["tags"] == ["OPS"]


def rule_what_is_held_back_meanwhile_stays_held() -> None:
    start = born(held=("a.rule",))
    freed = merge.release(start)
    assert row(freed).held == ()
    assert row(merge.join(freed, changed(start, 4, YOU, held=("a.rule", "b.rule")))).held == ("b.rule",)


def rule_a_purge_takes_all_that_is_said_of_it() -> None:
    start = born()
    gone = merge.purge(start, at(5, ME))
    late = merge.join(gone, changed(start, 9, YOU, content="an edit", archived=False))
    assert row(late).purge
    assert "an edit" not in str(late)
    assert "Fridays" not in str(late)
    # And its ids, wherever they come up: an older copy of it has another text.
    copies = {KEY: gone, OTHER: born(1, ME, "MEM-1", content="an older text")}
    assert merge.rows(copies, VIEW)[OTHER].purge


def rule_others_take_nothing_away_unless_they_are_trusted_highly() -> None:
    start = born()
    gone, archived = merge.purge(start, at(5, YOU)), changed(start, 5, YOU, archived=True)
    assert row(gone, by("medium")) == merge.MergedRow({}, (merge.BY_OTHERS[1],))
    assert row(gone, by("high")).purge
    waits = row(archived, by("medium"))
    assert (waits.fields["archived"], waits.held) == (False, (merge.BY_OTHERS[0],))
    assert row(archived, by("high")).fields["archived"]
    # What they alone have said is theirs.
    theirs = born(1, YOU)
    assert row(merge.purge(theirs, at(5, YOU)), by("medium")).purge
    assert row(changed(theirs, 5, YOU, archived=True), by("medium")).fields["archived"]
    assert not row(merge.purge(merge.join(theirs, born(3, ME, "MEM-2")), at(5, YOU)), by("medium")).purge


def rule_an_id_is_taken_from_nobody_by_a_purge() -> None:
    stolen = merge.purge(born(1, YOU, "MEM-1", content="another text"), at(5, YOU))
    done = merge.rows({KEY: born(3, ME, "MEM-1"), OTHER: stolen}, by("medium"))
    assert not done[KEY].purge


def rule_a_person_may_keep_what_others_archived() -> None:
    start = changed(born(), 5, YOU, archived=True)
    was = row(start, by("medium"))
    kept = merge.change(start, was, was.fields, (), at(6, ME))
    assert row(kept, by("medium")).held == ()
    assert not row(kept).fields["archived"]


def rule_others_vouch_no_further_than_they_are_trusted() -> None:
    sure = born(1, YOU, tier="ltm", confidence=1.0, validation="verified", importance=0.9)
    high, medium, low = (row(sure, by(trust)).fields for trust in ("high", "medium", "low"))
    assert (high["validation"], high["tier"], high["confidence"]) == ("verified", "ltm", 1.0)
    assert (medium["validation"], medium["tier"], medium["confidence"]) == ("unverified", "ltm", 1.0)
    assert (low["validation"], low["tier"], low["confidence"], low["importance"]) == ("unverified", "mtm", 0.5, 0.5)
    assert row(born(1, ME, validation="verified"), by("low")).fields["validation"] == "verified"


def rule_nobody_speaks_for_others() -> None:
    start = born()
    forged = merge.join(merge.purge(start, at(5, ME)), changed(start, 6, YOU, tier="ltm", tags=["x"]))
    said = merge.admitted(forged, YOU, by("medium"))
    assert row(merge.join(start, said), by("medium")).purge is False
    assert merge.admitted({"free": ["s"], "held": {at(3, ME): ["r"]}}, YOU, by("medium")) == {}
    ahead = {"text": {at(9, YOU): ["mine is the last word", {ME: f"{10**15:016d}"}]}}
    assert merge.admitted(ahead, YOU, VIEW) == {}


def rule_an_id_of_two_keys_stays_with_the_smaller_one() -> None:
    done = merge._shown_ids({KEY: ["MEM-1"], OTHER: ["MEM-1"]}, {})
    assert done == {KEY: "MEM-1", OTHER: f"MEM-{OTHER[:12]}"}
    there = merge._shown_ids({KEY: ["MEM-1"], OTHER: ["MEM-1"]}, {OTHER: "MEM-1"})
    assert there == {OTHER: "MEM-1", KEY: f"MEM-{KEY[:12]}"}


def rule_a_copy_keeps_what_it_had_not_sent() -> None:
    sent = changed(born(), 5, ME, content="sent")
    unsent = changed(sent, 9, ME, content="not sent", tags=["new"])
    copy = merge.restamped(unsent, ME, "dd", 5, {at(5, ME)})
    assert merge.own_part(copy, "dd")["text"] == {at(9, "dd"): ["not sent", {ME: f"{5:016d}", "dd": f"{9:016d}"}]} or (
        merge.own_part(copy, "dd")["text"] == {at(9, "dd"): ["not sent", {ME: f"{5:016d}"}]}
    )
    rival = changed(sent, 7, ME, content="of the other copy")
    both = row(merge.join(copy, merge.own_part(rival, ME)))
    assert {both.fields["content"], *both.extras.values()} == {"not sent", "of the other copy"}


RULES = {name: rule for name, rule in sorted(globals().items()) if name.startswith("rule_")}


@pytest.mark.parametrize("name", RULES)
def test_rule(name: str) -> None:
    RULES[name]()


# --- without a rule --------------------------------------------------------------------------------------------------


def check_all(seeds: int = 6) -> None:
    """All rules, then machines at random: the first failure ends it."""
    for rule in RULES.values():
        rule()
    for seed in range(seeds):
        run_world(seed, 150)


def _newest_only(entries: dict[str, Any]) -> dict[str, Any]:
    return dict(sorted(entries.items())[-1:])


def _arrived_last(a: merge.State, b: merge.State) -> merge.State:
    return _JOIN(a, b) | ({"text": b["text"]} if b.get("text") and not (a.get("gone") or b.get("gone")) else {})


def _merge_first(self: Machine, remote: Any, time: int, fails: str = "") -> None:
    dirty, self.dirty = self.dirty, {}
    _EXCHANGE(self, remote, time, "stock")  # what came in is written over what was changed here
    self.dirty = dirty
    _EXCHANGE(self, remote, time, fails)


def _stopped_clock(self: Machine, time: int) -> str:
    self.clock = time + self.skew
    return merge.make_stamp(self.clock, self.replica)


_JOIN, _EXCHANGE, _CAPPED = merge.join, Machine.exchange, merge._capped

ABLATIONS: dict[str, tuple[object, str, Callable[..., Any]]] = {
    "the newest text wins": (merge, "_maximal", _newest_only),
    "the last to arrive wins": (merge, "join", _arrived_last),
    "merged before stock is taken": (Machine, "exchange", _merge_first),
    "a clock that does not advance": (Machine, "now", _stopped_clock),
    "a copy that nobody recognises": (Machine, "recognise", lambda *_: None),
    "no look at what an edit has seen": (merge, "_knows", lambda *_: False),
    "all that came before was seen": (merge, "_knows", lambda *_: True),
    "twins expire": (merge, "_first", lambda _, values: min(values, key=str)),
    "circles stay": (merge, "_circles", lambda *_: set()),
    "a stated id is everybody's": (merge, "_shown_ids", lambda ids, names: {
        key: some[0] if some else "" for key, some in ids.items()} | names),
    "anybody purges": (merge, "is_authored", lambda *_: True),
    "nobody purges": (merge, "is_authored", lambda *_: False),
    "others archive": (merge, "_may_archive", lambda *_: True),
    "no ceiling": (merge, "_capped", lambda name, state, _: _CAPPED(name, state, VIEW)),
    "others speak for others": (merge, "own_part", lambda state, *_: state),
    "all is admitted": (merge, "admitted", lambda state, *_: state),
    "nothing is dropped after a purge": (merge, "purge", lambda state, *_: state),
    "a release frees what comes later": (merge, "release", lambda state: state | {"held": {}}),
    "a copy keeps its old name": (merge, "restamped", lambda state, *_: state),
    "sets are what came last": (merge, "_join_member", lambda a, b: b or a),
    "hidden edits stay hidden": (merge, "_unseen", lambda *_: []),
    "clocks of births alone": (merge, "newest", lambda state: max(state.get("born", ()), default="")),
}  # fmt: skip


@pytest.mark.parametrize("name", ABLATIONS)
def test_each_rule_is_needed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    target, attribute, instead = ABLATIONS[name]
    monkeypatch.setattr(target, attribute, instead)
    with pytest.raises((AssertionError, KeyError, IndexError, StopIteration)):
        check_all()


def test_with_all_rules_all_holds() -> None:
    check_all(2)


def _any_state(chance: random.Random) -> merge.State:
    """A birth, with or without what others, or somebody who lies, has added to it or taken out of it."""

    def some(at_birth: str) -> str:
        return at_birth if chance.random() < 0.8 else at(chance.randrange(1, 9), chance.choice((ME, YOU)))

    stamp = at(chance.randrange(1, 9), chance.choice((ME, YOU)))
    state = merge.birth(f"MEM-{chance.randrange(3)}", FIELDS | {"tags": ["Ops", "x"], "links": ["cites y"]}, (), stamp)
    for name in chance.sample([*state], chance.randrange(3)):
        if name in merge.SETS:
            state[name] = {
                chance.choice((key, "other")): [
                    {some(stamp): key for _ in range(chance.randrange(3))},
                    [stamp] * chance.randrange(2),
                ]
                for key in state[name] if chance.random() < 0.8
            }  # fmt: skip
        elif chance.random() < 0.3:
            del state[name]
        else:
            state[name] = {some(stamp): one for one in state[name].values() for _ in range(2)}
    more = {"life": {stamp: [True, "MEM-2", {}]}, "set": {"tier": [stamp, "ltm"]}, "gone": {stamp: ""}, "free": [stamp]}
    return state | dict(chance.sample([*more.items()], chance.choice((0, 0, 0, 1))))


def _all_that_is_said(one: merge.State, other: merge.State) -> list[Any]:
    texts, beside = merge.words_of(one, merge.newborn(one))
    said: list[Any] = [merge.newest(one), merge.join({}, one), merge.join(one, other), texts, {*beside}]
    for trust in merge.TRUST:
        view = by(trust)
        said += [merge.admitted(one, who, view) for who in (ME, YOU)]
        states = {KEY: merge.join({}, one), OTHER: merge.join({}, other)}
        for names in ({}, {OTHER: "MEM-1"}):
            said.append(merge.rows(states, view, names, {key: merge.newborn(state) for key, state in states.items()}))
    return [*said, merge.own_part(one, ME)]


def test_of_a_mere_birth_the_same_is_said_as_of_any_state(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(11)
    pairs = [(_any_state(chance), _any_state(chance)) for _ in range(1500)]
    assert 200 < sum(bool(merge.newborn(one)) for one, _ in pairs) < 1300
    said = [_all_that_is_said(*pair) for pair in pairs]
    monkeypatch.setattr(merge, "newborn", lambda _: "")
    assert said == [_all_that_is_said(*pair) for pair in pairs]
