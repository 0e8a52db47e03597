"""What statements cite: any text is read to its end, and a place is known again by its text and by nothing else."""

from hypothesis import given
from hypothesis import strategies as st

from memctl.text.references import (
    CITED,
    CITED_CHARS,
    MOST,
    CitedDocument,
    CitedPlace,
    find_named,
    find_references,
    parse_place,
)
from support import examples

PIECES = (
    "src/a.py:3-9",
    "`Store.open()`",
    "https://x.y/(a)",
    "v1.2.3",
    "commit 1f0c9a3d",
    "a.py#L3",
    "run()",
    "see Makefile",
    "a1.2",
    "Django 4.2",
    "2026-01-02.3.4",
    "CVE-2024-12345.6.7",
    "Dockerfile",
    "1.2.3rc1",
    "1f0c9a3d" * 5,
    "revision 1f0c9a3d",
    "::",
    "`",
)
TEXT = st.lists(st.text(max_size=20) | st.sampled_from(PIECES), max_size=12).map(" ".join)
LINES = st.lists(st.text("ab {}():", max_size=8).filter(str.strip), min_size=1, max_size=12)


@given(TEXT)
@examples(200)
def test_any_text_has_references_in_its_own_words(text: str) -> None:
    found = find_references(text)
    assert found == find_references(text) and len(found) <= MOST
    named = {(one.kind, one.target, one.lines): one for one in [*find_named(text)][::-1] if one.kind in CITED}
    assert set(found) == {*named.values()}  # none is passed over because a text shows no sign of any
    for one in found:
        assert one.kind in CITED and one.cited and one.target and len(one.target) <= CITED_CHARS
        assert one.kind == "symbol" or one.cited in text
        assert one.lines is None or 0 < one.lines[0] <= one.lines[1]
    assert len(set(found)) == len(found)


@given(st.text(min_size=1, max_size=40), st.integers(1, 10**6), st.integers(0, 9))
@examples(100)
def test_a_place_that_somebody_names_is_read_as_it_is_written(path: str, first: int, more: int) -> None:
    assert parse_place(f"{path}:{first}-{first + more}")[2:] == (path, (first, first + more))
    assert parse_place(f"{path}:{first}")[2:] == (path, (first, first))


@given(LINES, LINES, LINES, st.data())
@examples(200)
def test_a_text_is_found_where_it_moved_and_not_once_it_changed(
    before: list[str], cited: list[str], after: list[str], data: st.DataObject
) -> None:
    old = CitedDocument("a.txt", [(1, "\n".join([*before, *cited, *after]))])
    place = CitedPlace(len(before) + 1, len(before) + len(cited))
    known = old.fingerprint(place)
    moved = CitedDocument("a.txt", [(1, "\n".join([*after, *before, *cited]))])
    found = moved.find_text(known, len(cited), place.start)
    assert found is not None and moved.text(found) == old.text(place)
    at = data.draw(st.integers(0, len(cited) - 1))
    changed = [line + "Z" * (number == at) for number, line in enumerate(cited)]
    gone = CitedDocument("a.txt", [(1, "\n".join(changed))])
    assert gone.find_text(known, len(cited), 1) is None


@given(st.text(max_size=300), st.sampled_from(["", "python", "javascript", "go", "rust", "c"]))
@examples(100)
def test_definitions_stand_within_their_document(text: str, language: str) -> None:
    doc = CitedDocument("a", [(1, text + "\ndef f(x):\n    return x\n")], language)
    for many in doc.definitions.values():
        for place in many:
            assert 1 <= place.start <= place.end <= len(doc.lines) and place.symbol
            doc.fingerprint(place)
