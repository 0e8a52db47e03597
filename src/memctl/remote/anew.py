"""A log that is written anew: after the remote was lost, and when it is compacted."""

from collections.abc import Iterator

from memctl.annotations import TYPE_CHECKING
from memctl.remote import merge, segments
from memctl.remote.carrier import LostRace, SegmentPlace
from memctl.remote.errors import RemoteInvalid
from memctl.store import remotes
from memctl.store.remotes import KnownLog, OutgoingSegment

if TYPE_CHECKING:
    from memctl.remote.exchange import Parts, RemoteExchange


def publish(exchange: "RemoteExchange", log: KnownLog) -> None:
    """Let all that we said go out once more, after a segment that stands for what the log had.

    In portions, as everything is written. Whatever ends it, nothing is missed: what was said is first noted as not
    sent, and only when all of it is, the outbox begins with that segment. An outbox that does, or what is noted,
    then has everything. Raises LostRace if another process sent something in between.
    """
    after = ""
    while True:
        known = remotes.keys_after(exchange.db, exchange.name, log.scope, after, exchange.portion)
        said = [one.key for one in known if merge.own_part(one.state, log.replica)]
        with exchange.db.atomic():
            remotes.mark_sent(exchange.db, exchange.name, said, unsent=True)
        if len(known) < exchange.portion:
            break
        after = known[-1].key
        exchange.let_others_write()
    number = log.last
    for out in reversed(_waiting(exchange, log.scope)):
        number = max(number, out.number)
        with exchange.db.atomic():
            _take_back(exchange, out)
        exchange.let_others_write()
    with exchange.db.atomic():
        own = remotes.get_logs(exchange.db, exchange.name).get((log.scope, log.replica))
        waiting = _waiting(exchange, log.scope)
        if stands_for_all(waiting):  # another process was faster
            return
        if own != log or waiting:
            raise LostRace(0, "another process wrote there")
        unsent = remotes.unsent_keys(exchange.db, exchange.name, log.scope, exchange.portion)
        exchange.pack(log.scope, unsent, number)
        remotes.mark_sent(exchange.db, exchange.name, [one.key for one in unsent])


def _waiting(exchange: "RemoteExchange", scope: str) -> list[OutgoingSegment]:
    return [one for one in remotes.get_outbox(exchange.db, exchange.name) if one.scope == scope]


def _take_back(exchange: "RemoteExchange", out: OutgoingSegment) -> None:
    """Let what is in the last segment on its way out be packed another time."""
    if remotes.last_out(exchange.db, exchange.name, out.scope) != out.name:
        raise LostRace(0, "another process wrote there")
    keys = [key for key, _ in segments.records_of(out.plain or out.body)]
    remotes.mark_sent(exchange.db, exchange.name, keys, unsent=True)
    remotes.take_out(exchange.db, exchange.name, [out])


def said_by(replica: str, state: merge.State) -> merge.State:
    """What the log of a replica says of a key: what it said, without a first title that is no longer one."""
    part = merge.own_part(state, replica)
    renamed = state.get("set", {}).get("title")
    if not renamed or not part.get("born"):
        return part
    title = renamed[1] if merge.author_of(renamed[0]) == replica else ""
    born = {at: [*one[:2], title, *one[3:]] if len(one) > 1 else one for at, one in part["born"].items()}
    return part | {"born": born}


def stands_for_all(waiting: list[OutgoingSegment]) -> bool:
    """Whether what is on its way out begins with a segment that stands for a whole log."""
    first = segments.parse_name(waiting[0].name) if waiting else None
    return first is not None and first.first < first.last


def compacted(exchange: "RemoteExchange") -> Iterator[tuple[str, int]]:
    """Replace our own logs by one segment or a few each, without what later pieces have overtaken: scope, records."""
    exchange.remote = exchange.load()
    logs = remotes.get_logs(exchange.db, exchange.name)
    for scope in sorted(set(exchange.remote.scopes.values())):
        own = logs.get((scope, exchange.remote.replica))
        if own is not None and own.last:
            before = exchange.done.sent
            publish(exchange, own)
            exchange.fill(scope)
            yield scope, exchange.done.sent - before


def compacted_for(exchange: "RemoteExchange", replica: str) -> Iterator[tuple[str, int]]:
    """Do the same with the log of somebody who is gone, as far as it was read here: scope, records.

    If he is not, he goes on under another name, and what he had not sent is not lost. Raises RemoteInvalid and OSError.
    """
    if exchange.seal.signers:
        raise RemoteInvalid(reason="logs are signed here, each by who has written it: nobody else compacts it")
    known = remotes.get_logs(exchange.db, exchange.name)
    listing = exchange.carrier.listing(sorted(set(exchange.remote.scopes.values())))
    for scope in [scope for scope, one in listing if one == replica]:
        there, log = listing[scope, replica], known.get((scope, replica), KnownLog(scope, replica))
        if log.last != there[-1].last:
            raise RemoteInvalid(
                reason=f"the log of {log.who or replica} was not read to its end: {log.problem or 'sync'}"
            )
        parts = _said_in(exchange, scope, replica)
        made = segments.pack_all(scope, replica, log.who, log.last, parts, exchange.seal.seal)
        new = [(SegmentPlace(scope, replica, name), body) for name, body in made]
        exchange.carrier.publish(new, [SegmentPlace(scope, replica, name) for name in there])
        yield scope, len(parts)


def _said_in(exchange: "RemoteExchange", scope: str, replica: str) -> "Parts":
    """All that is known here of what a replica has said in a scope."""
    found = ((one.key, said_by(replica, one.state))
             for one in remotes.all_keys(exchange.db, exchange.name) if one.scope == scope)  # fmt: skip
    return [(key, part) for key, part in found if part]
