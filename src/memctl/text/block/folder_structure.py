"""The structure block: what `inspect` tells people and models about the files of a folder.

Its first part is a documented format: header, totals, folders, largest files, extensions, observations. Where the
budget has room, staleness, languages and a tree follow. Where it has not, the longest lists are shortened, each says by
how much, and the last line is `[...truncated]`. The budget holds for everything, the line break at the end included.
"""

from collections.abc import Callable, Mapping

from memctl.annotations import Any, NamedTuple
from memctl.text.block.markers import STRUCTURE as HEADER
from memctl.text.block.markers import TRUNCATED
from memctl.text.clean import one_line
from memctl.text.tokens import CHARS_PER_TOKEN

FORMAT_VERSION = 1

#: Where not everything fits, the tree gets this many times the room of another section.
_TREE_SHARE = 2
_TREE = "Tree:"


class StructureSection(NamedTuple):
    """A title and the lines below it."""

    title: str
    rows: list[str]

    @property
    def cost(self) -> int:
        """Characters, with the blank line before it and a line break before each line."""
        return len(self.title) + 2 + sum(len(row) + 1 for row in self.rows)


def structure_block(stats: Mapping[str, Any], label: str, budget_tokens: int, tree: Callable[[int], list[str]]) -> str:
    """The block without a final line break; "" when the budget has no room for a line.

    stats  as `ingest.inspect.report` makes them; label: the folder's name, "" for the whole store
    tree   the lines of the tree that fit into a number of characters
    """
    room = budget_tokens * CHARS_PER_TOKEN - 1
    if not stats["total_files"]:
        return _cut([HEADER, "No files found."], room)
    head = [
        HEADER,
        f"format_version: {FORMAT_VERSION}",
        "injection_type: structure_inspect",
        *([f"mount: {one_line(label)}"] if label else []),
        "",
        f"Total files: {stats['total_files']}",
        f"Total chunks: {stats['total_chunks']}",
        f"Total size: {size_text(stats['total_size'])}",
    ]
    sections, further = _sections(stats)
    room -= len("\n".join(head))
    if sum(section.cost for section in sections) > room:
        return _shortened(head, [*sections, *further], room, tree)
    used = sum(section.cost for section in sections)
    for section in further:
        if used + section.cost <= room:
            sections.append(section)
            used += section.cost
    return _written(head, [*sections, StructureSection(_TREE, tree(room - used - len(_TREE) - 2))])


def size_text(size: int) -> str:
    """A size for people: `unknown`, `37 B`, `1.4 KB`, `2.0 MB`."""
    if size <= 0:
        return "unknown"
    if size < 1024:
        return f"{size} B"
    return f"{size / 1024:.1f} KB" if size < 1024 * 1024 else f"{size / (1024 * 1024):.1f} MB"


_STATES = {True: "files have changed since", False: "up to date", None: "not compared with the folder"}


def _sections(stats: Mapping[str, Any]) -> tuple[list[StructureSection], list[StructureSection]]:
    """The sections of the documented format, and those that follow where there is room; none without rows."""
    folders = sorted(stats["per_folder"].items(), key=lambda one: (-one[1]["chunk_count"], one[0]))
    largest = [
        f"- {one_line(f['path'])} ({size_text(f['size_bytes'])}, {f['chunk_count']} chunks)"
        for f in stats["top_largest"]
    ]
    extensions = sorted(stats["per_extension"].items(), key=lambda one: (-one[1], one[0]))
    documented = [
        StructureSection(
            "Folders:",
            [
                f"- {one_line(name)}/ ({n['file_count']} files, {n['chunk_count']} chunks, {size_text(n['size'])})"
                for name, n in folders
            ],
        ),
        StructureSection("Largest files:", largest),
        StructureSection("Extensions:", [f"- {one_line(ext)}: {count}" for ext, count in extensions]),
        StructureSection("Observations:", [f"- {line}" for line in stats["observations"]]),
    ]
    syncs = []
    for mount in stats["staleness"]["mounts"]:
        when = one_line(mount["last_sync_at"] or "")[:16].replace("T", " ")
        unread = f", {mount['unread']} files could not be read" if mount.get("unread") else ""
        state = f"synced {when} UTC, {_STATES[mount['stale']]}{unread}" if when else "never synced"
        syncs.append(f"- {one_line(mount['label'])}: {state}")
    languages = sorted(stats["languages"].items(), key=lambda one: (-one[1]["chunks"], one[0]))
    further = [
        StructureSection("Staleness:", syncs),
        StructureSection(
            "Languages:",
            [
                f"- {one_line(name)} ({n['files']} files, {n['chunks']} chunks, {size_text(n['size'])})"
                for name, n in languages
            ],
        ),
    ]
    return [section for section in documented if section.rows], [section for section in further if section.rows]


# --- fitting ----------------------------------------------------------------------------------------------------


def _shortened(head: list[str], sections: list[StructureSection], room: int, tree: Callable[[int], list[str]]) -> str:
    """All sections in a fair share each, the tree in what they leave; `room` is what the head leaves."""
    room -= len(TRUNCATED) + 1
    if room < 0:
        return _cut([*head, TRUNCATED], room + len("\n".join(head)) + len(TRUNCATED) + 1)
    kept = dict.fromkeys(section.title for section in sections)
    left = len(sections) + _TREE_SHARE
    for section in sorted(sections, key=lambda s: s.cost):
        part = _part(section, room // left)
        room -= part.cost if part.rows else 0
        left -= 1
        kept[section.title] = part
    parts = [part for part in kept.values() if part is not None]
    return _written(head, [*parts, StructureSection(_TREE, tree(room - len(_TREE) - 2))]) + "\n" + TRUNCATED


def _part(section: StructureSection, room: int) -> StructureSection:
    """The section, or as many of its first rows as fit with a row that counts the others."""
    if section.cost <= room:
        return section
    more = "- … and {} more"
    room -= len(section.title) + 2 + len(more.format(len(section.rows))) + 1
    rows = []
    for row in section.rows:
        room -= len(row) + 1
        if room < 0:
            break
        rows.append(row)
    left_out = more.format(len(section.rows) - len(rows))
    return StructureSection(section.title, [*rows, left_out] if rows else [])


def _cut(lines: list[str], room: int) -> str:
    """The lines, or the first of them that fit with the line that says that there were more."""
    if len("\n".join(lines)) <= room:
        return "\n".join(lines)
    room -= len(TRUNCATED)
    kept: list[str] = []
    while room > len(lines[len(kept)]):
        room -= len(lines[len(kept)]) + 1
        kept.append(lines[len(kept)])
    return "" if room < 0 else "\n".join([*kept, TRUNCATED])


def _written(head: list[str], sections: list[StructureSection]) -> str:
    lines = list(head)
    for section in sections:
        if section.rows:
            lines += ["", section.title, *section.rows]
    return "\n".join(lines)
