"""Are statements whose cited code has changed marked, and no others? On the history of any git project in Python.

    python3 -m benchmarks.stale FOLDER [--old REVISION] [--new REVISION] [--functions 100]

Statements that cite functions are made at an old commit of a clone, which then moves to a newer one and is synced. The
truth is computed from git and Python's own parser: a function's text has changed, or is not in its file (followed
through git's renames) any more. Says how much CPU the second sync costs beside one of a store without what statements
cite.
"""

import argparse
import ast
import hashlib
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

#: How a statement names a function, in turns.
STYLES = (
    "`{name}` in {path} is what callers rely on, as it was in note {n}.",
    "The code at {path}:{line} is called by the importer (note {n}).",
    "Note {n}: {name}() of {path} keeps its arguments in this order.",
    "Nobody may change {path}:{first}-{last} without asking (note {n}).",
    "Note {n} is about one function alone.",  # with --cites
)
RUNS = 3


def git(folder: str, *argv: str) -> bytes:
    """What git prints."""
    return subprocess.run(["git", "-C", folder, *argv], check=True, stdout=subprocess.PIPE).stdout


def functions(source: str) -> dict[str, tuple[int, int, str]]:
    """The functions of a file by dotted name: first line, last line, text. Of two of one name none is taken."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return {}
    lines = source.split("\n")
    out: dict[str, tuple[int, int, str]] = {}
    seen: dict[str, int] = {}

    def visit(node: ast.AST, outer: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef):
                visit(child, f"{outer}{child.name}.")
            elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                name = outer + child.name
                first = min([child.lineno, *(one.lineno for one in child.decorator_list)])
                seen[name] = seen.get(name, 0) + 1
                last = child.end_lineno or first
                out[name] = first, last, "\n".join(lines[first - 1 : last])

    visit(tree, "")
    return {name: found for name, found in out.items() if seen[name] == 1}


def renames(repo: str, old: str, new: str) -> dict[str, str]:
    """Old path -> new path, as git sees it."""
    out = {}
    for line in git(repo, "diff", "-M", "--name-status", "--diff-filter=R", old, new).decode().splitlines():
        _, before, after = line.split("\t")
        out[before] = after
    return out


def memctl(*argv: str, cwd: Path, env: dict[str, str]) -> str:
    """A command of memctl; what it prints."""
    argv = (sys.executable, "-m", "memctl", *argv)
    return subprocess.run(argv, check=True, stdout=subprocess.PIPE, cwd=cwd, env=env, text=True).stdout


def sync_cost(tree: Path, db: Path, env: dict[str, str], *, without: bool) -> float:
    """CPU seconds of a sync of a copy of the store."""
    copy = db.with_name("copy.db")
    for end in ("", "-wal", "-shm"):
        copy.with_name(copy.name + end).unlink(missing_ok=True)
    with sqlite3.connect(db) as store, sqlite3.connect(copy) as twin:
        store.backup(twin)
    if without:
        with sqlite3.connect(copy) as twin:
            twin.execute("DELETE FROM memory_citations")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    memctl("sync", "-q", cwd=tree, env=env | {"MEMCTL_DB": str(copy)})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def chosen_functions(repo: str, old: str, count: int) -> list[tuple[str, str, int, int, str]]:
    """Functions of a revision, chosen by a hash of their names: path, name, first line, last line, text."""
    found = []
    for path in git(repo, "ls-tree", "-r", "--name-only", old).decode().splitlines():
        if path.endswith(".py"):
            source = git(repo, "show", f"{old}:{path}").decode("utf-8", "replace")
            found += [(path, name, *at) for name, at in functions(source).items() if at[0] < at[1]]
    return sorted(found, key=lambda one: hashlib.sha256(f"{one[0]} {one[1]}".encode()).digest())[:count]


def main() -> None:
    """Print precision, recall, and the cost of the sync."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--old", default="HEAD~200")
    parser.add_argument("--new", default="HEAD")
    parser.add_argument("--functions", type=int, default=100)
    args = parser.parse_args()
    repo, commits = args.folder, git(args.folder, "rev-list", "--count", f"{args.old}..{args.new}").decode().strip()
    with tempfile.TemporaryDirectory() as scratch:
        tree, db = Path(scratch) / "tree", Path(scratch) / "m.db"
        git(repo, "clone", "-q", "--no-checkout", ".", str(tree))
        home = {"HOME": scratch, "XDG_CONFIG_HOME": scratch, "XDG_DATA_HOME": scratch, "XDG_STATE_HOME": scratch}
        env = os.environ | home | {"MEMCTL_DB": str(db)}
        git(str(tree), "checkout", "-q", git(repo, "rev-parse", args.old).decode().strip())
        memctl("sync", ".", "-q", cwd=tree, env=env)
        wanted = chosen_functions(repo, args.old, args.functions)
        stored = {}
        for n, one in enumerate(wanted):
            path, name, first, last, _ = one
            style = STYLES[n % len(STYLES)]
            said = style.format(name=name, path=path, line=(first + last) // 2, first=first, last=last, n=n)
            given = ["--cites", f"{path}:{first}-{last}"] if "alone" in style else []
            stored[memctl("remember", "-q", said, *given, cwd=tree, env=env).strip()] = one
        git(str(tree), "checkout", "-q", git(repo, "rev-parse", args.new).decode().strip())
        costs = {
            without: min(sync_cost(tree, db, env, without=without) for _ in range(RUNS)) for without in (True, False)
        }
        memctl("sync", "-q", cwd=tree, env=env)
        with sqlite3.connect(db) as store:
            marked = {row[0] for row in store.execute(
                "SELECT item_id FROM memory_citations WHERE state IN ('changed', 'moved', 'gone')"
            )}  # fmt: skip
            untied = store.execute("SELECT count(*) FROM memory_citations WHERE state = 'open'").fetchone()[0]
        moved, truth, wrong = renames(repo, args.old, args.new), set(), []
        for item_id, (path, name, _, _, text) in stored.items():
            now = tree / moved.get(path, path)
            known = functions(now.read_text(encoding="utf-8", errors="replace")) if now.is_file() else {}
            if name not in known or known[name][2] != text:
                truth.add(item_id)
            if (item_id in truth) != (item_id in marked):
                wrong.append(f"{'missed' if item_id in truth else 'wrongly marked'}: {path} {name}")
    right = len(truth & marked)
    print(f"{len(stored)} functions over {commits} commits: {len(truth)} changed or gone, {len(marked)} marked")
    print(f"precision {right / max(len(marked), 1):.3f}  recall {right / max(len(truth), 1):.3f}  untied {untied}")
    print(f"sync: {costs[False]:.2f} s CPU, without citations {costs[True]:.2f} s"
          f" ({100 * (costs[False] / costs[True] - 1):+.1f} %)")  # fmt: skip
    print("\n".join(wrong))


if __name__ == "__main__":
    main()
