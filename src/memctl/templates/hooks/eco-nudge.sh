#!/bin/sh
# A word on stderr before a wide search, as a PreToolUse hook.
exec memctl hooks eco-nudge
