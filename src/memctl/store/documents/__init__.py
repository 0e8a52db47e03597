"""Where passages come from: corpora, folders, mounts, positions in sources."""
