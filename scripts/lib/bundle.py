"""The `.mcpb` bundle and the registry's `server.json`: `bundle.py [--out FOLDER]` writes both and prints their paths.

The bundle holds memctl's source, which needs no package; the libraries for office files and PDF are left out. It
is started with uv (manifest 0.4, server type "uv"), because that brings a Python where none is new enough.
The same tree makes the same bytes, whenever and wherever with the same zlib.
"""

import argparse
import json
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memctl import __version__
from memctl.mcp import tool_schema

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
#: One sentence for both; the registry takes at most 100 characters.
DESCRIPTION = "Governed long-term memory for AI clients: one SQLite file, full-text recall within a token budget"
LONG = (
    "memctl keeps what you and your AI agree on in one SQLite file on this machine. A policy looks at every write: "
    "secrets are refused or blotted out, instructions aimed at a model are kept away from it. Recall returns the "
    "passages that answer a question within a token budget, each with its source. It reads text, Markdown, HTML, mail, "
    "source code and the like, and PDF where pdftotext is installed; for office files install memctl with pip instead. "
    "The command line works on the same file."
)
#: The bundle's own date: zip cannot say "none", and the day of the build is nobody's business.
EPOCH = (1980, 1, 1, 0, 0, 0)
MAIN = '''"""The server in this bundle: memctl's own, with the arguments that the manifest gives it."""

import sys

from memctl.mcp.server import main

sys.exit(main())
'''


def registry_name() -> str:
    """The server's name in the registry. It must stand in the README, which is how PyPI packages prove who they are."""
    found = re.search(r"^<!-- mcp-name: (\S+) -->$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise SystemExit("README.md has no line `<!-- mcp-name: … -->`")
    return found[1]


def manifest() -> dict[str, Any]:
    """manifest.json: what a desktop client shows, asks for, and starts."""
    shown = [tool for tool in tool_schema.catalog("standard") if not tool.annotations["openWorldHint"]]
    return {
        "manifest_version": "0.4",
        "name": "memctl",
        "display_name": "memctl Memory",
        "version": __version__,
        "description": DESCRIPTION,
        "long_description": LONG,
        "author": {"name": "The memctl authors"},
        "license": "MIT",
        "keywords": ["memory", "recall", "sqlite", "notes", "documents"],
        "server": {
            "type": "uv",
            "entry_point": "server/main.py",
            "mcp_config": {
                "command": "uv",
                "args": [
                    "run", "--directory", "${__dirname}", "server/main.py",
                    "--db", "${user_config.store}", "--allow-root", "${user_config.folders}",
                ],
            },
        },
        "tools": [{"name": tool.name, "description": tool.description} for tool in shown],
        "compatibility": {"platforms": ["darwin", "linux"], "runtimes": {"python": ">=3.10"}},
        "user_config": {
            "store": {
                "type": "string",
                "title": "Store",
                "description": "The file that holds the memory. It is made if it is missing.",
                "required": True,
                "default": "${HOME}/.local/share/memctl/memory.db",
            },
            "folders": {
                "type": "directory",
                "title": "Folders",
                "description": "Folders whose documents a model may have read into the memory.",
                "multiple": True,
                "required": True,
                "default": ["${HOME}/Documents"],
            },
        },
    }  # fmt: skip


def bundle_project() -> str:
    """pyproject.toml of the bundle: uv has only a Python to find, and nothing to fetch."""
    return (
        f'[project]\nname = "memctl-bundle"\nversion = "{__version__}"\nrequires-python = ">=3.10"\n'
        "dependencies = []\n\n[tool.uv]\npackage = false\n"
    )


def server_json() -> dict[str, Any]:
    """What the registry lists: the package on PyPI, and how it is started."""
    return {
        "$schema": SCHEMA,
        "name": registry_name(),
        "title": "memctl",
        "description": DESCRIPTION,
        "version": __version__,
        "packages": [
            {
                "registryType": "pypi",
                "identifier": "memctl",
                "version": __version__,
                "runtimeHint": "uvx",
                "packageArguments": [{"type": "positional", "value": "serve"}],
                "environmentVariables": [
                    {
                        "name": "MEMCTL_DB",
                        "description": "The store (else .memory/memory.db in the project or above it)",
                        "isRequired": False,
                        "format": "filepath",
                    }
                ],
                "transport": {"type": "stdio"},
            }
        ],
    }


def members() -> Iterator[tuple[str, bytes]]:
    """The bundle's files by name."""
    yield "LICENSE", (ROOT / "LICENSE").read_bytes()
    yield "manifest.json", text_of(manifest())
    yield "pyproject.toml", bundle_project().encode()
    yield "server/main.py", MAIN.encode()
    source = ROOT / "src"
    for path in sorted(source.rglob("*"), key=lambda path: path.relative_to(source).as_posix()):
        if path.is_file() and "__pycache__" not in path.parts:
            yield f"server/{path.relative_to(source).as_posix()}", path.read_bytes()


def text_of(value: dict[str, Any]) -> bytes:
    """JSON for people to read, too."""
    return json.dumps(value, indent=2, ensure_ascii=False).encode() + b"\n"


def write(folder: Path) -> list[Path]:
    """Write both; their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    bundle, listing = folder / f"memctl-{__version__}.mcpb", folder / "server.json"
    with zipfile.ZipFile(bundle, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in members():
            info = zipfile.ZipInfo(name, EPOCH)
            info.create_system = 3  # Unix, wherever it is made
            info.external_attr = 0o100644 << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    listing.write_bytes(text_of(server_json()))
    return [bundle, listing]


def main() -> int:
    """Write them to --out, by default dist/."""
    parser = argparse.ArgumentParser(prog="scripts/bundle", description="Build the .mcpb bundle and server.json.")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", metavar="FOLDER")
    for path in write(parser.parse_args().out):
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
