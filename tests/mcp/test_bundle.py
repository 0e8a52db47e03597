"""The bundle for desktop clients and the registry's listing: complete, valid, the same each time, and it starts."""

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from scripts.lib import bundle

from memctl import __version__
from memctl.mcp import tool_schema

#: The keys of manifest 0.4; a client refuses a manifest with any other.
MANIFEST = {
    "manifest_version", "name", "display_name", "version", "description", "long_description", "author", "license",
    "keywords", "server", "tools", "compatibility", "user_config",
}  # fmt: skip
REQUIRED = {"manifest_version", "name", "version", "description", "author", "server"}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The bundle and the listing."""
    archive, listing = bundle.write(tmp_path_factory.mktemp("bundle"))
    return archive, listing


@pytest.fixture(scope="module")
def unpacked(built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(built[0]) as archive:
        assert archive.testzip() is None
        archive.extractall(folder)
    return folder


@pytest.fixture(scope="module")
def manifest(unpacked: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((unpacked / "manifest.json").read_text(encoding="utf-8"))
    return found


def test_the_manifest_has_what_the_format_wants(manifest: dict[str, Any]) -> None:
    assert REQUIRED <= set(manifest) <= MANIFEST
    assert manifest["manifest_version"] == "0.4"
    assert manifest["version"] == __version__
    assert re.fullmatch(r"[a-z0-9-]+", manifest["name"])
    assert set(manifest["author"]) <= {"name", "email", "url"}
    assert set(manifest["server"]) == {"type", "entry_point", "mcp_config"}
    assert manifest["server"]["type"] == "uv"
    assert set(manifest["compatibility"]) <= {"claude_desktop", "platforms", "runtimes"}
    for one in manifest["user_config"].values():
        assert {"type", "title", "description"} <= set(one)
        assert set(one) <= {
            "type",
            "title",
            "description",
            "required",
            "default",
            "multiple",
            "sensitive",
            "min",
            "max",
        }
        assert one["type"] in {"string", "number", "boolean", "directory", "file"}


def test_every_variable_of_the_command_is_one_that_is_filled_in(manifest: dict[str, Any]) -> None:
    config = manifest["server"]["mcp_config"]
    used = set(re.findall(r"\$\{([^}]+)\}", json.dumps(config)))
    assert used == {"__dirname", *(f"user_config.{name}" for name in manifest["user_config"])}
    # A flag whose value may be empty would take the next flag for its value, or none.
    assert all(one["required"] and one["default"] for one in manifest["user_config"].values())


def test_it_names_the_tools_that_are_served(manifest: dict[str, Any]) -> None:
    known = tool_schema.catalog("standard")
    assert [tool["name"] for tool in manifest["tools"]] == [
        one.name for one in known if not one.annotations["openWorldHint"]
    ]
    assert all(set(tool) == {"name", "description"} for tool in manifest["tools"])


def test_it_holds_the_whole_package_and_nothing_else(unpacked: Path) -> None:
    source = bundle.ROOT / "src"
    wanted = {
        f"server/{path.relative_to(source).as_posix()}": path.read_bytes()
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    found = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()}
    assert found == {"LICENSE", "manifest.json", "pyproject.toml", "server/main.py", *wanted}
    assert all((unpacked / name).read_bytes() == data for name, data in wanted.items())


def test_it_fetches_no_package(unpacked: Path) -> None:
    text = (unpacked / "pyproject.toml").read_text()
    assert "dependencies = []" in text
    assert "package = false" in text


def test_it_is_the_same_each_time(built: tuple[Path, Path], tmp_path: Path) -> None:
    again = bundle.write(tmp_path / "again")
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in built]
    with zipfile.ZipFile(built[0]) as archive:
        infos = archive.infolist()
    assert {info.date_time for info in infos} == {(1980, 1, 1, 0, 0, 0)}
    assert {info.external_attr >> 16 for info in infos} == {0o100644}
    assert len({info.filename for info in infos}) == len(infos)


def test_the_listing_has_what_the_registry_wants(built: tuple[Path, Path]) -> None:
    listing = json.loads(built[1].read_text(encoding="utf-8"))
    assert listing["$schema"] == "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
    assert re.fullmatch(r"io\.github\.[A-Za-z0-9-]+/memctl", listing["name"])
    assert f"<!-- mcp-name: {listing['name']} -->" in (bundle.ROOT / "README.md").read_text(encoding="utf-8")
    assert 1 <= len(listing["description"]) <= 100
    (package,) = listing["packages"]
    assert listing["version"] == package["version"] == __version__
    assert (package["registryType"], package["identifier"]) == ("pypi", "memctl")
    assert package["transport"] == {"type": "stdio"}
    assert "runtimeArguments" not in package, "uvx memctl is enough"


def test_the_unpacked_bundle_starts(unpacked: Path, manifest: dict[str, Any], scratch: Path) -> None:
    """As a client starts it, but for uv: with an interpreter that sees no package."""
    (scratch / "docs").mkdir()
    values = {"${__dirname}": str(unpacked), "${user_config.store}": str(scratch / "m.db"),
              "${user_config.folders}": str(scratch / "docs")}  # fmt: skip
    words = manifest["server"]["mcp_config"]["args"]
    assert words[:2] == ["run", "--directory"]
    argv = [values.get(word, word) for word in words[2:]]
    messages: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize",
         "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
    ]  # fmt: skip
    with subprocess.Popen(
        [sys.executable, "-S", *argv[1:]],
        cwd=argv[0], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as server:  # fmt: skip
        assert server.stdin
        assert server.stdout
        answers = []
        for message in messages:
            server.stdin.write(json.dumps(message) + "\n")
            server.stdin.flush()
            if "id" in message:
                answers.append(json.loads(server.stdout.readline()))
        server.stdin.close()
        assert server.wait(60) == 0
    assert answers[0]["result"]["serverInfo"]["version"] == __version__
    assert [tool["name"] for tool in answers[1]["result"]["tools"]] == [tool["name"] for tool in manifest["tools"]]
    assert not (scratch / "m.db").exists(), "nothing was stored yet"
