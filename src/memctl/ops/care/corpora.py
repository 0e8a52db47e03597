"""Corpora: memctl corpus, document sets by version, and what differs between two of them."""

import os
from collections import Counter
from collections.abc import Sequence

from memctl.annotations import TYPE_CHECKING, Annotated, Any, Literal
from memctl.context import Context
from memctl.errors import NothingStored, UsageError
from memctl.names import DEFAULT_SCOPE
from memctl.operation import READ, WRITE, Arg, PlainResult, operation
from memctl.paths import real_path
from memctl.text.clean import one_line

if TYPE_CHECKING:
    from memctl.store.database import Database
    from memctl.types import CorpusMetadata

#: How many words each action takes beside it: at least, at most.
#: Document sets that a message names.
_NAMED = 5
_WORDS = {"list": (0, 0), "register": (1, 2), "show": (1, 1), "drift": (1, 2), "remove": (1, 1)}
CHANGES = ("added", "removed", "changed", "moved", "unchanged")
_MARKS = {"added": "+", "removed": "-", "changed": "~", "moved": ">"}
_ID = 200


@operation(
    access=WRITE,
    examples=(
        "memctl corpus register manual-1 docs/  # what it holds now is version 1",
        "memctl corpus register manual-2 docs/ --parent manual-1",
        "memctl corpus drift manual-1 manual-2  # what differs, counted by folder",
        "memctl corpus drift manual-2           # what has changed since",
        "memctl corpus drift manual-2 other/    # or in another folder",
        "memctl corpus drift manual-1 --with ~/other/.memory/memory.db",
        "memctl corpus list",
    ),
    exits={1: "no store, no such corpus, or no document is in it"},
)
def corpus(
    ctx: Context,
    action: Annotated[Literal["list", "register", "show", "drift", "remove"], Arg("what to do")],
    names: Annotated[
        list[str] | None,
        Arg("the corpus; register: and the folder that it is; drift: and another corpus, or a folder",
            metavar="CORPUS", path=True),
    ] = None,
    *,
    parent: Annotated[
        str | None, Arg("register: the version that came before it", "--parent", metavar="CORPUS")
    ] = None,
    label: Annotated[str | None, Arg("register: what people call it", "--label")] = None,
    scope: Annotated[str | None, Arg("register: the scope of its documents", "--scope")] = None,
    other: Annotated[
        str | None, Arg("drift: the second corpus is in this other store", "--with", metavar="STORE", path=True)
    ] = None,
    limit: Annotated[
        int, Arg("drift and show: at most this many documents", "-n", "--limit", aliases=("-k",), ge=1, le=100_000)
    ] = 50,
) -> PlainResult:  # fmt: skip
    """Name versions of document sets, and tell what differs between two.

    A corpus is what a folder of the store's documents held when it was registered, or without a folder what was filed
    under its id through a workspace (--corpus). `drift` compares two of them, or one and what a folder (its own, where
    none is named) holds now, as the last sync read it: documents that were added, removed, changed, or only moved.
    Registering again writes down what is there now; `memctl undo` takes that and a `remove` back. Documents and items
    stay as they are.
    """
    wanted = [word.strip() for word in names or ()]
    least, most = _WORDS[action]
    if not all(wanted):  # as an unset variable of a shell makes it: nobody means what the other words then say
        raise UsageError("the name of a corpus or a folder is empty", command="corpus")
    if not least <= len(wanted) <= most:
        what = f"unexpected argument '{one_line(wanted[most], 60)}'" if wanted[most:] else "the corpus is missing"
        raise UsageError(what, command="corpus")
    for option, given, where in (("--with", other, "drift"), ("--parent", parent, "register")):
        if given is not None and action != where:
            raise UsageError(f"{option} is for {where} only", command="corpus")
    if action == "register":
        return _register(ctx, wanted[0], next(iter(wanted[1:]), None), parent=parent, label=label, scope=scope)
    if action == "remove":
        return _remove(ctx, wanted[0])
    ctx.narrow(READ)
    if action == "list":
        return _list(ctx)
    if action == "show":
        return _show(ctx, wanted[0], limit)
    return _drift(ctx, wanted[0], next(iter(wanted[1:]), ""), other, limit)


def _row(db: "Database", one: "CorpusMetadata") -> dict[str, Any]:
    """A document set as data, with the folder that it was registered from."""
    from memctl.store.documents import versions

    return {name: getattr(one, name) for name in one.__slots__} | {"folder": versions.folder_of(db, one)}


def _known(db: "Database") -> "dict[str, CorpusMetadata]":
    from memctl.store.documents.corpus import list_corpora

    return {one.corpus_id: one for one in list_corpora(db)}


