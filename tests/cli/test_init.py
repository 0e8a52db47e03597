"""init: one line that any shell can eval, nothing lost, nothing done twice."""

import json
import os
import sqlite3
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memctl.ops.start.init import export_line
from memctl.types import MemoryItem
from stores import change
from support import ok, run


def test_a_new_store() -> None:
    here = os.getcwd()
    done = ok("init")
    assert done.text == f'export MEMCTL_DB="{here}/.memory/memory.db"\n'
    assert done.notes.splitlines() == [
        f"Memory workspace initialized: {here}/.memory",
        f"  Database:  {here}/.memory/memory.db",
        f"  Config:    {here}/.memory/config.json",
        f"  .gitignore: {here}/.memory/.gitignore",
    ]
    assert sorted(os.listdir(".memory")) == [".gitignore", "config.json", "memory.db"]
    assert Path(".memory/.gitignore").read_text() == "*\n"
    text = Path(".memory/config.json").read_text()
    assert text == json.dumps(json.loads(text), indent=2) + "\n"
    assert json.loads(text) == {
        "store": {"fts_tokenizer": ok("stats", "--json").json()["fts_tokenizer"]},
        "inspect": {
            "dominance_frac": 0.4, "low_density_threshold": 0.1, "ext_concentration_frac": 0.75, "sparse_threshold": 1,
        },
        "chat": {"history_max": 1000},
    }  # fmt: skip


def test_twice_is_once() -> None:
    first = ok("init", "some where")
    before = {p.name: p.read_bytes() for p in Path("some where").iterdir()}
    second = ok("init", "some where")
    assert second.out == first.out
    assert second.notes.startswith("Workspace exists: ")
    assert {p.name: p.read_bytes() for p in Path("some where").iterdir()} == before
    assert ok("init", "some where", "-q").err == b""


def test_json() -> None:
    assert ok("init", "--json").json() == {
        "status": "ok",
        "db_path": os.path.abspath(".memory/memory.db"),
        "config_path": os.path.abspath(".memory/config.json"),
        "created": True,
    }
    assert ok("init", "--json").json()["created"] is False


def test_force_moves_the_store_aside() -> None:
    ok("init")
    with change() as db:
        db.write(MemoryItem(content="precious"))
        done = ok("init", "--force")  # while it is open, with a WAL beside it
    moved = done.notes.splitlines()[-1].rpartition(" ")[2]
    assert moved.startswith(os.path.abspath(".memory/memory.bak-"))
    assert moved.endswith(".db")  # as .gitignore has it
    assert ok("stats", "--json").json()["total_items"] == 0
    assert ok("stats", "--json", "--db", moved).json()["total_items"] == 1
    assert ok("init", "--force", "--json").json()["moved_to"] != moved


def test_force_moves_what_is_no_store() -> None:
    os.mkdir(".memory")
    Path(".memory/memory.db").write_text("garbage")
    assert run("init").code == 2
    moved = ok("init", "--force", "--json").json()["moved_to"]
    assert Path(moved).read_text() == "garbage"


@pytest.mark.parametrize(
    ("flags", "env", "tokenizer"),
    [
        (["--fts-tokenizer", "raw"], {"MEMCTL_FTS": "fr"}, "unicode61"),
        ([], {"MEMCTL_FTS": "fr"}, "unicode61 remove_diacritics 2"),
        (["--fts-tokenizer", "porter unicode61"], {}, "porter unicode61"),
    ],
)
def test_tokenizer(flags: list[str], env: dict[str, str], tokenizer: str) -> None:
    ok("init", *flags, env=env)
    assert ok("stats", "--json").json()["fts_tokenizer"] == tokenizer
    assert json.loads(Path(".memory/config.json").read_text())["store"] == {"fts_tokenizer": tokenizer}
    Path(".memory/memory.db").unlink()
    ok("init")  # an existing config.json goes on saying it
    assert ok("stats", "--json").json()["fts_tokenizer"] == tokenizer


@pytest.mark.parametrize("name", ["x'); DROP TABLE a; --", "nonsense", "porter nonsense"])
def test_an_unknown_tokenizer_makes_nothing(name: str) -> None:
    done = run("init", "--fts-tokenizer", name)
    assert done.code == 1, done.notes
    assert not os.path.exists(".memory/memory.db")
    assert not os.path.exists(".memory/config.json")


