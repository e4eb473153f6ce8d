"""What only a full run does (scripts/test --full)."""

import os

import pytest

FULL = bool(os.environ.get("MOE_TEST_FULL"))
whole = pytest.mark.skipif(not FULL, reason="of a full run (scripts/test --full)")


def sample(cases, *kept):
    """All of `cases` in a full run, else those at the places `kept`."""
    cases = list(cases)
    return cases if FULL else [cases[place] for place in kept]
