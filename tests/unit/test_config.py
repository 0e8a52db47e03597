"""The documented configuration API, and what the loader makes of odd files."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl import errors
from memctl.config import (
    KEYS,
    SECTIONS,
    ChatConfig,
    ConsolidateConfig,
    InspectConfig,
    MemoryConfig,
    PolicyConfig,
    ProposerConfig,
    StoreConfig,
    ValidationError,
    load_config,
    read_config,
)


def written(data: object) -> Path:
    path = Path("config.json")
    path.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
    return path


def test_documented_defaults() -> None:
    config = MemoryConfig()
    assert (config.store.db_path, config.store.wal_mode) == (".memory/memory.db", True)
    assert config.store.fts_tokenizer == "unicode61 remove_diacritics 2"
    assert (config.policy.max_content_length, config.policy.quarantine_expiry_hours) == (2000, 72)
    assert config.policy.require_provenance_for == ["mtm", "ltm"]
    assert config.consolidate.auto_promote_types == ["constraint", "decision", "definition"]
    assert config.proposer.strategy == "both"
    assert config.inspect.to_dict() == {
        "dominance_frac": 0.4, "low_density_threshold": 0.1, "ext_concentration_frac": 0.75, "sparse_threshold": 1,
    }  # fmt: skip
    assert config.chat.history_max == 1000
    assert (config.recall.budget_tokens, config.pull.tier, config.ingest.chunk_tokens) == (2200, "stm", 1800)


@pytest.mark.parametrize(
    "kind", [StoreConfig, PolicyConfig, ConsolidateConfig, ProposerConfig, InspectConfig, ChatConfig]
)
def test_defaults_are_valid_and_nobody_shares_them(kind: Any) -> None:
    assert kind().validate() == []
    assert kind() == kind()
    spoilt = kind()
    for value in vars(spoilt).values():
        if isinstance(value, list):
            value.append("spoilt")
    assert "spoilt" not in str(kind())


def test_every_key_has_a_section_a_meaning_and_a_valid_default() -> None:
    assert {key.section for key in KEYS} == set(SECTIONS)
    assert len({key.path for key in KEYS}) == len(KEYS)
    config = MemoryConfig()
    for key in KEYS:
        assert key.help
        assert key.problem(key.default) == ""
        assert config.value(key.path) == key.default


def test_keywords_build_and_unknown_ones_do_not() -> None:
    store = StoreConfig(db_path="here.db")
    config = MemoryConfig(store, PolicyConfig())
    assert config.store is store
    assert isinstance(MemoryConfig().policy, PolicyConfig)
    assert PolicyConfig(max_content_length=500).max_content_length == 500
    assert MemoryConfig(policy=PolicyConfig(max_content_length=500)).policy.max_content_length == 500
    with pytest.raises(TypeError, match="max_lenght"):
        PolicyConfig(max_lenght=500)


@pytest.mark.parametrize(
    ("section", "problem"),
    [
        (PolicyConfig(max_content_length=5), "policy.max_content_length: 5 not in [100, 100000]"),
        (PolicyConfig(max_content_length="x"), "policy.max_content_length: expected int, got str"),
        (PolicyConfig(max_content_length=True), "policy.max_content_length: expected int, got bool"),
        (PolicyConfig(secret_patterns_enabled=1), "policy.secret_patterns_enabled: expected bool, got int"),
        (PolicyConfig(require_provenance_for="ltm"), "policy.require_provenance_for: expected list of text, got str"),
        (InspectConfig(dominance_frac=0), "inspect.dominance_frac: 0 not in [0.01, 1]"),
        (InspectConfig(dominance_frac=float("nan")), "inspect.dominance_frac: nan not in [0.01, 1]"),
        (ProposerConfig(strategy="x"), "proposer.strategy: 'x' not in ['tool', 'delimiter', 'both']"),
        (StoreConfig(db_path=None), "store.db_path: expected str, got null"),
    ],
)
def test_validation_says_what_is_wrong(section: Any, problem: str) -> None:
    assert section.validate() == [problem]


def test_a_whole_number_is_a_number() -> None:
    assert InspectConfig(dominance_frac=1).validate() == []


def test_from_dict_takes_what_it_knows() -> None:
    config = MemoryConfig.from_dict(
        {"policy": {"max_content_length": 700, "typo": 1}, "chat": 3, "what": {}, "pull": {"tier": "mtm"}}
    )
    assert (config.policy.max_content_length, config.chat.history_max, config.pull.tier) == (700, 1000, "mtm")


def test_one_unknown_key_does_not_discard_the_rest() -> None:
    path = written({"policy": {"max_lenght": 1, "max_content_length": 900}, "polcy": {}})
    assert load_config(path).policy.max_content_length == 900
    loaded = read_config(path)
    assert loaded.given == {"policy.max_content_length"}
    assert loaded.unknown == (
        "unknown key policy.max_lenght; did you mean policy.max_content_length?",
        "unknown section polcy; did you mean policy?",
    )


@pytest.mark.parametrize("data", [b"{", b"\xff\xfe{}", b"[]", b"3", b"[" * 100_000, b""])
def test_an_unreadable_file_means_defaults_unless_strict(data: bytes) -> None:
    path = written(data)
    assert load_config(path) == MemoryConfig()
    with pytest.raises(ValidationError, match="Config validation failed"):
        load_config(path, strict=True)
    with pytest.raises(errors.ConfigUnreadable):
        read_config(path)


def test_no_path_no_file_and_a_folder() -> None:
    assert load_config() == load_config("nowhere.json") == load_config("nowhere.json", strict=True) == MemoryConfig()
    os.mkdir("folder")
    assert load_config("folder") == MemoryConfig()
    with pytest.raises(errors.ConfigUnreadable, match="Is a directory"):
        read_config("folder")


def test_strict_tells_everything_at_once() -> None:
    path = written({"policy": {"max_content_length": 1, "x": 2}, "chat": {"history_max": "many"}, "inspect": 3})
    with pytest.raises(ValidationError) as caught:
        load_config(path, strict=True)
    for part in (
        "policy.max_content_length: 1 not in", "unknown key policy.x", "chat.history_max: expected int, got str",
        "inspect: expected an object",
    ):  # fmt: skip
        assert part in str(caught.value)
    assert isinstance(caught.value, ValueError)
    assert load_config(path).policy.validate() == ["policy.max_content_length: 1 not in [100, 100000]"]


def test_a_byte_order_mark_is_no_harm() -> None:
    assert load_config(written(b'\xef\xbb\xbf{"chat": {"history_max": 12}}')).chat.history_max == 12


def test_another_program_s_config_is_recognised() -> None:
    assert read_config(written({"compilerOptions": {}, "port": 80})).foreign
    assert not read_config(written({"port": 80, "chat": {}})).foreign
    assert not read_config(written({"polcy": {}})).foreign
    assert not read_config(written({})).foreign


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda inner: (
    st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
), max_leaves=8)  # fmt: skip
NAMES = st.sampled_from([key.name for key in KEYS]) | st.text(max_size=4)


@given(st.dictionaries(st.sampled_from(sorted(SECTIONS)) | st.text(max_size=4), st.dictionaries(NAMES, JSON) | JSON))
def test_any_json_object_loads(data: dict[str, Any]) -> None:
    config = MemoryConfig.from_dict(data)
    assert all(isinstance(line, str) for line in config.validate())
    assert MemoryConfig.from_dict(config.to_dict()).to_dict().keys() == config.to_dict().keys()
