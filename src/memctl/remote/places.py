"""Which carrier a URL means."""

import os
import re
from collections.abc import Callable, Iterable

from memctl import ids
from memctl.annotations import TYPE_CHECKING
from memctl.remote.errors import RemoteInvalid

if TYPE_CHECKING:
    from memctl.remote.carrier import Carrier
    from memctl.remote.git import GitCarrier

#: How git is reached; what runs programs (`ext::`) is none of them.
_SCHEMES = ("ssh", "https", "http", "git")
#: `git@host:path`, as ssh and scp have it. Nothing that a program of git's could take for an option stands in front.
_SCP = re.compile(r"\w[\w.-]*@\w[\w.-]*:[^:-].*", re.ASCII)
_HOST = re.compile(r"(\w[\w.~+%-]*@)?(\w[\w.-]*|\[[0-9A-Fa-f:.]+\])(:\d+)?")
#: Where logs stand in a repository, if not in refs/memctl.
_PREFIX = re.compile(r"refs/[a-z0-9_-]+(/[a-z0-9_-]+)*", re.ASCII)
#: How a database is reached, and what of libpq's words may stand in its URL: none that is a secret, or says from where
#: one is taken, or sends one to another host than that it is for.
_POSTGRES = ("postgresql", "postgres")
_WORDS = frozenset((
    "application_name", "channel_binding", "connect_timeout", "dbname", "gssencmode", "host", "keepalives",
    "krbsrvname", "port", "require_auth", "service", "sslcert", "sslcrl", "sslkey", "sslmode", "sslrootcert",
    "target_session_attrs", "user",
))  # fmt: skip
#: How object storage is reached: a bucket, and a prefix in it.
_OBJECTS = ("s3", "gs", "az")
_BUCKET = re.compile(r"(s3|gs|az)://[a-z0-9][a-z0-9._-]{1,99}(/[A-Za-z0-9._-]+)*/?", re.ASCII)
#: How the URL of a repository on this machine is kept, to tell it from a folder.
_GIT = "git:"


def resolve(url: str, absolute: Callable[[str], str]) -> str:
    """A URL in the form that is kept: what is on this machine by its absolute path. Raises RemoteInvalid."""
    text = url.strip()
    place, mark, prefix = text.partition("#")
    if not place or not text.isprintable():
        raise RemoteInvalid(reason="it has no URL")
    if place.startswith("-"):
        raise RemoteInvalid(reason="its URL begins with '-', as an option does")
    if mark:
        _check_prefix(prefix)
    if place.partition("://")[0] in _POSTGRES:
        return _checked_database(text)
    if place.partition("://")[0] in _OBJECTS:
        if not _BUCKET.fullmatch(text) or "/.." in text or "/./" in text:
            raise RemoteInvalid(reason=f"it is no {place[:2]}://BUCKET/PREFIX, with letters, digits, '.', '_' and '-'")
        return text.rstrip("/")
    if place.partition("://")[0] in _SCHEMES:
        return _checked_repository(text, place)
    if _SCP.fullmatch(place) and "::" not in place:
        return text
    return _kept_path(absolute, place, f"{mark}{prefix}")


def _kept_path(absolute: Callable[[str], str], place: str, mark: str) -> str:
    path = place.removeprefix("file://")
    if "://" in path or "::" in path:
        raise RemoteInvalid(reason=f"memctl knows no way to {path.partition(':')[0][:20]}:")
    path = absolute(path)
    if not os.path.isdir(path):
        raise RemoteInvalid(reason=f"there is no folder {path}")
    if os.path.exists(os.path.join(path, ".git")) or all(
        os.path.exists(os.path.join(path, name)) for name in ("HEAD", "objects", "refs")
    ):
        return f"{_GIT}{path}{mark}"
    if mark:
        raise RemoteInvalid(reason=f"{path} is no git repository: it has no refs")
    return path


def _checked_repository(url: str, place: str) -> str:
    """The URL of a repository elsewhere, without a password or a token in it. Raises RemoteInvalid."""
    host = place.partition("://")[2].partition("/")[0]
    who, at, _ = host.rpartition("@")
    if (at and ":" in who) or "?" in place:
        raise RemoteInvalid(reason="there is a password or a query in the URL; git's credential helper keeps those")
    if not _HOST.fullmatch(host):
        raise RemoteInvalid(reason=f"'{host[:40]}' is no name of a host")
    return url


