"""PDF files: pages, words divided at line ends, locks; the same through pdftotext as through pypdf."""

import os
import sys
from pathlib import Path
from shutil import which

import pytest

from data.documents import lib, locked_pdf, pdf
from memctl.extract import Anchor, Limits, Unreadable, anchor_at, document
from memctl.extract.writer import TOO_MUCH_TEXT
from memctl.text.chunking import chunk, title_of

TOOL = which("pdftotext")


@pytest.fixture
def no_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without pdftotext."""
    monkeypatch.setenv("PATH", "")


@pytest.fixture(params=["pypdf", pytest.param("pdftotext", marks=pytest.mark.skipif(not TOOL, reason="not here"))])
def either(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to read a PDF, where there are both."""
    monkeypatch.setenv("PATH", "" if request.param == "pypdf" else os.path.dirname(TOOL or ""))
    return str(request.param)


def reason(data: bytes, limits: Limits = Limits()) -> str:  # noqa: B008 - a constant
    with pytest.raises(Unreadable) as caught:
        document(data, "a.pdf", limits)
    return str(caught.value.fields["reason"])


def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """A pdftotext that does what the test needs."""
    tool = folder / "pdftotext"
    tool.write_text(f"#!{sys.executable} -IS\nimport sys, time\n{script}\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


@pytest.mark.usefixtures("either")
def test_pages_are_anchors() -> None:
    found = document(pdf("Page one says this.", "", "Page three says that."), "a.pdf")
    assert found.text == "Page one says this.\n\nPage three says that.\n"
    assert found.anchors == (Anchor(1, "page 1"), Anchor(3, "page 3"))
    assert (found.kind, found.lines_are_source) == ("text", False)
    assert anchor_at(found.anchors, 1, 3) == "pages 1-3"


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize(
    ("told", "title"),
    [
        (rb"/Title (A \(real\) title)", "A (real) title"),
        (
            rb"/Title (Caf\351 \
life)",
            "Café life",
        ),
        (b"/Title <FEFF00DC006200650072>", "Über"),
        (b"/Title (Microsoft Word - Yearly report)", "Yearly report"),
        (b"/Title (Microsoft Word - report.docx)", "a"),
        (b"/Title (untitled)", "a"),
        (b"/Author (Ann)", "a"),
    ],
)
def test_the_title_that_the_file_carries_is_its_own(told: bytes, title: str) -> None:
    data = pdf("Page one says this.")
    start = data[data.rindex(b"startxref") :]
    info = b"\n99 0 obj\n<< /Producer (p) " + told + b" >>\nendobj\ntrailer\n<< /Info 99 0 R >>\n"
    assert title_of(document(data + info + start, "a.pdf"), "a.pdf") == title


@pytest.mark.usefixtures("either")
def test_full_pages_are_passages_of_their_own() -> None:
    page = "\n".join(["some words that fill a line of this page"] * 40)
    found = document(pdf(page, page, page), "a.pdf")
    assert [anchor_at(found.anchors, p.start, p.end) for p in chunk(found)] == ["page 1", "page 2", "page 3"]


@pytest.mark.usefixtures("either")
def test_a_scan_says_that_it_has_no_text() -> None:
    assert reason(pdf("", "")) == "it has no text layer (a scan?)"


@pytest.mark.usefixtures("either")
def test_a_password_is_asked_for_in_words() -> None:
    assert reason(locked_pdf("secret")) == "it is encrypted with a password"


@pytest.mark.usefixtures("either")
def test_what_opens_without_a_password_is_read() -> None:
    assert document(locked_pdf(""), "a.pdf").text == "secret words\n"


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize(
    ("data", "words"), [(b"", "it is empty"), (b"plain words", "it is no PDF file"), (pdf("x")[:200], "")]
)
def test_what_is_no_pdf_is_refused(data: bytes, words: str) -> None:
    assert words in reason(data)


@pytest.mark.usefixtures("no_tool")
@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("an exam-\nple of it\nis no example", "an example\nof it\nis no example\n"),
        ("a well-\nknown fact\nis well-known", "a well-known\nfact\nis well-known\n"),
        ("an un-\nsure thing", "an un-\nsure thing\n"),
        ("an exam-\nple\nis no example", "an example\nis no example\n"),
        ("from 10-\n20 or 1020", "from 1020\nor 1020\n"),
        ("a - \nb", "a -\nb\n"),
    ],
)
def test_words_are_put_together_only_where_that_is_sure(page: str, text: str) -> None:
    assert [line.rstrip() for line in document(pdf(page), "a.pdf").text.splitlines()] == text.splitlines()


@pytest.mark.usefixtures("no_tool")
def test_without_tool_and_library_both_ways_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdf", None)
    found = reason(pdf("x"))
    assert found.startswith("reading .pdf files needs pdftotext")
    assert "poppler-utils" in found
    assert "pip install 'memctl[docs]'" in found


@pytest.mark.usefixtures("no_tool")
def test_encryption_that_pypdf_cannot_open_names_the_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(*_: object) -> None:
        raise lib("pypdf.errors").DependencyError("cryptography is required")

    monkeypatch.setattr("pypdf.PdfReader.decrypt", lacking)
    assert reason(locked_pdf("")).startswith("it is encrypted with AES, which needs pdftotext")


@pytest.mark.usefixtures("no_tool")
def test_packed_text_over_the_limit_is_refused() -> None:
    assert reason(pdf("words " * 50_000, pack=True), Limits(expanded=100_000)) == TOO_MUCH_TEXT


@pytest.mark.parametrize("words", ["a" * 3_000_000, "a-\n" * 1_000_000, "a-" * 1_500_000, "-\n" * 1_000_000])
def test_pages_are_put_together_in_one_pass(words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "words").write_text(words)
    stand_in(tmp_path, monkeypatch, f"print(open({str(tmp_path / 'words')!r}).read())")
    assert document(pdf("x"), "a.pdf").text.replace("\n", "") == words.replace("\n", "")  # or it would not come back


def test_the_tool_is_preferred_and_given_the_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, monkeypatch, "data = sys.stdin.buffer.read(); print(len(data), *sys.argv[1:], end='\\f')")
    data = pdf("x")
    assert document(data, "a.pdf").text == f"{len(data)} -q -enc UTF-8 -eol unix - -\n"


def test_a_tool_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, monkeypatch, "print('words', flush=True); time.sleep(600)")
    assert reason(pdf("x"), Limits(seconds=0.5)) == (
        "pdftotext did not finish within 0.5 s (ingest.max_seconds in config.json)"
    )


def test_a_tool_that_never_stops_talking_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, monkeypatch, "while True: sys.stdout.write('words ' * 10000)")
    assert reason(pdf("x"), Limits(expanded=1 << 20)) == TOO_MUCH_TEXT


def test_a_tool_that_fails_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, monkeypatch, "sys.exit(3)")
    assert reason(pdf("x")) == "pdftotext cannot read it (exit status 3)"
    assert reason(locked_pdf("p")) == "it is encrypted with a password"
