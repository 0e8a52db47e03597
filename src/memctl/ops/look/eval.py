"""How well memory serves: memctl eval by a user's own questions, memctl useful by what conversations used of it."""

from collections.abc import Iterator
from contextlib import nullcontext

from memctl import errors
from memctl.annotations import Annotated, Any
from memctl.context import Context
from memctl.lifecycle.jsonl import number_lines
from memctl.names import DEFAULT_SCOPE
from memctl.operation import READ, Arg, Fields, PlainResult, operation
from memctl.parameters import ReadRequest, seen_through
from memctl.reading.request import Retriever
from memctl.retrieve import evaluate
from memctl.retrieve.evaluate import Question, QuestionResult
from memctl.store.filters import Filters
from memctl.store.items import items
from memctl.text.clean import one_line

#: How many lines that cannot be used are told one by one.
TOLD = 10


@operation(
    name="eval",
    access=READ,
    examples=(
        "memctl eval questions.jsonl",
        "memctl eval questions.jsonl -n 5 --min-recall 0.9  # exit 1 below it, for CI",
        """echo '{"question": "deploy?", "expected": ["docs/ops.md"]}' | memctl eval -""",
        """echo '{"question": "which day?", "answer": ["Tuesday"]}' | memctl eval -""",
    ),
    exits={1: "no such file, a line that is no question, or recall below --min-recall"},
)
def eval(
    ctx: Context,
    file: Annotated[str, Arg("JSON lines; - means standard input", metavar="FILE", path=True)],
    *,
    limit: Annotated[
        int, Arg("how many results of each question to judge", "-n", "--limit", aliases=("-k",), ge=1, le=1000)
    ] = 10,
    min_recall: Annotated[float, Arg("exit with 1 when recall is below this", "--min-recall", ge=0, le=1)] = 0.0,
    budget: Annotated[
        int,
        Arg("tokens of the block that must say the answer", "--budget", ge=1, le=10**6),
    ] = 1500,
    injectable: Annotated[bool, Arg("only what may be given to a model, as recall does", "--injectable")] = False,
    request: Annotated[ReadRequest, Fields("scope all_scopes workspace embedder")],
) -> PlainResult:
    """Measure how well search answers your own questions.

    Each line is an object with a question and the sources that should answer it, {"question": "...", "expected":
    ["docs/deploy.md"]}: a path or its end, path#heading, a title, or an item's id. A line may name its own "scope".
    Recall is the share of the expected sources among the first results, MRR the mean of 1 / the first one's place.

    A line may also (or only) name what an answer says, "answer": ["...", "..."]: the block that recall gives within
    --budget is then looked through for one of these phrases, without regard to case and line breaks, and `answered` is
    the share of such questions whose block says it.
    """
    questions = _read_questions(ctx, file)
    retriever = Retriever(ctx, request, "eval", injectable=injectable)
    judged, searched = [], set()
    for question in questions:
        ctx.progress(f"[eval] line {question.line}")
        filters = retriever.filters
        if question.scope is not None and not request.all_scopes:
            filters = Filters(ctx.read_set(question.scope), injectable=injectable)
        searched.add(filters.scopes)
        found = retriever.find(question.text, limit, filters=filters)
        told = _says_phrase(retriever, filters, question, budget) if question.phrases else None
        first = items.get_many(ctx.db, [c.id for c in found.candidates])
        judged.append(evaluate.judge(question, first)._replace(told=told))
    scopes = None if None in searched else tuple(sorted({name for names in searched for name in names or ()}))
    missed = (name for one in judged for name in one.missing)
    unknown = evaluate.find_unknown(missed, items.iterate(ctx.db, Filters(scopes, injectable=injectable)))
    return _report(ctx, judged, unknown, limit, budget, min_recall)


def _read_questions(ctx: Context, file: str) -> list[Question]:
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
            questions, bad = evaluate.read_questions(number_lines(stream), tell)
    except OSError as exc:
        remedy = "name a file with one question a line (memctl eval --help), or - for standard input"
        raise errors.FileMissing(path=name, reason=exc.strerror or str(exc), remedy=remedy) from exc
    if bad:
        raise errors.QuestionsInvalid(path=name, reason=f"{bad} line(s) are no question with its sources")
    if not questions:
        raise errors.QuestionsInvalid(path=name, reason="it holds none")
    return questions


def _says_phrase(retriever: Retriever, filters: Filters, question: Question, budget: int) -> bool:
    """Whether the block that recall gives for the question says one of its phrases."""
    from memctl.reading.block import choose_passages, deliver
    from memctl.text.block.frames import Compact
    from memctl.text.block.packing import build

    found, _ = retriever.find_for_block(question.text, budget, filters=filters.replace(injectable=True))
    ranked = deliver(retriever, found)
    block = build(choose_passages(ranked, budget), Compact(), budget, ranked.words)
    return evaluate.says_phrase(block.text, question.phrases)


