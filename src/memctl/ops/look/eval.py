"""memctl eval: how well the store answers a user's own questions."""

from collections.abc import Iterator
from contextlib import nullcontext

from memctl import errors
from memctl.annotations import Annotated, Any
from memctl.context import Context
from memctl.lifecycle.jsonl import number_lines
from memctl.operation import READ, Arg, Fields, Result, operation
from memctl.parameters import ReadRequest
from memctl.reading.request import Retriever, drop_weak, pool_size
from memctl.retrieve import evaluate
from memctl.retrieve.evaluate import Question, QuestionResult
from memctl.retrieve.ranking import SearchResult
from memctl.store.filters import Filters

#: So many lines that cannot be used are told one by one.
TOLD = 10


class Evaluated(Result):
    """How each question was answered; `unknown` are the expected sources that the store does not have at all."""

    __slots__ = ("budget", "exit_code", "judged", "k", "unknown")

    def __init__(self, judged: list[QuestionResult], k: int, unknown: set[str], budget: int, *, failed: bool) -> None:
        self.judged, self.k, self.unknown, self.budget = judged, k, unknown, budget
        self.exit_code = 1 if failed else 0

    @property
    def recall(self) -> float:
        """The mean share of the expected sources that were found."""
        return evaluate.recall(self.judged)

    @property
    def mrr(self) -> float:
        """The mean of 1 / the place of the first expected source."""
        return evaluate.mrr(self.judged)

    @property
    def phrased(self) -> list[QuestionResult]:
        """The questions that name a phrase their block must say."""
        return [one for one in self.judged if one.told is not None]

    @property
    def answered(self) -> float:
        """The share of these whose block says it."""
        return evaluate.answered(self.judged)

    @property
    def misses(self) -> list[QuestionResult]:
        """The questions of which not every expected source was found, or whose block says none of the phrases."""
        return [one for one in self.judged if one.missing or one.told is False]

    def as_dict(self) -> dict[str, Any]:
        """The figures, and the questions that were not fully answered."""
        return {
            "status": "ok",
            "questions": len(self.judged),
            "k": self.k,
            "recall": round(self.recall, 4),
            "mrr": round(self.mrr, 4),
            **({"answered": round(self.answered, 4), "budget": self.budget} if self.phrased else {}),
            "misses": [
                {
                    "line": one.question.line,
                    "question": one.question.text,
                    "missing": list(one.missing),
                    "unknown": [name for name in one.missing if name in self.unknown],
                    "rank": one.rank or None,
                    **({} if one.told is None else {"answered": one.told}),
                    "found": [{"id": i.id, "title": i.title, "source": i.provenance.source_id} for i in one.found],
                }
                for one in self.misses
            ],
        }


@operation(
    name="eval",
    access=READ,
    examples=(
        "memctl eval questions.jsonl",
        "memctl eval questions.jsonl -k 5 --min-recall 0.9  # exit 1 below it, for CI",
        """echo '{"question": "how do we deploy?", "expected": ["docs/deploy.md"]}' | memctl eval -""",
        """echo '{"question": "on which day?", "answer": ["Tuesday"]}' | memctl eval - --budget 500""",
    ),
    exits={1: "no such file, a line that is no question, or recall below --min-recall"},
)
def eval(
    ctx: Context,
    file: Annotated[str, Arg("JSON lines; - means standard input", metavar="FILE", path=True)],
    *,
    limit: Annotated[int, Arg("judge so many results of each question", "-k", "--limit", ge=1, le=1000)] = 10,
    min_recall: Annotated[float, Arg("exit with 1 when recall is below this", "--min-recall", ge=0, le=1)] = 0.0,
    budget: Annotated[
        int,
        Arg("tokens of the block that must say the answer", "--budget", ge=1, le=10**6),
    ] = 1500,
    injectable: Annotated[bool, Arg("only what may be given to a model, as recall does", "--injectable")] = False,
    request: Annotated[ReadRequest, Fields("scope all_scopes workspace embedder")],
) -> Evaluated:
    """Measure how well search answers your own questions.

    Each line is an object with a question and the sources that should answer it, {"question": "...", "expected":
    ["docs/deploy.md"]}: a path or its end, path#heading, a title, or an item's id. A line may name its own "scope".
    Recall is the share of the expected sources among the first results, MRR the mean of 1 / the first one's place.

    A line may also (or only) name what an answer says, "answer": ["...", "..."]: the block that recall gives within
    --budget is then looked through for one of these phrases, without regard to case and line breaks, and `answered` is
    the share of such questions whose block says it.
    """
    questions = _read(ctx, file)
    most = limit if all(not question.phrases for question in questions) else max(limit, pool_size(budget))
    retriever = Retriever(ctx, request, "eval", injectable=injectable)
    judged, searched = [], set()
    for question in questions:
        ctx.progress(f"[eval] line {question.line}")
        filters = retriever.filters
        if question.scope is not None and not request.all_scopes:
            filters = Filters(Filters.read_set(question.scope), injectable=injectable)
        searched.add(filters.scopes)
        found = retriever.find(question.text, most, filters=filters)
        told = _told(retriever, found, question, budget) if question.phrases else None
        judged.append(_judged(ctx, question, found, limit)._replace(told=told))
    result = Evaluated(judged, limit, set(), budget, failed=False)
    result.unknown = _unknown(ctx, result, Filters(_union(searched), injectable=injectable))
    if result.recall < min_recall:
        result.exit_code = 1
        ctx.warn(f"[eval] recall@{limit} is {result.recall:.3f}, below {min_recall:g}")
    return result


