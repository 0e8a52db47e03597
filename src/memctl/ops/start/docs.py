"""memctl docs: the documentation as it is installed, and the topics of memctl help."""

import os
import re

import memctl
from memctl.annotations import Annotated
from memctl.context import Context
from memctl.errors import FileMissing, UsageError
from memctl.operation import NONE, Arg, PlainResult, operation

#: Topics that are no page and no heading of the glossary: what people look for, and where it stands.
TOPICS = {
    "exit": "errors", "exit-codes": "errors", "exit-status": "errors", "environment": "config", "settings": "config",
    "variables": "config", "json": "formats#--json-by-command",
    "commands": "cli", "words": "glossary", "install": "readme#install",
    "clients": "readme#in-an-ai-client", "limits": "readme#limits", "rules": "policy", "budget": "recall",
}  # fmt: skip
#: Pages that stand beside the folder of the others.
ABOVE = ("readme", "security", "changelog")


@operation(
    access=NONE,
    examples=(
        "memctl docs                  # the list of pages",
        "memctl docs recall           # how items are found and packed",
        "memctl docs formats#items-as-export-writes-them",
        "memctl docs glossary | grep -A3 '## scope'",
    ),
    exits={1: "there is no such page"},
)
def docs(
    ctx: Context,  # noqa: ARG001 - every operation takes it
    page: Annotated[str, Arg("the page, or page#heading (else the list of them)", metavar="PAGE")] = "index",
) -> PlainResult:
    """Read the documentation.

    The pages are Markdown, as they are in the repository. On a terminal they are shown by $PAGER.
    """
    text = find_topic(page)
    if text is None:
        from difflib import get_close_matches

        near = get_close_matches(page.lower(), [*pages(), *TOPICS], 1)
        guess = f"; did you mean '{near[0]}'?" if near else "; memctl docs lists them"
        raise UsageError(f"there is no page '{page}'{guess}", command="docs")
    result = PlainResult({"status": "ok", "page": page, "text": text}, text.splitlines(), verbatim=True)
    result.paged = True
    return result


def pages() -> dict[str, str]:
    """The path of each page by its name."""
    here = os.path.dirname(os.path.abspath(memctl.__file__))
    home = here if os.path.isdir(os.path.join(here, "docs")) else os.path.join(here, os.pardir, os.pardir)
    folder = os.path.normpath(os.path.join(home, "docs"))
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".md"))
    except OSError as exc:
        raise FileMissing(path=folder, reason="the documentation is not installed") from exc
    found = {"index" if name == "README.md" else name[:-3]: os.path.join(folder, name) for name in names}
    above = ((name, os.path.join(os.path.dirname(folder), f"{name.upper()}.md")) for name in ABOVE)
    return found | dict(above)


def find_topic(words: str) -> str | None:
    """The page or the part of one that a topic means; None when there is none."""
    topic = "-".join(words.lower().split()).removeprefix("docs/").replace(".md", "")
    known = pages()
    one = topic.removesuffix("s")
    for name in (topic, one, f"glossary#{topic}", f"glossary#{one}", TOPICS.get(topic, "")):
        page, _, anchor = name.partition("#")
        if page not in known:
            continue
        with open(known[page], encoding="utf-8") as file:
            text = re.sub(r"(?m)^<!--.*-->\n\n?", "", file.read())
        text = _section(text, anchor) if anchor else text
        if text:
            return text.rstrip() + "\n"
    return None


def _section(text: str, anchor: str) -> str:
    """A heading with what stands below it; "" when the page has none of this anchor."""
    taken: list[str] = []
    depth = 0
    fenced = False  # what stands in fences is no heading
    for line in text.splitlines():
        fenced ^= line.startswith("```")
        level = 0 if fenced else len(line) - len(line.lstrip("#"))
        if depth and level and level <= depth:
            break
        if not depth and level and re.sub(r"[^\w\- ]", "", line[level:].strip().lower()).replace(" ", "-") == anchor:
            depth = level
        if depth:
            taken.append(line)
    return "\n".join(taken)
