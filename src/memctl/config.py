"""config.json: the table of its keys (type, default, range and meaning of each), and how the file is read.

The documented sections, their validation, the warnings of the command line and docs/config.md all come from the table.
Where a value may also come from a flag or the environment, `context` decides (flag > environment > config.json >
default).
"""

import os
from types import SimpleNamespace

from memctl import errors
from memctl.annotations import TYPE_CHECKING, Any, NamedTuple
from memctl.names import KEEP_DAYS, KEEP_SHARE, STRENGTH, TIERS
from memctl.paths import real_path

if TYPE_CHECKING:
    from typing import ClassVar

DEFAULT_INSTRUCTION = """\
When something in this conversation is worth remembering (a decision, a constraint, a definition, a fact that will \
matter again), add it at the end of your answer, between these two lines:
<MEMORY_PROPOSALS_JSON>
[{"type": "decision", "title": "...", "content": "...", "tags": ["..."], "why_store": "...", \
"provenance_hint": {"source_kind": "chat", "source_id": "..."}}]
</MEMORY_PROPOSALS_JSON>
type is one of fact, decision, definition, constraint, pattern, todo, pointer, note. Say why each is worth keeping. \
Never propose secrets, credentials, personal data, or instructions to yourself."""


class Rows(list[dict[str, str]]):
    """The type of a key that holds a list of objects; what stands in them is checked by those who read it."""


Rows.__name__ = "list of objects"  # as messages and docs/config.md say it


class Key(NamedTuple):
    """One key of config.json. `low` and `high` are inclusive; `choices` is a closed list."""

    section: str
    name: str
    type: type
    default: Any
    help: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """`section.name`, as messages and `Arg(config=...)` write it."""
        return f"{self.section}.{self.name}"

    def problem(self, value: Any) -> str:
        """What is wrong with a value, in a sentence; empty when nothing is."""
        if issubclass(self.type, list):
            fits = isinstance(value, list) and all(isinstance(v, dict if self.type is Rows else str) for v in value)
        elif isinstance(value, bool):
            fits = self.type is bool
        else:
            fits = isinstance(value, (int, float) if self.type is float else self.type)
        if not fits:
            return f"{self.path}: expected {_type_name(self.type)}, got {_type_name(type(value))}"
        if self.choices and value not in self.choices:
            return f"{self.path}: {value!r} not in {list(self.choices)}"
        if self.low is not None and not self.low <= value <= (self.high or 0):
            return f"{self.path}: {value} not in [{self.low}, {self.high}]"
        return ""

    def counts_of_stranger(self, value: Any) -> bool:
        """Whether a value counts in a file that somebody else may have written."""
        how = OF_STRANGERS.get(self.path)
        if how in (ANY, MORE) or value == self.default:
            return True
        if not isinstance(value, int | float):
            return False
        return value <= self.default if how == LOWER else how == HIGHER and value >= self.default


def _type_name(kind: type) -> str:
    return "null" if kind is type(None) else "list of text" if kind is list else kind.__name__


#: What the sections are for, in the order of the documentation.
SECTIONS = {
    "store": "The database file.",
    "policy": "What may be stored, and what is kept from being given to a model.",
    "recall": "What is given to a model.",
    "embeddings": "Finding by meaning: off as long as no embedder is named.",
    "llm": "The model command of loop, ask and chat.",
    "ingest": "How documents are read and cut.",
    "pull": "What an LLM's output becomes.",
    "history": "How long what was written can be taken back (memctl undo).",
    "capture": "What is taken in of conversations with AI clients.",
    "remote": "How memory is exchanged with other machines ([remote.md](remote.md)).",
    "consolidate": "How memories are merged and promoted.",
    "proposer": "How a model is told to propose memories.",
    "inspect": "When the structure of a folder is worth an observation.",
    "chat": "The interactive chat.",
}

