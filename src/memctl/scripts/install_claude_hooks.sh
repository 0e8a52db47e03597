#!/bin/sh
# Puts the safety guard and the audit logger into Claude Code.
# Usage: install_claude_hooks.sh [--dry-run] [--yes]
# The work is that of `memctl setup hooks`; this script is for those who call it by its name.
set -eu
exec memctl setup hooks "$@"
