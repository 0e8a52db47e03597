"""A turn of a conversation, and how one is put together from what a client wrote down piece by piece.

What tools answered, what a model thought, and what nobody said is no part of a turn: blocks of memory, and frames that
a client puts round a prompt.
"""

import re
from collections.abc import Callable, Iterator

from memctl import ids
from memctl.annotations import Any, Literal, NamedTuple
from memctl.names import PROMPTED, STARTED
from memctl.text import clean, times
from memctl.text.block import markers
from memctl.text.block.markers import HEADER

Role = Literal["user", "assistant"]

#: How clients call the tools that write a file, and the one that runs a shell.
_WRITERS = frozenset((
    "edit", "write", "multiedit", "notebookedit", "write_file", "replace", "edit_file", "create_file", "apply_patch",
    "write_to_file", "update", "create", "replace_in_file", "str_replace_editor", "str_replace_based_edit_tool",
    "patch", "insert_edit_into_file", "editor",
))  # fmt: skip
_SHELLS = frozenset((
    "bash", "shell", "local_shell", "shell_command", "exec_command", "run_shell_command", "execute_command",
    "run_in_terminal", "run_terminal_cmd", "run_command", "run_commands", "powershell",
))  # fmt: skip
_PATHS = ("file_path", "filePath", "notebook_path", "absolute_path", "path", "file", "filename", "target_file")
_PATCHES = ("patch", "input", "patchText", "diff")
#: A passage of a block, also where the lines of the block are one text of JSON.
_PASSAGE = re.compile(r"(?:\n|\\n)\[(?:MEM-)?([0-9a-f]{4,12})\]")
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$|^\+\+\+ (?:b/)?([^\t\n]+)", re.MULTILINE)
#: Characters of a turn, of a command, of a path that are kept; files and commands of one turn.
_MOST_TEXT, _MOST_LINE, _MOST_PATH, _MOST_LISTED = 200_000, 4_000, 1_000, 200
#: Milliseconds, where a time is a number: seconds until then are before 1972.
_MILLISECONDS = 10**11


class Command(NamedTuple):
    """A shell line that an assistant ran, and how it ended; None where the client does not say."""

    line: str
    exit_code: int | None = None


class Turn(NamedTuple):
    """What a person or a model said in one go, without what was injected.

    text      of an assistant all it said until the next prompt, in paragraphs; "" when it only worked
    time      when it began, as `ids.timestamp` writes it; "" when the client does not say
    id        what the client calls its first message; "" for none
    session   the client's name of the conversation; "" for none
    files     what its tools wrote or changed
    fetched   ids, as blocks show them, of what its tools brought it from memory
    offset    where it begins in what was read: a byte, or the number of a message
    """

    role: Role
    text: str
    time: str = ""
    id: str = ""
    session: str = ""
    cwd: str = ""
    branch: str = ""
    model: str = ""
    files: tuple[str, ...] = ()
    commands: tuple[Command, ...] = ()
    fetched: tuple[str, ...] = ()
    offset: int = 0


