"""The words that open each family of orders, from the lexicon: what src/memctl/policy/openings.py holds."""

import json
import re
from collections.abc import Iterable, Iterator

from memctl.policy import lexicon
from memctl.policy.meanings import COMMON, without_accents
from memctl.policy.rules_injection import SPECS


def keywords(concepts: Iterable[str], *, rare: bool = True) -> str:
    """What opens a rule that needs one of these concepts: a word of each entry, as the prefilter cuts and knows words.

    rare: leave out phrases that are made of words which stand in any text; of `concept-` such words, too. `=word` is a
    word.
    """
    words: dict[str, None] = {}
    for concept in concepts:
        if concept[0] == "=":
            words[concept[1:]] = None
    wanted = [(concept.rstrip("-"), concept.endswith("-")) for concept in concepts if concept[0] != "="]
    for tongue, table in lexicon.SPACED.items():
        for name, seldom in wanted:
            for entry in table.get(name, "").split():
                stem = entry.rstrip("*")
                if stem.isalnum():
                    part = "" if seldom and stem in COMMON else stem
                else:
                    parts = [one for one in re.split(r"[_'.-]", stem) if not (rare or seldom) or one not in COMMON]
                    part = max(parts, key=len, default="")
                if not part:
                    continue
                star = "*" if len(stem) < len(entry) and stem.endswith(part) else ""
                words[part + star] = None
                if tongue != "vi" and not part.isascii():  # whose words without accents are those of other languages
                    words[without_accents(part) + star] = None
    for name, _ in wanted:
        words |= dict.fromkeys(w for w in lexicon.ANYWHERE.get(name, "").split() if w.strip("*").isalnum())
    return " ".join(words)


def opening(opened: str, *, loose: bool) -> tuple[str, str]:
    """What opens a family of orders, in groups as in a rule's keywords, and the common words of its later groups.

    opened: the concepts of each group; see `keywords`. loose: where the first group is rare, the others may be made of
    common words.
    """
    groups = [group.split() for group in opened.split(" + ")]
    words = [keywords(group, rare=not number or not loose) for number, group in enumerate(groups)]
    every = {
        word for group in groups[1:] for word in keywords([name.rstrip("-") for name in group], rare=False).split()
    }
    return " + ".join(words), " ".join(sorted(every.difference(" ".join(words[1:]).split())))


def lines() -> Iterator[str]:
    """The module, line by line."""
    yield "# ruff: noqa: E501, RUF001 - a row is read as a row\n"
    yield '"""The words that open the families of orders: written by scripts/docs from the lexicon and the rows."""\n\n'
    yield "#: Those of each group, and the common ones of the later groups.\n"
    yield "OPENINGS: dict[str, tuple[str, str]] = {\n"
    for name, (opened, loose) in SPECS.items():
        yield f"    {json.dumps(name)}: (\n"
        for words in opening(opened, loose=loose):
            yield f"        {json.dumps(words, ensure_ascii=False)},\n"
        yield "    ),\n"
    yield "}\n"
