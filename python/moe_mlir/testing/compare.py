"""Comparison of results."""

import numpy as np

FLOAT32_BOUND = 1e-4  # of the largest value


def assert_close(actual, expected, bound=FLOAT32_BOUND):
    """The largest difference is within `bound` times the largest expected magnitude."""
    assert actual.shape == expected.shape
    difference, largest = np.abs(actual - expected).max(), np.abs(expected).max()
    assert difference <= bound * largest, f"largest difference {difference:.3g}, largest value {largest:.3g}"


def relative_error(actual, exact):
    """Relative error in the L2 norm."""
    return np.linalg.norm(actual - exact) / np.linalg.norm(exact)