def _check_prefix(prefix: str) -> None:
    if not _PREFIX.fullmatch(prefix):
        raise RemoteInvalid(reason=f"{prefix[:40]} is no place for refs, such as refs/heads/memory")


def _checked_database(url: str) -> str:
    """The URL of a database, without a password. Raises RemoteInvalid."""
    from urllib.parse import parse_qsl, urlsplit

    try:
        parts = urlsplit(url)
        words = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
    except ValueError as exc:
        raise RemoteInvalid(reason="its URL is none that libpq reads") from exc
    # libpq reads who somebody is up to the first @ before a slash, also where a ? or a # stands before it.
    who, is_named, _ = url.partition("://")[2].partition("/")[0].partition("@")
    if (is_named and ":" in who) or parts.password is not None or any("password" in word for word in words):
        raise RemoteInvalid(reason="there is a password in the URL; ~/.pgpass and PGPASSFILE keep those")
    odd = next((word for word in words if word not in _WORDS), "#" if parts.fragment or url.endswith("#") else None)
    if odd is not None:
        raise RemoteInvalid(reason=f"'{odd[:40]}' cannot stand in the URL of a database")
    return url


def create(url: str, *, dry_run: bool = False) -> bool:
    """Make what a database needs to carry logs; whether it was not there. Raises RemoteInvalid and OSError."""
    if url.partition("://")[0] not in _POSTGRES:
        raise RemoteInvalid(reason="only a database is to be made ready: remote init postgresql://HOST/DATABASE")
    from memctl.remote.postgres import PostgresCarrier

    carrier = PostgresCarrier(_checked_database(url))
    return not dry_run and carrier.create()


def waiting_at(urls: Iterable[str]) -> "Callable[[float], None]":
    """What waits about so many seconds, or until somebody writes there, as far as a database among these says so."""
    for url in urls:
        if url.partition("://")[0] in _POSTGRES:
            from memctl.remote.postgres import PostgresCarrier

            waits = PostgresCarrier(_checked_database(url)).wait
            waits(0)  # from now on it listens
            return waits
    return lambda seconds: ids.pause(0.9 * seconds, 1.1 * seconds)


def is_gone(url: str) -> bool:
    """Whether a URL is of a folder on this machine that is not there."""
    path = (
        url if os.path.isabs(url) else url.partition("#")[0].removeprefix(_GIT) if url.startswith(_GIT + os.sep) else ""
    )
    return bool(path) and not os.path.isdir(path)


def drop_copy(url: str) -> None:
    """Delete what git keeps here of a repository: older logs too, with texts that were purged since."""
    if not os.path.isabs(url):
        import shutil

        shutil.rmtree(_git_carrier(url).folder, ignore_errors=True)


def open_carrier(url: str) -> "Carrier":
    """What carries to a URL that `resolve` gave. Raises RemoteInvalid for one that it refuses.

    It is checked once more: the store may be somebody else's, who wrote there what he liked.
    """
    if os.path.isabs(url):
        from memctl.remote.folder import FolderCarrier

        return FolderCarrier(url)
    here = _GIT + os.sep
    if url.startswith(here) and not url.startswith(f"{here}/"):
        _, mark, prefix = url.partition("#")
        if mark:
            _check_prefix(prefix)
    elif resolve(url, os.path.abspath) != url:
        raise RemoteInvalid(reason="its URL is none that remote add writes")
    kind = url.partition("://")[0]
    if kind in _POSTGRES:
        from memctl.remote.postgres import PostgresCarrier

        return PostgresCarrier(url)
    if kind in _OBJECTS:
        from memctl.remote.objects import ObjectCarrier

        return ObjectCarrier(url)
    return _git_carrier(url)


def _git_carrier(url: str) -> "GitCarrier":
    from memctl.remote.git import GitCarrier

    is_here = url.startswith(_GIT) and not url.startswith("git://")
    return GitCarrier(url.removeprefix(_GIT) if is_here else url)
