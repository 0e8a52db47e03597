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
#: What is noted of a file for an owner: digests of it before the first change and after the last (None: somebody else
#: changed it between two of ours), what of it was made, and the copies.
_NOTHING: dict[str, Any] = {
    "created": False, "before": "", "after": None, "backups": [], "folders": [], "made": [], "parts": [],
}  # fmt: skip
_BOM = "\ufeff"


class FileEdit:
    """A change of one file, not yet made.

    path    the file, as its program names it; real: without links
    before  its bytes, None when it is not there; after: what they become, None when it goes
    made    the ways inside it that the change adds, for teardown to take out again when they are empty
    parts   what it enters that another client may enter in the same way: the server, the block of instructions
    backup  where a copy of the file goes; "" for none
    """

    __slots__ = ("after", "backup", "before", "made", "parts", "path", "real")

    def __init__(self, path: str, inside: str | None = None) -> None:
        """Read the file; with `inside` it must be in this folder, whatever links say. Raises ClientFileRefused."""
        self.path, self.real, self.backup = path, real_path(path), ""
        self.made: list[Any] = []
        self.parts: list[str] = []
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

    @contextmanager
    def refusing(self) -> "Iterator[None]":
        """Raise ClientFileRefused for a ValueError: what is inside cannot read the file, or not change it."""
        try:
            yield
        except ValueError as exc:
            raise errors.ClientFileRefused(path=self.path, reason=str(exc)) from None

    def change(self, edit: "Callable[[str], str]") -> None:
        """Let it hold what `edit` makes of its text. Raises ClientFileRefused where that raises ValueError."""
        text = self.text()
        with self.refusing():
            new = edit(text)
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
    notes, former = read_notes(), read_notes()
    for edit in edits:
        _note(notes.setdefault(edit.path, {}), edit, owner)
    if notes != former:
        _write_notes(notes)  # first: whoever is killed meanwhile finds in them what to give back
    try:
        _make(edits)
    except errors.ClientFileUnwritable:
        _write_notes(former)
        raise


def _note(of_file: dict[str, dict[str, Any]], edit: FileEdit, owner: str) -> None:
    """Note what a change will have done; a part that another owner has entered already is shared with that one."""
    there, before = of_file.get(owner), _digest(edit.before)
    if not edit.changed:
        if there is None and any(set(edit.parts) & set(other["parts"]) for other in of_file.values()):
            of_file[owner] = _NOTHING | {"parts": edit.parts, "before": before, "after": before}
        return
    note = {**(there or _NOTHING), "after": _digest(edit.after)}
    if there is None or there["before"] == before:  # the first time, or again after one that was broken off
        missing, folder = [], os.path.dirname(edit.real)  # folders that are not there, the innermost first
        while not os.path.isdir(folder) and folder != os.path.dirname(folder):
            missing.append(folder)
            folder = os.path.dirname(folder)
        note |= {"before": before, "created": edit.before is None, "folders": missing}
    elif there["after"] != before:
        note["after"] = None  # what somebody else changed since has our entry in it: it is no state to go back to
    if edit.before is not None and (there is None or there["after"] != before):
        again = there is not None and there["before"] == before and there["backups"]
        edit.backup = there["backups"][0] if again and there else _backup_path(edit)
        note["backups"] = [*note["backups"], *([] if again else [edit.backup])]
    note["made"] = note["made"] + [list(keys) for keys in edit.made if list(keys) not in note["made"]]
    note["parts"] = sorted({*note["parts"], *edit.parts})
    of_file[owner] = note


def _make(edits: "Sequence[FileEdit]") -> None:
    """Change the files, all or none. Raises ClientFileUnwritable."""
    done: list[FileEdit] = []
    for edit in edits:
        state.sweep(edit.real)
    for edit in (edit for edit in edits if edit.changed):
        try:
            if edit.backup:
                state.write(edit.backup, edit.before or b"", stat.S_IMODE(os.stat(edit.real).st_mode))
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


def is_shared(path: str, part: str, owner: str) -> bool:
    """Whether another owner has entered this part of a file, too, and needs it."""
    return any(part in note["parts"] for other, note in read_notes().get(path, {}).items() if other != owner)


def give_back(edit: FileEdit, owner: str) -> dict[str, Any] | None:
    """What was noted of a file; when nobody changed it since, `edit` gives back what it was."""
    note: dict[str, Any] | None = read_notes().get(edit.path, {}).get(owner)
    if note is None or edit.before is None or note["after"] != _digest(edit.before):
        return note
    if note["created"]:
        edit.after = None
    elif note["backups"]:
        with suppress(errors.DocumentUnreadable):
            edit.after, _ = read_file(note["backups"][0], MOST)
    return note


@_alone()
def finish(edits: "Sequence[FileEdit]", owner: str) -> None:
    """Make the changes of a teardown, all or none, and forget what was noted. Raises ClientFileUnwritable."""
    _make(edits)
    notes = read_notes()
    folders: list[str] = []
    for edit in edits:
        of_file = notes.get(edit.path, {})
        note = of_file.pop(owner, None)
        if note is None:
            continue
        folders += note["folders"] if edit.after is None else []
        if of_file:  # another still uses it, and takes out what all made when it goes
            heir = next(iter(of_file.values()))
            shared = not edit.changed
            if shared and note["after"] != heir["after"]:
                heir["after"] = None  # one of the two states has the other's entry in it
            elif shared and not heir["backups"]:
                heir["backups"], note["backups"] = note["backups"], []
            heir["made"] += note["made"]
            heir["created"] = heir["created"] or note["created"]
            heir["folders"] += note["folders"]
        for copy in note["backups"]:
            with suppress(OSError):
                os.unlink(copy)
    for folder in sorted(folders, key=len, reverse=True):
        with suppress(OSError):  # others have put something there
            os.rmdir(folder)
    _write_notes(notes)


def read_notes() -> dict[str, dict[str, Any]]:
    """What was changed: path -> owner -> what it was; empty where nothing can be read."""
    import json

    try:
        found = json.loads(state.read(os.path.join(state.folder(), FILE)))
        return {path: {owner: _NOTHING | note for owner, note in of.items()} for path, of in found.items()}
    except (ValueError, AttributeError, TypeError):
        return {}


def _write_notes(notes: dict[str, dict[str, Any]]) -> None:
    import json

    folder = state.folder()
    path = os.path.join(folder, FILE)
    notes = {path: of_file for path, of_file in notes.items() if of_file}
    state.sweep(path)
    with suppress(OSError):  # without them teardown takes our entries out one by one
        if notes:
            state.write(path, json.dumps(notes, indent=1).encode())
        else:
            os.unlink(path)


def _digest(data: bytes | None) -> str:
    from hashlib import sha256

    return "" if data is None else sha256(data).hexdigest()


def _backup_path(edit: FileEdit) -> str:
    """Where a copy of the file is to stand: beside it."""
    stamp = "".join(char if char.isdigit() else "_" if char in " T" else "" for char in ids.timestamp_sql()[:19])
    path, number = f"{edit.real}.bak.{stamp}", 1
    while os.path.lexists(path):
        number += 1
        path = f"{edit.real}.bak.{stamp}-{number}"
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
