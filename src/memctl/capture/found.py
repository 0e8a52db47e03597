"""Which transcripts of AI clients are on this machine, of which folder each is, and copies of them."""

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from memctl import git
from memctl.annotations import NamedTuple
from memctl.paths import open_regular
from memctl.store import transcripts

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
