"""What a project makes of the rules: its own ones, those it silences, and what it lets pass.

All of that stands in config.json, which is the project's own: a row of `policy.allow` holds for any rule, wherever
policy is asked for a file (`MemoryPolicy.for_path`). Besides, a mark `memctl:allow RULE[,RULE] -- REASON` may stand in
a document, on the line of the finding. It comes with the document, whoever wrote that, so it answers to `memctl scan`
for any rule, but lets into the store only what could harm its own author: weak signs of a secret, and personal data.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from memctl import errors
from memctl.names import FindingKind, PolicyAction
from memctl.policy.rule import Hit, Rule, lazy_regex, parse_regex

if TYPE_CHECKING:
    from memctl.policy.engine import Engine

#: What each row of `policy.rules` and `policy.allow` must say, and what the first may say besides.
RULE_KEYS = ("id", "kind", "keywords", "pattern")
MORE_KEYS = ("action", "example", "counterexample")
ALLOW_KEYS = ("rule", "path", "reason")
KINDS: tuple[FindingKind, ...] = get_args(FindingKind)
_ID = lazy_regex(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_KEYWORD = lazy_regex(r"[a-z0-9]*[a-z][a-z0-9]*\*?")
_REACH = 400  # characters around a keyword in which a project's pattern may match
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
_CHARACTERS = ("LITERAL", "NOT_LITERAL", "IN", "ANY", "CATEGORY")
#: What every mark begins with; a text without it needs no further look.
MARK = "memctl:allow"
_MARK = lazy_regex(MARK + r"[ \t]+([a-z0-9-]+(?:[ \t]*,[ \t]*[a-z0-9-]+)*)[ \t]+--[ \t]+([^\r\n]*)")


class Allowed(NamedTuple):
    """One row: the rule (its id, or a kind) that is let pass in files whose path fits, and why.

    A path pattern may begin at any folder; its `*` stands for anything, slashes too.
    """

    rule: str
    path: str
    reason: str

    def covers(self, path: str, rule: str, kind: str) -> bool:
        """Whether this row lets a finding pass."""
        if self.rule not in (rule, kind):
            return False
        return fnmatchcase(path, self.path) or fnmatchcase(path, f"*/{self.path}")


class Project(NamedTuple):
    """A project's part in policy."""

    silenced: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    allowed: tuple[Allowed, ...] = ()

    def in_force(self) -> tuple[Rule, ...]:
        """The built-in rules that are not silenced, then the project's own."""
        from memctl.policy.engine import RULES

        return tuple(rule for rule in (*RULES, *self.rules) if rule.id not in self.silenced)

    def reason(self, path: str, rule: str, kind: str) -> str:
        """Why a finding in this file is let pass; "" when it is not."""
        return next((row.reason for row in self.allowed if row.covers(path, rule, kind)), "")


def project_of(config: Any) -> Project | None:
    """The project's part in a policy section; None where it has none. Raises SettingInvalid.

    config: a `PolicyConfig`, or any object with some of its attributes.
    """
    silenced = getattr(config, "silenced_rules", None) or ()
    rows = getattr(config, "rules", None) or ()
    allowed = getattr(config, "allow", None) or ()
    if not (silenced or rows or allowed):
        return None
    from memctl.policy.engine import RULES

    for number, row in enumerate(rows):
        _check_row(f"policy.rules[{number}]", row, RULE_KEYS, MORE_KEYS)
    for number, row in enumerate(allowed):
        _check_row(f"policy.allow[{number}]", row, ALLOW_KEYS)
    own = tuple(_rule(number, row) for number, row in enumerate(rows))
    known = {rule.id for rule in RULES}
    for number, rule in enumerate(own):
        if rule.id in known:
            raise _wrong(f"policy.rules[{number}].id", f"there is a rule {rule.id!r} already")
        known.add(rule.id)
    for name in silenced:
        _known(name, known, "policy.silenced_rules")
    for number, row in enumerate(allowed):
        _known(str(row["rule"]), {*known, *KINDS}, f"policy.allow[{number}].rule")
    passes = tuple(Allowed(str(row["rule"]), str(row["path"]), str(row["reason"])) for row in allowed)
    return Project(tuple(sorted(set(silenced))), own, passes)


