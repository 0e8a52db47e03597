"""The benchmark that chooses the weights of the ranking."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Shell = Callable[..., Any]
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_each_weight_is_tried_on_both_halves(sh: Shell, here: Path) -> None:
    judged = here / "judged"
    judged.mkdir()
    docs = [{"id": f"d{n}", "title": "", "text": f"the gateway number {n} retries {n} times"} for n in range(20)]
    asked = [{"id": f"q{n}", "text": f"gateway number {n}"} for n in range(20)]
    (judged / "docs.jsonl").write_text("\n".join(map(json.dumps, docs)))
    (judged / "queries.jsonl").write_text("\n".join(map(json.dumps, asked)))
    (judged / "qrels.tsv").write_text("\n".join(f"q{n}\td{n}\t1" for n in range(20)))
    done = sh(f"cd '{ROOT}' && '{sys.executable}' -m benchmarks.weights '{judged}'")
    assert done.code == 0, done.notes
    assert "| all | 1.0000 / 1.0000 |" in done.text
    assert "| OPENING | 0.2 | " in done.text
    assert done.text.splitlines()[-1].startswith("| all that were chosen | 1.0000 / 1.0000 |")
