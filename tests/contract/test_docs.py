"""The documents say what is so: generated pages are fresh, examples print what they say, links lead somewhere."""

import contextlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

ROOT = Path(__file__).resolve().parents[2]
BY_HAND = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").glob("*.md"),
        ROOT / "benchmarks" / "README.md",
        *(ROOT / "extras/eco").glob("*.md"),
    ]
)
#: What differs from run to run, and what stands for it when two outputs are compared.
SCRUBS = (
    (r"(?m)^\[(#\d+)(\+\d+)?\] \d{4}-\d\d-\d\d", r"[\1\2] TODAY"),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|\+00:00)?", "TIME"),
    (r"(?m), \d{4}-\d\d-\d\d$", ", TODAY"),
    (r"sha256:[0-9a-f]{9}\.\.\.", "sha256:…"),
    (r"/[\w/.-]*/(?=(docs|notes|\.memory|auth\.md)\b)", "/…/"),
    (r"\b20\d\d-\d\d-\d\d\b", "DAY"),
)


def test_generated_pages_are_fresh() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts/lib/docs.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", sorted((ROOT / "docs").glob("*.svg")), ids=lambda p: p.name)
def test_pictures_are_whole_and_shown(path: Path) -> None:
    """They need nothing from elsewhere: no script, no font, no address but that of the format."""
    text = path.read_text(encoding="utf-8")
    root = ET.fromstring(text)
    assert root.findtext("{http://www.w3.org/2000/svg}title")
    assert re.findall(r"https?://(?!www\.w3\.org/2000/svg)|<script|href", text) == []
    assert any(f"({path.name})" in page.read_text() or f"/{path.name})" in page.read_text() for page in BY_HAND)


def blocks(path: Path, language: str) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def steps(block: str) -> Iterator[tuple[str, str]]:
    """The commands of a console block (`$ `, continued by `> `), each with the output printed under it."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        while output.startswith("> "):
            line, _, output = output[2:].partition("\n")
            command += "\n" + line
        yield command, output


def scrub(text: str, scratch: Path, ids: dict[str, str]) -> str:
    """What does not differ from run to run; of `ids` each is known by when it first came, whole or shortened."""
    text = re.sub(
        r"(?m)(\b(?:MEM|EVT|REV|CON)-|^\[)([0-9a-f]{6})[0-9a-f]{0,6}\b",
        lambda match: match[1] + ids.setdefault(match[2], f"#{len(ids) + 1}"),
        text.replace(str(scratch), "/…"),
    )
    for pattern, replacement in SCRUBS:
        text = re.sub(pattern, replacement, text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


@pytest.mark.parametrize("path", [p for p in BY_HAND if blocks(p, "console")], ids=lambda p: p.name)
def test_console_examples_print_what_they_say(path: Path, tmp_path: Path) -> None:
    """All examples of a page run one after the other in one folder that holds this repository's documents."""
    here, tools = tmp_path / "here", tmp_path / "bin"
    here.mkdir()
    tools.mkdir()
    for name in ("README.md", "docs", "src"):
        (here / name).symlink_to(ROOT / name)
    (tools / "some-llm").symlink_to(ROOT / "demos" / "scripted-llm")
    search = os.pathsep.join([str(tools), os.path.dirname(sys.executable), "/usr/bin", "/bin"])
    env = {"PATH": search, "HOME": str(tmp_path), "LC_ALL": "C.UTF-8", "MEMCTL_DB": str(tmp_path / "memory.db")}
    said: dict[str, str] = {}
    real: dict[str, str] = {}
    for block in blocks(path, "console"):
        for command, printed in steps(block):
            done = subprocess.run(
                ["bash", "-o", "pipefail", "-c", command],
                cwd=here, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                stdin=subprocess.DEVNULL,
            )  # fmt: skip
            assert done.returncode == 0, f"$ {command}\n{done.stdout}"
            if printed.strip() != "...":
                assert scrub(done.stdout, here, real) == scrub(printed, here, said), f"$ {command}"


