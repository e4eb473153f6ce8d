"""Processes that share cores: what each gets against its fair share."""
