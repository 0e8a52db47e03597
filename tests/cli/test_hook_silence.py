"""The hook at a prompt: silent on talk, and there when a statement answers. Judged by prompts that were put aside."""

import json
import zlib
from pathlib import Path

from stores import add
from support import ok

DATA = Path(__file__).parents[1] / "data" / "prompts.txt"


def prompts(part: str, *, aside: bool) -> list[str]:
    """The lines of a part: those put aside, or the others."""
    found = DATA.read_text(encoding="utf-8").partition(f"[{part}]\n")[2].partition("\n[")[0].splitlines()
    return [line for line in found if (zlib.crc32(line.encode()) % 3 == 0) == aside]


def share_told(part: str, *, aside: bool) -> float:
    lines = prompts(part, aside=aside)
    told = 0
    for line in lines:
        done = ok("hook", "--client", "claude", "prompt", "--deadline", "60", stdin=json.dumps({"prompt": line}))
        told += bool(done.out)
    return told / len(lines)


def test_nine_tenths_of_talk_is_met_with_silence_and_answers_are_given() -> None:
    ok("init")
    for aside in (True, False):
        for line in prompts("statements", aside=aside):
            add(line, type="fact")
    assert len(prompts("chatter", aside=True)) > 25
    for aside in (True, False):
        assert share_told("chatter", aside=aside) <= 0.1
        assert share_told("answered", aside=aside) >= 0.8
