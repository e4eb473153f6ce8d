"""The fused kernels of known models' layers, compiled for sm_90a: no spills, none of ptxas's words on wgmma, and in the machine code of each loop over
K what the kernel by itself has."""

import re

import pytest
from emitted import cuda_text
from nvrtc import Nvrtc, find_nvrtc, usages
from rank_layers import RankedLayer, kernel_level
from rank_overlap import Overlap, joined, overlapped_level
from sass import broken_product_groups, count, disassemble, find_nvdisasm
from test_emitted_lint import EARLY_RETURN, MACHINE_CODE, REGISTERS, text_of

from moe_mlir.testing.full import FULL

LAYERS = {
    "Qwen3-30B-A3B": (RankedLayer(1, 2048, 768, 128, 8, "bf16"), Overlap(steps=(1, 3), chunk=64, slices=4)),
    "Mixtral-8x7B": (RankedLayer(1, 4096, 14336, 8, 2, "bf16"), Overlap(steps=(4,), chunk=64, slices=2)),
}
if FULL:
    LAYERS |= {
        "OLMoE-1B-7B": (RankedLayer(1, 2048, 1024, 64, 8, "bf16"), Overlap(steps=(2, 2), chunk=64, slices=8)),
        "DeepSeek-V3": (RankedLayer(1, 7168, 2048, 256, 8, "bf16"), Overlap(steps=(1, 1, 2), chunk=64, slices=4)),
        "GPT-OSS-20B": (RankedLayer(1, 2880, 2880, 32, 4, "bf16"), Overlap(steps=(1, 3), chunk=16, slices=1)),
    }
HEAD = '#include "device.cuh"\n\nextern "C" '


def kernels_of(text, word):
    """A text with those kernels whose names have a word in them, and the names."""
    parts = {re.search(r" void (\w+)\(", part)[1]: part for part in text.split('\nextern "C" ')[1:]}
    names = [name for name in parts if word in name]
    return HEAD + '\nextern "C" '.join(parts[name] for name in names), names


@pytest.mark.skipif(find_nvrtc() is None, reason="NVRTC is not installed (package nvidia-cuda-nvrtc of python/requirements.txt)")
@pytest.mark.parametrize("model", LAYERS)
def test_fused_kernels_compile_as_planned(model, tmp_path):
    layer, schedule = LAYERS[model]
    nvrtc = Nvrtc(find_nvrtc())
    text, fused = kernels_of(cuda_text(joined(overlapped_level(layer.graph(), 4, schedule), None)), "_with_")
    assert len(fused) == 2
    cubin, log = nvrtc.compile(text, "fused.cu")
    assert cubin is not None, log
    assert "warning" not in log and not re.search(r"\(?C75\d\d", log), log
    for kernel, usage in usages(log).items():
        assert (usage.spills, usage.stack, usage.shared, usage.registers) == (0, 0, 0, REGISTERS), kernel
    # An eighth of the multiprocessors for what sends and returns, the rest for the products.
    shares = re.findall(r"// (The other|\d+) blocks: (\w+?)_", text)
    assert shares == [("16", "send"), ("The other", "experts"), ("The other", "experts"), ("16", "return")]

    if find_nvdisasm() is None:
        pytest.skip("nvdisasm is not installed (package nvidia-cuda-nvdisasm of python/requirements.txt)")
    plain_text, plain = kernels_of(cuda_text(kernel_level(layer, 4, "split", tmp_path)), "experts_")
    plain_blocks = disassemble(nvrtc.compile(plain_text, "plain.cu")[0])
    for name, blocks in disassemble(cubin).items():
        assert count(blocks, "LDL") == count(blocks, "STL") == 0, name
        assert broken_product_groups(blocks) == [], name
        (own,) = [kernel for kernel in plain if re.search(rf"(^|_with_){kernel}($|_with_)", name)]
        for opcode in MACHINE_CODE:
            assert count(blocks, opcode) == count(plain_blocks[own], opcode) > 0, (name, opcode)
        assert not re.search(EARLY_RETURN, text_of(text, name)), name
