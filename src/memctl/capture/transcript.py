"""A transcript of any form, as turns in their order: which form it is, where to go on reading, what was passed over.

Which transcripts are on this machine, of which folder each is, and copies of them. A line that cannot be read costs
that line; a last line that is not finished yet is left for the next time.
"""

import codecs
import io
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from memctl import errors, git, ids
from memctl.annotations import TYPE_CHECKING, NamedTuple
from memctl.capture import forms
from memctl.capture.turns import Talk, Turn
from memctl.paths import open_regular
from memctl.store import transcripts

if TYPE_CHECKING:
    from typing import IO

#: Bytes of a line, and of a document that is read whole.
MOST_OF_LINE, MOST_OF_DOCUMENT = 32 << 20, 256 << 20
#: Lines that say whose a file is, and bytes in which so many are looked for; bytes after which nothing is looked for.
_SNIFFED = 50
_SNIFFED_BYTES, _MOST_SNIFFED = 1 << 20, 1 << 26
#: Bytes that a line counts at most for that: one may hold a picture.
_COUNTED = 1 << 16
#: Conversations that are kept apart in one file; lines of more than these are read as one. Characters of a name.
_MOST_TALKS, _LONGEST_NAME = 500, 200
#: The names by which a form is asked for, and other words for them.
FORMS = ("claude", "codex", "gemini", "copilot", "qwen", "opencode", "cline", "aider", "llm", "generic", "text")
ALIASES = {
    "claude-code": "claude", "gemini-cli": "gemini", "copilot-cli": "copilot", "qwen-code": "qwen", "json": "generic",
    "jsonl": "generic", "chat": "text", "markdown": "text",
}  # fmt: skip


