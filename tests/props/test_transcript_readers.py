"""Transcripts that are cut, mixed, flipped or made up: no good turn is lost, and nothing raises."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.capture import transcript, turns
from memctl.capture.turns import Turn
from memctl.errors import NotADatabase
from sessions import llm_database, opencode_database
from support import examples

SAMPLES = Path(__file__).resolve().parents[1] / "data" / "transcripts"
NAMES = sorted(path.name for path in SAMPLES.iterdir())
LINES = [name for name in NAMES if name.endswith(".jsonl") and name != "claude-agent.jsonl"]
RUBBISH = (b"\xff\xfe", b"{", b"[" * 3000, b"null", b'"x"', b"\0" * 9, b"{}", b'{"type": "user"}', b'{"message": []}')


def read(data: bytes, form: str = "") -> list[Turn]:
    return list(transcript.of_bytes(data, form=form, session="s").turns())


def words(turns: list[Turn]) -> list[tuple[str, str]]:
    return [(turn.role, turn.text) for turn in turns]


@pytest.mark.parametrize("name", LINES)
@given(st.data())
@examples(20)
def test_rubbish_between_lines_costs_nothing(name: str, data: st.DataObject) -> None:
    lines = (SAMPLES / name).read_bytes().splitlines(keepends=True)
    # Whose file it is must show in its beginning.
    for _ in range(data.draw(st.integers(0, 9))):
        lines.insert(data.draw(st.integers(0, len(lines))), data.draw(st.sampled_from(RUBBISH)) + b"\n")
    assert words(read(b"".join(lines))) == words(read((SAMPLES / name).read_bytes()))


@pytest.mark.parametrize("name", NAMES)
@given(st.data())
@examples(20)
def test_of_a_cut_transcript_the_beginning_stays(name: str, data: st.DataObject) -> None:
    whole = (SAMPLES / name).read_bytes()
    kept = words(read(whole[: data.draw(st.integers(0, len(whole)))]))
    wanted = words(read(whole))
    # The last turn may break off, and so may its text; none before it changes.
    assert kept[:-1] == wanted[: max(len(kept) - 1, 0)]
    assert len(kept) <= len(wanted) or name == "aider.md"


@pytest.mark.parametrize("name", NAMES)
@given(st.data())
@examples(30)
def test_flipped_bytes_raise_nothing(name: str, data: st.DataObject) -> None:
    whole = bytearray((SAMPLES / name).read_bytes())
    for _ in range(data.draw(st.integers(1, 20))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    for turn in read(bytes(whole), data.draw(st.sampled_from(("", *transcript.FORMS)))):
        assert turn.text == turn.text.strip()
        turn.text.encode()


@pytest.mark.parametrize("make", [opencode_database, llm_database])
@given(st.data())
@examples(30)
def test_a_database_with_flipped_bytes_is_read_or_refused(
    make: Callable[..., None], tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("db")
    make(folder / "x.db", json.loads((SAMPLES / "opencode.json").read_text(encoding="utf-8")))
    whole = bytearray((folder / "x.db").read_bytes())
    for _ in range(data.draw(st.integers(1, 30))):
        whole[data.draw(st.integers(16, len(whole) - 1))] = data.draw(st.integers(0, 255))
    (folder / "x.db").write_bytes(whole[: data.draw(st.integers(16, len(whole)))])
    found = transcript.open_database(str(folder / "x.db"))
    assert found is not None
    with suppress(NotADatabase, OSError):
        assert len(list(found.turns())) <= 2


def test_of_a_damaged_database_what_stands_before_the_damage_is_read(tmp_path: Path) -> None:
    export = json.loads((SAMPLES / "opencode.json").read_text(encoding="utf-8"))
    talks = [json.loads(json.dumps(export).replace("_1f", f"_{n:02}").replace("_e0", f"_{n:02}")) for n in range(40)]
    opencode_database(tmp_path / "x.db", *talks)
    whole = bytearray((tmp_path / "x.db").read_bytes())
    at = whole.index(b"msg_35")  # in a page of the table that is read late
    whole[at - at % 4096 : at - at % 4096 + 8] = b"\xff" * 8
    (tmp_path / "x.db").write_bytes(whole)
    found = transcript.open_database(str(tmp_path / "x.db"))
    assert found is not None
    assert 2 <= len(list(found.turns())) < 80
    assert found.bad == 1


@pytest.mark.parametrize("name", ["claude.jsonl", "qwen.jsonl"])
@given(st.randoms())
@examples(20)
def test_sessions_that_go_on_side_by_side_in_one_file_stay_apart(name: str, chance: Any) -> None:
    lines = (SAMPLES / name).read_bytes().splitlines(keepends=True)
    session = read(b"".join(lines))[0].session.encode()
    sides = [lines, [line.replace(session, session[::-1]) for line in lines]]
    mixed = []
    while any(sides):
        mixed.append(chance.choice([side for side in sides if side]).pop(0))
    turns = read(b"".join(mixed))
    for named in (session.decode(), session[::-1].decode()):
        mine = [turn for turn in turns if turn.session == named]
        assert words(mine) == words(read((SAMPLES / name).read_bytes()))


KEYS = (
    "type", "message", "content", "role", "payload", "item", "parts", "data", "sessionId", "text", "id", "toolCalls",
    "$set", "messages", "info", "timestamp", "isSidechain", "input", "command", "changes", "toolRequests", "time",
)  # fmt: skip
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6),
    max_leaves=20,
)
FRAMES = (
    "<hook_context>", "</hook_context>", "<task>", "</task>", " a ", "\n", "<system-reminder", "</system-reminder>",
    "## Memory (Injected)\n", "--- End Memory (1) ---\n",
)  # fmt: skip


@given(st.lists(ANY, max_size=6), st.sampled_from(transcript.FORMS))
@examples(200)
def test_made_up_records_raise_nothing(values: list[Any], form: str) -> None:
    read(b"\n".join(json.dumps(value).encode() for value in values), form)
    read(json.dumps(values).encode(), form)


@given(st.lists(st.sampled_from(FRAMES), max_size=40))
@examples(100)
def test_frames_in_any_order_raise_nothing(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert len(turns.without_frames(text, user=True)) <= len(text)
