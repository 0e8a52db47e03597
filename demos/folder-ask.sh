#!/bin/sh
# A question to a folder: mounted, read and asked in one line; what changes is noticed, and citations are checked.
set -eu
. "$(dirname -- "$0")/scratch.sh"
export MEMCTL_LLM='scripted-llm --plain --passages 1'

say "1. One line is enough. The answer goes to stdout, all the talk to stderr."
run 'memctl ask handbook/ "When does a session end?" --cite'

say "2. A document changes; the next question sees it."
sed 's/thirty minutes/one hour/' handbook/sessions.md > new && mv new handbook/sessions.md
run 'memctl ask handbook/ "When does a session end?" -q'

say "3. A model that cites what it was never shown is found out."
run "memctl ask handbook/ 'When does a session end?' --llm \"scripted-llm --answer 'At noon [handbook/clock.md:7].'\" --cite -q"

say "4. Without a trace: a folder that the store does not know, and will not know afterwards."
mkdir letters
printf 'Dear Ada, the fair begins on the ninth of May, by the river.\n' > letters/ada.txt
run 'memctl ask letters/ "When does the fair begin?" --mount-mode ephemeral'
run 'memctl mount --list'
