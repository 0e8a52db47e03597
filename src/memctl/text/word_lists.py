"""Words of English and French that say little or nothing in a question: stop words, and words that weigh less."""


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
