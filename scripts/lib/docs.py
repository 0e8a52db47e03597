"""The reference pages, each printed by the code it describes: docs/cli.md, errors.md, schema.md, config.md, and the
command table in README.md, and the plugin for Claude Code. `docs.py` writes them; `docs.py --check` prints what differs
and how to put it right.
"""

import difflib
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import memctl
from memctl import config, errors
from memctl.errors import kinds
from memctl.operation import Operation
from memctl.ops import GROUPS, TABLE, commands
from memctl.remote import errors as remote_errors
from memctl.store import schema

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
WRITTEN = "<!-- Written by scripts/docs from {source}; change it there. -->\n"

#: What really happens without a value, where the documented class keeps the default of older memctl.
DEFAULTS = {"store.fts_tokenizer": schema.DEFAULT_TOKENIZER}
#: Variables that belong to no single parameter.
VARIABLES = {
    "MEMCTL_DB": (
        "every command",
        "the store; `--db` goes before it, the nearest `.memory/memory.db` and the personal store come after it",
    ),
    "MEMCTL_FTS": (
        "writers",
        "tokenizer of a store that is made now: `fr`, `en`, `raw`, or SQLite's own words for one",
    ),
    "MEMCTL_SESSION": (
        "pull, remember",
        "the session that it is said in, recorded with what is stored: the source becomes `memctl-pull:<value>`",
    ),
    "MEMCTL_EMBEDDER_KEY": ("embed, and searches with an embedder", "the key an endpoint asks for; it is never stored"),
    "OLLAMA_HOST": ("the same", "where Ollama answers, as Ollama itself reads it"),
    "NO_COLOR": ("search", "set to anything: no marked words on a terminal"),
}


#: What the table of config keys says of a file that somebody else may have written.
STRANGERS = {
    config.ANY: "counts", config.LOWER: "if lower", config.HIGHER: "if higher, or on",
    config.MORE: "adds", "": "does not count",
}  # fmt: skip


def cell(text: object) -> str:
    """Text inside a Markdown table."""
    return str(text).replace("|", "\\|").replace("\n", " ")


def code(text: object) -> str:
    """Text inside a Markdown table, as code; nothing for nothing."""
    return f"`{cell(text)}`" if text not in ("", None) else ""


def operation(name: str) -> Operation:
    """The operation behind a command."""
    return TABLE[name].load(name)


