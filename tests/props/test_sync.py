"""Whatever happens to a folder: after a sync the store says what a fresh one would, and the dry run said so before."""

import itertools
import shutil
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import folders
from folders import changes, check, document, sync, write
from support import examples

NAMES = ("a.md", "b.md", "c.txt", "sub/a.md", "sub/d.md", "sub/deep/b.md")
STATEMENTS = [f"Statement {word} is told here," for word in ("one", "two", "three", "four")]
BINARY = "\0" * 9
COUNTER = itertools.count()

name = st.sampled_from(NAMES)
texts = st.one_of(
    st.lists(st.sampled_from(STATEMENTS), max_size=3).map(lambda told: document(*told)),
    st.sampled_from(["", BINARY]),
    st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=40),
)
operation = st.one_of(
    st.tuples(st.just("write"), name, texts),
    st.tuples(st.just("append"), name, st.sampled_from(STATEMENTS)),
    st.tuples(st.just("delete"), name, st.none()),
    st.tuples(st.just("rename"), name, name),
    st.tuples(st.just("copy"), name, name),
    st.tuples(st.just("touch"), name, st.none()),
    st.tuples(st.just("ignore"), st.sampled_from(["sub/", "a.md", "*.txt", ""]), st.none()),
)
#: What happens between one sync and the next.
rounds = st.lists(st.lists(operation, max_size=5), min_size=1, max_size=4)


def apply(root: Path, kind: str, where: str, what: str | None) -> None:
    """One change; one that needs a file that is not there changes nothing."""
    path = root / where
    if kind == "write":
        write(path, what or "")
    elif kind == "ignore":
        write(root / ".memctlignore", where)
    elif not path.exists():
        return
    elif kind == "append":
        with path.open("a") as file:
            file.write(document(what or ""))
    elif kind == "delete":
        path.unlink()
    elif kind == "touch":
        path.touch()
    elif what and what != where:
        (root / what).parent.mkdir(parents=True, exist_ok=True)
        if kind == "rename":
            path.replace(root / what)
        else:
            shutil.copyfile(path, root / what)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("trees")


def told(done: dict[str, object]) -> object:
    """What a sync says of files, without what a dry run does not count."""
    files = done["files"]
    assert isinstance(files, list)
    rest = {key: value for key, value in done.items() if key.startswith("files_")}
    return rest, [{key: value for key, value in one.items() if key != "chunks"} for one in files]


@examples(30)
@given(rounds=rounds)
@example(  # two files with the bytes of one that is gone: one of them was it, the other is new
    rounds=[
        [("write", "b.md", document("The same."))],
        [("rename", "b.md", "a.md"), ("write", "c.txt", document("The same."))],
    ]
)
@example(  # a file that was emptied gets back, under another name, what it held
    rounds=[
        [("write", "a.md", ""), ("write", "b.md", document("The same."))],
        [("rename", "a.md", "b.md")],
        [("rename", "b.md", "a.md"), ("append", "a.md", "The same.")],
    ]
)
@example(rounds=[[("write", "a.md", "")], [("rename", "a.md", "b.md"), ("write", "c.txt", "")]])
def test_a_followed_store_says_what_a_fresh_one_does(
    rounds: list[list[tuple[str, str, str | None]]], base: Path
) -> None:
    root = base / f"tree{next(COUNTER)}"
    write(root / "always.rst", "A file that can be read.\n")
    followed, fresh = root.with_suffix(".db"), root.with_suffix(".fresh.db")
    for changes_made in rounds:
        for one in changes_made:
            apply(root, *one)
        foreseen = sync(root, "--dry-run", "--report", db=followed)
        done = sync(root, "--report", db=followed)
        if not done["files_failed"]:  # that a file holds no text is known only when it is read
            assert told(done) == told(foreseen)
        for end in ("", "-wal", "-shm"):
            fresh.with_name(fresh.name + end).unlink(missing_ok=True)
        sync(root, db=fresh)
        assert folders.passages(followed) == folders.passages(fresh)
        again = sync(root, db=followed)
        assert set(changes(again)) <= {"failed"}
        check(followed)
