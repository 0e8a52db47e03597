"""Pages of contents are told from pages that say something, and the pages that they list are known."""

import pytest

from memctl.text.contents import listed_pages

TREE = """Guides
======

.. toctree::
   :maxdepth: 1

   install
   Writing <topics/write>
   deployment/index
   /ref/settings
"""
LINKS = """# Guides

- [Install](install.md)
- [Write](topics/write.md#first) how to begin
* [Settings](../ref/settings.md)
"""
ROLES = "* :doc:`install`\n* **Models:** :doc:`Writing <topics/write>` | :doc:`/ref/settings`\n* :doc:`admin/index`\n"


@pytest.mark.parametrize(
    ("content", "pages"),
    [
        (TREE, {"/d/install", "/d/topics/write", "/d/deployment/index", "/ref/settings"}),
        (LINKS, {"/d/install", "/d/topics/write", "/ref/settings"}),
        (ROLES, {"/d/install", "/d/topics/write", "/ref/settings", "/d/admin/index"}),
        ("See [the guide](guide.md).\nIt says how.\nAnd why.\nNothing else is here.", set()),
        ("- [one](a.md)\n- [two](b.md)", set()),
        ("- [one](https://x.y/a)\n- [two](#b)\n- [three](mailto:a@b.c)", set()),
        ("An array[0](1) of things\n" * 4, set()),
        ("", set()),
    ],
)  # fmt: skip
def test_what_a_page_lists(content: str, pages: set[str]) -> None:
    assert listed_pages(content, "/d/index.txt") == pages


def test_a_tree_ends_where_its_indent_does() -> None:
    assert listed_pages(TREE + "\n\nThis says more.\nAnd more.\n", "/d/index.txt")
    assert not listed_pages(TREE + "\nThis says more.\n" * 5, "/d/index.txt")
