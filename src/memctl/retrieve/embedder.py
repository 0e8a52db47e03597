"""Embedders: what makes vectors of texts. Ollama, an OpenAI-compatible endpoint, or a command; nothing else is asked.

    ollama:MODEL         POST /api/embed at OLLAMA_HOST, else at 127.0.0.1:11434
    http(s)://…#MODEL    POST …/embeddings, as OpenAI's endpoints have it
    cmd:PROGRAM ARGS     one JSON string a line in, one JSON array of numbers a line out, in the same order; no shell

No redirect is followed, a key goes only over HTTPS or to this machine, and an answer is checked before it is used.
"""

import math
from abc import ABC, abstractmethod
from array import array
from collections.abc import Sequence
from typing import Any

from memctl import errors, ids
from memctl.text import jsons

OLLAMA = "http://127.0.0.1:11434"
#: An answer of more bytes is none.
ANSWER_BYTES = 256 << 20
TOO_LARGE, TOO_LATE = "its answer is too large", "its answer takes too long"
#: Seconds after which an answer is not awaited any more, beyond its time: so long it may take to find words for why.
GRACE = 0.5


class Embedder(ABC):
    """One embedder. `model` names the space its vectors live in, `where` is what messages call it."""

    def __init__(self, model: str, where: str, *, local: bool) -> None:
        self.model, self.where, self.local = model, where, local

    def vectors(self, texts: Sequence[str], seconds: float) -> "list[array[float]]":
        """A vector of length 1 for each text. Raises EmbedderFailed, at the latest after about so many seconds."""
        try:
            found = [_unit(numbers) for numbers in self._ask(texts, seconds)]
        except (ValueError, TypeError, OverflowError) as exc:
            raise self.failed(f"its answer cannot be used: {exc}") from exc
        if len(found) != len(texts):
            raise self.failed(f"it gave {len(found)} vectors for {len(texts)} texts")
        if len({len(vector) for vector in found}) > 1:
            raise self.failed("its vectors are of different lengths")
        return found

    def failed(self, reason: str) -> errors.EmbedderFailed:
        """The error that says why this embedder cannot be used."""
        return errors.EmbedderFailed(embedder=self.where, reason=reason)

    @abstractmethod
    def _ask(self, texts: Sequence[str], seconds: float) -> "list[Any]":
        """The lists of numbers that it answers with."""


def parse(spec: str, *, ollama_host: str | None = None, key: str | None = None) -> Embedder:
    """The embedder that `spec` describes. Raises UsageError when it describes none."""
    kind, _, rest = spec.strip().partition(":")
    if kind == "ollama":
        if not rest:
            raise _wrong(spec, "name a model, as in ollama:nomic-embed-text")
        return Endpoint(_ollama(ollama_host or OLLAMA) + "/api/embed", rest, None, "embeddings")
    if kind in ("http", "https"):
        url, _, model = spec.strip().partition("#")
        url = url.rstrip("/")
        return Endpoint(url if url.endswith("/embeddings") else url + "/embeddings", model, key, "data")
    if kind == "cmd":
        return Command(rest)
    raise _wrong(spec, "give ollama:MODEL, http(s)://HOST/v1#MODEL, or cmd:PROGRAM ARGS")


def is_this_machine(host: str) -> bool:
    """Whether a host is this machine for certain: `localhost`, or a loopback address; no other name is."""
    from ipaddress import ip_address

    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _ollama(host: str) -> str:
    """OLLAMA_HOST as Ollama reads it: scheme and port may be missing, and 0.0.0.0 means this machine."""
    scheme, _, place = host.rpartition("://")
    place = place.rstrip("/").replace("0.0.0.0", "127.0.0.1", 1)  # noqa: S104 - an address to ask, not to listen at
    port = "" if scheme or place.rpartition("]")[2].count(":") else ":11434"
    return f"{scheme or 'http'}://{place}{port}"


def _wrong(spec: str, what: str) -> errors.UsageError:
    return errors.UsageError(f"'{spec}' is no embedder: {what}", command="embed")


# --- over HTTP ---------------------------------------------------------------------------------------------------


