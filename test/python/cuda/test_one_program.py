"""One kernel program for two targets: what the kernel level of a layer consists of does not depend on the target."""

import re

import pytest
from emitted import Layer, Shape, kernel_level

OPERATION = re.compile(r"^\s*(?:%[\w:, %]+ = )?\"?([a-z_]+\.[a-z_.]+|call|return)", re.M)


def operations(text):
    """Names of a module's operations in their order. Constants stand wherever folding puts them, and equal ones are one."""
    return [name for name in OPERATION.findall(text) if name != "arith.constant"]


# Several blocks and steps on both targets: a loop of one iteration is folded. Weights of f32, of which a CPU's step has one element and no
# place for it in the packed weight, are parameters: no kernel packs them.
@pytest.mark.parametrize("text", [Shape(320, 200, 8, 2).text(), Shape(1001, 333, 5, 1).text(), Layer(320, 200, 8, 2, "f32").graph()],
                         ids=["bf16", "odd sizes", "f32"])  # fmt: skip
def test_programs_of_two_targets_have_the_same_operations(text):
    cpu = kernel_level(text, "cpu:x86-64-v4")
    gpu = kernel_level(text, "cuda:sm_90a")
    assert cpu != gpu
    assert "kernel.mma" in operations(cpu) and "kernel.store_tile" in operations(cpu)
    assert operations(cpu) == operations(gpu)
