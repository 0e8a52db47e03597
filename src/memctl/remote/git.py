"""A git repository: the project's own, or any other that all can reach. Hosts, users and keys are git's to know.

Each log is a ref of ours, `refs/memctl/SCOPE/REPLICA`, with a commit for each push: a push that is no fast-forward is
refused, so that nobody overwrites what he has not seen. Clones, logs and pulls of others do not show these refs. They
are fetched into a bare repository of ours; the settings and hooks of the project's have no say.
"""

import os
from collections.abc import Collection, Iterable, Sequence

from memctl import ids, state
from memctl.remote.carrier import LostRace, SegmentPlace, folded_name, in_order
from memctl.remote.segments import MOST_BYTES, SegmentName, is_replica, parse_name

#: Where logs stand, unless the URL says otherwise behind a `#`.
PREFIX = "refs/memctl"
#: Seconds that git may take for one call.
_PATIENCE = 300
_OPTIONS = (
    "core.hooksPath=/dev/null", "core.fsmonitor=false", "gc.auto=0", "maintenance.auto=false",
    "transfer.fsckObjects=true", "credential.interactive=false",
)  # fmt: skip
#: What git says when another process has the ref, or has moved it since it was looked at.
_RACES = (
    b"cannot lock ref", b".lock': File exists", b"(fetch first)", b"(non-fast-forward)", b"(stale info)",
    b"couldn't find remote ref",
)  # fmt: skip
_WHO = "memctl <memctl@localhost>"
#: How a repository on this machine is written to: with git's defaults for whatever in its own settings runs programs.
_RECEIVE = (
    "--receive-pack=git -c core.hooksPath=/dev/null -c core.alternateRefsCommand=true -c receive.autogc=false "
    "-c receive.denyCurrentBranch=refuse receive-pack"
)
#: Of the environment, what git takes its orders from is left out, but for how it asks for keys.
_KEPT = ("GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_SSL_CAINFO", "GIT_SSL_NO_VERIFY")


