"""The last word on secrets: each check says whether a match of a rule counts. Rules name their check.

Entropy, placeholders, what code and prose put where a secret would stand; whether a value that people write down can be
a credential. Code, names and words are none.
"""

from __future__ import annotations

import re
from binascii import a2b_base64
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from math import log2
from re import Match

from memctl.policy.rule import lazy_regex

#: Values of a piece of a text of which it is remembered what several rules ask.
_VALUES = 128


def forget_values() -> None:
    """Forget the values that were looked at: none is kept longer than its text is read."""
    for asked in (is_placeholder, sequential, entropy, identifier, _is_written):
        asked.cache_clear()


def value_of(match: Match[str]) -> str:
    """The part of a match that counts: its first filled group, else all of it."""
    if match.lastindex is None:
        return match[0]
    return match[1] or next(filter(None, match.groups()), None) or match[0]


@lru_cache(_VALUES)
def entropy(text: str) -> float:
    """Shannon entropy in bits a character: 0 for one repeated letter, about 4.5 for 30 random letters and digits."""
    return _entropy_of(tuple(sorted(map(text.count, set(text)))))


@lru_cache(4096)
def _entropy_of(counts: tuple[int, ...]) -> float:
    """The entropy of a text by how often each of its characters stands there: many texts have the same counts."""
    size = sum(counts)
    return -sum(counts.count(n) * (n / size * log2(n / size)) for n in set(counts)) if size else 0.0


def _count_digits(value: str) -> int:
    """How many characters of a value are digits."""
    if value.isascii():
        return len(value.encode().translate(None, _NO_DIGITS))
    return sum(map(str.isdigit, value))


_NO_DIGITS = bytes(c for c in range(128) if not 48 <= c <= 57)


# Expressions with alternatives that begin with different plain characters are tried a few times as quick as those that
# ignore case or ask where the text begins: what a placeholder is told by is sorted by that.
_PLACEHOLDER_START = lazy_regex(r"[<{\[(%*.#?~/-]|(?:enc|ENC)\[|sha(?:1|256|384|512)[-:]|arn:|https?://")
_PLACEHOLDER_WORD = lazy_regex(
    r"your|test[-_]?\d{0,4}$|"
    r"(?:none|null|nil|true|false|undefined|string|secret|password|token|passwd|value|default|optional|required)$"
)
_PLACEHOLDER_PART = lazy_regex(
    r"xxxx|000000|111111|change_?-?me|example|placeholder|dummy|redacted|insert|replace|sample|fake|mock|your-|your_|"
    r"my-|my_|-here|_here|todo|foo_?bar|abcdef|abc123|123456|qwerty|not[-_]?a[-_]|test[-_]?(?:key|token|secret)|"
    r"-test[-_]?\d{0,4}$|_test[-_]?\d{0,4}$|\$\{|\$\(|\{\{|<%|%\(|\*\*\*|\.\.\.|…"
)
_FIVE_WORDS = lazy_regex("(?:[a-z]{3,}_){5}")


@lru_cache(_VALUES)
def is_placeholder(value: str) -> bool:
    """Whether `value` stands where a secret would: `<token>`, `${TOKEN}`, `xxxx`, `your-key-here`, `changeme` …"""
    low = value.lower()
    return (
        value.endswith((">", "}", "]", ")", "%"))
        or _PLACEHOLDER_START.match(value) is not None
        or _PLACEHOLDER_WORD.match(low) is not None
        or _PLACEHOLDER_PART.search(low) is not None
        or ("env" in value and ("environ" in value or "getenv" in value or "process.env" in value))
        or "vault:" in value
        or ("_" in value and _FIVE_WORDS.search(low) is not None)
    )


