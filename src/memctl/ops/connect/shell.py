"""memctl completion and shell-init: what a shell evaluates, written from the table of operations."""

import os
from collections.abc import Iterator
from shlex import quote

from memctl.annotations import Annotated, Literal
from memctl.context import Context, personal_store
from memctl.errors import MemctlError
from memctl.operation import READ, Arg, Operation, Param, PlainResult, operation
from memctl.ops import GLOBALS, TABLE, commands

Kind = Literal["ids", "tags", "scopes", "mounts", "workspaces", "sessions", "pages"]

#: What completes a parameter of these names, or values that help calls so.
_BY_NAME = {
    "scope": "scopes", "read": "scopes", "old": "scopes", "tags": "tags", "add": "tags", "remove": "tags",
    "workspace": "workspaces", "page": "pages", "id1": "ids", "id2": "ids", "old_id": "ids", "resume": "sessions",
}  # fmt: skip
_BY_METAVAR = {
    "MEM-ID": "ids", "MEM-ID|+TAG": "ids", "SESSION-ID": "sessions", "MOUNT": "mounts", "ID_OR_NAME": "mounts",
}  # fmt: skip


@operation(
    access=READ,
    examples=(
        'eval "$(memctl completion bash)"              # in ~/.bashrc',
        'source <(memctl completion zsh)               # in ~/.zshrc, after compinit',
        "memctl completion fish > ~/.config/fish/completions/memctl.fish",
        "memctl completion words scopes                # what such a script asks",
    ),
)  # fmt: skip
def completion(
    ctx: Context,
    shell: Annotated[Literal["bash", "zsh", "fish", "words"], Arg("the shell; words: what is completed now")],
    kind: Annotated[Kind | None, Arg("words: of which kind")] = None,
    start: Annotated[str, Arg("words: what they begin with")] = "",
) -> PlainResult:
    """Print what makes a shell complete memctl's words.

    Commands, options and their values come with the script; ids, tags, scopes, mounts, workspaces and conversations are
    looked up in the store that is used where you are. Nothing is said where there is none.
    """
    if shell == "words":
        lines = [] if kind is None else list(_words(ctx, kind, start))
        return PlainResult({"status": "ok", "words": [line.partition("\t")[0] for line in lines]}, lines, verbatim=True)
    lines = _completion(shell)
    return PlainResult({"status": "ok", "shell": shell, "script": "\n".join(lines)}, lines, verbatim=True)


def _completion(shell: str) -> list[str]:
    """The completion of a shell; nothing for one that has none."""
    make = {"bash": _bash, "zsh": _zsh, "fish": _fish}.get(shell)
    return list(make([TABLE[name].load(name) for name in commands()])) if make else []


def _words(ctx: Context, kind: Kind, start: str) -> Iterator[str]:
    """The words of a kind, of an id with its title after a tab."""
    from memctl.text.clean import one_line

    if kind == "pages":
        from memctl.ops.start.docs import pages

        yield from (name for name in pages() if name.startswith(start))
        return
    try:
        from memctl.store import sessions, workspaces
        from memctl.store.items import items
        from memctl.store.search import words

        if kind == "workspaces":
            found = [one.name for one in workspaces.list_workspaces(ctx.db)]
        elif kind == "sessions":
            found = [one.id for one in sessions.list_sessions(ctx.db, words.MAX_COMPLETIONS)]
        else:
            found = words.complete(ctx.db, kind, start)
        titles = {item.id: item.title for item in items.get_many(ctx.db, found)} if kind == "ids" else {}
    except MemctlError:  # without a store, or with a damaged one, nothing is known; the command itself will say so
        return
    for word in found:
        if (word.startswith(start) and "\n" not in word and "\t" not in word) or kind == "tags":
            title = one_line(titles[word], 60) if word in titles else ""
            yield f"{one_line(word)}\t{title}" if title else one_line(word)


def _completed_by(param: Param) -> str:
    """What completes a value: words with commas between, `@` and a kind, `@files`, or nothing at all."""
    if param.choices:
        return ",".join(param.choices)
    if param.arg.path or any(word in param.metavar for word in ("FILE", "PATH", "DIR")):
        return "@files"
    kind = _BY_METAVAR.get(param.metavar) or _BY_NAME.get(param.name)
    return f"@{kind}" if kind else ""


