"""What a model proposes to remember, found in its output, under the documented name."""

from collections.abc import Mapping, Sequence
from typing import Any

from memctl.config import ProposerConfig
from memctl.text import proposals
from memctl.types import MemoryProposal

__all__ = ["MemoryProposer"]

Found = tuple[str, list[MemoryProposal]]


class MemoryProposer:
    """Finds proposals in a model's output; nothing is stored, and policy has not judged them yet."""

    def __init__(self, config: ProposerConfig | None = None) -> None:
        self.config = ProposerConfig() if config is None else config

    @property
    def system_instruction(self) -> str:
        """What tells a model how to write proposals."""
        return str(self.config.system_instruction)

    def parse_tool_calls(self, tool_calls: Sequence[Mapping[str, Any]]) -> list[MemoryProposal]:
        """The proposals of calls of `memory_propose`."""
        import json

        return self._found(json.dumps(list(tool_calls)), "tool")[1]

    def parse_response_text(self, text: str) -> Found:
        """The text without its blocks of proposals, and these."""
        return self._found(text, "delimiter")

    def parse_json_stdin(self, text: str) -> Found:
        """The proposals of a text that is JSON as a whole; none in any other."""
        return "", self._found(text, "both")[1] if text.lstrip()[:1] in ("[", "{") else []

    def extract_proposals(
        self, response_text: str = "", tool_calls: Sequence[Mapping[str, Any]] | None = None
    ) -> Found:
        """The text without its blocks, and the proposals of the calls and of the text, as `strategy` says."""
        called = self.parse_tool_calls(tool_calls or ()) if self.config.strategy != "delimiter" else []
        if self.config.strategy == "tool":
            return response_text, called
        rest, written = self.parse_response_text(response_text)
        return rest, called + written

    def parse(self, text: str = "", tool_calls: Sequence[Mapping[str, Any]] | None = None) -> Found:
        """The proposals of the calls; without any, those of the text, and the text without them."""
        called = self.parse_tool_calls(tool_calls or ())
        return (text, called) if called else self._found(text, "both")

    def _found(self, text: str, strategy: str) -> Found:
        config = self.config
        found = proposals.parse(
            text, delimiter_open=config.delimiter_open, delimiter_close=config.delimiter_close, strategy=strategy
        )
        return (found.rest if found.structured else text), [one.proposal for one in found.proposals]