def _report(
    ctx: Context, judged: list[QuestionResult], unknown: set[str], k: int, budget: int, min_recall: float
) -> PlainResult:
    """The figures, then each question that was not fully answered: what was expected, and what came instead.

    recall    the mean share of the expected sources that were found, of the questions that name some
    mrr       the mean of 1 / the place of the first expected source; 0 where there is none
    answered  the share of the questions that name a phrase whose block says one of theirs
    unknown   the expected sources that the store does not have at all
    """
    from memctl.text.clean import share_bar

    sourced = [one for one in judged if one.question.expected]
    recall = sum(1 - len(one.missing) / len(one.question.expected) for one in sourced) / max(len(sourced), 1)
    mrr = sum(1 / one.rank for one in judged if one.rank) / max(len(sourced), 1)
    phrased = [one for one in judged if one.told is not None]
    answered = sum(1 for one in phrased if one.told) / max(len(phrased), 1)
    misses = [one for one in judged if one.missing or one.told is False]
    data = {
        "status": "ok", "questions": len(judged), "k": k, "recall": round(recall, 4), "mrr": round(mrr, 4),
        **({"answered": round(answered, 4), "budget": budget} if phrased else {}),
        "misses": [
            {
                "line": one.question.line, "question": one.question.text, "missing": list(one.missing),
                "unknown": [name for name in one.missing if name in unknown], "rank": one.rank or None,
                **({} if one.told is None else {"answered": one.told}),
                "found": [{"id": i.id, "title": i.title, "source": i.provenance.source_id} for i in one.found],
            }
            for one in misses
        ],
    }  # fmt: skip
    lines = [
        f"  questions  {len(judged)}",
        f"  {f'recall@{k}':<9}  {recall:.3f}  {share_bar(recall)}",
        f"  MRR        {mrr:.3f}  {share_bar(mrr)}",
    ]
    if phrased:
        where = f"(in the block at {budget} tokens, of {len(phrased)})"
        lines.append(f"  answered   {answered:.3f}  {share_bar(answered)}  {where}")
    lines.append(f"  misses     {len(misses)}")
    for one in misses:
        lines += ["", f"  line {one.question.line}: {one_line(one.question.text)}"]
        for name in one.missing:
            lines.append(f"    missing: {one_line(name)}{' (not in the store)' if name in unknown else ''}")
        if one.told is False:
            lines.append(f"    not in the block: {one_line(' | '.join(one.question.phrases))}")
        for item in one.found[:3]:
            source = item.provenance.source_id or item.id
            lines.append(f"    found:   {one_line(item.title) or '(untitled)'}  {one_line(source)}")
    if recall < min_recall:
        ctx.warn(f"[eval] recall@{k} is {recall:.3f}, below {min_recall:g}")
    return PlainResult(data, lines, 1 if recall < min_recall else 0)


# --- what conversations were told -------------------------------------------------------------------------------------


_TITLE = 72


@operation(
    access=READ,
    tool="memory_useful",
    about="List which memories conversations were given and used, and which only cost tokens.",
    answer={"items": "array"},
    examples=(
        "memctl useful",
        "memctl useful --ignored  # what only costs tokens",
        "memctl useful --json | jq -r '.items[] | select(.used == 0) | .id'",
    ),
)
def useful(
    ctx: Context,
    *,
    ignored: Annotated[bool, Arg("only what no answer used, what cost most first", "--ignored")] = False,
    scope: Annotated[str, Arg("of this scope and of the scope global", "--scope")] = DEFAULT_SCOPE,
    all_scopes: Annotated[bool, Arg("of every scope", "--all-scopes")] = False,
    workspace: Annotated[str | None, Arg("of what this saved view reads", "-w", "--workspace", metavar="NAME")] = None,
    limit: Annotated[int, Arg("at most this many", "-n", "--limit", aliases=("-k",), ge=1, le=1000)] = 20,
) -> PlainResult:
    """List what helped of what conversations were told, and what only cost tokens.

    Told is what hooks gave, and what a model fetched itself with a tool whose answer is in its transcript. An answer
    used an item if it cites or quotes it, or says what only the item says; the item's file being edited afterwards
    makes less of that enough. It is found out when conversations are captured, and when a program ends a turn, without
    a model. What helps gains a little strength and is told a little sooner, what does not help loses both, slowly.
    """
    from memctl.reading import delivery
    from memctl.store.items import items
    from memctl.store.items.attributes import count_conversations, list_told

    filters = seen_through(ctx, workspace, Filters(Filters.read_set(scope, all_scopes)), all_scopes=all_scopes)
    found = list_told(ctx.db, filters)
    wanted = [item_id for item_id, one in found.items() if not (ignored and one.used)]
    shown = items.get_many(ctx.db, wanted[:limit])
    titles = {item.id: item.title for item in delivery.items_for_people(ctx, shown, "useful")}
    rows: list[dict[str, Any]] = [{"id": i, "title": titles[i]} | found[i]._asdict() for i in wanted[:limit]]
    data = {
        "status": "ok", "conversations": count_conversations(ctx.db), "told": len(found),
        "used": sum(one.used > 0 for one in found.values()), "tokens": sum(one.tokens for one in found.values()),
        "tokens_unused": sum(one.tokens_unused for one in found.values()),
        "total": len(wanted), "truncated": len(wanted) > limit, "items": rows,
    }  # fmt: skip
    if not found:
        ctx.note("[useful] Nothing was told yet and captured.")
    else:
        ctx.note(
            f"[useful] {data['told']} items were told in ~{data['tokens']} tokens; {data['used']} of them were used, "
            f"~{data['tokens_unused']} tokens were not"
        )
    return PlainResult(data, list(_lines(rows)))


def _lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    """How often it was used and told, its tokens, and what it is."""
    for row in rows:
        yield f"{row['used']:>3} of {row['told']:<3} ~{row['tokens']:<6} {row['id']}  {one_line(row['title'], _TITLE)}"
