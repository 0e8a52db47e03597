"""What an operation works with: the store it declared, the settings, standard input, and a place for remarks.

The command line builds a Context from its flags; a program gets one from `open_context()` and calls operations as
plain functions: `with open_context(db="m.db") as ctx: hits = search(ctx, "words")`.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from memctl import errors, registry, state
from memctl.annotations import TYPE_CHECKING, Any
from memctl.context.nearest import DEFAULT_STORE as DEFAULT_STORE
from memctl.context.nearest import nearest_store as nearest_store
from memctl.context.nearest import personal_store as personal_store
from memctl.names import DEFAULT_SCOPE, GLOBAL_SCOPE
from memctl.operation import CREATE, NONE, READ, WRITE, Access, Param
from memctl.paths import real_path

if TYPE_CHECKING:
    from typing import BinaryIO

    from memctl.config import Loaded, MemoryConfig
    from memctl.context.project import ProjectIdentity
    from memctl.policy import MemoryPolicy
    from memctl.store.database import Database
    from memctl.store.workspaces import Workspace

_RANK = {NONE: 0, READ: 1, WRITE: 2, CREATE: 3}


class ToolBounds:
    """What a model may do that calls through a tool. The server gives every call's context its bounds.

    roots  the canonical folders that documents are read from; None: any folder
    """

    __slots__ = ("roots",)

    def __init__(self, roots: Sequence[str] | None) -> None:
        self.roots = None if roots is None else tuple(roots)


class Context:
    """The surroundings of one operation. The store and the config are opened when they are first used.

    db, config      paths the caller gave; None = found by the rules of `db_path` and `config_path`
    found           `db` was found by these rules, too, and not named by anybody
    environ, cwd    the environment and the folder that relative paths start from (default: the process's)
    stdin           binary stream, None when it is closed
    say             takes one line that is meant for people; None = nobody listens
    progress        the same for a line that the next one replaces; None = nobody watches
    emit            takes a piece of the answer while it is being made; None = it is printed when it is there
    quiet           `note()` says nothing, `warn()` still does
    tty             which of "stdin", "stdout", "stderr" are terminals
    actor           who works here, as the journal names it: person, tool or program
    """

    def __init__(
        self,
        *,
        db: str | None = None,
        config: str | None = None,
        found: bool = False,
        environ: Mapping[str, str] | None = None,
        cwd: str | None = None,
        stdin: "BinaryIO | None" = None,
        say: Callable[[str], None] | None = None,
        progress: Callable[[str], None] | None = None,
        emit: Callable[[str], None] | None = None,
        quiet: bool = False,
        verbose: bool = False,
        json: bool = False,
        tty: frozenset[str] = frozenset(),
        actor: str = "program",
    ) -> None:
        self.db_flag, self.config_flag = db, config
        self.environ = os.environ if environ is None else environ
        self.stdin, self.quiet, self.verbose, self.json, self.tty = stdin, quiet, verbose, json, tty
        #: Whether standard output is a terminal whose user did not refuse colour.
        self.color = "stdout" in tty and not self.environ.get("NO_COLOR") and self.environ.get("TERM") != "dumb"
        self._cwd, self._say, self._progress = cwd, say, progress
        self.place: str | None = None  # the folder whose project it is, when that is not `cwd`
        self.emit = emit
        self.input: bytes | None = None  # what was read of standard input
        self._access: Access = NONE
        self._db: Database | None = None
        self._db_path = ""
        self._found = found
        self._said: set[str] = set()
        self._loaded: Loaded | None = None
        self.loosens: list[str] = []  # keys of a config file that loosen policy, or name a host or a program
        self.ignored: list[str] = []  # such keys that do not count, as nobody has vouched for the file
        self._policy: MemoryPolicy | None = None
        self.bounds: ToolBounds | None = None  # what a model may do that calls through a tool; None: a person calls
        self.actor, self.client, self.session = actor, "", ""  # who works here; of a tool also for whom
        self._command = self._reason = ""  # of the operation that is running
        self.metrics: Any = None  # the counters of the server that runs this, a `mcp.metrics.Metrics`

    def __enter__(self) -> "Context":  # noqa: PYI034 - typing.Self is 3.11
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def scratch(self) -> "Context":
        """The same surroundings with an empty store that no file keeps: it is gone when this context is closed."""
        from copy import copy

        from memctl.store import connect

        _ = self.policy  # what is read from files is read once, and said once
        twin = copy(self)
        twin._access = CREATE
        twin._db = connect.open_write(connect.SCRATCH, create=True, tokenizer=self.tokenizer)
        return twin

    def close(self) -> None:
        """Close the store; it is opened again if it is used again."""
        db, self._db = self._db, None
        if db is not None:
            db.close()

    # --- where things are ----------------------------------------------------------------------------------------

    @property
    def cwd(self) -> str:
        """The folder that relative paths start from. Raises FileMissing when it was deleted."""
        if self._cwd is None:
            try:
                self._cwd = os.getcwd()
            except OSError as exc:
                raise errors.FileMissing(path="the current folder", reason=exc.strerror) from exc
        return self._cwd

    def absolute(self, path: str) -> str:
        """`path` with `~` expanded, seen from `cwd`."""
        path = os.path.expanduser(path)
        return os.path.normpath(path if os.path.isabs(path) else os.path.join(self.cwd, path))

    def env(self, name: str) -> str | None:
        """An environment variable; an empty one counts as unset."""
        return self.environ.get(name) or None

    @property
    def db_path(self) -> str:
        """The store's absolute path, whether it exists or not.

        `--db`, else MEMCTL_DB, else `store.db_path` of a config file named with --config, else the nearest
        `.memory/memory.db` in the current folder or one above it, else the personal store if there is one, else
        `.memory/memory.db` here.
        """
        if not self._db_path:
            named = self.db_flag or self.env("MEMCTL_DB")
            if not named and self.config_flag is not None and self.is_configured("store.db_path"):
                # What stands in a file is seen from that file: the same store, wherever the command is given.
                path = os.path.expanduser(self.config.store.db_path)
                named = os.path.join(os.path.dirname(self.absolute(self.config_flag)), path)
            self._found = self._found or not named
            self._db_path = self.absolute(named) if named else nearest_store(self.cwd, self.warn_once)
        return self._db_path

    @property
    def is_found(self) -> bool:
        """Whether nobody named the store: it is trusted only if it is known to be this user's own."""
        return bool(self.db_path) and self._found

    # --- scopes --------------------------------------------------------------------------------------------------

    @property
    def is_personal(self) -> bool:
        """Whether the store is the personal one, in which each project has a scope."""
        return self.db_path == personal_store()

    @property
    def project(self) -> "ProjectIdentity":
        """The project of the current folder."""
        from memctl.context.project import project_of

        return project_of(self.place or self.cwd)

    def scope_named(self, name: str) -> str:
        """The scope of a name: in the personal store the word `project` means that of the current folder's project."""
        return self.project.scope if name == DEFAULT_SCOPE and self.is_personal else name

    def read_set(self, scope: str | None, all_scopes: bool = False) -> tuple[str, ...] | None:
        """The scopes that a read of one sees: also `global`, and those that this project had before; None: every."""
        from memctl.store.filters import Filters

        found = Filters.read_set(scope and self.scope_named(scope), all_scopes)
        if found is None or not self.is_personal:
            return found
        project = self.project
        return tuple(dict.fromkeys((*found, *project.former))) if found[0] == project.scope else found

    def workspace(self, name: str) -> "Workspace":
        """The saved view of this name, with the scopes that it means here. Raises WorkspaceNotFound."""
        from memctl.store import workspaces

        saved = workspaces.named_workspace(self.db, name)
        if not self.is_personal:
            return saved
        return saved._replace(
            scope=self.scope_named(saved.scope), read_scopes=tuple(map(self.scope_named, saved.read_scopes))
        )

    @property
    def config_path(self) -> str | None:
        """The config file: `--config`, else `config.json` beside the store if there is one, else None."""
        if self.config_flag is not None:
            return self.absolute(self.config_flag)
        path = os.path.join(os.path.dirname(self.db_path), "config.json")
        return path if os.path.exists(path) else None

    # --- the store -----------------------------------------------------------------------------------------------

    def allow(self, access: Access) -> None:
        """Say what the store may be opened for; a handle that allows less is closed first."""
        if _RANK[access] > _RANK[self._access]:
            self.close()
            self._access = access

    def narrow(self, access: Access) -> None:
        """Say that this run, so far, needs the store for less than its operation declared."""
        if self._db is None:
            self._access = access

    def begin_run(self, command: str, reason: str | None = None) -> bool:
        """An operation begins: what it writes is one run of the journal. False within another operation."""
        if self._command:
            return False
        self._command, self._reason = command, reason or ""
        if self._db is not None:
            self._name_run(self._db)
        return True

    def end_run(self) -> None:
        """The operation that began first is over."""
        self._command = ""

    def run_key(self) -> dict[str, str]:
        """What an answer says of the run that an operation has made, which `undo` takes back; nothing of none."""
        run = "" if self._db is None or self._db.journal is None else self._db.journal.committed
        return {"run": run} if run else {}

    def _name_run(self, db: "Database") -> None:
        """Tell the journal of a handle that writes whose run it is."""
        if db.journal is not None:
            from memctl.store.journal import RunAbout

            name = self.client if self.actor == "tool" else self.env("LOGNAME") or self.env("USER") or ""
            if self.is_configured("history"):
                db.journal.keep = self.config.history.keep_days, self.config.history.share
            reason = self.policy.redact(self._reason) if self._reason else ""
            db.journal.start(RunAbout(self._command, self.actor, name, self.session, reason))

    @property
    def db(self) -> "Database":
        """The open store. Raises StoreMissing for READ and WRITE when there is none."""
        if self._db is None:
            self._db = self._open()
        return self._db

    def _open(self) -> "Database":
        from memctl.store import connect

        if self._access == NONE:
            raise RuntimeError("this operation did not declare that it uses the store")
        path = self.db_path  # finds out, too, whether anybody named it
        if self._access == READ:
            db = self._open_found(path) if self._found else connect.open_read(path)
            db.say = self.warn
            return db
        store_id = None
        if self._found:
            from memctl.context import store_trust

            store_id = store_trust.check_known(path)
        db = connect.open_write(
            path, create=self._access == CREATE, tokenizer=self.tokenizer, wal=self.config.store.wal_mode,
            found=self._found, store_id=store_id, say=self.warn,
        )  # fmt: skip
        if self._found and store_id is None:
            self.note(f"Made a store: {path}")
            if state.folder() == state.fallback():
                self.warn(f"HOME is not set: that it is yours stands in {state.folder()}, and is lost with that folder")
            if registry.find(path) is None:
                self.warn(f"That it is yours cannot be written down in {state.folder()}: from now on name it with --db")
        elif self._found:
            registry.refresh(path)
        self._name_run(db)
        return db

    def _open_found(self, path: str) -> "Database":
        from memctl.store import connect

        entry = None if registry.placement_problem(path) else registry.find(path)
        if entry is not None and entry.how != registry.UNTRUSTED:
            db = connect.open_read(path)
            if db.store_id == entry.store_id:
                return db
            db.close()
        from memctl.context import store_trust

        return store_trust.open_unnamed(self, path)

    @property
    def tokenizer(self) -> str | None:
        """The full-text tokenizer for a store that is made now: MEMCTL_FTS, else config.json, else None."""
        return self.env("MEMCTL_FTS") or (
            self.config.store.fts_tokenizer if self.is_configured("store.fts_tokenizer") else None
        )

    # --- settings ------------------------------------------------------------------------------------------------

    @property
    def config(self) -> "MemoryConfig":
        """The config file's values over the defaults. Raises ConfigUnreadable and SettingInvalid."""
        loaded = self._load()
        if loaded is not None:
            return loaded.config
        from memctl.config import MemoryConfig

        return MemoryConfig()

    def is_configured(self, path: str) -> bool:
        """Whether the config file names `section.key`, or any key of a section."""
        loaded = self._load()
        return loaded is not None and any(f"{given}.".startswith(f"{path}.") for given in loaded.given)

    def _load(self) -> "Loaded | None":
        if self._loaded is None:
            path = self.config_path
            if path is None:
                return None
            from memctl.config import read_config

            loaded = read_config(path, named=self.config_flag is not None)
            if not (loaded.foreign and self.config_flag is None):  # another program's config.json beside the store
                for line in loaded.unknown:
                    self.warn(f"{path}: {line}")
            if loaded.invalid:
                raise errors.SettingInvalid(origin=path, message="; ".join(loaded.invalid))
            loose = loaded.loosening()
            if loose:  # all of a named file counts, and of one that the store's user has vouched for
                from memctl.context import store_trust

                why = "" if self.config_flag is not None else store_trust.config_objection(self, path)
                if why:
                    self.ignored = loose
                    self.warn_once(f"{path}: {', '.join(loose)}: not used, as {why}")
                    loaded = loaded.limited()
                else:
                    self.loosens = loose
            self._loaded = loaded
        return self._loaded

    def setting(self, param: Param) -> Any:
        """The value of a parameter that the caller did not give: environment, else config.json, else its default."""
        name = param.arg.env
        text = self.env(name) if name else None
        if text is not None:
            try:
                return param.value(text)
            except ValueError as exc:
                raise errors.SettingInvalid(origin=name, message=str(exc)) from exc
        key = param.arg.config
        if key is None or not self.is_configured(key):
            return param.default
        try:
            return param.check(self.config.value(key))
        except ValueError as exc:
            raise errors.SettingInvalid(origin=f"{self.config_path}: {key}", message=str(exc)) from exc

    @property
    def policy(self) -> "MemoryPolicy":
        """The policy engine with the config's policy section."""
        if self._policy is None:
            from memctl.policy import MemoryPolicy

            self._policy = MemoryPolicy(self.config.policy)
        return self._policy

    # --- what the caller may do ----------------------------------------------------------------------------------

    @property
    def readable_roots(self) -> tuple[str, ...] | None:
        """The folders that the caller may have read; None: any."""
        return None if self.bounds is None else self.bounds.roots

    def may_read(self, folder: str) -> bool:
        """Whether the caller may have a folder read, links followed."""
        roots = self.readable_roots
        if roots is None:
            return True
        place = os.path.join(real_path(folder), "")
        return any(place.startswith(os.path.join(root, "")) for root in roots)

    def check_folder(self, folder: str) -> None:
        """Raise ToolRefused when the caller may not have this folder read."""
        if not self.may_read(folder):
            raise errors.ToolRefused(
                what=f"read {self.policy.redact(folder)}: it is not in a folder that this server may read",
                remedy="memctl sync in a terminal, or memctl serve --allow-root",
            )

    def refuse_to_tools(self, what: str, command: str) -> None:
        """Raise ToolRefused when a model calls; `command` is what a person does it with."""
        if self.bounds is not None:
            raise errors.ToolRefused(what=what, remedy=command)

    # --- people --------------------------------------------------------------------------------------------------

    def stdin_bytes(self) -> bytes:
        """All of standard input; nothing when it is closed."""
        self.input = b"" if self.stdin is None else self.stdin.read()
        return self.input

    def stdin_text(self) -> str:
        """All of standard input as text: a byte order mark is dropped, bytes that are not UTF-8 become U+FFFD."""
        return self.stdin_bytes().decode("utf-8-sig", "replace")

    def note(self, message: str) -> None:
        """Tell people something in passing; nothing when they asked for quiet."""
        if not self.quiet:
            self.warn(message)

    def warn(self, message: str) -> None:
        """Tell people something they must know."""
        if self._say is not None:
            self._say(message)

    def warn_once(self, message: str) -> None:
        """The same, when it has not been said here before."""
        if message not in self._said:
            self._said.add(message)
            self.warn(message)

    @property
    def watched(self) -> bool:
        """Whether somebody sees `progress()`: a terminal, or a client that asked for it."""
        return self._progress is not None and not self.quiet

    def progress(self, message: str) -> None:
        """Show how far the work is, where somebody watches; the next line replaces it."""
        if self._progress is not None and not self.quiet:
            self._progress(message)

    @contextmanager
    def at_work(self, label: str) -> "Iterator[None]":
        """Show a person who watches, each second, that what is done within goes on; it cannot say how far it is."""
        if not self.watched or self.bounds is not None:
            yield
            return
        from threading import Event, Thread

        done = Event()

        def tell() -> None:
            seconds = 1
            while not done.wait(1):
                self.progress(f"[{label}] working: {seconds} s")
                seconds += 1

        thread = Thread(target=tell, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()


def open_context(db: str | os.PathLike[str] | None = None, **options: Any) -> Context:
    """A Context for a program of one's own; the options are those of Context. Close it, or use it with `with`."""
    return Context(db=None if db is None else os.fspath(db), **options)


def status_in_short(ctx: Context) -> tuple[dict[str, Any], str]:
    """The scope of this project, how many items it has, and how many `global` has beside it; as data and as a line.

    The line is empty where there is no store.
    """
    if not os.path.exists(ctx.db_path):
        return {"status": "ok", "db_exists": False}, ""
    from memctl.store.filters import count_active

    scope = ctx.scope_named(DEFAULT_SCOPE)
    own = count_active(ctx.db, [one for one in ctx.read_set(scope) or () if one != GLOBAL_SCOPE])
    shared = count_active(ctx.db, [GLOBAL_SCOPE])
    data = {"status": "ok", "db_exists": True, "scope": scope, "items": own, "global_items": shared}
    return data, f"{scope} {own}" + (f" +{shared}" if shared else "")
