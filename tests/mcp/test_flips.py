"""A link that takes the place of a folder between the look at a path and its use: what is read stays inside."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from memctl import MemoryStore, folders, paths
from memctl.ingest import prepare, sources
from memctl.ingest.run import IngestRun
from memctl.mcp.guard import ServerGuard

Tools = dict[str, Callable[..., dict[str, Any]]]


@pytest.fixture
def diary(scratch: Path) -> Path:
    """A folder outside, laid out as the one inside."""
    for name, text in (("here/docs/inner", "Tokens are rotated"), ("outside/inner", "The diary says nothing")):
        folder = scratch.parent / name
        folder.mkdir(parents=True)
        for path in (folder / "a.md", folder.parent / "b.md"):
            path.write_text(f"# Note\n\n{text}, says {path.name}.\n")
    return scratch.parent / "outside"


def flip(folder: str, diary: Path) -> None:
    """Put a link to the diary, or to what is below it, in the place of a folder of the project."""
    if not os.path.islink(folder):
        os.rename(folder, os.path.join(os.path.dirname(folder), "." + os.path.basename(folder)))
        os.symlink(diary if folder.endswith("docs") else diary / "inner", folder)


#: Whatever is called between a check and a use: the flip happens right before it, or right after it.
HOOKS: list[tuple[Any, str, str]] = [
    (ServerGuard, "check_arguments", "after"),
    (folders, "canonical_folder", "before"),
    (folders, "canonical_folder", "after"),
    (folders, "sync_mount", "before"),
    (sources, "list_folder", "before"),
    (IngestRun, "_prepared", "before"),
    (prepare, "read_file", "before"),
    (paths, "open_inside", "before"),
]


@pytest.mark.parametrize("folder", ["docs", "docs/inner"])
@pytest.mark.parametrize(("place", "name", "when"), HOOKS, ids=lambda one: str(getattr(one, "__name__", one)))
def test_a_flip_between_check_and_use(
    place: Any, name: str, when: str, folder: str, plain: Tools, store: MemoryStore, diary: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Files are read in this process: what there is to read is too little for others."""
    real = getattr(place, name)
    flipped: list[bool] = []

    def hooked(*args: Any, **options: Any) -> Any:
        if when == "before":
            flip(folder, diary)
            flipped.append(True)
        found = real(*args, **options)
        if when == "after":
            flip(folder, diary)
            flipped.append(True)
        return found

    monkeypatch.setattr(place, name, hooked)
    answer = plain["memory_sync"](path="docs")
    assert flipped
    assert "diary" not in str(answer)
    assert answer.get("code") != "internal-error"
    assert not any("diary" in item.content for item in store.list_items())
    assert not any(str(diary) in mount["path"] for mount in store.list_mounts())


def test_without_a_flip_all_is_read(plain: Tools, store: MemoryStore, diary: Path) -> None:
    (Path("docs") / "link.md").symlink_to(Path("docs/inner/a.md").resolve())
    (Path("docs") / "out.md").symlink_to(diary / "b.md")
    done = plain["memory_sync"](path="docs")
    assert (done["status"], done["files_new"]) == ("ok", 3)
    assert [failed["path"] for failed in done["files_failed"]] == ["out.md"]
    assert {Path(item.provenance.source_id).name for item in store.list_items()} == {"a.md", "b.md", "link.md"}


def test_a_thread_that_flips_all_the_time(plain: Tools, store: MemoryStore, diary: Path) -> None:
    done = Event()

    def flips() -> None:
        for _ in range(20_000):
            if done.is_set():
                break
            flip("docs", diary)
            with suppress(FileNotFoundError):
                os.unlink("docs")
                os.rename(".docs", "docs")

    thread = Thread(target=flips)
    thread.start()
    answers = [plain["memory_sync"](path="docs", full=True) for _ in range(60)]
    done.set()
    thread.join()
    assert {answer["status"] for answer in answers} <= {"ok", "error"}
    assert [answer for answer in answers if answer.get("code") == "internal-error"] == []
    assert not any("diary" in item.content for item in store.list_items(limit=1000))


# --- opening below roots ---------------------------------------------------------------------------------------------


def content(path: str, *roots: str) -> bytes:
    with os.fdopen(paths.open_inside(os.path.realpath(path), roots, os.O_RDONLY), "rb") as file:
        return file.read()


def test_what_a_path_leads_to_must_be_in_a_root(scratch: Path, diary: Path) -> None:
    inside = str(scratch / "docs")
    assert b"rotated" in content(f"{inside}/inner/a.md", str(diary), inside)
    assert b"diary" in content(f"{inside}/inner/../../../outside/b.md", str(diary), inside), "it is in one of them"
    Path("docs/out").symlink_to(diary)
    for path in (f"{inside}/out/b.md", f"{inside}/../../outside/b.md", str(diary / "b.md"), f"{inside}-2/b.md"):
        with pytest.raises(PermissionError):
            content(path, inside)
    with pytest.raises(FileNotFoundError):
        content(f"{inside}/none.md", inside)


@pytest.mark.parametrize(
    "path", ["docs/out", "docs/out/inner", "docs/inner/../../../outside", "../outside", "docs/b.md"]
)
def test_no_part_of_a_listed_folder_is_a_link(path: str, scratch: Path, diary: Path) -> None:
    Path("docs/out").symlink_to(diary)
    with pytest.raises(OSError), sources.list_folder(str(scratch / path), [str(scratch)]):  # noqa: PT011 - of many sorts
        pass


def test_the_entries_of_a_folder_are_as_ever(scratch: Path, diary: Path) -> None:
    Path("docs/out").symlink_to(diary)
    seen = []
    for roots in (None, [str(scratch)]):
        with sources.list_folder(str(scratch / "docs"), roots) as found:
            seen.append(sorted(
                (one.name, one.is_dir(follow_symlinks=False), one.is_symlink(),
                 one.stat(follow_symlinks=False).st_ino) for one in found
            ))  # fmt: skip
    assert seen[0] == seen[1]
    assert [one[0] for one in seen[0]] == ["b.md", "inner", "out"]
