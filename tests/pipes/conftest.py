"""Real processes: a shell in a scratch folder, with `memctl` and the demos on PATH and nothing of the user's around."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]


class Done(NamedTuple):
    """How a shell script ended."""

    code: int
    out: bytes
    err: bytes

    @property
    def text(self) -> str:
        """stdout as text."""
        return self.out.decode()

    @property
    def notes(self) -> str:
        """stderr as text."""
        return self.err.decode("utf-8", "replace")


Shell = Callable[..., Done]


@pytest.fixture
def clean_env(home: Path) -> dict[str, str]:
    """The variables a process gets: its own HOME, this interpreter's scripts first on PATH, the demos too."""
    path = os.pathsep.join([os.path.dirname(sys.executable), str(ROOT / "demos"), "/usr/bin", "/bin"])
    return {"PATH": path, "HOME": str(home), "LC_ALL": "C.UTF-8"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A scratch HOME; the folder commands run in is below it, so that looking for the nearest store ends here."""
    return tmp_path


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """The folder commands run in."""
    folder = tmp_path / "here"
    folder.mkdir()
    return folder


@pytest.fixture
def sh(clean_env: dict[str, str], here: Path) -> Shell:
    """`sh(script, stdin=b"", **variables)`: run a bash script; pipes fail as a whole only with `set -o pipefail`."""
    if shutil.which("bash") is None:
        pytest.skip("needs bash")

    def run(script: str, stdin: bytes = b"", **variables: str) -> Done:
        env = clean_env | variables
        done = subprocess.run(["bash", "-c", script], cwd=here, env=env, input=stdin, capture_output=True, check=False)
        assert b"Traceback" not in done.stderr, done.stderr.decode()
        return Done(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def unprivileged() -> str:
    """A command prefix under which file permissions count, also for root; skips where that cannot be had."""
    if os.geteuid() != 0:
        return ""
    prefix = f"{sys.executable} {Path(__file__).with_name('unprivileged.py')}"
    probe = subprocess.run([*prefix.split(), "true"], capture_output=True, check=False)
    if probe.returncode:
        pytest.skip("root, and its rights cannot be dropped here")
    return prefix + " "
