"""Conversations for the tests of what is made of them: `tests/data/capture/sessions.txt`, read into exchanges.

`=== NAME LANGUAGE` begins a conversation; `U:` and `A:` a turn, `!` a command with its exit code, `+` a file that was
written, both of the answer before. Other lines go on with the turn.
"""

from collections.abc import Iterator
from pathlib import Path

from memctl.capture.record import Exchange, exchanges
from memctl.capture.turns import Command, Turn

SESSIONS = Path(__file__).parent / "data/capture/sessions.txt"


def read_sessions(path: Path = SESSIONS) -> Iterator[tuple[str, str, list[Exchange]]]:
    """Each conversation's name, its language, and its exchanges."""
    for part in path.read_text(encoding="utf-8").split("=== ")[1:]:
        head, _, body = part.partition("\n")
        name, language = head.split()
        yield name, language, list(exchanges(_turns(name, body)))


def _turns(name: str, body: str) -> Iterator[Turn]:
    turns: list[Turn] = []
    for offset, line in enumerate(body.splitlines()):
        sign, _, rest = line.partition(" ")
        last = turns[-1] if turns else None
        if sign == "U:":
            turns.append(Turn("user", rest, session=name, offset=offset))
            continue
        if last is None or (last.role == "user" and sign in ("A:", "!", "+")):
            turns.append(last := Turn("assistant", "", session=name, offset=offset))
        if sign == "A:":
            turns[-1] = last._replace(text=f"{last.text}\n\n{rest}".strip())
        elif sign == "!":
            command, _, code = rest.rpartition(" -> ")
            turns[-1] = last._replace(commands=(*last.commands, Command(command, int(code))))
        elif sign == "+":
            turns[-1] = last._replace(files=(*last.files, rest))
        else:
            turns[-1] = last._replace(text=f"{last.text}\n{line}")
    yield from turns
