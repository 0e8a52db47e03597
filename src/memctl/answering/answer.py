"""What loop, ask and chat share: the options of a model, asking it, answers from the store, and what these cite."""

import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from memctl import errors
from memctl.annotations import Annotated, Literal
from memctl.context import Context
from memctl.extract import is_ingestable, suffix_of
from memctl.llm.command import LIMIT, ModelAnswer, ModelCommand, Spend, run
from memctl.llm.controller import LoopPlan, LoopResult, LoopTrace, Recall, run_loop
from memctl.llm.working import RecalledPassages
from memctl.operation import Arg, Group
from memctl.parameters import ReadRequest
from memctl.reading.block import choose_passages, deliver
from memctl.reading.request import Retriever
from memctl.text.block import packing
from memctl.text.block.excerpt import stems
from memctl.text.block.frames import Compact, place_within
from memctl.text.block.markers import FOOTER, HEADER
from memctl.text.block.packing import Block, BlockEntry
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


# --- citations in an answer -------------------------------------------------------------------------------------------
#
# A place is what the line above a passage says: `[a3185e] docs/api.md:12-40 > Errors` (in blocks of version 1 the
# second line of its frame: `[path:docs/api.md chunk:3 lines:12-40]`, `at:page 3`). An answer cites it as
# `[docs/api.md:14]`, `[docs/api.md:12-20]`, `[report.pdf:page 3]` or, where a passage has neither,
# `[notes.docx:chunk 2]`. Bare `docs/api.md:14` and `docs/api.md#L14` are citations too.


#: What an answer is asked for with --cite.
REQUEST = """\
Right after each statement, cite the place that it is from: the path and the lines, as the line above the passage \
gives them, in square brackets: `[docs/api.md:14]` or `[docs/api.md:12-20]`; `[report.pdf:page 3]` or \
`[notes.docx:chunk 2]` where it names no lines. Cite nothing that is not in the context. If the context does not \
answer the question, say so."""

_FRAME = re.compile(
    r"^ {4}\[path:(?P<path>.+) chunk:(?P<first>\d+)(?:-(?P<last>\d+))?"
    r"(?: lines:(?P<start>\d+)-(?P<end>\d+)| at:(?P<at>.+))?\]$",
    re.MULTILINE,
)

#: The same in a block of version 2, where no line of a text begins like this; one that begins with a day is of no
#: document.
_LINE = re.compile(
    r"^\[[^\]\s]+\] (?!\d{4}-\d\d-\d\d(?:[ ;]|$))(?P<path>\"(?:[^\"\\\n]|\\.)*\"|[^:;>\"\n]+):"
    r"(?:(?P<lines>\d+(?:-\d+)?(?:, \d+(?:-\d+)?)*)"
    r"|chunk (?P<first>\d+)(?:-(?P<last>\d+))?|(?P<at>[A-Za-z][^;>\n]*?))(?: > .*|; .*)?$",
    re.MULTILINE,
)
_COMPACT = re.compile(
    rf"^{re.escape(HEADER)}\nformat_version: 2\b.*\n(?P<inside>(?:.*\n)*?){re.escape(FOOTER)}", re.MULTILINE
)

#: The chunk of a passage whose line does not name it.
_NO_CHUNK = -1


class ContextPlace(NamedTuple):
    """Where a passage of the context stands: lines (1-based, inclusive), or an anchor such as "page 3", or neither."""

    path: str
    chunks: tuple[int, int]
    lines: tuple[int, int] | None = None
    anchor: str = ""

    def __str__(self) -> str:
        if self.lines:
            return f"{self.path}:{self.lines[0]}-{self.lines[1]}"
        first, last = self.chunks
        return f"{self.path}:{self.anchor or (f'chunk {first}' if first == last else f'chunk {first}-{last}')}"


class Citation(NamedTuple):
    """A place that an answer names, and whether it was in its context."""

    source: str
    known: bool


