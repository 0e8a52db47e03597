"""Keys that everybody has, by their hashes: what documentation, frameworks and emulators publish opens nothing."""

from __future__ import annotations

#: Keys that everybody has: samples that documentation publishes and keys built into emulators, as digests (the first 16
#: hexadecimal digits of SHA-256), so that this file is no list of keys itself.
#: Google API keys of the Firebase SDKs' own tests and samples, which other scanners let pass one by one as well.
_FIREBASE = """
    f56e323494a6ffc2 2037abcaffb2b777 3f370c9dd8225c63 e4a5542bb7fd7b67 a19f89ab3555eac1 0b476bdf9acf2123
    eb540d2b6ee2a0a4 37f8f09bdf12c2f2 8731261cb72d8626 49f777db995e8260 27a9a42931dff7eb dc0fcf046c61640c
    4c98242dcadc8b29 ea9bb1082cf95663 3a8b61d0f636b007 a6c814bc555ae62c
"""
#: The passwords in the reference of NuGet's configuration file.
_NUGET = """
    dba72c00f41f4e4c a0702bc91d699f60
"""
#: The secret keys in the documentation of Flask (configuration: two) and of FastAPI (OAuth2 with JWT).
_FRAMEWORKS = """
    2598f7d6adc142d8 9cb335cb7b5fb805 570dad43de1af4c9
"""
#: The account keys of Azurite and of the Cosmos DB emulator, the same in each installation.
_EMULATORS = """
    0011cc25eb432071 aa6547439583c3a2
"""

_PUBLISHED = frozenset((_FIREBASE + _NUGET + _FRAMEWORKS + _EMULATORS).split())
#: How long each of these keys is: of nearly all values their length says that they are none.
_SIZES = frozenset((39, 11, 14, 64, 32, 88))


def is_published(value: str) -> bool:
    """Whether `value` is a key that everybody has. It opens nothing."""
    if len(value) not in _SIZES:
        return False
    from hashlib import sha256

    return sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:16] in _PUBLISHED
