"""What policy says of a document: the text without its secrets, and which passages no model may be given."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from memctl import errors
from memctl.text.chunking import Passage

if TYPE_CHECKING:
    from memctl.policy import Finding, Judgement, MemoryPolicy

#: How policy marks what it blotted out.
MARK = "[REDACTED:"


class _Held(NamedTuple):
    """Lines of a document that hold what no model should be given, and the rule that says so."""

    first: int
    last: int
    rule: str


class Governed:
    """A document as policy leaves it.

    It is judged as a whole before it is cut: half of a secret is none that a rule could find. What is blotted out keeps
    its line ends, so line numbers stay as they are.
    """

    __slots__ = ("_clean", "_everywhere", "_firsts", "_held", "_labels", "_passed", "_policy", "text")

    def __init__(self, policy: "MemoryPolicy", path: str, text: str) -> None:
        """Judge the text and the path.

        Raises DocumentUnreadable when the path holds what looks like a secret, or the text far too much of it.
        """
        from memctl.policy.governor import MOST_FINDINGS

        policy = policy.at(path)
        place = judged_path(policy, path)
        judged = policy.judge(text)
        if judged.action == "reject":
            raise errors.DocumentUnreadable(
                path=path, reason=f"policy finds more than {MOST_FINDINGS:,} secrets or instructions in it"
            )
        self.text = judged.text
        self._policy = policy
        self._clean = not judged.findings
        self._everywhere = _quarantining(place.findings)
        self._held = _held_lines(text, judged.findings)
        self._passed = 0
        self._firsts = [held.first for held in self._held]
        self._labels: dict[str, str] = {}

    @property
    def spotless(self) -> bool:
        """Whether nothing was found: no heading or passage of this text needs a look of its own."""
        return self._clean and not self._everywhere

    def label(self, text: str, *, ours: bool = True) -> str:
        """A title or heading without its secrets; empty when it speaks to a model.

        ours: it was taken from this document's text, so that what is clean needs no second look.
        """
        if not text or (ours and self._clean):
            return text
        if text not in self._labels:
            judged = self._policy.judge(text, field="title")
            self._labels[text] = "" if _quarantining(judged.findings) else judged.text
        return self._labels[text]

    def redacted(self, text: str) -> bool:
        """Whether something was blotted out of this part of the document."""
        return not self._clean and MARK in text

    def rules(self, piece: Passage) -> tuple[str, ...]:
        """The rules that keep a passage from being given to a model.

        Where a finding lies within the passage's lines, the passage itself is asked again: of a line that was cut into
        many passages only one may hold it.
        """
        begun = bisect_right(self._firsts, piece.end)
        while self._passed < begun and self._held[self._passed].last < piece.start:
            self._passed += 1  # passages come in order: what ended before this one is not looked at again
        near = [held for held in self._held[self._passed : begun] if piece.start <= held.last]
        across = [held.rule for held in near if held.first < piece.start or held.last > piece.end]
        within = _quarantining(self._policy.judge(piece.text).findings) if near else ()
        return tuple(dict.fromkeys([*self._everywhere, *across, *within]))


def judged_path(policy: "MemoryPolicy", path: str) -> "Judgement":
    """What policy says of a path. Raises DocumentUnreadable when it holds what looks like a secret."""
    place = policy.judge(path, field="provenance")
    if place.redacted:
        raise errors.DocumentUnreadable(path=place.text, reason="its path holds what looks like a secret: rename it")
    return place


def _quarantining(findings: "Sequence[Finding]") -> tuple[str, ...]:
    return tuple(f.rule for f in findings if f.action == "quarantine")


def _held_lines(text: str, findings: "Sequence[Finding]") -> list[_Held]:
    """The lines of the findings that quarantine, counted from 1, in order; each rule once for the same lines.

    Those of examples, too: whether a passage shows an example, its own words must tell.
    """
    held: dict[_Held, None] = {}
    line, counted = 1, 0
    for f in sorted((f for f in findings if f.action in ("quarantine", "accept")), key=lambda f: f.start):
        line += text.count("\n", counted, f.start)
        counted = f.start
        held[_Held(line, line + text.count("\n", f.start, f.end), f.rule)] = None
    return list(held)
