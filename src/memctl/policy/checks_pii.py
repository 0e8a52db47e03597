"""Last words on personal data: checksums, and the words that say what a number is."""

from __future__ import annotations

import re
from re import Match

from memctl.policy.checks_secrets import value_of


def digits_of(text: str) -> str:
    """Only the digits of `text`."""
    return "".join(c for c in text if c.isdigit())


def luhn(match: Match[str]) -> bool:
    """The Luhn sum of payment cards, with a known beginning and length."""
    number = digits_of(match.group())
    if not 12 <= len(number) <= 19 or len(set(number)) < 2:
        return False
    return _luhn_sum(number) % 10 == 0


def _luhn_sum(number: str) -> int:
    doubled = ("0123456789", "0246813579")
    return sum(int(doubled[n % 2][int(c)]) for n, c in enumerate(reversed(number)))


#: The length of an IBAN by country (ISO 13616).
_IBAN_LENGTHS = {
    country: size
    for size, countries in {
        15: "NO", 16: "BE", 18: "DK FI FO GL NL SD", 19: "MK SI", 20: "AT BA EE KZ LT LU XK MN", 21: "CH CR HR LI LV",
        22: "BG BH DE GB GE IE ME RS", 23: "AE GI IL IQ OM SO TL", 24: "AD CZ DZ ES MD PK RO SA SE SK TN VG",
        25: "LY PT ST", 26: "IS TR", 27: "BI BY DJ FR GR IT MC MR SM", 28: "AL AZ CY DO GT HU LB NI PL SV BY",
        29: "BR EG PS QA UA", 30: "JO KW MU YE", 31: "MT SC", 32: "LC", 33: "RU",
    }.items()
    for country in countries.split()
}  # fmt: skip
_IBAN_LENGTHS |= {"BY": 28, "QA": 29, "FK": 18, "BF": 28, "HN": 28, "NI": 28, "VA": 22}


def iban(match: Match[str]) -> bool:
    """The country's length and remainder 1 modulo 97."""
    number = re.sub(r"[^A-Z0-9]", "", value_of(match).upper())
    size = _IBAN_LENGTHS.get(number[:2])
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


_MAIL_NOBODY = re.compile(
    r"^(?:git|noreply|no-reply|.*[-_.+]noreply|hg|svn|user|username|you|your\.?name|name|me|foo|bar|email|someone|somebody|"
    r"nobody|root|test|root|postmaster|info|support|security|help|sales|contact|admin|webmaster|abuse|hello|team|dev|bugs?|"
    r".*-(?:dev|announce|users|list|bugs|discuss)|.*-list|python-[a-z]+|v?\d[\d.]*)@|"
    r"@(?:.*\.)?(?:example|localhost|test|invalid|local|users\.noreply\.github)(?:\.(?:com|org|net|edu))?$|"
    r"@(?:your|my)?(?:domain|company|email|host|server)\.|\.(?:png|jpe?g|gif|svg|css|js|py|html?|json|md|txt|sha256|service|"
    r"whl|gz|zip|x|git|so|ts|tsx)$",
    re.IGNORECASE,
)


def mail(match: Match[str]) -> bool:
    """A person's address: not a sample domain, not a role account, not `git@host`, not `icon@2x.png`."""
    return _MAIL_NOBODY.search(value_of(match)) is None


def phone(match: Match[str]) -> bool:
    """A number of 7 to 15 digits that is neither one repeated digit nor a run of neighbours."""
    number = digits_of(value_of(match))
    return 7 <= len(number) <= 15 and len(set(number)) > 2 and number not in "012345678901234567890"


_TELEPHONE = re.compile(
    r"(?i)\b(?:call(?:ed|ing)?|phone|tel(?:ephone)?|mobile|cell|fax|whatsapp|sms|text(?:ed)?\s+me|reach|contact|dial|"
    r"number\s+(?:is|to)|registered|messages\s+to|answering\s+at|desk|office|hotline|ring)\b|연락처|전화|핸드폰|휴대"
)


