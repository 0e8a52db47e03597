"""What a query asks for: its words without stop words, its identifiers with their parts, its phrases.

Any text is a legal query. The result says nothing about a search engine: `memctl.store.search.index` turns it into one.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

from memctl.text.languages import (
    EN_DOUBTFUL,
    EN_EVERY,
    EN_STOP_WORDS,
    FR_DOUBTFUL,
    FR_EVERY,
    FR_STOP_WORDS,
    NAMES,
    stop_words,
)

#: A query longer than this is cut: it is a pasted document, and its first words say what it is about.
MAX_TERMS = 48
MAX_CHARS = 4000


class Query:
    """A query, taken apart.

    text     what was asked, trimmed
    terms    the words that must count, as typed (identifiers, paths, versions and quoted phrases whole), no duplicates
    parts    further words that may count: the pieces of identifiers and phrases
    runs     terms in scripts that put no blanks between words (Chinese, Japanese, Thai, Korean endings)
    dropped  the stop words that were left out
    french   whether it is French rather than English
    """

    __slots__ = ("dropped", "french", "parts", "runs", "terms", "text")

    def __init__(
        self,
        text: str,
        terms: Sequence[str],
        parts: Sequence[str],
        runs: Sequence[str],
        dropped: Sequence[str],
        french: bool = False,
    ) -> None:
        self.text, self.terms, self.parts = text, tuple(terms), tuple(parts)
        self.runs, self.dropped, self.french = tuple(runs), tuple(dropped), french

    @property
    def blank(self) -> bool:
        """Whether nothing was asked at all (then a search lists the newest)."""
        return not self.text


@lru_cache(maxsize=2)  # who answers a query asks again for its words
def analyse(text: str) -> Query:
    """Take a query apart; any text is legal. Words that say nothing are dropped unless nothing else would remain."""
    if not text.isprintable():  # control characters and unpaired surrogates: neither can reach SQLite
        text = "".join(char if char.isprintable() or char > "\x9f" else " " for char in text)
        text = text.encode("utf-8", "replace").decode("utf-8")
    text = text.strip()
    words = [word for word in _words(text[:MAX_CHARS]) if any(map(str.isalnum, word))]
    french = _is_french(words)
    kept, dropped = _without_stop_words(words, french)
    terms = _distinct(kept or words)[:MAX_TERMS]
    known = {term.casefold() for term in terms}
    parts = [part for term in terms for part in pieces(term) if part.casefold() not in known]
    runs = [run for term in terms if not term.isascii() for run in _stretches(term, _is_unsegmented)]
    return Query(text, terms, _distinct(parts)[:MAX_TERMS], _distinct(runs), dropped, french)


def normalised(query: Query) -> str:
    """The query's text without its stop words, in order; the text itself when nothing else would remain."""
    return query.text if set(query.terms) <= set(query.dropped) else " ".join(query.terms)


def is_identifier(word: str) -> bool:
    """Whether a word is a name from code: camelCase, snake_case, CONSTANT, or with a dot inside."""
    if "." in word[:-1]:
        return True
    if len(word) > 2 and "A" <= word[0] <= "Z" and all("A" <= c <= "Z" or "0" <= c <= "9" or c == "_" for c in word):
        return True
    for before, char, after in zip(word, word[1:], word[2:] + " ", strict=False):
        if (before.islower() and char.isupper()) or (char == "_" and before.isalpha() and after.isalpha()):
            return True
    return False


def pieces(term: str) -> list[str]:
    """The words inside an identifier, a path or a phrase: `parseHTTPHeader_v2` has parse, HTTP, Header, v2.

    Empty for a plain word; single characters, short numbers and stop words are left out.
    """
    out = []
    for chunk in _stretches(term, str.isalnum):
        words_of_other_scripts = _stretches(chunk, lambda char: not _is_unsegmented(char))
        split = words_of_other_scripts if unsegmented(chunk) else _camel(chunk)
        out += ([chunk] if chunk != term else []) + [part for part in split if part != chunk]
    return [
        piece
        for piece in out
        if len(piece) > (2 if piece.isdigit() else 1)
        and piece.lower() not in EN_STOP_WORDS
        and piece.lower() not in FR_STOP_WORDS
    ]


def _stretches(term: str, belongs: Callable[[str], bool]) -> list[str]:
    """The stretches of a term that are made of characters of one kind."""
    return "".join(char if belongs(char) else " " for char in term).split()


