"""Signed and encrypted logs: who has no key neither writes what counts nor reads."""

import shutil
import subprocess
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homes import SHARED, Home, exchange
from memctl.remote import merge, sealing, segments
from memctl.remote.sealing import MARK, RemoteSeal, SealProblem
from memctl.store.remotes import KnownLog
from support import examples
from wire import CoreClient, built

FRIDAY, JSON = "We deploy on Fridays.", "The API speaks JSON."


def key_of(name: str) -> str:
    """The path of a new ssh key without a passphrase."""
    words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", f"{name}@example.org", "-f", f"{name}.key"]
    subprocess.run(words, check=True)
    return f"{name}.key"


def allow(*names: str, path: str = "allowed_signers") -> str:
    lines = [f"{name}@example.org {Path(f'{name}.key.pub').read_text()}" for name in names]
    Path(path).write_text("".join(lines))
    return path


def signing(*names: str) -> list[Home]:
    """Stores that sign what they say and read only what these sign."""
    Path(SHARED).mkdir(exist_ok=True)
    keys = {name: key_of(name) for name in names}
    signers = allow(*names)
    return [Home(name).join("--trust", "high", "--sign", key, "--signers", signers) for name, key in keys.items()]


def bodies() -> list[Path]:
    return sorted(path for path in Path(SHARED).rglob("*") if path.is_file())


# --- signatures ------------------------------------------------------------------------------------------------------


def test_what_is_signed_travels_under_the_name_that_the_key_has() -> None:
    anna, bert = signing("anna", "bert")
    said = anna.say(FRIDAY)
    exchange(anna, bert)
    bert.ok("edit", said, "--content", "We deploy on Mondays.")
    exchange(bert, anna)
    assert anna.texts() == bert.texts() == ["We deploy on Mondays."]
    assert "remote:team/anna@example.org" in bert.items()[0]["provenance"]["chunk_ids"]
    whole = bert.json("remote", "verify", "team")
    assert whole["status"] == "ok"
    assert {row["who"] for row in whole["logs"]} == {"anna@example.org", "bert@example.org"}
    bert.ok("remote", "compact", "team")
    assert anna.json("remote", "verify", "team")["status"] == "ok"


def test_who_signs_nothing_or_is_no_signer_is_not_read_and_named() -> None:
    anna, _ = signing("anna", "bert")
    carl = Home("carl").join("--trust", "high", "--author", "anna@example.org")
    key_of("dora")
    dora = Home("dora").join("--trust", "high", "--sign", "dora.key")
    carl.say(FRIDAY)
    dora.say(JSON)
    exchange(carl, dora)
    problems = " ".join(anna.sync()["problems"].values())
    assert anna.texts() == []
    assert "is not signed, and only those in" in problems
    assert "is signed by nobody in" in problems
    assert anna.json("remote", "verify", "team")["status"] == "problem"
    assert len(dora.texts()) == 2  # who asks for no signatures reads both


def test_a_signer_does_not_write_on_in_the_log_of_another() -> None:
    anna, bert = signing("anna", "bert")
    anna.say(FRIDAY)
    exchange(anna, bert)
    (replica,) = {one["replica"] for one in anna.json("remote", "list")["remotes"]}
    anna.change("UPDATE memctl_remote_options SET value = replace(value, 'anna', 'bert') WHERE name = 'sign'")
    anna.say(JSON)
    anna.sync()
    problems = bert.sync()["problems"]
    why = "segment 2 is signed by bert@example.org, and not by anna@example.org as those before"
    assert problems == {"project/anna@example.org": why}
    assert bert.texts() == [FRIDAY]
    logs = {row["replica"]: row["problem"] for row in bert.json("remote", "verify", "team")["logs"]}
    assert "as those before" in logs[replica]


def test_of_what_is_new_in_a_log_the_last_signature_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    anna, bert = signing("anna", "bert")
    ran: list[str] = []
    ssh_keygen = sealing._ssh_keygen

    def noted(data: bytes, action: str, *words: str) -> tuple[int, str, str]:
        ran.append(action)
        return ssh_keygen(data, action, *words)

    for number in range(9):
        anna.say(f"Fact number {number} is about topic {number}.")
        anna.sync()
    monkeypatch.setattr(sealing, "_ssh_keygen", noted)
    assert bert.sync()["new"] == 9
    assert ran == ["find-principals", "verify", "verify"]  # who began the log, and who signed its end
    ran.clear()
    assert bert.json("remote", "verify", "team")["status"] == "ok"
    assert ran == ["verify"]


class _FakeSeal(RemoteSeal):
    """A segment is signed by who is named before its first blank."""

    asked = 0

    def signer(self, _place: str, sealed: bytes, who: str = "") -> str:
        type(self).asked += 1
        found = sealed.split()[0].decode()
        if found == "nobody":
            raise SealProblem("is not signed")
        return found if who in ("", found) else ""

    def open(self, sealed: bytes) -> bytes:
        return sealed.partition(b" ")[2]


