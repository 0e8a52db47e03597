"""What can go wrong with a remote."""

from memctl.errors import MemctlError


class RemoteNotFound(MemctlError):
    """there is no remote '{name}'"""

    hint = "memctl remote list shows those that there are"


class RemoteInvalid(MemctlError):
    """cannot use this remote: {reason}"""

    hint = "memctl docs remote has one for each way that memories travel"


class RemoteUnreachable(MemctlError):
    """the remote {name} did not do this: {reason}"""

    hint = "nothing is lost: what is to be sent waits here, and the next memctl remote sync {name} goes on"


class RemovalsWait(MemctlError):
    """others have taken away {count} of {total} items at {name}: what is not taken over yet waits"""

    hint = "memctl remote log {name} says who; memctl remote sync {name} --yes takes it over"


class CarrierMissing(MemctlError):
    """{what} as a remote needs a package that is not installed"""

    hint = "pip install 'memctl[{extra}]' brings it"
