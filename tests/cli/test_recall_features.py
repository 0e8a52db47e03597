"""What search and recall leave unsaid: repeats behind what is new, nothing rather than little, no header."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

import embedders
from memctl import MemoryStore, ids
from memctl.text.tokens import CHARS_PER_TOKEN
from stores import change
from support import ok, run

LONG = "The ledger service writes every transfer to the journal before it answers, " + " ".join(
    f"with{n}" for n in range(30)
)


def store(*lines: Mapping[str, object]) -> None:
    ok("import", "--preserve-ids", stdin="\n".join(map(json.dumps, lines)))


def found(*argv: str) -> list[str]:
    return [entry["id"] for entry in ok("search", *argv, "--json").json()]


# --- repeats -----------------------------------------------------------------------------------------------------


@pytest.fixture
def copies() -> None:
    """Five copies of one text from five places, and two other texts that answer less well."""
    place = {"source_kind": "doc", "source_id": "", "chunk_ids": []}
    store(
        *({"id": f"MEM-copy{n}", "title": "Ledger", "content": LONG.upper() if n % 2 else LONG,
           "provenance": place | {"source_id": f"/docs/{n}.md"}} for n in range(5)),
        {"id": "MEM-other", "content": "The ledger is written in Go by the payments people, who also own the journal."},
        {"id": "MEM-third", "content": "A transfer is booked in the ledger by hand when the journal is full."},
    )  # fmt: skip


def test_repeats_stand_behind_what_is_new(copies: None) -> None:
    assert {"MEM-other", "MEM-third"} < set(found("ledger journal transfer", "-k", "4"))


def test_no_repeat_is_lost(copies: None) -> None:
    assert len(found("ledger journal transfer", "-k", "-1")) == 7
    assert len(found("ledger journal transfer", "-k", "7")) == 7


def test_explain_tells_what_a_repeat_lost(copies: None) -> None:
    told = ok("search", "ledger journal transfer", "--explain", "--json").json()
    lost = [entry["explain"]["reasons"].get("repeat", 0) for entry in told]
    assert sum(value < 0 for value in lost) == 4
    for entry in told:
        assert sum(entry["explain"]["reasons"].values()) == pytest.approx(entry["score"], abs=0.001)
    assert [entry["score"] for entry in told] == sorted((entry["score"] for entry in told), reverse=True)


def test_statements_that_differ_in_one_word_are_all_there() -> None:
    store(*({"id": f"MEM-{n}", "content": f"the gateway listens on port {8000 + n}"} for n in range(12)))
    assert all("repeat" not in e["explain"]["reasons"]
               for e in ok("search", "gateway port", "--explain", "--json", "-k", "12").json())  # fmt: skip


# --- coverage ----------------------------------------------------------------------------------------------------


@pytest.fixture
def facts() -> None:
    store(
        {"id": "MEM-1", "content": "Refresh tokens are rotated weekly by the auth service."},
        {"id": "MEM-2", "content": "The weekly newsletter goes out on Fridays."},
        {"id": "MEM-3", "content": "数据库使用预写日志"},
    )


@pytest.mark.parametrize(
    ("question", "fires"),
    [
        ("how are refresh tokens rotated?", True),
        ("refresh token rotation", True),
        ("which volcano erupted weekly in iceland?", False),
        ("what do weekly zebras eat for breakfast", False),
        ("数据库 日志", True),
    ],
)
def test_nothing_rather_than_little(facts: None, question: str, fires: bool) -> None:
    assert bool(found(question, "--min-coverage", "0.5")) is fires
    for command in ("recall", "push"):
        done = ok(command, question, "--min-coverage", "0.5")
        assert bool(done.out) is fires
        assert ("Nothing covers enough of the question" in done.notes) is not fires
        assert done.notes.count("\n") == 1
    assert found(question)[:1] or question


@pytest.mark.parametrize(("question", "fires"), [("sourdouhg bread", False), ("who tends the sourdouhg?", False)])
def test_a_guess_is_no_answer_by_itself(question: str, fires: bool) -> None:
    store(
        {"id": "MEM-1", "content": "Sourdough tickets are reviewed by Ann."},
        *({"id": f"MEM-{n}", "content": f"Note {n} of the house."} for n in range(2, 9)),
    )
    assert found(question) == ["MEM-1"]
    assert bool(found(question, "--min-coverage", "0.5")) is fires


def test_one_item_is_enough_to_be_sure() -> None:
    store({"id": "MEM-1", "content": "We chose Postgres for the ledger."})
    assert ok("recall", "which database: postgres for the ledger", "--min-coverage", "0.5").out
    assert not ok("recall", "postgres on mars with zebras", "--min-coverage", "0.5").out


def test_the_bound_may_stand_in_the_config(facts: None) -> None:
    Path(".memory/config.json").write_text('{"recall": {"min_coverage": 0.5}}')
    assert ok("recall", "weekly zebras and volcanoes").out == b""
    assert ok("recall", "weekly zebras and volcanoes", "--min-coverage", "0").out


@pytest.mark.parametrize("value", ["-0.1", "1.5", "nan", "much"])
def test_a_share_is_from_0_to_1(value: str) -> None:
    assert run("recall", "x", f"--min-coverage={value}").code == 1


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("¿Qué hago primero cuando siempre deja rotos los paquetes?", "Los paquetes rotos se reparan con apt install"),
        ("Wie finde ich etwas und lege mehrere Kopien der Partitionen an?", "Kopien der Partitionen macht dd"),
    ],
)
def test_light_words_that_nothing_has_do_not_hush_an_answer(question: str, answer: str) -> None:
    store(*({"id": f"MEM-{n}", "content": f"lantern{n} quarry{n} harbour{n}"} for n in range(40)))
    store({"id": "MEM-a", "content": answer})
    assert "[MEM-a]" in ok("recall", question, "--auto").text


# --- no header ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [30, 40, 60, 200])
def test_without_a_header_its_room_is_for_passages(budget: int) -> None:
    store(
        *({"id": f"MEM-{n}", "content": f"The gateway number {n} retries twice and then gives up."} for n in range(9))
    )
    done = ok("recall", "gateway", "--no-header", "--budget", str(budget))
    assert len(done.text) <= budget * CHARS_PER_TOKEN
    assert "## Memory" not in done.text
    assert "--- End" not in done.text
    if budget >= 60:
        assert done.text.startswith("[MEM-8] 2")
        assert "retries twice" in done.text
        assert ok("recall", "gateway", "--budget", str(budget)).text.count("retries") <= done.text.count("retries")


# --- the class ---------------------------------------------------------------------------------------------------


def test_a_program_searches_as_the_command_does(monkeypatch: pytest.MonkeyPatch) -> None:
    others = [f"bread{n // 2} river{n // 2} tent{n // 2} lemon{n}" for n in range(80)]
    store(*({"id": f"MEM-{n}", "content": content} for n, content in enumerate(others)))
    store({"id": "MEM-a", "content": "The automobile stands outside"})
    with embedders.endpoint() as server:
        spec = f"{server.url}/v1#toy"
        ok("embed", "--embedder", spec)
        with MemoryStore(".memory/memory.db") as plain:
            assert plain.search_fulltext("car") == []
        monkeypatch.setenv("MEMCTL_EMBEDDER", spec)
        with MemoryStore(".memory/memory.db") as by_meaning:
            assert [i.id for i in by_meaning.search_fulltext("car", limit=3)] == found("car", "-k", "3")
            assert by_meaning.search_fulltext("car")[0].id == "MEM-a"
            assert by_meaning._last_search_meta.strategy == "OR_FALLBACK"  # type: ignore[union-attr]
        monkeypatch.delenv("MEMCTL_EMBEDDER")
        Path(".memory/config.json").write_text(json.dumps({"embeddings": {"embedder": spec}}))
        with MemoryStore(".memory/memory.db") as configured:
            assert configured.search_fulltext("car")[0].id == "MEM-a"
    with MemoryStore(".memory/memory.db") as unreachable, pytest.warns(RuntimeWarning):
        assert unreachable.search_fulltext("river6")


def test_a_store_in_memory_has_no_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMCTL_EMBEDDER", "http://127.0.0.1:1/v1#toy")
    with MemoryStore() as made:
        assert made.search_fulltext("car") == []


def test_push_says_when_its_tags_are_for_nothing() -> None:
    """They are given to what is ingested; without a source somebody may think that they filter."""
    store({"id": "MEM-one", "content": "The depot opens at nine.", "tags": ["hours"]})
    done = ok("push", "depot", "--tags", "other")
    assert "--tags is for what --source brings in" in done.notes
    assert "opens at nine" in done.text


# --- one mount --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["guides", "id", "docs", "./docs/"])
def test_a_mount_is_a_filter_before_the_limit(key: str) -> None:
    Path("docs/inner").mkdir(parents=True)
    Path("docs/inner/a.md").write_text("The depot opens at nine.\n")
    Path("docs2").mkdir()
    Path("docs2/b.md").write_text("The depot, the depot: depot hours of the depot.\n")
    mount = ok("mount", "docs", "--name", "guides", "--json").json()["mount_id"]
    ok("mount", "docs2")
    ok("sync")
    store(*({"id": f"MEM-{n}", "content": f"depot {n}"} for n in range(9)))
    name = mount if key == "id" else key
    for argv in (("search", "-k", "1"), ("recall",)):
        said = ok(*argv, "when does the depot open?", "--mount", name).text
        assert "opens at nine" in said
        assert "depot hours" not in said
        assert "depot 1" not in said
    assert "Mount not found: elsewhere" in run("search", "depot", "--mount", "elsewhere").notes


# --- a whole prompt ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["recall", "push"])
def test_a_prompt_ends_with_the_question(command: str) -> None:
    store({"id": "MEM-1", "content": "Keys rotate every 17 days."})
    done = ok(command, "how often do keys rotate?", "--prompt", "--budget", "200")
    assert done.text.startswith("## Context\n\n## Memory (Injected)\n")
    assert "Keys rotate every 17 days." in done.text
    assert done.text.endswith("--- End Memory (1) ---\n\n## Question\n\nhow often do keys rotate?\n")
    assert len(done.text) <= 4 * 200
    assert ok(command, "how often do keys rotate?", "--prompt", "--json").json()["inject_text"] + "\n" == done.text


def test_a_prompt_asks_the_question_even_when_nothing_matches() -> None:
    ok("init")
    assert ok("recall", "zebras?", "--prompt").text == "## Question\n\nzebras?\n"
    assert ok("recall", "zebras?").out == b""


def test_a_model_is_told_how_to_propose_only_when_that_was_asked_for() -> None:
    store({"id": "MEM-1", "content": "Keys rotate every 17 days."})
    assert "MEMORY_PROPOSALS" not in ok("recall", "keys", "--prompt").text
    text = ok("recall", "keys", "--propose", "--budget", "600").text
    assert text.index("<MEMORY_PROPOSALS_JSON>") < text.index("## Context") < text.index("## Question")
    assert len(text) <= 4 * 600


# --- unasked ----------------------------------------------------------------------------------------------------------


CHATTER = [
    "ok", "continue", "yes do that", "fix the failing test", "no, revert this change", "looks good to me", "thanks!",
    "why did you remove that line?", "can you run the tests again", "mach weiter", "lass die Tests laufen",
    "oui, continue", "relance les tests", "sigue", "да, продолжай", "继续", "好的请继续", "続けてください", "", "!?",
    "borra los archivos que sobran", "¿por qué falla?", "los geht's", "benenn die Funktion um", "explique-moi l'erreur",
    "va bene, procedi", "mostrami l'ultima modifica", "perché è fallito?", "beleza, pode seguir", "roda os testes",
    "me mostra o arquivo", "oké, ga verder", "verwijder die functie", "laat het resultaat zien", "покажи изменения",
    "почему упало?", "убери лишние файлы", "为什么失败了?", "把这个函数删掉", "重新运行测试", "なぜ失敗したの?",
    "テストをもう一度実行して", "この関数を消して",
]  # fmt: skip


@pytest.mark.parametrize("prompt", CHATTER)
def test_chatter_is_answered_by_no_store(prompt: str) -> None:
    said = ("ok continue yes do that", "The failing test was fixed: run the tests again.", "Why that line was removed.",
            "测试 继续 好的", "Die Tests laufen weiter.", "Les tests: oui, continue.")  # fmt: skip
    store(*({"id": f"MEM-{n}", "content": text} for n, text in enumerate(said)))
    done = ok("recall", prompt, "--auto")
    assert done.out == b""
    assert "[recall] Nothing is worth saying unasked.\n" in done.notes or not prompt or not found(prompt)


@pytest.mark.parametrize(
    ("prompt", "speaks"),
    [
        ("how often do signing keys rotate?", True),
        ("signing keys", True),
        ("where do the tests find the signing keys", True),
        ("How do I get red wine out of a white shirt?", False),
        ("which chords does the song rotate through", False),
    ],
)
def test_unasked_it_speaks_only_of_what_it_knows(prompt: str, speaks: bool) -> None:
    store(
        {"id": "MEM-1", "content": "Signing keys rotate every 17 days."},
        *({"id": f"MEM-{n}", "content": f"Note {n} of the house, about wine number {n}."} for n in range(2, 30)),
    )
    assert bool(ok("recall", prompt, "--auto").out) is speaks
    assert found(prompt)


#: What a store says, a question that it answers, and one about the same things that it does not.
IN_LANGUAGES = [
    ("El contrato de la imprenta se renueva cada primavera.", "¿cuándo se renueva el contrato con la imprenta?",
     "¿quién limpia el taller de la imprenta los domingos?"),
    ("Der Vertrag mit der Druckerei wird im Frühjahr verlängert.", "Wann verlängern wir den Vertrag mit der Druckerei?",
     "Wer putzt sonntags die Werkstatt der Druckerei?"),
    ("Le contrat avec l'imprimerie est renouvelé au printemps.", "quand renouvelle-t-on le contrat de l'imprimerie ?",
     "qui nettoie l'atelier de l'imprimerie le dimanche ?"),
    ("Il contratto con la tipografia si rinnova ogni primavera.", "quando si rinnovano i contratti con la tipografia?",
     "chi pulisce il capannone della tipografia la domenica?"),
    ("Het contract met de drukkerij wordt elk jaar verlengd.", "wanneer verlengen we het contract met de drukkerij?",
     "wie maakt zondags de werkplaats van de drukkerij schoon?"),
    ("O contrato com a gráfica é renovado na primavera.", "quando vamos renovar os contratos com a gráfica?",
     "quem limpa a oficina da gráfica aos domingos?"),
    ("Договор с типографией продлевается весной.", "когда продлевают договоры с типографиями?",  # noqa: RUF001
     "кто убирает мастерскую типографии по воскресеньям?"),
    ("印刷所との契約は毎年春に更新される。", "印刷所との契約はいつ更新しますか?",
     "印刷所の工場を日曜に掃除するのは誰ですか?"),
    ("与印刷厂的合同每年春天续签。", "印刷厂的合同什么时候续签?", "星期天谁打扫印刷厂的车间?"),
]  # fmt: skip


@pytest.mark.parametrize(("said", "answered", "unanswered"), IN_LANGUAGES)
def test_unasked_it_speaks_in_other_languages_of_what_it_knows(said: str, answered: str, unanswered: str) -> None:
    others = ("{} Katzen im Garten", "{} gatos en el jardín", "{} chats au jardin", "{} кошки в саду",
              "庭に猫が{}匹いる", "花园里有{}只猫", "{} gatti in giardino", "{} katten in de tuin")  # fmt: skip
    store(
        {"id": "MEM-told", "content": said},
        *({"id": f"MEM-{n}", "content": others[n % len(others)].format(n)} for n in range(45)),
    )
    assert said in ok("recall", answered, "--auto").text
    assert ok("recall", unanswered, "--auto").out == b""


def test_a_name_that_nothing_has_hushes_the_pairs_around_it() -> None:
    store(
        {"id": "MEM-1", "content": "限制每秒请求数的是网关。"},
        *({"id": f"MEM-{n}", "content": f"第{n}条:网关的日志"} for n in range(2, 40)),
    )
    assert "网关" in ok("recall", "每秒请求数由什么限制?", "--auto").text
    assert ok("recall", "Varnish怎么限制?", "--auto").out == b""


@pytest.mark.parametrize(("written", "asked"), [("Расчёт зарплаты", "расчет зарплаты"), ("Новый отчет", "отчёт")])
def test_russian_is_found_with_and_without_the_dots(written: str, asked: str) -> None:
    store({"id": "MEM-1", "content": written}, {"id": "MEM-2", "content": "Прогноз погоды"})
    assert found(asked) == ["MEM-1"]


ORDERS = ("deploy to staging", "please deploy to staging now", "Release a new version.", "install the printer drivers")


@pytest.mark.parametrize("prompt", ORDERS)
def test_an_order_is_a_question_in_disguise_where_the_store_says_how(prompt: str) -> None:
    apart = ("The deploys are done by Ann.", "Staging is slow.", "A new printer came.", "Version 3 is of new\nrelease",
             "The drivers were paid to install\nit.")  # fmt: skip
    store(*({"id": f"MEM-{n}", "content": text} for n, text in enumerate(apart)))
    assert ok("recall", prompt, "--auto").out == b""
    told = ("We deploy to staging with make stage.", "To release a new version, tag it first.",
            "Install the drivers of the printer from the share.")  # fmt: skip
    store(*({"id": f"MEM-told{n}", "content": text} for n, text in enumerate(told)))
    assert any(text in ok("recall", prompt, "--auto").text for text in told)


@pytest.mark.parametrize(
    "prompt", ["deploy it", "release that again", "build failed", "the deploy failed", "compile error again", "ship it",
               "continue where you stopped", "command that failed", "deploy", "can you build it again?"],
)  # fmt: skip
def test_an_order_about_what_is_at_hand_is_talk(prompt: str) -> None:
    said = ("We deploy it on Fridays, release that again, and ship it.", "The build failed, the deploy failed too.",
            "Compile error again.", "Continue where you stopped.", "The command that failed.")  # fmt: skip
    store(*({"id": f"MEM-{n}", "content": text} for n, text in enumerate(said)))
    assert ok("recall", prompt, "--auto").out == b""


def test_a_thing_that_is_described_is_asked_for() -> None:
    store({"id": "MEM-1", "content": "Printer: the class that formats log records for paper."},
          *({"id": f"MEM-{n}", "content": f"Note {n} of the house."} for n in range(2, 30)))  # fmt: skip
    assert "for paper" in ok("recall", "class that formats log records", "--auto").text


def test_a_page_of_contents_stands_behind_the_page_that_it_lists(docs: Path) -> None:
    names = [f"heron-{n}" for n in range(5)]
    listed = "\n".join(f"- [Heron colonies {n}]({name}.md)" for n, name in enumerate(names))
    (docs / "index.md").write_text(f"# Heron colonies\n\n{listed}\n")
    for n, name in enumerate(names):
        (docs / f"{name}.md").write_text(
            f"# Colony {n}\n\nThe heron nests by the weir {n}. " + "It is a grey bird. " * 9
        )
    ok("mount", "docs")
    ok("sync")
    first = [line for line in ok("recall", "heron colonies").text.splitlines() if line.startswith("[")]
    (contents,) = [line for line in first if "index.md" in line]
    assert contents.endswith("; contents")
    assert "heron-" in first[0]
    assert "contents -" in ok("search", "heron colonies", "--explain").text
    (docs / "other.md").write_text("# Owls\n\nThe owl nests alone.\n")
    assert "contents" not in ok("recall", "owl").text


# --- what stands around a passage -------------------------------------------------------------------------------------


def test_a_short_id_is_taken_by_show_and_tells_items_apart() -> None:
    store(
        {"id": "MEM-abcdef000001", "content": "The gateway retries twice."},
        {"id": "MEM-abcdef000002", "content": "The gateway gives up."},
        {"id": "MEM-123456789abc", "content": "The gateway is blue."},
    )
    text = ok("recall", "gateway").text

    assert {"[abcdef000001]", "[abcdef000002]", "[123456]"} <= set(re.findall(r"(?m)^\[\w+\]", text))
    for short in ("123456", "MEM-123456", "12345678"):
        assert "The gateway is blue." in ok("show", short).text
    assert run("show", "abcdef").code == 1
    assert run("show", "123").code == 1


def test_what_replaced_what_is_told() -> None:
    store({"id": "MEM-aaaaaa000001", "content": "The gateway listens on 8080.", "created_at": "2026-01-02T00:00:00Z"})
    store({"id": "MEM-bbbbbb000002", "content": "The gateway listens on 9090.", "created_at": "2026-03-04T00:00:00Z"})
    with change() as db:
        db.supersede_item("MEM-aaaaaa000001", "MEM-bbbbbb000002")
    lines = ok("recall", "gateway").text.splitlines()
    assert lines[2:4] == ["[bbbbbb] 2026-03-04; replaces aaaaaa of 2026-01-02", " The gateway listens on 9090."]


def test_paths_are_as_seen_from_their_mount() -> None:
    for name in ("one", "two"):
        Path(f"deep/{name}").mkdir(parents=True)
        Path(f"deep/{name}/a.md").write_text(f"# Gateway\n\nThe gateway of {name} retries.\n")
    ok("sync", "deep/one")
    assert "] a.md:1-3\n" in ok("recall", "gateway").text
    ok("sync", "deep/two")
    text = ok("recall", "gateway").text
    assert "] one/a.md:1-3\n" in text
    assert "] two/a.md:1-3\n" in text


def test_a_block_changes_only_with_the_store() -> None:
    store(*({"id": f"MEM-{n}", "content": f"The gateway number {n} retries {n} times."} for n in range(6)))
    first = ok("recall", "gateway").text
    assert [ok("recall", "gateway").text for _ in range(3)] == [first] * 3


def test_a_question_says_what_newness_and_use_count() -> None:
    for name, days in (("old", 300), ("new", 0)):
        made = ids.timestamp(ids.now_seconds() - days * 86_400)
        store(
            {"id": name, "content": f"The gateway retries: {'retries' * (name == 'old')} {name}.", "created_at": made}
        )

    def order(*argv: str) -> list[str]:
        return [row["id"] for row in ok("search", "gateway retries", *argv, "--json").json()]

    assert order("--weigh", "recency=0") == ["old", "new"]
    assert order("--weigh", "recency=1,recency_days=10") == ["new", "old"]
    assert ok("recall", "gateway retries", "--weigh", "recency=0").text.index("old") > 0
    for wrong in ("recency", "recency=x", "words=1", "recency=2", "recency=nan", "=", "recency_days=0"):
        said_of = run("search", "gateway", "--weigh", wrong)
        assert (said_of.code, "--weigh" in said_of.notes) == (1, True), wrong


# --- what a block is made of -------------------------------------------------------------------------------------


def test_a_catalog_is_a_line_of_each_item_and_no_use_of_it(copies: None) -> None:
    lines = ok("recall", "ledger journal transfer", "--mode", "catalog", "--no-header").text.splitlines()
    assert [line[0] for line in lines] == ["[", " ", "[", " "]
    assert max(map(len, lines)) <= 121
    assert {json.loads(line)["usage_count"] for line in ok("export").text.splitlines()} == {0}


def test_mode_says_what_the_data_of_recall_holds(copies: None) -> None:
    data = {mode: ok("recall", "ledger", "--mode", mode, "--json").json() for mode in ("hybrid", "inject", "catalog")}
    assert data["hybrid"] == ok("recall", "ledger", "--json").json()
    assert data["inject"] == data["hybrid"] | {"items": []}
    assert not data["catalog"]["inject_text"] and data["catalog"]["items"]
    assert data["catalog"]["tokens_used"] < data["hybrid"]["tokens_used"]


@pytest.mark.parametrize("budget", [1, 20, 40, 55, 80, 130, 300])
@pytest.mark.parametrize("frame", ["compact", "full", "none"])
def test_a_catalog_keeps_within_its_budget(copies: None, budget: int, frame: str) -> None:
    out = ok("recall", "ledger", "--mode", "catalog", "--budget", str(budget), "--frame", frame).text
    assert len(out) <= budget * CHARS_PER_TOKEN
