"""What a store knows of other machines is damaged: it is told, with what helps."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from homes import SHARED, Home, exchange, homes
from memctl.remote import folder

FRIDAY = "We deploy on Fridays."


@pytest.mark.parametrize("how", ["cut", "changed", "other"])
def test_a_damaged_state_is_named_and_the_remote_begins_anew(how: str) -> None:
    anna, bert = homes("anna", "bert")
    said = anna.say("We deploy on Fridays.")
    exchange(anna, bert)
    ((state,),) = anna.rows("SELECT state FROM memctl_remote_keys")
    wrong = {"cut": state[: len(state) // 2], "changed": state[:9] + bytes([state[9] ^ 255]) + state[10:], "other": b""}
    anna.change("UPDATE memctl_remote_keys SET state = ?", wrong[how])
    anna.ok("edit", said, "--title", "Deploys")
    done = anna.run("remote", "sync")
    assert done.code == 2
    assert "is damaged, or from a later memctl" in done.notes
    anna.ok("remote", "remove", "team")
    anna.join("--trust", "high")
    exchange(anna, bert)
    assert anna.texts() == bert.texts() == ["We deploy on Fridays."]


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("UPDATE memctl_remote_keys SET state = x'00'", "1 statement(s) cannot be read"),
        ("UPDATE memctl_remote_keys SET wrote = '[]'", "1 statement(s) cannot be read"),
        ("UPDATE memctl_remote_logs SET hash = 'zz'", "how far the log of anna was read"),
        ("UPDATE memctl_remote_outbox SET body = x'00'", "segment 2 of project, on its way out, does not follow"),
        ("UPDATE memctl_remote_logs SET last = 5", "segment 2 of project, on its way out, does not follow segment 5"),
        ("UPDATE memctl_remotes SET scopes = 'x'", "The list of remotes cannot be read"),
        ("", "What is known of each remote can be read"),
    ],
)
def test_doctor_sees_what_is_damaged(sql: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (anna,) = homes("anna")
    anna.say(FRIDAY)
    anna.sync()
    item = anna.items()[0]["id"]
    anna.ok("edit", item, "--title", "Deploys")

    def publish(*_: Any) -> None:
        raise OSError(28, "the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(folder.FolderCarrier, "publish", publish)
        assert anna.run("remote", "sync").code == 1
    if sql:
        anna.change(sql)
    said = anna.run("doctor")
    (check,) = (one for one in anna.run("doctor", "--json").json()["checks"] if one["name"] == "remotes")
    assert told in check["message"]
    assert check["message"] in said.notes
    assert (check["status"], said.code) == (("fail", 1) if sql else ("pass", 0))


@pytest.mark.parametrize("git", [False, True])
def test_doctor_says_that_the_folder_of_a_remote_is_gone(git: bool) -> None:
    anna = Home("anna")
    Path(SHARED).mkdir()
    if git:
        subprocess.run(["git", "init", "--quiet", "--bare", SHARED], check=True)
    anna.join()
    shutil.rmtree(SHARED)
    said = anna.run("doctor")
    assert said.code == 0
    assert f"Remote team: {Path(SHARED).absolute()} is not there" in said.notes
    assert "memctl remote remove team forgets it" in said.notes
