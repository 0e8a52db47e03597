"""A store is made where there is not room for all of it, and read where there is room for nothing more."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from support import ok, spawn


@pytest.fixture
def disk(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A file system of so many kilobytes, in memory, as the current folder; where nobody may make one, no test."""
    place = Path("disk")
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={request.param}k", "tmpfs", str(place)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("file systems cannot be mounted here")
    before = Path.cwd()
    os.chdir(place)
    yield place
    os.chdir(before)
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.parametrize("disk", [300, 700, 900, 1000, 1100], indirect=True)
def test_where_a_store_has_no_room_none_is_left_or_a_whole_one(disk: Path) -> None:
    """The last write to the file is made when the connection is closed, which says nothing when it fails."""
    done = spawn("remember", "The gateway listens on 8080.")
    assert done.code == 0 or "no space left" in done.notes
    assert Path(".memory/memory.db").exists() == (done.code == 0)
    if done.code == 0:
        assert "8080" in ok("recall", "gateway").text


@pytest.mark.parametrize("disk", [4000], indirect=True)
def test_a_full_disk_does_not_end_reading(disk: Path) -> None:
    ok("remember", "The gateway listens on 8080.")
    with suppress(OSError), Path("fill").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(1024))
    assert "8080" in ok("recall", "gateway").text
