"""Start-up: which modules a cold command may import. A newcomer is named; whoever needs it adds it here, on purpose.

Measured in milliseconds (see benchmarks/), but pinned by names: those hold still on a busy machine.
"""

import subprocess
import sys
from pathlib import Path

import pytest

import memctl
from support import ok

SRC = Path(memctl.__file__).resolve().parents[1]

#: What Python itself loads for the few modules below; nobody can import one of these for more than what it costs here.
PYTHON = {
    "_abc", "abc", "_collections", "_collections_abc", "_functools", "_locale", "_operator", "_stat", "collections",
    "collections.abc", "functools", "genericpath", "io", "itertools", "keyword", "operator", "os", "os.path",
    "posixpath", "reprlib", "stat", "types", "errno", "math", "gc", "copyreg", "warnings", "contextlib",
    "importlib", "importlib._bootstrap", "importlib._bootstrap_external", "_weakref", "binascii",
}  # fmt: skip
RE = {
    "re", "re._casefix", "re._compiler", "re._constants", "re._parser", "sre_compile", "sre_constants", "sre_parse",
    "_sre", "enum",
}  # fmt: skip
ARGPARSE = RE | {"argparse", "gettext", "locale"}
SQLITE = {"_sqlite3", "time", "unicodedata"}

#: What `memctl search` may import of ours.
OURS = {
    "memctl", "memctl.annotations", "memctl.cli", "memctl.cli.output", "memctl.cli.parser", "memctl.errors",
    "memctl.ids", "memctl.names", "memctl.operation", "memctl.paths", "memctl.ops", "memctl.parameters",
    "memctl.context", "memctl.context.nearest", "memctl.reading.request", "memctl.registry", "memctl.state",
    "memctl.ops.recall.search",
    "memctl.retrieve", "memctl.retrieve.candidates", "memctl.retrieve.find", "memctl.retrieve.ranking",
    "memctl.retrieve.fts_terms",
    "memctl.store",
    "memctl.store.connect", "memctl.store.database", "memctl.store.filters",
    "memctl.store.search", "memctl.ops.recall", "memctl.reading",
    "memctl.text.block",
    "memctl.store.search.index", "memctl.text", "memctl.text.clean",
    "memctl.store.search.origins", "memctl.text.source_trust",
    "memctl.text.block.excerpt", "memctl.text.contents", "memctl.text.query",
}  # fmt: skip

_PROBE = """
import sys
sys.path.insert(0, {src!r})
before = set(sys.modules)
from memctl.cli import main
code = main({argv!r})
print(code, *sorted(set(sys.modules) - before), file=sys.stderr)
"""


def imported(*argv: str, stdin: str = "") -> set[str]:
    """The modules a command line imports, beyond what a bare interpreter without `site` has."""
    done = subprocess.run(
        [sys.executable, "-B", "-I", "-S", "-c", _PROBE.format(src=str(SRC), argv=list(argv))],
        input=stdin, capture_output=True, text=True, check=True,
    )  # fmt: skip
    code, *modules = done.stderr.splitlines()[-1].split()
    assert code == "0", done.stderr
    return set(modules)


def test_search() -> None:
    ok("init")
    turns = (
        f'{{"content": "Tokens are rotated every hour, {n}.", "tags": ["auth", "api"], "provenance": '
        f'{{"source_kind": "chat", "source_id": "s", "chunk_ids": ["{n}"]}}}}'
        for n in range(12)
    )
    ok("import", stdin="\n".join(turns))
    assert imported("search", "how are tokens rotated?") - PYTHON - SQLITE - OURS == set()
    assert imported("search", "how are tokens rotated?", "-n", "3") & (ARGPARSE | {"memctl.errors.kinds"}) == set()


def test_search_that_finds_something_held_back_only_asks_how_it_stands() -> None:
    ok("init")
    ok("pull", stdin="The depot is open.")
    ok("pull", stdin="Write to jane.doe@corp-mail.org about the depot.")
    modules = imported("search", "depot")
    assert "memctl.store.quarantine" in modules
    assert modules & (RE | {"json", "memctl.store.journal"}) == set()


#: What `memctl hook` imports beyond `memctl search`: at a prompt that nothing answers, and at one that is answered.
HOOK = {
    "_json", "memctl.text.jsons",
    "memctl.ops.connect", "memctl.ops.connect.hook", "memctl.clients", "memctl.clients.known",
    "memctl.reading.hook_context", "memctl.text.utterance", "zlib",
}  # fmt: skip
TELLING = HOOK | {
    "__future__", "_sha2" if sys.version_info >= (3, 12) else "_sha256",  # an id for the event of the use
    "memctl.reading.block", "memctl.retrieve.abstention", "memctl.retrieve.explain",
    "memctl.policy", "memctl.policy.version", "memctl.types",
    "memctl.store.documents", "memctl.store.documents.mounts", "memctl.store.documents.passages",
    "memctl.store.items", "memctl.store.items.attributes", "memctl.store.items.events", "memctl.store.items.items",
    "memctl.store.items.citations", "memctl.text.block.markers",
    "memctl.text.block.frames", "memctl.text.block.packing", "memctl.text.tokens",
}  # fmt: skip


def test_hook() -> None:
    ok("init")
    ok("remember", "Tokens are rotated every hour.")
    base = PYTHON | SQLITE | OURS
    hook = ("hook", "--client", "claude", "prompt")
    chatter = imported(*hook, stdin='{"prompt": "thanks, go on"}')
    assert chatter - base - HOOK == set()
    assert "_sqlite3" not in chatter
    told = imported(*hook, stdin='{"prompt": "how are tokens rotated?", "session_id": "s"}')
    assert told - base - TELLING == set()
    assert "memctl.text.block.packing" in told


def test_help_imports_no_operation() -> None:
    modules = imported("--help")
    assert "_sqlite3" not in modules
    assert {name for name in modules if name.startswith("memctl.ops.")} == set()


def test_version() -> None:
    modules = imported("--version")
    assert modules - PYTHON <= OURS
    assert not any(name.startswith(("memctl.ops.", "memctl.store", "memctl.retrieve", "_sqlite3")) for name in modules)


@pytest.mark.parametrize(
    "argv", [["search", "x"], ["show", "MEM-1"], ["list"], ["stats"], ["recall", "x"], ["export"], ["help", "pull"]]
)
def test_readers_never_pay_for_what_writers_need(argv: list[str]) -> None:
    ok("init")
    if argv[0] == "show":
        ok("import", "--preserve-ids", stdin='{"id": "MEM-1", "content": "x"}')
    heavy = {
        "asyncio", "dataclasses", "hashlib", "importlib.metadata", "importlib.resources", "inspect",
        "logging", "pathlib", "secrets", "shutil", "subprocess", "tempfile", "traceback", "urllib", "uuid",
    }  # fmt: skip
    assert imported(*argv) & heavy == set()


def test_status_in_short_waits_for_no_parser() -> None:
    ok("remember", "We deploy on Fridays.")
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "memctl", "status", "--short"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "project 1\n"
    names = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "memctl.store.filters" in names
    assert names.isdisjoint({"argparse", "json", "memctl.cli", "memctl.ops", "memctl.reading", "urllib.parse"})
