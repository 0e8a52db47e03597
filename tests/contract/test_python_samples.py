"""Samples of the documented Python names, by value: what programs written for memctl 0.12-0.23 rely on."""

from importlib import import_module
from typing import Any

import pytest

from memctl import ask, extract, ingest, inspect, loop, proposer, query, similarity, store, types
from memctl.config import InspectConfig, MemoryConfig
from memctl.mcp import audit, formatting, session

FRENCH = (
    "au aux avec car ce ces cette comme comment dans de des donc dont du elle elles en est et il ils je la le les "
    "leur leurs mais mon ne ni notre nous on ou où par pas pour que qui sa se ses si son sont sur ton tu un une "
    "votre vous y"
)
ENGLISH = (
    "a about after an and are at be been before being but by can could did do does for from had has have he her him "
    "his i if in into is it its may me might my no nor not of on or our out over shall she should so that the their "
    "them then these they this those to up was we were will with would you your"
)
QUESTION = "comment how pourquoi quel quelle quelles quels quoi what when where which who whom why"
VERBS = (
    "add replace refactor fix create delete update modify remove rename implement migrate upgrade configure install "
    "uninstall change move copy write rewrite patch merge split convert enable disable set reset ajouter remplacer "
    "corriger créer supprimer modifier renommer implémenter migrer configurer installer changer déplacer copier "
    "écrire réécrire activer désactiver"
)
EXTENSIONS = (
    ".md .txt .rst .csv .tsv .html .htm .xml .json .yaml .yml .toml .py .js .ts .jsx .tsx .java .go .rs .c .h .cpp "
    ".hpp .css .scss .less .sh .bash .zsh .sql .r .jl .lua .rb .php .swift .kt .dockerfile .docx .odt .pptx .odp "
    ".xlsx .ods .pdf"
)
chat: Any = import_module("memctl.chat")
UNSURE = (
    "insufficient", "cannot find", "not enough context", "no information", "unclear", "unable to determine",
    "no relevant", "not available",
)  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "kept"),
    [
        ("comment créer un incident dans le système", "créer incident système"),
        ("how does SomeServiceImpl work", "SomeServiceImpl work"),
        ("where is MAX_RETRIES in config.py", "MAX_RETRIES config.py"),
        ("the", "the"),
    ],
)
def test_the_words_of_a_question(asked: str, kept: str) -> None:
    assert query.normalize_query(asked) == kept


def test_stop_words_identifiers_and_verbs() -> None:
    assert set(FRENCH.split()) == query.FR_STOP_WORDS
    assert set(ENGLISH.split()) == query.EN_STOP_WORDS
    assert set(QUESTION.split()) == query.QUESTION_WORDS
    words = ("SomeService", "a_b", "MAX", "AB", "x.py", "end.", "word")
    assert [bool(query._is_identifier(word)) for word in words] == [True, True, True, False, True, False, False]
    assert {query.classify_mode(f"Please, {verb.upper()}! it") for verb in VERBS.split()} == {"modification"}
    assert {query.classify_mode(text) for text in ("", "how does it work")} == {"exploration"}
    lengths = {0: 600, 79: 600, 80: 800, 199: 800, 200: 1200, 399: 1200, 400: 1500}
    assert {length: query.suggest_budget(length) for length in lengths} == lengths


@pytest.mark.parametrize(
    ("hit", "found"),
    [
        (["to", "be", "gateway"], ("AND", ["to", "be", "gateway"], [])),
        (["to", "gateway"], ("REDUCED_AND", ["to", "gateway"], ["be"])),
        (["gateway"], ("REDUCED_AND", ["gateway"], ["be", "to"])),
        ([], ("OR_FALLBACK", ["to", "be", "gateway"], [])),
    ],
)
def test_a_cascade_gives_up_the_shortest_term_first_of_equals_the_later_one(hit: list[str], found: Any) -> None:
    results, *rest = query.cascade_query(["to", "be", "gateway"], lambda terms: ["all"] * (terms == hit), lambda _: [1])
    assert tuple(rest) == found
    assert results == (["all"] if hit else [1])


def test_similarity() -> None:
    twice, thrice = "The gateway retries twice.", "the gateway   retries three times"
    assert similarity.normalize("  It's  A\tTest. ") == "its a test"
    assert round(similarity.jaccard(twice, thrice), 4) == 0.5
    assert round(similarity.similarity(twice, thrice), 4) == round(0.4 * 0.5 + 0.6 * similarity.sequence_ratio(
        similarity.normalize(twice), similarity.normalize(thrice)), 4)  # fmt: skip
    assert [similarity.similarity(*pair) for pair in (("", ""), ("a", ""), ("Hello, World!", "hello world"))] == [
        1,
        0,
        1,
    ]
    for weights in ({"jaccard_weight": -1}, {"jaccard_weight": 0, "sequence_weight": 0}):
        with pytest.raises(ValueError, match="weights"):
            similarity.similarity("a", "b", **weights)
    assert [similarity.is_fixed_point(*pair) for pair in (("a b c", "a b c"), ("a", "z"))] == [True, False]
    asked = ["a  b!", "the port of the gateway"]
    cycles = {"": True, "A b": True, "The  port of the gateway?": True, "who owns the cache": False}
    assert {text: similarity.is_query_cycle(text, asked) for text in cycles} == cycles


