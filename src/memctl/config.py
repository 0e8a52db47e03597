"""The keys of config.json, and the classes that hold them.

One table says everything about a key: its type, default, range and meaning. The documented classes, their validation,
the warnings of the command line and docs/config.md are all read from it. Where a value may also come from a flag or
the environment, `ops.context` decides (flag > environment > config.json > default).
"""

import os
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from memctl.errors import ConfigUnreadable
from memctl.names import TIERS

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

    def fresh(self) -> Any:
        """The default, as a value of the caller's own."""
        return list(self.default) if isinstance(self.default, list) else self.default

    def problem(self, value: Any) -> str:
        """What is wrong with a value, in a sentence; empty when nothing is."""
        if not self._fits(value):
            return f"{self.path}: expected {_type_name(self.type)}, got {_type_name(type(value))}"
        if self.choices and value not in self.choices:
            return f"{self.path}: {value!r} not in {list(self.choices)}"
        if self.low is not None and not self.low <= value <= (self.high or 0):
            return f"{self.path}: {value} not in [{self.low}, {self.high}]"
        return ""

    def _fits(self, value: Any) -> bool:
        if issubclass(self.type, list):
            return isinstance(value, list) and all(isinstance(v, dict if self.type is Rows else str) for v in value)
        if isinstance(value, bool):
            return self.type is bool
        return isinstance(value, (int, float) if self.type is float else self.type)


def _type_name(kind: type) -> str:
    return "null" if kind is type(None) else "list of text" if kind is list else kind.__name__


#: What the sections are for, in the order of the documentation.
SECTIONS = {
    "store": "The database file.",
    "policy": "What may be stored, and what is kept from being given to a model.",
    "recall": "What is given to a model.",
    "embeddings": "Finding by meaning: off as long as no embedder is named.",
    "ingest": "How documents are read and cut.",
    "pull": "What an LLM's output becomes.",
    "consolidate": "How memories are merged and promoted.",
    "proposer": "How a model is told to propose memories.",
    "inspect": "When the structure of a folder is worth an observation.",
    "chat": "The interactive chat.",
}