class Talk:
    """A conversation that is being read. What is said goes in piece by piece, turns come out when the next begins.

    left_out  whether it is a side chain, of which nothing is taken
    prompted  where the last prompt begins; -1 before the first
    hidden    texts that memory had put in, or a client, and no one said
    """

    def __init__(self, session: str = "", cwd: str = "") -> None:
        self.session, self.cwd, self.branch, self.model = session, cwd, "", ""
        self.left_out = False
        self.prompted = -1
        self.hidden = 0
        self._done: list[Turn] = []
        self._open: Turn | None = None
        self._said: dict[str, str] = {}
        self._files: dict[str, None] = {}
        self._runs: dict[str, Command] = {}
        self._fetched: dict[str, None] = {}

    @property
    def is_empty(self) -> bool:
        """Whether nobody has said anything yet."""
        return self._open is None and not self._done

    def set(self, **known: object) -> None:
        """Note the session, cwd, branch or model where there is one."""
        for name, value in known.items():
            if isinstance(value, str) and value and len(value) <= _MOST_PATH:
                setattr(self, name, clean.one_line(value, _MOST_PATH))

    def user(self, text: str, offset: int, *, id: object = "", time: object = "") -> None:
        """A prompt. One with the id of the prompt before it takes its place."""
        named = _word(id)
        if self._open is None or self._open.role != "user" or not named or self._open.id != named:
            self._finish()
            self._open = Turn("user", "", moment(time), named, offset=offset)
            self.prompted = offset
        self._said = {"": text}

    def say(self, text: str, offset: int, *, id: object = "", time: object = "") -> None:
        """Words of the assistant. A message with the id of one before takes its place."""
        self._answering(offset, id, time)
        key = _word(id) or f"at {offset}"
        if text.strip():
            self._said[key] = text

    def call(self, name: object, given: object, offset: int, *, id: object = "", time: object = "") -> None:
        """The assistant used a tool: the files that it writes, the shell line that it runs."""
        self._answering(offset, "", time)
        tool = _word(name).lower()
        if isinstance(given, str):
            given = {"input": given}
        if not isinstance(given, dict):
            return
        if tool in _WRITERS and given.get("command") != "view":
            named = [given[key] for key in _PATHS if isinstance(given.get(key), str)][:1]
            if not named:
                patch = next((given[key] for key in _PATCHES if isinstance(given.get(key), str)), "")
                named = [first or second for first, second in _PATCHED.findall(patch[:_MOST_TEXT])]
            self.wrote(*named)
        elif tool in _SHELLS:
            self.ran(shell_line(given.get("command", given.get("cmd"))), None, offset, id=id)

    def wrote(self, *paths: object) -> None:
        """The assistant wrote these files."""
        for path in paths:
            if isinstance(path, str) and path and len(path) <= _MOST_PATH and len(self._files) < _MOST_LISTED:
                self._files[clean.one_line(path, _MOST_PATH)] = None

    def ran(self, line: str, exit_code: object, offset: int, *, id: object = "", time: object = "") -> None:
        """The assistant ran a shell line."""
        self._answering(offset, "", time)
        key = _word(id) or f"at {offset} {len(self._runs)}"
        if line.strip() and (key in self._runs or len(self._runs) < _MOST_LISTED):
            self._runs[key] = Command(clean.clean(line)[:_MOST_LINE], _code(exit_code))

    def ended(self, id: object, exit_code: object) -> None:
        """How the call of this id ended, where it was of a shell line."""
        held = self._runs.get(_word(id))
        if held is not None:
            self._runs[_word(id)] = held._replace(exit_code=_code(exit_code))

    def got(self, output: object) -> None:
        """What a tool answered: nothing is kept of it but the ids in a block of memory."""
        if isinstance(output, str) and HEADER in output:
            found = _PASSAGE.findall(output[:_MOST_TEXT], output.index(HEADER))
            self._fetched |= dict.fromkeys(found[: _MOST_LISTED - len(self._fetched)])

    def turns(self, *, whole: bool = False) -> Iterator[Turn]:
        """The turns that are finished; with `whole` also the one that is not, because nothing follows."""
        if whole:
            self._finish()
        done, self._done = self._done, []
        yield from done

    def _answering(self, offset: int, id: object, time: object) -> None:
        if self._open is None or self._open.role != "assistant":
            self._finish()
            self._open = Turn("assistant", "", moment(time), _word(id), offset=offset)
        elif not self._open.id and id:
            self._open = self._open._replace(id=_word(id))

    def _finish(self) -> None:
        """Close the open turn; nothing is kept of one in which nobody said or did anything."""
        begun, self._open = self._open, None
        said, self._said = self._said, {}
        files, self._files = tuple(self._files), {}
        runs, self._runs = tuple(self._runs.values()), {}
        fetched, self._fetched = tuple(self._fetched), {}
        if begun is None or self.left_out:
            return
        given = "\n\n".join(text.strip() for text in said.values())
        text = clean.statement(without_frames(given[:_MOST_TEXT], user=begun.role == "user"))
        self.hidden += bool(given.strip()) and not text
        if text or files or runs:
            self._done.append(begun._replace(
                text=text, session=self.session, cwd=self.cwd, branch=self.branch,
                model="" if begun.role == "user" else self.model, files=files, commands=runs,
                fetched=fetched,
            ))  # fmt: skip


def moment(value: object) -> str:
    """A client's time, a text or a number of seconds or milliseconds, as we write it; "" for what is none."""
    if isinstance(value, str) and value:
        stamp = times.canonical(value)
        return stamp if stamp[-6:] == "+00:00" and len(stamp) == len("2026-11-20T16:33:30.820000+00:00") else ""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 10**15:
        return ids.timestamp(value / 1000 if value > _MILLISECONDS else value)
    return ""


def shell_line(command: object) -> str:
    """A shell line as a person would type it, of a text or a list of words; "" for anything else."""
    if isinstance(command, list) and command and all(isinstance(word, str) for word in command):
        import shlex

        if len(command) == 3 and command[1] in ("-c", "-lc"):
            return str(command[2])
        return shlex.join(command)
    return command if isinstance(command, str) else ""


def texts(content: object, kinds: tuple[str, ...] = ("text", "input_text", "output_text", "Text")) -> str:
    """The text of a message: a string, or the parts of these kinds in paragraphs."""
    if isinstance(content, str):
        return content
    parts: list[str] = []
    for part in content if isinstance(content, list) else ():
        if isinstance(part, str):
            parts.append(part)
        elif isinstance(part, dict) and part.get("type", "text") in kinds and not part.get("thought"):
            text: Any = part.get("text")
            parts += [text] if isinstance(text, str) else []
    return "\n\n".join(parts)


def _word(value: object) -> str:
    return clean.one_line(value) if isinstance(value, str) else str(value) if type(value) is int else ""


def _code(value: object) -> int | None:
    return value if type(value) is int and abs(value) < 1 << 32 else None


