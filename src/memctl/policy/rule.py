"""A rule as a row, and regular expressions that are compiled when they are first used."""

from __future__ import annotations

import re
import sys
from importlib import import_module

from memctl.annotations import TYPE_CHECKING, Any, NamedTuple
from memctl.names import FindingKind, PolicyAction

if TYPE_CHECKING:
    from typing import AnyStr

_SIGNS = (
    "#@ #num #value #long #hidden #cjk #rot13 #reversed #leet #tag #tilde #num9 #num12 #short #blob #n324 #n334 #n63 "
    "#n67 #n8a #folding #brief"
)
#: The bit of each sign that the prefilter sees in a text. Below is said what those stand for that open rules; the
#: others tell how a text is disguised.
SIGNS = {name: 1 << number for number, name in enumerate(_SIGNS.split())}


class Rule(NamedTuple):
    r"""One row of policy.

    id              kebab-case name, stable: allow-lists and `[REDACTED:id]` use it
    kind            secret, injection, instructional or pii
    action          on the interactive paths: reject or quarantine (documents redact or quarantine instead)
    severity        1 (weak cue) to 3 (sure; of personal data: worth blotting out of documents)
    keywords        what the prefilter looks for: groups separated by " + ", of each of which one must occur; a group is
                    alternatives separated by blanks. A keyword is a lower-case run of letters and digits between other
                    characters. `abc*` is a run that begins so, `*abc*` one that contains it, and `/re/` one of 4 or
                    more with letters and digits that has this shape. A group may be a sign instead: `#@`, `#num` (a
                    number of 7 digits or more; `#num9` and `#num12` of so many; `#n324` one whose digits stand in
                    groups of 3, 2 and 4, and so `#n334`, `#n63`, `#n67`; `#n8a` one before a hyphen and a letter),
                    `#value` (any run of 8 or more with letters and digits), `#long` (one of 20), `#hidden` (invisible
                    characters), `#tag` (markup that models use), `#tilde`, `#cjk`, `#short` (the whole text has at most
                    120 characters), `#brief` (it has at most 700, and no block of code). Beside words, signs may stand
                    in all groups but the first
    pattern         regular expression, tried around the first group's keywords only. Secrets and PII match the text as
                    it is, injection and instructional rules its lower-case form. The last group to close, if any, is
                    the span that counts
    check           name of the function in `checks_*` that has the last word, or ""
    example         a text the rule must catch
    counterexample  a text it must not
    reach           how far a match may extend from the keyword, or from a number's end, in characters; above 250 also
                    before it
    before          how far before the keyword a match may begin, in characters; 0: it begins inside the keyword's word,
                    and the quickest to try if it begins with `\b`, at the keyword itself
    cue             "", or lower-case strings separated by blanks of which every match, in lower case, contains one:
                    where none occurs in the text, the pattern is neither compiled nor tried
    clause          "", or instead of a pattern the concepts that make a clause an order (see `clauses`)
    common          words that a clause may have instead of one of its other groups: they are in any text, so that the
                    prefilter does not ask for them
    statement       counts in statements only: documents may say so
    assigned        the keyword ends a name that is given a value: tried only where an operator, a comma or a quote
                    follows the name
    """

    id: str
    kind: FindingKind
    action: PolicyAction
    severity: int
    keywords: str
    pattern: str
    check: str
    example: str
    counterexample: str
    reach: int = 200
    cue: str = ""
    before: int = 80
    assigned: bool = False
    clause: str = ""
    statement: bool = False
    common: str = ""


class Hit(NamedTuple):
    """A rule that matched, where in the text as it was given, and what that asks for on the interactive paths."""

    start: int
    end: int
    rule: Rule
    action: PolicyAction

    @property
    def is_blotted(self) -> bool:
        """Whether it is replaced in documents: secrets and high-risk personal numbers."""
        return self.rule.kind == "secret" or (self.rule.kind == "pii" and self.rule.severity == 3)


class _LazyRegex:
    """An expression whose methods appear when they are first asked for."""

    given: tuple[Any, int]

    def __reduce__(self) -> Any:
        """A copy, or what goes to another process, is made of the expression: without it `__getattr__` has no end."""
        return lazy_regex, self.given

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(*self.given), name)
        setattr(self, name, found)
        return found


def lazy_regex(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """The same as `re.compile`, but nothing is compiled before the first use: a short text needs few of all."""
    lazy: Any = _LazyRegex()
    lazy.given = pattern, flags
    return lazy  # type: ignore[no-any-return]


def parse_regex(pattern: str) -> Any:
    """An expression as the nodes that the standard library's parser makes of it."""
    return import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse").parse(pattern)
