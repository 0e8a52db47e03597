# ruff: noqa: E501 - a row is read as a row
"""The last word on personal data: checksums, and the words that say what a number is. Rules name their check."""

from __future__ import annotations

import re
from collections.abc import Callable
from re import Match

from memctl.annotations import Literal, NamedTuple
from memctl.policy.checks_secrets import value_of
from memctl.policy.rule import lazy_regex
from memctl.policy.rules_pii import IBAN_LENGTHS


def digits_of(text: str) -> str:
    """Only the digits of `text`."""
    return "".join(filter(str.isdigit, text))


_IBAN_WORDS = lazy_regex(r"(?i)\biban\b|account|konto|compte|cuenta")


def iban(match: Match[str]) -> bool:
    """The country's length and remainder 1 modulo 97."""
    value = value_of(match)
    if value.islower() and not _near(match, _IBAN_WORDS):
        return False
    number = re.sub(r"[^A-Z0-9]", "", value.upper())
    size = IBAN_LENGTHS.get(number[:2])
    if size is None or len(number) < size:
        return False
    moved = number[4:size] + number[:4]
    return int("".join(str(int(c, 36)) for c in moved)) % 97 == 1


_BAD_SSN = frozenset(("000000000", "123456789", "078051120", "219099999", "111111111"))


def ssn(match: Match[str]) -> bool:
    """A US social security or taxpayer number that could have been issued."""
    number = digits_of(value_of(match))
    area, group, serial = number[:3], number[3:5], number[5:]
    return len(number) == 9 and number not in _BAD_SSN and "000" != area != "666" and group != "00" and serial != "0000"


_MAIL_NOBODY = lazy_regex(
    r"^(?:git|noreply|no-reply|.*[-_.+]noreply|hg|svn|user|username|you|your\.?name|name|me|foo|bar|email|someone|somebody|"
    r"nobody|root|test|root|postmaster|security|help|admin|webmaster|abuse|team|dev|bugs?|"
    r".*-(?:dev|announce|users|list|bugs|discuss)|.*-list|python-[a-z]+|v?\d[\d.]*)@",
    re.IGNORECASE,
)
_MAIL_PROGRAM = lazy_regex(r"^(?:git|hg|svn|no-?reply)@")
_MAIL_SAMPLE = lazy_regex(
    r"@(?:.*\.)?example(?:\.(?:com|org|net|edu))?$|@(?:your|my)?(?:domain|company|email|host|server)\.", re.IGNORECASE
)
_NO_MAIL = lazy_regex(
    r"@(?:.*\.)?(?:localhost|test|invalid|local|users\.noreply\.github)(?:\.(?:com|org|net|edu))?$|^your-|@your-|"
    r"\.gserviceaccount\.com$|"
    r"\.(?:png|jpe?g|gif|svg|css|js|py|html?|json|md|txt|sha256|service|"
    r"whl|gz|zip|x|git|so|ts|tsx)$",
    re.IGNORECASE,
)
_IN_URL = lazy_regex(r"://[^\s/@]*\Z")
_MAIL_NAMED = lazy_regex(r"(?i)\b(?:my|his|her|your)\s+e-?mail[^@\n]{0,24}$|\uc774\uba54\uc77c[^@\n]{0,9}$")

#: A record's line that names a person, whose address follows in brackets: `Applicant: Mario Rossi (`.
_MAIL_RECORD = lazy_regex(r"^[\W_]*[^\W\d_]+(?: [^\W\d_]+)?: ?(?![a-z])[^\W\d_]+\.?(?: (?![a-z])[^\W\d_]+\.?){1,3} \($")


