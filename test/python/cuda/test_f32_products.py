"""Products of f32, which the threads multiply: on the emulated GPU they have the bits of the CPU's kernels, whatever shares the work."""

import functools
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from emitted import EmulatedKernels, kernel_level, with_pipeline
from emulated import aligned, schedules

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lowering"))
from graph import Program  # noqa: E402

LINEAR = """
func.func @main(%x: tensor<?x{K}xf32>, %w: tensor<{N}x{K}xf32>, %b: tensor<{N}xf32>) -> tensor<?x{N}xf32> {{
  %y = nn.linear %x, %w bias(%b) : tensor<?x{K}xf32>, tensor<{N}x{K}xf32>, tensor<{N}xf32> -> tensor<?x{N}xf32>
  return %y : tensor<?x{N}xf32>
}}
"""


def fractions(random, *shape):
    array = aligned(shape, np.float32)
    array[...] = random.normal(size=shape)
    array.flags.writeable = False
    return array


class Linear:
    def __init__(self, folder, N, K, change=lambda text: text, edit=str):
        self.text = LINEAR.format(N=N, K=K)
        self.kernels = EmulatedKernels(edit(kernel_level(self.text)), folder, change)
        random = np.random.default_rng(N)
        self.weight, self.bias = fractions(random, N, K), fractions(random, N)
        self.packed = self.kernels.pack(self.weight)

    @functools.cached_property
    def on_cpu(self):
        return Program(kernel_level(self.text, "cpu:native"))

    def check(self, tokens, kernel="linear_", **schedule):
        """Bit for bit; a zero may have either sign."""
        x = fractions(np.random.default_rng(tokens), tokens, self.weight.shape[1])
        y = aligned((tokens, len(self.weight)), np.float32, np.nan)
        self.kernels.run(kernel, x, tokens, self.packed, self.bias, y, tokens, **schedule)
        [expected] = self.on_cpu.run([x, self.weight, self.bias], blocks=2)
        np.testing.assert_array_equal(y, expected)


# Rows by TMA and not; odd lengths, more steps than two rounds of the ring; columns that do not exist; several tiles.
@pytest.mark.parametrize("N, K", [(200, 77), (90, 612)])
def test_bits_are_those_of_the_cpu(N, K, tmp_path):
    linear = Linear(tmp_path, N, K)
    for i, tokens in enumerate((0, 1, 20, 150)):
        linear.check(tokens, blocks=1 + i % 3, **list(schedules())[i])
    linear.check(33, **next(schedules(strict=True)))


# Faults of a kernel's text and of the functions of the ring that it calls.
FAULTS = {
    "no_wait_for_a_stage": (r"\w+::await\((v\d+)\)", r"\1.address()"),
    "no_fence_before_tma": (r"\w+::fenceProxy<kFence>\(\);(\s*moe::syncWarp\(\);\s*\w+::release<0>)", r"\1"),
    "released_before_all_lanes_have_read": (r"moe::syncWarp\(\);(\s*\w+::release<0>)", r"\1"),
    "not_released_by_warps_without_rows": (r"(if \(([^\n]*% 128[^\n]*)\) \{\n)(.*?)(\w+::releaseRead<[^;]*;)", r"\1\3if (\2) \4"),
    "too_few_warps_have_rows": (r"(% 128\) / 32\)) \* 16 <", r"\1 * 32 <"),
    "lower_rows_elsewhere": (r"(loadShared<[^\n]*\(v\d+ \+ )1024\)", r"\g<1>512)"),
    "weights_elsewhere": (r"(int32_t v\d+ = \w+ \* )1024;", r"\g<1>512;"),
    "odd_columns_forgotten": (r"(int32_t v\d+ = v\d+) \+ 1;", r"\1 + 0;"),
    "not_swizzled": (r"moe::swizzle\((\(v\d+ \+ v\d+ \* 128\) \+ v\d+), 128\)", r"(\1)"),
    "no_start": (r"moe::set\(v\d+, [j-u]\d+, (v\d+)\);", r"(void)\1;"),
}


@pytest.fixture(scope="module")
def faulty(tmp_path_factory):
    """A layer with a kernel for each fault beside the right one."""

    def change(text):
        (kernel,) = re.findall(r'^extern "C"[^\n]* void linear_.*?^}\n', text, re.M | re.S)
        for name, (pattern, instead) in FAULTS.items():
            written_out = with_pipeline('#include "device.cuh"\n' + kernel, f"of_{name}").split("\n", 1)[1]
            broken, count = re.subn(pattern, instead, written_out, flags=re.S)
            assert count, f"no place for the fault {name}"
            text += "\n" + broken.replace("void linear_", f"void {name}_")
        return text

    return Linear(tmp_path_factory.mktemp("faulty"), 70, 300, change)


def test_no_fault_is_found_in_the_text(faulty):
    faulty.check(100, timing="lazy", skewed=True)


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_in_the_text_are_found(fault, faulty):
    """A test of the tests: each of these breaks a rule or a number."""
    with pytest.raises(AssertionError):
        faulty.check(100, kernel=f"{fault}_", timing="lazy", skewed=True)