def _repeats(value: str) -> bool:
    """One repeated letter, or a short repeated unit."""
    distinct = len(set(value))
    return distinct < 8 and distinct < max(4, len(value) // 5)


@lru_cache(_VALUES)
def sequential(value: str) -> bool:
    """What repeats, or a run of neighbours such as abcdefgh."""
    if _repeats(value):
        return True
    left = len(value) - 1  # pairs of neighbours if all the rest are; of most values the first few pairs say no
    for a, b in pairwise(value):
        if ord(b) - ord(a) != 1:
            left -= 1
            if left <= len(value) * 0.85:
                return False
    return left > len(value) * 0.85


#: Each ASCII character as one of its kind.
_KINDS = bytes(48 if 48 <= c <= 57 else 97 if 97 <= c <= 122 else 65 if 65 <= c <= 90 else 45 for c in range(128))
_KINDS += bytes(128)


def count_kinds(value: str) -> int:
    """How many kinds of characters a value has: digits, small letters, capitals, marks."""
    if value.isascii():
        return len(set(value.encode().translate(_KINDS)))
    return sum((*(any(map(test, value)) for test in (str.isdigit, str.islower, str.isupper)), not value.isalnum()))


_RUNS = lazy_regex(r"(.)\1{5,}")
#: A run of one capital is what testers type for a token; a run of these is what writers put for none.
_TYPED = lazy_regex(r"([B-WYZ])\1{9,}")
_PREFIX = lazy_regex(r"^[A-Za-z]{2,10}[-_.]")
_FILLER = lazy_regex(r"[xX0*.a-]{6,}")


def token(match: Match[str]) -> bool:
    """A token with a format of its own: anything but an obvious filler, which an alphabet is not: testers type it."""
    body = _PREFIX.sub("", value_of(match))
    if _TYPED.search(body) and not _FILLER.search(body):
        return True
    return not (_RUNS.search(body) or _repeats(body) or entropy(body) < 2.5)


_STRIPE = 24  # characters that a key has after its prefix, at least


def stripe(match: Match[str]) -> bool:
    """A Stripe key; one repeated letter, as testers type it, is one only at a key's full length."""
    body = value_of(match).rpartition("_")[2]
    return token(match) and (len(body) >= _STRIPE or not _TYPED.search(body))


def crypt_hash(match: Match[str]) -> bool:
    """A password's hash, unless its line calls it an example or compares it in a test."""
    text, start = match.string, match.start()
    line = text[max(text.rfind("\n", 0, start) + 1, start - _LINE) : start]
    return token(match) and _SHOWN.search(line) is None


_LINE = 120  # characters before a value that may say what it is
_SHOWN = lazy_regex(r"(?i)\b(?:examples?|assert\w*|expect(?:ed)?)\b")


def _value_check(*, never: str, distinct: int = 0, randomness: float = 0) -> Callable[[Match[str]], bool]:
    """The check that a value has enough distinct characters and bits a character, and nothing that no secret has."""
    filler = lazy_regex(never)

    def counts(match: Match[str]) -> bool:
        value = value_of(match)
        return len(set(value)) >= distinct and entropy(value) >= randomness and filler.search(value) is None

    return counts


#: A value where only a token can stand: anything but a placeholder, were it typed for a test.
typed = _value_check(
    distinct=2,
    never=r"\A[xX0*.a-]{6,}\Z|(?i:x{4,}|your|example|token|secret|placeholder|insert|replace|redacted)",
)
#: An access key id: ids that end in EXAMPLE are samples; one repeated letter is still an id somebody typed.
aws_id = _value_check(never=r"EXAMPLE\Z")
#: A Slack token: real ones hold groups of digits and a random part.
slack = _value_check(randomness=2.5, never=r"(?is)\A.{4}.*?(?:x{5,}|a{6,}|(?:1234-){2})")
#: Three parts, each random enough to be a token rather than a picture of one.
jwt = _value_check(randomness=3, never=r"\.\.\.")
#: The value beside a provider's name, in the provider's own alphabet and length: only fillers are none.
filled = _value_check(distinct=6, never=r"(.)\1{5,}|[<>${}*]")


def mixed_case(match: Match[str]) -> bool:
    """A strong token in both cases: file hashes and module names have one."""
    value = value_of(match)
    return strong(match) and value[3:] != value[3:].lower() and value[3:] != value[3:].upper()


def docker_auth(match: Match[str]) -> bool:
    """The `auth` of a registry: `user:password` in base64, or a long random token."""
    return base64_pair(match) or (len(value_of(match)) >= 40 and strong(match))


def curl_pair(match: Match[str]) -> bool:
    """`user:password` after `curl -u`: the password is no placeholder."""
    word = value_of(match).partition(":")[2]
    return _in_curl(match) and not (
        is_placeholder(word)
        or word.lower() in _EVERYDAY_PASSWORDS
        or len(set(word)) == 1
        or (word.isdigit() and len(word) < 4)
    )


def curl_header(match: Match[str]) -> bool:
    """The value of a header that `curl` is told to send."""
    return strong(match) and _in_curl(match)


_NEXT_COMMAND = lazy_regex(r"(?<!\\)\n|[;|&] ")


def _in_curl(match: Match[str]) -> bool:
    """Whether the match is an argument of `curl`: on its line, or on those that backslashes add to it."""
    start = match.start()
    begun = match.string.rfind("curl", max(0, start - _COMMAND), start)
    return begun >= 0 and _NEXT_COMMAND.search(match.string, begun, start) is None


_COMMAND = 1500  # characters of one command line
_MANIFEST = 2000  # characters of a manifest around one of its values
_KIND = lazy_regex(r"""(?<![\w"'])["']?kind["']?:\s{0,4}["']?Secret\b""")
_DATA = lazy_regex(r"""(?<![A-Za-z])(?:data|stringData)["']?:""")


def k8s_value(match: Match[str]) -> bool:
    """A base64 value of a Kubernetes secret that is not empty talk."""
    value = value_of(match)
    if is_placeholder(value) or entropy(value) < 2.5 or _says_nothing(value):
        return False
    # It stands among the data of a manifest that says it is a Secret.
    text, start, end = match.string, match.start(), match.end()
    lo = max(0, start - _MANIFEST, text.rfind("\n---", 0, start), text.rfind("\nkind:", 0, start))
    data = [found.end() for found in _DATA.finditer(text, lo, start)]
    if not data or _SECTION.search(text, data[-1], start):
        return False
    stop = text.find("\n---", end, end + _MANIFEST)
    if _KIND.search(text, lo, end + _MANIFEST if stop < 0 else stop) is None:
        return False
    return not value.isalpha() or (len(value) % 4 == 0 and not _CAMEL.fullmatch(value))


#: What ends the data of a manifest: a key that begins a line.
_SECTION = lazy_regex(r"\n[A-Za-z]|\}\s{0,40},")


_CAMEL = lazy_regex(r"[A-Za-z]?[a-z]+(?:[A-Z][a-z]+)*")


def _says_nothing(value: str) -> bool:
    """Whether a base64 value says words or a filler: `previder vault example`, `test`."""
    padded = value + "=" * (-len(value) % 4)
    try:
        raw = a2b_base64(padded)
        said = "" if raw.translate(None, _PRINTABLE) else raw.decode()
    except ValueError:
        return False
    if not said.isprintable() or not (is_placeholder(said) or _WORDS_SAID.fullmatch(said)):
        return False
    from base64 import b64decode

    try:
        b64decode(padded, validate=True)
    except ValueError:
        return False
    return True


_WORDS_SAID = lazy_regex(r"[A-Za-z]+(?: [A-Za-z]+)*")
_PRINTABLE = bytes(c for c in range(256) if c >= 32 and c != 127)


def strong(match: Match[str]) -> bool:
    """A token whose format is short or common: must also look random and hold a digit."""
    value = value_of(match)
    return token(match) and _count_digits(value) > 0 and entropy(value) >= 3 and not is_placeholder(value)


#: What code writes on the right of `token =`: names, calls, subscripts, paths, types, versions.
_ORDINARY_START = lazy_regex(
    r"[A-Za-z_$][\w$]*(?:(?:\.|::|->)[A-Za-z_$][\w$]*)+$|[A-Za-z_]+$|[a-z]+(?:[-_.][a-z]+)*\d?$|v?\d+(?:\.\d+)*$|"
    r"[\d.,:+-]+$|[A-Z][A-Z0-9_]+$|--?[a-z]|[~./&@]|[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-|"
    r"[A-Za-z][a-z]+(?:[A-Z][a-z]+)*\d{0,2}$|[A-Za-z]+\?$|0x[0-9a-fA-F]+$"
)
_BRACKET = lazy_regex(r"[()\[\];{}<>]")
_SUFFIX = lazy_regex(r"\.(?:py|js|json|ya?ml|txt|md|com|org|io|pem|key)$")


def _is_ordinary(value: str) -> bool:
    return bool(_ORDINARY_START.match(value) or _BRACKET.search(value) or _SUFFIX.search(value))


_NAME = lazy_regex(r"_{0,2}[A-Za-z][A-Za-z0-9]*(?:_+[A-Za-z0-9]+)*_{0,2}")
_DASHED = lazy_regex(r"[a-z]+\d{0,3}(?:-[a-z]+\d{0,3}){1,5}")
_PARTS = lazy_regex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_NAME_SIZE, _NAME_DIGITS = 48, 5  # characters, and digits among them, that a name in code has at most


@lru_cache(_VALUES)
def identifier(value: str) -> bool:
    """Whether a value reads as a name in code: words of some length, few digits (`Ed25519PrivateKey`, `rc2_key_st`)."""
    if _DASHED.fullmatch(value):
        return True
    if len(value) > _NAME_SIZE or not _NAME.fullmatch(value):
        return False
    parts = _PARTS.findall(value)
    words = [part for part in parts if part.isalpha()]
    if sum(len(part) for part in parts if part.isdigit()) > _NAME_DIGITS or len(words) < 2:
        return False
    return sum(map(len, words)) >= 3 * len(words) or ("_" in value.strip("_") and value.islower())


def named(match: Match[str]) -> bool:
    """The value beside a key-like name: random enough, with a digit, no placeholder, no code, no words."""
    value = value_of(match)
    if is_placeholder(value) or _is_ordinary(value) or not _count_digits(value):
        return False
    before = max(0, match.start() - 16)
    if _NO_KEY.search(match.string, before, match.start(1)) or _says_nothing(value) or identifier(value):
        return False
    if _repeats_a_unit(value.lower()):
        return False
    return entropy(value) >= min(3.5, 0.72 * log2(len(value) + 1)) and not sequential(value)


_UNIT = lazy_regex(r"([a-z0-9]{4,12}?)\1{2}")
_ALIKE_PAIRS = 7  # pairs of neighbours that stand twice, at least, where four letters stand three times


def _repeats_a_unit(value: str) -> bool:
    """Some letters typed three times and more: abcd1234abcd1234abcd1234. Of nearly all values the pairs say no."""
    pairs = len(value) - 1
    return pairs - len(set(pairwise(value))) >= _ALIKE_PAIRS and _UNIT.search(value) is not None


_NO_KEY = lazy_regex(r"(?i)::|hash|idempoten|checksum|digest|fingerprint")


def named_exact(match: Match[str]) -> bool:
    """The value beside a provider's name, with the provider's length: no placeholder and no words are enough."""
    value = value_of(match)
    if is_placeholder(value) or (len(value) < 30 and _is_ordinary(value)):
        return False
    return entropy(value) >= 2.8 and not sequential(value) and not _HYPHENED.fullmatch(value)


_HYPHENED = lazy_regex(r"[a-z]+(?:[-_][a-z]+)+")


def password(match: Match[str]) -> bool:
    """The value beside a password-like name: anything that neither code nor prose would put there."""
    value = value_of(match).strip("\"'`,;")
    if len(value) < 6 or is_placeholder(value) or _is_ordinary(value) or sequential(value) or _says_nothing(value):
        return False
    if _EVERYBODY.fullmatch(value):
        return False
    kinds = count_kinds(value)
    return kinds >= 2 and (kinds >= 3 or _count_digits(value) > 0)


_EVERYBODY = lazy_regex(r"(?i)(?:secret|password|passwd|pass|admin|test|s3cr3t)\d{0,4}")


_TEMPLATE = lazy_regex(r"\$\{[\w.:-]+\}|\{\{\s*[\w.]+\s*\}\}|<[\w-]+>|://|\]\(|<!--|\w\(\w*\)|&&|=>")


def busy(match: Match[str]) -> bool:
    """A value no code or template would be: many kinds of marks, and brackets that do not close what was opened."""
    value = value_of(match)
    marks = {c for c in set(value) if not c.isalnum()}
    if len(marks) < 6 or sum(map(str.isalpha, value)) < 4 or _TEMPLATE.search(value):
        return False
    if not marks & set("()[]{}<>"):
        return True
    expected: list[str] = []  # what closes the brackets that are open
    for c in value:
        if c in "([{":
            expected.append({"(": ")", "[": "]", "{": "}"}[c])
        elif c in ")]}" and (not expected or expected.pop() != c):
            return True
    return bool(expected)


def userinfo(match: Match[str]) -> bool:
    """The password in `scheme://user:password@host`: no placeholder, not the word itself."""
    value = value_of(match)
    user = match.group().partition("://")[2].partition(":")[0]
    if value == user or len(set(value)) == 1 or (value.isdigit() and len(value) < 5):
        return False
    if value.isalpha() and value.islower() and len(value) < 14 and match.group().lower().startswith("http"):
        return False
    if is_placeholder(value) or (re.search(r"[$<>{}%]", value) and not re.search(r"%[0-9A-Fa-f]{2}", value)):
        return False
    return value.lower() not in _EVERYDAY_PASSWORDS


_EVERYDAY_PASSWORDS = frozenset(
    (
        "pass", "password", "passwd", "pwd", "secret", "token", "user", "username", "admin", "root", "postgres",
        "guest",
        "test", "x", "1234", "key", "pw", "mypassword", "user_password", "yourpassword", "db_password", "port", "p",
        "pswd", "passw0rd", "p@ssw0rd", "mysecretpassword", "secretpassword",
    )
)  # fmt: skip


def key_body(match: Match[str]) -> bool:
    """A private key block with a body: 64 base64 characters or more, not all alike; none that is said to show one."""
    start = match.start()
    if _ILLUSTRATION.search(match.string, max(0, start - _LINE), start):
        return False
    body = re.sub(r"-----[^-]*-----|\\[nr]|[^A-Za-z0-9+/=]", "", match.group())
    return (len(body) >= 64 and len(set(body)) > 12) or body.startswith(("MII", "MHc", "MHQ", "MC4", "b3BlbnNz"))


_ILLUSTRATION = lazy_regex(r"(?i)\b(?:example|demonstration|illustration) purposes\b")


def base64_pair(match: Match[str]) -> bool:
    """`user:password` in base64, the value of an HTTP Basic header."""
    from base64 import b64decode

    value = value_of(match)
    try:
        user, colon, word = b64decode(value + "=" * (-len(value) % 4)).decode().partition(":")
    except ValueError:
        return False
    return bool(colon and user and word) and word.lower() not in _EVERYDAY_PASSWORDS and not is_placeholder(word)


def password_quoted(match: Match[str]) -> bool:
    """A quoted value beside a password-like name: code and prose do not look like this, whatever its letters."""
    value = value_of(match)
    if is_placeholder(value) and not re.search(r"[{}()\[\]$]", value[1:-1]):
        return False
    kinds = count_kinds(value)
    words = re.fullmatch(r"[\w '.,!?:-]*", value) is not None
    return not words and kinds >= 2 and entropy(value) >= 3 and " " not in value and not _CODE.search(value)


_CODE = lazy_regex(
    r"\w\(\w*\)|^\$\{?\w+\}?$|^\{\{.*\}\}$|^<.*>$|^%\w|https?://|^[/.~]|^\{[\w.]*\}|\$\(|=>|&&|\|\||\\[wdsnb]|^\^|\.\*"
)


def password_prose(match: Match[str]) -> bool:
    """`the password is …`: followed by something that is no word."""
    value = value_of(match).rstrip(".!?")
    return password(match) and any(map(str.isdigit, value)) and not re.fullmatch(r"[a-z]+-\d+", value)


# --- credentials as people write them

_LEAST_PASSWORD = 6  # characters of a password
_LEAST_KEY = 20  # characters of a key of letters and digits that no word says the kind of
_MADE_SIZE = 12  # characters at the end of a value that say how something is made
#: What stands where a password would and is none: calls, paths, dotted and joined names, addresses, flags, versions,
#: dates, numbers with units, names of schemes.
_NO_PASSWORD_START = lazy_regex(
    r"[/~.\\-]|\w+(?:=|(?:/[\w.-]+)+$)|[A-Za-z_]\w*(?:\[|(?:\.[A-Za-z_]\w*)+$)|[a-z][a-z0-9]*(?:[_-][a-z0-9]+)+$|"
    r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$|v?\d+(?:\.\d+)+|\d{4}-\d\d|[\d.,]+[A-Za-z%]{0,3}$|[A-Za-z]{1,8}-\d{1,3}$|0x|"
    r"\$[A-Za-z_]\w*(?:\[|$)|[%@]\w|<|&\w+;|[A-Z]?[a-z]+(?:[A-Z][a-z]+)+\d?$|https?|[A-Za-z]+\d?\?$"
)
_MARKS = lazy_regex(r"[^\w+/=.-]")
_NO_PASSWORD_PART = lazy_regex(r"[\w\])]\(|\)[;,]?$|::|->|=>|&&|\|\||\{\{|\$\{|\$\(|://|[\[\]{}]|@[\w-]+\.\w|\\n|\\u")
_WORDS = lazy_regex(r"^[^\W\d_]+(?:[-'\u2019/&.,:;+][^\W\d_]+)*[.,:;!?)]*$")
_MADE = lazy_regex(
    r"(?:encoded|hashed|protected|based|only|encrypted|sensitive|like|style|compatible|bits?|bytes?)\W?\Z"
)
_TYPICAL = lazy_regex(r"(?i)(?:secret|password|passwd|passwort|pass|admin|test|user|root|s3cr3t|string)\d{0,4}[!.]?")

_LEET = str.maketrans("0134@$", "oieaas")


@lru_cache(_VALUES)
def _is_written(value: str) -> bool:
    """Whether a value is what code and prose write: nearly none has a mark that asks for a look at all of it."""
    if _NO_PASSWORD_START.match(value):
        return True
    return _MARKS.search(value) is not None and _NO_PASSWORD_PART.search(value) is not None


def _can_be_password(value: str) -> bool:
    """Whether a value can be a password at all."""
    if len(value) < _LEAST_PASSWORD or not value.isascii() or is_placeholder(value) or _is_written(value):
        return False
    everybody = _TYPICAL.fullmatch(value) or _TYPICAL.fullmatch(value.translate(_LEET))
    return not (everybody or sequential(value) or _MADE.search(value[-_MADE_SIZE:].lower()))


def credible(match: Match[str]) -> bool:
    """A value that was given to a password's name: letters with digits, or three kinds of characters."""
    value = value_of(match)
    if not _can_be_password(value):
        return False
    text, start = match.string, match.start()
    if "|" in text[start : match.start(match.lastindex or 0)]:
        line = text[text.rfind("\n", 0, start) + 1 : start + 1]
        if not line.lstrip().startswith("|"):
            return False  # the pipe of a command or of a template, not the border of a cell
    kinds = count_kinds(value)
    return kinds >= 3 or (kinds == 2 and any(map(str.isdigit, value)) and any(map(str.isalpha, value)))


def credible_prose(match: Match[str]) -> bool:
    """A value that a sentence says: with a digit or a mark inside, and no words."""
    value = value_of(match)
    if not _can_be_password(value) or _WORDS.match(value):
        return False
    return count_kinds(value) >= 3 and (any(map(str.isdigit, value)) or entropy(value) >= 3)


def pin(match: Match[str]) -> bool:
    """Four to eight digits, neither a year nor a run."""
    value = value_of(match)
    return len(set(value)) > 1 and value not in "0123456789" and not re.fullmatch(r"(?:19|20)\d\d", value)


def credible_key(match: Match[str]) -> bool:
    """A run of letters and digits beside a word for keys: random, and neither an identifier nor a path."""
    value = value_of(match)
    digits = _count_digits(value)
    start, value_start = match.start(), match.start(match.lastindex or 0)
    if _NO_KEY_WRITTEN.search(match.string, max(0, start - 20), value_start):
        return False
    if digits < 2 or is_placeholder(value) or _is_written(value) or sequential(value) or identifier(value):
        return False
    if _HEXADECIMAL.fullmatch(value) and not _SECRET_NAME.search(match.string, max(0, start - 24), value_start):
        return False
    least = 3.0 if value.isalnum() and _HEXADECIMAL.fullmatch(value) else 3.4
    return entropy(value) >= least and not _JOINED.fullmatch(value)


_USED = lazy_regex(r"(?i)\b(?:use[sd]?|using|with|nimm|nutze|utilise[rz]?|usa|usar)\s(?:[\w-]{1,12}\s){0,2}$")


def credible_key_used(match: Match[str]) -> bool:
    """The same after "use the token", without a mark between the word and the value: in both cases, and long."""
    value = value_of(match)
    if len(value) < _LEAST_KEY or value in (value.lower(), value.upper()):
        return False
    return credible_key(match) and _USED.search(match.string, max(0, match.start() - 40), match.start()) is not None


#: What names a value that is no key.
_NO_KEY_WRITTEN = lazy_regex(
    r"(?i)::|hash|checksum|digest|fingerprint|idempoten|csrf|authenticity|mock|public|\bpub|\bh1:|integrity|commit"
)
#: Beside these a run of hexadecimal digits is a key; beside `key` alone it is a hash.
_SECRET_NAME = lazy_regex(r"(?i)secret|token|encryption|api|private|access|auth|signing|master|schl|sleutel|nyckel")
_HEXADECIMAL = lazy_regex(r"[0-9a-f-]+")
_JOINED = lazy_regex(r"[A-Za-z]+\d{0,3}(?:[_/+=-][A-Za-z]+\d{0,3})+")


def prefixed(match: Match[str]) -> bool:
    """A key with a prefix that no list knows yet: a long body in both cases with digits all over it."""
    body = re.split(r"[_-]", match.group())[-1]
    digits = _count_digits(body)
    return digits >= 3 and entropy(body) >= 3.9 and not is_placeholder(body) and not sequential(body)
