"""Policy over the lines of an import: statements are refused, passages of documents are blotted out, both held back."""

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from memctl.lifecycle.record import Record
from memctl.types import MemoryItem

if TYPE_CHECKING:
    from memctl.policy import MemoryPolicy, PolicyVerdict

_REFUSED = "HARD_BLOCK: a reference, link, rule id or scope holds what no item may"


class Line(NamedTuple):
    """A line that may be imported: its number, what it holds, and whether policy changed or held back anything."""

    number: int
    record: Record
    redacted: bool = False
    rules: tuple[str, ...] = ()


def judge(policy: "MemoryPolicy", line: Line) -> Line | list[str]:
    """The line as it may be stored, or the reasons why it may not.

    A statement is judged as a write is: a secret or an instruction rejects it, and so does its length. A passage of a
    document is judged as ingest does it, whatever its length: secrets are blotted out. So is a turn of a conversation
    that is too long for a statement: nobody chose its words to be remembered, and it is stored whole.
    """
    item = line.record.item
    as_document = item.provenance.is_passage or (_is_turn(item) and len(item.content) > policy.max_content_length)
    return _passage(policy, line) if as_document else _statement(policy, line)


def _is_turn(item: MemoryItem) -> bool:
    """Whether an item stands in a conversation, by its source and its place there."""
    source = item.provenance
    return source.source_kind == "chat" and bool(source.source_id.strip()) and bool(source.chunk_ids)


def is_held(item: MemoryItem, withheld: str) -> bool:
    """Whether an item is kept from injection for another reason than being raw."""
    return not item.injectable and withheld != "raw"


def _statement(policy: "MemoryPolicy", line: Line) -> Line | list[str]:
    item = line.record.item
    verdict = policy.evaluate_item(item)
    if verdict.rejected:
        return verdict.reasons
    if _refused(policy, _references(line.record) + [c for c in item.provenance.chunk_ids if not _plain().fullmatch(c)]):
        return [_REFUSED]
    if not verdict.forced_non_injectable:
        return line
    _hold(item, verdict)
    return line._replace(rules=tuple(sorted({f.rule for f in verdict.findings})))


def _hold(item: MemoryItem, verdict: "PolicyVerdict") -> None:
    """Put a quarantine's terms on an item. One that was to expire sooner (or has expired) still does."""
    item.injectable = False
    item.tier = verdict.forced_tier or item.tier
    item.validation = verdict.forced_validation or item.validation
    item.expires_at = min(filter(None, (item.expires_at, verdict.forced_expires_at)), default=None)


def _passage(policy: "MemoryPolicy", line: Line) -> Line | list[str]:
    item = line.record.item
    source, references = item.provenance, _references(line.record)
    small = (item.title, *item.tags, *item.entities, source.source_id, *source.chunk_ids)
    if policy.clear("\n".join((item.content, *small, *references))):
        return line
    if _refused(policy, references):
        return [_REFUSED]
    body = policy.judge(item.content, document=True)
    fields = policy.judge_fields(item.title, item.tags, item.entities, source.source_id, document=True)
    item.content, item.title = body.text, fields.title
    item.tags, item.entities, source.source_id = fields.tags, fields.entities, fields.provenance
    source.chunk_ids = [policy.redact(chunk) for chunk in source.chunk_ids]
    found = (*body.findings, *fields.findings)
    rules = tuple(sorted({f.rule for f in found if f.action == "quarantine"}))
    if rules:
        item.injectable = False
    return line._replace(redacted=any(f.action == "redact" for f in found), rules=rules)


def _refused(policy: "MemoryPolicy", words: list[str]) -> bool:
    text = "\n".join(words)
    if not text or policy.clear(text):
        return False
    return policy.judge(text, field="references", document=False).action == "reject"


def _references(record: Record) -> list[str]:
    """What in a line is neither its text nor one of its small fields, but for ids and hashes of our own making."""
    item, source = record.item, record.item.provenance
    anchor = record.place.anchor if record.place else ""
    links = [word for link in item.links for pair in link.items() for word in pair]
    single = [item.id, item.scope, item.rule_id or "", item.corpus_id or "", item.superseded_by or "", anchor]
    plain = _plain().fullmatch
    return [word for word in (*single, source.source_kind, *source.content_hashes, *links) if not plain(word)]


@cache
def _plain() -> re.Pattern[str]:
    return re.compile(r"MEM-[0-9a-f]{12}|sha256:[0-9a-f]{64}|[a-z_]{0,12}")