class Endpoint(Embedder):
    """An endpoint that takes `{"model", "input": [...]}`.

    It answers `{"embeddings": [[…]]}` (`kind` embeddings), or `{"data": [{"index", "embedding": […]}]}` (`kind` data).
    """

    def __init__(self, url: str, model: str, key: str | None, kind: str) -> None:
        from urllib.parse import urlsplit

        try:
            parts = urlsplit(url)
            host, _ = parts.hostname or "", parts.port
        except ValueError as exc:
            raise _wrong(url, str(exc)) from exc
        if not host or not url.isascii() or not url.isprintable() or " " in url:
            raise _wrong(url, "it is not an address")
        if parts.username is not None:
            raise errors.UsageError("an address must hold no password; a key is read from MEMCTL_EMBEDDER_KEY",
                                    command="embed")  # fmt: skip
        super().__init__(model or url, url, local=is_this_machine(host))
        if key and parts.scheme != "https" and not self.local:
            raise errors.UsageError(f"a key is only sent over https, not to {url}", command="embed")
        self.named, self.key, self.kind = model, key, kind

    def _ask(self, texts: Sequence[str], seconds: float) -> list[Any]:
        import json

        asked: dict[str, object] = {"input": list(texts)}
        if self.named:
            asked["model"] = self.named
        value = jsons.read(self._post(json.dumps(asked).encode(), seconds))[0]
        rows = value.get(self.kind) if isinstance(value, dict) else None
        if not isinstance(rows, list):
            raise self.failed(f"its answer has no list '{self.kind}'")
        if self.kind == "data":
            rows = [row["embedding"] for row in sorted(map(_indexed, rows), key=lambda row: row.get("index", 0))]
        return rows

    def _post(self, data: bytes, seconds: float) -> str:
        """What it answers, from a thread: a name that is not found, or headers that drip, keep no deadline."""
        from queue import Empty, SimpleQueue
        from threading import Thread

        answers: SimpleQueue[str | errors.MemctlError | ValueError] = SimpleQueue()

        def ask() -> None:
            try:
                answers.put(self._posted(data, seconds))
            except (errors.MemctlError, ValueError) as exc:  # it is raised where the answer is awaited
                answers.put(exc)

        Thread(target=ask, daemon=True).start()
        try:
            answer = answers.get(timeout=seconds + GRACE)
        except Empty:
            raise self.failed(TOO_LATE) from None
        if isinstance(answer, str):
            return answer
        raise answer

    def _posted(self, data: bytes, seconds: float) -> str:
        from http.client import HTTPException
        from urllib.error import HTTPError
        from urllib.request import Request

        headers = {"Content-Type": "application/json", "User-Agent": "memctl"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        deadline = ids.monotonic() + seconds
        try:
            request = Request(self.where, data, headers)  # noqa: S310 - http or https, see `parse`
            with _opener(direct=self.local).open(request, timeout=seconds) as answer:
                return self._read(answer, deadline)
        except HTTPError as exc:
            with exc:
                said = " ".join(exc.read(300).decode("utf-8", "replace").split())
            raise self.failed(f"HTTP {exc.code}" + (f": {said}" if said else "")) from exc
        except OSError as exc:
            reason = getattr(exc, "reason", None) or exc
            raise self.failed(getattr(reason, "strerror", None) or str(reason) or "no answer") from exc
        except HTTPException as exc:
            raise self.failed(f"it does not speak HTTP ({type(exc).__name__})") from exc

    def _read(self, answer: Any, deadline: float) -> str:
        parts, size = [], 0
        while part := answer.read1(1 << 20):
            parts.append(part)
            size += len(part)
            if size > ANSWER_BYTES:
                raise self.failed(TOO_LARGE)
            if ids.monotonic() > deadline:
                raise self.failed(TOO_LATE)
        return b"".join(parts).decode("utf-8", "replace")


def _indexed(row: object) -> dict[str, Any]:
    if not isinstance(row, dict) or "embedding" not in row:
        raise ValueError("a row without 'embedding'")
    return row


def _opener(*, direct: bool) -> Any:
    """What opens an address; follows no redirect, which could send texts and key elsewhere; `direct`: no proxy."""
    from urllib.request import HTTPRedirectHandler, ProxyHandler, build_opener

    class Stay(HTTPRedirectHandler):
        def redirect_request(self, *_: Any) -> None:
            """Refuse."""

    return build_opener(Stay, *([ProxyHandler({})] if direct else []))


# --- by a command ------------------------------------------------------------------------------------------------


class Command(Embedder):
    """A program on this machine, started once for each batch."""

    def __init__(self, line: str) -> None:
        import shlex

        try:
            self.argv = shlex.split(line)
        except ValueError as exc:
            raise _wrong(f"cmd:{line}", str(exc)) from exc
        if not self.argv:
            raise _wrong(f"cmd:{line}", "name a program")
        super().__init__(f"cmd:{line.strip()}", self.argv[0], local=True)

    def _ask(self, texts: Sequence[str], seconds: float) -> list[Any]:
        import json
        from signal import SIGTERM

        from memctl.process import running

        lines = "".join(json.dumps(text) + "\n" for text in texts)
        deadline = ids.monotonic() + seconds
        with running(ANSWER_BYTES) as program:
            try:
                program.start(self.argv, lines.encode())
            except (OSError, ValueError) as exc:
                raise self.failed(getattr(exc, "strerror", None) or str(exc)) from exc
            finished = program.exchange(deadline)
            program.end(SIGTERM)  # and what it started
        if program.truncated:
            raise self.failed(TOO_LARGE)
        if not finished:
            raise self.failed(f"no answer within {seconds:g} s")
        if program.status:
            raise self.failed(f"exit code {program.status}{program.stderr_tail()}")
        return [jsons.read(line)[0] for line in "".join(program.pieces).splitlines() if line.strip()]


# --- vectors -----------------------------------------------------------------------------------------------------


def _unit(numbers: Any) -> "array[float]":
    """The vector scaled to length 1. Raises ValueError when it has no direction or is no vector."""
    if not isinstance(numbers, list) or not numbers:
        raise ValueError("a vector that is no list of numbers")
    if any(isinstance(n, bool) or not isinstance(n, int | float) for n in numbers):
        raise ValueError("a vector with something else than numbers")
    length = math.sqrt(math.fsum(n * n for n in numbers))
    if not length or not math.isfinite(length):
        raise ValueError("a vector without direction")
    return array("f", [n / length for n in numbers])