#: What clients and hooks put beside a prompt, in tags; of the latter the words inside are the person's.
_FRAMES = (
    "system-reminder", "system_reminder", "hook_context", "session_context", "environment_context", "user_instructions",
    "qwen:user-prompt-submit-context", "untrusted_context", "current_datetime", "environment_details", "command-name",
    "command-message", "command-args", "command-contents", "local-command-stdout", "local-command-stderr",
    "local-command-caveat", "bash-input", "bash-stdout", "bash-stderr", "user-prompt-submit-hook", "task-notification",
    "skills_instructions", "permissions instructions", "INSTRUCTIONS", "turn_aborted", "user_action", "ide_opened_file",
    "ide_selection", "user_shell_command", "additional_data", "cursor_rules",
)  # fmt: skip
_WRAPPERS = ("user_input", "user_query", "user_message", "task", "feedback")
#: Texts of clients that stand where a prompt would.
_NOT_SAID = (
    "[Request interrupted by user", "Caveat: The messages below were generated by the user",
    "# AGENTS.md instructions for ", "This session is being continued from a previous conversation",
    "The following tool was executed by the user", "<session_context>\nThis is the Gemini CLI",
)  # fmt: skip
#: A block in a string of JSON, as tools answer it.
_ESCAPED = re.compile(re.escape(markers.HEADER) + r"\\n(?:(?!## Mem)[^\n])*?--- End Memory \(\d{1,6}\) ---")


def without_frames(text: str, *, user: bool) -> str:
    """The text without what memory had injected, and of a prompt without the frames of clients."""
    if user and text.lstrip().startswith(_NOT_SAID):
        return ""
    for tag in _FRAMES if user and "</" in text else ():
        text = _without_tag(text, tag)
    for told in (PROMPTED, STARTED):
        text = text.replace(told, "")
    text = _ESCAPED.sub("", text)
    if markers.HEADER in text or markers.STRUCTURE in text or markers.RULES in text:
        text = markers.without_injected(text)[0]
    bare = text.strip()
    for tag in _WRAPPERS if user else ():  # the words inside of one that is round the whole of a prompt
        if bare.startswith(f"<{tag}") and bare.endswith(f"</{tag}>"):
            head, closed, rest = bare.partition(">")
            if closed and head[len(tag) + 1 : len(tag) + 2] in ("", " "):
                return rest[: -len(tag) - 3]
    return text


def _without_tag(text: str, tag: str) -> str:
    """The text without elements of this name; one that is never closed stays, because nobody knows where it ends."""
    opening, closing = f"<{tag}", f"</{tag}>"
    if opening not in text:
        return text
    kept, start = [], 0
    while (at := text.find(opening, start)) >= 0:
        end = text.find(closing, at)
        if end < 0:
            break
        if text[at + len(opening) : at + len(opening) + 1] in (">", " ", "\n"):
            kept.append(text[start:at])
        else:
            kept.append(text[start : end + len(closing)])
        start = end + len(closing)
    return "".join((*kept, text[start:]))


# --- blocks in part, and with another frame ---------------------------------------------------------------------------

#: What a client, or a model that quotes, puts before a line.
_BEFORE = r"^[ \t>|*`-]{0,12}"
_QUOTED = re.compile(_BEFORE + r"\\?\[(?:MEM-)?([0-9a-f]{4,12})(?:\+\d+)?\][ \t]*(.*)$", re.MULTILINE)
_ABOVE = re.compile(_BEFORE + r"(?:#{1,4} .*\(.+\)|[^\W\d]\w*[ \u00a0]?: ?2(?:,.*)?|```\w*)?[ \t]*$")
_BELOW = re.compile(_BEFORE + r"(?:-{2,3} .*\(\d+\).*|```)[ \t]*$")
_DATE = re.compile(r"\d{4}-\d\d-\d\d\S*[ \t]+")
_PLACE = re.compile(r"(?:\d{4}-\d\d-\d\d\S*(?:[;>] .*)?|\S+:\d+(?:-\d+)?(?: > .*)?)$")


def without_known(text: str, content_of: Callable[[str], str]) -> str:
    """The text without passages that memory gave, by the ids before them: quoted in part, or in another frame.

    A line that says something else of an id stays: it is somebody's own. `content_of` has title and content of an id.
    """
    if _QUOTED.search(text) is None:
        return text
    lines, kept, at = text.split("\n"), list[str](), 0
    while at < len(lines):
        found = _QUOTED.match(lines[at])
        known = _plain(content_of(found[1])) if found else ""
        rest = found[2] if found else ""
        dated = _DATE.match(rest)  # a title follows, and what else is told of the item
        titled = dated is not None and _plain(rest[dated.end() :].partition("; ")[0]) in known
        if not known or not (titled or _plain(rest) in known or _PLACE.match(rest)):
            kept.append(lines[at])
            at += 1
            continue
        while kept and _ABOVE.match(kept[-1]):
            kept.pop()
        at += 1
        while at < len(lines) and _plain(lines[at]) and _plain(lines[at]) in known:
            at += 1
        if at < len(lines) and _BELOW.match(lines[at]):
            at += 1
    return "\n".join(kept)


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))
