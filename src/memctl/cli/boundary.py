"""What a failed run says, and where the details of an unexpected one go."""

from memctl import faults
from memctl.cli.output import Console, PipeClosed
from memctl.errors import MemctlError, UnknownCommand


def report(exc: Exception, argv: list[str], console: Console) -> int:
    """Say what went wrong on stderr; the exit code."""
    console.settle()
    _flush(console)
    if isinstance(exc, MemctlError):
        _say(exc.as_dict(), argv, console)
        if _is_on(argv, "verbose"):
            console.say(_without_secrets(faults.traceback_of(exc), argv))
        return exc.exit_code
    command = f"memctl {' '.join(_shape(word, i) for i, word in enumerate(argv))}"
    _say(faults.answer(exc, command, console.say), argv, console)
    if _is_on(argv, "verbose"):
        console.say(_without_secrets(faults.traceback_of(exc), argv))
    return 2


def unknown_command(name: str, known: list[str]) -> UnknownCommand:
    """The error for a mistyped command, with the nearest one there is."""
    from difflib import get_close_matches

    guess = get_close_matches(name, known, 1)
    return UnknownCommand(name=name, guess=f"; did you mean '{guess[0]}'?" if guess else "")


def _flush(console: Console) -> None:
    try:
        console.finish()
    except (PipeClosed, MemctlError):
        console.abandon()


def _is_on(argv: list[str], name: str) -> bool:
    # The command line may be what is wrong, so this looks at it without parsing.
    if name == "json":
        return "--json" in argv
    return any(word in ("-v", "--verbose") for word in argv)


def _without_secrets(text: str, argv: list[str]) -> str:
    """What is said of a failure, without what policy would refuse: messages repeat what was typed, and logs keep them.

    Only the built-in rules judge it, because the config file may be what is wrong.
    """
    from memctl.policy import MemoryPolicy

    policy = MemoryPolicy()
    for word in argv:  # as it was typed: what stands around it in the message can make another thing of it
        if len(word) > 7 and word in text:
            text = text.replace(word, policy.redact(word))
    return policy.redact(text)


def _say(error: dict[str, str], argv: list[str], console: Console) -> None:
    error = {
        key: _without_secrets(value, argv) if key in ("message", "hint") else value for key, value in error.items()
    }
    if _is_on(argv, "json"):
        import json

        console.say(json.dumps(error, ensure_ascii=False))
        return
    console.say(f"memctl: {error['message']}")
    if "hint" in error:
        console.say(f"hint: {error['hint']}")


def _shape(word: str, place: int) -> str:
    """A word of the command line without what it says: flags and the command stay, values become their length."""
    from memctl.ops import TABLE

    if word in TABLE and place < 8:
        return word
    flag, equals, value = word.partition("=")
    if flag.startswith("-") and " " not in flag and len(flag) < 24:
        return f"{flag}={faults.shape(value)}" if equals else flag
    return faults.shape(word)
