"""A stand-in for python-docx that does what its documents say, in a folder that tests put on `sys.path`."""

import zipfile
from pathlib import Path

#: What the package `docx` becomes. A document that is read ends as one that is damaged, which proves it was read.
CODE = """
import os, re, time, zipfile

def Document(file):
    act = re.sub("<[^>]*>", "", zipfile.ZipFile(file).read("word/document.xml").decode())
    if act == "sleep":
        time.sleep(600)
    if act == "crash":
        os._exit(3)
    if act == "eat":
        bytearray(1 << 40)
    if act == "print":
        print("noise", flush=True)
        os.write(1, b"more noise")
    if act == "count":
        Document.read += 1
    if act == "tired" and Document.read:
        os._exit(4)
    raise ValueError("read " + act)

Document.read = 0
"""


def install(folder: Path) -> Path:
    """The folder that holds the stand-in."""
    (folder / "docx").mkdir(parents=True)
    (folder / "docx" / "__init__.py").write_text(CODE)
    return folder


def make(path: Path, act: str) -> Path:
    """A document that makes the stand-in act: sleep, crash, eat, print, count, tired, or any other word."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("word/document.xml", f"<w:document>{act}</w:document>")
    return path