class GitCarrier:
    """The refs of one repository, which a URL names as git understands it."""

    def __init__(self, url: str) -> None:
        self.url, _, prefix = url.partition("#")
        self.prefix = prefix or PREFIX
        self.folder = os.path.join(state.folder(), "remotes", f"{ids.bytes_hash(url.encode())[:24]}.git")
        self._tips: dict[tuple[str, str], str] = {}
        self._files: dict[SegmentPlace, str] = {}

    # --- what is there --------------------------------------------------------------------------------------------

    def listing(self, scopes: Collection[str], _known: object = None) -> dict[tuple[str, str], list[SegmentName]]:
        """The segments of each log: one connection, and another one if anything is new."""
        if not os.path.isdir(self.folder):
            self._make_folder()
        there = self._refs(self._git("ls-remote", "--quiet", "--", self.url, f"{self.prefix}/*"), scopes, self.prefix)
        here = self._refs(self._git("for-each-ref", "--format=%(objectname)\t%(refname)", PREFIX), scopes, PREFIX)
        new = [place for place, tip in there.items() if here.get(place) != tip]
        if new:
            wanted = [f"+{self._ref(self.prefix, place)}:{self._ref(PREFIX, place)}" for place in new]
            self._git("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--",
                      self.url, *wanted)  # fmt: skip
        self._tips = there
        return self._trees()

    def _make_folder(self) -> None:
        """Make our bare repository; whoever finds it finds it whole."""
        os.makedirs(os.path.dirname(self.folder), mode=0o700, exist_ok=True)
        made = f"{self.folder}.{os.urandom(6).hex()}"
        self._git("init", "--quiet", "--bare", "--template=", made)
        try:
            os.rename(made, self.folder)
        except OSError:  # another process has made it
            from shutil import rmtree

            rmtree(made)

    def _ref(self, prefix: str, place: tuple[str, str]) -> str:
        return f"{prefix}/{folded_name(place[0])}/{place[1]}"

    def _refs(self, listed: bytes, scopes: Collection[str], prefix: str) -> dict[tuple[str, str], str]:
        """The commits of our logs in what git lists."""
        by_name = {folded_name(scope): scope for scope in scopes}
        found = {}
        for line in listed.decode("ascii", "replace").splitlines():
            tip, _, ref = line.partition("\t")
            folder, _, replica = ref.removeprefix(f"{prefix}/").partition("/")
            if folder in by_name and is_replica(replica) and not tip.strip("0123456789abcdef"):
                found[by_name[folder], replica] = tip
        return found

    def _trees(self) -> dict[tuple[str, str], list[SegmentName]]:
        """The files of all logs, in one call."""
        self._files = {}
        if not self._tips:
            return {}
        asked = "".join(f"{tip}^{{tree}}\n" for tip in self._tips.values())
        out = self._git("cat-file", "--batch", data=asked.encode())
        found, at = {}, 0
        for place, tip in self._tips.items():
            head, _, _ = out[at:].partition(b"\n")
            _, kind, size = head.decode().split() if head.count(b" ") == 2 else ("", "", "0")
            start = at + len(head) + 1
            at = start + int(size) + 1
            held = dict(_entries(out[start : at - 1], len(tip) // 2)) if kind == "tree" else {}
            self._files |= {SegmentPlace(*place, name): digest for name, digest in held.items()}
            if held:
                found[place] = in_order(held)
        return found

    def read(self, place: SegmentPlace) -> bytes:
        """The bytes of a segment."""
        digest = self._files.get(place)
        if digest is None or int(self._git("cat-file", "-s", digest) or b"0") > MOST_BYTES:
            return b""
        return self._git("cat-file", "blob", digest)

    # --- what is new ----------------------------------------------------------------------------------------------

    def publish(self, new: Iterable[tuple[SegmentPlace, bytes]], drop: Iterable[SegmentPlace] = ()) -> None:
        """One commit for each log, and one push for all."""
        gone = set(drop)
        logs: dict[tuple[str, str], dict[SegmentName, bytes]] = {}
        for one, body in new:
            if one not in self._files:
                logs.setdefault((one.scope, one.replica), {})[one.name] = body
        if not logs:
            return
        out = f"refs/out/{os.urandom(6).hex()}"
        stream = b"".join(self._commit(out, n, place, bodies, gone) for n, (place, bodies) in enumerate(logs.items()))
        self._git("fast-import", "--quiet", "--force", data=stream)
        anew = {(one.scope, one.replica) for one in gone}
        leases = [
            f"--force-with-lease={self._ref(self.prefix, place)}:{self._tips.get(place, '')}" for place in sorted(anew)
        ]
        pushed = [f"{'+' * (place in anew)}{out}/{n}:{self._ref(self.prefix, place)}" for n, place in enumerate(logs)]
        try:
            how = ["--no-verify", *([_RECEIVE] if os.path.isabs(self.url) else [])]
            self._git("push", "--quiet", *how, *leases, "--", self.url, *pushed)
            for n, place in enumerate(logs):
                self._git("update-ref", self._ref(PREFIX, place), f"{out}/{n}")
        finally:
            for n in range(len(logs)):
                self._git("update-ref", "-d", f"{out}/{n}")

    def _commit(
        self, out: str, number: int, place: tuple[str, str], bodies: dict[SegmentName, bytes], gone: set[SegmentPlace]
    ) -> bytes:
        """A commit as fast-import reads it: on top of what is there, or, where something goes, on top of nothing."""
        lines = [f"commit {out}/{number}\ncommitter {_WHO} {int(ids.now_seconds())} +0000\ndata 6\nmemctl\n".encode()]
        tip = self._tips.get(place)
        own = {one: digest for one, digest in self._files.items() if (one.scope, one.replica) == place}
        if tip and not gone & own.keys():
            lines.append(f"from {tip}\n".encode())
        else:
            kept = {one.name: digest for one, digest in own.items() if one not in gone}
            lines += [f"M 100644 {digest} {name}\n".encode() for name, digest in kept.items()]
        for name, body in bodies.items():
            lines.append(f"M 100644 inline {name}\ndata {len(body)}\n".encode() + body + b"\n")
        return b"".join(lines) + b"\n"

    # --- git ------------------------------------------------------------------------------------------------------

    def _git(self, command: str, *words: str, data: bytes = b"") -> bytes:
        """What git answers. Raises OSError."""
        import subprocess

        options = [word for option in _OPTIONS for word in ("-c", option)]
        line = ["git", *options, command, *words]
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _KEPT}
        kept.setdefault("GIT_SSH_COMMAND", "ssh -oBatchMode=yes")
        env = kept | {
            "GIT_DIR": self.folder, "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C",
            "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh",
        }  # fmt: skip
        try:
            done = subprocess.run(  # noqa: S603 - git with fixed options, and no shell
                line, input=data, capture_output=True, timeout=_PATIENCE, check=False, env=env
            )
        except subprocess.TimeoutExpired as exc:
            raise OSError(f"git {command} took more than {_PATIENCE} seconds") from exc
        except FileNotFoundError as exc:
            raise OSError("git is not installed") from exc
        if done.returncode:
            kind = LostRace if any(word in done.stderr for word in _RACES) else OSError
            raise kind(f"git {command}: {self._said(done.stderr)}")
        return done.stdout

    def _said(self, text: bytes) -> str:
        """The last thing that git said, without the URL, in which a password may stand."""
        from memctl.text.clean import one_line

        lines: Sequence[str] = text.decode("utf-8", "replace").replace(self.url, "the repository").splitlines()
        told = [line for line in lines if line.startswith(("fatal:", "error:", " !", "remote:"))] or lines
        return one_line(told[0] if told else "no answer", 200)


def _entries(tree: bytes, size: int) -> Iterable[tuple[SegmentName, str]]:
    """The segments in a tree as git keeps it: mode, blank, name, NUL, and a hash of this many bytes."""
    at = 0
    while at < len(tree):
        end = tree.index(b"\0", at)
        mode, _, word = tree[at:end].partition(b" ")
        at = end + 1 + size
        name = parse_name(word.decode("ascii", "replace"))
        if name is not None and mode == b"100644":
            yield name, tree[end + 1 : at].hex()
