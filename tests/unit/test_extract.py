"""From bytes to documents: encodings, damage, what is refused and why, kinds by name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.errors import DocumentUnreadable, MemctlError
from memctl.extract import INGESTABLE, Document, Limits, Unreadable, document, is_ingestable
from memctl.text.chunking import chunk

#: The suffixes that were promised.
PROMISED = [
    ".md", ".txt", ".rst", ".csv", ".tsv", ".html", ".htm", ".xml", ".json", ".yaml", ".yml", ".toml", ".py", ".js",
    ".ts", ".jsx", ".tsx", ".java", ".go", ".rs", ".c", ".h", ".cpp", ".hpp", ".css", ".scss", ".less", ".sh",
    ".bash", ".zsh", ".sql", ".r", ".jl", ".lua", ".rb", ".php", ".swift", ".kt", ".dockerfile", ".docx", ".odt",
    ".pptx", ".odp", ".xlsx", ".ods", ".pdf", ".eml", ".ipynb",
]  # fmt: skip
FRENCH = "Où est le café ? Là-bas, « à côté » — 12 €.\n" * 3
GREEK = "Καλημέρα κόσμε, τι κάνεις σήμερα;\n" * 3
CHINESE = "我们使用数据库进行存储。\n第二行在这里。\n" * 3


def reason(data: bytes, name: str) -> str:
    with pytest.raises(Unreadable) as caught:
        document(data, name)
    assert name in caught.value.message
    return str(caught.value.fields["reason"])


# --- encodings --------------------------------------------------------------------------------------------------------


def test_plain_utf8_comes_through_as_it_is() -> None:
    assert document(FRENCH.encode(), "a.txt") == Document(FRENCH, "text")


@pytest.mark.parametrize("text", [FRENCH, GREEK, CHINESE, "plain\n", "😀 smile\n"])
@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (b"\xef\xbb\xbf", "utf-8"),
        (b"\xff\xfe", "utf-16-le"),
        (b"\xfe\xff", "utf-16-be"),
        (b"\xff\xfe\x00\x00", "utf-32-le"),
        (b"\x00\x00\xfe\xff", "utf-32-be"),
    ],
)
def test_a_byte_order_mark_decides(text: str, mark: bytes, encoding: str) -> None:
    assert document(mark + text.encode(encoding), "a.txt") == Document(text, "text", "", encoding)


@pytest.mark.parametrize("text", [FRENCH, GREEK, CHINESE, "plain words\n"])
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_wide_text_without_a_mark_is_known_by_its_nuls(text: str, encoding: str) -> None:
    assert document(text.encode(encoding), "a.txt") == Document(text, "text", "", encoding)


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1"])
def test_western_text_is_read_as_windows_1252(encoding: str) -> None:
    text = "Où est le café ? Là-bas, « à côté ».\n" * 3
    found = document(text.encode(encoding), "a.txt")
    assert (found.text, found.encoding) == (text, "cp1252")
    assert found.notes == ("not valid UTF-8; read as Windows-1252",)


@pytest.mark.parametrize(
    ("name", "head", "encoding"),
    [
        ("a.py", "# -*- coding: koi8-r -*-\n", "koi8-r"),
        ("a.xml", '<?xml version="1.0" encoding="windows-1251"?>\n', "windows-1251"),
        ("a.html", '<meta charset="iso-8859-5"><p>', "iso-8859-5"),
        ("a.html", '<meta http-equiv=c content="text/html; charset=shift_jis"><p>', "shift_jis"),
    ],
)
def test_a_declared_encoding_is_believed_where_utf8_fails(name: str, head: str, encoding: str) -> None:
    text = "Привет, мир\n" if encoding != "shift_jis" else "こんにちは世界\n"
    found = document((head + text * 3).encode(encoding), name)
    assert text.strip() in found.text
    assert found.encoding == encoding


@pytest.mark.parametrize("declared", ["rot13", "punycode", "unicode_escape", "utf-7", "zlib", "no-such"])
def test_a_declared_codec_that_is_no_encoding_is_not_used(declared: str) -> None:
    assert document(f"# coding: {declared}\nd\xe9j\xe0 vu\n".encode("latin-1"), "a.py").encoding == "cp1252"


def test_a_few_bad_bytes_are_replaced_and_counted() -> None:
    found = document("é".encode() * 20 + b"\xff\xfe\xfd" + "ü".encode() * 20, "a.txt")
    assert found.text == "é" * 20 + "\ufffd" * 3 + "ü" * 20
    assert found.notes == ("3 bytes were not valid UTF-8 and were replaced",)


def test_what_no_encoding_fits_is_refused_with_advice() -> None:
    assert "iconv" in reason("Привет, мир, как дела".encode("koi8-r") * 5, "a.txt")


def test_lone_nuls_are_removed_and_counted() -> None:
    found = document(b"good text " * 50 + b"\0" + b"more good text", "a.txt")
    assert "\0" not in found.text
    assert found.notes == ("1 NUL character was removed",)
    assert document(b"even\0 odd\0.", "a.txt").text == "even odd."


@pytest.mark.parametrize("end", ["\r\n", "\r", "\n"])
def test_line_ends_become_line_feeds(end: str) -> None:
    found = document(f"one{end}{end}two{end}".encode(), "a.txt")
    assert found.text == "one\n\ntwo\n"
    assert chunk(found)[0].end == 3


def test_an_empty_file_is_an_empty_document() -> None:
    assert document(b"", "a.md") == Document("", "markdown")


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"\x89PNG\r\n\x1a\n" + bytes(50), "PNG"),
        (b"\xff\xd8\xff\xe0" + bytes(50), "JPEG"),
        (b"\x7fELF\x02\x01", "program"),
        (b"PK\x03\x04 and so on", "zip"),
        (b"\x1f\x8b\x08\x00", "gzip"),
        (b"SQLite format 3\x00" + bytes(90), "SQLite"),
        (b"%PDF-1.7\nwords", "PDF"),
        (b"{\\rtf1 words}", "RTF"),
        (bytes(range(256)) * 4, "binary"),
        (b"\0" * 100, "binary"),
        (b"text " * 20 + bytes(range(1, 9)) * 5, "binary"),
    ],
)
@pytest.mark.parametrize("name", ["a.txt", "a.md", "unknown", "a.html"])
def test_binary_content_is_refused_by_what_it_is(data: bytes, word: str, name: str) -> None:
    assert word in reason(data, name)


def test_the_limit_is_the_last_size_that_is_read() -> None:
    assert document(b"12345", "a.txt", Limits(bytes=5)).text == "12345"
    with pytest.raises(Unreadable, match="1,234 bytes, and the limit is 1,000"):
        document(b"x" * 1234, "a.txt", Limits(bytes=1000))


def test_unreadable_is_an_error_of_ours() -> None:
    assert Unreadable is DocumentUnreadable
    assert issubclass(Unreadable, MemctlError)


# --- names ------------------------------------------------------------------------------------------------------------


def test_every_promised_suffix_is_taken_in() -> None:
    assert set(PROMISED) <= INGESTABLE
    assert all(is_ingestable(f"dir/a{suffix.upper()}") for suffix in PROMISED)


@pytest.mark.parametrize(
    "name",
    [
        "gawk.info",
        "Makefile",
        "src/Dockerfile",
        "Dockerfile.dev",
        "LICENSE",
        "README",
        "CMakeLists.txt",
        "x\\GNUmakefile",
    ],
)
def test_well_known_names_are_taken_in(name: str) -> None:
    assert is_ingestable(name)


@pytest.mark.parametrize(
    "name", ["a.png", "a", ".env", "a.exe", "a.", "md", ".md", "a.pyc", "a.sqlite", "makefile.o", ""]
)
def test_other_names_are_not(name: str) -> None:
    assert not is_ingestable(name)


@pytest.mark.parametrize(
    ("name", "kind", "language"),
    [
        ("a.md", "markdown", ""),
        ("A.MD", "markdown", ""),
        ("a.rst", "rst", ""),
        ("a.txt", "text", ""),
        ("a.csv", "table", ""),
        ("a.json", "data", "json"),
        ("a.yml", "data", "yaml"),
        ("a.xml", "data", "xml"),
        ("a.py", "code", "python"),
        ("a.tsx", "code", "typescript"),
        ("a.h", "code", "c"),
        ("b/Makefile", "code", "make"),
        ("b/Dockerfile.dev", "code", "dockerfile"),
        ("web.dockerfile", "code", "dockerfile"),
        (".dockerfile", "code", "dockerfile"),
        ("CMakeLists.txt", "code", "cmake"),
        ("a.unheard", "text", ""),
        ("LICENSE", "text", ""),
    ],
)
def test_the_name_says_the_kind(name: str, kind: str, language: str) -> None:
    found = document(b"words\n", name)
    assert (found.kind, found.language) == (kind, language)


@pytest.mark.parametrize(
    ("line", "language"),
    [
        ("#!/usr/bin/env python3", "python"),
        ("#!/usr/bin/python3 -u", "python"),
        ("#!/usr/bin/env -S node --x", "javascript"),
        ("#!/bin/sh", "shell"),
        ("#! /bin/bash", "shell"),
        ("#!/opt/strange", ""),
        ("#!", ""),
    ],
)
def test_a_script_without_a_suffix_says_it_in_its_first_line(line: str, language: str) -> None:
    found = document(f"{line}\nx\n".encode(), "run")
    assert (found.kind, found.language) == ("code", language)


# --- anything ---------------------------------------------------------------------------------------------------------


@given(st.binary(max_size=300), st.sampled_from(["a.txt", "a.py", "a.html", "a.csv", "b"]))
def test_any_bytes_are_a_clean_document_or_a_clear_refusal(data: bytes, name: str) -> None:
    try:
        found = document(data, name)
    except Unreadable as refusal:
        assert refusal.fields["reason"]  # noqa: PT017 - either outcome is right
    else:
        assert not set("\0\r") & set(found.text)
        found.text.encode()  # no surrogates


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("\n\t"), min_size=1, max_size=300))
def test_any_utf8_text_comes_through(text: str) -> None:
    assert document(b"\xef\xbb\xbf" + text.encode(), "a.txt").text == text
    assert document(b"> " + text.encode(), "a.txt").text == "> " + text
