# ruff: noqa: E501 - a row is read as a row
"""Personal data: mail addresses, telephones, cards, accounts, national numbers. Checksums and context decide."""

from __future__ import annotations

from memctl.policy.rule import Rule

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


_NATIONAL = r"(?:[A-Z]{1,3}-?)?\d(?:[ ./-]?\d){7,15}(?:[-+ ]?[A-Z\d]{1,4})?"
_NATIONAL_WORDS = (
    "pesel kimlik tc turkish tckn aadhaar aadhar uidai rrn resident thai tnin national steuer tax tin idnr personnummer personummer "
    "swedish samordningsnummer sin nas insurance tfn medicare nhs za african africa rsa sa cpf cnpj nir s\u00e9cu insee num\u00e9ro "
    "bsn burgerservicenummer teudat israeli nif contribuinte cuit cuil rijksregisternummer registre insz niss cnp egn "
    "rodn\u00e9 isikukood asmens f\u00f8dselsnummer fodselsnummer cpr ahv avs 756 oib iva amka my mynumber \u30de\u30a4\u30ca\u30f3\u30d0\u30fc npi "
    "\uc8fc\ubbfc\ub4f1\ub85d\ubc88\ud638 \uc8fc\ubbfc\ubc88\ud638 \uc138\uae08 kennitala jmbg emso em\u0161o mati\u010dni personas inn \u0438\u043d\u043d snils \u0441\u043d\u0438\u043b\u0441 "
    "rntrc \u0440\u043d\u043e\u043a\u043f\u043f \u0456\u043f\u043d svnr sozialversicherungs* taj ad\xf3azonos\xedt\xf3 nip regon utr taxpayer abn business ird c\xe9dula cedula nit "
    "uruguay afm \u03b1\u03c6\u03bc mst thu\u1ebf ruc rut run cnic nric mykad nik ktp chinese identity ci #cjk"
)
#: Words beside which a bare number is a telephone; in other scripts and in a text that is only a number, none is asked.
_PHONE_WORDS = (
    "call called calling phone tel telephone mobile cell fax whatsapp sms text texted reach contact dial number registered messages "
    "answering desk office hotline ring cep gsm telefon* tel\u00e9fono portable handy celular movil m\u00f3vil "
    "\u0442\u0435\u043b\u0435\u0444\u043e\u043d* #cjk #short"
)

_IBAN_COUNTRIES = "|".join(sorted(country.lower() for country in IBAN_LENGTHS))

