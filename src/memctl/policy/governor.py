"""`MemoryPolicy`: the verdicts on proposals and items, the judgement of document passages."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from copy import copy
from functools import cache
from typing import TYPE_CHECKING, Any

from memctl import ids
from memctl.names import PolicyAction
from memctl.policy import allow
from memctl.policy.blot import blot
from memctl.policy.verdict import FieldsJudgement, Finding, Judgement, PolicyVerdict
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
_ROUNDS = 4  # blotting out may join what stood apart; the second look is nearly always the last
# A long text is looked at piece by piece: the words of a small piece open far fewer rules. All in characters.
_PIECE = 1600
_OVERLAP = 120  # a finding may begin in a piece and be told by what follows so closely
_LONGEST = 10_000  # so much more is looked at for the end of a secret: a private key is longer than it takes to tell
#: Of a document with more findings nothing is stored: it is a list of secrets, or made to cost.
MOST_FINDINGS = 5_000
_RANK: dict[str, int] = {"accept": 0, "redact": 1, "quarantine": 2, "reject": 3}
_INSTRUCTIONS, _PERSONAL = frozenset(("injection", "instructional")), frozenset(("pii",))
_REASONS = {
    ("secret", "reject"): "HARD_BLOCK: secret pattern {} matched",
    ("injection", "reject"): "HARD_BLOCK: injection pattern {} matched",
    ("injection", "quarantine"): "QUARANTINE: injection pattern {} matched",
    ("instructional", "reject"): "HARD_BLOCK: instructional_content pattern {} matched",
    ("instructional", "quarantine"): "QUARANTINE: instructional_self_instruction pattern {} matched",
    ("pii", "quarantine"): "QUARANTINE: pii pattern {} matched",
}
#: Hard checks in their order; the first that finds something decides.
_HARD = (("secret", "reject"), ("injection", "reject"), ("instructional", "reject"))


class MemoryPolicy:
    """Judges what is about to be remembered. Holds no state between texts, and never raises on any text.

    `config` is a `PolicyConfig` (or any object with some of its attributes); None means the defaults. Raises
    SettingInvalid when a rule of the project's own is none, or one that is named does not exist.
    """

    __slots__ = (
        "_engine", "_off", "_path", "_project", "expiry_hours", "max_content_length", "require_provenance_for",
    )  # fmt: skip

    def __init__(self, config: Any = None, *, engine: Engine | None = None) -> None:
        self.max_content_length: int = getattr(config, "max_content_length", 2000)
        self.require_provenance_for = list(getattr(config, "require_provenance_for", ["mtm", "ltm"]))
        self.expiry_hours: float = getattr(config, "quarantine_expiry_hours", 72)
        self._off = frozenset(kind for kind, key in _SWITCHES.items() if not getattr(config, key, True))
        self._engine = engine
        self._project = _project_of(config)
        self._path = ""

    @property
    def switches(self) -> str:
        """The kinds that are switched off, and a word for a project's own part; "" where nothing is configured."""
        return ",".join([*sorted(self._off), *([self._project.word()] if self._project else [])])

    def at(self, path: str) -> MemoryPolicy:
        """This policy for a document of this path, where the project lets some findings pass."""
        if self._project is None or not self._project.allowed:
            return self
        mine = copy(self)
        mine._path = path
        return mine

    def but(self, kinds: Iterable[str]) -> MemoryPolicy:
        """This policy without the findings of these kinds."""
        off = self._off.union(kinds)
        if off == self._off:
            return self
        mine = copy(self)
        mine._off = off
        return mine

    def kinds_of(self, rules: Iterable[str]) -> frozenset[str]:
        """The kinds of these rules; rules that there are no more have none."""
        from memctl.policy.rules import RULES

        wanted = set(rules)
        known = self._project.in_force() if self._project else RULES
        return frozenset(rule.kind for rule in known if rule.id in wanted)

    def covered(self, rules: Iterable[str], *, released: bool) -> frozenset[str]:
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

    def evaluate_item(self, item: MemoryItem) -> PolicyVerdict:
        """The verdict on a whole item (a write, an import line, a merge): as for proposals, with provenance by tier."""
        if len(item.content) > self.max_content_length and item.type != "pointer":
            return PolicyVerdict("reject", ["Content too long for non-pointer type"])
        if item.tier in self.require_provenance_for and not item.provenance.source_id.strip():
            return PolicyVerdict("reject", [f"Provenance source_id required for tier={item.tier}"])
        found = self._find(item.title, item.content, item.tags, item.entities, item.provenance.source_id)
        return self._verdict(found, [])

    def _verdict(self, findings: list[Finding], soft: list[str]) -> PolicyVerdict:
        for kind, action in _HARD:
            hard = [f for f in findings if f.kind == kind and f.action == action]
            if hard:
                return PolicyVerdict("reject", _reasons(hard), findings=findings)
        if not (findings or soft):
            return PolicyVerdict()
        return PolicyVerdict(
            "quarantine",
            _reasons(findings) + soft,
            "stm",
            "unverified",
            ids.timestamp(ids.now_seconds() + 3600 * self.expiry_hours),
            forced_non_injectable=bool(findings),
            findings=findings,
        )

    def _find(
        self, title: str, content: str, tags: Iterable[object], entities: Iterable[object], source: str
    ) -> list[Finding]:
        """One scan over all fields, each on lines of its own, so that none hides what another completes."""
        parts = [("title", title), ("content", content)]
        parts += [("tags", str(t)) for t in tags] + [("entities", str(e)) for e in entities] + [("provenance", source)]
        parts = [part for part in parts if part[1]]
        hits = self._scan("\n".join(text for _, text in parts))
        return [f for hit in hits for f in _placed(hit, parts) if not (f.field == "provenance" and f.kind == "pii")]

    def why_allowed(self, path: str, finding: Finding, text: str = "") -> str:
        """Why the project, or a mark in the document's `text`, says that a finding is none; "" when nothing does."""
        if finding.action == "accept":
            return "an example in a text about such things"
        why = self._project.reason(path, finding.rule, finding.kind) if self._project else ""
        return why or allow.marked(text, finding.start, finding.rule)

    # --- documents and transcripts --------------------------------------------------------------------------------

    def clear(self, text: str, *, document: bool = False) -> bool:
        """Whether nothing is found in `text` (of a document: nothing that `judge` would act on)."""
        return not any(hit.action != "accept" for hit in self._judged(text, document=document))

    def findings(self, text: str, *, document: bool = True) -> tuple[Finding, ...]:
        """What is found in a text, also what marks in it let pass; nothing is blotted out, which is what takes time."""
        hits = self._scan(text, document=document, marks=False)
        if document and hits:
            from memctl.policy.settle import examples

            hits = examples(text, hits)
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
        hits = self._judged(text, document=document)
        if not hits:
            return Judgement(text, "accept")
        if document and len(hits) > MOST_FINDINGS:
            return Judgement("", "reject", tuple(_refused(hits[:MOST_FINDINGS], field)))
        findings = [f for h in hits if (f := _finding(h, field, document=document))]
        blots = [h for h in hits if _blotted(h)] if document else []
        out = self._redact(text, blots, document=document) if blots else text
        return Judgement(out, _strictest(f.action for f in findings), tuple(findings))

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
        if not self._scan("\n".join(text for _, texts in groups for text in texts)):
            return FieldsJudgement(title, groups[1][1], groups[2][1], provenance, "accept")
        judged = {name: [self.judge(text, field=name, document=document) for text in texts] for name, texts in groups}
        findings = tuple(f for js in judged.values() for j in js for f in j.findings)
        texts = {name: [j.text for j in js] for name, js in judged.items()}
        action = _strictest(f.action for f in findings)
        return FieldsJudgement(
            texts["title"][0], texts["tags"], texts["entities"], texts["provenance"][0], action, findings
        )

    def redact(self, text: str) -> str:
        """`text` with secrets and high-risk personal numbers blotted out: for previews, logs and error messages."""
        return self._redact(text, [h for h in self._scan(text) if _blotted(h)])

    def _redact(self, text: str, hits: list[Hit], *, document: bool = False) -> str:
        for _ in range(_ROUNDS):
            if not hits:
                break
            text = blot(text, hits)
            hits = [h for h in self._scan(text, document=document) if _blotted(h)]
        return text

    def _scan(self, text: str, *, document: bool = False, marks: bool = True) -> list[Hit]:
        if self._project is not None and self._engine is None:
            engine = self._project.engine(document=document)
        else:
            engine = self._engine or _built_in(document)
        if len(text) <= _PIECE + _OVERLAP:
            hits = engine.scan(text)
        else:
            hits = _in_pieces(engine, text, MOST_FINDINGS + 1 if document else sys.maxsize)
            if not document:  # a document's passage is held back either way
                from memctl.policy.settle import weighed

                hits = weighed(text, hits)  # what shows a hit to be an example may stand in the next piece
        return self._counted(text, hits, marks=document and marks) if hits else hits

    def _judged(self, text: str, *, document: bool) -> list[Hit]:
        """The hits in a text; of a document those only marked that are examples in a text about such things."""
        hits = self._scan(text, document=document)
        if not (hits and document):
            return hits
        from memctl.policy.settle import examples

        return examples(text, hits)

    def _counted(self, text: str, hits: list[Hit], *, marks: bool) -> list[Hit]:
        """The hits of kinds that are switched on, and that nothing lets pass."""
        if self._off:
            hits = [h for h in hits if h.rule.kind not in self._off]
        if self._path and self._project is not None:
            hits = [h for h in hits if not self._project.reason(self._path, h.rule.id, h.rule.kind)]
        return allow.unmarked(text, hits) if marks and allow.MARK in text else hits


