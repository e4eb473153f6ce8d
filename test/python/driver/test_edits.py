"""It is a compiler: every level is dumped, edited as text and resumed with --from, and the result is that of the edited
program. The reference computes the experts in NumPy; everything else of the model stays PyTorch's."""

import re
import subprocess

import numpy as np
import pytest
import torch

from moe_mlir.executable import Executable
from moe_mlir.testing.compare import FLOAT32_BOUND, assert_close
from moe_mlir.testing.compiling import export_model, step_inputs
from moe_mlir.testing.models import tiny_model

from compiling import compile_model

LEVELS = ["graph", "spmd", "scheduled", "kernel", "runtime"]
TOKENS = np.random.default_rng(3).integers(3, 331, (2, 9))

EDITED_REGION = """\
      %edit0 = math.absf {gate} : f32
      %edit1 = arith.constant 1.000000e+00 : f32
      %edit2 = arith.addf %edit1, %edit0 : f32
      %edit3 = arith.mulf {gate}, {up} : f32
      %edit4 = arith.divf %edit3, %edit2 : f32
      %edit5 = arith.constant 3.700000e-01 : f32
      %edit6 = arith.mulf {up}, {up} : f32
      %edit7 = arith.mulf %edit5, %edit6 : f32
      %edit8 = arith.addf %edit4, %edit7 : f32
      moe.yield %edit8 : f32
"""


def silu(gate, up):
    return gate / (1 + np.exp(-gate)) * up


def rational(constant):
    """g·u / (1 + |g|) + constant·u²"""
    return lambda gate, up: gate * up / (1 + np.abs(gate)) + constant * up * up


def reference(activation=silu, top_k=2, change=lambda model: None):
    """Logits [B, S, V] of the model with another activation or top-k, and with `change` applied to its weights."""
    model = tiny_model("mixtral")
    with torch.no_grad():
        change(model)
    for layer in model.model.layers:
        layer.mlp.gate.top_k = top_k
        layer.mlp.experts.forward = numpy_experts(layer.mlp.experts, activation)
    with torch.no_grad():
        return model(torch.from_numpy(TOKENS), use_cache=False).logits.double().numpy()


def numpy_experts(experts, activation):
    w_in, w_out = (w.detach().double().numpy() for w in (experts.gate_up_proj, experts.down_proj))

    def forward(rows, ids, weights):
        x = rows.double().numpy()
        result = np.zeros_like(x)
        for token, (chosen, scale) in enumerate(zip(ids.numpy(), weights.double().numpy())):
            for expert, weight in zip(chosen, scale):
                gate, up = np.split(w_in[expert] @ x[token], 2)
                result[token] += weight * (w_out[expert] @ activation(gate, up))
        return torch.from_numpy(result).to(rows.dtype)

    return forward


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("edits")
    export_model(tiny_model("mixtral"), folder / "model.pt2", max_cache_len=128)
    return folder


@pytest.fixture(scope="module")
def dumps(folder):
    return dump(folder / "model.pt2", folder / "plain")


def dump(source, folder, *flags):
    """Compiles and returns the text of every level that was passed."""
    folder.mkdir()
    process = compile_model(source, "-o", folder / "model", f"--dump-intermediates={folder / 'ir'}", *flags)
    assert process.returncode == 0, process.stderr
    return {path.stem.split("_", 1)[1]: path.read_text() for path in (folder / "ir").glob("*.mlir")}


def run(text, level, folder):
    """Logits of an edited dump. It names its weights: --from is all that is said."""
    source = folder / f"{level}.mlir"
    source.write_text(text)
    process = compile_model(source, f"--from={level}", "-o", folder / "edited")
    assert process.returncode == 0, process.stderr
    return Executable(folder / "edited", threads=2).run(step_inputs(TOKENS))["logits"]


def check(actual, expected):
    """Equal to the edited program, and far from the program that was not edited."""
    assert_close(actual, expected)
    plain = reference()
    assert np.abs(actual - plain).max() > 100 * FLOAT32_BOUND * np.abs(plain).max()


