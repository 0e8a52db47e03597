"""The command line: parse, run one operation, print. Nothing is imported before it is needed."""


def main(argv: "list[str] | None" = None) -> int:
    """Run one command line (default: the process's) and return its exit code."""
    if argv is not None:
        return _run(list(argv))
    import gc
    import sys

    # A short command spends 2 to 5 ms of 20 on looking for cycles in what it has just imported, and again at its end.
    gc.set_threshold(100_000, 10, 10)
    code = _run(sys.argv[1:])
    gc.freeze()
    return code


def entry() -> None:
    """The console script: `main`, and then an end at once.

    Taking an interpreter apart takes a tenth of a short command's time, and the system frees the same memory anyway.
    """
    import os
    import sys
    from contextlib import suppress

    code = main()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # closed, broken or not there: `main` has said so
            stream.flush()
    os._exit(code)


def _run(argv: "list[str]") -> int:
    try:
        from memctl.cli.output import Console
        from memctl.cli.run import run

        return run(argv, Console.of_process())
    except KeyboardInterrupt:  # in the few milliseconds before or after the command itself
        return 130
