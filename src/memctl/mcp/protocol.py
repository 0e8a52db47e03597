"""The Model Context Protocol without a transport: one request in, one result out.

`stdio` speaks it on pipes and `sdk` hands its results to the SDK, which speaks HTTP. Both eras of the protocol are
answered, request by request: the one that begins with `initialize`, and the one whose requests each name their version
in `_meta`. Nothing is announced that is not done: no subscriptions, no log levels, no lists that change.
"""

import json
import os
import re
import threading
from collections.abc import Callable
from functools import partial

from memctl import ids
from memctl.annotations import TYPE_CHECKING, Any, NamedTuple
from memctl.mcp import prompts, tool_calls
from memctl.mcp.middleware import InternalFault, unforeseen
from memctl.mcp.tool_schema import ALIASES, CatalogTool, catalog, translate_alias
from memctl.operation import utf8
from memctl.text.clean import one_line

if TYPE_CHECKING:
    Say = Callable[[str], None]
    #: Called with how many steps are done, and with words.
    Tell = Callable[[float, str], None]
    Json = dict[str, Any]

#: Versions that `initialize` agrees to; it offers the last one to whoever asks for another.
VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
#: Versions whose requests name them.
MODERN_VERSIONS = ("2026-07-28",)
PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, INTERNAL, NO_VERSION = (
    -32700, -32600, -32601, -32602, -32603, -32022,
)  # fmt: skip
_PREFIX = "io.modelcontextprotocol/"
_CAPABILITIES: "Json" = {"completions": {}, "prompts": {}, "resources": {}, "tools": {}}
#: Results that a client may keep for a while. It is told not to: a server that was started anew may have other tools.
_CACHEABLE = frozenset(
    {"server/discover", "tools/list", "resources/list", "resources/templates/list", "prompts/list", "resources/read"}
)
#: Names that complete an argument, at most.
_WORDS = 100
#: Seconds between two words about the progress of a call.
_PROGRESS_SECONDS = 0.1

#: Where requests that take time wait, and how many threads answer them: reads, writes, folders and models do not wait
#: for each other. Two readers answer as many calls a second as eight, and keep a quarter of the memory.
LANES = {"read": 2, "write": 1, "folder": 1, "model": 2}
_FOLDER_TOOLS = frozenset({"memory_sync", "memory_inspect"})


class ProtocolError(Exception):
    """An answer that is no result: its code, what is wrong, the data beside it, the id of the request if known."""

    def __init__(self, code: int, message: str, data: "Json | None" = None, id: Any = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data, self.id = code, message, data, id

    def answer(self) -> "Json":
        """The message on the wire."""
        error = {"code": self.code, "message": self.message} | ({"data": self.data} if self.data else {})
        return {"jsonrpc": "2.0", "id": self.id, "error": error}


class Request(NamedTuple):
    """What a client asks; a notification has no id, and no answer."""

    id: str | int | float | None
    method: str
    params: "Json"

    @property
    def meta(self) -> "Json":
        """What comes beside the parameters."""
        found = self.params.get("_meta")
        return found if isinstance(found, dict) else {}

    @property
    def is_modern(self) -> bool:
        """Whether it names its version. `initialize` belongs to the other era, whatever stands beside it."""
        return f"{_PREFIX}protocolVersion" in self.meta and self.method != "initialize"


# --- lines -----------------------------------------------------------------------------------------------------------

#: Escapes of JSON: a whole surrogate pair, half of one (group 1), any other.
_ESCAPES = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u([dD][89a-fA-F])[0-9a-fA-F]{2}|\\."
)
#: What Python makes of 1e400; JSON has no word for it to answer with.
_NO_NUMBERS = (float("inf"), float("-inf"))
_ID = rb'"id"\s*:\s*(-?\d{1,18}|"[^"\\]{0,200}")'
#: Where clients put the id of a request: at the end of the line, or before anything that has an id of its own.
_ID_LAST, _ID_FIRST = re.compile(_ID + rb"\s*\}\s*$"), re.compile(_ID)