def _check_row(where: str, row: Any, keys: Sequence[str], more: Sequence[str] = ()) -> None:
    """Refuse a row that is no object of text with these keys."""
    if not isinstance(row, Mapping):
        raise _wrong(where, "expected an object")
    for key, value in row.items():
        if key not in (*keys, *more):
            raise _wrong(where, f"unknown key {key!r}{_guess(str(key), (*keys, *more))}")
        if not isinstance(value, str):
            raise _wrong(f"{where}.{key}", "expected text")
    lacking = next((key for key in keys if not row.get(key, "").strip()), "")
    if lacking:
        raise _wrong(where, f"{lacking} is missing")


def _guess(name: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    guess = get_close_matches(name, sorted(known), 1)
    return f"; did you mean {guess[0]!r}?" if guess else ""


def _known(name: str, known: set[str], where: str) -> None:
    if name not in known:
        raise _wrong(where, f"there is no rule {name!r}{_guess(name, known)}")


def _rule(number: int, row: Mapping[str, str]) -> Rule:
    """The rule that a row describes. Its pattern is tried near its keywords, and is sure (severity 3)."""
    where = f"policy.rules[{number}]"
    if not _ID.fullmatch(row["id"]) or row["id"] in KINDS:
        raise _wrong(f"{where}.id", "expected words of a-z and 0-9 joined by dashes, such as acme-key")
    kind = next((kind for kind in KINDS if kind == row["kind"]), None)
    if kind is None:
        raise _wrong(f"{where}.kind", f"expected one of {', '.join(KINDS)}")
    words = row["keywords"].split()
    odd = next((word for word in words if not _KEYWORD.fullmatch(word)), None)
    if odd is not None:
        raise _wrong(f"{where}.keywords", f"{odd!r} is no run of a-z and 0-9 with a letter in it (acme* begins so)")
    # Secrets are refused and personal data held back, always; the rest as the row says.
    usual: PolicyAction = "reject" if kind == "secret" else "quarantine"
    action: PolicyAction = "reject" if row.get("action") == "reject" else usual
    if row.get("action") not in (None, "", usual) and (row["action"] != "reject" or kind == "pii"):
        raise _wrong(f"{where}.action", f"expected {usual}" + (" or reject" if kind not in ("secret", "pii") else ""))
    _check_pattern(f"{where}.pattern", row["pattern"], folded=kind not in ("secret", "pii"))
    pattern = row["pattern"] if kind in ("secret", "pii") else f"(?i:{row['pattern']})"
    return Rule(
        row["id"], kind, action, 3, " ".join(words), pattern, "",
        row.get("example", ""), row.get("counterexample", ""), reach=_REACH,
    )  # fmt: skip


def _check_pattern(where: str, pattern: str, *, folded: bool) -> None:
    """Refuse what is no pattern, and what could take forever on a hostile text."""
    try:
        if re.compile(pattern, re.MULTILINE).fullmatch(""):
            raise _wrong(where, "it matches nothing at all")
        parsed = parse_regex(pattern)
    except (re.error, RecursionError, OverflowError) as exc:
        raise _wrong(where, f"it is no regular expression: {exc}") from exc
    if any(name == "GROUPREF" for name, _ in _parts(parsed)):
        raise _wrong(where, "it refers back to a group, which can take forever")
    repeated = [value[2] for name, value in _parts(parsed) if name in _REPEATS and value[1] > 1]
    if any(len(body) > 1 or str(body[0][0]) not in _CHARACTERS for body in repeated):
        raise _wrong(where, "it repeats a group, which can take forever; repeat single characters: [a-z0-9]{20,60}")
    try:  # a match can begin anywhere
        _walk(parsed, [_Repeat(_ALPHABET, _OPEN)], folded or bool(parsed.state.flags & re.IGNORECASE))
    except _TooMany:
        raise _wrong(
            where,
            "it repeats the same characters several times in a row, which can take forever on a hostile text; "
            "bound the repeats ({0,40}), or put between them what none of them matches",
        ) from None


def _parts(parsed: Any) -> Iterator[tuple[str, Any]]:
    """All nodes of a parsed expression."""
    for op, value in parsed:
        yield str(op), value
        stack = [value]
        while stack:
            one = stack.pop()
            if hasattr(one, "getwidth"):
                yield from _parts(one)
            elif isinstance(one, tuple | list):
                stack += one


def _wrong(where: str, message: str) -> errors.SettingInvalid:
    return errors.SettingInvalid(origin="config.json", message=f"{where}: {message}")


@lru_cache(maxsize=8)
def engine_of(project: Project, *, document: bool) -> Engine:
    """The engine over the rules that are in force in a project."""
    from memctl.policy.engine import Engine, built_in_engine

    if not (project.silenced or project.rules):
        return built_in_engine(document=document)
    return Engine(project.in_force(), document=document)


# --- marks in documents -------------------------------------------------------------------------------------------


def marks(line: str) -> dict[str, str]:
    """The rules that a line lets pass, and why; a mark without a reason lets nothing pass."""
    found: dict[str, str] = {}
    for rules, reason in _MARK.findall(line):
        why = reason.strip().removesuffix("-->").removesuffix("*/").strip()
        if any(c.isalnum() for c in why):
            found |= dict.fromkeys((rule.strip() for rule in rules.split(",")), why)
    return found


class _MarkedLine(NamedTuple):
    """A line with marks: where it begins and ends, and the rules that it lets pass, with the reasons."""

    start: int
    end: int
    rules: dict[str, str]


@lru_cache(maxsize=1)
def _marked_lines(text: str) -> tuple[_MarkedLine, ...]:
    """The lines of a text that carry marks, in order; each is read once, however much is found on it."""
    lines: list[_MarkedLine] = []
    at = text.find(MARK)
    while at >= 0:
        start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
        end = len(text) if end < 0 else end
        lines.append(_MarkedLine(start, end, marks(text[start:end])))
        at = text.find(MARK, end)
    return tuple(lines)


def mark_reason(text: str, at: int, rule: str) -> str:
    """Why a mark on the line of a finding lets it pass; "" when none does."""
    if MARK not in text:
        return ""
    lines = _marked_lines(text)
    nth = bisect_right(lines, at, key=lambda line: line.start) - 1
    return lines[nth].rules.get(rule, "") if nth >= 0 and at <= lines[nth].end else ""


def unmarked(text: str, hits: Iterable[Hit]) -> list[Hit]:
    """The hits of a document that is to be stored without those that a mark lets pass; none of a sure secret."""
    return [
        hit
        for hit in hits
        if hit.rule.kind not in ("pii", "secret")
        or (hit.rule.kind == "secret" and hit.rule.severity == 3)
        or not mark_reason(text, hit.start, hit.rule.id)
    ]


# --- what an expression of a project's own may cost ----------------------------------------------------------------
#
# Repeats that can match the same characters, one after the other, are tried in all ways to share them out: `x*x*x*y`
# takes the cube of a run of x, and at each x the search begins anew. What stands between two repeats and is none of one
# of them leaves only one way; other characters between them leave fewer. The cost of a repeat is the product of the
# ways of all before it.

#: The ways that an open repeat counts as: about the characters in which an expression is tried at a time.
_OPEN = 1000
#: The most ways in all, some tenths of a second for such a text. Where a match may begin counts, too.
_MOST = 100_000_000
#: The most characters of a repeat that count as standing behind what is before it.
_LITERAL = 8
#: The ways through an expression that are told apart.
_WAYS = 64
#: Characters of all sorts stand for those that are not ASCII: letters with and without case, digits, spaces, signs.
_ALPHABET = frozenset(map(chr, range(128))) | frozenset("éßſΩя中٣\u2028\u00a0€\u0301\U0001f600\u212a")


class _Way(NamedTuple):
    """What stands between a repeat and the next one on one way through the expression: characters, and how many."""

    between: frozenset[frozenset[str]] = frozenset()
    chars: int = 0


class _Repeat(NamedTuple):
    """What one character of a repeat may be, in how many ways it can end, and what may stand behind it so far."""

    letters: frozenset[str]
    ends: int
    ways: tuple[_Way, ...] = (_Way(),)

    def ends_before(self, letters: frozenset[str]) -> int:
        """In how many ways this one can end before a repeat of these characters."""
        if not self.letters & letters:
            return 1
        return max(
            1
            if any(not one & self.letters or not one & letters for one in way.between)
            else max(1, self.ends // max(1, way.chars))
            for way in self.ways
        )

    def followed(self, letters: frozenset[str]) -> _Repeat:
        """The same with a character of these behind it."""
        return self._replace(ways=tuple(_Way(way.between | {letters}, way.chars + 1) for way in self.ways))


class _TooMany(Exception):
    """There are more ways than are allowed."""


def _walk(nodes: Iterable[Any], before: list[_Repeat], folded: bool) -> list[_Repeat]:
    """The repeats before a sequence of nodes and those in it, as they stand behind it."""
    for op, value in nodes:
        name = str(op)
        letters = _letters_of(name, value, folded)
        if letters is not None:
            before = [one.followed(letters) for one in before]
        elif name in _REPEATS:
            before = _repeat(value, before, folded)
        elif name in ("SUBPATTERN", "ATOMIC_GROUP"):
            before = _walk(value[3] if name == "SUBPATTERN" else value, before, folded)
        else:
            # The sequences in a node of which a match need not have all.
            parts = [value[1]] if name in ("ASSERT", "ASSERT_NOT") else []
            if name == "BRANCH":
                parts = list(value[1])
            elif name == "GROUPREF_EXISTS":
                parts = [part for part in value[1:] if part]
            before = _one_of(parts, before, folded, must=name == "BRANCH")
    return before


def _repeat(value: Any, before: list[_Repeat], folded: bool) -> list[_Repeat]:
    least, most, body = int(value[0]), int(value[1]), value[2]
    letters = _letters_of(str(body[0][0]), body[0][1], folded) if len(body) == 1 else None
    if letters is None:  # a group, which occurs once at most
        return _walk(body, before, folded) if least else _one_of([body], before, folded, must=False)
    ends = min(most - least + 1, _OPEN)
    total = ends
    for one in before:
        total *= one.ends_before(letters)
    if total > _MOST:
        raise _TooMany
    for _ in range(min(least, _LITERAL)):
        before = [one.followed(letters) for one in before]
    return [*before, _Repeat(letters, ends)] if ends > 1 else before


def _one_of(parts: Iterable[Any], before: list[_Repeat], folded: bool, *, must: bool) -> list[_Repeat]:
    """The repeats after one of several sequences, or (`must` is False) perhaps after none of them."""
    after = [_walk(part, before, folded) for part in parts]
    if not must:
        after.append(before)
    out = []
    for place, one in enumerate(before):
        ways = tuple(dict.fromkeys(way for repeats in after for way in repeats[place].ways))
        if len(ways) > _WAYS:  # one stands for all: what they have in common
            common = frozenset.intersection(*(way.between for way in ways))
            ways = (_Way(common, min(way.chars for way in ways)),)
        out.append(one._replace(ways=ways))
    return [*out, *(one for repeats in after for one in repeats[len(before) :])]


def _letters_of(name: str, value: Any, folded: bool) -> frozenset[str] | None:
    """The characters (of a sample of all) that a node of one character matches; None for a node of another sort."""
    if name == "ANY":
        return _ALPHABET
    if name in ("LITERAL", "NOT_LITERAL"):
        found = _cases({chr(value)}, folded)
        return _ALPHABET - found if name == "NOT_LITERAL" else found
    if name == "IN":
        return _of_set(tuple((str(op), str(one) if str(op) == "CATEGORY" else one) for op, one in value), folded)
    return None


@lru_cache(maxsize=256)
def _of_set(items: tuple[tuple[str, Any], ...], folded: bool) -> frozenset[str]:
    found: set[str] = set()
    for name, value in items:
        if name == "LITERAL":
            found.add(chr(value))
        elif name == "RANGE":
            found |= {c for c in _ALPHABET if value[0] <= ord(c) <= value[1]}
        elif name == "CATEGORY":
            word = value.rpartition("_")[2]
            members = frozenset(filter(_CATEGORIES[word], _ALPHABET)) if word in _CATEGORIES else _ALPHABET
            found |= _ALPHABET - members if "_NOT_" in value else members
    letters = _cases(found, folded)
    return _ALPHABET - letters if items and items[0][0] == "NEGATE" else letters


_CATEGORIES: dict[str, Callable[[str], bool]] = {
    "DIGIT": str.isdigit,
    "SPACE": str.isspace,
    "WORD": lambda c: c.isalnum() or c == "_",
}


def _cases(letters: Iterable[str], folded: bool) -> frozenset[str]:
    found = frozenset(letters)
    return found | {c for c in _ALPHABET | found if c.lower() in found or c.upper() in found} if folded else found
