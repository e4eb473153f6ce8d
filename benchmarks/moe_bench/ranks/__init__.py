"""Programs of several ranks: what travels between them, and what they take against one process."""
