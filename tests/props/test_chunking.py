"""Whatever the text and the sizes: nothing is lost, doubled, moved or too long."""

from hypothesis import example, given
from hypothesis import strategies as st

from memctl.text.chunking import Passage, chunk

KINDS = [
    ("text", ""), ("table", ""), ("markdown", ""), ("rst", ""), ("asciidoc", ""), ("org", ""),
    ("latex", ""), ("man", ""), ("data", "toml"), ("data", "yaml"), ("data", "json"),
    ("code", "python"), ("code", "javascript"), ("code", "c"), ("code", "go"), ("code", "unheard-of"),
]  # fmt: skip
kinds = st.sampled_from(KINDS)

#: Fragments that mean something to one of the outlines, and everything that anyone may call a line end.
FRAGMENTS = [
    "\n", "\n\n", "\n \n", "\n\t\n", " ", "    ", "\t", "\r", "\x0c", "\x0b", "\x1c", "\x85", "\u2028", "\u2029",
    "\x00", "\u3000", "# One", "## Two", "### Three ###", "#", "=====", "-----", "---", "```", "~~~~", "````py",
    "- item", "1. item", "| a | b |", "> q", "def f(x):", "class Foo:", "@decorator", "async def g():", "return 1",
    "}", ");", "function f() {", "]", "const a = () => {", "int main(int argc)", "func (r *T) Name() {", "[table]",
    "key:", '"a": {', ".. function:: f(x)", ".. _label:", "== Two", "term::", "----", "====", "* Star", "#+begin_src",
    "\\section{One}", "\\item", ".SH NAME", ".TP", ".It Fl o", "NAME", "1.2 Numbered",
    "--option", "   deeper", "a,b,c", "Sentence one. Sentence two! 日本。", "word" * 9,
]  # fmt: skip
structured = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=12), max_size=60).map("".join)
texts = structured | st.text(max_size=300)


def pieces_of(text: str, passages: list[Passage]) -> None:
    """Every passage is the lines it names, in order; every line that is not blank is in just one, or in its parts."""
    lines = text.split("\n")
    covered: dict[int, str] = {}
    previous_end = 0
    for body, start, end, _ in passages:
        assert body.strip()
        exact = "\n".join(lines[start - 1 : end])
        if body == exact:
            assert start > previous_end
            covered.update({number: lines[number - 1] for number in range(start, end + 1)})
        else:
            assert start == end >= previous_end
            covered[start] = covered.get(start, "") + body
        previous_end = end
    for number, line in enumerate(lines, 1):
        if line.strip():
            assert "".join(covered[number].split()) == "".join(line.split())


@given(texts, kinds, st.integers(1, 60), st.integers(1, 60))
@example("def f():\n" + "    x = 1\n" * 30, ("code", "python"), 1, 1)
@example("a" * 99 + "\n" + "b c " * 99, ("text", ""), 3, 2)
@example(" " * 200 + "x" + " " * 200, ("text", ""), 4, 4)
def test_every_line_is_stored_once_within_the_limit(
    text: str, kind: tuple[str, str], max_tokens: int, target_tokens: int
) -> None:
    passages = chunk(text, kind=kind[0], language=kind[1], max_tokens=max_tokens, target_tokens=target_tokens)
    assert all(len(p.text) <= max_tokens * 4 for p in passages)
    pieces_of(text, passages)


@given(texts, kinds)
def test_lines_stay_whole_where_they_fit(text: str, kind: tuple[str, str]) -> None:
    lines = text.split("\n")
    for body, start, end, _ in chunk(text, kind=kind[0], language=kind[1], max_tokens=200, target_tokens=100):
        if body != "\n".join(lines[start - 1 : end]):
            assert len(lines[start - 1]) >= 600


@given(texts, kinds)
def test_passages_have_no_blank_lines_at_their_ends(text: str, kind: tuple[str, str]) -> None:
    for body, _, _, _ in chunk(text, kind=kind[0], language=kind[1], max_tokens=8, target_tokens=4):
        assert body.split("\n")[0].strip()
        assert body.split("\n")[-1].strip()


@given(texts, kinds)
def test_headings_are_one_short_line(text: str, kind: tuple[str, str]) -> None:
    for passage in chunk(text, kind=kind[0], language=kind[1], max_tokens=8):
        assert "\n" not in passage.heading
        assert len(passage.heading) <= 240


@given(texts, kinds)
def test_the_same_text_is_always_cut_the_same(text: str, kind: tuple[str, str]) -> None:
    first = chunk(text, kind=kind[0], language=kind[1], max_tokens=9)
    assert first == chunk(text, kind=kind[0], language=kind[1], max_tokens=9)
