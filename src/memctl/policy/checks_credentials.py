"""Last words on credentials that people write down: whether a value can be one. Code, names and words are not."""

from __future__ import annotations

import re
from re import Match

from memctl.policy.checks_secrets import entropy, identifier, is_placeholder, sequential, value_of

_LEAST = 6  # characters of a password
_KEY = 20  # characters of a key of letters and digits that no word says the kind of
#: What stands where a password would and is none: calls, paths, dotted and joined names, addresses, flags, versions,
#: dates, numbers with units, names of schemes.
_CODE = re.compile(
    r"[\w\])]\(|\)[;,]?$|::|->|=>|&&|\|\||\{\{|\$\{|\$\(|://|^[/~.\\-]|^\w+(?:/[\w.-]+)+$|^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$|"
    r"^[a-z][a-z0-9]*(?:[_-][a-z0-9]+)+$|^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$|^\$?[A-Za-z_]\w*\[|^v?\d+(?:\.\d+)+|^\d{4}-\d\d|"
    r"^[\d.,]+[A-Za-z%]{0,3}$|^[A-Za-z]{1,8}-\d{1,3}$|^0x|^\$[A-Za-z_]\w*$|^%\w|^@\w|^<|^&\w+;|[\[\]{}]|^[A-Z][a-z]+(?:[A-Z][a-z]+)+\d?$|"
    r"^[a-z]+(?:[A-Z][a-z]+)+\d?$|^https?|@[\w-]+\.\w|^\w+=|\\n|\\u|^[A-Za-z]+\d?\?$"
)
_WORDS = re.compile(r"^[^\W\d_]+(?:[-'\u2019/&.,:;+][^\W\d_]+)*[.,:;!?)]*$")
_MADE = re.compile(
    r"(?i)(?:encoded|hashed|protected|based|only|encrypted|sensitive|like|style|compatible|bits?|bytes?)\W?$"
)
_EVERYBODY = re.compile(r"(?i)(?:secret|password|passwd|passwort|pass|admin|test|user|root|s3cr3t|string)\d{0,4}[!.]?")

_LEET = str.maketrans("0134@$", "oieaas")


def _kinds(value: str) -> int:
    return sum(any(test(c) for c in value) for test in (str.isdigit, str.islower, str.isupper, _is_mark))


def _is_mark(c: str) -> bool:
    return not c.isalnum()


def _possible(value: str) -> bool:
    """Whether a value can be a password at all."""
    if len(value) < _LEAST or is_placeholder(value) or _CODE.search(value) or not value.isascii():
        return False
    everybody = _EVERYBODY.fullmatch(value) or _EVERYBODY.fullmatch(value.translate(_LEET))
    return not (everybody or sequential(value) or _MADE.search(value))


def credible(match: Match[str]) -> bool:
    """A value that was given to a password's name: letters with digits, or three kinds of characters."""
    value = value_of(match)
    if not _possible(value) or _piped(match):
        return False
    kinds = _kinds(value)
    return kinds >= 3 or (kinds == 2 and any(c.isdigit() for c in value) and any(c.isalpha() for c in value))


def _piped(match: Match[str]) -> bool:
    """Whether what stands between name and value is a pipe of a command or a template, not the border of a cell."""
    text, start = match.string, match.start()
    if "|" not in text[start : match.start(match.lastindex or 0)]:
        return False
    return not text[text.rfind("\n", 0, start) + 1 : start + 1].lstrip().startswith("|")


def credible_prose(match: Match[str]) -> bool:
    """A value that a sentence says: with a digit or a mark inside, and no words."""
    value = value_of(match)
    if not _possible(value) or _WORDS.match(value):
        return False
    return _kinds(value) >= 3 and (any(c.isdigit() for c in value) or entropy(value) >= 3)


def pin(match: Match[str]) -> bool:
    """Four to eight digits, neither a year nor a run."""
    value = value_of(match)
    return len(set(value)) > 1 and value not in "0123456789" and not re.fullmatch(r"(?:19|20)\d\d", value)


def _said(match: Match[str]) -> str:
    """The words before a value: those that the match begins with, and a few more."""
    return match.string[max(0, match.start() - 24) : match.start(match.lastindex or 0)]


def credible_key(match: Match[str]) -> bool:
    """A run of letters and digits beside a word for keys: random, and neither an identifier nor a path."""
    value = value_of(match)
    digits = sum(c.isdigit() for c in value)
    if _NO_KEY.search(match.string, max(0, match.start() - 20), match.start(match.lastindex or 0)):
        return False
    if digits < 2 or is_placeholder(value) or _CODE.search(value) or sequential(value) or identifier(value):
        return False
    if re.fullmatch(r"[0-9a-f-]+", value) and not _SECRET.search(_said(match)):
        return False
    return entropy(value) >= (3.0 if re.fullmatch(r"[0-9a-f]+", value) else 3.4) and not _JOINED.fullmatch(value)


_USED = re.compile(r"(?i)\b(?:use[sd]?|using|with|nimm|nutze|utilise[rz]?|usa|usar)\s(?:[\w-]{1,12}\s){0,2}$")


def credible_key_used(match: Match[str]) -> bool:
    """The same after "use the token", without a mark between the word and the value: in both cases, and long."""
    value = value_of(match)
    if len(value) < _KEY or value in (value.lower(), value.upper()):
        return False
    return credible_key(match) and _USED.search(match.string, max(0, match.start() - 40), match.start()) is not None


#: What names a value that is no key.
_NO_KEY = re.compile(
    r"(?i)::|hash|checksum|digest|fingerprint|idempoten|csrf|authenticity|mock|public|\bpub|\bh1:|integrity|commit"
)
#: Beside these a run of hexadecimal digits is a key; beside `key` alone it is a hash.
_SECRET = re.compile(r"(?i)secret|token|encryption|api|private|access|auth|signing|master|schl|sleutel|nyckel")
_JOINED = re.compile(r"[A-Za-z]+\d{0,3}(?:[_/+=-][A-Za-z]+\d{0,3})+")


def prefixed(match: Match[str]) -> bool:
    """A key with a prefix that no list knows yet: a long body in both cases with digits all over it."""
    body = re.split(r"[_-]", match.group())[-1]
    digits = sum(c.isdigit() for c in body)
    return digits >= 3 and entropy(body) >= 3.9 and not is_placeholder(body) and not sequential(body)
