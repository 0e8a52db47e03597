"""Object storage as a remote: moto's server, where it is installed, is the bucket."""

import base64
import hmac
import random
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from homes import Home, exchange
from memctl.remote import objects, segments
from memctl.remote.carrier import SegmentPlace
from support import PATIENCE

obstore = pytest.importorskip("obstore", reason="memctl[s3] is not installed")

FRIDAY = "We deploy on Fridays."
URL = "s3://bucket/team"


@contextmanager
def served(program: str, *words: str) -> Iterator[str]:
    """The URL at which a program of somebody else's serves as long as this; `PORT` among its words is the port."""
    path = shutil.which(program)
    if path is None:
        pytest.skip(f"{program} is not installed")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    line = [path, *(str(port) if word == "PORT" else word for word in words)]
    server = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if server.poll() is not None:
                pytest.skip(f"{program} does not start here")
            try:
                socket.create_connection(("127.0.0.1", port), 5).close()
                break
            except OSError:
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with served("moto_server", "-H", "127.0.0.1", "-p", "PORT") as url:
        yield url


@pytest.fixture
def container(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """An empty container at Azurite, Azure's own emulator, where it is installed (npm install azurite)."""
    account, words = "devstoreaccount1", ("--silent", "--disableTelemetry", "--skipApiVersionCheck", "--location")
    key = base64.b64encode(b"a key of these tests only").decode()
    monkeypatch.setenv("AZURITE_ACCOUNTS", f"{account}:{key}")
    with served("azurite-blob", "--blobHost", "127.0.0.1", "--blobPort", "PORT", *words, str(tmp_path)) as url:
        for name, value in {"NAME": account, "KEY": key}.items():
            monkeypatch.setenv(f"AZURE_STORAGE_ACCOUNT_{name}", value)
        monkeypatch.setenv("AZURE_STORAGE_ENDPOINT", f"{url}/{account}")
        headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
        signed = "".join(f"{name}:{value}\n" for name, value in headers.items())
        text = f"PUT{12 * chr(10)}{signed}/{account}/{account}/bucket\nrestype:container"
        proof = base64.b64encode(hmac.digest(base64.b64decode(key), text.encode(), "sha256")).decode()
        headers |= {"Authorization": f"SharedKey {account}:{proof}", "Content-Length": "0"}
        asked = urllib.request.Request(f"{url}/{account}/bucket?restype=container", method="PUT", headers=headers)
        urllib.request.urlopen(asked).close()
        yield objects._opened("az://bucket")


@pytest.fixture
def bucket(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An empty bucket, as whoever owns it sees it."""
    for name, value in {"AWS_ENDPOINT_URL": endpoint, "AWS_ACCESS_KEY_ID": "anna", "AWS_REGION": "us-east-1",
                        "AWS_SECRET_ACCESS_KEY": "xyzzy-xyzzy"}.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    for method, path in (("POST", "/moto-api/reset"), ("PUT", "/bucket")):
        urllib.request.urlopen(urllib.request.Request(endpoint + path, method=method)).close()
    return objects._opened("s3://bucket")


def paths(bucket: Any) -> list[str]:
    return sorted(one["path"] for some in obstore.list(bucket) for one in some)


def pair(url: str = URL) -> tuple[Home, Home]:
    made = [Home(name).join("--trust", "high", url=url) for name in ("anna", "bert")]
    return made[0], made[1]


@pytest.mark.slow
def test_statements_travel_through_a_container_of_azures(container: Any) -> None:
    _travel(container, "az://bucket/team")


def test_statements_travel_through_a_bucket(bucket: Any) -> None:
    _travel(bucket, URL)


def _travel(bucket: Any, url: str) -> None:
    anna, bert = pair(url)
    said, gone = anna.say(FRIDAY), anna.say("The cache lives in Redis.")
    exchange(anna, bert)
    bert.ok("edit", said, "--content", "We deploy on Mondays.")
    anna.ok("purge", gone, "--yes")
    exchange(anna, bert)
    assert anna.texts() == bert.texts() == ["We deploy on Mondays."]
    assert all(path.startswith("team/memctl/project/") for path in paths(bucket))
    assert bert.json("remote", "verify", "team")["status"] == "ok"
    before = len(paths(bucket))
    anna.ok("remote", "compact", "team")
    assert len(paths(bucket)) < before
    anna.say("Said after that.")
    exchange(anna, bert)
    assert anna.texts() == bert.texts()
    assert bert.json("remote", "verify", "team")["status"] == "ok"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The calls of the engine."""
    found: list[str] = []
    call = objects.ObjectCarrier._asked

    def noted(carrier: Any, one: Any, *given: Any) -> Any:
        found.append(one.__name__)
        return call(carrier, one, *given)

    monkeypatch.setattr(objects.ObjectCarrier, "_asked", noted)
    return found


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A bucket that is the engine's own, without a server."""
    bucket = obstore.store.MemoryStore()
    monkeypatch.setattr(objects, "_opened", lambda _: bucket)
    return bucket


def test_nothing_new_is_two_calls_at_most(bucket: Any, asked: list[str]) -> None:
    anna, bert = pair()
    anna.say(FRIDAY)
    exchange(anna, bert)
    for one, calls in ((bert, ["_logs"]), (anna, ["_logs", "_list"])):  # the heads, and what stands in its own log
        asked.clear()
        one.sync()
        assert asked == calls


def test_what_is_new_among_thousands_of_segments_takes_few_calls(memory: Any, asked: list[str]) -> None:
    before, number, hers = "", 0, "a" * 12
    carrier = objects.ObjectCarrier(URL)
    for number in range(3100):
        ((name, body),) = segments.pack("project", hers, "anna", number, before, [(f"{number:032x}", {"gone": {}})])
        carrier.publish([(SegmentPlace("project", hers, name), body)])
        before = name.hash
    bert, carl = Home("bert").join("--trust", "high", url=URL), Home("carl").join("--trust", "high", url=URL)
    assert bert.sync()["received"] == 3100
    asked.clear()
    bert.sync()
    assert asked == ["_logs"]
    carl.say(FRIDAY)
    carl.sync()
    asked.clear()
    assert bert.sync()["new"] == 1
    assert asked == ["_logs", "_list", "_got"]
    asked.clear()
    carl.sync()
    assert asked == ["_logs", "_list"]


def test_a_compacted_log_is_one_segment(memory: Any) -> None:
    anna, bert = pair()
    for number in range(3):
        anna.say(f"Fact number {number} is about topic {number}.")
        anna.sync()
    anna.ok("remote", "compact", "team")
    assert len(paths(memory)) == 2  # with its head
    assert bert.sync()["new"] == 3


def test_a_bucket_without_heads_gets_them(memory: Any) -> None:
    anna, bert = pair()
    anna.say(FRIDAY)
    exchange(anna, bert)
    anna.say("Said later.")
    anna.sync()
    (head,) = heads = [path for path in paths(memory) if "." in path]
    obstore.delete(memory, head)
    assert bert.sync()["new"] == 1
    anna.sync()
    assert [path for path in paths(memory) if "." in path] == heads


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 30))])
def test_heads_that_lie_lag_or_vanish_do_no_harm(memory: Any, seed: int) -> None:
    """Stores at random; segments are left alone, so nobody may see anything wrong in a log, or lose anything."""
    chance = random.Random(seed)
    everybody = [Home(name).join("--trust", "high", url=URL) for name in ("anna", "bert", "carl")]
    seen: set[str] = set()
    for step in range(45):
        home, what = chance.choice(everybody), chance.randrange(8)
        if what < 4:
            row = home.sync()
            assert (row["problems"], row.get("became")) == ({}, None)
        elif what < 6:
            home.say(f"Said at step {step} by {home.name}.")
        elif what == 6 and home.texts():
            home.ok("remote", "compact", "team")
        there = {path for path in paths(memory) if "." in path}
        seen |= there
        if seen and chance.random() < 0.6:
            _harm(memory, chance, there, seen)
    exchange(*everybody)
    assert everybody[0].texts() == everybody[1].texts() == everybody[2].texts()
    for home in everybody:
        assert home.json("remote", "verify", "team")["status"] == "ok"
        assert home.sync()["problems"] == {}