def test_directives_of_a_loop() -> None:
    directive, answer = loop.parse_json_directive(
        '{"need_more": true, "query": "port", "rationale": "r", "stop": false}\n\nThe answer'
    )
    assert (directive.need_more, directive.query, directive.stop, answer) == (True, "port", False, "The answer")
    stopped, _ = loop.parse_json_directive('{"need_more": true, "query": " "}\n\nThe answer')
    unread, whole = loop.parse_json_directive("no directive")
    assert (stopped.stop, unread.stop, whole) == (True, True, "no directive")
    with pytest.raises(ValueError, match="need_more"):
        loop.parse_json_directive("no directive", strict=True)
    said = "need_more: which\nquery: the port\nAnswer"
    asked, kept = loop.parse_regex_directive(said)
    assert (asked.need_more, asked.query, asked.rationale, kept) == (True, "the port", "which", said)
    assert loop.parse_passive_directive("x")[0].stop
    with pytest.raises(ValueError, match="unknown protocol"):
        loop.parse_directive("x", "morse")


def test_context_that_is_merged() -> None:
    one, two = ({"id": name, "title": name.upper(), "content": f"It is {name}."} for name in "ab")
    assert loop.merge_context("Old.", [one, two], {"a"}, 1000) == ("Old.\n\n[B]\nIt is b.", [two], 1)
    assert loop.merge_context("", [one], set(), 1000)[0] == "[A]\nIt is a."
    assert len(loop.merge_context("", [one | {"content": "word " * 100}], set(), 80)[0]) <= 80
    assert [line for line in loop.build_prompt(" ", "Why?", protocol="passive").split("\n") if line] == [
        "## Question", "Why?",
    ]  # fmt: skip
    assert [line for line in loop.build_prompt("It.", "Why?", system_prompt="Be short.", protocol="passive").split("\n")
            if line] == ["Be short.", "## Context", "It.", "## Question", "Why?"]  # fmt: skip


def test_proposals_in_each_form() -> None:
    said, given = proposer.MemoryProposer(), '[{"title": "t", "content": "c"}, {"x": 1}]'
    assert said.parse("text", []) == ("text", [])
    for text in (given, f'{{"items": {given}}}'):
        assert [one.content for one in said.parse_json_stdin(text)[1]] == ["c"]
    left, found = said.parse_response_text(f"Hi <MEMORY_PROPOSALS_JSON>{given}</MEMORY_PROPOSALS_JSON> there")
    assert (left, [one.title for one in found]) == ("Hi  there", ["t"])
    assert said.parse_response_text("<MEMORY_PROPOSALS_JSON>[</MEMORY_PROPOSALS_JSON>")[1] == []
    calls: list[dict[str, Any]] = [
        {"action": "memory.propose", "items": [{"title": "t", "content": "c"}]},
        {"name": "memory_propose", "arguments": '{"items": [{"title": "t", "content": "d"}]}'},
        {"name": "memory_write", "items": [{"title": "t", "content": "e"}]},
    ]
    assert [one.content for one in said.parse_tool_calls(calls)] == ["c", "d"]


def test_what_is_read_from_files() -> None:
    assert set(EXTENSIONS.split()) <= set(extract.ALL_INGESTABLE_EXTS)
    assert set(extract.BINARY_EXTS) == {".docx", ".odp", ".ods", ".odt", ".pdf", ".pptx", ".xlsx"}
    assert set(ingest._infer_tags_from_path("/home/My Docs/API/notes.md")) == {"markdown", "my-docs", "api"}
    assert ingest.corpus_stats([]) == {"files": 0, "total_lines": 0, "total_tokens": 0, "per_file": []}
    limits = (inspect.DOMINANCE_FRAC, inspect.LOW_DENSITY_THRESHOLD, inspect.EXT_CONCENTRATION_FRAC)
    assert (*limits, inspect.SPARSE_THRESHOLD) == (0.4, 0.1, 0.75, 1)


def test_answers_that_are_unsure() -> None:
    assert set(UNSURE) <= set(chat._UNCERTAINTY_MARKERS)
    assert [bool(chat._has_uncertainty(text)) for text in ("It is NOT AVAILABLE.", "It is 80.")] == [True, False]
    assert ask.AskResult.__name__ == "AskResult"


def test_constants_and_checks() -> None:
    assert (store.SCHEMA_VERSION, sorted(store.FTS_TOKENIZER_PRESETS)) == (2, ["en", "fr", "raw"])
    assert (formatting.FORMAT_VERSION, audit.AUDIT_SCHEMA_VERSION, audit.PREVIEW_MAX_CHARS) == (1, 1, 120)
    assert session.SessionTracker().resolve_session_id(None) == session.DEFAULT_SESSION_ID == "default"
    assert types._generate_id().startswith("MEM-")
    assert types.content_hash("x") == "sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
    assert {*types.VALID_TIERS} == {"stm", "mtm", "ltm"}
    assert {*types.VALID_VALIDATION_STATES} == {"unverified", "verified", "contested", "retracted"}
    assert {*types.VALID_SOURCE_KINDS} == {"chat", "doc", "mixed", "tool"}
    assert InspectConfig(dominance_frac=3).validate() == ["inspect.dominance_frac: 3 not in [0.01, 1]"]
    assert InspectConfig(dominance_frac="x").validate() == ["inspect.dominance_frac: expected float, got str"]
    assert MemoryConfig.from_dict({"chat": {"history_max": 5}}).chat.history_max == 5
