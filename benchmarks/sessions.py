"""What conversations cost, and whether a decision of one in a thousand comes back for a question in other words.

Writes made-up transcripts of Claude Code with the decisions of `decisions.txt` in them, each in a session of its own
among others, takes them in with `memctl capture`, and asks for each decision: does it stand in the first three?
"""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.cases import Row
from benchmarks.house import House
from benchmarks.measure import check, spawn

PLANTED = Path(__file__).parent / "decisions.txt"
#: What is said around them; {n} makes it another one each time.
_ASKED = (
    "can you look at module {n}?",
    "run the tests of part {n}", "what does handler {n} return?", "rename the field x{n}",
    "why is step {n} slow?", "show me the diff of file {n}", "add a comment to function f{n}", "ok", "go on", "thanks",
    "fix the typo in line {n}", "is option {n} still used?",
)  # fmt: skip
_ANSWERED = (
    "I looked at module {n}. It reads the settings, then calls the handler.", "All tests of part {n} pass.",
    "Handler {n} returns the list of entries, or an empty one.", "Done, the field is y{n} now.",
    "Step {n} takes 40 ms; most of it is spent in the parser.", "The diff changes {n} lines.", "Added.", "OK.",
    "Option {n} is used in two places.",
)  # fmt: skip
#: Decisions that nobody asks for.
_OTHERS = (
    "we use the name worker{n} for job {n}", "let's keep limit {n} for queue {n}",
    "we decided to close milestone {n} early",
    "please always sort list {n} by date", "we still have to clean up folder {n}",
)  # fmt: skip


class Planted(NamedTuple):
    """A decision, what was asked before it in its session, and what is asked later, in other words."""

    asked: str
    decision: str
    question: str


def planted() -> list[Planted]:
    """The decisions."""
    lines = PLANTED.read_text(encoding="utf-8").splitlines()
    return [Planted(*(part.strip() for part in line.split("|"))) for line in lines]


def write_sessions(folder: Path, count: int, turns: int) -> None:
    """The transcripts; deterministic."""
    chosen = random.Random(7)
    decisions = planted()[:count]
    places = dict(zip(chosen.sample(range(count), len(decisions)), decisions, strict=True))
    for number in range(count):
        said = []
        for turn in range(turns):
            user = turn % 2 == 0
            text = chosen.choice(_ASKED if user else _ANSWERED).format(n=chosen.randrange(10_000))
            if user and turn == turns // 3:
                text = chosen.choice(_OTHERS).format(n=chosen.randrange(10_000))
            if user and number in places and turn // 2 in (turns // 4, turns // 4 + 1):
                text = places[number].asked if turn // 2 == turns // 4 else places[number].decision
            said.append(text)
        write_session(folder, number, said, f"2026-{1 + number * 9 // count:02d}")


def write_session(folder: Path, number: int, said: list[str], month: str) -> Path:
    """A transcript of Claude Code: prompts and answers by turns."""
    named = f"{number:08d}-0000-4000-8000-000000000000"
    lines = []
    for turn, text in enumerate(said):
        role = "assistant" if turn % 2 else "user"
        lines.append(json.dumps({
            "type": role, "isSidechain": False, "uuid": f"{number:08d}-{turn:04d}-4000-8000-0", "sessionId": named,
            "timestamp": f"{month}-{1 + turn % 28:02d}T10:{turn // 60 % 60:02d}:{turn % 60:02d}.000Z",
            "cwd": "/home/me/proj",
            "message": {"role": role, "content": [{"type": "text", "text": text}] if turn % 2 else text},
        }))  # fmt: skip
    path = folder / f"{named}.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def measure(house: House, count: int, turns: int = 200) -> Iterator[Row]:
    """`count` sessions of so many turns, the questions about them, and sessions of 5,000 lines."""
    folder, db = house.folder / "transcripts", house.store("sessions")
    folder.mkdir()
    write_sessions(folder, count, turns)
    command = house.command("capture", str(folder), "--scope", "project", "--db", db, "-q")
    cost = check(spawn(command, house.env), "capture")
    limit = "≤ 120 s, ≤ 200 MB for 1,000"
    yield Row(f"{count:,} sessions of {turns} turns: capture", f"{cost.cpu:.1f} s CPU", f"{cost.peak >> 20} MB", limit)
    again = check(spawn(command, house.env), "capture")
    yield Row(f"{count:,} sessions: capture again, nothing new", f"{again.cpu:.2f} s CPU")
    every = planted()[:count]
    found = first_three(db, every)
    yield Row("decisions among the first three, asked in other words", f"{found} of {len(every)}", "", "≥ 80 %")
    plain = [(_ANSWERED if n % 2 else _ASKED)[n % 9].format(n=n) for n in range(5000)]
    decided = [f"Noted, job {n}." if n % 2 else f"We decided to use tool{n} for job{n}." for n in range(5000)]
    for number, (what, said) in enumerate((("", plain), (", each prompt decides something", decided))):
        path = write_session(house.folder, number, said, "2026-10")
        one = house.command("capture", str(path), "--db", house.store(f"session{number}"), "-q")
        first, again = check(spawn(one, house.env), "capture"), check(spawn(one, house.env), "capture")
        again_took = f"again {again.cpu * 1000:.0f} ms"
        yield Row(f"a session of 5,000 lines{what}", f"{first.cpu:.2f} s CPU", again_took, "≤ 2 s, again ≤ 100 ms")


def first_three(db: str, every: list[Planted]) -> int:
    """Of how many decisions the question finds one of the first three statements."""
    from memctl.context import open_context
    from memctl.ops.recall.search import search
    from memctl.store import open_read
    from memctl.store.items.items import get_many

    found, stored = 0, open_read(db)
    with open_context(db=db) as ctx:
        for one in every:
            hits = get_many(stored, [hit["id"] for hit in search(ctx, one.question, limit=3).as_json()])
            found += any(one.decision in hit.content for hit in hits)
    stored.close()
    return found