def _named(known: "dict[str, CorpusMetadata]", given: str, store: str = "the store") -> "CorpusMetadata":
    """The document set of this id; `store` is where it is looked for. Raises UsageError when there is none."""
    if given in known:
        return known[given]
    there = ", ".join(one_line(one, 60) for one in list(known)[:_NAMED]) or "none"
    more = f" and {len(known) - _NAMED} more" if len(known) > _NAMED else ""
    raise UsageError(
        f"no corpus is called '{one_line(given, 60)}' in {one_line(store, 200)}, which has {there}{more}",
        command="corpus",
    )


def _list(ctx: Context) -> PlainResult:
    found = list(_known(ctx.db).values())
    if not found:
        ctx.note("[corpus] No corpora.")
    lines = [_line(one) for one in found]
    total = {"total": len(found), "truncated": False}
    return PlainResult({"status": "ok", **total, "corpora": [_row(ctx.db, one) for one in found]}, lines)


def _line(one: "CorpusMetadata") -> str:
    parts = [
        f"{one_line(one.corpus_id):<24}", f"{one.doc_count} document(s), {one.item_count} item(s)",
        one.ingested_at[:10], one.scope, f"after {one_line(one.parent_corpus_id)}" if one.parent_corpus_id else "",
        one_line(one.corpus_label) if one.corpus_label != one.corpus_id else "",
    ]  # fmt: skip
    return "  ".join(part for part in parts if part)


def _register(
    ctx: Context, name: str, folder: str | None, *, parent: str | None, label: str | None, scope: str | None
) -> PlainResult:
    """Write down what a folder of the store's documents, or what is filed under the corpus, holds now."""
    from memctl.item_policy import ItemPolicy
    from memctl.store.documents import versions
    from memctl.types import CorpusMetadata

    if one_line(name, _ID) != name:
        raise UsageError(f"a corpus has a name of one line, of at most {_ID} characters", command="corpus")
    if ItemPolicy(ctx.policy).refuses(name, label or "", scope or ""):
        raise NothingStored(reason="policy refuses the name, the label or the scope of this corpus")
    with ctx.db.atomic():
        known = _known(ctx.db)
        old = known.get(name)
        before = old.parent_corpus_id if parent is None and old else parent or None
        if parent:
            _check_parent(known, name, _named(known, parent).corpus_id)
        known_folder = versions.folder_of(ctx.db, old) if old and not folder else ""
        place = real_path(ctx.absolute(folder)) if folder else known_folder
        files = versions.files_below(ctx.db, place) if place else versions.live_files(ctx.db, name)
        if not files:
            where = f"below {one_line(folder or place, 200)}" if place else "filed under it"
            raise UsageError(f"no document of the store is {where}; sync or ingest it first", command="corpus")
        filed = ctx.scope_named(scope) if scope else old.scope if old else ctx.scope_named(DEFAULT_SCOPE)
        called = one_line(label) if label is not None else old.corpus_label if old else name
        made = CorpusMetadata(name, called, before, len(files), sum(one.passages for one in files), filed)
        versions.put_version(ctx.db, made, files, place)
    ctx.note(f"[corpus] {name}: {made.doc_count} document(s), {made.item_count} item(s)")
    data = {"status": "ok", "corpus": _row(ctx.db, made), "created": old is None}
    return PlainResult(data | ctx.run_key(), [name])


def _check_parent(known: "dict[str, CorpusMetadata]", name: str, parent: str) -> None:
    """Raise UsageError where a version would come after itself."""
    seen, at = set[str](), parent
    while at in known and at not in seen:
        seen.add(at)
        at = known[at].parent_corpus_id or ""
    if name in (parent, at, *seen):
        raise UsageError(f"{one_line(parent, 60)} came after {name}, and cannot be its parent", command="corpus")


def _show(ctx: Context, name: str, limit: int) -> PlainResult:
    """A version, those before and after it, and its documents."""
    from memctl.store.documents import versions

    known = _known(ctx.db)
    one = _named(known, name)
    files = versions.version_files(ctx.db, name)
    later = sorted(each.corpus_id for each in known.values() if each.parent_corpus_id == name)
    row = _row(ctx.db, one)
    data = {
        "status": "ok", "corpus": row, "children": later, "total": len(files),
        "truncated": len(files) > limit, "documents": [file._asdict() for file in files[:limit]],
    }  # fmt: skip
    lines = [_line(one), *(f"before {one_line(child)}" for child in later)]
    lines += [f"of {one_line(row['folder'], 200)}"] if row["folder"] else []
    lines += [f"  {one_line(file.path)}  {file.passages} passage(s)" for file in files[:limit]]
    return PlainResult(data, lines)


