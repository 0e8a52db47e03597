"""AI clients: each as data (known), what is entered in their files (entries), how these change (file_edits)."""
