"""float32 models against PyTorch: logits of all positions, and greedy text."""

import numpy as np
import pytest

from moe_mlir.testing.compare import assert_close
from moe_mlir.testing.compiling import step_inputs
from moe_mlir.testing.configurations import CONFIGURATIONS, FAMILIES
from moe_mlir.testing.full import sample
from moe_mlir.testing.inputs import screened_greedy, screened_tokens


@pytest.mark.parametrize("name", CONFIGURATIONS)
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("length", sample([1, 7, 64], 0, 2))
def test_logits(name, batch, length, compiled):
    model, executable = compiled(name)
    tokens, seen = screened_tokens(model, batch, length)
    executable.reset()
    assert_close(executable.run(step_inputs(tokens))["logits"], seen.logits)


@pytest.mark.parametrize("name", CONFIGURATIONS)
@pytest.mark.parametrize("length", [1, 9])
def test_greedy_text(name, length, compiled):
    model, executable = compiled(name)
    prompt, expected = screened_greedy(model, length, steps=32)
    # The tiny models have an end-of-sequence id; generation may stop there and nowhere else.
    ids = executable.generate(prompt.tolist(), max_new_tokens=32)
    (stop,) = np.nonzero(expected == model.config.eos_token_id)
    assert ids == expected[: stop[0] if stop.size else None].tolist()


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_prefill_equals_token_by_token(name, compiled):
    model, executable = compiled(name)
    tokens, seen = screened_tokens(model, 3, 33, seed=1)
    calls = [step_inputs(tokens)]
    for chunking in ((1,) * 33, (5, 1, 16, 11)):
        calls.append(None)
        begin = 0
        for size in chunking:
            calls.append(step_inputs(tokens[:, begin : begin + size], begin))
            begin += size
    outputs = [out["logits"] for out in executable.run_calls(calls)]
    whole, single, chunked = outputs[0], np.concatenate(outputs[1:34], axis=1), np.concatenate(outputs[34:], axis=1)
    assert_close(whole, seen.logits)
    assert_close(single, whole)
    assert_close(chunked, whole)


@pytest.mark.parametrize("family", FAMILIES)
def test_kept_rows_are_those_of_all_rows(family, compiled):
    model, executable = compiled(family)
    tokens, _ = screened_tokens(model, 2, 12, seed=2)
    every, some = (
        out["logits"] for out in executable.run_calls([step_inputs(tokens), None, step_inputs(tokens, keep=[11, 0, 4])])
    )
    assert_close(some, every[:, [11, 0, 4]])


@pytest.mark.parametrize("family", sample(FAMILIES, 1))
def test_graph_without_cache(family, compiled):
    model, executable = compiled(family, cache=False, max_cache_len=None)
    for length in (1, 7, 64):
        tokens, seen = screened_tokens(model, 2, length)
        assert_close(executable.run({"input_ids": tokens})["logits"], seen.logits)


@pytest.mark.parametrize("family", FAMILIES)
def test_two_prompts_in_one_process_equal_two_processes(family, compiled):
    model, executable = compiled(family)
    prompts = [screened_greedy(model, length, steps=20, seed=3)[0].tolist() for length in (5, 13)]
    together = executable.generate(prompts, max_new_tokens=20)
    assert together == [executable.generate(prompt, max_new_tokens=20) for prompt in prompts]
