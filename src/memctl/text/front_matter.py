"""Fields and a text in one file that people edit: `key: value` lines between two lines of `---`, then the text."""

from collections.abc import Iterable

_FENCE = "---"


class FrontMatterInvalid(ValueError):
    """A line that is none; the message names it."""


def compose(fields: Iterable[tuple[str, str]], text: str) -> str:
    """A file of these fields, each on one line, and the text."""
    lines = (f"{key}: {value}".rstrip() for key, value in fields)
    return "\n".join([_FENCE, *lines, _FENCE, text]) + "\n"


def split(given: str, keys: Iterable[str]) -> tuple[dict[str, str], str]:
    """The fields of a file, and its text without the line end that `compose` adds.

    A field that is left out is not in the dict. Raises FrontMatterInvalid for a line that is no field of these keys,
    for a field that is there twice, and where the first or the last line of the fields is missing.
    """
    known = list(keys)
    lines = given.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != _FENCE:
        raise FrontMatterInvalid(f"line 1 must be {_FENCE}")
    fields: dict[str, str] = {}
    for number, line in enumerate(lines[1:], 2):
        if line.rstrip() == _FENCE:
            return fields, "\n".join(lines[number:]).removesuffix("\n")
        if not line.strip():
            continue
        key, colon, value = line.partition(":")
        key = key.strip()
        if not colon or key not in known:
            raise FrontMatterInvalid(f"line {number} is none of the fields {', '.join(known)}")
        if key in fields:
            raise FrontMatterInvalid(f"line {number}: {key} is there twice")
        fields[key] = value.strip()
    raise FrontMatterInvalid(f"the line {_FENCE} that ends the fields is missing")
