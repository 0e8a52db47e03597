"""Whether an expression of a project's own stays cheap on a hostile text.

Repeats that can match the same characters, one after the other, are tried in all ways to share them out: `x*x*x*y`
takes the cube of a run of x, and at each x the search begins anew. What stands between two repeats and is none of one
of them leaves only one way; other characters between them leave fewer. The cost of a repeat is the product of the ways
of all before it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

#: An open repeat counts as so many ways, about the characters in which an expression is tried at a time.
_OPEN = 1000
#: So many ways may there be in all, some tenths of a second for such a text. Where a match may begin counts, too.
_MOST = 100_000_000
#: So many characters of a repeat that must be there count as standing behind what is before it.
_LITERAL = 8
#: So many ways through an expression are told apart.
_WAYS = 64
#: Characters of all sorts stand for those that are not ASCII: letters with and without case, digits, spaces, signs.
_ALPHABET = frozenset(map(chr, range(128))) | frozenset("éßſΩя中٣\u2028\u00a0€\u0301\U0001f600\u212a")
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")


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
        return max(self._ends_on(way, letters) for way in self.ways)

    def _ends_on(self, way: _Way, letters: frozenset[str]) -> int:
        if any(not one & self.letters or not one & letters for one in way.between):
            return 1
        return max(1, self.ends // max(1, way.chars))

    def followed(self, letters: frozenset[str]) -> _Repeat:
        """The same with a character of these behind it."""
        return self._replace(ways=tuple(_Way(way.between | {letters}, way.chars + 1) for way in self.ways))


class _TooMany(Exception):
    """There are more ways than are allowed."""


def is_cheap(parsed: Any, *, folded: bool) -> bool:
    """Whether a parsed expression has few ways to match; `folded`: case does not count."""
    try:
        _walk(parsed, [_Repeat(_ALPHABET, _OPEN)], folded)  # a match can begin anywhere
    except _TooMany:
        return False
    return True


def _walk(nodes: Iterable[Any], before: list[_Repeat], folded: bool) -> list[_Repeat]:
    """The repeats before a sequence of nodes and those in it, as they stand behind it."""
    for op, value in nodes:
        name = str(op)
        letters = letters_of(name, value, folded)
        if letters is not None:
            before = [one.followed(letters) for one in before]
        elif name in _REPEATS:
            before = _repeat(value, before, folded)
        elif name in ("SUBPATTERN", "ATOMIC_GROUP"):
            before = _walk(value[3] if name == "SUBPATTERN" else value, before, folded)
        else:
            before = _one_of(_inside(name, value), before, folded, must=name == "BRANCH")
    return before


def _repeat(value: Any, before: list[_Repeat], folded: bool) -> list[_Repeat]:
    least, most, body = int(value[0]), int(value[1]), value[2]
    letters = letters_of(str(body[0][0]), body[0][1], folded) if len(body) == 1 else None
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
        out.append(one._replace(ways=_fewer(ways)))
    return [*out, *(one for repeats in after for one in repeats[len(before) :])]


def _fewer(ways: tuple[_Way, ...]) -> tuple[_Way, ...]:
    """These ways, or one that stands for all if they are many: what all of them have in common."""
    if len(ways) <= _WAYS:
        return ways
    return (_Way(frozenset.intersection(*(way.between for way in ways)), min(way.chars for way in ways)),)


def _inside(name: str, value: Any) -> list[Any]:
    """The sequences in a node of which a match need not have all."""
    if name == "BRANCH":
        return list(value[1])
    if name in ("ASSERT", "ASSERT_NOT"):
        return [value[1]]
    return [part for part in value[1:] if part] if name == "GROUPREF_EXISTS" else []


def letters_of(name: str, value: Any, folded: bool) -> frozenset[str] | None:
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
            found |= _category(value)
    letters = _cases(found, folded)
    return _ALPHABET - letters if items and items[0][0] == "NEGATE" else letters


def _category(name: str) -> frozenset[str]:
    word = name.rpartition("_")[2]
    ways = {"DIGIT": str.isdigit, "SPACE": str.isspace, "WORD": lambda c: c.isalnum() or c == "_"}
    found = frozenset(filter(ways[word], _ALPHABET)) if word in ways else _ALPHABET
    return _ALPHABET - found if "_NOT_" in name else found


def _cases(letters: Iterable[str], folded: bool) -> frozenset[str]:
    found = frozenset(letters)
    return found | {c for c in _ALPHABET | found if c.lower() in found or c.upper() in found} if folded else found
