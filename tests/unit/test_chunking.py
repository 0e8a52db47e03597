"""Where texts are cut, what the passages are called, and what documents are called."""

import textwrap

import pytest

from memctl.extract import document
from memctl.text.chunking import Passage, chunk, title_of
from memctl.text.tokens import estimate_tokens


def lines(*numbers: int, width: int = 60) -> str:
    return "".join(f"line {number} ".ljust(width - 1, ".") + "\n" for number in range(*numbers))


def headings(passages: list[Passage]) -> list[str]:
    return [passage.heading for passage in passages]


def ranges(passages: list[Passage]) -> list[tuple[int, int]]:
    return [(passage.start, passage.end) for passage in passages]


# --- any text ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("日本語", 1)])
def test_four_characters_are_a_token(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@pytest.mark.parametrize("text", ["", "\n", " \n\t\n", "\n" * 5000])
def test_blank_text_has_no_passage(text: str) -> None:
    assert chunk(text) == []
    assert chunk(text, kind="markdown") == []
    assert chunk(text, kind="code", language="python") == []


def test_lines_are_counted_from_one_over_blank_lines() -> None:
    text = "\n\n" + lines(0, 3) + "\n\n\n\n\n" + lines(3, 6)
    assert chunk(text, target_tokens=50) == [
        Passage(lines(0, 3).rstrip("\n"), 3, 5, ""),
        Passage(lines(3, 6).rstrip("\n"), 11, 13, ""),
    ]


def test_short_paragraphs_share_a_passage_up_to_the_target() -> None:
    text = "\n".join(lines(n, n + 2) for n in range(0, 40, 2))
    passages = chunk(text, target_tokens=100)
    assert len(passages) == 7
    assert all(300 <= len(passage.text) <= 400 for passage in passages[:-1])


def test_a_paragraph_stretches_half_beyond_the_target_rather_than_being_torn() -> None:
    assert ranges(chunk(lines(0, 9) + "\n" + lines(9, 18), target_tokens=100)) == [(1, 9), (11, 19)]


def test_only_line_feeds_end_lines() -> None:
    text = "one\u2028still one\x85\x0c\x0bstill\rone\ntwo"
    assert chunk(text) == [Passage(text, 1, 2, "")]


def test_an_overlong_line_is_divided_after_sentences_and_keeps_its_number() -> None:
    text = "short\n" + "A sentence of some words. " * 200 + "\nlast"
    passages = chunk(text)
    assert ranges(passages) == [(1, 1), (2, 2), (2, 2), (2, 2), (2, 2), (3, 3)]
    assert all(passage.text.endswith("words. ") for passage in passages[1:5])
    assert "".join(passage.text for passage in passages[1:5]) == text.split("\n")[1]


@pytest.mark.parametrize("filler", ["x", "日", "\U0001f600", "word ", "a,", "{"])
@pytest.mark.parametrize("kind", ["text", "markdown", "code", "data", "table"])
def test_a_giant_line_is_divided_within_the_limit(filler: str, kind: str) -> None:
    passages = chunk(filler * 100_000, kind=kind, max_tokens=300)
    assert all(len(passage.text) <= 1200 for passage in passages)
    assert "".join(passage.text for passage in passages) == filler * 100_000


def test_paragraphs_are_packed_up_to_the_limit() -> None:
    text = lines(0, 3) + "\n\n" + lines(3, 6)
    first, second = chunk(text, max_tokens=50, target_tokens=50)
    assert first[:3] == (lines(0, 3).rstrip("\n"), 1, 3)
    assert second[:3] == (lines(3, 6).rstrip("\n"), 6, 8)
    assert [passage[:3] for passage in chunk(text, target_tokens=1800)] == [(text.rstrip("\n"), 1, 8)]


# --- Markdown ---------------------------------------------------------------------------------------------------------

GUIDE = f"""\
---
title: # not a heading
---
# Guide

{lines(0, 10)}
## Install

{lines(10, 20)}
### Linux ###

{lines(20, 32)}
Upgrade
-------

{lines(32, 44)}"""


def test_markdown_is_cut_at_sections_that_carry_their_path() -> None:
    passages = chunk(GUIDE, kind="markdown", target_tokens=200)
    assert headings(passages) == ["Guide", "Guide > Install", "Guide > Install > Linux", "Guide > Upgrade"]
    assert [passage.text.split("\n")[0] for passage in passages[1:]] == ["## Install", "### Linux ###", "Upgrade"]
    assert passages[0].text.startswith("---\ntitle: # not a heading\n---\n# Guide")


def test_a_long_section_keeps_its_heading_path_in_all_its_passages() -> None:
    text = "# Book\n\n## Chapter\n\n" + "\n".join(lines(n, n + 5) for n in range(0, 60, 5))
    assert set(headings(chunk(text, kind="markdown", target_tokens=200)[1:])) == {"Book > Chapter"}


def test_small_sibling_sections_share_a_passage_named_by_their_parent() -> None:
    text = "# Notes\n\n" + "".join(f"## Note {n}\n\nA few words.\n\n" for n in range(6)) + "# Other\n\n" + lines(0, 30)
    first = chunk(text, kind="markdown", target_tokens=200)[0]
    assert first.heading == "Notes"
    assert "Note 0" in first.text
    assert "Note 5" in first.text
    assert "Other" not in first.text


@pytest.mark.parametrize("fence", ["```", "~~~", "````", "   ```"])
def test_what_looks_like_a_heading_in_a_fence_is_none(fence: str) -> None:
    text = f"# Top\n\n{fence}sh\n# a comment\n\n{lines(0, 10)}\n# another\n{fence}\n\n## Sub\n\n{lines(0, 10)}"
    found = headings(chunk(text, kind="markdown", target_tokens=200))
    assert found == ["Top", "Top > Sub"]


def test_a_longer_fence_is_not_closed_by_a_shorter_one() -> None:
    text = "````\n```\n# no\n````\n\n# yes\n\nwords"
    assert title_of(document(text.encode(), "a.md"), "a.md") == "yes"


def test_a_fence_and_a_table_are_kept_whole_where_they_fit() -> None:
    fence = "```\n" + "\n".join(lines(n, n + 3) for n in range(0, 15, 3)) + "```"
    table = "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 60
    text = lines(0, 8) + "\n" + fence + "\n\n" + lines(8, 16) + "\n" + table + "\n" + lines(16, 24)
    bodies = [passage.text for passage in chunk(text, kind="markdown", target_tokens=260)]
    assert any(fence in body for body in bodies)
    assert any(table.rstrip("\n") in body for body in bodies)


def test_lists_are_split_at_items() -> None:
    text = "".join(f"- item {n}\n  " + lines(n, n + 2).replace("\n", "\n  ").rstrip(" ") for n in range(30))
    starts = [passage.text[:6] for passage in chunk(text, kind="markdown", target_tokens=150)]
    assert starts == ["- item"] * len(starts)
    assert len(starts) > 5


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("# Plain", "Plain"),
        ("# Closed ##", "Closed"),
        ("# With `code` and **weight**", "With code and weight"),
        ("# A [link](http://x.y/z) inside", "A link inside"),
        ("# Anchored {#here}", "Anchored"),
        ("   ## Indented", "Indented"),
        ("C# tips\n=======", "C# tips"),
    ],
)
def test_headings_are_named_without_their_markup(line: str, title: str) -> None:
    assert chunk(f"{line}\n\nwords", kind="markdown")[0].heading == title


