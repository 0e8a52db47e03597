"""What a line of a chat is: a question, or a command to the chat itself."""

from typing import NamedTuple

#: Each command's words after its name, and what it does.
COMMANDS = {
    "help": ("", "this list"),
    "sources": ("", "where the passages of the last context come from"),
    "why": ("", "why these passages: the search, the scores, the calls of the model"),
    "save": ("[TITLE]", "store the last answer, governed as everything that is stored"),
    "forget": (
        "[MEM-…]",
        "take the last turn back: out of the session, and what it stored into the archive; or one item",
    ),
    "scope": ("[NAME|all|folder]", "show or change what is recalled"),
    "clear": ("", "forget the turns of the session so far; what is stored stays"),
    "quit": ("", "end the chat (Ctrl-D does too)"),
}

#: Phrases by which an answer says that its context was too thin (contract of older memctl).
UNSURE = (
    "insufficient", "cannot find", "not enough context", "no information", "unclear", "unable to determine",
    "no relevant", "not available",
)  # fmt: skip


class Slash(NamedTuple):
    """A command to the chat: its name without the slash, and the rest of the line."""

    name: str
    rest: str = ""

    @property
    def known(self) -> bool:
        """Whether there is such a command."""
        return self.name in COMMANDS


def read(line: str) -> "Slash | str":
    """A line as a command or, without the slash that `//` escapes one with, as a question."""
    if line.startswith("//"):
        return line[1:]
    if not line.startswith("/") or "\n" in line:
        return line
    name, _, rest = line[1:].partition(" ")
    return Slash(name.lower(), rest.strip())


def help_lines() -> list[str]:
    """The list that /help prints."""
    width = max(len(f"/{name} {words}".rstrip()) for name, (words, _) in COMMANDS.items())
    rows = [f"{f'/{name} {words}'.rstrip():<{width}}  {about}" for name, (words, about) in COMMANDS.items()]
    return [*rows, "Anything else is a question; // at its beginning stands for a / of its own."]


def nearest(name: str) -> str:
    """The command that was probably meant; "" when none is near."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, COMMANDS, 1, cutoff=0.5)), "")


def is_unsure(answer: str) -> bool:
    """Whether an answer says that its context was too thin."""
    low = answer.lower()
    return any(phrase in low for phrase in UNSURE)
