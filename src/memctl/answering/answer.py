"""What loop, ask and chat share: the options of a model, asking it, and answers from what the store has."""

import os
from collections.abc import Callable
from typing import NamedTuple

from memctl import errors
from memctl.annotations import Annotated, Literal
from memctl.context import Context
from memctl.llm.citations import ContextPlace, context_places
from memctl.llm.command import LIMIT, ModelAnswer, ModelCommand, Spend, run
from memctl.llm.controller import LoopPlan, LoopResult, LoopTrace, Recall, run_loop
from memctl.llm.working import RecalledPassages
from memctl.operation import Arg, Group
from memctl.parameters import ReadRequest
from memctl.reading.block import choose_passages, deliver
from memctl.reading.request import Retriever
from memctl.text.block import packing
from memctl.text.block.excerpt import stems
from memctl.text.block.packing import Block, BlockEntry, Compact, place_within
from memctl.text.query import analyse

KEY = "llm.command"
_LEAST = "recall.min_coverage"
#: Between two parts of a context.
GAP = "\n\n"


class ModelOptions(Group):
    """Which model is asked, how, and within which bounds."""

    llm: Annotated[
        str | None,
        Arg("the model command, in shell words", "--llm", env="MEMCTL_LLM", metavar="CMD", mcp="full",
            mcp_name="llm_cmd", mcp_help="another of the commands that the server was started with"),
    ] = None  # fmt: skip
    llm_mode: Annotated[
        Literal["stdin", "file"],
        Arg("how the model gets the prompt: on stdin, or in a file named as its last word", "--llm-mode",
            config="llm.mode", metavar="MODE", mcp=False),
    ] = "stdin"  # fmt: skip
    timeout: Annotated[
        float,
        Arg("seconds that the model may take for one answer", "--timeout", config="llm.timeout", ge=0.1, le=86_400,
            mcp_help="seconds per answer"),
    ] = 300.0  # fmt: skip
    protocol: Annotated[
        Literal["json", "regex", "passive"],
        Arg("how the model says whether it needs more", "--protocol", metavar="NAME", mcp_help=""),
    ] = "passive"
    max_calls: Annotated[int, Arg("calls of the model at most", "--max-calls", ge=1, le=1000, mcp_help="")] = 1
    threshold: Annotated[
        float,
        Arg("answers at least this similar count as the same", "--threshold", ge=0, le=1,
            mcp_help="similarity that counts as the same"),
    ] = 0.92  # fmt: skip
    query_threshold: Annotated[
        float,
        Arg(
            "a query at least this similar to the last one counts as the same",
            "--query-threshold",
            ge=0,
            le=1,
            mcp_help="",
        ),
    ] = 0.90
    stable_steps: Annotated[
        int,
        Arg("stop after this many answers in a row that stay the same", "--stable-steps", ge=1, le=1000, mcp_help=""),
    ] = 2
    system_prompt: Annotated[
        str | None,
        Arg("instructions of your own before the context, or a file that holds them", "--system-prompt",
            metavar="TEXT|FILE", mcp=False),
    ] = None  # fmt: skip
    stream: Annotated[
        bool, Arg("print the last answer while the model writes it, as on a terminal", "--stream", mcp=False)
    ] = False


