# ruff: noqa: E501 - a row is read as a row
"""Secrets that show only by the name beside them: a provider's name, or a word such as token or password."""

from __future__ import annotations

from memctl.policy.rule import Rule
from memctl.policy.rules_secrets import AN, HEX, LOWER

_ASSIGN = r"""[\s"'`\])\\]{0,4}(?:string\s{0,3})?(?::{1,3}=|=>|\?=|\.=|\|\||[=:>,])[\s"'`=\\]{0,12}"""
_END = r"(?![\w=])"
_UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
_A_UUID = "3f9a1c7e-5b2d-8046-e1c9-a7f3d5b08264"


def _row(id: str, names: str, value: str, sample: str, keywords: str = "", check: str = "filled") -> Rule:
    """A provider row: its name, perhaps more of an identifier, an assignment, a value of the provider's length.

    The name is no part of others: `sumOf` does not say Sumo.
    """
    first = names.split(maxsplit=1)[0]
    pattern = rf"(?i:{'|'.join(names.split())})(?<![a-z][A-Z])[\w.-]{{0,40}}{_ASSIGN}({value}){_END}"
    inside = not keywords and names.replace(" ", "").isalnum()
    keywords = keywords or " ".join(f"*{max(name.replace('-', '_').split('_'), key=len)}*" for name in names.split())
    return Rule(
        id,
        "secret",
        "reject",
        2,
        keywords,
        pattern,
        check,
        f'{first}_TOKEN = "{sample}"',
        f'{first}_TOKEN = "<token>"',
        250,
        before=0 if inside else 80,
        assigned=inside,
    )


