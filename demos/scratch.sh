# What the demos share; sourced, not run. A scratch folder to stand in, a small handbook in it, and `run`.
# Needs `memctl` and `python3` on PATH. Nothing of yours is read or written, and the folder is gone afterwards.
demos=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
PATH="$demos:$PATH"
export PATH
unset MEMCTL_DB MEMCTL_BUDGET MEMCTL_FTS MEMCTL_TIER MEMCTL_SESSION MEMCTL_LLM MEMCTL_EMBEDDER
HOME=$scratch XDG_STATE_HOME=$scratch/state XDG_DATA_HOME=$scratch/data
export HOME XDG_STATE_HOME XDG_DATA_HOME
mkdir -p "$scratch/wiki/handbook"
cd "$scratch/wiki"
cat > handbook/sessions.md <<'END'
# Sessions

## Lifetime

A session ends after thirty minutes without a request, whatever the client says.

## Where they live

The session store is Redis, and a second copy is kept on another machine.
END
cat > handbook/deploy.md <<'END'
# Deployments

Deployments run on Tuesdays, and the release manager signs each of them.
END
cat > handbook/back.md <<'END'
# The way back

A rollback is one command: it takes the previous image and the migrations that belong to it.
END

# say TEXT...   a line of the story
say() {
    printf '\n%s\n' "$*"
}

# run COMMAND   print a command as it would be typed, then run it
run() {
    if [ -t 1 ]; then
        printf '\n\033[1m$ %s\033[0m\n' "$1"
    else
        printf '\n$ %s\n' "$1"
    fi
    eval "$1"
}

# refused COMMAND   the same for a command that must fail
refused() {
    run "$1" && { say "this should have failed"; exit 1; }
    say "(exit status 1)"
}
