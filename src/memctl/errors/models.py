"""What goes wrong when a model is asked."""

from memctl.errors import MemctlError


class ModelUnnamed(MemctlError):
    """no model command is named"""

    hint = "--llm or MEMCTL_LLM names one, such as --llm 'claude -p'"


class ModelMissing(MemctlError):
    """LLM command not found: '{program}'"""

    hint = "--llm takes a program on PATH with its words, such as --llm 'claude -p'; no shell looks at it"


class ModelUnusable(MemctlError):
    """cannot run the LLM command '{command}': {reason}"""

    hint = "--llm takes a program with its words, such as --llm 'claude -p'; no shell looks at it"


class ModelFailed(MemctlError):
    """LLM command failed ({how}){said}"""

    hint = "run the command by hand with a short prompt; -v shows all that it says on stderr"


class ModelTimeout(MemctlError):
    """LLM command timed out after {seconds}s: {command}"""

    hint = "it was stopped with all it had started; --timeout gives it more seconds"


class NoContext(MemctlError):
    """No input on stdin. Pipe from 'memctl push' or provide context."""

    hint = "memctl push QUERY | memctl loop QUERY --llm CMD"


class EmptyContext(MemctlError):
    """Empty input on stdin."""

    hint = "memctl push and memctl recall print nothing when nothing matches; stderr says so"


class ProtocolBroken(MemctlError):
    """Protocol error: the answer of call {call} has no JSON object with need_more and stop"""

    hint = "without --strict such an answer is taken as it is; --protocol passive asks for none"


class TraceMissing(MemctlError):
    """Trace file not found: {path}"""

    hint = "--trace-file FILE writes one"


class TraceUnwritable(MemctlError):
    """cannot write the trace to {path}: {reason}"""

    hint = "name a file in a folder you may write to; no model was asked"


class TraceInvalid(MemctlError):
    """cannot replay {path}: {reason}"""

    hint = "--replay takes what --trace-file wrote, one JSON object a line"
