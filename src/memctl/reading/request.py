"""From a read request to what answers a question: filters, candidates, and whether they are enough.

Whatever searches for an operation goes through a `Retriever`: search, recall, eval, and the models of loop, ask and
chat. What a block is made of is `memctl.reading.block`'s.
"""

import os
from collections.abc import Container, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

from memctl import errors, ids
from memctl.annotations import TYPE_CHECKING
from memctl.context import Context
from memctl.names import STRENGTH
from memctl.parameters import ReadRequest
from memctl.paths import real_path
from memctl.retrieve.candidates import SearchResult
from memctl.retrieve.find import search
from memctl.store.filters import DEFAULT_DOMAIN, Filters
from memctl.text.clean import one_line

if TYPE_CHECKING:
    from memctl.policy.redaction import Redaction
    from memctl.retrieve.embedding import Embedder, Meaning

#: Bytes of a config file that are searched for a word; a larger file is refused by whoever parses it.
MOST_OF_CONFIG = 5 << 20
#: A block looks at one candidate for each TOKENS_PER_CANDIDATE tokens of its budget, from LEAST to MOST candidates; a
#: larger budget at as many as passages of the usual size find room.
TOKENS_PER_CANDIDATE, LEAST, MOST = 20, 5, 50
TOKENS_OF_PASSAGE = 150
#: A candidate with less than this share of the best score is left out of a block: it shares a word or two, no more.
FLOOR = 0.35
#: How many candidates of other scopes are looked at, and how many of their scopes are named.
ELSEWHERE, SCOPES_NAMED = 20, 5

#: The setting that names an embedder, and the word for none.
EMBEDDER_KEY, NO_EMBEDDER = "embeddings.embedder", "none"
#: The settings of `memctl.names.STRENGTH`.
STRENGTH_KEYS = tuple(f"recall.{name}" for name in STRENGTH)


def _weights(given: Sequence[str], command: str) -> dict[str, float]:
    """The weights of `--weigh`, within the bounds of their settings. Raises UsageError."""
    from memctl.config import KEYS

    known = [key for key in KEYS if f"{key.section}.{key.name}" in STRENGTH_KEYS]
    bounds = {key.name: (key.low or 0.0, key.high or 1.0) for key in known}
    out = {}
    for one in given:
        name, _, value = one.partition("=")
        try:
            out[name.strip()] = share = float(value)
            low, high = bounds[name.strip()]
        except (ValueError, KeyError):
            what = f"'{one_line(one, 40)}' is no NAME=NUMBER of {', '.join(bounds)}"
            raise errors.UsageError(f"--weigh: {what}", command=command) from None
        if not low <= share <= high:
            raise errors.UsageError(f"--weigh: {name.strip()} must be from {low:g} to {high:g}", command=command)
    return out


