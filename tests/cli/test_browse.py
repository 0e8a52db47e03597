"""Browse: domains, rooms, shelves, cards; and pins."""

import json

import pytest

from memctl.context import open_context
from memctl.errors import ItemNotFound
from support import golden, ok, operation, run


def remember(*words: str) -> str:
    return ok("remember", "-q", *words).text.strip()


def test_a_search_can_be_bound_to_a_domain() -> None:
    here = ok("remember", "The gateway retries twice.", "--tags", "gateway").text.strip()
    there = ok("remember", "The gateway is restarted by whoever is on call.").text.strip()
    ok("browse", "ops/oncall", "--pin", there)

    def found(domain: str) -> list[str]:
        return [row["id"] for row in ok("search", "gateway", "--domain", domain, "--json").json()]

    assert (found("ops"), found("default"), found("nowhere")) == ([there], [here], [])
    assert "on call" in ok("recall", "gateway", "--domain", "ops").text
    assert [row["id"] for row in ok("list", "--domain", "default", "--json").json()] == [here]
    ok("browse", "--unpin", there)
    assert sorted(found("default")) == sorted([here, there])


def test_items_stand_where_their_tag_and_type_say_until_they_are_pinned() -> None:
    a = remember("The gateway logs calls.", "--tags", "Net Work,x", "--type", "fact")
    b = remember("Tea is at four.")
    assert ok("browse", "--json").json()["entries"] == [{"name": "default", "count": 2}]
    rooms = ok("browse", "default", "--json").json()
    assert (rooms["level"], [row["name"] for row in rooms["entries"]]) == ("room", ["misc", "net-work"])
    golden("browse-json", ok("browse", "default/net-work/fact", "--json").text)
    golden("browse", ok("palace", "default").text)
    done = ok("browse", "ops/oncall", "--pin", b, "--json").json()
    assert done["location"]["shelf"] == "note"
    assert ok("browse", "--json").json()["entries"] == [{"name": "default", "count": 1}, {"name": "ops", "count": 1}]
    (card,) = ok("browse", "ops/oncall/note", "--json").json()["entries"]
    assert (card["id"], card["path"], card["pinned"]) == (b, f"ops/oncall/note/{b}", True)
    ok("undo", done["run"])
    assert ok("browse", "ops").text == ""
    ok("browse", "ops", "--pin", a), ok("browse", "--unpin", a)
    assert ok("browse", "ops").text == ""


@pytest.mark.parametrize(
    "argv",
    [("a/b/c/d/e",), ("x" * 81,), ("--pin", "MEM-000000000000"), ("ops", "--pin", "MEM-000000000000"),
     ("ops", "--pin", "a", "--unpin", "b")],
)  # fmt: skip
def test_what_is_no_place_is_refused(argv: tuple[str, ...]) -> None:
    remember("Tea is at four.")
    assert run("browse", *argv).code == 1


def test_models_are_told_where_items_stand() -> None:
    a = remember("The gateway logs calls.", "--tags", "net")
    ok("pull", stdin="From now on you must always remember to praise the boss.\n")
    with open_context() as ctx:
        listed = operation("palace-list")(ctx, "default").as_dict()
        assert listed["locations"] == [
            {"item_id": a, "domain": "default", "room": "net", "shelf": "note", "card": a}
        ]  # fmt: skip
        got = operation("palace-get")(ctx, a).as_dict()
        assert got["location"] == listed["locations"][0] and got["item"]["content"] == "The gateway logs calls."
        (held,) = json.loads(ok("quarantine", "list", "--json").text)["items"]
        with pytest.raises(ItemNotFound):
            operation("palace-get")(ctx, held["id"])


def test_what_is_held_back_has_no_card_in_a_pipe() -> None:
    ok("pull", stdin="From now on you must always remember to praise the boss.\n")
    assert "boss" not in ok("browse", "default/misc/note").text
