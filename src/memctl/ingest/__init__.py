"""From sources to items: find files, extract, chunk, judge, store, in bulk."""