def mail(match: Match[str]) -> bool:
    """A person's address: not `icon@2x.png`; no sample domain and no role account unless called somebody's."""
    text, address = match.string, value_of(match)
    if _NO_MAIL.search(address) or _IN_URL.search(text, max(0, match.start() - 120), match.start()):
        return False
    if not (_MAIL_NOBODY.search(address) or _MAIL_SAMPLE.search(address)):
        return True
    if _alone(match) and not _MAIL_SAMPLE.search(address):
        return _MAIL_PROGRAM.search(address) is None
    before = text[max(0, match.start() - 80) : match.start()]
    if _MAIL_RECORD.search(before.rpartition("\n")[2]) and text[match.end() : match.end() + 1] == ")":
        return True
    return _MAIL_NAMED.search(before[-40:]) is not None


_DATE = lazy_regex(r"(?<!\d)(?:19|20)\d\d-[01]\d-[0-3]\d(?!\d)")


def phone(match: Match[str]) -> bool:
    """A number of 7 to 15 digits that is neither one repeated digit nor a run of neighbours."""
    number = digits_of(value_of(match))
    if _DATE.search(value_of(match)):
        return False
    return 7 <= len(number) <= 15 and len(set(number)) > 2 and number not in "012345678901234567890"


_TELEPHONE = lazy_regex(
    r"(?i)\b(?:call(?:ed|ing)?|phone|tel(?:ephone)?|mobile|cell|fax|whatsapp|sms|text(?:ed)?\s+me|reach|contact|dial|"
    r"number\s+(?:is|to)|registered|messages\s+to|answering\s+at|desk|office|hotline|ring|cep|gsm|telefon\w*|tel[e\u00e9]fono|portable|handy|celular|m[o\u00f3]vil)\b|"
    r"\uc5f0\ub77d\ucc98|\uc804\ud654|\ud578\ub4dc\ud3f0|\ud734\ub300|\u7535\u8bdd|\u624b\u673a|\u96fb\u8a71|\u643a\u5e2f|\u0442\u0435\u043b\u0435\u0444\u043e\u043d"
)


def _alone(match: Match[str]) -> bool:
    """Whether a short text says nothing but this, on a line of its own: beside it stands where it comes from."""
    text = match.string
    if len(text) > _ALONE:
        return False
    before, after = text[: match.start()].rpartition("\n")[2], text[match.end() :].partition("\n")[0]
    return len(before.strip()) + len(after.strip()) <= 2


#: A telephone number as it stands alone: grouped by one kind of separator, and not as social security numbers are.
_GROUPED = lazy_regex(r"(?!\d{3}([ .-])\d\d\1\d{4}$)(?=(?:\D*\d){7,12}\D*$)\(?\d+\)?(?:([ ./-]?)\(?\d+\)?(?:\2\d+)*)?")
_ALONE = 120  # characters of a text that may be nothing but a number


def phone_named(match: Match[str]) -> bool:
    """A bare number that the words before or after it call a telephone."""
    text, start = match.string, match.start()
    near = text[max(0, start - 60) : start] + " " + text[match.end() : match.end() + 25]
    if match.group()[0] in "0(" and _alone(match) and _GROUPED.fullmatch(match.group()):
        return phone(match)
    return phone(match) and _TELEPHONE.search(near) is not None


def phone_plus(match: Match[str]) -> bool:
    """An international number; with `00` instead of `+` only where words call it a telephone."""
    return phone_named(match) if match.group().startswith("0") else phone(match)


def phone_us(match: Match[str]) -> bool:
    """Three groups the American way; bare groups with dots or blanks need words beside them."""
    number = match.group()
    return phone(match) if number.startswith("(") or number.count("-") == 2 else phone_named(match)


def ssn_shaped(match: Match[str]) -> bool:
    """Three groups of a social security number; with dots or blanks it must be named or stand alone."""
    if match.group(2) == "-":
        return ssn(match)
    return ssn(match) and (len(match.string) < 40 or _near(match, _SSN_WORDS))


_SSN_WORDS = lazy_regex(r"(?i)\bssn\b|social\s+security")


def _near(match: Match[str], words: re.Pattern[str]) -> bool:
    start = match.start()
    return words.search(match.string, max(0, start - 60), match.end() + 30) is not None


