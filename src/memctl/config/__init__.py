"""The classes that hold config.json's keys, and how the file is read; the keys themselves are a table (`keys`).

Where a value may also come from a flag or the environment, `context` decides (flag > environment > config.json >
default).
"""

import os
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from memctl.config.keys import DEFAULT_INSTRUCTION as DEFAULT_INSTRUCTION
from memctl.config.keys import KEYS as KEYS
from memctl.config.keys import MORE, OF_STRANGERS
from memctl.config.keys import SECTIONS as SECTIONS
from memctl.config.keys import Key as Key
from memctl.errors import ConfigUnreadable
from memctl.paths import real_path


class ValidationError(ValueError):
    """A config file that `load_config(strict=True)` does not accept."""


class _Values:
    """Attributes that compare and show themselves by value."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    __hash__ = None  # type: ignore[assignment]  # values may be changed

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"


class ConfigSection(_Values):
    """The values of one section as attributes; build it with keywords, missing ones get their defaults."""

    section: ClassVar[str] = ""

    def __init__(self, **values: Any) -> None:
        for key in self.table():
            default = list(key.default) if isinstance(key.default, list) else key.default
            setattr(self, key.name, values.pop(key.name, default))
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

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


class StoreConfig(ConfigSection):
    """The database file: db_path, wal_mode, fts_tokenizer."""

    section = "store"


class PolicyConfig(ConfigSection):
    """What may be stored: max_content_length, the four pattern switches, quarantine_expiry_hours …"""

    section = "policy"


class RecallConfig(ConfigSection):
    """What is given to a model: budget_tokens, min_coverage, and what counts beside the words."""

    section = "recall"


class EmbeddingsConfig(ConfigSection):
    """Finding by meaning: embedder, batch, max_chars, seconds, question_seconds."""

    section = "embeddings"


class LlmConfig(ConfigSection):
    """The model command: command, mode, timeout."""

    section = "llm"


class IngestConfig(ConfigSection):
    """How documents are read and cut: passages, limits of one file, processes."""

    section = "ingest"


class PullConfig(ConfigSection):
    """What an LLM's output becomes: tier."""

    section = "pull"


class ConsolidateConfig(ConfigSection):
    """How memories are merged and promoted."""

    section = "consolidate"


class ProposerConfig(ConfigSection):
    """How a model is told to propose memories."""

    section = "proposer"


class InspectConfig(ConfigSection):
    """Thresholds of the observations about a folder."""

    section = "inspect"


class ChatConfig(ConfigSection):
    """The interactive chat: history_max."""

    section = "chat"


_CLASSES: tuple[type[ConfigSection], ...] = (
    StoreConfig, PolicyConfig, RecallConfig, IngestConfig, PullConfig,
    ConsolidateConfig, ProposerConfig, InspectConfig, ChatConfig, EmbeddingsConfig, LlmConfig,
)  # fmt: skip


class MemoryConfig(_Values):
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
        llm: LlmConfig | None = None,
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
        self.llm = llm or LlmConfig()

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
    data = _object(os.fspath(path), named=named)
    config = MemoryConfig.from_dict(data)
    found = [(section, name) for section, keys in data.items() if isinstance(keys, dict) for name in keys]
    known = {(key.section, key.name) for key in KEYS}
    broken = [f"{s}: expected an object" for s in data if s in SECTIONS and not isinstance(data[s], dict)]
    return Loaded(
        config,
        frozenset(f"{section}.{name}" for section, name in found if (section, name) in known),
        tuple(_unknown(data, known)),
        (*broken, *config.validate()),
        foreign=bool(data) and not any(section in SECTIONS or _nearest(section, list(SECTIONS)) for section in data),
    )


#: The largest config file that is read, in bytes.
MAX_FILE_BYTES = 4 << 20


def read_bytes(path: str, *, named: bool) -> bytes:
    """What the file holds. Raises OSError and ConfigUnreadable; a pipe beside a store is not waited for."""
    from stat import S_ISREG

    here = os.path.dirname(os.path.abspath(path))
    if not named and os.path.dirname(real_path(path)) != real_path(here):
        raise ConfigUnreadable(path=path, reason="it is a link to another folder; --config names any file")
    wait = 0 if named else getattr(os, "O_NONBLOCK", 0)
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | wait)) as file:
        if not (named or S_ISREG(os.fstat(file.fileno()).st_mode)):
            raise ConfigUnreadable(path=path, reason="it is no regular file")
        data = file.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise ConfigUnreadable(path=path, reason=f"it is larger than {MAX_FILE_BYTES >> 20} MB")
    return data


def _object(path: str, *, named: bool) -> dict[str, Any]:
    try:
        return parse_config(read_bytes(path, named=named), path)
    except OSError as exc:
        raise ConfigUnreadable(path=path, reason=exc.strerror or str(exc)) from exc


def parse_config(data: bytes, path: str, *, whole: bool = False) -> dict[str, Any]:
    """The object that a config file holds; `path` is for messages. Raises ConfigUnreadable.

    whole  a name that stands twice is refused, because writing the object out again would lose one of the two
    """
    import json

    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ConfigUnreadable(path=path, reason=f"{twice} stands there twice")
        return dict(pairs)

    try:
        found = json.loads(data.decode("utf-8-sig"), object_pairs_hook=distinct if whole else None)
    except UnicodeDecodeError as exc:
        raise ConfigUnreadable(path=path, reason=f"byte {exc.start} is not UTF-8") from exc
    except json.JSONDecodeError as exc:
        raise ConfigUnreadable(path=path, reason=f"line {exc.lineno}, column {exc.colno}: {exc.msg}") from exc
    except (ValueError, RecursionError) as exc:
        raise ConfigUnreadable(path=path, reason="it is not usable as JSON") from exc
    if not isinstance(found, dict):
        raise ConfigUnreadable(path=path, reason="it must hold one JSON object")
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
    except ConfigUnreadable as exc:
        if strict:
            raise ValidationError(f"Config validation failed: {exc.message}") from exc
        return MemoryConfig()
    problems = [*loaded.invalid, *loaded.unknown]
    if strict and problems:
        raise ValidationError(f"Config validation failed: {'; '.join(problems)}")
    return loaded.config
