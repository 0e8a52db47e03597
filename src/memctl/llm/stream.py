"""Which pieces of an answer may be shown while it is being made: those of the last one, without its directive."""

from __future__ import annotations

from collections.abc import Callable

from memctl.llm.protocol import HEAD, Directive, parse_json_directive
from memctl.text import jsons


class Gate:
    """Hands the pieces of one answer on as soon as nothing can make it another than the last.

    What it hands on, with what `finish` adds, is the answer, character for character, and a line break. A passive
    answer is the last; of the others it is known when no call is left, or when its directive comes first and wants no
    more.
    """

    def __init__(self, protocol: str, emit: Callable[[str], None], *, last: bool) -> None:
        self._emit, self._last, self._sent = emit, last, 0
        self._held = self._blanks = ""
        self._open = protocol == "passive" or (last and protocol == "regex")
        self._waits = protocol == "json"

    def feed(self, piece: str) -> None:
        """Take the next piece of the model's output."""
        if self._waits:
            self._held += piece
            if "}" in piece or len(self._held) > HEAD:
                self._look()
            return
        if self._open:
            self._pass(piece)

    def finish(self, answer: str) -> None:
        """Hand on what is left of the answer, and end its line."""
        self._emit(answer[self._sent :] + "\n")

    def _look(self) -> None:
        start = jsons.after_blanks(self._held)
        try:
            end = jsons.read(self._held, start)[1] if self._held.startswith("{", start) else 0
        except ValueError:  # it has not come to its end yet
            end = -1
        if end < 0 and len(self._held) <= HEAD:
            return
        self._waits = False
        if end > 0:
            said: Directive = parse_json_directive(self._held[:end])
            self._open = said.found and not said.answer and (self._last or not said.need_more)
        rest, self._held = self._held[end:] if end > 0 else "", ""
        if self._open:
            self._pass(rest)

    def _pass(self, piece: str) -> None:
        text = self._blanks + piece
        if not self._sent:
            text = text.lstrip()
        kept = text.rstrip()
        self._blanks = text[len(kept) :]
        if kept:
            self._sent += len(kept)
            self._emit(kept)
