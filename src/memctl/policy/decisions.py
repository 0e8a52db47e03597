"""The decisions: `MemoryPolicy` with its verdicts on proposals and items and its judgement of document passages."""

from __future__ import annotations

import sys
from collections.abc import Container, Iterable
from copy import copy

from memctl import ids
from memctl.annotations import TYPE_CHECKING, Any, NamedTuple
from memctl.names import FindingKind, PolicyAction
from memctl.policy.rule import lazy_regex
from memctl.types import MemoryItem, MemoryProposal

if TYPE_CHECKING:
    from memctl.policy.engine import Engine
    from memctl.policy.project import Project
    from memctl.policy.rule import Hit

_SWITCHES = {
    "secret": "secret_patterns_enabled",
    "injection": "injection_patterns_enabled",
    "instructional": "instructional_content_enabled",
    "pii": "pii_patterns_enabled",
}
#: A field that is nothing but a number: it is judged by itself, since a check may ask whether anything else is said.
_NUMBER = lazy_regex(r"\s*[A-Za-z]{0,3}[\d .()/+-]{9,40}[A-Za-z]?\s*")
_ROUNDS = 4  # blotting out may join what stood apart; the second look is nearly always the last
#: Of a document with more findings nothing is stored: it is a list of secrets, or made to cost.
MOST_FINDINGS = 5_000
#: How strict an action is.
_RANK: dict[PolicyAction, int] = {"accept": 0, "redact": 1, "quarantine": 2, "reject": 3}
_INSTRUCTIONS, _PERSONAL = frozenset(("injection", "instructional")), frozenset(("pii",))
_REASONS = {
    ("secret", "reject"): "HARD_BLOCK: secret pattern {} matched",
    ("injection", "reject"): "HARD_BLOCK: injection pattern {} matched",
    ("injection", "quarantine"): "QUARANTINE: injection pattern {} matched",
    ("instructional", "reject"): "HARD_BLOCK: instructional_content pattern {} matched",
    ("instructional", "quarantine"): "QUARANTINE: instructional_self_instruction pattern {} matched",
    ("pii", "quarantine"): "QUARANTINE: pii pattern {} matched",
}
#: The kinds that refuse, in their order; the first that is found gives the reasons.
_HARD = ("secret", "injection", "instructional")


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


