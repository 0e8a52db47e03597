"""One policy over an item, whichever way it comes in and wherever it goes.

A statement is refused, held back, or stored as it is: somebody chose its words, and no word is changed. Of the passage
of a document, of the turn of a conversation, and of whatever the store has already, secrets are blotted out, and what
speaks to a model is held back. What a person decided about an item (`Standing`) stands: findings of the kinds that it
was released from do nothing to it, and while it is held back it stays as it is held, so that there is something to
release. A finding of another kind counts (`MemoryPolicy.covered_kinds`).
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import cache

from memctl import errors
from memctl.annotations import TYPE_CHECKING, Any, NamedTuple
from memctl.store.documents.passages import SourcePosition
from memctl.store.quarantine import Standing
from memctl.text import clean
from memctl.types import MemoryItem

if TYPE_CHECKING:
    from memctl.policy import Finding, Judgement, MemoryPolicy, PolicyVerdict
    from memctl.text.chunking import Passage

#: How policy marks what it blotted out.
REDACTED = "[REDACTED:"
#: Characters of a paragraph that says something without those around it.
_STANDS_ALONE = 80
#: Why an item is refused for what `references` gives.
REFUSED = "HARD_BLOCK: a reference, link, rule id or scope holds what no item may"


class ItemChange(NamedTuple):
    """What an item is to become, and why.

    fields         the fields that change
    rules          of all findings that do something to it
    held_by        of those the rules for which no model may be given it
    seen           when the item that was judged had last been changed
    place          where it stands in its source, if that has to be blotted out too; an undo leaves it so
    released_from  the rules that a person released it from, where it stays released with another text
    """

    id: str
    fields: dict[str, Any]
    redacted: bool
    rules: tuple[str, ...]
    held_by: tuple[str, ...]
    seen: str
    place: SourcePosition | None = None
    released_from: tuple[str, ...] | None = None

    def apply_to(self, item: MemoryItem) -> MemoryItem:
        """A copy of the item as it is to become."""
        return MemoryItem.from_dict(item.to_dict() | self.fields)


class ItemPolicy:
    """What the rules make of items."""

    __slots__ = ("_clean", "_policy")

    def __init__(self, policy: "MemoryPolicy") -> None:
        self._policy = policy
        self._clean: set[str] = set()

    def judge(
        self, item: MemoryItem, place: SourcePosition | None = None, links: Iterable[str] = ()
    ) -> "PolicyVerdict":
        """The verdict on a statement, with all that it carries, and its links elsewhere."""
        beside = self._in_references([*references(item, place), *_telling(links)])
        held = [one for one in beside if one.action == "quarantine" and one.kind != "pii"]  # paths have names in them
        verdict = self._policy.evaluate_item(item, self._clean, held)
        if verdict.rejected or all(one.action != "reject" for one in beside):
            return verdict
        from memctl.policy import PolicyVerdict

        return PolicyVerdict("reject", [REFUSED])

    def hold(self, item: MemoryItem, verdict: "PolicyVerdict") -> None:
        """Put a quarantine's terms on a statement. One that was to expire sooner (or has expired) still does."""
        item.injectable = False
        item.tier = verdict.forced_tier or item.tier
        item.validation = verdict.forced_validation or item.validation
        item.expires_at = min(filter(None, (item.expires_at, verdict.forced_expires_at)), default=None)

    def redact(
        self, item: MemoryItem, standing: Standing | None = None, place: SourcePosition | None = None
    ) -> ItemChange | None:
        """What an item is to become, judged as the passage of a document; None when it may stay as it is.

        standing: of an item in the store, for which what the project allows in its document counts, too
        """
        policy = self._policy if standing is None else self._for_stored(item, standing)
        standing = standing or Standing()
        content = policy.judge(item.content)
        small = policy.judge_fields(item.title, item.tags, item.entities, item.provenance.source_id)
        others = "\n".join(references(item, place))
        further = policy.judge(others).findings if others and not policy.is_clean(others, document=True) else ()
        findings: list[Finding] = [*content.findings, *small.findings, *further]
        redacted = any(f.action == "redact" for f in findings)
        stays_held = standing.is_held and bool(standing.rules or standing.released_from)
        held_by = () if stays_held else holding_rules(findings)
        if not (redacted or held_by):
            return None
        fields: dict[str, Any] = {"injectable": False} if held_by else {}
        if redacted:
            other = _reference_fields(item)
            other = _map_texts(other, lambda text: policy.judge(text).text) if further else other
            title, begin = small.title, item.title.rstrip("…")
            if content.text != item.content and begin and item.content.startswith(begin):
                # What the content begins with may end within a secret, where no rule finds it: cut anew, not longer.
                title = content.text[: len(begin)].partition("\n")[0].rstrip() + item.title[len(begin) :]
            fields |= {"title": title, "content": content.text, "tags": small.tags, "entities": small.entities}
            fields |= other | {"provenance": other["provenance"] | {"source_id": small.provenance}}
        acting = {"redact": redacted, "quarantine": bool(held_by)}
        rules = tuple(dict.fromkeys(f.rule for f in findings if acting.get(f.action)))
        anchor = place._replace(anchor=policy.redact(place.anchor)) if place and redacted and further else None
        freed = None if standing.is_held or held_by else standing.released_from
        return ItemChange(item.id, fields, redacted, rules, held_by, item.updated_at, anchor, freed)

    def _for_stored(self, item: MemoryItem, standing: Standing) -> "MemoryPolicy":
        """The policy without the findings that its document, a person, or the quarantine it is in has dealt with."""
        policy = self._policy.for_path(item.provenance.source_id)
        if not standing.is_held and standing.released_from is None:
            return policy
        rules = (*standing.rules, *(standing.released_from or ()))
        return policy.without(policy.covered_kinds(rules, released=not standing.is_held))

    def is_released(self, standing: Standing, rules: Iterable[str]) -> bool:
        """Whether a person has let this very content out of a quarantine that covers these rules."""
        policy, freed = self._policy, standing.released_from
        if freed is None or standing.is_held:
            return False
        return policy.kinds_of(rules) <= policy.covered_kinds(freed, released=True)

    def refuses(self, *words: str) -> bool:
        """Whether words that name something (an id, a scope, a reason) hold what no statement may."""
        return any(one.action == "reject" for one in self._in_references(words))

    def holds(self, *words: str) -> bool:
        """Whether words that name something hold what no model may be given."""
        return any(one.action in ("reject", "quarantine") and one.kind != "pii" for one in self._in_references(words))

    def _in_references(self, words: Iterable[str]) -> "tuple[Finding, ...]":
        text = "\n".join(filter(None, words))
        if not text or self._policy.is_clean(text):
            return ()
        return self._policy.judge(text, field="references", document=False).findings

    def has_secret(self, texts: Iterable[str], words: Iterable[str]) -> bool:
        """Whether one of these texts, or the words together, hold a secret for which no statement is stored.

        A text in which nothing at all is found is not searched again when an item of it is judged.
        """
        for text in filter(None, (*texts, "\n".join(_telling(words)))):
            findings = self._policy.findings(text, document=False)
            if any(one.kind == "secret" and one.action == "reject" for one in findings):
                return True
            if not findings:
                self._clean.add(text)
        return False


