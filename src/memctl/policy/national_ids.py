# ruff: noqa: E501 - a row is read as a row
"""National numbers: by which words one is known, how its digits look, and what its check digits must be.

The schemes are those that each country's register or tax office publishes; python-stdnum's documentation names them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, NamedTuple

#: The length of an IBAN by country (ISO 13616).
IBAN_LENGTHS = {
    country: size
    for size, countries in {
        15: "NO", 16: "BE", 18: "DK FI FK FO GL NL SD", 19: "MK SI", 20: "AT BA EE KZ LT LU XK MN", 21: "CH CR HR LI LV",
        22: "BG BH DE GB GE IE ME RS VA", 23: "AE GI IL IQ OM SO TL", 24: "AD CZ DZ ES MD PK RO SA SE SK TN VG",
        25: "LY PT ST", 26: "IS TR", 27: "BI DJ FR GR IT MC MR SM", 28: "AL AZ BF BY CY DO GT HN HU LB NI PL SV",
        29: "BR EG PS QA UA", 30: "JO KW MU YE", 31: "MT SC", 32: "LC", 33: "RU",
    }.items()
    for country in countries.split()
}  # fmt: skip


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
