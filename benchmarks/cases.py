"""The measurements. Each yields rows: what was measured, the figure, what it is compared with, the limit we keep."""

import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.house import ROOT, House, corpus, store_size
from benchmarks.measure import Cost, Skipped, check, medians, spawn

MB = 1_000_000
WORDS = (  # noqa: SIM905 - readable
    "store item tier scope token budget recall passage section index commit branch merge deploy release queue worker "
    "cache retry timeout schema column trigger vacuum session cookie header request response gateway parser lexer "
    "syntax module import export backup restore policy secret redact verify archive quota limit batch stream cursor"
).split()


class Row(NamedTuple):
    """One line of the table; `limit` is empty when nothing was promised."""

    what: str
    figure: str
    compared: str = ""
    limit: str = ""


def startup(house: House, runs: int) -> Iterator[Row]:
    """CPU time of short commands from a cold start, against an interpreter that does nothing."""
    db = house.store("startup")
    check(spawn(house.command("push", "store", "--db", db, "--source", str(ROOT / "src"), "-q"), house.env), "push")
    listed = str(house.folder / "listed.json")
    check(spawn(house.command("list", "--db", db, "--json"), house.env, out=listed), "list")
    item = json.loads(Path(listed).read_text())[0]["id"]
    commands = {
        "python -c pass": [house.python, "-c", "pass"],
        "memctl --version": house.command("--version"),
        "memctl search": house.command("search", "re-ingest changes", "--db", db),
        "memctl show": house.command("show", item, "--db", db),
        "memctl push (no source)": house.command("push", "how does re-ingest detect changes", "--db", db),
        "memctl list": house.command("list", "--db", db),
    }
    events = {"memctl hook (talk)": "thanks, go on", "memctl hook (answered)": "how does re-ingest detect changes"}
    stdin = {}
    for at, (name, prompt) in enumerate(events.items()):
        event = house.folder / f"event{at}.json"
        event.write_text(json.dumps({"prompt": prompt}))
        stdin[name] = str(event)
        commands[name] = house.command("--db", db, "hook", "--client", "claude", "prompt")
    limits = {
        "memctl --version": "bare + 8 ms",
        "memctl search": "bare + 20 ms",
        **dict.fromkeys(events, "bare + 45 ms"),
    }
    found = medians(commands, house.env, runs, stdin)
    bare = found["python -c pass"]
    for name, value in found.items():
        if isinstance(value, Skipped) or isinstance(bare, Skipped):
            yield Row(f"start: {name}", f"skipped: {value}")
        else:
            compared = "" if name == "python -c pass" else f"bare {value - bare:+.1f} ms, {value / bare:.1f} x bare"
            yield Row(f"start: `{name}`", f"{value:.1f} ms CPU", compared, limits.get(name, ""))


def ingest(house: House, given: str | None) -> Iterator[Row]:
    """Read a source tree into a new store, then again with nothing changed."""
    folder, count, size = corpus(house, given)
    floor_db = house.store("floor")
    script = str(Path(__file__).with_name("floor.py"))
    floor = check(spawn([house.python, script, str(folder), floor_db], house.env), "floor")
    db = house.store("ingest")
    push = house.command("push", "parse a date from text", "--source", str(folder), "--db", db, "-q")
    first = check(spawn(push, house.env), "push")
    yield Row(
        f"ingest: {count:,} files, {size / MB:.1f} MB",
        f"{size / MB / first.cpu:.1f} MB/s CPU ({first.cpu:.2f} s)",
        f"{first.cpu / floor.cpu:.1f} x read-hash-insert ({floor.cpu:.2f} s)",
        "" if given else "≥ 8 MB/s",
    )
    yield Row("ingest: peak memory", f"{first.peak / MB:.0f} MB", f"floor {floor.peak / MB:.0f} MB", "≤ 120 MB")
    stored, plain = store_size(db), store_size(floor_db)
    yield Row("ingest: store / text", f"{stored / size:.2f}", f"floor {plain / size:.2f}", "≤ 2.6")
    again = check(spawn(push, house.env), "push again")
    yield Row("ingest: push again, nothing changed", f"{again.cpu:.2f} s CPU", f"{again.peak / MB:.0f} MB", "< 1 s")


