"""What a repository calls its remote becomes a scope: whatever it is, the name is plain and holds no password."""

import re

from hypothesis import example, given
from hypothesis import strategies as st

from memctl.context.project import remote_name

WORD = st.text("abcdefghijklmnopqrstuvwxyzABCDEF0123456789-_", min_size=1, max_size=12)
SECRET = st.text("QWXYZ0123456789!%@:/?#é ", min_size=6, max_size=30).map(lambda text: f"QQQ{text}")


@given(st.text(max_size=200))
def test_any_text_has_a_plain_name_or_none(url: str) -> None:
    assert re.fullmatch(r"[\w./~+-]*", remote_name(url))
    assert remote_name(url) == remote_name(url.strip())


@example("0", "0", "QQQ0000:/", "https://{}@host.example/{}/{}.git")
@example("0", "0", "QQQ00/00", "https://{}@host.example/{}/{}.git")
@given(WORD, WORD, SECRET, st.sampled_from(["https://{}@host.example/{}/{}.git", "{}@host.example:{}/{}"]))
def test_nobodys_password_is_in_it(owner: str, name: str, secret: str, form: str) -> None:
    found = remote_name(form.format(f"user:{secret}", owner, name))
    assert "qqq" not in found.lower()


@given(WORD, WORD)
def test_all_forms_of_a_remote_are_one(owner: str, name: str) -> None:
    forms = (
        f"https://host.example/{owner}/{name}.git", f"git@host.example:{owner}/{name}", f"ssh://u@HOST.example:22/{owner}/{name}/",
    )  # fmt: skip
    assert len({remote_name(one) for one in forms}) == 1
