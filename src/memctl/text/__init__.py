"""Pure functions on text: tokens, chunking, queries, the injection block, LLM output. No I/O."""
