"""What sort of reading a document is, as far as its path and title tell: a program, or release notes.

Release notes, change logs and their like name everything, and explain little of it.
"""

#: How the name of such a file or folder shows, and the title of such a text.
_NAMES = frozenset(("changelog", "changelogs", "changes", "news", "releases", "relnotes", "whatsnew"))
_TITLES = ("release notes", "changelog", "change log", "what's new", "what\u2019s new", "notes de version")
#: So many words at the end of a path say what a file is.
_NEAREST = 6
#: Files that are prose by their names; in the others those words name parts of a program.
_PROSE = (".txt", ".rst", ".md", ".markdown", ".adoc", ".asciidoc", ".org", ".html", ".htm", ".tex", ".pdf")
#: Files that are neither prose nor programs.
_OTHER = (
    ".docx", ".odt", ".pptx", ".odp", ".xlsx", ".ods", ".ipynb", ".eml", ".csv", ".tsv", ".log", ".srt", ".vtt",
    ".xhtml", ".mdx", ".qmd", ".rmd", ".mkd", ".mdown", ".text", ".latex", ".man", ".mdoc", ".diff", ".patch",
)  # fmt: skip
#: Words of a question for which they are the answer.
_ASKED = frozenset((
    "added", "change", "changed", "changelog", "changes", "deprecated", "dropped", "introduced", "new", "news",
    "release", "released", "releases", "removed", "renamed", "since", "upgrade", "upgrading", "version", "versions",
    "when", "depuis", "nouveau", "nouveaut\u00e9s", "quand", "wann", "seit",
))  # fmt: skip


def is_program(source: str) -> bool:
    """Whether the file at this path is source code or data, by its suffix."""
    name = source.rpartition("/")[2].lower()
    suffix = name.rpartition(".")[2] if "." in name[1:] else ""
    return bool(suffix) and not suffix.isdecimal() and not name.endswith((*_PROSE, *_OTHER))


def tells_news(source: str, title: str) -> bool:
    """Whether a document at this path, with this title, tells what changed from version to version."""
    low = source.lower()
    if not low.endswith(_PROSE):
        return "." not in low.rpartition("/")[2] and low.rpartition("/")[2] in _NAMES
    parts = low.replace("_", "/").replace("-", "/").replace(".", "/").split("/")
    whole = title.partition(" > ")[0].lower()
    return not _NAMES.isdisjoint(parts[-_NEAREST:]) or any(words in whole for words in _TITLES)


def asks_for_news(question: str) -> bool:
    """Whether a question is after such things: what is new, when something came, what some version has."""
    words = question.lower().replace("?", " ").replace(",", " ").split()
    return any(word in _ASKED or ("." in word[1:-1] and word[0].isdecimal()) for word in words)
