# ruff: noqa: E501, RUF001 - a row is read as a row
"""Secrets: tokens by their own format, values by the name beside them, credentials by their label.

The examples are made up. The checks (`checks_secrets`) have the last word on a value.
"""

from __future__ import annotations

from memctl.policy.rule import Rule

# Random text in the alphabets that tokens use, so that rows stay short.
AN = "q7Xk2mVb9LtR4wNz8CyHs5DfJ3gPa6TeUh1WrYcKxEvMpBnGdZj0QoAiFlSuOq2Vw7Tz4Rk9Xm3Bn6Lc8Hd5Jf1GsPyQaWeZtU0iCvNrKxE7m2Yb9"
LOWER = "k7x2m9b4t1w8z5c3h6d0f2j9g4p7a1e8u5r3y6n0v2q9s4l7i1o8k5x3m6b0t2w9z4c7h1d8f5j3g6p0a2e9u4r7y1n8v5q3s6l0i2o9"
HEX = (
    "3f9a1c7e5b2d8046e1c9a7f3d5b08264c7e91fa3d2b5804698ce3a71f5d20b4867ac9e13f7d52b80c46e9a1f3d75b208c4e6a91fd3b7520846ce9a13f7d5b20"
    * 2
)
UPPER = (
    "Q7XK2MVB9LTR4WNZ8CYHS5DFJ3GPA6TEUH7WRYCKXEVMPBNGDZJ3QOAIFLSUOQ2VW7TZ4RK9XM3BN6LC8HD5JF4GSPYQAWEZTU5ICVNRKXE7M2YB9"
)
LETTERS = "qKvXmBzLtRwNcCyHsDfJgPaTeUhWrYkxEvMpBnGdZjQoAiFlSuOq"
_X = "x" * 120


def _row(
    id: str,
    keywords: str,
    pattern: str,
    example: str,
    counter: str,
    check: str = "token",
    reach: int = 200,
    cue: str = "",
    before: int = 80,
) -> Rule:
    """A token row: never inside a longer word."""
    whole = rf"(?<![A-Za-z0-9]){pattern}(?![A-Za-z0-9])"
    return Rule(id, "secret", "reject", 3, keywords, whole, check, example, counter, reach, cue, before)


_FORGES = (
    _row("github-token", "ghp gho ghu ghs ghr", r"gh[pousr]_[A-Za-z0-9]{36,255}", "ghp_" + AN[:36], "ghp_" + _X[:36]),
    _row("github-fine-grained", "github + pat", r"github_pat_\w{60,90}", "github_pat_" + AN[:22] + "_" + AN[20:79],
         "github_pat_" + _X[:22] + "_" + _X[:59]),
    _row("gitlab-token", "glpat gldt glft glrt glsoat glffct glcbt",
         r"gl(?:pat|dt|ft|rt|soat|ffct)-[\w-]{20,300}(?:\.[0-9a-z]{2}\.?[0-9a-z]{7,9})?|glcbt-[\w-]{20,64}",
         "glpat-" + AN[:20], "glpat-" + "X" * 11 + "-" + "X" * 8),
    _row("gitlab-other", "glimt glagent gloas glptt",
         r"(?:glimt-[\w-]{25}|glagent-[\w-]{50}|gloas-[\w-]{64}|glptt-[\w-]{40})", "glptt-" + HEX[:40], "glptt-" + _X[:40]),
    _row("gitlab-runner", "gr1348941*", r"GR1348941[\w-]{20}", "GR1348941" + AN[:20], "GR1348941" + "X" * 20),
    _row("gitlab-session", "gitlab + session", r"_gitlab_session=([0-9a-z]{32})", "Cookie: _gitlab_session=" + LOWER[:32],
         "_gitlab_session=" + _X[:32]),
    _row("sourcegraph-token", "sgp", r"sgp_(?:[0-9a-fA-F]{16}_|local_)?[0-9a-fA-F]{40}", "sgp_" + HEX[:16] + "_" + HEX[:40],
         "sgp_" + "0" * 40),
    _row("atlassian-token", "atatt3*", r"ATATT3[\w=-]{180,200}", "ATATT3" + (AN + LOWER)[:186], "ATATT3" + _X[:90]),
)  # fmt: skip

_CLOUD = (
    _row("aws-access-key-id", "akia* asia* abia* acca* a3t*", r"(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}",
         "AKIA" + UPPER[:16].replace("9", "5").replace("8", "6"), "AKIAIOSFODNN7EXAMPLE", "aws_id"),
    _row("aws-secret-key", "aws* *awssecret* *secretaccess* secret* + key sk secret secretkey accesskey secretaccesskey awssecret",
         r"""(?i:aws|secret)[\w .-]{0,30}(?i:key|secret|sk)["'`\]]{0,2}\s{0,4}(?:=>|:=|[=:,])\s{0,4}["'`]?([A-Za-z0-9/+]{40})""",
         "aws_secret_access_key = " + AN[:38] + "/q", "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
         "strong", before=0),
    _row("aws-bedrock-key", "absk* bedrock", r"(?:ABSK[A-Za-z0-9+/]{109,269}={0,2}|bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t[\w+/=-]{0,2000})",
         "ABSK" + (AN + LOWER)[:120], "ABSK" + _X[:109]),
    _row("google-api-key", "aiza*", r"AIza[\w-]{35}", "AIzaSy" + AN[:33], "AIza" + _X[:35]),
    _row("google-oauth", "ya29 gocspx", r"(?:ya29\.[\w-]{30,300}|GOCSPX-[\w-]{28})", "GOCSPX-" + AN[:28], "GOCSPX-" + _X[:28]),
    _row("azure-ad-secret", "#tilde",
         r"[\w~.-]{3}\dQ~[\w~.-]{31,34}(?![\w~.-])", "aB" + "c8Q~" + AN[:31] + "x-_", "abc8Q~" + _X[:34]),
    _row("azure-storage-key", "accountkey", r"(?i:AccountKey)=([A-Za-z0-9+/]{86}==)", "AccountName=a;AccountKey=" + AN[:86] + "==",
         "AccountKey=" + _X[:86] + "=="),
    _row("azure-sas", "sig + sv se sp", r"sig=([A-Za-z0-9%+/]{40,80}(?:%3D|=))", "?sv=2020-08-04&se=2024&sig=" + AN[:43] + "%3D",
         "?sv=1&sig=" + _X[:43] + "%3D", "strong", cue="sig="),
    _row("digitalocean-token", "dop doo dor", r"do[opr]_v1_[0-9a-f]{64}", "dop_v1_" + HEX[:64], "dop_v1_" + "f" * 64),
    _row("alibaba-key", "ltai*", r"LTAI[A-Za-z0-9]{20}", "LTAI" + AN[:20], "LTAI" + _X[:20]),
    _row("cloudflare-origin", "v1 + #long", r"v1\.0-[0-9a-f]{24}-[0-9a-f]{146}", "v1.0-" + HEX[:24] + "-" + HEX[:146],
         "v1.0-" + "0" * 24 + "-" + "0" * 146),
    _row("fly-token", "fo1 fm1r fm1a fm2", r"(?:fo1_[\w-]{43}|fm(?:1[ar]|2)_[A-Za-z0-9+/]{100,1000}={0,3})", "fo1_" + AN[:43],
         "fo1_" + _X[:43], reach=1200),
    _row("heroku-key", "hrku", r"HRKU-AA[\w-]{58}", "HRKU-AA" + AN[:58], "HRKU-AA" + _X[:58]),
    _row("scalingo-token", "tk + us", r"tk-us-[\w-]{48}", "tk-us-" + AN[:48], "tk-us-" + _X[:48], cue="tk-us-"),
    _row("yandex-token", "t1 aqvn* yc* + #value", r"(?:t1\.[A-Z0-9a-z_-]{1,40}=?=?\.[A-Z0-9a-z_-]{86}={0,2}|AQVN[\w-]{35,38}|YC[\w-]{38})",
         "AQVN" + AN[:36], "AQVN" + _X[:36], "strong"),
    _row("openshift-token", "#tilde", r"sha256~[\w-]{43}", "sha256~" + AN[:43], "sha256:" + HEX[:64]),
    _row("databricks-token", "/dapi[0-9a-f]{32}/", r"dapi[0-9a-fA-F]{32}(?:-\d)?", "dapi" + HEX[:32], "dapi" + "0" * 32),
    _row("planetscale-token", "pscale", r"pscale_(?:tkn|pw|oauth)_[\w=.-]{32,64}", "pscale_tkn_" + AN[:43], "pscale_tkn_" + _X[:43]),
    _row("clickhouse-key", "4b1d*", r"4b1d[A-Za-z0-9]{38}", "4b1d" + AN[:38], "4b1d" + "X" * 38),
    _row("terraform-token", "atlasv1", r"[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,70}", AN[:14] + ".atlasv1." + AN[14:80],
         _X[:14] + ".atlasv1." + _X[:65]),
    _row("vault-token", "hvs hvb hvr", r"hv[sbr]\.[\w-]{24,300}", "hvs." + AN[:95], "hvs." + _X[:95], "strong", 400),
    _row("vault-old-token", "vault + s", r"s\.[A-Za-z0-9]{24}", "vault login s." + AN[:24], "vault s." + _X[:24], "strong"),
    _row("pulumi-token", "pul", r"pul-[0-9a-f]{40}", "pul-" + HEX[:40], "pul-" + "0" * 40),
    _row("doppler-token", "dp", r"dp\.(?:pt|st|ct|scim|audit|sa)\.(?:[\w-]{1,40}\.)?[A-Za-z0-9]{40,44}", "dp.pt." + AN[:43],
         "dp.pt." + _X[:43], cue="dp."),
    _row("infracost-token", "ico", r"ico-[A-Za-z0-9]{32}", "ico-" + AN[:32], "ico-" + HEX[:32] + ".png", "mixed_case", cue="ico-"),
    _row("prefect-key", "pnu pnb", r"pn[ub]_[A-Za-z0-9]{36}", "pnu_" + LOWER[:36], "pnu_" + _X[:36]),
    _row("octopus-key", "api + #long", r"API-[A-Z0-9]{26}", "API-" + UPPER[:26], "API-" + "X" * 26, "strong"),
    _row("dynatrace-token", "dt0c01 dt0s01", r"dt0[cs]0\d\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{64}", "dt0c01." + AN[:24] + "." + AN[24:88],
         "dt0c01." + _X[:24] + "." + _X[:64]),
    _row("harness-token", "pat sat", r"(?:pat|sat)\.[A-Za-z0-9_-]{22}\.[0-9a-zA-Z]{24}\.[A-Za-z0-9]{20}",
         "pat." + AN[:22] + "." + AN[22:46] + "." + AN[46:66], "pat." + _X[:22] + "." + _X[:24] + "." + _X[:20], cue="pat. sat."),
    _row("tailscale-key", "tskey", r"tskey-[a-z]{2,12}-[A-Za-z0-9]{10,22}(?:-[A-Za-z0-9]{20,40})?",
         "tskey-auth-" + AN[:12] + "CNTRL-" + AN[12:44], "tskey-auth-" + _X[:20]),
    _row("ibm-cos-hmac", "secretaccesskey secret + access key + #value", r"(?i:(?:cos|hmac|ibm)[\w-]{0,16}secret[-_]?key|secret[-_]?access[-_]?key)\W{1,8}([0-9a-f]{48})",
         '"secret_access_key": "' + HEX[:48] + '"', "secret_access_key=" + "0" * 48, "filled"),
)  # fmt: skip

