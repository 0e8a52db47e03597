#!/bin/sh
# Sets up eco mode in the project of the current folder.
# Usage: install_eco.sh [--db-root FOLDER] [--dry-run] [--yes] [--force]
# The work is that of `memctl setup eco`; this script is for those who call it by its name.
set -eu
# It writes .claude/eco/config.json (db_path and version), ECO.md, and into .claude/commands/:
# eco.md scan.md recall.md remember.md reindex.md forget.md consolidate.md status.md export.md diff.md
exec memctl setup eco "$@"
