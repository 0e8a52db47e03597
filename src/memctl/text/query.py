# ruff: noqa: SIM905 - lists of words
"""What a query asks for: its words without stop words, its identifiers with their parts, its phrases.

Any text is a legal query. The result says nothing about a search engine: `memctl.retrieve.fts_terms` tells what to ask.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from memctl.text.clean import union

#: A query longer than this is cut: it is a pasted document, and its first words say what it is about.
MAX_TERMS = 48
MAX_CHARS = 4000


class Query:
    """A query, taken apart.

    text     what was asked, trimmed
    blank    whether nothing was asked at all (then a search lists the newest)
    terms    the words that must count, as typed (identifiers, paths, versions and quoted phrases whole), no duplicates
    parts    further words that may count: the pieces of identifiers and phrases
    runs     terms in scripts that put no blanks between words (Chinese, Japanese, Thai, Korean endings)
    dropped  the stop words that were left out
    language en, fr, de, es, it, nl, pt or ru: whose stop words and endings count
    """

    __slots__ = ("blank", "dropped", "language", "parts", "runs", "terms", "text")

    def __init__(
        self,
        text: str,
        terms: Sequence[str],
        parts: Sequence[str],
        runs: Sequence[str],
        dropped: Sequence[str],
        language: str = "en",
    ) -> None:
        self.text, self.blank = text, not text
        self.terms, self.parts, self.runs = tuple(terms), tuple(parts), tuple(runs)
        self.dropped, self.language = tuple(dropped), language


@lru_cache(maxsize=2)  # who answers a query asks again for its words
def analyse(text: str) -> Query:
    """Take a query apart; any text is legal. Words that say nothing are dropped unless nothing else would remain."""
    if not text.isprintable():  # control characters and unpaired surrogates: neither can reach SQLite
        text = "".join(char if char.isprintable() or char > "\x9f" else " " for char in text)
        text = text.encode("utf-8", "replace").decode("utf-8")
    text = text.strip()
    words = [word for word in _words(text[:MAX_CHARS]) if any(map(str.isalnum, word))]
    language = _language_of(words)
    kept, dropped = _without_stop_words(words, language)
    terms = union(kept or words)[:MAX_TERMS]
    known = {term.casefold() for term in terms}
    parts = [part for term in terms for part in pieces(term) if part.casefold() not in known]
    runs = [run for term in terms if not term.isascii() for run in _stretches(term, unsegmented)]
    return Query(text, terms, union(parts)[:MAX_TERMS], union(runs), dropped, language)


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
        if unsegmented(chunk):
            split = _stretches(chunk, lambda char: not unsegmented(char))  # the words of other scripts in it
        elif chunk.islower() or chunk.isupper():
            split = []
        else:  # a capital begins a word, but inside an acronym only the last one does
            around = zip(f" {chunk}", chunk, f"{chunk[1:]} ", strict=False)
            begins = [char.isupper() and (not before.isupper() or after.islower()) for before, char, after in around]
            split = "".join(f" {char}" if new else char for new, char in zip(begins, chunk, strict=True)).split()
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


def unsegmented(text: str) -> bool:
    """Whether a text has characters of a script whose words the tokenizer cannot tell apart.

    Those are Thai to Burmese, Hangul, Khmer, and everything Chinese and Japanese.
    """
    return not text.isascii() and any(
        "\u0e00" <= char <= "\u109f"
        or "\u1100" <= char <= "\u11ff"
        or "\u1780" <= char <= "\u17ff"
        or (
            char.isalnum()
            and (
                "\u2e80" <= char <= "\ud7ff"
                or "\uf900" <= char <= "\ufaff"
                or "\uff66" <= char <= "\uffdc"
                or "\U00020000" <= char <= "\U0003ffff"
            )
        )
        for char in text
    )


#: The characters of Chinese, Japanese and Korean, which the full-text index holds two by two: ranges of a pattern.
PAIRED = (
    "\u3005-\u3007\u3041-\u30fa\u30fc-\u318e\u31f0-\u31ff\u3400-\u9fff\ua960-\ud7a3\uf900-\ufad9\uff66-\uffdc"
    "\U00020000-\U000323af"
)
#: Hebrew points and accents, Arabic vowel signs and the stroke that only makes a word longer, likewise.
POINTS = (
    "\u0591-\u05bd\u05bf-\u05bf\u05c1-\u05c2\u05c4-\u05c5\u05c7-\u05c7\u0610-\u061a\u0640-\u0640\u064b-\u065f"
    "\u0670-\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7-\u06e8\u06ea-\u06ed"
)


def is_paired(run: str) -> bool:
    """Whether all characters of a run are such that the index holds them two by two."""
    return all(_is_in(PAIRED, char) for char in run)


def _is_in(ranges: str, char: str) -> bool:
    return any(first <= char <= last for first, last in zip(ranges[::3], ranges[2::3], strict=True))


#: Chinese characters that ask or point rather than name; in Japanese all of Hiragana does.
_PARTICLES = "的了吗呢吧是在和与或什么哪里怎样如何为有我你他她它们这那个之也就都而及把被对从"


def grams(run: str) -> list[str]:
    """What to look for inside longer text for a run of an unsegmented script: the run, then pairs of characters.

    Pairs with function characters are left out (they are in every text), unless there is nothing else.
    """
    if len(run) <= 2:
        return [run]
    pairs = [stretch[i : i + 2] for stretch in telling_stretches(run) for i in range(max(1, len(stretch) - 1))]
    return union([run, *pairs])


def telling_stretches(run: str) -> list[str]:
    """The stretches of a run without function characters; the run itself where it has no others."""
    return _stretches(run, lambda char: not ("\u3041" <= char <= "\u309f" or char in _PARTICLES)) or [run]


#: Common endings of English words, the longest first.
_ENDINGS = ("ations", "ation", "ings", "ing", "ions", "ion", "ies", "ed", "es", "s", "y", "e")
_UNACCENTED = str.maketrans("éèêëàâçùûüîïôöäáíóúñãõìò", "eeeeaacuuuiiooaaiounaoio")


def stem(word: str, language: str = "en") -> str:
    """A word in lower case without a common ending, at least four letters of it.

    In other languages the beginning that the forms of a word share, without accents, at least five letters of it, four
    in Russian.
    """
    low, least = word.lower(), 4
    endings: tuple[str, ...] = _ENDINGS
    if language != "en":
        from memctl.text.languages import ENDINGS

        low, least, endings = low.translate(_UNACCENTED), 4 if language == "ru" else 5, ENDINGS[language]
    for ending in endings:
        if low.endswith(ending) and len(low) - len(ending) >= least:
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
    """French `l'incident` is incident, English `Ann's` is Ann, Italian `dell'ora` is ora."""
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
    elif low in {"un", "dell", "all", "dall", "nell", "sull", "quest", "quell", "cos", "com", "dov"} and tail:
        yield head
        yield _bare(tail)
    else:
        yield plain


# --- stop words -------------------------------------------------------------------------------------------------


#: The documented stop words, 56 French and 70 English, and the question words of both.
FR_STOP_WORDS = frozenset(
    """
    au aux avec car ce ces cette comme comment dans de des donc dont du elle elles en est et il ils je la le les
    leur leurs mais mon ne ni notre nous on ou où par pas pour que qui sa se ses si son sont sur ton tu un une votre
    vous y
    """.split()
)
EN_STOP_WORDS = frozenset(
    """
    a about after an and are at be been before being but by can could did do does for from had has have he her him
    his i if in into is it its may me might my no nor not of on or our out over shall she should so that the their
    them then these they this those to up was we were will with would you your
    """.split()
)
QUESTION_WORDS = frozenset(
    "comment how pourquoi quel quelle quelles quels quoi what when where which who whom why".split()
)

# Words that carry nothing in a question but are missing from the documented lists.
_FR_MORE = frozenset(
    """
    a à ai ont été être avoir avait était étaient fut l d qu c j n s m t cet lui leur me te ma ta tes mes nos vos
    eux sous lors puis quand combien entre vers chez sans selon ainsi aussi alors avons avez avaient aura auront
    aurait auraient ayant eu eut eurent sera seront serait seraient soit soient furent étant suis sommes êtes
    """.split()
)
_EN_MORE = frozenset(
    """
    as am any there here than too very just some such only own same s t d ll m re ve don doesn didn isn aren wasn
    weren hasn haven hadn won wouldn couldn shouldn whose us also
    """.split()
)

_FR_QUESTIONS = frozenset("comment pourquoi quel quelle quelles quels quoi".split())

# Stop words of one language that are ordinary words of the other: dropped only from a query in their own language.
_FR_DOUBTFUL = frozenset(
    """
    au aura car ce comment des dont elle en est eu il la mon ni on ou par pas pour sa se sera si son suis sur ton tu
    un y a ai d l c j n s m t te ma me mes lui entre vers puis sans alors chez eux sous vos nos
    """.split()
)
_EN_DOUBTFUL = frozenset("as but his if in me may no not nor on or our out over an a am are so up us do".split())
# Negation is content: "not null constraint", "no retry policy".
_NEGATION = frozenset(("no", "not", "nor"))
# Names that look like auxiliaries when they open a query: "May release", "Will report".
_NAMES = frozenset(("may", "will", "might"))

#: Those of other languages. Negation is not among them, and what is as often an ordinary word says little of where
#: it stands.
_MORE_STOP_WORDS = {
    "de": frozenset(
        """
        aber als am an auch auf aus bei beim bin bis da damit das dass dem den denn der des die dies diese diesem diesen
        dieser dieses du durch ein eine einem einen einer eines er es für gegen geht gibt habe haben hat hatte ich ihr
        ihre ihrem ihren ihrer im in ins ist ja kann können könnte man mein meine meinem meinen meiner mich mir mit muss
        müssen nach noch nur ob oder sein seine seinem seinen seiner sich sie sind so soll sollte über um und uns unser
        unsere unter vom von vor wann war waren warum was welche welchem welchen welcher welches wem wen wenn wer werden
        wie wieso wieviel will wir wird wo woher wohin womit wozu wurde wurden zu zum zur
        """.split()
    ),
    "es": frozenset(
        """
        a al algo alguna alguno ante antes así como cómo con cual cuál cuales cuáles cuando cuándo cuánta cuántas cuánto
        cuántos de del desde donde dónde e el ella ellas ellos en entre era eran es esa ese eso está están esta estas
        este esto estos fue fueron ha hace hacen han hasta hay he la las le les lo los me mi mis nos nuestra nuestro o
        para pero por porque puede pueden puedo que qué quién quien quiénes se sé sea ser si sobre son soy su sus
        también te tengo tiene tienen tu tus un una unas uno unos y ya yo
        """.split()
    ),
    "it": frozenset(
        """
        a ad agli ai al alla alle allo anche c che chi ci come con cosa cui da dagli dai dal dalla dalle dallo degli dei
        del dell della delle dello di dove due e ed era essere fa fra gli ha hanno ho i il in io l la le lei lo loro lui
        ma mi mia mie miei mio ne negli nei nel nella nelle nello noi o ogni per perché però più può qual quale quali
        quando quanta quante quanti quanto quei quel quella quelle quelli quello questa queste questi questo sarà se
        senza si sia sono sta stanno su sua sugli sui sul sulla sulle sullo suo suoi te ti tra tua tuo tuoi un una uno
        va vi voi è
        """.split()
    ),
    "nl": frozenset(
        """
        aan al als ben bij daar dan dat de deze die dit door een en er geen haar had hadden heb hebben hebt heeft hem
        het hij hoe hoeveel hun ik in is jaar je jij jou jouw jullie kan kon kun kunnen kunt maar mag me men met mij
        mijn moest moet moeten na naar nog nu of om omdat ons onze ook op over te tegen terwijl tot tussen u uit uw van
        vanuit voor waar waarin waarmee wanneer waren was wat we welk welke werd werden wie wij word worden wordt zal ze
        zich zij zijn zo zou zouden zullen
        """.split()
    ),
    "pt": frozenset(
        """
        a ao aos aquela aquele aquilo as até com como cuja cujo da dá das de dela dele delas deles do dos e ela elas ele
        eles em enquanto entre era essa esse esta estas estava este estes está estão eu foi foram há isso isto já lhe
        mas me meu meus minha minhas na nas nem no nos nossa nosso num numa o onde os ou para pela pelas pelo pelos por
        porque pra qual quais quando quantas quanto quantos que quem são se seja sem sendo ser seu seus sobre sua suas
        também te tem têm teu tinha tua um uma umas uns você vocês à às é
        """.split()
    ),
}
_MORE_DOUBTFUL = frozenset(
    """
    ad ai also ante antes bin can ci com come dal de dei den die do dos due e ed en era es fa fine fra
    fue ha had hat hay he her hoe hun i in is io l la lo los man mag me men met mi mia na ne no nos num o of om on op os
    over per qual sea sei ser si sia so son sta sua sui tot u un va van vi voi war was we will word y
    """.split()
)
#: Letters that say which language a word is in, of which English has none.
_LETTERS = {"es": "ñóáíú", "it": "àèìòù", "pt": "ãõçéêâáíóú"}
_NOT_FRENCH = "ñóáíúãõìò"

#: All of a language.
_FR_EVERY = FR_STOP_WORDS | _FR_MORE | _FR_QUESTIONS
_EN_EVERY = EN_STOP_WORDS | _EN_MORE | (QUESTION_WORDS - _FR_QUESTIONS)

#: Words that fit any subject: "how do I *make* an option that can be *given several* times". A store may have them as
#: rarely as the words that matter, so their rarity there does not tell what they weigh.
_LIGHT_WORDS = frozenset(
    """
    able actually add allow allows almost along already always another anything apart ask asked asks away back
    become becomes begin best better bring call called came certain come comes completely consider contain
    contains correctly currently different directly done during each early easily easy either else enough even
    ever every everything exactly example existing exists explain far few find finds following found full gave
    generally get gets getting give given gives go goes going good great happen happened happening happens hard
    help however important instead keep keeps kept kind know known large later least leave less let like likely
    little look looks lot made mainly make makes making many mean means mention mentioned might more most much
    must necessary need needed needs never next none nothing now often once one onto other others otherwise
    overall particular per please possible probably properly provide provides put quickly quite rather ready
    really recently right said say says see seem seems seen several show shows simple simply since something
    sometimes soon still sure take taken takes talk talked tell tells thing things think thought times together
    told too took toward towards try trying until upon use used useful uses using usually various very want
    wanted wants way ways went whenever whether whole within without works yes yet
    """.split()
)


def light_words(language: str) -> frozenset[str]:
    """Such words of a language."""
    if language == "en":
        return _LIGHT_WORDS
    from memctl.text.languages import LIGHT_WORDS

    return LIGHT_WORDS[language]


def _without_stop_words(words: list[str], language: str) -> tuple[list[str], list[str]]:
    """The words that count, and the stop words; capitals may say that a word is a name: IT security, report of May."""
    # Those of the query's language, and those of another that can be no ordinary word of this one.
    if language == "en":
        stops = (_EN_EVERY | (_FR_EVERY - _FR_DOUBTFUL)) - _NEGATION
    elif language == "ru":
        from memctl.text import languages

        stops = languages.RU_STOP_WORDS
    else:
        stops = _MORE_STOP_WORDS.get(language, _FR_EVERY) | (_EN_EVERY - _EN_DOUBTFUL)
    shouted = all(word.isupper() for word in words)
    kept: list[str] = []
    dropped: list[str] = []
    for i, word in enumerate(words):
        low = word.lower()
        stop = low in stops or ("-" in low and all(piece in stops for piece in low.split("-")))
        if stop and not shouted:
            named = word[0].isupper() and low in _NAMES  # May release: a capital that begins no sentence of stop words
            inside = i > 0 or any(follower.lower() not in EN_STOP_WORDS for follower in words[1:2])
            stop = not (is_identifier(word) or (len(word) > 1 and word.isupper()) or (named and inside))
        (dropped if stop else kept).append(word)
    return kept, dropped


def _language_of(words: list[str]) -> str:
    """The language that the function words (and letters) of a query say it is in; English unless they say another.

    A word that is an ordinary one in the other language says little, one that both languages use says nothing.
    """
    french = english = 0.0
    for word in words:
        low = word.lower()
        if low in _FR_EVERY and low not in _EN_EVERY:
            french += 0.35 if low in _FR_DOUBTFUL else 1
        elif low in _EN_EVERY and low not in _FR_EVERY:
            english += 0.35 if low in _EN_DOUBTFUL else 1
        elif low not in _FR_EVERY and not low.isascii():
            if any("\u0400" <= char <= "\u04ff" for char in low):
                return "ru"
            strange = any(char in _NOT_FRENCH for char in low) or any(
                low in stops for stops in _MORE_STOP_WORDS.values()
            )
            french += not strange and any(char in "éèêàçùûîôœ" for char in low)
    found, most = ("fr", french) if french >= 1 and french > english else ("en", max(english, 0.9))
    shouted = all(word.isupper() for word in words)
    asked = [word.lower() for word in words if shouted or len(word) == 1 or not word.isupper()]  # MIT is a name
    foreign = [low for low in {*asked} if not low.isascii()]
    for language, stops in _MORE_STOP_WORDS.items():
        held = [low for low in asked if low in stops]
        clear = sum(low not in _MORE_DOUBTFUL and low not in _EN_EVERY and low not in _FR_EVERY for low in held)
        said = clear + 0.35 * (len(held) - clear)
        letters = _LETTERS.get(language, "")
        own = sum(any(char in letters for char in low) for low in foreign if low not in stops)
        clear, said = clear + own, said + own
        if clear and said > most:  # words that are ordinary ones elsewhere decide nothing alone
            found, most = language, said
    return found


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
    ".info", ".xhtml", ".mdx", ".qmd", ".rmd", ".mkd", ".mdown", ".text", ".latex", ".man", ".mdoc", ".diff", ".patch",
)  # fmt: skip
#: Words of a question for which they are the answer.
_NEWS_WORDS = frozenset((
    "added", "change", "changed", "changelog", "changes", "deprecated", "dropped", "introduced", "new", "news",
    "release", "released", "releases", "removed", "renamed", "since", "upgrade", "upgrading", "version", "versions",
    "when", "depuis", "nouveau", "nouveaut\u00e9s", "quand", "wann", "seit",
))  # fmt: skip


def document_kind(source: str, title: str) -> str:
    """What sort of document stands at a path, under a title: "program" (code or data), "news", or "" for neither.

    News tell what changed from version to version.
    """
    low = source.lower()
    name = low.rpartition("/")[2]
    if not low.endswith(_PROSE):
        if "." not in name:
            return "news" if name in _NEWS_NAMES else ""
        suffix = name.rpartition(".")[2] if "." in name[1:] else ""
        return "program" if suffix and not suffix.isdecimal() and not name.endswith(_OTHER) else ""
    parts = low.replace("_", "/").replace("-", "/").replace(".", "/").split("/")
    whole = title.partition(" > ")[0].lower()
    told = not _NEWS_NAMES.isdisjoint(parts[-_NAMING_WORDS:]) or any(words in whole for words in _NEWS_TITLES)
    return "news" if told else ""


def asks_for_news(question: str) -> bool:
    """Whether a question is after such things: what is new, when something came, what some version has."""
    words = question.lower().replace("?", " ").replace(",", " ").split()
    return any(word in _NEWS_WORDS or ("." in word[1:-1] and word[0].isdecimal()) for word in words)


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


def other_forms(word: str, language: str = "en") -> list[str]:
    """Forms of a word that a stemmer does not find; mostly none.

    Of an English word the irregular ones; of an Arabic or Hebrew one itself without vowel points, without a prefix,
    and with others.
    """
    if word.isascii():
        low = word.lower()
        for before, after in (("|", " "), (" ", " "), (" ", "|")) if low.isalpha() and language == "en" else ():
            at = _IRREGULAR.find(before + low + after)
            if at >= 0:
                group = _IRREGULAR[_IRREGULAR.rfind("|", 0, at + 1) + 1 : _IRREGULAR.find("|", at + 1)]
                return [form for form in group.split() if form != low]
        return []
    if not any("\u0590" <= char <= "\u06ff" for char in word):
        return []
    plain = "".join([char for char in word if not _is_in(POINTS, char)])
    prefixes = _HEBREW if any("\u05d0" <= char <= "\u05ea" for char in plain) else _ARABIC
    bare = next((plain[len(p) :] for p in prefixes if plain.startswith(p) and len(plain) - len(p) >= _REST), plain)
    forms = union([plain, bare], [prefix + each for each in union([plain, bare]) for prefix in prefixes])
    return [form for form in forms if form and form != word]
