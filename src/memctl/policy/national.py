"""Checksums of national numbers, each with the words that name it. The tests take the digits alone."""

from __future__ import annotations

#: The length of an IBAN by country (ISO 13616).
IBAN_LENGTHS = {
    country: size
    for size, countries in {
        15: "NO", 16: "BE", 18: "DK FI FO GL NL SD", 19: "MK SI", 20: "AT BA EE KZ LT LU XK MN", 21: "CH CR HR LI LV",
        22: "BG BH DE GB GE IE ME RS", 23: "AE GI IL IQ OM SO TL", 24: "AD CZ DZ ES MD PK RO SA SE SK TN VG",
        25: "LY PT ST", 26: "IS TR", 27: "BI BY DJ FR GR IT MC MR SM", 28: "AL AZ CY DO GT HU LB NI PL SV BY",
        29: "BR EG PS QA UA", 30: "JO KW MU YE", 31: "MT SC", 32: "LC", 33: "RU",
    }.items()
    for country in countries.split()
}  # fmt: skip
IBAN_LENGTHS |= {"BY": 28, "QA": 29, "FK": 18, "BF": 28, "HN": 28, "NI": 28, "VA": 22}


def luhn_sum(number: str) -> int:
    """The sum that Luhn's scheme makes divisible by ten."""
    doubled = ("0123456789", "0246813579")
    return sum(int(doubled[n % 2][int(c)]) for n, c in enumerate(reversed(number)))


def weighted(number: str, weights: tuple[int, ...]) -> int:
    """The sum of the digits, each times its weight; what has no weight does not count."""
    return sum(int(c) * w for c, w in zip(number, weights, strict=False))


def _pesel(n: str) -> bool:
    return (
        len(n) == 11
        and (10 - weighted(n, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3)) % 10) % 10 == int(n[10])
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
        and (11 - weighted(n, (2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5)) % 11) % 10 == int(n[12])
        and _month(n[2:4])
    )


def _th_id(n: str) -> bool:
    return len(n) == 13 and n[0] != "0" and (11 - weighted(n, tuple(range(13, 1, -1))) % 11) % 10 == int(n[12])


def _de_tax(n: str) -> bool:
    return len(n) == 11 and n[0] != "0" and _mod_11_10(n) and len(set(n[:10])) in {8, 9}


def _se_id(n: str) -> bool:
    n = n[-10:] if len(n) in {10, 12} else ""
    return bool(n) and _month(n[2:4]) and 1 <= int(n[4:6]) % 60 <= 31 and luhn_sum(n) % 10 == 0


def _ca_sin(n: str) -> bool:
    return len(n) == 9 and n[0] not in "08" and luhn_sum(n) % 10 == 0


def _au_tfn(n: str) -> bool:
    return len(n) == 9 and weighted(n, (1, 4, 3, 7, 5, 8, 6, 9, 10)) % 11 == 0


def _au_medicare(n: str) -> bool:
    return len(n) in {10, 11} and n[0] in "23456" and weighted(n, (1, 3, 7, 9, 1, 3, 7, 9)) % 10 == int(n[8])


def _au_medicare_alone(n: str) -> bool:
    return len(n) == 10 and _au_medicare(n)


def _uk_nhs(n: str) -> bool:
    return len(n) == 10 and (11 - weighted(n, (10, 9, 8, 7, 6, 5, 4, 3, 2)) % 11) % 11 == int(n[9])


def _za_id(n: str) -> bool:
    return len(n) == 13 and _month(n[2:4]) and 1 <= int(n[4:6]) <= 31 and n[10] in "012" and luhn_sum(n) % 10 == 0


def _br_cpf(n: str) -> bool:
    if len(n) != 11 or len(set(n)) == 1:
        return False
    return all(weighted(n, tuple(range(k + 1, 1, -1))) * 10 % 11 % 10 == int(n[k]) for k in (9, 10))


def _fr_nir(n: str) -> bool:
    return len(n) == 15 and n[0] in "12" and int(n[:13]) % 97 == 97 - int(n[13:])


