"""The pictures of the documentation as SVG: how a question becomes a block, the states of an item, the life of a fact.

A picture is text that this script writes: no library, the same bytes each time, readable on light and dark pages. Moves
between states are named by the commands that make them, and only by those that there are.
"""

from collections.abc import Iterator
from html import escape
from typing import NamedTuple

from memctl.ops import TABLE

#: On a light page, and on a dark one: text, lines, boxes, boxes of what a model is given, and what is kept from it.
COLOURS = {
    "ink": ("#1f2328", "#e6edf3"), "faint": ("#59636e", "#9198a1"), "edge": ("#8c959f", "#656c76"),
    "box": ("#f6f8fa", "#1c2128"), "good": ("#dafbe1", "#12361f"), "held": ("#fff1e5", "#3d2814"),
}  # fmt: skip
FONT = "font-family=\"ui-sans-serif, system-ui, 'Segoe UI', Helvetica, Arial, sans-serif\""
MONO = 'font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace"'


def picture(width: int, height: int, title: str, parts: Iterator[str]) -> Iterator[str]:
    """An SVG document with a title for those who cannot see it."""
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" {FONT} font-size="13">\n'
    yield f"<title>{escape(title)}</title>\n<style>\n"
    for number, scheme in enumerate(("light", "dark")):
        rules = " ".join(
            f".{name} {{ {'stroke' if name == 'edge' else 'fill'}: {pair[number]} }}" for name, pair in COLOURS.items()
        )
        yield f"@media (prefers-color-scheme: {scheme}) {{ {rules} }}\n"
    yield '</style>\n<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
    yield 'orient="auto-start-reverse"><path d="M0 0 L8 4 L0 8" fill="none" class="edge" '
    yield f'stroke="{COLOURS["edge"][0]}"/>'
    yield "</marker></defs>\n"
    yield from parts
    yield "</svg>\n"


def text(x: float, y: float, words: str, colour: str = "ink", more: str = "") -> str:
    """A line of text; `more` are further attributes."""
    return f'<text x="{x:g}" y="{y:g}" class="{colour}" fill="{COLOURS[colour][0]}" {more}>{escape(words)}</text>\n'


def box(x: float, y: float, width: float, height: float, colour: str, *lines: str, mono: bool = False) -> Iterator[str]:
    """A box with a title, and lines under it."""
    yield f'<g class="edge" stroke="{COLOURS["edge"][0]}"><rect x="{x:g}" y="{y:g}" width="{width:g}" '
    yield f'height="{height:g}" rx="6" class="{colour}" fill="{COLOURS[colour][0]}"/></g>\n'
    for number, line in enumerate(lines):
        more = 'font-weight="600"' if not number else f'font-size="11" xml:space="preserve" {MONO if mono else ""}'
        yield text(x + 10, y + 20 + 16 * number, line, "ink" if not number else "faint", more)


def arrow(x1: float, y1: float, x2: float, y2: float, words: str = "", at: tuple[float, float] | None = None) -> str:
    """A line with a tip, and what is done on the way: in its middle, or `at` a place."""
    line = f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" class="edge" stroke="{COLOURS["edge"][0]}" '
    x, y = at or ((x1 + x2) / 2, (y1 + y2) / 2 - 6)
    more = f'font-size="11" text-anchor="middle" {MONO}'
    return line + 'marker-end="url(#tip)"/>\n' + (text(x, y, words, "faint", more) if words else "")


# --- how a question becomes a block -----------------------------------------------------------------------------------


STEPS = (
    "1  words|often|signing|key|rotat(e)||stop words out,|stems; rare words|count more",
    (
        "2  candidates|docs/keys.md       ####|a decision         ###|docs/auth.md       ##|notes/ops.md       ##|"
        "CHANGELOG.md       #|one list, one score:|words, neighbours, title,|newness, use"
    ),
    "3  enough?|how much of the|question is covered?||nothing rather than|a wrong hint:|--min-coverage|--auto",
    (
        "4  packed|what adds words,|sections, documents|comes next; parts of|one document stand|together;|"
        "never more than|--budget"
    ),
)


def question_to_block() -> Iterator[str]:
    """The four steps of recall, with what each has of an example."""
    yield from picture(810, 300, "How a question becomes a block", _steps())


def _steps() -> Iterator[str]:
    yield text(20, 24, "“How often do signing keys rotate?”", "ink", 'font-size="15" font-weight="600"')
    x = 20
    for number, lines in enumerate(STEPS):
        width = 210 if number == 1 else 150
        yield from box(x, 44, width, 160, "box", *lines.split("|"), mono=True)
        x += width
        if number < 3:
            yield arrow(x + 3, 120, x + 33, 120)
            x += 36
    yield arrow(x - 75, 207, x - 75, 224)
    yield from box(
        20, 226, x - 20, 62, "good", "## Memory (Injected)",
        "[a3185e+1] docs/keys.md:12-19, 40-44 > Rotation      a passage: its id, and where it stands",
        "[90eabe] 2026-11-20 Ops decision; ltm                a statement: its id, its day, what is unusual about it",
        mono=True,
    )  # fmt: skip


