"""Cutting a text into passages, along the structure of its format."""