class Retriever:
    """A read request that can be asked as often as needed: what it names is looked up once.

    filters    what is read
    redaction  what the request's view does to an answer; None when it shows all
    prefix     begins what is said on stderr
    """

    def __init__(
        self, ctx: Context, request: ReadRequest, command: str, *, injectable: bool = False, prefix: str | None = None
    ) -> None:
        self.ctx, self.request, self.command = ctx, request, command
        self.prefix = f"[{command}] " if prefix is None else prefix
        self.filters = read_filters(ctx, request, command, injectable=injectable)
        self.weights: Mapping[str, float] = STRENGTH
        if config_mentions(ctx, b'"recall"'):
            self.weights = {key.removeprefix("recall."): ctx.config.value(key) for key in STRENGTH_KEYS}
        if request.weigh:
            self.weights = {**self.weights, **_weights(request.weigh, command)}
        self.meaning: Meaning | None = None
        named = ctx.env("MEMCTL_EMBEDDER") if request.embedder is None else request.embedder
        if named is not None or config_mentions(ctx, b"embedder"):  # the usual case costs no import
            embedder = choose_embedder(ctx, named)
            if embedder is not None:
                from memctl.retrieve import embedding

                self.meaning = embedding.Meaning(
                    embedder, float(ctx.config.value("embeddings.question_seconds")), ctx.warn
                )
        self.redaction: Redaction | None = None
        if request.redact not in ("full", "S3"):
            from memctl.policy import redaction

            self.redaction = redaction.Redaction(request.redact, ctx.policy)

    def find(self, query: str, limit: int, *, count: bool = False, filters: Filters | None = None) -> SearchResult:
        """The best items for a question or some words; `filters` in place of the request's own."""
        return search(
            self.ctx.db, query, filters=filters or self.filters, limit=limit, count=count, meaning=self.meaning,
            weights=self.weights, pieces=not self.request.auto,
        )  # fmt: skip

    def find_for_block(
        self, query: str, budget: int, *, count: bool = True, filters: Filters | None = None, but: Container[str] = ()
    ) -> tuple[SearchResult, bool]:
        """The candidates for a block within a budget, and whether there are none because they answer too little.

        but  ids of items that are none, whatever they answer
        """
        found = self.find(query, max(LEAST, min(MOST, budget // TOKENS_PER_CANDIDATE), budget // TOKENS_OF_PASSAGE),
                          count=count, filters=filters)  # fmt: skip
        asked = self.request
        if but:
            found.candidates = [c for c in found.candidates if c.id not in but]
        narrower = (asked.tier, asked.type, asked.tags, asked.mount, asked.since, asked.until)
        if found.query.blank and not any((*narrower, asked.session, asked.domain)):
            found.candidates.clear()
            found.total = 0
            self.ctx.note(f"{self.prefix}The question is empty: nothing is recalled.")
            return found, True
        abstained = (self.request.auto or self.request.min_coverage > 0) and self.abstains(found)
        best = found.candidates[0].score if found.candidates else 0.0
        found.candidates = [c for c in found.candidates if c.score >= FLOOR * best]
        return found, abstained

    def abstains(self, found: SearchResult) -> bool:
        """Whether what was found answers too little of the question; then it is emptied, and stderr says so.

        With `auto` nobody asked, and the rule for that decides too (`memctl.retrieve.abstention.worth_saying`).
        """
        least, auto = self.request.min_coverage, self.request.auto
        if not found.candidates or (least <= 0 and not auto):
            return False
        from memctl.retrieve.abstention import coverage, worth_saying

        if auto and not worth_saying(found):
            why = "Nothing is worth saying unasked."
        elif least > 0 and (share := coverage(found)[0]) < least:
            why = f"Nothing covers enough of the question (best {share:.2f}, --min-coverage {least:g})."
        else:
            return False
        found.candidates.clear()
        found.total = 0
        self.ctx.note(self.prefix + why)
        return True

    def held_back(self, found: SearchResult) -> dict[str, str]:
        """The items whose words policy keeps from models, and by which rules; none where a person reads the answer."""
        suspects = [c.id for c in found.candidates if not c.injectable]
        if "stdout" in self.ctx.tty or (not suspects and self.ctx.db.trusted):
            return {}
        from memctl.store import quarantine
        from memctl.store.items import items

        standings = quarantine.standings(self.ctx.db, items.get_many(self.ctx.db, suspects))
        held = {i: ", ".join(one.rules) or "policy" for i, one in standings.items() if one.is_held}
        if self.ctx.db.trusted:
            return held
        from memctl.reading import delivery

        stored = items.get_many(self.ctx.db, [c.id for c in found.candidates])
        free = delivery.items_for_models(self.ctx, stored, "search", past=self.filters.as_of is not None)
        for c in found.candidates:  # what may be shown of a stranger's item is what the rules leave of it
            if c.id in free:
                c.title, c.content = free[c.id].title, free[c.id].content
        return held | {item.id: "the rules of today" for item in stored if item.id not in free and item.injectable}

    def tell_guesses(self, found: SearchResult) -> dict[str, list[str]]:
        """Say which words of the question no item has, and what was looked for instead; the same as data."""
        if not any(term.guessed for term in (*found.terms, *found.rest)):
            return {}
        from memctl.retrieve.fts_terms import guessed_words

        guessed = guessed_words(found)
        for word, instead in guessed.items():
            self.ctx.note(f"{self.prefix}No item has '{word}'; looked for {', '.join(instead)}")
        return guessed

    def tell_other_scopes(self, query: str) -> None:
        """Say in which other scopes the same words would find something."""
        found = search(self.ctx.db, query, filters=self.filters.replace(scopes=None), limit=ELSEWHERE)
        held = self.held_back(found)
        scopes = list(dict.fromkeys(c.scope for c in found.candidates if c.id not in held))
        if scopes:
            names = ", ".join(scopes[:SCOPES_NAMED]) + (", …" if len(scopes) > SCOPES_NAMED else "")
            self.ctx.note(f"{self.prefix}Found in other scopes: {names}; use --scope NAME or --all-scopes")


# --- what is read -----------------------------------------------------------------------------------------------------


def read_filters(ctx: Context, request: ReadRequest, command: str, *, injectable: bool = False) -> Filters:
    """The filters that a request means. Raises TimeInvalid, TimesCrossed, WorkspaceNotFound, and UsageError.

    injectable  only what may be given to a model
    """
    scopes, corpus_id = ctx.read_set(request.scope, request.all_scopes), None
    if request.workspace is not None:
        saved = ctx.workspace(request.workspace)
        scopes, corpus_id = None if request.all_scopes else saved.reads, saved.corpus_id
    spans: list[tuple[str, str] | None] = []
    for option, text in (("--since", request.since), ("--until", request.until), ("--as-of", request.as_of)):
        if text is None:
            spans.append(None)
            continue
        from memctl.text import times

        try:
            spans.append(times.span(text, ids.now_seconds()))
        except ValueError:
            raise errors.TimeInvalid(option=option, value=" ".join(text.split())[:40]) from None
    first, last, then = spans
    if first and last and first[0] > last[1]:
        raise errors.TimesCrossed(since=request.since, until=request.until)
    below = request.below
    if request.mount is not None:
        from memctl.folders import mount_named

        below = os.path.join(mount_named(ctx, request.mount, command)["path"], "")
    return Filters(
        scopes, request.tier, request.type, tuple(request.tags or ()), corpus_id, injectable, request.archived,
        first and first[0], last and last[1], then and min(then[1], ids.timestamp()), below,
        session=None if request.session is None else _session_named(ctx, request.session),
        domain=None if request.domain is None else _domain_named(ctx, request.domain, command),
    )  # fmt: skip


def _session_named(ctx: Context, given: str) -> str:
    """The id of the session that a word names, whole or by its beginning. Raises SessionNotFound."""
    from memctl.store import sessions

    found = sessions.get_session(ctx.db, sessions.expand_session_id(ctx.db, given.strip()))
    if found is None or "memory_session_items" not in ctx.db.tables:
        raise errors.SessionNotFound(id=given)
    return found.id


def _domain_named(ctx: Context, given: str, command: str) -> str:
    """The domain, after a word on stderr where no item was pinned to it; all others stand in `default`."""
    from memctl.store.items import attributes

    if given != DEFAULT_DOMAIN and all(pin["domain"] != given for pin in attributes.list_pins(ctx.db)):
        ctx.warn(f"[{command}] Nothing stands in the domain '{one_line(given, 60)}'; memctl browse lists the domains.")
    return given


def said_where(ctx: Context, filters: Filters, source: str | None, *, passages: bool) -> Filters:
    """The filters with what `--from` and `--passages` say: without them, statements, and no passages of documents."""
    from memctl.store.documents import corpus

    if source in ("docs", "people", "models"):
        return filters.replace(origin=source)
    if source is not None:
        filters = filters.replace(source=real_path(ctx.absolute(source)).rstrip(os.sep))
    # Where there are no documents all is said; the index of counts then tells how much.
    return filters if passages or not corpus.has_documents(ctx.db) else filters.replace(origin="statements")


def passages_hint(ctx: Context, filters: Filters) -> str:
    """What follows "nothing was found" where `said_where` left passages out that pass the filters, or what is kept
    from models is all there is; else "".
    """
    from memctl.store.items import items

    if filters.origin == "statements" and items.count(ctx.db, filters.replace(origin="docs"), 1):
        return " Passages of documents are left out; --passages takes them in."
    kept = filters.replace(injectable=None, origin=None)
    if filters.injectable and not items.count(ctx.db, filters, 1) and items.count(ctx.db, kept, 1):
        return " What is here is raw or held back: kept from models, and left out here too (memctl list)."
    return ""


def block_budget(ctx: Context, request: ReadRequest) -> int:
    """The tokens of a block: as many as the request says, at most as many as its workspace allows."""
    if request.workspace is None:
        return request.budget
    return min(request.budget, ctx.workspace(request.workspace).budget or request.budget)


def looking_back(ctx: Context, filters: Filters) -> AbstractContextManager[None]:
    """Where reads see the store as it was at the moment the filters name; as it is, when they name none."""
    if filters.as_of is None:
        return nullcontext()
    from memctl.store import as_of

    return as_of.view_as_of(ctx.db, filters.as_of)


# --- how it is searched -----------------------------------------------------------------------------------------------


def choose_embedder(ctx: Context, named: str | None) -> "Embedder | None":
    """The embedder that the flag or MEMCTL_EMBEDDER names (`named`), else config.json; None when none is, or `none`.

    A config.json that merely stands beside the store may name an embedder on this machine, but neither a command nor
    another host, and gets no key: only a person's own words send MEMCTL_EMBEDDER_KEY anywhere. Raises UsageError and
    SettingInvalid.
    """
    found = named is None and ctx.is_configured(EMBEDDER_KEY)
    spec = (str(ctx.config.value(EMBEDDER_KEY)) if found else named or "").strip()
    if not spec or spec == NO_EMBEDDER:
        return None
    from memctl.retrieve.embedding import CommandEmbedder, parse

    beside = found and ctx.config_flag is None
    key = None if beside else ctx.env("MEMCTL_EMBEDDER_KEY")
    embedder = parse(spec, ollama_host=ctx.env("OLLAMA_HOST"), key=key)
    if beside and (isinstance(embedder, CommandEmbedder) or not embedder.local):
        raise errors.SettingInvalid(
            origin=f"{ctx.config_path}: {EMBEDDER_KEY}",
            message="name a command or another host with --embedder, MEMCTL_EMBEDDER, or a file given to --config",
        )
    return embedder


def config_mentions(ctx: Context, word: bytes) -> bool:
    """Whether the config file has this word in it: reading it as JSON would cost a third of a search."""
    path = ctx.config_path
    if path is None or ctx.config_flag is not None:  # a file that was named is read, whatever it is
        return path is not None
    if not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as file:
            return word in file.read(MOST_OF_CONFIG)
    except OSError:  # whoever needs it says what is wrong with it
        return True
