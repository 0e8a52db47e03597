"""The house rules that a linter cannot hold: who may import whom, and that words said twice are the same words."""

import ast
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from memctl.ops import GROUPS, TABLE, commands

SRC = Path(__file__).resolve().parents[2] / "src" / "memctl"
DOCS = SRC.parents[1] / "docs"

#: Floors from the bottom up; a room may use its own modules, the rooms below, and on the ground floor its neighbours.
FLOORS = (
    {"annotations", "names", "errors", "faults", "git", "ids", "paths", "process", "registry", "state", "types"}
    | {"config"},
    {"text", "policy"},
    {"extract", "store"},
    {"item_policy", "citing"},
    {"retrieve", "ingest", "lifecycle", "llm", "clients", "remote"},
    {"capture"},
    {"operation"},
    {"parameters", "context"},
    {"folders"},
    {"reading", "writing"},
    {"answering", "handover"},
    {"ops"},
    {"cli"},
)
#: Documented import points that hand names on from the rooms; nothing in the house may import them.
FACES = {
    "__init__", "__main__", "api", "ask", "chat", "consolidate", "diff", "export_import", "inspect", "loop", "mcp",
    "mount", "proposer", "query", "similarity", "sync",
}  # fmt: skip
#: The one command that starts something above its own floor: the server, imported when it is run.
STARTS = {
    (os.path.join("ops", "start", "serve.py"), "memctl.mcp"),
}
MODULES = sorted(SRC.rglob("*.py"))


def room(path: Path) -> str:
    """The part of the house a file belongs to: its top folder, or the file itself."""
    return path.relative_to(SRC).parts[0].removesuffix(".py")


def label(path: Path) -> str:
    return str(path.relative_to(SRC))


def floor(name: str) -> int:
    return next(n for n, rooms in enumerate(FLOORS) if name in rooms)


def below(target: str, mine: str) -> bool:
    """Whether `mine` may import from `target`, another room."""
    if target in FACES:
        return False
    return floor(target) < floor(mine) or floor(target) == floor(mine) == 0 or (target, mine) == ("operation", "ops")


@cache
def code(path: Path) -> ast.Module:
    """The syntax tree without what only type checkers see."""

    class Strip(ast.NodeTransformer):
        def visit_If(self, node: ast.If) -> ast.AST | None:
            self.generic_visit(node)
            return None if "TYPE_CHECKING" in ast.dump(node.test) else node

    tree: ast.Module = Strip().visit(ast.parse(path.read_text(encoding="utf-8")))
    return tree


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All that is in a file's syntax tree."""
    return tuple(ast.walk(code(path)))


def imported(path: Path) -> Iterator[str]:
    """Full names of the modules imported anywhere in a file, inside functions too."""
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
            module = node.module or ""
            yield from ([f"memctl.{alias.name}" for alias in node.names] if module == "memctl" else [module])


def test_every_room_has_a_floor() -> None:
    assert {room(path) for path in MODULES} <= set().union(*FLOORS, FACES)


def test_imports_go_only_downward() -> None:
    def wrong(path: Path) -> list[str]:
        mine = room(path)
        targets = {name: name.split(".")[1] for name in imported(path) if name.startswith("memctl.")}
        return [
            name
            for name, target in targets.items()
            if target not in {mine, "__version__"} and not below(target, mine) and (label(path), name) not in STARTS
        ]

    assert {label(path): found for path in MODULES if room(path) not in FACES and (found := wrong(path))} == {}


