"""The documented import point of `open_context`; the context lives in `memctl.context`."""

from memctl.context import Context as Context  # noqa: PLC0414 - handed on
from memctl.context import open_context as open_context  # noqa: PLC0414 - handed on