def phone_named(match: Match[str]) -> bool:
    """A bare number that the words before or after it call a telephone."""
    text, start = match.string, match.start()
    near = text[max(0, start - 60) : start] + " " + text[match.end() : match.end() + 25]
    if len(text.strip()) <= len(match.group()) + 2 and match.group()[0] in "0(":
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


_SSN_WORDS = re.compile(r"(?i)\bssn\b|social\s+security")


def _near(match: Match[str], words: re.Pattern[str]) -> bool:
    start = match.start()
    return words.search(match.string, max(0, start - 60), match.end() + 30) is not None


_CARD_WORDS = re.compile(r"(?i)card|visa|amex|master|credit|\bcc\b|카드")


def card(match: Match[str]) -> bool:
    """A payment card: Luhn's sum and a card's length. Without separators and words, a long id may pass by chance."""
    if not luhn(match):
        return False
    text = match.group()
    if not text.isdigit() or (len(text) in {15, 16} and len(match.string) < 40):
        return True
    return (
        _near(match, _CARD_WORDS)
        or (len(text) in {14, 15, 16} and match.string.strip() == text)
        or len(match.string) < 25
    )


def _weighted(number: str, weights: tuple[int, ...]) -> int:
    return sum(int(c) * w for c, w in zip(number, weights, strict=False))


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
    total = _weighted(text[1:8], (2, 7, 6, 5, 4, 3, 2)) + {"T": 4, "G": 4, "M": 3}.get(text[0], 0)
    letters = {"S": "JZIHGFEDCBA", "T": "JZIHGFEDCBA", "F": "XWUTRQPNMLK", "G": "XWUTRQPNMLK", "M": "XWUTRQPNJLK"}
    return letters[text[0]][total % 11] == text[-1]


def _pesel(n: str) -> bool:
    return (
        len(n) == 11
        and (10 - _weighted(n, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3)) % 10) % 10 == int(n[10])
        and _month(n[2:4], 20)
    )


def _month(text: str, step: int = 0) -> bool:
    month = int(text)
    return 1 <= (month % step if step else month) <= 12


def _tr_id(n: str) -> bool:
    if len(n) != 11 or n[0] == "0":
        return False
    d = [int(c) for c in n]
    tenth = (sum(d[0:9:2]) * 7 - sum(d[1:8:2])) % 10
    return tenth == d[9] and sum(d[:10]) % 10 == d[10]


def _aadhaar(n: str) -> bool:
    if len(n) != 12 or n[0] in "01":
        return False
    check = 0
    for i, c in enumerate(reversed(n)):
        check = _VERHOEFF_D[check][_VERHOEFF_P[i % 8][int(c)]]
    return check == 0


def _digit_rows(*rows: str) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(map(int, row)) for row in rows)


# The dihedral group and the permutations of Verhoeff's scheme.
_VERHOEFF_D = _digit_rows(
    "0123456789", "1234067895", "2340178956", "3401289567", "4012395678", "5987604321", "6598710432", "7659821043",
    "8765932104", "9876543210",
)  # fmt: skip
_VERHOEFF_P = _digit_rows(
    "0123456789", "1576283094", "5803796142", "8916043527", "9453126870", "4286573901", "2793806415", "7046913258",
)  # fmt: skip


def _kr_rrn(n: str) -> bool:
    return (
        len(n) == 13
        and (11 - _weighted(n, (2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5)) % 11) % 10 == int(n[12])
        and _month(n[2:4])
    )


def _th_id(n: str) -> bool:
    return len(n) == 13 and n[0] != "0" and (11 - _weighted(n, tuple(range(13, 1, -1))) % 11) % 10 == int(n[12])


def _de_tax(n: str) -> bool:
    if len(n) != 11 or n[0] == "0":
        return False
    product = 10
    for c in n[:10]:
        total = (int(c) + product) % 10 or 10
        product = total * 2 % 11
    return (11 - product) % 10 == int(n[10]) and len(set(n[:10])) in {8, 9}


