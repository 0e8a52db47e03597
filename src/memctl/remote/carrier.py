"""What carries logs: a place where segments are listed, read and written. It understands nothing of them.

A carrier may lie, lose, repeat and fail: whoever reads checks (`segments`), and whoever writes asks again.
"""

from collections.abc import Collection, Iterable

from memctl.annotations import TYPE_CHECKING, NamedTuple
from memctl.remote.segments import SegmentName

if TYPE_CHECKING:
    from typing import Protocol

    class Carrier(Protocol):
        """One remote, open. All calls raise OSError when it cannot be reached or refuses, LostRace when it changed."""

        def listing(self, scopes: Collection[str]) -> "dict[tuple[str, str], list[SegmentName]]":
            """The segments of each log, by scope and replica, in order."""

        def read(self, place: "SegmentPlace") -> bytes:
            """The bytes of a segment that was listed; b"" when it is gone or larger than one may be."""

        def publish(self, new: "Iterable[tuple[SegmentPlace, bytes]]", drop: "Iterable[SegmentPlace]" = ()) -> None:
            """Write segments, in order, and then take older ones of the same logs away; what is there already stays."""


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
