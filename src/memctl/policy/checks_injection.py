"""The last word on injection: what stands before, after and around a match in the lower-case text.

Rules name their check.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from re import Match

from memctl.policy.regex import lazy_regex


def _beside(pattern: str, *, before: int = 0, after: int = 0, absent: bool = False) -> Callable[[Match[str]], bool]:
    """The check that an expression is found, or is absent, in so many characters before or after a match.

    With neither, it is looked for in the whole text.
    """
    expression = lazy_regex(pattern)

    def counts(match: Match[str]) -> bool:
        stretch = match.string
        if before:
            stretch = stretch[max(0, match.start() - before) : match.start()]
        elif after:
            stretch = stretch[match.end() : match.end() + after]
        return (expression.search(stretch) is None) == absent

    return counts


#: An override of orders: not `skip the input`, not negated (`don't forget the rules`).
override = _beside(r"(?:\b(?:not|never|to\s+not|don'?t|cannot|can'?t|won'?t|no)\s+)$", before=24, absent=True)
#: Nothing right before the match forbids what it says.
not_denied = _beside(
    r"\b(?:not|never|cannot|no|without|shouldn'?t|don'?t|must\s?n'?t)\b[^.!?\n]{0,24}$", before=40, absent=True
)
#: The match begins a line or a sentence, or follows a word that orders.
ordered = _beside(r"\A\Z|\n\Z|(?:[.!?:]\s+|\b(?:you\s+must|please|now|then|must|immediately)\s+)$", before=24)
#: The match begins a sentence or follows words that give an order.
told = _beside(
    r"\n\Z|(?:^|[.!?:;,\"'\u201c\u201d`()\[\]*>#\\=-]\s{0,3}|\b(?:please|and|then|now|to|you|just|or|must|first|me|so|will|"
    r"shall|should|can|could|let'?s|your|my|with|going|must\s+now|follow)\s+)$",
    before=16,
)
#: A tag that frames an order to the model.
tag_order = _beside(r"message|instruction|you\b|please|must|task|ignore", after=300)
#: Only where the text speaks of a model, a role or a game.
persona = _beside(
    r"\b(?:ai|chatgpt|gpt\S*|openai|chatbot|persona|character|role|roleplay|language\s+model|jailbreak|dan)\b"
)


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
