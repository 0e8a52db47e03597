"""The error tree. A class is one kind of failure: its docstring is the message template, its name the slug.

The command line prints `memctl: message` and `hint: …` and exits with `exit_code`: 1 for what a user can put right, 2
for what is broken; `cli/__init__.py` adds 130, 141 and 143 for a command that was stopped. The MCP server answers with
the same words. Slugs are a contract: never renamed, never reused.
"""

from collections import defaultdict

from memctl.annotations import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import ClassVar


class MemctlError(Exception):
    """{message}"""

    exit_code: "ClassVar[int]" = 1
    hint: "ClassVar[str]" = ""

    def __init__(self, message: str = "", **fields: object) -> None:
        self.fields = dict(fields, message=message) if message else fields
        template = (type(self).__doc__ or "{message}").strip()
        self.message = template.format_map(defaultdict(str, self.fields))
        super().__init__(self.message)

    @property
    def slug(self) -> str:
        """The class name in kebab case: `StoreMissing` is `store-missing`."""
        return slug_of(type(self))

    def advice(self) -> str:
        """The hint with this error's fields filled in, or the `remedy` that it was raised with; "" for neither."""
        own = "" if "{remedy}" in self.hint else self.fields.get("remedy")
        return str(own or self.hint.format_map(defaultdict(str, self.fields)))

    def as_dict(self) -> dict[str, str]:
        """The error as machines read it, on stderr and over MCP."""
        out = {"error": self.slug, "message": self.message}
        advice = self.advice()
        return out | {"hint": advice} if advice else out


def slug_of(cls: type[MemctlError]) -> str:
    """The machine-readable name of an error class."""
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in cls.__name__).lstrip("-")


# --- what the caller gave us ------------------------------------------------------------------------------------


class UsageError(MemctlError):
    """{message}"""

    hint = "memctl {command} --help"


class ArgumentInvalid(MemctlError):
    """{name}: {message}"""

    hint = "the tool's schema lists its arguments"


class JsonInvalid(MemctlError):
    """Invalid JSON in {name}: {reason}"""

    hint = "give an array of JSON objects, or one of them"


class UnknownCommand(UsageError):
    """unknown command '{name}'{guess}"""

    hint = "memctl --help lists the commands, memctl docs the pages of the documentation"


class GuardFailed(MemctlError):
    """[memctl guard] BLOCKED: the safety guard cannot judge the call: {reason}"""

    exit_code = 2  # to a client this means: do not run the tool
    hint = "take the hook (memctl hooks safety-guard) out of the client's settings, such as ~/.claude/settings.json"


class SettingInvalid(MemctlError):
    """{origin}: {message}"""

    hint = "a setting comes from the flag, else the environment, else config.json, else its default"


class TimeInvalid(MemctlError):
    """{option}: '{value}' is not a time"""

    hint = "for example 2026-11-20, 2026-11-20T15:30Z, 7d, 2w, 3mo, 30min, yesterday; times are UTC"


class TimeOver(MemctlError):
    """{option}: '{value}' is over already"""

    hint = "give a time to come: 2099-01-31, 30d, never; memctl forget puts an item away now"


class TimesCrossed(MemctlError):
    """--since {since} is later than --until {until}: no item can be made between them"""

    hint = "swap them; 7d is seven days ago, so --since 7d --until 2d is the older part of a week"


class ConfigUnreadable(MemctlError):
    """cannot use the config file {path}: {reason}"""

    hint = "memctl config check says what is wrong, memctl config edit mends it; --config names another file"


class ConfigNotChanged(MemctlError):
    """{path} was not changed: {reason}"""

    hint = "your text is kept in {draft}; memctl config edit goes on from it"


class EditorFailed(MemctlError):
    """cannot edit with {editor}: {reason}"""

    hint = "VISUAL or EDITOR names an editor; what was written is in {draft}"


class SourceNotFound(MemctlError, FileNotFoundError):
    """source not found: '{source}' (resolved to '{path}')"""

    hint = "pass a file, a folder, a glob pattern, or - for standard input"


class NothingReadable(MemctlError):
    """none of the {count} file(s) given could be read"""

    hint = "the lines above say why, file by file"


class EmptyInput(MemctlError):
    """no input received on stdin"""

    hint = "pipe the text in, or redirect a file with <"


class InputNotText(MemctlError):
    """cannot read {name} as text: {reason}"""

    hint = "give text, best as UTF-8; iconv converts other encodings"


class NothingStored(MemctlError):
    """nothing was stored: {reason}"""

    hint = "secrets and injected instructions are never stored; memctl policy test shows what a text meets"


class NothingImported(MemctlError):
    """nothing was imported: {reason}"""

    hint = "the lines above say what is wrong with each"


class QuestionsInvalid(MemctlError):
    """cannot use the questions in {path}: {reason}"""

    hint = 'one JSON object a line, such as {{"question": "how do we deploy?", "expected": ["docs/deploy.md"]}}'


class EmbedderFailed(MemctlError):
    """cannot use the embedder {embedder}: {reason}"""

    hint = "memctl docs embeddings says how an embedder is named and what it must answer"


