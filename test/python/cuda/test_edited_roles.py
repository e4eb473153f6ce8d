"""Roles edited by hand, after kernel-specialize-warps: other stages, another arrival and another role change the kernel as written and give the same
numbers; without a wait the verifier refuses the kernel, and unverified, the emulated GPU finds the fault."""

import re
import subprocess

import numpy as np
import pytest
from emitted import BUILD, ROOT, EmulatedKernels, cuda_text, kernel_level, pack, small_integers, tool
from emulated import aligned, from_bf16, schedules
from test_edited_kernels import EXPERTS, emulated_experts, inputs

from gpu_check.variants import set_plans

SPECIALIZE = "builtin.module(kernel.func(canonicalize,cse,kernel-specialize-warps,canonicalize,cse))"
UNVERIFIED = ["--mlir-very-unsafe-disable-verifier-on-parsing", "--verify-each=0"]
TO_EMITC = "builtin.module(kernel.func(kernel-distribute-warps,canonicalize,cse),convert-kernel-to-emitc)"


def specialized(level):
    text = tool("moe-opt", f"--pass-pipeline={SPECIALIZE}", text=level)
    assert "cuda.warp_roles" in text and "kernel.mma" not in text
    return text


def edit(text, *changes):
    for pattern, replacement in changes:
        text, count = re.subn(pattern, replacement, text)
        assert count, pattern
    return text


# From a plan with arrival = lag: each thread's copies arrive by themselves, and those who multiply fence.
TO_NOINC = [
    (r"cuda\.announce (%\w+) fence\(shared\)", r"cuda.arrive_copied \1"),
    (r"cuda\.arrive (%\w+)", r"cuda.arrive_thread \1"),
    (r"( *)(%\w+ = cuda\.await .*\n)", r"\1\2\1cuda.fence_proxy fence(shared)\n"),
    (r"(?m)^( {8})cuda\.drain .*\n", r"\1cuda.end_copies\n"),
    (r" *cuda\.drain .*\n", ""),
    (r"fills\(5\)", "fills(129)"),
]  # fmt: skip


@pytest.mark.parametrize("changes, text", [([(r"<stages = \d+,", "<stages = 3,")], "moe::makeRing<3, "), (TO_NOINC, "moe::arriveCopied(")], ids=["stages", "arrival"])
def test_edited_rings(changes, text, tmp_path):
    plain = specialized(set_plans(arrival="lag")(kernel_level(EXPERTS)))
    edited = edit(plain, *changes)
    before, after = cuda_text(plain), cuda_text(edited)
    assert text in after and text not in before
    kernels, others = (EmulatedKernels(level, tmp_path / name) for name, level in (("plain", plain), ("edited", edited)))
    kernels.columns.update(columns := EmulatedKernels.columns_of(kernel_level(EXPERTS)))
    others.columns.update(columns)
    expected = emulated_experts(kernels, *inputs())
    for schedule in [*list(schedules())[::2], next(schedules(strict=True))]:
        np.testing.assert_array_equal(emulated_experts(others, *inputs(), **schedule), expected)


# A wait in whose place stands a number: the address of the first stage.
WAITS = {
    "of those who load": r"= cuda\.acquire .*",
    "of those who multiply": r"= cuda\.await .*",
}


@pytest.mark.parametrize("wait", WAITS)
def test_a_removed_wait_is_found(wait, tmp_path):
    plain = specialized(kernel_level(EXPERTS))
    edited = edit(plain, (WAITS[wait], "= arith.constant 1024 : i32"))
    done = subprocess.run([BUILD / "bin" / "moe-opt"], input=edited, capture_output=True, text=True)
    assert done.returncode != 0
    assert re.search(r"is in a role that never waits for the stage \(cuda\.(await|acquire)\)", done.stderr), done.stderr
    kernels_alone = edit(edited, (r"(?ms)^  func\.func @main.*?^  \}\n", ""))
    emitc = tool("moe-opt", *UNVERIFIED, f"--pass-pipeline={TO_EMITC}", text=kernels_alone)
    emitc = edit(emitc, (r"\Amodule attributes .*\n", "module {\n"))
    text = '#include "device.cuh"\n\n' + tool("moe-translate", "--mlir-to-cpp", text=emitc)
    kernels = EmulatedKernels(plain, tmp_path, lambda _: text)
    kernels.columns.update(EmulatedKernels.columns_of(kernel_level(EXPERTS)))
    with pytest.raises(AssertionError):
        for schedule in [*schedules(), *schedules(strict=True)]:
            emulated_experts(kernels, *inputs(), **schedule)


COUNTING = """
      cuda.role @count warps(4) registers(24) {
        %columns = arith.constant 2 : i32
        %tall = arith.constant 128 : index
        %most = arith.constant 127 : index
        %zero = arith.constant 0 : index
        %none = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        %first = arith.constant 384 : i32
        %rows = memref.dim %arg0, %zero : memref<?x96xbf16>
        %up = arith.addi %rows, %most : index
        %high = arith.divsi %up, %tall : index
        %high32 = arith.index_cast %high : index to i32
        %tiles = arith.muli %high32, %columns : i32
        %block = cuda.block_index
        %blocks = cuda.block_count
        %count = scf.for %t = %block to %tiles step %blocks iter_args(%n = %none) -> (i32) : i32 {
          %next = arith.addi %n, %one : i32
          scf.yield %next : i32
        }
        %thread = cuda.thread_index
        %is_first = arith.cmpi eq, %thread, %first : i32
        scf.if %is_first {
          %at = arith.index_cast %block : i32 to index
          memref.store %count, %counts[%at] : memref<?xi32>
        }
      }
"""


def test_a_third_role(tmp_path):
    """It counts the tiles of its block; nothing but the kernel says so."""
    plain = specialized((ROOT / "test" / "Target" / "Cuda" / "product.mlir").read_text())
    third = edit(plain, (r"(%arg2: memref<\?x168xbf16>)\)", r"\1, %counts: memref<?xi32>)"), (r"registers\(224\)", "registers(208)"),
                 (r"\n( *\}\n *kernel\.return)", rf"{COUNTING}\1"))  # fmt: skip
    text = cuda_text(third)
    assert "Launch: 512 threads" in text and "moe::decreaseRegisters<24>" in text and "moe::increaseRegisters<208>" in text
    random = np.random.default_rng(5)
    weight, blocks, results = small_integers(random, 168, 96), 3, []
    packed = aligned((2, 2, 128, 64), np.uint16)
    packed[...] = pack(weight, 128)
    for level, folder in ((plain, "plain"), (third, "third")):
        kernels = EmulatedKernels(level, tmp_path / folder)
        for tokens in (3, 300):
            x = small_integers(np.random.default_rng(tokens), tokens, 96)
            y, counts = aligned((tokens, 168), np.uint16, 0x7FC0), aligned(blocks, np.int32, -1)
            kernels.run("linear", x, tokens, packed, y, tokens, *([counts, blocks] if level is third else []), blocks=blocks)
            results.append(y)
            np.testing.assert_array_equal(from_bf16(y), (from_bf16(x) @ from_bf16(weight).T).astype(np.float32))
            tiles = -(-tokens // 128) * 2
            assert level is plain or counts.tolist() == [len(range(b, tiles, blocks)) for b in range(blocks)]
    for before, after in zip(results[:2], results[2:]):
        np.testing.assert_array_equal(before, after)
