# ruff: noqa: E501 - a row is read as a row
"""Secrets that show by their own format. The examples are made up."""

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


def _bare(
    id: str, keywords: str, pattern: str, example: str, counter: str, check: str = "token", cue: str = ""
) -> Rule:
    """A token row whose pattern begins with a literal, which the regular expression engine looks for at full speed."""
    return Rule(id, "secret", "reject", 3, keywords, pattern, check, example, counter, cue=cue)


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
    _bare("discord-bot", "#long", r"\.(?<=[A-Za-z\d_-]{24}\.)[A-Za-z\d_-]{6}\.(?=[\w-]*\d)[A-Za-z\d_-]{27,38}(?![\w.-])",
         "MTk4" + AN[:22] + ".Cl2FMQ." + AN[40:68], "M" + _X[:23] + "." + _X[:6] + "." + _X[:27]),
    _bare("telegram-bot", "#value", r":A(?<=\d{5}:A)(?<!\d{17}:A)[A-Za-z\d_-]{34}(?![\w-])", "42171948:A" + AN[:34], "110201543:A" + _X[:34], "strong", cue=":a"),
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
    _bare("password-hash", "#value", r"\$(?:1|5|6|y|gy|7|2[aby]|md5)[$,](?:[\w./=,-]{1,40}\$){1,3}\$?[A-Za-z0-9./]{22,120}",
         "$6$cjvUY6xn$" + AN[:86], "$6$salt$hash", "crypt_hash", cue="$"),
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
         "-----BEGIN CERTIFICATE-----\n" + AN[:64] + "\n-----END CERTIFICATE-----", 20_000),
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

SECRETS = (*_FORGES, *_CLOUD, *_AI, *_MONEY, *_TALK, *_PACKAGES, *_TOOLS, *_SHAPES)
