"""The same bits for any number of threads, and from run to run."""

import itertools

import pytest
import torch

from moe_mlir import Executable
from moe_mlir.testing.compiling import step_inputs
from moe_mlir.testing.configurations import FAMILIES
from moe_mlir.testing.full import sample
from moe_mlir.testing.inputs import random_tokens


@pytest.mark.parametrize("family, dtype", sample(itertools.product(FAMILIES, [torch.float32, torch.bfloat16]), 0, 1, 2, 4))
def test_threads_change_no_bit(family, dtype, compiled):
    model, executable = compiled(family, dtype)
    tokens = random_tokens(model, 3, 41, seed=0)
    calls = [step_inputs(tokens[:, :40]), step_inputs(tokens[:, 40:], 40)]

    def run(threads):
        outputs = Executable(executable.path, threads=threads).run_calls(calls)
        return [out["logits"].tobytes() for out in outputs]

    expected = run(1)
    for threads in (1, 2, 5, 2):
        assert run(threads) == expected, f"{threads} threads"


@pytest.mark.parametrize("sampling", [{}, {"temperature": 0.8, "top_p": 0.9, "seed": 7}])
def test_threads_change_no_text(sampling, compiled):
    model, executable = compiled("mixtral")
    prompt = random_tokens(model, 1, 9, seed=1)[0].tolist()
    texts = {
        tuple(Executable(executable.path, threads=threads).generate(prompt, max_new_tokens=40, **sampling))
        for threads in (1, 2, 5, 1)
    }
    assert len(texts) == 1
