"""docs/add-a-command.md, followed literally in a scratch copy of the package."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "add-a-command.md").read_text(encoding="utf-8")

#: Run with the scratch copy on the module path, in its folder src: the steps of the page, and where the command shows.
PROBE = """
import contextlib, io, json, shlex, sys
sys.path[:0] = [sys.argv[1] + "/scripts/lib", sys.argv[1]]
from memctl.cli import main

def say(line):
    out, notes = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(notes):
        failed = main(shlex.split(line)[1:])
        notes.flush()
    return (notes if failed else out).buffer.getvalue().decode()

found = {line: say(line) for line in json.loads(sys.argv[2])}

import memctl
from memctl.mcp import tool_schema
from memctl.mcp.tools import register_memory_tools
(listed,) = [tool for tool in tool_schema.tools("full") if tool.name == "memory_tags"]
class StandIn:
    tools = {}
    def tool(self):
        return lambda fn: self.tools.setdefault(fn.__name__, fn)
register_memory_tools(StandIn(), memctl.MemoryStore(".memory/memory.db"))

import docs
docs.commands = lambda: ["tags"]
catalog = "".join(docs.catalog_page())
with open(memctl.__path__[0] + "/mcp/catalog.json", "w") as file:
    file.write(catalog)
pages = {name: "".join(page()) for name, page in (
    ("cli", docs.cli_page), ("mcp", docs.mcp_page), ("readme", docs.readme_page))}
answer = StandIn.tools["memory_tags"](start="rel")

import os
sys.path.append(sys.argv[3])
os.makedirs(sys.argv[1] + "/elsewhere")
os.chdir(sys.argv[1] + "/elsewhere")
exec(sys.argv[4])
test_tags_are_listed_once()
print(json.dumps({"found": found, "schema": listed.schema(), "answer": answer, "pages": pages, "catalog": catalog}))
"""


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_page_makes_a_command(tmp_path: Path) -> None:
    for name in ("src/memctl", "scripts/lib"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "README.md", tmp_path)
    (tmp_path / "scripts" / "__init__.py").touch()
    made, row, its_test = blocks("py")
    for block in (made, row):
        name, _, text = block.removeprefix("# ").partition("\n")
        path = tmp_path / name
        old = path.read_text(encoding="utf-8") if path.exists() else '    "list": Row('
        assert old.count('    "list": Row(') == 1
        new = old.replace('    "list": Row(', text + '    "list": Row(') if path.exists() else text
        path.write_text(new, encoding="utf-8")

    (session,) = blocks("text")
    steps = dict(part.split("\n", 1) for part in re.split(r"^\$ ", session, flags=re.MULTILINE)[1:])
    env = {"HOME": str(tmp_path), "PATH": os.defpath, "PYTHONPATH": str(tmp_path / "src"), "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        [sys.executable, "-c", PROBE, str(tmp_path), json.dumps(list(steps)), str(ROOT / "tests"), its_test],
        cwd=tmp_path / "src", env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    said = {line: re.sub(r"MEM-[0-9a-f]{12}", "MEM-…", text) for line, text in shown["found"].items()}
    assert said == steps
    assert shown["answer"] == {"status": "ok", "tags": ["release"]}
    assert list(shown["schema"]["properties"]) == ["start", "limit"]
    assert "usage: memctl tags [START] [--limit N]" in shown["pages"]["cli"]
    assert "A tag is listed once" in shown["pages"]["cli"]
    assert "List the tags of the store" in shown["pages"]["cli"].partition("## tags")[0]  # memctl --help
    assert "memory_tags" in shown["pages"]["mcp"]
    assert "[`tags`](docs/cli.md#tags)" in shown["pages"]["readme"]
    assert '"name": "memory_tags"' in shown["catalog"]
