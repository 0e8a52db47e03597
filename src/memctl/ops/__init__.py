"""The table of operations: name -> (module, summary, group). Nothing here imports an operation.

A row's summary must equal the first line of the operation's docstring; a test holds that.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memctl.operation import Operation


class Row:
    """Where an operation lives, and what `memctl --help` says of it; with `cli=False` only the MCP server has it."""

    __slots__ = ("cli", "group", "module", "summary")

    def __init__(self, module: str, summary: str, group: str, *, cli: bool = True) -> None:
        self.module, self.summary, self.group, self.cli = module, summary, group, cli

    def load(self, name: str) -> "Operation":
        """The operation of this row's name; its module is imported now."""
        import sys

        __import__(self.module)  # importlib's own costs half a millisecond, which every command waits for
        module = sys.modules[self.module]
        function = name.replace("-", "_")
        found: Operation = getattr(module, function, None) or getattr(module, f"{function}_")  # import_, list_
        return found


class Option:
    """A global option: a switch, or one that takes a value if it has a metavar."""

    __slots__ = ("flags", "help", "metavar")

    def __init__(self, flags: tuple[str, ...], help: str, metavar: str = "") -> None:
        self.flags, self.help, self.metavar = flags, help, metavar


#: Understood by every command, before or after its name.
GLOBALS = (
    Option(
        ("--db",),
        "the store (environment MEMCTL_DB; else the nearest .memory/memory.db upwards, else the personal one)",
        "PATH",
    ),
    Option(("--config",), "the config file (else config.json beside the store)", "PATH"),
    Option(("--json",), "print the result as JSON, and errors as JSON on stderr"),
    Option(("-q", "--quiet"), "no remarks on stderr; warnings and errors stay"),
    Option(("-v", "--verbose"), "print more: all of a help page, what a model says on stderr, an internal error whole"),
    Option(("-h", "--help"), "show help and exit"),
    Option(("--version",), "print the version and exit"),
)


#: The groups of `memctl --help`, in order.
GROUPS = ("Start", "Connect", "Write", "Recall", "Look", "Change", "Move", "Care")

#: What `memctl --help` says a line about; of the others it names the names.
EVERYDAY = (
    "init", "setup", "remember", "pull", "push", "recall", "search", "sync", "list", "show", "forget", "undo", "ask",
    "status", "config", "docs",
)  # fmt: skip