def _places(op: Operation) -> list[Param]:
    return [param for param in op.params() if param.arg.cli and param.positional]


def _options(op: Operation) -> list[Param]:
    return [param for param in op.params() if param.arg.cli and not param.positional]


# --- bash -------------------------------------------------------------------------------------------------------------

_BASH = r"""
# The words of the store that begin like $2, of the kind $1; of a list with commas the last part counts.
_memctl_words() {
    local head= cur=$2 line
    case $1 in tags | scopes) case $cur in *,*) head=${cur%,*}, cur=${cur##*,} ;; esac ;; esac
    while IFS= read -r line; do
        COMPREPLY+=("$(printf %q "$head${line%%$'\t'*}")")
    done < <(command memctl ${_memctl_db:+--db "$_memctl_db"} completion words "$1" -- "$cur" 2>/dev/null)
}

_memctl() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} cmd= options= values= places= found line i
    local at=0 _memctl_db=
    COMPREPLY=()
    if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        --db) i=$((i + 1)); _memctl_db=${COMP_WORDS[i]/#\~/$HOME} ;;
        --config) i=$((i + 1)) ;;
        -*) ;;
        *) if [[ -z $cmd ]]; then cmd=${COMP_WORDS[i]}; else at=$((at + 1)); fi ;;
        esac
    done
    case $cmd in
@CASES@
    esac
    options+=' @GLOBALS@'
    values+=' --db=@files --config=@files '
    if [[ $prev == -* && $values == *" $prev="* ]]; then
        found=${values#*" $prev="}; found=${found%% *}
    elif [[ $cur == -* ]]; then
        found=${options// /,}
    else
        set -- $places
        ((at < $#)) || at=$(($# - 1))
        ((at < 0)) && found= || { shift $at; found=${1-}; }
    fi
    case $found in
    '' | -) ;;
    @files) compopt -o filenames 2>/dev/null || :
        while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$cur") ;;
    @*) _memctl_words "${found#@}" "$cur" ;;
    *) while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -W "${found//,/ }" -- "$cur") ;;
    esac
}
complete -F _memctl memctl"""


def _bash(ops: list[Operation]) -> Iterator[str]:
    """Each command is a line: its options, what completes their values, and what completes what goes by its place."""
    cases = [f"    '' | help) places={quote(','.join((*commands(), 'help')))} ;;"]
    for op in ops:
        flags = [flag for param in _options(op) for flag in param.arg.flags]
        values = [
            f"{flag}={_completed_by(param) or '-'}"
            for param in _options(op) if param.scalar is not bool for flag in param.arg.flags
        ]  # fmt: skip
        places = [_completed_by(param) or "-" for param in _places(op)]
        cases.append(
            f"    {op.name}) options={quote(' '.join(flags))} values={quote(' ' + ' '.join(values) + ' ')} "
            f"places={quote(' '.join(places))} ;;"
        )
    globals_ = " ".join(flag for one in GLOBALS for flag in one.flags)
    yield "# bash completion of memctl, printed by `memctl completion bash`"
    yield from _BASH.replace("@CASES@", "\n".join(cases)).replace("@GLOBALS@", globals_).split("\n")


# --- zsh --------------------------------------------------------------------------------------------------------------

_ZSH = r"""
_memctl_words() {
    local line; local -a names shown
    local -a store; [[ -n ${opt_args[--db]} ]] && store=(--db ${(Q)opt_args[--db]})
    for line in "${(@f)$(command memctl $store completion words $1 -- "${PREFIX##*,}" 2>/dev/null)}"; do
        [[ -n $line ]] && names+=("${line%%$'\t'*}") && shown+=("${line//$'\t'/  }")
    done
    compset -P '*,'
    compadd -l -d shown -a names
}

_memctl() {
    local curcontext=$curcontext state line; local -a all; typeset -A opt_args
    all=(@COMMANDS@)
    _arguments -C @GLOBALS@ '1: :->command' '*:: :->rest'
    case $state in
    command) _describe -t commands command all ;;
    rest) case $words[1] in
@CASES@
        esac ;;
    esac
}
if [[ ${funcstack[1]} == _memctl ]]; then _memctl "$@"; else compdef _memctl memctl; fi"""


