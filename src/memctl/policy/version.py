"""Which rules judged: written by scripts/docs from the rows, so that asking costs nothing."""

RULES_VERSION = "7-a4233d8675a4"
