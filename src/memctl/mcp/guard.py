"""What a caller may ask for at all: how much, how many, and which places on the disk.

The store is chosen by the person who starts the server, inside `--db-root` where that is given. The folders that tools
read are named by a model, so they are confined always: to `--allow-root`, else to the folder the server was started in.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress

from memctl import ids
from memctl.annotations import Any
from memctl.mcp.session import SessionTracker

MAX_WRITE_BYTES = 65_536
MAX_WRITE_BYTES_PER_MINUTE = 524_288
MAX_IMPORT_ITEMS = 500
#: What the arguments beside the content (title, tags, …) may come to, and what all those of a read may.
MAX_OTHER_BYTES = 16_384
MAX_ARGUMENT_BYTES = 262_144
#: A value with more parts than this is not measured further; no honest value comes near it.
MAX_PARTS = 2_000_000
#: A glob pattern that fits more places than this is refused rather than followed.
MAX_GLOB_MATCHES = 10_000

#: The arguments that name places on the disk, in whatever tool.
PATH_ARGUMENTS = frozenset({"path", "paths", "file", "files", "folder", "source", "sources", "output"})
#: Tools whose `path` is a place among the items (domain/room), and none on the disk.
NO_FILES = frozenset({"memory_palace_list"})
#: The arguments that name a program to run, and those in which the bulk of a write comes.
COMMAND_ARGUMENTS = frozenset({"llm", "llm_cmd"})
MAIN_ARGUMENTS = ("content", "items")
NO_COMMAND = "Command refused: a tool runs only the LLM commands that the server was started with"


class GuardError(ValueError):
    """A call that is refused whatever the store holds."""


class ServerGuard:
    """The limits of one server; safe to use from many threads. Every check raises GuardError.

    db_root                    the folder that the store must be in; None = wherever the person says
    max_write_bytes            UTF-8 bytes of one write's content
    max_write_bytes_per_minute the same for all writes of a session in a minute; the first of them always passes
    max_import_items           items of one import
    max_db_size_mb             a store that is larger is not written to; None = no limit
    allow_roots                folders that tools may read from; None = `db_root` and the folder the server stands in,
                               unless that is the home folder, one above it, or the root of the disk
    llm_commands               the commands that `llm_cmd` may name
    sessions                   where it counts: a table of its own, until a server lets it use the server's
    """

    def __init__(
        self,
        db_root: str | os.PathLike[str] | None = None,
        max_write_bytes: int = MAX_WRITE_BYTES,
        max_write_bytes_per_minute: int = MAX_WRITE_BYTES_PER_MINUTE,
        max_import_items: int = MAX_IMPORT_ITEMS,
        max_db_size_mb: float | None = None,
        *,
        allow_roots: Iterable[str | os.PathLike[str]] | None = None,
        llm_commands: Iterable[str] = (),
        cwd: str | None = None,
        clock: Callable[[], float] = ids.monotonic,
    ) -> None:
        self.cwd = os.path.realpath(os.getcwd() if cwd is None else cwd)
        self.db_root = None if db_root is None else self._place(os.fspath(db_root), self.cwd)
        self.max_write_bytes = max_write_bytes
        self.max_write_bytes_per_minute = max_write_bytes_per_minute
        self.max_import_items, self.max_db_size_mb = max_import_items, max_db_size_mb
        self.max_import_bytes = max_import_items * max_write_bytes  # of all items, each as large as it may be
        self.llm_commands = frozenset(llm_commands)
        if allow_roots is None:
            named = [] if self.db_root is None else [self.db_root]
            if not _inside(os.path.realpath(os.path.expanduser("~")), self.cwd):
                named.append(self.cwd)
        else:
            named = [self._place(os.fspath(root), self.cwd) for root in allow_roots]
        self.roots = tuple(dict.fromkeys(named))
        self._clock, self.sessions = clock, SessionTracker()

    # --- the store -----------------------------------------------------------------------------------------------

    def validate_db_path(self, path: str | os.PathLike[str]) -> str:
        """The absolute path of the store that was asked for, links followed.

        `~` is the home folder. A relative path is taken from the current folder if that is inside `db_root`, else from
        `db_root`.
        """
        given = os.fspath(path)
        self._refuse_odd(given)
        if self.db_root is None:
            return self._place(given, self.cwd)
        here = self._place(given, self.cwd)
        if _inside(here, self.db_root):
            return here
        there = self._place(given, self.db_root)
        if not _inside(there, self.db_root):
            raise GuardError(f"Path outside db-root: '{_said(given)}' is not under '{self.db_root}'")
        return there

    def relative_db_path(self, path: str) -> str:
        """How the audit log names the store: as seen from `db_root` if it is in there, else absolute."""
        full = self._place(path, self.cwd)
        if self.db_root is None or not _inside(full, self.db_root):
            return full
        return os.path.relpath(full, self.db_root)

    def check_db_size(self, path: str | os.PathLike[str]) -> None:
        """The store, with its write-ahead log, is not over its size."""
        if self.max_db_size_mb is None:
            return
        size = 0
        for end in ("", "-wal"):
            with suppress(OSError):
                size += os.stat(os.fspath(path) + end).st_size
        if size > self.max_db_size_mb * 1_048_576:
            raise GuardError(f"Database size {size / 1_048_576:.1f} MB exceeds limit of {self.max_db_size_mb:g} MB")

    # --- sizes ---------------------------------------------------------------------------------------------------

    def check_write_size(self, content: str | int) -> None:
        """One write's content (or its size in bytes) is not too large."""
        size = content if isinstance(content, int) else json_bytes(content)
        if size > self.max_write_bytes:
            raise GuardError(f"Write size {size} bytes exceeds limit of {self.max_write_bytes} bytes")

    def check_write_budget(self, session_id: str, size: int) -> None:
        """What the session wrote in the last 60 seconds leaves room for these bytes; they count from now on."""
        with self.sessions.lock:
            now = self._clock()
            written: deque[tuple[float, int]] = self.sessions.get_or_create(session_id).counts.setdefault(self, deque())
            while written and now - written[0][0] >= 60:
                written.popleft()
            total = size + sum(n for _, n in written)
            if written and total > self.max_write_bytes_per_minute:
                raise GuardError(
                    f"Write budget exceeded: {total} bytes in one minute exceed limit of "
                    f"{self.max_write_bytes_per_minute} bytes"
                )
            written.append((now, size))

    def check_import_batch(self, count: int) -> None:
        """One import does not have too many items."""
        if count > self.max_import_items:
            raise GuardError(f"Import batch of {count} items exceeds limit of {self.max_import_items}")

    def check_sizes(self, tool: str, arguments: Mapping[str, Any], session_id: str, *, writes: bool) -> None:
        """All of the above that concerns a call of `tool`."""
        size = json_bytes(dict(arguments))
        if not writes:
            if size > MAX_ARGUMENT_BYTES:
                raise GuardError(f"Arguments of {size} bytes exceed limit of {MAX_ARGUMENT_BYTES} bytes")
            return
        mains = [json_bytes(arguments[name]) for name in MAIN_ARGUMENTS if arguments.get(name) is not None]
        main = sum(mains) if mains else size
        if tool == "memory_import":
            if main > self.max_import_bytes:
                raise GuardError(f"Import size {main} bytes exceeds limit of {self.max_import_bytes} bytes")
            self.check_import_batch(count_entries(arguments.get("items"), self.max_import_bytes))
        else:
            self.check_write_size(main)
        if mains and size - main > MAX_OTHER_BYTES:
            raise GuardError(
                f"Arguments of {size - main} bytes beside the content exceed limit of {MAX_OTHER_BYTES} bytes"
            )
        self.check_write_budget(session_id, main)

    # --- places and programs -------------------------------------------------------------------------------------

    def check_arguments(self, arguments: dict[str, Any], tool: str = "") -> None:
        """Every place that the arguments of a tool name may be read, and every program may be run.

        A path to something that is there is replaced by what it was resolved to: the tool works on what was judged,
        whatever becomes of links meanwhile. (What does not exist may be the name of a mount.)
        """
        for name, value in list(arguments.items()):
            if name in PATH_ARGUMENTS and tool not in NO_FILES:
                places = {path: self.check_path(path) for path in _paths(value)}
                if isinstance(value, str) and os.path.lexists(places.get(value, "")):
                    arguments[name] = places[value]
            elif name in COMMAND_ARGUMENTS and value and (not isinstance(value, str) or value not in self.llm_commands):
                raise GuardError(NO_COMMAND)  # only the person who started the server names programs

    def check_path(self, path: str) -> str:
        """A file, folder or glob pattern that a tool may read: its absolute path, links followed."""
        self._refuse_odd(path)
        found = self._place(path, self.cwd)
        self._confine(found, path)
        if any(c in path for c in "*?["):
            # Where a glob pattern leads, links followed; what follows a `**` is walked, and walking follows no links.
            import glob

            parts = os.path.join(self.cwd, os.path.expanduser(path)).split("/")
            head = "/".join(parts[: parts.index("**")] if "**" in parts else parts)
            for count, place in enumerate(glob.iglob(head)):
                if count >= MAX_GLOB_MATCHES:
                    raise GuardError(f"Pattern refused: '{_said(path)}' fits more than {MAX_GLOB_MATCHES} places")
                self._confine(os.path.realpath(place), path)
        return found

    def _confine(self, place: str, path: str) -> None:
        if not any(_inside(place, root) for root in self.roots):
            raise GuardError(
                f"Path outside the allowed folders: '{_said(path)}' is not under "
                + (", ".join(f"'{root}'" for root in self.roots) or "any folder (none is allowed)")
            )

    @staticmethod
    def _refuse_odd(path: str) -> None:
        """`..` is refused in every place: what it means depends on whether links before it were followed."""
        if "\0" in path or "\n" in path:
            raise GuardError("Path refused: it has a line break or a NUL in it")
        if ".." in path.replace("\\", "/").split("/"):
            raise GuardError(f"Path traversal rejected: '..' in path '{_said(path)}'")

    @staticmethod
    def _place(path: str, base: str) -> str:
        try:
            return os.path.realpath(os.path.join(base, os.path.expanduser(path)))
        except (ValueError, OSError):  # half a character, or a name that no disk can have
            raise GuardError("Path refused: it is no name that a file can have") from None