def test_only_the_store_talks_to_sqlite_and_only_output_prints() -> None:
    assert [label(path) for path in MODULES if room(path) != "store" and "sqlite3" in set(imported(path))] == []
    calls = {
        (label(path), node.func.id)
        for path in MODULES
        for node in nodes(path)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert {place for place, name in calls if name == "print"} <= {os.path.join("cli", "output.py")}


SQL = re.compile(
    r"\s*(SELECT\s|INSERT\s+(OR|INTO)\s|REPLACE\s+INTO\s|UPDATE\s+\S+\s+SET\s|DELETE\s+FROM\s|PRAGMA\s|WITH\s+\w+\s+AS\s"
    r"|(CREATE|DROP|ALTER)\s+(TEMP\s+)?(VIRTUAL\s+)?(TABLE|VIEW|INDEX|TRIGGER)\s|(BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE)\b)"
)


def texts(path: Path) -> Iterator[str]:
    """The string constants of a file but the docstrings, with blanks for what an f-string fills in."""
    docs = {node.value for node in nodes(path) if isinstance(node, ast.Expr)}
    parts = {part for node in nodes(path) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes(path):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and not {node} & (docs | parts):
            yield node.value


#: SQL for another database than the store; its own file has it.
FOREIGN_SQL = os.path.join("remote", "postgres.py")


def test_sql_is_written_in_the_store_alone() -> None:
    elsewhere = [path for path in MODULES if room(path) != "store" and label(path) != FOREIGN_SQL]
    assert [(label(path), text) for path in elsewhere for text in texts(path) if SQL.match(text)] == []


def test_no_row_is_replaced_and_transactions_are_begun_by_the_database_alone() -> None:
    """REPLACE deletes a row without its triggers; what begins a transaction must end it after any error."""
    sql = [(label(path), text) for path in MODULES if room(path) == "store" for text in texts(path)]
    assert [place for place, text in sql if re.search(r"\b(INSERT OR REPLACE|REPLACE INTO)\b", text)] == []
    begun = {place for place, text in sql if re.match(r"\s*(BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE)\b", text)}
    assert begun == {os.path.join("store", "database.py")}


def test_only_the_boundary_catches_everything() -> None:
    wide = {
        (label(path), handler.lineno)
        for path in MODULES
        for handler in nodes(path)
        if isinstance(handler, ast.ExceptHandler)
        and (handler.type is None or (isinstance(handler.type, ast.Name) and handler.type.id in WIDE))
        and not any(isinstance(node, ast.Raise) and node.exc is None for node in ast.walk(handler))
        and room(path) != "cli"
        and label(path) != os.path.join("mcp", "middleware.py")
    }
    assert wide == set()


WIDE = ("Exception", "BaseException")


def test_files_and_functions_stay_small() -> None:
    lengths = {label(path): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert {path: length for path, length in lengths.items() if length > 560} == {}
    functions = [(path, node) for path in MODULES for node in nodes(path) if isinstance(node, ast.FunctionDef)]
    assert [(label(p), node.name) for p, node in functions if (node.end_lineno or 0) - node.lineno > 70] == []


def test_no_class_name_is_used_twice() -> None:
    """Whoever reads a name knows which class it is."""
    places: dict[str, list[str]] = {}
    for path in MODULES:
        for node in nodes(path):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(label(path))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_no_circle_of_imports() -> None:
    """Inside rooms neither, and not through imports inside functions."""
    named = {module_name(path): path for path in MODULES}
    graph = {name: set(modules_of(path, named)) - {name} for name, path in named.items()}
    graph["memctl.ops.start.serve"].discard("memctl.mcp.server")  # the one that starts what stands above it
    while leaves := {name for name, targets in graph.items() if not targets & graph.keys()}:
        graph = {name: targets for name, targets in graph.items() if name not in leaves}
    # What is left is in a circle, or imports from one.
    while tops := graph.keys() - set().union(*graph.values(), set()):
        graph = {name: targets for name, targets in graph.items() if name not in tops}
    assert graph == {}


def module_name(path: Path) -> str:
    parts = path.relative_to(SRC.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def modules_of(path: Path, named: dict[str, Path]) -> Iterator[str]:
    """The modules of ours that a file imports, where `from package import module` means the module."""
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in named)
        elif isinstance(node, ast.ImportFrom) and node.module in named:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in named else node.module


@pytest.mark.parametrize("name", TABLE)
def test_the_table_says_what_the_operation_says(name: str) -> None:
    row = TABLE[name]
    operation = row.load(name)
    assert operation.name == name
    assert operation.summary == row.summary
    assert row.group in GROUPS
    assert callable(operation.text)


def test_every_environment_variable_is_documented() -> None:
    used = {name for path in MODULES for name in re.findall(r"""["'](MEMCTL_[A-Z_]+)["']""", path.read_text())}
    assert "MEMCTL_DB" in used
    documented = (DOCS / "config.md").read_text(encoding="utf-8")
    assert [name for name in sorted(used) if f"`{name}`" not in documented] == []


@pytest.mark.parametrize("name", commands())
def test_every_flag_is_documented(name: str) -> None:
    operation = TABLE[name].load(name)
    page = (DOCS / "cli.md").read_text(encoding="utf-8")
    section = page.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    shown = [param for param in operation.params() if param.arg.cli]
    flags = [flag for param in shown for flag in (param.arg.word and [param.arg.word]) or param.arg.flags]
    assert [flag for flag in flags if flag not in section] == []
