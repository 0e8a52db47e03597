"""Puts a manual page of each command into the wheel, written from the table of operations while it is built."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ManualPages(BuildHookInterface):  # type: ignore[type-arg, misc, unused-ignore]
    """The hook that pyproject.toml names."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - the interface has it
        """Write the pages beside the build and name them as data that is installed."""
        folder = Path(self.directory) / "man"
        writer = Path(self.root) / "scripts" / "lib" / "man.py"
        subprocess.run([sys.executable, str(writer), str(folder)], check=True)  # noqa: S603 - our own program
        pages = {str(page): f"share/man/man1/{page.name}" for page in sorted(folder.iterdir())}
        build_data["shared_data"].update(pages)
