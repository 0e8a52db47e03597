"""Change what is stored, look at what was changed, and take it back."""
