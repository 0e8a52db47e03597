"""From bytes to text: byte order marks, UTF-16 and UTF-32, old encodings, damage, and what is no text at all."""

from memctl import errors

#: How well-known binary files begin.
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n", "a PNG image"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"\x7fELF", "a program (ELF)"),
    (b"PK\x03\x04", "a zip archive, or an office document under another name"),
    (b"PK\x05\x06", "an empty zip archive"),
    (b"\x1f\x8b", "gzip-compressed"),
    (b"BZh91AY&SY", "bzip2-compressed"),
    (b"\xfd7zXZ\x00", "xz-compressed"),
    (b"\x28\xb5\x2f\xfd", "zstd-compressed"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"%PDF-", "a PDF document, though its name does not end in .pdf"),
    (b"{\\rtf", "an RTF document, and there is no reader for RTF"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old office document (OLE)"),
    (b"\xca\xfe\xba\xbe", "a Java class or a Mach-O program"),
    (b"\xcf\xfa\xed\xfe", "a program (Mach-O)"),
    (b"\x00asm", "a WebAssembly program"),
    (b"OggS\x00", "an Ogg recording"),
    (b"ID3\x03", "an MP3 recording"),
    (b"ID3\x04", "an MP3 recording"),
    (b"wOFF", "a font"),
    (b"wOF2", "a font"),
)
#: Byte order marks, the longer ones first (UTF-32-LE begins with UTF-16-LE's).
_MARKS = (
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
#: Encodings a file may declare in its first lines. A closed list: some of Python's other codecs are no encodings.
_DECLARABLE = (
    "iso-8859", "iso8859", "latin", "cp125", "windows-125", "koi8", "euc-", "euc_", "shift_jis", "shift-jis", "sjis",
    "gb2312", "gbk", "gb18030", "big5", "mac-", "cp437", "cp850", "cp866", "cp932", "cp949", "tis-620", "ascii",
    "us-ascii",
)  # fmt: skip
#: Signs beyond ASCII that Windows-1252 texts have beside letters.
_WESTERN_SIGNS = "‘’“”–—…•€™£§«»©®°±²³µ·´½¼¿¡×÷\xa0"  # noqa: RUF001
#: How many bytes are looked at to tell text from binary.
_SAMPLE = 1 << 16
#: Control characters that text has no use for (tab, line ends, form feed, backspace and escape are allowed).
_CONTROLS = bytes(c for c in range(32) if c not in b"\t\n\v\f\r\b\x1b") + b"\x7f"


def decode(data: bytes, name: str) -> tuple[str, str, tuple[str, ...]]:
    """(text, encoding, notes): lines end with a line feed, and no NUL is left.

    Raises DocumentUnreadable, with `name`, for what is not text.
    """
    for magic, what in _MAGIC:
        if data.startswith(magic):
            raise errors.DocumentUnreadable(path=name, reason=f"it is {what}")
    text, encoding, notes = _decoded(data, name)
    nuls = text.count("\0")
    if nuls:
        text = text.replace("\0", "")
        notes = (*notes, f"{nuls:,} NUL {'character was' if nuls == 1 else 'characters were'} removed")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text, encoding, notes


def is_encoding(name: str) -> bool:
    """Whether text may declare itself to be in this encoding, UTF-8 and UTF-16 among them."""
    return name.lower().startswith((*_DECLARABLE, "utf-8", "utf8", "utf-16"))


def _decoded(data: bytes, name: str) -> tuple[str, str, tuple[str, ...]]:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            text = _strictly_decoded(data[len(mark) :], encoding)
            if text is not None:
                return text, encoding, ()
            note = f"damaged {encoding.upper()}: what could not be read was replaced"
            return data[len(mark) :].decode(encoding, "replace"), encoding, (note,)
    text = _strictly_decoded(data, "utf-8")
    if b"\0" in data:
        wide = _wide(data, valid=text is not None)
        if wide:
            return wide[0], wide[1], ()
    # More control characters, or NULs in all, than a text with a few slips has (1 in 100).
    sample = data[:_SAMPLE]
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    many_nuls = controls > 0 and data.count(0) > max(2, len(data) // 100)
    if controls > max(2, len(sample) // 100) or controls * 3 > len(sample) or many_nuls:
        raise errors.DocumentUnreadable(path=name, reason="it is binary, not text")
    return _not_utf8(data, name) if text is None else (text, "utf-8", ())


def _strictly_decoded(data: bytes, encoding: str) -> str | None:
    """The text, None where the data are not valid in this encoding."""
    try:
        return data.decode(encoding)
    except (LookupError, UnicodeDecodeError):
        return None


def _wide(data: bytes, *, valid: bool) -> tuple[str, str] | None:
    """UTF-16 or UTF-32 without a byte order mark, known by where its NULs stand; `valid`: it may be UTF-8 as well."""
    sample = data[: _SAMPLE // 4 * 4]
    nuls = [sample[place::4].count(0) for place in range(4)]
    quarter = max(1, len(sample) // 4)
    even, odd = nuls[0] + nuls[2], nuls[1] + nuls[3]
    # Few NULs may be slips in plain text, which read as UTF-16 would be Chinese; real Chinese is not valid UTF-8.
    some = max(2, quarter * 6 // 10) if valid else 1
    likely = (
        (min(nuls[2:]) * 10 > quarter * 9, "utf-32-le"),
        (min(nuls[:2]) * 10 > quarter * 9, "utf-32-be"),
        (odd >= some and odd > 20 * even, "utf-16-le"),
        (even >= some and even > 20 * odd, "utf-16-be"),
    )
    for encoding in [encoding for yes, encoding in likely if yes]:
        text = _strictly_decoded(data, encoding) or ""
        readable = sum(char.isprintable() or char in "\t\n\v\f\r\ufeff" for char in text[:4096])
        if text and readable * 100 >= min(len(text), 4096) * 97:
            return text, encoding
    return None


def _not_utf8(data: bytes, name: str) -> tuple[str, str, tuple[str, ...]]:
    """What is mostly UTF-8 keeps what is valid; else what it declares, else Windows-1252 if it looks like that."""
    high = data.translate(None, bytes(range(128)))
    bad = len(data) - len(data.decode("utf-8", "ignore").encode())
    if len(high) - bad < bad:
        other = _other_encoding(data, high)
        if other:
            return other
        if bad * 10 > len(data):
            reason = "it is not UTF-8, and no other encoding can be told; convert it, for example with iconv"
            raise errors.DocumentUnreadable(path=name, reason=reason)
    note = (
        f"{bad:,} {'byte was' if bad == 1 else 'bytes were'} not valid UTF-8 and "
        f"{'was' if bad == 1 else 'were'} replaced"
    )
    return data.decode("utf-8", "replace"), "utf-8", (note,)


def _other_encoding(data: bytes, high: bytes) -> tuple[str, str, tuple[str, ...]] | None:
    """What the first lines declare, or Windows-1252 if letters and its usual signs stand beyond ASCII; else None.

    A coding cookie, an HTML charset and an XML encoding declare one; `high` are the bytes beyond ASCII.
    """
    import re

    match = re.search(rb"(?:coding|charset)[ \t]*[:=][ \t]*[\"']?([A-Za-z0-9][\w.:-]{1,30})", data[:1024])
    encoding = match[1].decode().lower() if match else ""
    text = _strictly_decoded(data, encoding) if encoding.startswith(_DECLARABLE) else None
    if text is not None:
        return text, encoding, (f"read as {encoding}, as it declares",)
    signs = _strictly_decoded(high, "cp1252")
    if signs is None or len(high) * 10 > len(data) * 3:
        return None
    usual = sum(signs.count(char) for char in set(signs) if char.isalpha() or char in _WESTERN_SIGNS)
    if usual * 10 < len(signs) * 8:
        return None
    return data.decode("cp1252"), "cp1252", ("not valid UTF-8; read as Windows-1252",)
