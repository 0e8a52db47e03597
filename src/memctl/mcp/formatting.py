"""The injection block under its documented path; it lives in `memctl.text.block`."""

from memctl.text.block.frames import (
    FORMAT_VERSION,
    format_combined_prompt,
    format_injection_block,
    format_search_results,
)
from memctl.text.block.markers import parse_injection_block

__all__ = [
    "FORMAT_VERSION",
    "format_combined_prompt",
    "format_injection_block",
    "format_search_results",
    "parse_injection_block",
]
