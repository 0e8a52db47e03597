"""Documents that are damaged, locked, or made to do harm are refused in words, or read for what they hold."""

import io
import random
import struct
import sys
import zipfile
import zlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data import documents as made
from memctl.extract import Limits, Unreadable, document

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
ZIPPED = pytest.mark.parametrize("suffix", made.ZIPPED)
EVERY = pytest.mark.parametrize("suffix", sorted(made.MAKERS))
SMALL = Limits(expanded=1 << 20)


@pytest.fixture(scope="module")
def good() -> dict[str, bytes]:
    """One good document of each format, made once."""
    return {suffix: make() for suffix, make in made.MAKERS.items()}


def reason(data: bytes, name: str, limits: Limits = Limits()) -> str:  # noqa: B008 - a constant
    with pytest.raises(Unreadable) as caught:
        document(data, name, limits)
    assert name in caught.value.message
    return str(caught.value.fields["reason"])


def with_part(data: bytes, suffix: str, part: bytes) -> bytes:
    """The document with another main part."""
    return made.rezipped(data, {made.main_part(f"a{suffix}"): part})


def main_of(data: bytes, suffix: str) -> bytes:
    return made.part_of(data, made.main_part(f"a{suffix}"))


# --- what is needed ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("suffix", "module", "package"),
    [
        (".docx", "docx", "python-docx"),
        (".pptx", "pptx", "python-pptx"),
        (".xlsx", "openpyxl", "openpyxl"),
        (".odt", "odf.opendocument", "odfpy"),
        (".ods", "odf.opendocument", "odfpy"),
    ],
)
def test_a_missing_library_is_one_line_with_the_command(
    suffix: str, module: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    assert reason(b"PK", f"a{suffix}") == f"reading {suffix} files needs {package}: pip install 'memctl[docs]'"


# --- what is no such file ---------------------------------------------------------------------------------------------


@ZIPPED
def test_other_bytes_are_no_office_document(suffix: str) -> None:
    assert reason(b"plain words", f"a{suffix}") == f"it is no {suffix} file: those are zip archives"
    assert reason(b"", f"a{suffix}") == "it is empty"
    assert "damaged" in reason(b"PK\3\4" + b"x" * 400, f"a{suffix}")


@ZIPPED
def test_an_old_or_encrypted_document_is_named(suffix: str) -> None:
    assert reason(OLE + bytes(600), f"a{suffix}").startswith("it is an old ")
    assert f"save it as {suffix}" in reason(OLE + bytes(600), f"a{suffix}")
    locked = OLE + bytes(600) + "EncryptedPackage".encode("utf-16-le") + bytes(100)
    assert reason(locked, f"a{suffix}") == "it is encrypted with a password"


@ZIPPED
def test_a_zip_of_something_else_is_damaged_or_of_another_kind(suffix: str) -> None:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("readme.xml", "<a/>")
    assert f"no {suffix} file" in reason(target.getvalue(), f"a{suffix}")


@pytest.mark.parametrize(("suffix", "other"), [(".docx", ".xlsx"), (".xlsx", ".pptx"), (".pptx", ".docx")])
def test_an_office_document_under_another_name_is_refused(suffix: str, other: str, good: dict[str, bytes]) -> None:
    assert f"no {other} file" in reason(good[suffix], f"a{other}")


@pytest.mark.parametrize("suffix", [".odt", ".odp", ".ods"])
def test_an_encrypted_odf_is_named(suffix: str, good: dict[str, bytes]) -> None:
    manifest = b'<m:manifest xmlns:m="x"><m:file-entry><m:encryption-data/></m:file-entry></m:manifest>'
    assert "encrypted" in reason(made.rezipped(good[suffix], {"META-INF/manifest.xml": manifest}), f"a{suffix}")
    assert "encrypted" in reason(made.rezipped(good[suffix], {}, [("encrypted-package", b"x")]), f"a{suffix}")


@ZIPPED
def test_an_encrypted_zip_is_named(suffix: str, good: dict[str, bytes]) -> None:
    data = bytearray(good[suffix])
    at = data.index(b"PK\1\2")
    data[at + 8] |= 1
    assert reason(bytes(data), f"a{suffix}") == "it is encrypted with a password"


# --- archives made to harm --------------------------------------------------------------------------------------------


@ZIPPED
def test_a_bomb_is_refused_by_what_its_directory_says(suffix: str, good: dict[str, bytes]) -> None:
    bomb = made.rezipped(good[suffix], {}, [("media/big.bin", bytes(2 << 20))])
    assert "zip bomb" in reason(bomb, f"a{suffix}", SMALL)
    assert "1,048,576 bytes" in reason(bomb, f"a{suffix}", SMALL)


@ZIPPED
def test_a_bomb_whose_directory_lies_is_refused_too(suffix: str, good: dict[str, bytes]) -> None:
    """The directory gives the size and checksum of the beginning; a library that trusts it unpacks all at once."""
    name = made.main_part(f"a{suffix}")
    part = main_of(good[suffix], suffix)
    data = bytearray(made.rezipped(good[suffix], {name: part + b" " * (64 << 20)}))
    at = data.rindex(name.encode()) - 46
    assert data[at : at + 4] == b"PK\1\2"
    data[at + 16 : at + 20] = struct.pack("<I", zlib.crc32(part))
    data[at + 24 : at + 28] = struct.pack("<I", len(part))
    assert document(bytes(data), f"a{suffix}", SMALL).text == document(good[suffix], f"a{suffix}").text


@ZIPPED
@pytest.mark.parametrize("path", ["/etc/passwd.xml", "../out.xml", "word/../../x.xml", "a\\..\\b.xml"])
def test_a_part_that_points_out_is_refused(suffix: str, path: str, good: dict[str, bytes]) -> None:
    assert "points outside of it" in reason(made.rezipped(good[suffix], {}, [(path, b"<a/>")]), f"a{suffix}")


@ZIPPED
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_parts_of_one_name_are_refused(suffix: str, good: dict[str, bytes]) -> None:
    twice = made.rezipped(good[suffix], {}, [(made.main_part(f"a{suffix}"), b"<a/>")])
    assert "two parts of one name" in reason(twice, f"a{suffix}")


@ZIPPED
def test_archives_inside_are_not_opened(suffix: str, good: dict[str, bytes]) -> None:
    nested = made.rezipped(good[suffix], {}, [("embeddings/inner.zip", good[suffix]), ("word/media/a.docx", b"PK\3\4")])
    assert document(nested, f"a{suffix}") == document(good[suffix], f"a{suffix}")


def test_very_many_parts_are_refused() -> None:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for number in range(20_001):
            archive.writestr(zipfile.ZipInfo(f"{number}.xml"), b"")
    assert reason(target.getvalue(), "a.docx") == "it has 20,001 parts, and the limit is 20,000"


# --- XML made to harm -------------------------------------------------------------------------------------------------

BOMB = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><x>&b;</x>'


@ZIPPED
@pytest.mark.parametrize(
    "part",
    [
        BOMB,
        b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><x>&a;</x>',
        BOMB.decode().encode("utf-16"),
        BOMB.decode().encode("utf-16-be"),
    ],
)
def test_entities_are_refused(suffix: str, part: bytes, good: dict[str, bytes]) -> None:
    assert "XML bomb" in reason(with_part(good[suffix], suffix, part), f"a{suffix}")
    assert "XML bomb" in reason(made.rezipped(good[suffix], {}, [("customXml/item9.xml", part)]), f"a{suffix}")


def test_one_document_leaves_nothing_behind_for_the_next(good: dict[str, bytes]) -> None:
    known = (made.lib("odf.namespaces").nsdict, made.lib("odf.element").Element.namespaces)
    before = [dict(table) for table in known]
    part = main_of(good[".odt"], ".odt").replace(b"<office:text>", b'<office:text><x xmlns="urn:strange" y=""/>')
    assert document(with_part(good[".odt"], ".odt", part), "a.odt").text == document(good[".odt"], "a.odt").text
    assert [dict(table) for table in known] == before


@ZIPPED
def test_an_encoding_that_could_hide_entities_is_refused(suffix: str, good: dict[str, bytes]) -> None:
    part = b'<?xml version="1.0" encoding="UTF-7"?><x/>'
    assert "in the encoding utf-7" in reason(with_part(good[suffix], suffix, part), f"a{suffix}")


def test_very_many_elements_are_refused(good: dict[str, bytes]) -> None:
    part = b"<x>" + b"<a/>" * 2_000_001 + b"</x>"
    assert "2,000,003 tags, and the limit is 2,000,000" in reason(with_part(good[".odt"], ".odt", part), "a.odt")
    assert "limit is 4,000,000" in reason(with_part(good[".docx"], ".docx", part * 2), "a.docx")


DEEP = {
    ".docx": (b"<w:body>", b"<w:sdt>", b"</w:sdt>"),
    ".pptx": (b"</p:nvGrpSpPr>", b"<p:grpSp>", b"</p:grpSp>"),
    ".odt": (b"<office:text>", b"<text:section>", b"</text:section>"),
    ".odp": (b"<office:presentation>", b"<draw:g>", b"</draw:g>"),
    ".ods": (b"<office:spreadsheet>", b"<table:table><table:table-row>", b"</table:table-row></table:table>"),
}


@pytest.mark.parametrize("suffix", DEEP)
def test_deep_nesting_is_refused(suffix: str, good: dict[str, bytes]) -> None:
    after, start, end = DEEP[suffix]
    part = main_of(good[suffix], suffix)
    assert after in part
    nested = part.replace(after, after + start * 20_000 + end * 20_000, 1)
    found = reason(with_part(good[suffix], suffix, nested), f"a{suffix}")
    assert "nested too deeply" in found or "Excessive depth" in found


def sheet(good: dict[str, bytes], rows: bytes) -> bytes:
    part = main_of(good[".xlsx"], ".xlsx")
    return with_part(good[".xlsx"], ".xlsx", part.replace(b"</sheetData>", rows + b"</sheetData>"))


def test_a_cell_in_the_last_corner_costs_nothing(good: dict[str, bytes]) -> None:
    data = sheet(good, b'<row r="1048576"><c r="XFD1048576"><v>7</v></c></row>')
    found = document(data, "a.xlsx")
    assert "\n… | 7\n" in found.text
    assert any(anchor.row == 1_048_576 for anchor in found.anchors)


def test_rows_that_are_all_as_wide_as_can_be_are_given_up(good: dict[str, bytes]) -> None:
    rows = b"".join(b'<row r="%d"><c r="XFD%d"><v>7</v></c></row>' % (n, n) for n in range(10, 1000))
    found = document(sheet(good, rows), "a.xlsx", Limits(rows=1000))
    assert "ingest.max_rows" in found.notes[0]


@pytest.mark.parametrize("count", ["1048576", "999999999999", "-5", "0", "x", "²"])
def test_repetitions_are_not_written_out(count: str, good: dict[str, bytes]) -> None:
    row = (
        f'<table:table table:name="T"><table:table-row table:number-rows-repeated="{count}">'
        f'<table:table-cell table:number-columns-repeated="{count}"><text:p>word</text:p></table:table-cell>'
        "</table:table-row></table:table>"
    ).encode()
    part = main_of(good[".ods"], ".ods").replace(b"<office:spreadsheet>", b"<office:spreadsheet>" + row)
    found = document(with_part(good[".ods"], ".ods", part), "a.ods")
    assert found.text.startswith("# T\nword")
    assert found.text.count("word") <= 256


def test_text_that_is_written_larger_than_the_limit_is_refused(good: dict[str, bytes]) -> None:
    cell = f'<table:table-cell table:number-columns-repeated="256"><text:p>{"w" * 9000}</text:p></table:table-cell>'
    row = f'<table:table table:name="T"><table:table-row>{cell}</table:table-row></table:table>'.encode()
    part = main_of(good[".ods"], ".ods").replace(b"<office:spreadsheet>", b"<office:spreadsheet>" + row)
    assert "more text than the limit" in reason(with_part(good[".ods"], ".ods", part), "a.ods", SMALL)


def test_whatever_a_library_throws_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def throw(what: Exception) -> Any:
        def load(*_: object, **__: object) -> None:
            raise what

        return load

    for thrown, words in (
        (MemoryError(), "reading it takes more memory than there is"),
        (RecursionError(), "it is nested too deeply"),
        (KeyError("x\ny\0z"), r"it is damaged, or no .xlsx file (KeyError: 'x\ny\x00z')"),
        (ZeroDivisionError(), "it is damaged, or no .xlsx file (ZeroDivisionError)"),
    ):
        monkeypatch.setattr("openpyxl.load_workbook", throw(thrown))
        assert reason(made.xlsx(), "a.xlsx") == words


# --- damage of every sort ---------------------------------------------------------------------------------------------


@EVERY
def test_the_first_half_of_a_document_is_read_or_refused(suffix: str, good: dict[str, bytes]) -> None:
    half = good[suffix][: len(good[suffix]) // 2]
    if suffix == ".eml":
        assert "Dear Ann" in document(half, "a.eml").text
    else:
        assert reason(half, f"a{suffix}")


def readable_or_refused(data: bytes, name: str) -> None:
    try:
        found = document(data, name)
    except Unreadable as refusal:
        assert refusal.fields["reason"]  # noqa: PT017 - either outcome is right
    else:
        assert not set("\0\r\f") & set(found.text)
        found.text.encode()
        lines = [anchor.line for anchor in found.anchors]
        assert lines == sorted(lines)


#: One number is drawn, so that what is done with it cannot draw differently another time.
CHANCE = st.integers(0, 2**32).map(random.Random)


def damaged(data: bytes, chance: random.Random) -> bytes:
    """The bytes cut off, or with some of them changed."""
    changed = bytearray(data)
    for _ in range(chance.randrange(1, 8)):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed[: chance.randrange(1, len(changed))] if chance.random() < 0.3 else changed)


@EVERY
@settings(max_examples=40)
@given(chance=CHANCE)
def test_damaged_files_are_read_or_refused(suffix: str, chance: random.Random, good: dict[str, bytes]) -> None:
    readable_or_refused(damaged(good[suffix], chance), f"a{suffix}")


@ZIPPED
@settings(max_examples=40)
@given(chance=CHANCE)
def test_damaged_parts_are_read_or_refused(suffix: str, chance: random.Random, good: dict[str, bytes]) -> None:
    """The archive is sound; what is in it is not."""
    part = main_of(good[suffix], suffix)
    readable_or_refused(with_part(good[suffix], suffix, damaged(part, chance)), f"a{suffix}")


@ZIPPED
@settings(max_examples=40)
@given(chance=CHANCE)
def test_shuffled_markup_is_read_or_refused(suffix: str, chance: random.Random, good: dict[str, bytes]) -> None:
    """Well-formed, but elements stand where none should, or lack what they should have."""
    import re

    part = main_of(good[suffix], suffix).decode()
    empty = sorted(set(re.findall(r"<[\w:]+[^<>]*/>", part)))
    words = re.findall(r"(?<= )[\w:]+=\"[^\"]*\"", part.partition("<office:body")[2] or part.partition(">")[2])
    for _ in range(6):
        if words and chance.random() < 0.5:
            part = part.replace(" " + chance.choice(words), chance.choice(["", ' x=""']), 1)
        elif empty:
            place = chance.choice([m.end() for m in re.finditer(r"</[\w:]+>", part)][:-1])
            part = part[:place] + chance.choice(empty) + part[place:]
    readable_or_refused(with_part(good[suffix], suffix, part.encode()), f"a{suffix}")
