"""One kernel program for two targets: what the kernel level of a layer consists of does not depend on the target."""

import re

import pytest
from emitted import Shape, kernel_level

OPERATION = re.compile(r"^\s*(?:%[\w:, %]+ = )?\"?([a-z_]+\.[a-z_.]+|call|return)", re.M)


def operations(text):
    """Names of a module's operations in their order. Constants stand wherever folding puts them, and equal ones are one."""
    return [name for name in OPERATION.findall(text) if name != "arith.constant"]


# Several blocks and steps on both targets: a loop of one iteration is folded.
@pytest.mark.parametrize("shape", [Shape(320, 200, 8, 2), Shape(1001, 333, 5, 1)], ids=str)
def test_programs_of_two_targets_have_the_same_operations(shape):
    cpu = kernel_level(shape.text(), "cpu=x86-64-v4")
    gpu = kernel_level(shape.text(), "cuda=sm_90a")
    assert cpu != gpu
    assert "kernel.mma" in operations(cpu) and "kernel.store_tile" in operations(cpu)
    assert operations(cpu) == operations(gpu)
