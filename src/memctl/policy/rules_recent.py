# ruff: noqa: E501 - a row is read as a row
"""Prefixes of keys that came up from 2024 to 2026, with when and where each was seen, and a rule for the next ones.

A row is: id, the words that the gate looks for, the expression, a sample of its body, since when, and whose page or which
list of formats shows it. Bodies in samples are made up.
"""

from __future__ import annotations

from memctl.policy.rule import Rule
from memctl.policy.rules_secrets import AN, HEX, LOWER, UPPER

_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_A_UUID = "3f9a1c7e-5b2d-8046-e1c9-a7f3d5b08264"

#: id, keywords, expression, sample, since, source.
_ROWS = (
    ("supabase-key", "sb sbp", r"(?:sb_secret_[\w-]{20,60}|sbp_[0-9a-f]{40})", f"sb_secret_{AN[:31]}", "2025-06", "supabase.com/docs/guides/api/api-keys"),
    ("vercel-token", "vercel vcp vca vck", r"(?:vercel_blob_rw_[A-Za-z0-9]{12,24}_[A-Za-z0-9]{20,60}|vc[pack]_[A-Za-z0-9]{24,80})", f"vcp_{AN[:56]}", "2025-02", "vercel.com/docs/vercel-blob; vercel.com/changelog"),
    ("neon-key", "napi", r"napi_[a-z0-9]{40,80}", f"napi_{LOWER[:64]}", "2024-10", "neon.com/docs/manage/api-keys"),
    ("figma-oauth", "figo figu", r"fig[ou]_[\w-]{32,60}", f"figo_{AN[:40]}", "2024", "figma.com/developers/api"),
    ("pinecone-key", "pcsk", r"pcsk_[A-Za-z0-9_]{40,80}", f"pcsk_{AN[:70]}", "2024-09", "docs.pinecone.io/guides/projects/manage-api-keys"),
    ("langsmith-key", "lsv2", r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}", f"lsv2_pt_{HEX[:32]}_{HEX[32:42]}", "2024-06", "docs.smith.langchain.com"),
    ("langfuse-key", "lf", rf"sk-lf-{_UUID}", f"sk-lf-{_A_UUID}", "2024", "langfuse.com/docs"),
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
    ("context7-key", "ctx7sk", rf"ctx7sk-{_UUID}", f"ctx7sk-{_A_UUID}", "2025", "context7.com/docs"),
    ("brave-search-key", "bsa*", r"BSA[A-Za-z0-9_-]{27,40}", f"BSA{AN[:28]}", "2024", "api-dashboard.search.brave.com"),
    ("wandb-key", "wandb", r"wandb_v1_[\w-]{40,120}", f"wandb_v1_{AN[:77]}", "2025", "docs.wandb.ai"),
    ("google-auth-key", "aq + #long", r"AQ\.[A-Za-z0-9_-]{40,80}", f"AQ.{AN[:50]}", "2025", "ai.google.dev/gemini-api/docs/api-key"),
    ("huggingface-mixed", "hf + #long", r"hf_[A-Za-z0-9]{34,37}", f"hf_{AN[:34]}", "2024", "huggingface.co/docs/hub/security-tokens"),
    ("docker-org-token", "dckr", r"dckr_o?at_[\w-]{27,60}", f"dckr_oat_{AN[:32]}", "2024-10", "docs.docker.com/security/for-admins/access-tokens"),
    ("helicone-key", "helicone + #value", r"sk-helicone-[\w-]{20,80}", f"sk-helicone-{LOWER[:32]}", "2024", "docs.helicone.ai"),
    ("exa-style-secret", "secret + #long", r"secret[-_][A-Za-z0-9]{32,64}", f"secret_{AN[:43]}", "2024", "developers.notion.com; docs.statsig.com"),
    ("digitalocean-spaces", "dose dosm + #long", r"dos[em]_v1_[0-9a-f]{64}", f"dose_v1_{HEX[:64]}", "2025", "docs.digitalocean.com"),
)  # fmt: skip


def _recent(id: str, keywords: str, pattern: str, sample: str) -> Rule:
    return Rule(
        id, "secret", "reject", 3, keywords, rf"(?<![A-Za-z0-9_-]){pattern}(?![A-Za-z0-9])", "strong", sample,
        sample[:6] + "x" * 40, 260,
    )  # fmt: skip


RECENT = (
    *(_recent(*row[:4]) for row in _ROWS),
    Rule("prefixed-key", "secret", "reject", 2, "sk rk pat key apikey api token tok secret svc admin live prod + #value",
         r"(?<![A-Za-z0-9])(?<![./])(?<!pk[_-])(?<!pub[_-])(?:sk|rk|pat|apikey|api|key|token|tok|secret|svc|admin|live|prod)[_-](?:(?:live|test|prod|dev|v\d|[a-z]{2,8})[_-]){0,2}(?=[A-Za-z0-9]{0,40}[A-Z])(?=[A-Za-z0-9]{0,40}[0-9])[A-Za-z0-9]{24,120}(?![A-Za-z0-9_.-])",
         "prefixed", f"acme_tok_prod_{AN[:32]}", "api_key_" + "x" * 32, 260, before=0),
)  # fmt: skip
