#!/bin/sh
# A chat from a pipe: answers on stdout, commands in between, and a session that is kept.
set -eu
. "$(dirname -- "$0")/scratch.sh"
export MEMCTL_LLM='scripted-llm --plain --passages 1'

cat > questions <<'END'
When does a session end?
/sources
When do deployments run?
/why
//etc/hosts is a question, not a command
/forget
END

say "1. One question a line. Lines with a slash are commands to the chat; two slashes ask."
run 'cat questions'
run 'memctl chat --folder handbook/ --session --store < questions > answers'

say "2. Stdout had the answers, and nothing else."
run 'cat answers'

say "3. The answers are notes now, and the turns a session."
run 'memctl list --tags chat'
run 'memctl session list'