@pytest.mark.parametrize("line", ["#hashtag", "    # code", "####### seven", "\\# escaped", "- item\n---", "a\nb\n---"])
def test_what_is_no_heading_is_none(line: str) -> None:
    assert chunk(f"{line}\n\nwords", kind="markdown")[0].heading == ""


def test_rst_levels_follow_the_order_of_underlines() -> None:
    text = f"=====\nTitle\n=====\n\n{lines(0, 9)}\nPart\n====\n\n{lines(9, 18)}\nPiece\n~~~~~\n\n{lines(18, 30)}"
    passages = chunk(text, kind="rst", target_tokens=150)
    assert headings(passages) == ["Title", "Title > Part", "Title > Part > Piece"]
    assert passages[0].text.startswith("=====\nTitle")


# --- code and data ----------------------------------------------------------------------------------------------------


def body(count: int, indent: int) -> str:
    return textwrap.indent("".join(f"value_{n} = compute(value_{n}, {n})\n" for n in range(count)), " " * indent)


MODULE = f'''\
"""A module."""

import os

LIMIT = 3


# What it is for.
@decorated
def first(x):
{body(14, 4)}

class Store(Base):
    """A store."""

    def read(self):
{body(14, 8)}
    @property
    def size(self) -> int:
{body(14, 8)}
    async def write(self):
{body(50, 8)}

if __name__ == "__main__":
    main()
'''


