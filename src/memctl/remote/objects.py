"""A bucket that people pay for anyway: S3 and what speaks like it, Google's and Azure's object storage.

PREFIX/memctl/SCOPE/REPLICA/SEGMENT. An object is written only where none is, so that nobody overwrites another one.
Keys and regions are those of the engine's own environment variables; none stands in a URL.
"""

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping

from memctl.annotations import Any
from memctl.remote.carrier import ReadAhead, SegmentPlace, folded_name
from memctl.remote.problems import CarrierMissing
from memctl.remote.segments import SegmentName, is_replica, parse_name
from memctl.text.clean import one_line

_ROOM = "memctl"
#: Objects of a scope at most; a thousand are one call.
_MOST = 200_000
#: Objects that are read at the same time.
_AT_A_TIME = 8
#: Where an environment names an endpoint: on this machine it may be one without TLS.
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT", "AZURE_STORAGE_ENDPOINT")
_LOCAL = ("http://127.0.0.1", "http://localhost", "http://[::1]")


class ObjectCarrier(ReadAhead):
    """The objects under one URL, such as s3://bucket/prefix."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.url = url
        self._store: Any = None

    def listing(
        self, scopes: Collection[str], known: Mapping[tuple[str, str], int] | None = None
    ) -> dict[tuple[str, str], list[SegmentName]]:
        """The segments of each log: a call for each thousand of a scope."""
        found: dict[SegmentPlace, int] = {}
        for scope in scopes:
            for path, size in self._asked(self._listed, f"{_ROOM}/{folded_name(scope)}/"):
                replica, _, word = path.rpartition(f"{folded_name(scope)}/")[2].partition("/")
                name = parse_name(word)
                if name is not None and is_replica(replica):
                    found[SegmentPlace(scope, replica, name)] = size
        return self.remember(found, known or {})

    def fetch(self, places: list[SegmentPlace]) -> dict[SegmentPlace, bytes]:
        """The bodies of segments, several at a time."""
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(_AT_A_TIME) as pool:
            return dict(zip(places, pool.map(lambda place: self._asked(self._got, _path(place)), places), strict=True))

    def publish(self, new: Iterable[tuple[SegmentPlace, bytes]], drop: Iterable[SegmentPlace] = ()) -> None:
        """Write segments, in order, then take older ones away."""
        for place, body in new:
            self._asked(self._put, _path(place), body)
        for place in drop:
            self._asked(self._delete, _path(place))

    # --- one call each --------------------------------------------------------------------------------------------

    def _listed(self, prefix: str) -> list[tuple[str, int]]:
        import obstore

        listed: list[tuple[str, int]] = []
        for some in obstore.list(self._store, prefix, chunk_size=1000):
            listed += [(one["path"], one["size"]) for one in some]
            if len(listed) > _MOST:
                raise OSError(f"it has more than {_MOST} segments: memctl remote compact makes them fewer")
        return listed

    def _got(self, path: str) -> bytes:
        import obstore

        try:
            return bytes(obstore.get(self._store, path).bytes())
        except FileNotFoundError:
            return b""

    def _put(self, path: str, body: bytes) -> None:
        import obstore

        try:
            obstore.put(self._store, path, body, mode="create")
        except obstore.exceptions.AlreadyExistsError:
            return  # its name says what is in it

    def _delete(self, path: str) -> None:
        import obstore

        try:
            obstore.delete(self._store, path)
        except FileNotFoundError:
            return

    def _asked(self, call: Callable[..., Any], *given: Any) -> Any:
        """What a call gives. Raises OSError for what goes wrong there, whatever way the engine says so."""
        try:
            import obstore.store
        except ImportError as exc:
            raise CarrierMissing(what="object storage", extra="s3") from exc
        try:
            if self._store is None:
                self._store = _opened(self.url)
            return call(*given)
        except OSError:
            raise
        except BaseException as exc:
            if isinstance(exc, obstore.exceptions.BaseError) or type(exc).__name__ == "PanicException":
                raise OSError(_told(exc)) from None
            raise


def _opened(url: str) -> Any:
    """The storage behind a URL, with the keys that its own environment variables name."""
    from datetime import timedelta

    import obstore.store

    plain = any(os.environ.get(name, "").startswith(_LOCAL) for name in _ENDPOINTS)
    options: Any = {"connect_timeout": "10s", "timeout": "60s"} | ({"allow_http": True} if plain else {})
    again: Any = {"max_retries": 2, "retry_timeout": timedelta(seconds=60)}
    return obstore.store.from_url(url, client_options=options, retry_config=again)


def _path(place: SegmentPlace) -> str:
    return f"{_ROOM}/{folded_name(place.scope)}/{place.replica}/{place.name}"


def _told(error: BaseException) -> str:
    """What went wrong, on one line: the status and the code of an answer, not the words of a stranger."""
    text = str(error)
    found = re.search(r"status code: (\d{3}[ \w-]*)", text)
    code = re.search(r"<Code>(\w{1,60})</Code>", text)
    if found:
        return f"it answers {found[1].strip()}{f' ({code[1]})' if code else ''}"
    return one_line(text.partition("Debug source")[0], 200)