_AI = (
    _row("openai-key", "*t3blbkfj*", r"sk-(?:(?:proj|svcacct|admin|service)-)?[\w-]{16,80}T3BlbkFJ[\w-]{16,80}",
         "sk-" + AN[:20] + "T3BlbkFJ" + AN[20:40], "sk-" + _X[:20] + "T3BlbkFJ" + _X[:20], reach=300),
    _row("sk-key", "sk", r"sk-(?:or-v1-|lf-)?[A-Za-z0-9]{20,80}", "sk-" + AN[:32], "sk-" + _X[:32], "strong", cue="sk-"),
    _row("sk-dashed-key", "sk + proj svcacct admin", r"sk-(?:proj|svcacct|admin)-[\w-]{40,200}", "sk-proj-" + AN[:60], "sk-proj-" + _X[:60]),
    _row("anthropic-key", "sk + ant", r"sk-ant-(?:api\d\d|admin\d\d|oat\d\d|sid\d\d)-[\w-]{80,120}AA", "sk-ant-api03-" + AN[:93] + "AA",
         "sk-ant-api03-" + _X[:60]),
    _row("huggingface-token", "hf", r"hf_[A-Za-z]{34}", "hf_" + LETTERS[:34], "hf_" + _X[:34]),
    _row("huggingface-org-token", "api + org", r"api_org_[A-Za-z]{34}", "api_org_" + LETTERS[:34], "api_org_" + _X[:34], cue="api_org_"),
    _row("perplexity-key", "pplx", r"pplx-[A-Za-z0-9]{48}", "pplx-" + AN[:48], "pplx-" + _X[:48]),
    _row("groq-key", "gsk", r"gsk_[A-Za-z0-9]{52}", "gsk_" + AN[:52], "gsk_" + _X[:52]),
    _row("nvidia-key", "nvapi", r"nvapi-[\w-]{64}(?![\w-])", "nvapi-" + AN[:64], "nvapi-" + _X[:64]),
    _row("replicate-token", "r8*", r"r8_[A-Za-z0-9]{37}", "r8_" + AN[:37], "r8_" + _X[:37], cue="r8_"),
    _row("xai-key", "xai", r"xai-[A-Za-z0-9]{70,90}", "xai-" + AN[:80], "xai-" + _X[:80]),
)  # fmt: skip

_MONEY = (
    _row("stripe-key", "sk rk + live test prod", r"(?:sk|rk)_(?:live|test|prod)_[A-Za-z0-9]{10,99}", "sk_live_" + AN[:24],
         "pk_live_" + AN[:24], "stripe"),
    _row("square-token", "eaaa* sq0atp sq0csp", r"(?:EAAA[\w-]{22,60}|sq0atp-[\w-]{22,60}|sq0csp-[\w-]{43})", "sq0atp-" + AN[:22],
         "sq0atp-" + _X[:22], "strong"),
    _row("shippo-token", "shippo", r"shippo_(?:live|test)_[0-9a-f]{40}", "shippo_live_" + HEX[:40], "shippo_live_" + "0" * 40),
    _row("flutterwave-key", "flwseck flwpubk", r"FLW(?:SECK|PUBK)_TEST-[a-h0-9]{12,32}(?:-X)?", "FLWSECK_TEST-" + HEX[:32] + "-X",
         "FLWSECK_TEST-" + "a" * 32 + "-X"),
    _row("easypost-key", "ezak* eztk*", r"EZ[AT]K[A-Za-z0-9]{54}", "EZAK" + AN[:54], "EZAK" + _X[:54]),
    _row("gocardless-token", "live + gocardless", r"live_[\w=-]{40}", "gocardless = live_" + AN[:40], "gocardless live_" + _X[:40], "strong"),
    _row("plaid-token", "access + sandbox development production", r"access-(?:sandbox|development|production)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
         "access-sandbox-3f9a1c7e-5b2d-8046-e1c9-a7f3d5b08264", "access-sandbox-00000000-0000-0000-0000-000000000000"),
    _row("lob-key", "lob + live test", r"(?:live|test)_(?:pub_)?[0-9a-f]{31,35}", "lob = test_" + HEX[:35], "lob test_" + "0" * 35),
    _row("duffel-token", "duffel", r"duffel_(?:live|test)_[\w=-]{43}", "duffel_test_" + AN[:43], "duffel_test_" + _X[:43]),
    _row("freemius-key", "sk + freemius", r"sk_[^\s\"']{29}", '"secret_key" => "sk_' + AN[:29] + '" // freemius', "freemius sk_" + _X[:29], "strong"),
    _row("paypal-braintree", "production sandbox + access + token", r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}",
         "access_token$production$" + LOWER[:16] + "$" + HEX[:32], "access_token$production$" + _X[:16] + "$" + "0" * 32),
    _row("picatic-key", "sk + live", r"sk_live_[0-9a-z]{32}", "sk_live_" + LOWER[:32], "sk_live_" + _X[:32]),
)  # fmt: skip