KEYS = (
    Key("store", "db_path", str, ".memory/memory.db", "the store, for a file named with --config and seen from it"),
    Key("store", "wal_mode", bool, default=True, help="write-ahead log: readers do not wait for a writer"),
    Key("store", "fts_tokenizer", str, "unicode61 remove_diacritics 2", "tokenizer of a store that is made now"),
    Key("policy", "max_content_length", int, 2000, "longest statement in characters (pointers excepted)", 100, 100000),
    Key("policy", "secret_patterns_enabled", bool, default=True, help="refuse secrets"),
    Key("policy", "injection_patterns_enabled", bool, default=True, help="refuse injected instructions"),
    Key("policy", "instructional_content_enabled", bool, default=True, help="refuse or withhold orders to a model"),
    Key("policy", "pii_patterns_enabled", bool, default=True, help="withhold personal data"),
    Key("policy", "require_provenance_for", list, ["mtm", "ltm"], "tiers that need a source"),
    Key("policy", "low_confidence_threshold", float, 0.3, "below this belief, an item counts as doubtful", 0, 1),
    Key("policy", "quarantine_expiry_hours", int, 72, "how long a quarantined proposal is kept", 1, 8760),
    Key("policy", "silenced_rules", list, [], "rules that are not applied, by id (memctl policy list)"),
    Key("policy", "rules", Rows, [], "own rules: id, kind, keywords, pattern (and action, example, counterexample)"),
    Key("policy", "allow", Rows, [], "findings that are let pass: rule, path, reason"),
    Key("recall", "budget_tokens", int, 2200, "size of the block in tokens", 1, 1_000_000),
    Key("recall", "frame", str, "compact", "what stands around passages", choices=("compact", "full", "none")),
    Key("recall", "min_coverage", float, 0.0, "no block below this share of the question's weight; 0 is off", 0, 1),
    Key("recall", "recency", float, STRENGTH["recency"], "share of its score that a new item gains", 0, 1),
    Key("recall", "recency_days", float, STRENGTH["recency_days"], "days until half of that is left", 0.1, 100_000),
    Key("recall", "use", float, STRENGTH["use"], "share that an item gains that was used often and lately", 0, 1),
    Key("recall", "importance", float, STRENGTH["importance"], "share that importance 1 gains, and 0 loses", 0, 1),
    Key("recall", "validation", float, STRENGTH["validation"], "share of its score that a retracted item loses", 0, 1),
    Key("recall", "usefulness", float, STRENGTH["usefulness"], "share that an item gains that answers used", 0, 1),
    Key(
        "embeddings",
        "embedder",
        str,
        "",
        "what makes vectors; beside the store only one on this machine, see [embeddings.md](embeddings.md)",
    ),
    Key("embeddings", "batch", int, 32, "texts of one request", 1, 1024),
    Key("embeddings", "max_chars", int, 6000, "characters of an item that are given to the embedder", 100, 100_000),
    Key("embeddings", "seconds", int, 120, "longest time for one request, in seconds", 1, 3600),
    Key("embeddings", "question_seconds", int, 5, "longest time for a question's vector, in seconds", 1, 600),
    Key("llm", "command", str, "", "the command; only of a file named with --config, see [loop.md](loop.md)"),
    Key("llm", "mode", str, "stdin", "how the command gets its prompt", choices=("stdin", "file")),
    Key("llm", "timeout", float, 300.0, "longest time for one answer, in seconds", 0.1, 86_400),
    Key("ingest", "chunk_tokens", int, 1800, "longest passage in tokens", 20, 100_000),
    Key("ingest", "max_file_mb", int, 64, "largest file that is read, in MB", 1, 4096),
    Key("ingest", "max_expanded_mb", int, 256, "most that a packed file (docx, pdf) may expand to, in MB", 1, 65536),
    Key("ingest", "max_seconds", int, 60, "longest time for one such file, in seconds", 1, 3600),
    Key("ingest", "max_rows", int, 100_000, "most rows that are read of one workbook", 1, 10_000_000),
    Key("ingest", "workers", int, 0, "processes that read files; 0 means one for each processor", 0, 64),
    Key("pull", "tier", str, "stm", "tier of what is stored", choices=TIERS),
    Key("history", "keep_days", int, KEEP_DAYS, "days for which a run can be undone", 1, 36_500),
    Key("history", "share", float, KEEP_SHARE, "share of the store's file that this may take", 0.01, 1),
    Key("capture", "hooks", bool, default=True, help="take in what is said with clients that call memctl hook"),
    Key("remote", "minutes", int, 0, "a server exchanges with the remotes every so many minutes; 0 is never", 0, 1440),
    Key("consolidate", "enabled", bool, default=True, help="let it consolidate by itself, where it is automatic"),
    Key("consolidate", "automatic", bool, default=False, help="also by itself, when a chat or a server on stdio ends"),
    Key("consolidate", "stm_threshold", int, 20, "items of a scope in stm from which it does so", 1, 10000),
    Key("consolidate", "cluster_distance_threshold", float, 0.3, "largest distance within a cluster", 0, 1),
    Key("consolidate", "min_content_similarity", float, 0.15, "least likeness of two texts in a cluster", 0, 1),
    Key("consolidate", "usage_count_for_ltm", int, 5, "uses that make an item long-term", 1, 1000),
    Key("consolidate", "auto_promote_types", list, ["constraint", "decision", "definition"], "types promoted by kind"),
    Key("consolidate", "fallback_to_deterministic", bool, default=True, help="merge by rule when no model is there"),
    Key("proposer", "strategy", str, "both", "where proposals are looked for", choices=("tool", "delimiter", "both")),
    Key("proposer", "delimiter_open", str, "<MEMORY_PROPOSALS_JSON>", "line before the proposals"),
    Key("proposer", "delimiter_close", str, "</MEMORY_PROPOSALS_JSON>", "line after the proposals"),
    Key("proposer", "system_instruction", str, DEFAULT_INSTRUCTION, "what tells a model how to propose"),
    Key("inspect", "dominance_frac", float, 0.40, "share of passages at which a folder dominates", 0.01, 1),
    Key("inspect", "low_density_threshold", float, 0.10, "share of folders reported as thin", 0, 1),
    Key("inspect", "ext_concentration_frac", float, 0.75, "share of files at which an extension dominates", 0.01, 1),
    Key("inspect", "sparse_threshold", int, 1, "passages at which a folder counts as sparse", 0, 100),
    Key("chat", "history_max", int, 1000, "lines of history kept", 10, 100000),
)

