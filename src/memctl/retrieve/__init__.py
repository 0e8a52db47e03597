"""From candidates to passages: search, score, diversity, packing into a token budget."""
