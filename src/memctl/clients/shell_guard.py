"""Which commands of a shell line a client must not run: commands are matched, not words.

The line is read as a shell reads it, as far as that shows what it runs: quotes, substitutions, pipes, assignments and
programs that run others. It stops what a model does by mistake; it is no sandbox, and sees into no variable.
"""

import re
import shlex
import warnings
from collections.abc import Iterator, Sequence
from os.path import basename

#: Substitutions and strings for a shell within each other that are looked into; a deeper line is stopped.
_DEPTH = 12
#: Words before the program that is run; a line with more is stopped.
_MOST_RUN = 200
_SHELLS = frozenset(["sh", "bash", "zsh", "dash", "ksh", "ash", "fish"])
_LOADERS = frozenset(["curl", "wget"])
#: Interpreters, and the letters of their options that give the program, so that none is read from a pipe.
_INTERPRETERS = {"python": "cm", "perl": "eEnp", "ruby": "enp", "node": "ep", "php": "rf"}
#: Whole disks and their partitions.
_DISK = re.compile(r"(of=)?/dev/(sd|hd|vd|xvd|nvme|mmcblk|disk|rdisk|mapper/)\w*")
#: Options of ssh that take a word.
_SSH_TAKES = frozenset("-" + letter for letter in "BbcDEeFIiJLlmOopQRSWw")
#: Words of the shell's own after which a command stands.
_KEYWORDS = frozenset(("if", "then", "else", "elif", "while", "until", "do", "!", "{", "coproc"))
#: Programs that run what stands after them, and how many words of their own come before it.
_RUNNERS = dict.fromkeys((
    "env", "command", "exec", "nohup", "time", "nice", "ionice", "xargs", "stdbuf", "setsid", "builtin", "busybox",
    "watch", "parallel", "unshare", "doas",
), 0) | {"timeout": 1, "chroot": 1, "flock": 1}  # fmt: skip
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_HEREDOC = re.compile(r"(?<!<)<<-?[ \t]*(['\"]?)(\w+)\1([^\n]*\n)(.*?)^[ \t]*\2[ \t]*$", re.DOTALL | re.MULTILINE)
_SEPARATES = frozenset(";|&\n()")
_REDIRECTS = frozenset((">&", "&>", "&>>", "<&", ">|", ">", ">>", "<", "<>", "<<<", "<<"))
#: Options of git before its command that take a word.
_GIT_TAKES = frozenset(("-C", "-c", "--git-dir", "--work-tree", "--namespace"))
_SUBSTITUTION = "$SUBSTITUTED"
#: Outside of quotes: a comment, the `$` of `$"…"`, or `$'…'` with what is in it.
_SKIPPED = re.compile(r"""(?:(?<=[\s;|&()])(?<!\\.)|(?<!.))#[^\n]*|\$(?=")|\$'((?:[^'\\]|\\.)*)'""", re.DOTALL)


def denied(line: str, depth: int = 0) -> str:
    """The pattern that a shell line matches, such as `rm -rf`; "" for none. Raises ValueError for what is no line."""
    if depth > _DEPTH:
        raise ValueError("it is nested too deeply")
    line = line.replace("\\\n", "").replace("\r\n", "\n")
    line = _HEREDOC.sub(lambda found: found[3] + _fed(found, line), line)
    bare, inner = _substitutions(line)
    for part in inner:
        if pattern := denied(part, depth + 1):
            return pattern
    loads = any(program in _LOADERS for part in inner for program, _ in programs(part))
    loaded, said = False, ""
    for piped, words in _commands(bare):
        loaded, said = loaded and piped, said if piped else ""
        for at in _run(words):
            program, args = basename(words[at]).lower(), words[at + 1 :]
            if program in _SHELLS | {"eval", "source", "."} and (
                loaded or (loads and any(_SUBSTITUTION in word for word in args))
            ):
                return "curl | sh"
            if (loaded or loads) and _runs_loaded(program, args, piped=loaded):
                return f"curl | {program}"
            if pattern := _pattern(program, args) or _given(program, args, said, depth):
                return pattern
            loaded = loaded or program in _LOADERS
            said = " ".join(args) if program in ("echo", "printf") else said
    return ""


