"""The injection block and the structure block: how passages are cut, framed, escaped and read back."""
