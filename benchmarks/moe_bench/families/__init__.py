"""Models of families whose layers are not all attention: recurrences, latent caches, sinks."""
