"""Which of the hits in a text count, and how much: secrets cover what is inside them, quoted attacks are held back."""

from __future__ import annotations

import re
from bisect import bisect_left

from memctl.policy.rule import Hit

_NEAR = 400  # characters around a hit in which words tell whether an attack is described rather than made


def settled(text: str, hits: list[Hit]) -> list[Hit]:
    """By position, each rule once per place; nothing but secrets inside a secret; quoted attacks only held back."""
    secrets = [h for h in hits if h.rule.kind == "secret"]
    sure = [s for s in secrets if s.rule.severity == 3]
    kept = {
        (h.start, h.end, h.rule.id): h
        for h in hits
        if not (secrets and _eclipsed(h, sure if h.rule.kind == "secret" else secrets))
    }
    return weighed(text, [kept[key] for key in sorted(kept)])


def _eclipsed(hit: Hit, secrets: list[Hit]) -> bool:
    """Whether a secret says all there is to say: it covers this weaker secret, or touches this other finding."""
    if hit.rule.kind == "secret":
        return hit.rule.severity < 3 and any(s.start <= hit.start and hit.end <= s.end for s in secrets)
    return any(s.start < hit.end and hit.start < s.end for s in secrets)


#: What a text says that shows an attack, a prompt format or an example instead of making one.
_DESCRIBED = re.compile(
    r"(?i)\b(?:prompt[- ]injection|inject(?:s|ed|ing|ion)\b|jailbreak|attack(?:er|ers|s|ing)?\b|adversar|payload|"
    r"malicious|vulnerab|red[- ]?team|guardrail|example|e\.g\.|template|few-shot|prompt\s*:|stop\s*=|tokenizer)|"
    "```"
)
#: Nobody quotes hidden characters, nor tells a memory to keep an order while describing how that is done.
_NEVER_QUOTED = frozenset(("hidden-characters", "store-as-system", "memory-mark"))


def weighed(text: str, hits: list[Hit]) -> list[Hit]:
    """The hits, held back instead of rejected where the text around them speaks about attacks and formats."""
    if not any(map(_quotable, hits)):
        return hits
    described = [match.start() for match in _DESCRIBED.finditer(text)]
    return [_held_back(hit, described) if _quotable(hit) else hit for hit in hits] if described else hits


def _quotable(hit: Hit) -> bool:
    return (
        hit.action == "reject" and hit.rule.kind in ("injection", "instructional") and hit.rule.id not in _NEVER_QUOTED
    )


def _held_back(hit: Hit, described: list[int]) -> Hit:
    """described: where in the text, in order, words stand that describe attacks."""
    first = bisect_left(described, hit.start - _NEAR)
    near = first < len(described) and described[first] < hit.end + _NEAR
    return hit._replace(action="quarantine") if near else hit
