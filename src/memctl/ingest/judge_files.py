"""Documents judged without storing them: where in which file policy finds what."""

import os
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from memctl import errors
from memctl.extract import Document, Limits, anchor_at, document, needs_worker
from memctl.ingest.sources import STDIN, Target
from memctl.paths import read_file
from memctl.policy.checks_injection import HIDDEN_TEXT, addresses_anybody

if TYPE_CHECKING:
    from memctl.ingest.workers import Worker
    from memctl.policy import Finding, MemoryPolicy


class Spot(NamedTuple):
    """A finding in a file.

    line, column  where it begins, counted from 1; of an office document in the text made from it
    action        what policy would do with it: redact, quarantine, or (in a path, or of a statement) reject
    place         page, slide or sheet; "" in text files
    allowed       why it is let pass; "" when it is not
    """

    path: str
    line: int
    column: int
    kind: str
    rule: str
    action: str
    place: str = ""
    allowed: str = ""


class Scanner:
    """Scans file after file; close it afterwards. Nothing found is ever quoted; paths are shown as policy lets them be.

    What other people's code reads (office, PDF) is read by a process of its own, bounded as when it is ingested.
    strict: judge as statements are judged, which personal data that documents may hold does not pass.
    """

    def __init__(self, policy: "MemoryPolicy", limits: Limits, *, cwd: str = "", strict: bool = False) -> None:
        self._policy, self.limits, self._base, self._strict = policy, limits, os.path.join(cwd, ""), strict
        self._worker: Worker | None = None

    def close(self) -> None:
        """End the process that reads what other people's code reads."""
        if self._worker is not None:
            self._worker.end()

    def shown(self, path: str) -> str:
        """A path relative to the folder the scan started in, without what policy would blot out."""
        return self._policy.redact(path.removeprefix(self._base) if len(self._base) > 1 else path)

    def scan(self, target: Target, stdin: Callable[[], bytes]) -> list[Spot]:
        """The findings in a file, in order. Raises DocumentUnreadable when it cannot be read."""
        if target.problem:
            raise errors.DocumentUnreadable(path=target.path, reason=target.problem)
        if target.path == STDIN:
            return self.scan_bytes(stdin(), "<stdin>")
        if needs_worker(target.path):
            return self._elsewhere(target.path)
        return self.scan_bytes(read_file(target.path, self.limits.bytes)[0], target.path)

    def read(self, path: str, known: str | None) -> list[Spot] | str:  # noqa: ARG002 - what a worker calls
        """The findings in a file, or why it cannot be read: as the process answers that reads it."""
        try:
            return self.scan_bytes(read_file(path, self.limits.bytes)[0], path)
        except errors.DocumentUnreadable as exc:
            return str(exc.fields.get("reason", exc.message))

    def _elsewhere(self, path: str) -> list[Spot]:
        """The findings in a file that a process of its own reads, which is stopped when it takes too long."""
        from memctl.ingest.workers import start

        if self._worker is None:
            self._worker = start(self, _check_spots)
        worker = self._worker
        answer = worker.ask([(path, None)], self.limits.seconds)
        if answer is None or worker.late:
            self._worker = None
            worker.end()
        if answer is None:
            took = f"reading it took more than {self.limits.seconds:.0f} seconds (ingest.max_seconds in config.json)"
            raise errors.DocumentUnreadable(path=path, reason=took if worker.late else "its reader crashed")
        found: list[Spot] | str = answer[0]
        if isinstance(found, str):
            raise errors.DocumentUnreadable(path=path, reason=found)
        return found

    def scan_bytes(self, data: bytes, path: str) -> list[Spot]:
        """The findings in the bytes of a file of this name."""
        doc = document(data, os.path.basename(path), self.limits)
        shown = self.shown(path)
        found = [
            Spot(shown, 1, 1, f.kind, f.rule, "reject" if f.action == "redact" else f.action, "in its path",
                 self._policy.why_allowed(path, f))
            for f in self._policy.findings(path)
            if path != "<stdin>"
        ]  # fmt: skip
        for first, text in doc.turns():
            findings = self._policy.findings(text, document=not self._strict)
            found += self._spots(doc._replace(text=text), path, shown, findings, first)
        if doc.kind == "transcript":
            said = doc.spoken()
            across = _across(self._policy.findings(said, document=not self._strict), said, doc.breaks)
            found += self._spots(doc._replace(text=said), path, shown, across)
        for hidden in doc.hidden:
            inner = Document(hidden.text, "text")
            spots = self._spots(inner, path, shown, self._policy.findings(hidden.text, document=not self._strict))
            if addresses_anybody(hidden.text):  # which is a finding in what nobody sees
                spots.append(Spot(shown, 1, 1, "injection", HIDDEN_TEXT, "quarantine"))
            found += [s._replace(line=s.line + max(0, hidden.line - 1), place=hidden.anchor) for s in spots]
        return found

    def _spots(self, doc: Document, path: str, shown: str, findings: "Sequence[Finding]", first: int = 1) -> list[Spot]:
        """Where the findings in a text lie that begins at the line `first` of its document."""
        starts = [0, *(match.end() for match in re.finditer("\n", doc.text))] if findings else []
        spots = []
        for f in findings:
            inner = bisect_right(starts, f.start)
            line, column = first - 1 + inner, f.start - starts[inner - 1] + 1
            place = anchor_at(doc.anchors, line, line) if doc.anchors else ""
            allowed = self._policy.why_allowed(path, f, doc.text)
            spots.append(Spot(shown, line, column, f.kind, f.rule, f.action, place, allowed))
        return spots


def _check_spots(value: Any, path: str) -> list[Spot] | str:  # noqa: ARG001 - what a worker calls
    """The findings in a file, or why it cannot be read, of the JSON that they became between processes."""
    if isinstance(value, str):
        return value
    if any(any(one.__class__ not in (str, int) for one in row) for row in value):
        raise ValueError("a finding that is none")
    return [Spot(*row) for row in value]


def _across(found: "Sequence[Finding]", said: str, breaks: tuple[int, ...]) -> "list[Finding]":
    """The findings that do something to what a transcript says and begin in one turn and end in another."""
    held = [f for f in found if f.action != "accept"]
    ends = [match.end() for match in re.finditer("\n", said)] if held else []
    starts = [ends[line - 2] for line in breaks[1:]] if held else []
    return [f for f in held if bisect_right(starts, f.start) < bisect_right(starts, f.end - 1)]