def _marked(signer: str, _place: str, body: bytes) -> bytes:
    return f"{signer} ".encode() + body


@examples(200)
@given(st.integers(1, 40), st.lists(st.sampled_from(["bert", "nobody"]), max_size=40), st.booleans(), st.data())
def test_a_log_counts_as_far_as_the_one_who_began_it_signed_it(
    mine: int, others: list[str], known: bool, data: st.DataObject
) -> None:
    who = ["anna"] * mine + others
    parts: list[tuple[str, merge.State]] = [(f"{n:032x}", {"gone": {}}) for n in range(len(who))]
    log, bodies, before = KnownLog("project", "a" * 12, who="anna" * known), {}, ""
    for number, (signer, part) in enumerate(zip(who, parts, strict=True)):
        sealed = partial(_marked, signer)
        ((name, bodies[name]),) = segments.pack(*log[:2], "", number, before, [part], sealed)
        before = name.hash
    broken = data.draw(st.none() | st.integers(0, len(who) - 1))
    if broken is not None:
        bodies[[*bodies][broken]] += b"x"
    seen, problem, _FakeSeal.asked = [], "", 0
    try:
        for name, segment in segments.read_log([*bodies], log, bodies.__getitem__, _FakeSeal(signers="file")):
            seen.append((name.last, segment.who))
    except segments.SegmentProblem as exc:
        problem = str(exc)
    good = min(mine, len(who) if broken is None else broken)
    assert seen == [(number + 1, "anna") for number in range(good)]
    assert problem.startswith(f"segment {good + 1} ") if good < len(who) else not problem
    assert _FakeSeal.asked <= 4 + len(who).bit_length()


def test_of_what_a_stranger_appends_to_a_log_a_portion_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "_AT_ONCE", 2000)
    log, bodies, before, read = KnownLog("project", "a" * 12), {}, "", list[segments.SegmentName]()
    for number in range(1000):
        sealed = partial(_marked, "anna" if number < 100 else "nobody")
        part: tuple[str, merge.State] = (f"{number:032x}", {"gone": {}})
        ((name, bodies[name]),) = segments.pack(*log[:2], "", number, before, [part], sealed)
        before = name.hash

    def noted(name: segments.SegmentName) -> bytes:
        read.append(name)
        return bodies[name]

    seen: list[int] = []
    with pytest.raises(segments.SegmentProblem, match="segment 101 is not signed"):
        seen.extend(one.last for one, _ in segments.read_log([*bodies], log, noted, _FakeSeal(signers="file")))
    assert seen == [*range(1, 101)]
    assert sum(len(bodies[name]) for name in read[100:]) < 2000 + len(bodies[name])


def test_a_copy_of_a_store_that_signs_reads_what_the_store_said() -> None:
    anna, bert = signing("anna", "bert")
    anna.say(FRIDAY)
    exchange(anna, bert)
    anna.ok("backup", "backup.db")
    anna.say(JSON)
    anna.sync()
    twin = Home("twin")
    shutil.copy("backup.db", twin.db)
    twin.say("Said by the copy.")
    assert twin.sync()["became"]
    assert twin.sync()["problems"] == {}
    exchange(anna, twin)
    assert anna.texts() == twin.texts()
    assert len(twin.texts()) == 3


@pytest.mark.parametrize("change", ["flip", "strip", "move", "head"])
def test_a_signed_segment_that_somebody_changed_does_not_count(change: str) -> None:
    anna, bert = signing("anna", "bert")
    anna.say(FRIDAY)
    anna.sync()
    (path,) = bodies()
    body, replica = path.read_bytes(), path.parent.name
    assert body.startswith(MARK)
    head, _, inside = body.partition(b"\n")
    if change == "flip":
        body = head + b"\n" + inside[:-1] + bytes([inside[-1] ^ 1])
    elif change == "strip":
        body = inside
    elif change == "head":
        body = head[:-1] + b"\n" + inside
    else:
        replica = "ee" * 6
    path.unlink()
    place = path.parent.parent / replica
    place.mkdir(exist_ok=True)
    (place / str(segments.SegmentName(1, 1, segments._hash("", body)))).write_bytes(body)
    assert len(bert.sync()["problems"]) == 1
    assert bert.texts() == []


def test_a_key_that_cannot_be_used_is_refused_when_it_is_named() -> None:
    Path(SHARED).mkdir()
    Path("nonsense").write_text("this is no key\n")
    home = Home("anna")
    for flag, problem in (("--sign", "nothing can be signed"), ("--recipients", "age")):
        refused = home.run("remote", "add", "team", SHARED, flag, "nonsense")
        assert refused.code == 1
        assert problem in refused.notes
    for flag in ("--sign", "--signers", "--recipients", "--identity"):
        assert home.run("remote", "add", "team", SHARED, flag, "missing").code == 1
    assert home.json("remote", "list")["total"] == 0


