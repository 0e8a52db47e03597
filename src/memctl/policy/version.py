"""Which rules judged: written by scripts/docs from the rows, so that asking costs nothing."""

RULES_VERSION = "5-e7ddffae919d"
