"""The last word on injection: what stands before, after and around a match in the lower-case text.

Rules name their check.
"""

from __future__ import annotations

import re
from re import Match

from memctl.policy.regex import lazy_regex


def override(match: Match[str]) -> bool:
    """An override of orders: not `skip the input`, not negated (`don't forget the rules`)."""
    before = match.string[max(0, match.start() - 24) : match.start()]
    return re.search(r"(?:\b(?:not|never|to\s+not|don'?t|cannot|can'?t|won'?t|no)\s+)$", before) is None


def heading_turns(match: Match[str]) -> bool:
    """Two such headings, or one with words: a transcript, not a chapter."""
    return len(
        re.findall(r"(?m)^#{2,3}\s*(?:instruction|response|human|assistant|system|user|input)\s*(?::|$)", match.string)
    ) >= 2 or ("instruction" in match.group())


_SHORT = 700  # characters of a text that is a statement rather than a document
_SECTION = 2000  # characters within which a tag is closed


def brief(match: Match[str]) -> bool:
    """Whether the text is a statement: short, and no page with blocks of code."""
    return len(match.string) <= _SHORT and "```" not in match.string


def prompt_tag(match: Match[str]) -> bool:
    """`<system>` with words after it, which begins a line or is closed; in XML schemas it holds elements."""
    text, tag = match.string, match.group()
    if tag.startswith("</") or re.match(r"\s*[\w\"'*#]", text[match.end() : match.end() + 40]) is None:
        return False
    before = text[max(0, match.start() - 2) : match.start()].rstrip(" ")
    closed = "</system" in text[match.end() : match.end() + _SECTION]
    return tag.strip(" <>") != "system" or not before[-1:].isalnum() or closed


def bracket(match: Match[str]) -> bool:
    """`[SYSTEM]` that speaks: followed by words, or carrying them."""
    return re.search(r"[:\s]\s*\w{2,}", match.string[match.start() + 7 : match.end() + 40]) is not None


def tag_order(match: Match[str]) -> bool:
    """A tag that frames an order to the model."""
    return (
        re.search(r"message|instruction|you\b|please|must|task|ignore", match.string[match.end() : match.end() + 300])
        is not None
    )


def persona(match: Match[str]) -> bool:
    """Only where the text speaks of a model, a role or a game."""
    return (
        re.search(
            r"\b(?:ai|chatgpt|gpt\S*|openai|chatbot|persona|character|role|roleplay|language\s+model|jailbreak|dan)\b",
            match.string,
        )
        is not None
    )


_DENIED = lazy_regex(r"\b(?:not|never|cannot|no|without|shouldn'?t|don'?t|must\s?n'?t)\b[^.!?\n]{0,24}$")


def not_denied(match: Match[str]) -> bool:
    """Whether nothing right before the match forbids what it says."""
    return _DENIED.search(match.string, max(0, match.start() - 40), match.start()) is None


_ORDER_BEFORE = lazy_regex(
    r"(?:^|[.!?:;,\"'\u201c\u201d`()\[\]*>#\\=-]\s{0,3}|\b(?:please|and|then|now|to|you|just|or|must|first|me|so|will|shall|should|can|could|let'?s|"
    r"your|my|with|going|must\s+now|follow)\s+)$"
)


_ORDERED = lazy_regex(r"(?:[.!?:]\s+|\b(?:you\s+must|please|now|then|must|immediately)\s+)$")


def ordered(match: Match[str]) -> bool:
    """Whether the match begins a line or a sentence, or follows a word that orders."""
    start = match.start()
    before = match.string[max(0, start - 24) : start]
    return not before or before[-1] == "\n" or _ORDERED.search(before) is not None


def told(match: Match[str]) -> bool:
    """Whether the match begins a sentence or follows words that give an order."""
    start = match.start()
    return (
        start == 0
        or match.string[start - 1] == "\n"
        or _ORDER_BEFORE.search(match.string[max(0, start - 16) : start]) is not None
    )


#: A verb that says what for, not what to do: "to copy the text above, you would …".
_IN_ORDER_TO = lazy_regex(r"(?<!need )(?<!want )(?<!have )(?<!like )(?<!you )(?<!now )(?<!going )\bto\s+$")


def steal(match: Match[str]) -> bool:
    """A request for the hidden prompt; a program's own prompt, or instructions in print, are none."""
    text = match.group()
    if (
        not told(match)
        or _IN_ORDER_TO.search(match.string, max(0, match.start() - 24), match.start())
        or re.search(r"system|initial|original|hidden|secret|above|your|you\b|previous|initiali", text) is None
    ):
        return False
    rest = match.string[match.end() : match.end() + 30]
    return (
        re.match(
            r"\s+(?:string|file|template|for\s+(?:your|the)\s+(?:package|distribution|platform)|section|parameter)",
            rest,
        )
        is None
    )
