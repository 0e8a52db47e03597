"""Which rules judged: written by scripts/docs from the rows, so that asking costs nothing."""

RULES_VERSION = "7-d2a2e7f3016a"