def test_python_is_cut_at_definitions_with_their_decorators_and_comments() -> None:
    passages = chunk(MODULE, kind="code", language="python", target_tokens=200)
    starts = [passage.text.split("\n")[0].strip() for passage in passages]
    assert starts[:5] == ['"""A module."""', "class Store(Base):", "@property", "async def write(self):", starts[4]]
    assert headings(passages)[1:5] == ["Store", "Store.size", "Store.write", "Store.write"]
    assert "# What it is for.\n@decorated\ndef first(x):" in passages[0].text


def test_a_passage_of_several_definitions_is_named_by_what_holds_them_all() -> None:
    text = "class Small:\n" + "".join(f"    def m{n}(self):\n        return {n}\n\n" for n in range(5))
    other = "".join(f"def f{n}():\n    return {n}\n\n\n" for n in range(5))
    assert headings(chunk(text, kind="code", language="python")) == ["Small"]
    assert headings(chunk(other, kind="code", language="python")) == [""]


def test_code_after_a_class_is_not_in_the_class() -> None:
    text = f"class A:\n    def m(self):\n{body(20, 8)}\n\nTABLE = [\n{body(20, 4)}]\n"
    passages = chunk(text, kind="code", language="python", target_tokens=200)
    assert passages[-1].text.startswith("TABLE")
    assert headings(passages) == ["A", ""]


@pytest.mark.parametrize(
    ("language", "source", "name"),
    [
        ("javascript", "export default async function load(a, b) {\n  x\n}", "load"),
        ("javascript", "const load = async (a) => {\n  x\n}", "load"),
        ("typescript", "export interface Shape<T> {\n  a: T\n}", "Shape"),
        ("typescript", "class A {\n  private load(a: string): void {\n    x\n  }\n}", "A"),
        ("java", "public final class Load extends B {\n  int a;\n}", "Load"),
        ("go", "func (r *Reader) Load(a int) error {\n\tx\n}", "Load"),
        ("rust", "pub(crate) async fn load<T>(a: T) {\n    x\n}", "load"),
        ("rust", "impl<T> Load<T> {\n    x\n}", "Load"),
        ("c", "static int\nload(struct a *b)\n{\n    x;\n}", "load"),
        ("c", "static struct thing *load(int a) {\n    x;\n}", "load"),
        ("cpp", "void Store::load(int a) {\n    x;\n}", "Store::load"),
        ("csharp", "public record Load(int A) {\n  x\n}", "Load"),
        ("swift", "public func load(a: Int) {\n  x\n}", "load"),
        ("kotlin", "data class Load(val a: Int) {\n  x\n}", "Load"),
        ("php", "public static function load($a) {\n  x\n}", "load"),
        ("ruby", "def self.load(a)\n  x\nend", "self.load"),
        ("lua", "local function load(a)\n  x\nend", "load"),
        ("shell", "load() {\n  x\n}", "load"),
        ("shell", "function load {\n  x\n}", "load"),
        ("perl", "sub load {\n  x\n}", "load"),
        ("julia", "function load(a)\n  x\nend", "load"),
        ("r", "load <- function(a) {\n  x\n}", "load"),
        ("sql", "CREATE OR REPLACE VIEW load AS\n  SELECT 1", "load"),
        ("sql", "create table if not exists load (\n  a int\n)", "load"),
        ("toml", "[tool.load]\na = 1", "tool.load"),
        ("ini", "[load]\na = 1", "load"),
        ("yaml", "load:\n  a: 1", "load"),
    ],
)
def test_definitions_are_known_in_many_languages(language: str, source: str, name: str) -> None:
    kind = "data" if language in ("toml", "ini", "yaml") else "code"
    assert headings(chunk(source, kind=kind, language=language)) == [name]


