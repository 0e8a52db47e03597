"""A graph in the formats of other programs: GraphML, DOT (Graphviz) and Mermaid. Whatever its labels say, it stays one.

Nodes are mappings with id, kind, label and type; edges with src, dst, kind and weight.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from memctl.annotations import Any

Rows = Sequence[Mapping[str, Any]]
#: Characters that XML has no way to say.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
#: How Graphviz and Mermaid draw the kinds of nodes.
_DOT_SHAPES = {"item": "box", "passage": "note", "document": "folder", "entity": "ellipse"}
_MERMAID_SHAPES = {"passage": ("[[", "]]"), "document": ("[(", ")]"), "entity": ("([", "])")}


def to_graphml(nodes: Rows, edges: Rows) -> Iterator[str]:
    """The lines of a GraphML document."""
    from xml.sax.saxutils import escape, quoteattr

    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    for where, names in (("node", ("kind", "label", "type")), ("edge", ("kind", "weight"))):
        for name in names:
            kind = "double" if name == "weight" else "string"
            yield f'  <key id="{where}-{name}" for="{where}" attr.name="{name}" attr.type="{kind}" />'
    yield '  <graph id="memory" edgedefault="directed">'
    for node in nodes:
        yield f"    <node id={quoteattr(_xml(node['id']))}>"
        for name in ("kind", "label", "type"):
            yield f'      <data key="node-{name}">{escape(_xml(node[name]))}</data>'
        yield "    </node>"
    for edge in edges:
        yield f"    <edge source={quoteattr(_xml(edge['src']))} target={quoteattr(_xml(edge['dst']))}>"
        yield f'      <data key="edge-kind">{escape(_xml(edge["kind"]))}</data>'
        yield f'      <data key="edge-weight">{edge["weight"]}</data>'
        yield "    </edge>"
    yield "  </graph>"
    yield "</graphml>"


def _xml(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)


def to_dot(nodes: Rows, edges: Rows) -> Iterator[str]:
    """The lines of a directed graph for Graphviz."""
    yield "digraph memory {"
    yield "  rankdir=LR;"
    for node in nodes:
        yield f"  {_dot(node['id'])} [label={_dot(node['label'])}, shape={_DOT_SHAPES[node['kind']]}];"
    for edge in edges:
        yield f"  {_dot(edge['src'])} -> {_dot(edge['dst'])} [label={_dot(edge['kind'])}];"
    yield "}"


def _dot(text: str) -> str:
    """A quoted string: only its quotes and backslashes mean something in it; NUL would end the file."""
    plain = text.replace("\\", "\\\\").replace('"', '\\"').replace("\0", "\ufffd")
    return '"' + " ".join(plain.splitlines()) + '"'


def to_mermaid(nodes: Rows, edges: Rows) -> Iterator[str]:
    """The lines of a Mermaid flowchart; nodes are numbered, because an id may not hold every character."""
    numbers = {node["id"]: f"n{at}" for at, node in enumerate(nodes)}
    yield "flowchart LR"
    for node in nodes:
        before, behind = _MERMAID_SHAPES.get(node["kind"], ("[", "]"))
        yield f'  {numbers[node["id"]]}{before}"{_mermaid(node["label"])}"{behind}'
    for edge in edges:
        yield f'  {numbers[edge["src"]]} -- "{_mermaid(edge["kind"])}" --> {numbers[edge["dst"]]}'


def _mermaid(text: str) -> str:
    """A label in which no character means anything: all but letters, digits, blanks and a few marks are numbers."""
    return "".join(c if c.isalnum() or c in " .,:/_-" else f"#{ord(c)};" for c in text) or "#32;"
