#!/bin/sh
# memctl's main job, on this repository's own documents: recall for a question, an answer, and what it taught stored.
# Needs `memctl` and `python3` on PATH (scripts/demo sees to that). Works in a scratch store and leaves nothing behind.
set -eu
cd "$(dirname -- "$0")/.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
unset MEMCTL_BUDGET MEMCTL_FTS MEMCTL_TIER MEMCTL_SESSION
export MEMCTL_DB="$scratch/memory.db"

# Print a command as it would be typed, then run it.
run() {
    printf '\n\033[1m$ %s\033[0m\n' "$1"
    eval "$1"
}
[ -t 1 ] || run() { printf '\n$ %s\n' "$1"; eval "$1"; }

printf '%s\n' "1. Read documents, print what answers a question as one block within a token budget:"
run 'memctl push "how does re-ingest detect changes" --source README.md docs/ src/ --budget 600'

printf '\n%s\n' "2. The same into a model, and what the model proposes back into the store (nothing changed: no file is read twice):"
run 'memctl push "how does re-ingest detect changes" --source README.md docs/ src/ | demos/fake-llm | memctl pull --tags note'

printf '\n%s\n' "3. What was stored:"
run 'memctl search "re-ingest changes" --tags note'
id=$(memctl list --tags note --limit 1 --json -q | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["id"])')
run "memctl show $id"
run 'memctl list --tags note --limit 5'
run 'memctl stats'

printf '\n%s\n' "4. Everything is yours: out as JSON lines, and into another store:"
run 'memctl export | memctl import --db "$MEMCTL_DB.copy"'
