"""What policy says: findings with their spans, verdicts on proposals and items, judgements on passages."""

from __future__ import annotations

from typing import NamedTuple

from memctl.names import FindingKind, PolicyAction


class Finding(NamedTuple):
    """One place where a rule found something.

    `start` and `end` are character offsets into the field that was judged; for tags and entities into the one tag or
    entity. They never carry the text itself, so a finding may be logged.
    """

    kind: FindingKind
    rule: str
    action: PolicyAction
    field: str
    start: int
    end: int


class PolicyVerdict:
    """The answer for one proposal or item: accept, quarantine or reject, why, and what storing it must respect.

    The `forced_*` fields are None unless the verdict is quarantine: tier, validation and expiry (ISO timestamp) that
    the stored item must have. `forced_non_injectable` is True when it must also stay out of every injection block.
    """

    __slots__ = (
        "action",
        "findings",
        "forced_expires_at",
        "forced_non_injectable",
        "forced_tier",
        "forced_validation",
        "reasons",
    )

    def __init__(
        self,
        action: PolicyAction = "accept",
        reasons: list[str] | None = None,
        forced_tier: str | None = None,
        forced_validation: str | None = None,
        forced_expires_at: str | None = None,
        *,
        forced_non_injectable: bool = False,
        findings: list[Finding] | None = None,
    ) -> None:
        self.action: PolicyAction = action
        self.reasons = [] if reasons is None else reasons
        self.forced_tier = forced_tier
        self.forced_validation = forced_validation
        self.forced_expires_at = forced_expires_at
        self.forced_non_injectable = forced_non_injectable
        self.findings = [] if findings is None else findings

    @property
    def accepted(self) -> bool:
        """True for accept only: a quarantined proposal is stored, but not accepted."""
        return self.action == "accept"

    @property
    def rejected(self) -> bool:
        """True when nothing may be stored."""
        return self.action == "reject"

    def __repr__(self) -> str:
        return f"PolicyVerdict({self.action!r}, {self.reasons!r})"


class Judgement(NamedTuple):
    """A passage after policy: the text to store (secrets blotted out), what to do with it, and what was found."""

    text: str
    action: PolicyAction
    findings: tuple[Finding, ...] = ()

    @property
    def redacted(self) -> bool:
        """True when `text` differs from what was given."""
        return any(f.action == "redact" for f in self.findings)


class FieldsJudgement(NamedTuple):
    """The small fields of an item after policy, in the order they were given."""

    title: str
    tags: list[str]
    entities: list[str]
    provenance: str
    action: PolicyAction
    findings: tuple[Finding, ...] = ()