def unsegmented(word: str) -> bool:
    """Whether the word has characters of a script whose words the tokenizer cannot tell apart."""
    return not word.isascii() and any(map(_is_unsegmented, word))


def _is_unsegmented(char: str) -> bool:
    """Thai to Burmese, Hangul, Khmer, and everything Chinese and Japanese."""
    if "\u0e00" <= char <= "\u109f" or "\u1100" <= char <= "\u11ff" or "\u1780" <= char <= "\u17ff":
        return True
    return char.isalnum() and (
        "\u2e80" <= char <= "\ud7ff"
        or "\uf900" <= char <= "\ufaff"
        or "\uff66" <= char <= "\uffdc"
        or "\U00020000" <= char <= "\U0003ffff"
    )


#: Chinese characters that ask or point rather than name; in Japanese all of Hiragana does.
_PARTICLES = "的了吗呢吧是在和与或什么哪里怎样如何为有我你他她它们这那个之也就都而及把被对从"


def grams(run: str) -> list[str]:
    """What to look for inside longer text for a run of an unsegmented script: the run, then pairs of characters.

    Pairs with function characters are left out (they are in every text), unless there is nothing else.
    """
    if len(run) <= 2:
        return [run]
    telling = _stretches(run, lambda char: not ("\u3041" <= char <= "\u309f" or char in _PARTICLES)) or [run]
    pairs = [stretch[i : i + 2] for stretch in telling for i in range(max(1, len(stretch) - 1))]
    return _distinct([run, *pairs])


def stem(word: str) -> str:
    """A word in lower case without a common English or French ending, at least four letters of it."""
    low = word.lower()
    for ending in ("ations", "ation", "ings", "ing", "ions", "ion", "ies", "ed", "es", "s", "y", "e"):
        if low.endswith(ending) and len(low) - len(ending) >= 4:
            return low[: len(low) - len(ending)]
    return low


# --- words ------------------------------------------------------------------------------------------------------


_QUOTES = {'"': '"', "“": "”", "«": "»"}


def _words(text: str) -> Iterator[str]:
    """The words in order, punctuation stripped; a quoted phrase is one word with blanks in it.

    A quote without a partner is just a character.
    """
    at = 0
    while at < len(text):
        opening = min((i for i in map(text.find, _QUOTES, [at] * len(_QUOTES)) if i >= 0), default=-1)
        closing = text.find(_QUOTES[text[opening]], opening + 1) if opening >= 0 else -1
        for word in text[at : opening if closing >= 0 else None].split():
            yield from _elided(_bare(word))
        if closing < 0:
            return
        phrase = " ".join(filter(None, map(_bare, text[opening + 1 : closing].split())))
        if phrase:
            yield phrase
        at = closing + 1


def _bare(word: str) -> str:
    start, end = 0, len(word)
    while start < end and not word[start].isalnum():
        start += 1
    while end > start and not word[end - 1].isalnum():
        end -= 1
    return word[start:end]


def _elided(word: str) -> Iterator[str]:
    """French `l'incident` is incident, English `Ann's` is Ann."""
    plain = word.replace("\u2019", "'")
    if "'" not in plain:
        yield word
        return
    head, _, tail = plain.partition("'")
    low, end = head.lower(), tail.lower()
    if low in {"l", "d", "qu", "n", "c", "j", "m", "s", "t", "jusqu", "lorsqu", "puisqu"} and tail:
        yield head
        yield _bare(tail)
    elif end in {"s", "re", "ve", "ll", "d", "m", "t"}:
        yield head.removesuffix("n") if end == "t" and low.endswith("n") and len(low) > 3 else head
    else:
        yield plain


def _distinct(words: Iterable[str]) -> list[str]:
    seen: dict[str, str] = {}
    for word in words:
        seen.setdefault(word.casefold(), word)
    return list(seen.values())


def _camel(chunk: str) -> list[str]:
    """Split where a capital starts a word: `getUserID`, `HTTPServer`."""
    if chunk.islower() or chunk.isupper():
        return [chunk]
    out, start = [], 0
    for i in range(1, len(chunk)):
        before, char = chunk[i - 1], chunk[i]
        ends_acronym = before.isupper() and char.isupper() and chunk[i + 1 : i + 2].islower()
        if (char.isupper() and not before.isupper()) or ends_acronym:
            out.append(chunk[start:i])
            start = i
    return [*out, chunk[start:]]


