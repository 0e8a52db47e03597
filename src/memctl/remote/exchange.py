"""An exchange: a store and a remote tell each other what they do not know.

    listing            what is there                        (one call)
    read               logs of others, as far as new; their words are judged
    transactions       our log is recognised, stock is taken, states are joined and rows written, segments are made
    publish            what is on its way out               (one call)
    one transaction    it has arrived

A transaction takes a thousand statements at most, and a gap follows, so that nobody else who writes waits for long.
Whatever ends it in between, the next one goes on: a segment is on its way out until it was seen to have arrived, how
far a log was read is noted when all of that is written, and what is read twice changes nothing.
"""

import gc
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext, suppress

from memctl import ids
from memctl.annotations import TYPE_CHECKING, Any, NamedTuple
from memctl.item_policy import ItemPolicy
from memctl.remote import anew, merge, segments
from memctl.remote.arrival import Arrival, check_removals
from memctl.remote.carrier import LostRace, SegmentPlace
from memctl.remote.errors import RemoteUnreachable
from memctl.remote.sealing import RemoteSeal, SealProblem
from memctl.remote.stock import Stock, TheirStates
from memctl.store import purge, remotes
from memctl.store.database import Database
from memctl.store.remotes import KnownKey, KnownLog, OutgoingSegment, Remote

if TYPE_CHECKING:
    from memctl.policy import MemoryPolicy
    from memctl.remote.carrier import Carrier

    Listing = dict[tuple[str, str], list[segments.SegmentName]]
    Parts = list[tuple[str, merge.State]]
    #: Of which scope and replica, its key, what it says, and the stamp of what is one birth and nothing since.
    Records = list[tuple[str, str, str, merge.State, str]]

#: Times that what changes meanwhile is sent in one exchange, and that one begins anew when others write there.
_ROUNDS, _TRIES = 3, 6
#: Statements that are written in one transaction.
_PORTION = 1000
#: Bytes of what others wrote, inflated, that are taken at once: how much it is decides nothing about this machine.
_MOST_NEWS = segments.MOST_INFLATED


class Exchanged(NamedTuple):
    """What an exchange did.

    sent, received            records
    new, changed, archived, purged, held, refused   items here
    waits                     items that policy does not let out: id -> why
    problems                  what is wrong with logs of others: who -> what
    leaves                    in a dry run: the records that would leave, with their scope
    became                    the new name of this store there, if it was recognised as a copy
    more                      others have said more there than was read
    """

    sent: int = 0
    received: int = 0
    new: int = 0
    changed: int = 0
    archived: int = 0
    purged: int = 0
    held: int = 0
    refused: int = 0
    waits: "dict[str, str]" = {}  # noqa: RUF012 - never changed
    problems: "dict[str, str]" = {}  # noqa: RUF012 - never changed
    leaves: "list[dict[str, Any]]" = []  # noqa: RUF012 - never changed
    became: str = ""
    more: bool = False


def _may_remove(state: merge.State) -> bool:
    """Whether a state may take an item away."""
    return "life" in state or "gone" in state


class _DryRun(Exception):
    pass


class _UnreadLog(Exception):
    """What stands at the remote in our name has to be read."""