_TALK = (
    _row("slack-token", "xoxb xoxp xoxe xoxa xoxr xoxo xoxs xapp",
         r"(?:xox[bpeaors]-(?:\d{4,14}-){1,4}(?=[0-9-]*[A-Za-z])[A-Za-z0-9-]{8,64}|xox[ar]-(?:\d-)?[0-9a-zA-Z]{8,48}|xoxe(?:\.xox[bp])?-\d-[A-Za-z0-9]{140,170}|xapp-\d-[A-Z0-9]{5,14}-\d{5,14}-[a-z0-9]{10,70})",
         "xoxb-263594206564-" + AN[:24], "xoxb-xxxxxxxxxxx-" + _X[:24], "slack"),
    _row("slack-webhook", "hooks + slack", r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/]{43,56})",
         "https://hooks.slack.com/services/T1B2C3D4E/B5F6G7H8I/" + AN[:24], "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX"),
    _row("teams-webhook", "webhookb2", r"webhook\.office\.com/webhookb2/([0-9a-f-]{36}@[0-9a-f-]{36}/IncomingWebhook/\w{32}/[0-9a-f-]{36})",
         "https://a.webhook.office.com/webhookb2/3f9a1c7e-5b2d-8046-e1c9-a7f3d5b08264@3f9a1c7e-5b2d-8046-e1c9-a7f3d5b08264/IncomingWebhook/"
         + HEX[:32] + "/3f9a1c7e-5b2d-8046-e1c9-a7f3d5b08264", "https://a.webhook.office.com/webhookb2/ID"),
    _row("discord-webhook", "discord discordapp + webhooks", r"discord(?:app)?\.com/api/webhooks/(\d{17,20}/[\w-]{60,72})",
         "https://discord.com/api/webhooks/123456789012345678/" + AN[:68], "https://discord.com/api/webhooks/{id}/{token}"),
    Rule("discord-bot", "secret", "reject", 3, "#long",
         r"\.(?<=[A-Za-z\d_-]{24}\.)[A-Za-z\d_-]{6}\.(?=[\w-]*\d)[A-Za-z\d_-]{27,38}(?![\w.-])",
         "token", "MTk4" + AN[:22] + ".Cl2FMQ." + AN[40:68], "M" + _X[:23] + "." + _X[:6] + "." + _X[:27]),
    Rule("telegram-bot", "secret", "reject", 3, "#value",
         r":A(?<=\d{5}:A)(?<!\d{17}:A)[A-Za-z\d_-]{34}(?![\w-])",
         "strong", "42171948:A" + AN[:34], "110201543:A" + _X[:34], cue=":a"),
    _row("twilio-key", "/sk[0-9a-f]{32}/", r"SK[0-9a-f]{32}", "SK" + HEX[:32], "SK" + "0" * 32),
    _row("sendgrid-key", "sg", r"SG\.[\w-]{20,24}\.[\w-]{39,50}", "SG." + AN[:22] + "." + AN[22:65], "SG." + _X[:22] + "." + _X[:43], cue="sg."),
    _row("mailgun-key", "key pubkey + #long", r"(?:key|pubkey)-[0-9a-f]{32}", "key-" + HEX[:32], "key-" + "0" * 32, cue="key-"),
    _row("mailchimp-key", "us1* us2* us3* us4* us5* us6* us7* us8* us9* + #long", r"[0-9a-f]{32}-us\d{1,2}", HEX[:32] + "-us12", "0" * 32 + "-us1"),
    _row("sendinblue-key", "xkeysib", r"xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}", "xkeysib-" + HEX[:64] + "-" + AN[:16],
         "xkeysib-" + "0" * 64 + "-" + _X[:16]),
    _row("facebook-token", "eaam* eaac*", r"EAA[MC][A-Za-z0-9]{100,400}", "EAAM" + (AN + LOWER)[:120], "EAAM" + _X[:110], reach=500),
    _row("facebook-app-token", "facebook fb", r"(?<!\d)\d{15,16}(?:\||%7[cC])[\w-]{27,40}", "facebook 1308742762612587|" + AN[:27],
         "facebook 1308742762612587|" + _X[:27]),
)  # fmt: skip

_PACKAGES = (
    _row("npm-token", "npm", r"npm_[A-Za-z0-9]{36}", "npm_" + AN[:36], "npm_" + _X[:36], cue="npm_"),
    _row("npmrc-token", "authtoken", r"_authToken\s?=\s?([A-Za-z0-9_-]{20,80})", "//registry.npmjs.org/:_authToken=" + AN[:36],
         "//registry.npmjs.org/:_authToken=${NPM_TOKEN}", "typed"),
    _row("npmrc-auth", "auth + registry npmjs npmrc", r"_auth\s?=\s?[\"']?([A-Za-z0-9+/]{16,200}={0,2})", "//registry.npmjs.org/:_auth=dXNlcjpodW50ZXIyMDE5eA==",
         "registry _auth=${AUTH}", "base64_pair", cue="_auth"),
    _row("pypi-token", "pypi", r"pypi-AgEIcHlwaS5vcmc[\w-]{50,1000}", "pypi-AgEIcHlwaS5vcmc" + AN[:60], "pypi-AgEIcHlwaS5vcmc" + _X[:60],
         reach=1200, cue="pypi-"),
    _row("rubygems-token", "rubygems", r"rubygems_[0-9a-f]{48}", "rubygems_" + HEX[:48], "rubygems_" + "0" * 48),
    _row("clojars-token", "clojars", r"(?i:CLOJARS_)[A-Za-z0-9]{60}", "CLOJARS_" + AN[:60], "CLOJARS_" + _X[:60]),
    _row("artifactory-token", "akc* cmvmd* ap0* ap1* ap2* ap3* ap4* ap5* ap6* ap7* ap8* ap9* apa* apb* apc* apd* ape* apf* + #value", r"(?:AKC[A-Za-z0-9]{10,80}|AP[\dABCDEF][A-Za-z0-9]{40,80}|cmVmd[A-Za-z0-9]{59})",
         "AKCp8" + AN[:68], "AKC" + "x" * 5, "strong"),
    _row("nuget-password", "cleartextpassword", r"""(?i:ClearTextPassword)["']\s{1,4}value\s?=\s?["']([^"'<>{}$%\s]{6,100})["']""",
         '<add key="ClearTextPassword" value="hal+9ooo_da!sX" />', '<add key="ClearTextPassword" value="%NUGET_PASS%" />', "password"),
    _row("readme-token", "rdme", r"rdme_[a-z0-9]{70}", "rdme_" + LOWER[:70], "rdme_" + _X[:70]),
    _row("sonar-token", "squ sqp sqa", r"sq[upa]_[0-9a-f]{40}", "squ_" + HEX[:40], "squ_" + "0" * 40),
    _row("docker-token", "dckr", r"dckr_(?:pat|oat)_[\w-]{27,40}", "dckr_pat_" + AN[:27], "dckr_pat_" + _X[:27]),
    _row("docker-auth", "auth auths", r"""\\{0,3}["']auth\\{0,3}["']\s{0,3}:\s{0,3}\\{0,3}["']([\w+/=-]{12,2000})\\{0,3}["']""",
         '{"auths": {"r.io": {"auth": "dXNlcjpodW50ZXIyMDE5eA=="}}}', '{"auths": {"r.io": {"auth": ""}}}', "docker_auth", 2200, cue="\"auth 'auth"),
    _row("crates-token", "cio*", r"cio[A-Za-z0-9]{32}", "cio" + AN[:32], "cio" + _X[:32], "mixed_case"),
)  # fmt: skip

