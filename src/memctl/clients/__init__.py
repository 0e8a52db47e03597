"""AI clients: what is known of each (known.py), and the files that memctl writes for them."""