class RemoteExchange:
    """One store and one remote, with what carries between them.

    who  what this store calls itself there
    """

    def __init__(self, db: Database, name: str, carrier: "Carrier", policy: "MemoryPolicy", who: str) -> None:
        self.db, self.name, self.carrier, self.policy, self.who = db, name, carrier, policy, who
        self.judge = ItemPolicy(policy)
        self.remote = self.load()
        self.done = Exchanged()
        self.seal = RemoteSeal.of(self.remote.options)
        self._plain: dict[bytes, bytes] = {}
        self._packed: dict[str, tuple[int, int]] = {}  # segments by name: how many records, the newest clock
        self._unread: dict[tuple[str, str], int] | None = None  # how many segments of each log may still be read
        self._published: dict[str, set[str]] = {}  # by a name of ours the stamps that stand there
        self._is_dry, self.portion = False, _PORTION

    def load(self) -> Remote:
        """The remote as it stands in the store now."""
        return next(one for one in remotes.list_remotes(self.db) if one.name == self.name)

    def run(self, *, accept: bool = False, dry_run: bool = False) -> Exchanged:
        """Exchange once. Raises RemoteUnreachable and RemovalsWait; then nothing was lost.

        No more segments of a log are read than it had at first: who goes on writing there keeps nobody busy for ever.

        accept   take over what others removed, however much it is
        dry_run  only find out what would leave and come
        """
        # What is read and joined is no cycle, and much: looking for cycles there takes 4 % of all.
        looks = gc.isenabled()
        gc.disable()
        try:
            tried, more, self._unread, self._is_dry = 0, True, None, dry_run
            while more:
                try:
                    more = self._exchange(accept=accept, dry_run=dry_run)
                except LostRace:
                    tried, self._unread = tried + 1, None
                    if tried == _TRIES:
                        raise
                    ids.pause(0.01 * 2**tried, 0.05 * 2**tried)
        except OSError as exc:
            reason = exc.strerror or str(exc)
            if not dry_run:
                with self.db.atomic():
                    remotes.save_remote(self.db, self.load()._replace(problem=reason[:500]))
            raise RemoteUnreachable(name=self.name, reason=reason) from exc
        finally:
            if looks:
                gc.enable()
        return self.done

    def _exchange(self, *, accept: bool, dry_run: bool) -> bool:
        """Whether more is to be read now: others had said more than is read at once. A dry run reads no further."""
        self._published = {}
        self.judge = ItemPolicy(self.policy)  # it keeps the texts in which it has found nothing
        before = remotes.get_logs(self.db, self.name)
        own = {log: one._replace(hash="") for log, one in before.items() if log[1] == self.remote.replica}
        listing = self.carrier.listing(sorted(set(self.remote.scopes.values())), before | own)
        news = _News(self, listing, before)
        if self._unread is None:
            self._unread = news.ahead()
        news.read(self._unread)
        self.done = self.done._replace(more=bool(news.left))
        try:
            with self.db.atomic() if dry_run else nullcontext():
                if dry_run:
                    self.seal = self.seal._replace(sign="", recipients="")
                self._join(news, listing, before, accept=accept)
                if dry_run:
                    self._tell_leaving()
                    raise _DryRun
        except _DryRun:
            return False
        self._purge()
        for _ in range(_ROUNDS):
            if not self._send(listing):
                break
        with self.db.atomic():
            now = self.load()._replace(exchanged_at=ids.timestamp(), problem="")
            remotes.save_remote(self.db, now)
        return news.is_full and any(map(self._unread.get, news.left))

    # --- transactions ---------------------------------------------------------------------------------------------

    def _join(self, news: "_News", listing: "Listing", before: Mapping[Any, KnownLog], *, accept: bool) -> None:
        """Recognise, take stock, join, write rows, make segments. Raises RemovalsWait before anything is joined."""
        for log in self._recognise_all(listing, before):
            anew.publish(self, log)
        version = remotes.version_of(self.db)
        self._take_all_stock(remotes.dirty_ids(self.db), news)
        if not accept:
            known = remotes.get_keys(self.db, self.name, {one[2] for one in news.records})
            may_remove = [one for one in news.records if one[2] in known or _may_remove(one[3])]
            gone = self.done.archived + self.done.purged
            check_removals(self.db, self.remote, self._joined(may_remove, known).values(), gone)
        for number, some in enumerate(news.portions()):
            if number:
                self.let_others_write()
            if version != remotes.version_of(self.db) and len(late := remotes.dirty_ids(self.db)) > _PORTION:
                self._take_all_stock(late, news)
            with self.db.atomic():
                before_it, version = version, remotes.version_of(self.db)
                if version != before_it:  # others wrote: what they changed is known before anything is joined
                    self._take_stock(remotes.dirty_ids(self.db), news)
                self._bring(some, news)
        with self.db.atomic():
            remotes.save_logs(self.db, self.name, [*news.logs.values()])
        self._count(received=news.count, refused=news.refused)
        self.done = self.done._replace(problems=news.problems)
        for scope in () if self.remote.read_only else sorted(set(self.remote.scopes.values())):
            self.fill(scope)

    def let_others_write(self) -> None:
        """SQLite has others ask every 50 to 100 ms: without a gap they wait for the whole exchange."""
        if not self._is_dry:  # that is one transaction
            ids.pause(0.02, 0.06)

    def _count(self, **counts: int) -> None:
        self.done = self.done._replace(**{name: count + getattr(self.done, name) for name, count in counts.items()})

    def _take_all_stock(self, dirty: list[str], news: "_News") -> None:
        """Take stock in portions, first of what may be known there: else what is said again here takes its key."""
        known = {item_id for _, item_id in news.births().by_id} if dirty else set[str]()
        dirty = sorted(dirty, key=lambda one: one not in known)
        for start in range(0, len(dirty), _PORTION):
            if start:
                self.let_others_write()
            with self.db.atomic():
                self._take_stock(dirty[start : start + _PORTION], news)

    def _take_stock(self, dirty: list[str], news: "_News") -> None:
        """Let states say what changed of these items here."""
        self.remote = self.load()
        clock = max(int(ids.now_seconds() * 1_000_000), (self.remote.clock or news.clock) + 1)  # newer than theirs
        stamp = merge.make_stamp(clock, self.remote.replica)
        stock = Stock(self.db, self.remote, self.judge, stamp, news.births)
        stock.take(dirty)
        changed = [*stock.changed.values()]
        if not self.remote.read_only:  # what is new is sent as it is: it need not be read again
            for scope in sorted({one.scope for one in changed}):
                self.pack(scope, [one for one in changed if one.scope == scope and one.unsent])
            changed = [one._replace(unsent=False) for one in changed]
        remotes.save_keys(self.db, self.name, changed)
        remotes.save_remote(self.db, self.remote._replace(clock=clock))
        self.done = self.done._replace(waits=self.done.waits | stock.waits)

    def _bring(self, records: "Records", news: "_News") -> None:
        """Join what others say, and write the rows that follow."""
        touched = self._joined(records, remotes.get_keys(self.db, self.name, {one[2] for one in records}))
        self.remote = self.load()
        self.remote = self.remote._replace(clock=max(self.remote.clock, news.clock))
        remotes.save_remote(self.db, self.remote)
        logs = [*remotes.get_logs(self.db, self.name).values(), *news.logs.values()]
        who = {one.replica: one.who for one in logs if one.who}
        arrival = Arrival(self.db, self.remote, self.judge, self.policy.switches, who)
        arrival.write(touched.values())
        self._count(new=arrival.new, changed=arrival.changed, archived=arrival.archived,
                    purged=len(arrival.purged), held=arrival.held, refused=arrival.refused)  # fmt: skip

    def _joined(self, records: "Records", known: dict[str, KnownKey]) -> dict[str, KnownKey]:
        """The keys of which more is known with what others say."""
        view = merge.MergeView(frozenset(self.remote.mine), self.remote.trust)
        touched: dict[str, KnownKey] = {}
        for scope, replica, key, state, born in records:
            one = touched.get(key) or known.get(key)
            if one is None and born.endswith(f".{replica}"):  # nearly all that comes at once: nothing is joined
                touched[key] = KnownKey(key, scope, "", state, {}, newborn_at=born)
                continue
            one = one or KnownKey(key, scope, "", {}, {})
            if one.scope != scope:
                continue
            joined = merge.join(one.state, merge.admitted(state, replica, view))
            if joined != one.state:
                touched[key] = one._replace(state=joined, newborn_at="")
        return touched

    def fill(self, scope: str) -> None:
        """Make segments of all that is not sent."""
        while self._fill_segment(scope):
            self.let_others_write()

    def _fill_segment(self, scope: str) -> bool:
        """Make a segment of what an earlier exchange, or a new name, left to be sent; whether there was anything."""
        with self.db.atomic():
            unsent = remotes.unsent_keys(self.db, self.name, scope, self.portion)
            self.pack(scope, unsent)
            remotes.mark_sent(self.db, self.name, [one.key for one in unsent])
        return bool(unsent)

    def pack(self, scope: str, unsent: "Iterable[KnownKey]", whole: int = 0) -> None:
        """Let what we say of these keys be on its way out; `whole`: for all that the log had, up to this number."""
        replica = self.load().replica
        parts = [(one.key, part) for one in unsent if (part := anew.said_by(replica, one.state))]
        own = remotes.get_logs(self.db, self.name).get((scope, replica), KnownLog(scope, replica))
        last = segments.parse_name(remotes.last_out(self.db, self.name, scope)) or own
        if whole:
            made = segments.pack_all(scope, replica, self.who, whole, parts, self._seal)
        else:
            made = [*segments.pack(scope, replica, self.who, last.last, last.hash, parts, self._seal)]
        self._put_out(scope, made)
        if len(made) == 1 and parts:
            newest = max(merge.newest(part) for _, part in parts)  # "": members of sets were taken away, and no more
            self._packed[str(made[0][0])] = len(parts), merge.clock_of(newest) if newest else 0
        self._count(sent=len(parts))

    def _seal(self, place: str, body: bytes) -> bytes:
        sealed = self.seal.seal(place, body)
        if sealed is not body:
            self._plain[sealed] = body
        return sealed

    def _put_out(self, scope: str, made: "Iterable[tuple[segments.SegmentName, bytes]]") -> None:
        out = [OutgoingSegment(scope, name.last, str(name), body, self._plain.pop(body, b"")) for name, body in made]
        remotes.put_out(self.db, self.name, out)

    def _tell_leaving(self) -> None:
        leaves = []
        for out in remotes.get_outbox(self.db, self.name):
            name = segments.parse_name(out.name)
            if name is not None:
                for key, state in segments.records_of(out.plain or out.body):
                    leaves.append({"scope": out.scope, "key": key, "record": state})
        self.done = self.done._replace(leaves=leaves)

    # --- whose log it is ------------------------------------------------------------------------------------------

    def _recognise_all(self, listing: "Listing", before: Mapping[Any, KnownLog]) -> list[KnownLog]:
        """Compare our logs there with what we know of them; those that are to be published anew."""
        while True:
            try:
                with self.db.atomic():
                    self.remote, lost = self.load(), list[KnownLog]()
                    logs = remotes.get_logs(self.db, self.name)
                    for scope in sorted(set(self.remote.scopes.values())):
                        own = logs.get((scope, self.remote.replica))
                        if own == before.get((scope, self.remote.replica)):  # else another process was faster
                            lost += self._recognise(scope, listing.get((scope, self.remote.replica), []), own)
                    return lost
            except _UnreadLog:  # the remote is asked while others may write to this store
                self._published[self.remote.replica] = self._published_by(self.remote.replica)

    def _recognise(self, scope: str, there: "list[segments.SegmentName]", own: KnownLog | None) -> list[KnownLog]:
        """Compare our log there with what we know of it: a crash after a push, a copy of this store, or a loss.

        What is returned is to be published anew: our log, if it is gone there, or somebody has rolled it back.
        """
        waiting = [one for one in remotes.get_outbox(self.db, self.name) if one.scope == scope]
        last, digest = (own.last, own.hash) if own else (0, "")
        later = [str(name) for name in there if name.last > last]
        arrived = waiting[: len(later)]
        if later and later == [one.name for one in arrived]:
            self._acknowledge(arrived)
            return []
        same = any((name.last, name.hash) == (last, digest) for name in there)
        if later or (there and last and not same and there[-1].last >= last):
            self._become_another()
            return []
        is_lost = bool(last) and not same and not self.remote.read_only
        return [own] if own and is_lost and not anew.stands_for_all(waiting) else []

    def _become_another(self) -> None:
        """This store is a copy: another one has written in its name since. What it has not sent gets a new name.

        Raises _UnreadLog until it was read what that was.
        """
        old, new = self.remote.replica, remotes.new_replica()
        if old not in self._published:
            raise _UnreadLog
        logs, published = remotes.get_logs(self.db, self.name), self._published[old]
        sent = max((one.clock for one in logs.values() if one.replica == old), default=0)
        outbox = remotes.get_outbox(self.db, self.name)
        said = {key for out in outbox for key, _ in segments.records_of(out.plain or out.body)}
        said |= {one.key for one in remotes.unsent_keys(self.db, self.name)}
        known = remotes.get_keys(self.db, self.name, said)
        again = [
            one._replace(state=merge.restamped(one.state, old, new, sent, published), unsent=True)
            for one in known.values()
        ]
        remotes.save_keys(self.db, self.name, again)
        remotes.take_out(self.db, self.name, outbox)
        read_anew = [one._replace(last=0, hash="", who="") for one in logs.values() if one.replica == old]
        remotes.save_logs(self.db, self.name, read_anew)
        self.remote = self.remote._replace(replica=new, mine=(*self.remote.mine, new))
        remotes.save_remote(self.db, self.remote)
        self.done = self.done._replace(became=new)

    def _published_by(self, replica: str) -> set[str]:
        """The stamps in the logs there that have our old name, as far as they can be read."""
        scopes = sorted(set(self.remote.scopes.values()))
        found, stamps = self.carrier.listing(scopes), set[str]()
        for place in [
            SegmentPlace(*log, name) for log in ((one, replica) for one in scopes) for name in found.get(log, ())
        ]:
            with suppress(SealProblem):
                body = self.seal.open(self.carrier.read(place))
                stamps |= {stamp for _, state in segments.records_of(body) for stamp in merge.stamps_of(state, replica)}
        return stamps

    # --- sending --------------------------------------------------------------------------------------------------

    def _send(self, listing: "Listing") -> bool:
        """Publish what is on its way out; whether there was anything."""
        if self.remote.read_only:
            return False
        outbox = remotes.get_outbox(self.db, self.name)
        replica = self.load().replica
        new, drop = list[tuple[SegmentPlace, bytes]](), list[SegmentPlace]()
        for one in outbox:
            name = segments.parse_name(one.name)
            if name is None:
                continue
            new.append((SegmentPlace(one.scope, replica, name), one.body))
            if name.first < name.last:  # it stands for the whole log
                older = listing.get((one.scope, replica), [])
                drop += [SegmentPlace(one.scope, replica, gone) for gone in older if gone.last < name.last]
        self.carrier.publish(new, drop)
        if outbox:
            with self.db.atomic():
                self._acknowledge(outbox)
        return bool(outbox)

    def _acknowledge(self, arrived: list[OutgoingSegment]) -> None:
        """Segments of ours have arrived."""
        remotes.take_out(self.db, self.name, arrived)
        replica = self.load().replica
        logs = remotes.get_logs(self.db, self.name)
        for one in arrived:
            name = segments.parse_name(one.name)
            if name is None:
                continue
            own = logs.get((one.scope, replica), KnownLog(one.scope, replica))
            if one.name not in self._packed:
                records = segments.records_of(one.plain or one.body)
                stamps = [at for _, state in records for at in merge.stamps_of(state, replica)]
                self._packed[one.name] = len(records), max(map(merge.clock_of, stamps), default=0)
            count, clock = self._packed[one.name]
            own = own._replace(last=name.last, hash=name.hash, clock=max(own.clock, clock), who=self.who,
                               read_at=ids.timestamp(), records=own.records + count)  # fmt: skip
            logs[one.scope, replica] = own
        remotes.save_logs(self.db, self.name, [one for one in logs.values() if one.replica == replica])

    def _purge(self) -> None:
        """Delete for good what others deleted whose word it is; a process that is killed here does it next time."""
        gone = remotes.purged_here(self.db, self.name)
        if gone:
            purge.purge_items(self.db, [one.item_id for one in gone], "remote", bury=True)
            with self.db.atomic():
                remotes.clear_intents(self.db, [one.item_id for one in gone])
                remotes.clear_dirty(self.db, [one.item_id for one in gone])
                remotes.save_keys(self.db, self.name, [one._replace(item_id="", wrote={}) for one in gone])


