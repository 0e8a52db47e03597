"""Finding by meaning: embedders, which make vectors of texts, and what vectors add to a search by words.

    ollama:MODEL         POST /api/embed at OLLAMA_HOST, else at 127.0.0.1:11434
    http(s)://…#MODEL    POST …/embeddings, as OpenAI's endpoints have it
    cmd:PROGRAM ARGS     one JSON string a line in, one JSON array of numbers a line out, in the same order; no shell

No other embedder is asked, no redirect is followed, a key goes only over HTTPS or to this machine, and an answer is
checked before it is used.

Vectors find what is said in other words, and miss what is said in the same: names, numbers, languages their model does
not know. So they only add to the scores of the words, with a weight that `memctl embed` learns from the store itself.
"""

import math
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Sequence

from memctl import errors, ids
from memctl.annotations import TYPE_CHECKING, Any
from memctl.store.database import Database
from memctl.store.filters import Filters
from memctl.store.search import index, vectors
from memctl.text import jsons

if TYPE_CHECKING:
    from memctl.retrieve.candidates import SearchResult

OLLAMA = "http://127.0.0.1:11434"
#: Bytes of an answer; a longer one is refused.
ANSWER_BYTES = 256 << 20
TOO_LARGE, TOO_LATE = "its answer is too large", "its answer takes too long"
#: Seconds beyond its time after which an answer is not awaited any more: it may take as long to find words for why.
GRACE = 0.5


#: How many of the best by words, and by meaning, are put into one order.
POOL = 100
#: What a weight is learnt from: QUESTIONS questions at most, made of the first WORDS words of items, among AMONG
#: vectors. BATCH questions are embedded at a time.
QUESTIONS = 150
BATCH = 32
WORDS = 8
AMONG = 20_000
#: A scope with fewer vectors says nothing about chance; a store where none has more gets this weight.
FEW = 30
UNSURE = 0.2
#: How much one standard deviation beyond chance is worth, and the most that meaning may count beside the words.
STEP = 0.8
MOST = 1.0
#: A question whose nearest item stands out by more standard deviations beyond chance counts by itself, whatever was
#: learnt.
SURE = 1.6

#: Characters of a question that are embedded.
QUESTION_CHARS = 2000


class Embedder(ABC):
    """One embedder. `model` names the space its vectors live in, `where` is what messages call it."""

    def __init__(self, model: str, where: str, *, local: bool) -> None:
        self.model, self.where, self.local = model, where, local

    def vectors(self, texts: Sequence[str], seconds: float) -> "list[array[float]]":
        """A vector of length 1 for each text. Raises EmbedderFailed, at the latest after about `seconds`."""
        try:
            found = [_normalise(numbers) for numbers in self._ask(texts, seconds)]
        except (ValueError, TypeError, OverflowError) as exc:
            raise self.failed(f"its answer cannot be used: {exc}") from exc
        if len(found) != len(texts):
            raise self.failed(f"it gave {len(found)} vectors for {len(texts)} texts")
        if len({len(vector) for vector in found}) > 1:
            raise self.failed("its vectors are of different lengths")
        return found

    def failed(self, reason: str) -> "errors.EmbedderFailed":
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
            raise _invalid_spec(spec, "name a model, as in ollama:nomic-embed-text")
        # OLLAMA_HOST as Ollama reads it: scheme and port may be missing, and 0.0.0.0 means this machine.
        scheme, _, place = (ollama_host or OLLAMA).rpartition("://")
        place = place.rstrip("/").replace("0.0.0.0", "127.0.0.1", 1)  # noqa: S104 - to ask, not to listen at
        port = "" if scheme or place.rpartition("]")[2].count(":") else ":11434"
        return Endpoint(f"{scheme or 'http'}://{place}{port}/api/embed", rest, None, "embeddings")
    if kind in ("http", "https"):
        url, _, model = spec.strip().partition("#")
        url = url.rstrip("/")
        return Endpoint(url if url.endswith("/embeddings") else url + "/embeddings", model, key, "data")
    if kind == "cmd":
        return CommandEmbedder(rest)
    raise _invalid_spec(spec, "give ollama:MODEL, http(s)://HOST/v1#MODEL, or cmd:PROGRAM ARGS")