KEYS = (
    Key("store", "db_path", str, ".memory/memory.db", "the store, when a config file is named with --config"),
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
    Key("ingest", "chunk_tokens", int, 1800, "longest passage in tokens", 20, 100_000),
    Key("ingest", "max_file_mb", int, 64, "largest file that is read, in MB", 1, 4096),
    Key("ingest", "max_expanded_mb", int, 256, "most that a packed file (docx, pdf) may expand to, in MB", 1, 65536),
    Key("ingest", "max_seconds", int, 60, "longest time for one such file, in seconds", 1, 3600),
    Key("ingest", "max_rows", int, 100_000, "most rows that are read of one workbook", 1, 10_000_000),
    Key("ingest", "workers", int, 0, "processes that read files; 0 means one for each processor but one", 0, 64),
    Key("pull", "tier", str, "stm", "tier of what is stored", choices=TIERS),
    Key("consolidate", "enabled", bool, default=True, help="consolidate at all"),
    Key("consolidate", "stm_threshold", int, 20, "items in stm before it is worth while", 1, 10000),
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


class ValidationError(ValueError):
    """A config file that `load_config(strict=True)` does not accept."""


class Section:
    """The values of one section as attributes; build it with keywords, missing ones get their defaults."""

    section: ClassVar[str] = ""

    def __init__(self, **values: Any) -> None:
        for key in self.table():
            setattr(self, key.name, values.pop(key.name) if key.name in values else key.fresh())
        if values:
            raise TypeError(f"{type(self).__name__} has no key {', '.join(map(repr, values))}")

    @classmethod
    def table(cls) -> tuple[Key, ...]:
        """The rows of the table that belong to this section."""
        return tuple(key for key in KEYS if key.section == cls.section)

    def validate(self) -> list[str]:
        """One sentence for each value that is of a wrong type or out of range."""
        return [problem for key in self.table() if (problem := key.problem(getattr(self, key.name)))]

    def to_dict(self) -> dict[str, Any]:
        """The values by key."""
        return {key.name: getattr(self, key.name) for key in self.table()}

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    __hash__ = None  # type: ignore[assignment]  # values may be changed

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


class StoreConfig(Section):
    """The database file: db_path, wal_mode, fts_tokenizer."""

    section = "store"


class PolicyConfig(Section):
    """What may be stored: max_content_length, the four pattern switches, quarantine_expiry_hours …"""

    section = "policy"


class RecallConfig(Section):
    """What is given to a model: budget_tokens."""

    section = "recall"


class EmbeddingsConfig(Section):
    """Finding by meaning: embedder, batch, max_chars, seconds, question_seconds."""

    section = "embeddings"


class IngestConfig(Section):
    """How documents are read and cut: passages, limits of one file, processes."""

    section = "ingest"


class PullConfig(Section):
    """What an LLM's output becomes: tier."""

    section = "pull"


class ConsolidateConfig(Section):
    """How memories are merged and promoted."""

    section = "consolidate"


class ProposerConfig(Section):
    """How a model is told to propose memories."""

    section = "proposer"


class InspectConfig(Section):
    """Thresholds of the observations about a folder."""

    section = "inspect"


class ChatConfig(Section):
    """The interactive chat: history_max."""

    section = "chat"


_CLASSES: tuple[type[Section], ...] = (
    StoreConfig, PolicyConfig, RecallConfig, IngestConfig, PullConfig,
    ConsolidateConfig, ProposerConfig, InspectConfig, ChatConfig, EmbeddingsConfig,
)  # fmt: skip


class MemoryConfig:
    """All sections: `config.policy.max_content_length`. Build it with keywords; missing sections get defaults."""

    def __init__(
        self,
        store: StoreConfig | None = None,
        policy: PolicyConfig | None = None,
        consolidate: ConsolidateConfig | None = None,
        proposer: ProposerConfig | None = None,
        inspect: InspectConfig | None = None,
        chat: ChatConfig | None = None,
        recall: RecallConfig | None = None,
        pull: PullConfig | None = None,
        ingest: IngestConfig | None = None,
        embeddings: EmbeddingsConfig | None = None,
    ) -> None:
        self.store = store or StoreConfig()
        self.policy = policy or PolicyConfig()
        self.consolidate = consolidate or ConsolidateConfig()
        self.proposer = proposer or ProposerConfig()
        self.inspect = inspect or InspectConfig()
        self.chat = chat or ChatConfig()
        self.recall = recall or RecallConfig()
        self.pull = pull or PullConfig()
        self.ingest = ingest or IngestConfig()
        self.embeddings = embeddings or EmbeddingsConfig()

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "MemoryConfig":
        """Build from the content of config.json; unknown keys are passed over, the others are all taken.

        Values are taken as they are: `validate()` says which of them are out of range.
        """
        sections: dict[str, Any] = {}
        for kind in _CLASSES:
            given = data.get(kind.section)
            if isinstance(given, dict):
                names = {key.name for key in kind.table()}
                sections[kind.section] = kind(**{k: v for k, v in given.items() if k in names})
        return cls(**sections)

    def value(self, path: str) -> Any:
        """The value of `section.key`."""
        section, _, name = path.partition(".")
        return getattr(getattr(self, section), name)

    def validate(self) -> list[str]:
        """One sentence for each value that is of a wrong type or out of range."""
        return [problem for kind in _CLASSES for problem in getattr(self, kind.section).validate()]

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """All values, by section and key."""
        return {kind.section: getattr(self, kind.section).to_dict() for kind in _CLASSES}

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    __hash__ = None  # type: ignore[assignment]  # values may be changed

    def __repr__(self) -> str:
        return f"MemoryConfig({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"


class Loaded(NamedTuple):
    """A config file as it was found: the config, which `section.key` it names, and what is odd in it."""

    config: MemoryConfig
    given: frozenset[str]
    unknown: tuple[str, ...]
    invalid: tuple[str, ...]
    foreign: bool


def read_config(path: str | os.PathLike[str]) -> Loaded:
    """Read a config file. Raises ConfigUnreadable when it cannot be read as a JSON object in UTF-8."""
    data = _object(os.fspath(path))
    config = MemoryConfig.from_dict(data)
    found = [(section, name) for section, keys in data.items() if isinstance(keys, dict) for name in keys]
    known = {(key.section, key.name) for key in KEYS}
    broken = [f"{s}: expected an object" for s in data if s in SECTIONS and not isinstance(data[s], dict)]
    return Loaded(
        config,
        frozenset(f"{section}.{name}" for section, name in found if (section, name) in known),
        tuple(_unknown(data, known)),
        (*broken, *config.validate()),
        foreign=bool(data) and not any(section in SECTIONS or _like(section, SECTIONS) for section in data),
    )


def _object(path: str) -> dict[str, Any]:
    import json

    try:
        with open(path, "rb") as file:
            data = json.loads(file.read().decode("utf-8-sig"))
    except OSError as exc:
        raise ConfigUnreadable(path=path, reason=exc.strerror or str(exc)) from exc
    except UnicodeDecodeError as exc:
        raise ConfigUnreadable(path=path, reason=f"byte {exc.start} is not UTF-8") from exc
    except json.JSONDecodeError as exc:
        raise ConfigUnreadable(path=path, reason=f"line {exc.lineno}, column {exc.colno}: {exc.msg}") from exc
    except (ValueError, RecursionError) as exc:
        raise ConfigUnreadable(path=path, reason="it is not usable as JSON") from exc
    if not isinstance(data, dict):
        raise ConfigUnreadable(path=path, reason="it must hold one JSON object")
    return data


def _unknown(data: dict[str, Any], known: set[tuple[str, str]]) -> list[str]:
    lines = []
    for section, keys in data.items():
        if section not in SECTIONS:
            lines.append(_line("section", section, _like(section, SECTIONS)))
        elif isinstance(keys, dict):
            names = [name for home, name in known if home == section]
            lines += [
                _line("key", f"{section}.{name}", f"{section}.{guess}" if (guess := _like(name, names)) else "")
                for name in keys
                if (section, name) not in known
            ]
    return lines


def _line(what: str, name: str, guess: str) -> str:
    return f"unknown {what} {name}" + (f"; did you mean {guess}?" if guess else "")


def _like(word: str, words: "list[str] | dict[str, str]") -> str:
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
    except ConfigUnreadable as exc:
        if strict:
            raise ValidationError(f"Config validation failed: {exc.message}") from exc
        return MemoryConfig()
    problems = [*loaded.invalid, *loaded.unknown]
    if strict and problems:
        raise ValidationError(f"Config validation failed: {'; '.join(problems)}")
    return loaded.config
