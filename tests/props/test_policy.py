"""Whatever the text: policy answers, blots out what it found, and finds nothing more in what it left."""

from hypothesis import given
from hypothesis import strategies as st

from memctl.policy import RULES, MemoryPolicy, lexicon
from memctl.policy.clauses import ClauseReader
from memctl.types import MemoryItem, MemoryProposal

POLICY = MemoryPolicy()
PIECES = st.sampled_from([rule.example for rule in RULES] + [rule.counterexample for rule in RULES])
GLUE = st.sampled_from(
    ["", " ", "\n", "=", "\u200b", "'", '" + "', ".", "_", "%20", "password=", "-----BEGIN", "[REDACTED:"]
)
TEXT = st.lists(st.one_of(PIECES, GLUE, st.text(max_size=12)), max_size=6).map("".join)


@given(TEXT)
def test_judging_never_raises_and_is_stable(text: str) -> None:
    judged = POLICY.judge(text)
    again = POLICY.judge(judged.text)
    assert not [f for f in again.findings if f.action == "redact"]
    assert again.text == judged.text
    assert judged.redacted == (judged.text != text)


@given(TEXT)
def test_what_was_blotted_out_is_gone(text: str) -> None:
    judged = POLICY.judge(text)
    for found in judged.findings:
        assert 0 <= found.start < found.end <= len(text)
        secret = text[found.start : found.end]
        if found.action == "redact" and len(secret) >= 12 and "[REDACTED:" not in secret:
            assert secret not in judged.text


@given(TEXT, TEXT, st.lists(TEXT, max_size=2))
def test_verdicts_never_raise_and_place_their_findings(title: str, content: str, tags: list[str]) -> None:
    hint = {"source_id": "x"}
    proposal = MemoryProposal(
        type="pointer", title=title, content=content, tags=tags, why_store="x", provenance_hint=hint
    )
    verdict = POLICY.evaluate_proposal(proposal)
    sizes = {"title": len(title), "content": len(content), "tags": max(map(len, tags), default=0)}
    assert all(0 <= f.start <= f.end <= sizes[f.field] for f in verdict.findings)
    assert (verdict.action == "accept") == (not verdict.reasons)
    item = MemoryItem(type="pointer", title=title, content=content, tags=tags, provenance=hint)
    assert POLICY.evaluate_item(item).rejected == verdict.rejected


@given(st.text(max_size=300))
def test_any_text_at_all(text: str) -> None:
    assert POLICY.judge(text).action in {"accept", "redact", "quarantine"}
    assert POLICY.judge(text, document=False).action in {"accept", "quarantine", "reject"}


#: What the words of orders look like in a text; and what may stand between them.
SAID = sorted(
    {
        entry.replace("_", " ").replace("*", "en").lower()
        for table in (lexicon.ANYWHERE, *lexicon.SPACED.values())
        for words in table.values()
        for entry in words.split()
    }
)
BETWEEN = (
    " ",
    " ",
    " ",
    "\n",
    ". ",
    "? ",
    ", ",
    "-",
    "'",
    "_",
    "@",
    "/",
    " https://x.example/",
    ".com ",
    ".cóm ",
    ".1.2.3 ",
    "; the ",
    "l'",
    "*",
)


@given(st.lists(st.tuples(st.sampled_from(SAID), st.sampled_from(BETWEEN)), max_size=12))
def test_a_text_has_all_the_concepts_that_its_clauses_have(said: list[tuple[str, str]]) -> None:
    low = "".join(word + between for word, between in said)[:240]  # of a longer clause a part is read
    reader = ClauseReader(low)
    for clause in reader.around(range(len(low)), [], lambda *_: True, could_match=lambda _: True):
        assert not clause.concepts & ~reader.concepts
