"""Questions with the sources that should answer them: reading a file of them, and judging what a search found."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from memctl.text import jsons
from memctl.text.clean import clean
from memctl.types import MemoryItem

#: What a line may call its question and its sources.
QUESTION_KEYS = ("question", "query", "q", "text")
EXPECTED_KEYS = ("expected", "sources", "source", "relevant", "gold", "answers")
#: And phrases that an answer must have: what a block is measured by.
PHRASE_KEYS = ("answer", "phrase", "phrases")
#: How many of the last names of a path it answers to.
NAMES = 32


class Question(NamedTuple):
    """One line: its number, what is asked, the sources that answer it as they were written, and the scope to ask in.

    `scope` is None where the line names none. `phrases` are what an answer says, any one of them; a line has sources,
    phrases, or both.
    """

    line: int
    text: str
    expected: tuple[str, ...]
    scope: str | None
    phrases: tuple[str, ...] = ()


class QuestionResult(NamedTuple):
    """How a question was answered.

    found    the items that were found, best first
    missing  the expected sources that none of them is from
    rank     the place of the first expected one, from 1; 0 when there is none
    told     whether the block says one of the phrases; None where the line names none
    """

    question: Question
    found: tuple[MemoryItem, ...]
    missing: tuple[str, ...]
    rank: int
    told: bool | None = None


def says_phrase(block: str, phrases: Sequence[str]) -> bool:
    """Whether a block says one of some phrases: case and white space do not count, nor do the marks of a cut."""
    said = " ".join(block.replace("[…]", " ").casefold().split())
    return any(" ".join(phrase.casefold().split()) in said for phrase in phrases)


def read_questions(
    lines: Iterable[tuple[int, bytes | None]], tell: Callable[[str], None]
) -> tuple[list[Question], int]:
    """The questions of a file's numbered lines, and how many lines hold none; `tell` is told what is wrong with each.

    A line is None where it is too long. Blank lines do not count.
    """
    questions: list[Question] = []
    bad = 0
    for number, data in lines:
        try:
            questions.append(_parse_question(number, data))
        except ValueError as exc:
            bad += 1
            tell(f"line {number}: {exc}")
    return questions, bad


def _parse_question(number: int, data: bytes | None) -> Question:
    """Raises ValueError, in words."""
    value = _read_object(data)
    named = next((key for key in QUESTION_KEYS if key in value), None)
    if named is None:
        raise ValueError(f"no question: give {QUESTION_KEYS[0]} (or {', '.join(QUESTION_KEYS[1:])})")
    text = _clean_text(value[named])
    if not isinstance(text, str) or not text:
        raise ValueError(f"the question must be text, not {_name_kind(text)}")
    phrases = _read_texts(value, PHRASE_KEYS, "phrase")
    expected = _read_texts(value, EXPECTED_KEYS, "expected source")
    if not expected and not phrases:
        raise ValueError(f"no expected sources: give {EXPECTED_KEYS[0]} (or {', '.join(EXPECTED_KEYS[1:])})")
    names = {fold_source(one): one for one in expected}
    scope = _clean_text(value.get("scope"))
    if scope is not None and not isinstance(scope, str):
        raise ValueError(f"scope must be text, not {_name_kind(scope)}")
    return Question(number, text, tuple(names.values()), scope, tuple(phrases))


def _read_texts(value: dict[str, object], keys: Sequence[str], what: str) -> list[str]:
    """The texts under the first of some keys that is there. Raises ValueError for anything else."""
    key = next((key for key in keys if key in value), None)
    if key is None:
        return []
    given = value[key]
    found = [_clean_text(one) for one in (given if isinstance(given, list) else [given])]
    if not found:
        raise ValueError(f"the {what}s must be a list of text, not an empty one")
    for one in found:
        if not isinstance(one, str) or not one:
            raise ValueError(f"{'an' if what[0] in 'aeiou' else 'a'} {what} must be text, not {_name_kind(one)}")
    return [one for one in found if isinstance(one, str)]


def _read_object(data: bytes | None) -> dict[str, object]:
    if data is None:
        raise ValueError("it is too long")
    try:
        text = data.decode("utf-8").strip()
    except UnicodeDecodeError as exc:
        raise ValueError(f"byte {exc.start + 1} is not UTF-8") from None
    try:
        value, end = jsons.read(text)
    except ValueError as exc:
        raise ValueError(f"not JSON: {exc}") from None
    if end < len(text):
        raise ValueError("more than one JSON value")
    if not isinstance(value, dict):
        raise ValueError(  # noqa: TRY004 - what is wrong with a line
            f"must be an object, not {jsons.kind_of(value)}"
        )
    return value


def _clean_text(value: object) -> object:
    return clean(value).strip() if isinstance(value, str) else value


def _name_kind(value: object) -> str:
    return "an empty one" if isinstance(value, str | list) and not value else jsons.kind_of(value)


# --- judging ----------------------------------------------------------------------------------------------------


def judge(question: Question, found: Sequence[MemoryItem]) -> QuestionResult:
    """What of a question's sources is among the items found."""
    wanted = {fold_source(one): one for one in question.expected}
    rank = 0
    for place, item in enumerate(found, 1):
        named = wanted.keys() & source_names(item)
        if named and not rank:
            rank = place
        for name in named:
            del wanted[name]
    missing = set(wanted.values())
    return QuestionResult(question, tuple(found), tuple(one for one in question.expected if one in missing), rank)


def find_unknown(names: Iterable[str], store: Iterable[MemoryItem]) -> set[str]:
    """Which of these expected sources name nothing among the items of a store; reads no further than it must."""
    open_: dict[str, list[str]] = {}
    for name in names:
        open_.setdefault(fold_source(name), []).append(name)
    for item in store if open_ else ():
        for name in open_.keys() & source_names(item):
            del open_[name]
        if not open_:
            break
    return {name for spelt in open_.values() for name in spelt}


def fold_source(expected: str) -> str:
    """What an expected source is looked up by: no case, and no `./` before a path."""
    while expected.startswith("./"):
        expected = expected[2:]
    return expected.casefold()


def source_names(item: MemoryItem) -> set[str]:
    """Everything an item answers to: its id, its title, its path or any end of it, with and without `#heading`."""
    title = item.title.casefold()
    path = item.provenance.source_id.casefold()
    names = path.split("/")
    paths = {"/".join(names[at:]) for at in range(max(1, len(names) - NAMES), len(names)) if names[at]}
    paths = {*paths, path} - {""}
    within = (line.lstrip("#").strip() for line in item.content.casefold().splitlines() if line.startswith("#"))
    headings = {title, *title.split(" > "), *within} - {""}  # short sections share a passage with the one before
    return {item.id.casefold(), title, *paths, *(f"{end}#{heading}" for end in paths for heading in headings)}
