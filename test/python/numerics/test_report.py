"""`moe-compile --report` against what programs do: their traces, their archives, and the arithmetic of the models."""

import itertools
import json
import re

import numpy as np
import pytest
import torch

from moe_mlir.testing.compiling import moe_compile, step_inputs
from moe_mlir.testing.configurations import FAMILIES
from moe_mlir.testing.full import sample
from moe_mlir.testing.inputs import random_tokens

TOKENS = 64  # half of the cache of the compiled models: where the report puts its two points


@pytest.fixture
def reported(compiled, tmp_path):
    """Function: configuration, dtype -> (model, Executable, report)."""

    def get(name, dtype=torch.float32):
        model, executable = compiled(name, dtype)
        file = tmp_path / "report.json"
        moe_compile(executable.path.with_suffix(".pt2"), tmp_path / "kernel.mlir", "--to=kernel", f"--report={file}")
        return model, executable, json.loads(file.read_text())

    return get


def launches(report):
    """All launches in the order of a call."""
    return sorted((each for layer in report["layers"] for each in layer["launches"]), key=lambda each: each["launch"])


@pytest.mark.parametrize("family", sample([*FAMILIES, "mixtral-window", "qwen3_moe-plain"], 0, 3))
def test_rows_and_work_are_those_of_a_trace(family, reported):
    model, executable, report = reported(family)
    assert report["points"]["prefill"] == {"batch": 1, "seq": TOKENS, "keep": 1, "position": 0}
    assert report["points"]["decode"] == {"batch": 1, "seq": 1, "keep": 1, "position": TOKENS}
    tokens = random_tokens(model, 1, TOKENS + 1, seed=0)
    calls = [step_inputs(tokens[:, :-1], keep=[TOKENS - 1]), step_inputs(tokens[:, -1:], TOKENS)]
    for point, events in zip(("prefill", "decode"), executable.trace(calls)[1]):
        traced = [(event["name"], event["args"]["rows"], event["args"]["work"]) for event in events]
        assert traced == [(each["kernel"], each["rows"][point], each["work"][point]) for each in launches(report)]


@pytest.mark.parametrize("family", [*FAMILIES, "mixtral-window"])
def test_expressions_give_the_numbers(family, reported):
    _, _, report = reported(family)
    for each in launches(report):
        for quantity in ("rows", "work", "flops", "weights_read", "read", "written"):
            for point, sizes in report["points"].items():
                expression = each[quantity]["expression"].replace("/", "//")
                assert eval(expression, {"min": min, "max": max}, dict(sizes)) == each[quantity][point], each["kernel"]


# The last family shares weights between layers.
@pytest.mark.parametrize("family, dtype", sample(itertools.product([*FAMILIES, "qwen3_moe-plain"], [torch.float32, torch.bfloat16]), 0, 1, 2, 4, 7))
def test_weights_are_those_of_the_archive(family, dtype, reported):
    _, executable, report = reported(family, dtype)
    archive = int(re.search(r"packed arrays, (\d+) bytes", executable.call("--info").stdout.decode())[1])
    assert report["weight_bytes"] == archive
    assert sum(layer["weight_bytes"] for layer in report["layers"]) == archive


@pytest.mark.parametrize("family", FAMILIES)
def test_layers_are_those_of_the_model(family, reported):
    model, _, report = reported(family)
    names = [layer["name"] for layer in report["layers"]]
    assert [name for name in names if ".layers." in name] == [
        f"model.model.layers.{i}" for i in range(model.config.num_hidden_layers)]
    for layer in report["layers"]:
        if ".layers." in layer["name"]:
            assert all(each["module"].startswith(layer["name"]) for each in layer["launches"] if each["module"])


@pytest.mark.parametrize("family", FAMILIES)
def test_products_by_hand(family, reported):
    """2 M K N of every matrix of the model; attention 4 * heads * depth per query and key."""
    model, _, report = reported(family)
    config, state = model.config, model.state_dict()
    pairs = config.num_experts_per_tok
    expected = {"prefill": 0, "decode": 0}
    for point, (tokens, keys) in {"prefill": (TOKENS, TOKENS), "decode": (1, TOKENS + 1)}.items():
        for key, weight in state.items():
            if weight.ndim == 2 and "embed_tokens" not in key:
                expected[point] += 2 * weight.numel() * (1 if "lm_head" in key else tokens)
            elif weight.ndim == 3:  # all experts of a layer
                expected[point] += 2 * weight[0].numel() * tokens * pairs
    counted = {point: sum(each["flops"][point] for each in launches(report)
                          if each["program"]["kind"] == "tile" and not each["kernel"].startswith("attention"))
               for point in expected}
    assert counted == expected
    attention = [each for each in launches(report) if each["kernel"].startswith("attention")]
    assert len(attention) == config.num_hidden_layers
    assert all(each["flops"]["decode"] <= 4 * config.num_attention_heads * config.head_dim * (TOKENS + 1)
               for each in attention)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_decode_step_reads_the_experts_of_one_token(family, reported):
    model, _, report = reported(family)
    experts = [each for each in launches(report) if each["kernel"].startswith("experts_")]
    count, chosen = model.config.num_local_experts, model.config.num_experts_per_tok
    assert experts
    for each in experts:
        assert each["weights_read"]["decode"] * count == each["weights_read"]["prefill"] * chosen


def test_keys_and_values_count_up_to_the_position(reported):
    model, _, report = reported("mixtral")
    config = model.config
    attention = next(each for each in launches(report) if each["kernel"].startswith("attention"))
    # 65 keys are two blocks of 64; 65 values are rows; the query; the position.
    head, heads = config.head_dim * 4, config.num_key_value_heads
    assert attention["read"]["decode"] == heads * head * (128 + TOKENS + 1) + config.num_attention_heads * head + 8
    assert attention["written"]["decode"] == config.num_attention_heads * head
