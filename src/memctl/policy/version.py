"""Which rules judged: written by scripts/docs from the rows, so that asking costs nothing."""

RULES_VERSION = "3-8342f60f8f65"
