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
from moe_mlir.testing.full import sample
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


@pytest.mark.parametrize("level", sample(LEVELS, 1, 4))
def test_unedited(dumps, level, tmp_path):
    assert_close(run(dumps[level], level, tmp_path), reference())


@pytest.mark.parametrize("level", sample(LEVELS[:3], 0, 2))
def test_activation_region(dumps, level, tmp_path):
    check(run(other_activation(dumps[level]), level, tmp_path), reference(rational(0.37)))


@pytest.mark.parametrize("level", sample(LEVELS[:3], 1))
def test_top_k(dumps, level, tmp_path):
    text = substitute(r"top_k\(2\)", "top_k(1)", dumps[level])
    text = substitute(r"tensor<\?x2x(f32|i32)>", r"tensor<?x1x\1>", text)
    check(run(text, level, tmp_path), reference(top_k=1))


def kernels_of(text, folder):
    """Level kernel of an edited dump of level scheduled."""
    source = folder / "edited.mlir"
    source.write_text(text)
    process = compile_model(source, "--to=kernel", "-o", folder / "kernel.mlir")
    assert process.returncode == 0, process.stderr
    return (folder / "kernel.mlir").read_text()


def kernel_text(name, kernels):
    """The text of a kernel."""
    return re.search(rf"^ *kernel\.func @{name}\(.*?^  \}}$", kernels, re.DOTALL | re.MULTILINE)[0]


def launches(kernels, name):
    return len(re.findall(rf"kernel\.launch @{name}\b", kernels))


def test_epilogue_unfused(dumps, tmp_path):
    """Without its mark, a residual sum is a kernel of its own, and its product stores what it has computed."""
    text = substitute(r" attrs = +\{kernel\.epilogue = \d+ : i64\}", "", dumps["scheduled"], count=1)
    kernels = kernels_of(text, tmp_path)
    assert launches(kernels, "linear_96x96_f32_addf") == launches(dumps["kernel"], "linear_96x96_f32_addf") - 1
    assert kernels.count("kernel.launch ") == dumps["kernel"].count("kernel.launch ") + 1
    assert_close(run(text, "scheduled", tmp_path), reference())


def test_columns_of_a_tile(dumps, tmp_path):
    """Half of the columns: the accumulators of that product alone are half as wide, and a block of weights has twice as many strips."""
    columns = re.search(r"\bnn\.linear [^\n]*columns = (\d+), block_columns[^\n]* tensor<331x96xf32>", dumps["scheduled"])[1]
    half = int(columns) // 2
    text = substitute(rf"(nn\.linear [^\n]*)columns = {columns}(, block_columns[^\n]* tensor<331x96xf32>)", rf"\g<1>columns = {half}\2", dumps["scheduled"])
    kernels = kernels_of(text, tmp_path)
    acc = r"!kernel\.acc<\d+x(\d+)xf32>"
    assert set(re.findall(acc, kernel_text("linear_331x96_f32", dumps["kernel"]))) == {columns}
    assert set(re.findall(acc, kernel_text("linear_331x96_f32", kernels))) == {str(half)}
    assert kernel_text("linear_32x96_f32", kernels) == kernel_text("linear_32x96_f32", dumps["kernel"])
    assert_close(run(text, "scheduled", tmp_path), reference())


@pytest.mark.parametrize("placement", ["gathered", "apart"])
def test_dispatch_gathered(dumps, placement, tmp_path):
    """The rows of one layer are copied, and its experts read the copy; the other layers read the tokens where they are."""
    text = substitute(r"placement\(in_place\)", f"placement({placement})", dumps["scheduled"], count=1)
    kernels = kernels_of(text, tmp_path)
    assert launches(dumps["kernel"], "gather_96_f32") == 0 and launches(kernels, "gather_96_f32") == 1
    assert kernels.count("kernel.func @experts_up") == dumps["kernel"].count("kernel.func @experts_up") + 1
    assert_close(run(text, "scheduled", tmp_path), reference())


@pytest.mark.parametrize(
    "pattern,replacement,message",
    [
        (r"columns = \d+, block_columns", "columns = 5, block_columns", "'columns' is 5; those of a tile divide the 64 of a weight block"),
        (r" \{kernel\.tiles = #kernel\.tiles<[^>]*>\}", "", "'nn.linear' op has no 'kernel.tiles'; run graph-choose-tiles"),
        (r"kernel\.epilogue = \d+", "kernel.epilogue = 7", "so it cannot run in the epilogue of operand 7"),
    ],
)
def test_impossible_decision(dumps, tmp_path, pattern, replacement, message):
    source = tmp_path / "scheduled.mlir"
    source.write_text(substitute(pattern, replacement, dumps["scheduled"], count=1))
    process = compile_model(source, "--to=kernel", "-o", tmp_path / "kernel.mlir")
    assert process.returncode and message in process.stderr


@pytest.mark.parametrize(
    "fields,is_done",
    [
        ({"stream_ahead": 0, "spread": 0}, lambda count, before: count["prefetch"] == 0 < before["prefetch"]),
        ({"stream_ahead": 4096, "spread": 0}, lambda count, before: count["prefetch"] > 0),
        ({"block_above": 4096, "block_bytes": 8192, "block_rows": 12}, lambda count, before: count["alloca"] > before["alloca"]),
    ],
)
def test_plan_of_a_cpu(folder, dumps, fields, is_done, tmp_path):
    """Weights asked for at other times, or never, and sums that wait in memory between blocks of K: no bit of a logit changes."""
    text = dumps["kernel"]
    for name, value in fields.items():
        text = substitute(rf"(#x86\.plan<[^>]*\b{name} = )\d+", rf"\g<1>{value}", text)
    (tmp_path / "kernel.mlir").write_text(text)
    edited = dump(tmp_path / "kernel.mlir", tmp_path / "edited", "--from=kernel")
    assert is_done(*({op: len(re.findall(rf"llvm\.[a-z.]*{op}\b", level["runtime"])) for op in ("prefetch", "alloca")} for level in (edited, dumps)))
    actual, expected = (Executable(path / "model", threads=2).run(step_inputs(TOKENS))["logits"] for path in (tmp_path / "edited", folder / "plain"))
    np.testing.assert_array_equal(actual, expected)


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