def holding_rules(findings: "Iterable[Finding]") -> tuple[str, ...]:
    """The rules of the findings for which no model may be given a text, each once."""
    return tuple(dict.fromkeys(f.rule for f in findings if f.action == "quarantine"))


def tidy_statement(item: MemoryItem) -> None:
    """Bring a statement into the one form that is judged, hashed and stored."""
    source = item.provenance
    item.content, item.title = clean.statement(item.content), clean.one_line(item.title)
    source.source_kind, source.source_id = clean.one_line(source.source_kind), clean.one_line(source.source_id, 1000)
    item.tags, item.entities, source.chunk_ids, source.content_hashes = [
        list(filter(None, map(clean.one_line, words))) if words else []
        for words in (item.tags, item.entities, source.chunk_ids, source.content_hashes)
    ]
    item.tags, item.entities = [clean.union(some) if len(some) > 1 else some for some in (item.tags, item.entities)]


# --- what else in an item is text --------------------------------------------------------------------------------


def references(item: MemoryItem, place: SourcePosition | None = None) -> list[str]:
    """All texts of an item beside its content, title, tags, entities and source, but for ids and hashes of our own."""
    source = item.provenance
    return _telling(filter(None, (
        item.id, item.scope, item.rule_id, item.corpus_id, item.superseded_by, *_texts(item.links or ()),
        source.source_kind, *_texts(source.chunk_ids or ()), *_texts(source.content_hashes or ()), source.created_at,
        place.anchor if place else "",
    )))  # fmt: skip


