"""How well a search finds, and a block answers, what people judged: folders of documents, questions and judgements.

A folder holds docs.jsonl {id, title, text, scope?, meta?}, queries.jsonl {id, text, scope?} and qrels.tsv (query,
document, grade), each of them plain or as .gz. `meta` may say speaker, date, session and pos (a turn of a dialogue).
"""

import gzip
import json
import math
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.house import House
from benchmarks.measure import check, spawn
from memctl.context import Context
from memctl.ops.recall.block import recall
from memctl.ops.recall.search import search

#: Budgets, in tokens, at which the answers inside the block are counted.
BUDGETS = (500, 1000, 2200)
SHOWN = 10


class Question(NamedTuple):
    """What was asked, in which scope, the documents that answer it with their grades, and the question's id."""

    text: str
    scope: str
    gold: dict[str, int]
    id: str


class Scores(NamedTuple):
    """Means over the questions: recall at 5 and 10, reciprocal rank and nDCG at 10, shares of answers in blocks."""

    recall5: float
    recall10: float
    mrr: float
    ndcg: float
    blocks: tuple[float, ...]


def sets(folder: Path) -> list[Path]:
    """The folder itself when it is a judged collection, else those inside it."""
    return [folder] if _there(folder) else sorted(child for child in folder.iterdir() if _there(child))


def _there(folder: Path) -> bool:
    return any((folder / f"docs.jsonl{tail}").exists() for tail in ("", ".gz"))


def _lines(path: Path) -> Iterator[str]:
    if path.exists():
        text = path.read_text(encoding="utf-8")
    else:
        text = gzip.decompress(path.with_name(path.name + ".gz").read_bytes()).decode("utf-8")
    yield from (line for line in text.split("\n") if line.strip())


def load(house: House, folder: Path) -> str:
    """The path of a store with the documents, which are imported once."""
    db = house.store(f"judged-{folder.name}")
    if Path(db).exists():
        return db
    lines = house.folder / "judged.jsonl"
    with lines.open("w", encoding="utf-8") as file:
        for line in _lines(folder / "docs.jsonl"):
            file.write(json.dumps(_item(json.loads(line))) + "\n")
    check(spawn(house.command("import", str(lines), "--preserve-ids", "--db", db, "-q"), house.env), "import")
    return db


def _item(doc: Mapping[str, Any]) -> dict[str, Any]:
    meta = doc.get("meta") or {}
    place = [str(meta["pos"])] if "pos" in meta else []
    caption = f" [image: {meta['caption']}]" if meta.get("caption") else ""
    made = _moment(meta.get("date") or "")
    source = {
        "source_kind": "chat" if place else "doc",
        "source_id": meta.get("session") or doc["id"],
        "chunk_ids": place,
    }
    return {
        **({"created_at": made} if made else {}),
        "id": doc["id"], "tier": "stm", "type": "note", "title": doc.get("title") or meta.get("speaker") or "",
        "content": doc["text"] + caption, "scope": doc.get("scope") or "project", "provenance": source,
    }  # fmt: skip


def _moment(text: str) -> str | None:
    """When something was said, as an item keeps it; None when the text is no such date."""
    for shape in ("%I:%M %p on %d %B, %Y", "%Y/%m/%d (%a) %H:%M", "%Y-%m-%d"):
        try:
            return datetime.strptime(text, shape).replace(tzinfo=timezone.utc).isoformat()
        except ValueError:
            continue
    return None


def questions(folder: Path) -> list[Question]:
    """The questions that have an answer."""
    gold: dict[str, dict[str, int]] = {}
    for line in _lines(folder / "qrels.tsv"):
        asked, doc, grade = line.split("\t")
        if int(grade) > 0:
            gold.setdefault(asked, {})[doc] = int(grade)
    asked_all = map(json.loads, _lines(folder / "queries.jsonl"))
    return [
        Question(q["text"], q.get("scope") or "project", gold[q["id"]], q["id"]) for q in asked_all if q["id"] in gold
    ]


def measure(db: str, asked: Sequence[Question]) -> tuple[Scores, list[float]]:
    """The scores, and the CPU milliseconds of each search."""
    per, times = [], []
    with Context(db=db, quiet=True) as ctx:
        for question in asked:
            start = time.process_time()
            hits = search(ctx, question.text, scope=question.scope, limit=SHOWN).found.candidates
            times.append((time.process_time() - start) * 1000)
            inside = [_inside(ctx, question, budget) for budget in BUDGETS]
            per.append([*judged([c.id for c in hits], question.gold), *inside])
    means = [statistics.fmean(column) for column in zip(*per, strict=True)]
    r5, r10, mrr, ndcg, *blocks = means
    return Scores(r5, r10, mrr, ndcg, tuple(blocks)), sorted(times)


def _inside(ctx: Context, question: Question, budget: int) -> float:
    """The share of the answers that stand in the block for a question."""
    block = recall(ctx, question.text, budget=budget, scope=question.scope).block
    return len(question.gold.keys() & set(block.ids)) / len(question.gold)


def judged(hits: Sequence[str], gold: Mapping[str, int]) -> list[float]:
    """Recall at 5 and at 10, reciprocal rank and nDCG at 10 of what was found for one question."""
    grades = [gold.get(hit, 0) for hit in hits]
    best = sorted(gold.values(), reverse=True)[:SHOWN]
    gain, ideal = (sum(g / math.log2(at + 2) for at, g in enumerate(each)) for each in (grades, best))
    first = next((1 / rank for rank, grade in enumerate(grades, 1) if grade), 0.0)
    found = [sum(map(bool, grades[:k])) / len(gold) for k in (5, SHOWN)]
    return [*found, first, gain / ideal]
