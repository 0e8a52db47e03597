"""Seals: a segment signed with an ssh key, or encrypted for the holders of age keys, on its way and back.

What is sealed is MARK, a line of JSON that says how, and the segment. A signature stands outside of what is encrypted,
and covers the place of the segment in its log and the hash of what is before it: who signs one signs all before it.
"""

import json
import os
from collections.abc import Mapping
from importlib import import_module

from memctl import ids
from memctl.annotations import Any, NamedTuple
from memctl.remote.errors import RemoteInvalid

MARK = b"memctl-sealed "
#: What ssh-keygen signs for, and seconds that it may take: somebody may have to touch a key.
_NAMESPACE, _PATIENCE = "memctl", 60
#: Bytes of a line that says how a segment is sealed, and of a file of keys.
_MOST_HEAD, _MOST_KEYS = 20_000, 1 << 20
_NO_AGE = "encryption needs a package that is not installed: pip install 'memctl[age]'"


class SealProblem(ValueError):
    """A segment that is not signed by anybody who counts, or cannot be decrypted here; its text says why."""


class RemoteSeal(NamedTuple):
    """How segments of a remote are sealed: the paths of files with keys, "" where there is none.

    sign        the ssh key that signs what leaves
    signers     who may sign what comes, as allowed_signers of ssh-keygen has it; nothing else is read
    recipients  age or ssh public keys, one a line: for whom is encrypted what leaves
    identity    the age or ssh key that decrypts what comes
    """

    sign: str = ""
    signers: str = ""
    recipients: str = ""
    identity: str = ""

    @classmethod
    def of(cls, options: Mapping[str, str]) -> "RemoteSeal":
        """The seal that the options of a remote ask for."""
        return cls(*(options.get(name, "") for name in cls._fields))

    def check(self) -> None:
        """Raise RemoteInvalid when a key cannot be used."""
        self.seal("check", b"")
        if self.signers:
            _read(self.signers)
        if self.identity:
            _identities(self.identity)

    def seal(self, place: str, body: bytes) -> bytes:
        """The segment as it leaves; `place` says where in which log. Raises RemoteInvalid."""
        head: dict[str, Any] = {}
        if self.recipients:
            body = _age().encrypt(body, _recipients(self.recipients))
            head["age"] = 1
        if self.sign:
            _read(self.sign)
            status, said, problem = _ssh_keygen(_claim(place, body), "sign", "-f", self.sign, "-n", _NAMESPACE)
            if status:
                raise RemoteInvalid(reason=f"nothing can be signed with {self.sign}: {problem}")
            head["signature"] = said
        return MARK + json.dumps(head).encode() + b"\n" + body if head else body

    def open(self, sealed: bytes) -> bytes:
        """The segment, whoever has signed it. Raises SealProblem and RemoteInvalid."""
        head, body = _split(sealed)
        if not head.get("age"):
            return body
        if not self.identity:
            raise SealProblem("is encrypted: remote add takes the key that reads it with --identity FILE")
        pyrage = _age()
        try:
            return bytes(pyrage.decrypt(body, _identities(self.identity)))
        except pyrage.DecryptError as exc:
            raise SealProblem(f"is encrypted, and not for the key in {self.identity}") from exc

    def signer(self, place: str, sealed: bytes, who: str = "") -> str:
        """Who of those that may sign has signed a segment; with `who`, "" if it was not he, which is asked at once.

        Raises SealProblem and RemoteInvalid.
        """
        from tempfile import TemporaryDirectory

        _read(self.signers)
        head, body = _split(sealed)
        signature = head.get("signature")
        if not isinstance(signature, str) or not signature:
            raise SealProblem(f"is not signed, and only those in {self.signers} are read")
        with TemporaryDirectory(prefix="memctl-") as folder:
            path = os.path.join(folder, "signature")
            with open(path, "w", encoding="utf-8", errors="replace") as file:
                file.write(signature)
            words = ["-f", self.signers, "-s", path]
            if not (name := who):
                status, said, _ = _ssh_keygen(b"", "find-principals", *words)
                name = said.splitlines()[0] if not status and said else ""
            if not name:
                raise SealProblem(f"is signed by nobody in {self.signers}")
            status, _, _ = _ssh_keygen(_claim(place, body), "verify", *words, "-I", name, "-n", _NAMESPACE)
        if status and not who:
            raise SealProblem(f"has a signature of {name} that does not fit")
        return "" if status else name


