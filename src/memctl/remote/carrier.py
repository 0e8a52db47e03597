"""What carries logs: a place where segments are listed, read and written. It understands nothing of them.

A carrier may lie, lose, repeat and fail: whoever reads checks (`segments`), and whoever writes asks again.
"""

from collections.abc import Collection, Iterable, Mapping

from memctl.annotations import TYPE_CHECKING, NamedTuple
from memctl.remote.segments import MOST_BYTES, SegmentName

if TYPE_CHECKING:
    from typing import Protocol

    from memctl.store.remotes import KnownLog

    class Carrier(Protocol):
        """One remote, open. All calls raise OSError when it cannot be reached or refuses, LostRace when it changed."""

        def listing(
            self, scopes: Collection[str], known: "Mapping[tuple[str, str], KnownLog] | None" = None
        ) -> "dict[tuple[str, str], list[SegmentName]]":
            """The segments of each log, by scope and replica, in order.

            known  how far each log was read: what is before that may be left out. Of one without a hash it is looked
                   what is there; of others a hint will do
            """

        def read(self, place: "SegmentPlace") -> bytes:
            """The bytes of a segment that was listed; b"" when it is gone or larger than one may be."""

        def publish(self, new: "Iterable[tuple[SegmentPlace, bytes]]", drop: "Iterable[SegmentPlace]" = ()) -> None:
            """Write segments, in order, and then take older ones of the same logs away; what is there already stays.

            Without any, what shows others the way is mended.
            """


class LostRace(OSError):
    """Somebody else wrote at the same time: what is there is to be looked at again."""


class SegmentPlace(NamedTuple):
    """Which segment of which log."""

    scope: str
    replica: str
    name: SegmentName


def folded_name(scope: str) -> str:
    """A scope as the name of a file or a ref: one for each, also where case does not count."""
    from memctl import ids

    plain = "".join(char if char in "abcdefghijklmnopqrstuvwxyz0123456789-_" else "=" for char in scope)
    return (
        scope
        if plain == scope and len(scope) <= 60
        else f"{plain[:60].strip('=')}={ids.bytes_hash(scope.encode())[:16]}"
    )


def in_order(names: Iterable[SegmentName]) -> list[SegmentName]:
    """The segments that make a log, in order: of those that stand for others the last ones, and what follows."""
    found = sorted(set(names), key=lambda one: (one.last, -one.first, one.hash))
    start = max((one.last for one in found if one.first < one.last), default=0)
    return [one for one in found if one.last >= start]


#: Bytes that are fetched at once.
_AT_ONCE = 16 << 20


class ReadAhead:
    """What is far away is fetched in portions: with a segment come those that are read after it."""

    def __init__(self) -> None:
        self._sizes: dict[SegmentPlace, int] = {}
        self._order: list[SegmentPlace] = []
        self._bodies: dict[SegmentPlace, bytes] = {}

    def remember(
        self, sizes: Mapping[SegmentPlace, int], known: "Mapping[tuple[str, str], KnownLog]"
    ) -> dict[tuple[str, str], list[SegmentName]]:
        """The logs that these segments make; their sizes are known, and what is new in them is read in this order."""
        logs: dict[tuple[str, str], list[SegmentName]] = {}
        for one in sizes:
            logs.setdefault((one.scope, one.replica), []).append(one.name)
        found = {log: in_order(names) for log, names in sorted(logs.items())}
        self._sizes, self._bodies = {**sizes}, {}
        read = {log: one.last for log, one in known.items()}
        self._order = [
            SegmentPlace(*log, name) for log, names in found.items() for name in names if name.last > read.get(log, 0)
        ]
        return found

    def read(self, place: SegmentPlace) -> bytes:
        """The bytes of a segment."""
        if not 0 < self._sizes.get(place, 0) <= MOST_BYTES:
            return b""
        if place not in self._bodies:
            at = self._order.index(place) if place in self._order else len(self._order)
            some, size = [place], self._sizes[place]
            for one in self._order[at + 1 :]:
                size += self._sizes[one]
                if size > _AT_ONCE:
                    break
                some.append(one)
            self._bodies = dict.fromkeys(some, b"") | self.fetch(some)
        return self._bodies.pop(place, b"")

    def fetch(self, places: list[SegmentPlace]) -> dict[SegmentPlace, bytes]:
        """The bodies of segments, as far as they are there."""
        raise NotImplementedError
