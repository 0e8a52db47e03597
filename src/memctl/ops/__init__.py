"""The table of operations: name -> (module, summary, group). Nothing here imports an operation.

A row's summary must equal the first line of the operation's docstring; a test holds that.
"""


class Row:
    """Where an operation lives, and what `memctl --help` says of it."""

    __slots__ = ("group", "module", "summary")

    def __init__(self, module: str, summary: str, group: str) -> None:
        self.module, self.summary, self.group = module, summary, group


#: The groups of `memctl --help`, in order.
GROUPS = ("Start", "Write", "Recall", "Look", "Move", "Care")

TABLE: dict[str, Row] = {
    "init": Row("memctl.ops.init", "Make a store and print the line that selects it", "Start"),
    "ingest": Row("memctl.ops.ingest", "Store documents as raw passages, kept out of recall until promoted", "Write"),
    "mount": Row("memctl.ops.mount", "Register a folder that feeds the store", "Write"),
    "sync": Row("memctl.ops.sync", "Bring the store up to date with its folders", "Write"),
    "push": Row("memctl.ops.push", "Ingest sources, then print what answers a question as one block", "Recall"),
    "pull": Row("memctl.ops.pull", "Store what an LLM wrote, from standard input", "Write"),
    "recall": Row("memctl.ops.recall", "Print what answers a question as one block within a token budget", "Recall"),
    "search": Row("memctl.ops.search", "Search items by words, best first", "Recall"),
    "show": Row("memctl.ops.show", "Show one item in full", "Look"),
    "list": Row("memctl.ops.list_", "List items, newest first", "Look"),
    "inspect": Row("memctl.ops.inspect", "Show the structure of a folder as one block", "Look"),
    "stats": Row("memctl.ops.stats", "Count what the store holds", "Look"),
    "eval": Row("memctl.ops.eval", "Measure how well search answers your own questions", "Look"),
    "export": Row("memctl.ops.export", "Write items as JSON lines", "Move"),
    "import": Row("memctl.ops.import_", "Read items from JSON lines, checked line by line", "Move"),
    "scan": Row("memctl.ops.scan", "Report what policy finds in files, or in the store", "Care"),
    "policy": Row("memctl.ops.policy", "Show the rules, try them on a text, or explain one", "Care"),
    "quarantine": Row(
        "memctl.ops.quarantine", "Look at what policy holds back, release it, or delete it for good", "Care"
    ),
    "embed": Row("memctl.ops.embed", "Make vectors of the items, so that search also finds by meaning", "Care"),
    "reindex": Row("memctl.ops.reindex", "Make the full-text index anew, with another tokenizer if wanted", "Care"),
}
