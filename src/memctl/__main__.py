"""The process around one command: `memctl`, `python -m memctl`."""


def entry() -> None:
    """The console script: run the command line, and then end at once.

    Taking an interpreter apart takes a tenth of a short command's time, and the system frees the same memory anyway.
    """
    import gc
    import os
    import sys
    from contextlib import suppress

    # A short command spends 2 to 5 ms of 20 on looking for cycles in what it has just imported, and again at its end.
    gc.set_threshold(100_000, 10, 10)
    if sys.argv[1:] == ["--version"]:
        from memctl import __version__

        with suppress(OSError, ValueError, AttributeError):  # what is wrong with the stream is said below
            sys.stdout.write(f"memctl {__version__}\n")
            sys.stdout.flush()
            os._exit(0)
    if sys.argv[1:3] == ["status", "--short"]:  # a prompt waits for it: without the command's own modules
        with suppress(Exception):  # the command itself says what is wrong
            _print_status(*sys.argv[3:])
            os._exit(0)
    try:
        from memctl.cli import main

        code = main()
    except KeyboardInterrupt:  # in the few milliseconds before or after the command itself
        code = 130
    gc.freeze()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # closed, broken or not there: `main` has said so
            stream.flush()
    os._exit(code)


def _print_status(flag: str = "--db", db: str = "") -> None:
    import sys

    from memctl.context import Context, status_in_short

    def say(_remark: str) -> None:
        raise ValueError  # what is to be said is the command's to say

    if flag != "--db" or db.startswith("-"):
        raise ValueError
    with Context(db=db or None, say=say, actor="person") as ctx:
        ctx.allow("read")
        line = status_in_short(ctx)[1]
    sys.stdout.write(f"{line}\n" if line else "")
    sys.stdout.flush()


if __name__ == "__main__":
    entry()
