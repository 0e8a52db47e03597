#!/bin/sh
# A line in .agent_logs for each call of a tool, as a PostToolUse hook.
exec memctl hooks audit-logger