_PROVIDERS = (
    _row("adafruit-key", "adafruit", r"[a-z0-9_-]{32}", LOWER[:32]),
    _row("adobe-client", "adobe", r"[0-9a-f]{32}", HEX[:32]),
    _row("airtable-key", "airtable", r"[a-z0-9]{17}", LOWER[:17]),
    _row("algolia-key", "algolia", r"[a-z0-9]{32}", LOWER[:32]),
    _row("asana-key", "asana", r"\d{16}|[a-z0-9]{32}", LOWER[:32]),
    _row("atlassian-key", "atlassian confluence jira", r"[A-Za-z0-9]{24}", AN[:24]),
    _row("bitbucket-key", "bitbucket", r"[A-Za-z0-9]{32}|[A-Za-z0-9=_-]{64}", AN[:32]),
    _row("bittrex-key", "bittrex", r"[a-z0-9]{32}", LOWER[:32]),
    _row("meraki-key", "meraki", r"[0-9a-f]{40}", HEX[:40]),
    _row("cloudflare-key", "cloudflare", r"[0-9a-f]{37}|[A-Za-z0-9_-]{40}", AN[:40]),
    _row("codecov-token", "codecov", r"[a-z0-9]{32}|" + _UUID, LOWER[:32]),
    _row("cohere-key", "cohere co_api_key", r"[A-Za-z0-9]{40}", AN[:40], "*cohere* co + #value"),
    _row("coinbase-token", "coinbase", r"[a-z0-9_-]{64}", LOWER[:64]),
    _row("confluent-key", "confluent", r"[a-z0-9A-Z]{16}|[a-zA-Z0-9]{64}", LOWER[:16]),
    _row("contentful-token", "contentful", r"[A-Za-z0-9=_-]{43}", AN[:43]),
    _row("datadog-key", "datadog", r"[a-z0-9]{32}|[a-z0-9]{40}", LOWER[:40]),
    _row("discord-secret", "discord", r"[0-9a-f]{64}|[A-Za-z0-9=_-]{32}|\d{18,19}", HEX[:64]),
    _row("drone-token", "droneci drone", r"[a-z0-9]{32}", LOWER[:32]),
    _row("dropbox-secret", "dropbox", r"[a-z0-9]{15}|[A-Za-z0-9]{64}", LOWER[:15]),
    _row("etsy-token", "etsy", r"[a-z0-9]{24}", LOWER[:24]),
    _row("facebook-secret", "facebook", r"[0-9a-f]{32}", HEX[:32]),
    _row("fastly-token", "fastly", r"[A-Za-z0-9=_-]{32}", AN[:32]),
    _row("finicity-key", "finicity", r"[0-9a-f]{32}|[a-z0-9]{20}", HEX[:32]),
    _row("finnhub-token", "finnhub", r"[a-z0-9]{20}", LOWER[:20]),
    _row("flickr-token", "flickr", r"[a-z0-9]{32}", LOWER[:32]),
    _row("freshbooks-token", "freshbooks", r"[a-z0-9]{64}", LOWER[:64]),
    _row("gitter-token", "gitter", r"[a-z0-9_-]{40}", LOWER[:40]),
    _row("heroku-uuid", "heroku", _UUID, _A_UUID),
    _row("hubspot-key", "hubspot", _UUID, _A_UUID),
    _row("intercom-key", "intercom", r"[A-Za-z0-9=_-]{60}", AN[:60]),
    _row("jfrog-key", "jfrog artifactory bintray xray", r"[A-Za-z0-9]{64}|[A-Za-z0-9]{73}", AN[:73]),
    _row("kraken-token", "kraken", r"[A-Za-z0-9/=_+-]{80,90}", AN[:80]),
    _row("kucoin-token", "kucoin", r"[0-9a-f]{24}|" + _UUID, HEX[:24]),
    _row("launchdarkly-token", "launchdarkly", r"[A-Za-z0-9=_-]{40}", AN[:40]),
    _row("linear-secret", "linear", r"[0-9a-f]{32}", HEX[:32]),
    _row("linkedin-key", "linkedin linked-in", r"[a-z0-9]{14}|[a-z0-9]{16}", LOWER[:14], "*linkedin* linked"),
    _row("looker-key", "looker", r"[a-z0-9]{20}|[a-z0-9]{24}", LOWER[:24]),
    _row("mailgun-signing", "mailgun", r"[0-9a-h]{32}-[0-9a-h]{8}-[0-9a-h]{8}|pubkey-[0-9a-f]{32}", HEX[:32] + "-3f9a1c7e-5b2d8046"),
    _row("mattermost-token", "mattermost", r"[a-z0-9]{26}", LOWER[:26]),
    _row("messagebird-key", "messagebird message-bird message_bird", r"[a-z0-9]{25}|" + _UUID, LOWER[:25], "*messagebird* bird"),
    _row("netlify-token", "netlify", r"[A-Za-z0-9=_-]{40,46}", AN[:40]),
    _row("newrelic-id", "new-relic newrelic new_relic", r"[a-z0-9]{64}", LOWER[:64], "*newrelic* relic"),
    _row("nytimes-token", "nytimes new-york-times newyorktimes", r"[A-Za-z0-9=_-]{32}", AN[:32], "*nytimes* *newyorktimes* york + #value"),
    _row("okta-token", "okta", r"00[\w=-]{40}", "00" + AN[:40]),
    _row("plaid-key", "plaid", r"[a-z0-9]{24}|[a-z0-9]{30}", LOWER[:30]),
    _row("privateai-token", "privateai private_ai private-ai", r"[a-z0-9]{32}", LOWER[:32], "*privateai* private + #value"),
    _row("rapidapi-key", "rapidapi", r"[A-Za-z0-9_-]{50}", AN[:50]),
    _row("sendbird-token", "sendbird", r"[0-9a-f]{40}|" + _UUID, HEX[:40]),
    _row("sentry-key", "sentry", r"[0-9a-f]{64}", HEX[:64]),
    _row("sidekiq-secret", "contribsys", r"[0-9a-f]{8}:[0-9a-f]{8}", "3f9a1c7e:5b2d8046"),
    _row("snyk-token", "snyk", _UUID, _A_UUID),
    Rule("softlayer-key", "secret", "reject", 2, "*softlayer* sl *slapikey* *slkey*",
         rf"(?i:(?:softlayer|(?<![A-Za-z0-9])sl)[_-]?(?:api[_-]?)?(?:key|pass(?:wd|word)?)?)[\w.-]{{0,40}}(?:{_ASSIGN}|\s)([a-z0-9]{{64}}){_END}|softlayer\.com/soap/v3(?:\.1)?/([a-z0-9]{{64}}){_END}",
         "filled", f"--softlayer-api-key {HEX[:64]}", "--softlayer-api-key <key>", 250),
    _row("ibm-cloud-key", "ibm iam_api cloud_iam cloud_api cloud-iam cloud-api apikey", r"[A-Za-z0-9_-]{44}", AN[:44], "ibm iam cloud *apikey* + #value"),
    _row("cloudant-password", "cloudant", r"[0-9a-f]{64}|[a-z]{24}", HEX[:64]),
    _row("squarespace-token", "squarespace", _UUID, _A_UUID),
    _row("sumologic-key", "sumo", r"su[A-Za-z0-9]{12}|[A-Za-z0-9]{64}", AN[:64]),
    _row("travis-token", "travis", r"[A-Za-z0-9]{22}", AN[:22]),
    _row("trello-token", "trello", r"[A-Za-z0-9]{32}", AN[:32]),
    _row("twitch-token", "twitch", r"[a-z0-9]{30}", LOWER[:30]),
    _row("twitter-key", "twitter", r"[A-Za-z0-9]{25}|[A-Za-z0-9]{50}|\d{15,25}-[A-Za-z0-9]{20,40}|A{22}[A-Za-z0-9%]{80,100}|[A-Za-z0-9]{45}", AN[:25]),
    _row("zendesk-key", "zendesk", r"[A-Za-z0-9]{40}", AN[:40]),
    _row("sonar-key", "sonar", r"[A-Za-z0-9_=-]{40}", AN[:40]),
    _row("harness-key", "harness", r"[A-Za-z0-9]{44,66}", AN[:44]),
    _row("telegram-key", "telegram", r"\d{5,16}:[\w-]{35}(?!-)", "42171948:" + AN[:35]),
)  # fmt: skip

