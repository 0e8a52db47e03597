"""A clean place to measure in: a new virtual environment with nothing but memctl, compiled, and scratch folders."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
#: What pip puts into bin/ for a console script today.
LAUNCHER = """#!{python}
import sys
from memctl.__main__ import entry
if __name__ == "__main__":
    sys.exit(entry())
"""


class House(NamedTuple):
    """Paths of the scratch environment, and the variables its processes get."""

    folder: Path
    python: str
    memctl: str
    env: dict[str, str]

    def command(self, *args: str) -> list[str]:
        """`memctl ARGS`, run by the clean interpreter without a shell or a shebang line between."""
        return [self.python, self.memctl, *args]

    def store(self, name: str) -> str:
        """The path of a scratch store."""
        return str(self.folder / f"{name}.db")


def build(folder: Path) -> House:
    """An environment without pip, setuptools or .pth files: other packages' start-up hooks cost more than memctl."""
    place = folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    python = str(place / "bin" / "python")
    site = Path(sysconfig.get_path("purelib", "venv", {"base": str(place), "platbase": str(place)}))
    shutil.copytree(ROOT / "src" / "memctl", site / "memctl", ignore=shutil.ignore_patterns("__pycache__"))
    env = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "LC_ALL": "C.UTF-8"}
    subprocess.run([python, "-m", "compileall", "-q", str(site)], check=True, env=env)
    launcher = place / "bin" / "memctl"
    launcher.write_text(LAUNCHER.format(python=python))
    return House(folder, python, str(launcher), env)


def corpus(house: House, given: str | None) -> tuple[Path, int, int]:
    """The folder to ingest, its number of files and its bytes: `given`, else a copy of Python's standard library."""
    if given:
        folder = Path(given).resolve()
    else:
        folder = house.folder / "stdlib"
        if not folder.exists():
            copy_stdlib(folder)
    files = [p for p in folder.rglob("*") if p.is_file()]
    return folder, len(files), sum(p.stat().st_size for p in files)


def copy_stdlib(folder: Path) -> None:
    """The standard library's sources and texts, without its tests and without installed packages."""
    root = sysconfig.get_path("stdlib")
    for here, folders, names in os.walk(root):
        folders[:] = [f for f in folders if f not in ("site-packages", "__pycache__", "test")]
        for name in names:
            if name.endswith((".py", ".txt", ".rst", ".md")):
                target = folder / os.path.relpath(here, root) / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(os.path.join(here, name), target)  # with its time: files of this moment are read twice


def store_size(path: str) -> int:
    """Bytes of a store with the files SQLite may keep beside it."""
    return sum(os.path.getsize(path + tail) for tail in ("", "-wal", "-shm") if os.path.exists(path + tail))