class MemoryPolicy:
    """Judges what is about to be remembered. Holds no state between texts, and never raises on any text.

    `config` is a `PolicyConfig` (or any object with some of its attributes); None means the defaults. Raises
    SettingInvalid when a rule of the project's own is none, or one that is named does not exist.
    """

    __slots__ = (
        "_engines", "_off", "_path", "_project", "expiry_hours", "max_content_length", "require_provenance_for",
    )  # fmt: skip

    def __init__(self, config: Any = None) -> None:
        self.max_content_length: int = getattr(config, "max_content_length", 2000)
        self.require_provenance_for = list(getattr(config, "require_provenance_for", ["mtm", "ltm"]))
        self.expiry_hours: float = getattr(config, "quarantine_expiry_hours", 72)
        self._off = frozenset(kind for kind, key in _SWITCHES.items() if not getattr(config, key, True))
        self._engines: dict[bool, Engine] = {}  # for statements and for documents
        self._project: Project | None = None
        if any(getattr(config, key, None) for key in ("silenced_rules", "rules", "allow")):
            from memctl.policy.project import project_of

            self._project = project_of(config)
        self._path = ""

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        """What goes to another process: not the engines, which hold functions and are made where they are needed."""
        return None, {name: getattr(self, name) for name in self.__slots__} | {"_engines": {}}

    @property
    def switches(self) -> str:
        """The kinds that are switched off, and a word for a project's own part; "" where nothing is configured."""
        words = sorted(self._off)
        if self._project is not None:
            from zlib import crc32

            words.append(f"{crc32(repr(tuple(self._project)).encode('utf-8', 'surrogatepass')):08x}")
        return ",".join(words)

    def for_path(self, path: str) -> MemoryPolicy:
        """This policy for a document of this path, where the project lets some findings pass."""
        if self._project is None or not self._project.allowed:
            return self
        mine = copy(self)
        mine._path = path
        return mine

    def without(self, kinds: Iterable[str]) -> MemoryPolicy:
        """This policy without the findings of these kinds."""
        off = self._off.union(kinds)
        if off == self._off:
            return self
        mine = copy(self)
        mine._off = off
        return mine

    def kinds_of(self, rules: Iterable[str]) -> frozenset[str]:
        """The kinds of these rules; rules that there are no more have none."""
        from memctl.policy.engine import RULES

        wanted = set(rules)
        known = self._project.in_force() if self._project else RULES
        return frozenset(rule.kind for rule in known if rule.id in wanted)

    def covered_kinds(self, rules: Iterable[str], *, released: bool) -> frozenset[str]:
        """The kinds of findings that do nothing to an item that these rules hold back, or that was released from them.

        Those of the rules; who has read one sort of instruction to a model has read the other. Where no rules are
        known, a hold covers personal data, and a release everything but secrets.
        """
        kinds = self.kinds_of(rules)
        if not kinds:
            return _PERSONAL | _INSTRUCTIONS if released else _PERSONAL
        return kinds | _INSTRUCTIONS if kinds & _INSTRUCTIONS else kinds

    # --- interactive paths ----------------------------------------------------------------------------------------

    def evaluate_proposal(self, p: MemoryProposal) -> PolicyVerdict:
        """The verdict on what a model proposes: length, secrets, injection, instructions, then what is held back."""
        size = len(p.content)
        if size > self.max_content_length and p.type != "pointer":
            limit = self.max_content_length
            return PolicyVerdict("reject", [f"Content too long ({size} chars > {limit}); use type='pointer'"])
        hint = p.provenance_hint
        source = str(hint.get("source_id") or "") if isinstance(hint, dict) else ""
        soft = [] if str(p.why_store or "").strip() else ["Missing why_store justification"]
        soft += [] if source.strip() else ["Missing provenance source_id"]
        return self._verdict(self._find(p.title, p.content, p.tags, [], source), soft)

    def evaluate_item(
        self, item: MemoryItem, clean: Container[str] = (), beside: Iterable[Finding] = ()
    ) -> PolicyVerdict:
        """The verdict on a whole item (a write, an import line, a merge): as for proposals, with provenance by tier.

        clean   texts, as `_find` joins them, in which nothing was found
        beside  what was found in its references
        """
        if len(item.content) > self.max_content_length and item.type != "pointer":
            return PolicyVerdict("reject", ["Content too long for non-pointer type"])
        if item.tier in self.require_provenance_for and not item.provenance.source_id.strip():
            return PolicyVerdict("reject", [f"Provenance source_id required for tier={item.tier}"])
        found = self._find(item.title, item.content, item.tags, item.entities, item.provenance.source_id, clean)
        return self._verdict([*found, *beside], [])

    def _verdict(self, findings: list[Finding], soft: list[str]) -> PolicyVerdict:
        if not (findings or soft):  # nearly always
            return PolicyVerdict()
        hard = [f for f in findings if f.kind in _HARD and f.action == "reject"]
        first = min((_HARD.index(f.kind) for f in hard), default=0)
        acting = [f for f in hard if f.kind == _HARD[first]] or findings
        reasons = list(dict.fromkeys(_REASONS[f.kind, f.action].format(f.rule) for f in acting))
        if hard:
            return PolicyVerdict("reject", reasons, findings=findings)
        return PolicyVerdict(
            "quarantine",
            reasons + soft,
            "stm",
            "unverified",
            ids.timestamp(ids.now_seconds() + 3600 * self.expiry_hours),
            forced_non_injectable=bool(findings),
            findings=findings,
        )

    def _find(
        self, title: str, content: str, tags: Iterable[object], entities: Iterable[object], source: str,
        clean: Container[str] = (),
    ) -> list[Finding]:  # fmt: skip
        """One scan over all fields, each on lines of its own, so that none hides what another completes.

        What a title begins, the content may complete: a finding is in the field that holds most of it.
        """
        parts = [("title", title), ("content", content)]
        parts += [("tags", str(t)) for t in tags] + [("entities", str(e)) for e in entities] + [("provenance", source)]
        parts = [part for part in parts if part[1]]
        findings = [
            Finding(hit.rule.kind, hit.rule.id, hit.action, name, hit.start, hit.end)
            for name, text in parts[:-1] if _NUMBER.fullmatch(text) for hit in self._hits(text)
        ]  # fmt: skip
        together = "\n".join(text for _, text in parts)
        for hit in () if together in clean else self._hits(together):
            best, start = None, 0
            for name, text in parts:
                lo, hi = max(0, hit.start - start), min(len(text), hit.end - start)
                if hi > lo and (best is None or hi - lo > best.end - best.start):
                    best = Finding(hit.rule.kind, hit.rule.id, hit.action, name, lo, hi)
                start += len(text) + 1
            if best and best not in findings and not (best.field == "provenance" and best.kind == "pii"):
                findings.append(best)
        return findings

    def why_allowed(self, path: str, finding: Finding, text: str = "") -> str:
        """Why the project, or a mark in the document's `text`, says that a finding is none; "" when nothing does."""
        if finding.action == "accept":
            return "an example in a text about such things"
        from memctl.policy.project import mark_reason

        why = self._project.reason(path, finding.rule, finding.kind) if self._project else ""
        return why or mark_reason(text, finding.start, finding.rule)

    # --- documents and transcripts --------------------------------------------------------------------------------

    def is_clean(self, text: str, *, document: bool = False) -> bool:
        """Whether nothing is found in `text` (of a document: nothing that `judge` would act on)."""
        return not any(hit.action != "accept" for hit in self._hits(text, document=document))

    def findings(self, text: str, *, document: bool = True) -> tuple[Finding, ...]:
        """What is found in a text, also what marks in it let pass; nothing is blotted out, which is what takes time."""
        hits = self._hits(text, document=document, marks=False)
        return tuple(f for h in hits if (f := _finding(h, "content", document=document)))

    def judge(self, text: str, *, field: str = "content", document: bool = True) -> Judgement:
        """Judge one passage.

        An example in a text about prompts or attacks is only marked: its finding says `accept`. Of a document, secrets
        and high-risk personal numbers are blotted out as `[REDACTED:rule]`, injected and self-addressed instructions
        quarantine the passage, and mail addresses and telephone numbers pass; marks in it (`memctl:allow`) let weak
        signs of secrets and personal data pass. A document with more than MOST_FINDINGS findings is rejected: its text
        comes back empty. Otherwise (one statement) a secret rejects, as in `evaluate_proposal`. Offsets in findings are
        those of the text given.
        """
        hits = self._hits(text, document=document, is_path=field == "provenance")
        if not hits:
            return Judgement(text, "accept")
        if document and len(hits) > MOST_FINDINGS:
            refused = hits[:MOST_FINDINGS]
            return Judgement(
                "", "reject", tuple(Finding(h.rule.kind, h.rule.id, "reject", field, h.start, h.end) for h in refused)
            )
        findings = [f for h in hits if (f := _finding(h, field, document=document))]
        out = self._redact(text, hits, document=document) if document else text
        action: PolicyAction = max((f.action for f in findings), key=_RANK.__getitem__, default="accept")
        return Judgement(out, action, tuple(findings))

    def judge_fields(
        self,
        title: str = "",
        tags: Iterable[str] = (),
        entities: Iterable[str] = (),
        provenance: str = "",
        *,
        document: bool = True,
    ) -> FieldsJudgement:
        """Judge the small fields of an item: headings become titles, folder names become tags."""
        groups = (("title", [title]), ("tags", list(tags)), ("entities", list(entities)), ("provenance", [provenance]))
        together = "\n".join(text for _, texts in groups for text in texts)
        parts = provenance.replace("/", "\n") if " " in provenance and "/" in provenance else ""
        number = any(_NUMBER.fullmatch(text) and self._hits(text, document=document) for _, ts in groups for text in ts)
        if not (number or self._hits(together) or self._hits(parts, document=document)):
            return FieldsJudgement(title, groups[1][1], groups[2][1], provenance, "accept")
        judged = {name: [self.judge(text, field=name, document=document) for text in texts] for name, texts in groups}
        findings = tuple(f for js in judged.values() for j in js for f in j.findings)
        texts = {name: [j.text for j in js] for name, js in judged.items()}
        action: PolicyAction = max((f.action for f in findings), key=_RANK.__getitem__, default="accept")
        return FieldsJudgement(
            texts["title"][0], texts["tags"], texts["entities"], texts["provenance"][0], action, findings
        )

    def redact(self, text: str) -> str:
        """`text` with secrets and high-risk personal numbers blotted out: for previews, logs and error messages."""
        is_path = "\n" not in text  # or it may tell of one
        return self._redact(text, self._hits(text, is_path=is_path))

    def _redact(self, text: str, hits: list[Hit], *, document: bool = False) -> str:
        for _ in range(_ROUNDS):
            secrets = [hit for hit in hits if hit.is_blotted]
            if not secrets:
                break
            from memctl.policy.redaction import BLOTTED, blot

            text = blot(text, secrets)
            hits = self._hits(text, document=document, beside=BLOTTED)
        return text

    def _hits(
        self, text: str, *, document: bool = False, marks: bool = True, is_path: bool = False, beside: str = ""
    ) -> list[Hit]:
        """The hits in a text that count: of kinds that are switched on, and that nothing lets pass.

        Of a document those are only marked that are examples in a text about such things. Of a path those are added
        that are a whole part of it, and numbers in groups: the rules take no number beside a slash, because addresses
        are full of such; a card or an account written with spaces is none of these. `beside` is that of `Engine.scan`.
        """
        from memctl.policy.engine import PIECE, built_in_engine

        engine = self._engines.get(document)
        if engine is None:
            if self._project is None:
                engine = built_in_engine(document=document)
            else:
                from memctl.policy.project import engine_of

                engine = engine_of(self._project._replace(allowed=()), document=document)
            self._engines[document] = engine
        hits = engine.scan(text, MOST_FINDINGS + 1 if document else sys.maxsize, beside)
        if self._off:
            hits = [h for h in hits if h.rule.kind not in self._off]
        if self._path and self._project is not None:
            hits = [h for h in hits if not self._project.reason(self._path, h.rule.id, h.rule.kind)]
        if hits and not document and len(text) > PIECE:
            # What shows a hit of a long text to be an example may stand in another piece of it.
            from memctl.policy.surroundings import soften_described

            hits = soften_described(text, hits)
        elif hits and document:
            from memctl.policy.project import MARK, unmarked
            from memctl.policy.surroundings import accept_examples

            hits = accept_examples(text, unmarked(text, hits) if marks and MARK in text else hits)
        if is_path and " " in text and "/" in text:
            parts = self._hits(text.replace("/", "\n"), document=document)
            parts = [h for h in parts if h.rule.kind == "pii" and h.is_blotted and " " in text[h.start : h.end]]
            hits = [*hits, *(h for h in parts if not any(h.start < one.end and one.start < h.end for one in hits))]
        return hits


def _finding(hit: Hit, field: str, *, document: bool) -> Finding | None:
    """The finding a hit makes; None for personal data that documents may carry."""
    action = hit.action
    if document:
        if hit.is_blotted:
            action = "redact"
        elif hit.rule.kind == "pii":
            return None
        elif action != "accept":
            action = "quarantine"
    return Finding(hit.rule.kind, hit.rule.id, action, field, hit.start, hit.end)
