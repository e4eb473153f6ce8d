"""What only a full run does (scripts/test --full)."""

import os

import pytest

FULL = bool(os.environ.get("MOE_TEST_FULL"))
whole = pytest.mark.skipif(not FULL, reason="of a full run (scripts/test --full)")
