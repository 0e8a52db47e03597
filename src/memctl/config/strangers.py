"""What counts of a config.json that somebody else may have written: what tightens, and what touches no safety.

Such a file came with a folder (a clone, an archive, a shared directory), and nobody here has vouched for it. It may ask
for less to be stored and given, for more to be refused, and for other sizes and weights. It may not silence a rule, and
it may name neither a host nor a program, nor the words that a model is told.
"""

from memctl.annotations import Any
from memctl.config import KEYS, Loaded, MemoryConfig
from memctl.config.keys import Key

#: How a key counts: whatever it says, only below the default, only above it, or what it adds to the default.
ANY, LOWER, HIGHER, MORE = "any", "lower", "higher", "more"
#: Keys that are not here do not count.
COUNTS = {
    "store.wal_mode": ANY, "store.fts_tokenizer": ANY,
    "policy.max_content_length": LOWER, "policy.secret_patterns_enabled": HIGHER,
    "policy.injection_patterns_enabled": HIGHER, "policy.instructional_content_enabled": HIGHER,
    "policy.pii_patterns_enabled": HIGHER, "policy.require_provenance_for": MORE,
    "policy.low_confidence_threshold": HIGHER, "policy.rules": MORE,
    "recall.budget_tokens": ANY, "recall.min_coverage": HIGHER, "recall.recency": ANY, "recall.recency_days": ANY,
    "recall.use": ANY, "recall.importance": ANY, "recall.validation": ANY,
    "ingest.chunk_tokens": ANY, "ingest.max_file_mb": LOWER, "ingest.max_expanded_mb": LOWER,
    "ingest.max_seconds": LOWER, "ingest.max_rows": LOWER,
    "pull.tier": ANY,
    "consolidate.enabled": ANY, "consolidate.stm_threshold": ANY, "consolidate.cluster_distance_threshold": ANY,
    "consolidate.min_content_similarity": ANY, "consolidate.usage_count_for_ltm": HIGHER,
    "consolidate.fallback_to_deterministic": ANY,
    "inspect.dominance_frac": ANY, "inspect.low_density_threshold": ANY, "inspect.ext_concentration_frac": ANY,
    "inspect.sparse_threshold": ANY,
    "chat.history_max": LOWER,
}  # fmt: skip
_KEYS = {key.path: key for key in KEYS}


def loosening(loaded: Loaded) -> list[str]:
    """The keys of a config file that would not count if it were somebody else's, in order."""
    return [path for path in sorted(loaded.given) if not _counts(_KEYS[path], loaded.config.value(path))]


def limited(loaded: Loaded) -> Loaded:
    """The file with only what counts of somebody else's; the other keys have their defaults."""
    config = MemoryConfig()
    given = [path for path in loaded.given if path in COUNTS and _counts(_KEYS[path], loaded.config.value(path))]
    for path in given:
        key, value = _KEYS[path], loaded.config.value(path)
        if COUNTS[path] == MORE:
            value = [*key.default, *(one for one in value if one not in key.default)]
        setattr(getattr(config, key.section), key.name, value)
    return loaded._replace(config=config, given=frozenset(given))


def _counts(key: Key, value: Any) -> bool:
    how = COUNTS.get(key.path)
    if how in (ANY, MORE) or value == key.default:
        return True
    if not isinstance(value, int | float):
        return False
    return value <= key.default if how == LOWER else how == HIGHER and value >= key.default