def _telling(words: Iterable[str]) -> list[str]:
    """The words that are not of our own making."""
    is_plain = _plain().fullmatch
    return [word for word in words if is_plain(word) is None]


@cache
def _plain() -> "re.Pattern[str]":
    """A plain word, or an id, a hash or a time of our own making: what needs no judge."""
    return re.compile(
        r"[a-z_]{0,14}|MEM-[0-9a-f]{12}|sha256:[0-9a-f]{64}|"
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}\+00:00"
    )


def _reference_fields(item: MemoryItem) -> dict[str, Any]:
    source = item.provenance
    return {
        "scope": item.scope, "rule_id": item.rule_id, "corpus_id": item.corpus_id, "superseded_by": item.superseded_by,
        "links": item.links,
        "provenance": {
            "source_kind": source.source_kind, "chunk_ids": source.chunk_ids, "content_hashes": source.content_hashes,
            "created_at": source.created_at,
        },
    }  # fmt: skip


def _texts(value: Any) -> Iterator[str]:
    """All texts in a value, the keys of its objects too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, one in value.items():
            yield key
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            if isinstance(one, str):  # most are
                yield one
            elif one:
                yield from _texts(one)


def _map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """The value with each of its texts changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(key): _map_texts(one, change) for key, one in value.items()}
    return [_map_texts(one, change) for one in value] if isinstance(value, list) else value


def redact_across(policy: "MemoryPolicy", texts: list[str], said: list[str] | None = None) -> list[str]:
    """Texts that follow one another, without the parts of secrets that begin in one of them and end in another.

    said: the same texts of the same lengths with blanks for what nobody said (who speaks), where that differs.
    """
    said = texts if said is None else said
    whole = "".join(said)
    secrets = [f for f in policy.findings(whole) if f.action == "redact"]
    out, start = [], 0
    for text in texts:
        end = start + len(text)
        for f in sorted(secrets, key=lambda f: -f.start):
            if f.start < end and f.end > start and not (start <= f.start and f.end <= end):
                lo, hi = max(f.start, start), min(f.end, end)
                lo += len(whole[lo:hi]) - len(whole[lo:hi].lstrip())
                hi -= len(whole[lo:hi]) - len(whole[lo:hi].rstrip())
                lines = "\n" * whole.count("\n", lo, hi)  # so that every line keeps its number
                text = f"{text[: lo - start]}{REDACTED}{f.rule}]{lines}{text[hi - start :]}"  # noqa: PLW2901
        out.append(text)
        start = end
    return out


# --- a document, before it is cut into items ----------------------------------------------------------------------