def _harm(bucket: Any, chance: random.Random, there: set[str], seen: set[str]) -> None:
    """Delete a head, put an older one back in the place of all, or forge one."""
    one = chance.choice(sorted(seen))
    what = chance.randrange(3)
    if what < 2:
        log = one.partition(".")[0]
        obstore.delete(bucket, [path for path in there if path.startswith(log) and (what or path == one)])
    if what:
        room, _, name = one.partition(".")
        first, last, digest = name.split("-")
        numbers = f"{chance.randrange(1, 9):08d}-{chance.randrange(9, 99):08d}"
        forged = chance.choice((f"{numbers}-{digest}", f"{numbers}-{'f' * 64}", f"{first}-{last}-{'e' * 64}"))
        obstore.put(bucket, f"{room}.{name if what == 1 else forged}", b"")


def test_nobody_overwrites_what_is_there(bucket: Any) -> None:
    carrier = objects.ObjectCarrier(URL)
    name, body = next(segments.pack("project", "a" * 12, "anna", 0, "", [("a" * 32, {"gone": {}})]))
    place = SegmentPlace("project", "a" * 12, name)
    carrier.publish([(place, body)])
    carrier.publish([(place, b"something else")])
    assert carrier.listing(["project"]) == {("project", "a" * 12): [name]}
    assert carrier.read(place) == body
    carrier.publish([], [place, place])
    assert carrier.listing(["project"]) == {}
    assert carrier.read(place) == b""


