# ruff: noqa: E501, RUF001 - a row is read as a row
"""Credentials as people write them down: a label in many languages, something that says "is", and a value that can be one.

The checks have the last word on the value (`checks_credentials`): code, names, words, units and placeholders are none.
"""

from __future__ import annotations

from memctl.policy.rule import Rule

#: What a password is called. A label of several words stands here by its last one, at which patterns are tried.
_LABEL = (
    r"passw(?:or[dt]|ord|d)s?|passcode|passphrase|password[s]?|pwd|pw|pass|"  # English, French "mot de passe" below
    r"passwort[es]?|kennwort|zugangscode|zugangsschl\xfcssel|passe|mdp|contrase\xf1a|clave|(?<=d')ordine|senha|wachtwoord|has\u0142o|"
    r"\u043f\u0430\u0440\u043e\u043b[\u044c\u044f]|\u015fifre(?:si)?|parola(?:s\u0131)?|l\xf6senord(?:et)?|kh\u1ea9u|sandi(?:nya)?|\u03ba\u03c9\u03b4\u03b9\u03ba\u03cc\u03c2|\u0627\u0644\u0645\u0631\u0648\u0631|\u0627\u0644\u0633\u0631|\u0639\u0628\u0648\u0631"
)
_LABEL_WORDS = (
    "*passw* passcode passphrase pwd pw pass passwort kennwort zugangscode zugangsschl\xfcssel passe mdp contrase\xf1a contrasena clave ordine senha "
    "wachtwoord has\u0142o haslo \u043f\u0430\u0440\u043e\u043b\u044c \u043f\u0430\u0440\u043e\u043b\u044f \u015fifre \u015fifresi parola parolas\u0131 l\xf6senord l\xf6senordet losenord kh\u1ea9u sandi sandinya \u03ba\u03c9\u03b4\u03b9\u03ba\u03cc\u03c2 "
    "\u0627\u0644\u0645\u0631\u0648\u0631 \u0627\u0644\u0633\u0631 \u0639\u0628\u0648\u0631 wifi"
)
_LABEL_DENSE = r"\u5bc6\u7801|\u5bc6\u78bc|\u53e3\u4ee4|\u30d1\u30b9\u30ef\u30fc\u30c9|\u6697\u8a3c\u756a\u53f7|\ube44\ubc00\ubc88\ud638|\u30d1\u30b9\u30b3\u30fc\u30c9|\u092a\u093e\u0938\u0935\u0930\u094d\u0921|\u09aa\u09be\u09b8\u0993\u09af\u09bc\u09be\u09b0\u09cd\u09a1|\u0e23\u0e2b\u0e31\u0e2a\u0e1c\u0e48\u0e32\u0e19"
#: What makes of a password something else.
_OTHER = r"(?!\w{0,12}[ _-]?(?:hash|salt|reset|polic|length|file|path|url|field|input|hint|strength|manager|stor|algo|prompt|type|encod|encrypt|protect|auth))"
_KEY_NOUN = r"(?:(?:key|token|secret|schl\xfcssel|sleutel|nyckel|anahtar\u0131?)s?|api[ _-]{0,2}(?:keys?|\u5bc6\u94a5|\u5bc6\u9470|\u30ad\u30fc|\ud0a4|\u30c8\u30fc\u30af\u30f3|\u4ee4\u724c))"

