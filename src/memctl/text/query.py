"""What a query asks for: its words without stop words, its identifiers with their parts, its phrases.

Any text is a legal query. The result says nothing about a search engine: `memctl.store.search` turns it into one.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

#: The documented stop words, 56 French and 70 English, and the question words of both.
FR_STOP_WORDS = frozenset(
    "au aux avec car ce ces cette comme comment dans de des donc dont du elle elles en est et il ils je la le les leur "
    "leurs mais mon ne ni notre nous on ou où par pas pour que qui sa se ses si son sont sur ton tu un une votre vous "
    "y".split()
)
EN_STOP_WORDS = frozenset(
    "a about after an and are at be been before being but by can could did do does for from had has have he her him "
    "his i if in into is it its may me might my no nor not of on or our out over shall she should so that the their "
    "them then these they this those to up was we were will with would you your".split()
)
QUESTION_WORDS = frozenset(
    "comment how pourquoi quel quelle quelles quels quoi what when where which who whom why".split()
)

# Words that carry nothing in a question but are missing from the documented lists.
_FR_MORE = frozenset(
    "a à ai ont été être avoir avait était étaient fut l d qu c j n s m t cet lui leur me te ma ta tes mes nos vos "
    "eux sous lors puis quand combien entre vers chez sans selon ainsi aussi alors".split()
)
_EN_MORE = frozenset(
    "as am any there here than too very just some such only own same s t d ll m re ve don doesn didn isn aren wasn "
    "weren hasn haven hadn won wouldn couldn shouldn whose he'll us also".split()
)

_FR_QUESTIONS = frozenset("comment pourquoi quel quelle quelles quels quoi".split())

# Stop words of one language that are ordinary words of the other: dropped only from a query in their own language.
_FR_DOUBTFUL = frozenset(
    "au car ce comment des dont elle en est il la mon ni on ou par pas pour sa se si son sur ton tu un y "
    "a ai d l c j n s m t te ma me mes lui entre vers puis sans alors chez eux sous vos nos".split()
)
_EN_DOUBTFUL = frozenset("as but his if in me may no not nor on or our out over an a am are so up us do".split())
# Negation is content: "not null constraint", "no retry policy".
_NEGATION = frozenset(("no", "not", "nor"))
# Names that look like auxiliaries when they open a query: "May release", "Will report".
_NAMES = frozenset(("may", "will", "might"))

#: A query longer than this is cut: it is a pasted document, and its first words say what it is about.
MAX_TERMS = 48
MAX_CHARS = 4000


class Query(NamedTuple):
    """A query, taken apart.

    text     what was asked, trimmed
    terms    the words that must count, as typed (identifiers, paths, versions and quoted phrases whole), no duplicates
    parts    further words that may count: the pieces of identifiers and phrases
    runs     terms in scripts that put no blanks between words (Chinese, Japanese, Thai, Korean endings)
    dropped  the stop words that were left out
    """

    text: str
    terms: tuple[str, ...]
    parts: tuple[str, ...]
    runs: tuple[str, ...]
    dropped: tuple[str, ...]

    @property
    def blank(self) -> bool:
        """Whether nothing was asked at all (then a search lists the newest)."""
        return not self.text


def analyse(text: str) -> Query:
    """Take a query apart; any text is legal. Words that say nothing are dropped unless nothing else would remain."""
    text = clean(text)
    words = [word for word in _words(text[:MAX_CHARS]) if _speaks(word)]
    kept, dropped = _without_stop_words(words)
    terms = _distinct(kept or words)[:MAX_TERMS]
    runs = tuple(term for term in terms if unsegmented(term))
    known = {term.casefold() for term in terms}
    parts = [part for term in terms for part in pieces(term) if part.casefold() not in known]
    return Query(text, tuple(terms), tuple(_distinct(parts)[:MAX_TERMS]), runs, tuple(dropped))


def clean(text: str) -> str:
    """The text without control characters and unpaired surrogates (neither can reach SQLite), trimmed."""
    if not text.isprintable():
        text = "".join(char if char.isprintable() or char > "\x9f" else " " for char in text)
        text = text.encode("utf-8", "replace").decode("utf-8")
    return text.strip()


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
    for chunk in _alnum_runs(term):
        split = _camel(chunk)
        out += ([chunk] if chunk != term else []) + (split if len(split) > 1 else [])
    return [piece for piece in out if _worth(piece)]


def unsegmented(word: str) -> bool:
    """Whether the word has characters of a script whose words the tokenizer cannot tell apart."""
    return any("\u0e00" <= c <= "\u109f" or "\u1100" <= c <= "\u11ff" or _wide(c) for c in word if c > "\u0dff")


def _wide(char: str) -> bool:
    return (
        "\u1780" <= char <= "\u17ff"
        or "\u2e80" <= char <= "\ud7ff"
        or "\uf900" <= char <= "\ufaff"
        or "\uff66" <= char <= "\uffdc"
        or "\U00020000" <= char <= "\U0003ffff"
    )


def grams(run: str) -> list[str]:
    """What to look for inside longer text for a run of an unsegmented script: the run, then its pairs of characters."""
    if len(run) <= 2:
        return [run]
    return _distinct([run, *(run[i : i + 2] for i in range(len(run) - 1))])


# --- words ------------------------------------------------------------------------------------------------------


def _words(text: str) -> Iterator[str]:
    """The words in order, punctuation stripped; a quoted phrase is one word with blanks in it."""
    for quoted, stretch in _quoted(text):
        if quoted:
            inner = " ".join(filter(None, (_bare(word) for word in stretch.split())))
            if inner:
                yield inner
        else:
            for word in stretch.split():
                yield from _elided(_bare(word))


def _quoted(text: str) -> Iterator[tuple[bool, str]]:
    """Stretches inside and outside of double quotes; a quote without a partner is just a character."""
    if not any(mark in text for mark in '"“«'):
        yield False, text
        return
    at = 0
    while at < len(text):
        opening = min((i for i in (text.find(mark, at) for mark in '"“«') if i >= 0), default=-1)
        closing = text.find({'"': '"', "“": "”", "«": "»"}[text[opening]], opening + 1) if opening >= 0 else -1
        if closing < 0:
            yield False, text[at:]
            return
        yield False, text[at:opening]
        yield True, text[opening + 1 : closing]
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
    plain = word.replace("’", "'")
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


def _speaks(word: str) -> bool:
    return any(char.isalnum() for char in word)


def _distinct(words: Iterable[str]) -> list[str]:
    seen: dict[str, str] = {}
    for word in words:
        seen.setdefault(word.casefold(), word)
    return list(seen.values())


def _alnum_runs(term: str) -> list[str]:
    return "".join(char if char.isalnum() else " " for char in term).split()


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


def _worth(piece: str) -> bool:
    low = piece.lower()
    if low in EN_STOP_WORDS or low in FR_STOP_WORDS:
        return False
    return len(piece) > 2 if piece.isdigit() else len(piece) > 1


# --- stop words -------------------------------------------------------------------------------------------------

_FR = FR_STOP_WORDS | _FR_MORE | _FR_QUESTIONS
_EN = EN_STOP_WORDS | _EN_MORE | (QUESTION_WORDS - _FR_QUESTIONS)


def _without_stop_words(words: list[str]) -> tuple[list[str], list[str]]:
    stops = _stop_words(_is_french(words))
    shouted = all(word.isupper() for word in words)
    kept: list[str] = []
    dropped: list[str] = []
    for i, word in enumerate(words):
        follower = words[i + 1] if i + 1 < len(words) else ""
        if not shouted and _is_name(word, i, follower):
            kept.append(word)
        else:
            low = word.lower()
            stop = low in stops or ("-" in low and all(piece in stops for piece in low.split("-")))
            (dropped if stop else kept).append(word)
    return kept, dropped


def _stop_words(french: bool) -> frozenset[str]:
    """Those of the query's language, and those of the other that can be no ordinary word of this one."""
    return (_FR | (_EN - _EN_DOUBTFUL)) if french else (_EN | (_FR - _FR_DOUBTFUL)) - _NEGATION


def _is_name(word: str, index: int, follower: str) -> bool:
    """Whether capitals say that this is a name and no function word: IT security, May release, report of May."""
    if is_identifier(word) or (len(word) > 1 and word.isupper()):
        return True
    if not word[0].isupper() or word.lower() not in _NAMES:
        return False
    return index > 0 or bool(follower and follower.lower() not in EN_STOP_WORDS)


def _is_french(words: list[str]) -> bool:
    """Whether the function words (and accents) of a query say French rather than English."""
    french = english = 0
    for word in words:
        low = word.lower()
        if low in _FR:
            french += low not in _FR_DOUBTFUL
        elif low in _EN:
            english += low not in _EN_DOUBTFUL
        else:
            french += any(char in "éèêàçùûîôœ" for char in low)
    return french > english
