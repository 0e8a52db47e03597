"""What a project makes of the rules: its own ones, those it silences, and what it lets pass, all from config.json."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from memctl.errors import SettingInvalid
from memctl.names import FindingKind, PolicyAction
from memctl.policy.allow import Allowed
from memctl.policy.rule import Rule

if TYPE_CHECKING:
    from memctl.policy.engine import Engine

#: What each row of `policy.rules` and `policy.allow` must say, and what the first may say besides.
RULE_KEYS = ("id", "kind", "keywords", "pattern")
MORE_KEYS = ("action", "example", "counterexample")
ALLOW_KEYS = ("rule", "path", "reason")
KINDS: tuple[FindingKind, ...] = get_args(FindingKind)
_ID = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_KEYWORD = re.compile(r"[a-z0-9]*[a-z][a-z0-9]*\*?")
_REACH = 400  # characters around a keyword in which a project's pattern may match
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
_CHARACTERS = ("LITERAL", "NOT_LITERAL", "IN", "ANY", "CATEGORY")


class Project(NamedTuple):
    """A project's part in policy."""

    silenced: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    allowed: tuple[Allowed, ...] = ()

    def engine(self, *, document: bool) -> Engine:
        """The engine over the rules that are in force here."""
        return _engine(self.silenced, self.rules, document)

    def in_force(self) -> tuple[Rule, ...]:
        """The built-in rules that are not silenced, then the project's own."""
        return _in_force(self.silenced, self.rules)

    def reason(self, path: str, rule: str, kind: str) -> str:
        """Why a finding in this file is let pass; "" when it is not."""
        return next((row.reason for row in self.allowed if row.covers(path, rule, kind)), "")

    def word(self) -> str:
        """A word that changes when this project's part does."""
        from zlib import crc32

        return f"{crc32(repr(tuple(self)).encode('utf-8', 'surrogatepass')):08x}"


def project(config: Any) -> Project | None:
    """The project's part in a policy section; None where it has none. Raises SettingInvalid.

    config: a `PolicyConfig`, or any object with some of its attributes.
    """
    silenced = getattr(config, "silenced_rules", None) or ()
    rows = getattr(config, "rules", None) or ()
    allowed = getattr(config, "allow", None) or ()
    if not (silenced or rows or allowed):
        return None
    from memctl.policy.rules import RULES

    for number, row in enumerate(rows):
        _check_row(f"policy.rules[{number}]", row, RULE_KEYS, MORE_KEYS)
    for number, row in enumerate(allowed):
        _check_row(f"policy.allow[{number}]", row, ALLOW_KEYS)
    builtin = {rule.id for rule in RULES}
    own = tuple(_rule(number, row) for number, row in enumerate(rows))
    _refuse_doubles(own, builtin)
    known = builtin | {rule.id for rule in own}
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


def _refuse_doubles(own: Sequence[Rule], taken: set[str]) -> None:
    seen = set(taken)
    for number, rule in enumerate(own):
        if rule.id in seen:
            raise _wrong(f"policy.rules[{number}].id", f"there is a rule {rule.id!r} already")
        seen.add(rule.id)


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
    _check_pattern(f"{where}.pattern", row["pattern"], folded=kind not in ("secret", "pii"))
    pattern = row["pattern"] if kind in ("secret", "pii") else f"(?i:{row['pattern']})"
    return Rule(
        row["id"], kind, _action(where, kind, row.get("action", "")), 3, " ".join(words), pattern, "",
        row.get("example", ""), row.get("counterexample", ""), reach=_REACH,
    )  # fmt: skip


def _action(where: str, kind: str, given: str) -> PolicyAction:
    """What the rule asks for: secrets are refused and personal data held back, always; the rest as the row says."""
    usual: PolicyAction = "reject" if kind == "secret" else "quarantine"
    if not given or given == usual:
        return usual
    if given != "reject" or kind == "pii":
        raise _wrong(f"{where}.action", f"expected {usual}" + (" or reject" if kind not in ("secret", "pii") else ""))
    return "reject"


def _check_pattern(where: str, pattern: str, *, folded: bool) -> None:
    """Refuse what is no pattern, and what could take forever on a hostile text."""
    try:
        if re.compile(pattern, re.MULTILINE).fullmatch(""):
            raise _wrong(where, "it matches nothing at all")
        parsed = import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse").parse(pattern)
    except (re.error, RecursionError, OverflowError) as exc:
        raise _wrong(where, f"it is no regular expression: {exc}") from exc
    if any(name == "GROUPREF" for name, _ in _parts(parsed)):
        raise _wrong(where, "it refers back to a group, which can take forever")
    if any(name in _REPEATS and value[1] > 1 and not _single(value[2]) for name, value in _parts(parsed)):
        raise _wrong(where, "it repeats a group, which can take forever; repeat single characters: [a-z0-9]{20,60}")
    from memctl.policy.pattern_cost import is_cheap

    if not is_cheap(parsed, folded=folded or bool(parsed.state.flags & re.IGNORECASE)):
        raise _wrong(
            where,
            "it repeats the same characters several times in a row, which can take forever on a hostile text; "
            "bound the repeats ({0,40}), or put between them what none of them matches",
        )


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


def _single(body: Any) -> bool:
    """Whether a repetition's body is one character of some kind."""
    return len(body) == 1 and str(body[0][0]) in _CHARACTERS


def _wrong(where: str, message: str) -> SettingInvalid:
    return SettingInvalid(origin="config.json", message=f"{where}: {message}")


@lru_cache(maxsize=8)
def _in_force(silenced: tuple[str, ...], own: tuple[Rule, ...]) -> tuple[Rule, ...]:
    from memctl.policy.rules import RULES

    return tuple(rule for rule in (*RULES, *own) if rule.id not in silenced)


@lru_cache(maxsize=8)
def _engine(silenced: tuple[str, ...], own: tuple[Rule, ...], document: bool) -> Engine:
    from memctl.policy.engine import Engine, default_engine, document_engine, for_documents

    if not (silenced or own):
        return document_engine() if document else default_engine()
    rules = _in_force(silenced, own)
    return Engine(for_documents(rules) if document else rules)
