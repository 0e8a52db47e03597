"""Whose word an item is, told from its source: a person's, a document's, a model's, a tool's, the web's.

What a model, a tool or a web page said is never more trusted than what a person said, whatever else speaks for it: it
wins no tie against it, and the block says what it is.
"""

from collections.abc import Iterable

PERSON, PLAIN, LOW = 2, 1, 0
#: What is said of any item of a store that was found and that nobody here has made or trusts.
STRANGER = "low (store of somebody else)"

#: How sure of itself a model may call what it proposes: to be sure is left to people.
MODEL_CONFIDENCE = 0.9

_PERSON = frozenset(("person", "user", "human"))
_MODEL = frozenset(("model", "llm", "assistant", "agent", "ai"))
_WEB = frozenset(("web", "url", "http", "https", "browser"))
_PLAIN = frozenset(("doc", "chat"))
#: The source ids of statements that a model made, and of those that somebody typed, when no other source was named.
_BY_MODEL = (
    "memctl-pull", "memctl-loop", "memctl-chat", "memctl-ask", "memory.propose", "memory_propose", "memory_write",
    "memory_import",
)  # fmt: skip
_TYPED = ("memctl-remember",)
#: What the source of a statement begins with that was found in a conversation; the session stands behind it.
CAPTURED = "memctl-capture"
#: How the reference begins that says which door a model's word came through, whatever source it named.
_MARK = "model:"


def trust_of(kind: str, source_id: str, references: Iterable[object] = ()) -> tuple[int, str]:
    """How far a source is trusted (PERSON, PLAIN or LOW), and what the block says of it.

    That is "" where its kind says it all: a document, a conversation, a typed statement. `references` are the
    provenance's chunk ids, where a mark may stand (see `mark`).
    """
    kind, name = kind.strip().lower(), source_id.strip().lower()
    if kind in _WEB or name.startswith(("http://", "https://")):
        return LOW, "low (web)"
    if any(str(reference).startswith(_MARK) for reference in references):
        return LOW, "low (model)"
    if kind in _PERSON:
        return PERSON, "high (a person)"
    if kind in _MODEL or (kind in ("tool", "chat") and name.startswith(_BY_MODEL)):
        return LOW, "low (model)"
    if kind in _PLAIN or (kind == "tool" and name.partition(":")[0] in _TYPED):
        return PLAIN, ""
    return LOW, {"tool": "low (tool)", "mixed": "low (mixed)", "": ""}.get(kind, "low (unknown)")


def mark(kind: str, source_id: str, door: str) -> list[str]:
    """The reference that keeps a source which a model names from being trusted more than the model is.

    `door` is the command or tool that took it. Nothing where the source is not trusted anyway.
    """
    return [f"{_MARK}{door.partition(':')[0]}"] if trust_of(kind, source_id)[0] > LOW else []


def unmarked(references: Iterable[str]) -> list[str]:
    """The references without marks."""
    return [reference for reference in references if not reference.startswith(_MARK)]


def claimed(kind: str | None, otherwise: str) -> str:
    """The source kind that a model names for what it proposes: anything but a person's word, which it cannot give."""
    return otherwise if not kind or kind.strip().lower() in _PERSON else kind
