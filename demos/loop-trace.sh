#!/bin/sh
# A model that asks for more: bounded, traced, and replayed without a model.
set -eu
. "$(dirname -- "$0")/scratch.sh"

cat > script <<'END'
{"need_more": true, "query": "rollback migrations", "rationale": "the block says nothing of rollbacks", "stop": false}

Deployments run on Tuesdays.
---
{"need_more": false, "query": null, "rationale": "", "stop": true}

Deployments run on Tuesdays; a rollback takes the previous image with its migrations.
END

say "1. The block for a question goes to the model, which asks for other words before it is done."
run 'memctl push "when do deployments run" --source handbook/ --budget 200 -q |
    memctl loop "how do we deploy, and how back?" --llm "scripted-llm --script script" --trace-file trace.jsonl'

say "2. What happened, call by call."
run 'cut -c 1-120 trace.jsonl'

say "3. The same from the record: no model is asked."
run 'memctl loop --replay trace.jsonl "how do we deploy, and how back?"'

say "4. A model that never has enough is stopped."
run 'memctl recall "deployments" -q | memctl loop "deployments" --llm "scripted-llm --do loop" --max-calls 3 -q'
