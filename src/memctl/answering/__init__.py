"""A model answers from the store: grounding, the model command, the conversation and what is kept of it."""
