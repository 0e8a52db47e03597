"""Pages of contents: passages that do little but list other pages, and which pages these are.

They hold the words of all that they list, and say nothing of it themselves.
"""

import posixpath

#: One of these is in every list of pages that is recognised; a caller looks for them first, which costs less.
SIGNS = ("toctree::", "](", ":doc:`")
#: A page of contents lists at least this many others, and no more of its lines than it lists say something else.
LEAST = 3
#: Characters that may stand beside the links of a line which lists pages.
ASIDE = 40
_BULLETS = "*-+•| \t0123456789."
_LINKS = ((":doc:`", "`"), ("](", ")"))


def listed_pages(content: str, source: str) -> set[str]:
    """The pages that a passage of the document at `source` lists, as paths without their suffix; empty for any other.

    A path is resolved as a reader of the document would: relative to its folder, or with a `/` as it is written.
    """
    folder, pages = posixpath.dirname(source), set[str]()
    entries = others = 0
    indent = -1  # that of the `toctree` which the line stands in
    for line in content.splitlines():
        bare = line.strip()
        if not bare or bare.strip("=-~^*#\"'`+") == "":  # blank, or underlines a heading
            continue
        here = len(line) - len(line.lstrip())
        indent = -1 if here <= indent else indent
        if bare.startswith(".. toctree::"):
            indent = here
        elif indent >= 0 and bare.startswith(":"):  # an option
            continue
        else:
            targets = [bare.rpartition("<")[2].rstrip(">")] if indent >= 0 else _targets(bare)
            found = {_resolve(target, folder) for target in targets} - {""}
            pages |= found
            entries += bool(found)
            others += not found
    return pages if len(pages) >= LEAST and entries >= max(LEAST, others) else set()


def _targets(line: str) -> list[str]:
    """The paths that a line links, where it does little else."""
    found, rest = [], line.strip(_BULLETS)
    for begin, end in _LINKS:
        while begin in rest:
            before, _, after = rest.partition(begin)
            target, _, rest = after.partition(end)
            found.append(target.rpartition("<")[2].rstrip(">"))
            rest = before.rpartition("[")[0] + rest
    return found if len(rest) <= ASIDE else []


def _resolve(path: str, folder: str) -> str:
    path = path.partition("#")[0].strip()
    if not path or ":" in path:  # another site's, or mail
        return ""
    stem, suffix = posixpath.splitext(path)
    path = stem if suffix[1:].isalpha() else path
    return path if path.startswith("/") else posixpath.normpath(posixpath.join(folder, path))