def _claim(place: str, body: bytes) -> bytes:
    return f"memctl segment\n{place}\n{ids.bytes_hash(body)}\n".encode()


def _split(sealed: bytes) -> tuple[dict[str, Any], bytes]:
    if not sealed.startswith(MARK):
        return {}, sealed
    end = sealed.find(b"\n", 0, _MOST_HEAD)
    try:
        head = json.loads(sealed[len(MARK) : end]) if end > 0 else None
    except (ValueError, RecursionError):
        head = None
    if not isinstance(head, dict):
        raise SealProblem("cannot be read: its seal is broken")
    return head, sealed[end + 1 :]


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(_MOST_KEYS)
    except OSError as exc:
        raise RemoteInvalid(reason=f"{path} cannot be read: {exc.strerror or exc}") from exc


# --- ssh -------------------------------------------------------------------------------------------------------------


def _ssh_keygen(data: bytes, action: str, *words: str) -> tuple[int, str, str]:
    """The status of ssh-keygen, its answer, and the last line of what it complained of."""
    import subprocess

    try:
        line = ["ssh-keygen", "-Y", action, *words]
        done = subprocess.run(  # noqa: S603 - fixed words and paths of the user's, and no shell
            line, input=data, capture_output=True, check=False, timeout=_PATIENCE,
            start_new_session=True,  # without a terminal it asks for no passphrase: an agent has it, or nobody
        )  # fmt: skip
    except subprocess.TimeoutExpired as exc:
        raise RemoteInvalid(reason=f"ssh-keygen took more than {_PATIENCE} seconds") from exc
    except OSError as exc:
        raise RemoteInvalid(reason="signatures need ssh-keygen, which is not installed") from exc
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return (
        done.returncode,
        done.stdout.decode("utf-8", "replace").strip(),
        said[-1][:200] if said else "no reason given",
    )


# --- age -------------------------------------------------------------------------------------------------------------


def _age() -> Any:
    try:
        pyrage = import_module("pyrage")
    except ImportError as exc:
        raise RemoteInvalid(reason=_NO_AGE) from exc
    return pyrage


def _recipients(path: str) -> list[Any]:
    pyrage = _age()
    found: list[Any] = []
    for number, line in enumerate(_lines(path), 1):
        kind = pyrage.ssh.Recipient if line.startswith("ssh-") else pyrage.x25519.Recipient
        try:
            found.append(kind.from_str(line))
        except pyrage.RecipientError as exc:
            raise RemoteInvalid(reason=f"{path} has no age or ssh public key in place {number}") from exc
    if not found:
        raise RemoteInvalid(reason=f"{path} names nobody: nobody could read what leaves")
    return found


def _identities(path: str) -> list[Any]:
    pyrage = _age()
    try:
        if (text := _read(path)).startswith(b"-----BEGIN"):
            return [pyrage.ssh.Identity.from_buffer(text)]
        found = [pyrage.x25519.Identity.from_str(line) for line in _lines(path)]
    except pyrage.IdentityError as exc:
        raise RemoteInvalid(reason=f"{path} has no age or ssh key without a passphrase") from exc
    if not found:
        raise RemoteInvalid(reason=f"{path} has no key")
    return found


def _lines(path: str) -> list[str]:
    lines = map(str.strip, _read(path).decode("utf-8", "replace").splitlines())
    return [line for line in lines if line and not line.startswith("#")]
