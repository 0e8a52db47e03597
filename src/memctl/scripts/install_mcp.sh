#!/bin/sh
# Puts the memctl server into Claude Code or Claude Desktop.
# Usage: install_mcp.sh [--client claude-code|claude-desktop|all] [--python PYTHON] [--db FILE] [--yes] [--dry-run]
# The work is that of `memctl setup mcp`; this script is for those who call it by its name.
set -eu

python=
count=$#
while [ "$count" -gt 0 ]; do
    case $1 in
    --python) python=${2:?--python needs a program}; shift 2; count=$((count - 2)); continue ;;
    esac
    set -- "$@" "$1"
    shift
    count=$((count - 1))
done
if [ -n "$python" ]; then exec "$python" -m memctl setup mcp "$@"; fi
exec memctl setup mcp "$@"