class Model:
    """The model of a command. It is asked by calling it, and counts in `spend` what that costs.

    Its command is that of the flag, else of MEMCTL_LLM, else `llm.command` of a file named with --config: a config.json
    that was merely found beside the store may come with a folder somebody else made, so it must not make us run a
    program, and stderr says that it does not. Raises ModelUnnamed, ModelUnusable, ModelMissing, and UsageError.

    label     begins what is said about it on stderr; under -v that is what it says on its own stderr, too
    streamed  answers are printed while they are made: on a terminal, and with --stream
    """

    def __init__(self, ctx: Context, options: ModelOptions, label: str) -> None:
        if options.stream and ctx.json:
            raise errors.UsageError("--stream prints the answer as it comes, --json when it is whole", command=label)
        self.ctx, self.options, self.label = ctx, options, label
        self.streamed = (options.stream or "stdout" in ctx.tty) and not ctx.json and ctx.emit is not None
        self.spend = Spend()
        named = options.llm if options.llm is not None else ctx.env("MEMCTL_LLM")
        if named is None and ctx.is_configured(KEY) and ctx.config.value(KEY):
            if ctx.config_flag is None:
                ctx.warn(
                    f"{ctx.config_path}: {KEY} is not used: a config file that was not named with --config "
                    "may not say which program is run"
                )
            else:
                named = ctx.config.value(KEY)
        if named is None:
            raise errors.ModelUnnamed
        self.command = ModelCommand.parse(named, options.llm_mode, options.timeout)

    def __call__(self, prompt: str, on_text: Callable[[str], None] | None = None) -> ModelAnswer:
        """Its answer. Raises ModelFailed, ModelTimeout, ModelMissing and ModelUnusable."""
        heard = self.ctx.warn if self.ctx.verbose else None
        waiting = self._tell_waiting if self.ctx.watched else None
        answer = run(self.command, prompt, on_text=on_text, stderr=heard, waiting=waiting, spend=self.spend)
        if answer.truncated:
            self.ctx.warn(f"[{self.label}] the answer was cut after {LIMIT >> 20} MB, and the command stopped")
        return answer

    def _tell_waiting(self, seconds: int) -> None:
        self.ctx.progress(f"[{self.label}] waiting for the model: {seconds} s")

    def plan(self, budget: int, further_words: str = "", **bounds: bool) -> LoopPlan:
        """The bounds of a loop with this model; `further_words` stand after those of --system-prompt.

        Raises FileMissing for a file of these that cannot be read.
        """
        options = self.options
        given = words = options.system_prompt or ""  # the words themselves, or a file that holds them
        path = self.ctx.absolute(given) if given and "\n" not in given and "\0" not in given else ""
        if path and os.path.exists(path):
            try:
                with open(path, "rb") as file:
                    words = file.read().decode("utf-8-sig", "replace")
            except OSError as exc:
                raise errors.FileMissing(path=given, reason=exc.strerror) from exc
        elif path and " " not in given and ("/" in given or given.endswith((".txt", ".md"))):
            self.ctx.warn(
                f"[{self.label}] --system-prompt: there is no file {given}, so these are the words themselves"
            )
        return LoopPlan(
            protocol=options.protocol, max_calls=options.max_calls, threshold=options.threshold,
            query_threshold=options.query_threshold, stable_steps=options.stable_steps, budget=budget,
            system_prompt=GAP.join(part for part in (words.strip(), further_words) if part), **bounds,
        )  # fmt: skip

    def run(
        self,
        plan: LoopPlan,
        context: str,
        question: str,
        recall: Recall,
        on_trace: Callable[[LoopTrace], None] | None = None,
    ) -> LoopResult:
        """Ask it until one of the plan's bounds is reached; with --stream the answer is printed while it is made."""
        emit = self.ctx.emit if self.streamed else None
        begun = False

        def print_piece(piece: str) -> None:
            nonlocal begun
            begun = True
            if emit is not None:
                emit(piece)

        stream = None if emit is None else print_piece
        try:
            return run_loop(plan, context, question, ask=self, recall=recall, stream=stream, on_trace=on_trace)
        except (errors.MemctlError, KeyboardInterrupt):
            if begun:  # a line that breaks off is ended
                print_piece("\n")
            raise

    def tell_spend(self) -> None:
        """Say on stderr what was spent, if anything was."""
        if self.spend.calls:
            self.ctx.note(f"[{self.label}] spent {self.spend.line()}")

    def tell_end(self, result: LoopResult, *, how: bool = True) -> None:
        """Say what is wrong with an answer that was taken as it is, and how its loop ended, unless `how` is False."""
        if result.stop_reason == "unparsable":  # only --protocol json has such answers
            self.ctx.warn(
                f"[{self.label}] The answer has no JSON object with need_more and stop, as --protocol json asks for; "
                "it is taken as it is (--protocol passive asks for none)."
            )
        if not result.answer:
            self.ctx.warn(f"[{self.label}] The model gave no answer.")
        if how:
            end = f"stop={result.stop_reason}, converged={result.converged}"
            self.ctx.note(f"[{self.label}] {result.iterations} iteration(s), {end}")


