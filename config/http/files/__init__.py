"""Bodies that are files: streamed to disk as they arrive, sent from disk without a thread."""
