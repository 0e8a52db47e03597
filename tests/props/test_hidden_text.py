"""What Markdown hides is found whatever stands around it."""

from hypothesis import given
from hypothesis import strategies as st

from memctl.extract import plain

PARTS = st.sampled_from((
    "<!-- a -->", "<!--", "-->", "[//]: # (x)", "[Comment]: y", "<div hidden>x</div>", '<P\nSTYLE="display:none">y</P>',
    "<font color=white>z</font>", "<span \u017ftyle='display:none'>q</span>", "`", "```\n", "~~~\n", "\n", "<a", ">",
    "style", "words ",
))  # fmt: skip


@given(st.lists(PARTS, max_size=9).map("".join))
def test_a_text_that_is_not_looked_through_hides_nothing(text: str) -> None:
    assert plain._HIDING.search(text) or plain._divide(text) == (text, ())