def parse(line: bytes) -> Request | None:
    """The request in a line; None for an answer of the client's. Raises ProtocolError for everything else."""
    try:
        message = json.loads(mended(line), parse_constant=_no_constant)
    except (ValueError, RecursionError) as exc:
        reason = "it is nested too deeply" if isinstance(exc, RecursionError) else str(exc)
        raise ProtocolError(PARSE_ERROR, f"the line is no JSON: {reason}"[:300], id=guessed_id(line)) from None
    if not isinstance(message, dict):
        raise ProtocolError(INVALID_REQUEST, "a message is one JSON object a line; batches are not understood")
    number, method, params = message.get("id"), message.get("method"), message.get("params")
    is_named = isinstance(number, str | int | float) and not isinstance(number, bool)
    is_named &= number not in _NO_NUMBERS
    known = number if is_named else None
    if message.get("jsonrpc") != "2.0":
        raise ProtocolError(INVALID_REQUEST, 'a message has "jsonrpc": "2.0"', id=known)
    if method is None and ("result" in message or "error" in message):
        return None
    if not isinstance(method, str):
        raise ProtocolError(INVALID_REQUEST, "a request names its method", id=known)
    if "id" in message and not is_named:
        raise ProtocolError(INVALID_REQUEST, "the id of a request is a text or a number")
    if params is not None and not isinstance(params, dict):
        raise ProtocolError(INVALID_PARAMS, "params are a JSON object", id=known)
    return Request(known, method, params or {})


def mended(message: bytes) -> str:
    r"""The text of a message, with U+FFFD for bytes that are not UTF-8, and for `\ud83d` without its other half.

    JavaScript makes such halves when it cuts an emoji.
    """
    if b"\\ud" in message or b"\\uD" in message:
        message = _ESCAPES.sub(lambda found: rb"\ufffd" if found[1] else found[0], message)
    return message.decode("utf-8", "replace")


def guessed_id(line: bytes) -> Any:
    """The id that an unreadable line seems to have, None without one: its sender waits for an answer to it."""
    found = _ID_LAST.search(line[-400:]) or _ID_FIRST.search(line[:65_536])
    return json.loads(found[1].decode("utf-8", "replace")) if found else None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def encode(message: "Json") -> bytes:
    """A message as a line."""
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:
        return utf8(text).encode() + b"\n"


# --- requests --------------------------------------------------------------------------------------------------------