def context_places(context: str) -> list[ContextPlace]:
    """The places of the passages in a context, in its order, each once."""
    found: dict[ContextPlace, None] = {}
    for match in _FRAME.finditer(context):
        chunks = int(match["first"]), int(match["last"] or match["first"])
        span = (int(match["start"]), int(match["end"])) if match["start"] else None
        found[ContextPlace(match["path"], chunks, span, match["at"] or "")] = None
    for block in _COMPACT.finditer(context):
        for match in _LINE.finditer(block["inside"]):
            path = json.loads(match["path"]) if match["path"].startswith('"') else match["path"]
            first = int(match["first"] or _NO_CHUNK)
            for part in (match["lines"] or "").split(", "):
                start, _, end = part.partition("-")
                span = (int(start), int(end or start)) if start else None
                place = ContextPlace(path, (first, int(match["last"] or first)), span, match["at"] or "")
                found[place] = None
    return list(found)


def check_citations(answer: str, known: Sequence[ContextPlace], *, below: str = "") -> list[Citation]:
    """The citations of an answer in their order, each once, and whether each was in the context.

    below  a folder's path as the context shows it ("docs/"): its files may be cited relative to it
    """
    sources: dict[str, bool] = {}
    by_path: dict[str, list[ContextPlace]] = {}
    for place in known:
        for name in {place.path, place.path.removeprefix(below)}:
            by_path.setdefault(name, []).append(place)
    for path, where in _cited(re.sub(_FRAMED, _as_citation, answer), by_path):
        held = by_path.get(path) or by_path.get(path.removeprefix("./")) or ()
        sources[f"{path}:{where}" if where else path] = _shows_all(held, where)
    return [Citation(source, there) for source, there in sources.items()]


# --- reading an answer ------------------------------------------------------------------------------------------

_NUMBERS = r"L?\d{1,7}(?:\s?[-\u2013]\s?L?\d{1,7})?"
_LINES = rf"{_NUMBERS}(?:,\s?{_NUMBERS})*"
_SERIES = r"(?:pages?|slides?|cells?|chunks?)\s\d{1,7}(?:\s?[-\u2013]\s?\d{1,7})?"
#: What may follow a path: lines in three spellings, or a place in a series; in brackets, any other place as well.
_WHERE = (
    rf"[`'\"*]{{0,2}}(?::(?:\s?lines?\s)?(?P<lines>{_LINES})(?![\w.]\w)|#(?P<hash>L\d{{1,7}}(?:-L?\d{{1,7}})?)"
    rf"|,?\s\(?(?:lines?\s(?P<words>{_LINES})|(?P<of>{_SERIES}))"
    rf"|:\s?(?P<at>{_SERIES}|[A-Za-z][^\[\]\n]{{0,120}}(?=\])))"
)
#: A path that is not in the context: a word with a suffix or a folder in it, in brackets also one with blanks.
_BARE = r"(?<![\w/.:@~+-])(?P<path>/?(?:[\w.@~+-]+/)*[\w.@+-]+)"
_BRACKETED = r"\[(?:path:)?(?P<path>[^\[\]:\n]{1,300})"
#: The spelling of a passage's frame, in brackets: models copy it.
_FRAMED = (
    r"\[(?:path:)?(?P<path>[^\[\]\n]{1,300}?)(?: chunk:(?P<chunk>\d{1,7}(?:-\d{1,7})?))?"
    r"(?: lines:(?P<lines>\d{1,7}(?:-\d{1,7})?)| at:(?P<at>[^\[\]\n]{1,120}))?\]"
)
#: A document as a whole; what has an address after it is a link.
_WHOLE = _BRACKETED + r"\](?!\()"


def _as_citation(match: re.Match[str]) -> str:
    """A frame's spelling of a place as a citation; other brackets as they are."""
    where = match["lines"] or match["at"] or (match["chunk"] and f"chunk {match['chunk']}")
    return f"[{match['path']}:{where}]" if where else match[0]


