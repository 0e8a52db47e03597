"""Files that are text already. Only Markdown hides anything: comments, and HTML elements that cannot be seen.

A text in which all is said by a user or an assistant, as `user:` and `assistant:` at the beginning of lines say, is a
transcript.
"""

import re

from memctl.extract import Anchor, Document, Hidden, Limits, kind_of
from memctl.text.chunking.outline import markup_of
from memctl.text.decoding import decode

#: Where something begins that is looked at: code, a comment, a tag that may hide, a link definition used as a comment.
#: That each begins with one of four characters lets the search pass over all others.
_START = re.compile(
    r"[`~<\[](?:(?<=`)(`*)|(?<=~)(~~+)|(?<=<)(!--)|(?<=^\[)(?://|comment)\]:[ \t]{0,9}([^\n]{1,2000})"
    r"|(?<=<)([a-z][a-z0-9]{0,20})\b([^<>]{0,1000}(?:\bhidden\b|\bstyle\b|\bcolor\b)[^<>]{0,1000})>)",
    re.MULTILINE | re.IGNORECASE,
)
#: One of these is in every text in which something may be hidden; finding none takes a fraction of the time.
_HIDING = re.compile(r"<!--|\[(?://|comment)\]:|<[a-z][^<>]{0,1021}(?:hidden|style|color)", re.IGNORECASE)
#: Marks that policy reads where they stand (see `memctl.policy.project`).
_KEPT = "memctl:allow"


def read(data: bytes, name: str, limits: Limits) -> Document:  # noqa: ARG001 - what every reader is given
    """The text of a file as it is, its bytes decoded."""
    text, encoding, notes = decode(data, name)
    kind, language = kind_of(name, text)
    hidden: tuple[Hidden, ...] = ()
    if kind == "markdown" and _HIDING.search(text):
        text, hidden = _divide(text)
    if kind in ("text", "markdown") and (turns := _find_turns(text)):
        breaks = tuple(turn.line for turn in turns)
        return Document(text, "transcript", "", encoding, notes, anchors=turns, breaks=breaks, hidden=hidden)
    kind = markup_of(text) if kind == "text" else kind
    return Document(text, kind, language, encoding, notes, hidden=hidden)


#: Who speaks from here on: `user:`, `**Assistant:**`, `### Human:`.
_SPEAKER = re.compile(r"[ \t]{0,3}(?:#{1,6} )?\**(user|human|assistant|ai|bot|system|developer)\**\s?:", re.IGNORECASE)
_FENCE = re.compile(r"[ \t]{0,3}(`{3,}|~{3,})")
_USERS, _MODELS = ("user", "human"), ("assistant", "ai", "bot")


def _find_turns(text: str) -> tuple[Anchor, ...]:
    """Where each turn of a transcript begins, and what that place is called; none when the text is no transcript.

    It is one when a user and a model speak, nobody else does, and nothing stands before the first turn: then policy
    judges the turns. Of any other text it sees the whole, in which turns of a conversation may be an attack.
    """
    if not _SPEAKER.match(text.lstrip("\n")):
        return ()
    turns: list[Anchor] = []
    speakers: set[str] = set()
    fence = ""
    for number, line in enumerate(text.split("\n"), 1):
        if found := _FENCE.match(line):
            if not fence:
                fence = found[1]
            elif found[1].startswith(fence) and not line.strip(" \t`~"):
                fence = ""
        elif not fence and (said := _SPEAKER.match(line)):
            speaker = said[1].lower()
            role = "user" if speaker in _USERS else "assistant" if speaker in _MODELS else ""
            speakers.add(role)
            turns.append(Anchor(number, f"turn {len(turns) + 1} ({role})"))
    return tuple(turns) if speakers == {"user", "assistant"} else ()


def _divide(text: str) -> tuple[str, tuple[Hidden, ...]]:
    """(the text that can be seen, what is hidden in it); every line keeps its number, and code all it holds."""
    parts: list[str] = []
    hidden: list[Hidden] = []
    at = done = 0
    line, counted = 1, 0
    # Where the last end stands of what begins so, and the blank line that ends a span of code at the latest.
    last = {"<!--": text.rfind("-->"), "`": 0}
    while match := _START.search(text, at):
        start = match.start()
        found = _hidden(text, match, last)
        if found is None:
            at = _after_code(text, match, last)
            continue
        end, words = found
        at = end
        if _KEPT in text[start:end]:
            continue
        line, counted = line + text.count("\n", counted, start), start
        hidden.append(Hidden(words, line=line + len(words[: len(words) - len(words.lstrip())].splitlines()[1:])))
        parts += [text[done:start], "\n" * text.count("\n", start, end)]
        done = end
    return "".join([*parts, text[done:]]), tuple(
        one._replace(text=one.text.strip()) for one in hidden if one.text.strip()
    )


def _hidden(text: str, match: re.Match[str], last: dict[str, int]) -> tuple[int, str] | None:
    """(where it ends, what it says) of a hidden stretch; None for what is none."""
    end = match.end()
    if match[3]:
        if last["<!--"] < end:
            return None
        stop = text.find("-->", end)
        return stop + 3, text[end:stop]
    if match[4] is not None:
        return end, match[4]
    if match[5]:
        from memctl.extract.html import HiddenElements

        hiding = HiddenElements()
        hiding.open(match[5].lower(), text, match.start(6), match.end(6))
        closing = f"</{match[5]}"
        if closing not in last:
            last[closing] = text.rfind(closing)
        if hiding.hidden and last[closing] >= end:
            stop = text.find(closing, end)
            return (text.find(">", stop) + 1) or len(text), re.sub(r"<[^<>]{0,500}>", " ", text[end:stop])
    return None


def _after_code(text: str, match: re.Match[str], last: dict[str, int]) -> int:
    """Where to go on: after a block or a span of code, or after what turned out to be nothing."""
    start, end = match.span()
    sign = match[0]
    if match[1] is None and match[2] is None:
        return end
    if len(sign) > 2:
        _, line_feed, indent = f"\n{text[max(0, start - 4) : start]}"[-4:].rpartition("\n")
        if line_feed and not indent.strip(" \t"):
            stop = re.compile(rf"\n[ \t]{{0,3}}{sign[0]}{{{len(sign)},}}[ \t]*$", re.MULTILINE).search(text, end)
            return stop.end() if stop else len(text)
    if sign[0] == "~":
        return end
    if last["`"] < end:
        blank = text.find("\n\n", end)
        last["`"] = blank if blank >= 0 else len(text)
    stop_at = text.find(sign, end, last["`"])
    return stop_at + len(sign) if stop_at >= 0 else end
