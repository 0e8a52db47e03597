"""A folder of good, damaged and hostile documents: each good one is stored, each bad one is named, the run goes on."""

from pathlib import Path

import pytest

from data import documents as made
from support import run

GOOD = {f"good{suffix}": make for suffix, make in made.MAKERS.items()}


def bad_files() -> dict[str, tuple[bytes, str]]:
    """Name -> (bytes, a word of the reason)."""
    docx, xlsx, odt = made.docx(), made.xlsx(), made.odt()
    entities = b'<!DOCTYPE x [<!ENTITY a "ha">]><x>&a;</x>'
    return {
        "cut.docx": (docx[: len(docx) // 2], "damaged"),
        "cut.xlsx": (xlsx[: len(xlsx) // 2], "damaged"),
        "cut.pdf": (made.pdf("words")[:200], ""),
        "locked.docx": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"), "encrypted"),
        "locked.pdf": (made.locked_pdf("secret"), "encrypted"),
        "scan.pdf": (made.pdf(""), "no text layer"),
        "bomb.docx": (made.rezipped(docx, {}, [("big.bin", bytes(300 << 20))]), "zip bomb"),
        "laugh.xlsx": (made.rezipped(xlsx, {"xl/workbook.xml": entities}), "XML bomb"),
        "laugh.odt": (made.rezipped(odt, {"content.xml": entities}), "XML bomb"),
        "out.pptx": (made.rezipped(made.pptx(), {}, [("../out.xml", b"<a/>")]), "outside"),
        "deep.ipynb": (b"[" * 100_000, "nested too deeply"),
        "empty.ods": (b"", "empty"),
        "words.odp": (b"plain words", "zip archives"),
        "none.eml": (b"\nno headers", "no headers"),
    }


@pytest.mark.slow
def test_every_good_file_is_stored_and_every_bad_one_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")  # the same on each machine, with or without pdftotext
    monkeypatch.setenv("MEMCTL_DB", str(tmp_path / "memory.db"))
    folder = tmp_path / "folder"
    folder.mkdir()
    for name, make in GOOD.items():
        (folder / name).write_bytes(make())
    bad = bad_files()
    for name, (data, _) in bad.items():
        (folder / name).write_bytes(data)
    done = run("ingest", "--source", str(folder))
    assert done.code == 0
    for name, (_, word) in bad.items():
        assert [line for line in done.notes.splitlines() if name in line and word in line], name
    listed = run("export").text
    assert [name for name in GOOD if name not in listed] == []
    assert [name for name in bad if name in listed] == []