class Protocol:
    """The server: what it says of itself, and an answer to each request; `project` is the scope of its project."""

    def __init__(
        self, name: str, version: str, listed: list[CatalogTool], runner: tool_calls.ToolRunner, project: str = ""
    ) -> None:
        self.info = {"name": name, "version": version}
        self.listed = listed
        self.instructions = prompts.instructions({entry.name for entry in listed}, project)
        self.roots: Roots | None = None  # for a server that does not know by its folder which project it works for
        self._runner = runner
        self._client = ""  # as the one on the other side of standard input and output calls itself
        #: Every tool there is: one that is not listed is answered too, since its name is documented.
        self._tools = {entry.name: entry for entry in [*catalog("full"), *listed]}
        self._quick: dict[str, Callable[[Json], Json]] = {
            "initialize": self._initialize,
            "ping": lambda _: {},
            "server/discover": lambda _: {
                "supportedVersions": [*MODERN_VERSIONS],
                "capabilities": _CAPABILITIES,
                "instructions": self.instructions,
            },
            "tools/list": lambda _: {"tools": [entry.listing() for entry in self.listed]},
            "resources/list": lambda _: {"resources": [prompts.resource_listing(*prompts.OWN_DIGEST)]},
            "resources/templates/list": lambda _: {
                "resourceTemplates": [prompts.resource_listing(*one, key="uriTemplate") for one in prompts.RESOURCES]
            },
            "prompts/list": lambda _: {"prompts": [prompts.prompt_listing(*one) for one in prompts.PROMPTS]},
        }
        self._slow: dict[str, Callable[[Json], Json]] = {
            "resources/read": self._read, "prompts/get": self._prompt, "completion/complete": self._complete,
        }  # fmt: skip

    def respond(self, request: Request, *, tell: "Tell | None" = None) -> "Json":
        """The answer to a request, always; `tell` hears how far a call is, if the client asked for that."""
        try:
            self._check_era(request)
            token = request.meta.get("progressToken")
            is_told = tell is not None and isinstance(token, str | int) and not isinstance(token, bool)
            said = progress(tell) if is_told and tell else None
            ask = partial(self.result, request.method, request.params, progress=said)
            result = unforeseen(f"request {request.method[:80]}", ask, ProtocolError)
        except ProtocolError as exc:
            return ProtocolError(exc.code, exc.message, exc.data, request.id).answer()
        except InternalFault as exc:
            return ProtocolError(INTERNAL, utf8(str(exc)), id=request.id).answer()
        if request.is_modern:
            kept = {"ttlMs": 0, "cacheScope": "private"} if request.method in _CACHEABLE else {}
            meta = result.get("_meta", {}) | {f"{_PREFIX}serverInfo": self.info}
            result = result | kept | {"resultType": "complete", "_meta": meta}
        return {"jsonrpc": "2.0", "id": request.id, "result": result}

    def result(
        self, method: str, params: "Json", *, session: str | None = None, progress: "Say | None" = None
    ) -> "Json":
        """The result of a request. Raises ProtocolError."""
        if method == "tools/call":
            return self._call(params, session, progress)
        found = self._quick.get(method) or self._slow.get(method)
        if found is None:
            raise ProtocolError(NO_METHOD, f"there is no method {method[:80]}")
        try:
            return found(params)
        except tool_calls.NotAnswered as exc:
            raise ProtocolError(INVALID_PARAMS, utf8(str(exc))) from exc

    def lane(self, request: Request) -> str:
        """Where a request waits its turn; "" for one that costs no time."""
        if request.method in self._slow:
            return "read"
        name = str(request.params.get("name"))
        alias = ALIASES.get(name)
        entry = self._tools.get(name if alias is None else alias.tool) if request.method == "tools/call" else None
        if entry is None:
            return ""
        if entry.annotations["openWorldHint"]:
            return "model"
        if entry.name in _FOLDER_TOOLS:
            return "folder"
        return "read" if entry.annotations["readOnlyHint"] else "write"

    # --- the two eras ------------------------------------------------------------------------------------------------

    def _initialize(self, params: "Json") -> "Json":
        asked, self._client = params.get("protocolVersion"), _name_of(params.get("clientInfo"))
        return {
            "protocolVersion": asked if asked in VERSIONS else VERSIONS[-1], "capabilities": _CAPABILITIES,
            "serverInfo": self.info, "instructions": self.instructions,
        }  # fmt: skip

    @staticmethod
    def _check_era(request: Request) -> None:
        if not request.is_modern:
            if request.method == "server/discover":
                raise ProtocolError(NO_METHOD, "server/discover names the version of the protocol in _meta")
            return
        version = request.meta[f"{_PREFIX}protocolVersion"]
        if version not in MODERN_VERSIONS:
            data = {"supported": [*MODERN_VERSIONS], "requested": version if isinstance(version, str) else None}
            raise ProtocolError(NO_VERSION, "this version of the protocol is not supported", data)
        if not isinstance(request.meta.get(f"{_PREFIX}clientCapabilities"), dict):
            raise ProtocolError(INVALID_PARAMS, f"_meta has no {_PREFIX}clientCapabilities")
        if request.method == "ping":
            raise ProtocolError(NO_METHOD, "there is no method ping in this version of the protocol")

    # --- what takes time ---------------------------------------------------------------------------------------------

    def _call(self, params: "Json", session: str | None, progress: "Say | None") -> "Json":
        name, arguments = _text(params, "name"), params.get("arguments")
        if arguments is not None and not isinstance(arguments, dict):
            raise ProtocolError(INVALID_PARAMS, "arguments are a JSON object")
        meant, arguments, said = translate_alias(name, arguments or {})
        entry = self._tools.get(meant)
        if entry is None:
            words = f"there is no tool {name[:80]}; these are: {', '.join(one.name for one in self.listed)}"
            return {"content": [{"type": "text", "text": utf8(words)}], "isError": True}
        meta = params.get("_meta")
        client = _name_of(meta.get(f"{_PREFIX}clientInfo")) if isinstance(meta, dict) else ""
        client = client or (self._client if session is None else "")
        answer = self._runner.call(entry.tool, arguments, session, progress, client)
        if said and answer.data.get("status") == "ok":
            answer.data["warnings"] = [said, *answer.data.get("warnings", ())]
        return answer.wire()

    def _read(self, params: "Json") -> "Json":
        from urllib.parse import unquote

        uri = _text(params, "uri")
        for template, _, tool, argument, _, kind in prompts.RESOURCES:
            start, _, rest = template.partition("{")
            end = rest.partition("}")[2]
            word = uri[len(start) : len(uri) - len(end)]
            if uri.startswith(start) and uri.endswith(end) and word and "/" not in word:
                text = self._runner.resource(tool, argument, utf8(unquote(word)))
                return {"contents": [{"uri": uri, "mimeType": kind, "text": text}]}
        raise ProtocolError(INVALID_PARAMS, f"there is no resource {utf8(uri)[:200]}", {"uri": utf8(uri)[:1000]})

    def _prompt(self, params: "Json") -> "Json":
        name, given = _text(params, "name"), params.get("arguments") or {}
        found = [one for one in prompts.PROMPTS if one[0] == name]
        if not found:
            raise ProtocolError(INVALID_PARAMS, f"there is no prompt {utf8(name)[:80]}")
        (_, about, arguments) = found[0]
        if not isinstance(given, dict) or not all(isinstance(value, str) for value in given.values()):
            raise ProtocolError(INVALID_PARAMS, "the arguments of a prompt are texts")
        for word, _, needed in arguments:
            if needed and not given.get(word):
                raise ProtocolError(INVALID_PARAMS, f"the prompt {name} needs {word}")
        text = utf8(self._runner.prompt(name, given))
        return {"description": about, "messages": [{"role": "user", "content": {"type": "text", "text": text}}]}

    def _complete(self, params: "Json") -> "Json":
        argument = params.get("argument")
        if not isinstance(argument, dict):
            raise ProtocolError(INVALID_PARAMS, "argument has a name and a value")
        words = self._runner.complete(_text(argument, "name"), _text(argument, "value"))
        return {"completion": {"values": [utf8(word) for word in words[:_WORDS]], "hasMore": len(words) >= _WORDS}}


