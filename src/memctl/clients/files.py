"""Files of other programs: read whole, changed whole, and given back as they were.

What memctl changed is noted in the state folder: teardown gives back the very bytes when nobody else changed the file
meanwhile. A copy of the file as it was stands beside it, `NAME.bak.YYYYMMDD_HHMMSS`, until then.
"""

import os
import stat
from contextlib import ExitStack, contextmanager, suppress

from memctl import errors, ids, registry, state
from memctl.annotations import TYPE_CHECKING, Any
from memctl.paths import read_file, real_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

#: Where it is noted what was changed.
FILE = "clients.json"
#: Bytes of a file of settings; Claude Code's grows to some megabytes.
MOST = 16 << 20
_BOM = "\ufeff"


class FileEdit:
    """A change of one file, not yet made.

    path    the file, as its program names it; real: without links
    before  its bytes, None when it is not there; after: what they become, None when it goes
    made    the ways inside it that the change adds, for teardown to take out again when they are empty
    """

    __slots__ = ("after", "backup", "before", "made", "path", "real")

    def __init__(self, path: str, inside: str | None = None) -> None:
        """Read the file; with `inside` it must be in this folder, whatever links say. Raises ClientFileRefused."""
        self.path, self.real, self.made, self.backup = path, real_path(path), [], ""  # type: tuple[str, str, list[Any], str]
        if inside is not None and not self.real.startswith(os.path.join(real_path(inside), "")):
            raise errors.ClientFileRefused(path=path, reason="a link leads out of the project")
        self.before: bytes | None = None
        if os.path.lexists(self.real):
            try:
                self.before, _ = read_file(self.real, MOST)
            except errors.DocumentUnreadable as exc:
                raise errors.ClientFileRefused(path=path, reason=exc.fields["reason"]) from exc
        self.after = self.before

    @property
    def changed(self) -> bool:
        """Whether it changes anything."""
        return self.before != self.after

    @property
    def kind(self) -> str:
        """What it does, in a word."""
        if not self.changed:
            return "unchanged"
        return "created" if self.before is None else "removed" if self.after is None else "updated"

    def text(self) -> str:
        """What it holds by now, without a byte order mark. Raises ClientFileRefused when it is no UTF-8."""
        try:
            return (self.after or b"").decode("utf-8").removeprefix(_BOM)
        except UnicodeDecodeError:
            raise errors.ClientFileRefused(path=self.path, reason="it is no UTF-8 text") from None

    def become(self, text: str) -> None:
        """Let it hold this text; a byte order mark stays."""
        marked = (self.before or b"").startswith(_BOM.encode())
        self.after = ((_BOM if marked else "") + text).encode("utf-8", "surrogatepass")

    def change(self, edit: "Callable[[str], str]") -> None:
        """Let it hold what `edit` makes of its text. Raises ClientFileRefused where that raises ValueError."""
        text = self.text()
        try:
            new = edit(text)
        except ValueError as exc:
            raise errors.ClientFileRefused(path=self.path, reason=str(exc)) from None
        if new != text:
            self.become(new)

    def diff(self) -> str:
        """The change as a unified diff."""
        from difflib import unified_diff

        old, new = ((part or b"").decode("utf-8", "replace").splitlines() for part in (self.before, self.after))
        names = ("/dev/null" if self.before is None else self.path, "/dev/null" if self.after is None else self.path)
        return "\n".join(unified_diff(old, new, *names, lineterm=""))


@contextmanager
def _alone() -> "Iterator[None]":
    """Of two commands at once none loses what the other noted."""
    with ExitStack() as stack:
        with suppress(OSError):
            stack.enter_context(registry.locked(state.folder()))
        yield


@_alone()
def apply(edits: "Sequence[FileEdit]", owner: str) -> None:
    """Make the changes, all or none, and note them. Raises ClientFileUnwritable."""
    notes = read_notes()
    done: list[FileEdit] = []
    for edit in edits:
        note = notes.get(edit.path, {}).get(owner)
        known = note is not None and note["after"] == _digest(edit.before)
        if not edit.changed:
            continue
        folders = _missing_folders(edit.real)
        try:
            if edit.before is not None and not known:
                edit.backup = _back_up(edit)
            _replace(edit.real, edit.before, edit.after)
        except OSError as exc:
            for one in reversed([*done, edit]):
                with suppress(OSError):
                    if one is not edit:
                        _replace(one.real, one.after, one.before)
                    if one.backup:
                        os.unlink(one.backup)
            raise errors.ClientFileUnwritable(path=edit.path, reason=exc.strerror or str(exc)) from exc
        done.append(edit)
        first: dict[str, Any] = {"created": edit.before is None, "backup": edit.backup, "folders": folders, "made": []}
        made = (note or first)["made"]
        made += [list(keys) for keys in edit.made if list(keys) not in made]
        # What somebody else changed since our last time has our entry in it: it is no state to go back to.
        after = _digest(edit.after) if note is None or known else ""
        notes.setdefault(edit.path, {})[owner] = (note or first) | {"after": after}
    if done:
        _write_notes(notes)


