"""Whole models on the emulated GPU, with caches that stay there between calls: the same tokens as by their code for a CPU."""

import numpy as np
import pytest
import torch
from cuda_program import compile_for_gpu, needs_cuda
from emitted import cuda_text
from emulated import WARNINGS
from emulated_program import link

from moe_mlir.testing.compare import relative_error
from moe_mlir.testing.compiling import export_model
from moe_mlir.testing.families.models import small_model
from moe_mlir.testing.full import sample, whole
from moe_mlir.testing.models import tiny_model

pytestmark = needs_cuda
CACHE = 32
PROMPT = "7 30 2 101 5 77 9"
# Window and sinks, a compressed cache, gated and shared experts, a recurrence with a convolution, reductions of i64; then those whose indices the host checks.
FAMILIES = ["gpt_oss", "deepseek_v3", "qwen2_moe", "qwen3_next", "axk2", "hy_v4", "llama4_text", "minimax_m3_vl_text", "qwen4_exp_text"]


def build(source, folder, *flags):
    """The model as a program on the emulated GPU; returns a function: arguments -> the finished process."""
    compile_for_gpu(source, folder / "program.o", "--emit=obj", f"--dump-intermediates={folder / 'ir'}", *flags)
    kernels = cuda_text((folder / "ir" / "3_kernel.mlir").read_text())
    return link(folder / "program.o", kernels, folder, warnings=(*WARNINGS, "-Wno-unused-parameter", "-Wno-parentheses"))


def both(program, *arguments):
    """What the program prints on the GPU and on the CPU."""
    return [program(*arguments, "--device", device).stdout for device in ("cuda:0", "cpu")]


@pytest.mark.parametrize("family, dtype", sample([("qwen3_moe", torch.float32), ("olmoe", torch.bfloat16), ("mixtral", torch.float32)], 0))
def test_generated_tokens(family, dtype, tmp_path):
    """A prompt in one piece and in chunks, tokens one by one, and a second prompt, which finds fresh states."""
    model = tiny_model(family, dtype=dtype)
    export_model(model, tmp_path / "model.pt2", max_cache_len=CACHE)
    program = build(tmp_path / "model.pt2", tmp_path)
    assert "kernel.func @attention_rows" in (tmp_path / "ir" / "3_kernel.mlir").read_text()
    words = ["--ids", "--generate", PROMPT, "--generate", "3 1 4", "--max-new-tokens", 3]
    on_gpu, on_cpu = both(program, *words)
    assert on_gpu == on_cpu and len(on_gpu.split()) == 6
    assert program("--ids", "--generate", PROMPT, "--prefill-chunk", 3, "--max-new-tokens", 1, "--device", "cuda:0").stdout.split() == on_gpu.split()[:1]


@whole
def test_logits_of_all_positions(tmp_path):
    """A model without a cache, and numbers of tokens beyond a block of keys."""
    model = tiny_model("qwen3_moe")
    export_model(model, tmp_path / "model.pt2", cache=False)
    program = build(tmp_path / "model.pt2", tmp_path)
    ids = torch.randint(model.config.vocab_size, (1, 70), generator=torch.Generator().manual_seed(0))
    np.save(tmp_path / "ids.npy", ids.numpy())
    program("--input", f"input_ids=@{tmp_path / 'ids.npy'}", "--output-dir", tmp_path / "out")
    with torch.no_grad():
        expected = model(ids).logits.numpy()
    assert relative_error(np.load(tmp_path / "out" / "logits.npy"), expected) < 1e-5


@whole
@pytest.mark.parametrize("family", FAMILIES)
def test_other_families(family, tmp_path):
    model = small_model(family)
    export_model(model, tmp_path / "model.pt2", max_cache_len=CACHE)
    program = build(tmp_path / "model.pt2", tmp_path)
    on_gpu, on_cpu = both(program, "--ids", "--generate", PROMPT, "--max-new-tokens", 4)
    assert on_gpu == on_cpu and on_gpu.split()


@whole
@pytest.mark.parametrize("parallel, multiprocessors", [("tp=2", 3), ("ep=2", 64), ("ep=2,tokens=replicated", 3), ("dp=2", 3)])
def test_ranks(parallel, multiprocessors, tmp_path):
    """Two ranks, threads that share the emulated GPU, give the tokens of one on a CPU."""
    model = tiny_model("qwen3_moe")
    export_model(model, tmp_path / "model.pt2", max_cache_len=CACHE)
    program = build(tmp_path / "model.pt2", tmp_path, f"--parallel={parallel}")
    words = ["--ids", "--generate", PROMPT, "--max-new-tokens", 3]
    alone = program(*words, "--device", "cpu", "--ranks", 2).stdout
    done = program(*words, "--device", "cuda", "--ranks", 2, "--comm", "local", MOE_EMULATED_MULTIPROCESSORS=str(multiprocessors))
    assert done.stdout == alone and len(alone.split()) == 3


@whole
def test_ranks_that_read_elements(tmp_path):
    """Each rank waits for its own kernels, and reads what its host program checks."""
    export_model(small_model("hy_v4"), tmp_path / "model.pt2", max_cache_len=CACHE)
    program = build(tmp_path / "model.pt2", tmp_path, "--parallel=ep=2,tokens=replicated")
    assert "moert.read" in (tmp_path / "ir" / "4_runtime.mlir").read_text()
    words = ["--ids", "--generate", PROMPT, "--max-new-tokens", 3, "--ranks", 2]
    alone = program(*words, "--device", "cpu").stdout
    assert program(*words, "--device", "cuda", "--comm", "local", MOE_EMULATED_MULTIPROCESSORS="3").stdout == alone
