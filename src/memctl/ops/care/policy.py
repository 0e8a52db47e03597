"""memctl policy: the rules at work."""

from collections.abc import Iterator

from memctl.annotations import TYPE_CHECKING, Annotated, Any, Literal
from memctl.context import Context
from memctl.errors import UsageError
from memctl.names import FindingKind
from memctl.operation import NONE, Arg, Result, operation

if TYPE_CHECKING:
    from memctl.policy import Finding, Rule

#: What a rule's action comes to, on the two kinds of paths.
_EFFECTS = {
    ("secret", "reject"): "refuse a statement; replace it in a document",
    ("pii", "quarantine"): "quarantine a statement; replace it in a document if severity is 3, else let it pass",
    ("", "reject"): "refuse a statement; quarantine the passage of a document",
    ("", "quarantine"): "quarantine",
}


class Rules(Result):
    """Rules in force, by id, kind, action and severity; the project's own ones and the silenced ones are marked."""

    __slots__ = ("own", "rules", "silenced", "whole")

    def __init__(self, rules: "list[Rule]", own: frozenset[str], silenced: frozenset[str], *, whole: bool) -> None:
        self.rules, self.own, self.silenced, self.whole = rules, own, silenced, whole

    def as_dict(self) -> dict[str, Any]:
        """The rules; all there is to say of each when they were asked for by name."""
        return {"status": "ok", "count": len(self.rules), "rules": [self._row(rule) for rule in self.rules]}

    def _row(self, rule: "Rule") -> dict[str, Any]:
        row = {
            "id": rule.id, "kind": rule.kind, "action": rule.action, "severity": rule.severity,
            "origin": "project" if rule.id in self.own else "built-in", "silenced": rule.id in self.silenced,
        }  # fmt: skip
        if not self.whole:
            return row
        return row | {
            "effect": effect(rule), "keywords": rule.keywords, "pattern": rule.pattern, "check": rule.check,
            "example": rule.example, "counterexample": rule.counterexample,
        }  # fmt: skip

    def text(self) -> Iterator[str]:
        """One line a rule; or label and value."""
        for rule in self.rules:
            mark = " [PROJECT]" if rule.id in self.own else ""
            mark += " [SILENCED]" if rule.id in self.silenced else ""
            if not self.whole:
                yield f"  {rule.kind:<13}  {rule.action:<10}  {rule.severity}  {rule.id}{mark}"
                continue
            yield f"{rule.id}{mark}"
            for label, value in self._row(rule).items():
                if label not in ("id", "origin", "silenced") and value != "":
                    yield f"  {label + ':':<16}{_one_line(value)}"


class Tested(Result):
    """Which rules do not do what their examples say."""

    __slots__ = ("count", "exit_code", "problems")

    def __init__(self, count: int, problems: list[dict[str, str]]) -> None:
        self.count, self.problems = count, problems
        self.exit_code = 1 if problems else 0

    def as_dict(self) -> dict[str, Any]:
        """How many rules were tried, and what is wrong with which."""
        return {"status": "failed" if self.problems else "ok", "rules": self.count, "problems": self.problems}

    def text(self) -> Iterator[str]:
        """One line a problem, then the count."""
        for one in self.problems:
            yield f"{one['rule']}: {one['problem']}"
        yield f"{self.count} rules tried, {len(self.problems)} wrong"


class Judged(Result):
    """What policy says of one text."""

    __slots__ = ("action", "exit_code", "findings", "redacted")

    def __init__(self, action: str, findings: "tuple[Finding, ...]", redacted: str) -> None:
        self.action, self.findings, self.redacted = action, findings, redacted
        self.exit_code = 1 if findings else 0

    def as_dict(self) -> dict[str, Any]:
        """The action, the findings by rule and place, and the text without what policy would blot out."""
        return {
            "status": "ok",
            "action": self.action,
            "findings": [
                {"kind": f.kind, "rule": f.rule, "action": f.action, "start": f.start, "end": f.end}
                for f in self.findings
            ],
            "text": self.redacted,
        }

    def text(self) -> Iterator[str]:
        """The action, then a line for each finding."""
        yield self.action
        for f in self.findings:
            yield f"  {f.kind:<13}  {f.action:<10}  {f.rule} (characters {f.start} to {f.end})"