class EmbedderMissing(MemctlError):
    """no embedder is named"""

    hint = "--embedder or MEMCTL_EMBEDDER names one, such as ollama:nomic-embed-text"


class ItemNotFound(MemctlError):
    """item not found: {id}"""

    hint = "memctl search or memctl list shows the ids there are"


class ItemUnchangeable(MemctlError):
    """{id} cannot be changed: {reason}"""

    hint = "{remedy}"


class ItemNotChanged(MemctlError):
    """{id} was not changed: {reason}"""

    hint = "your text is kept in {draft}; memctl edit {id} goes on from it"


class TierReached(MemctlError):
    """Item already at {tier} (target: {target})"""

    hint = "promotion goes upwards: stm, mtm, ltm"


class FileMissing(MemctlError):
    """cannot read {path}: {reason}"""

    hint = "{remedy}"


class TextTooLong(MemctlError):
    """a statement has at most {limit} characters, and this one has {size}"""

    hint = "memctl pull stores a long text in parts, memctl push --source FILE a document"


class SessionInvalid(MemctlError):
    """cannot use this session: {reason}"""

    hint = "a session's id looks like project:conversation"


class SessionNotFound(MemctlError):
    """session not found: {id}"""

    hint = "memctl session list shows the ones there are"


class ConflictNotFound(MemctlError):
    """there is no such conflict, or more than one: {id}"""

    hint = "memctl conflicts lists the ones there are"


class RevisionMissing(MemctlError):
    """there is no such revision of {id}: {what}"""

    hint = "memctl history shows the ones there are"


class RunNotFound(MemctlError):
    """run not found: {id}"""

    hint = "memctl log shows the runs there are"


class RunFinal(MemctlError):
    """{run} ({command}) cannot be undone: {reason}"""

    hint = "memctl log shows the runs there are; memctl undo RUN takes another one back"


class WorkspaceNotFound(MemctlError):
    """workspace not found: {name}"""

    hint = "memctl workspace list shows the ones there are; --scope names a scope directly"


# --- the store --------------------------------------------------------------------------------------------------


class StoreMissing(MemctlError):
    """no store at {path}"""

    hint = "memctl init makes one; --db or MEMCTL_DB names another"


class StoreUntrusted(MemctlError):
    """{path} is not a store of yours: you have neither made it here nor said that you trust it"""

    hint = "reading works, at low trust; memctl trust, in its folder or with its path, says that you trust it"


class StoreUnsafe(MemctlError):
    """{path} is not opened: {what}"""

    exit_code = 2
    hint = "no store of memctl's looks like this; ask whoever gave it to you, or name another one with --db"


class TrustUnwritable(MemctlError):
    """cannot write down that {path} is trusted: {folder} cannot be written to"""

    hint = "name the store instead: --db FILE or MEMCTL_DB; or set XDG_STATE_HOME to a folder of yours"


class StoreBusy(MemctlError):
    """another program is writing to {path} and did not finish in {seconds:.0f} s"""

    hint = "nothing was lost or changed; try again"


class StoreReadOnly(MemctlError):
    """cannot write to {path}: {reason}"""

    hint = "reading works; to write, give --db a file in a folder you may write to"


class StoreUnreadable(MemctlError):
    """cannot read {path}: {reason}"""

    hint = "ask its owner, or name another store with --db"


class StoreUnmakeable(MemctlError):
    """cannot make a store at {path}: {reason}"""

    hint = "name a place you may write to, with memctl init FOLDER or --db FILE"


class StoreFull(MemctlError):
    """no space left to write to {path}"""

    exit_code = 2
    hint = "what was finished before is kept; free some space and run the same command again"


class NotADatabase(MemctlError):
    """{path} is not a memctl store: {reason}"""

    exit_code = 2
    hint = "name another file with --db, or move this one away"


class BackupExists(MemctlError):
    """there is a file already: {path}"""

    hint = "choose another name; backup --force replaces it"


class NothingSalvaged(MemctlError):
    """no item can be read from {path}"""

    hint = "is it a store, and the whole of it? else restore a backup (memctl backup made it); the file is as it was"


class SalvageExists(MemctlError):
    """there is a file already: {path}"""

    hint = "choose another name: what is saved becomes a store of its own"


class BackupFailed(MemctlError):
    """cannot write {path}: {reason}"""

    hint = "choose another place; the store is as it was"


class StoreCorrupt(MemctlError):
    """the store {path} is damaged: {reason}"""

    exit_code = 2
    hint = "keep the file; restore a backup, or read what can be read with memctl salvage FILE NEW"


class StoreTooNew(MemctlError):
    """{path} has schema {found}, and this memctl knows up to {known}"""

    hint = "upgrade memctl; the file was not changed"


class StoreFailed(MemctlError):
    """SQLite could not do this on {path}: {reason}"""

    exit_code = 2


class StoreIncomplete(StoreFailed):
    """the store {path} has lost a part: {reason}"""

    hint = "another program has taken it away; restore a copy or an export"


