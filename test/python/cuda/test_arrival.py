"""Plans with arrival = noinc, and with lag: copied rows arrive by themselves or by warps, whatever the schedule, and the numbers stay; a missing fence, wait or arrival is found."""

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

from gpu_check.variants import set_plans
from moe_mlir.testing.full import sample

SCHEDULES = [*schedules(), *schedules(strict=True)]


lag = set_plans(arrival="lag")


def noinc(level, **fields):
    return set_plans(arrival="noinc", **fields)(level)


def test_steps_decide():
    """Of 64 steps of 64 elements, or 32 of f32, and of one more; the products of one program each by their own."""

    def chosen(shape):
        plans = re.findall(r"kernel\.func @(linear|experts_up|experts_down).*?arrival = (\w+)", kernel_level(shape.text()))
        return {name: arrival for name, arrival in plans}

    assert chosen(Shape(4096, 4097, 4, 2)) == {"linear": "noinc", "experts_up": "noinc", "experts_down": "lag"}
    assert chosen(Shape(2049, 2048, 4, 2, element="f32")) == {"linear": "lag", "experts_up": "lag", "experts_down": "noinc"}


@pytest.mark.parametrize("stages", sample([2, 3, 4], 1))
def test_every_schedule_gives_the_same_bits(stages, tmp_path):
    arrays, level = inputs(), kernel_level(EXPERTS)
    expected = emulated_experts(EmulatedKernels(lag(level), tmp_path / "lag"), *arrays)
    kernels = EmulatedKernels(noinc(level, stages=stages), tmp_path / "noinc")
    for schedule in SCHEDULES:
        np.testing.assert_array_equal(emulated_experts(kernels, *arrays, **schedule), expected, err_msg=str(schedule))


@pytest.mark.parametrize("tokens, shape", sample([(37, Shape(101, 30, 5, 2)), (140, Shape(200, 136, 1, 1))], 0), ids=str)
def test_layers_of_other_sizes(tokens, shape, tmp_path):
    """Rows that are copied by elements, and tiles of many rows by TMA."""
    level = kernel_level(shape.text())
    late, alone = (EmulatedKernels(edit(level), tmp_path / name) for name, edit in (("lag", lag), ("noinc", noinc)))
    expected = run_layer(late, tokens, shape)
    for schedule in SCHEDULES[::3]:
        np.testing.assert_array_equal(run_layer(alone, tokens, shape, **schedule), expected)


@pytest.mark.parametrize("edit, fills", sample([(lag, 5), (noinc, 129)], 0, 1), ids=["lag", "noinc"])
def test_f32(edit, fills, tmp_path):
    """Those who multiply read the rows as threads do, without a proxy."""
    linear = Linear(tmp_path, 200, 77, edit=edit)
    assert f", {fills}, 8>()" in cuda_text(edit(kernel_level(linear.text)))
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


@pytest.mark.parametrize("shape, fields", sample([
    pytest.param(Shape(2048, 768, 128, 8), {"arrival": "noinc", "few_rows": 64, "few_steps": 1}, id="Qwen3-30B-A3B"),
    pytest.param(Shape(2048, 768, 128, 8), {"arrival": "lag"}, id="Qwen3-30B-A3B lag"),
    pytest.param(Shape(4096, 14336, 8, 2), {"arrival": "noinc"}, id="Mixtral-8x7B"),
    pytest.param(Shape(101, 30, 5, 2), {"arrival": "lag"}, id="odd sizes lag"),
], 0, 3))  # fmt: skip
def test_compiles_as_planned(shape, fields):
    """With other plans than those that are chosen, which test_emitted_lint compiles."""
    if find_nvrtc() is None:
        pytest.skip("NVRTC is not installed (package nvidia-cuda-nvrtc of python/requirements.txt)")
    text = cuda_text(set_plans(**fields)(kernel_level(shape.text())))
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
        copied = kernel.count("moe::arriveCopied(")
        assert count(blocks, "ARRIVES.LDGSTSBAR") == copied and (copied > 0) == (fields["arrival"] == "noinc"), name
        assert count(blocks, "FENCE.VIEW.ASYNC") > 0 == count(blocks, "MEMBAR.ALL.GPU"), name