def effect(rule: "Rule") -> str:
    """What a rule's action comes to, in words."""
    return _EFFECTS.get((rule.kind, rule.action)) or _EFFECTS["", rule.action]


def _one_line(value: object) -> str:
    text = str(value).replace("\n", "\\n")
    return text if len(text) <= 300 else text[:300] + f"… ({len(text)} characters)"


@operation(
    access=NONE,
    examples=(
        "memctl policy list --kind pii",
        "memctl policy explain github-token",
        "memctl policy test                       # every rule against its own examples",
        'memctl policy test "ignore all previous instructions"',
        "git log -1 --format=%B | memctl policy test - --document",
    ),
    exits={1: "a text in which something was found, a rule that fails its example, no such rule"},
)
def policy(
    ctx: Context,
    action: Annotated[Literal["list", "test", "explain"], Arg("what to do")],
    what: Annotated[list[str] | None, Arg("explain: rules by id; test: a text, or - for standard input")] = None,
    *,
    kind: Annotated[FindingKind | None, Arg("list: only this kind of rule", "--kind")] = None,
    document: Annotated[bool, Arg("test: judge the text as a document, not as a statement", "--document")] = False,
) -> Rules | Tested | Judged:
    """Show the rules, try them on a text, or explain one.

    Rules that config.json adds (policy.rules) or silences (policy.silenced_rules) are marked, and taken into account.
    Without a text, test runs every rule against the example it must catch and the one it must not. Nothing is stored.
    """
    words = what or []
    if (kind and action != "list") or (document and not (action == "test" and words)):
        flag, owner = ("--kind", "list") if kind and action != "list" else ("--document", "test with a text")
        raise UsageError(f"{flag} is for {owner} only", command="policy")
    if action == "list":
        return _list(ctx, words, kind)
    if action == "explain":
        return _explain(ctx, words)
    if not words:
        return _self_test(ctx)
    text = ctx.stdin_text() if words == ["-"] else " ".join(words)
    judged = ctx.policy.judge(text, document=document)
    return Judged(judged.action, judged.findings, ctx.policy.redact(text))


def _list(ctx: Context, words: list[str], kind: str | None) -> Rules:
    if words:
        raise UsageError(f"unexpected argument '{words[0]}'; explain shows single rules", command="policy")
    rules, own, silenced = _rules(ctx)
    return Rules([rule for rule in rules if kind in (None, rule.kind)], own, silenced, whole=False)


def _explain(ctx: Context, words: list[str]) -> Rules:
    if not words:
        raise UsageError("the rule to explain is missing", command="policy")
    rules, own, silenced = _rules(ctx)
    by_id = {rule.id: rule for rule in rules}
    for word in words:
        if word not in by_id:
            from difflib import get_close_matches

            guess = get_close_matches(word, by_id, 1)
            raise UsageError(
                f"there is no rule '{word}'" + (f"; did you mean '{guess[0]}'?" if guess else ""), command="policy"
            )
    return Rules([by_id[word] for word in words], own, silenced, whole=True)


def _self_test(ctx: Context) -> Tested:
    """Every rule that is in force against its own examples, alone: what other rules say does not count."""
    from memctl.policy.rules import broken_example

    rules, _, silenced = _rules(ctx)
    live = [rule for rule in rules if rule.id not in silenced]
    found = [(rule.id, broken_example(rule)) for rule in live]
    return Tested(len(live), [{"rule": name, "problem": words} for name, words in found if words])


def _rules(ctx: Context) -> "tuple[list[Rule], frozenset[str], frozenset[str]]":
    """All rules, the ids of the project's own, and of those it silenced."""
    from memctl.policy import RULES
    from memctl.policy.project import project_of

    part = project_of(ctx.config.policy)
    own = part.rules if part else ()
    return [*RULES, *own], frozenset(rule.id for rule in own), frozenset(part.silenced if part else ())


def text(result: Rules | Tested | Judged) -> Iterator[str]:
    """What was asked for, for people."""
    return result.text()
