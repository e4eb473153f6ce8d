"""The kernels of known models' layers, compiled for sm_90a: no spills, none of ptxas's words on wgmma, the registers as planned; and in the
machine code products back to back, weights by TMA, no local memory."""

import dataclasses
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from emitted import Shape, cuda_text, kernel_level
from nvrtc import Nvrtc, find_nvrtc, usages
from sass import broken_product_groups, count, disassemble, epilogues, find_nvdisasm, parse

from moe_mlir.testing.full import sample

SHAPES = {
    "OLMoE-1B-7B": Shape(2048, 1024, 64, 8),
    "Qwen3-30B-A3B": Shape(2048, 768, 128, 8),
    "Mixtral-8x7B": Shape(4096, 14336, 8, 2),
    "DeepSeek-V3": Shape(7168, 2048, 256, 8),
    "GPT-OSS-20B": Shape(2880, 2880, 32, 4, clamped=True),
    "odd sizes": Shape(101, 30, 5, 2),
}
# In a usual run one with many experts, one with large ones, one with another activation, and sizes that no tile fits.
SOME = sample(SHAPES, 0, 2, 4, 5)
PRODUCTS = ("linear", "experts_up", "experts_down")
REGISTERS = 168  # of a block of 384 threads; setmaxnreg gives more to those that multiply
# What a multiprocessor of sm_90 has, and a block of it may have.
REGISTERS_OF_SM, THREADS_OF_SM, SHARED = 65536, 2048, 227 << 10
EARLY_RETURN = r"\breturn\b(?!;\n\}\s*\Z)"  # any but the last statement of a kernel
BOUNDS = re.compile(r'extern "C" __global__ __launch_bounds__\((\d+), (\d+)\) void (\w+)\(')

# Instructions that the functions of the device library are.
MACHINE_CODE = {
    "HGMMA": "moe::wgmmaBf16(",
    "WARPGROUP.ARRIVE": "moe::wgmmaFence(",
    "WARPGROUP.DEPBAR": "moe::wgmmaWait<",
    "UTMALDG": "moe::loadBox(",
}


def text_of(text, kernel):
    """The definition of one kernel."""
    (definition,) = [part for part in text.split('\nextern "C" ') if f"void {kernel}(" in part]
    return definition


@pytest.fixture(scope="module")
def nvrtc():
    folder = find_nvrtc()
    if folder is None:
        pytest.skip("NVRTC is not installed (package nvidia-cuda-nvrtc of python/requirements.txt)")
    return Nvrtc(folder)


@pytest.fixture(scope="module")
def compiled(nvrtc):
    """Function: model -> (cubin, log, text), compiled once."""
    done = {}

    def get(model):
        if model not in done:
            text = cuda_text(kernel_level(SHAPES[model].text()))
            done[model] = (*nvrtc.compile(text, "layer.cu"), text)
        return done[model]

    return get


