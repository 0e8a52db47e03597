"""Settings of other programs: whatever they look like, an entry goes in and comes out, and nothing else changes."""

import json
import os
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from memctl.clients import examine
from memctl.clients.json_text import JsonText
from memctl.clients.known import CLIENTS, Place, Scope
from memctl.clients.toml_text import TomlText
from support import examples, run

ENTRY = {"command": "/opt/a b/memctl", "args": ["serve", "--db", 'C:\\x\n"é😀'], "required": True}
WORDS = st.text(alphabet=' abé"\\/*#{}[],:\n', max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)
#: What may stand between two tokens of JSON with comments.
GAPS = st.sampled_from(["", " ", "\n", "\n\t", "\n    ", " // a, } note\n", "/* two\nlines ] */", "\n\n", "  "])


@st.composite
def loose_json(draw: Any, depth: int = 0, inner: bool = False) -> str:
    """JSON as people leave it: comments, trailing commas, odd white space; an object at the top."""
    if inner and (depth > 2 or draw(st.booleans())):
        scalar = draw(WORDS | st.integers() | st.booleans() | st.none())
        return json.dumps(scalar, ensure_ascii=bool(draw(st.booleans())))
    is_list = inner and draw(st.booleans())
    keys = draw(st.lists(WORDS | st.sampled_from(["hooks", "x"]), max_size=3, unique=True))
    parts = []
    for number, key in enumerate(keys):
        comma = "," if number < len(keys) - 1 or draw(st.booleans()) else ""
        named = "" if is_list else json.dumps(key) + draw(GAPS) + ":" + draw(GAPS)
        parts.append(draw(GAPS) + named + draw(loose_json(depth + 1, inner=True)) + draw(GAPS) + comma)
    start, end = "[]" if is_list else "{}"
    text = start + "".join(parts) + draw(GAPS) + end
    return text if inner else f"{draw(GAPS)}{text}{draw(GAPS)}"


def parsed(text: str) -> Any:
    return JsonText(text).root.value


@given(text=loose_json(), crlf=st.booleans())
def test_a_member_is_put_and_taken_out_again(text: str, crlf: bool) -> None:
    text = text.replace("\n", "\r\n") if crlf else text
    before = parsed(text)
    edited = JsonText(text)
    edited.put(("memctl-servers", "memctl"), ENTRY)
    assert parsed(edited.text) == before | {"memctl-servers": {"memctl": ENTRY}}
    assert not crlf or "\n" not in edited.text.replace("\r\n", "") or "\n" not in text
    edited.remove(("memctl-servers",))
    assert parsed(edited.text) == before
    if before:  # an empty object may lose the white space in it
        assert edited.text == text


@given(text=loose_json())
def test_an_element_is_appended_and_taken_out_again(text: str) -> None:
    held = JsonText('{"a": 1, "list": [' + text + "]}")
    before = held.text
    held.append(("list",), ENTRY)
    assert held.value(("list",)) == [parsed(text), ENTRY]
    held.remove(("list",), 1)
    assert held.text == before


@given(text=loose_json(), value=VALUES)
def test_every_member_can_be_replaced_and_removed(text: str, value: Any) -> None:
    for key in parsed(text):
        edited = JsonText(text)
        edited.put((key,), value)
        assert json.dumps(parsed(edited.text), sort_keys=True) == json.dumps(
            parsed(text) | {key: value}, sort_keys=True
        )
        edited = JsonText(text)
        edited.remove((key,))
        expected = parsed(text)
        del expected[key]
        assert parsed(edited.text) == expected


@given(text=st.text(alphabet='{}[]",:/*\\ \nab1.-e', max_size=30))
def test_what_json_reads_is_read_alike_and_the_rest_refused(text: str) -> None:
    try:
        strict = json.loads(text)
    except ValueError:
        strict = None
    try:
        ours = parsed(text)
    except ValueError:
        assert not isinstance(strict, dict) or len(json.dumps(strict)) != len(text)
    else:
        assert not isinstance(strict, dict) or ours == strict


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "null",
        "{",
        '{"a": 1 "b": 2}',
        "{'a': 1}",
        '{"a": NaN}',
        "{a: 1}",
        "{} x",
        '{"a": 1,,}',
        "{/*",
        '{"a":' * 300,
    ],
)
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - whatever it says
        JsonText(text)


