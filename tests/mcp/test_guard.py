"""What is refused before a tool runs: sizes, batches, places, programs."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.mcp import guard as guard_module
from memctl.mcp.guard import GuardError, ServerGuard
from memctl.mcp.session import MAX_SESSIONS
from memctl.mcp.tool_schema import tools


@pytest.fixture
def project(scratch: Path) -> Path:
    """A project folder with a way out of it by links."""
    folder = scratch / "project"
    (folder / "docs").mkdir(parents=True)
    (folder / "docs" / "a.md").write_text("inside")
    outside = scratch / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("outside")
    (folder / "way-out").symlink_to(outside)
    (folder / "docs" / "link.md").symlink_to(outside / "secret.md")
    (folder / "docs" / "same.md").symlink_to(folder / "docs" / "a.md")
    (folder / "docs" / "loop").symlink_to("loop")
    return folder


# --- the store -------------------------------------------------------------------------------------------------------


def test_without_a_root_the_person_says_where_the_store_is(project: Path, scratch: Path) -> None:
    guard = ServerGuard(cwd=str(project))
    assert guard.validate_db_path(".memory/memory.db") == str(project / ".memory/memory.db")
    assert guard.validate_db_path(str(scratch / "m.db")) == str(scratch / "m.db")
    home = Path(os.environ["HOME"])
    assert guard.validate_db_path("~/.local/share/memctl/memory.db") == str(home / ".local/share/memctl/memory.db")


@pytest.mark.parametrize(
    ("root", "db", "found"),
    [
        (".memory", ".memory/memory.db", ".memory/memory.db"),  # as `setup eco` writes them, and no .memory/.memory
        (".memory", "memory.db", ".memory/memory.db"),
        (".", ".memory/memory.db", ".memory/memory.db"),  # --secure
        ("~/stores", "team.db", "~/stores/team.db"),
        ("~/stores", "~/stores/team.db", "~/stores/team.db"),
        ("~/.local/share/memctl", "~/.local/share/memctl/memory.db", "~/.local/share/memctl/memory.db"),
    ],
)
def test_documented_configurations(project: Path, root: str, db: str, found: str) -> None:
    guard = ServerGuard(db_root=root, cwd=str(project))
    assert guard.validate_db_path(db) == os.path.join(project, os.path.expanduser(found))


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("../m.db", "Path traversal rejected: '..' in path '../m.db'"),
        ("a/../m.db", "Path traversal rejected: '..' in path 'a/../m.db'"),
        ("..", "Path traversal rejected"),
        ("a\\..\\m.db", "Path traversal rejected"),
        ("/etc/m.db", "Path outside db-root: '/etc/m.db' is not under '"),
        ("~/m.db", "Path outside db-root: '~/m.db' is not under '"),
        ("way-out/m.db", "Path outside db-root: 'way-out/m.db' is not under '"),
        ("a\0b", "Path refused"),
        ("a\nb", "Path refused"),
    ],
)
def test_the_store_stays_in_its_root(project: Path, path: str, message: str) -> None:
    with pytest.raises(GuardError) as caught:
        ServerGuard(db_root=project, cwd="/").validate_db_path(path)
    assert str(caught.value).startswith(message)
    assert isinstance(caught.value, ValueError)


def test_a_root_with_the_same_beginning_is_another_root(scratch: Path) -> None:
    (scratch / "store").mkdir()
    with pytest.raises(GuardError, match="outside db-root"):
        ServerGuard(db_root=scratch / "store", cwd="/").validate_db_path(str(scratch / "store-2" / "m.db"))


def test_a_root_that_is_a_link_is_the_folder_it_leads_to(scratch: Path, project: Path) -> None:
    (scratch / "root").symlink_to(project)
    guard = ServerGuard(db_root=scratch / "root", cwd="/")
    assert guard.validate_db_path("m.db") == str(project / "m.db")
    assert guard.validate_db_path(str(project / "m.db")) == str(project / "m.db")


def test_the_audit_log_names_the_store_by_its_root(project: Path) -> None:
    guard = ServerGuard(db_root=project, cwd="/")
    assert guard.relative_db_path(str(project / ".memory/memory.db")) == ".memory/memory.db"
    assert guard.relative_db_path("/elsewhere/memory.db") == "/elsewhere/memory.db"
    assert ServerGuard(cwd=str(project)).relative_db_path(str(project / "m.db")) == str(project / "m.db")


def test_a_store_over_its_size_takes_no_more(project: Path) -> None:
    db = project / "m.db"
    db.write_bytes(b"x" * 700_000)
    (project / "m.db-wal").write_bytes(b"x" * 400_000)
    with pytest.raises(GuardError, match=r"^Database size 1\.0 MB exceeds limit of 1 MB$"):
        ServerGuard(max_db_size_mb=1).check_db_size(str(db))
    ServerGuard(max_db_size_mb=2).check_db_size(db)
    ServerGuard().check_db_size(str(db))
    ServerGuard(max_db_size_mb=1).check_db_size(str(project / "not there"))


# --- sizes -----------------------------------------------------------------------------------------------------------


def test_one_write() -> None:
    guard = ServerGuard()
    guard.check_write_size("x" * 65_536)
    with pytest.raises(GuardError, match=r"^Write size 65537 bytes exceeds limit of 65536 bytes$"):
        guard.check_write_size("x" * 65_537)
    with pytest.raises(GuardError, match=r"^Write size 65538 bytes exceeds"):
        guard.check_write_size("é" * 32_769)


def test_writes_of_a_minute() -> None:
    now = [0.0]
    guard = ServerGuard(max_write_bytes_per_minute=100, clock=lambda: now[0])
    guard.check_write_budget("s", 500)  # the first of a minute always passes
    with pytest.raises(GuardError, match=r"^Write budget exceeded: 501 bytes"):
        guard.check_write_budget("s", 1)
    guard.check_write_budget("other", 60)
    now[0] = 59.9
    with pytest.raises(GuardError):
        guard.check_write_budget("s", 1)
    guard.check_write_budget("other", 40)
    now[0] = 60.0
    guard.check_write_budget("s", 1)
    guard.check_write_budget("other", 60)  # what is a minute old has gone, the 40 of just now have not
    with pytest.raises(GuardError, match="101 bytes"):
        guard.check_write_budget("other", 1)


def test_sessions_that_write_take_no_more_room() -> None:
    guard = ServerGuard()
    for n in range(MAX_SESSIONS + 10):
        guard.check_write_budget(f"s{n}", 1)
    assert len(guard.sessions) == MAX_SESSIONS


def test_one_import() -> None:
    guard = ServerGuard()
    guard.check_import_batch(500)
    with pytest.raises(GuardError, match=r"^Import batch of 501 items exceeds limit of 500$"):
        guard.check_import_batch(501)


ITEM = '{"content":"x"}'


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("memory_write", {"title": "t", "content": "x" * 65_536}, ""),
        ("memory_write", {"title": "t", "content": "x" * 65_537}, "Write size 65537 bytes"),
        ("memory_write", {"title": "t" * 20_000, "content": "x"}, "Arguments of 200"),
        ("memory_write", {"title": "t", "content": "x", "tags": ["a" * 90] * 200}, "Arguments of 186"),
        ("memory_propose", {"items": "x" * 65_536}, ""),
        ("memory_propose", {"items": "x" * 65_537}, "Write size 65537 bytes"),
        ("memory_propose", {"items": [{"content": "x" * 65_537}]}, "Write size 655"),
        ("memory_import", {"items": f"[{','.join([ITEM] * 500)}]"}, ""),
        ("memory_import", {"items": f"[{','.join([ITEM] * 501)}]"}, "Import batch of 501 items"),
        ("memory_import", {"items": [{"content": "x"}] * 10_000}, "Import batch of 10000 items"),
        ("memory_import", {"items": [{"content": "x" * 70_000}] * 9}, ""),  # no limit for one item, as documented
        ("memory_import", {"items": "x" * 32_768_001}, "Import size 32768001 bytes"),
        ("memory_supersede", {"old": "MEM-1", "text": "x" * 70_000}, "Write size 700"),
        ("memory_write", {}, ""),
        ("memory_write", {"content": None}, ""),
        ("memory_write", {"content": 5}, ""),
    ],
)
def test_sizes_of_writes(tool: str, arguments: dict[str, Any], message: str) -> None:
    guard = ServerGuard()
    if not message:
        guard.check_sizes(tool, arguments, "s", writes=True)
        return
    with pytest.raises(GuardError) as caught:
        guard.check_sizes(tool, arguments, "s", writes=True)
    assert str(caught.value).startswith(message)


def test_sizes_of_reads() -> None:
    guard = ServerGuard()
    guard.check_sizes("memory_loop", {"initial_context": "x" * 262_000}, "s", writes=False)
    with pytest.raises(GuardError, match=r"^Arguments of \d+ bytes exceed limit of 262144 bytes$"):
        guard.check_sizes("memory_search", {"query": "x" * 10_000_000}, "s", writes=False)


def test_deep_arguments_are_measured_too() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(GuardError, match="Write size"):
        ServerGuard().check_sizes("memory_propose", {"items": deep}, "s", writes=True)
    text = "[" * 60_000
    ServerGuard().check_sizes("memory_import", {"items": text}, "s", writes=True)


# --- places and programs ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", [".", "docs", "docs/a.md", "docs/*.txt", "docs/same.md", "not/there", "MNT-1", "**/*.md"]
)
def test_what_is_in_the_project_may_be_read(project: Path, path: str) -> None:
    guard = ServerGuard(cwd=str(project))
    assert guard.check_path(path).startswith(str(project))
    guard.check_path(os.path.join(project, path))


@pytest.mark.parametrize(
    "path",
    [
        "/", "/etc", "/etc/passwd", "~", "~/.ssh/id_ed25519", "..", "../outside", "docs/../../outside", "way-out",
        "way-out/secret.md", "docs/link.md", "docs/l*.md", "way-out/*.md", "w*/secret.md", "w*/**/*.md",
        "/et*/passw?", "docs/\0", "docs/\ud800", "docs\n/etc", "[w]ay-out", "~root/x",
    ],
)  # fmt: skip
def test_what_is_outside_may_not(project: Path, path: str) -> None:
    guard = ServerGuard(cwd=str(project))
    with pytest.raises(GuardError):
        guard.check_path(path)


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": "/etc"},
        {"path": ["docs", "/etc"]},
        {"source": "docs/a.md,/etc/passwd"},
        {"source": "docs/a.md, /etc/passwd"},
        {"sources": '["docs/a.md", "/etc/passwd"]'},
        {"file": "/etc/passwd"},
        {"path": "file:///../etc"},
        {"llm_cmd": "touch pwned"},
        {"llm": ["sh", "-c", "touch pwned"]},
        {"llm_cmd": {"a": 1}},
    ],
)
def test_arguments_are_looked_at_in_every_form(project: Path, arguments: dict[str, Any]) -> None:
    with pytest.raises(GuardError):
        ServerGuard(cwd=str(project)).check_arguments(arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": None}, {"path": ""}, {"path": "docs"}, {"path": 5}, {"path": [1, None, {}]}, {"path": "["},
        {"query": "/etc/passwd"}, {"content": "see ../x"}, {"llm_cmd": None}, {"llm_cmd": ""},
        {"source_doc": "https://example.org/../x"}, {"source": "docs/a,b.md"},
    ],
)  # fmt: skip
def test_arguments_that_name_nothing_forbidden_pass(project: Path, arguments: dict[str, Any]) -> None:
    ServerGuard(cwd=str(project)).check_arguments(arguments)


def test_only_the_commands_of_whoever_started_the_server(project: Path) -> None:
    guard = ServerGuard(cwd=str(project), llm_commands=["claude -p"])
    guard.check_arguments({"llm_cmd": "claude -p"})
    with pytest.raises(GuardError, match="Command refused"):
        guard.check_arguments({"llm_cmd": "claude -p; rm -rf x"})


def test_the_roots(project: Path, scratch: Path) -> None:
    inside, outside = str(project), str(scratch / "outside")
    assert ServerGuard(cwd=inside).roots == (inside,)
    assert ServerGuard(cwd=inside, db_root=inside).roots == (inside,)
    assert ServerGuard(cwd=inside, db_root=outside).roots == (outside, inside)
    assert ServerGuard(cwd=inside, allow_roots=["../outside"]).roots == (outside,)
    assert ServerGuard(cwd=inside, allow_roots=[]).roots == ()
    home = os.environ["HOME"]
    assert ServerGuard(cwd=home, allow_roots=["~"]).roots == (os.path.realpath(home),)


@pytest.mark.parametrize("place", ["~", "~/..", "/"])
def test_a_home_folder_is_no_project(place: str) -> None:
    """Desktop clients start servers there; nobody meant the private keys in it."""
    guard = ServerGuard(cwd=os.path.expanduser(place))
    assert guard.roots == ()
    with pytest.raises(GuardError, match="none is allowed"):
        guard.check_path("notes.md")


def test_a_folder_in_the_home_folder_is_one() -> None:
    folder = Path(os.environ["HOME"]) / "code"
    folder.mkdir()
    assert ServerGuard(cwd=str(folder)).roots == (str(folder),)


def test_a_pattern_that_fits_too_much_is_refused(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard_module, "MAX_GLOB_MATCHES", 3)
    for n in range(5):
        (project / f"{n}.md").touch()
    with pytest.raises(GuardError, match="Pattern refused"):
        ServerGuard(cwd=str(project)).check_path("*.md")


@pytest.mark.parametrize("path", ["/" + "x" * 100_000, "../\ud800", "/\ud800/*"])
def test_a_message_can_be_sent_whatever_the_path_was(project: Path, path: str) -> None:
    with pytest.raises(GuardError) as caught:
        ServerGuard(cwd=str(project)).check_path(path)
    assert len(str(caught.value).encode()) < 1000


def test_a_pattern_from_outside_is_not_even_looked_up(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_args: Any, **_kwargs: Any) -> Any:
        pytest.fail("the whole disk was walked")

    monkeypatch.setattr("glob.iglob", never)
    with pytest.raises(GuardError, match="outside the allowed folders"):
        ServerGuard(cwd=str(project)).check_path("/*/*/*/*")


PIECES = st.sampled_from(
    ["..", ".", "docs", "way-out", "a.md", "link.md", "*", "**", "/", "~", "/etc", "\0", "l*", "é", " "]
)


@given(st.lists(PIECES, max_size=6), st.booleans())
def test_no_path_that_passes_leads_outside(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[str], slash: bool
) -> None:
    base = tmp_path_factory.getbasetemp().resolve() / "confined"
    root = base / "root"
    if not root.exists():
        (root / "docs").mkdir(parents=True)
        (base / "outside").mkdir()
        (base / "outside" / "a.md").touch()
        (root / "way-out").symlink_to(base / "outside")
        (root / "docs" / "link.md").symlink_to(base / "outside" / "a.md")
    path = ("/" if slash else "").join(pieces)
    try:
        found = ServerGuard(cwd=str(root)).check_path(path)
    except GuardError:
        return
    assert Path(found).is_relative_to(root)
    # What the operations make of it: ~ expanded, then normalised, then opened with links followed.
    opened = os.path.realpath(os.path.normpath(os.path.join(root, os.path.expanduser(path))))
    assert Path(opened).is_relative_to(root)


#: Parameters that are typed like paths, but name no place that is read.
NO_PLACES = {("memory_mount", "ignore_patterns"), ("memory_mount", "ignore"), ("memory_mount", "mount_id")}


def test_every_tool_s_places_and_commands_are_known_to_the_guard() -> None:
    """A parameter under a new name would be read without a look."""
    found = tools("full")
    assert len(found) > 10
    for tool in found:
        for one in tool.inputs:
            if one.param.arg.path and (tool.name, one.name) not in NO_PLACES:
                assert one.name in guard_module.PATH_ARGUMENTS, (tool.name, one.name)
            if re.search(r"llm|cmd|command", f"{one.name} {one.param.name}"):
                assert one.name in guard_module.COMMAND_ARGUMENTS, (tool.name, one.name)
