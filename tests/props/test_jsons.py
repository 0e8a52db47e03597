"""JSON without `json`: whatever that reads and writes, its C parts alone read and write too."""

import importlib.util
import json
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memctl.text import jsons

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
PIECES = st.sampled_from(
    ["{", "}", "[", "]", ",", ":", '"a"', "1", "-0.5e3", "null", " ", "\n", "\u00a0", "\ufeff", '"']
)


@given(text=st.text() | st.lists(PIECES).map("".join) | VALUES.map(json.dumps))
@example(text="[NaN, -Infinity]")
@example(text=' {"a": 1, "a": 2}\r\n')
@example(text="[1] x")
def test_a_text_means_what_json_says(text: str) -> None:
    try:
        expected = json.loads(text)
    except ValueError:
        with pytest.raises(ValueError, match=r"JSON|[Ee]xpecting|Invalid|Unterminated|Illegal"):
            jsons.decode(text)
    else:
        assert repr(jsons.decode(text)) == repr(expected)


@given(value=VALUES)
def test_a_value_is_written_as_json_writes_it(value: object) -> None:
    assert jsons.encode(value) == json.dumps(value, ensure_ascii=False)
    assert jsons.encode(value, ascii_only=True) == json.dumps(value)


def test_what_is_no_json_is_refused() -> None:
    with pytest.raises(TypeError, match="set is not JSON serializable"):
        jsons.encode([set()])
    assert jsons.encode({"é": [1]}, ascii_only=True) == '{"\\u00e9": [1]}'


def test_a_python_without_the_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "_json", None)
    spec = importlib.util.spec_from_file_location("jsons_without_parts", jsons.__file__)
    assert spec is not None
    assert spec.loader is not None
    plain = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plain)
    assert plain.decode(' {"é": [1]} ') == {"é": [1]}
    assert (plain.encode({"é": 1}), plain.encode({"é": 1}, ascii_only=True)) == ('{"é": 1}', '{"\\u00e9": 1}')
