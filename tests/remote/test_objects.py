"""Object storage as a remote: moto's server, where it is installed, is the bucket."""

import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from homes import Home, exchange
from memctl.remote import objects, segments
from memctl.remote.carrier import SegmentPlace

obstore = pytest.importorskip("obstore", reason="memctl[s3] is not installed")

FRIDAY = "We deploy on Fridays."
URL = "s3://bucket/team"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    program = shutil.which("moto_server")
    if program is None:
        pytest.skip("moto[server] is not installed")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = subprocess.Popen([program, "-H", "127.0.0.1", "-p", str(port)], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)  # fmt: skip
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            if server.poll() is not None:
                pytest.skip("moto[server] does not start here")
            try:
                urllib.request.urlopen(f"{url}/moto-api/", timeout=5).close()
                break
            except OSError:
                time.sleep(0.1)
        yield url
    finally:
        server.kill()
        server.wait()


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


def pair() -> tuple[Home, Home]:
    made = [Home(name).join("--trust", "high", url=URL) for name in ("anna", "bert")]
    return made[0], made[1]


def test_statements_travel_through_a_bucket(bucket: Any) -> None:
    anna, bert = pair()
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


def test_nothing_new_is_one_call(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    anna, bert = pair()
    anna.say(FRIDAY)
    exchange(anna, bert)
    asked: list[str] = []
    call = objects.ObjectCarrier._asked

    def noted(carrier: Any, one: Any, *given: Any) -> Any:
        asked.append(one.__name__)
        return call(carrier, one, *given)

    monkeypatch.setattr(objects.ObjectCarrier, "_asked", noted)
    bert.sync()
    assert asked == ["_listed"]


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
        for name in ("list", "get", "put"):
            patch.setattr(obstore, name, wrapped(getattr(obstore, name)))
        failed = bert.run("remote", "sync", "team")
        assert failed.code == 1
        assert "the line" in failed.notes
    bert.sync()
    anna.sync()
    assert len(anna.texts()) == len(bert.texts()) == 2
    assert not bert.sync().get("became")
    assert len(paths(bucket)) == 2
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