def test_an_entry_in_the_way_is_refused() -> None:
    for text in ('{"a": []}', '{"a": null}', '{"a": {}, "a": {}}'):
        with pytest.raises(ValueError, match="a"):
            JsonText(text).put(("a", "b"), 1)


# --- TOML ------------------------------------------------------------------------------------------------------------

LINES = st.sampled_from([
    "# a note [not.a.table]", "", "  ", 'name = "x # y"', "[a]", "[a.b]  # why", "[[many]]", "[mcp_servers.other]",
    'list = [1, # one\n  "]",\n]', 'long = """\n[mcp_servers.memctl]\n"""', "raw = '''\n[x]\n'''",
    "t = { a = 1, b = [2] }",
    "when = 2026-11-22T10:00:00Z", "  odd  =  1_000", '"quoted key".x = true', "f = 'C:\\x'",
    r'"\U0001F600 \\U" = 1', '"a\tkey" = 1', r'["\U00000022"]',
])  # fmt: skip
PATH = ("mcp_servers", "memctl")


def put_table(text: str, path: tuple[str, ...], values: dict[str, Any]) -> str:
    held = TomlText(text)
    held.merge(path, values)
    return held.text


def drop_table(text: str, path: tuple[str, ...]) -> str:
    held = TomlText(text)
    held.remove(path)
    return held.text


@given(lines=st.lists(LINES, max_size=8), crlf=st.booleans())
def test_a_table_is_put_and_taken_out_again(lines: list[str], crlf: bool) -> None:
    tomllib = pytest.importorskip("tomllib")
    text = "".join(line + "\n" for line in lines)
    text = text.replace("\n", "\r\n") if crlf else text
    try:
        before = tomllib.loads(text)
    except ValueError:
        with pytest.raises(ValueError):  # noqa: PT011 - whatever it says
            put_table(text, PATH, ENTRY)
        return
    changed = put_table(text, PATH, ENTRY)
    assert tomllib.loads(changed)["mcp_servers"]["memctl"] == ENTRY
    assert put_table(changed, PATH, ENTRY) == changed
    removed = drop_table(changed, PATH)
    assert tomllib.loads(removed) == before
    assert removed == text or not text.strip() or text[-2:] != text.rstrip()[-1:] + "\n"


@given(
    name=st.text(max_size=8),
    values=st.dictionaries(st.text(max_size=8), st.booleans() | WORDS, min_size=1, max_size=3),
    is_there=st.booleans(),
)
def test_any_text_can_be_a_key(name: str, values: dict[str, Any], is_there: bool) -> None:
    tomllib = pytest.importorskip("tomllib")
    path = ("odd", name)
    text = put_table("", path, {}) if is_there else "# mine\n"
    changed = put_table(text, path, values)
    assert tomllib.loads(changed) == {"odd": {name: values}}
    assert put_table(changed, path, values) == changed
    for key, value in values.items():
        assert TomlText(changed).value((*path, key)) == value
    assert tomllib.loads(drop_table(changed, path)) == {}