# --- stop words -------------------------------------------------------------------------------------------------


def _without_stop_words(words: list[str], french: bool) -> tuple[list[str], list[str]]:
    """The words that count, and the stop words; capitals may say that a word is a name: IT security, report of May."""
    stops = stop_words(french)
    shouted = all(word.isupper() for word in words)
    kept: list[str] = []
    dropped: list[str] = []
    for i, word in enumerate(words):
        low = word.lower()
        stop = low in stops or ("-" in low and all(piece in stops for piece in low.split("-")))
        if stop and not shouted:
            named = word[0].isupper() and low in NAMES  # May release: a capital that begins no sentence of stop words
            inside = i > 0 or any(follower.lower() not in EN_STOP_WORDS for follower in words[1:2])
            stop = not (is_identifier(word) or (len(word) > 1 and word.isupper()) or (named and inside))
        (dropped if stop else kept).append(word)
    return kept, dropped


def _is_french(words: list[str]) -> bool:
    """Whether the function words (and accents) of a query say French rather than English.

    A word that is an ordinary one in the other language says little, one that both languages use says nothing.
    """
    french = english = 0.0
    for word in words:
        low = word.lower()
        if low in FR_EVERY and low not in EN_EVERY:
            french += 0.35 if low in FR_DOUBTFUL else 1
        elif low in EN_EVERY and low not in FR_EVERY:
            english += 0.35 if low in EN_DOUBTFUL else 1
        elif low not in FR_EVERY:
            french += any(char in "éèêàçùûîôœ" for char in low)
    return french >= 1 and french > english


# --- what sort of reading a question is after: release notes name everything and explain little -----------------------

#: How the name of such a file or folder shows, and the title of such a text.
_NEWS_NAMES = frozenset(("changelog", "changelogs", "changes", "news", "releases", "relnotes", "whatsnew"))
_NEWS_TITLES = ("release notes", "changelog", "change log", "what's new", "what\u2019s new", "notes de version")
#: How many words at the end of a path say what a file is.
_NAMING_WORDS = 6
#: Files that are prose by their names; in the others those words name parts of a program.
_PROSE = (".txt", ".rst", ".md", ".markdown", ".adoc", ".asciidoc", ".org", ".html", ".htm", ".tex", ".pdf")
#: Files that are neither prose nor programs.
_OTHER = (
    ".docx", ".odt", ".pptx", ".odp", ".xlsx", ".ods", ".ipynb", ".eml", ".csv", ".tsv", ".log", ".srt", ".vtt",
    ".xhtml", ".mdx", ".qmd", ".rmd", ".mkd", ".mdown", ".text", ".latex", ".man", ".mdoc", ".diff", ".patch",
)  # fmt: skip
#: Words of a question for which they are the answer.
_NEWS_WORDS = frozenset((
    "added", "change", "changed", "changelog", "changes", "deprecated", "dropped", "introduced", "new", "news",
    "release", "released", "releases", "removed", "renamed", "since", "upgrade", "upgrading", "version", "versions",
    "when", "depuis", "nouveau", "nouveaut\u00e9s", "quand", "wann", "seit",
))  # fmt: skip


def is_program(source: str) -> bool:
    """Whether the file at this path is source code or data, by its suffix."""
    name = source.rpartition("/")[2].lower()
    suffix = name.rpartition(".")[2] if "." in name[1:] else ""
    return bool(suffix) and not suffix.isdecimal() and not name.endswith((*_PROSE, *_OTHER))


def tells_news(source: str, title: str) -> bool:
    """Whether a document at this path, with this title, tells what changed from version to version."""
    low = source.lower()
    if not low.endswith(_PROSE):
        return "." not in low.rpartition("/")[2] and low.rpartition("/")[2] in _NEWS_NAMES
    parts = low.replace("_", "/").replace("-", "/").replace(".", "/").split("/")
    whole = title.partition(" > ")[0].lower()
    return not _NEWS_NAMES.isdisjoint(parts[-_NAMING_WORDS:]) or any(words in whole for words in _NEWS_TITLES)


def asks_for_news(question: str) -> bool:
    """Whether a question is after such things: what is new, when something came, what some version has."""
    words = question.lower().replace("?", " ").replace(",", " ").split()
    return any(word in _NEWS_WORDS or ("." in word[1:-1] and word[0].isdecimal()) for word in words)
