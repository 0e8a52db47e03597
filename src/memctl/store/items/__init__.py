"""Items and what stands beside them: rows, events, links, pins, importance, use."""