def substitute(pattern, replacement, text, count=0):
    """re.sub that must find something."""
    edited, found = re.subn(pattern, replacement, text, count=count)
    assert found, f"nothing matches {pattern}"
    return edited


def other_activation(text):
    pattern = r" *%\w+ = nn\.silu (?P<gate>%\w+) : f32\n *%\w+ = arith\.mulf %\w+, (?P<up>%\w+) : f32\n *moe\.yield .*\n"
    return substitute(pattern, lambda m: EDITED_REGION.format(**m.groupdict()), text)


@pytest.fixture(scope="module")
def edited_dumps(folder, dumps):
    """Kernel and runtime level of the program with the other activation, whose constant can be found again."""
    source = folder / "edited.mlir"
    source.write_text(other_activation(dumps["graph"]))
    return dump(source, folder / "edited")


def test_every_level_is_dumped(dumps):
    assert sorted(dumps) == sorted(LEVELS)


@pytest.mark.parametrize("level", LEVELS)
def test_unedited(dumps, level, tmp_path):
    assert_close(run(dumps[level], level, tmp_path), reference())


@pytest.mark.parametrize("level", LEVELS[:3])
def test_activation_region(dumps, level, tmp_path):
    check(run(other_activation(dumps[level]), level, tmp_path), reference(rational(0.37)))


@pytest.mark.parametrize("level", LEVELS[:3])
def test_top_k(dumps, level, tmp_path):
    text = substitute(r"top_k\(2\)", "top_k(1)", dumps[level])
    text = substitute(r"tensor<\?x2x(f32|i32)>", r"tensor<?x1x\1>", text)
    check(run(text, level, tmp_path), reference(top_k=1))


def test_epilogue_constant(edited_dumps, tmp_path):
    text = substitute(r"3\.700000e-01", "1.250000e+00", edited_dumps["kernel"])
    check(run(text, "kernel", tmp_path), reference(rational(1.25)))


def test_k_loop_one_step_shorter(dumps, tmp_path):
    start = dumps["kernel"].index("kernel.func @linear_331x96")
    head, kernel = dumps["kernel"][:start], dumps["kernel"][start:]
    kernel = substitute(r"to %c96 step %c1 iter_args", "to %shorter step %c1 iter_args", kernel, count=1)
    kernel = substitute(r"(kernel\.func [^\n]*\n)", r"\1    %shorter = arith.constant 95 : index\n", kernel, count=1)

    def without_last(model):
        model.lm_head.weight[:, 95] = 0

    check(run(head + kernel, "kernel", tmp_path), reference(change=without_last))


def test_llvm_constant(edited_dumps, tmp_path):
    text = substitute(r"3\.700000e-01|0\.37\d*", "1.250000e+00", edited_dumps["runtime"])
    check(run(text, "runtime", tmp_path), reference(rational(1.25)))


def test_launch_removed(dumps, tmp_path):
    """Without the first update of the cache of values, attention of the first layer sees the zeros it starts with."""
    text = substitute(r" *moert\.launch %\w+, @cache_update_\w*value\(.*\n", "", dumps["runtime"], count=1)

    def without_values(model):
        model.model.layers[0].self_attn.v_proj.weight[:] = 0

    check(run(text, "runtime", tmp_path), reference(change=without_values))


def test_object_calls_only_runtime_and_libc(dumps, tmp_path):
    """Undefined symbols of the model's object: the table of moert.h, and memory and scalar math functions of the C library."""
    (tmp_path / "runtime.mlir").write_text(dumps["runtime"])
    subprocess.run(["moe-translate", "--moe-to-object", tmp_path / "runtime.mlir", "-o", tmp_path / "model.o"], check=True)
    listed = subprocess.run(["nm", "-u", tmp_path / "model.o"], check=True, capture_output=True, text=True).stdout
    undefined = {line.split()[-1] for line in listed.splitlines()}
    runtime = {"input", "input_size", "output", "state", "parameter", "arena", "blocks", "launch", "expert_load", "check",
               "fail"}
    libc = {"memcpy", "memset", "memmove", "sinf", "cosf", "powf"}
    assert undefined <= {f"moert_{name}" for name in runtime} | libc
    assert "moert_launch" in undefined