class Transcript:
    """What a file or a pipe holds, read once.

    form     the name of its form; "" when it holds no conversation that we can read
    bad      lines that are no JSON object, or too long
    hidden   prompts and answers that hold nothing but what was injected
    resume   where to go on the next time: where the last prompt begins, of which the answer may grow
    """

    def __init__(self, data: "IO[bytes]", *, form: str = "", session: str = "", cwd: str = "", start: int = 0) -> None:
        self._data, self._start = data, start
        self._session, self._cwd = session, cwd
        self._talks: dict[str, Talk] = {}
        self.form = ALIASES.get(form, form)
        self.bad = 0

    @property
    def hidden(self) -> int:
        """Prompts and answers of which nothing is left without what was injected."""
        return sum(talk.hidden for talk in self._talks.values())

    @property
    def resume(self) -> int:
        """The byte of a file of lines at which the next reading may begin."""
        return min((talk.prompted for talk in self._talks.values() if talk.prompted >= 0), default=self._start)

    def turns(self) -> Iterator[Turn]:
        """The turns as they end; those of one conversation are in their order. No content makes it raise."""
        with self._data:
            # Some shells write what is printed as UTF-16: its mark, and a quarter of ASCII at least, show it.
            begins = self._data.read(io.DEFAULT_BUFFER_SIZE)
            high = {codecs.BOM_UTF16_LE: begins[3::2], codecs.BOM_UTF16_BE: begins[2::2]}.get(begins[:2], b"")
            if 0 < len(high) <= 4 * high.count(0):
                self._data.seek(0)
                text = self._data.read(MOST_OF_DOCUMENT).decode("utf-16", "replace")
                self._data = io.BytesIO(text.encode("utf-8", "replace"))
            self._data.seek(0)
            found, whole = _sniff(self._data)
            self._data.seek(0)
            whole = whole and found in ("", "generic")
            of_lines = self.form if self.form in forms.LINES else found
            if of_lines and not whole and self.form not in ("text", "aider"):
                yield from self._of_lines(of_lines)
            else:
                yield from self._of_document(is_json=whole, of_lines=of_lines)

    def _of_lines(self, form: str) -> Iterator[Turn]:
        self.form = form
        read, offset, header = forms.LINES[form], 0, self._start > 0
        while line := self._data.readline(MOST_OF_LINE):
            size = len(line)
            while not line.endswith(b"\n") and (more := self._data.readline(MOST_OF_LINE)):  # too long to be a message
                size, line = size + len(more), b"-" + more[-1:]
            record = _object(line)
            if record is not None:
                read(record, offset, self._talk)
            else:  # a last line without its end is still being written
                self.bad += line.endswith(b"\n") and not line.isspace()
            offset += size
            if header:  # it says whose conversation it is; its turns are known
                for talk in self._talks.values():
                    list(talk.turns(whole=True))
                    talk.prompted, talk.hidden = -1, 0
                header, offset = False, self._start
                self._data.seek(offset)
            for talk in list(self._talks.values()):
                yield from talk.turns()
        yield from self._rest()

    def _of_document(self, *, is_json: bool, of_lines: str) -> Iterator[Turn]:
        text = self._data.read(MOST_OF_DOCUMENT).decode("utf-8-sig", "replace")
        if is_json:
            value, whole = forms.loaded(text)
            self.form = forms.document(value, self._talk)
            if of_lines and not whole and not (self.form and self._talks):  # only its first line is like a document
                self._data.seek(0)
                yield from self._of_lines(of_lines)
                return
            self.bad += not whole
        elif self.form == "aider" or "# aider chat started at " in text[:_SNIFFED_BYTES]:
            self.form = forms.aider(text, self._talk)
        else:
            self.form = forms.spoken(text, self._talk)
        if self._is_empty():
            for form in forms.late(text, self._talk):
                if not self._is_empty():
                    self.form, self.bad = form, self.bad or 1
                    break
                self._talks.clear()
        yield from self._rest()

    def _is_empty(self) -> bool:
        return all(talk.is_empty for talk in self._talks.values())

    def _rest(self) -> Iterator[Turn]:
        for talk in self._talks.values():
            yield from talk.turns(whole=True)

    def _talk(self, session: object) -> Talk:
        """The conversation of this name; what has none is of the one that was begun last."""
        named = session if isinstance(session, str) and len(session) <= _LONGEST_NAME else ""
        if not named and self._talks:
            return next(reversed(self._talks.values()))
        if named not in self._talks and len(self._talks) < _MOST_TALKS:
            full = f"{named} {self._session}".strip() if named.startswith("aider ") else named
            self._talks[named] = Talk(full or self._session, self._cwd)
        return self._talks.get(named) or next(reversed(self._talks.values()))


class Conversations(Transcript):
    """The conversations of a database."""

    def __init__(self, path: str) -> None:
        super().__init__(io.BytesIO())
        self._path = path

    def turns(self) -> Iterator[Turn]:
        """The turns, session by session. Raises NotADatabase, and OSError for one that cannot be read now."""
        try:
            for value in transcripts.foreign_conversations(self._path):
                self.form = "opencode" if "parentID" in value["info"] else "llm"
                self._talks = {}
                forms.document(value, self._talk)
                yield from self._rest()
        except errors.NotADatabase:
            raise
        except errors.MemctlError as exc:  # of the client's database, not of the store
            if not (self.form and isinstance(exc, errors.StoreCorrupt)):
                raise OSError(0, str(exc)) from exc
            self.bad += 1  # what stands before the damage is read


def open_database(path: str) -> Transcript | None:
    """The conversations of an SQLite database; None for another file. Raises OSError."""
    with open_regular(path) as data:
        return Conversations(path) if data.read(16) == b"SQLite format 3\0" else None


def open_transcript(path: str, *, form: str = "", cwd: str = "", start: int = 0) -> Transcript:
    """A transcript at a path, which names the session where nothing in it does. Raises OSError."""
    name = os.path.splitext(os.path.basename(path))[0].strip(".")[:80]
    mark = ids.bytes_hash(os.fsencode(os.path.realpath(path)))[:8]
    return Transcript(open_regular(path), form=form, session=f"{name}~{mark}", cwd=cwd, start=start)


def of_bytes(data: bytes, *, form: str = "", session: str = "", cwd: str = "") -> Transcript:
    """A transcript that is here already, as from a pipe."""
    return Transcript(io.BytesIO(data), form=form, session=session, cwd=cwd)


