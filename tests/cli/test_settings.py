"""Flag, then environment, then config.json, then default; and which store and which config file are used."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from memctl.annotations import Annotated, Any
from memctl.context import Context, nearest_store, open_context
from memctl.errors import MemctlError
from memctl.names import Tier
from memctl.operation import NONE, READ, Arg
from memctl.ops import commands
from support import Made, ok, operation, run

Command = Callable[..., None]


@pytest.fixture
def made(command: Command) -> None:
    """A command that tells what it was called with."""

    def made(
        ctx: Context,
        *,
        budget: Annotated[
            int, Arg("b", "--budget", env="MEMCTL_BUDGET", config="recall.budget_tokens", ge=1, le=10_000)
        ] = 2200,
        tier: Annotated[Tier, Arg("t", "--tier", env="MEMCTL_TIER", config="pull.tier")] = "stm",
        session: Annotated[str | None, Arg("s", "--session", env="MEMCTL_SESSION")] = None,
    ) -> Made:
        """Made up."""
        return Made(value=[budget, tier, session])

    command(made)


def configure(data: Any, path: str = ".memory/config.json") -> Path:
    file = Path(path)
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(data))
    return file


def test_defaults(made: None) -> None:
    assert ok("made", "--json").json() == [2200, "stm", None]


def test_each_level_beats_the_next(made: None) -> None:
    configure({"recall": {"budget_tokens": 300}, "pull": {"tier": "mtm"}})
    assert ok("made", "--json").json() == [300, "mtm", None]
    env = {"MEMCTL_BUDGET": "400", "MEMCTL_TIER": "ltm", "MEMCTL_SESSION": "s1"}
    assert ok("made", "--json", env=env).json() == [400, "ltm", "s1"]
    assert ok("made", "--json", "--budget", "500", "--tier", "stm", "--session", "s2", env=env).json() == [
        500, "stm", "s2",
    ]  # fmt: skip


def test_an_empty_variable_is_unset(made: None) -> None:
    configure({"recall": {"budget_tokens": 300}})
    env = {"MEMCTL_BUDGET": "", "MEMCTL_TIER": "", "MEMCTL_SESSION": "", "MEMCTL_DB": "", "MEMCTL_FTS": ""}
    assert ok("made", "--json", env=env).json() == [300, "stm", None]


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ({"MEMCTL_BUDGET": "abc"}, "MEMCTL_BUDGET: 'abc' is not a whole number"),
        ({"MEMCTL_BUDGET": "0"}, "MEMCTL_BUDGET: must be from 1 to 10000, not 0"),
        ({"MEMCTL_TIER": "xyz"}, "MEMCTL_TIER: 'xyz' is not one of stm, mtm, ltm"),
    ],
)
def test_a_bad_variable_is_named(made: None, env: dict[str, str], message: str) -> None:
    done = run("made", env=env)
    assert (done.code, done.notes.splitlines()[0]) == (1, f"memctl: {message}")
    assert ok("made", "--budget", "7", "--tier", "stm", env=env).code == 0


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"recall": {"budget_tokens": "many"}}, "recall.budget_tokens: expected int, got str"),
        ({"recall": {"budget_tokens": 20_000}}, "recall.budget_tokens: must be from 1 to 10000, not 20000"),
        ({"pull": {"tier": "xyz"}}, "pull.tier: 'xyz' not in ['stm', 'mtm', 'ltm']"),
        ({"pull": 3}, "pull: expected an object"),
    ],
)
def test_a_bad_config_value_is_named_with_its_file(made: None, data: Any, message: str) -> None:
    path = configure(data)
    done = run("made")
    assert (done.code, done.notes.splitlines()[0]) == (1, f"memctl: {path.absolute()}: {message}")


def test_unknown_keys_are_told_once_each_and_discard_nothing(made: None) -> None:
    path = configure({"recall": {"budget_tokens": 300, "budget": 1}, "pul": {}}).absolute()
    done = ok("made", "--json", "-q")
    assert done.json() == [300, "stm", None]
    assert done.notes.splitlines() == [
        f"{path}: unknown key recall.budget; did you mean recall.budget_tokens?",
        f"{path}: unknown section pul; did you mean pull?",
    ]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"{", "line 1, column 2: Expecting property name enclosed in double quotes"),
        (b'{"a": "\xe9"}', "byte 7 is not UTF-8"),
        (b"[1]", "it must hold one JSON object"),
        (None, "Is a directory"),
    ],
)
def test_an_unusable_config_file_is_an_error(made: None, data: bytes | None, reason: str) -> None:
    path = Path(".memory/config.json")
    path.parent.mkdir()
    if data is None:
        path.mkdir()
    else:
        path.write_bytes(data)
    done = run("made")
    assert done.code == 1
    assert done.notes.splitlines()[0] == f"memctl: cannot use the config file {path.absolute()}: {reason}"


def test_a_config_file_that_was_named_must_exist(made: None) -> None:
    done = run("made", "--config", "nowhere.json")
    assert (done.code, done.notes.splitlines()[0].endswith("nowhere.json: No such file or directory")) == (1, True)


def test_another_program_s_config_beside_the_store_is_left_alone(made: None) -> None:
    configure({"compilerOptions": {"strict": True}}, "config.json")
    assert ok("made", "--json", "--db", "x.db") == (0, b'[\n  2200,\n  "stm",\n  null\n]\n', b"")
    assert "unknown section compilerOptions" in ok("made", "--config", "config.json").notes


def test_config_is_not_read_for_a_command_without_settings(command: Command) -> None:
    configure({"recall": {"budget_tokens": "broken"}})
    command(lambda _: Made("fine"))
    assert ok("made").err == b""


# --- which store -------------------------------------------------------------------------------------------------


def where(**options: Any) -> str:
    return os.path.relpath(open_context(**options).db_path, os.getcwd())


def test_the_order_of_places(monkeypatch: pytest.MonkeyPatch) -> None:
    assert where() == ".memory/memory.db"
    config = configure({"store": {"db_path": "configured.db"}}, "some.json")
    assert where(config=str(config)) == "configured.db"
    monkeypatch.setenv("MEMCTL_DB", "environment.db")
    assert where(config=str(config)) == "environment.db"
    assert where(db="flag.db", config=str(config)) == "flag.db"
    monkeypatch.setenv("MEMCTL_DB", "")
    assert where() == ".memory/memory.db"


def test_a_path_in_a_config_file_is_seen_from_that_file() -> None:
    Path("etc").mkdir()
    config = str(configure({"store": {"db_path": "../data/m.db"}}, "etc/some.json"))
    assert where(config=config) == os.path.join("data", "m.db")
    elsewhere = Path("deep/er")
    elsewhere.mkdir(parents=True)
    with open_context(config=f"../../{config}", cwd=str(elsewhere.resolve())) as ctx:
        assert ctx.db_path == os.path.abspath("data/m.db")
    for path in (os.path.abspath("x.db"), "~/x.db"):
        absolute = str(configure({"store": {"db_path": path}}, "etc/other.json"))
        assert os.path.abspath(where(config=absolute)) == os.path.expanduser(path)


def test_a_config_file_without_db_path_does_not_move_the_store() -> None:
    assert where(config=str(configure({"recall": {"budget_tokens": 9}}, "some.json"))) == ".memory/memory.db"


def test_the_config_beside_the_store_does_not_move_it() -> None:
    configure({"store": {"db_path": "elsewhere.db"}})
    assert where() == ".memory/memory.db"


def test_the_nearest_store_upwards() -> None:
    ok("init")
    deep = Path("a/b/c")
    deep.mkdir(parents=True)
    assert ok("stats", "--json", cwd=deep).json()["db_path"] == os.path.abspath(".memory/memory.db")
    ok("init", cwd="a/b")
    assert ok("stats", "--json", cwd=deep).json()["db_path"] == os.path.abspath("a/b/.memory/memory.db")
    Path("a/b/c/.memory/memory.db").mkdir(parents=True)
    assert nearest_store(os.path.abspath(deep)) == os.path.abspath("a/b/.memory/memory.db")


def test_home_is_expanded(monkeypatch: pytest.MonkeyPatch) -> None:
    home = os.environ["HOME"]
    assert open_context(db="~/m.db").db_path == f"{home}/m.db"
    monkeypatch.setenv("MEMCTL_DB", "~/e.db")
    assert open_context().db_path == f"{home}/e.db"


def test_a_current_folder_that_was_deleted() -> None:
    os.mkdir("gone")
    os.chdir("gone")
    os.rmdir("../gone")
    assert open_context(db="/x/m.db").db_path == "/x/m.db"
    with pytest.raises(MemctlError, match="current folder"):
        _ = open_context().db_path


# --- the context as a library ------------------------------------------------------------------------------------


def test_operations_are_functions() -> None:
    list_ = operation("list")
    stats = operation("stats")
    init = operation("init")

    with open_context(db=Path("m.db")) as ctx:
        assert init(ctx).as_dict()["created"]
        assert stats(ctx).as_dict()["total_items"] == 0
        assert list_(ctx, limit=3).as_json() == []
        assert ctx.stdin_bytes() == b""


def test_the_store_is_opened_for_what_was_declared() -> None:
    ok("init")
    with open_context() as ctx:
        with pytest.raises(RuntimeError, match="did not declare"):
            _ = ctx.db
        ctx.allow(READ)
        reader = ctx.db
        with pytest.raises(MemctlError):
            reader.run("DELETE FROM memory_items")
        ctx.allow("write")
        assert ctx.db is not reader
        ctx.db.run("DELETE FROM memory_items")
        writer = ctx.db
        ctx.allow(NONE)
        assert ctx.db is writer


def test_a_writer_of_a_missing_store_says_so_and_a_maker_makes_it() -> None:
    with open_context(environ={"MEMCTL_FTS": "fr"}) as ctx:
        ctx.allow("write")
        with pytest.raises(MemctlError, match="no store at"):
            _ = ctx.db
        ctx.allow("create")
        assert ctx.db.path == os.path.abspath(".memory/memory.db")
    assert ok("stats", "--json").json()["fts_tokenizer"] == "unicode61 remove_diacritics 2"


def test_the_config_s_tokenizer_is_for_a_new_store_only() -> None:
    configure({"store": {"fts_tokenizer": "unicode61"}})
    with open_context() as ctx:
        ctx.allow("create")
        _ = ctx.db
    assert ok("stats", "--json").json()["fts_tokenizer"] == "unicode61"
    configure({"store": {"fts_tokenizer": "porter unicode61"}})
    with open_context() as ctx:
        ctx.allow("create")
        _ = ctx.db
    counts = ok("stats", "--json").json()
    assert (counts["fts_tokenizer"], counts["fts_tokenizer_mismatch"]) == ("unicode61", False)


def test_the_policy_follows_the_config() -> None:
    configure({"policy": {"max_content_length": 123}})
    with open_context() as ctx:
        assert ctx.policy is ctx.policy
        assert ctx.config.policy.max_content_length == 123


#: Defaults that were promised to differ from the key's.
OWN_DEFAULTS = {("recall", "budget"): 1500, ("context", "budget"): 1500, ("digest", "budget"): 800}


@pytest.mark.parametrize("name", commands())
def test_a_default_is_said_once(name: str) -> None:
    """Where a parameter can come from config.json, its default is the key's."""
    from memctl.cli import load
    from memctl.config import MemoryConfig

    config = MemoryConfig()
    for param in load(name).params():
        if param.arg.config:
            own = OWN_DEFAULTS.get((name, param.name))
            assert param.default == (own or config.value(param.arg.config)), param.name