def help_of(*argv: str) -> str:
    """What `memctl ARGV --help -v` prints, on a terminal 80 columns wide."""
    env = {"PATH": os.defpath, "COLUMNS": "80", "LC_ALL": "C.UTF-8", "HOME": os.sep}
    command = [sys.executable, "-m", "memctl", *argv, "--help", "-v"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise SystemExit(f"memctl {' '.join(argv)} --help ended with {done.returncode}: {done.stderr}")
    return done.stdout.rstrip() + "\n"


def cli_page() -> Iterator[str]:
    """docs/cli.md: the help of memctl and of each command."""
    yield "# Commands\n\n" + WRITTEN.format(source="the operations")
    yield f"\n```text\n{help_of()}```\n"
    for name in commands():
        own = help_of(name).partition("\nGlobal options (memctl --help): ")[0]  # they stand at the top of the page
        yield f"\n## {name}\n\n```text\n{own}```\n"


def all_errors() -> Iterator[type[errors.MemctlError]]:
    """Every class of the error tree, in the order of the file."""
    classes = (kind for kind in (vars(kinds) | vars(remote_errors)).values() if isinstance(kind, type))
    yield from (kind for kind in classes if issubclass(kind, errors.MemctlError))


def errors_page() -> Iterator[str]:
    """docs/errors.md: every error, its exit status, its words."""
    yield "# Errors and exit status\n\n" + WRITTEN.format(source="src/memctl/errors/kinds.py")
    yield """
An error is two lines on stderr, `memctl: message` and `hint: what to do`; with `--json` it is one JSON object,
`{"error": slug, "message": …, "hint": …}`, on stderr as well. Slugs never change. stdout holds answers only.

| exit | meaning |
|--:|---|
| 0 | done; also when there was nothing to do or nothing was found |
| 1 | something you can put right: arguments, input, a store that is missing or busy |
| 2 | something is broken: the file, the disk, or memctl itself |
| 130 | stopped by Ctrl-C |
| 141 | the reader of the pipe left early (`\\| head -1`) |
| 143 | stopped by SIGTERM |

| slug | exit | message | hint |
|---|--:|---|---|
"""
    for kind in all_errors():
        if kind is not errors.MemctlError:
            message = (kind.__doc__ or "").strip()
            yield f"| `{errors.slug_of(kind)}` | {kind.exit_code} | {code(message)} | {cell(kind.hint)} |\n"


def schema_page() -> Iterator[str]:
    """docs/schema.md: the tables and the history of the schema."""
    history = (schema.__doc__ or "").partition("\n")[2].strip()
    yield "# The database\n\n" + WRITTEN.format(source="src/memctl/store/schema.py")
    yield f"\nOne SQLite file in WAL mode. `schema_version` is {schema.SCHEMA_VERSION}.\n\n```text\n{history}\n```\n"
    for title, script in (
        ("Tables shared with older memctl and RAGIX", schema.SHARED_TABLES),
        ("Our own tables beside them", schema.SIDE_TABLES),
        ("What synced folders need", schema.FOLDER_TABLES),
        ("Sessions and workspaces", schema.SESSION_TABLES),
        ("What matters", schema.IMPORTANCE_TABLE),
        ("What happens to items: runs, and what they changed", schema.LIFE_TABLES),
        ("What statements cite and contradict", schema.KNOWLEDGE_TABLES),
        ("How sessions hang together, and what document sets held", schema.THREAD_TABLES),
        ("What conversations were told, and what came of it", schema.USEFULNESS_TABLE),
        ("Indexes for lists and counts", schema.READING_INDEXES + schema.STATEMENT_INDEX),
        ("The index of what a search may not show", schema.DOUBTFUL_INDEX),
        ("The full-text table", schema.fts_table(schema.DEFAULT_TOKENIZER)),
        ("What is known about it", schema.FTS_STATE),
        (
            "What it holds of a row: the characters of Chinese, Japanese and Korean two by two, too",
            schema.indexed_columns("new"),
        ),
        ("The triggers that keep it true, without these pairs", schema.without_pairs(schema.FTS_TRIGGERS)),
        ("The triggers that keep first revisions", schema.REVISION_TRIGGERS),
    ):
        yield f"\n## {title}\n\n```sql\n{script.strip()}\n```\n"
    yield "\n## Tokenizers\n\n| preset | tokenizer |\n|---|---|\n"
    for name, text in schema.FTS_TOKENIZER_PRESETS.items():
        yield f"| `{name}`{' (default)' if text == schema.DEFAULT_TOKENIZER else ''} | `{text}` |\n"


def read_keys() -> set[str]:
    """The `section.key`s that some code reads: by path, or as an attribute in a file that takes the section."""
    files = [p for p in Path(str(memctl.__file__)).parent.rglob("*.py") if p != Path(str(config.__file__))]
    return {key.path for key in config.KEYS for path in files if reads(path, key)}


def reads(path: Path, key: config.Key) -> bool:
    """Whether the code in a file reads a key."""
    text = path.read_text(encoding="utf-8")
    if re.search(rf"\b{re.escape(key.path)}\b", text):
        return True
    if key.section == "policy":  # the engine is handed its section as a whole
        return "policy" in path.parts and re.search(rf"\b{key.name}\b", text) is not None
    return re.search(rf"config\.{key.section}\b", text) is not None and re.search(rf"\.{key.name}\b", text) is not None


def in_range(key: config.Key) -> str:
    """What values a key takes."""
    if key.choices:
        return ", ".join(f"`{c}`" for c in key.choices)
    return "" if key.low is None else f"{key.low} to {key.high}"


def config_page() -> Iterator[str]:
    """docs/config.md: settings, where they may come from, and the keys of config.json."""
    yield "# Settings\n\n" + WRITTEN.format(source="src/memctl/config.py and the operations")
    yield """
A setting comes from the flag, else the environment, else `config.json`, else its default. An empty variable counts as
unset. `config.json` is the file named with `--config`, else the one beside the store. What counts of one that may be
somebody else's stands in the column "a stranger's" ([trust.md](trust.md)).

`memctl config show` prints each setting and where it comes from, `set` and `unset` change one, `edit` opens the file in
your editor, `check` says what is wrong with it and with the variables. The file is JSON, which has no comments; keys
that memctl does not know stay in it. It is replaced as a whole or not at all, and one that is no JSON is never
overwritten: `edit` mends it, and keeps your text as a draft until that is right.

## Settings with more than one way to give them

| command | flag | environment | config.json | default |
|---|---|---|---|---|
"""
    for name in commands():
        for param in operation(name).params():
            arg = param.arg
            if arg.env or arg.config:
                flags = ", ".join(f"`{f}`" for f in arg.flags)
                default = code(param.default)
                yield f"| {name} | {flags} | {code(arg.env)} | {code(arg.config)} | {default} |\n"
    yield "\n## Other environment variables\n\n| variable | read by | meaning |\n|---|---|---|\n"
    for variable, (reader, meaning) in VARIABLES.items():
        yield f"| `{variable}` | {reader} | {meaning} |\n"
    yield "\n## config.json\n"
    used, idle = read_keys(), []
    for section, about in config.SECTIONS.items():
        keys = [key for key in config.KEYS if key.section == section]
        idle += [key.path for key in keys if key.path not in used]
        live = [key for key in keys if key.path in used]
        if live:
            yield f"\n### {section}\n\n{about}\n\n"
            yield "| key | type | default | values | a stranger's | meaning |\n|---|---|---|---|---|---|\n"
        for key in live:
            kind = "list of text" if key.type is list else key.type.__name__
            default = code(DEFAULTS.get(key.path, key.default))
            theirs = STRANGERS[config.OF_STRANGERS.get(key.path, "")]
            yield f"| `{key.name}` | {kind} | {default} | {in_range(key)} | {theirs} | {cell(key.help)} |\n"
    if idle:
        yield "\n### Accepted, and read by nothing\n\n"
        yield "Older memctl wrote these keys. They are checked for type and range and change nothing in this version: "
        yield ", ".join(f"`{path}`" for path in idle) + ".\n"


def policy_page() -> Iterator[str]:
    """docs/policy.md: what policy looks for, what it does about it, what it cannot see."""
    sys.path.append(str(ROOT))
    from scripts.lib import policy_page

    yield from policy_page.lines()


def openings_page() -> Iterator[str]:
    """src/memctl/policy/openings.py: to find these words in the lexicon would cost every command 20 ms."""
    from scripts.lib import openings

    yield from openings.lines()


def version_page() -> Iterator[str]:
    """src/memctl/policy/version.py: computing it would make every `sync` load all rules."""
    from memctl.policy.engine import fingerprint

    yield '"""Which rules judged: written by scripts/docs from the rows, so that asking costs nothing."""\n\n'
    yield f'RULES_VERSION = "{fingerprint()}"\n'


def catalog_page() -> Iterator[str]:
    """src/memctl/mcp/catalog.json: what the tools publish, so that listing them imports no operation."""
    from memctl.mcp import tool_schema

    yield from tool_schema.catalog_text()


def mcp_page() -> Iterator[str]:
    """docs/mcp.md: the server, its tools, resources and prompts."""
    sys.path.append(str(ROOT))
    from scripts.lib import mcp_page

    yield from mcp_page.lines()


def json_page() -> Iterator[str]:
    """docs/json.md: what --json prints, key by key."""
    sys.path.append(str(ROOT))
    from scripts.lib import json_page

    yield from json_page.lines()


def readme_page() -> Iterator[str]:
    """README.md with its command table brought up to date."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    head, found, rest = text.partition("<!-- commands -->\n")
    _, end, tail = rest.partition("<!-- /commands -->")
    if not (found and end):
        raise SystemExit("README.md has lost its <!-- commands --> markers")
    yield head + found + "| | command | |\n|---|---|---|\n"
    for group in GROUPS:
        first = True
        for name, row in TABLE.items():
            if row.group == group and row.cli:
                yield f"| {group if first else ''} | [`{name}`](docs/cli.md#{name}) | {row.summary} |\n"
                first = False
    yield end + tail


def picture(name: str) -> Callable[[], Iterator[str]]:
    """What writes a picture."""

    def lines() -> Iterator[str]:
        sys.path.append(str(ROOT))
        from scripts.lib import pictures

        yield from getattr(pictures, name)()

    return lines


PAGES: dict[Path, Callable[[], Iterator[str]]] = {
    DOCS / "cli.md": cli_page,
    DOCS / "errors.md": errors_page,
    DOCS / "schema.md": schema_page,
    DOCS / "config.md": config_page,
    DOCS / "policy.md": policy_page,
    ROOT / "src" / "memctl" / "policy" / "openings.py": openings_page,
    ROOT / "src" / "memctl" / "policy" / "version.py": version_page,
    ROOT / "src" / "memctl" / "mcp" / "catalog.json": catalog_page,
    DOCS / "mcp.md": mcp_page,
    DOCS / "json.md": json_page,
    ROOT / "README.md": readme_page,
    DOCS / "question-to-block.svg": picture("question_to_block"),
    DOCS / "item-states.svg": picture("item_states"),
    DOCS / "fact-life.svg": picture("fact_life"),
}


def plugin_pages() -> dict[Path, Callable[[], Iterator[str]]]:
    """The files of the plugin for Claude Code, and the strategy of eco mode for those who read of it first."""
    sys.path.append(str(ROOT))
    from scripts.lib import plugin

    files, folder = plugin.files(), plugin.folder(ROOT)
    pages = {folder / name: partial(iter, [text]) for name, text in files.items()}
    eco = (ROOT / "src/memctl/templates/eco/ECO.md").read_text(encoding="utf-8")
    return pages | {ROOT / "extras/eco/ECO.md": partial(iter, [eco])}


def main(argv: list[str]) -> int:
    """Write all pages; with --check only compare, and end with 1 if one differs."""
    check = argv == ["--check"]
    if argv and not check:
        raise SystemExit("usage: scripts/docs [--check]")
    status = 0
    for path, page in (PAGES | plugin_pages()).items():
        new = "".join(page())
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        if new == old:
            continue
        name = str(path.relative_to(ROOT))
        if check:
            status = 1
            print(
                "".join(
                    difflib.unified_diff(
                        old.splitlines(keepends=True), new.splitlines(keepends=True), name, f"{name} (true)"
                    )
                )
            )
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(new, encoding="utf-8")
            print(f"wrote {name}", file=sys.stderr)
    if status:
        print("put it right with: scripts/docs", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