@pytest.mark.parametrize("language", ["javascript", "c", "go", "rust", "java", "unheard-of"])
def test_brace_languages_are_cut_at_top_level_blocks(language: str) -> None:
    block = "func name_{n}(a int) {{\n" + body(12, 4) + "\n" + body(12, 4) + "}}\n\n"
    text = "".join(block.format(n=n) for n in range(4))
    passages = chunk(text, kind="code", language=language, target_tokens=280)
    assert [passage.text.split("\n")[0] for passage in passages] == [f"func name_{n}(a int) {{" for n in range(4)]
    assert all(passage.text.endswith("}") for passage in passages)


def test_broken_code_is_cut_all_the_same() -> None:
    text = "def f(:\n  'unclosed\n" + MODULE + "\x00\x01 class (((\n" + MODULE[::-1]
    passages = chunk(text, kind="code", language="python", target_tokens=100)
    assert "".join("".join(p.text.split()) for p in passages) == "".join(text.split())


def test_data_is_cut_at_its_least_indented_lines() -> None:
    entries = ",\n".join(
        f'  "key_{n}": {{\n    "a": [\n      1,\n      2\n    ],\n    "b": {n}\n  }}' for n in range(60)
    )
    passages = chunk(f"{{\n{entries}\n}}\n", kind="data", language="json", target_tokens=150)
    assert all(passage.text.startswith('  "key_') for passage in passages[1:])


def test_tables_carry_their_header_in_every_passage() -> None:
    rows = "".join(f"{n},name {n},city {n}\n" for n in range(300))
    passages = chunk("id,name,city\n" + rows, kind="table", target_tokens=100)
    assert set(headings(passages)) == {"id,name,city"}
    assert passages[1].text.startswith(f"{passages[0].end - 1},name")


# --- sizes ------------------------------------------------------------------------------------------------------------


def test_small_functions_fill_a_passage() -> None:
    text = "".join(f"def function_{n}(a, b):\n    return a + b + {n}\n\n\n" for n in range(300))
    sizes = [len(passage.text) for passage in chunk(text, kind="code", language="python")]
    assert all(1400 <= size <= 1600 for size in sizes[:-1])


def test_a_crumb_is_merged_with_its_neighbour() -> None:
    text = "import os\n\n\ndef long():\n" + body(60, 4)
    assert chunk(text, kind="code", language="python")[0].text.startswith("import os\n\n\ndef long():")


# --- titles -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "data", "title"),
    [
        ("docs/guide.md", b"intro\n\n# The Guide\n\nwords", "The Guide"),
        ("guide.md", b"no heading", "guide"),
        ("guide.md", b"\n" * 20 + b"# Too late", "guide"),
        ("guide.md", b"```\n# code\n```\n", "guide"),
        ("a.rst", b"Title\n=====\n\nwords", "Title"),
        ("a/b/tool.py", b"# a comment\nx = 1\n", "tool"),
        ("page.html", b"<title>The page</title><p>words", "The page"),
        ("page.html", b"<title>The page</title><h1>The heading</h1>", "The heading"),
        ("archive.tar.txt", b"words", "archive.tar"),
        (".editorconfig", b"[*]\n", ".editorconfig"),
        ("Makefile", b"all:\n", "Makefile"),
        ("C:\\docs\\a.txt", b"words", "a"),
    ],
)
def test_documents_are_called_by_their_heading_or_their_stem(name: str, data: bytes, title: str) -> None:
    assert title_of(document(data, name), name) == title