def sync(house: House, given: str | None, against: str | None, many_files: int) -> Iterator[Row]:
    """Follow a folder: the first time, with nothing changed, and one changed file among `many_files`.

    against: a version of the original memctl, to be measured side by side (it comes from the package index).
    """
    folder, count, size = corpus(house, given)
    bare = statistics.median(spawn([house.python, "-c", "pass"], house.env).cpu for _ in range(9))
    db = house.store("sync0")
    first, theirs = _first_syncs(house, folder, original(house, against) if against else "")
    compared = f"{first.cpu:.2f} s CPU"
    if theirs:
        compared = f"{theirs / first.wall:.1f} x as fast as {against}: {theirs:.2f} s"
    yield Row(f"sync: {count:,} files, {size / MB:.1f} MB", f"{first.wall:.2f} s", compared, "≥ 5 x the original")
    yield Row("sync: peak memory", f"{first.peak / MB:.0f} MB")
    yield _quiet_sync(house, folder, db, count, bare, "bare + 60 ms for 1,000 files")
    many = house.folder / "many"
    write_files(many, many_files)
    check(spawn(house.command("sync", str(many), "--db", db, "-q"), house.env), "sync of many")
    yield _quiet_sync(house, many, db, many_files, bare, "linear")
    (many / "00" / "7.md").write_text("# Changed\n\nThis file is not what it was.\n")
    one = check(spawn(house.command("sync", str(many), "--db", db, "-q"), house.env), "sync of one")
    yield Row(f"sync: one changed file among {many_files:,}", f"{one.wall:.2f} s", f"{one.cpu:.2f} s CPU", "< 0.6 s")


def _first_syncs(house: House, folder: Path, theirs: str, turns: int = 3) -> tuple[Cost, float]:
    """The fastest first sync, and that of another program (0 without one) in seconds; by turns, as speeds change."""
    ours, others = [], []
    for turn in range(turns):
        command = house.command("sync", str(folder), "--db", house.store(f"sync{turn}"), "-q")
        ours.append(check(spawn(command, house.env), "sync"))
        if theirs:
            command = [theirs, "sync", str(folder), "--db", house.store(f"original{turn}")]
            others.append(check(spawn(command, house.env), theirs).wall)
    return min(ours, key=lambda cost: cost.wall), min(others, default=0.0)


def _quiet_sync(house: House, folder: Path, db: str, count: int, bare: float, limit: str) -> Row:
    command = house.command("sync", str(folder), "--db", db, "-q")
    check(spawn(command, house.env), "sync again")  # files of this moment are hashed once more
    cpu = statistics.median(check(spawn(command, house.env), "sync again").cpu for _ in range(9))
    return Row(f"sync: {count:,} files, nothing changed", f"{cpu * 1000:.0f} ms CPU",
               f"bare +{(cpu - bare) * 1000:.0f} ms", limit)  # fmt: skip


def write_files(folder: Path, count: int) -> None:
    """That many small Markdown files, a hundred in a folder."""
    source = random.Random(count)
    for number in range(count):
        place = folder / f"{number // 100:02}" / f"{number}.md"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"# {sentences(source, 4)}\n\n{sentences(source, 60)}\n")


def original(house: House, version: str) -> str:
    """The program of an original memctl, installed for this measurement."""
    place = house.folder / "original"
    pip = [str(place / "bin" / "python"), "-m", "pip", "install", "-q", f"memctl=={version}"]
    for command in ([sys.executable, "-m", "venv", str(place)], pip):
        if subprocess.run(command, capture_output=True, check=False).returncode:
            raise Skipped(f"memctl {version} cannot be installed")
    return str(place / "bin" / "memctl")


def sentences(source: random.Random, words: int) -> str:
    """Words that make a plausible statement for the index, different each time."""
    return " ".join(source.choice(WORDS) + (str(source.randrange(1000)) if source.random() < 0.1 else "")
                    for _ in range(words))  # fmt: skip


def write_items(path: Path, count: int) -> None:
    """A JSONL file of `count` different items, as export writes them."""
    source = random.Random(count)
    with path.open("w") as file:
        for number in range(count):
            item = {"tier": "stm", "type": "note", "title": f"{sentences(source, 4)} {number}",
                    "content": sentences(source, 40), "tags": [source.choice(WORDS)], "scope": "project"}  # fmt: skip
            file.write(json.dumps(item) + "\n")


