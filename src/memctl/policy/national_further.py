"""Checksums of further national numbers, each with the words that name it. The tests take the digits alone.

The schemes are those that each country's register or tax office publishes; python-stdnum's documentation names them.
"""

from __future__ import annotations

from collections.abc import Callable

from memctl.policy.national import luhn_sum, weighted


def _month(text: str) -> bool:
    return 1 <= int(text) <= 12


def _is_kennitala(n: str) -> bool:
    return len(n) == 10 and (11 - weighted(n, (3, 2, 7, 6, 5, 4, 3, 2)) % 11) % 11 == int(n[8]) and _month(n[2:4])


def _jmbg(n: str) -> bool:
    rest = 11 - weighted(n, (7, 6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2)) % 11
    return len(n) == 13 and _month(n[2:4]) and (0 if rest > 9 else rest) == int(n[12])


def _lv_code(n: str) -> bool:
    return len(n) == 11 and (1 + weighted(n, (10, 5, 8, 4, 2, 1, 6, 3, 7, 9))) % 11 % 10 == int(n[10])


def _cn_id(n: str) -> bool:
    rest = weighted(n, (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)) % 11
    if len(n) not in {17, 18} or not _month(n[10:12]):
        return False
    return rest == 2 if len(n) == 17 else "10X98765432"[rest] == n[17]


def _ru_inn(n: str) -> bool:
    if len(n) == 10:
        return weighted(n, (2, 4, 10, 3, 5, 9, 4, 6, 8)) % 11 % 10 == int(n[9])
    first, second = (7, 2, 4, 10, 3, 5, 9, 4, 6, 8), (3, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8)
    return (
        len(n) == 12
        and weighted(n, first) % 11 % 10 == int(n[10])
        and weighted(n, second) % 11 % 10 == int(n[11])
    )  # fmt: skip


def _ru_snils(n: str) -> bool:
    return len(n) == 11 and weighted(n, (9, 8, 7, 6, 5, 4, 3, 2, 1)) % 101 % 100 == int(n[9:])


def _ua_code(n: str) -> bool:
    return len(n) == 10 and weighted(n, (-1, 5, 7, 9, 4, 6, 10, 5, 7)) % 11 % 10 == int(n[9])


def _at_svnr(n: str) -> bool:
    return len(n) == 10 and n[0] != "0" and weighted(n, (3, 7, 9, 0, 5, 8, 4, 2, 1, 6)) % 11 == int(n[3])


def _hu_taj(n: str) -> bool:
    return len(n) == 9 and weighted(n, (3, 7, 3, 7, 3, 7, 3, 7)) % 10 == int(n[8])


def _hu_tax(n: str) -> bool:
    return len(n) == 10 and n[0] == "8" and weighted(n, (1, 2, 3, 4, 5, 6, 7, 8, 9)) % 11 == int(n[9])


def _pl_nip(n: str) -> bool:
    return len(n) == 10 and weighted(n, (6, 5, 7, 2, 3, 4, 5, 6, 7)) % 11 == int(n[9])


def _pl_regon(n: str) -> bool:
    return len(n) == 9 and weighted(n, (8, 9, 2, 3, 4, 5, 6, 7)) % 11 % 10 == int(n[8])


def _uk_utr(n: str) -> bool:
    return len(n) == 10 and "21987654321"[weighted(n[1:], (6, 7, 8, 9, 10, 5, 4, 3, 2)) % 11] == n[0]


def _au_abn(n: str) -> bool:
    weights = (10, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19)
    return len(n) == 11 and n[0] != "0" and weighted(f"{int(n) - 10**10:011d}", weights) % 89 == 0


def _nz_ird(n: str) -> bool:
    n = n.zfill(9)
    for weights in ((3, 2, 7, 6, 5, 4, 3, 2), (7, 4, 3, 2, 5, 2, 7, 6)):
        check = -weighted(n, weights) % 11
        if len(n) == 9 and check < 10:
            return check == int(n[8])
    return False


def _luhn_of(*sizes: int) -> Callable[[str], bool]:
    return lambda n: len(n) in sizes and luhn_sum(n) % 10 == 0


