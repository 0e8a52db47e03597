#!/bin/sh
# Documents in, what answers a question out: raw passages are kept out of recall until they are wanted there.
set -eu
. "$(dirname -- "$0")/scratch.sh"

say "1. Read a folder. Its passages are raw: stored and searchable, but given to no model."
run 'memctl ingest handbook/'
run 'memctl search "session lifetime" -n 1'
run 'memctl recall "when does a session end"'

say "2. The same documents for models to see. No passage is stored twice."
run 'memctl ingest handbook/ --injectable'
run 'memctl recall "when does a session end" --budget 200'

say "3. What nothing in the store answers brings nothing: a wrong passage is worse than none."
run 'memctl recall "zeppelins"'