def _remove(ctx: Context, name: str) -> PlainResult:
    from memctl.store.documents import versions

    _named(_known(ctx.db), name)
    versions.remove_version(ctx.db, name)
    ctx.note(f"[corpus] {one_line(name)} is forgotten; its documents and items stay")
    return PlainResult({"status": "ok", "removed": name} | ctx.run_key(), [])


def _drift(ctx: Context, first: str, second: str, other: str | None, limit: int) -> PlainResult:
    """What differs between two versions, or between one and what a folder holds now."""
    from memctl.store import foreign
    from memctl.store.documents import versions

    known = _known(ctx.db)
    old = versions.version_files(ctx.db, _named(known, first).corpus_id)
    folder = "" if second or other is not None else versions.folder_of(ctx.db, known[first])
    if folder:
        new, second = versions.files_below(ctx.db, folder), folder
    elif other is None and not second:
        raise UsageError("drift takes two: another corpus, a folder, or --with STORE", command="corpus")
    elif other is not None:
        second = second or first
        with foreign.open_store(ctx.absolute(other)) as db:
            new = versions.version_files(db, _named(_known(db), second, other).corpus_id)
    elif second in known or not os.path.isdir(ctx.absolute(second)):
        new = versions.version_files(ctx.db, _named(known, second).corpus_id)
    else:
        new = versions.files_below(ctx.db, real_path(ctx.absolute(second)))
    return _report_drift(first, second, versions.drift(old, new), (len(old), len(new)), limit)


def _report_drift(first: str, second: str, found: "Sequence[Any]", sizes: tuple[int, int], limit: int) -> PlainResult:
    counts = Counter(one.change for one in found)
    folders: dict[str, Counter[str]] = {}
    for one in found:
        folders.setdefault(os.path.dirname(one.path) or ".", Counter())[one.change] += 1
    differ = [one for one in found if one.change != "unchanged"]
    share = sum(counts[change] for change in ("added", "removed", "changed")) / max(*sizes, 1)
    rows = [{"path": path} | {change: of[change] for change in CHANGES} for path, of in sorted(folders.items())]
    data = {
        "status": "ok", "from": first, "to": second, **{change: counts[change] for change in CHANGES},
        "drift": round(min(share, 1.0), 4),
        "folders": rows, "total": len(differ), "truncated": len(differ) > limit,
        "documents": [one._asdict() for one in differ[:limit]],
    }  # fmt: skip
    lines = [f"{', '.join(f'{counts[change]} {change}' for change in CHANGES)}  ({data['drift']:.0%} drift)"]
    for path, of in sorted(folders.items()):
        said = ", ".join(f"{of[change]} {change}" for change in CHANGES[:-1] if of[change])
        lines += [f"{one_line(path)}/  {said}"] if said else []
    lines += [
        f"{_MARKS[one.change]} {one_line(one.path)}" + (f"  (was {one_line(one.was)})" if one.was else "")
        for one in differ[:limit]
    ]
    return PlainResult(data, lines)


# --- for models ------------------------------------------------------------------------------------------------------


@operation(
    name="corpus-list",
    access=READ,
    tool="memory_corpus_list",
    about="List the document sets, by version, each with the version before it.",
    answer={"corpora": "array", "total": "integer", "truncated": "boolean"},
)
def corpus_list(ctx: Context) -> PlainResult:
    """List the document sets."""
    return _list(ctx)


@operation(
    name="corpus-drift",
    access=READ,
    tool="memory_corpus_drift",
    about="Tell which documents differ between two versions of a document set, with counts by folder.",
    answer={
        "added": "integer", "removed": "integer", "changed": "integer", "moved": "integer", "unchanged": "integer",
        "drift": "number", "folders": "array", "documents": "array", "total": "integer", "truncated": "boolean",
    },
)  # fmt: skip
def corpus_drift(
    ctx: Context,
    old: Annotated[str, Arg("the earlier version")],
    new: Annotated[str, Arg("the later version")],
    *,
    limit: Annotated[int, Arg("documents at most", ge=1, le=1000)] = 50,
) -> PlainResult:
    """Tell what differs between two versions of a document set."""
    from memctl.store.documents import versions

    known = _known(ctx.db)
    before, after = (versions.version_files(ctx.db, _named(known, name).corpus_id) for name in (old, new))
    return _report_drift(old, new, versions.drift(before, after), (len(before), len(after)), limit)
