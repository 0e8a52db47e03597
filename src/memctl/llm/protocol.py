"""What a model's answer says about going on: the directive of the json and regex protocols, in every form models use.

Any text is accepted, and read in time linear in its length: a directive is looked for near the beginning and the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from memctl.llm.prompt import EXAMPLE_QUERY
from memctl.text import jsons
from memctl.text.clean import clean, one_line

#: A directive is looked for in the first and the last so many characters.
HEAD, TAIL = 32_000, 8_000
#: A query is one line of at most so many characters.
QUERY_CHARS = 1000
#: An object with a query alone is a directive if it comes first and has no other keys than these.
_QUERY_ONLY = {"query", "rationale", "answer"}
_TRIES = 8
_THOUGHT = "</think>"


class Directive(NamedTuple):
    """What an answer says.

    answer     the answer without the directive
    need_more  the store is to be searched for `query` (never without one)
    stop       the model said that it is done
    found      there was a directive to read, or the protocol needs none
    """

    answer: str
    need_more: bool = False
    query: str = ""
    rationale: str = ""
    stop: bool = False
    found: bool = True


def parse_directive(output: str, protocol: str = "json") -> Directive:
    """Read an answer by a protocol. Raises ValueError for an unknown one."""
    if protocol == "json":
        return parse_json_directive(output)
    if protocol == "regex":
        return parse_regex_directive(output)
    if protocol == "passive":
        return Directive(output.strip(), stop=True)
    raise ValueError(f"unknown protocol: {protocol}")


def parse_regex_directive(output: str) -> Directive:
    """Lines that begin with NEED_MORE: and QUERY:, in any case, also marked up; the answer is the whole output."""
    query, rationale = "", ""
    for match in _marked_lines().finditer(output):
        value = match["value"].strip("*_`\"' ")
        if match["key"].lower() == "query":
            query = query or one_line(value if value != EXAMPLE_QUERY else "", QUERY_CHARS)
        else:
            rationale = rationale or one_line(value, QUERY_CHARS)
    return Directive(output.strip(), bool(query), query, rationale, stop=not query)


def parse_json_directive(output: str) -> Directive:
    """A JSON object with need_more, query, rationale, stop: first of all, in a fence, or after some words."""
    output = _without_thoughts(output)
    windows = [(0, HEAD)]
    if len(output) > HEAD:
        windows.append((max(HEAD, len(output) - TAIL), len(output)))
    for begin, end in windows:
        found = _in(output[begin:end], alone=begin == 0)
        if found is not None:
            value, first, last = found
            return _directive(value, _without(output, begin + first, begin + last))
    return Directive(output.strip(), found=False)


def _without_thoughts(output: str) -> str:
    """What follows a model's thinking aloud, in which there may be drafts of a directive."""
    start = jsons.after_blanks(output)
    end = output.find(_THOUGHT, start) if output.startswith("<think>", start) else -1
    return output if end < 0 else output[end + len(_THOUGHT) :]


def _in(text: str, *, alone: bool) -> tuple[dict[str, Any], int, int] | None:
    """The first directive in a text, and where it stands; `alone`: the text is the output from its beginning."""
    tries, reached = 0, 0
    for key in _keys().finditer(text):
        if key.start() < reached:
            continue
        for at, value, last in _around(text, key.start()):
            reached = last
            if _is_directive(value) or (alone and _is_query(value) and not _before(text[:at])):
                return value, *_whole(text, at, last)
        tries += 1
        if tries >= _TRIES:
            break
    return None


def _around(text: str, place: int) -> Iterator[tuple[int, Any, int]]:
    """The objects that hold a place, from the inside out: where each begins, its value, where it ends."""
    at = place
    for _ in range(_TRIES):
        at = text.rfind("{", 0, at)
        if at < 0:
            return
        try:
            value, last = jsons.read(text, at)
        except ValueError:
            continue
        if last > place:
            yield at, value, last


def _whole(text: str, first: int, last: int) -> tuple[int, int]:
    """Where the outermost object stands that holds a directive: some models wrap it."""
    for at, _, end in _around(text, first):
        first, last = at, max(last, end)
    return first, last


def _is_directive(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    if value.get("query") == EXAMPLE_QUERY:
        return False
    return any(_truth(value[key]) is not None for key in ("need_more", "stop") if key in value)


def _is_query(value: object) -> bool:
    return isinstance(value, dict) and "query" in value and set(value) <= _QUERY_ONLY


def _truth(value: object) -> bool | None:
    """What a model means by a value: true, "yes", 1 … None when it is neither yes nor no."""
    if isinstance(value, str):
        return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False, "": False}.get(
            value.strip().lower()
        )
    if isinstance(value, bool | int):
        return bool(value) if value in (0, 1) else None
    return False if value is None else None


def _directive(value: dict[str, Any], answer: str) -> Directive:
    query, rationale = _words(value.get("query")), _words(value.get("rationale"))
    stop = bool(_truth(value.get("stop")))
    wanted = _truth(value["need_more"]) if "need_more" in value else not stop
    if not answer and isinstance(value.get("answer"), str):
        answer = clean(value["answer"]).strip()
    need_more = bool(wanted and query)
    return Directive(answer, need_more, query if need_more else "", rationale, stop or not need_more)


def _words(value: object) -> str:
    return one_line(value, QUERY_CHARS) if isinstance(value, str) else ""


def _without(text: str, first: int, last: int) -> str:
    """The text without the directive that stands there, nor the fence around it or the words that announce it."""
    before, after = text[:first], text[last:]
    opened = _fence_open().search(before)
    if opened:
        before = before[: opened.start()]
        after = after.lstrip()
        fence = after.partition("\n")[0].strip()
        if len(fence) >= 3 and set(fence) in ({"`"}, {"~"}):
            after = after.partition("\n")[2]
    return "\n\n".join(part for part in (_before(before), after.strip()) if part)


def _before(text: str) -> str:
    """What stands before a directive, but for a fence's opening and a line like "Here is my directive:"."""
    opened = _fence_open().search(text)
    lead = (text[: opened.start()] if opened else text).replace("\ufeff", "").strip()
    return "" if "\n" not in lead and lead.endswith(":") else lead


@cache
def _keys() -> re.Pattern[str]:
    return re.compile(r'"(?:need_more|stop|query)"\s*:')


@cache
def _marked_lines() -> re.Pattern[str]:
    return re.compile(r"(?im)^[ \t>*_#`-]{0,8}(?P<key>need_more|query)[*_`]{0,3}[ \t]*:(?P<value>.*)$")


@cache
def _fence_open() -> re.Pattern[str]:
    return re.compile(r"(?:\A|\n)[ \t]*(?:`{3,}|~{3,})[ \t]*\w*[ \t]*\n?\s*\Z")
