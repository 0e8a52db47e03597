# ruff: noqa: E501 - a row is read as a row
"""Personal data: mail addresses, telephones, cards, accounts, national numbers. Checksums and context decide."""

from __future__ import annotations

from memctl.policy.rule import Rule


def _row(id: str, severity: int, keywords: str, pattern: str, check: str, example: str, counter: str) -> Rule:
    return Rule(id, "pii", "quarantine", severity, keywords, pattern, check, example, counter, 100)


PII = (
    _row("us-ssn", 3, "#num", r"(?<![\w.+-])(\d{3}([-. ])\d{2}\2\d{4})(?![\w-]|\.\d)", "ssn_shaped",
         "SSN 536-22-8745", "build 000-12-3456"),
    _row("us-itin", 3, "#num", r"(?<![\w.-])9\d{2}[- ](?:5\d|6[0-5]|7\d|8[0-8]|9[0-24-9])[- ]\d{4}(?![\w-])", "phone",
         "ITIN 912-70-1234", "912-20-1234"),
    _row("us-ssn-named", 3, "ssn social itin + #num", r"(?i)(?:ssn|social\s+security(?:\s+(?:number|no\.?|#))?|itin)\W{0,3}(?:is|number|no|:|#)?\W{0,3}(\d{9})(?!\d)",
         "ssn", "my SSN is 536228745", "ssn: 000000000"),
    _row("payment-card", 3, "#num", r"(?<![\w.+/=-])((?:4\d{3}|5[0-8]\d{2}|6\d{3}|2[2-7]\d{2}|35\d{2})([ -]?)\d{4}\2\d{4}\2\d{1,7}|3[47]\d{2}([ -]?)\d{6}\3\d{5}|3[068]\d{2}([ -]?)\d{6}\4\d{4}|(?:4|5[0-8]|6\d)\d{11,17}|1800\d{11}|2131\d{11})(?![\w/=+]|-\w|\.\d)",
         "card", "card 4111 1111 1111 1111", "order 4111 1111 1111 1112"),
    _row("iban", 3, "#num", r"(?<![A-Za-z0-9])([A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]{4}){2,7}(?:[ -]?[A-Z0-9]{1,4})?)(?![A-Za-z0-9])", "iban",
         "IBAN DE89 3704 0044 0532 0130 00", "IBAN DE89 3704 0044 0532 0130 01"),
    _row("email", 1, "#@", r"(?<![A-Za-z0-9_.+/@-])[A-Za-z0-9_.+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,6}[A-Za-z]{2,24}(?![A-Za-z0-9_@(:-])", "mail",
         "write to jane.miller@corp-mail.io", "git@github.com"),
    _row("phone-international", 2, "#num", r"(?<![A-Za-z0-9_+.(/=:-])(?:\+|00)[1-9]\d{0,3}[ .()/-]{0,3}\d(?:[ .()/-]{0,2}\d){5,13}(?![A-Za-z0-9_+=/]|[.-]\d)", "phone_plus",
         "call +44 20 7946 0958", "1700000000"),
    _row("phone-us", 2, "#num", r"(?<![A-Za-z0-9_+.(/=:-])(?:\(\d{3}\) ?|\d{3}[-. ])[2-9]\d{2}[-. ]\d{4}(?![A-Za-z0-9_=/]|[.-]\d)", "phone_us",
         "phone (415) 555-0132", "2024-11-20"),
    _row("phone-named", 2, "#num", r"(?<![A-Za-z0-9_+.(/=:@#-])\(?\d(?:[ .()/-]{0,2}\d){5,14}(?![A-Za-z0-9_=/]|[.-]\d)", "phone_named",
         "How can we reach you? You can call 3312 3456", "order 1700000000 shipped"),
    _row("es-id", 2, "/[xyz]?\\d{7,8}[a-z]/ nif nie dni", r"(?<![\w-])(?:[XYZxyz]-?\d{7}|\d{7,8})-?[A-Za-z](?![\w-])", "es_id", "NIF 12345678Z", "12345678A"),
    _row("national-id", 2, "#num", r"(?<![\w.+/=-])(?:[A-Z]{1,3}-?)?\d(?:[ ./-]?\d){7,15}(?:[-+ ]?[A-Z\d]{1,4})?(?![\w/=+-])", "national_id",
         "PESEL 44051401359", "order 44051401358"),
    _row("it-fiscal-code", 2, "/[a-z]{6}\\d\\d[a-z]\\d\\d[a-z]\\d{3}[a-z]/", r"(?<!\w)[A-Za-z]{6}\d{2}[A-EHLMPR-Ta-ehlmpr-t]\d{2}[A-Za-z]\d{3}[A-Za-z](?!\w)", "",
         "codice fiscale RSSMRA85T10A562S", "ABCDEF12G34H567I"),
    _row("fi-id", 2, "/\\d{6}[a-fu-y]\\d{3}[0-9a-y]/ hetu", r"(?<![\w-])\d{6}[-+ABCDEFYXWVU]\d{3}[0-9A-FHJ-NPR-Y](?![\w-])", "fi_id", "010516B903X", "010516B903A"),
    _row("sg-id", 2, "/[stfgm]\\d{7}[a-z]/", r"(?<!\w)[STFGMstfgm]\d{7}[A-Za-z](?!\w)", "sg_id", "G1122144R", "G1122144A"),
)  # fmt: skip