@pytest.mark.parametrize("key", [r'"\UFFFFFFFF"', r'"\q"'])
def test_an_escape_that_means_nothing_is_refused(key: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - whatever it says
        TomlText(f"{key} = 1\n").value(PATH)


@pytest.mark.parametrize(
    "text", ["mcp_servers = {}\n", "mcp_servers.memctl.command = 'x'\n", "[a\n", "a = [1\n", "a =\n", 'a = "\n']
)
def test_what_cannot_be_extended_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - whatever it says
        put_table(text, PATH, ENTRY)


def test_keys_that_a_person_added_stay_in_the_table() -> None:
    text = (
        '[mcp_servers.memctl] # mine\ncommand = "old" # why\nenabled = true\n\n[mcp_servers.memctl.env]\nA = "1"\n\n'
        "[x]\ny = 1\n"
    )
    changed = put_table(text, PATH, {"command": "new", "required": True})
    assert changed == text.replace('"old"', '"new"').replace("# mine\n", "# mine\nrequired = true\n")
    assert drop_table(changed, PATH) == "\n[x]\ny = 1\n"


def test_what_is_below_a_table_is_its_value() -> None:
    text = "[mcp_servers.memctl]\ncommand = 'C:\\tools\\m'\nenv.A = \"1\"\n[mcp_servers.memctl.env.b]\n[x]\ny = 1\n"
    tomllib = pytest.importorskip("tomllib")
    whole = tomllib.loads(text)
    assert TomlText(text).value(()) == whole
    assert TomlText(text).value(PATH) == whole["mcp_servers"]["memctl"]
    assert TomlText(text).value((*PATH, "env")) == {"A": "1", "b": {}}
    assert TomlText(text).value((*PATH, "url")) is None
    with pytest.raises(ValueError, match="line 2: a is no table"):
        TomlText("a = 1\na.b = 2\n").value(())


# --- every client ----------------------------------------------------------------------------------------------------

CASES = [(name, scope) for name, one in CLIENTS.items() for scope in one.servers]
RULES = st.text(alphabet="ab #-\n`<!>", max_size=30)


@st.composite
def file_of(draw: Any, place: Place | None) -> bytes | None:
    """A file of settings as people leave it, or of instructions; None for none."""
    if not draw(st.integers(0, 4)):
        return None
    if place is None:
        text = draw(RULES)
    elif place.shape == "toml":
        text = "".join(line + "\n" for line in draw(st.lists(LINES, max_size=6)))
    else:
        text = draw(loose_json())
        for key in place.keys[:1] if draw(st.booleans()) else ():
            held = JsonText(text)  # what stands where memctl will enter its own
            held.put((key,), draw(st.dictionaries(WORDS, VALUES, max_size=2) | VALUES))
            text = held.text
    text = str(text.replace("\n", "\r\n") if draw(st.booleans()) else text)
    return b"\xef\xbb\xbf" * bool(draw(st.booleans())) + text.encode("utf-8", "replace")


@given(data=st.data(), case=st.sampled_from(CASES))
@examples(100)
def test_setup_and_teardown_of_every_client_give_back_every_byte(data: Any, case: tuple[str, Scope]) -> None:
    """What is refused is untouched; what somebody appends meanwhile stays, and nothing else is new."""
    with tempfile.TemporaryDirectory(dir=os.environ["TMPDIR"]) as home, pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", os.path.realpath(home))
        patch.chdir(home)
        there_and_back(data, *case)


def there_and_back(data: Any, name: str, scope: Scope) -> None:
    one, home = CLIENTS[name], os.getcwd()
    files: dict[Path, tuple[Place | None, bytes]] = {}
    for place in [one.servers[scope], *([one.hooks.places[scope]] if one.hooks else []), None]:
        where = one.path_of("rules", scope, home, os.environ) if place is None else place.path(home, os.environ)
        content = data.draw(file_of(place)) if where and (place is None or place.shape != "own") else None
        if content is not None and Path(where) not in files:
            files[Path(where)] = place, content
    for path, (_, content) in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    words = (name, "--scope", scope)
    done = run("setup", *words, *(["--block"] if data.draw(st.booleans()) else []))
    event(f"setup ends with {done.code}")
    later = data.draw(st.sampled_from([None, *files])) if done.code == 0 else None
    if later is not None:
        place, content = files[later]
        note = b"\n" + (b"// x" if place and place.shape == "json" else b"# x") + b"\n"
        later.write_bytes(later.read_bytes() + note)
        files[later] = place, content + note
    undone = run("teardown", *words)
    assert undone.code in ((0, 1) if done.code else (0,)), undone.notes
    for path, (place, content) in files.items():
        left = path.read_bytes()
        if path == later:
            assert meant(place, left) == meant(place, content), (content, left)
        else:
            assert left == content
        path.unlink()
    made = [path for path in Path(home).rglob("*") if path.is_file() and ".local" not in path.parts]
    assert made == []


def meant(place: Place | None, data: bytes) -> Any:
    """A file but for the white space at the end of empty objects of JSON, and blank lines of other forms."""
    empty = rb"(?s)(\{(?:\s*(?:/\*.*?\*/|//[^\n]*))*)\s*\}"
    return re.sub(empty, rb"\1}", data) if place and place.shape == "json" else data.split()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The handshake has tests of its own."""
    monkeypatch.setattr(examine, "shake_hands", lambda _argv: {"ok": True, "version": "1", "tools": ["x"]})
