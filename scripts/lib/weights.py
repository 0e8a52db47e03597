"""The work of scripts/weights: learn what words weigh, write src/memctl/policy/weights, and say what it finds.

The injected and the ordinary sentences are those of tests/data/policy that are in sight; the third that is set aside
is only counted. Ordinary documents are read from the folders that are given: of two thirds of their files the sentences
are learned from, on the others the limit is set.
"""

import ast
import gzip
import random
import re
import sys
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix, diags, vstack
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "src")]

from families import HOME, Row, rows  # noqa: E402 - the tests' own reader of these files
from memctl.policy import normalise, weighing  # noqa: E402

#: The families of tests/data/policy that are orders to a model; credentials are none.
FILES = ("injections", "english", "english2", "english3", "own_words", "phrased", "own4", "anew")
PROSE = (".md", ".rst", ".txt")
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[\"'(`A-Z])")
PARAGRAPH = re.compile(r"\n\s*\n|\n(?=\s*[-*+\u2022#]|\s*\d+[.)] )")
CODE = re.compile(r"```.*?```", re.DOTALL)
SIZES = range(15, 701)  # characters of what is taken for a sentence or a short paragraph
MOST = 1500  # sentences of one file: one long manual shall not outweigh the others
LEARNED, TRIED = 180_000, 80_000  # ordinary sentences to learn from and to set the limit on
FEATURES = 30_000  # that are kept of a million: all would find three in a hundred more, a third of these five fewer
STEP = 0.25  # to which weights are rounded
STRENGTH = 10.0  # the inverse of the regularisation, as scikit-learn's C
ORDINARY = 0.1  # how much an ordinary sentence counts beside one that was written to look like an order
LOST = 0.003  # the share of what is found whose words alone may be too light for a second look
#: The share of ordinary sentences that may count: of other languages there is less to learn from.
ALARMS = {"english": 0.00225, "others": 0.0075}


def _pick(text: str, parts: int) -> bool:
    return int(sha256(text.encode()).hexdigest(), 16) % parts == 0


def _texts(path: Path) -> Iterator[str]:
    """The prose in a file: a document, or the docstrings of a module."""
    if path.suffix == ".py":
        try:
            tree = ast.parse(path.read_text("utf-8", "replace"))
        except (SyntaxError, ValueError):
            return
        kinds = ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef
        yield from (ast.get_docstring(node) or "" for node in ast.walk(tree) if isinstance(node, kinds))
    elif path.suffix in PROSE or path.name in {"METADATA", "PKG-INFO", "README", "NEWS", "changelog"}:
        yield path.read_text("utf-8", "replace")
    elif path.suffix == ".gz":
        yield gzip.decompress(path.read_bytes()).decode("utf-8", "replace")


def sentences(path: Path) -> Iterator[str]:
    """The sentences and short paragraphs of a file's prose."""
    left = MOST
    for text in _texts(path):
        for paragraph in PARAGRAPH.split(CODE.sub("\n\n", text)):
            joined = " ".join(paragraph.split()).lstrip("-*+\u2022# ")
            parts = SENTENCE.split(joined)
            for part in [*parts, joined] if len(parts) > 1 else parts:
                if len(part) in SIZES and sum(c.isalpha() or c == " " for c in part) >= 0.75 * len(part):
                    yield part
                    left -= 1
                    if not left:
                        return


def ordinary(folders: Iterable[str]) -> tuple[list[str], list[str]]:
    """Ordinary sentences to learn from, and others, of other files, to set the limit on."""
    learned: set[str] = set()
    tried: set[str] = set()
    for folder in folders:
        for path in sorted(Path(folder).rglob("*")):
            if path.is_file() and path.stat().st_size < 2_000_000:
                (tried if _pick(f"{path.parent.name}/{path.name}", 3) else learned).update(sentences(path))
    chance = random.Random(0)
    first, second = sorted(learned), sorted(tried - learned)
    return chance.sample(first, min(LEARNED, len(first))), chance.sample(second, min(TRIED, len(second)))


def matrix(vectors: CountVectorizer, texts: list[str]) -> csr_matrix:
    """What each text has of each feature, divided as `weighing.score` divides."""
    scales = [weighing.scale(weighing.words(normalise.lower(text))) for text in texts]
    return csr_matrix(diags(1 / np.array(scales)) @ vectors.transform(texts))