def imports(house: House, count: int) -> Iterator[Row]:
    """Import of many items into a new store, and again into the same one."""
    path = house.folder / f"{count}.jsonl"
    write_items(path, count)
    db = house.store(f"import{count}")
    command = house.command("import", str(path), "--db", db, "-q")
    first = check(spawn(command, house.env), "import")
    size = path.stat().st_size / MB
    yield Row(f"import: {count:,} items, {size:.1f} MB", f"{first.cpu:.2f} s CPU", f"{count / first.cpu:,.0f} items/s",
              "seconds")  # fmt: skip
    again = check(spawn(command, house.env), "import again")
    yield Row("import: the same again", f"{again.cpu:.2f} s CPU", f"{count / again.cpu:,.0f} items/s")
    out = check(spawn(house.command("export", "--db", db, "-q"), house.env), "export")
    yield Row("export: all of it", f"{out.cpu:.2f} s CPU", f"{count / out.cpu:,.0f} items/s")


def search(house: House, runs: int, count: int) -> Iterator[Row]:
    """Search and recall in a store of `count` items, start-up included."""
    path = house.folder / f"{count}.jsonl"
    write_items(path, count)
    db = house.store(f"search{count}")
    check(spawn(house.command("import", str(path), "--db", db, "-q"), house.env), "import")
    commands = {
        "bare": [house.python, "-c", "pass"],
        "search, one rare word": house.command("search", "schema77", "--db", db),
        "search, four common words": house.command("search", "schema trigger vacuum column", "--db", db),
        "search, a question": house.command("search", "how does the worker retry after a timeout?", "--db", db),
        "recall, a question": house.command("recall", "how does the worker retry after a timeout?", "--db", db),
    }
    found = medians(commands, house.env, runs)
    bare = found.pop("bare")
    for name, value in found.items():
        if isinstance(value, Skipped) or isinstance(bare, Skipped):
            yield Row(f"{count:,} items: {name}", f"skipped: {value}")
        else:
            yield Row(f"{count:,} items: {name}", f"{value:.1f} ms CPU", f"bare {value - bare:+.1f} ms")


def judged(house: House, given: str | None) -> Iterator[Row]:
    """What a search finds in judged collections, and what of it a block holds."""
    from benchmarks import recall

    if given is None:
        raise Skipped("no folder of judged collections was given (--judged FOLDER)")
    for folder in recall.sets(Path(given)):
        scores, times = recall.measure(recall.load(house, folder), recall.questions(folder))
        inside = ", ".join(f"{share:.3f}" for share in scores.blocks)
        yield Row(f"{folder.name}: recall at 5, at 10", f"{scores.recall5:.3f}, {scores.recall10:.3f}",
                  f"MRR {scores.mrr:.3f}, nDCG {scores.ndcg:.3f}")  # fmt: skip
        yield Row(f"{folder.name}: answers in a block of 500, 1000, 2200 tokens", inside,
                  f"{times[len(times) // 2]:.1f} ms CPU a search, p95 {times[int(len(times) * 0.95)]:.1f}")  # fmt: skip


def abstention(house: House, given: str) -> Iterator[Row]:
    """Of the questions a store can answer, and of those it cannot, how many get a block with `--min-coverage`."""
    from benchmarks import abstention, recall

    for fired in abstention.measure(house, recall.sets(Path(given))):
        hard = "" if fired.elsewhere is None else f", its own in other scopes {fired.elsewhere:.3f}"
        yield Row(f"{fired.name}: a block at --min-coverage {abstention.LEAST:g}", f"{fired.answerable:.3f}",
                  f"foreign questions {fired.foreign:.3f}{hard}", "≥ 0.61, foreign ≤ 0.10")  # fmt: skip


