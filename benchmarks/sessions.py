"""Whether a decision that was said in one of a thousand conversations comes back for a question in other words.

    python -m benchmarks.sessions [--sessions 1000] [--turns 200]

Writes made-up transcripts of Claude Code with the decisions of `decisions.txt` in them, each in a session of its own
among others, takes them in with `memctl capture`, and asks for each decision: does it stand in the first three?
"""

import argparse
import json
import os
import random
import resource
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

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
    decisions = planted()
    places = dict(zip(chosen.sample(range(count), len(decisions)), decisions, strict=True))
    for number in range(count):
        lines, named = [], f"{number:08d}-0000-4000-8000-000000000000"
        for turn in range(turns):
            user = turn % 2 == 0
            text = chosen.choice(_ASKED if user else _ANSWERED).format(n=chosen.randrange(10_000))
            if user and turn == turns // 3:
                text = chosen.choice(_OTHERS).format(n=chosen.randrange(10_000))
            if user and number in places and turn // 2 in (turns // 4, turns // 4 + 1):
                text = places[number].asked if turn // 2 == turns // 4 else places[number].decision
            moment = f"2026-{1 + number * 9 // count:02d}-{1 + turn % 28:02d}T10:{turn // 60:02d}:{turn % 60:02d}.000Z"
            lines.append(json.dumps({
                "type": "user" if user else "assistant", "isSidechain": False,
                "uuid": f"{number:08d}-{turn:04d}-4000-8000-0", "sessionId": named, "timestamp": moment,
                "cwd": "/home/me/proj",
                "message": {"role": "user" if user else "assistant",
                            "content": text if user else [{"type": "text", "text": text}]},
            }))  # fmt: skip
        (folder / f"{named}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=1000)
    parser.add_argument("--turns", type=int, default=200)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        os.environ |= {"HOME": scratch, "XDG_STATE_HOME": f"{scratch}/state", "MEMCTL_DB": f"{scratch}/m.db"}
        from memctl.context import open_context
        from memctl.ops.recall.search import search
        from memctl.ops.write.capture import capture
        from memctl.store import open_read
        from memctl.store.items.items import get_many

        folder = Path(scratch) / "transcripts"
        folder.mkdir()
        write_sessions(folder, args.sessions, args.turns)
        start = time.process_time()
        with open_context(db=f"{scratch}/m.db") as ctx:
            done = capture(ctx, [str(path) for path in sorted(folder.iterdir())], scope="project").as_dict()
        seconds = time.process_time() - start
        first, db = 0, open_read(f"{scratch}/m.db")
        with open_context(db=f"{scratch}/m.db") as ctx:
            for _, decision, question in planted():
                hits = get_many(db, [hit["id"] for hit in search(ctx, question, limit=3).as_json()])
                there = any(decision in hit.content for hit in hits)
                first += there
                if not there:
                    print(f"missed: {question}  ({decision})")
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{done['sessions']} sessions, {done['turns']} turns, {done['candidates']} candidates")
        print(f"{seconds:.1f} s of CPU, {memory:.0f} MB")
        print(f"{first} of {len(planted())} decisions stand in the first three")


if __name__ == "__main__":
    main()