def _paths(value: Any) -> Iterator[str]:
    """Every path that an argument may come to mean: a text may be one, or a list with commas, or a JSON array."""
    for one in value if isinstance(value, list | tuple) else [value]:
        if not isinstance(one, str) or not one:
            continue
        yield one
        yield from (part.strip() for part in one.split(",") if part.strip() and part != one)
        if one.lstrip().startswith("["):
            import json

            try:
                inner = json.loads(one)
            except (ValueError, RecursionError):
                continue
            yield from (path for path in inner if isinstance(path, str) and path)


def _said(path: str) -> str:
    """A path as a message names it: not all of a very long one, and nothing that UTF-8 cannot say."""
    return path[:200].encode("utf-8", "replace").decode() + ("…" if len(path) > 200 else "")


def _inside(path: str, root: str) -> bool:
    return path == root or path.startswith(os.path.join(root, ""))


# --- sizes, without trusting what is measured: no recursion, no copy, an end to every count --------------------------


def json_bytes(value: Any) -> int:
    """About as many bytes as `value` has in JSON without blanks, escapes not counted.

    A text counts as itself, without its quotes: that is what a `content` argument holds. Half of a surrogate pair
    counts as three bytes.
    """
    frame = 0 if isinstance(value, str) else 3  # quotes and a comma
    total = 0
    pending = [value]
    for _ in range(MAX_PARTS):
        if not pending:
            break
        one = pending.pop()
        if isinstance(one, str):
            total += frame + (len(one) if one.isascii() else len(one.encode("utf-8", "surrogatepass")))
        elif isinstance(one, dict):
            total += 2
            pending.extend(one)
            pending.extend(one.values())
        elif isinstance(one, list | tuple):
            total += 2
            pending.extend(one)
        elif isinstance(one, int):
            total += one.bit_length() * 3 // 10 + 2
        else:
            total += 8
    return total


def count_entries(value: Any, max_bytes: int) -> int:
    """How many entries an `items` argument has: an array, one object, or either as JSON text; 1 if that is not clear.

    A text over `max_bytes` is not read at all: it counts as 1, and its size is refused elsewhere.
    """
    if isinstance(value, str):
        if len(value) > max_bytes:
            return 1
        import json

        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return 1
    return len(value) if isinstance(value, list | tuple) else 1