#: The environment variables that go before a key.
VARIABLES = {
    "store.db_path": "MEMCTL_DB", "store.fts_tokenizer": "MEMCTL_FTS", "recall.budget_tokens": "MEMCTL_BUDGET",
    "embeddings.embedder": "MEMCTL_EMBEDDER", "llm.command": "MEMCTL_LLM", "pull.tier": "MEMCTL_TIER",
    "remote.minutes": "MEMCTL_EXCHANGE",
}  # fmt: skip
#: Keys that count only in a file that somebody named.
NAMED_ONLY = ("store.db_path", "llm.command")

#: What counts of a key in a file that somebody else may have written: any value, only one below the default, only one
#: above it, or what it adds to the default.
ANY, LOWER, HIGHER, MORE = "any", "lower", "higher", "more"
#: Such a file came with a folder (a clone, an archive, a shared directory). It may tighten the rules and change sizes
#: and weights. It may not silence a rule, name a host or a program, or set the words that a model is told: keys that
#: are not here do not count.
OF_STRANGERS = {
    "store.wal_mode": ANY, "store.fts_tokenizer": ANY,
    "policy.max_content_length": LOWER, "policy.secret_patterns_enabled": HIGHER,
    "policy.injection_patterns_enabled": HIGHER, "policy.instructional_content_enabled": HIGHER,
    "policy.pii_patterns_enabled": HIGHER, "policy.require_provenance_for": MORE,
    "policy.low_confidence_threshold": HIGHER, "policy.rules": MORE,
    "recall.budget_tokens": ANY, "recall.min_coverage": HIGHER, "recall.recency": ANY, "recall.recency_days": ANY,
    "recall.use": ANY, "recall.importance": ANY, "recall.validation": ANY, "recall.usefulness": ANY,
    "ingest.chunk_tokens": ANY, "ingest.max_file_mb": LOWER, "ingest.max_expanded_mb": LOWER,
    "ingest.max_seconds": LOWER, "ingest.max_rows": LOWER,
    "pull.tier": ANY,
    "consolidate.enabled": ANY, "consolidate.stm_threshold": ANY, "consolidate.cluster_distance_threshold": ANY,
    "consolidate.min_content_similarity": ANY, "consolidate.usage_count_for_ltm": HIGHER,
    "consolidate.fallback_to_deterministic": ANY,
    "inspect.dominance_frac": ANY, "inspect.low_density_threshold": ANY, "inspect.ext_concentration_frac": ANY,
    "inspect.sparse_threshold": ANY,
    "capture.hooks": LOWER, "chat.history_max": LOWER, "history.keep_days": HIGHER, "history.share": HIGHER,
}  # fmt: skip


