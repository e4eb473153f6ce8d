"""Where decisions of a target may be known: no pass above the kernel level includes what belongs to one."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
ABOVE_KERNEL = ["Dialect/Aten", "Dialect/Moe", "Dialect/Nn", "Conversion/AtenToGraph", "Conversion/AtenToLinalg", "Conversion/GraphToKernel", "Schedule", "Import"]
OF_A_TARGET = re.compile(r'#include "moe-mlir/(Dialect/(Cuda|X86)/|Analysis/Cuda|Conversion/KernelTo)')


def sources(*folders):
    """Files of the compiler in these folders of its libraries and headers."""
    for folder in folders:
        found = [path for base in ("lib", "include/moe-mlir") for path in sorted((ROOT / base / folder).rglob("*")) if path.suffix in (".h", ".cpp", ".td")]
        assert found, f"{folder} has no sources"
        yield from found


def test_no_target_above_the_kernel_level():
    assert not [path for path in sources(*ABOVE_KERNEL) if OF_A_TARGET.search(path.read_text())]


def test_nobody_asks_which_kind_a_target_is():
    """A difference between devices is a method of the interface, or a pass of one device alone."""
    assert not [path for path in sources("") if re.search(r"\bisCuda\(|depth > 2", path.read_text())]