@pytest.mark.parametrize("path", [p for p in BY_HAND if blocks(p, "python")], ids=lambda p: p.name)
def test_python_examples_print_what_they_say(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a block prints stands in its `# prints: ` comments, in order."""
    monkeypatch.chdir(tmp_path)
    for block in 2 * blocks(path, "python"):  # a second run prints the same
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(block, str(path), "exec"), {"__name__": "__main__"})
        assert scrub(out.getvalue(), tmp_path, {}) == scrub(
            "\n".join(re.findall(r"^# prints: (.*)", block, re.MULTILINE)), tmp_path, {}
        )


@pytest.mark.parametrize("path", BY_HAND, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        page = (path.parent / file) if file else path
        if not page.exists() or (anchor and page.suffix == ".md" and anchor not in anchors(page)):
            broken.append(target)
    assert broken == []


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as code hosts make them."""
    headings = re.findall(r"^#+ (.*)", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


#: Command lines whose --json is compared with the table in docs/formats.md, and with the types in docs/json.md; `{id}`
#: is a passage that there is, `{said}` a statement.
JSON_OF = {
    "init": "init box",
    "push": "push gateway --source doc.md",
    "recall": "recall gateway",
    "ingest": "ingest --source doc.md",
    "pull": "pull",
    "remember": "remember x is y",
    "workspace": "workspace list",
    "scope": "scope show",
    "completion": "completion words ids",
    "shell-init": "shell-init fish",
    "session": "session list",
    "corpus": "corpus list",
    "status": "status",
    "search": "search gateway",
    "list": "list --passages",
    "loop": "loop gateway --llm cat --protocol passive",
    "show": "show {id}",
    "mount": "mount .",
    "sync": "sync .",
    "inspect": "inspect . --sync always",
    "ask": "ask . gateway --llm cat",
    "chat": "chat --llm cat",
    "stats": "stats",
    "digest": "digest",
    "import": "import items.jsonl",
    "eval": "eval questions.jsonl",
    "embed": "embed --embedder ollama:m --dry-run",
    "scan": "scan doc.md",
    "policy": "policy list",
    "quarantine": "quarantine list",
    "context": "context gateway",
    "browse": "browse",
    "review": "review",
    "timeline": "timeline",
    "topics": "topics",
    "entities": "entities",
    "graph": "graph",
    "remote": "remote list",
    "conflicts": "conflicts --scan",
    "resolve": "resolve {conflict} both",
    "link": "link {said} supports {id}",
    "unlink": "unlink {said} supports {id}",
    "links": "links {said}",
    "related": "related {said}",
    "similar": "similar {said}",
    "consolidate": "consolidate",
    "backup": "backup copy.db",
    "doctor": "doctor",
    "vacuum": "vacuum",
    "trust": "trust",
    "config": "config show",
    "docs": "docs",
    "untrust": "untrust .",
    "forget": "forget {id}",
    "restore": "restore {id}",
    "tag": "tag {id} +x",
    "verify": "verify {said}",
    "retract": "retract {said}",
    "edit": "edit {said} --title T",
    "supersede": "supersede {said} the gateway retries thrice",
    "promote": "promote {said}",
    "retain": "retain {said} keep",
    "purge": "purge {said}",
    "reindex": "reindex",
    "undo": "undo",
    "log": "log",
    "history": "history {said}",
    "blame": "blame {said}",
    "diff": "diff {said} {id}",
}


@pytest.mark.parametrize("name", JSON_OF)
def test_json_has_the_keys_that_are_documented(name: str, scratch: Path) -> None:
    from scripts.lib import json_page

    from memctl.store.conflicts import conflict_id
    from support import ok

    (scratch / "doc.md").write_text("# Doc\n\nThe gateway retries twice.\n")
    (scratch / "questions.jsonl").write_text('{"question": "gateway", "expected": "doc.md"}\n')
    (scratch / "items.jsonl").write_text('{"content": "The gateway gives up after that."}\n')
    ok("push", "gateway", "--source", "doc.md")
    item = ok("list", "--passages", "--json").json()[0]["id"]
    said = ok("remember", "The gateway listens on 8080.", "-q").text.strip()
    other = ok("remember", "The gateway listens on 9090.", "-q").text.strip()
    conflict = conflict_id(said, other)
    found = ok(
        *JSON_OF[name].format(id=item, said=said, conflict=conflict).split(), "--json", stdin="The cache is warm."
    ).json()
    if isinstance(found, list):
        found = found[0]
    documented, optional = shape(name)
    assert set(found) - optional == documented
    if name not in ("show", "recall"):
        described = json_page.keys_of(name)
        kinds = {key: described[key][0] for key in found}
        wrong = {key: (kinds[key], value) for key, value in found.items() if not json_page.fits(kinds[key], value)}
        assert wrong == {}


def shape(name: str) -> tuple[set[str], set[str]]:
    """The keys that docs/formats.md gives for a command: those it always has, and those it has sometimes."""
    page = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    if name == "show":
        table = page.partition("## Items, as export writes them")[2].partition("\n## ")[0]
        first = re.findall(r"^\| (`[^|]*) \|", table, re.MULTILINE)
        return {key for cell in first for key in re.findall(r"`(\w+)`", cell)}, {"source", "withheld"}
    row = re.search(rf"^\| `{name}` \| [^|]* \| ([^|]*) \| ([^|]*)\|$", page, re.MULTILINE)
    assert row
    if row[1].startswith("as "):
        return shape(row[1].removeprefix("as ").strip("`"))
    always, sometimes = (set(re.findall(r"`(\w+)`", cell)) for cell in row.groups())
    return always, sometimes


def test_every_command_has_its_json_described() -> None:
    from scripts.lib import json_page

    from memctl.ops import commands

    assert set(commands()) == set(json_page.table())
    assert all(json_page.keys_of(name) for name in commands() if name not in ("recall", "show", "export"))


def test_documents_name_only_commands_that_exist() -> None:
    from memctl.ops import TABLE

    named = {
        (path.name, command)
        for path in BY_HAND
        if path.name not in ("CHANGELOG.md", "add-a-command.md")  # what is no more, and what is not yet
        for command in re.findall(r"`memctl ([a-z]+(?:-[a-z]+)*)", path.read_text(encoding="utf-8"))
    }
    assert {pair for pair in named if pair[1] not in {*TABLE, "help"}} == set()
