"""The last word on personal data: checksums, and the words that say what a number is. Rules name their check."""

from __future__ import annotations

import re
from re import Match

from memctl.policy.checks_secrets import value_of
from memctl.policy.national_ids import IBAN_LENGTHS, NATIONAL_IDS, luhn, weighted
from memctl.policy.rule import lazy_regex


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
