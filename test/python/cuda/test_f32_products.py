"""Products of f32, which the threads multiply: on the emulated GPU they have the bits of the CPU's kernels, whatever shares the work."""

import functools
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from emitted import EmulatedKernels, kernel_level
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


RELEASE = r"if \(moe::threadIndex\(\) % 32 == 0\) (moe::arrive\(barriers \+ 16 \* ring\.stage \+ 8\);)"
FAULTS = {
    "no_wait_for_a_stage": (r"moe::wait\(barriers \+ 16 \* ring\.stage, ring\.parity\);", ""),
    "no_fence_before_tma": (r"moe::fenceProxyAsyncShared\(\);(\s*moe::syncWarp\(\);\s*" + RELEASE + ")", r"\1"),
    "released_before_all_lanes_have_read": (r"moe::syncWarp\(\);(\s*" + RELEASE + ")", r"\1"),
    "not_released_by_warps_without_rows": (RELEASE, r"if (hasRows && moe::threadIndex() % 32 == 0) \1"),
    "too_few_warps_have_rows": (r"% 128 / 32 \* 16 <", "% 128 / 32 * 32 <"),
    "lower_rows_elsewhere": (r"(lower = [^\n]*left \+ )1024", r"\g<1>512"),
    "weights_elsewhere": (r"1024 \* \((\w+) / 2\)", r"1024 * (\1 / 4)"),
    "odd_columns_forgotten": (r"int element = (\w+) / 2 \* 4 \+ \1 % 2", r"int element = \1 / 2 * 4"),
    "not_swizzled": (r"right0\[(\w+)\] = moe::swizzle\(([^\n]*), 128\)", r"right0[\1] = (\2)"),
    "no_start": (r"moe::set\(acc0, \w+, 0\.0f\);", ""),
}


@pytest.fixture(scope="module")
def faulty(tmp_path_factory):
    """A layer with a kernel for each fault beside the right one."""

    def change(text):
        (kernel,) = re.findall(r'^extern "C"[^\n]* void linear_.*?^}\n', text, re.M | re.S)
        for name, (pattern, instead) in FAULTS.items():
            broken, count = re.subn(pattern, instead, kernel)
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
