"""Make, or bring up to date, the virtual environment that holds this tree as an installed package.

`python scripts/lib/environment.py [EXTRA [REQUIREMENT]]` prints the path of the environment's interpreter. The package
is installed from the tree, not linked to it, so what runs is what a user would get; a requirement such as `mcp==1.22.0`
pins a dependency. One environment per Python version, extra and requirement, in `.venvs/`; it is used again while
pyproject.toml and src/ are unchanged. A stamp is written last and removed first, so that an interrupted run is simply
done again.
"""

import fcntl
import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENTS = ROOT / ".venvs"
#: Settings of the caller's that would send an install somewhere else, or another tree's modules into ours.
MISLEADING = ("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER", "PYTHONPATH", "PYTHONHOME")


def package_files() -> Iterator[Path]:
    """The files the installed package is made of, in a fixed order."""
    yield ROOT / "pyproject.toml"
    yield from sorted([*ROOT.glob("*.md"), *(ROOT / "docs").iterdir()])
    yield from sorted(p for p in (ROOT / "src").rglob("*") if p.is_file() and "__pycache__" not in p.parts)


def fingerprint(files: Iterator[Path]) -> str:
    """One hash over names and contents."""
    digest = hashlib.sha256(sys.version.encode())
    for path in files:
        digest.update(f"{path.relative_to(ROOT)}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def run(*command: str) -> None:
    """Run a step of the set-up quietly; show what it said, and stop, only if it failed."""
    env = {k: v for k, v in os.environ.items() if k not in MISLEADING}
    done = subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        sys.stderr.buffer.write(done.stdout)
        raise SystemExit(f"set-up failed: {' '.join(command)}\n(a package index must be reachable by pip)")


def create(folder: Path) -> list[str]:
    """A fresh, empty environment; returns the command that is `pip` for it."""
    python = str(folder / "bin" / "python")
    if find_spec("ensurepip"):
        run(sys.executable, "-m", "venv", "--clear", str(folder))
        return [python, "-m", "pip"]
    # Debian's python3 without python3-venv: its own pip can fill an environment from outside.
    run(sys.executable, "-m", "venv", "--clear", "--without-pip", str(folder))
    return [sys.executable, "-m", "pip", "--python", python]


def install(folder: Path, extra: str, stamp: Path, wanted: str, pinned: list[str]) -> None:
    """Bring `folder` to the state `wanted`: the whole of it when dependencies may differ, else only our package."""
    dependencies = fingerprint(iter([ROOT / "pyproject.toml"]))
    before = stamp.read_text().split() if stamp.exists() else []
    stamp.unlink(missing_ok=True)
    print(f"setting up {folder.relative_to(ROOT)} (only when something changed)", file=sys.stderr)
    target = f".[{extra}]" if extra else "."
    quiet = ["install", "--quiet", "--disable-pip-version-check", "--no-input"]
    if before[1:] == [dependencies] and find_spec("ensurepip"):
        pip = [str(folder / "bin" / "python"), "-m", "pip"]
        run(*pip, *quiet, "--force-reinstall", "--no-deps", ".")
    else:
        run(*create(folder), *quiet, target, *pinned)
    stamp.write_text(f"{wanted} {dependencies}\n")


def ensure(extra: str, requirement: str = "") -> Path:
    """The interpreter of an environment that holds this tree as it is now, with a dependency pinned if wanted."""
    ENVIRONMENTS.mkdir(exist_ok=True)
    name = f"py{sys.version_info[0]}.{sys.version_info[1]}" + "".join(f"-{one}" for one in (extra, requirement) if one)
    folder = ENVIRONMENTS / name
    stamp = ENVIRONMENTS / f"{name}.stamp"
    with open(ENVIRONMENTS / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two runs at once: the second waits and finds it done
        wanted = fingerprint(package_files())
        known = stamp.read_text().split() if stamp.exists() else []
        if known[:1] != [wanted] or not (folder / "bin" / "python").exists():
            install(folder, extra, stamp, wanted, [requirement] if requirement else [])
    return folder / "bin" / "python"


if __name__ == "__main__":
    try:
        print(ensure(*sys.argv[1:3]) if len(sys.argv) > 1 else ensure(""))
    except KeyboardInterrupt:
        sys.exit(130)
