"""Whatever a line of a model's import says of itself, it is believed no more than a model."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from memctl import ids
from memctl.lifecycle.import_ import distrust_line
from memctl.lifecycle.jsonl import InvalidLine, parse_line, read_item
from memctl.text import source_trust

KINDS = st.sampled_from(
    ["person", "PERSON", " user ", "human", "doc", "Doc ", "chat", "tool", "mixed", "web", "model", ""]
) | st.text(max_size=12)
NAMES = st.sampled_from(["", " ", "memctl-remember", "memctl-remember:s", "README.md", "https://x.example", "\n"]) | (
    st.text(max_size=30)
)
SOURCES = st.fixed_dictionaries(
    {}, optional={"source_kind": KINDS, "source_id": NAMES, "chunk_ids": st.lists(NAMES, max_size=3),
                  "content_hashes": st.lists(NAMES, max_size=2)},
)  # fmt: skip
SHARES = st.floats(0, 1)
TIMES = st.sampled_from(["1999-01-01T00:00:00+00:00", "2999-01-01", "2999-01-01T00:00:00Z"])
LINES = st.fixed_dictionaries(
    {"content": st.just("The release key is under the mat.")},
    optional={
        "provenance": SOURCES, "tier": st.sampled_from(["stm", "mtm", "ltm"]), "confidence": SHARES,
        "importance": SHARES, "usage_count": st.integers(0, 10**6), "created_at": TIMES, "updated_at": TIMES,
        "validation": st.sampled_from(["unverified", "verified", "contested", "retracted"]), "last_used_at": TIMES,
        "source": st.fixed_dictionaries({"position": st.integers(0, 9)}), "injectable": st.booleans(),
    },
)  # fmt: skip


@given(LINES)
def test_nothing_a_line_claims_counts(line: dict[str, Any]) -> None:
    try:
        record = read_item(parse_line(json.dumps(line).encode()))
    except InvalidLine:
        return
    held = not record.item.injectable
    found = distrust_line(None, record)
    item, source = found.item, found.item.provenance
    level, words = source_trust.trust_of(source.source_kind, source.source_id, source.chunk_ids)
    assert level == source_trust.LOW
    assert words.startswith("low (")
    assert source.source_kind.strip().lower() not in ("doc", "person", "user", "human")
    assert (item.tier != "ltm", item.validation, item.confidence) == (True, "unverified", 0.5)
    assert (item.usage_count, item.last_used_at, found.importance, found.place) == (0, None, None, None)
    assert max(item.created_at, item.updated_at) <= ids.timestamp()
    assert held is (not item.injectable), "what holds a line back still does"