def _zsh_value(metavar: str, by: str) -> str:
    """What follows a flag in the words of _arguments: what the value is called, and what completes it."""
    name = metavar.replace(":", " ") or "value"
    if by == "@files":
        return f":{name}:_files"
    if by.startswith("@"):
        return f":{name}: _memctl_words {by[1:]}"  # the blank: without what _arguments would put first
    return f":{name}:({by.replace(',', ' ')})" if by else f":{name}:"


def _zsh_words(text: str) -> str:
    return "".join(f"\\{sign}" if sign in "[]:\\" else sign for sign in text)


def _zsh(ops: list[Operation]) -> Iterator[str]:
    globals_ = [
        quote(f"{flag}[{_zsh_words(one.help)}]{_zsh_value(one.metavar, '@files') if one.metavar else ''}")
        for one in GLOBALS for flag in one.flags
    ]  # fmt: skip
    cases = []
    for op in ops:
        specs = [
            f"{'*' if param.many else ''}{flag}[{_zsh_words(param.arg.help)}]"
            + ("" if param.scalar is bool else _zsh_value(param.metavar, _completed_by(param)))
            for param in _options(op) for flag in param.arg.flags
        ]  # fmt: skip
        for number, param in enumerate(_places(op), 1):
            specs.append(f"{'*' if param.many else number}{_zsh_value(param.metavar, _completed_by(param))}")
        cases.append(f"        {op.name}) _arguments {' '.join([*map(quote, specs), *globals_])} ;;")
    named = [*((op.name, op.summary) for op in ops), ("help", "Tell more about a command")]
    all_ = " ".join(quote(f"{name}:{words}") for name, words in named)
    yield "#compdef memctl"
    yield "# zsh completion of memctl, printed by `memctl completion zsh`"
    text = (
        _ZSH.replace("@CASES@", "\n".join(cases)).replace("@COMMANDS@", all_).replace("@GLOBALS@", " ".join(globals_))
    )
    yield from text.split("\n")


# --- fish -------------------------------------------------------------------------------------------------------------

_FISH = r"""
function __memctl_is
    set -l words (commandline -opc)
    set -e words[1]
    while set -q words[1]
        switch $words[1]
            case --db --config
                set -e words[1]
            case '-*'
            case '*'
                contains -- $words[1] $argv
                return
        end
        set -e words[1]
    end
    test -z "$argv"
end
function __memctl_words
    set -l head (string match -r '^.*,' -- (commandline -ct))
    set -l start (string replace -r '^.*,' '' -- (commandline -ct))
    for line in (command memctl completion words $argv -- $start 2>/dev/null)
        echo "$head$line"
    end
end
complete -c memctl -f"""


def _fish_value(by: str) -> str:
    if by == "@files":
        return " -r -F"
    if by.startswith("@"):
        return f" -x -a '(__memctl_words {by[1:]})'"
    return f" -x -a {quote(by.replace(',', ' '))}" if by else " -x"


def _fish_flags(flags: tuple[str, ...]) -> str:
    return "".join(f" -l {flag[2:]}" if flag.startswith("--") else f" -s {flag[1:]}" for flag in flags)


def _fish(ops: list[Operation]) -> Iterator[str]:
    yield "# fish completion of memctl, printed by `memctl completion fish`"
    yield from _FISH.split("\n")
    for one in GLOBALS:
        value = _fish_value("@files") if one.metavar else ""
        yield f"complete -c memctl{_fish_flags(one.flags)}{value} -d {_fish_quoted(one.help)}"
    for op in ops:
        yield f"complete -c memctl -n __memctl_is -a {op.name} -d {_fish_quoted(op.summary)}"
        on = f"complete -c memctl -n '__memctl_is {op.name}'"
        for param in _options(op):
            value = "" if param.scalar is bool else _fish_value(_completed_by(param))
            yield f"{on}{_fish_flags(param.arg.flags)}{value} -d {_fish_quoted(param.arg.help)}"
        for by in dict.fromkeys(filter(None, map(_completed_by, _places(op)))):
            yield on + _fish_value(by).replace(" -x", "").replace(" -r", "")
    yield f"complete -c memctl -n '__memctl_is help' -a {quote(' '.join(op.name for op in ops))}"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