@pytest.mark.parametrize("model", sample(SHAPES, 0, 2, 4))
def test_layer_compiles_as_planned(model, compiled):
    cubin, log, text = compiled(model)
    assert cubin is not None, log
    assert "warning" not in log and not re.search(r"\(?C75\d\d", log), log
    found = usages(log)
    assert sum(name.startswith(PRODUCTS) for name in found) == len(PRODUCTS)
    for kernel, usage in found.items():
        assert (usage.spills, usage.stack) == (0, 0), kernel
        # All shared memory is dynamic: the launch says how much.
        assert usage.shared == 0, kernel
        if kernel.startswith(PRODUCTS):
            assert usage.registers == REGISTERS, kernel
    # As many blocks as are launched for each multiprocessor find room on it. A warp gets registers by 8 for each lane.
    bounds = {name: (int(threads), int(blocks)) for threads, blocks, name in BOUNDS.findall(text)}
    assert set(bounds) == set(found)
    for kernel, (threads, blocks) in bounds.items():
        assert threads % 32 == 0 and threads * blocks <= THREADS_OF_SM, kernel
        assert -(-found[kernel].registers // 8) * 8 * threads * blocks <= REGISTERS_OF_SM, (kernel, found[kernel].registers)
    planned = re.findall(r"Launch: (\d+) threads, (\d+) bytes of shared memory", text)
    assert len(planned) == len(PRODUCTS)
    assert all(int(threads) == 384 and int(shared) <= SHARED for threads, shared in planned)


@pytest.mark.parametrize("model", SOME)
def test_machine_code_of_a_layer(model, compiled):
    if find_nvdisasm() is None:
        pytest.skip("nvdisasm is not installed (package nvidia-cuda-nvdisasm of python/requirements.txt)")
    cubin, log, text = compiled(model)
    kernels = disassemble(cubin)
    assert set(kernels) == set(usages(log))
    for name, blocks in kernels.items():
        assert count(blocks, "LDL") == count(blocks, "STL") == 0, name
        assert broken_product_groups(blocks) == [], name
        if name.startswith(PRODUCTS):
            # As many as the text says: no loop over K is unrolled, and ptxas adds no fence and no wait.
            kernel = text_of(text, name)
            for opcode, function in MACHINE_CODE.items():
                assert count(blocks, opcode) == kernel.count(function) > 0, (name, opcode)
            assert kernel.count("moe::wgmmaFence(") == 2, "a form for few rows and one for many"
            assert not re.search(EARLY_RETURN, kernel), name
        else:
            assert count(blocks, "HGMMA") == 0, name


@pytest.mark.parametrize("model", SOME)
def test_loads_wait_for_no_other_block(model, compiled):
    """The fence between copied rows and the tensor cores is one of shared memory: nothing waits until the whole GPU sees a store."""
    if find_nvdisasm() is None:
        pytest.skip("nvdisasm is not installed (package nvidia-cuda-nvdisasm of python/requirements.txt)")
    for name, blocks in disassemble(compiled(model)[0]).items():
        if name.startswith(PRODUCTS):
            assert count(blocks, "FENCE.VIEW.ASYNC") > 0, name
            assert count(blocks, "MEMBAR.ALL.GPU") == count(blocks, "MEMBAR.SC.GPU") == count(blocks, "MEMBAR.ALL.SYS") == 0, name


# Of GPT-OSS, what the model says of its 64 results (two biases, three limits, two products, a sum, the sigmoid) is 832 alone.
@pytest.mark.parametrize(
    "model, most", sample([("OLMoE-1B-7B", 800), ("Qwen3-30B-A3B", 800), ("Mixtral-8x7B", 800), ("DeepSeek-V3", 800), ("GPT-OSS-20B", 1250)], 0, 2, 4)
)
def test_activation_is_short(model, most, compiled):
    """Approximate quotients and exponentials, without the calls of the exact ones; what only a column decides, once for both of its rows."""
    if find_nvdisasm() is None:
        pytest.skip("nvdisasm is not installed (package nvidia-cuda-nvdisasm of python/requirements.txt)")
    cubin, _, text = compiled(model)
    (name,) = re.findall(r"void (experts_up\w*)\(", text)
    blocks = disassemble(cubin)[name]
    assert "moe::approximateQuotient(" in text_of(text, name) and count(blocks, "MUFU.EX2") > 0
    assert count(blocks, "CALL") == 0
    assert max(epilogues(blocks)) <= most


def test_a_return_in_a_loop_over_k_costs_waits(nvrtc, compiled):
    """Rule 5 of docs/Cuda.md: with it ptxas says C7517, and there are more waits than in the text."""
    text = compiled("odd sizes")[2]
    (name,) = re.findall(r"void (linear\w*)\(", text)
    kernel, step = text_of(text, name), "moe::wgmmaWait<1>();"
    assert step in kernel and not re.search(EARLY_RETURN, kernel)
    (ring,) = re.findall(r"moe::StageRing<\d+, \d+> (v\d+)", kernel)
    planted = kernel.replace(step, f"{step} if ({ring}.at.parity > 1) return;")
    cubin, log = nvrtc.compile('#include "device.cuh"\nextern "C" ' + planted, "planted.cu")
    assert re.search(EARLY_RETURN, planted) and "C7517" in log
    if find_nvdisasm() is not None:
        assert count(disassemble(cubin)[name], "WARPGROUP.DEPBAR") > planted.count("moe::wgmmaWait<")


@pytest.fixture(scope="module")
def products_of_f32(nvrtc):
    """model -> (cubin, log) of its products in f32."""

    def compile_products(shape):
        text = cuda_text(kernel_level(dataclasses.replace(shape, element="f32").text()))
        products = [kernel for kernel in text.split('\nextern "C" ')[1:] if re.search(rf" void ({'|'.join(PRODUCTS)})", kernel)]
        return nvrtc.compile('\nextern "C" '.join(['#include "device.cuh"\n', *products]), "layer.cu")

    with ThreadPoolExecutor() as pool:
        return dict(zip(SOME, pool.map(compile_products, (SHAPES[model] for model in SOME))))


@pytest.mark.parametrize("model", SOME)
def test_products_of_f32_compile_as_planned(model, products_of_f32):
    cubin, log = products_of_f32[model]
    assert cubin is not None, log
    assert "warning" not in log and not re.search(r"\(?C75\d\d", log), log
    found = usages(log)
    assert len(found) == len(PRODUCTS)
    assert {(usage.spills, usage.stack, usage.shared, usage.registers) for usage in found.values()} == {(0, 0, 0, REGISTERS)}
    if find_nvdisasm() is None:
        pytest.skip("nvdisasm is not installed (package nvidia-cuda-nvdisasm of python/requirements.txt)")
    for name, blocks in disassemble(cubin).items():
        assert count(blocks, "LDL") == count(blocks, "STL") == count(blocks, "HGMMA") == 0, name
        # 16 bytes of two rows, and for each column 16 bytes of weights and 8 multiply-adds; columns that do not exist have none.
        step = max(blocks, key=lambda block: count([block], "FFMA"))
        assert count([step], "FFMA") == 8 * (count([step], "LDS.128") - 2) > 0, name


STEP = """.text.product:
        /*0000*/                   WARPGROUP.ARRIVE ;
        /*0010*/                   HGMMA.64x256x16.F32.BF16 R24, gdesc[UR16], R24, UP0 ;
        /*0020*/                   UIADD3 UR16, UR16, 0x2, URZ ;
        /*0030*/                   {}
        /*0040*/              @!P0 HGMMA.64x256x16.F32.BF16 R24, gdesc[UR16], R24, gsb0 ;
        /*0050*/                   WARPGROUP.DEPBAR.LE gsb0, 0x1 ;
"""


@pytest.mark.parametrize(
    "between, found",
    [
        ("UMOV UR17, 0x40000040 ;", 0),
        ("WARPGROUP.DEPBAR.LE gsb0, 0x0 ;", 1),
        ("LDS R4, [R5] ;", 1),
        ("WARPSYNC.ALL ;", 1),
        ("@P1 BRA `(.L_x_1) ;", 1),
    ],
)
def test_what_stands_between_products_is_seen(between, found):
    """A test of the lint."""
    assert len(broken_product_groups(parse(STEP.format(between))["product"])) == found


@pytest.mark.parametrize("model", [model for model in SOME if model != "odd sizes"])
def test_rows_are_read_by_16_bytes(model, compiled):
    """A token's rows of the second product: a slot's load for each 4 elements, in every form of the loop."""
    if find_nvdisasm() is None:
        pytest.skip("nvdisasm is not installed (package nvidia-cuda-nvdisasm of python/requirements.txt)")
    (combine,) = [blocks for name, blocks in disassemble(compiled(model)[0]).items() if name.startswith("combine_")]
    wide, slots = count(combine, "LDG.E.128"), SHAPES[model].k
    assert wide >= slots and wide % slots == 0
    assert count(combine, "LDG.E.U16") == 0