def _read(ctx: Context, file: str) -> list[Question]:
    told: list[str] = []

    def tell(problem: str) -> None:
        told.append(problem)
        if len(told) <= TOLD:
            ctx.warn(f"[eval] {problem}")

    name = "standard input" if file == "-" else ctx.absolute(file)
    try:
        with nullcontext(ctx.stdin) if file == "-" else open(name, "rb") as stream:
            if stream is None:
                raise errors.EmptyInput
            questions, bad = evaluate.read(number_lines(stream), tell)
    except OSError as exc:
        raise errors.FileMissing(path=name, reason=exc.strerror or str(exc)) from exc
    if bad:
        raise errors.QuestionsInvalid(path=name, reason=f"{bad} line(s) are no question with its sources")
    if not questions:
        raise errors.QuestionsInvalid(path=name, reason="it holds none")
    return questions


def _judged(ctx: Context, question: Question, found: SearchResult, limit: int) -> QuestionResult:
    from memctl.store.items import items

    return evaluate.judge(question, items.get_many(ctx.db, [c.id for c in found.candidates[:limit]]))


def _told(retriever: Retriever, found: SearchResult, question: Question, budget: int) -> bool:
    """Whether the block that recall gives for the question says one of its phrases."""
    from memctl.reading.block import deliver
    from memctl.retrieve.pack import build_block
    from memctl.text.block.frames import Compact

    free = [c for c in found.candidates if c.injectable][: pool_size(budget)]
    best = found.with_candidates(free, found.total)
    drop_weak(best)
    return evaluate.tells(build_block(deliver(retriever, best), Compact(), budget).text, question.phrases)


def _union(searched: "set[tuple[str, ...] | None]") -> tuple[str, ...] | None:
    return None if None in searched else tuple(sorted({name for scopes in searched for name in scopes or ()}))


def _unknown(ctx: Context, result: Evaluated, filters: Filters) -> set[str]:
    from memctl.store.items import items

    return evaluate.unknown((name for one in result.misses for name in one.missing), items.iterate(ctx.db, filters))


def text(result: Evaluated) -> Iterator[str]:
    """The figures, then each question that was not fully answered: what was expected, and what came instead."""
    from memctl.text.clean import one_line

    misses = result.misses
    yield f"  questions  {len(result.judged)}"
    yield f"  {f'recall@{result.k}':<9}  {result.recall:.3f}"
    yield f"  MRR        {result.mrr:.3f}"
    if result.phrased:
        yield f"  answered   {result.answered:.3f}  (in the block at {result.budget} tokens, of {len(result.phrased)})"
    yield f"  misses     {len(misses)}"
    for one in misses:
        yield ""
        yield f"  line {one.question.line}: {one_line(one.question.text)}"
        for name in one.missing:
            yield f"    missing: {one_line(name)}{' (not in the store)' if name in result.unknown else ''}"
        if one.told is False:
            yield f"    not in the block: {one_line(' | '.join(one.question.phrases))}"
        for item in one.found[:3]:
            source = item.provenance.source_id or item.id
            yield f"    found:   {one_line(item.title) or '(untitled)'}  {one_line(source)}"
