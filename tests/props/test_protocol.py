"""Every line that a client may send is a request, silence, or an error that names its id."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.mcp.protocol import ProtocolError, encode, guessed_id, parse

NUMBERS = st.integers(-(10**15), 10**15) | st.text(max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)


@given(st.binary(max_size=200) | VALUES.map(lambda value: json.dumps(value).encode()))
def test_any_line_has_an_outcome(line: bytes) -> None:
    try:
        answer = parse(line) and {"error": {"code": 0, "message": "none"}}
    except ProtocolError as exc:
        answer = json.loads(encode(exc.answer()))
    assert answer is None or (answer["error"]["code"] in (-32700, -32600, -32602, 0) and answer["error"]["message"])


@given(NUMBERS, st.text(st.characters(), min_size=1, max_size=20), st.dictionaries(st.text(max_size=5), VALUES))
def test_a_request_comes_through_whole_and_storable(number: int | str, method: str, params: dict[str, object]) -> None:
    try:
        text = json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}, allow_nan=False)
    except ValueError:
        return
    found = parse(text.encode())
    assert found is not None
    found.method.encode()  # no half of a character is left
    json.dumps(found.params, ensure_ascii=False).encode()
    assert found.params.keys() == {key.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for key in params}


PLAIN = st.text(st.characters(min_codepoint=32, max_codepoint=126, exclude_characters='"\\'), max_size=9)


@given(st.integers(0, 10**9) | PLAIN, st.integers(0, 40))
def test_the_id_of_a_broken_line_is_found(number: int | str, cut: int) -> None:
    wanted = json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"arguments": {"k": 1}}})
    broken = wanted[: max(len(wanted) - cut - 1, wanted.index('"method"'))].encode()
    with pytest.raises(ProtocolError) as error:
        parse(broken)
    assert (error.value.code, error.value.id) == (-32700, number)
    last = json.dumps({"params": {"id": "inner"}, "id": number}).replace("{", '{"x": nothing, ', 1).encode()
    assert guessed_id(last) == number


@pytest.mark.parametrize(
    ("line", "code", "number"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"ping"', -32700, 7),
        (b"[" * 100_000, -32700, None),
        (b'{"id":7,"x":' + b"[" * 100_000, -32700, 7),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":NaN}}', -32700, 7),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":' + b"9" * 5000 + b"}}", -32700, 7),
        (b"[]", -32600, None),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600, None),
        (b"7", -32600, None),
        (b'{"id":7,"method":"ping"}', -32600, 7),
        (b'{"jsonrpc":"1.0","id":7,"method":"ping"}', -32600, 7),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":7}', -32600, 7),
        (b'{"jsonrpc":"2.0","id":7,"method":9}', -32600, 7),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":[1]}', -32602, 7),
        (b'{"jsonrpc": "2.0", "id": 1e400, "method": "ping"}', -32600, None),
    ],
)
def test_what_is_no_request_is_answered(line: bytes, code: int, number: int | None) -> None:
    with pytest.raises(ProtocolError) as error:
        parse(line)
    assert (error.value.code, error.value.id) == (code, number)


@pytest.mark.parametrize(
    "line", [b'{"jsonrpc":"2.0","id":1,"result":{}}', b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}']
)
def test_an_answer_of_the_client_is_no_request(line: bytes) -> None:
    assert parse(line) is None