def test_which_store_init_makes() -> None:
    ok("init", env={"MEMCTL_DB": "elsewhere.db"})
    assert os.path.exists(".memory/memory.db")
    assert ok("init", "--db", "own/m.db").text == f'export MEMCTL_DB="{os.path.abspath("own/m.db")}"\n'
    assert sorted(os.listdir("own")) == [".gitignore", "config.json", "m.db"]
    done = ok("init", "named", "--db", "ignored.db")
    assert done.text.endswith('/named/memory.db"\n')
    assert "--db is ignored" in done.notes
    os.mkdir("sub")
    ok("init", cwd="sub")  # here, not in the store above
    assert os.path.exists("sub/.memory/memory.db")


def test_a_former_yaml_config_is_pointed_at() -> None:
    os.mkdir(".memory")
    Path(".memory/config.yaml").touch()
    assert "config.yaml is not read any more" in ok("init").notes


@pytest.mark.parametrize("path", ["", "file/below", "file"])
def test_a_place_that_cannot_be(path: str) -> None:
    Path("file").touch()
    done = run("init", path)
    assert (done.code, done.out) == (1, b"")


# --- eval --------------------------------------------------------------------------------------------------------

NASTY = [
    "plain", "with blank",
    "two  blanks", "é/ü", "$(touch INJECTED)", "`touch INJECTED`", "a'b", 'a"b', "a;touch INJECTED",
    "a\nb", "trailing \n", "tab\tx", "back\\slash", "star*", "[x]", "!hist", "$HOME", "a&b", "-dash", "%s%n", "\x1b[1m",
    "caf\udce9", "\u202ex", "~",
]  # fmt: skip


def evaluated(line: str, shell: str, *, quoted: bool = True) -> str:
    script = 'eval "$0"; printf "%sX" "$MEMCTL_DB"' if quoted else 'eval $0; printf "%sX" "$MEMCTL_DB"'
    done = subprocess.run([shell, "-c", script, os.fsencode(line)], capture_output=True, check=True)
    assert done.stderr == b""
    assert not os.path.exists("INJECTED")
    return os.fsdecode(done.stdout).removesuffix("X")


@pytest.mark.parametrize("shell", ["sh", "bash"])
@pytest.mark.parametrize("quoted", [True, False])
@pytest.mark.parametrize("name", NASTY)
def test_eval_gives_the_path_back(name: str, shell: str, quoted: bool) -> None:
    path = f"/w/{name}/memory.db"
    assert evaluated(export_line(path), shell, quoted=quoted) == path


@pytest.mark.parametrize("name", ["$(touch INJECTED)", "a\nb", "caf\udce9"])
def test_init_prints_one_line_whatever_the_path_is(name: str) -> None:
    out = ok("init", name).out
    assert out.count(b"\n") == 1
    assert evaluated(os.fsdecode(out[:-1]), "sh") == f"{os.getcwd()}/{name}/memory.db"
    assert os.path.exists(f"{name}/memory.db")


@settings(max_examples=40)
@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12))
def test_eval_gives_any_path_back(name: str) -> None:
    path = f"/w/{name}/memory.db"
    line = export_line(path)
    assert "\n" not in line
    assert evaluated(line, "sh") == evaluated(line, "sh", quoted=False) == path


def test_a_config_file_that_is_named_says_what_the_store_is_like(scratch: Path) -> None:
    (scratch / "c.json").write_text('{"store": {"fts_tokenizer": "raw", "wal_mode": false}}')
    ok("--config", "c.json", "init", "made")
    made = sqlite3.connect("made/memory.db")
    assert made.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    (sql,) = made.execute("SELECT sql FROM sqlite_master WHERE name = 'memory_items_fts'").fetchone()
    made.close()
    assert "tokenize='unicode61'" in sql
    assert ok("--config", "c.json", "init", "flagged", "--fts-tokenizer", "fr").code == 0
    assert b"remove_diacritics" in ok("stats", "--db", "flagged/memory.db", "--json").out


def test_a_named_config_file_that_is_wrong_is_said_so(scratch: Path) -> None:
    (scratch / "c.json").write_text('{"store": {"wal_mode": "perhaps"}}')
    assert run("--config", "c.json", "init", "made").code == 1
    assert run("--config", "missing.json", "init", "made").code == 1
    assert not (scratch / "made").exists()