@cache
def _built_in(document: bool) -> Engine:
    from memctl.policy.engine import default_engine, document_engine

    return document_engine() if document else default_engine()


def _project_of(config: Any) -> Project | None:
    if not any(getattr(config, key, None) for key in ("silenced_rules", "rules", "allow")):
        return None
    from memctl.policy.project import project

    return project(config)


def _in_pieces(engine: Engine, text: str, most: int) -> list[Hit]:
    """The hits in a long text, by position, until there are so many; cost is linear in its length."""
    found: dict[tuple[int, int, str], Hit] = {}
    start = 0
    while start < len(text) and len(found) < most:
        stop = _piece_end(text, start, _PIECE)
        piece = text[start : stop + _OVERLAP]
        opening = engine.gate.open(piece)
        far = min(engine.far(piece, opening), _LONGEST) if opening.rules else 0
        if far:  # a larger piece: what it overlaps with must be far longer, and shall not be looked at many times
            stop = _piece_end(text, start, far)
            hits = engine.scan(text[start : stop + far])
        else:
            hits = _in_piece(engine, text, start, stop, engine.scan(piece, opening))
        for hit in hits:
            placed = hit._replace(start=hit.start + start, end=hit.end + start)
            found[placed.start, placed.end, hit.rule.id] = placed
        start = stop
    return [found[key] for key in sorted(found)]


