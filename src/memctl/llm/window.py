"""The last turns of a conversation, as they go into the next prompt: within a number of turns and of characters."""

from collections.abc import Sequence
from typing import NamedTuple

HEADER = "## Session History"

#: What a cut text ends with.
_CUT = " […]"
_FRAME = len("Q: \nA: ")


class Exchange(NamedTuple):
    """A question and its answer."""

    question: str
    answer: str


def session_block(history: Sequence[Exchange], turns: int, chars: int) -> str:
    """The newest turns that fit, oldest first, under their header; "" when there are none or none fits.

    turns  at most so many
    chars  at most so many characters, header and line breaks included. The newest turn is cut when it does not fit
           whole; older ones are left out.
    """
    room = chars - len(HEADER)
    shown: list[str] = []
    for exchange in reversed(history[-turns:] if turns > 0 else ()):
        question, answer = map(indented, exchange)
        if not shown:
            question, answer = _cut(question, answer, room - _FRAME - 1)
        pair = f"Q: {question}\nA: {answer}"
        if len(pair) + 1 > room or not (question and answer):
            break
        shown.append(pair)
        room -= len(pair) + 1
    return "\n".join([HEADER, *reversed(shown)]) if shown else ""


def indented(text: str) -> str:
    """The text with further lines indented, so that no answer can begin a section or another turn."""
    return "\n   ".join(text.strip().splitlines())


def _cut(question: str, answer: str, room: int) -> tuple[str, str]:
    """Both texts within `room` characters together; the question gets half of it, or what the answer leaves."""
    question = _short(question, max(room // 2, room - len(answer)))
    return question, _short(answer, room - len(question))


def _short(text: str, room: int) -> str:
    return text if len(text) <= room else text[: max(0, room - len(_CUT))].rstrip() + _CUT
