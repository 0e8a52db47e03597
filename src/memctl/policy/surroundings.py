"""What stands around a hit, or a verb: which of overlapping hits count, what is only described, what is an order."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable
from itertools import accumulate

from memctl.policy.rule import Hit, lazy_regex

_INSTRUCTIONS = ("injection", "instructional")
_NEAR = 400  # characters around a hit in which words tell whether an attack is described rather than made
#: What a text says that shows an attack, a prompt format or an example instead of making one.
_DESCRIBED = lazy_regex(
    r"(?i)\b(?:prompt[- ]injection|inject(?:s|ed|ing|ion)\b|jailbreak|attack(?:er|ers|s|ing)?\b|adversar|payload|"
    r"malicious|vulnerab|red[- ]?team|guardrail|example|e\.g\.|template|few-shot|prompt\s*:|stop\s*=|tokenizer)|"
    "```"
)
#: What the writer takes back of his own words, in a hit itself: a user's note as often as an attack. What only stands
#: beside it ("ignore all previous instructions and do what I said") softens nothing.
_TAKEN_BACK = lazy_regex(
    r"(?i)\b(?:what|whatever|everything|anything|all)\s+(?:that\s+)?i(?:['\u2019]ve|\s+have)?\s+"
    r"(?:said|told|wrote|written|mentioned|asked)\b|"
    r"\bmy\s+(?:last|previous|earlier|prior)\s+(?:messages?|e-?mails?|notes?|requests?|questions?|prompts?)\b"
)
_TAKEN_BACK_BY = frozenset(("order-to-forget", "override-instructions"))
#: Nobody quotes hidden characters, nor tells a memory to keep an order while describing how that is done.
_NEVER_QUOTED = frozenset(("hidden-characters", "store-as-system", "memory-mark"))
#: What cannot be seen is no example.
_NEVER_SHOWN = frozenset(("hidden-characters", "store-as-system"))

#: What a passage says that is about prompts, models or attacks; it must say so more than once.
_SUBJECT = lazy_regex(
    r"(?i)\b(?:prompt(?:s|ing)?\b|(?:prompt[- ])?injections?|jailbreak\w*|adversar\w+|attack\w*|malicious|exploit\w*|"
    r"vulnerab\w+|guardrails?|red[- ]?team\w*|few-shot|zero-shot|chain[- ]of[- ]thought|chat templates?|llms?\b|"
    r"language models?|chatbots?|mcp\b|model context protocol|system messages?|tool calls?|function calling|"
    r"fine-?tun\w+|openai|anthropic|chatgpt|gpt-?\d)"
)
_OFTEN = 2  # other words of the subject around an example
_AROUND = 1500  # characters around an example in which they stand: a passage
_FENCE = lazy_regex(r"^[ \t>]{0,8}(?:```|~~~)", re.MULTILINE)
#: Quoted on one line, or set apart as code or as somebody's words.
_QUOTED = lazy_regex(
    r"`[^`\n]{1,400}`|\"[^\"\n]{1,400}\"|\u201c[^\u201d\n]{1,400}\u201d|\u00ab[^\u00bb\n]{1,400}\u00bb|"
    r"^[ \t]{0,3}>[^\n]{0,1000}|^(?: {4}|\t)[^\n]{1,1000}|(?<!\w)'[^'\n]{8,400}'(?!\w)",
    re.MULTILINE,
)
#: Words before a quotation that hand it to the reader as an order.
_HANDED = lazy_regex(
    r"(?i)\b(?:you|assistant|agents?|model|ai)\b[^.\n]{0,40}\b(?:must|should|shall|have to|need to|now)\b[^.\n]{0,30}"
    r"\b(?:follow|obey|execute|run|do|apply|comply|read)\b[^.\n]{0,60}[:.]?\s*$"
)
_HANDED_BEFORE = 200


def farthest_end(hits: Iterable[Hit | tuple[int, int]]) -> Callable[[int], int]:
    """What says for a position the farthest end of those hits or spans that begin before it; 0 where none does."""
    spans = sorted((hit[0], hit[1]) for hit in hits)
    starts = [start for start, _ in spans]
    ends = list(accumulate((end for _, end in spans), max, initial=0))
    return lambda place: ends[bisect_left(starts, place)]


def resolve_overlaps(text: str, hits: list[Hit]) -> list[Hit]:
    """By position, each rule once per place; nothing but secrets inside a secret; quoted attacks only held back."""
    secrets = [h for h in hits if h.rule.kind == "secret"]
    tokens = [s for s in secrets if s.rule.severity == 3]
    others = len(hits) - len(secrets)
    if others:  # a secret that another hit touches says all there is to say
        secret = farthest_end(secrets)
        hits = [h for h in hits if h.rule.kind == "secret" or secret(h.end) <= h.start]
    if tokens:  # and a sure one that covers a weaker one
        sure = farthest_end(tokens)
        hits = [h for h in hits if h.rule.kind != "secret" or h.rule.severity == 3 or sure(h.start + 1) < h.end]
    kept = {(h.start, h.end, h.rule.id): h for h in hits}
    found = [kept[key] for key in sorted(kept)]
    return soften_described(text, found) if others else found


def soften_described(text: str, hits: list[Hit]) -> list[Hit]:
    """The hits, held back instead of rejected where the text around them speaks about attacks and formats, or where the
    writer takes back what he said himself.
    """
    described: list[int] | None = None  # where in the text, in order, words stand that describe attacks
    out = []
    for hit in hits:
        if hit.action == "reject" and hit.rule.kind in _INSTRUCTIONS and hit.rule.id not in _NEVER_QUOTED:
            if described is None:
                described = [match.start() for match in _DESCRIBED.finditer(text)]
            first = bisect_left(described, hit.start - _NEAR)
            is_described = first < len(described) and described[first] < hit.end + _NEAR
            if is_described or (hit.rule.id in _TAKEN_BACK_BY and _TAKEN_BACK.search(text, hit.start, hit.end)):
                hit = hit._replace(action="quarantine")  # noqa: PLW2901
        out.append(hit)
    return out


def accept_examples(text: str, hits: list[Hit]) -> list[Hit]:
    """The hits of a document, those only marked that are examples in a passage about such things.

    An example is quoted or set apart as code, and nothing outside of quotations speaks to a model.
    """
    orders = [hit for hit in hits if hit.rule.kind in _INSTRUCTIONS]
    if not orders or any(hit.rule.id in _NEVER_SHOWN for hit in orders):
        return hits
    quotations = _quotations(text, orders)
    quoted = []
    for hit in orders:
        at = bisect_left(quotations, (hit.start + 1, 0)) - 1
        if at < 0 or quotations[at][1] < hit.end:
            return hits
        quoted.append(quotations[at][0])
    around = _lines([(hit.start - _AROUND, hit.end + _AROUND) for hit in orders], text)
    subject = [match.start() for lo, hi in around for match in _SUBJECT.finditer(text, lo, hi)]
    for hit, start in zip(orders, quoted, strict=True):
        # The passage around it is about such things, and nothing hands its quotation to the reader.
        near = subject[bisect_left(subject, hit.start - _AROUND) : bisect_left(subject, hit.end + _AROUND)]
        others = sum(not (hit.start <= at < hit.end) for at in near)
        if others < _OFTEN or _HANDED.search(text, max(0, start - _HANDED_BEFORE), start):
            return hits
    return [hit._replace(action="accept") if hit.rule.kind in _INSTRUCTIONS else hit for hit in hits]


def _quotations(text: str, hits: list[Hit]) -> list[tuple[int, int]]:
    """Where blocks of code stand, and quotations in the lines of the hits, in order, none within another."""
    fences = [match.start() for match in _FENCE.finditer(text)]
    blocks = list(zip(fences[::2], [*fences[1::2], len(text)], strict=False))
    found = list(blocks)
    for lo, hi in _lines([(hit.start, hit.end) for hit in hits], text):
        for match in _QUOTED.finditer(text, lo, hi):
            at = bisect_left(blocks, (match.start() + 1, 0)) - 1
            if at < 0 or blocks[at][1] < match.start():
                found.append(match.span())
    return sorted(found)


def _lines(spans: list[tuple[int, int]], text: str) -> list[tuple[int, int]]:
    """From where to where the lines go in which these spans are, in order, none twice: no quotation goes beyond one."""
    lines: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        lo = text.rfind("\n", 0, max(0, start)) + 1
        hi = text.find("\n", end)
        hi = len(text) if hi < 0 else hi
        if lines and lo <= lines[-1][1]:
            lines[-1] = lines[-1][0], max(hi, lines[-1][1])
        else:
            lines.append((lo, hi))
    return lines


# --- before a verb -------------------------------------------------------------------------------------------------

#: Words after which an English verb gives an order; `to` and `can` do after some words only.
_LEADS = frozenset(
    (
        "please", "and", "then", "now", "just", "must", "should", "shall", "also", "first", "kindly", "always", "never",
        "instead", "only", "simply", "so", "or", "not", "don't", "do", "again", "let", "start", "keep", "longer", "you",
    )
)  # fmt: skip
_TO_WORDS = (
    "are obliged obligated ordered bound supposed need needs have has required want wants sure instructed asked free "
    "told allowed ought is expected requested encouraged reminded invited advised urged authorised authorized"
)
_TO = frozenset(_TO_WORDS.split())
#: "Use the mail tool to send": the order stands behind what it is done with.
_BY_MEANS = lazy_regex(r"(?:^|[.!?:;,] |\bplease )use (?:the|your|any|an?) [a-z _-]{2,30} to$")
#: "Have your agent send it": somebody is to make a model do it.
_MADE = lazy_regex(
    r"\b(?:have|let|make|get|ask|tell|instruct) (?:(?:your|the|any|an?|whichever) )?(?:\w+ )?"
    r"(?:agents?|assistants?|ai|model|llm|bot|copilot|claude)(?: to)?$|"
    r"\b(?:wants?|needs?|asks?|requires?|expects?|orders?|urges?|instructs?|like) (?:you|(?:the|every|all|each|any) \w+"
    r"(?: \w+)?) to$|\b(?:you have|has) permission to$"
)
_AIMS = frozenset(["idea", "goal", "aim", "purpose", "point", "intent", "intention"])  # "the idea is to send" tells
ABLE = frozenset(["can", "may", "could", "would", "will"])
_SUBJECT_WORDS = "you assistant assistants agent agents model models ai ais llm llms bot bots copilot claude"
_SUBJECTS = frozenset(_SUBJECT_WORDS.split())
#: What stands before the "be" of an order: "must be sent", "is to be read as".
_BE = frozenset(["must", "should", "shall", "to"])
#: Marks before such a verb: these stand right before it, those with a blank between.
_QUOTES, _MARKS = "\"'(\u201c\u2018\xab", '.!?:;,)]-*>#|\u2014\u2013\u2022"'
BEFORE = 48  # characters before a verb that are looked at
_FULL_LINE = 45  # characters of a line that ends because it is full


def order_mark(low: str, place: int) -> str:
    """What lets an English verb at this place give an order; "" if nothing does.

    The mark before it, or the last letter of the word before it.
    """
    before = low[max(0, place - BEFORE) : place]
    bare = before.rstrip()
    if not bare:
        return "\n"
    mark = bare[-1]
    if not mark.isalnum():
        return mark if mark in (_QUOTES if len(bare) == len(before) else _MARKS) else ""
    line = bare[bare.rfind("\n") + 1 :]
    is_short = len(line) < (_FULL_LINE if len(line) < len(bare) or place <= BEFORE else 0)  # all of it is seen
    if "\n" in before[len(bare) :] and (is_short or before.count("\n") > 1):
        return "\n"
    *rest, last = line.split()[-3:]
    if last in _LEADS or last.endswith("ly"):
        return mark
    if (last == "to" and _BY_MEANS.search(line)) or ((last == "to" or last in _SUBJECTS) and _MADE.search(line)):
        return mark
    if last == "be":
        return mark if rest and rest[-1] in _BE else ""
    if last == "to" or last in ABLE:
        leads = bool(rest) and rest[-1] in (_TO if last == "to" else _SUBJECTS)
        return mark if leads and _AIMS.isdisjoint(rest) else ""
    return ""