def _co_nit(n: str) -> bool:
    primes = (3, 7, 13, 17, 19, 23, 29, 37, 41, 43, 47, 53)
    return 9 <= len(n) <= 11 and "01987654321"[weighted(n[-2::-1], primes) % 11] == n[-1]


def _uy_ci(n: str) -> bool:
    return len(n) == 8 and -weighted(n, (2, 9, 8, 7, 6, 3, 4)) % 10 == int(n[7])


def _gr_afm(n: str) -> bool:
    return len(n) == 9 and weighted(n, (256, 128, 64, 32, 16, 8, 4, 2)) % 11 % 10 == int(n[8])


def _vn_mst(n: str) -> bool:
    return len(n) == 10 and (10 - weighted(n, (31, 29, 23, 19, 17, 13, 7, 5, 3)) % 11) == int(n[9])


def _pe_ruc(n: str) -> bool:
    return len(n) == 11 and (11 - weighted(n, (5, 4, 3, 2, 7, 6, 5, 4, 3, 2)) % 11) % 10 == int(n[10])


def _cl_rut(n: str) -> bool:
    """The digits of a RUT, whose check may be a K that is none of them."""
    weights = (2, 3, 4, 5, 6, 7, 2, 3)
    return len(n) in {8, 9} and (11 - weighted(n[-2::-1], weights) % 11) % 11 == int(n[-1])


def _pk_cnic(n: str) -> bool:
    return len(n) == 13 and n[0] in "1234567"


def _my_nric(n: str) -> bool:
    return len(n) == 12 and _month(n[2:4]) and 1 <= int(n[4:6]) <= 31


def _id_nik(n: str) -> bool:
    return len(n) == 16 and _month(n[8:10]) and 1 <= int(n[6:8]) % 40 <= 31


#: As `national.NATIONAL`: the words that name a number, and its checksum.
FURTHER = (
    (r"kennitala", _is_kennitala),
    (r"jmbg|em[s\u0161]o\b|\u0458\u043c\u0431\u0433|mati\u010dni", _jmbg),
    (r"personas\s+kod", _lv_code),
    (r"\u8eab\u4efd\u8bc1|\u8eab\u4efd\u8b49|resident\s+identity|chinese\s+id", _cn_id),
    (r"\binn\b|\u0438\u043d\u043d\b", _ru_inn),
    (r"\bsnils\b|\u0441\u043d\u0438\u043b\u0441", _ru_snils),
    (
        r"\brntrc\b|\u0440\u043d\u043e\u043a\u043f\u043f|\u0456\u043f\u043d\b|\u0456\u0434\u0435\u043d\u0442\u0438\u0444\u0456\u043a\u0430\u0446\u0456\u0439\u043d",
        _ua_code,
    ),
    (r"svnr|sozialversicherungsn|\bsv-?nummer", _at_svnr),
    (r"\btaj\b", _hu_taj),
    (r"ad\xf3azonos\xedt\xf3", _hu_tax),
    (r"\bnip\b", _pl_nip),
    (r"\bregon\b", _pl_regon),
    (r"\butr\b|unique\s+taxpayer", _uk_utr),
    (r"\babn\b|australian\s+business", _au_abn),
    (r"\bird\b", _nz_ird),
    (r"c[e\xe9]dula|\bc\.?i\.?\b", _luhn_of(10, 11)),
    (r"\bnit\b", _co_nit),
    (r"c[e\xe9]dula|uruguay", _uy_ci),
    (r"\bafm\b|\u03b1\u03c6\u03bc|\u03b1\.\u03c6\.\u03bc", _gr_afm),
    (r"\bmst\b|m\xe3\s+s\u1ed1\s+thu\u1ebf", _vn_mst),
    (r"\bruc\b", _pe_ruc),
    (r"\brut\b|\brun\b", _cl_rut),
    (r"\bcnic\b", _pk_cnic),
    (r"\bnric\b|mykad", _my_nric),
    (r"\bnik\b|\bktp\b", _id_nik),
)
