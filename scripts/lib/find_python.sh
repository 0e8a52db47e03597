# Find interpreters that can run memctl: Python 3.10 or later, SQLite with FTS5, able to fill a virtual environment.
# Sourced by scripts/demo, scripts/test and scripts/docs; POSIX sh, no output but what the functions print.

# One line per interpreter that may exist, best first. A name may be a broken shim: find_pythons asks each of them.
python_names() {
    printf '%s\n' python3 python3.13 python3.12 python3.11 python3.10 python
    for folder in "${PYENV_ROOT:-$HOME/.pyenv}/versions" "${XDG_DATA_HOME:-$HOME/.local/share}/uv/python"; do
        for found in "$folder"/*3.1[0-9]*/bin/python3; do
            [ -x "$found" ] && printf '%s\n' "$found"
        done
    done
    for found in /usr/bin/python3 /usr/local/bin/python3 /opt/homebrew/bin/python3; do
        [ -x "$found" ] && printf '%s\n' "$found"
    done
    return 0
}

# "3.11 /path/of/the/interpreter" if "$1" will do; fails without a word if not.
ask_python() {
    "$1" -I -c '
import sys
if sys.version_info < (3, 10):
    sys.exit(1)
import importlib.util, sqlite3, venv
if not (importlib.util.find_spec("ensurepip") or importlib.util.find_spec("pip")):
    sys.exit(1)
sqlite3.connect(":memory:").execute("CREATE VIRTUAL TABLE t USING fts5(a)")
print("%d.%d" % sys.version_info[:2], sys.executable)
' 2>/dev/null </dev/null
}

# One "3.11 /path" line for each Python version found (the best of each), best first. $PYTHON, when set, is the only choice.
find_pythons() {
    if [ -n "${PYTHON:-}" ]; then
        ask_python "$PYTHON" && return 0
        printf '%s\n' "PYTHON=$PYTHON will not do: it needs Python 3.10+ with sqlite3 (FTS5) and pip or ensurepip" >&2
        return 1
    fi
    seen=" "
    python_names | while IFS= read -r name; do
        answer=$(ask_python "$name") || continue
        version=${answer%% *}
        case "$seen" in *" $version "*) continue ;; esac
        seen="$seen$version "
        printf '%s\n' "$answer"
    done
}

# The path of the first interpreter that will do; a sentence on stderr and status 1 when there is none.
find_python() {
    # Only the first line counts; reading all of them would start every interpreter there is.
    if [ -n "${PYTHON:-}" ]; then
        answer=$(find_pythons) || return 1
        printf '%s\n' "${answer#* }"
        return 0
    fi
    answer=$(python_names 2>/dev/null | while IFS= read -r name; do
        ask_python "$name" && break
    done) || :
    if [ -z "$answer" ]; then
        printf '%s\n' "no usable Python found: install Python 3.10 or later with venv (Debian: apt install python3-venv)," \
            "or name one: PYTHON=/path/to/python3 $0" >&2
        return 1
    fi
    printf '%s\n' "${answer#* }"
}