class JudgedDocument:
    """A document as policy leaves it.

    It is judged as a whole before it is cut: half of a secret is none that a rule could find. What is blotted out keeps
    its line ends, so line numbers stay as they are.
    """

    __slots__ = ("_has_findings", "_held", "_held_by_path", "_labels", "_passed", "_policy", "is_clear", "text")

    def __init__(self, policy: "MemoryPolicy", path: str, text: str) -> None:
        """Judge the text and the path.

        Raises DocumentUnreadable when the path holds what looks like a secret, or the text far too much of it.
        """
        from memctl.policy.decisions import MOST_FINDINGS

        policy = policy.for_path(path)
        judged_path = judge_path(policy, path)
        judged = policy.judge(text)
        if judged.action == "reject":
            raise errors.DocumentUnreadable(
                path=path, reason=f"policy finds more than {MOST_FINDINGS:,} secrets or instructions in it"
            )
        self.text = judged.text
        self._policy = policy
        self._has_findings = bool(judged.findings)
        self._held_by_path = holding_rules(judged_path.findings)
        # The lines of the findings that quarantine, in order, each rule once for the same lines. Those of examples,
        # too: whether a passage shows an example, its own words must tell.
        held: dict[tuple[int, int, str], None] = {}
        line, counted = 1, 0
        holding = [f for f in judged.findings if f.action in ("quarantine", "accept")]
        for f in sorted(holding, key=lambda f: f.start):
            line += text.count("\n", counted, f.start)
            counted = f.start
            held[line, line + text.count("\n", f.start, f.end), f.rule] = None
        self._held = list(held)
        self._passed = 0  # held lines that end before the passage that was looked at last
        self._labels: dict[str, str] = {}
        #: Whether nothing was found: no heading or passage of this text needs a look of its own.
        self.is_clear = not (self._has_findings or self._held_by_path)

    def judge_label(self, text: str, *, is_part: bool = True) -> str:
        """A title or heading without its secrets; empty when it speaks to a model.

        is_part: it was taken from this document's text, so that what is clear needs no second look.
        """
        if not text or (is_part and not self._has_findings):
            return text
        if text not in self._labels:
            judged = self._policy.judge(text, field="title")
            self._labels[text] = "" if holding_rules(judged.findings) else judged.text
        return self._labels[text]

    def is_redacted(self, text: str) -> bool:
        """Whether something was blotted out of this part of the document."""
        return self._has_findings and REDACTED in text

    def parts(self, piece: "Passage", *, divide: bool) -> "Iterator[tuple[Passage, tuple[str, ...]]]":
        """A passage with the rules that keep it from being given to a model; passages are asked about in their order.

        divide: where only some of its paragraphs are held, those that stand alone are passages of their own. One stands
        alone that is clean and addresses nobody: what an order is about may follow in another paragraph.
        """
        across, within = self._rules_of(piece)
        runs = _runs(piece, self._speaks_to_nobody) if divide and within and not across else []
        clear = "\n\n".join(run.text for run, alone in runs if alone)
        held = {
            rule for run, alone in runs if not alone for rule in holding_rules(self._policy.judge(run.text).findings)
        }
        if len(runs) < 2 or not held.issuperset(within) or not self._speaks_to_nobody(clear):
            yield piece, tuple(dict.fromkeys([*across, *within]))
            return
        for run, alone in runs:
            yield run, () if alone else within

    def _speaks_to_nobody(self, text: str) -> bool:
        """Whether nothing of a text is held, and nobody is addressed by it."""
        from memctl.policy.checks_injection import addresses_anybody

        return not addresses_anybody(text) and not holding_rules(self._policy.judge(text).findings)

    def rules_holding(self, piece: "Passage") -> tuple[str, ...]:
        """The rules that keep a passage from being given to a model; passages are asked about in their order."""
        across, within = self._rules_of(piece)
        return tuple(dict.fromkeys([*across, *within]))

    def _rules_of(self, piece: "Passage") -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The rules that hold a passage for its path or for what begins or ends outside of it, and for what it says.

        Where a finding lies within the passage's lines, the passage itself is asked again: of a line that was cut into
        many passages only one may hold it.
        """
        held = self._held
        while self._passed < len(held) and held[self._passed][1] < piece.start:
            self._passed += 1
        begun = bisect_right(held, piece.end, self._passed, key=lambda lines: lines[0])
        near = [lines for lines in held[self._passed : begun] if piece.start <= lines[1]]
        across = [rule for first, last, rule in near if first < piece.start or last > piece.end]
        within = holding_rules(self._policy.judge(piece.text).findings) if near else ()
        return (*self._held_by_path, *across), within


def _runs(piece: "Passage", is_clear: Callable[[str], bool]) -> "list[tuple[Passage, bool]]":
    """The paragraphs of a passage, those joined that follow one another and stand alone, or do not; with which it is.

    Those stand alone that are clear and long enough; a heading belongs to what follows it. A block of code is a
    paragraph. Nothing where the lines of the passage are not those of its document.
    """
    lines = piece.text.split("\n")
    if len(lines) != piece.end - piece.start + 1:
        return []
    runs: list[tuple[Passage, bool]] = []
    first, fenced = 0, False
    for number, line in enumerate([*lines, ""]):
        fenced = fenced is not line.lstrip().startswith(("```", "~~~"))
        if line.strip() or (fenced and number < len(lines)):
            continue
        text = "\n".join(lines[first:number])
        if text.strip():
            alone = is_clear(text)
            if alone and len(text) < _STANDS_ALONE:
                if number < len(lines):
                    continue
                alone = bool(runs) and runs[-1][1]
            if runs and runs[-1][1] is alone:
                before = runs.pop()[0]
                first, text = before.start - piece.start, "\n".join(lines[before.start - piece.start : number])
            part = piece._replace(text=text, start=piece.start + first, end=piece.start + number - 1)
            runs.append((part, alone))
        first = number + 1
    return runs


def judge_path(policy: "MemoryPolicy", path: str) -> "Judgement":
    """What policy says of a path. Raises DocumentUnreadable when it holds what looks like a secret."""
    judged = policy.judge(path, field="provenance")
    if judged.redacted:
        raise errors.DocumentUnreadable(path=judged.text, reason="its path holds what looks like a secret: rename it")
    return judged
