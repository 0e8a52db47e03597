"""E-mail and notebooks: what people wrote, in order, with what hangs on it."""

import base64
import json
from email.message import EmailMessage
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.documents import eml, ipynb
from memctl.extract import Limits, Unreadable, anchor_at, document, mail
from memctl.text.chunking import chunk


def reason(data: bytes, name: str) -> str:
    with pytest.raises(Unreadable) as caught:
        document(data, name)
    return str(caught.value.fields["reason"])


# --- mail -------------------------------------------------------------------------------------------------------------


def test_a_mail_has_its_headers_its_text_and_its_attachments() -> None:
    found = document(eml(), "a.eml")
    assert found.text == (
        "# Über den Plan\n\nFrom: Jürgen <j@example.org>\nTo: ann@example.org\n"
        "Date: Mon, 04 Mar 2024 10:00:00 +0100\n\n"
        "Dear Ann,\n\nplease read ünder this.\n\nAttachment: photo.png (image/png)\n\n"
        "## données.csv\n\n```\none,two\n1,2\n```\n\n## notes.md\n\n# Notes\n\nkept\n\n"
        "## Older mail\n\nFrom: bob@example.org\n\nInner words.\n"
    )
    assert (found.kind, found.title, found.lines_are_source) == ("markdown", "Über den Plan", False)
    assert found.notes == ("1 attachment is named only, not read",)
    cut = chunk(found, breaks=found.breaks)
    assert [anchor_at(found.anchors, piece.start, piece.end) for piece in cut] == [
        "",
        "attachment données.csv",
        "attachment notes.md",
        "attachment Older mail",
    ]


def test_html_is_read_where_there_is_no_plain_text() -> None:
    made = EmailMessage()
    made["Subject"] = "Hi"
    made.set_content("<h1>News</h1><p>One &amp; two</p>", subtype="html")
    assert document(made.as_bytes(), "a.eml").text == "# Hi\n\n# News\n\nOne & two\n"


@pytest.mark.parametrize(
    "charset", ["utf-8", "iso-8859-1", "windows-1252", "utf-16", "koi8-r", "no-such", "idna", "zlib"]
)
def test_the_declared_encoding_is_used_if_it_is_one(charset: str) -> None:
    words = "Привет" if charset == "koi8-r" else "déjà vu"
    body = words.encode(charset if charset not in ("no-such", "idna", "zlib") else "utf-8")
    head = f"Subject: x\nContent-Type: text/plain; charset={charset}\nContent-Transfer-Encoding: base64\n\n"
    assert words in document(head.encode() + base64.encodebytes(body), "a.eml").text


def test_mails_in_mails_are_followed_so_far() -> None:
    made = EmailMessage()
    made["Subject"] = "level 9"
    made.set_content("deepest words")
    for level in range(8, -1, -1):
        outer = EmailMessage()
        outer["Subject"] = f"level {level}"
        outer.set_content(f"words {level}")
        outer.add_attachment(made)
        made = outer
    found = document(made.as_bytes(), "a.eml")
    assert "words 4" in found.text
    assert "words 5" not in found.text
    assert "Attachment: level 5 (in more than 4 mails)" in found.text
    assert found.notes == ("1 attachment is named only, not read",)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"Subject: =?utf-8?q?broken\n\nbody words", "body words"),
        (b"Subject: =?nope?b?####?=\nTo: <<<>>,,(((\n\nbody words", "body words"),
        (b"Subject: a\nContent-Type: multipart/mixed\n\nbody words", "body words"),
        (b"Subject: a\nContent-Type: multipart/mixed; boundary=x\n\n--x\n\nbody words", "body words"),
        (b"Subject: a\nContent-Type: ;;;\n\nbody words", "body words"),
        (b"Subject: a\nContent-Transfer-Encoding: base64\n\n!!!!", "# a"),
        (b"Subject: caf\xe9\n\nbody words", "body words"),
        (b"Subject: a\r\nFrom: b\r\n\r\nbody words", "From: b"),
        (b"From b@c Mon\nSubject: a\n\nbody words", "# a"),
        (b"To: " + b"(" * 3000 + b"\n\nbody words", "body words"),
    ],
)
def test_a_broken_mail_is_read_as_far_as_it_goes(data: bytes, words: str) -> None:
    assert words in document(data, "a.eml").text


