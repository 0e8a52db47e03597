"""What can be said of a remote: how far both sides are, who wrote what, and whether its logs are whole."""

from collections.abc import Iterator

from memctl import ids
from memctl.annotations import TYPE_CHECKING, Any
from memctl.item_policy import ItemPolicy
from memctl.remote import merge, segments
from memctl.remote.carrier import SegmentPlace
from memctl.store import remotes
from memctl.store.database import Database
from memctl.store.items import items
from memctl.store.remotes import KnownLog

if TYPE_CHECKING:
    from memctl.remote.carrier import Carrier
    from memctl.remote.exchange import RemoteExchange
    from memctl.store.remotes import Remote

#: What an entry of each part of a state says that somebody did.
_DEEDS = {"born": "said", "text": "edited", "life": "archived", "held": "held back", "gone": "purged"}


def state_of(db: Database, remote: "Remote", carrier: "Carrier | None") -> dict[str, Any]:
    """How far both sides are; `behind` is None where the remote is not asked, or does not answer.

    ahead   statements and segments that wait to be sent, and items of shared scopes that changed
    behind  segments of others that were not read yet
    held    shared items that are in quarantine here: what policy holds back, and what others took away
    """
    logs = remotes.get_logs(db, remote.name)
    shared, unsent = remotes.count_keys(db, remote.name)
    changed = remotes.count_dirty(db, [*remote.scopes])
    problems = [f"{one.who or one.replica} ({one.scope}): {one.problem}" for one in logs.values() if one.problem]
    problems += [f"last exchange: {remote.problem}"] if remote.problem else []
    behind = None
    if carrier is not None:
        try:
            found = carrier.listing(sorted(set(remote.scopes.values())), logs)
        except OSError as exc:
            problems.append(f"cannot be reached: {exc.strerror or exc}")
        else:
            others = (item for item in found.items() if item[0][1] != remote.replica)
            read = {place: log.last for place, log in logs.items()}
            behind = sum(name.last > read.get(place, 0) for place, names in others for name in names)
    authors = [
        {"replica": one.replica, "who": one.who, "scope": one.scope, "records": one.records, "read_at": one.read_at,
         "own": one.replica in remote.mine}
        for one in logs.values()
    ]  # fmt: skip
    return {
        "ahead": unsent + changed + len(remotes.get_outbox(db, remote.name)), "behind": behind, "shared": shared,
        "held": remotes.count_held(db, remote.name),
        "exchanged_at": remote.exchanged_at or None, "authors": authors, "problems": problems,
    }  # fmt: skip


def damage_of(db: Database, remote: "Remote") -> Iterator[str]:
    """What is wrong with what this store knows of a remote; nobody is asked."""
    if damaged := remotes.damaged_keys(db, remote.name):
        yield f"{len(damaged)} statement(s) cannot be read, such as {damaged[0]}"
    logs = remotes.get_logs(db, remote.name)
    for one in logs.values():
        if one.last and not (one.last > 0 and segments.parse_name(f"{1:08d}-{one.last:08d}-{one.hash}")):
            yield f"how far the log of {one.who or one.replica} was read cannot be read"
    ends = {scope: (one.last, one.hash) for (scope, replica), one in logs.items() if replica == remote.replica}
    for out in remotes.get_outbox(db, remote.name):
        end = ends.get(out.scope, (0, ""))
        found = segments.following(*end, out.name, out.body)
        if found is None:
            yield f"segment {out.number} of {out.scope}, on its way out, does not follow segment {end[0]}"
            return
        ends[out.scope] = found


def entries_of(db: Database, remote: "Remote") -> list[dict[str, Any]]:
    """Who did what to which statement, newest first."""
    who = {one.replica: one.who for one in remotes.get_logs(db, remote.name).values() if one.who}
    known = remotes.all_keys(db, remote.name)
    titles = {item.id: item.title for item in items.get_many(db, [one.item_id for one in known if one.item_id])}
    gone = {item_id for one in known if not one.item_id for item_id in merge.ids_of(one.state)}
    others, found = remotes.ids_in_use(db, gone), []
    for one in known:
        born = (item_id for item_id in merge.ids_of(one.state) if item_id not in others - {one.wrote.get("left")})
        shown = one.item_id or next(born, one.key)
        births = one.state.get("born", {})
        for part, deed in _DEEDS.items():
            for stamp, entry in one.state.get(part, {}).items():
                if part == "text" and stamp in births:
                    continue
                said = "restored" if part == "life" and not entry[0] else deed
                found.append((stamp, said, shown, titles.get(one.item_id, "")))
    return [
        {"at": ids.timestamp(merge.clock_of(stamp) / 1_000_000), "who": who.get(merge.author_of(stamp))
         or merge.author_of(stamp)[:6], "what": said, "id": item_id, "title": title}
        for stamp, said, item_id, title in sorted(found, reverse=True)
    ]  # fmt: skip


def verified(exchange: "RemoteExchange") -> list[dict[str, Any]]:
    """Each log read from its beginning, with what is wrong in it, and whether it still has what was read earlier."""
    known = remotes.get_logs(exchange.db, exchange.name)
    listing = exchange.carrier.listing(sorted(set(exchange.remote.scopes.values())))
    rows = [_verified(exchange, known.get(log, KnownLog(*log)), names) for log, names in sorted(listing.items())]
    gone = [one for place, one in known.items() if place not in listing and one.last]
    return rows + [
        {"scope": one.scope, "replica": one.replica, "who": one.who, "segments": 0, "records": 0,
         "problem": f"is gone; {one.last} segment(s) were there"}
        for one in gone
    ]  # fmt: skip


def _verified(exchange: "RemoteExchange", known: KnownLog, names: "list[segments.SegmentName]") -> dict[str, Any]:
    """A log read from its beginning, and compared with what is known of it."""
    own = known.replica in exchange.remote.mine  # what it calls itself need not be what its key is called
    log, problem = KnownLog(known.scope, known.replica, who="" if own else known.who), ""
    last, count, who, judge = 0, 0, "", ItemPolicy(exchange.policy)
    read = segments.read_log(
        names, log, lambda name: exchange.carrier.read(SegmentPlace(log.scope, log.replica, name)), exchange.seal
    )
    try:
        for name, segment in read:
            last, count = name.last, count + len(segment.records)
            who = "" if judge.refuses(segment.who) else segment.who
    except segments.SegmentProblem as exc:
        problem = str(exc)
    if not problem and known.last > last:
        problem = f"ends at segment {last}; {known.last} were read earlier: it was rolled back"
    return {"scope": log.scope, "replica": log.replica, "who": who, "segments": len(names), "records": count,
            "problem": problem}  # fmt: skip
