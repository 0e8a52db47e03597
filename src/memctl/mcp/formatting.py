"""The injection block under its documented path; it lives in `memctl.text.block`."""

from memctl.text.block.markers import parse_injection_block
from memctl.text.block.version1 import (
    FORMAT_VERSION,
    format_combined_prompt,
    format_injection_block,
    format_search_results,
)

__all__ = [
    "FORMAT_VERSION",
    "format_combined_prompt",
    "format_injection_block",
    "format_search_results",
    "parse_injection_block",
]
