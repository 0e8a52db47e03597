"""A bucket that people pay for anyway: S3 and what speaks like it, Google's and Azure's object storage.

PREFIX/memctl/SCOPE/REPLICA/SEGMENT, and beside each log its head, an empty object: PREFIX/memctl/SCOPE/REPLICA.SEGMENT
says which one is the last. One call lists all heads; only logs whose head is news are looked at. A head proves nothing:
one that lags, lies or is missing costs another call, or the news wait. An object is written only where none is, so that
nobody overwrites another one. Keys and regions are those of the engine's own environment variables; none stands in a
URL.
"""

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

from memctl.annotations import TYPE_CHECKING, Any
from memctl.remote.carrier import ReadAhead, SegmentPlace, folded_name
from memctl.remote.errors import CarrierMissing
from memctl.remote.segments import SegmentName, is_replica, parse_name
from memctl.text.clean import one_line

if TYPE_CHECKING:
    from memctl.store.remotes import KnownLog

_ROOM = "memctl"
#: Objects of a scope at most, and how many are one call.
_MOST, _PAGE = 200_000, 1000
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
        self._heads: dict[tuple[str, str], list[SegmentName]] = {}
        self._hidden: dict[tuple[str, str], SegmentPlace] = {}

    def listing(
        self, scopes: Collection[str], known: "Mapping[tuple[str, str], KnownLog] | None" = None
    ) -> dict[tuple[str, str], list[SegmentName]]:
        """The segments of each log: of one whose head is known the last, of others what is new; scopes side by side."""
        read = {log: one for log, one in (known or {}).items() if one.last}
        self._heads = {}
        with ThreadPoolExecutor(_AT_A_TIME) as pool:
            parts = [*pool.map(lambda scope: self._news(scope, read), scopes)]
        found = self.remember({place: size for part in parts for place, size in part.items()}, known or {})
        tops = {log: found[log][-1] for log, one in read.items() if log in found and not one.hash}
        self._hidden = {
            log: SegmentPlace(*log, top) for log, top in tops.items() if top not in self._heads.get(log, ())
        }
        return found

    def _news(self, scope: str, known: "Mapping[tuple[str, str], KnownLog]") -> dict[SegmentPlace, int]:
        """What a scope has that is not known: a call for the heads, and one or two for each log that has news."""
        if not any(log[0] == scope for log in known):
            return self._listed(scope)
        found, changed, most = dict[SegmentPlace, int](), dict[str, SegmentName | None](), 0
        for replica in self._asked(self._logs, scope):
            heads, log = self._heads.get((scope, replica), []), known.get((scope, replica))
            last = max((one.last for one in heads), default=0)
            newest = [one for one in heads if one.last == last]
            most += last
            if log is not None and [one[1:] for one in newest] == [(log.last, log.hash)]:
                found[SegmentPlace(scope, replica, newest[0])] = 0  # it was read
            else:
                changed[replica] = newest[0] if newest else None
        if len(changed) > 2 + min(most, _MOST) // _PAGE:
            return self._listed(scope)
        for replica, head in changed.items():
            found |= self._log_news(scope, replica, known.get((scope, replica)), head)
        return found

    def _log_news(
        self, scope: str, replica: str, known: "KnownLog | None", head: SegmentName | None
    ) -> dict[SegmentPlace, int]:
        """The segments of a log from the last known one on; all, if they do not follow it."""
        if known is not None and (head is None or head.first == head.last or head.last <= known.last):
            first = head.first if head is not None and head.last == known.last else known.last
            found = self._listed(scope, replica, f"{first:08d}-{known.last:08d}")
            numbers = sorted(place.name.last for place in found)
            if numbers and numbers == [*range(known.last, known.last + len(numbers))]:
                return found
        return self._listed(scope, replica)

    def _listed(self, scope: str, replica: str = "", since: str = "") -> dict[SegmentPlace, int]:
        """The segments of a scope, or of a log, with their sizes: a call for each thousand."""
        room = f"{_ROOM}/{folded_name(scope)}/"
        prefix = f"{room}{replica}/" if replica else room
        found: dict[SegmentPlace, int] = {}
        for path, size in self._asked(self._list, prefix, f"{prefix}{since}" if since else None):
            who, _, word = path.removeprefix(room).partition("/")
            name = parse_name(word)
            if name is not None and is_replica(who):
                found[SegmentPlace(scope, who, name)] = size
            elif not word:
                self._note_head(scope, who)
        return found

    def _note_head(self, scope: str, word: str) -> None:
        replica, _, text = word.partition(".")
        name = parse_name(text)
        if name is not None and is_replica(replica):
            self._heads.setdefault((scope, replica), []).append(name)

    def fetch(self, places: list[SegmentPlace]) -> dict[SegmentPlace, bytes]:
        """The bodies of segments, several at a time."""
        with ThreadPoolExecutor(_AT_A_TIME) as pool:
            return dict(zip(places, pool.map(lambda place: self._asked(self._got, _path(place)), places), strict=True))

    def publish(self, new: Iterable[tuple[SegmentPlace, bytes]], drop: Iterable[SegmentPlace] = ()) -> None:
        """Write heads, then segments, in order, then take older ones away.

        A head that comes too early is news that is not there yet; one that came too late would hide it.
        """
        given, gone = [*new], [*drop]
        tops = self._hidden | {(place.scope, place.replica): place for place, _ in given}
        for place in tops.values():
            self._asked(self._put, _path(place, "."), b"")
        for place, body in given:
            self._asked(self._put, _path(place), body)
            if place.name.first < place.name.last:  # it stands for all before it, also what was not listed
                older = self._listed(place.scope, place.replica)
                gone += [one for one in older if one.name.last < place.name.last]
        for log, place in tops.items():
            heads = [place._replace(name=one) for one in self._heads.get(log, ()) if one.last < place.name.last]
            for head in heads:
                self._asked(self._delete, _path(head, "."))
        for place in dict.fromkeys(gone):
            self._asked(self._delete, _path(place))
        self._hidden = {}

    # --- one call each --------------------------------------------------------------------------------------------

    def _logs(self, scope: str) -> list[str]:
        """The replicas that have a log; their heads are noted."""
        import obstore

        room = f"{_ROOM}/{folded_name(scope)}/"
        given = obstore.list_with_delimiter(self._store, room)
        for one in given["objects"]:
            self._note_head(scope, one["path"].removeprefix(room))
        names = [path.removeprefix(room).rstrip("/") for path in given["common_prefixes"]]
        return sorted(filter(is_replica, names))

    def _list(self, prefix: str, since: str | None) -> list[tuple[str, int]]:
        import obstore

        listed: list[tuple[str, int]] = []
        for some in obstore.list(self._store, prefix, offset=since, chunk_size=_PAGE):
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


def _path(place: SegmentPlace, mark: str = "/") -> str:
    return f"{_ROOM}/{folded_name(place.scope)}/{place.replica}{mark}{place.name}"


def _told(error: BaseException) -> str:
    """What went wrong, on one line: the status and the code of an answer, not the words of a stranger."""
    text = str(error)
    found = re.search(r"status code: (\d{3}[ \w-]*)", text)
    code = re.search(r"<Code>(\w{1,60})</Code>", text)
    if found:
        return f"it answers {found[1].strip()}{f' ({code[1]})' if code else ''}"
    return one_line(text.partition("Debug source")[0], 200)
