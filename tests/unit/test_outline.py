"""What prose in each markup is cut along, what its passages are called, and how plain text is told from markup."""

import textwrap

import pytest

from memctl.extract import document
from memctl.text.chunking import chunk, title_of

WORDS = "Some words of an explanation that goes on for a while, as explanations do, and then ends. " * 4


def of(name: str, text: str) -> tuple[str, list[str]]:
    """The title of a document and the heading paths of its passages, cut small."""
    read = document(text.encode(), name)
    return title_of(read, name), [passage.heading for passage in chunk(read, target_tokens=120)]


def para(indent: int = 0) -> str:
    return textwrap.fill(WORDS, 78, initial_indent=" " * indent, subsequent_indent=" " * indent) + "\n"


RST = f"""\
.. _label:

:mod:`shutil` --- Files
=======================

{para()}
Directories
-----------

{para()}
.. function:: copytree(src, dst, *,
              symlinks=False)

{para(3)}
   .. note::

{para(6)}
.. method:: Reader.read_line(size)

{para(3)}
{para()}
.. setting:: STATIC_URL

``STATIC_URL``
~~~~~~~~~~~~~~

{para()}
"""


@pytest.mark.parametrize("name", ["library/shutil.rst", "library/shutil.txt"])
def test_restructured_text_is_cut_by_sections_and_by_what_its_directives_define(name: str) -> None:
    title, paths = of(name, RST)
    top = "shutil --- Files"
    assert title == top
    assert paths == [
        top,
        f"{top} > Directories",
        f"{top} > Directories > copytree",
        f"{top} > Directories > copytree",
        f"{top} > Directories > Reader.read_line",
        f"{top} > Directories",
        f"{top} > Directories > STATIC_URL",
    ]


def test_link_targets_and_labels_belong_to_the_heading_below_them() -> None:
    texts = [passage.text for passage in chunk(document(RST.encode(), "a.rst"), target_tokens=120)]
    assert texts[0].startswith(".. _label:\n")
    assert texts[-1].startswith(".. setting:: STATIC_URL\n\n``STATIC_URL``")


ASCIIDOC = f"""\
git-clean(1)
============

NAME
----
git-clean - Remove untracked files

OPTIONS
-------
-d::
\t{para(8).strip()}

-f::
--force::
\t{para(8).strip()}

EXAMPLES
--------

{para()}
----
$ git clean
== no heading
----

{para()}
"""


def test_an_asciidoc_block_ends_where_its_mark_stands_again() -> None:
    for mark, closing in [("----", "----"), ("....", "...."), ("```python", "```")]:
        text = f"= Guide\n\n== One\n\n{para()}\n{mark}\nfirst = 1\nlast = 2\n{closing}\n\n== Two\n\n{para()}"
        assert of("guide.adoc", text)[1][-1] == "Guide > Two"


@pytest.mark.parametrize("name", ["git-clean.adoc", "git-clean.txt"])
def test_asciidoc_is_cut_by_sections_and_terms_and_not_inside_blocks(name: str) -> None:
    title, paths = of(name, ASCIIDOC)
    assert title == "git-clean(1)"
    assert paths == [
        "git-clean(1)",
        "git-clean(1) > OPTIONS > -f",
        "git-clean(1) > EXAMPLES",
        "git-clean(1) > EXAMPLES",
    ]


@pytest.mark.parametrize(
    ("name", "text", "title", "paths"),
    [
        (
            "notes.org",
            f"#+TITLE: Notes\n\n* Install\n\n{para()}\n** Linux :work:\n\n{para()}\n#+begin_src sh\n* no\n#+end_src\n",
            "Notes",
            ["Install", "Install > Linux"],
        ),
        (
            "paper.tex",
            (
                f"\\documentclass{{article}}\n\\title{{On Memory}}\n\\section{{Method}}\n\n{para()}\n"
                f"\\subsection*{{The \\emph{{data}}}}\n\n{para()}\n"
            ),
            "On Memory",
            ["Method", "Method > The data"],
        ),
        (
            "rsync.1",
            f'.TH "RSYNC" "1"\n.SH "OPTIONS"\n.PP\n{para()}.TP\n.B \\-\\-delete\n{para()}.SS Old ones\n{para()}',
            "rsync(1)",
            ["OPTIONS", "OPTIONS > --delete", "OPTIONS > Old ones"],
        ),
        (
            "ssh.1",
            f".Dd June 1\n.Dt SSH 1\n.Sh OPTIONS\n{para()}.Bl -tag\n.It Fl F Ar configfile\n{para()}.El\n",
            "ssh(1)",
            ["OPTIONS", "OPTIONS > -F configfile"],
        ),
        (
            "rsync.txt",
            (
                f"rsync(1)        User Commands        rsync(1)\n\nNAME\n       rsync - copies\n\nOPTIONS\n{para(7)}\n"
                f"       --delete\n{para(15)}\n       -z, --compress  Compress\n{para(15)}\nFILES\n{para(7)}"
            ),
            "rsync(1)",
            ["", "OPTIONS > --delete", "OPTIONS > -z, --compress", "FILES"],
        ),
        (
            "rfc.txt",
            f"Working Group\n\n1.  Introduction\n\n{para(3)}\n1.1.  Terms\n\n{para(3)}\n2.  Format\n\n{para(3)}",
            "rfc",
            ["1. Introduction", "1. Introduction > 1.1. Terms", "2. Format"],
        ),
        (
            "readme.txt",
            f"The Tool\n========\n\n{para()}\nInstalling\n----------\n\n{para()}",
            "The Tool",
            ["The Tool", "The Tool > Installing"],
        ),
        (
            "guide.md",
            f"---\ntitle: npm-ci\nsection: 1\n---\n\n### Synopsis\n\n{para()}\n### Configuration\n\n{para()}",
            "npm-ci",
            ["Synopsis", "Configuration"],
        ),
    ],
)
def test_headings_of_other_markups_make_paths(name: str, text: str, title: str, paths: list[str]) -> None:
    assert of(name, text) == (title, paths)


@pytest.mark.parametrize(
    "text",
    [
        "a plain note\n\nand another one.\n",
        "name   age\n------------------------------------------\nAnn    3\n",
        "Dear all,\n\n1. Buy milk.\n2. Go home.\n",
        "one::two::three\nx == y\n# a comment\n",
        "[INFO] started\n.. and so on\n* a star\n",
    ],
)
def test_plain_text_is_no_markup(text: str) -> None:
    assert document(text.encode(), "a.txt").kind == "text"


@pytest.mark.parametrize(
    ("name", "kind"),
    [("rsync.1", "man"), ("rsyncd.conf.5", "man"), ("v1.2", "text"), ("libz.so.1", "text"), ("app.log.1", "text")],
)
def test_pages_of_the_manual_are_told_by_their_section(name: str, kind: str) -> None:
    assert document(b"words", name).kind == kind


def test_a_list_stays_with_what_introduces_it() -> None:
    before = para()
    example = "These files are read::\n\n    one.toml\n    two.toml\n"
    texts = [p.text for p in chunk(f"{before}\n{example}\n{para()}", kind="rst", target_tokens=len(before) // 4 + 8)]
    assert any(example.rstrip("\n") in text for text in texts)
