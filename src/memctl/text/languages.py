"""What is known of the words of some languages: which say little or nothing in a question, and forms of one word."""


def _words_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: The documented stop words, 56 French and 70 English, and the question words of both.
FR_STOP_WORDS = _words_of(
    "au aux avec car ce ces cette comme comment dans de des donc dont du elle elles en est et il ils je la le les leur "
    "leurs mais mon ne ni notre nous on ou où par pas pour que qui sa se ses si son sont sur ton tu un une votre vous "
    "y"
)
EN_STOP_WORDS = _words_of(
    "a about after an and are at be been before being but by can could did do does for from had has have he her him "
    "his i if in into is it its may me might my no nor not of on or our out over shall she should so that the their "
    "them then these they this those to up was we were will with would you your"
)
QUESTION_WORDS = _words_of("comment how pourquoi quel quelle quelles quels quoi what when where which who whom why")

# Words that carry nothing in a question but are missing from the documented lists.
_FR_MORE = _words_of(
    "a à ai ont été être avoir avait était étaient fut l d qu c j n s m t cet lui leur me te ma ta tes mes nos vos "
    "eux sous lors puis quand combien entre vers chez sans selon ainsi aussi alors avons avez avaient aura auront "
    "aurait auraient ayant eu eut eurent sera seront serait seraient soit soient furent étant suis sommes êtes"
)
_EN_MORE = _words_of(
    "as am any there here than too very just some such only own same s t d ll m re ve don doesn didn isn aren wasn "
    "weren hasn haven hadn won wouldn couldn shouldn whose us also"
)

_FR_QUESTIONS = _words_of("comment pourquoi quel quelle quelles quels quoi")

# Stop words of one language that are ordinary words of the other: dropped only from a query in their own language.
FR_DOUBTFUL = _words_of(
    "au aura car ce comment des dont elle en est eu il la mon ni on ou par pas pour sa se sera si son suis sur ton tu "
    "un y a ai d l c j n s m t te ma me mes lui entre vers puis sans alors chez eux sous vos nos"
)
EN_DOUBTFUL = _words_of("as but his if in me may no not nor on or our out over an a am are so up us do")
# Negation is content: "not null constraint", "no retry policy".
_NEGATION = frozenset(("no", "not", "nor"))
# Names that look like auxiliaries when they open a query: "May release", "Will report".
NAMES = frozenset(("may", "will", "might"))

#: All of a language.
FR_EVERY = FR_STOP_WORDS | _FR_MORE | _FR_QUESTIONS
EN_EVERY = EN_STOP_WORDS | _EN_MORE | (QUESTION_WORDS - _FR_QUESTIONS)


def stop_words(french: bool) -> frozenset[str]:
    """Those of the query's language, and those of the other that can be no ordinary word of this one."""
    return (FR_EVERY | (EN_EVERY - EN_DOUBTFUL)) if french else (EN_EVERY | (FR_EVERY - FR_DOUBTFUL)) - _NEGATION


#: Words that fit any subject: "how do I *make* an option that can be *given several* times". A store may have them as
#: rarely as the words that matter, so their rarity there does not tell what they weigh.
EN_LIGHT = _words_of(
    "able actually add allow allows almost along already always another anything apart ask asked asks away back "
    "become becomes begin best better bring call called came certain come comes completely consider contain "
    "contains correctly currently different directly done during each early easily easy either else enough even "
    "ever every everything exactly example existing exists explain far few find finds following found full gave "
    "generally get gets getting give given gives go goes going good great happen happened happening happens hard "
    "help however important instead keep keeps kept kind know known large later least leave less let like likely "
    "little look looks lot made mainly make makes making many mean means mention mentioned might more most much "
    "must necessary need needed needs never next none nothing now often once one onto other others otherwise "
    "overall particular per please possible probably properly provide provides put quickly quite rather ready "
    "really recently right said say says see seem seems seen several show shows simple simply since something "
    "sometimes soon still sure take taken takes talk talked tell tells thing things think thought times together "
    "told too took toward towards try trying until upon use used useful uses using usually various very want wanted "
    "wants way ways went whenever whether whole within without works yes yet"
)
FR_LIGHT = _words_of(
    "afin aller appelle appelé après assez aucun aucune autre autres avant beaucoup besoin bien bon bonne cela "
    "chaque certain certaine certaines certains ceux dire dit doit doivent donner encore ensemble façon faire fait "
    "faut fois lequel laquelle lors manière meilleur mettre moins parfois permet peu peut peuvent plusieurs "
    "possible pouvoir prendre presque quelque quelques rien savoir seulement souvent surtout toujours tous tout "
    "toute toutes trouve trouver trop utilise utiliser veut vient voir vouloir vraiment"
)


# --- forms that a stemmer does not join: went and go, children and child; the common stem of French forms -------------

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
    if not (low.isascii() and low.isalpha()):
        return []
    for before, after in (("|", " "), (" ", " "), (" ", "|")):
        at = _IRREGULAR.find(before + low + after)
        if at >= 0:
            group = _IRREGULAR[_IRREGULAR.rfind("|", 0, at + 1) + 1 : _IRREGULAR.find("|", at + 1)]
            return [form for form in group.split() if form != low]
    return []


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
#: How many letters of a word are left at least when such a prefix is taken off.
_REST = 3
#: Hebrew points and accents, Arabic vowel signs, the stroke that only makes a word longer (first and last code point).
_POINTS = (("\u0591", "\u05c7"), ("\u064b", "\u065f"), ("\u0640", "\u0640"), ("\u0670", "\u0670"))


def semitic(word: str) -> list[str]:
    """An Arabic or Hebrew word without vowel points, without a prefix, and with others; nothing for other words."""
    if word.isascii() or not any("\u0590" <= char <= "\u06ff" for char in word):
        return []
    plain = "".join([char for char in word if not any(first <= char <= last for first, last in _POINTS)])
    prefixes = _HEBREW if any("\u05d0" <= char <= "\u05ea" for char in plain) else _ARABIC
    bare = next((plain[len(p) :] for p in prefixes if plain.startswith(p) and len(plain) - len(p) >= _REST), plain)
    forms = dict.fromkeys(
        (plain, bare, *(prefix + each for each in dict.fromkeys((plain, bare)) for prefix in prefixes))
    )
    return [form for form in forms if form and form != word]
