"""Folders and documents: registering, bringing in, and comparing them with the store."""
