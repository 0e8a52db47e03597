"""Models: running a model command, and the bounded loop of recall and answer around it. Nothing here opens a store."""
