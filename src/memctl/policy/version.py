"""Which rules judged: written by scripts/docs from the rows, so that asking costs nothing."""

RULES_VERSION = "5-9ae744992124"