def give_back(edit: FileEdit, owner: str) -> dict[str, Any] | None:
    """What was noted of a file; when nobody changed it since, `edit` gives back what it was."""
    note: dict[str, Any] | None = read_notes().get(edit.path, {}).get(owner)
    if note is None or edit.before is None or note["after"] != _digest(edit.before):
        return note
    if note["created"]:
        edit.after = None
    else:
        with suppress(errors.DocumentUnreadable):
            edit.after, _ = read_file(note["backup"], MOST)
    return note


@_alone()
def finish(edits: "Sequence[FileEdit]", owner: str) -> None:
    """Make the changes of a teardown, and forget what was noted. Raises ClientFileUnwritable."""
    notes = read_notes()
    folders: list[str] = []
    for edit in edits:
        note = notes.get(edit.path, {}).pop(owner, None) or {
            "created": False,
            "backup": "",
            "folders": [],
            "made": [],
        }
        try:
            if edit.changed:
                _replace(edit.real, edit.before, edit.after)
        except OSError as exc:
            raise errors.ClientFileUnwritable(path=edit.path, reason=exc.strerror or str(exc)) from exc
        with suppress(OSError, errors.DocumentUnreadable):  # a copy of what is there again
            if note["backup"] and read_file(note["backup"], MOST)[0] == edit.after:
                os.unlink(note["backup"])
        folders += note["folders"] if edit.after is None else []
        others = notes.get(edit.path, {})
        if not others:
            notes.pop(edit.path, None)
        for other in list(others.values())[:1]:  # whoever goes last takes out what all made
            other["made"] += note["made"]
            other["created"] = other["created"] or note["created"]
            other["folders"] += note["folders"]
    for folder in sorted(folders, key=len, reverse=True):
        with suppress(OSError):  # others have put something there
            os.rmdir(folder)
    _write_notes(notes)


def read_notes() -> dict[str, dict[str, Any]]:
    """What was changed: path -> owner -> what it was; empty where nothing can be read."""
    import json

    try:
        found = json.loads(state.read(os.path.join(state.folder(), FILE)))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _write_notes(notes: dict[str, dict[str, Any]]) -> None:
    import json

    folder = state.folder()
    path = os.path.join(folder, FILE)
    with suppress(OSError):  # without them teardown takes our entries out one by one
        if notes:
            state.write(path, json.dumps(notes, indent=1).encode())
        else:
            os.unlink(path)


def _digest(data: bytes | None) -> str:
    from hashlib import sha256

    return "" if data is None else sha256(data).hexdigest()


def _missing_folders(path: str) -> list[str]:
    """The folders above a path that are not there, the innermost first."""
    missing = []
    folder = os.path.dirname(path)
    while not os.path.isdir(folder) and folder != os.path.dirname(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    return missing


def _back_up(edit: FileEdit) -> str:
    """Copy the file beside itself, readable by no more people; the path of the copy. Raises OSError."""
    stamp = "".join(char if char.isdigit() else "_" if char in " T" else "" for char in ids.timestamp_sql()[:19])
    path, number = f"{edit.real}.bak.{stamp}", 1
    while os.path.lexists(path):
        number += 1
        path = f"{edit.real}.bak.{stamp}-{number}"
    state.write(path, edit.before or b"", stat.S_IMODE(os.stat(edit.real).st_mode))
    return path


def _replace(path: str, before: bytes | None, after: bytes | None) -> None:
    """Put a file there as a whole, or take it away. Raises OSError, also when its program has just changed it."""
    now = None
    if os.path.lexists(path):
        with open(path, "rb") as file:
            now = file.read()
    if now != before:
        raise OSError("its program has just changed it; run the command again")
    if before is not None and not os.stat(path).st_mode & 0o222:
        raise OSError("it is read-only")
    if after is None:
        os.unlink(path)
        return
    if before is None:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        state.write(path, after, 0o644)
        return
    info = os.stat(path)
    state.write(path, after, stat.S_IMODE(info.st_mode))
    if hasattr(os, "geteuid") and os.geteuid() == 0 != info.st_uid:  # sudo must not lock the user out
        os.chown(path, info.st_uid, info.st_gid)