# --- sections ---------------------------------------------------------------------------------------------------------


class ValidationError(ValueError):
    """A config file that `load_config(strict=True)` does not accept."""


class ConfigSection(SimpleNamespace):
    """The values of one section as attributes, compared by value; missing ones get their defaults."""

    section: "ClassVar[str]" = ""

    def __init__(self, **values: Any) -> None:
        for key in KEYS:
            if key.section == self.section:
                default = list(key.default) if isinstance(key.default, list) else key.default
                setattr(self, key.name, values.pop(key.name, default))
        if values:
            raise TypeError(f"{type(self).__name__} has no key {', '.join(map(repr, values))}")

    def validate(self) -> list[str]:
        """One sentence for each value that is of a wrong type or out of range."""
        keys = (key for key in KEYS if key.section == self.section)
        return [problem for key in keys if (problem := key.problem(getattr(self, key.name)))]

    def to_dict(self) -> dict[str, Any]:
        """The values by key."""
        return {key.name: getattr(self, key.name) for key in KEYS if key.section == self.section}


class StoreConfig(ConfigSection):
    """The database file: db_path, wal_mode, fts_tokenizer."""

    section = "store"


class PolicyConfig(ConfigSection):
    """What may be stored: max_content_length, the four pattern switches, quarantine_expiry_hours …"""

    section = "policy"


class ConsolidateConfig(ConfigSection):
    """How memories are merged and promoted."""

    section = "consolidate"


class HistoryConfig(ConfigSection):
    """How long what was written can be taken back: keep_days, share."""

    section = "history"


class CaptureConfig(ConfigSection):
    """What is taken in of conversations: hooks."""

    section = "capture"


class RemoteConfig(ConfigSection):
    """How often a server exchanges with other machines: minutes."""

    section = "remote"


class ProposerConfig(ConfigSection):
    """How a model is told to propose memories."""

    section = "proposer"


class InspectConfig(ConfigSection):
    """Thresholds of the observations about a folder."""

    section = "inspect"


class ChatConfig(ConfigSection):
    """The interactive chat: history_max."""

    section = "chat"


class RecallConfig(ConfigSection):
    """What is given to a model: budget_tokens, min_coverage, and what counts beside the words."""

    section = "recall"


class PullConfig(ConfigSection):
    """What an LLM's output becomes: tier."""

    section = "pull"


class IngestConfig(ConfigSection):
    """How documents are read and cut: passages, limits of one file, processes."""

    section = "ingest"


class EmbeddingsConfig(ConfigSection):
    """Finding by meaning: embedder, batch, max_chars, seconds, question_seconds."""

    section = "embeddings"


class LlmConfig(ConfigSection):
    """The model command: command, mode, timeout."""

    section = "llm"