_OPEN = r"[ \t\"'`*_(]{0,4}(?:<(?:code|b|strong|kbd)>)?"
_GIVEN = r"[ \t\"'`*_)\]]{0,6}(?::(?!:)|\uff1a|=(?![=~>])|[=-]>|\u2192|\uff1d)" + _OPEN
_CELL = (
    r"[ \t\"'`*_:]{0,4}(?:\||\t|</(?:t[dh]|dt|b|strong|code|label)>\s{0,8}(?:</?(?:td|th|tr|dd|span)\b[^>\n]{0,40}>\s{0,8}){0,3})[ \t|]{0,6}"
    + _OPEN
)
_IS = r"[ \t]{1,2}(?:is|are|was|ist|lautet|est|es|\xe8|\xe9|sono|to|\xe4r|adalah|la|ir|olarak|\u03b5\u03af\u03bd\u03b1\u03b9|\u0647\u064a|\u0647\u0648|\u0627\u0633\u062a|\u2014|\u2013|-|now|:)[ \t]{1,3}[\"'`*\u201c(]{0,3}"
_VALUE = r"([^\s\"'`<>|\u201c\u201d]{5,99}[^\s\"'`<>|.,;:*)\]\u3002\uff0c\u201c\u201d])"
_WHOSE = r"[^\n:=|<>{}()\[\]@]{0,32}?"
_NAMED_KEY = r"([A-Za-z0-9_+/=-]{16,120})(?![\w(\[.])"


def _row(
    id: str,
    keywords: str,
    pattern: str,
    check: str,
    example: str,
    counter: str,
    reach: int = 220,
    before: int = 0,
    cue: str = "",
) -> Rule:
    return Rule(id, "secret", "reject", 2, keywords, f"(?i){pattern}", check, example, counter, reach, cue, before)


