"""Whatever happens to a rank at whatever time: the others end in time and say which rank and when, nothing stays behind, and
the next job runs. MOE_FAULTS says how many faults are drawn; faults.py prints what they were."""

import os

import pytest

from faults import CALLS, FAULTS, Jobs, kind_of
from moe_mlir.testing.full import FULL

COUNT = int(os.environ.get("MOE_FAULTS") or (400 if FULL else 40))


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    """A job is calls that are all alike, and a fault strikes at any time of it, so that short jobs meet the same phases."""
    return Jobs(tmp_path_factory.mktemp("faults"), CALLS if FULL else CALLS // 4)


@pytest.mark.parametrize("seed", range(COUNT))
def test_fault(jobs, seed):
    jobs.try_fault(seed)


def test_kinds():
    """An ordinary run tries most of them."""
    drawn = {kind_of(seed) for seed in range(40)}
    assert drawn >= {"killed", "stopped"} and len(drawn) > len(FAULTS) // 2
