"""What memctl costs: `benchmarks/run`, or `python -m benchmarks` from the root of the tree."""
