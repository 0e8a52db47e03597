"""Forms of words: the irregular ones of English, the common beginning of French ones, slips."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.retrieve.fts_terms import edit_distance
from memctl.text.query import analyse, other_forms, stem


@pytest.mark.parametrize(
    ("word", "others"),
    [
        ("went", ["go", "goes", "gone"]),
        ("Go", ["goes", "went", "gone"]),
        ("children", ["child"]),
        ("indices", ["index"]),
        ("worst", ["bad", "worse"]),
        ("deploy", []),
        ("|", []),
        ("go goes", []),
        ("été", []),
    ],
)
def test_irregular_forms(word: str, others: list[str]) -> None:
    assert other_forms(word) == others


@pytest.mark.parametrize("forms", ["inspira inspirer inspirait inspirent", "entraîner entraînements entraînait"])
def test_french_forms_share_a_beginning(forms: str) -> None:
    assert len({stem(word, "fr") for word in forms.split()}) == 1


@pytest.mark.parametrize(
    ("forms", "language"),
    [
        ("Pakete Paketen Pakets Paket", "de"), ("Verschlüsselung Verschlüsselungen", "de"),
        ("instalar instalado instaladas instalando", "es"), ("actualización actualizaciones", "es"),
    ],
)  # fmt: skip
def test_german_and_spanish_forms_share_a_beginning(forms: str, language: str) -> None:
    assert len({stem(word, language) for word in forms.split()}) == 1


@given(word=st.text(), language=st.sampled_from(["fr", "de", "es", "it", "nl", "pt"]))
def test_any_text_has_a_beginning(word: str, language: str) -> None:
    assert other_forms(word) == [form for form in other_forms(word) if form != word]
    assert len(stem(word, language)) >= min(5, len(word.lower()))


@pytest.mark.parametrize(
    ("text", "language", "terms"),
    [
        ("où est le fichier", "fr", ["fichier"]),
        ("where is the file", "en", ["file"]),
        ("", "en", []),
        ("Wie kann ich den Server neu starten?", "de", ["Server", "neu", "starten"]),
        ("Was ist nicht erlaubt?", "de", ["nicht", "erlaubt"]),
        ("¿Cómo cambio la contraseña si la olvidé?", "es", ["cambio", "contraseña", "olvidé"]),
        ("¿Dónde está el registro de errores?", "es", ["registro", "errores"]),
        ("Come si rinnova la licenza dell'ufficio?", "it", ["rinnova", "licenza", "ufficio"]),
        ("perché la stampante non è più accesa", "it", ["stampante", "non", "accesa"]),
        ("Hoe vaak worden de sleutels vervangen?", "nl", ["vaak", "sleutels", "vervangen"]),
        ("in welke map staan mijn foto's", "nl", ["map", "staan", "foto"]),
        ("Onde ficam as cópias de segurança do servidor?", "pt", ["ficam", "cópias", "segurança", "servidor"]),
        ("como faço uma cópia", "pt", ["faço", "cópia"]),
        ("Как часто меняются ключи для подписи?", "ru", ["часто", "меняются", "ключи", "подписи"]),
        ("где лежат журналы сервера", "ru", ["лежат", "журналы", "сервера"]),
        # Function words of one language are ordinary words of another.
        ("come over per van", "en", ["come", "per", "van"]),
        ("data do dos com port", "en", ["data", "dos", "com", "port"]),
        ("die hard man", "en", ["die", "hard", "man"]),
        ("war in Europe", "en", ["war", "Europe"]),
        ("the son of the sea", "en", ["son", "sea"]),
        ("MIT license header", "en", ["MIT", "license", "header"]),
        ("DER certificates", "en", ["DER", "certificates"]),
        ("Son man, die war so es", "en", ["Son", "man", "die", "war", "es"]),
        # A question in two languages loses the stop words of both.
        ("Wie kann ich the cache leeren?", "de", ["cache", "leeren"]),
        ("¿Cómo configuro the cache en Django?", "es", ["configuro", "cache", "Django"]),
        ("le mot de passe est changé", "fr", ["mot", "passe", "changé"]),
    ],
)
def test_the_language_of_a_query_says_which_words_count(text: str, language: str, terms: list[str]) -> None:
    query = analyse(text)
    assert (query.language, list(query.terms)) == (language, terms)


@pytest.mark.parametrize(
    ("a", "b", "apart"),
    [("token", "token", 0), ("tokne", "token", 1), ("nourir", "nourrir", 1), ("deplyo", "deploy", 1), ("abc", "xyz", 3),
     ("", "ab", 2), ("rotaet", "rotate", 1), ("authentcaton", "authentication", 2)],
)  # fmt: skip
def test_distance_counts_slips(a: str, b: str, apart: int) -> None:
    assert edit_distance(a, b, 5) == edit_distance(b, a, 5) == apart
    assert edit_distance(a, b, 2) == min(apart, 3)


@given(a=st.text("abc", max_size=8), b=st.text("abc", max_size=8), most=st.integers(0, 3))
def test_distance_is_symmetric_and_bounded(a: str, b: str, most: int) -> None:
    apart = edit_distance(a, b, most)
    assert apart == edit_distance(b, a, most) <= most + 1
    assert (apart == 0) == (a == b)