def _text(params: "Json", name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str):
        raise ProtocolError(INVALID_PARAMS, f"{name} is missing, or no text")
    return value


def progress(tell: "Tell") -> "Say":
    """What hears the words of a call and tells them on, now and then."""
    count, shown = 0, 0.0

    def say(message: str) -> None:
        nonlocal count, shown
        count += 1
        now = ids.monotonic()
        if now - shown >= _PROGRESS_SECONDS:
            shown = now
            tell(float(count), utf8(message))

    return say


def _name_of(client: Any) -> str:
    """What a client calls itself, on one line; "" when it says nothing of use."""
    return one_line(str(client.get("name") or ""), 60) if isinstance(client, dict) else ""


# --- where the client works -------------------------------------------------------------------------------------------


#: The id of our one request.
ROOTS_ID = "memctl-roots"
#: Seconds that calls wait for the answer; then they go on without it.
ROOTS_SECONDS = 2.0


class Roots:
    """The folders of one client; `locate` is told the first of them that is there."""

    def __init__(self, locate: Callable[[str], None]) -> None:
        self._locate, self._is_able = locate, False
        self.said = threading.Event()  # the answer came, or nobody waits for it
        self.said.set()

    def hear(self, request: "Request", send: "Callable[[dict[str, Any]], None]") -> None:
        """See whether a message of the client says that it has roots, or now is the time to ask for them."""
        if request.method == "initialize":
            able = request.params.get("capabilities")
            self._is_able = isinstance(able, dict) and isinstance(able.get("roots"), dict)
        elif self._is_able and request.method in ("notifications/initialized", "notifications/roots/list_changed"):
            self.said.clear()
            send({"jsonrpc": "2.0", "id": ROOTS_ID, "method": "roots/list"})

    def take(self, line: bytes) -> None:
        """Read an answer of the client, if it is the one to our request; one that names no folder changes nothing."""
        if not self._is_able or ROOTS_ID.encode() not in line:
            return
        folder = None
        try:
            answer = json.loads(line)
            if answer.get("id") != ROOTS_ID:
                return
            folder = next((path for one in answer["result"]["roots"] if (path := _folder(one["uri"]))), None)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            pass  # an error, or nothing that is known
        if folder is not None:
            self._locate(folder)
        self.said.set()

    def wait(self) -> None:
        """Wait until the client has said where it works, once and not for long."""
        if not self.said.wait(ROOTS_SECONDS):
            self.said.set()


def _folder(uri: str) -> str:
    """The folder of a root; "" when it is none on this machine."""
    from urllib.parse import unquote, urlsplit

    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return ""
    path = unquote(parts.path)
    path = path.lstrip("/") if os.name == "nt" else path
    return path if "\0" not in path and os.path.isabs(path) and os.path.isdir(path) else ""