def is_this_machine(host: str) -> bool:
    """Whether a host is this machine for certain: `localhost`, or a loopback address; no other name is."""
    from ipaddress import ip_address

    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _invalid_spec(spec: str, what: str) -> "errors.UsageError":
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
            raise _invalid_spec(url, str(exc)) from exc
        if not host or not url.isascii() or not url.isprintable() or " " in url:
            raise _invalid_spec(url, "it is not an address")
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
            if not all(isinstance(row, dict) and "embedding" in row for row in rows):
                raise ValueError("a row without 'embedding'")
            rows = [row["embedding"] for row in sorted(rows, key=lambda row: row.get("index", 0))]
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
        from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

        class Stay(HTTPRedirectHandler):
            def redirect_request(self, *_: Any) -> None:
                """Follow no redirect, which could send texts and key elsewhere."""

        headers = {"Content-Type": "application/json", "User-Agent": "memctl"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        opener = build_opener(Stay, *([ProxyHandler({})] if self.local else []))  # to this machine without a proxy
        deadline = ids.monotonic() + seconds
        try:
            request = Request(self.where, data, headers)  # noqa: S310 - http or https, see `parse`
            with opener.open(request, timeout=seconds) as answer:
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


# --- by a command ------------------------------------------------------------------------------------------------


class CommandEmbedder(Embedder):
    """A program on this machine, started once for each batch."""

    def __init__(self, line: str) -> None:
        import shlex

        try:
            self.argv = shlex.split(line)
        except ValueError as exc:
            raise _invalid_spec(f"cmd:{line}", str(exc)) from exc
        if not self.argv:
            raise _invalid_spec(f"cmd:{line}", "name a program")
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


def _normalise(numbers: Any) -> "array[float]":
    """The vector scaled to length 1. Raises ValueError when it has no direction or is no vector."""
    if not isinstance(numbers, list) or not numbers:
        raise ValueError("a vector that is no list of numbers")
    if any(isinstance(n, bool) or not isinstance(n, int | float) for n in numbers):
        raise ValueError("a vector with something else than numbers")
    length = math.sqrt(math.fsum(n * n for n in numbers))
    if not length or not math.isfinite(length):
        raise ValueError("a vector without direction")
    return array("f", [n / length for n in numbers])


# --- what vectors add to a search ------------------------------------------------------------------------------------


class Meaning:
    """An embedder as a search uses it: `seconds` is how long a question may take, `warn` is told when it cannot."""

    def __init__(self, embedder: Embedder, seconds: float, warn: Callable[[str], None]) -> None:
        self.embedder, self.seconds, self.warn = embedder, seconds, warn
        self._told = False
        self._asked: tuple[str, array[float] | None] = ("", None)

    def add(self, db: Database, result: "SearchResult", filters: Filters, limit: int) -> None:
        """Put what is near in meaning among what was found by words, and cut the list at `limit` (all, if negative).

        When the embedder cannot be reached, says so once and leaves what the words found.
        """
        learnt = learned_weight(db, self.embedder.model)
        if learnt is None:
            others = ", ".join(vectors.count_by_model(db)) or "none"
            self._tell(f"the store has no vectors of {self.embedder.model} (it has: {others}); memctl embed makes them")
        query = None if learnt is None else self._embed_question(db, result.query.text)
        if learnt is not None and query is not None:
            near = vectors.nearest(db, query, self.embedder.model, filters, max(POOL, limit))
            known = near.cosines
            if not result.candidates:  # nothing but the meaning speaks for them: it must be more than chance
                known = {row: cosine for row, cosine in known.items() if cosine > near.chance}
            weight = min(MOST, max(learnt, STEP * (near.beyond() - SURE)))
            if weight > 0 or not result.candidates:
                self._add_scores(db, result, filters, query, known, weight or UNSURE, max(POOL, limit))
        if limit >= 0:
            del result.candidates[limit:]
        result.total = max(result.total, len(result.candidates))

    def _add_scores(
        self,
        db: Database,
        result: "SearchResult",
        filters: Filters,
        query: "array[float]",
        known: dict[int, float],
        weight: float,
        pool: int,
    ) -> None:
        rows = sorted(known, key=lambda row: (-known[row], row))[:pool]
        if not rows:
            return
        top, floor = known[rows[0]], known[rows[-1]] if len(rows) >= pool else 0.0
        if result.like:  # what was found by substring comes without rowids
            places = vectors.rows_of(db, [c.id for c in result.candidates])
            for c in result.candidates:
                c.row = places.get(c.id, 0)
        here = {c.row for c in result.candidates}
        lacking = [c.id for c in result.candidates if c.row not in known]
        known |= vectors.cosines(db, query, lacking[:POOL], self.embedder.model, filters)
        scale = weight * max((c.score for c in result.candidates), default=1.0) / max(top - floor, 1e-6)
        new = index.fetch_candidates(db, dict.fromkeys(rows, 0.0), [row for row in rows if row not in here])
        added = {}
        for c in (*result.candidates, *new):
            added[c.row] = scale * max(0.0, known.get(c.row, floor) - floor)
            c.score += added[c.row]
        result.candidates = index.sort_candidates([*result.candidates, *new])
        result.parts.append(("meaning", added))

    def _embed_question(self, db: Database, question: str) -> "array[float] | None":
        """The question's vector; None when it cannot be had, or compared with the store's, which stderr says once."""
        if self._told:
            return None
        if self._asked[0] != question:
            try:
                self._asked = (question, self.embedder.vectors([question[:QUESTION_CHARS]], self.seconds)[0])
            except errors.EmbedderFailed as exc:
                self._tell(exc.message)
                return None
        vector, held = self._asked[1], vectors.dimension_of(db, self.embedder.model)
        if vector is None or held in (None, len(vector)):
            return vector
        self._tell(
            f"the vectors of {self.embedder.model} have {len(vector)} numbers, those in the store {held}; "
            "memctl embed --forget makes room for new ones"
        )
        return None

    def _tell(self, why: str) -> None:
        if not self._told:
            self.warn(f"searching by words only: {why}")
        self._told = True


def learned_weight(db: Database, model: str) -> float | None:
    """What a model's vectors may add to the best score by words, as a share of it; None when nothing was learnt."""
    noted = vectors.get_model_note(db, model)
    if noted is None:
        return None
    try:
        return min(MOST, max(0.0, float(noted)))
    except ValueError:  # another program's note
        return UNSURE


def learn_weight(db: Database, embedder: Embedder, filters: Filters, seconds: float) -> float:
    """What meaning may count in this store, as a share of the best score by words; noted in the store.

    The first words of an item are asked like a question. Where the nearest other item stands out from the rest by more
    than chance would have it, the vectors tell these texts apart, and are worth listening to. Where it does not (a
    language the model does not know, small talk), they are noise. Raises EmbedderFailed.
    """
    dimension = vectors.dimension_of(db, embedder.model)
    known = [] if dimension is None else vectors.list_sign_codes(db, embedder.model, dimension, filters)
    known = known[:: max(1, len(known) // AMONG)]
    scopes: dict[str, list[vectors.SignCode]] = {}
    for code in known:
        scopes.setdefault(code.scope, []).append(code)
    usable = [code for code in known if len(scopes[code.scope]) > FEW]
    chosen = usable[:: max(1, len(usable) // QUESTIONS)][:QUESTIONS]
    weight = UNSURE
    if chosen:
        asked = {text.id: " ".join(text.content.split()[:WORDS])[:QUESTION_CHARS]
                 for text in vectors.texts_to_embed(db, [code.id for code in chosen], filters)}  # fmt: skip
        chosen = [code for code in chosen if asked.get(code.id)]
        openings: list[array[float]] = []
        for at in range(0, len(chosen), BATCH):
            openings += embedder.vectors([asked[code.id] for code in chosen[at : at + BATCH]], seconds)
        beyond = []
        for code, vector in zip(chosen, openings, strict=True):
            signs = vectors.signs_of(vector)
            bits = [(signs ^ other.signs).bit_count() for other in scopes[code.scope] if other.id != code.id]
            mean, deviation = vectors.mean_and_deviation(bits)
            chance = vectors.chance_deviations(len(bits))
            beyond.append((mean - min(bits)) / deviation - chance if deviation else 0.0)
        weight = min(MOST, max(0.0, STEP * sum(beyond) / max(1, len(beyond))))
    vectors.set_model_note(db, embedder.model, f"{weight:.4f}")
    return round(weight, 4)
