#!/bin/sh
# Takes eco mode out of the project of the current folder.
# Usage: uninstall_eco.sh [--dry-run]
# The work is that of `memctl teardown eco`; this script is for those who call it by its name.
set -eu
# It takes away ECO.md, config.json, and from .claude/commands/:
# eco.md scan.md recall.md remember.md reindex.md forget.md consolidate.md status.md export.md diff.md
exec memctl teardown eco "$@"
