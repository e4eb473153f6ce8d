"""Plans with arrival = noinc: copied rows arrive by themselves, whatever the schedule, and the numbers stay; a missing fence, wait or arrival is found."""

import re

import numpy as np
import pytest
from emitted import EmulatedKernels, Shape, cuda_text, kernel_level
from emulated import schedules
from nvrtc import Nvrtc, find_nvrtc, usages
from sass import broken_product_groups, count, disassemble, find_nvdisasm
from test_edited_kernels import EXPERTS, emulated_experts, inputs
from test_emitted_layer import run_layer
from test_emitted_lint import MACHINE_CODE, PRODUCTS, REGISTERS, text_of
from test_f32_products import Linear

from moe_mlir.testing.full import sample

SCHEDULES = [*schedules(), *schedules(strict=True)]


def noinc(level, **fields):
    for name, value in {"arrival": "noinc", **fields}.items():
        level, edits = re.subn(rf"(#cuda\.plan<[^>]*)\b{name} = \w+", rf"\g<1>{name} = {value}", level)
        assert edits > 0
    return level


@pytest.mark.parametrize("stages", sample([2, 3, 4], 1))
def test_every_schedule_gives_the_same_bits(stages, tmp_path):
    arrays, plain = inputs(), kernel_level(EXPERTS)
    expected = emulated_experts(EmulatedKernels(plain, tmp_path / "plain"), *arrays)
    kernels = EmulatedKernels(noinc(plain, stages=stages), tmp_path / "noinc")
    for schedule in SCHEDULES:
        np.testing.assert_array_equal(emulated_experts(kernels, *arrays, **schedule), expected, err_msg=str(schedule))


@pytest.mark.parametrize("tokens, shape", sample([(37, Shape(101, 30, 5, 2)), (140, Shape(200, 136, 1, 1))], 0), ids=str)
def test_layers_of_other_sizes(tokens, shape, tmp_path):
    """Rows that are copied by elements, and tiles of many rows by TMA."""
    level = kernel_level(shape.text())
    plain, edited = (EmulatedKernels(text, tmp_path / name) for name, text in (("plain", level), ("noinc", noinc(level))))
    expected = run_layer(plain, tokens, shape)
    for schedule in SCHEDULES[::3]:
        np.testing.assert_array_equal(run_layer(edited, tokens, shape, **schedule), expected)


def test_f32(tmp_path):
    """Those who multiply read the rows as threads do, without a proxy."""
    linear = Linear(tmp_path, 200, 77, edit=noinc)
    assert ", 129, 8>()" in cuda_text(noinc(kernel_level(linear.text)))
    for tokens, schedule in zip(sample((1, 20, 150), 0, 1), SCHEDULES[::3]):
        linear.check(tokens, **schedule)


FAULTS = {
    "no fence of those who multiply": (r"moe::fenceProxy<moe::ProxyFence::Shared>\(\);", "", "asynchronous copy without fence.proxy.async"),
    "no wait for the stage": (r"moe::await\((v\d+)\)", r"\1.address()", "shared memory"),
    "arrival that waits for no copies": (r"moe::arriveCopied\(", "moe::arriveThread(", "an asynchronous copy in flight"),
    "no arrival": (r"moe::arriveCopied\(\w+\);", "", "deadlock"),
    "a warp's arrivals alone": (r"(moe::makeRing<\d+, \d+, )129", r"\g<1>5", "shared memory"),
    "no wait at the end": (r"moe::endCopies\(\);", "", "thread ends before its arrival"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_found(fault, tmp_path):
    pattern, replacement, found = FAULTS[fault]

    def plant(text):
        planted, edits = re.subn(pattern, replacement, text)
        assert edits > 0
        return planted

    kernels = EmulatedKernels(noinc(kernel_level(EXPERTS)), tmp_path, plant)
    with pytest.raises(AssertionError, match=re.escape(found)):
        for schedule in SCHEDULES:
            emulated_experts(kernels, *inputs(), **schedule)


@pytest.mark.parametrize(
    "shape, fields",
    [(Shape(2048, 768, 128, 8), {"few_rows": 64}), (Shape(4096, 14336, 8, 2), {}), (Shape(101, 30, 5, 2), {})],
    ids=["Qwen3-30B-A3B", "Mixtral-8x7B", "odd sizes"],
)
def test_compiles_as_planned(shape, fields):
    if find_nvrtc() is None:
        pytest.skip("NVRTC is not installed (package nvidia-cuda-nvrtc of python/requirements.txt)")
    text = cuda_text(noinc(kernel_level(shape.text()), **fields))
    head, *kernels = text.split('\nextern "C" ')
    products = [kernel for kernel in kernels if re.search(rf" void ({'|'.join(PRODUCTS)})", kernel)]
    cubin, log = Nvrtc(find_nvrtc()).compile('\nextern "C" '.join([head, *products]), "layer.cu")
    assert cubin is not None, log
    assert "warning" not in log and not re.search(r"\(?C75\d\d", log), log
    found = usages(log)
    assert len(found) == len(PRODUCTS)
    assert {(usage.spills, usage.stack, usage.shared, usage.registers) for usage in found.values()} == {(0, 0, 0, REGISTERS)}
    if find_nvdisasm() is None:
        pytest.skip("nvdisasm is not installed (package nvidia-cuda-nvdisasm of python/requirements.txt)")
    for name, blocks in disassemble(cubin).items():
        kernel = text_of(text, name)
        assert broken_product_groups(blocks) == [], name
        for opcode, function in MACHINE_CODE.items():
            assert count(blocks, opcode) == kernel.count(function) > 0, (name, opcode)
        assert count(blocks, "ARRIVES.LDGSTSBAR") == kernel.count("moe::arriveCopied("), name
        assert count(blocks, "FENCE.VIEW.ASYNC") > 0 == count(blocks, "MEMBAR.ALL.GPU"), name