_KEY_WORDS = (
    "*token* *secret* *apikey* key keys *accesskey* *secretkey* *privatekey* *authkey* *signingkey* *encryptionkey* "
    "*credential* creds auth oauth access passphrase *masterkey*"
)

#: A password-like name, and a long value without blanks, whatever its marks: taken whole, by the reference to it.
_NAMES = "(?:passw(?:or)?d|passwd|pwd|pass|secrete?|(?:api|private|service|access|secret)_?key)"
_BUSY = (
    f"(?i){_NAMES}"
    r"""[\w-]{0,20}["'`\]\\]{0,2}\s{0,4}(?:(?:::?)?=|=>|:(?!:)|[!=]==?|\s(?=["']))\s{0,4}@?["'`]?(?=([^\s"'`]{12,120}))\1(?=["'`\s]|\Z)"""
)

#: The same of a name that ends in `pass` or, as in `api_key`, in `key`: tried at that word.
_KEY_BUSY = _BUSY.replace(_NAMES, "(?:pass|(?:(?<=api_)|(?<=private_)|(?<=service_)|(?<=access_)|(?<=secret_))key)")

_GENERIC = (
    Rule("generic-key", "secret", "reject", 2, _KEY_WORDS + " + #value",
         r"""(?i)(?:token|secret|key(?!_?id)|cred(?:ential)?s?|auth(?!or)|access|passphrase)[\w.-]{0,30}?[\s"'`\])\\]{0,4}(?::{1,3}=|=>|\?=|\.=|\|\||[=:>,])[ \t"'`\\]{0,6}(?<=[\s"'`=:>,])([\w.=+/~-]{10,150})(?![\w(\[.{-])""",
         "named", 'api_token = "' + AN[:32] + '"', "token = tokens.next_token_1", 220, before=0, assigned=True),
    Rule("password", "secret", "reject", 2, "*passw* *pwd* *dbpass* *passphrase*",
         r"""(?i)(?:passw(?:or)?d|passwd|passphrase|(?<![A-Za-z0-9])pwd|(?<![a-z])pass)[\w-]{0,20}["'`\]\\]{0,3}\s{0,4}(?:(?:::?)?=(?!=)|=>|:(?!:))\s{0,4}["'`\\]{0,3}(?=([^\s"'`,;<>(){}\[\]\\$]{6,120}))\1(?=["'`,;\s<>)}\]\\]|\Z)""",
         "password", "password=hunter2hunter2", "password: str = field(default=None)", 200, before=0, assigned=True),
    Rule("password-quoted", "secret", "reject", 2, "*passw* *pwd* *dbpass* *secret* *apikey* *privatekey* *servicekey* *accesskey* *secretkey* *sessiontoken*",
         r"""(?i)(?:passw(?:or)?d|passwd|pwd|pass|secrete?|api_?key|private_?key|service_?key|access_?key|secret_?key|session_?token)[\w-]{0,20}(?:\[\d{0,4}\])?["'\]]{0,2}\s{0,4}(?:(?:::?)?=(?!=)|=>|:(?!:)|[!=]==?)\s{0,4}@?(?:"([^"\n]{6,120})"|'([^'\n]{6,120})')""",
         "password_quoted", 'apikey := "m{{h}o)p${e]nob(ody"', 'password = "Enter your password"', 220, before=0, assigned=True),
    Rule("password-busy", "secret", "reject", 2, "*passw* *pwd* *dbpass* *secret* *apikey*", _BUSY, "busy",
         "password: k{{q}u)w${e]rty-up[sid>-_$#down}}", "password = compute(a[1], b{2})", 220, before=0, assigned=True),
    Rule("key-busy", "secret", "reject", 2, "pass key + api private service access db user root admin", _KEY_BUSY, "busy",
         "api_key: `k{{q}u)w${e]rty-up[sid>-_$#down}}`", "api_key = find(a[1], b{2})", 220, before=0, assigned=True),
    Rule("password-compared", "secret", "reject", 2, "*passw* *pwd* *dbpass* *secret*",
         r"""(?i)["']([^\s"']{10,120})["']\s{0,3}[!=]==?\s{0,3}[\w.]{0,30}(?:passw(?:or)?d|passwd|pwd|dbpass|secret)""",
         "busy", 'if ("k{{q}u)w${e]rty-up[sid>-_$#down}}" == password) {', 'if ("${x}" == password)', 200, "== !=", before=160),
    Rule("pass-assignment", "secret", "reject", 2, "pass + db user root admin login ftp smtp http proxy my sql ssh",
         r"""(?i)[a-z]_?pass["'\]]{0,2}\s{0,4}(?:(?:::?)?=(?!=)|=>|:(?!:))\s{0,4}["']?([^\s"'`,;<>$]{6,120})""",
         "password", "db_pass=hunter2hunter2", "user.pass = user_pass", 200),
    Rule("pw-assignment", "secret", "reject", 2, "pw + #value",
         r"""(?i)[a-z]_pw["'\]]{0,2}\s{0,4}(?:(?:::?)?=(?!=)|=>|:(?!:))\s{0,4}["']?([^\s"'`,;<>$(){}]{8,120})(?=["'`,;\s]|\Z)""",
         "password", 'db_pw = "hunter2hunter2"', "db_pw = read_pw1(2)", 200),
    Rule("password-prose", "secret", "reject", 2, "password passphrase pin + is",
         r"""(?i)(?:password|passphrase)\s+(?:for\s+[\w .@-]{1,40}\s+)?is\s+["'`]?([^\s"'`,;<>(){}\[\]$]{6,60})""",
         "password_prose", "The password is hunter2Zq9!", "the password is encrypted", 160),
    Rule("api-key-assignment", "secret", "reject", 2, "apikey *apikey* api + key keys *apikey*",
         r"""(?i)api[-_ ]?key["']?\s{0,4}[:=]\s{0,4}["']?([^\s"'<>(){}\[\]$,;]{8,150})""",
         "named_exact", "API_KEY=" + AN[:12], "api_key: os.environ['KEY']", 200, before=0, assigned=True),
)  # fmt: skip

NAMED = (*_PROVIDERS, *_GENERIC)
