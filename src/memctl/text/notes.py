"""Notes in Markdown: the fields that stand before the text, and the observations and relations in it.

Of YAML the fields are read that notes have: `key: value`, words in quotes, lists on one line or one to a line. What is
none of these (nested fields, blocks, anchors) is left, and named.
"""

import json
import re
from collections.abc import Iterable

from memctl.annotations import NamedTuple

#: A value: text, or a list of texts.
Value = str | list[str]
_KEY = r"([A-Za-z_][\w .-]{0,60}?)\s*:(?:\s+(.*))?"
#: `- [category] text #tag (context)`; not `- [ ] to do`, `- [x] done` or a link.
_OBSERVATION = r"[-*] \[([^\[\]\n]{2,60})\](?!\() (.+)"
_RELATION = r"[-*] (?:([^\[\]\n]{1,60}?) )?\[\[([^\[\]\n]{1,200})\]\](?: \((.{1,500})\))?"
_TAG = r"(?<!\S)#([\w/-]{1,60})"


class Observation(NamedTuple):
    """One observation of a note."""

    category: str
    text: str
    tags: tuple[str, ...]


class Note(NamedTuple):
    """A note.

    fields        what stands before the text, by lower-case keys
    left          keys and lines there that are not understood
    text          the rest of the text
    observations  lines `- [category] text #tag`
    relations     lines `- relation [[Target]]`: the relation, "" where there is none, and the target
    """

    fields: dict[str, Value]
    left: list[str]
    text: str
    observations: list[Observation]
    relations: list[tuple[str, str]]

    def field(self, *keys: str) -> str:
        """The first of these fields that is a text; "" when none is."""
        return next((value for key in keys if isinstance(value := self.fields.get(key), str) and value), "")

    def words(self, key: str) -> list[str]:
        """A field that is a list, or a text with commas, as words."""
        value = self.fields.get(key, [])
        found = value if isinstance(value, list) else value.split(",")
        return [word for one in found if (word := one.strip().lstrip("#"))]


def read_note(given: str) -> Note:
    """A note as it stands in its file."""
    fields, left, body = split_fields(given)
    text: list[str] = []
    observations: list[Observation] = []
    relations: list[tuple[str, str]] = []
    fenced = False
    for line in body.split("\n"):
        plain = line.strip()
        fenced ^= plain.startswith(("```", "~~~"))
        if not fenced and (found := re.fullmatch(_OBSERVATION, plain)):
            words = re.sub(_TAG, "", found[2])
            tags = tuple(dict.fromkeys(re.findall(_TAG, found[2])))
            observations.append(Observation(found[1].strip(), " ".join(words.split()) or plain, tags))
        elif not fenced and (found := re.fullmatch(_RELATION, plain)):
            relations.append(((found[1] or "").strip(), found[2].partition("|")[0].strip()))
        else:
            text.append(line)
    return Note(fields, left, "\n".join(text).strip("\n"), observations, relations)


def split_fields(given: str) -> tuple[dict[str, Value], list[str], str]:
    """The fields before a text, what is not understood of them, and the text itself."""
    given = given.removeprefix("\ufeff").replace("\r\n", "\n")
    lines = given.split("\n")
    end = next((n for n, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "...")), None)
    if lines[0].rstrip() != "---" or end is None:
        return {}, [], given
    fields: dict[str, Value] = {}
    left: list[str] = []
    key = ""  # whose list the next lines may be
    for line in lines[1:end]:
        plain = line.strip()
        if not plain or plain.startswith("#"):
            continue
        value = fields.get(key)
        if key and isinstance(value, list) and (plain.startswith("- ") or plain == "-"):
            value.append(_scalar(plain[1:].strip()))
            continue
        found = None if line[:1].isspace() else re.fullmatch(_KEY, line.rstrip())
        if found is None or ((found[2] or "")[:1] in "|>&*{!" and found[2]):
            left.append(found[1] if found else plain[:60])
            key = ""
            continue
        key = found[1].strip().lower()
        fields[key] = _value(found[2].strip()) if found[2] and found[2].strip() else []
    return {key: "" if value == [] else value for key, value in fields.items()}, left, "\n".join(lines[end + 1 :])


def _value(text: str) -> Value:
    if not text.startswith("["):
        return _scalar(text)
    try:
        found = json.loads(text)
        if isinstance(found, list) and all(isinstance(one, str | int | float) for one in found):
            return [str(one) for one in found]
    except (ValueError, RecursionError):
        pass
    return [_scalar(one.strip()) for one in text.strip("[]").split(",") if one.strip()]


def _scalar(text: str) -> str:
    if text.startswith('"'):
        try:
            found = json.loads(text)
            return found if isinstance(found, str) else text
        except ValueError:
            return text.strip('"')
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    return text.partition(" #")[0].rstrip()


# --- a form that people edit: `key: value` lines between two lines of `---`, then the text ---------------------------


_FENCE = "---"


class FrontMatterInvalid(ValueError):
    """A line that is none; the message names it."""


def compose_form(fields: Iterable[tuple[str, str]], text: str) -> str:
    """A file of these fields, each on one line, and the text."""
    lines = (f"{key}: {value}".rstrip() for key, value in fields)
    return "\n".join([_FENCE, *lines, _FENCE, text]) + "\n"


def read_form(given: str, keys: Iterable[str]) -> tuple[dict[str, str], str]:
    """The fields of a file, and its text without the line end that `compose_form` adds.

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