@pytest.mark.parametrize("harm", ["half", "gone", "rolled back", "lost", "too large", "strange"])
def test_a_bucket_that_lies_and_forgets_damages_no_store(bucket: Any, harm: str) -> None:
    anna, bert = pair()
    for number in range(3):
        anna.say(f"Fact number {number} is about topic {number}.")
        anna.sync()
    bert.sync()
    anna.say("Said later.")
    anna.sync()
    kept = {path: bytes(obstore.get(bucket, path).bytes()) for path in paths(bucket)}
    *_, third, last = kept
    if harm in ("half", "too large"):
        obstore.put(bucket, last, kept[last][:40] if harm == "half" else bytes(segments.MOST_BYTES + 1))
    elif harm == "strange":
        room = last.rpartition("/")[0]
        for odd in (f"{room}/notes.txt", f"{room}/x/{last.rpartition('/')[2]}", "team/memctl/project/x"):
            obstore.put(bucket, odd, b"x")
    else:
        for path in {"gone": [third], "rolled back": [third, last], "lost": [*kept]}[harm]:
            obstore.delete(bucket, path)
    row = bert.sync()
    assert (len(row["problems"]) == 1) == (harm not in ("lost", "strange"))
    assert len(bert.texts()) == 3 + (harm == "strange")
    if harm in ("half", "gone", "too large"):
        for path, body in kept.items():
            obstore.put(bucket, path, body)
    exchange(anna, bert, anna, bert)
    assert bert.sync()["problems"] == {}
    assert bert.texts() == anna.texts()
    assert len(bert.texts()) == 4


class _Dead(obstore.exceptions.GenericError):  # type: ignore[misc, name-defined]
    pass


class PanicException(BaseException):
    """What the engine raises when it is out of its mind."""


@pytest.mark.parametrize("at", range(1, 7))
@pytest.mark.parametrize("kind", [_Dead, PanicException])
def test_a_bucket_that_fails_at_any_call_loses_nothing(
    bucket: Any, at: int, kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    anna, bert = pair()
    anna.say("The first thing that anna says.")
    anna.sync()
    bert.say("The first thing that bert says.")
    left = at

    def wrapped(call: Any) -> Any:
        def fails(*given: Any, **how: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                raise kind("the line is dead")
            done = call(*given, **how)
            left -= 1
            if left == 0:
                raise kind("the line died")
            return done

        return fails

    with monkeypatch.context() as patch:
        for name in ("list", "list_with_delimiter", "get", "put"):
            patch.setattr(obstore, name, wrapped(getattr(obstore, name)))
        failed = bert.run("remote", "sync", "team")
        assert failed.code == 1
        assert "the line" in failed.notes
    bert.sync()
    anna.sync()
    assert len(anna.texts()) == len(bert.texts()) == 2
    assert not bert.sync().get("became")
    assert len(paths(bucket)) == 4  # two segments and their heads
    assert anna.json("remote", "verify", "team")["status"] == "ok"


def test_keys_are_told_to_nobody(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    anna = Home("anna").join(url="s3://not-there/team")
    anna.say(FRIDAY)
    refused = anna.run("remote", "sync", "team")
    assert refused.code == 1
    assert "404" in refused.notes
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    refused = anna.run("remote", "sync", "team")
    assert refused.code == 1
    assert "xyzzy" not in refused.notes + anna.ok("remote", "status", "--json").text


@pytest.mark.parametrize("url", ["s3://", "s3://key:secret@bucket/x", "s3://bucket/x?endpoint=http://x", "s3://b/../c",
                                 "gs://bucket/x#y", "az://UPPER/x", "s3a://bucket/x", "s3://bucket//x"])  # fmt: skip
def test_a_url_is_a_bucket_and_a_prefix(url: str) -> None:
    assert Home("anna").run("remote", "add", "team", url).code == 1


def test_without_the_package_it_says_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    refused = Home("anna").join(url=URL).run("remote", "sync", "team")
    assert refused.code == 1
    assert "memctl[s3]" in refused.notes