# --- shell-init -------------------------------------------------------------------------------------------------------

#: The shortcuts, as older memctl documented them, for shells that read POSIX and for fish.
_SHORTCUTS = r"""
meminit() {
    if [ "$#" -eq 0 ]; then memctl init >/dev/null && unset MEMCTL_DB; return; fi
    _memctl_line=$(memctl init -- "$1") && eval "$_memctl_line"
}
memq() { memctl recall -- "$*"; }
memp() {
    if [ "$#" -eq 0 ]; then printf '%s\n' 'usage: memp QUERY [SOURCE...]' >&2; return 1; fi
    _memctl_query=$1; shift
    if [ "$#" -gt 0 ]; then memctl push --source "$@" -- "$_memctl_query"; else memctl push -- "$_memctl_query"; fi
}
mempull() {
    case $# in
    0) memctl pull ;;
    1) memctl pull --tags "$1" ;;
    *) memctl pull --tags "$1" --title "$2" ;;
    esac
}"""
_FISH_SHORTCUTS = r"""
function meminit
    if set -q argv[1]; memctl init -- $argv[1] | source; return; end
    memctl init >/dev/null; and set -e MEMCTL_DB
end
function memq; memctl recall -- "$argv"; end
function memp
    if not set -q argv[1]; echo 'usage: memp QUERY [SOURCE...]' >&2; return 1; end
    if set -q argv[2]; memctl push --source $argv[2..-1] -- $argv[1]; else; memctl push -- $argv[1]; end
end
function mempull
    set -l words
    if set -q argv[1]; set -a words --tags $argv[1]; end
    if set -q argv[2]; set -a words --title $argv[2]; end
    memctl pull $words
end"""


@operation(
    name="shell-init",
    access=READ,
    examples=(
        'eval "$(memctl shell-init bash)"      # in ~/.bashrc; zsh likewise',
        "memctl shell-init fish | source       # in ~/.config/fish/config.fish",
    ),
)
def shell_init(
    ctx: Context,
    shell: Annotated[
        Literal["bash", "zsh", "fish", "sh"] | None, Arg("the shell (else what $SHELL names); sh: any other")
    ] = None,
) -> PlainResult:
    """Print shortcuts and settings for a shell to evaluate.

    The shortcuts: meminit makes a store here, meminit DIR one there and selects it; memq QUERY recalls; memp QUERY
    [SOURCE...] reads sources first; mempull [TAGS [TITLE]] stores what a model wrote. Then completion, but for sh.

    No store is selected: memctl finds the one of the folder you are in, else the personal one, anew with each command.
    A MEMCTL_DB that names the personal store is taken away, since it would go before the stores of projects.
    """
    name = shell or os.path.basename(ctx.env("SHELL") or "")
    known = name if name in ("bash", "zsh", "fish") else "sh"
    script = _completion(known)
    lines = [f"# shortcuts {'and completion ' if script else ''}of memctl, printed by `memctl shell-init {known}`"]
    if known == "fish":
        lines += [f'if test "$MEMCTL_DB" = {_fish_quoted(personal_store())}; set -e MEMCTL_DB; end']
        lines += _FISH_SHORTCUTS.split("\n")
    else:
        lines += [f'if [ "${{MEMCTL_DB-}}" = {quote(personal_store())} ]; then unset MEMCTL_DB; fi']
        lines += _SHORTCUTS.split("\n")
    if known == "zsh":  # without compinit there is nothing to complete with
        script = ["if (( $+functions[compdef] )); then", *script, "fi"]
    return PlainResult(
        {"status": "ok", "shell": known, "script": "\n".join([*lines, *script])}, [*lines, *script], verbatim=True
    )
