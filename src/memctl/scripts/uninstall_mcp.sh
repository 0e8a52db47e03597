#!/bin/sh
# Takes memctl out of Claude Code or Claude Desktop.
# Usage: uninstall_mcp.sh [--client claude-code|claude-desktop|all] [--hooks-only] [--mcp-only] [--dry-run]
# The work is that of `memctl teardown mcp and memctl teardown hooks`; this script is for those who call it by its name.
set -eu
hooks=yes mcp=yes
count=$#
while [ "$count" -gt 0 ]; do
    case $1 in
    --hooks-only) mcp=no ;;
    --mcp-only) hooks=no ;;
    *) set -- "$@" "$1" ;;
    esac
    shift
    count=$((count - 1))
done
if [ "$mcp" = yes ]; then memctl teardown mcp "$@"; fi
if [ "$hooks" = yes ]; then memctl teardown hooks "$@"; fi
