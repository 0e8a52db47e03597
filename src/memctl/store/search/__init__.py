"""What the full-text index and the vectors say."""
