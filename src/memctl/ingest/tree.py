"""A tree of files that fits into a number of characters: what holds most passages is shown, the rest is counted.

Folders open one after the other, the one with most passages first, and their largest entries come first; what stays
closed says how much is in it. The lines themselves are in alphabetical order.
"""

import heapq
from collections.abc import Iterable, Iterator

from memctl.text.clean import one_line

#: Longer names are cut: one of 4000 characters would push everything else out.
_NAME_CHARS = 80
#: No line is shorter: `- a (1 chunk)`.
_LEAST = 14


class Node:
    """A folder or a file: its name, what is in it, and for folders its entries by name."""

    __slots__ = ("chunks", "entries", "files", "folder", "name")

    def __init__(self, name: str, *, folder: bool) -> None:
        self.name, self.folder = name, folder
        self.files = 0 if folder else 1
        self.chunks = 0
        self.entries: dict[tuple[str, bool], Node] = {}  # a redacted name may stand for a folder and for a file

    def line(self, depth: int) -> str:
        """The folder or file on one line, `depth` folders below the root."""
        name, inner = one_line(self.name, _NAME_CHARS), self.inner()
        if not self.folder:
            return f"{'  ' * depth}- {name} ({_count(self.chunks, 'chunk')})"
        if inner is not self:
            name = one_line("/".join(_chain(self)), _NAME_CHARS)
        return f"{'  ' * depth}- {name}/ ({_count(self.files, 'file')}, {_count(self.chunks, 'chunk')})"

    def inner(self) -> "Node":
        """The folder that a chain of folders, each alone in the one above, ends in."""
        node = self
        while len(node.entries) == 1:
            (only,) = node.entries.values()
            if not only.folder:
                break
            node = only
        return node


def _chain(node: Node) -> Iterator[str]:
    last = node.inner()
    yield node.name
    while node is not last:
        (node,) = node.entries.values()
        yield node.name


def _count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _rest(depth: int, files: int, chunks: int) -> str:
    return f"{'  ' * depth}- … and {_count(files, 'more file')} ({_count(chunks, 'chunk')})"


def tree(files: Iterable[tuple[str, str, int]]) -> Node:
    """The root over files given as (folder with `/` between its parts and "" for the root, name, passages)."""
    root = Node("", folder=True)
    folders = {"": [root]}
    for folder, name, chunks in files:
        way = folders.get(folder)
        if way is None:
            way = folders[folder] = _way(root, folder.split("/"))
        leaf = way[-1].entries.get((name, False))
        if leaf is None:
            leaf = way[-1].entries[name, False] = Node(name, folder=False)
        else:  # two names that policy blotted out alike
            leaf.files += 1
        leaf.chunks += chunks
        for node in way:
            node.files += 1
            node.chunks += chunks
    return root


def _way(root: Node, parts: list[str]) -> list[Node]:
    way = [root]
    for part in parts:
        node = way[-1].entries.get((part, True))
        if node is None:
            node = way[-1].entries[part, True] = Node(part, folder=True)
        way.append(node)
    return way


class _Open:
    """A folder whose entries are being shown."""

    __slots__ = ("depth", "node", "shown", "total", "waiting")

    def __init__(self, node: Node, depth: int) -> None:
        self.node, self.depth = node, depth
        found = sorted(node.entries.values(), key=lambda n: (-n.chunks, not n.folder, n.name))
        self.total, self.waiting = len(found), iter(found)
        self.shown: dict[Node, _Open | None] = {}

    def price(self, line: str) -> int:
        """What one more line costs, with the line that counts those not shown: paid for first, given back last."""
        spare = len(_rest(self.depth, self.node.files, self.node.chunks)) + 1 if self.total > 1 else 0
        cost = len(line) + 1
        if not self.shown:
            cost += spare
        if len(self.shown) + 1 == self.total:
            cost -= spare
        return cost


def lines(root: Node, room: int) -> list[str]:
    """The tree in at most `room` characters, a line break after each line counted; [] when nothing fits."""
    top = _Open(root, 0)
    queue: list[tuple[int, int, int, _Open, Node]] = []
    turn = 0

    def wait(opened: _Open) -> None:
        nonlocal turn
        node = next(opened.waiting, None)
        if node is not None:
            turn += 1
            heapq.heappush(queue, (-node.chunks, opened.depth, turn, opened, node))

    wait(top)
    while queue and room >= _LEAST:
        *_, opened, node = heapq.heappop(queue)
        cost = opened.price(node.line(opened.depth))
        if cost <= room:
            room -= cost
            below = _Open(node.inner(), opened.depth + 1) if node.folder else None
            opened.shown[node] = below
            if below is not None:
                wait(below)
        wait(opened)
    return list(_written(top))


def _written(top: _Open) -> Iterator[str]:
    stack: list[tuple[_Open, Iterator[Node]]] = [(top, _by_name(top))]
    while stack:
        opened, nodes = stack[-1]
        node = next(nodes, None)
        if node is None:
            stack.pop()
            if 0 < len(opened.shown) < opened.total:
                files = opened.node.files - sum(n.files for n in opened.shown)
                yield _rest(opened.depth, files, opened.node.chunks - sum(n.chunks for n in opened.shown))
            continue
        yield node.line(opened.depth)
        below = opened.shown[node]
        if below is not None:
            stack.append((below, _by_name(below)))


def _by_name(opened: _Open) -> Iterator[Node]:
    return iter(sorted(opened.shown, key=lambda n: (not n.folder, n.name)))