#: In the order in which `MemoryConfig` takes them.
_CLASSES: tuple[type[ConfigSection], ...] = (
    StoreConfig, PolicyConfig, ConsolidateConfig, ProposerConfig, InspectConfig, ChatConfig, RecallConfig, PullConfig,
    IngestConfig, EmbeddingsConfig, LlmConfig, HistoryConfig, CaptureConfig,
    RemoteConfig,
)  # fmt: skip


class MemoryConfig(SimpleNamespace):
    """All sections: `config.policy.max_content_length`. Sections that are not given get their defaults."""

    def __init__(self, *sections: ConfigSection, **named: ConfigSection | None) -> None:
        given = {one.section: one for one in sections} | {name: one for name, one in named.items() if one is not None}
        super().__init__(**{kind.section: given.get(kind.section) or kind() for kind in _CLASSES})
        if unknown := named.keys() - set(SECTIONS):
            raise TypeError(f"there is no section {', '.join(sorted(unknown))}")

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "MemoryConfig":
        """Build from the content of config.json; unknown keys are passed over, the others are all taken.

        Values are taken as they are: `validate()` says which of them are out of range.
        """
        config = cls()
        for key in KEYS:
            given = data.get(key.section)
            if isinstance(given, dict) and key.name in given:
                setattr(getattr(config, key.section), key.name, given[key.name])
        return config

    def value(self, path: str) -> Any:
        """The value of `section.key`."""
        section, _, name = path.partition(".")
        return getattr(getattr(self, section), name)

    def validate(self) -> list[str]:
        """One sentence for each value that is of a wrong type or out of range."""
        return [problem for name in SECTIONS for problem in getattr(self, name).validate()]

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """All values, by section and key."""
        return {name: getattr(self, name).to_dict() for name in SECTIONS}


# --- the file ---------------------------------------------------------------------------------------------------------


class Loaded(NamedTuple):
    """A config file as it was found: the config, which `section.key` it names, and what is odd in it."""

    config: MemoryConfig
    given: frozenset[str]
    unknown: tuple[str, ...]
    invalid: tuple[str, ...]
    foreign: bool

    def loosening(self) -> list[str]:
        """The keys that would not count if the file were somebody else's, in order."""
        keys = sorted((key for key in KEYS if key.path in self.given), key=lambda key: key.path)
        return [key.path for key in keys if not key.counts_of_stranger(self.config.value(key.path))]

    def limited(self) -> "Loaded":
        """The file with only what counts of somebody else's; the other keys have their defaults."""
        config = MemoryConfig()
        given = []
        for key in KEYS:
            value = self.config.value(key.path)
            if key.path not in self.given or key.path not in OF_STRANGERS or not key.counts_of_stranger(value):
                continue
            if OF_STRANGERS[key.path] == MORE:
                value = [*key.default, *(one for one in value if one not in key.default)]
            setattr(getattr(config, key.section), key.name, value)
            given.append(key.path)
        return self._replace(config=config, given=frozenset(given))


def read_config(path: str | os.PathLike[str], *, named: bool = True) -> Loaded:
    """Read a config file. Raises ConfigUnreadable when it cannot be read as a JSON object in UTF-8.

    named  somebody chose this file; one that only stands beside a store must be a regular file of that folder
    """
    path = os.fspath(path)
    try:
        data = parse_config(read_bytes(path, named=named), path)
    except OSError as exc:
        raise errors.ConfigUnreadable(path=path, reason=exc.strerror or str(exc)) from exc
    config = MemoryConfig.from_dict(data)
    found = {(section, name) for section, keys in data.items() if isinstance(keys, dict) for name in keys}
    given = {key.path: key.problem(config.value(key.path)) for key in KEYS if (key.section, key.name) in found}
    broken = [f"{s}: expected an object" for s in data if s in SECTIONS and not isinstance(data[s], dict)]
    return Loaded(
        config,
        frozenset(given),
        tuple(_unknown(data, {(key.section, key.name) for key in KEYS})),
        (*broken, *filter(None, given.values())),
        foreign=bool(data) and not any(section in SECTIONS or _nearest(section, list(SECTIONS)) for section in data),
    )