def _run(words: Sequence[str]) -> Iterator[int]:
    """Where the programs stand that a simple command runs: behind keywords and assignments, and what runs another.

    An option of such a program may take the word after it, so either of the two may be what is run.
    """
    at = 0
    while at < len(words):
        word = words[at]
        if word in _KEYWORDS or _ASSIGNMENT.match(word):
            at += 1
            continue
        if word == "function":
            at += 2
            continue
        if at > _MOST_RUN:
            raise ValueError("too many programs run one another")
        yield at
        name = basename(word)
        if name not in _RUNNERS or (name == "command" and words[at + 1 : at + 2] in (["-v"], ["-V"])):
            return
        at += 1
        own = _RUNNERS[name]
        while at < len(words) and (own or words[at].startswith("-") or _ASSIGNMENT.match(words[at])):
            is_option, own = words[at].startswith("-"), own - (own > 0 and words[at][0] != "-")
            at += 1
            if is_option and at + 1 < len(words) and words[at][:1] != "-" and basename(words[at]) not in _RUNNERS:
                if at > _MOST_RUN:
                    raise ValueError("too many options stand before what is run")
                yield at  # the command, or what the option takes
                at += 1


def programs(line: str) -> list[tuple[str, list[str]]]:
    """The programs that a line runs, with their words. Raises ValueError."""
    bare, _ = _substitutions(line)
    return [(basename(words[0]), words[1:]) for _, words in _commands(bare) if words]


def _fed(found: "re.Match[str]", line: str) -> str:
    """What of a here-document is run: all that a shell is fed with, else what is substituted in it."""
    start = line.rfind("\n", 0, found.start()) + 1
    if _SHELLS & {basename(word) for word in (line[start : found.start()] + found[3].replace("|", " ")).split()}:
        return found[4]
    inner = [] if found[1] else _substitutions(re.sub("['\"]", " ", found[4]))[1]
    return "\n".join(f"$({part})" for part in inner)


def _given(program: str, args: Sequence[str], said: str, depth: int) -> str:
    """What is wrong with the text that a program is given as a command; `said`: what is piped into it."""
    if program in ("eval", "trap"):
        return denied(" ".join(args) if program == "eval" else "".join(args[:1]), depth + 1)
    if program == "find":
        return _of_find(args)
    if program == "ssh":
        return denied(" ".join(_without_options(_without_options(args)[1:])), depth + 1)
    letter = "c" if program in _SHELLS | {"su", "flock"} else "S" if program == "env" else ""
    for at, word in enumerate(args[:-1]):
        if letter and word.startswith("-") and not word.startswith("--") and letter in word:
            return denied(args[at + 1], depth + 1)
    return denied(said, depth + 1) if said and program in _SHELLS else ""


def _runs_loaded(program: str, args: Sequence[str], *, piped: bool) -> bool:
    """Whether an interpreter runs what was loaded: its own input, or the text that it is given in place of a file."""
    letters = next((those for name, those in _INTERPRETERS.items() if re.fullmatch(rf"{name}[\d.]*", program)), "")
    if not letters:
        return False
    code = next(
        (at for at, word in enumerate(args) if re.match("-[^-]", word) and set(word[1:]) & set(letters)), len(args)
    )
    script = next((word for word in args[:code] if word == "-" or not word.startswith("-")), "")
    given = script if script or code == len(args) else " ".join(args[code + 1 : code + 2])
    return _SUBSTITUTION in given or (piped and code == len(args) and script in ("", "-", "/dev/stdin"))


def _without_options(args: Sequence[str]) -> Sequence[str]:
    """The words of ssh from the first that is no option and no option's."""
    at = 0
    while at < len(args) and args[at].startswith("-"):
        at += 2 if args[at] in _SSH_TAKES else 1
    return args[at:]


def _of_find(words: Sequence[str]) -> str:
    if "-delete" in words and any(map(_is_root, words)):
        return "find / -delete"
    at = next((n for n, word in enumerate(words) if word in ("-exec", "-execdir", "-ok", "-okdir")), len(words))
    return _pattern(basename(words[at + 1]), words[at + 2 :]) if at + 1 < len(words) else ""


# --- a line, as a shell reads it --------------------------------------------------------------------------------------


def _substitutions(line: str) -> tuple[str, list[str]]:
    """The line with a word in place of each `$(…)`, `<(…)` and backquoted part, and these parts; without comments."""
    out: list[str] = []
    inner: list[str] = []
    at, quoted = 0, ""
    while at < len(line):
        char = line[at]
        if char == "\\" and quoted != "'":
            out.append(line[at : at + 2])
            at += 2
        elif not quoted and (found := _SKIPPED.match(line, at)):
            if found[1] is not None:  # $'…'
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # an escape that means nothing stays as it is, as in a shell
                    said = found[1].encode("latin-1", "backslashreplace").decode("unicode_escape")
                out.append(shlex.quote(said))
            at = found.end()
        elif char in "'\"" and quoted in ("", char):
            quoted = "" if quoted else char
            out.append(char)
            at += 1
        elif quoted != "'" and (char == "`" or line[at : at + 2] in ("$(", "<(", ">(")):
            end = line.find("`", at + 1) if char == "`" else _closing(line, at + 2)
            if end < 0:
                raise ValueError("a substitution has no end")
            inner.append(line[at + (1 if char == "`" else 2) : end])
            out.append(_SUBSTITUTION)
            at = end + 1
        else:
            out.append(char)
            at += 1
    return "".join(out), inner