def _object(line: bytes) -> forms.Record | None:
    """The JSON object of a line; None where it is none."""
    try:
        value = json.loads(line.decode("utf-8", "replace").lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _sniff(data: "IO[bytes]") -> tuple[str, bool]:
    """Whose lines of JSON a file holds, "" for none that are known; and whether its first line is a part of a document.

    Most of the lines that show whose they are say it; what a client's own lines say goes before `generic`. Where only
    others stand in the beginning, it is looked on.
    """
    seen, own, first, read = list[str](), list[str](), b"", 0
    while len(own) < _SNIFFED and read < (_SNIFFED_BYTES if seen else _MOST_SNIFFED):
        if not (line := data.readline(MOST_OF_LINE)):
            break
        read += min(len(line), _COUNTED)
        bare = line.removeprefix(b"\xef\xbb\xbf").strip()
        first = first or (line.removeprefix(b"\xef\xbb\xbf").lstrip() if bare else b"")
        record = _object(bare) if bare.startswith(b"{") else None
        if record and (form := forms.form_of(record)):
            seen.append(form)
            own += [form] if form != "generic" else []
    part = first[:1] == b"[" or (first[:1] == b"{" and (first[-1:] != b"\n" or _object(first) is None))
    return max(own or seen, key=(own or seen).count, default=""), part


#: Of a transcript so many bytes are looked at for the folder it is of, and when that is not enough, so many.
_HEAD, _MORE = 1 << 13, 1 << 18
_CWD = re.compile(rb'"cwd"\s*:\s*("(?:[^"\\]|\\.){1,4000}")')
#: The names of folders in which a client keeps nothing that was said with a person.
_NOT = frozenset(("subagents", "tool-results"))
_DEEPEST = 6


class Found(NamedTuple):
    """A transcript on the disk, and the folder that its conversation was held in; "" where it does not say."""

    client: str
    path: str
    folder: str


#: Where clients keep transcripts: client, environment variable that moves its folder, that folder, the one below it,
#: how the files are called.
_PLACES = (
    ("claude", "CLAUDE_CONFIG_DIR", "~/.claude", "projects", r"(?!agent-).*\.jsonl"),
    ("codex", "CODEX_HOME", "~/.codex", "sessions", r"rollout-.*\.jsonl"),
    ("codex", "CODEX_HOME", "~/.codex", "archived_sessions", r"rollout-.*\.jsonl"),
    ("gemini", "", "~/.gemini", "tmp", r"session-.*\.jsonl?"),
    ("qwen", "", "~/.qwen", "projects", r".*\.jsonl"),
    ("copilot", "", "~/.copilot", "session-state", r"events\.jsonl"),
    ("cline", "", "~/.cline/data", "sessions", r".*\.messages\.json"),
    ("opencode", "XDG_DATA_HOME", "~/.local/share", "opencode", r"opencode\.db"),
    ("llm", "LLM_USER_PATH", "~/.config/io.datasette.llm", "", r"logs\.db"),
)


def transcripts_on_disk(environ: Mapping[str, str], project: str) -> Iterator[Found]:
    """The transcripts of all clients of this user, and aider's history of a project; in order of their paths.

    A history that came with the repository, or is a link, is left out: a stranger's words would count as this user's.
    """
    for client, variable, usual, below, name in _PLACES:
        root = os.path.join(root_of(environ, variable, usual), below)
        for path in _files(root, re.compile(name), _DEEPEST):
            yield Found(client, path, _folder_of(client, path))
    history = os.path.join(project, ".aider.chat.history.md")
    if os.path.isfile(history) and not os.path.islink(history) and not git.is_committed(history):
        yield Found("aider", history, project)


def transcripts_in(folder: str) -> Iterator[Found]:
    """What may be a transcript in a folder and those below it; which client's each is shows when it is read."""
    for path in _files(
        folder, re.compile(r"(?!agent-).*\.jsonl?|opencode\.db|logs\.db|\.aider\.chat\.history\.md"), _DEEPEST
    ):
        yield Found("", path, "")


def root_of(environ: Mapping[str, str], variable: str, usual: str) -> str:
    """The folder of a client: what the environment says, else the usual one."""
    moved = environ.get(variable, "") if variable else ""
    return moved if os.path.isabs(moved) else os.path.expanduser(usual)


def _files(root: str, name: "re.Pattern[str]", depth: int) -> Iterator[str]:
    try:
        with os.scandir(root) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in found:
        if entry.is_dir(follow_symlinks=False):
            if depth and entry.name not in _NOT:
                yield from _files(entry.path, name, depth - 1)
        elif entry.is_file(follow_symlinks=False) and name.fullmatch(entry.name):
            yield entry.path


def _folder_of(client: str, path: str) -> str:
    """The folder that a conversation was held in, as the transcript or what stands beside it says."""
    if client in ("opencode", "llm"):  # its sessions say it
        return ""
    if client == "gemini":
        return _gemini_folder(path)
    beside = path.removesuffix(".messages.json") + ".json" if client == "cline" else path
    try:
        with open_regular(beside) as data:
            said = _CWD.search(data.read(_HEAD)) or _CWD.search(data.read(_MORE))
        return str(json.loads(said[1])) if said else ""
    except (OSError, ValueError):
        return ""


def _gemini_folder(path: str) -> str:
    """Gemini names the folder of a project in a file of its own, or in its list of projects."""
    home = os.path.dirname(os.path.dirname(path))
    try:
        with open(os.path.join(home, ".project_root"), encoding="utf-8", errors="replace") as data:
            return data.read(4096).strip()
    except OSError:
        pass
    try:
        with open(
            os.path.join(home, os.pardir, os.pardir, "projects.json"), encoding="utf-8", errors="replace"
        ) as data:
            named = json.load(data)["projects"]
        return next((place for place, name in named.items() if name == os.path.basename(home)), "")
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return ""


# --- copies ----------------------------------------------------------------------------------------------------------


class Archived:
    """What came of copying: the copies by path, those that were there already, what failed and why, bytes written."""

    def __init__(self) -> None:
        self.copied: list[str] = []
        self.failed: list[tuple[str, str]] = []
        self.unchanged = self.size = 0


def archive(found: Sequence[Found], folder: str, *, dry: bool) -> Archived:
    """Copy transcripts into a folder, by client; one is left alone whose copy has its size and time.

    A file that became shorter was begun anew: the copy of what it held stays, under a name with its time.
    """
    done = Archived()
    for one in found:
        named = [part for part in one.path.split(os.sep)[-4:] if part not in ("", os.pardir)]  # with three folders
        target = os.path.join(folder, one.client, *named)
        try:
            info = os.stat(one.path)
            with suppress(FileNotFoundError):
                there = os.stat(target)
                if there.st_mtime_ns == info.st_mtime_ns and (
                    there.st_size >= info.st_size or one.path.endswith(".db")
                ):
                    done.unchanged += 1
                    continue
                if there.st_size > info.st_size and not dry and not one.path.endswith(".db"):
                    stem, ending = os.path.splitext(target)
                    os.rename(target, f"{stem}.{there.st_mtime_ns}{ending}")
            if not dry:
                _copy(one.path, target)
                os.utime(target, ns=(info.st_atime_ns, info.st_mtime_ns))
        except OSError as exc:
            done.failed.append((one.path, exc.strerror or str(exc)))
            continue
        done.copied.append(target)
        done.size += info.st_size
    return done


def _copy(path: str, target: str) -> None:
    """Copy for the owner alone; under another name first, so that no copy is ever half."""
    os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
    part = f"{target}.{os.urandom(6).hex()}.part"
    try:
        number = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(number, "wb") as copy:
            if path.endswith(".db"):
                transcripts.copy_database(path, part)
            else:
                with open_regular(path) as data:
                    shutil.copyfileobj(data, copy)
        os.replace(part, target)
    finally:
        with suppress(OSError):
            os.unlink(part)