_TOOLS = (
    _row("linear-key", "lin", r"lin_(?:api|oauth)_[A-Za-z0-9]{40,64}", "lin_api_" + AN[:40], "lin_api_" + _X[:40], cue="lin_"),
    _row("notion-token", "ntn secret", r"(?:ntn_\d{11}[A-Za-z0-9]{35}|secret_[A-Za-z0-9]{43})", "ntn_31415926535" + AN[:35], "secret_" + _X[:43], "strong", cue="ntn_ secret_"),
    _row("airtable-pat", "/pat[a-z0-9]{14}/", r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}", "pat" + AN[:14] + "." + HEX[:64], "pat" + _X[:14] + "." + "0" * 64),
    _row("postman-key", "pmak", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}", "PMAK-" + HEX[:24] + "-" + HEX[24:58], "PMAK-" + "0" * 24 + "-" + "0" * 34),
    _row("figma-token", "figd figu", r"fig[du]_[\w-]{36,60}", "figd_" + AN[:40], "figd_" + _X[:40]),
    _row("typeform-token", "tfp", r"tfp_[\w.=-]{59}", "tfp_" + AN[:59], "tfp_" + _X[:59], cue="tfp_"),
    _row("grafana-token", "glsa glc eyjrijoi*", r"(?:glsa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8}|glc_[A-Za-z0-9+/]{32,400}={0,3}|eyJrIjoi[A-Za-z0-9]{70,400}={0,3})",
         "glsa_" + AN[:32] + "_" + HEX[:8], "glc_" + "1" * 44, reach=500),
    _row("newrelic-key", "nrak nrii nrjs", r"(?:NRAK-[A-Z0-9]{27}|NRII-[\w-]{32}|NRJS-[0-9a-f]{19})", "NRAK-" + UPPER[:27], "NRAK-" + "X" * 27),
    _row("sentry-token", "sntryu sntrys", r"(?:sntryu_[0-9a-f]{64}|sntrys_eyJpYXQiO[A-Za-z0-9+/]{40,400}={0,2}_[A-Za-z0-9+/]{43})", "sntryu_" + HEX[:64],
         "sntryu_" + "0" * 64, reach=500),
    _row("shopify-token", "shpat shpca shppa shpss", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}", "shpat_" + HEX[:32], "shpat_" + "0" * 32),
    _row("onepassword", "a3 ops", r"(?:A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}|ops_eyJ[A-Za-z0-9+/_-]{250,2000}={0,3})",
         "A3-Q7XK2M-VB9LTR-4WNZ8-CYHS5-DFJ3G-PA6TE", "A3-XXXXXX-XXXXXX-XXXXX-XXXXX-XXXXX-XXXXX", reach=2200, cue="a3- ops_"),
    _row("age-key", "age + secret", r"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}",
         "AGE-SECRET-KEY-1" + "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L" + "7ZP2Q9XR8YG4F5KTVHDW0S3JNC", "age1" + "q3zkx" * 11 + "qyz"),
    _row("adobe-secret", "p8e", r"(?i:p8e-)[a-z0-9A-Z]{32}", "p8e-" + HEX[:32], "p8e-" + "0" * 32),
    _row("maxmind-key", "mmk", r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk", AN[:6] + "_" + AN[6:35] + "_mmk", _X[:6] + "_" + _X[:29] + "_mmk"),
    _row("frameio-token", "fio", r"fio-u-[\w=-]{64}", "fio-u-" + AN[:64], "fio-u-" + _X[:64]),
    _row("intra42-secret", "s4t2ud s4t2af", r"s-s4t2(?:ud|af)-[0-9a-f]{64}", "s-s4t2ud-" + HEX[:64], "s-s4t2ud-" + "0" * 64),
    _row("settlemint-token", "sm", r"sm_(?:aat|pat|sat)_[A-Za-z0-9]{16}", "sm_aat_" + AN[:16], "sm_aat_" + _X[:16], cue="sm_"),
    _row("dnkey", "dnkey", r"dnkey-[\w=-]{26}-[\w=-]{52}", "dnkey-" + AN[:26] + "-" + AN[26:78], "dnkey-" + _X[:26] + "-" + _X[:52]),
    _row("authress-key", "acc + sc ext scauth authress", r"(?:sc|ext|scauth|authress)_[A-Za-z0-9]{5,30}\.[A-Za-z0-9]{4,6}\.acc[_-][a-z0-9-]{10,32}\.[A-Za-z0-9+/_=-]{30,120}",
         "sc_" + AN[:12] + ".abcd.acc_" + LOWER[:10] + "." + AN[:40], "sc_x.y.acc_z"),
    _row("mapbox-secret", "pk sk", r"(?:pk|sk)\.[A-Za-z0-9]{60}\.[A-Za-z0-9_-]{22}", "sk." + AN[:60] + "." + AN[60:82], "pk." + _X[:60] + "." + _X[:22]),
    _row("tines-webhook", "tines + webhook", r"tines\.com/webhook/([0-9a-f]{32}/[0-9a-f]{32})", "https://a.tines.com/webhook/" + HEX[:32] + "/" + HEX[32:64],
         "https://a.tines.com/webhook/PATH/SECRET"),
    Rule("password-hash", "secret", "reject", 3, "#value",
         r"\$(?:1|5|6|y|gy|7|2[aby]|md5)[$,](?:[\w./=,-]{1,40}\$){1,3}\$?[A-Za-z0-9./]{22,120}",
         "crypt_hash", "$6$cjvUY6xn$" + AN[:86], "$6$salt$hash", cue="$"),
    _row("dropbox-token", "sl aaaaaaaaaa", r"(?:sl\.[\w=-]{130,160}|[A-Za-z0-9]{11}AAAAAAAAAA[\w=-]{43})", "sl." + (AN + LOWER)[:140], "sl." + _X[:110], cue="sl. aaaaaaaaaa"),
    _row("beamer-token", "beamer + b", r"b_[\w=-]{44}", "beamer = b_" + AN[:44], "beamer b_" + _X[:44], "strong"),
)  # fmt: skip

# To the END line if there is one; else (a passage that was cut) over the lines that only base64 has.
_PEM = (
    r"(-----BEGIN[ A-Z0-9_-]{0,60}PRIVATE KEY(?: BLOCK)?-----(?:(?:(?!-----)[\s\S]){4,20000}-----END[ A-Z0-9_-]{0,60}-----|"
    r"(?:\s|\\[nr]){0,8}[A-Za-z0-9+/=]{10,4000}(?:(?:\s{1,20}|(?:\\[nr]){1,2})[A-Za-z0-9+/=]{16,100}(?![A-Za-z0-9+/=])){0,300}))"
)

_SHAPES = (
    Rule("private-key", "secret", "reject", 3, "begin + private", _PEM, "key_body",
         "-----BEGIN EC PRIVATE KEY-----\n" + AN[:64] + "\n" + AN[30:80] + "\n-----END EC PRIVATE KEY-----",
         "-----BEGIN CERTIFICATE-----\n" + AN[:64] + "\n-----END CERTIFICATE-----", 20_000, "-----begin"),
    _row("jwt", "ey* + #value", r"ey[A-Za-z0-9_-]{17,2000}\.ey[A-Za-z0-9/\\_-]{17,8000}(?:\.[A-Za-z0-9/\\_-]{6,2000}={0,2})?",
         "eyJ" + AN[:30] + ".eyJ" + AN[30:80] + "." + AN[:43], "eyJ....eyJ....", "jwt", 12_000, cue=".ey"),
    _row("jwt-base64", "zxlk*", r"ZXlK[A-Za-z0-9+/_\r\n-]{70,8000}={0,2}", "ZXlK" + AN[:80], "ZXlK" + _X[:80], "token", 9_000),
    _row("basic-auth-header", "basic", r"(?i:\bBasic)\s{1,3}([A-Za-z0-9+/]{12,400}={0,2})", "Authorization: Basic dXNlcjpodW50ZXIyMDE5eA==",
         "Authorization: Basic YOUR_BASE64", "base64_pair", 450, before=0),
    _row("bearer-header", "bearer", r"(?i:\bBearer)\s{1,3}([A-Za-z0-9_.~+/-]{20,2000}={0,2})", "Authorization: Bearer " + AN[:40],
         "Authorization: Bearer YOUR_ACCESS_TOKEN_HERE_1", "strong", 2_100, before=0),
    Rule("curl-user", "secret", "reject", 3, "curl", r"""\s(?:-u|--user)[\s=]{0,3}["']?([^\s"':$<{]{1,80}:[^\s"'$<{*]{3,120})""",
         "curl_pair", "curl -u admin:hunter2Zq9 https://h/x", 'curl -u "${username}":"${password}"', 1_500, before=1),
    Rule("curl-header", "secret", "reject", 3, "curl", r"""\s(?:-H|--header)[\s=]{0,3}["'](?i:Authorization:\s{0,3}(?:(?:Basic|Bearer|Token|ApiToken)\s{1,3})?|[\w-]{0,30}(?:api-?key|token|auth)[\w-]{0,20}:\s{0,3})([\w=~@.+/-]{8,600})["']""",
         "curl_header", "curl -H 'X-Api-Key: " + AN[:24] + "' https://h/x", "curl -H 'Authorization: Bearer $TOKEN' https://h/x", 2_000, before=1),
    Rule("url-password", "secret", "reject", 2, "#@", r"(?<![A-Za-z0-9])[A-Za-z][\w+.-]{1,20}://[^\s:/?#@\"'<>`]{0,80}:([^\s/:\"'<>`@]{3,120})@[\w.\[-]", "userinfo",
         "postgres://app:hunter2Zq9@db/x", "postgres://user:password@localhost/db", 140, cue="://", before=240),
    Rule("kubernetes-secret", "secret", "reject", 2, "kind + secret",
         r"""(?<![\w.-])(?!(?:kind|apiVersion|name|type|metadata|namespace)\b)[\w.-]{1,60}["']?:\s{0,4}(?:[|>]-?\s{1,20})?["']?([A-Za-z0-9+/]{10,4000}={0,3})(?=["'\s,]|\Z)""",
         "k8s_value", "apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\ndata:\n  password: UyFCXCpkJHpEc2I9\n",
         "kind: Secret\ndata:\n  password: <base64>\n", 2_500, before=2_000),
)  # fmt: skip

# --- prefixes of 2024 to 2026 -------------------------------------------------------------------------------------------

# When and where each prefix was seen, and a rule for the next ones. Bodies in samples are made up.

_LOWER_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_A_UUID = "3f9a1c7e-5b2d-8046-e1c9-a7f3d5b08264"

#: id, keywords, expression, sample, since, source.
_PREFIXES = (
    ("supabase-key", "sb sbp", r"(?:sb_secret_[\w-]{20,60}|sbp_[0-9a-f]{40})", f"sb_secret_{AN[:31]}", "2025-06", "supabase.com/docs/guides/api/api-keys"),
    ("vercel-token", "vercel vcp vca vck", r"(?:vercel_blob_rw_[A-Za-z0-9]{12,24}_[A-Za-z0-9]{20,60}|vc[pack]_[A-Za-z0-9]{24,80})", f"vcp_{AN[:56]}", "2025-02", "vercel.com/docs/vercel-blob; vercel.com/changelog"),
    ("neon-key", "napi", r"napi_[a-z0-9]{40,80}", f"napi_{LOWER[:64]}", "2024-10", "neon.com/docs/manage/api-keys"),
    ("figma-oauth", "figo figu", r"fig[ou]_[\w-]{32,60}", f"figo_{AN[:40]}", "2024", "figma.com/developers/api"),
    ("pinecone-key", "pcsk", r"pcsk_[A-Za-z0-9_]{40,80}", f"pcsk_{AN[:70]}", "2024-09", "docs.pinecone.io/guides/projects/manage-api-keys"),
    ("langsmith-key", "lsv2", r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}", f"lsv2_pt_{HEX[:32]}_{HEX[32:42]}", "2024-06", "docs.smith.langchain.com"),
    ("langfuse-key", "lf", rf"sk-lf-{_LOWER_UUID}", f"sk-lf-{_A_UUID}", "2024", "langfuse.com/docs"),
    ("tavily-key", "tvly", r"tvly-(?:dev-|prod-)?[A-Za-z0-9]{20,60}", f"tvly-dev-{AN[:32]}", "2024", "docs.tavily.com"),
    ("firecrawl-key", "fc + #long", r"fc-[0-9a-f]{32}", f"fc-{HEX[:32]}", "2024", "docs.firecrawl.dev"),
    ("resend-key", "re + #value", r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,40}", f"re_{AN[:8]}_{AN[8:32]}", "2024", "resend.com/docs/api-reference"),
    ("render-key", "rnd", r"rnd_[A-Za-z0-9]{24,60}", f"rnd_{AN[:28]}", "2024", "render.com/docs/api"),
    ("posthog-key", "phx phs", r"ph[xs]_[A-Za-z0-9]{32,60}", f"phx_{AN[:43]}", "2024", "posthog.com/docs/api"),
    ("jina-key", "jina + #long", r"jina_[A-Za-z0-9_-]{40,80}", f"jina_{HEX[:32]}{AN[:28]}", "2024", "jina.ai/api-dashboard"),
    ("voyage-key", "pa + #long", r"pa-[A-Za-z0-9_-]{40,60}", f"pa-{AN[:43]}", "2024", "docs.voyageai.com"),
    ("e2b-key", "e2b sk + #long", r"(?:sk_)?e2b_[0-9a-f]{40}", f"e2b_{HEX[:40]}", "2024", "e2b.dev/docs"),
    ("browserbase-key", "bb + #value", r"bb_(?:live|test)_[A-Za-z0-9_-]{20,50}", f"bb_live_{AN[:27]}", "2024", "docs.browserbase.com"),
    ("cerebras-key", "csk", r"csk-[a-z0-9]{40,60}", f"csk-{LOWER[:48]}", "2024-08", "inference-docs.cerebras.ai"),
    ("together-key", "tgp", r"tgp_v1_[\w-]{40,60}", f"tgp_v1_{AN[:43]}", "2025", "docs.together.ai"),
    ("circleci-token", "ccipat cciprj", r"CCI(?:PAT|PRJ)_[A-Za-z0-9]{16,30}_[0-9a-f]{40}", f"CCIPAT_{AN[:22]}_{HEX[:40]}", "2024", "circleci.com/docs/managing-api-tokens"),
    ("buildkite-token", "bkua bkct bkaj bkpat", r"bk(?:ua|ct|aj|pat)_[0-9A-Za-z]{32,60}", f"bkua_{HEX[:40]}", "2024", "buildkite.com/docs/apis"),
    ("contentful-pat", "cfpat", r"CFPAT-[\w-]{40,60}", f"CFPAT-{AN[:43]}", "2024", "contentful.com/developers/docs"),
    ("cursor-key", "key crsr + #long", r"(?:key|crsr)_[0-9a-f]{64}", f"key_{HEX[:64]}", "2025", "docs.cursor.com/account/api"),
    ("netlify-pat", "nfp nfc nfo nfu nfb", r"nf[pcoub]_[A-Za-z0-9]{32,44}", f"nfp_{AN[:36]}", "2024-04", "docs.netlify.com/api/get-started"),
    ("fireworks-key", "fw + #value", r"fw_[A-Za-z0-9]{20,60}", f"fw_{AN[:24]}", "2024", "docs.fireworks.ai"),
    ("elevenlabs-key", "sk + #long", r"sk_[0-9a-f]{48}", f"sk_{HEX[:48]}", "2024-06", "elevenlabs.io/docs/api-reference"),
    ("runpod-key", "rpa", r"rpa_[A-Z0-9]{36,60}", f"rpa_{UPPER[:44]}", "2024", "docs.runpod.io"),
    ("mem0-key", "m0 + #long", r"m0-[A-Za-z0-9]{36,50}", f"m0-{AN[:40]}", "2024", "docs.mem0.ai"),
    ("apify-token", "apify", r"apify_api_[A-Za-z0-9]{36}", f"apify_api_{AN[:36]}", "2024", "docs.apify.com/platform/integrations/api"),
    ("inngest-key", "signkey", r"signkey-(?:prod|test|branch)-[0-9a-f]{40,64}", f"signkey-prod-{HEX[:64]}", "2024", "inngest.com/docs"),
    ("trigger-dev-key", "tr + #value", r"tr_(?:dev|prod|stg|pat)_[A-Za-z0-9]{20,44}", f"tr_prod_{AN[:24]}", "2024", "trigger.dev/docs/apikeys"),
    ("webhook-secret", "whsec", r"whsec_[A-Za-z0-9+/]{24,64}={0,2}", f"whsec_{AN[:32]}", "2024", "standardwebhooks.com"),
    ("context7-key", "ctx7sk", rf"ctx7sk-{_LOWER_UUID}", f"ctx7sk-{_A_UUID}", "2025", "context7.com/docs"),
    ("brave-search-key", "bsa*", r"BSA[A-Za-z0-9_-]{27,40}", f"BSA{AN[:28]}", "2024", "api-dashboard.search.brave.com"),
    ("wandb-key", "wandb", r"wandb_v1_[\w-]{40,120}", f"wandb_v1_{AN[:77]}", "2025", "docs.wandb.ai"),
    ("google-auth-key", "aq + #long", r"AQ\.[A-Za-z0-9_-]{40,80}", f"AQ.{AN[:50]}", "2025", "ai.google.dev/gemini-api/docs/api-key"),
    ("huggingface-mixed", "hf + #long", r"hf_[A-Za-z0-9]{34,37}", f"hf_{AN[:34]}", "2024", "huggingface.co/docs/hub/security-tokens"),
    ("docker-org-token", "dckr", r"dckr_o?at_[\w-]{27,60}", f"dckr_oat_{AN[:32]}", "2024-10", "docs.docker.com/security/for-admins/access-tokens"),
    ("helicone-key", "helicone + #value", r"sk-helicone-[\w-]{20,80}", f"sk-helicone-{LOWER[:32]}", "2024", "docs.helicone.ai"),
    ("exa-style-secret", "secret + #long", r"secret[-_][A-Za-z0-9]{32,64}", f"secret_{AN[:43]}", "2024", "developers.notion.com; docs.statsig.com"),
    ("digitalocean-spaces", "dose dosm + #long", r"dos[em]_v1_[0-9a-f]{64}", f"dose_v1_{HEX[:64]}", "2025", "docs.digitalocean.com"),
)  # fmt: skip


RECENT = (
    *(
        Rule(id, "secret", "reject", 3, keywords, rf"(?<![A-Za-z0-9_-]){pattern}(?![A-Za-z0-9])", "strong", sample, sample[:6] + "x" * 40, 260)
        for id, keywords, pattern, sample, _since, _source in _PREFIXES
    ),
    Rule("prefixed-key", "secret", "reject", 2, "sk rk pat key apikey api token tok secret svc admin live prod + #value",
         r"(?<![A-Za-z0-9])(?<![./])(?<!pk[_-])(?<!pub[_-])(?:sk|rk|pat|apikey|api|key|token|tok|secret|svc|admin|live|prod)[_-](?:(?:live|test|prod|dev|v\d|[a-z]{2,8})[_-]){0,2}(?=[A-Za-z0-9]{0,40}[A-Z])(?=[A-Za-z0-9]{0,40}[0-9])[A-Za-z0-9]{24,120}(?![A-Za-z0-9_.-])",
         "prefixed", f"acme_tok_prod_{AN[:32]}", "api_key_" + "x" * 32, 260, before=0),
)  # fmt: skip

# --- names: a provider, or a word such as token or password, and a value ------------------------------------------------

_ASSIGN = r"""[\s"'`\])\\]{0,4}(?:string\s{0,3})?(?::{1,3}=|=>|\?=|\.=|\|\||[=:>,])[\s"'`=\\]{0,12}"""
_VALUE_END = r"(?![\w=])"
_UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"


def _provider(id: str, names: str, value: str, sample: str, keywords: str = "", check: str = "filled") -> Rule:
    """A provider row: its name, perhaps more of an identifier, an assignment, a value of the provider's length.

    The name is no part of others: `sumOf` does not say Sumo.
    """
    first = names.split(maxsplit=1)[0]
    pattern = rf"(?i:{'|'.join(names.split())})(?<![a-z][A-Z])[\w.-]{{0,40}}{_ASSIGN}({value}){_VALUE_END}"
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
    _provider("adafruit-key", "adafruit", r"[a-z0-9_-]{32}", LOWER[:32]),
    _provider("adobe-client", "adobe", r"[0-9a-f]{32}", HEX[:32]),
    _provider("airtable-key", "airtable", r"[a-z0-9]{17}", LOWER[:17]),
    _provider("algolia-key", "algolia", r"[a-z0-9]{32}", LOWER[:32]),
    _provider("asana-key", "asana", r"\d{16}|[a-z0-9]{32}", LOWER[:32]),
    _provider("atlassian-key", "atlassian confluence jira", r"[A-Za-z0-9]{24}", AN[:24]),
    _provider("bitbucket-key", "bitbucket", r"[A-Za-z0-9]{32}|[A-Za-z0-9=_-]{64}", AN[:32]),
    _provider("bittrex-key", "bittrex", r"[a-z0-9]{32}", LOWER[:32]),
    _provider("meraki-key", "meraki", r"[0-9a-f]{40}", HEX[:40]),
    _provider("cloudflare-key", "cloudflare", r"[0-9a-f]{37}|[A-Za-z0-9_-]{40}", AN[:40]),
    _provider("codecov-token", "codecov", r"[a-z0-9]{32}|" + _UUID, LOWER[:32]),
    _provider("cohere-key", "cohere co_api_key", r"[A-Za-z0-9]{40}", AN[:40], "*cohere* co + #value"),
    _provider("coinbase-token", "coinbase", r"[a-z0-9_-]{64}", LOWER[:64]),
    _provider("confluent-key", "confluent", r"[a-z0-9A-Z]{16}|[a-zA-Z0-9]{64}", LOWER[:16]),
    _provider("contentful-token", "contentful", r"[A-Za-z0-9=_-]{43}", AN[:43]),
    _provider("datadog-key", "datadog", r"[a-z0-9]{32}|[a-z0-9]{40}", LOWER[:40]),
    _provider("discord-secret", "discord", r"[0-9a-f]{64}|[A-Za-z0-9=_-]{32}|\d{18,19}", HEX[:64]),
    _provider("drone-token", "droneci drone", r"[a-z0-9]{32}", LOWER[:32]),
    _provider("dropbox-secret", "dropbox", r"[a-z0-9]{15}|[A-Za-z0-9]{64}", LOWER[:15]),
    _provider("etsy-token", "etsy", r"[a-z0-9]{24}", LOWER[:24]),
    _provider("facebook-secret", "facebook", r"[0-9a-f]{32}", HEX[:32]),
    _provider("fastly-token", "fastly", r"[A-Za-z0-9=_-]{32}", AN[:32]),
    _provider("finicity-key", "finicity", r"[0-9a-f]{32}|[a-z0-9]{20}", HEX[:32]),
    _provider("finnhub-token", "finnhub", r"[a-z0-9]{20}", LOWER[:20]),
    _provider("flickr-token", "flickr", r"[a-z0-9]{32}", LOWER[:32]),
    _provider("freshbooks-token", "freshbooks", r"[a-z0-9]{64}", LOWER[:64]),
    _provider("gitter-token", "gitter", r"[a-z0-9_-]{40}", LOWER[:40]),
    _provider("heroku-uuid", "heroku", _UUID, _A_UUID),
    _provider("hubspot-key", "hubspot", _UUID, _A_UUID),
    _provider("intercom-key", "intercom", r"[A-Za-z0-9=_-]{60}", AN[:60]),
    _provider("jfrog-key", "jfrog artifactory bintray xray", r"[A-Za-z0-9]{64}|[A-Za-z0-9]{73}", AN[:73]),
    _provider("kraken-token", "kraken", r"[A-Za-z0-9/=_+-]{80,90}", AN[:80]),
    _provider("kucoin-token", "kucoin", r"[0-9a-f]{24}|" + _UUID, HEX[:24]),
    _provider("launchdarkly-token", "launchdarkly", r"[A-Za-z0-9=_-]{40}", AN[:40]),
    _provider("linear-secret", "linear", r"[0-9a-f]{32}", HEX[:32]),
    _provider("linkedin-key", "linkedin linked-in", r"[a-z0-9]{14}|[a-z0-9]{16}", LOWER[:14], "*linkedin* linked"),
    _provider("looker-key", "looker", r"[a-z0-9]{20}|[a-z0-9]{24}", LOWER[:24]),
    _provider("mailgun-signing", "mailgun", r"[0-9a-h]{32}-[0-9a-h]{8}-[0-9a-h]{8}|pubkey-[0-9a-f]{32}", HEX[:32] + "-3f9a1c7e-5b2d8046"),
    _provider("mattermost-token", "mattermost", r"[a-z0-9]{26}", LOWER[:26]),
    _provider("messagebird-key", "messagebird message-bird message_bird", r"[a-z0-9]{25}|" + _UUID, LOWER[:25], "*messagebird* bird"),
    _provider("netlify-token", "netlify", r"[A-Za-z0-9=_-]{40,46}", AN[:40]),
    _provider("newrelic-id", "new-relic newrelic new_relic", r"[a-z0-9]{64}", LOWER[:64], "*newrelic* relic"),
    _provider("nytimes-token", "nytimes new-york-times newyorktimes", r"[A-Za-z0-9=_-]{32}", AN[:32], "*nytimes* *newyorktimes* york + #value"),
    _provider("okta-token", "okta", r"00[\w=-]{40}", "00" + AN[:40]),
    _provider("plaid-key", "plaid", r"[a-z0-9]{24}|[a-z0-9]{30}", LOWER[:30]),
    _provider("privateai-token", "privateai private_ai private-ai", r"[a-z0-9]{32}", LOWER[:32], "*privateai* private + #value"),
    _provider("rapidapi-key", "rapidapi", r"[A-Za-z0-9_-]{50}", AN[:50]),
    _provider("sendbird-token", "sendbird", r"[0-9a-f]{40}|" + _UUID, HEX[:40]),
    _provider("sentry-key", "sentry", r"[0-9a-f]{64}", HEX[:64]),
    _provider("sidekiq-secret", "contribsys", r"[0-9a-f]{8}:[0-9a-f]{8}", "3f9a1c7e:5b2d8046"),
    _provider("snyk-token", "snyk", _UUID, _A_UUID),
    Rule("softlayer-key", "secret", "reject", 2, "*softlayer* sl *slapikey* *slkey*",
         rf"(?i:(?:softlayer|(?<![A-Za-z0-9])sl)[_-]?(?:api[_-]?)?(?:key|pass(?:wd|word)?)?)[\w.-]{{0,40}}(?:{_ASSIGN}|\s)([a-z0-9]{{64}}){_VALUE_END}|softlayer\.com/soap/v3(?:\.1)?/([a-z0-9]{{64}}){_VALUE_END}",
         "filled", f"--softlayer-api-key {HEX[:64]}", "--softlayer-api-key <key>", 250),
    _provider("ibm-cloud-key", "ibm iam_api cloud_iam cloud_api cloud-iam cloud-api apikey", r"[A-Za-z0-9_-]{44}", AN[:44], "ibm iam cloud *apikey* + #value"),
    _provider("cloudant-password", "cloudant", r"[0-9a-f]{64}|[a-z]{24}", HEX[:64]),
    _provider("squarespace-token", "squarespace", _UUID, _A_UUID),
    _provider("sumologic-key", "sumo", r"su[A-Za-z0-9]{12}|[A-Za-z0-9]{64}", AN[:64]),
    _provider("travis-token", "travis", r"[A-Za-z0-9]{22}", AN[:22]),
    _provider("trello-token", "trello", r"[A-Za-z0-9]{32}", AN[:32]),
    _provider("twitch-token", "twitch", r"[a-z0-9]{30}", LOWER[:30]),
    _provider("twitter-key", "twitter", r"[A-Za-z0-9]{25}|[A-Za-z0-9]{50}|\d{15,25}-[A-Za-z0-9]{20,40}|A{22}[A-Za-z0-9%]{80,100}|[A-Za-z0-9]{45}", AN[:25]),
    _provider("zendesk-key", "zendesk", r"[A-Za-z0-9]{40}", AN[:40]),
    _provider("sonar-key", "sonar", r"[A-Za-z0-9_=-]{40}", AN[:40]),
    _provider("harness-key", "harness", r"[A-Za-z0-9]{44,66}", AN[:44]),
    _provider("telegram-key", "telegram", r"\d{5,16}:[\w-]{35}(?!-)", "42171948:" + AN[:35]),
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

_NAMED_VALUES = (
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

# --- credentials as people write them: a label, something that says "is", a value ---------------------------------------

#: What a password is called. A label of several words stands here by its last one, at which patterns are tried.
_LABEL = (
    r"passw(?:or[dt]|ord|d)s?|passcode|passphrase|password[s]?|pwd|pw|pass|"  # English, French "mot de passe" below
    r"passwort[es]?|kennwort|zugangscode|zugangsschl\xfcssel|passe|mdp|contrase\xf1a|clave|(?<=d')ordine|senha|wachtwoord|has\u0142o|"
    r"\u043f\u0430\u0440\u043e\u043b[\u044c\u044f]|\u015fifre(?:si)?|parola(?:s\u0131)?|l\xf6senord(?:et)?|kh\u1ea9u|sandi(?:nya)?|\u03ba\u03c9\u03b4\u03b9\u03ba(?:\u03cc|\u03bf|\u038c)[\u03c2\u03c3]|\u0627\u0644\u0645\u0631\u0648\u0631|\u0627\u0644\u0633\u0631|\u0639\u0628\u0648\u0631"
)
_LABEL_WORDS = (
    "*passw* passcode passphrase pwd pw pass passwort kennwort zugangscode zugangsschl\xfcssel passe mdp contrase\xf1a contrasena clave ordine senha "
    "wachtwoord has\u0142o haslo \u043f\u0430\u0440\u043e\u043b\u044c \u043f\u0430\u0440\u043e\u043b\u044f \u015fifre \u015fifresi parola parolas\u0131 l\xf6senord l\xf6senordet losenord kh\u1ea9u sandi sandinya \u03ba\u03c9\u03b4\u03b9\u03ba\u03cc\u03c2 \u03ba\u03c9\u03b4\u03b9\u03ba\u03bf\u03c2 \u03ba\u03c9\u03b4\u03b9\u03ba\u03cc\u03c3 \u03ba\u03c9\u03b4\u03b9\u03ba\u03bf\u03c3 "
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
_IS = r"[ \t]{1,2}(?:is|are|was|ist|lautet|est|es|\xe8|\xe9|sono|to|\xe4r|adalah|la|ir|olarak|\u03b5[\u03af\u03b9]\u03bd\u03b1\u03b9|\u0647\u064a|\u0647\u0648|\u0627\u0633\u062a|\u2014|\u2013|-|now|:)[ \t]{1,3}[\"'`*\u201c(]{0,3}"
_VALUE = r"([^\s\"'`<>|\u201c\u201d]{5,99}[^\s\"'`<>|.,;:*)\]\u3002\uff0c\u201c\u201d])"
_WHOSE = r"[^\n:=|<>{}()\[\]@]{0,32}?"
_NAMED_KEY = r"([A-Za-z0-9_+/=-]{16,120})(?![\w(\[.])"


_CREDENTIALS = (
    Rule("password-labelled", "secret", "reject", 2, _LABEL_WORDS,
         rf"(?i)(?:{_LABEL}){_OTHER}(?:{_WHOSE}{_GIVEN}|[ \t]{{0,2}}\([^)\n]{{1,20}}\){_GIVEN}|{_CELL}|[ \t*:_]{{0,3}}\n[ \t>*-]{{0,6}}`?(?=\S{{6,60}}`?[ \t]*(?:\n|\Z))){_VALUE}",
         "credible", "**Password:** Teso+1734", "Password: at least 12 characters", reach=220, before=0),
    Rule("password-said", "secret", "reject", 2, _LABEL_WORDS,
         rf"(?i)(?:{_LABEL}){_OTHER}{_WHOSE}{_IS}{_VALUE}",
         "credible_prose", "the db pw is Vibi9*675q", "the password is encrypted", reach=220, before=0),
    Rule("password-labelled-cjk", "secret", "reject", 2, "#cjk",
         rf"(?i)(?:{_LABEL_DENSE})[^\n:=|]{{0,12}}?(?:{_GIVEN}|{_CELL}|[ \t]{{0,2}}(?:\u662f|\u4e3a|\u306f|\u306b\u306f|\ub294|\uc740|\u2014|-)[ \t]{{0,2}}[\"'`\u300c]?){_VALUE}",
         "credible", "密码：Mune*2147", "密码：至少需要12个字符", reach=220, cue="密码 密碼 口令 パスワード 暗証番号 비밀번호 パスコード पासवर्ड পাসওয়ার্ড รหัสผ่าน"),
    Rule("password-column", "secret", "reject", 2, "*passw* pwd kennwort clave senha wachtwoord",
         r"(?i)(?:" + "|".join(
             rf"^\|(?:[^|\n]{{0,60}}\|){{{n}}}[ *`]{{0,4}}(?:{_LABEL})[ *`]{{0,4}}\|[^\n]{{0,200}}\n\|[-:| ]{{3,200}}\n(?:\|[^\n]{{0,200}}\n){{0,12}}?\|(?:[^|\n]{{0,60}}\|){{{n}}}[ *`]{{0,4}}([^\s|`\[]{{6,60}})[ *`]{{0,4}}\|"
             for n in range(5)) + ")",
         "credible", "| service | login | password |\n|---|---|---|\n| db | app | Nobiza$wf22 |", "| field | password |\n|---|---|\n| form | required |", reach=1500, before=300, cue="|"),
    Rule("password-option", "secret", "reject", 2, "*passw* passphrase pwd pass token secret",
         rf"(?i)(?<=--)(?:pass(?:word|wd|phrase)?|pwd|token|secret)(?:=|[ \t])[\"']?(?!-){_VALUE}",
         "credible", "backup-tool --password 6973Rafe.Biu --all", "backup-tool --password --all", reach=160, cue="--", before=0),
    Rule("password-command", "secret", "reject", 2, "mysql mysqldump mariadb mysqladmin sshpass docker podman redis net ldapsearch ldapmodify ldapadd",
         rf"(?i)\b(?:(?:mysql(?:dump|admin)?|mariadb)\b[^\n]{{0,100}}?\s-p[\"']?{_VALUE}|sshpass\s{{1,3}}-p\s{{0,2}}[\"']?{_VALUE}|"
         rf"(?:docker|podman)\s+login\b[^\n]{{0,80}}?\s-p[ =][\"']?{_VALUE}|redis-cli\b[^\n]{{0,60}}?\s-a\s[\"']?{_VALUE}|"
         rf"net\s+use\s+\S+\s+\S+\s{_VALUE}\s+/user|ldap(?:search|modify|add)\b[^\n]{{0,80}}?\s-w\s[\"']?{_VALUE})",
         "credible", "mysql -u root -pRila7505yW2 shop", "mysql -u root -p", reach=260, cue="-p -a -w /user", before=0),
    Rule("login-pair", "secret", "reject", 2, "creds credentials credential login logon zugangsdaten anmeldedaten identifiants credenciales credenziali credenciais inloggegevens po\u015bwiadczenia \u043b\u043e\u0433\u0438\u043d acceso accesso account",
         rf"(?i)(?:creds|credentials?|log[io]n|zugangsdaten|anmeldedaten|identifiants|credenciales|credenziali|credenciais|inloggegevens|po\u015bwiadczenia|\u043b\u043e\u0433\u0438\u043d|acces?so|account){_WHOSE}(?:{_GIVEN}|{_IS})[\w.@+-]{{1,40}}\s{{0,2}}[:/|]\s{{0,2}}(?![/\\]){_VALUE}",
         "credible_prose", "creds: admin:vvdgj2&Kevuba", "login: required / optional", reach=220, before=0),
    Rule("pin-labelled", "secret", "reject", 2, "pin pincode",
         r"(?i)(?<![\w-])(?:pin(?:-?code)?)(?:\s(?:for|f\xfcr|of|pour|de|del|van|zum|zur|voor)\s[^\n:=\d]{1,30})?(?:\s(?:is|ist|est|es)\s|[ \t*_`]{0,4}[:\uff1a=][ \t*_`]{0,4})(\d{4,8})(?![\w.-]|\s(?:digit|ziffer|char|zeichen))",
         "pin", "PIN for the safe: 73915", "PIN: 4 digits", reach=220, before=0),
    Rule("pin-labelled-cjk", "secret", "reject", 2, "#cjk",
         r"(?i)(?:\u6697\u8a3c\u756a\u53f7|\u5bc6\u7801|\ube44\ubc00\ubc88\ud638)[ \t]{0,2}(?:[:\uff1a]|\u306f|\u662f)[ \t]{0,2}(\d{4,8})(?!\d)",
         "pin", "暗証番号：73915", "暗証番号は4桁です", reach=220, cue="暗証番号 密码 비밀번호"),
    Rule("key-labelled", "secret", "reject", 2, "api apikey key keys token tokens secret schl\xfcssel sleutel nyckel anahtar anahtar\u0131 klucz chiave cl\xe9 cle clave chave \u043a\u043b\u044e\u0447 + #value",
         rf"(?i)\b(?:{_KEY_NOUN}|cl[e\xe9]\sapi|(?:clave|chiave|chave|klucz|\u043a\u043b\u044e\u0447)(?:\s(?:de\s)?api)?)(?!_?id\b)"
         rf"(?:[^\n:=|<>{{}}()\[\]]{{0,40}}?(?:{_GIVEN}|{_IS})|{_CELL}|[ \t]{{0,2}}(?:\([^)\n]{{1,20}}\)[ \t]?)?`){_NAMED_KEY}",
         "credible_key", "the Mistral key is cL7SchpaHxAA2iypG6q8nE3o", "type_key: Selector.5f8a9c1b2d3e4f50617283", reach=220, before=0),
    Rule("key-used", "secret", "reject", 2, "token key secret + #value",
         r"(?i)\b(?:token|key|secret)\s[`\"']?" + _NAMED_KEY,
         "credible_key_used", "use the token aBm6A8oNsScyvfBC6KzSabdn for staging", "use the key user_name_for_all_tables", reach=220, before=0),
)  # fmt: skip

SECRETS = (
    *_FORGES, *_CLOUD, *_AI, *_MONEY, *_TALK, *_PACKAGES, *_TOOLS, *_SHAPES, *RECENT, *_PROVIDERS, *_NAMED_VALUES, *_CREDENTIALS,
)  # fmt: skip