# --- the states of an item --------------------------------------------------------------------------------------------


class State(NamedTuple):
    """Where the box of a state is, its colour, and what it means."""

    x: float
    y: float
    colour: str
    lines: tuple[str, ...]


STATES = {
    "raw": State(190, 20, "held", ("found by search,", "given to no model")),
    "injectable": State(190, 170, "good", ("may be in a block",)),
    "quarantined": State(190, 320, "held", ("policy holds it back",)),
    "archived": State(560, 20, "box", ("in no answer, kept",)),
    "superseded": State(560, 120, "box", ("archived, and names", "what replaced it")),
    "retracted": State(560, 220, "held", ("known to be wrong",)),
    "expired": State(560, 320, "box", ("its time is over",)),
    "purged": State(760, 170, "box", ("gone for good",)),
}
WIDTH, HEIGHT = 150, 62
#: The commands that store, with the state that items have afterwards and the line of the label.
ENTRIES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("raw", ("ingest",)),
    ("injectable", ("remember", "pull", "push", "sync")),
    ("quarantined", ()),
)
#: From, to, the commands, and where their names stand.
MOVES: tuple[tuple[str, str, tuple[str, ...], tuple[float, float]], ...] = (
    ("raw", "injectable", ("promote",), (262, 130)),
    ("quarantined", "injectable", ("quarantine release",), (302, 280)),
    ("injectable", "archived", ("forget", "consolidate"), (402, 98)),
    ("archived", "injectable", ("restore", "undo"), (508, 140)),
    ("injectable", "superseded", ("supersede", "sync"), (470, 182)),
    ("injectable", "retracted", ("retract",), (450, 216)),
    ("injectable", "expired", ("retain --until",), (398, 302)),
    ("archived", "purged", ("purge",), (765, 100)),
    ("retracted", "purged", ("purge",), (765, 262)),
    ("quarantined", "expired", ("72 h",), (450, 346)),
)


def item_states() -> Iterator[str]:
    """The states of an item, and the commands that move it."""
    yield from picture(920, 400, "The states of an item", _states())


def there(commands: tuple[str, ...]) -> list[str]:
    """Those of the commands that memctl has; what is no command (a time) stays."""
    return [name for name in commands if name.split()[0] in TABLE or name[0].isdecimal()]


def _states() -> Iterator[str]:
    for entered, commands in ENTRIES:
        y = STATES[entered].y
        words = there(commands) or ["what policy doubts"]
        for number, word in enumerate(words):
            middle = y + HEIGHT / 2 + 4 + 15 * (number - (len(words) - 1) / 2)
            yield text(20, middle, word, "faint", f'font-size="11" {MONO if commands else ""}')
        yield arrow(140, y + HEIGHT / 2, 186, y + HEIGHT / 2)
    for start, end, commands, place in MOVES:
        if names := there(commands):
            yield arrow(*_ends(start, end), " ".join(names), place)
    for name, state in STATES.items():
        yield from box(state.x, state.y, WIDTH, HEIGHT, state.colour, name, *state.lines)


def _ends(start: str, end: str) -> tuple[float, float, float, float]:
    """Where an arrow leaves one box and meets another: up and down at the edges, else from side to side."""
    x1, y1 = STATES[start][:2]
    x2, y2 = STATES[end][:2]
    if x1 == x2:
        down = y2 > y1
        return x1 + 40, y1 + (HEIGHT if down else 0), x2 + 40, y2 + (0 if down else HEIGHT)
    if (start, end) == ("archived", "injectable"):
        return x1, y1 + 50, x2 + WIDTH, y2 + 14
    if x2 > x1:
        spread = {"archived": 4, "superseded": 22, "retracted": 40, "expired": 56}.get(end, 31)
        return x1 + WIDTH, y1 + (spread if start == "injectable" else 31), x2, y2 + (24 if end == "archived" else 31)
    return x1, y1 + 31, x2 + WIDTH, y2 + 31


def fact_life() -> Iterator[str]:
    """How a fact is born, cited, found stale, renewed, contradicted and replaced."""
    yield from picture(880, 250, "The life of a fact", _life())


def _life() -> Iterator[str]:
    yield from box(20, 30, 170, 62, "good", "born, and cites", "tied to lines and", "definitions it names")
    yield from box(340, 30, 190, 62, "held", "stale", "recall says so, and ranks", "it behind fresh ones")
    yield from box(680, 30, 180, 62, "good", "renewed", "its text is back, or a", "person vouches for it")
    yield from box(340, 160, 190, 62, "held", "contradicted", "both sides, until", "somebody decides")
    yield from box(680, 160, 180, 62, "box", "replaced", "archived; the new one", "says what it replaces")
    yield arrow(190, 61, 336, 61, "sync")
    yield arrow(530, 61, 676, 61, "sync, verify")
    yield arrow(105, 92, 336, 190, "remember, link", (170, 160))
    yield arrow(530, 190, 676, 190, "resolve")
    yield arrow(530, 80, 676, 170, "supersede", (640, 118))
