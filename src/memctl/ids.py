"""New ids, content hashes and UTC timestamps: the only clock and the only randomness of the program."""

import os
import sys
import time
from contextlib import suppress

#: Bytes: texts up to this length are hashed without OpenSSL.
_SHORT = 1 << 16


def new_id(prefix: str = "MEM") -> str:
    """`PREFIX-` and 12 random hex digits, for example `MEM-a3185eaf3928`."""
    return f"{prefix}-{os.urandom(6).hex()}"


def new_ids(prefix: str, count: int) -> list[str]:
    """That many new ids for the price of one, in rising order: an index takes them in faster so."""
    digits = os.urandom(6 * count).hex()
    return sorted([f"{prefix}-{digits[i : i + 12]}" for i in range(0, 12 * count, 12)])


def content_hash(text: str) -> str:
    """`sha256:` and the hex SHA-256 of the UTF-8 text, exactly as it is (no folding of any kind)."""
    return "sha256:" + bytes_hash(text.encode("utf-8", "surrogatepass"))


def bytes_hash(data: bytes) -> str:
    """The hex SHA-256 of raw bytes, without a prefix (the form `corpus_hashes.sha256` holds)."""
    # hashlib loads OpenSSL, which takes 3 ms, longer than Python's own one needs for a short text.
    loaded = sys.modules.get("hashlib")
    if loaded is None and len(data) <= _SHORT:
        own = "_sha2" if sys.version_info >= (3, 12) else "_sha256"
        with suppress(ImportError):  # some builds of Python lack it
            return str(__import__(own).sha256(data).hexdigest())
    return str((loaded or __import__("hashlib")).sha256(data).hexdigest())


#: Seconds since the epoch; tests replace this one function to stop the clock.
now_seconds = time.time
#: Seconds on a clock that never goes back, for deadlines.
monotonic = time.monotonic


def timestamp(seconds: float | None = None) -> str:
    """UTC in ISO 8601 with microseconds, for example `2026-11-20T15:50:26.980213+00:00`."""
    whole, micros = divmod(round((now_seconds() if seconds is None else seconds) * 1_000_000), 1_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole)) + f".{micros:06d}+00:00"


def timestamp_seconds() -> str:
    """UTC to the second with a `Z`, the form the injection block's header carries."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(now_seconds())))


def timestamp_sql() -> str:
    """UTC as `YYYY-MM-DD HH:MM:SS`, the form `schema_meta` holds."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(int(now_seconds())))


def pause(least: float, most: float) -> None:
    """Sleep a random time between two bounds in seconds, so that waiting processes spread out."""
    time.sleep(least + (most - least) * os.urandom(1)[0] / 255)