CREDENTIALS = (
    _row("password-labelled", _LABEL_WORDS,
         rf"(?:{_LABEL}){_OTHER}(?:{_WHOSE}{_GIVEN}|[ \t]{{0,2}}\([^)\n]{{1,20}}\){_GIVEN}|{_CELL}|[ \t*:_]{{0,3}}\n[ \t>*-]{{0,6}}`?(?=\S{{6,60}}`?[ \t]*(?:\n|\Z))){_VALUE}",
         "credible", "**Password:** Teso+1734", "Password: at least 12 characters"),
    _row("password-said", _LABEL_WORDS, rf"(?:{_LABEL}){_OTHER}{_WHOSE}{_IS}{_VALUE}", "credible_prose",
         "the db pw is Vibi9*675q", "the password is encrypted"),
    _row("password-labelled-cjk", "#cjk",
         rf"(?:{_LABEL_DENSE})[^\n:=|]{{0,12}}?(?:{_GIVEN}|{_CELL}|[ \t]{{0,2}}(?:\u662f|\u4e3a|\u306f|\u306b\u306f|\ub294|\uc740|\u2014|-)[ \t]{{0,2}}[\"'`\u300c]?){_VALUE}",
         "credible", "密码：Mune*2147", "密码：至少需要12个字符", before=80, cue="密码 密碼 口令 パスワード 暗証番号 비밀번호 パスコード पासवर्ड পাসওয়ার্ড รหัสผ่าน"),
    _row("password-column", "*passw* pwd kennwort clave senha wachtwoord",
         r"(?:" + "|".join(
             rf"^\|(?:[^|\n]{{0,60}}\|){{{n}}}[ *`]{{0,4}}(?:{_LABEL})[ *`]{{0,4}}\|[^\n]{{0,200}}\n\|[-:| ]{{3,200}}\n(?:\|[^\n]{{0,200}}\n){{0,12}}?\|(?:[^|\n]{{0,60}}\|){{{n}}}[ *`]{{0,4}}([^\s|`\[]{{6,60}})[ *`]{{0,4}}\|"
             for n in range(5)) + ")",
         "credible", "| service | login | password |\n|---|---|---|\n| db | app | Nobiza$wf22 |", "| field | password |\n|---|---|\n| form | required |", 1500, 300),
    _row("password-option", "*passw* passphrase pwd pass token secret",
         rf"(?<=--)(?:pass(?:word|wd|phrase)?|pwd|token|secret)(?:=|[ \t])[\"']?(?!-){_VALUE}",
         "credible", "backup-tool --password 6973Rafe.Biu --all", "backup-tool --password --all", 160, 0, "--"),
    _row("password-command", "mysql mysqldump mariadb mysqladmin sshpass docker podman redis net ldapsearch ldapmodify ldapadd",
         rf"\b(?:(?:mysql(?:dump|admin)?|mariadb)\b[^\n]{{0,100}}?\s-p[\"']?{_VALUE}|sshpass\s{{1,3}}-p\s{{0,2}}[\"']?{_VALUE}|"
         rf"(?:docker|podman)\s+login\b[^\n]{{0,80}}?\s-p[ =][\"']?{_VALUE}|redis-cli\b[^\n]{{0,60}}?\s-a\s[\"']?{_VALUE}|"
         rf"net\s+use\s+\S+\s+\S+\s{_VALUE}\s+/user|ldap(?:search|modify|add)\b[^\n]{{0,80}}?\s-w\s[\"']?{_VALUE})",
         "credible", "mysql -u root -pRila7505yW2 shop", "mysql -u root -p", 260, 0, "-p -a -w /user"),
    _row("login-pair", "creds credentials credential login logon zugangsdaten anmeldedaten identifiants credenciales credenziali credenciais inloggegevens po\u015bwiadczenia \u043b\u043e\u0433\u0438\u043d acceso accesso account",
         rf"(?:creds|credentials?|log[io]n|zugangsdaten|anmeldedaten|identifiants|credenciales|credenziali|credenciais|inloggegevens|po\u015bwiadczenia|\u043b\u043e\u0433\u0438\u043d|acces?so|account){_WHOSE}(?:{_GIVEN}|{_IS})[\w.@+-]{{1,40}}\s{{0,2}}[:/|]\s{{0,2}}(?![/\\]){_VALUE}",
         "credible_prose", "creds: admin:vvdgj2&Kevuba", "login: required / optional"),
    _row("pin-labelled", "pin pincode", r"(?<![\w-])(?:pin(?:-?code)?)(?:\s(?:for|f\xfcr|of|pour|de|del|van|zum|zur|voor)\s[^\n:=\d]{1,30})?(?:\s(?:is|ist|est|es)\s|[ \t*_`]{0,4}[:\uff1a=][ \t*_`]{0,4})(\d{4,8})(?![\w.-]|\s(?:digit|ziffer|char|zeichen))",
         "pin", "PIN for the safe: 73915", "PIN: 4 digits"),
    _row("pin-labelled-cjk", "#cjk", r"(?:\u6697\u8a3c\u756a\u53f7|\u5bc6\u7801|\ube44\ubc00\ubc88\ud638)[ \t]{0,2}(?:[:\uff1a]|\u306f|\u662f)[ \t]{0,2}(\d{4,8})(?!\d)",
         "pin", "暗証番号：73915", "暗証番号は4桁です", before=80, cue="暗証番号 密码 비밀번호"),
    _row("key-labelled", "api apikey key keys token tokens secret schl\xfcssel sleutel nyckel anahtar anahtar\u0131 klucz chiave cl\xe9 cle clave chave \u043a\u043b\u044e\u0447 + #value",
         rf"\b(?:{_KEY_NOUN}|cl[e\xe9]\sapi|(?:clave|chiave|chave|klucz|\u043a\u043b\u044e\u0447)(?:\s(?:de\s)?api)?)(?!_?id\b)"
         rf"(?:[^\n:=|<>{{}}()\[\]]{{0,40}}?(?:{_GIVEN}|{_IS})|{_CELL}|[ \t]{{0,2}}(?:\([^)\n]{{1,20}}\)[ \t]?)?`){_NAMED_KEY}",
         "credible_key", "the Mistral key is cL7SchpaHxAA2iypG6q8nE3o", "type_key: Selector.5f8a9c1b2d3e4f50617283"),
    _row("key-used", "token key secret + #value", r"\b(?:token|key|secret)\s[`\"']?" + _NAMED_KEY,
         "credible_key_used", "use the token aBm6A8oNsScyvfBC6KzSabdn for staging", "use the key user_name_for_all_tables"),
)  # fmt: skip