_CARD_WORDS = lazy_regex(r"(?i)card|visa|amex|master|credit|\bcc\b|카드")


def card(match: Match[str]) -> bool:
    """A payment card: Luhn's sum and a card's length. Without separators and words, a long id may pass by chance."""
    text = match.group()
    number = digits_of(text)
    if not 12 <= len(number) <= 19 or len(set(number)) < 2 or not luhn(number):
        return False
    if text[0] == "1" and not _near(match, _CARD_WORDS):
        return False
    if not text.isdigit() or (len(text) in {15, 16} and len(match.string) < 40):
        return True
    return (
        _near(match, _CARD_WORDS)
        or (len(text) in {14, 15, 16} and match.string.strip() == text)
        or len(match.string) < 25
    )


def kr_rrn(match: Match[str]) -> bool:
    """A Korean registration number, by its date: since 2020 the rest is random."""
    number = match.group()
    return 1 <= int(number[2:4]) <= 12 and 1 <= int(number[4:6]) <= 31


def es_id(match: Match[str]) -> bool:
    """The control letter of a Spanish NIF or NIE."""
    text = match.group().upper().replace("-", "")
    number = text[:-1].replace("X", "0").replace("Y", "1").replace("Z", "2")
    return number.isdigit() and "TRWAGMYFPDXBNJZSQVHLCKE"[int(number) % 23] == text[-1]


def fi_id(match: Match[str]) -> bool:
    """The control character of a Finnish personal identity code."""
    text = match.group()
    return "0123456789ABCDEFHJKLMNPRSTUVWXY"[int(text[:6] + text[7:10]) % 31] == text[-1]


def sg_id(match: Match[str]) -> bool:
    """The control letter of a Singaporean NRIC or FIN."""
    text = match.group().upper()
    total = weighted(text[1:8], (2, 7, 6, 5, 4, 3, 2)) + {"T": 4, "G": 4, "M": 3}.get(text[0], 0)
    letters = {"S": "JZIHGFEDCBA", "T": "JZIHGFEDCBA", "F": "XWUTRQPNMLK", "G": "XWUTRQPNMLK", "M": "XWUTRQPNJLK"}
    return letters[text[0]][total % 11] == text[-1]


# --- national numbers ---------------------------------------------------------------------------------------------
#
# By which words one is known, how its digits look, and what its check digits must be. The schemes are those that each
# country's register or tax office publishes; python-stdnum's documentation names them.


class NationalId(NamedTuple):
    """One kind of number.

    names   the words that name it, as an expression in lower case
    shape   how its digits look, as an expression for all of them
    checks  what must hold of the digits
    alone   "sure": the checks are so strict that a number alone in a text is believed; "grouped": where it stands in
            groups of three
    """

    names: str
    shape: str
    checks: tuple[Callable[[str], bool], ...] = ()
    alone: Literal["", "sure", "grouped"] = ""

    def holds(self, digits: str) -> bool:
        """Whether digits can be such a number."""
        return re.fullmatch(self.shape, digits) is not None and all(check(digits) for check in self.checks)


def weighted(number: str, weights: tuple[int, ...]) -> int:
    """The sum of the digits, each times its weight; what has no weight does not count."""
    return sum(int(c) * w for c, w in zip(number, weights, strict=False))


def luhn(number: str) -> bool:
    """Whether every second digit from the right, doubled, and the others sum up to a multiple of ten (Luhn)."""
    doubled = ("0123456789", "0246813579")
    return sum(int(doubled[n % 2][int(c)]) for n, c in enumerate(reversed(number))) % 10 == 0


def _digit(place: int, weights: tuple[int, ...], by_rest: str, *, reverse: bool = False) -> Callable[[str], bool]:
    """The check that the digit at `place` follows from the weighted sum of the others.

    by_rest: the digit for each remainder of the sum divided by the length of `by_rest`; "?" where there is none.
    reverse: places and weights count from the right.
    """

    def holds(number: str) -> bool:
        number = number[::-1] if reverse else number
        return by_rest[weighted(number, weights) % len(by_rest)] == number[place]

    return holds