def _cited(answer: str, known: Collection[str]) -> Iterator[tuple[str, str]]:
    """(path, place) of what the answer cites, by position; known paths are recognised whatever they look like."""
    names = sorted((name for name in known if name in answer), key=len, reverse=True)
    shapes = [(f"(?P<path>{re.escape(name)}){_WHERE}", _stands_alone) for name in names]
    shapes += [(_BRACKETED + _WHERE, _is_path), (_BARE + _WHERE, _is_path)]
    found: dict[int, tuple[str, str]] = {}
    for shape, is_citation in shapes:
        pieces, end = [], 0
        for match in filter(is_citation, re.finditer(shape, answer)):
            lines = match["lines"] or match["hash"] or match["words"]
            if lines is None:
                where = " ".join((match["at"] or match["of"]).split())
            else:
                where = lines.replace("L", "").replace("\u2013", "-").replace(" ", "")
            found[match.start("path")] = (match["path"].strip(), where)
            # It is blanked out, so that no shorter name is read there again.
            pieces += [answer[end : match.start()], " " * len(match[0])]
            end = match.end()
        answer = "".join([*pieces, answer[end:]])
    for match in re.finditer(_WHOLE, answer):
        path = match["path"].strip("`* ")
        if path in known or (suffix_of(path) and is_ingestable(path)):
            found[match.start("path")] = (path, "")
    for start in sorted(found):
        path, where = found[start]
        for part in where.split(",") if where[:1].isdigit() else [where]:
            yield path, part


def _stands_alone(match: re.Match[str]) -> bool:
    """Whether a known path is not the end of a longer one."""
    before = match.string[max(0, match.start() - 2) : match.start()]
    return before == "./" or not (before[-1:].isalnum() or before[-1:] in {"_", "/", "-"})


def _is_path(match: re.Match[str]) -> bool:
    """Whether what stands before a number names a file: not a host and its port, a time, a verse."""
    path, before = match["path"].strip(), match.string[max(0, match.start("path") - 12) : match.start("path")]
    if "://" in before + path or path.startswith("//"):
        return False
    suffix, bracketed = suffix_of(path), match.string[match.start()] == "["
    if (suffix or bracketed) and is_ingestable(path):  # "TODO: 3" is a heading, "[TODO:3]" a place
        return True
    lines_of_one = bracketed and match["lines"] is not None and any(map(str.isalpha, path))
    return "/" in path and (suffix[1:].isalnum() or lines_of_one)


# --- comparing --------------------------------------------------------------------------------------------------


def _shows_all(held: Sequence[ContextPlace], where: str) -> bool:
    """Whether these passages of one file show this place, all of it; any passage shows the file."""
    if not where:
        return bool(held)
    wanted = _numbers(where)
    if wanted is not None and where[:1].isdigit():
        return _covered(wanted, [p.lines for p in held if p.lines])
    series, numbers = _series(where)
    if series == "chunk" and numbers:
        return _covered(numbers, [p.chunks for p in held])
    for anchor in (p.anchor for p in held if p.anchor):
        theirs, span = _series(anchor)
        if numbers is None and (theirs == series or theirs.startswith(series + " ")):
            return True
        if numbers is not None and theirs == series and span is not None and _covered(numbers, [span]):
            return True
    return False


def _covered(wanted: tuple[int, int], spans: Iterable[tuple[int, int]]) -> bool:
    line = wanted[0]
    for start, end in sorted(spans):
        if start <= line <= end:
            line = end + 1
    return line > wanted[1] >= wanted[0]


def _series(where: str) -> tuple[str, tuple[int, int] | None]:
    """ "slides 2-5" as ("slide", (2, 5)): words without case and plural, and the numbers at the end."""
    words = where.casefold().split()
    numbers = _numbers(words[-1]) if words else None
    if numbers is not None:
        words = words[:-1]
    if words and len(words[-1]) > 2:
        words[-1] = words[-1].removesuffix("s")
    return " ".join(words), numbers


def _numbers(text: str) -> tuple[int, int] | None:
    first, dash, last = text.partition("-")
    if not (first.isascii() and first.isdigit()) or (dash and not (last.isascii() and last.isdigit())):
        return None
    return int(first), int(last or first)


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
