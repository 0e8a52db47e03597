"""memctl embed, and search, recall and eval with the vectors it makes."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import embedders
from embedders import Endpoint
from memctl.retrieve.embedding import parse
from stores import change
from support import Result, ok, run


@pytest.fixture
def server() -> Iterator[Endpoint]:
    with embedders.endpoint() as made:
        yield made


@pytest.fixture
def store() -> None:
    """Eighty items, two on each of forty topics, one about an automobile, and one that is kept from models."""
    lines = [
        {"id": f"MEM-{n:012x}", "title": f"Note {n}", "content": f"bread{n // 2} river{n // 2} tent{n // 2} lemon{n}"}
        for n in range(80)
    ]
    lines.append({"id": "MEM-0000000000aa", "title": "Garage", "content": "The automobile stands outside"})
    ok("import", "--preserve-ids", stdin="\n".join(map(json.dumps, lines)))
    Path("raw.md").write_text("# Walrus\n\nA walrus drives a vehicle.\n")
    ok("ingest", "--source", "raw.md")


def found(*argv: str, **how: object) -> list[str]:
    return [item["id"] for item in ok("search", *argv, "--json", **how).json()]


def embed(server: Endpoint, *flags: str) -> Result:
    return ok("embed", "--embedder", f"{server.url}/v1#toy", *flags)


def test_a_synonym_is_found_with_vectors_only(store: None, server: Endpoint) -> None:
    assert found("car") == []
    counts = ok("embed", "--embedder", f"{server.url}/v1#toy", "--json").json()
    assert (counts["status"], counts["model"], counts["embedded"], counts["left"]) == ("ok", "toy", 81, 0)
    assert counts["weight"] > 0
    assert found("car") == []
    assert found("car", "--embedder", f"{server.url}/v1#toy")[0] == "MEM-0000000000aa"
    env = {"MEMCTL_EMBEDDER": f"{server.url}/v1#toy"}
    assert "automobile" in ok("recall", "car", env=env).text
    assert "automobile" in ok("push", "car", env=env).text
    line = '{"q": "car", "expected": "Garage"}'
    assert ok("eval", "-", "--json", stdin=line, env=env).json()["recall"] == 1
    assert ok("eval", "-", "--json", "--embedder", "none", stdin=line, env=env).json()["recall"] == 0


def test_what_words_find_stays(store: None, server: Endpoint) -> None:
    embed(server)
    by_words = found("river6 lemon12", "-k", "3")
    assert found("river6 lemon12", "-k", "3", "--embedder", f"{server.url}/v1#toy")[0] == by_words[0]


def test_explain_says_what_meaning_added(store: None, server: Endpoint) -> None:
    embed(server)
    hit = ok("search", "a car outside", "--explain", "--json", "--embedder", f"{server.url}/v1#toy").json()[0]
    assert hit["explain"]["reasons"]["meaning"] > 0
    assert sum(hit["explain"]["reasons"].values()) == pytest.approx(hit["score"], abs=1e-3)


@pytest.mark.parametrize(("alike", "least", "most"), [(1, 0.0, 0.15), (2, 0.3, 1.0)])
def test_the_weight_is_learnt_from_the_store(server: Endpoint, alike: int, least: float, most: float) -> None:
    """Where no item is nearer to another than by chance, vectors say nothing; where pairs belong together, they do."""
    texts = [" ".join(f"{word}{n // alike}" for word in ("bread", "river", "tent", "lemon")) for n in range(80)]
    ok("import", stdin="\n".join(json.dumps({"title": f"note{n}", "content": text}) for n, text in enumerate(texts)))
    weight = embed(server, "--json").json()["weight"]
    assert least <= weight <= most
    calls = len(server.requests)
    assert embed(server, "--json").json()["weight"] == weight
    assert len(server.requests) == calls


def test_only_what_may_be_given_to_a_model_is_sent(store: None, server: Endpoint) -> None:
    embed(server)
    assert not [text for text in server.texts if "walrus" in text.lower()]
    assert any("automobile" in text for text in server.texts)


def test_it_goes_on_where_it_was(store: None, server: Endpoint) -> None:
    Path("c.json").write_text('{"embeddings": {"batch": 10}}')
    argv = ["embed", "--embedder", f"{server.url}/v1#toy", "--config", "c.json"]

    def broken_after_two(path: str, asked: dict[str, object]) -> tuple[int, bytes]:
        return embedders.usual(path, asked) if len(server.requests) <= 2 else (500, b"out of memory")

    server.answer = broken_after_two
    done = run(*argv)
    assert done.code == 1
    assert "20 embedded and kept" in done.notes
    assert "HTTP 500: out of memory" in done.notes
    server.answer = embedders.usual
    assert ok(*argv, "-k", "5", "--json").json() | {"weight": 0} == {
        "status": "ok", "model": "toy", "embedded": 5, "kept": 20, "left": 56, "forgotten": 0, "weight": 0,
    }  # fmt: skip
    assert ok(*argv, "--json").json()["embedded"] == 56
    assert ok(*argv, "--json").json()["embedded"] == 0


def test_a_changed_item_is_embedded_again(store: None, server: Endpoint) -> None:
    embed(server)
    with change() as db:
        db.run("UPDATE memory_items SET content = 'The physician is in', updated_at = '2999-01-01T00:00:00' "
               "WHERE id = 'MEM-0000000000aa'")  # fmt: skip
    assert embed(server, "--json").json()["embedded"] == 1
    assert embed(server, "--json").json()["embedded"] == 0
    assert found("doctor", "--embedder", f"{server.url}/v1#toy")[0] == "MEM-0000000000aa"


def test_another_model_is_not_replaced_by_surprise(store: None, server: Endpoint) -> None:
    embed(server)
    done = run("embed", "--embedder", f"{server.url}/v1#other")
    assert done.code == 1
    assert "81 of toy" in done.notes
    assert ok("embed", "--embedder", f"{server.url}/v1#other", "--replace", "--json").json()["embedded"] == 81
    asked = ok("search", "bread7", "--embedder", f"{server.url}/v1#toy")
    assert "the store has no vectors of toy (it has: other); memctl embed makes them" in asked.notes


def test_vectors_of_another_length_are_not_mixed_in(store: None, server: Endpoint) -> None:
    """A model may change behind its name; the old vectors and the new ones cannot be compared."""
    embed(server)
    ok("remember", "A physician lives here", "-q")
    server.answer = lambda _path, asked: (
        200,
        json.dumps({"data": [{"embedding": [1, 2]} for _ in asked["input"]]}).encode(),
    )
    done = run("embed", "--embedder", f"{server.url}/v1#toy")
    assert done.code == 1
    assert "its vectors have 2 numbers, those in the store 192; memctl embed --forget" in done.notes
    with change() as db:
        assert db.rows("SELECT DISTINCT dimension FROM memory_embeddings") == [(192,)]
    ok("embed", "--forget")
    assert embed(server, "--json").json()["embedded"] == 82


def test_forget(store: None, server: Endpoint) -> None:
    embed(server)
    assert "would forget 81" in ok("embed", "--forget", "--dry-run").notes
    assert ok("embed", "--forget", "--json").json()["forgotten"] == 81
    with change() as db:
        assert db.value("SELECT count(*) FROM memory_embeddings") == 0
        assert db.value("SELECT value FROM schema_meta WHERE key = 'embeddings'") is None


def test_a_dry_run_sends_nothing(store: None, server: Endpoint) -> None:
    done = embed(server, "--dry-run")
    assert "would send 81 texts (" in done.notes
    assert server.url in done.notes
    assert server.requests == []


def test_a_store_whose_embedder_is_away_says_so_and_answers(store: None, server: Endpoint) -> None:
    embed(server)
    spec = f"{server.url}/v1#toy"
    server.answer = lambda *_: (503, b"loading")
    done = ok("search", "bread7", "--json", "--embedder", spec)
    assert "searching by words only" in done.notes
    assert [hit["id"] for hit in done.json()] == found("bread7")
    away = ok("recall", "bread7", "--embedder", "http://127.0.0.1:9/v1#toy")
    assert "searching by words only: cannot use the embedder http://127.0.0.1:9/v1" in away.notes
    assert "bread7" in away.text


@pytest.mark.parametrize(
    ("code", "body", "problem"),
    [
        (200, b"", "its answer cannot be used"),
        (200, b"<html>", "its answer cannot be used"),
        (200, b"[1]", "has no list 'data'"),
        (200, b'{"data": [1]}', "a row without 'embedding'"),
        (200, b'{"data": []}', "0 vectors for"),
        (200, b'{"data": [{"embedding": []}]}', "no list of numbers"),
        (200, b'{"data": [{"embedding": ["a"]}]}', "something else than numbers"),
        (200, b'{"data": [{"embedding": [NaN]}]}', "its answer cannot be used"),
        (200, b'{"data": [{"embedding": [0, 0]}]}', "without direction"),
        (200, b'{"data": [{"embedding": [1e400]}]}', "without direction"),
        (200, b'{"data": [{"index": "x", "embedding": [1]}, {"index": 1, "embedding": [1]}]}', "cannot be used"),
        (200, b'{"data": [{"embedding": [1]}, {"embedding": [1, 2]}]}', "vectors"),
        (302, b"", "HTTP 302"),
        (401, b"bad key", "HTTP 401: bad key"),
    ],
)
def test_an_answer_that_is_none(store: None, server: Endpoint, code: int, body: bytes, problem: str) -> None:
    server.answer = lambda *_: (code, body)
    done = run("embed", "--embedder", f"{server.url}/v1#toy")
    assert done.code == 1
    assert problem in done.notes
    assert len(server.requests) == 1


def test_ollama(store: None, server: Endpoint) -> None:
    ok("embed", "--embedder", "ollama:toy", env={"OLLAMA_HOST": server.url.removeprefix("http://")})
    path, _, asked = server.requests[0]
    assert (path, asked["model"]) == ("/api/embed", "toy")
    assert found("car", "--embedder", f"{server.url}/v1#toy")[0] == "MEM-0000000000aa"  # the same model


@pytest.mark.parametrize(
    ("host", "asked"),
    [
        (None, "http://127.0.0.1:11434/api/embed"),
        ("0.0.0.0", "http://127.0.0.1:11434/api/embed"),
        ("box:9", "http://box:9/api/embed"),
        ("[::1]", "http://[::1]:11434/api/embed"),
        ("https://box/", "https://box/api/embed"),
    ],
)
def test_where_ollama_is(host: str | None, asked: str) -> None:
    assert parse("ollama:m", ollama_host=host).where == asked


def test_a_key_comes_from_the_environment_and_stays_there(store: None, server: Endpoint) -> None:
    env = {"MEMCTL_EMBEDDER_KEY": "s3cret-key"}
    done = ok("embed", "--embedder", f"{server.url}/v1#toy", env=env)
    assert server.requests[0][1]["Authorization"] == "Bearer s3cret-key"
    assert "s3cret" not in done.notes
    assert b"s3cret" not in Path(".memory/memory.db").read_bytes()
    far = run("embed", "--embedder", "http://embedder.example/v1#toy", env=env)
    assert far.code == 1
    assert "a key is only sent over https" in far.notes


def test_a_command(store: None, tmp_path: Path) -> None:
    spec = embedders.command(tmp_path)
    ok("embed", "--embedder", spec)
    assert found("car", "--embedder", spec)[0] == "MEM-0000000000aa"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("false", "exit code 1"),
        ("cat", "a vector that is no list"),
        ("true", "0 vectors for"),
        ("no-such-program-here", "No such file"),
        ("sh -c 'echo boom >&2; exit 3'", "exit code 3: boom"),
        ("sleep 60", "no answer within 1 s"),
    ],
)
def test_a_command_that_fails(store: None, line: str, problem: str) -> None:
    Path("c.json").write_text('{"embeddings": {"seconds": 1}}')
    done = run("embed", "--embedder", f"cmd:{line}", "--config", "c.json")
    assert done.code == 1
    assert problem in done.notes


def test_a_command_that_never_stops_talking_is_ended(store: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memctl.retrieve.embedding.ANSWER_BYTES", 1 << 20)
    done = run("embed", "--embedder", "cmd:yes [1.0]")
    assert done.code == 1
    assert "its answer is too large" in done.notes


def test_nothing_is_left_of_a_command(store: None) -> None:
    """Not what it started in the background either."""
    run("embed", "--embedder", """cmd:sh -c 'sleep 600 & echo $! > left; exit 3'""")
    pid = int(Path("left").read_text())
    for _ in range(5000):
        state = Path(f"/proc/{pid}/stat")
        if not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z":
            break
        time.sleep(0.02)
    else:
        pytest.fail("it still runs")


def test_headers_that_drip_keep_no_search_waiting(store: None, server: Endpoint) -> None:
    ok("embed", "--embedder", f"{server.url}/v1#toy")
    Path("c.json").write_text('{"embeddings": {"question_seconds": 1}}')
    with dripping() as url:
        done = ok("search", "bread7", "--embedder", f"{url}/v1#toy", "--config", "c.json")
    assert "searching by words only: " in done.notes
    assert "takes too long" in done.notes
    assert "MEM-" in done.text


@contextmanager
def dripping() -> Iterator[str]:
    """A server that sends a header line from time to time, and never an answer."""
    over = threading.Event()

    def drip() -> None:
        caller, _ = listener.accept()
        with caller, suppress(OSError):
            caller.sendall(b"HTTP/1.1 200 OK\r\n")
            while not over.wait(0.2):
                caller.sendall(b"X-Slow: 1\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=drip)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        over.set()
        thread.join()


def test_a_question_whose_vector_fits_none_says_so(store: None, server: Endpoint) -> None:
    spec = f"{server.url}/v1#toy"
    ok("embed", "--embedder", spec)

    def other(_path: str, asked: dict[str, Any]) -> tuple[int, bytes]:
        return 200, json.dumps({"data": [{"embedding": [1.0, 2.0]}] * len(asked["input"])}).encode()

    server.answer = other
    done = ok("search", "bread7", "--embedder", spec)
    assert "have 2 numbers, those in the store 192" in done.notes
    assert "MEM-" in done.text


@pytest.mark.parametrize(
    "spec", ["x", "ollama:", "ollama", "cmd:", "cmd:'", "http://", "http://[::1", "ftp://x", "http://a b/", "http://é/"]
)
def test_what_is_no_embedder(store: None, spec: str) -> None:
    for argv in (["embed"], ["search", "x"]):
        done = run(*argv, "--embedder", spec)
        assert (done.code, done.out) == (1, b"")
        assert "is no embedder" in done.notes


def test_no_embedder(store: None) -> None:
    done = run("embed")
    assert done.code == 1
    assert done.notes.startswith("memctl: no embedder is named\n")
    assert "password" in run("embed", "--embedder", "http://me:pass@host/v1").notes


@pytest.mark.parametrize("spec", ["cmd:touch ran", "https://elsewhere.example/v1#m", "http://10.1.2.3/v1#m"])
def test_a_config_that_lies_beside_the_store_runs_nothing(store: None, spec: str) -> None:
    """A folder from somebody else must not run a program, or send questions away, because one searches in it."""
    Path(".memory/config.json").write_text(json.dumps({"embeddings": {"embedder": spec}}))
    for argv in (["search", "bread7"], ["recall", "bread7"], ["embed"]):
        done = run(*argv)
        assert (done.code, done.out) == (1, b"")
        assert "name a command or another host with --embedder" in done.notes
    assert not Path("ran").exists()
    assert found("bread7", "--embedder", "none")


def test_a_config_may_name_an_embedder_on_this_machine(store: None, server: Endpoint) -> None:
    text = json.dumps({"embeddings": {"embedder": f"{server.url}/v1#toy"}})
    Path(".memory/config.json").write_text(text)
    ok("embed")
    assert found("car")[0] == "MEM-0000000000aa"
    assert found("car", "--embedder", "none") == []
