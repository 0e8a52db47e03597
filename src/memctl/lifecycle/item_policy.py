"""What today's rules make of an item that is stored: one rule for a scan of the store and for what a model is given.

What a person decided about an item as it is (`store.quarantine.Hold`) stands: findings of the kinds that it was
released from do nothing to it, and while it is held back it stays as it is held, so that there is something to release.
A finding of another kind counts (`MemoryPolicy.covered`).
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from memctl.store.documents.passages import SourcePosition
from memctl.store.quarantine import Hold
from memctl.types import MemoryItem

if TYPE_CHECKING:
    from memctl.policy import Finding, MemoryPolicy


class Change(NamedTuple):
    """What an item is to become, and why.

    seen    when the item that was judged had last been changed
    place   where it stands in its source, if that has to be blotted out too; an undo leaves it so
    freed   the rules that a person released it from, where it stays released with another text
    """

    id: str
    fields: dict[str, Any]
    redacted: bool
    quarantined: bool
    rules: tuple[str, ...]
    seen: str
    place: SourcePosition | None = None
    freed: frozenset[str] | None = None


def judged(
    policy: "MemoryPolicy", item: MemoryItem, hold: Hold | None = None, place: SourcePosition | None = None
) -> Change | None:
    """What an item is to become, judged as the passage of a document; None when it may stay as it is."""
    policy = policy.at(item.provenance.source_id)
    if hold is not None:
        policy = policy.but(policy.covered(hold.rules, released=hold.released))
    content = policy.judge(item.content)
    small = policy.judge_fields(item.title, item.tags, item.entities, item.provenance.source_id)
    other = _references(item)
    references = "\n".join(_texts([other, place.anchor if place else ""]))
    further = () if policy.clear(references, document=True) else policy.judge(references).findings
    findings: list[Finding] = [*content.findings, *small.findings, *further]
    redacted = any(f.action == "redact" for f in findings)
    held = hold is not None and not hold.released and bool(hold.rules)
    quarantined = not held and any(f.action == "quarantine" for f in findings)
    if not (redacted or quarantined):
        return None
    fields: dict[str, Any] = {"injectable": False} if quarantined else {}
    if redacted:
        clean = _without_secrets(other, policy) if further else other
        fields |= {
            "title": small.title,
            "content": content.text,
            "tags": small.tags,
            "entities": small.entities,
        } | clean
        fields["provenance"] = clean["provenance"] | {"source_id": small.provenance}
    if place is not None:
        place = place._replace(anchor=policy.redact(place.anchor)) if redacted and further else None
    wanted = {"redact": redacted, "quarantine": quarantined}
    rules = dict.fromkeys(f.rule for f in findings if wanted.get(f.action))
    freed = hold.rules if hold is not None and hold.released and not quarantined else None
    return Change(item.id, fields, redacted, quarantined, tuple(rules), item.updated_at, place, freed)


def _references(item: MemoryItem) -> dict[str, Any]:
    """What in an item is neither its text nor one of its small fields."""
    whole = item.to_dict()
    source = {key: value for key, value in whole["provenance"].items() if key != "source_id"}
    keys = ("scope", "rule_id", "corpus_id", "superseded_by", "links")
    return {key: whole[key] for key in keys} | {"provenance": source}


def _texts(value: Any) -> Iterator[str]:
    """All texts in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)


def _without_secrets(value: Any, policy: "MemoryPolicy") -> Any:
    """A value with the secrets in its texts blotted out."""
    if isinstance(value, str):
        return policy.judge(value).text
    if isinstance(value, dict):
        return {key: _without_secrets(one, policy) for key, one in value.items()}
    return [_without_secrets(one, policy) for one in value] if isinstance(value, list) else value