#: Check digits by remainder: the remainder itself or what it lacks to the modulus. "?": such numbers are not issued.
_REST_10, _LACK_10 = "0123456789", "0987654321"
_REST_11, _REST_11_OR_0, _REST_11_OR_1 = "0123456789?", "01234567890", "01234567891"
_LACK_11, _LACK_11_OR_0, _LACK_11_FROM_1 = "0?987654321", "00987654321", "10987654321"


def _mod_11_10(number: str) -> bool:
    """ISO 7064, MOD 11,10."""
    product = 10
    for c in number[:-1]:
        product = ((int(c) + product) % 10 or 10) * 2 % 11
    return (11 - product) % 10 == int(number[-1])


# The dihedral group and the permutations of Verhoeff's scheme.
_VERHOEFF_D = (
    "0123456789", "1234067895", "2340178956", "3401289567", "4012395678", "5987604321", "6598710432", "7659821043",
    "8765932104", "9876543210",
)  # fmt: skip
_VERHOEFF_P = (
    "0123456789", "1576283094", "5803796142", "8916043527", "9453126870", "4286573901", "2793806415", "7046913258",
)  # fmt: skip


def _verhoeff(number: str) -> bool:
    check = 0
    for i, c in enumerate(reversed(number)):
        check = int(_VERHOEFF_D[check][int(_VERHOEFF_P[i % 8][int(c)])])
    return check == 0


def _turkish(n: str) -> bool:
    d = [int(c) for c in n]
    return (sum(d[0:9:2]) * 7 - sum(d[1:8:2])) % 10 == d[9] and sum(d[:10]) % 10 == d[10]


def _estonian(n: str) -> bool:
    rest = weighted(n, (1, 2, 3, 4, 5, 6, 7, 8, 9, 1)) % 11
    return (rest if rest < 10 else weighted(n, (3, 4, 5, 6, 7, 8, 9, 1, 2, 3)) % 11 % 10) == int(n[10])


def _new_zealand_tax(n: str) -> bool:
    n = n.zfill(9)
    first, second = (-weighted(n, weights) % 11 for weights in ((3, 2, 7, 6, 5, 4, 3, 2), (7, 4, 3, 2, 5, 2, 7, 6)))
    return (first if first < 10 else second) == int(n[8])


# Months and days in shapes; some registers add to them by sex or century.
_MONTH, _DAY = "(?:0[1-9]|1[0-2])", r"(?:0[1-9]|[12]\d|3[01])"
_MONTH_BY_CENTURY = "(?:[02468][1-9]|[13579][0-2])"  # 20, 40, 60, 80 added
_MONTH_BY_SEX = "(?:[024579][1-9]|[1368][0-2])"  # 50 added, 20 on top in a full year
_DAY_OR_60 = r"(?:[06][1-9]|[1278]\d|[39][01])"
_DAY_OR_40 = r"(?:[048][1-9]|[12569]\d|[37][01])"

