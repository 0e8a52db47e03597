"""What an editor is given comes back from it as it was, whatever the fields and the text are."""

from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from memctl.text import clean
from memctl.text.notes import FrontMatterInvalid, compose_form, read_form

KEYS = ("title", "tags", "expires")
values = st.text(max_size=40).map(clean.one_line)
#: What `clean.statement` leaves: one form for one statement.
texts = (st.text(max_size=200) | st.sampled_from(["---", "---\na: b\n---", "\n---\n", "title: x", "a\n\n"])).map(
    clean.statement
)


@given(st.tuples(values, values, values), texts)
def test_what_is_composed_is_split_again(fields: tuple[str, str, str], text: str) -> None:
    named = dict(zip(KEYS, fields, strict=True))
    assert read_form(compose_form(named.items(), text), KEYS) == (named, text)


@given(st.text(max_size=200))
def test_any_file_is_read_or_refused_with_a_reason(given_text: str) -> None:
    with suppress(FrontMatterInvalid):
        assert set(read_form(given_text, KEYS)[0]) <= set(KEYS)
