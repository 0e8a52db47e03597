"""The work of scripts/test: lint, types, then the tests on each interpreter in MEMCTL_PYTHONS (one a line)."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
LINTS = (("ruff", "check"), ("ruff", "format", "--check"), ("mypy",))


class Options(NamedTuple):
    """What scripts/test was asked for; `pytest` is what it does not know itself."""

    fast: bool
    slow: bool
    lint: bool
    pytest: list[str]


def options(argv: list[str]) -> Options:
    """Our own flags, taken out of what goes to pytest."""
    own = {"--all-pythons", "--fast", "--slow", "--no-lint"}
    asked = {arg for arg in argv if arg in own}
    if {"--fast", "--slow"} <= asked:
        raise SystemExit("scripts/test: --fast and --slow exclude each other")
    rest = [arg for arg in argv if arg not in own]
    return Options("--fast" in asked, "--slow" in asked, "--no-lint" not in asked, rest)


def say(line: str) -> None:
    """A heading between the tools' own output."""
    print(f"== {line}", file=sys.stderr, flush=True)


def environment(python: str, extra: str, *requirement: str) -> Path:
    """The interpreter of an up-to-date environment made with `python`."""
    command = [python, str(ROOT / "scripts/lib/environment.py"), extra, *requirement]
    made = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if made.returncode:
        raise SystemExit(made.returncode)
    return Path(made.stdout.strip())


def lint(python: Path) -> list[str]:
    """Run the linters; the names of those that found something."""
    failed = []
    for command in LINTS:
        say(" ".join(command))
        if subprocess.run([str(python), "-m", *command], cwd=ROOT, check=False).returncode:
            failed.append(" ".join(command))
    return failed


def run_tests(python: Path, wanted: Options, *, slow: bool) -> int:
    """Run pytest in `python`'s environment, on every core when xdist is there; returns its exit status."""
    command = [str(python), "-m", "pytest"]
    probe = subprocess.run([str(python), "-c", "import xdist"], stderr=subprocess.DEVNULL, check=False)
    cores = min(os.cpu_count() or 1, 8)
    if probe.returncode == 0 and cores > 1 and not any(a.startswith("-n") for a in wanted.pytest):
        command += ["-n", str(cores)]
    if not slow:
        command += ["-m", "not slow"]
    say(f"pytest on {python.relative_to(ROOT).parts[1]}")
    # The installed package is what is tested: nothing of the caller's may come before it. And pytest keeps what it made
    # of the tests, which takes each of its processes 9 s to make again.
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE")}
    return subprocess.run([*command, *wanted.pytest], cwd=ROOT, env=env, check=False).returncode


def oldest_sdk() -> str:
    """The lowest version of the MCP SDK that pyproject.toml allows; the tests' own environment has the newest."""
    found = re.search(r'^http = \["mcp>=([\d.]+),', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    if not found:
        raise SystemExit("pyproject.toml: the extra http names no lowest version")
    return f"mcp=={found[1]}.0"


def main(argv: list[str]) -> int:
    """Everything in order; the exit status is 0 only if all of it passed."""
    wanted = options(argv)
    pythons = os.environ.pop("MEMCTL_PYTHONS", "").split("\n")
    first = environment(pythons[0], "dev")
    failed = lint(first) if wanted.lint else []
    if not (wanted.pytest or wanted.fast):  # the server's tests on the other end of the SDK's range
        status = run_tests(
            environment(pythons[0], "test", oldest_sdk()), wanted._replace(pytest=["tests/mcp"]), slow=False
        )
        if status:
            return status
    for python in [*pythons[1:], pythons[0]]:  # the slow sweeps come last: what fails at once is seen at once
        inside = first if python == pythons[0] else environment(python, "test")
        status = run_tests(inside, wanted, slow=not wanted.fast and (wanted.slow or python == pythons[0]))
        if status:
            return status
    if failed:
        print(f"scripts/test: failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
