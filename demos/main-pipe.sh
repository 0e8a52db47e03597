#!/bin/sh
# memctl's main job, on this repository's own documents: recall for a question, an answer, and what it taught stored.
# Needs `memctl` and `python3` on PATH (scripts/demo sees to that). Works in a scratch store and leaves nothing behind.
set -eu
. "$(dirname -- "$0")/scratch.sh"
cd "$demos/.."
export MEMCTL_DB="$scratch/memory.db"

say "1. Read documents, print what answers a question as one block within a token budget:"
run 'memctl push "how does re-ingest detect changes" --source README.md docs/ --budget 600'

say "2. The same into a model, and what the model proposes back into the store (nothing changed: no file is read twice):"
run 'memctl push "how does re-ingest detect changes" --source README.md docs/ --prompt --propose | scripted-llm | memctl pull --tags note'

say "3. What was stored:"
run 'memctl search "re-ingest changes" --tags note'
id=$(memctl list --tags note --limit 1 --json -q | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["id"])')
run "memctl show $id"
run 'memctl list --tags note --limit 5'
run 'memctl stats'

say "4. Everything is yours: out as JSON lines, and into another store:"
run 'memctl export | memctl import --db "$MEMCTL_DB.copy"'
