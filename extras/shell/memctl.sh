# Shell shortcuts for memctl, for bash, zsh and other POSIX shells. Source it from .bashrc or from a project's env.sh:
#     . /path/to/extras/shell/memctl.sh
# They work on $MEMCTL_DB; without it memctl uses the nearest .memory/memory.db, from here upwards.

# meminit [DIR]            make a store (in .memory unless told otherwise) and select it for this shell
meminit() {
    _memctl_line=$(memctl init "${1:-.memory}") || return
    eval "$_memctl_line"
    unset _memctl_line
}

# memq QUERY               print what is remembered about it, as a block for a model
memq() {
    memctl recall -- "$*"
}

# memp QUERY [SOURCE...]   read the sources first (files, folders, globs), then print what answers
memp() {
    if [ "$#" -eq 0 ]; then
        printf '%s\n' 'usage: memp QUERY [SOURCE...]' >&2
        return 1
    fi
    _memctl_query=$1
    shift
    if [ "$#" -gt 0 ]; then
        memctl push --source "$@" -- "$_memctl_query"
    else
        memctl push -- "$_memctl_query"
    fi
}

# some-llm | mempull TAGS [TITLE]      store what a model wrote, with these tags
mempull() {
    case $# in # spelled out: zsh does not split ${1:+--tags "$1"} into two words
    0) memctl pull ;;
    1) memctl pull --tags "$1" ;;
    *) memctl pull --tags "$1" --title "$2" ;;
    esac
}