class _News:
    """What others have written since: read and checked before the store is locked.

    records   in the order of the logs
    logs      how far each log is known now
    problems  who -> what is wrong with his log
    refused   records with a secret in them: nothing of them is kept
    left      the logs that have more to read
    """

    def __init__(self, exchange: RemoteExchange, listing: "Listing", known: Mapping[tuple[str, str], KnownLog]) -> None:
        self._carrier, self._listing, self._known = exchange.carrier, listing, known
        self._own, self._judge, self._seal = exchange.remote.replica, exchange.judge, exchange.seal
        self.records: Records = []
        self.logs: dict[tuple[str, str], KnownLog] = {}
        self.problems: dict[str, str] = {}
        self.left: list[tuple[str, str]] = []
        self.clock = self.count = self.refused = self._size = 0
        self._latest = int(ids.now_seconds() * 1_000_000) + segments.MOST_AHEAD
        self._births: TheirStates | None = None

    @property
    def is_full(self) -> bool:
        """Whether as much was read as is taken at once."""
        return self._size >= _MOST_NEWS

    def ahead(self) -> dict[tuple[str, str], int]:
        """How many segments of each log but our own are there to be read."""
        return {
            log: sum(one.last > self._beginning(*log, names)[0].last for one in names)
            for log, names in self._listing.items()
            if log[1] != self._own
        }

    def read(self, unread: dict[tuple[str, str], int]) -> None:
        """Read all logs but our own, until it is full, and of each at most so many segments; they are counted down."""
        for log, names in sorted(self._listing.items()):
            if log[1] != self._own and self._read_log(*log, names, unread) < names[-1].last:
                self.left.append(log)

    def _beginning(self, scope: str, replica: str, names: "list[segments.SegmentName]") -> tuple[KnownLog, str]:
        """From where a log is to be read, and what is wrong with it."""
        known = self._known.get((scope, replica), KnownLog(scope, replica))
        log = known._replace(problem="")
        goes_on = not known.last or any(
            (one.last, one.hash) == (known.last, known.hash) or one.first <= known.last < one.last for one in names
        )
        if names[-1].last >= known.last and goes_on:  # it has, or stands for, what was read of it
            return log, ""
        log = log._replace(last=0, hash="") if names[-1].last >= known.last else log
        return log, "was rolled back or rewritten: what was read of it earlier stays"

    def _read_log(
        self, scope: str, replica: str, names: "list[segments.SegmentName]", unread: dict[tuple[str, str], int]
    ) -> int:
        """Read a log; the number of the segment after which something could be read another time."""
        place = scope, replica
        known = self._known.get(place, KnownLog(scope, replica))
        log, problem = self._beginning(scope, replica, names)
        if self.is_full:
            return log.last
        read = segments.read_log(
            names, log, lambda name: self._carrier.read(SegmentPlace(scope, replica, name)), self._seal
        )
        try:
            for name, segment in read if unread.get(place) else ():
                self._take(scope, replica, name.last, segment)
                who = "" if self._judge.refuses(segment.who) else segment.who
                log = log._replace(last=name.last, hash=name.hash, who=who, read_at=ids.timestamp(),
                                   records=log.records + len(segment.records))  # fmt: skip
                unread[place] -= 1
                if self.is_full or not unread[place]:
                    break
            end = log.last
        except segments.SegmentProblem as exc:
            problem, end = str(exc), names[-1].last
        if problem:
            self.problems[f"{scope}/{log.who or replica}"] = problem
        if log._replace(problem=problem) != known:
            self.logs[place] = log._replace(problem=problem)
        return end

    def _take(self, scope: str, replica: str, number: int, segment: segments.Segment) -> None:
        born = [merge.newborn(state) for _, state in segment.records]
        newest = [at or merge.newest(state) for at, (_, state) in zip(born, segment.records, strict=True)]
        clock = max((merge.clock_of(stamp) for stamp in {*newest} if stamp), default=0)
        if clock > self._latest:
            raise segments.SegmentProblem(f"segment {number} is from the future, by more than a day: it waits")
        self.clock = max(self.clock, clock)
        self.count += len(segment.records)
        self._size += segment.size
        for (key, state), at in zip(segment.records, born, strict=True):
            if self._judge.has_secret(*merge.words_of(state, at)):
                self.refused += 1
            else:
                self.records.append((scope, replica, key, state, at))

    def births(self) -> TheirStates:
        """What was read, by its key and by the ids that it was born with."""
        if self._births is None:
            self._births = TheirStates(self.records)
        return self._births

    def portions(self) -> "Iterator[Records]":
        """The records, those of a key together; last come those by which something goes: what replaces it is there."""
        by_key: dict[str, Records] = {}
        for one in self.records:
            by_key.setdefault(one[2], []).append(one)
        ordered = sorted(by_key.values(), key=lambda some: any(_may_remove(one[3]) for one in some))
        for start in range(0, len(ordered), _PORTION):
            yield [one for some in ordered[start : start + _PORTION] for one in some]
