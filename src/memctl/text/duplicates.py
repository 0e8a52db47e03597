"""Statements that say the same in nearly the same words: which they are among many, at a cost that grows as they do.

Two statements say the same if they differ only in case, punctuation, words that say nothing (`FILLERS`), the place of
one phrase, and slips of the pen in plain words. A number, a version, a name, a weekday, a negation, any other word, or
a question instead of a statement is a difference: wrong merges lose something, missed ones do not.

Candidates share a key: their words in order of the alphabet, each spelt like the most frequent word that it may be a
slip of. The exact check (`says_the_same`) then reads both texts word by word.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

from memctl.annotations import NamedTuple


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


#: Words that may be missing in one of two statements.
FILLERS = _set(
    "a actually also an basically currently essentially generally indeed just kindly literally obviously ok okay "
    "please really simply so that the very"
)
#: The same of several words; they are looked for at the beginning of a sentence and at its end.
_PHRASES = frozenset(
    tuple(phrase.split())
    for phrase in (
        "again", "as a reminder", "as far as i know", "as i said", "as mentioned", "as you know", "btw", "by the way",
        "for the record", "for your information", "fyi", "heads up", "i believe", "i think", "in fact",
        "it is worth noting", "it should be noted", "just a reminder", "just so you know", "keep in mind",
        "needless to say", "note", "of course", "please note", "please remember", "quick note", "quick reminder",
        "remember", "reminder", "to be clear", "to recap", "we should note", "worth noting",
    )
)  # fmt: skip
_SIZES = tuple(range(max(map(len, _PHRASES)), 0, -1))

#: Words that are values: another one of them is another statement, and a slip in one is only one if it is no word.
_UNITS = _set("hour minute second day month week year hours minutes seconds days months weeks years")
VALUES = _UNITS | _set(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million "
    "billion half first second third fourth fifth sixth seventh eighth ninth tenth once twice thrice single "
    "double triple monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays "
    "fridays saturdays sundays january february march april may june july august september october november "
    "december hourly daily weekly monthly yearly nightly no not never none nor neither nothing nobody nowhere "
    "cannot without except unless only hardly rarely seldom dont doesnt didnt isnt arent wasnt werent wont "
    "wouldnt shouldnt couldnt cant mustnt havent hasnt neednt all any every each some most many few more less "
    "least before after above below over under until since always sometimes often usually maybe perhaps probably "
    "must should could would might shall will ne pas jamais aucun sans nicht nie kein keine keinen ohne nunca sin "
    "non mai senza"
)
_DENIALS = _set(
    "no not never none nor neither nothing nobody nowhere cannot without except unless only hardly rarely dont "
    "doesnt didnt isnt arent wasnt werent wont wouldnt shouldnt couldnt cant mustnt"
)
#: Words that one letter tells apart: where both are, neither is a slip of the other.
_CONFUSABLE = _set(
    "form from trial trail quiet quite angel angle casual causal unite untie diary dairy daily sacred scared "
    "brain brian martial marital upload unload insert invert inset white write while month mouth price prize "
    "prime phase phrase state slate stage store stone score story server sever serve serves severs expand expend "
    "extend extent intent major mayor minor miner green greed green timer times tiger count court phone prone "
    "crash clash cache catch patch batch match watch latch hatch reload relead reset preset input inputs public "
    "publish weekly weakly staging stating staring north south start stare stark smart chart chat shared shard "
    "share spare spark model modal mode single signal desert dessert principal principle personal personnel "
    "stationary stationery complement compliment discreet discrete message massage manger manager mange manage "
    "plan plane plain plant planet sheet sheep shell shelf shard board broad bread break brake trace track trade "
    "train trait truck trunk block black clock click clerk client cloud close clone chose choose loose lose house "
    "hours route router rooter root alpha alpine beta delta theta primary privacy private prevent present percent "
    "parent patent patient quota quote allow allot alloy alley alter after active native natives motive notice "
    "novice device devise advice advise revise revive receive relieve deceive detect defect deject reject eject "
    "inject object subject project protect product read ready reads real reals light right night might fight "
    "sight tight eight height weight weigh freight limit limited linked lined"
)

#: Words with which a phrase begins that may stand before or behind what it is about.
_LEADING = _set(
    "at before by during every for from if in into on onto per to via when while with without after since until "
    "because today tomorrow now then"
)  # fmt: skip
#: A sentence ends behind one of these, and at the end of a line.
_ENDS = ".!?;"
_CURLY = "\u2018\u2019\u201c\u201d\u00b4"  # quotation marks
_EDGE = f"\"'{_CURLY}\u00ab\u00bb()[]{{}}*_`,;:?\u2026"
_QUOTES = str.maketrans("", "", f"'`{_CURLY}")
#: Statements longer than this, in characters, are compared as they are, without a look at what differs.
MOST_CHARS = 20_000
#: Letters of a word in which one slip is looked for, and of one in which it is believed without further evidence.
_SLIP_LETTERS, _SURE_LETTERS = 5, 8
#: How many times as often as a slip, which is found more than once, the word itself is found at least.
_OFTEN = 20
#: Words that a sentence must have for a phrase of it to have moved, and for two words to have changed places.
_PHRASE_WORDS, _SWAP_WORDS = 4, 6
#: Statements of one key with which another is compared at most; there are more only where values alone differ.
_COMPARED = 24
#: Members of a group with which a statement is compared.
_FIRST = 3

#: How often a word is found in how many statements.
Counts = Counter[str]


class Word(NamedTuple):
    """A word as it is compared.

    text   without case, quotes and the punctuation around it
    plain  whether a slip of the pen may be looked for in it: it is of letters alone
    name   whether it is written like a name: with a capital, and not at the beginning of a sentence
    stop   the sign behind it: the end of a sentence (`.`), a comma, or nothing
    leads  whether a phrase begins with it that may stand before or behind what it is about
    """

    text: str
    plain: bool
    name: bool
    stop: str
    leads: bool = False


class Statement(NamedTuple):
    """What is compared: `kind` is what two statements must share to be compared at all."""

    id: str
    kind: tuple[object, ...]
    title: str
    content: str


# --- words -----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=512)
def words_of(text: str) -> tuple[Word, ...]:
    """The words of a text without fillers, in order."""
    found: list[Word] = []
    for line in text.splitlines():
        sentence: list[Word] = []
        for piece in line.split():
            word = _word(piece, first=not sentence)
            if word is None:
                continue
            sentence.append(word)
            if word.stop == ".":
                found += _without_fillers(sentence)
                sentence = []
        if sentence:
            sentence[-1] = sentence[-1]._replace(stop=".")
        found += _without_fillers(sentence)
    return tuple(found)


@lru_cache(maxsize=1 << 16)
def _word(piece: str, *, first: bool) -> Word | None:
    """The word of a piece between blanks; None for punctuation alone."""
    bare = piece.strip(_EDGE)
    end = piece[len(piece.rstrip(_EDGE + ".!")) :]
    bare = bare.rstrip(_EDGE + ".!") or bare
    if not any(char.isalnum() for char in bare):
        if not bare.strip("-\u2013\u2014_.!*\u2026"):  # a dash between words, dots
            return None
        return Word(bare, plain=False, name=False, stop="")
    stop = "." if any(sign in end for sign in _ENDS) else "," if "," in end or ":" in end else ""
    is_hyphenated = "-" in bare and all(part.isalpha() for part in bare.split("-"))
    text = bare.translate(_QUOTES).replace("-", "") if is_hyphenated else bare.translate(_QUOTES)
    folded = text.casefold()
    if folded == "no" and stop == ",":  # `no, deploy` is not `no deploy`
        folded = "no,"
    return Word(folded, folded.isalpha(), name=not first and text[0].isupper(), stop=stop)


def _without_fillers(sentence: list[Word]) -> list[Word]:
    """The words of a sentence that say something; all of them when none does."""
    texts, begin, end = [word.text for word in sentence], 0, len(sentence)
    for size in _SIZES * 2:  # one phrase may stand before another one
        if tuple(texts[begin : begin + size]) in _PHRASES:
            begin += size
        if tuple(texts[end - size : end]) in _PHRASES:
            end -= size
    kept: list[Word] = []
    dropped: list[str] = []
    for word in sentence[begin:end]:
        if word.text in FILLERS:
            dropped.append(word.text)
            continue
        leads = word.text in _LEADING or dropped[:2] == ["so", "that"]  # both say nothing, but where a phrase begins
        kept.append(word._replace(leads=leads))
        dropped = []
    if not kept:
        return sentence
    kept[-1] = kept[-1]._replace(stop=".")
    return kept


# --- slips of the pen ------------------------------------------------------------------------------------------------


def is_slip(a: str, b: str) -> bool:
    """Whether one letter makes the difference between two words: missing, another one, or changed places."""
    if len(a) > len(b):
        a, b = b, a
    if len(b) - len(a) > 1 or a == b:
        return False
    at = next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), len(a))
    if len(a) < len(b):
        return a[at:] == b[at + 1 :]
    return a[at + 1 :] == b[at + 1 :] or (a[at : at + 2] == b[at : at + 2][::-1] and a[at + 2 :] == b[at + 2 :])


def may_be_slip(a: Word, b: Word, counts: Counts) -> bool:
    """Whether two different words are one word and a slip of the pen in it.

    counts  in how many statements a word is; a slip is rarer than the word
    """
    x, y = sorted((a.text, b.text), key=lambda text: (text in VALUES, counts[text], text))  # x is the slip, if one is
    if not (a.plain and b.plain) or x[0] != y[0] or len(y) < _SLIP_LETTERS - 1 or not is_slip(x, y):
        return False
    if {x, y} <= VALUES or {x, y} <= _CONFUSABLE or x in VALUES:
        return False
    is_rare = counts[y] >= 3 and (counts[x] <= 1 or _OFTEN * counts[x] <= counts[y])
    # Letters that changed places, or one that is doubled, make no other word; a missing or another letter may.
    if sorted(x) == sorted(y) or (len(x) != len(y) and set(x) == set(y) and x[-1] == y[-1]):
        return len(x) >= _SLIP_LETTERS or is_rare
    if ((a.name or b.name) and y not in VALUES) or len(y) < _SLIP_LETTERS:
        return is_rare and len(x) != len(y) and x[-1] == y[-1] and len(y) > _SLIP_LETTERS
    return is_rare or (len(x) != len(y) and min(len(x), len(y)) >= _SURE_LETTERS)


class Spelling:
    """How words are spelt for the key: a word that may be a slip like the most frequent word that it may be one of."""

    def __init__(self, counts: Counts) -> None:
        self._stem: dict[str, str] = {}
        long = [word for word in counts if len(word) >= _SLIP_LETTERS - 1 and word.isalpha()]
        # Words that one letter tells apart have a part in common: the word itself, or the word without one letter.
        parts: list[int] = []
        for number, word in enumerate(long):
            shared = {word, *(word[:at] + word[at + 1 :] for at in range(1, len(word)))}
            parts += [(hash(part) & 0xFFFFFFFFFF) << 24 | number for part in shared]
        parts.sort()
        begin = 0
        for at in range(1, len(parts) + 1):
            if at == len(parts) or parts[at] >> 24 != parts[begin] >> 24:
                if at - begin > 1:
                    self._join([long[part & 0xFFFFFF] for part in parts[begin:at]], counts)
                begin = at

    def _join(self, words: list[str], counts: Counts) -> None:
        """Spell each of these words like the most frequent one of them, unless it is spelt like a better one."""
        best = min(words, key=lambda word: (-counts[word], word))
        for word in words:
            known = self._stem.get(word, word)
            if word != best and (-counts[best], best) < (-counts[known], known) and is_slip(word, best):
                self._stem[word] = best

    def of(self, word: str) -> str:
        """The spelling of a word."""
        while word in self._stem:  # each is spelt like a more frequent one: it ends
            word = self._stem[word]
        return word


# --- the exact check -------------------------------------------------------------------------------------------------


def says_the_same(a: Statement, b: Statement, counts: Counts) -> bool:
    """Whether two statements say the same in nearly the same words.

    counts  in how many statements each word is, which tells a slip of the pen from another word
    """
    if a.content != b.content:
        if max(len(a.content), len(b.content)) > MOST_CHARS or _asks(a.content) != _asks(b.content):
            return False
        here, there = words_of(a.content), words_of(b.content)
        if "```" in a.content or "```" in b.content:  # of code, no word is a slip
            if [word.text for word in here] != [word.text for word in there]:
                return False
        elif not _same_words(here, there, counts):
            return False
    return _titles_agree(a, b, counts)


def _without(words: Sequence[Word], others: Sequence[Word]) -> list[Word]:
    """The words that the others lack, each as often as they lack it."""
    left = Counter(word.text for word in others)
    out = []
    for word in words:
        if left[word.text]:
            left[word.text] -= 1
        else:
            out.append(word)
    return out


def _asks(text: str) -> bool:
    return text.rstrip(f" \t\n\"'{_CURLY}*_)").endswith("?")


def _same_words(here: Sequence[Word], there: Sequence[Word], counts: Counts) -> bool:
    """Whether the words are the same but for a few slips, in the same order but for one phrase of a sentence."""
    if len(here) != len(there):
        return False
    # Each word of the one text stands for a word of the other one: the same, else one that it may be a slip of.
    odd, spare = _without(here, there), _without(there, here)
    meant: dict[str, str] = {}
    if len(odd) > 1 + len(here) // 8:
        return False
    for word in odd:
        other = next((one for one in spare if may_be_slip(word, one, counts)), None)
        if other is None:
            return False
        spare.remove(other)
        meant[other.text] = word.text
    first, second = [word.text for word in here], [meant.get(word.text, word.text) for word in there]
    return first == second or _is_moved(_sentences(here, first), _sentences(there, second))


class _SentenceWords(NamedTuple):
    """The words of a sentence, the weight of each, whether a comma follows it, and whether it leads a phrase."""

    words: list[str]
    weights: list[int]
    commas: list[bool]
    leads: list[bool]


def _weight(word: Word) -> int:
    """How much depends on the place of a word: 0 of a plain one, 1 of a value or a name, 2 of a denial."""
    return 2 if word.text in _DENIALS else 1 if not word.plain or word.name or word.text in VALUES - _UNITS else 0


def _sentences(words: Sequence[Word], texts: Sequence[str]) -> list[_SentenceWords]:
    out, begin = [], 0
    for at, word in enumerate(words, 1):
        if word.stop == "." or at == len(words):
            part = words[begin:at]
            out.append(
                _SentenceWords(
                    list(texts[begin:at]),
                    list(map(_weight, part)),
                    [one.stop == "," for one in part],
                    [one.leads for one in part],
                )
            )
            begin = at
    return out


def _is_moved(here: list[_SentenceWords], there: list[_SentenceWords]) -> bool:
    """Whether the sentences are the same in another order, or one phrase stands elsewhere in one of them."""
    if len(here) != len(there):
        return False
    left = list(there)
    changed = []
    for one in here:
        same = next((other for other in left if other.words == one.words), None)
        if same is None:
            changed.append(one)
        else:
            left.remove(same)
    return len(changed) <= 1 and all(_has_moved(one, other) for one, other in zip(changed, left, strict=True))


def _has_moved(here: _SentenceWords, there: _SentenceWords) -> bool:
    """Whether one sentence is the other with one phrase, or one plain word, in another place."""
    a, b = here.words, there.words
    if len(a) < _PHRASE_WORDS or sorted(a) != sorted(b) or "respectively" in a:
        return False
    begin = next(n for n, (x, y) in enumerate(zip(a, b, strict=True)) if x != y)
    end = len(a) - next(n for n, (x, y) in enumerate(zip(reversed(a), reversed(b), strict=True)) if x != y)
    for cut in range(begin + 1, end):
        if a[cut:end] + a[begin:cut] != b[begin:end]:
            continue
        back = begin + end - cut  # where the second phrase of `here` ends in `there`
        if end - begin == 2:
            is_light = sum(here.weights[begin:end]) < 2 and len(a) >= _SWAP_WORDS
            return is_light and not (here.commas[begin] or there.commas[begin])
        # What stands in front in one of the two is the phrase that moved; a comma may follow it there.
        return (here.leads[begin] and _is_free(here, there, begin, cut, end)) or (
            here.leads[cut] and _is_free(there, here, begin, back, end)
        )
    return False


def _is_free(front: _SentenceWords, behind: _SentenceWords, begin: int, cut: int, end: int) -> bool:
    """Whether the phrase from `begin` to `cut` may stand behind the words up to `end`, too: no comma parts them but one
    behind a phrase that begins the sentence.
    """
    parting = [at for at in range(begin, end - 1) if front.commas[at] and not (begin == 0 and at == cut - 1)]
    return not parting and not any(behind.commas[begin : end - 1])


# --- titles ----------------------------------------------------------------------------------------------------------

#: Titles of these words and numbers say nothing.
_COUNTED = _set("copy doc duplicate entry fact item memory note original statement test untitled variant")


def _titles_agree(a: Statement, b: Statement, counts: Counts) -> bool:
    """Whether no title says something that tells the two apart: what only repeats the content does not."""
    if a.title == b.title:
        return True
    here, there = words_of(a.title), words_of(b.title)
    return (_says_nothing(here, a) and _says_nothing(there, b)) or _same_words(here, there, counts)


def _says_nothing(title: Sequence[Word], of: Statement) -> bool:
    """Whether a title has no word that the content has not; its last one may be cut off."""
    if all(word.text in _COUNTED or not re.sub(r"[\W\d_]", "", word.text) or len(word.text) == 1 for word in title):
        return True
    words = {word.text for word in words_of(of.content)}
    if not of.title.endswith("…"):
        return all(word.text in words for word in title)
    *whole, last = (word.text for word in title)
    return all(word in words for word in whole) and any(word.startswith(last) for word in words)


# --- among many ------------------------------------------------------------------------------------------------------


def find_groups(
    read: Callable[[], Iterable[Statement]], fetch: Callable[[list[str]], Sequence[Statement]]
) -> list[list[str]]:
    """Groups of statements that say the same, by id: each of two or more, the best spelt and longest first.

    read   gives all statements, the same ones each time: they are read twice, and not kept
    fetch  gives those of these ids
    """
    counts: Counts = Counter()
    for one in read():
        counts.update({word.text for word in words_of(one.content[:MOST_CHARS])})
    spelling = Spelling(counts)
    keyed: dict[int, str | list[str]] = {}
    for one in read():
        key = hash((one.kind, *sorted(spelling.of(word.text) for word in words_of(one.content[:MOST_CHARS]))))
        there = keyed.setdefault(key, one.id)
        if there != one.id:
            if isinstance(there, list):
                there.append(one.id)
            else:
                keyed[key] = [there, one.id]
    groups: list[list[str]] = []
    for same in [ids for ids in keyed.values() if isinstance(ids, list)]:
        groups += _divide(fetch(same), counts)
    return groups


def _divide(alike: Sequence[Statement], counts: Counts) -> Iterator[list[str]]:
    """The groups among statements that have one key; each is compared with the first ones of each group."""
    rare = {one.id: sum(counts[word.text] < 2 for word in words_of(one.content)) for one in alike}
    groups: list[list[Statement]] = []
    # Those without rare words first: what differs from them by slips may differ by twice as many from another.
    for one in sorted(alike, key=lambda one: rare[one.id]):
        for group in groups[-_COMPARED:]:
            if any(other.kind == one.kind and says_the_same(other, one, counts) for other in group[:_FIRST]):
                group.append(one)
                break
        else:
            groups.append([one])
    for group in groups:
        if len(group) > 1:
            yield [one.id for one in sorted(group, key=lambda one: (rare[one.id], -len(one.content)))]