TABLE: dict[str, Row] = {
    "init": Row("memctl.ops.start.init", "Make a store and print the line that selects it", "Start"),
    "serve": Row("memctl.ops.start.serve", "Serve the memory to AI clients over the Model Context Protocol", "Start"),
    "docs": Row("memctl.ops.start.docs", "Read the documentation", "Start"),
    "setup": Row("memctl.ops.connect.setup", "Put memory into AI clients", "Connect"),
    "teardown": Row("memctl.ops.connect.setup", "Take memory out of AI clients again", "Connect"),
    "eco": Row("memctl.ops.connect.setup", "Switch eco mode of this project on or off", "Connect"),
    "hooks-path": Row("memctl.ops.connect.setup", "Print the folders of the hook scripts and of eco mode", "Connect"),
    "scripts-path": Row("memctl.ops.connect.setup", "Print the folder of the install scripts", "Connect"),
    "hook": Row(
        "memctl.ops.connect.hook", "Tell a client's model what memory knows, at an event of the client", "Connect"
    ),
    "hooks": Row("memctl.ops.connect.hooks", "Nudge, guard or log what a client's tools do, as its hook", "Connect"),
    "completion": Row("memctl.ops.connect.shell", "Print what makes a shell complete memctl's words", "Connect"),
    "shell-init": Row("memctl.ops.connect.shell", "Print shortcuts and settings for a shell to evaluate", "Connect"),
    "ingest": Row(
        "memctl.ops.write.folders", "Store documents as raw passages, kept out of recall until promoted", "Write"
    ),
    "mount": Row("memctl.ops.write.folders", "Register a folder that feeds the store", "Write"),
    "sync": Row("memctl.ops.write.folders", "Bring the store up to date with its folders", "Write"),
    "push": Row("memctl.ops.recall.block", "Ingest sources, then print what answers a question as one block", "Recall"),
    "remember": Row("memctl.ops.write.statements", "Store one statement and print its id", "Write"),
    "propose": Row("memctl.ops.write.statements", "Store what a model proposes to remember", "Write", cli=False),
    "write": Row("memctl.ops.write.statements", "Store one finished item", "Write", cli=False),
    "pull": Row("memctl.ops.write.statements", "Store what an LLM wrote, from standard input", "Write"),
    "capture": Row("memctl.ops.write.capture", "Take in what was said with AI clients", "Write"),
    "archive-sessions": Row(
        "memctl.ops.write.capture", "Copy the transcripts of AI clients before these delete them", "Move"
    ),
    "recall": Row(
        "memctl.ops.recall.block", "Print what answers a question as one block within a token budget", "Recall"
    ),
    "recall-best-effort": Row(
        "memctl.ops.recall.block",
        "Recall, and try again with less when nothing matches",
        "Recall",
        cli=False,
    ),
    "search": Row("memctl.ops.recall.search", "Search items by words, best first", "Recall"),
    "read": Row("memctl.ops.look.items", "Read items in full", "Look", cli=False),
    "handoff": Row(
        "memctl.ops.recall.block",
        "Print what a session left: what is open, what was decided, where it stopped",
        "Recall",
    ),
    "loop": Row(
        "memctl.ops.recall.ask",
        "Let a model answer from standard input, and ask memory for more, within bounds",
        "Recall",
    ),
    "ask": Row("memctl.ops.recall.ask", "Ask a model about a folder", "Recall"),
    "chat": Row("memctl.ops.recall.chat", "Answer questions from the store, one after the other", "Recall"),
    "show": Row("memctl.ops.look.items", "Show one item in full, or several", "Look"),
    "list": Row("memctl.ops.look.items", "List items, newest first", "Look"),
    "inspect": Row("memctl.ops.look.inspect", "Show the structure of a folder as one block", "Look"),
    "workspace": Row("memctl.ops.care.scopes", "Save views of the store by name, to read and write through", "Care"),
    "scope": Row(
        "memctl.ops.care.scopes", "Show the scope of this project, list all, or move one into another", "Care"
    ),
    "workspace-list": Row("memctl.ops.care.scopes", "List the workspaces", "Care", cli=False),
    "workspace-register": Row(
        "memctl.ops.care.scopes", "Make a workspace, or change what is given of one", "Care", cli=False
    ),
    "workspace-remove": Row("memctl.ops.care.scopes", "Forget a workspace; its items stay", "Care", cli=False),
    "session": Row(
        "memctl.ops.look.sessions", "Look at recorded conversations, link them, start one, or delete one", "Look"
    ),
    "session-start": Row(
        "memctl.ops.look.sessions", "Begin a session, and say which earlier ones it comes after", "Write", cli=False
    ),
    "session-list": Row(
        "memctl.ops.look.sessions", "List sessions, with how many items were said in each", "Look", cli=False
    ),
    "session-tree": Row("memctl.ops.look.sessions", "Show what hangs together with a session", "Look", cli=False),
    "session-link": Row("memctl.ops.look.sessions", "Say how one session relates to another", "Change", cli=False),
    "session-inject": Row(
        "memctl.ops.look.sessions",
        "Begin a turn: record the question, and recall what answers it",
        "Recall",
        cli=False,
    ),
    "session-store": Row(
        "memctl.ops.look.sessions", "End a turn: record the answer, and store what it proposes", "Write", cli=False
    ),
    "status": Row("memctl.ops.look.status", "Say which store is used, what it holds and what feeds it", "Look"),
    "digest": Row("memctl.ops.look.status", "Sum up on one page what a scope holds", "Look"),
    "stats": Row("memctl.ops.look.status", "Count what the store holds", "Look"),
    "context": Row(
        "memctl.ops.recall.block",
        "Print what answers a question, what of it is disputed, and when it was said, as one block",
        "Recall",
    ),
    "build-context": Row(
        "memctl.ops.recall.block",
        "Recall memories with the conflicts between them and when they were said, as rekal does",
        "Recall",
        cli=False,
    ),
    "browse": Row("memctl.ops.look.browse", "Walk along the items of a store: domains, rooms, shelves, cards", "Look"),
    "palace-list": Row("memctl.ops.look.browse", "List where items stand, as RAGIX does", "Look", cli=False),
    "palace-get": Row(
        "memctl.ops.look.browse", "Say where an item stands, with the item, as RAGIX does", "Look", cli=False
    ),
    "review": Row("memctl.ops.look.review", "Go through what waits for a decision", "Look"),
    "timeline": Row("memctl.ops.look.timeline", "Show when things were said, and what was said last", "Look"),
    "topics": Row("memctl.ops.look.entities", "List what the store is about, as topics named by their words", "Look"),
    "useful": Row(
        "memctl.ops.look.eval",
        "List what helped of what conversations were told, and what only cost tokens",
        "Look",
    ),
    "entities": Row(
        "memctl.ops.look.entities", "List what the items name: files, addresses, code, versions, days, names", "Look"
    ),
    "graph": Row("memctl.ops.look.near", "Show what hangs together, as a graph", "Look"),
    "conflicts": Row("memctl.ops.look.conflicts", "List statements that contradict each other", "Look"),
    "links": Row("memctl.ops.change.links", "List the links of an item, in both directions", "Look"),
    "related": Row("memctl.ops.look.near", "List what an item hangs together with", "Look"),
    "similar": Row("memctl.ops.look.near", "List items that say much the same", "Look"),
    "eval": Row("memctl.ops.look.eval", "Measure how well search answers your own questions", "Look"),
    "forget": Row("memctl.ops.change.retention", "Put items away, so that nothing finds them any more", "Change"),
    "restore": Row("memctl.ops.change.retention", "Bring items back that were put away or have expired", "Change"),
    "edit": Row("memctl.ops.change.edit", "Change fields of an item, or all of it in your editor", "Change"),
    "tag": Row("memctl.ops.change.edit", "Add tags to items, and take tags away", "Change"),
    "supersede": Row("memctl.ops.change.truth", "Replace an item by a newer statement", "Change"),
    "resolve": Row(
        "memctl.ops.look.conflicts", "Say which of two statements that contradict each other counts", "Change"
    ),
    "link": Row("memctl.ops.change.links", "Say how an item relates to another one", "Change"),
    "unlink": Row("memctl.ops.change.links", "Take a link between two items away", "Change"),
    "retract": Row("memctl.ops.change.truth", "Say that items are known to be wrong", "Change"),
    "verify": Row(
        "memctl.ops.change.truth", "Say that items are right, or, without ids, check the whole store", "Change"
    ),
    "promote": Row(
        "memctl.ops.change.retention", "Raise items to a higher tier, and let raw passages be recalled", "Change"
    ),
    "retain": Row("memctl.ops.change.retention", "Say how long items keep their worth", "Change"),
    "undo": Row("memctl.ops.change.history", "Take back what commands and tools wrote", "Change"),
    "log": Row("memctl.ops.change.history", "Say what was written to the store, newest first", "Change"),
    "history": Row(
        "memctl.ops.change.history", "Show every state of an item, and what changed from each to the next", "Change"
    ),
    "blame": Row(
        "memctl.ops.change.history", "Say of each part of an item who brought it, when, and from where", "Change"
    ),
    "diff": Row(
        "memctl.ops.change.history", "Show what differs between two items, or between an item and what it was", "Change"
    ),
    "export": Row("memctl.ops.move.transfer", "Write items as JSON lines", "Move"),
    "import": Row(
        "memctl.ops.move.transfer",
        "Read items from an export or another memory, checked one by one",
        "Move",
    ),
    "remote": Row(
        "memctl.ops.move.remote",
        "Share statements with other machines, through a folder, a git repository or a database that all of them have",
        "Move",
    ),
    "remote-status": Row(
        "memctl.ops.move.remote",
        "Say with which machines the memory is shared, without asking them",
        "Move",
        cli=False,
    ),
    "corpus": Row(
        "memctl.ops.care.corpora", "Name versions of document sets, and tell what differs between two", "Care"
    ),
    "corpus-list": Row("memctl.ops.care.corpora", "List the document sets", "Care", cli=False),
    "corpus-drift": Row(
        "memctl.ops.care.corpora", "Tell what differs between two versions of a document set", "Care", cli=False
    ),
    "scan": Row("memctl.ops.care.policy", "Report what policy finds in files, or in the store", "Care"),
    "policy": Row("memctl.ops.care.policy", "Show the rules, try them on a text, or explain one", "Care"),
    "purge": Row(
        "memctl.ops.care.removal", "Delete items for good, with their history, and keep them from coming back", "Care"
    ),
    "reset": Row("memctl.ops.care.removal", "Empty the store", "Care"),
    "consolidate": Row(
        "memctl.ops.care.consolidate", "Merge near-duplicates, promote what proved itself, archive what is over", "Care"
    ),
    "backup": Row(
        "memctl.ops.care.maintenance", "Copy the store to a file, checked, while others go on using it", "Care"
    ),
    "salvage": Row("memctl.ops.care.maintenance", "Read what can be read of a damaged store into a new one", "Care"),
    "doctor": Row(
        "memctl.ops.care.doctor", "Check Python, SQLite, the store and its index, and say what is wrong", "Care"
    ),
    "vacuum": Row("memctl.ops.care.maintenance", "Give the space of deleted rows back to the disk", "Care"),
    "quarantine": Row(
        "memctl.ops.care.policy", "Look at what policy holds back, release it, or delete it for good", "Care"
    ),
    "embed": Row(
        "memctl.ops.care.maintenance", "Make vectors of the items, so that search also finds by meaning", "Care"
    ),
    "trust": Row("memctl.ops.care.trust", "Say that a store is trusted, though somebody else made it", "Care"),
    "untrust": Row("memctl.ops.care.trust", "Trust a store no longer", "Care"),
    "config": Row(
        "memctl.ops.care.config",
        "Show the settings and where each comes from, or change them",
        "Care",
    ),
    "reindex": Row(
        "memctl.ops.care.maintenance", "Make the full-text index anew, with another tokenizer if wanted", "Care"
    ),
    "metrics": Row("memctl.ops.start.serve", "Count what the running server did, tool by tool", "Care", cli=False),
}


#: Commands by the names that older programs gave them: they work, and no page shows them.
ALIASES = {"pipe": "push", "palace": "browse"}
#: What people type who know other programs, and the command that does it.
MEANT = {
    "add": "remember", "save": "remember", "store": "remember", "note": "remember", "put": "remember",
    "find": "search", "query": "search", "grep": "search", "get": "show", "cat": "show", "read": "show", "view": "show",
    "ls": "list", "info": "status", "settings": "config", "set": "config", "man": "docs", "doc": "docs",
    "update": "sync", "load": "ingest", "index": "reindex", "dump": "export",
    "inject": "recall", "delete": "forget", "remove": "forget", "rm": "forget",
    "archive": "forget", "del": "forget", "drop": "forget", "revert": "undo", "rollback": "undo",
    "unforget": "restore", "replace": "supersede", "label": "tag", "modify": "edit",
}  # fmt: skip


def commands() -> list[str]:
    """The names of the operations that the command line has, in the table's order."""
    return [name for name, row in TABLE.items() if row.cli]
