"""Conversations that AI clients wrote down: read turn by turn, without what nobody said, and stored as sessions."""
