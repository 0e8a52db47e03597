"""memctl policy: the rules at work."""

from memctl.annotations import TYPE_CHECKING, Annotated, Any, Literal
from memctl.context import Context
from memctl.errors import UsageError
from memctl.names import FindingKind
from memctl.operation import NONE, Arg, PlainResult, operation

if TYPE_CHECKING:
    from memctl.policy import Rule

#: What a rule's action comes to, on the two kinds of paths.
_EFFECTS = {
    ("secret", "reject"): "refuse a statement; replace it in a document",
    ("pii", "quarantine"): "quarantine a statement; replace it in a document if severity is 3, else let it pass",
    ("", "reject"): "refuse a statement; quarantine the passage of a document",
    ("", "quarantine"): "quarantine",
}


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
) -> PlainResult:
    """Show the rules, try them on a text, or explain one.

    Rules that config.json adds (policy.rules) or silences (policy.silenced_rules) are marked, and taken into account.
    Without a text, test runs every rule against the example it must catch and the one it must not. Nothing is stored.
    """
    words = what or []
    if (kind and action != "list") or (document and not (action == "test" and words)):
        flag, owner = ("--kind", "list") if kind and action != "list" else ("--document", "test with a text")
        raise UsageError(f"{flag} is for {owner} only", command="policy")
    if action == "list":
        if words:
            raise UsageError(f"unexpected argument '{words[0]}'; explain shows single rules", command="policy")
        return _list(ctx, kind)
    if action == "explain":
        if not words:
            raise UsageError("the rule to explain is missing", command="policy")
        return _explain(ctx, words)
    if not words:
        return _test_rules(ctx)
    return _test_text(ctx, ctx.stdin_text() if words == ["-"] else " ".join(words), document=document)


class _RulesInForce:
    """All rules; the project's own ones and the silenced ones are marked."""

    def __init__(self, ctx: Context) -> None:
        from memctl.policy import RULES
        from memctl.policy.project import project_of

        part = project_of(ctx.config.policy)
        self.own = frozenset(rule.id for rule in (part.rules if part else ()))
        self.silenced = frozenset(part.silenced if part else ())
        self.rules = [*RULES, *(part.rules if part else ())]

    def describe(self, rule: "Rule") -> tuple[dict[str, Any], str]:
        """A rule in short, and its marks as a person reads them."""
        is_own, is_silenced = rule.id in self.own, rule.id in self.silenced
        row = {
            "id": rule.id, "kind": rule.kind, "action": rule.action, "severity": rule.severity,
            "origin": "project" if is_own else "built-in", "silenced": is_silenced,
        }  # fmt: skip
        return row, " [PROJECT]" * is_own + " [SILENCED]" * is_silenced


def _list(ctx: Context, kind: str | None) -> PlainResult:
    found = _RulesInForce(ctx)
    rows, lines = [], []
    for rule in found.rules:
        if kind in (None, rule.kind):
            row, marks = found.describe(rule)
            rows.append(row)
            lines.append(f"  {rule.kind:<13}  {rule.action:<10}  {rule.severity}  {rule.id}{marks}")
    return PlainResult({"status": "ok", "count": len(rows), "rules": rows}, lines)


def _explain(ctx: Context, names: list[str]) -> PlainResult:
    found = _RulesInForce(ctx)
    by_id = {rule.id: rule for rule in found.rules}
    rows, lines = [], []
    for name in names:
        if name not in by_id:
            from difflib import get_close_matches

            guess = get_close_matches(name, by_id, 1)
            raise UsageError(
                f"there is no rule '{name}'" + (f"; did you mean '{guess[0]}'?" if guess else ""), command="policy"
            )
        rule = by_id[name]
        row, marks = found.describe(rule)
        row |= {
            "effect": _EFFECTS.get((rule.kind, rule.action)) or _EFFECTS["", rule.action], "keywords": rule.keywords,
            "pattern": rule.pattern, "check": rule.check, "example": rule.example,
            "counterexample": rule.counterexample,
        }  # fmt: skip
        rows.append(row)
        lines.append(f"{rule.id}{marks}")
        for label, value in row.items():
            if label not in ("id", "origin", "silenced") and value != "":
                shown = str(value).replace("\n", "\\n")
                shown = shown if len(shown) <= 300 else shown[:300] + f"… ({len(shown)} characters)"
                lines.append(f"  {label + ':':<16}{shown}")
    return PlainResult({"status": "ok", "count": len(rows), "rules": rows}, lines)


def _test_rules(ctx: Context) -> PlainResult:
    """Every rule that is in force against its own examples, alone: what other rules say does not count."""
    from memctl.policy.engine import broken_example

    found = _RulesInForce(ctx)
    live = [rule for rule in found.rules if rule.id not in found.silenced]
    problems = [{"rule": rule.id, "problem": words} for rule in live if (words := broken_example(rule))]
    lines = [f"{one['rule']}: {one['problem']}" for one in problems]
    lines.append(f"{len(live)} rules tried, {len(problems)} wrong")
    data = {"status": "failed" if problems else "ok", "rules": len(live), "problems": problems}
    return PlainResult(data, lines, 1 if problems else 0)


def _test_text(ctx: Context, text: str, *, document: bool) -> PlainResult:
    judged = ctx.policy.judge(text, document=document)
    findings = [
        {"kind": f.kind, "rule": f.rule, "action": f.action, "start": f.start, "end": f.end} for f in judged.findings
    ]
    lines: list[str] = [judged.action]
    lines += [f"  {f.kind:<13}  {f.action:<10}  {f.rule} (characters {f.start} to {f.end})" for f in judged.findings]
    data = {"status": "ok", "action": judged.action, "findings": findings, "text": ctx.policy.redact(text)}
    return PlainResult(data, lines, 1 if findings else 0)