def learn(injected: list[str], alike: list[str], plain: list[str]) -> dict[str, float]:
    """The weights: one fit over all features, and another over those that tell most."""
    vectors = CountVectorizer(analyzer=_features, binary=True, min_df=2)
    vectors.fit([*injected, *alike])
    table = vstack([matrix(vectors, injected), matrix(vectors, alike), matrix(vectors, plain)]).tocsr()
    truth = np.repeat([1, 0, 0], [len(injected), len(alike), len(plain)])
    counts = np.repeat([1.0, 1.0, ORDINARY], [len(injected), len(alike), len(plain)])
    names = vectors.get_feature_names_out()
    columns = np.arange(len(names))
    for most in (FEATURES, 0):
        model = LogisticRegression(C=STRENGTH, max_iter=500, solver="liblinear")
        model.fit(table[:, columns], truth, sample_weight=counts)
        if most:
            often = np.sqrt(np.asarray((table > 0).sum(0)).ravel())
            columns = np.sort(np.argsort(-np.abs(model.coef_[0]) * often)[:most])
    rounded = np.round(model.coef_[0] / STEP) * STEP
    return {str(names[c]): float(w) for c, w in zip(columns, rounded, strict=True) if w}


def _features(text: str) -> set[str]:
    return weighing.features(weighing.words(normalise.lower(text)))


def write(name: str, weights: dict[str, float], limit: float, floor: float) -> None:
    """A table: the limit and the floor, then a line or more for each weight, the heaviest first."""
    lines = [f"limit {limit:.2f} floor {floor:.2f}"]
    by_weight: dict[float, list[str]] = {}
    for feature, weight in sorted(weights.items()):
        by_weight.setdefault(weight, []).append(feature)
    for weight in sorted(by_weight, reverse=True):
        line = head = f"{weight:g}"
        for feature in by_weight[weight]:
            if len(line) + len(feature) >= 120:
                lines.append(line)
                line = head
            line += f" {feature}"
        lines.append(line)
    Path(weighing.__file__).with_name("weights").joinpath(f"{name}.txt").write_text("\n".join(lines) + "\n", "utf-8")
    weighing.weights.cache_clear()


def make_table(name: str, seen: list[Row], plain: list[str], tried: list[str]) -> None:
    """Learn a table from the rows in sight and ordinary sentences, and set its limit on others."""
    injected = [row.text for row in seen if row.positive]
    weights = learn(injected, [row.text for row in seen if not row.positive], plain)

    def heaviest(text: str) -> float:
        table = weighing.Weights(weights, 0.0, -1000.0)
        found = weighing.words(normalise.lower(text))
        return max(weighing.weigh(part, table) for part in weighing.parts(found)) - weighing.surplus(found)

    limit = sorted(map(heaviest, tried))[int(len(tried) * (1 - ALARMS[name]))]
    words = [weighing.words(normalise.lower(text)) for text in injected]
    alone = sorted(
        sum(weights.get(word, 0.0) for word in set(found)) / weighing.scale(found)
        for found in words
        if weighing.weigh(found, weighing.Weights(weights, limit, -1000.0)) > 0
    )
    write(name, weights, limit, alone[int(len(alone) * LOST)])
    print(f"{name}: {len(weights)} weights from {len(seen)} sentences and {len(plain)} ordinary ones")


def _share(texts: list[str]) -> str:
    found = sum(weighing.score(normalise.lower(text)) > 0 for text in texts)
    return f"{found:>6} of {len(texts):<6} {100 * found / max(len(texts), 1):6.2f} %"


def main(folders: list[str]) -> None:
    """Learn, write, and print what is found of each set.

    A folder of which the name is `foreign` has ordinary texts in other languages than English.
    """
    files = [*(f"{name}.txt" for name in FILES), *sorted(f"weighed/{p.name}" for p in (HOME / "weighed").iterdir())]
    read = {name: list(rows(name)) for name in files}
    seen = [row for found in read.values() for row in found if not row.aside]
    english, tried = ordinary([folder for folder in folders if Path(folder).name != "foreign"])
    others, others_tried = ordinary([folder for folder in folders if Path(folder).name == "foreign"])
    make_table("english", [row for row in seen if row.language == "en"], english, tried)
    plain = [*others, *english[: len(others) // 2]]
    make_table("others", [row for row in seen if row.language != "en"], plain, others_tried)
    print(f"ordinary sentences not learned from: {_share(tried)}; in other languages: {_share(others_tried)}")
    for name, found in read.items():
        for language in sorted({row.language == "en" for row in found}):
            for positive in (True, False):
                for aside in (False, True):
                    some = (row for row in found if (row.language == "en") is language)
                    texts = [row.text for row in some if (row.positive, row.aside) == (positive, aside)]
                    what = f"{'injected' if positive else 'ordinary'}, {'set aside' if aside else 'in sight'}"
                    if texts:
                        print(f"{name:<18}{'en' if language else 'others':<8}{what:<22}{_share(texts)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
