"""Redaction: how secrets are blotted out of a text, and what leaves the store by who may see it.

RAGIX calls the three views S0, S2 and S3.

public    nothing that tells where it comes from: paths, file names, mail addresses, hosts, IP addresses, hashes and
          personal data are blotted out; items and sources are called ITEM-1, SOURCE-1, …; so are titles, tags, scopes
          and corpora that are a part of the path of the item's source
internal  host names, IP addresses and hashes are blotted out
full      everything, as it is stored

Below full, secrets that older rules let in are blotted out as well.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from memctl.annotations import TYPE_CHECKING, Any
from memctl.names import DEFAULT_SCOPE, GLOBAL_SCOPE
from memctl.policy.rule import lazy_regex

if TYPE_CHECKING:
    from memctl.policy.decisions import MemoryPolicy
    from memctl.policy.rule import Hit

#: What stands where something was blotted out begins so.
BLOTTED = "[REDACTED:"
_FEW = 32  # different secrets that are each looked for all over a text; more of them only where words begin
_HEAD = 8  # characters by which such a secret is known, and the shortest that is looked for elsewhere
_WORD_STARTS = lazy_regex(r"(?<![A-Za-z0-9])\S")

_NAMES = {"S0": "public", "S2": "internal", "S3": "full"}

_HOST = r"corp|internal|local|intra|lan|company|enterprise|office|srv|server"
_SUFFIX = (
    "docx?|xlsx?|pptx?|od[tsp]|pdf|csv|log|conf|cfg|ini|ya?ml|toml|json|xml|env|md|txt|eml|msg|zip|tar|gz|sql|db|sqlite|"
    "bak|key|pem|crt"
)
#: What each class looks like, in the order in which they are blotted out, and whether it stays in the internal view.
#: Each begins at a border and repeats single characters only, so that cost is linear.
_CLASSES = tuple(
    (name, stays, lazy_regex(pattern))
    for name, stays, pattern in (
        ("hash", False, r"\b(?:sha(?:1|256|512):)[0-9a-fA-F]{9,128}\b|(?<![0-9A-Za-z])[0-9a-f]{40,64}(?![0-9A-Za-z])"),
        ("email", True, r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}"),
        (
            "ip",
            False,
            r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w.]*\d)|(?<![\w:])[0-9a-fA-F]{1,4}(?::[0-9a-fA-F]{1,4}){7}",
        ),
        ("host", False, rf"(?<![\w.-])[A-Za-z0-9][\w-]{{0,62}}(?:\.[\w-]{{1,63}}){{0,4}}\.(?:{_HOST})\b(?!\.\w)"),
        ("host", False, r"\b(?:srv|db|web|app|host|node|vm|proxy|gw|mail|dns|ldap)-?\d{1,4}\b(?!\.\d)"),
        (
            "path",
            True,
            r"(?<![\w/:.<~@+%\\-])(?:file://|~|\.{1,2})?/(?:[\w.@+~%-]{1,255}/){0,40}[\w.@+~%-]{0,255}[\w~%]",
        ),
        ("path", True, r"(?<![\w/:.<@+-])[\w.@+-]{1,255}/(?:[\w.@+-]{1,255}/){1,40}[\w.@+-]{0,255}"),
        ("path", True, r"\b[A-Za-z]:\\[^\s\"'<>|:*?]{0,400}[\w~%]|\\\\[\w.-]{1,63}\\[^\s\"'<>|:*?]{0,400}[\w~%]"),
        ("file", True, rf"(?<![\w.-])[\w-][\w.-]{{0,200}}\.(?:{_SUFFIX})\b"),
    )
)
_PATH = "[REDACTED:path]"
#: What may follow a file's name in the title of a passage: a heading, or which part of the file it is.
_AFTER_NAME = (" > ", " [", " · ")
#: Fields whose values, taken as a whole, may be a part of a path.
_PARTS = ("tags", "entities", "scope", "corpus_id")
_ITEM = lazy_regex(r"\b[A-Z]{2,6}-[0-9a-f]{8,64}\b")
#: Fields of an exported line that say nothing of anybody.
_PLAIN = frozenset(
    ("tier", "type", "confidence", "validation", "usage_count", "archived", "injectable", "withheld", "rel", "position",
     "lines", "source_kind", "expires_at", "last_used_at", "created_at", "updated_at", "score")
)  # fmt: skip


def blot(text: str, hits: list[Hit]) -> str:
    """Replace the hits' spans, and every other place where the same secret stands, by their rules' names."""
    spans = [(h.start, h.end, h.rule.id) for h in hits]
    # Where else the same secrets stand; cost is linear in the text for any number of them.
    secrets = {text[start:end]: rule for start, end, rule in reversed(spans) if end - start >= _HEAD}
    if len(secrets) <= _FEW:
        for secret, rule in secrets.items():
            at = text.find(secret)
            while at >= 0:
                spans.append((at, at + len(secret), rule))
                at = text.find(secret, at + len(secret))
    else:
        known, heads = sorted(secrets), {secret[:_HEAD] for secret in secrets}
        sizes = _sizes_of_beginnings(known)
        for match in _WORD_STARTS.finditer(text):
            at = match.start()
            if text[at : at + _HEAD] in heads and (secret := _longest_at(text, at, known, sizes)):
                spans.append((at, at + len(secret), secrets[secret]))
    out: list[str] = []
    done = 0
    for start, end, rule in sorted(spans, key=lambda s: (s[0], -s[1])):
        if start >= done:
            # Line ends inside a secret stay, so that every other line keeps its number.
            out += [text[done:start], f"{BLOTTED}{rule}]", "\n" * text.count("\n", start, end)]
        done = max(done, end)
    return "".join([*out, text[done:]])


def _sizes_of_beginnings(known: list[str]) -> dict[str, list[int]]:
    """How long those of these secrets, in order, are with which each of them begins; its own length comes last."""
    sizes: dict[str, list[int]] = {}
    above: list[str] = []
    for secret in known:
        while above and not secret.startswith(above[-1]):
            above.pop()
        above.append(secret)
        sizes[secret] = [*map(len, above)]
    return sizes


def _longest_at(text: str, at: int, known: list[str], sizes: dict[str, list[int]]) -> str:
    """The longest secret that stands at a place, "" where none does; of the text no more is read than is like one."""
    size = _HEAD
    while True:
        near = text[at : at + size]
        place = bisect_right(known, near)
        if len(near) < size or place == len(known) or not known[place].startswith(near):
            break
        size *= 4
    # All that stand here are beginnings of the last one that is not behind them in order.
    secret = known[place - 1] if place else ""
    there = sizes.get(secret, [])
    count = bisect_left(there, 1, key=lambda size: not text.startswith(secret[:size], at))
    return secret[: there[count - 1]] if count else ""


class Redaction:
    """One answer as a view shows it; the same id gets the same name all through it."""

    def __init__(self, word: str, policy: MemoryPolicy) -> None:
        self.view, self._policy = _NAMES.get(word, word), policy
        self._names: dict[str, str] = {}
        self._sources: dict[str, str] = {}

    def text(self, text: str) -> str:
        """A text as the view shows it."""
        if self.view == "full" or not text:
            return text
        text = self._policy.redact(text)
        if self.view == "public":
            out, done = [], 0
            found = [f for f in self._policy.findings(text, document=False) if f.kind == "pii"]
            for f in sorted(found, key=lambda f: (f.start, -f.end)):
                if f.start >= done:
                    out += [text[done : f.start], f"[REDACTED:{f.rule}]"]
                done = max(done, f.end)
            text = _ITEM.sub(lambda match: self.name(match[0]), "".join([*out, text[done:]]))
        for name, stays, pattern in _CLASSES:
            if self.view == "public" or not stays:
                text = pattern.sub(f"[REDACTED:{name}]", text)
        return text

    def name(self, item_id: str) -> str:
        """What an item is called in the public view."""
        return self._names.setdefault(item_id, f"ITEM-{len(self._names) + 1}")

    def source(self, text: str) -> str:
        """What a source is called in the public view; a passage's number in it stays."""
        head, colon, tail = text.rpartition(":")
        path, number = (head, colon + tail) if colon and tail.isdecimal() else (text, "")
        return self._sources.setdefault(path, f"SOURCE-{len(self._sources) + 1}") + number

    def record(self, line: dict[str, Any]) -> dict[str, Any]:
        """A record (an exported line, a search hit) with every field as the view shows it; keys stay."""
        if self.view == "full":
            return line
        source = line.get("provenance")
        path = str(source.get("source_id") or "") if isinstance(source, dict) else ""
        return {key: self._value(key, self._apart_from(path, key, value)) for key, value in line.items()}

    def _apart_from(self, path: str, key: str, value: Any) -> Any:
        """A field without what the path of its source gave to it: a title may be a file's name, a tag a folder's."""
        if self.view != "public" or not path or key not in ("title", *_PARTS):
            return value
        if key == "title":
            # A title that begins with the name of the file, with or without its suffix, and ends there or is followed
            # by a heading or by which part of the file it is.
            name = path.replace("\\", "/").rstrip("/").rpartition("/")[2]
            for head in filter(None, (name, name.rpartition(".")[0])):
                rest = value[len(head) :]
                if value[: len(head)].casefold() == head.casefold() and (not rest or rest.startswith(_AFTER_NAME)):
                    return _PATH + rest
            return value
        # The folders, and the file's name with and without suffix, as tags are made of them.
        names = [name for name in path.replace("\\", "/").split("/") if name]
        names += [name.rpartition(".")[0] for name in names[-1:]]
        folded = [name.casefold() for name in names if name]
        parts = {*folded, *(name.replace(" ", "-") for name in folded)}
        if isinstance(value, str):
            return _PATH if value.casefold() in parts - {DEFAULT_SCOPE, GLOBAL_SCOPE} else value
        if isinstance(value, list):
            return list(dict.fromkeys(_PATH if str(one).casefold() in parts else one for one in value))
        return value

    def _value(self, key: str, value: Any) -> Any:
        if key in _PLAIN or value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, str):
            return self.field(key, value)
        if isinstance(value, dict):
            return {k: self._value(k, v) for k, v in value.items()}
        return [self._value(key, one) for one in value] if isinstance(value, Iterable) else value

    def field(self, key: str, text: str) -> str:
        """A field of an item as the view shows it; those that point somewhere get names instead."""
        if self.view == "public":
            if key in ("id", "superseded_by", "to", "item_id", "src_id", "dst_id", "item_ids"):
                return self.name(text) if text else text
            if key in ("source_id", "chunk_ids") and text:
                return self.source(text)
        return "[REDACTED:hash]" if key == "content_hashes" else self.text(text)
