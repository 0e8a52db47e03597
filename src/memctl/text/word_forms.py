"""Forms of a word that a stemmer does not join: went and go, children and child; the common stem of French forms."""

#: Each group between bars is one word. Forms that are as often another word (saw, left, found) are not in it.
_IRREGULAR = (
    "|go goes went gone|do does did done|make made|take took taken|get got gotten|give gave given|see saw seen"
    "|come came|become became|know knew known|think thought|tell told|feel felt|leave left|keep kept|begin began begun"
    "|show shown|hear heard|run ran|hold held|bring brought|write wrote written|sit sat|stand stood|lose lost|pay paid"
    "|meet met|lead led|understand understood|speak spoke spoken|spend spent|grow grew grown|win won|teach taught"
    "|buy bought|send sent|build built|rebuild rebuilt|fall fell fallen|choose chose chosen|drive drove driven"
    "|break broke broken|eat ate eaten|draw drew drawn|fly flew flown|wear wore worn|sing sang sung|swim swam swum"
    "|sleep slept|catch caught|fight fought|sell sold|ride rode ridden|rise rose risen|throw threw thrown"
    "|forget forgot forgotten|hide hid hidden|drink drank drunk|shoot shot|steal stole stolen|wake woke woken"
    "|blow blew blown|freeze froze frozen|bite bit bitten|lend lent|bind bound|find found|mean meant|deal dealt"
    "|dream dreamt|learn learnt|burn burnt|seek sought|shake shook shaken|swear swore sworn|tear tore torn|wind wound"
    "|overwrite overwrote overwritten|override overrode overridden|withdraw withdrew withdrawn|forbid forbade forbidden"
    "|child children|woman women|man men|person people|wife wives|life lives|knife knives|half halves|leaf leaves"
    "|mouse mice|foot feet|tooth teeth|goose geese|index indices|vertex vertices|matrix matrices|criterion criteria"
    "|phenomenon phenomena|analysis analyses|hypothesis hypotheses|crisis crises|basis bases|thesis theses"
    "|datum data|medium media|bacterium bacteria|nucleus nuclei|stimulus stimuli|good better best|bad worse worst|"
)

_FRENCH_ENDINGS = (
    "issaient", "ements", "ations", "ateurs", "ation", "ateur", "atrice", "ement", "erent", "irent", "aient", "issent",
    "euses", "antes", "oises", "aises", "ennes", "euse", "ante", "ants", "ives", "ifs", "oise", "aise", "enne", "ises",
    "ait", "ent", "ant", "eux", "ive", "ique", "iques", "ees", "er", "ir", "ee", "es", "if", "it", "a", "e", "s",
)  # fmt: skip
#: What a French stem keeps at least, in letters.
_STEM = 5
_PLAIN = str.maketrans("éèêëàâçùûüîïôö", "eeeeaacuuuiioo")


def irregular(word: str) -> list[str]:
    """The other forms of an English word that a stemmer would not find; mostly none."""
    low = word.lower()
    at = _find(low)
    if at < 0:
        return []
    group = _IRREGULAR[_IRREGULAR.rfind("|", 0, at + 1) + 1 : _IRREGULAR.find("|", at + 1)]
    return [form for form in group.split() if form != low]


def _find(low: str) -> int:
    if not (low.isascii() and low.isalpha()):
        return -1
    for before, after in (("|", " "), (" ", " "), (" ", "|")):
        at = _IRREGULAR.find(before + low + after)
        if at >= 0:
            return at
    return -1


def french_stem(word: str) -> str:
    """The beginning that the forms of a French word share, without accents; the whole word when it is short."""
    low = word.lower().translate(_PLAIN)
    for ending in sorted(_FRENCH_ENDINGS, key=len, reverse=True):
        if low.endswith(ending) and len(low) - len(ending) >= _STEM:
            return low[: len(low) - len(ending)]
    return low


#: What Arabic and Hebrew write together with the next word: articles, prepositions, "and".
_ARABIC = (
    "\u0648\u0627\u0644", "\u0628\u0627\u0644", "\u0641\u0627\u0644", "\u0643\u0627\u0644", "\u0644\u0644",
    "\u0627\u0644", "\u0648", "\u0628", "\u0644", "\u0641",
)  # fmt: skip
_HEBREW = (
    "\u05d5\u05d4", "\u05e9\u05d4", "\u05de\u05d4", "\u05d4", "\u05d1", "\u05dc", "\u05de", "\u05e9",
    "\u05d5", "\u05db",
)  # fmt: skip
#: So many letters of a word are left when such a prefix is taken off.
_REST = 3


def semitic(word: str) -> list[str]:
    """An Arabic or Hebrew word without vowel points, without a prefix, and with others; nothing for other words."""
    if word.isascii() or not any("\u0590" <= char <= "\u06ff" for char in word):
        return []
    plain = "".join([char for char in word if not _is_point(char)])
    prefixes = _HEBREW if any("\u05d0" <= char <= "\u05ea" for char in plain) else _ARABIC
    bare = next((plain[len(p) :] for p in prefixes if plain.startswith(p) and len(plain) - len(p) >= _REST), plain)
    forms = dict.fromkeys(
        (plain, bare, *(prefix + each for each in dict.fromkeys((plain, bare)) for prefix in prefixes))
    )
    return [form for form in forms if form and form != word]


def _is_point(char: str) -> bool:
    """Hebrew points and accents, Arabic vowel signs, the stroke that only makes a word longer."""
    return "\u0591" <= char <= "\u05c7" or "\u064b" <= char <= "\u065f" or char in "\u0640\u0670"
