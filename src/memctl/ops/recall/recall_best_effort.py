"""memory_recall_best_effort: a recall that, when nothing matches, tries again with less of the question."""

from collections.abc import Iterator

from memctl.annotations import Annotated, Any, Literal
from memctl.context import Context
from memctl.names import DEFAULT_SCOPE, Tier
from memctl.operation import READ, Arg, Result, operation
from memctl.ops.recall import block as recalling
from memctl.parameters import ReadIn, ReadScope
from memctl.text import query as queries

_LONG_ENOUGH = 3


class BestEffort(Result):
    """The block of the last search, and the way to it."""

    __slots__ = ("found", "hint", "query", "steps")

    def __init__(self, found: recalling.Recalled, query: str, steps: list[dict[str, Any]], hint: str) -> None:
        self.found, self.query, self.steps, self.hint = found, query, steps, hint

    def as_dict(self) -> dict[str, Any]:
        """What a recall gives, with the query that was used and each step."""
        out = {key: value for key, value in self.found.as_dict().items() if not key.startswith("fts_")}
        out |= {"query_used": self.query, "strategy_used": self.found.meta.strategy, "steps": self.steps}
        return out | {"hint": self.hint} if self.hint else out

    def settle(self) -> None:
        """Count the use of what was delivered."""
        self.found.settle()


@operation(
    name="recall-best-effort",
    access=READ,
    tool="memory_recall_best_effort",
    toolset="standard",
    prose=True,
    about="Recall memories for a question and, when nothing matches, try again with its identifiers and "
    "its longest word. Says what was tried. Use it when memory_recall found nothing.",
    answer={
        "inject_text": "string", "items": "array", "tokens_used": "integer", "matched": "integer",
        "query_used": "string", "strategy_used": "string", "steps": "array",
    },
)  # fmt: skip
def recall_best_effort(
    ctx: Context,
    query: Annotated[str, Arg("the question")],
    *,
    budget_tokens: Annotated[int, Arg("tokens of the whole block", ge=1, le=10**6)] = 1500,
    tier: Annotated[Tier | None, Arg("only this tier", "--tier", mcp_help="")] = None,
    scope: ReadScope = DEFAULT_SCOPE,
    workspace: ReadIn = None,
    max_steps: Annotated[int, Arg("how many searches to try at most, 1 to 5")] = 3,
    mode: Annotated[Literal["auto", "strict"], Arg("strict: one search only")] = "auto",
) -> BestEffort:
    """Recall, and try again with less when nothing matches.

    The first search is the one of `recall`, which ranks every item that has any word of the question. The further ones
    help where the words that matter are hidden among others: names from code alone, then the longest word alone.
    """
    parsed = queries.analyse(query)
    plain = queries.normalised(parsed)
    steps: list[dict[str, Any]] = [
        {"step": 1, "action": "normalize", "query_in": query, "query_out": plain, "changed": plain != query}
    ]
    tried: list[str] = []
    most = 1 if mode == "strict" else min(max(max_steps, 1), 5)
    for action, words in _attempts(query, plain):
        if len(tried) >= most or words in tried:
            continue
        tried.append(words)
        found = recalling.recall_block(
            ctx, words, label="recall", budget=budget_tokens, tier=tier, scope=scope, workspace=workspace
        )
        steps.append({"step": len(steps) + 1, "action": action, "query": words, "strategy": found.meta.strategy,
                      "hits": found.matched})  # fmt: skip
        if found.matched:
            break
    return BestEffort(found, tried[-1], steps, "" if found.matched else _advice(tried))


def _attempts(query: str, plain: str) -> Iterator[tuple[str, str]]:
    yield "search", plain
    words = query.split()
    names = [word for word in words if queries.is_identifier(word)]
    long = [word for word in plain.split() if len(word) >= _LONG_ENOUGH]
    narrower = " ".join(names) or max(long, key=len, default="")
    if narrower:
        yield "retry_identifiers", narrower
    if words:
        yield "retry_broadest", max(words, key=len)


def _advice(tried: list[str]) -> str:
    return (
        f"Nothing matches {', '.join(repr(words) for words in tried)}.\n"
        "- Say it in other words, or with a name from the code.\n"
        "- memory_stats shows what the store holds and in which scopes; another scope may have it."
    )


def text(result: BestEffort) -> Iterator[str]:
    """The block, or why there is none."""
    yield result.found.shown() or result.hint
