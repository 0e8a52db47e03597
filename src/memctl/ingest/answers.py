"""What travels back from a process that reads other people's files: JSON, of which every field is checked.

A file can be made to take over the library that reads it. What such a process sends must then be nothing but a wrong
text: no object of its choosing, no other file's name, no value of another kind than is stored.
"""

import json
from collections.abc import Sequence
from itertools import starmap
from typing import IO, Any

from memctl.ingest.prepare import Passage, Prepared
from memctl.store.documents.corpus import IngestedFile
from memctl.store.documents.passages import SourcePosition

#: How many bytes tell the length of a message.
_LENGTH = 8
#: A longer message is none of ours, in bytes: one file's text is far below.
LONGEST = 2 << 30


def send(message: object, sink: IO[bytes]) -> None:
    """Write a value as JSON; named tuples become lists."""
    data = _encode(message).encode("utf-8", "surrogatepass")
    sink.write(len(data).to_bytes(_LENGTH, "big"))
    sink.write(data)
    sink.flush()


_encode = json.JSONEncoder(ensure_ascii=False, check_circular=False).encode


def receive(source: IO[bytes]) -> Any:
    """The next value. Raises EOFError where there is none, ValueError for what is none of ours."""
    size = int.from_bytes(_exactly(source, _LENGTH), "big")
    if size > LONGEST:
        raise ValueError("the message is too long")
    try:
        return json.loads(_exactly(source, size).decode("utf-8", "surrogatepass"))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _exactly(source: IO[bytes], size: int) -> bytes:
    data = source.read(size)
    if len(data) < size:
        raise EOFError
    return data


def prepared(value: Any, path: str) -> Prepared:
    """The answer for the file at `path`. Raises ValueError when it is none."""
    its_path, file, passages, tags, notes, problem, lasting = _of(list, value)
    if its_path != path:
        raise ValueError("an answer about another file")
    cut = None if passages is None else [_passage(*one) for one in _of(list, passages)]
    record = None if file is None else _file(file, path)
    return Prepared(path, record, cut, _texts(tags), tuple(_texts(notes)), _of(str, problem), _of(bool, lasting))


def _file(value: Any, path: str) -> IngestedFile:
    its_path, sha256, item_ids, size, mtime, inode, recipe, ext, mount_id, rel_path, lang, ctime = _of(list, value)
    if its_path != path or item_ids:  # which items a file has is not for its reader to say
        raise ValueError("a record of another file")
    numbers = [None if one is None else _of(int, one) for one in (size, mtime, inode, ctime)]
    words = [None if one is None else _of(str, one) for one in (ext, mount_id, rel_path, lang)]
    return IngestedFile(
        path, _of(str, sha256), (), numbers[0], numbers[1], numbers[2], _of(str, recipe), words[0], words[1], words[2],
        words[3], numbers[3],
    )  # fmt: skip


def _passage(title: Any, content: Any, digest: Any, place: Any, redacted: Any, quarantined: Any) -> Passage:
    position, start, end, anchor = place
    lines = [None if one is None else _of(int, one) for one in (position, start, end)]
    if title.__class__ is content.__class__ is digest.__class__ is anchor.__class__ is str:
        where = SourcePosition(lines[0], lines[1], lines[2], anchor)
        return Passage(title, content, digest, where, _of(bool, redacted), tuple(_texts(quarantined)))
    raise ValueError("a passage that is none")


def rows(value: Any, shape: type, width: int) -> list[Any] | str:
    """A text, or records of this shape whose fields are texts or whole numbers."""
    if isinstance(value, str):
        return value
    found: Sequence[Any] = _of(list, value)
    if any(len(_of(list, row)) != width or any(not isinstance(one, str | int) for one in row) for row in found):
        raise ValueError("a record that is none")
    return list(starmap(shape, found))


def _texts(value: Any) -> list[str]:
    found: list[str] = _of(list, value)
    if any(one.__class__ is not str for one in found):
        raise ValueError("a text that is none")
    return found


def _of(kind: type, value: Any) -> Any:
    if value.__class__ is not kind:
        raise ValueError(f"no {kind.__name__}")
    return value