def _se_id(n: str) -> bool:
    n = n[-10:] if len(n) in {10, 12} else ""
    return bool(n) and _month(n[2:4]) and 1 <= int(n[4:6]) % 60 <= 31 and _luhn_sum(n) % 10 == 0


def _ca_sin(n: str) -> bool:
    return len(n) == 9 and n[0] not in "08" and _luhn_sum(n) % 10 == 0


def _au_tfn(n: str) -> bool:
    return len(n) == 9 and _weighted(n, (1, 4, 3, 7, 5, 8, 6, 9, 10)) % 11 == 0


def _au_medicare(n: str) -> bool:
    return len(n) in {10, 11} and n[0] in "23456" and _weighted(n, (1, 3, 7, 9, 1, 3, 7, 9)) % 10 == int(n[8])


def _uk_nhs(n: str) -> bool:
    return len(n) == 10 and (11 - _weighted(n, (10, 9, 8, 7, 6, 5, 4, 3, 2)) % 11) % 11 == int(n[9])


def _za_id(n: str) -> bool:
    return len(n) == 13 and _month(n[2:4]) and 1 <= int(n[4:6]) <= 31 and n[10] in "012" and _luhn_sum(n) % 10 == 0


def _br_cpf(n: str) -> bool:
    if len(n) != 11 or len(set(n)) == 1:
        return False
    return all(_weighted(n, tuple(range(k + 1, 1, -1))) * 10 % 11 % 10 == int(n[k]) for k in (9, 10))


def _fr_nir(n: str) -> bool:
    return len(n) == 15 and n[0] in "12" and int(n[:13]) % 97 == 97 - int(n[13:])


def _nl_bsn(n: str) -> bool:
    return len(n) == 9 and _weighted(n, (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0


def _il_id(n: str) -> bool:
    return len(n) == 9 and _luhn_sum(n) % 10 == 0


#: National numbers: the words that name one, and its checksum.
_NATIONAL = (
    (r"pesel", _pesel),
    (r"t\.?c\.?\s*(?:kimlik|no)|kimlik|turkish|tckn", _tr_id),
    (r"aadha+r|uidai", _aadhaar),
    (r"\brrn\b|resident\s+registration|\uc8fc\ubbfc", _kr_rrn),
    (r"thai|tnin|national\s+id", _th_id),
    (r"steuer|tax\s+id|\btin\b|idnr", _de_tax),
    (r"person+ummer|samordning|swedish", _se_id),
    (r"\bsin\b|social\s+insurance", _ca_sin),
    (r"\btfn\b|tax\s+file", _au_tfn),
    (r"medicare", _au_medicare),
    (r"\bnhs\b", _uk_nhs),
    (r"south\s+africa|\bza\b|rsa\s+id", _za_id),
    (r"\bcpf\b", _br_cpf),
    (r"\bnir\b|s\u00e9cu|insee|num[e\u00e9]ro\s+de\s+s", _fr_nir),
    (r"\bbsn\b|burgerservice", _nl_bsn),
    (r"teudat|israeli\s+id", _il_id),
)
_NAMED = re.compile("|".join(words for words, _ in _NATIONAL))
_SURE = frozenset((_pesel, _tr_id, _kr_rrn, _de_tax, _th_id, _za_id, _fr_nir, _se_id, _aadhaar, _au_medicare))


def national_id(match: Match[str]) -> bool:
    """A national number with a right checksum, named nearby; or one of the longer ones alone in the text."""
    alone = len(match.string.strip()) <= len(match.group()) + 2
    near = "" if alone else match.string[max(0, match.start() - 60) : match.end() + 30].lower()
    if not (alone or _NAMED.search(near)):
        return False
    number = digits_of(match.group())
    return any(((alone and test in _SURE) or re.search(words, near)) and test(number) for words, test in _NATIONAL)