class StoreOversized(StoreFailed):
    """something in the store {path} is too large to be read: {reason}"""

    hint = "a text or a vector that memctl did not store; the program that did can shorten it"


class TokenizerInvalid(MemctlError):
    """unsafe or unknown FTS5 tokenizer: {tokenizer}"""

    hint = "use fr, en, raw, or a tokenizer that SQLite knows, such as: porter unicode61"


# --- documents --------------------------------------------------------------------------------------------------


class DocumentUnreadable(MemctlError):
    """cannot read {path}: {reason}"""

    hint = "the other files are not affected"


# --- the command line -------------------------------------------------------------------------------------------


class GlobalOptionInvalid(MemctlError):
    """{message}"""

    hint = "memctl --help lists what may stand before a command; its own options come after its name"


class OutputFailed(MemctlError):
    """cannot write to standard output: {reason}"""

    hint = "the answer is incomplete; nothing else was lost"


# --- models -----------------------------------------------------------------------------------------------------


class ModelUnnamed(MemctlError):
    """no model command is named"""

    hint = "--llm or MEMCTL_LLM names one, such as --llm 'claude -p'"


class ModelMissing(MemctlError):
    """LLM command not found: '{program}'"""

    hint = "--llm takes a program on PATH with its words, such as --llm 'claude -p'; no shell looks at it"


class ModelUnusable(MemctlError):
    """cannot run the LLM command '{command}': {reason}"""

    hint = "--llm takes a program with its words, such as --llm 'claude -p'; no shell looks at it"


class ModelFailed(MemctlError):
    """LLM command failed ({how}){said}"""

    hint = "run the command by hand with a short prompt; -v shows all that it says on stderr"


class ModelTimeout(MemctlError):
    """LLM command timed out after {seconds}s: {command}"""

    hint = "it was stopped with all it had started; --timeout gives it more seconds"


class NoContext(MemctlError):
    """No input on stdin. Pipe from 'memctl push' or provide context."""

    hint = "memctl push QUERY | memctl loop QUERY --llm CMD"


class EmptyContext(MemctlError):
    """Empty input on stdin."""

    hint = "memctl push and memctl recall print nothing when nothing matches; stderr says so"


class ProtocolBroken(MemctlError):
    """Protocol error: the answer of call {call} has no JSON object with need_more and stop"""

    hint = "without --strict such an answer is taken as it is; --protocol passive asks for none"


class TraceMissing(MemctlError):
    """Trace file not found: {path}"""

    hint = "--trace-file FILE writes one"


class TraceUnwritable(MemctlError):
    """cannot write the trace to {path}: {reason}"""

    hint = "name a file in a folder you may write to; no model was asked"


class FolderUnwritable(MemctlError):
    """cannot write the notes to {path}: {reason}"""

    hint = "name a folder that you may write to, with --output"


class TraceInvalid(MemctlError):
    """cannot replay {path}: {reason}"""

    hint = "--replay takes what --trace-file wrote, one JSON object a line"


class ClientFileRefused(MemctlError):
    """{path} was left as it is: {reason}"""

    hint = "put it right by hand, or take it out of the way, and run the command again"


class ClientFileUnwritable(MemctlError):
    """cannot write {path}: {reason}"""

    hint = "nothing was changed; memctl setup --dry-run shows what it would write"


class EntryTaken(MemctlError):
    """{path} has an entry memctl already, and it runs something else: {command}"""

    hint = "--force replaces it"


# --- the server -------------------------------------------------------------------------------------------------


class TokensNeeded(MemctlError):
    """will not listen on {host}, where others could connect, without tokens"""

    hint = "--token-file FILE names the tokens that callers must have; --host 127.0.0.1 stays on this machine"


class TokenFileInvalid(MemctlError):
    """cannot use the token file {path}: {reason}"""

    hint = "memctl docs mcp-security says what stands in it; chmod 600 keeps it private"


class SdkMissing(MemctlError):
    """HTTP and --sdk need the MCP SDK, which is not installed"""

    hint = "pip install 'memctl[http]' brings it; without --transport the server needs no package at all"


class SdkUnusable(MemctlError):
    """the MCP SDK that is installed cannot be used: {reason}"""

    hint = "pip install --upgrade 'memctl[http]' brings one that can"


class StreamsClosed(MemctlError):
    """standard input or output is closed, and the server would speak on them"""

    hint = "the client that starts the server gives it both; --transport streamable-http needs neither"


class PlaceRefused(MemctlError):
    """{message}"""

    hint = "--db names the store, --db-root the folder it must be in"


class ToolRefused(MemctlError):
    """a tool may not {what}"""

    hint = "this is left to the person whose memory it is: {remedy}"


class TooManyGone(MemctlError):
    """{count} of {there} files would leave the memory; a tool archives no more than half, so none was archived"""

    hint = "when they are gone for good, memctl sync in a terminal takes them out; --dry-run --report shows which"


class AddressTaken(MemctlError):
    """cannot listen on {host}:{port}: {reason}"""

    hint = "--host and --port name another address; --port 0 takes any that is free"