def _in_piece(engine: Engine, text: str, start: int, stop: int, hits: list[Hit]) -> list[Hit]:
    """The hits in one piece, positions counted from its start; farther is looked only for a secret that goes on."""
    end = stop + _OVERLAP
    while hits and end < min(len(text), stop + _LONGEST) and any(_cut_off(h, text[start + h.end : end]) for h in hits):
        end = stop + min((end - stop) * 4, _LONGEST)
        hits = engine.scan(text[start:end])
    return hits


def _cut_off(hit: Hit, rest: str) -> bool:
    """Whether what must be blotted out may go on after the piece's end: next to nothing comes after it."""
    return _blotted(hit) and len(rest.strip()) <= 2


def _piece_end(text: str, start: int, size: int) -> int:
    """Where a piece of about this size ends: at a line's end where there is one."""
    if len(text) - start <= size + _OVERLAP:
        return len(text)
    return text.rfind("\n", start + size // 2, start + size) + 1 or start + size


def _reasons(findings: list[Finding]) -> list[str]:
    return list(dict.fromkeys(_REASONS[f.kind, f.action].format(f.rule) for f in findings))


def _strictest(actions: Iterable[PolicyAction]) -> PolicyAction:
    return max(actions, key=_RANK.__getitem__, default="accept")


def _blotted(hit: Hit) -> bool:
    return hit.rule.kind == "secret" or (hit.rule.kind == "pii" and hit.rule.severity == 3)


def _finding(hit: Hit, field: str, *, document: bool) -> Finding | None:
    """The finding a hit makes; None for personal data that documents may carry."""
    action = hit.action
    if document:
        if _blotted(hit):
            action = "redact"
        elif hit.rule.kind == "pii":
            return None
        elif action != "accept":
            action = "quarantine"
    return Finding(hit.rule.kind, hit.rule.id, action, field, hit.start, hit.end)


def _placed(hit: Hit, parts: list[tuple[str, str]]) -> list[Finding]:
    """The finding in the field that holds most of the hit: what a title begins, the content may complete."""
    best, start = None, 0
    for name, text in parts:
        lo, hi = max(0, hit.start - start), min(len(text), hit.end - start)
        if hi > lo and (best is None or hi - lo > best.end - best.start):
            best = Finding(hit.rule.kind, hit.rule.id, hit.action, name, lo, hi)
        start += len(text) + 1
    return [best] if best else []


def _refused(hits: list[Hit], field: str) -> Iterator[Finding]:
    """The findings of a document of which nothing is stored."""
    for hit in hits:
        yield Finding(hit.rule.kind, hit.rule.id, "reject", field, hit.start, hit.end)
