#!/bin/sh
# The hint of eco mode, as a hook. The store is that of .claude/eco/config.json, of MEMCTL_DB, or the project's own.
exec memctl hooks eco-hint