def _nl_bsn(n: str) -> bool:
    return len(n) == 9 and weighted(n, (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0


def _il_id(n: str) -> bool:
    return len(n) == 9 and luhn_sum(n) % 10 == 0


def _mod_11_10(n: str) -> bool:
    product = 10
    for c in n[:-1]:
        product = ((int(c) + product) % 10 or 10) * 2 % 11
    return (11 - product) % 10 == int(n[-1])


def _hr_oib(n: str) -> bool:
    return len(n) == 11 and _mod_11_10(n)


def _br_cnpj(n: str) -> bool:
    weights = (6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2)
    return (
        len(n) == 14
        and len(set(n)) > 1
        and all((11 - weighted(n, weights[13 - k :]) % 11) % 11 % 10 == int(n[k]) for k in (12, 13))
    )


def _pt_nif(n: str) -> bool:
    return (
        len(n) == 9
        and n[0] in "1235689"
        and (11 - weighted(n[:8], (9, 8, 7, 6, 5, 4, 3, 2)) % 11) % 11 % 10 == int(n[8])
    )


def _ar_cuit(n: str) -> bool:
    return len(n) == 11 and n[0] in "23" and (11 - weighted(n, (5, 4, 3, 2, 7, 6, 5, 4, 3, 2)) % 11) % 11 == int(n[10])


def _be_nn(n: str) -> bool:
    return len(n) == 11 and int(n[9:]) in {97 - int(n[:9]) % 97, 97 - int("2" + n[:9]) % 97}


def _ro_cnp(n: str) -> bool:
    rest = weighted(n, (2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9)) % 11
    return len(n) == 13 and _month(n[3:5]) and (1 if rest == 10 else rest) == int(n[12])


def _bg_egn(n: str) -> bool:
    return len(n) == 10 and _month(n[2:4], 20) and weighted(n, (2, 4, 8, 5, 10, 9, 7, 3, 6)) % 11 % 10 == int(n[9])


def _cz_rc(n: str) -> bool:
    return len(n) == 10 and int(n) % 11 == 0 and _month(f"{int(n[2:4]) % 50 % 20:02d}")


def _ee_id(n: str) -> bool:
    if len(n) != 11 or not _month(n[3:5]):
        return False
    first = weighted(n, (1, 2, 3, 4, 5, 6, 7, 8, 9, 1)) % 11
    return (first if first < 10 else weighted(n, (3, 4, 5, 6, 7, 8, 9, 1, 2, 3)) % 11 % 10) == int(n[10])


def _no_id(n: str) -> bool:
    return (
        len(n) == 11
        and weighted(n, (3, 7, 6, 1, 8, 9, 4, 5, 2, 1)) % 11 == 0
        and weighted(n, (5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1)) % 11 == 0
    )


def _dk_cpr(n: str) -> bool:
    return (
        len(n) == 10
        and _month(n[2:4])
        and 1 <= int(n[:2]) <= 31
        and weighted(n, (4, 3, 2, 7, 6, 5, 4, 3, 2, 1)) % 11 == 0
    )


def _ch_ahv(n: str) -> bool:
    return len(n) == 13 and n.startswith("756") and weighted(n, (1, 3) * 6 + (1,)) % 10 == 0


def _luhn_11(n: str) -> bool:
    return len(n) == 11 and luhn_sum(n) % 10 == 0


def _jp_number(n: str) -> bool:
    rest = weighted(n, (6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2)) % 11
    return len(n) == 12 and (0 if rest <= 1 else 11 - rest) == int(n[11])


def _us_npi(n: str) -> bool:
    return len(n) == 10 and n[0] in "12" and luhn_sum("80840" + n) % 10 == 0


#: National numbers: the words that name one, and its checksum.
NATIONAL = (
    (r"pesel", _pesel),
    (r"t\.?c\.?\s*(?:kimlik|no)|kimlik|turkish|tckn", _tr_id),
    (r"aadha+r|uidai", _aadhaar),
    (r"\brrn\b|resident\s+registration|\uc8fc\ubbfc|\uc138\uae08", _kr_rrn),
    (r"thai|tnin|national\s+id", _th_id),
    (r"steuer|tax\s+id|\btin\b|idnr", _de_tax),
    (r"person+ummer|samordning|swedish", _se_id),
    (r"\bsin\b|social\s+insurance|\bnas\b", _ca_sin),
    (r"\btfn\b|tax\s+file", _au_tfn),
    (r"medicare", _au_medicare),
    (r"\bnhs\b", _uk_nhs),
    (r"south\s+africa|\bza\b|rsa\s+id|\bsa\s+id", _za_id),
    (r"\bcpf\b", _br_cpf),
    (r"\bcnpj\b", _br_cnpj),
    (r"\bnir\b|s\u00e9cu|insee|num[e\u00e9]ro\s+de\s+s", _fr_nir),
    (r"\bbsn\b|burgerservice", _nl_bsn),
    (r"teudat|israeli\s+id", _il_id),
    (r"\bnif\b|contribuinte", _pt_nif),
    (r"\bcui[tl]\b", _ar_cuit),
    (r"rijksregister|registre\s+national|\binsz\b|\bniss\b", _be_nn),
    (r"\bcnp\b", _ro_cnp),
    (r"\begn\b", _bg_egn),
    (r"rodn[e\u00e9]", _cz_rc),
    (r"isikukood|asmens\s+kodas", _ee_id),
    (r"f\u00f8dselsn|fodselsn|personnummer", _no_id),
    (r"\bcpr\b", _dk_cpr),
    (r"\bahv\b|\bavs\b|\b756\.", _ch_ahv),
    (r"\boib\b", _hr_oib),
    (r"partita\s+iva|p\.\s?iva|\bamka\b", _luhn_11),
    (r"my\s?number|\u30de\u30a4\u30ca\u30f3\u30d0\u30fc", _jp_number),
    (r"\bnpi\b", _us_npi),
)
#: The tests so strict that a number alone in a text is believed.
SURE = (
    _pesel,
    _tr_id,
    _kr_rrn,
    _de_tax,
    _th_id,
    _za_id,
    _fr_nir,
    _se_id,
    _aadhaar,
    _au_medicare_alone,
    _br_cnpj,
    _no_id,
    _ch_ahv,
    _be_nn,
)
#: Those of nine digits that are believed alone when they stand in groups of three.
GROUPED = (_ca_sin, _au_tfn)