PII = (
    Rule("us-ssn", "pii", "quarantine", 3, "#n324",
         r"(?<![\w.+-])(\d{3}([-. ])\d{2}\2\d{4})(?![\w-]|\.\d)",
         "ssn_shaped", "SSN 536-22-8745", "build 000-12-3456", reach=8, before=5),
    Rule("us-itin", "pii", "quarantine", 3, "#n324",
         r"(?<![\w.-])9\d{2}[- ](?:5\d|6[0-5]|7\d|8[0-8]|9[0-24-9])[- ]?\d{4}(?![\w-])",
         "phone", "ITIN 912-70-1234", "912-20-1234", reach=8, before=5),
    Rule("us-ssn-named", "pii", "quarantine", 3, "ssn social itin tax taxpayer taxid \uc0ac\ud68c\ubcf4\uc7a5\ubc88\ud638* \ub4f1\ub85d \uc2dd\ubcc4 + #num9",
         r"(?i)(?:ssn|social\s+security(?:\s+(?:number|no\.?|#))?|itin|tax(?:payer)?\s?(?:registration\s|identification\s)?(?:id|number)|(?:\uc138\uae08|\ub0a9\uc138\uc790)\s(?:\ub4f1\ub85d|\uc2dd\ubcc4)\s(?:id|\ubc88\ud638)|\uc0ac\ud68c\ubcf4\uc7a5\ubc88\ud638)\W{0,3}(?:is|number|no|:|#|\ub294)?\W{0,3}(\d{9}|\d{3}[ -]?\d{2}[ -]?\d{4})(?!\d)",
         "ssn", "my SSN is 536228745", "ssn: 000000000", reach=100),
    Rule("payment-card", "pii", "quarantine", 3, "#num12",
         r"(?<![\w.+/=-])((?:4\d{3}|5[0-8]\d{2}|6\d{3}|2[2-7]\d{2}|35\d{2})([ .-]?)\d{4}\2\d{4}\2\d{1,7}|3[47]\d{2}([ -]?)\d{6}\3\d{5}|3[47]\d{2}-\d{4}-\d{4}-\d{3}|3[068]\d{2}([ -]?)\d{6}\4\d{4}|(?:4|5[0-8]|6\d)\d{11,17}|1800\d{11}|2131\d{11}|1\d{14})(?![\w/=+]|-\w|\.\d)",
         "card", "card 4111 1111 1111 1111", "order 4111 1111 1111 1112", reach=8, before=5),
    Rule("iban", "pii", "quarantine", 3, f"/(?:{_IBAN_COUNTRIES})\\d\\d(?:(?:[a-z0-9]{{1,4}}){{0,2}}|[a-z0-9]{{8,32}})/ iban",
         r"(?<![A-Za-z0-9])([A-Z]{2}[ .-]?\d{2}(?:[ .-]{0,2}[A-Z0-9]){11,30}|[a-z]{2}\d{2}(?:[ .-]?[a-z0-9]{4}){2,7}(?:[ .-]?[a-z0-9]{1,4})?)(?![A-Za-z0-9])",
         "iban", "IBAN DE89 3704 0044 0532 0130 00", "IBAN DE89 3704 0044 0532 0130 01", reach=100),
    Rule("email", "pii", "quarantine", 1, "#@",
         r"(?<![A-Za-z0-9_.+/@-])[A-Za-z0-9_.+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,6}[A-Za-z]{2,24}(?![A-Za-z0-9_@(:-])",
         "mail", "write to jane.miller@corp-mail.io", "git@github.com", reach=100),
    Rule("email-words", "pii", "quarantine", 1, "at + dot",
         r"(?i)(?<![\w.@])[a-z0-9][\w.+-]{1,63}\s?[\[({<]\s?at\s?[\])}>]\s?[a-z0-9][\w-]{1,62}(?:\s?[\[({<]\s?dot\s?[\])}>]\s?[a-z]{2,24}){1,3}(?!\w)",
         "", "write to jane.miller [at] corp-mail [dot] io", "look at the [dot] file", reach=100),
    Rule("phone-international", "pii", "quarantine", 2, "#num",
         r"(?<![A-Za-z0-9_+.(/=:-])(?:\+|00)[1-9]\d{0,3}[ .()/-]{0,3}\d(?:[ .()/-]{0,2}\d){5,13}(?![A-Za-z0-9_+=/]|[.-]\d)",
         "phone_plus", "call +44 20 7946 0958", "1700000000", reach=8, cue="+ 00", before=5),
    Rule("phone-us", "pii", "quarantine", 2, "#n334",
         r"(?<![A-Za-z0-9_+.(/=:-])(?:\(\d{3}\) ?|\d{3}[-. ])[2-9]\d{2}[-. ]\d{4}(?![A-Za-z0-9_=/]|[.-]\d)",
         "phone_us", "phone (415) 555-0132", "2024-11-20", reach=8, before=5),
    Rule("phone-named", "pii", "quarantine", 2, f"#num + {_PHONE_WORDS}",
         r"(?<![A-Za-z0-9_+.(/=:@#-])\(?\d(?:[ .()/-]{0,2}\d){5,14}(?![A-Za-z0-9_=/]|[.-]\d)",
         "phone_named", "How can we reach you? You can call 3312 3456", "order 1700000000 shipped", reach=8, before=5),
    Rule("es-id", "pii", "quarantine", 2, "/[xyz]?\\d{7,8}[a-z]/ nif nie dni",
         r"(?<![\w-])(?:[XYZxyz]-?\d{7}|\d{7,8})-?[A-Za-z](?![\w-])",
         "es_id", "NIF 12345678Z", "12345678A", reach=100),
    Rule("national-id", "pii", "quarantine", 2, f"#num + {_NATIONAL_WORDS}",
         rf"(?<![\w.+/=-]){_NATIONAL}(?![\w/=+-])",
         "national_id", "PESEL 44051401359", "order 44051401358", reach=8, before=5),
    Rule("national-id-alone", "pii", "quarantine", 2, "#num + #short",
         r"^\W{0,3}(\d(?:[ ./-]?\d){7,15})\W{0,3}$",
         "national_id_alone", "44051401359", "order 44051401359", reach=8, before=5),
    Rule("us-itin-alone", "pii", "quarantine", 2, "#num9 + #short",
         r"^\W{0,3}(9\d{2}(?:5\d|6[0-5]|7\d|8[0-8]|9[0-24-9])\d{4})\W{0,3}$",
         "phone", "911701234", "order 911701234", reach=8, before=5),
    Rule("es-id-dashed", "pii", "quarantine", 2, "#n8a",
         r"(?<![\w-])(?:[XYZxyz]-?\d{7}|\d{7,8})-[A-Za-z](?![\w-])",
         "es_id", "NIF 12345678-Z", "12345678-A", reach=8, before=5),
    Rule("kr-rrn", "pii", "quarantine", 3, "#n67",
         r"(?<![\w.-])\d{6}-[1-8]\d{6}(?![\w-])",
         "kr_rrn", "RRN 960121-1234567", "961321-1234567", reach=8, before=5),
    Rule("uk-nino", "pii", "quarantine", 2, "nino insurance + nino national",
         r"(?i)(?:\bnino\b|national\s+insurance)[^\n]{0,30}?(?<![a-z0-9])((?!bg|gb|nk|kn|nt|tn|zz)[a-ceghj-prtw-z][a-ceghj-nprtw-z] ?\d\d ?\d\d ?\d\d ?[a-d])(?![a-z0-9])",
         "", "my NINO is PR 12 36 12 C", "nino: NT 99 88 77 A", reach=100),
    Rule("uk-nino-alone", "pii", "quarantine", 2, "/[a-ceghj-prtw-z][a-ceghj-nprtw-z]\\d{6}[a-d]/ + #short",
         r"^\W{0,3}((?![Bb][Gg]|[Gg][Bb]|[NnTt][Nn]|[NnKk][Kk]|[Kk][Nn]|[Nn][Tt])[A-CEGHJ-PRTW-Za-ceghj-prtw-z][A-CEGHJ-NPRTW-Za-ceghj-nprtw-z]\d{6}[A-Da-d])\W{0,3}$",
         "", "TW987654A", "order TW987654A", reach=100),
    Rule("ssn-lettered", "pii", "quarantine", 2, "ssn social \uc0ac\ud68c\ubcf4\uc7a5\ubc88\ud638*",
         r"(?i)(?:\bssn\b|social\s+security(?:\s+(?:number|no\.?|#))?|\uc0ac\ud68c\ubcf4\uc7a5\ubc88\ud638)\W{0,3}(?:is|number|no|:|#|\ub294)?\W{0,3}([a-z]{2} ?\d\d ?\d\d ?\d\d ?[a-dt])(?![a-z0-9])",
         "", "social security number ZZ 61 06 26 T", "ssn-2 encryption", reach=100),
    Rule("us-mbi", "pii", "quarantine", 2, "mbi medicare patient beneficiary",
         r"(?<![\w-])[1-9][AC-HJKMNP-RT-Y][0-9AC-HJKMNP-RT-Y]\d-?[AC-HJKMNP-RT-Y][0-9AC-HJKMNP-RT-Y]\d-?[AC-HJKMNP-RT-Y]{2}\d\d(?![\w-])",
         "", "Medicare 1EG4-TE5-MK73", "patient 1234-567-8901", reach=100),
    Rule("it-fiscal-code", "pii", "quarantine", 2, "/[a-z]{6}\\d\\d[a-z]\\d\\d[a-z]\\d{3}[a-z]/",
         r"(?<![A-Za-z0-9_])[A-Za-z]{6}\d{2}[A-EHLMPR-Ta-ehlmpr-t]\d{2}[A-Za-z]\d{3}[A-Za-z](?![A-Za-z0-9_])",
         "", "codice fiscale RSSMRA85T10A562S", "ABCDEF12G34H567I", reach=100),
    Rule("fi-id", "pii", "quarantine", 2, "/\\d{6}[a-fu-y]\\d{3}[0-9a-y]/",
         r"(?<![\w-])\d{6}[ABCDEFYXWVU]\d{3}[0-9A-FHJ-NPR-Y](?![\w-])",
         "fi_id", "010516B903X", "010516B903A", reach=100),
    Rule("fi-id-dashed", "pii", "quarantine", 2, "#n63",
         r"(?<![\w-])\d{6}[-+]\d{3}[0-9A-FHJ-NPR-Y](?![\w-])",
         "fi_id", "131052-308T", "131052-308A", reach=8, before=5),
    Rule("sg-id", "pii", "quarantine", 2, "/[stfgm]\\d{7}[a-z]/",
         r"(?<!\w)[STFGMstfgm]\d{7}[A-Za-z](?!\w)",
         "sg_id", "G1122144R", "G1122144A", reach=100),
)  # fmt: skip