def least_coverage(ctx: Context) -> float:
    """What config.json says of `recall.min_coverage`, for commands that have no flag for it."""
    return float(ctx.config.value(_LEAST)) if ctx.is_configured(_LEAST) else 0.0


# --- answers from the store ---------------------------------------------------------------------------------------


class AnswerSource(NamedTuple):
    """Something that the model was given: where it stands (None for what stands in no document), title, items."""

    place: ContextPlace | None
    title: str
    ids: tuple[str, ...]

    def __str__(self) -> str:
        return str(self.place) if self.place else self.ids[0]


class GroundedAnswer(NamedTuple):
    """An answer and what it was made from.

    result   how the loop ended
    ids      the items that the model was given, those of the first call first
    places   where they stand, as the last context said it
    sources  the same with titles; what was in an earlier context only is left out
    """

    result: LoopResult
    ids: tuple[str, ...]
    places: list[ContextPlace]
    sources: list[AnswerSource]


class Ground:
    """Where answers are looked for: the same request for the first recall and for every refined one."""

    def __init__(self, ctx: Context, request: ReadRequest, command: str) -> None:
        self.retriever = Retriever(ctx, request, command, injectable=True)
        self._passages: dict[str, BlockEntry] = {}

    def recall(self, query: str, budget: int) -> RecalledPassages:
        """The passages that a block for a query would choose from, best first, with paths as people read them."""
        found, _ = self.retriever.find_for_block(query, budget)
        # All of them: a loop has some already.
        chosen = choose_passages(deliver(self.retriever, found, near=True), budget, whole=True)
        self._passages.update({item_id: p for p in chosen for item_id in p.ids})
        return RecalledPassages(chosen, found.total)

    def block(self, query: str, budget: int) -> Block:
        """What there is for a question as one block within a budget."""
        self._passages.clear()
        found = self.recall(query, budget)
        return packing.build(found.passages, Compact(), budget, stems(analyse(query)))

    def answer(self, model: Model, plan: LoopPlan, question: str, first: Block, *, before: str = "") -> GroundedAnswer:
        """Ask the model, with `before` and the first block as context; more is recalled if the protocol asks for it.

        The plan's budget is that of the whole context, `before` included.
        """
        context = GAP.join(part for part in (before, first.text) if part)
        on_trace = (lambda trace: model.ctx.warn(trace.line())) if model.ctx.verbose else None
        result = model.run(plan, context, question, self.recall, on_trace)
        ids = (*first.ids, *(i for i in result.ids if i not in first.ids))
        places = context_places(result.context)
        left, sources = dict.fromkeys(places), []
        for item_id in ids:
            p = self._passages.get(item_id)
            if p is None or p.ids[0] != item_id:
                continue
            shown: list[ContextPlace | None] = [None]
            if p.path:
                shown = [place for place in left if _shows(place, p)]
            for place in shown:
                if place is not None:
                    del left[place]
                sources.append(AnswerSource(place, p.title, p.ids))
        return GroundedAnswer(result._replace(context=""), ids, places, sources)  # a long chat keeps many of these


def _shows(place: ContextPlace, p: BlockEntry) -> bool:
    """Whether a place in the context shows some of a passage."""
    if place.path != p.path:
        return False
    if place.lines is not None and p.span is not None:
        return any(place.lines[0] <= last and first <= place.lines[1] for first, last in p.spans or [p.span])
    return str(place) == f"{p.path}:{place_within(p)}"
