"""What takes the place of parts of a model while it is exported: one file per kind."""
