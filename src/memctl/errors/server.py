"""What goes wrong when a server is started, and what its tools leave to people."""

from memctl.errors import MemctlError


class TokensNeeded(MemctlError):
    """will not listen on {host}, where others could connect, without tokens"""

    hint = "--token-file FILE names the tokens that callers must have; --host 127.0.0.1 stays on this machine"


class TokenFileInvalid(MemctlError):
    """cannot use the token file {path}: {reason}"""

    hint = "docs/mcp-security.md says what stands in it; chmod 600 keeps it private"


class SdkMissing(MemctlError):
    """MCP dependencies not installed. Run: pip install memctl[mcp]"""


class SdkUnusable(MemctlError):
    """the MCP SDK that is installed cannot be used: {reason}"""

    hint = "pip install --upgrade 'memctl[mcp]' brings one that can"


class StreamsClosed(MemctlError):
    """standard input or output is closed, and the server would speak on them"""

    hint = "the client that starts the server gives it both; --transport streamable-http needs neither"


class PlaceRefused(MemctlError):
    """{message}"""

    hint = "--db names the store, --db-root the folder it must be in"


class ToolRefused(MemctlError):
    """a tool may not {what}"""

    hint = "this is left to the person whose memory it is: {remedy}"


class TooManyGone(MemctlError):
    """{count} of {there} files would leave the memory; a tool archives no more than half, so none was archived"""

    hint = "when they are gone for good, memctl sync in a terminal takes them out; --dry-run --report shows which"


class AddressTaken(MemctlError):
    """cannot listen on {host}:{port}: {reason}"""

    hint = "--host and --port name another address; --port 0 takes any that is free"