def test_an_attachment_that_cannot_be_read_is_named() -> None:
    made = EmailMessage()
    made["Subject"] = "Hi"
    made.set_content("words")
    made.add_attachment(b"PK\3\4", maintype="application", subtype="zip", filename="a  b.docx")
    made.add_attachment(bytes(range(256)), maintype="application", subtype="octet-stream")
    text = document(made.as_bytes(), "a.eml").text
    assert "Attachment: a b.docx (application/zip)\nAttachment: unnamed (application/octet-stream)" in text


def test_what_is_no_mail_is_refused() -> None:
    assert reason(b"", "a.eml") == "it is empty"
    assert reason(b"\nno headers here", "a.eml") == "it is no mail: it has no headers"


def test_very_many_parts_are_refused() -> None:
    data = b"Content-Type: multipart/mixed; boundary=x\n\n" + b"--x\n\nhi\n" * 1001
    assert reason(data, "a.eml") == "it has more than 1,000 parts"


@pytest.mark.parametrize("boundary", ["boundary=x", 'BOUNDARY="x"'])
def test_a_mail_of_parts_only_is_refused_before_it_is_parsed(monkeypatch: pytest.MonkeyPatch, boundary: str) -> None:
    monkeypatch.setattr(mail, "message_from_bytes", lambda *_a, **_k: pytest.fail("parsed"))
    data = f"Content-Type: multipart/mixed; {boundary}\n\n".encode() + b"--x\n\n" * 100_000
    assert reason(data, "a.eml") == "it has more than 1,000 parts"


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_any_mail_is_read_or_refused(head: bytes, body: bytes) -> None:
    for data in (head + b"\n\n" + body, b"Subject: " + head + b"\nContent-Type: text/html\n\n" + body):
        try:
            found = document(data, "a.eml")
        except Unreadable:
            continue
        assert not set("\0\r") & set(found.text)
        found.text.encode()


# --- notebooks --------------------------------------------------------------------------------------------------------


def test_a_notebook_has_text_code_and_what_it_printed() -> None:
    found = document(ipynb(), "a.ipynb")
    assert found.text == (
        "# Study\nWhy we *do* it.\n\n```python\nprint(6 * 7)\n```\n\n"
        "```text\n42\n<Figure>\nValueError: bad\n```\n\nas it is\n"
    )
    assert [anchor.place for anchor in found.anchors] == ["cell 1", "cell 2", "cell 3"]
    assert (found.kind, found.lines_are_source) == ("markdown", False)


def test_long_output_is_shortened_and_says_so() -> None:
    cell = {"cell_type": "code", "source": "x", "outputs": [{"output_type": "stream", "text": "y" * 5000}]}
    text = document(ipynb([cell]), "a.ipynb").text
    assert text.count("y") == 2001  # one is in "python"
    assert "… (3,000 more characters)" in text


def test_a_fence_is_longer_than_any_in_the_code() -> None:
    text = document(ipynb([{"cell_type": "code", "source": "s = '````'"}]), "a.ipynb").text
    assert text == "`````python\ns = '````'\n`````\n"


def test_the_older_format_is_read() -> None:
    cells = [{"cell_type": "heading", "level": 2, "source": "Old"}, {"cell_type": "code", "input": ["a = 1"]}]
    data = json.dumps({"worksheets": [{"cells": cells}], "nbformat": 3}).encode()
    assert document(data, "a.ipynb").text == "## Old\n\n```python\na = 1\n```\n"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "it is no notebook: not JSON"),
        (b"words", "it is no notebook: not JSON"),
        (b"\xff\xfe{}", "it is no notebook: not JSON"),
        (b"[]", "no list of cells"),
        (b'{"cells": 3}', "no list of cells"),
        (b'{"cells":' + b"[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_notebook_is_refused(data: bytes, words: str) -> None:
    assert words in reason(data, "a.ipynb")


KEYS = st.sampled_from(["source", "cell_type", "outputs", "text", "data", "text/plain", "input", "level"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["source", "cell_type", "outputs", "text", "data", "text/plain", "input", "level"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.lists(JSON, max_size=4), JSON)
def test_any_cells_are_read(cells: list[Any], metadata: Any) -> None:
    found = document(json.dumps({"cells": cells, "metadata": metadata}).encode(), "a.ipynb", Limits())
    assert not set("\0\r") & set(found.text)
    found.text.encode()