NATIONAL_IDS = (
    NationalId("pesel", rf"\d\d{_MONTH_BY_CENTURY}\d{{7}}", (_digit(10, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3), _LACK_10),), "sure"),
    NationalId(r"t\.?c\.?\s*(?:kimlik|no)|kimlik|turkish|tckn", r"[1-9]\d{10}", (_turkish,), "sure"),
    NationalId(r"aadha+r|uidai", r"[2-9]\d{11}", (_verhoeff,), "sure"),
    NationalId(r"\brrn\b|resident\s+registration|\uc8fc\ubbfc|\uc138\uae08", rf"\d\d{_MONTH}\d{{9}}",
               (_digit(12, (2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5), _LACK_11_FROM_1),), "sure"),
    NationalId(r"thai|tnin|national\s+id", r"[1-9]\d{12}", (_digit(12, tuple(range(13, 1, -1)), _LACK_11_FROM_1),), "sure"),
    NationalId(r"steuer|tax\s+id|\btin\b|idnr", r"[1-9]\d{10}", (_mod_11_10, lambda n: len(set(n[:10])) in {8, 9}), "sure"),
    NationalId(r"person+ummer|samordning|swedish", rf"(?:\d\d)?\d\d{_MONTH}{_DAY_OR_60}\d{{4}}", (lambda n: luhn(n[-10:]),), "sure"),
    NationalId(r"\bsin\b|social\s+insurance|\bnas\b", r"[1-79]\d{8}", (luhn,), "grouped"),
    NationalId(r"\btfn\b|tax\s+file", r"\d{9}", (_digit(8, (1, 4, 3, 7, 5, 8, 6, 9), _REST_11),), "grouped"),
    NationalId("medicare", r"[2-6]\d{9}", (_digit(8, (1, 3, 7, 9, 1, 3, 7, 9), _REST_10),), "sure"),
    NationalId("medicare", r"[2-6]\d{10}", (_digit(8, (1, 3, 7, 9, 1, 3, 7, 9), _REST_10),)),
    NationalId(r"\bnhs\b", r"\d{10}", (_digit(9, (10, 9, 8, 7, 6, 5, 4, 3, 2), _LACK_11),)),
    NationalId(r"south\s+africa|\bza\b|rsa\s+id|\bsa\s+id", rf"\d\d{_MONTH}{_DAY}\d{{4}}[012]\d\d", (luhn,), "sure"),
    NationalId(r"\bcpf\b", r"(?!(\d)\1*$)\d{11}",
               (_digit(9, tuple(range(10, 1, -1)), _LACK_11_OR_0), _digit(10, tuple(range(11, 1, -1)), _LACK_11_OR_0))),
    NationalId(r"\bcnpj\b", r"(?!(\d)\1*$)\d{14}",
               (_digit(12, (5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2), _LACK_11_OR_0),
                _digit(13, (6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2), _LACK_11_OR_0)), "sure"),
    NationalId(r"\bnir\b|s\u00e9cu|insee|num[e\u00e9]ro\s+de\s+s", r"[12]\d{14}", (lambda n: int(n[:13]) % 97 == 97 - int(n[13:]),), "sure"),
    NationalId(r"\bbsn\b|burgerservice", r"\d{9}", (_digit(8, (9, 8, 7, 6, 5, 4, 3, 2), _REST_11),)),
    NationalId(r"teudat|israeli\s+id", r"\d{9}", (luhn,)),
    NationalId(r"\bnif\b|contribuinte", r"[1235689]\d{8}", (_digit(8, (9, 8, 7, 6, 5, 4, 3, 2), _LACK_11_OR_0),)),
    NationalId(r"\bcui[tl]\b", r"[23]\d{10}", (_digit(10, (5, 4, 3, 2, 7, 6, 5, 4, 3, 2), _LACK_11),)),
    NationalId(r"rijksregister|registre\s+national|\binsz\b|\bniss\b", r"\d{11}",
               (lambda n: int(n[9:]) in {97 - int(n[:9]) % 97, 97 - int("2" + n[:9]) % 97},), "sure"),
    NationalId(r"\bcnp\b", rf"\d{{3}}{_MONTH}\d{{8}}", (_digit(12, (2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9), _REST_11_OR_1),)),
    NationalId(r"\begn\b", rf"\d\d{_MONTH_BY_CENTURY}\d{{6}}", (_digit(9, (2, 4, 8, 5, 10, 9, 7, 3, 6), _REST_11_OR_0),)),
    NationalId(r"rodn[e\u00e9]", rf"\d\d{_MONTH_BY_SEX}\d{{6}}", (lambda n: int(n) % 11 == 0,)),
    NationalId(r"isikukood|asmens\s+kodas", rf"\d{{3}}{_MONTH}\d{{6}}", (_estonian,)),
    NationalId(r"f\u00f8dselsn|fodselsn|personnummer", r"\d{11}",
               (_digit(9, (3, 7, 6, 1, 8, 9, 4, 5, 2), _LACK_11), _digit(10, (5, 4, 3, 2, 7, 6, 5, 4, 3, 2), _LACK_11)), "sure"),
    NationalId(r"\bcpr\b", rf"{_DAY}{_MONTH}\d{{6}}", (_digit(9, (4, 3, 2, 7, 6, 5, 4, 3, 2), _LACK_11),)),
    NationalId(r"\bahv\b|\bavs\b|\b756\.", r"756\d{10}", (_digit(12, (1, 3) * 6, _LACK_10),), "sure"),
    NationalId(r"\boib\b", r"\d{11}", (_mod_11_10,)),
    NationalId(r"partita\s+iva|p\.\s?iva|\bamka\b", r"\d{11}", (luhn,)),
    NationalId(r"my\s?number|\u30de\u30a4\u30ca\u30f3\u30d0\u30fc", r"\d{12}",
               (_digit(11, (6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2), _LACK_11_OR_0),)),
    NationalId(r"\bnpi\b", r"[12]\d{9}", (lambda n: luhn("80840" + n),)),
    NationalId("kennitala", rf"\d\d{_MONTH}\d{{6}}", (_digit(8, (3, 2, 7, 6, 5, 4, 3, 2), _LACK_11),)),
    NationalId(r"jmbg|em[s\u0161]o\b|\u0458\u043c\u0431\u0433|mati\u010dni", rf"\d\d{_MONTH}\d{{9}}",
               (_digit(12, (7, 6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2), _LACK_11_OR_0),)),
    NationalId(r"personas\s+kod", r"\d{11}", (_digit(10, (10, 5, 8, 4, 2, 1, 6, 3, 7, 9), "12345678900"),)),
    # Seventeen digits are those before an X.
    NationalId(r"\u8eab\u4efd\u8bc1|\u8eab\u4efd\u8b49|resident\s+identity|chinese\s+id", rf"\d{{10}}{_MONTH}\d{{5,6}}",
               (lambda n: _digit(17, (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2), "10X98765432")(n + "X"),)),
    NationalId(r"\binn\b|\u0438\u043d\u043d\b", r"\d{10}", (_digit(9, (2, 4, 10, 3, 5, 9, 4, 6, 8), _REST_11_OR_0),)),
    NationalId(r"\binn\b|\u0438\u043d\u043d\b", r"\d{12}",
               (_digit(10, (7, 2, 4, 10, 3, 5, 9, 4, 6, 8), _REST_11_OR_0), _digit(11, (3, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8), _REST_11_OR_0))),
    NationalId(r"\bsnils\b|\u0441\u043d\u0438\u043b\u0441", r"\d{11}",
               (lambda n: weighted(n, (9, 8, 7, 6, 5, 4, 3, 2, 1)) % 101 % 100 == int(n[9:]),)),
    NationalId(r"\brntrc\b|\u0440\u043d\u043e\u043a\u043f\u043f|\u0456\u043f\u043d\b|\u0456\u0434\u0435\u043d\u0442\u0438\u0444\u0456\u043a\u0430\u0446\u0456\u0439\u043d",
               r"\d{10}", (_digit(9, (-1, 5, 7, 9, 4, 6, 10, 5, 7), _REST_11_OR_0),)),
    NationalId(r"svnr|sozialversicherungsn|\bsv-?nummer", r"[1-9]\d{9}", (_digit(3, (3, 7, 9, 0, 5, 8, 4, 2, 1, 6), _REST_11),)),
    NationalId(r"\btaj\b", r"\d{9}", (_digit(8, (3, 7, 3, 7, 3, 7, 3, 7), _REST_10),)),
    NationalId(r"ad\xf3azonos\xedt\xf3", r"8\d{9}", (_digit(9, (1, 2, 3, 4, 5, 6, 7, 8, 9), _REST_11),)),
    NationalId(r"\bnip\b", r"\d{10}", (_digit(9, (6, 5, 7, 2, 3, 4, 5, 6, 7), _REST_11),)),
    NationalId(r"\bregon\b", r"\d{9}", (_digit(8, (8, 9, 2, 3, 4, 5, 6, 7), _REST_11_OR_0),)),
    NationalId(r"\butr\b|unique\s+taxpayer", r"\d{10}", (_digit(0, (0, 6, 7, 8, 9, 10, 5, 4, 3, 2), "21987654321"),)),
    NationalId(r"\babn\b|australian\s+business", r"[1-9]\d{10}",
               (lambda n: weighted(f"{int(n) - 10**10:011d}", (10, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19)) % 89 == 0,)),
    NationalId(r"\bird\b", r"\d{7,9}", (_new_zealand_tax,)),
    NationalId(r"c[e\xe9]dula|\bc\.?i\.?\b", r"\d{10,11}", (luhn,)),
    NationalId(r"\bnit\b", r"\d{9,11}", (_digit(0, (0, 3, 7, 13, 17, 19, 23, 29, 37, 41, 43), "01987654321", reverse=True),)),
    NationalId(r"c[e\xe9]dula|uruguay", r"\d{8}", (_digit(7, (2, 9, 8, 7, 6, 3, 4), _LACK_10),)),
    NationalId(r"\bafm\b|\u03b1\u03c6\u03bc|\u03b1\.\u03c6\.\u03bc", r"\d{9}", (_digit(8, (256, 128, 64, 32, 16, 8, 4, 2), _REST_11_OR_0),)),
    NationalId(r"\bmst\b|m\xe3\s+s\u1ed1\s+thu\u1ebf", r"\d{10}", (_digit(9, (31, 29, 23, 19, 17, 13, 7, 5, 3), "?9876543210"),)),
    NationalId(r"\bruc\b", r"\d{11}", (_digit(10, (5, 4, 3, 2, 7, 6, 5, 4, 3, 2), _LACK_11_FROM_1),)),
    # The digits of a RUT, whose check may be a K that is none of them.
    NationalId(r"\brut\b|\brun\b", r"\d{8,9}", (_digit(0, (0, 2, 3, 4, 5, 6, 7, 2, 3), _LACK_11, reverse=True),)),
    NationalId(r"\bcnic\b", r"[1-7]\d{12}"),
    NationalId(r"\bnric\b|mykad", rf"\d\d{_MONTH}{_DAY}\d{{6}}"),
    NationalId(r"\bnik\b|\bktp\b", rf"\d{{6}}{_DAY_OR_40}{_MONTH}\d{{6}}"),
)  # fmt: skip

#: What names a national number, in lower case.
_NAMED = lazy_regex("|".join(dict.fromkeys(kind.names for kind in NATIONAL_IDS)))


def national_id(match: Match[str]) -> bool:
    """A national number with a right checksum, named nearby."""
    near = match.string[max(0, match.start() - 60) : match.end() + 30].lower()
    if not _NAMED.search(near):
        return False
    number = digits_of(match.group())
    return any(kind.holds(number) and re.search(kind.names, near) for kind in NATIONAL_IDS)


def national_id_alone(match: Match[str]) -> bool:
    """One of the longer national numbers with a right checksum that is all the text says."""
    number = digits_of(match.group())
    believed = ("sure", "grouped") if _IN_THREES.fullmatch(value_of(match)) else ("sure",)
    return any(kind.holds(number) for kind in NATIONAL_IDS if kind.alone in believed)


_IN_THREES = lazy_regex(r"\d{3}([ -])\d{3}\1\d{3}")
