"""The kernels of known models' layers, compiled for sm_90a: no spills, none of ptxas's words on wgmma, the registers as planned."""

import re

import pytest
from emitted import Shape, cuda_text, kernel_level
from nvrtc import Nvrtc, find_nvrtc, usages

SHAPES = {
    "OLMoE-1B-7B": Shape(2048, 1024, 64, 8),
    "Qwen3-30B-A3B": Shape(2048, 768, 128, 8),
    "Mixtral-8x7B": Shape(4096, 14336, 8, 2),
    "DeepSeek-V3": Shape(7168, 2048, 256, 8),
    "GPT-OSS-20B": Shape(2880, 2880, 32, 4),
    "odd sizes": Shape(101, 30, 5, 2),
}
PRODUCTS = ("linear", "experts_up", "experts_down")
REGISTERS = 168  # of a block of 384 threads; setmaxnreg gives more to those that multiply


@pytest.mark.parametrize("model", SHAPES)
def test_layer_compiles_as_planned(model):
    folder = find_nvrtc()
    if folder is None:
        pytest.skip("NVRTC is not installed (package nvidia-cuda-nvrtc of python/requirements.txt)")
    cubin, log = Nvrtc(folder).compile(cuda_text(kernel_level(SHAPES[model].text())), "layer.cu")
    assert cubin is not None, log
    assert "warning" not in log and not re.search(r"\(?C75\d\d", log), log
    found = usages(log)
    assert sum(name.startswith(PRODUCTS) for name in found) == len(PRODUCTS)
    for kernel, usage in found.items():
        assert (usage.spills, usage.stack) == (0, 0), kernel
        if kernel.startswith(PRODUCTS):
            assert usage.registers == REGISTERS, kernel