def _closing(line: str, at: int) -> int:
    """Where the parenthesis ends whose inside begins here; -1 when it does not."""
    open_, quoted = 1, ""
    while at < len(line):
        char = line[at]
        if char == "\\" and quoted != "'":
            at += 1
        elif char in "'\"" and quoted in ("", char):
            quoted = "" if quoted else char
        elif not quoted and (found := _SKIPPED.match(line, at)):
            at = found.end() - 1
        elif not quoted:
            open_ += (char == "(") - (char == ")")
            if not open_:
                return at
        at += 1
    return -1


def _commands(line: str) -> Iterator[tuple[bool, list[str]]]:
    """The simple commands of a line without substitutions: whether a pipe feeds it, and its words."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";|&<>()\n")
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    words: list[str] = []
    piped = skip = into = False
    for word in lexer:
        if word in _REDIRECTS:
            into = ">" in word
            if len(words) == 1 and words[0].isdigit():  # 2>&1 before the command
                words = []
            if word == "<<<" and words and basename(words[0]) in _SHELLS:
                words.append("-c")
            else:
                skip = True
        elif word and not set(word) - (_SEPARATES | {"<", ">"}):
            if words:
                yield piped, words
            last = word.rstrip("\n(")
            goes_on = piped and not words and not last  # `| (sh)`
            piped, words, skip = goes_on or (last.endswith(("|", "|&")) and not last.endswith("||")), [], False
        elif skip:
            skip = False
            if into and _DISK.fullmatch(word):
                yield False, [">", word]
        else:
            words.append(word)
    if words:
        yield piped, words


# --- what is denied ---------------------------------------------------------------------------------------------------


def _pattern(program: str, args: Sequence[str]) -> str:
    """The pattern that a command matches, as older memctl names them."""
    short, long = _options(args)
    if program == "git":
        return _git_pattern(args)
    if program == "rm" and ("r" in short.lower() or "--recursive" in long):
        if "f" in short or "--force" in long:
            return "rm -rf"
        return "rm -r /" if any(map(_is_root, args)) else ""
    recursive = "R" in short or "--recursive" in long
    disks = [word for word in args if _DISK.fullmatch(word)]
    pattern, is_met = {
        "rmdir": ("rmdir --ignore", any(word.startswith("--ig") for word in long)),
        "dd": ("dd if=", bool(disks) or any(word.startswith("if=") for word in args)),
        **dict.fromkeys(("chmod", "chown", "chgrp"), (f"{program} -R /", recursive and any(map(_is_root, args)))),
        **dict.fromkeys((">", "tee", "shred", "wipefs", "truncate"), (f"> {disks[0] if disks else ''}", bool(disks))),
        **dict.fromkeys(("cp", "mv"), (f"> {args[-1] if args else ''}", disks[-1:] == list(args[-1:]) != [])),
        "su": ("su -", "-" in args or "l" in short or "--login" in long),
        "init": ("init 0", args[:1] == ["0"]),
        "mkfs": ("mkfs", True), "fdisk": ("fdisk", True), "sudo": ("sudo", True), "shutdown": ("shutdown", True),
        "reboot": ("reboot", True),
    }.get(program.partition(".")[0] if program.startswith("mkfs") else program, ("", False))  # fmt: skip
    return pattern if is_met else ""


def _is_root(word: str) -> bool:
    return word.startswith("/") and not word.strip("/.*")


def _git_pattern(args: Sequence[str]) -> str:
    rest = list(args)
    while rest and rest[0].startswith("-"):
        del rest[: 2 if rest[0] in _GIT_TAKES else 1]
    command = rest[0] if rest else ""
    short, long = _options(rest[1:])
    if command == "push" and ("f" in short or "--force" in long or any(word.startswith("+") for word in rest[2:])):
        return "git push --force"
    if command == "reset" and "--hard" in long:
        return "git reset --hard"
    if command == "clean" and "d" in short and ("f" in short or "--force" in long):
        return "git clean -fd"
    if command == "branch" and ("D" in short or ("--force" in long and ("d" in short or "--delete" in long))):
        return "git branch -D"
    return ""


def _options(args: Sequence[str]) -> tuple[str, list[str]]:
    """The letters of the short options, and the long ones, up to `--`."""
    before = args[: args.index("--")] if "--" in args else args
    short = "".join(word[1:] for word in before if word.startswith("-") and not word.startswith("--"))
    return short, [word for word in before if word.startswith("--")]
