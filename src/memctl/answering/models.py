"""What loop, ask and chat share: a model's parameters, which command may be run, and recall for a refined query."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from memctl import errors
from memctl.annotations import TYPE_CHECKING, Annotated, Literal
from memctl.context import Context
from memctl.operation import Arg

if TYPE_CHECKING:
    from memctl.llm.command import ModelAnswer, ModelCommand
    from memctl.llm.controller import LoopResult

KEY = "llm.command"
_LEAST = "recall.min_coverage"

Llm = Annotated[
    str | None,
    Arg(
        "the model command, in shell words",
        "--llm",
        env="MEMCTL_LLM",
        metavar="CMD",
        mcp="full",
        mcp_name="llm_cmd",
        mcp_help="another of the commands that the server was started with",
    ),
]
LlmMode = Annotated[
    Literal["stdin", "file"],
    Arg("how it gets the prompt: on stdin, or in a file named last", "--llm-mode", config="llm.mode", metavar="MODE",
        mcp=False),
]  # fmt: skip
Timeout = Annotated[
    float,
    Arg(
        "seconds it may take for one answer",
        "--timeout",
        config="llm.timeout",
        ge=0.1,
        le=86_400,
        mcp_help="seconds per answer",
    ),
]
ProtocolArg = Annotated[
    Literal["json", "regex", "passive"],
    Arg("how it says whether it needs more", "--protocol", metavar="NAME", mcp_help=""),
]
SystemPrompt = Annotated[
    str | None,
    Arg("your own words, before the context; or a file that holds them", "--system-prompt", metavar="TEXT|FILE",
        mcp=False),
]  # fmt: skip
MaxCalls = Annotated[int, Arg("ask it at most so often", "--max-calls", ge=1, le=1000, mcp_help="")]
Threshold = Annotated[
    float,
    Arg(
        "answers at least this alike are the same",
        "--threshold",
        ge=0,
        le=1,
        mcp_help="likeness that counts as the same",
    ),
]
QueryThreshold = Annotated[
    float, Arg("a query at least this alike to the last is the same", "--query-threshold", ge=0, le=1, mcp_help="")
]
StableSteps = Annotated[
    int, Arg("so many answers in a row that stay the same end it", "--stable-steps", ge=1, le=1000, mcp_help="")
]
Stream = Annotated[bool, Arg("print the last answer while it is being made", "--stream", mcp=False)]


def command_of(ctx: Context, llm: str | None, mode: str, timeout: float) -> "ModelCommand":
    """The model command: the flag, else MEMCTL_LLM, else `llm.command` of a file named with --config.

    A config.json that was merely found beside the store may come with a folder somebody else made: it must not make us
    run a program, and stderr says that it does not. Raises ModelUnnamed, ModelUnusable and ModelMissing.
    """
    from memctl.llm.command import ModelCommand

    named = llm if llm is not None else ctx.env("MEMCTL_LLM")
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
    return ModelCommand.parse(named, mode, timeout)


def refuse_both(ctx: Context, command: str, *, stream: bool) -> None:
    """Raise UsageError when --stream and --json were given."""
    if stream and ctx.json:
        raise errors.UsageError("--stream prints the answer as it comes, --json when it is whole", command=command)


def system_prompt(ctx: Context, given: str | None, label: str) -> str:
    """The words of --system-prompt, or of the file that it names. Raises FileMissing."""
    if not given:
        return ""
    path = ctx.absolute(given) if "\n" not in given and "\0" not in given else ""
    if not path or not os.path.exists(path):
        if path and " " not in given and ("/" in given or given.endswith((".txt", ".md"))):
            ctx.warn(f"[{label}] --system-prompt: there is no file {given}, so these are the words themselves")
        return given
    try:
        with open(path, "rb") as file:
            return file.read().decode("utf-8-sig", "replace")
    except OSError as exc:
        raise errors.FileMissing(path=given, reason=exc.strerror) from exc


class Model:
    """A model that is asked by calling it; counts what that costs.

    Under -v what it says on stderr is passed on, line by line. `label` begins what is said about it.
    """

    def __init__(self, ctx: Context, command: "ModelCommand", label: str) -> None:
        from memctl.llm.command import Spend

        self.ctx, self.command, self.label = ctx, command, label
        self.spend = Spend()

    def __call__(self, prompt: str, on_text: "Callable[[str], None] | None" = None) -> "ModelAnswer":
        """Its answer. Raises ModelFailed, ModelTimeout, ModelMissing and ModelUnusable."""
        from memctl.llm.command import LIMIT, run

        heard = self.ctx.warn if self.ctx.verbose else None
        answer = run(self.command, prompt, on_text=on_text, stderr=heard, spend=self.spend)
        if answer.truncated:
            self.ctx.warn(f"[{self.label}] the answer was cut after {LIMIT >> 20} MB, and the command stopped")
        return answer

    def tell(self) -> None:
        """Say on stderr what was spent, if anything was."""
        if self.spend.calls:
            self.ctx.note(f"[{self.label}] spent {self.spend.line()}")


def tell_oddities(ctx: Context, label: str, result: "LoopResult") -> None:
    """Say what is wrong with an answer that was taken as it is."""
    if result.stop_reason == "unparsable":  # only --protocol json has such answers
        ctx.warn(
            f"[{label}] The answer has no JSON object with need_more and stop, as --protocol json asks for; "
            "it is taken as it is (--protocol passive asks for none)."
        )
    if not result.answer:
        ctx.warn(f"[{label}] The model gave no answer.")


def tell_end(ctx: Context, label: str, result: "LoopResult") -> None:
    """Say how a loop ended, after what was wrong with it."""
    tell_oddities(ctx, label, result)
    ctx.note(f"[{label}] {result.iterations} iteration(s), stop={result.stop_reason}, converged={result.converged}")


@contextmanager
def streaming(ctx: Context, *, wanted: bool) -> "Iterator[Callable[[str], None] | None]":
    """What takes the pieces of an answer, None when they are not wanted; a line that breaks off is ended."""
    emit = ctx.emit
    if not wanted or emit is None:
        yield None
        return
    begun = False

    def out(piece: str) -> None:
        nonlocal begun
        begun = True
        emit(piece)

    try:
        yield out
    except (errors.MemctlError, KeyboardInterrupt):
        if begun:
            emit("\n")
        raise


def least_coverage(ctx: Context) -> float:
    """What config.json says of `recall.min_coverage`, for commands that have no flag for it."""
    return float(ctx.config.value(_LEAST)) if ctx.is_configured(_LEAST) else 0.0
