"""HTML becomes the text that a reader of the page would see, as Markdown."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.extract import document
from memctl.text.chunking import chunk

PIECES = [
    "<", ">", "</", "<!--", "-->", "<!", "<?", "<![CDATA[", "]]>", "<a ", "<a href='", '<a href="', "'", '"',
    "&amp", "&#0;", "&", "&#xD800;", "<p>", "</p>", "<div>", "</div>", "<ul>", "<ol>", "<li>", "</ul>", "<table>",
    "<tr>", "<td>", "<th>", "</td>", "</tr>", "</table>", "<pre>", "</pre>", "<h1>", "</h2>", "<br>", "<script>",
    "</script>", "<title>", "</title>", "<img alt=x>", "&#13;",
]  # fmt: skip


TAGS = [
    "<p>", "</p>", "<div>", "<ul>", "<li>", "</ul>", "<table>", "<tr>", "<td>", "</td>", "</table>", "<h2>", "</h2>",
    "<pre>", "</pre>", "<br>",
]  # fmt: skip
SAFE = st.characters(exclude_categories=["Cs", "Cc"])


def text_of(html: str) -> str:
    return document(html.encode(), "page.html").text


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>wor</b>ld", "world\n"),
        ("<p>un<i>frag</i>mented <b>words</b></p>", "unfragmented words\n"),
        ("<p>one<p>two<div>three</div>four", "one\n\ntwo\n\nthree\n\nfour\n"),
        ("one<br>two<br/>three", "one\ntwo\nthree\n"),
        ("<h1>A</h1>a<h3 class=x>B <em>b</em></h3>b", "# A\n\na\n\n### B b\n\nb\n"),
        ("<ul><li>one<li>two<ul><li>deep</ul></ul>", "- one\n- two\n  - deep\n"),
        ("<ol><li><p>one</p></li><li>two</li></ol><p>after", "1. one\n2. two\n\nafter\n"),
        ("<table><tr><th>A<th>B<tr><td>1<td><p>2</p></table>x", "A | B\n1 | 2\n\nx\n"),
        ("<table><tr><td>a<table><tr><td>in</table></table>", "a\n\nin\n"),
        ("<pre>a &lt; b\n  # c\n</pre>", "```\na < b\n  # c\n```\n"),
        ("<pre>```</pre>", "````\n```\n````\n"),
        ("caf&eacute; &amp;amp; &#x41;&#66; &nbsp; &unknown; &", "café &amp; AB &unknown; &\n"),
        ("a<script>if (a<b) { x('</p>') }</script>b<style>p{}</style>c", "abc\n"),
        ("a<!-- <p>no</p> -->b<!DOCTYPE x><?php no ?>c", "abc\n"),
        ("3 < 4 and <5 and a<", "3 < 4 and <5 and a<\n"),
        ("<a title='x>y' href=\"a>b\">link</a>", "link\n"),
        ("<img src=x alt='a cat'> sits", "a cat sits\n"),
        ("<svg><![CDATA[raw <b>]]></svg>", "raw <b>\n"),
        ("<P>UPPER</P><DIV>CASE", "UPPER\n\nCASE\n"),
        ("<p>a\n   b\t c</p>", "a b c\n"),
        ("", ""),
        ("<p> </p><div><br></div>", ""),
    ],
)
def test_html_becomes_readable_text(html: str, text: str) -> None:
    assert text_of(html) == text


@pytest.mark.parametrize(
    "html", ["<!-- open", "<a href='x", "<script>open", "text <b", "</", "<title>open", "<![CDATA[x"]
)
def test_what_is_never_closed_loses_nothing_before_it(html: str) -> None:
    assert "before" in text_of("<p>before</p>" + html)


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<title>T &amp; t</title><p>x", "# T & t\n\nx\n"),
        ("<title>T</title><h1>T</h1>x", "# T\n\nx\n"),
        ("<title>T - site</title><h1>T</h1>x", "# T\n\nx\n"),
        ("<title>site | T</title><h1>T\u00b6</h1>x", "# T\n\nx\n"),
        ("<title>Tea</title><h1>T</h1>x", "Tea\n\n# T\n\nx\n"),
        ("<h2>C# <a>#</a></h2>x", "## C#\n\nx\n"),
    ],
)
def test_the_title_is_in_the_text_once(html: str, text: str) -> None:
    assert text_of(html) == text


@pytest.mark.parametrize(
    "box",
    [
        '<div class="warning"><h3 class="title">Warning</h3><p>Beware.</p></div>',
        "<div class='admonition note'><div><h3>Warning</h3></div><p>Beware.</div>",
        "<div class=alert><h3>Warning</h3><div>Beware.</div></div>",
        "<aside><h3>Warning</h3>Beware.</aside>",
    ],
)
def test_what_heads_a_box_heads_neither_what_follows_it_nor_the_section(box: str) -> None:
    page = f"<h1>Guide</h1><h2>Groups</h2><p>First.</p>{box}<p>{'Further words. ' * 200}</p><h3>Sets</h3><p>Last.</p>"
    passages = chunk(document(page.encode(), "page.html"))
    assert "\n\nWarning\n\nBeware." in passages[0].text
    assert list(dict.fromkeys(p.heading for p in passages[1:])) == ["Guide > Groups", "Guide > Groups > Sets"]


@pytest.mark.parametrize("box", ['<div class="notes"><h3>Warning</h3></div>', "<div class=note><h1>Warning</h1>"])
def test_another_division_and_the_heading_of_a_page_are_no_box(box: str) -> None:
    assert "# Warning" in text_of(f"<p>a</p>{box}<p>b</p>")
    assert text_of(f"{box}<p>b</p><h2>Next</h2>").endswith("b\n\n## Next\n")


def test_the_document_says_that_its_lines_are_not_the_sources() -> None:
    found = document(b"<title>T</title><h2>Install</h2><p>Use pip.", "a.htm")
    assert (found.kind, found.title, found.lines_are_source) == ("markdown", "T", False)
    assert chunk(found)[0].heading == "T"
    assert document(b"# x", "a.md").lines_are_source


def test_the_encoding_of_html_is_found_as_of_any_text() -> None:
    found = document("<p>déjà vu".encode("utf-16"), "a.html")
    assert (found.text, found.encoding) == ("déjà vu\n", "utf-16-le")


@pytest.mark.parametrize("piece", [*PIECES, "<a <", "<<a", "<p>a", "<a '>", "<ul><li>a", "<table><tr><td>", "<div><p>"])
def test_repeated_malformed_pieces_take_a_single_pass(piece: str) -> None:
    size = 400_000 // len(piece)
    found = text_of(piece * size + "<p>end</p>")
    assert len(found) <= 12 * 400_000  # a pass that is not linear would not come back from this


def test_quotes_that_lead_nowhere_are_not_followed_from_every_tag() -> None:
    def least(size: int) -> float:
        html, best = """<a b='>' c=">" """ * size, 1e9
        for _ in range(3):
            start = time.process_time()
            text_of(html)
            best = min(best, time.process_time() - start)
        return best

    assert least(4_000) < 60 * max(0.001, least(100))  # from every tag on 8 KB are looked at: a factor of 200


def test_after_quotes_that_lead_nowhere_text_goes_on() -> None:
    found = text_of("<p title=\"a>one</p> <b title='x>y'>two</b>")
    assert found.split()[0] == "one"
    assert "two" in found


@given(st.lists(st.sampled_from(PIECES) | st.text(SAFE, max_size=5), max_size=40).map("".join))
def test_any_markup_is_text_without_error(html: str) -> None:
    found = document(b"> " + html.encode(), "a.html")
    assert not set("\0\r") & set(found.text)
    found.text.encode()


@given(st.lists(st.text("abcdefghij", min_size=3, max_size=8), min_size=1, max_size=30), st.data())
def test_no_word_of_the_body_is_lost(words: list[str], data: st.DataObject) -> None:
    html = "".join(f"{data.draw(st.sampled_from(TAGS))} {word} " for word in words)
    found = text_of(html).split()
    assert sorted(word for word in found if word.isalpha()) == sorted(words)