# --- encryption ------------------------------------------------------------------------------------------------------


def age_key(name: str) -> tuple[str, str]:
    """The path of a new age key, and its public key."""
    pyrage = pytest.importorskip("pyrage")
    made = pyrage.x25519.Identity.generate()
    Path(f"{name}.age").write_text(f"# {name}\n{made}\n")
    return f"{name}.age", str(made.to_public())


def encrypting(*names: str) -> list[Home]:
    """Stores that encrypt for each other."""
    Path(SHARED).mkdir(exist_ok=True)
    keys = {name: age_key(name) for name in names}
    Path("recipients").write_text("".join(f"# {name}\n{public}\n" for name, (_, public) in keys.items()))
    sealed = "--recipients", "recipients", "--identity"
    return [Home(name).join("--trust", "high", *sealed, path) for name, (path, _) in keys.items()]


def test_what_is_encrypted_is_read_by_those_it_is_for_and_nobody_else() -> None:
    anna, bert = encrypting("anna", "bert")
    said = anna.say(FRIDAY)
    exchange(anna, bert)
    bert.ok("edit", said, "--content", JSON)
    exchange(bert, anna)
    assert anna.texts() == bert.texts() == [JSON]
    for path in bodies():
        assert b"age-encryption.org" in path.read_bytes()
        assert segments.records_of(path.read_bytes()) == []
    carl = Home("carl").join("--trust", "high")
    problems = carl.sync()["problems"]
    assert len(problems) == 2
    assert all("is encrypted: remote add takes the key that reads it with --identity FILE" in one
               for one in problems.values())  # fmt: skip
    other, _ = age_key("dora")
    unencrypted = Home("dora").run("remote", "add", "team", SHARED, "--identity", other)
    assert unencrypted.code == 1
    assert "would leave unencrypted" in unencrypted.notes
    dora = Home("dora").join("--identity", other, "--read-only")
    assert all("not for the key in" in one for one in dora.sync()["problems"].values())
    assert carl.texts() == dora.texts() == []


def test_an_ssh_key_signs_and_decrypts_and_a_dry_run_shows_what_would_leave() -> None:
    pytest.importorskip("pyrage")
    Path(SHARED).mkdir()
    made = []
    for name in ("anna", "bert"):
        key_of(name)
    Path("recipients").write_text(Path("anna.key.pub").read_text() + Path("bert.key.pub").read_text())
    signers = allow("anna", "bert")
    for name in ("anna", "bert"):
        keys = "--sign", f"{name}.key", "--signers", signers, "--recipients", "recipients", "--identity", f"{name}.key"
        made.append(Home(name).join(*keys))
    anna, bert = made
    anna.say(FRIDAY)
    leaves = anna.sync("--dry-run")["leaves"]
    assert FRIDAY in str(leaves)
    exchange(anna, bert)
    assert bert.texts() == [FRIDAY]
    assert bert.json("remote", "verify", "team")["status"] == "ok"


def test_what_is_sealed_and_could_not_leave_is_what_leaves_later() -> None:
    anna, bert = encrypting("anna", "bert")
    anna.say(FRIDAY)
    Path(SHARED).rename("away")
    assert anna.run("remote", "sync").code == 1
    Path(SHARED).write_text("")
    assert anna.run("remote", "sync").code == 1
    Path(SHARED).unlink()
    Path("away").rename(SHARED)
    Path(SHARED, "memctl").write_text("no folder\n")
    assert anna.run("remote", "sync").code == 1
    assert anna.rows("SELECT count(*) FROM memctl_remote_plain") == [(1,)]
    assert FRIDAY in str(anna.sync("--dry-run")["leaves"])
    Path(SHARED, "memctl").unlink()
    exchange(anna, bert)
    assert anna.rows("SELECT count(*) FROM memctl_remote_plain") == [(0,)]
    assert bert.texts() == [FRIDAY]
    anna.ok("remote", "remove", "team")
    assert anna.rows("SELECT name FROM sqlite_master WHERE name LIKE 'memctl_remote%'") == []


def test_a_model_is_not_told_where_keys_are() -> None:
    anna, _ = signing("anna", "bert")
    assert anna.json("remote", "list")["remotes"][0]["sign"].endswith("/anna.key")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMCTL_DB", anna.db)
        told = CoreClient(built("--toolset", "full").core).call("memory_remote_status")
    assert told["structuredContent"]["total"] == 1
    assert "anna.key" not in str(told)


@examples(200)
@given(st.binary(max_size=300), st.booleans())
def test_whatever_a_sealed_segment_is_it_is_opened_or_a_problem(data: bytes, marked: bool) -> None:
    sealed, problem = MARK + data if marked else data, ""
    try:
        body = RemoteSeal().open(sealed)
    except SealProblem as exc:
        problem = str(exc)
    else:
        assert sealed.endswith(body)
    assert marked or not problem
