"""E-mail (.eml): the headers that matter, the text, and the attachments that are text."""

import re
from collections.abc import Sequence
from email import message_from_bytes
from email.errors import MessageError
from email.message import EmailMessage
from email.policy import EmailPolicy
from typing import Any

from memctl.extract import Document, Limits, Unreadable, document, needs_worker
from memctl.extract.notebook import fenced
from memctl.extract.writer import DocumentWriter, one_kind_of_line_end
from memctl.text.decoding import is_encoding

_HEADERS = ("From", "To", "Cc", "Date")
#: How deep mails that are attached to mails are followed, and how many parts a mail may have.
_DEEPEST = 4
_PARTS = 1000
#: How much of a header is looked at, in characters: Python's parser of them is quadratic.
_HEADER = 4000
#: What that parser throws at broken headers.
_BROKEN = (ValueError, LookupError, AttributeError, TypeError, RecursionError, MessageError)


class _BoundedHeaders(EmailPolicy):
    """Python's modern policy, for headers of a bounded length."""

    def header_source_parse(self, sourcelines: Sequence[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)  # type: ignore[arg-type]
        return name, value[:_HEADER]


def read(data: bytes, name: str, limits: Limits) -> Document:
    """The text of a mail. Its subject is the title; a broken mail yields what can be read of it."""
    # Python's parser would take seconds for very many parts, so they are counted by their first boundary.
    found = re.search(rb'boundary="?([^"\s;]+)', data[: _HEADER * len(_HEADERS)], re.IGNORECASE)
    if found and data.count(b"\n--" + found[1]) > _PARTS + 1:
        raise _too_many(name)
    message: Any = message_from_bytes(data, policy=_BoundedHeaders())
    if not message.keys():
        raise Unreadable(path=name, reason="it is empty" if not data.strip() else "it is no mail: it has no headers")
    reader = _MailReader(name, limits)
    subject = _header(message, "Subject")
    reader.message(message, subject, 0)
    count = "1 attachment is" if reader.unread == 1 else f"{reader.unread:,} attachments are"
    notes = (f"{count} named only, not read",) if reader.unread else ()
    return reader.writer.document("markdown", title=subject, notes=notes)


def _too_many(name: str) -> Unreadable:
    return Unreadable(path=name, reason=f"it has more than {_PARTS:,} parts")


class _MailReader:
    """Writes a message, then its attachments, each apart."""

    __slots__ = ("_limits", "_name", "_parts", "unread", "writer")

    def __init__(self, name: str, limits: Limits) -> None:
        self._name, self._limits, self._parts = name, limits, 0
        self.writer = DocumentWriter(name, limits)
        self.unread = 0

    def message(self, message: Any, subject: str, depth: int) -> None:
        """A message at this depth of being attached."""
        self.writer.add(f"{'#' * (depth + 1)} {subject}" if subject else "")
        for name in _HEADERS:
            words = _header(message, name)
            self.writer.add(f"{name}: {words}" if words else "", "header")
        plain, html, others = self._sorted(message)
        for text in plain:
            self.writer.add(text)
        for part in [] if plain else html:
            from memctl.extract.html import convert

            _, text, hidden = convert(_content(part))
            for one in hidden:
                self.writer.hide(one.text)
            self.writer.add(text)
        found = [(part, self._text_of(part)) for part in others if not _is_message(part)]
        for part, attached in found:
            if attached is None:
                self._left_out(f"{_name(part)} ({part.get_content_type()})")
        for part, attached in found:
            if attached is None:
                continue
            self.writer.begin_place(f"attachment {_name(part)}", apart=True)
            self.writer.add(f"{'#' * (depth + 2)} {_name(part)}")
            for one in attached.hidden:
                self.writer.hide(one.text)
            is_prose = attached.kind in ("markdown", "text")
            self.writer.add(attached.text if is_prose else fenced(attached.text, attached.language))
        for inner in [part.get_payload(0) for part in others if _is_message(part)]:
            title = _header(inner, "Subject") or "message"
            if depth == _DEEPEST:
                self._left_out(f"{title} (in more than {_DEEPEST} mails)")
            else:
                self.writer.begin_place(f"attachment {title}", apart=True)
                self.message(inner, title, depth + 1)

    def _sorted(self, message: Any) -> tuple[list[str], list[Any], list[Any]]:
        """(plain texts, HTML parts, attachments) of one message, those of attached messages not among them."""
        plain: list[str] = []
        html: list[Any] = []
        others: list[Any] = []
        waiting = [message]
        while waiting:
            part = waiting.pop()
            self._parts += 1
            if self._parts > _PARTS:
                raise _too_many(self._name)
            kind = part.get_content_type()
            named = bool(part.get_filename()) or part.get_content_disposition() == "attachment"
            if part.is_multipart() and not kind.startswith("message/"):
                waiting.extend(reversed(part.get_payload()))
            elif kind == "text/plain" and not named:
                plain.append(_content(part))
            elif kind == "text/html" and not named:
                html.append(part)
            elif named or part.get_content_maintype() != "image":  # a picture without a name belongs to the HTML
                others.append(part)
        return [text for text in plain if text.strip()], html, others

    def _left_out(self, what: str) -> None:
        self.writer.add(f"Attachment: {what}", "attachment")
        self.unread += 1

    def _text_of(self, part: EmailMessage) -> Document | None:
        """An attachment as a document if its reader is one of text; None if not, or if it cannot be read."""
        name = _name(part)
        if needs_worker(name):
            return None
        data: Any = part.get_payload(decode=True)
        if not isinstance(data, bytes):
            return None
        if part.get_content_maintype() == "text" and _charset(part) not in ("", "us-ascii", "utf-8", "utf-16"):
            data = _content(part).encode("utf-8", "replace")
        try:
            return document(data, name, self._limits)
        except Unreadable:
            return None


def _header(message: Any, name: str) -> str:
    """A header's words on one line, encoded words decoded; what cannot be parsed as it stands."""
    try:
        value = str(message.get(name, ""))
    except _BROKEN:  # one broken header is no reason to lose a mail
        value = next((str(raw) for key, raw in message.raw_items() if key.lower() == name.lower()), "")
    return " ".join(one_kind_of_line_end(value).split())


def _name(part: EmailMessage) -> str:
    """What an attachment is called."""
    return " ".join(one_kind_of_line_end(part.get_filename() or "unnamed").split())[:200]


def _is_message(part: EmailMessage) -> bool:
    return part.get_content_type() == "message/rfc822" and part.is_multipart()


def _charset(part: Any) -> str:
    """The encoding a part declares, if it is one; "" if not."""
    charset = str(part.get_content_charset() or "")
    return charset if is_encoding(charset) else ""


def _content(part: Any) -> str:
    """The text of a part in its declared encoding, else as UTF-8 or Windows-1252."""
    data = part.get_payload(decode=True)
    if not isinstance(data, bytes):
        return ""
    for encoding in (_charset(part), "utf-8", "cp1252"):
        try:
            return data.decode(encoding or "utf-8")
        except (LookupError, UnicodeError):
            continue
    return data.decode("utf-8", "replace")