#: The largest config file that is read, in bytes.
MAX_FILE_BYTES = 4 << 20


def read_bytes(path: str, *, named: bool) -> bytes:
    """What the file holds. Raises OSError and ConfigUnreadable; a pipe beside a store is not waited for."""
    from stat import S_ISREG

    here = os.path.dirname(os.path.abspath(path))
    if not named and os.path.dirname(real_path(path)) != real_path(here):
        raise errors.ConfigUnreadable(path=path, reason="it is a link to another folder; --config names any file")
    wait = 0 if named else getattr(os, "O_NONBLOCK", 0)
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | wait)) as file:
        if not (named or S_ISREG(os.fstat(file.fileno()).st_mode)):
            raise errors.ConfigUnreadable(path=path, reason="it is no regular file")
        data = file.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise errors.ConfigUnreadable(path=path, reason=f"it is larger than {MAX_FILE_BYTES >> 20} MB")
    return data


def parse_config(data: bytes, path: str, *, whole: bool = False) -> dict[str, Any]:
    """The object that a config file holds; `path` is for messages. Raises ConfigUnreadable.

    whole  a name that stands twice is refused, because writing the object out again would lose one of the two
    """
    import json

    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in pairs:
            if name in found:
                raise errors.ConfigUnreadable(path=path, reason=f"{name} stands there twice")
            found[name] = value
        return found

    try:
        found = json.loads(data.decode("utf-8-sig"), object_pairs_hook=distinct if whole else None)
    except UnicodeDecodeError as exc:
        raise errors.ConfigUnreadable(path=path, reason=f"byte {exc.start} is not UTF-8") from exc
    except json.JSONDecodeError as exc:
        raise errors.ConfigUnreadable(path=path, reason=f"line {exc.lineno}, column {exc.colno}: {exc.msg}") from exc
    except (ValueError, RecursionError) as exc:
        raise errors.ConfigUnreadable(path=path, reason="it is not usable as JSON") from exc
    if not isinstance(found, dict):
        raise errors.ConfigUnreadable(path=path, reason="it must hold one JSON object")
    return found


def _unknown(data: dict[str, Any], known: set[tuple[str, str]]) -> list[str]:
    """A line for each section and key that is none, with the one it may be meant for."""
    lines = []
    for section, keys in data.items():
        if section not in SECTIONS:
            guess = _nearest(section, list(SECTIONS))
            lines.append(f"unknown section {section}" + (f"; did you mean {guess}?" if guess else ""))
        elif isinstance(keys, dict):
            names = [name for home, name in known if home == section]
            for name in keys:
                if (section, name) not in known:
                    guess = _nearest(name, names)
                    did_you_mean = f"; did you mean {section}.{guess}?" if guess else ""
                    lines.append(f"unknown key {section}.{name}{did_you_mean}")
    return lines


def _nearest(word: str, words: list[str]) -> str:
    from difflib import get_close_matches

    return (get_close_matches(word, sorted(words), 1) or [""])[0]


def load_config(path: str | os.PathLike[str] | None = None, *, strict: bool = False) -> MemoryConfig:
    """The config in a file; defaults when there is no path or no file.

    Without `strict` it never fails: what cannot be read counts as not there, an unknown key is passed over, and a
    value out of range is kept for `validate()` to tell. With `strict`, each of these raises ValidationError.
    """
    if path is None or not os.path.lexists(path):
        return MemoryConfig()
    try:
        loaded = read_config(path)
    except errors.ConfigUnreadable as exc:
        if strict:
            raise ValidationError(f"Config validation failed: {exc.message}") from exc
        return MemoryConfig()
    problems = [*loaded.invalid, *loaded.unknown]
    if strict and problems:
        raise ValidationError(f"Config validation failed: {'; '.join(problems)}")
    return loaded.config