def large(house: House, count: int, pushes: int) -> Iterator[Row]:
    """Searches inside one process, and `push` as so many processes of its own, in a store of `count` short items.

    Their words are as unequal as those of real text.
    """
    from memctl.context import Context
    from memctl.ops.recall.search import search as find

    source = random.Random(count)
    words = [_word(number) for number in range(60_000)]
    weights = list(itertools.accumulate(1 / (rank + 8) for rank in range(len(words))))
    path = house.folder / "large.jsonl"
    with path.open("w") as file:
        for number in range(count):
            said = source.choices(words, cum_weights=weights, k=source.randint(25, 75))
            file.write(json.dumps({"title": " ".join(said[:4]), "content": " ".join([*said, str(number)])}) + "\n")
    db = house.store("large")
    check(spawn(house.command("import", str(path), "--db", db, "-q"), house.env), "import")
    path.unlink()
    kinds: dict[str, Callable[[], list[str]]] = {
        "four words, as in texts": lambda: source.choices(words, cum_weights=weights, k=4),
        "eight words, as in texts": lambda: source.choices(words, cum_weights=weights, k=8),
        "three of the hundred commonest": lambda: source.sample(words[:100], 3),
        "four of the hundred commonest": lambda: source.sample(words[:100], 4),
        "one of the thirty commonest": lambda: source.sample(words[:30], 1),
        "three rare ones": lambda: source.sample(words[20_000:], 3),
    }
    with Context(db=db, quiet=True) as ctx:
        find(ctx, words[0])
        for kind, ask in kinds.items():
            times = []
            for _ in range(100):
                query = " ".join(ask())
                start = time.process_time()
                find(ctx, query)
                times.append((time.process_time() - start) * 1000)
            times.sort()
            yield Row(f"{count:,} items, in process: {kind}", f"{times[50]:.1f} ms CPU", f"p95 {times[95]:.1f} ms",
                      "p95 ≤ 50 ms")  # fmt: skip
    for kind, ask in kinds.items():
        push = [house.command("push", " ".join(ask()), "--db", db, "-q") for _ in range(pushes)]
        times = sorted(check(spawn(command, house.env), "push").cpu * 1000 for command in push)
        middle, high = times[pushes // 2], times[pushes * 19 // 20]
        yield Row(f"{count:,} items, push end to end: {kind}", f"{middle:.0f} ms CPU", f"p95 {high:.0f} ms",
                  "p95 ≤ 150 ms")  # fmt: skip


def _word(number: int) -> str:
    """A made-up word for each number, so that neighbours in the list share no beginning."""
    syllables = "ba de fi go ku la me ni po ra se ti vo zu ka li".split()  # noqa: SIM905 - readable
    mixed, out = (number * 40_503) % 65_536, ""
    for _ in range(4):
        mixed, at = divmod(mixed, len(syllables))
        out += syllables[at]
    return out


POLICY = """
import sys, time, os
from hashlib import sha256
from memctl.policy import MemoryPolicy
from memctl.types import MemoryItem
texts = []
for here, _, names in os.walk(sys.argv[1]):
    for name in sorted(names):
        text = open(os.path.join(here, name), encoding="utf-8", errors="replace").read()
        texts += [text[i : i + 1200] for i in range(0, len(text), 1200)]
items = [MemoryItem(title="passage", content=t) for t in texts]
policy = MemoryPolicy()
policy.evaluate_item(items[0])
start = time.process_time()
for item in items:
    policy.evaluate_item(item)
print(sum(len(t.encode()) for t in texts), len(texts), time.process_time() - start)
secrets = [sha256(str(n).encode()).hexdigest()[:36] for n in range(90_000)]
for line in ("token: ghp_{}", "api_key = '{}'", "password: {:.12}"):
    text = "\\n".join(map(line.format, secrets))[:2_000_000]
    policy.findings(text[:100_000], document=False)
    start = time.process_time()
    found = len(policy.findings(text, document=False))
    print(line.partition("{}")[0].split()[0].strip(":"), found, time.process_time() - start)
"""


def policy(house: House, given: str | None) -> Iterator[Row]:
    """What judging costs by itself, on passages of the corpus."""
    folder, _, _ = corpus(house, given)
    out = str(house.folder / "policy.out")
    check(spawn([house.python, "-c", POLICY, str(folder)], house.env, out=out), "policy")
    passages, *lists = map(str.split, Path(out).read_text().splitlines())
    size, count, seconds = passages
    per = float(seconds) / int(count) * 1e6
    rate = int(size) / MB / float(seconds)
    yield Row(f"policy: {int(count):,} passages of 1,200 characters", f"{rate:.1f} MB/s CPU", f"{per:.0f} µs each")
    for label, found, seconds in lists:
        per = float(seconds) / max(1, int(found)) * 1e6
        yield Row(
            f"policy: 2 MB of `{label}` with values",
            f"{float(seconds):.2f} s CPU",
            f"{int(found):,} findings, {per:.0f} µs each",
            "≤ 1.5 s",
        )


def machine() -> str:
    """What the figures were taken on, as far as it matters."""
    import platform
    import sqlite3

    return f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {os.cpu_count()} cores"
