#!/bin/sh
# Eco mode in four acts, without Claude Code: the calls that it makes of its hooks are made here by hand.
set -eu
. "$(dirname -- "$0")/scratch.sh"
unset CLAUDE_CONFIG_DIR XDG_CONFIG_HOME
prompt='{"hook_event_name": "UserPromptSubmit", "prompt": "when does a session end?"}'
search='{"hook_event_name": "PreToolUse", "tool_name": "Grep", "tool_input": {"pattern": "session lifetime"}}'
for number in $(seq 1 200); do
    printf '# Host %s\n\nHost %s is in rack %s and is restarted on day %s.\n' \
        "$number" "$number" "$((number % 9))" "$((number % 28 + 1))" > "handbook/host-$number.md"
done

say "Act 1: in. Settings of Claude Code in this project, and nothing that does not come out again."
run 'memctl setup eco -q'
run 'memctl eco'

say "Act 2: the hint. With each prompt a model is told what memory has; at first that is nothing."
run 'printf %s "$prompt" | memctl hooks eco-hint'
run 'memctl sync handbook'
run 'printf %s "$prompt" | memctl hooks eco-hint'

say "Act 3: the nudge. Before a wide search it is told to ask first; a search for one name goes by without a word."
run 'printf %s "$search" | memctl hooks eco-nudge 2> /dev/null'
run 'printf %s "$search" | sed "s/session lifetime/Redis/" | memctl hooks eco-nudge'
run 'memctl recall "when does a session end?"'
run 'cat handbook/*.md | wc -c'

say "Act 4: off for a while, then out. What was stored stays."
run 'memctl eco off'
run 'printf %s "$search" | memctl hooks eco-nudge'
run 'memctl eco on'
run 'memctl teardown eco -q'
run 'ls -A . .memory'
