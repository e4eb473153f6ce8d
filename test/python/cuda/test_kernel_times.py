"""What `moe-compile --report` says of the kernels of a GPU: how they use it, estimates and floors, against arithmetic on the layer's sizes."""

import json
import math
import re

import numpy as np
import pytest
from cuda_program import compile_for_gpu, compile_model, needs_cuda, run
from emitted import Layer
from gpu_check.cases import MODELS

POINTS = {"size 8192": 8192, "size 128": 128, "size 1": 1}
# Two layers of models that people use: one bound by tensor cores when there are many tokens, both by memory when there are few.
QWEN3, MIXTRAL = MODELS["Qwen3-30B-A3B"], MODELS["Mixtral-8x7B"]
# The numbers of lib/Analysis/CudaDevices.cpp, as the vendor has them.
SMS, HERTZ, MEMORY, TENSOR, CACHE, SHARED = 132, 1.83e9, 4.8e12, 4096, 48, 128
# What it assumes: the clock under the power limit, the part of the memory's rate that can be reached.
LIMITED, REACHABLE = 1.44e9, 4.3e12


def write(shape, folder):
    (folder / "layer.mlir").write_text('module attributes {moe.level = "graph"} {' + shape.graph() + "}\n")


def report_of(shape, folder, device="h200"):
    write(shape, folder)
    done = compile_model(folder / "layer.mlir", f"--target=cuda:{device}", "--to=kernel", "-o", folder / "kernel.mlir", "-q",
                         f"--report={folder / 'report.json'}")
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "report.json").read_text())


def kernels(report):
    return {launch["kernel"]: launch for layer in report["layers"] for launch in layer["launches"]}


def find(report, prefix):
    (kernel,) = [launch for name, launch in kernels(report).items() if name.startswith(prefix)]
    return kernel


@pytest.fixture(scope="module", params=[QWEN3, MIXTRAL], ids=["qwen3", "mixtral"])
def layer(request, tmp_path_factory):
    return request.param, report_of(request.param, tmp_path_factory.mktemp("layer"))


def test_device(layer):
    _, report = layer
    assert report["device"] == {
        "name": "H200 SXM", "multiprocessors": SMS, "tensor_flops_per_second": pytest.approx(SMS * HERTZ * TENSOR),
        "vector_flops_per_second": pytest.approx(SMS * HERTZ * 256), "memory_bytes_per_second": MEMORY, "memory_bytes": 141e9,
        "limited_tensor_flops_per_second": pytest.approx(SMS * LIMITED * TENSOR), "reachable_bytes_per_second": REACHABLE}
    assert report["points"] == {name: {"tokens": tokens} for name, tokens in POINTS.items()}


@pytest.mark.parametrize("up", [True, False], ids=["up", "down"])
def test_floors_of_experts(layer, up):
    """Operations or bytes: each weight of an expert that has rows, its rows and its results, once."""
    shape, report = layer
    product = find(report, "experts_up" if up else "experts_down")
    columns, depth = (2 * shape.I, shape.H) if up else (shape.H, shape.I)
    bound = {}
    for point, tokens in POINTS.items():
        rows = tokens * shape.k
        operations = 2 * rows * columns * depth / (SMS * HERTZ * TENSOR)
        # Rows of x are read once, whatever number of experts a token has; gate and up become one value. Results are f32.
        values = 2 * (tokens * shape.H + rows * shape.I) if up else rows * (2 * shape.I + 4 * shape.H)
        transfer = (2 * min(shape.E, rows) * columns * depth + values) / MEMORY
        # Lists of tokens and tiles are small beside that.
        assert product["gpu"]["floor_seconds"][point] == pytest.approx(max(operations, transfer), rel=2e-3), point
        bound[point] = operations > transfer
    # Qwen3's results for all pairs of tokens and experts are as long on their way as its products take.
    assert bound == {"size 8192": up or shape == MIXTRAL, "size 128": False, "size 1": False}


def ragged_tiles(experts, rows, height):
    """Tiles of rows that are drawn evenly, of which each expert's last one is ragged; on average, of some thousand draws."""
    counts = np.random.default_rng(0).multinomial(rows, [1 / experts] * experts, size=4000)
    return float(-(-counts // height).sum(axis=1).mean())


@pytest.mark.parametrize("up", [True, False], ids=["up", "down"])
def test_estimates_of_many_rows(layer, up):
    """Each term by itself, from the layer's sizes, and the estimate from its terms."""
    shape, report = layer
    product = find(report, "experts_up" if up else "experts_down")
    columns, depth = (2 * shape.I, shape.H) if up else (shape.H, shape.I)
    height, width = product["gpu"]["tile"]
    tiles = ragged_tiles(shape.E, 8192 * shape.k, height) * math.ceil(columns / width)
    terms = product["gpu"]["terms"]["size 8192"]
    # A round more or less, where the tiles nearly fill one.
    rounds = round(terms["tensor cores"] / (math.ceil(depth / 64) * 2 * height * width * 64 / TENSOR / LIMITED))
    assert abs(rounds - math.ceil(tiles / SMS)) <= 1 and rounds >= tiles / SMS * 0.99
    steps = rounds * math.ceil(depth / 64)
    assert terms["tensor cores"] == pytest.approx(steps * 2 * height * width * 64 / TENSOR / LIMITED, rel=1e-9)
    assert terms["shared memory"] == pytest.approx(steps * (2 * height + 3 * width) * 128 / SHARED / LIMITED, rel=1e-9)
    assert terms["L2"] == pytest.approx(steps * (height + width) * 128 / CACHE / HERTZ, rel=1e-9)
    # Up: an exponential and a division per result of gate and up, on 16 units. Down: 4 bytes per result, 30 in a cycle.
    results = height * width / (2 if up else 1)
    assert terms["epilogue"] == pytest.approx(rounds * results * max(2 / 16 if up else 0, 4 / 30) / LIMITED, rel=0.06)
    assert terms["tile list"] == pytest.approx(shape.E * 275 / LIMITED, rel=1e-9)
    moved = sum(product[quantity]["size 8192"] for quantity in ("weights_read", "read", "written"))
    assert terms["memory"] == pytest.approx(moved / REACHABLE, rel=1e-9)
    in_turn = max(terms["tensor cores"], terms["shared memory"], terms["L2"]) + terms["epilogue"] + terms["tile list"]
    assert product["gpu"]["estimate_seconds"]["size 8192"] == pytest.approx(max(in_turn, terms["memory"]), rel=1e-9)


def test_results_of_experts_are_counted_as_f32(layer):
    shape, report = layer
    assert find(report, "experts_down")["written"]["size 8192"] == 4 * 8192 * shape.k * shape.H


def test_another_device(tmp_path):
    """Slower memory: other times, the same kernels."""
    reports = {}
    for device in ("h200", "h100", "sm_90a"):
        (tmp_path / device).mkdir()
        reports[device] = report_of(QWEN3, tmp_path / device, device)
    assert reports["h100"]["device"]["name"] == "H100 SXM" and reports["sm_90a"] == reports["h200"]
    times = {name: find(report, "experts_down")["gpu"]["estimate_seconds"]["size 1"] for name, report in reports.items()}
    assert times["h100"] / times["h200"] == pytest.approx(4.3 / 3.0, rel=1e-6)
    texts = [(tmp_path / device / "kernel.mlir").read_text() for device in ("h200", "h100")]
    assert texts[0].replace('device = "h200"', 'device = "h100"') == texts[1] != texts[0]


def test_row_programs(layer):
    """Their bytes, at the rate of memory, or at what the multiprocessors with work can have; 4096 columns are the work of a block."""
    shape, report = layer
    combine = find(report, "combine")
    limited = {}
    for point, tokens in POINTS.items():
        moved = sum(combine[quantity][point] for quantity in ("weights_read", "read", "written"))
        assert moved == pytest.approx(tokens * shape.H * (4 * shape.k + 2), rel=0.02)
        floor = combine["gpu"]["floor_seconds"][point]
        assert floor == pytest.approx(moved / MEMORY, rel=1e-9)
        busy = min(SMS, math.ceil(tokens * shape.H / 4096))
        assert combine["gpu"]["estimate_seconds"][point] == pytest.approx(max(moved / REACHABLE, moved / (busy * CACHE * HERTZ)), rel=1e-9)
        limited[point] = combine["gpu"]["estimate_seconds"][point] > 1.01 * moved / REACHABLE
    assert limited["size 1"] and not limited["size 8192"]


def test_no_estimate_is_below_its_floor_and_sums_are_sums(layer):
    _, report = layer
    for point in POINTS:
        for quantity in ("estimate_seconds", "floor_seconds"):
            assert report["totals"][point][quantity] == pytest.approx(
                sum(each["gpu"][quantity][point] for each in kernels(report).values()))
        for name, each in kernels(report).items():
            assert each["gpu"]["estimate_seconds"][point] >= each["gpu"]["floor_seconds"][point] > 0, name


def test_how_kernels_use_the_gpu(layer):
    """A ring of stages as large as fits; three warpgroups, of which one loads. Row programs have none of this."""
    _, report = layer
    for name, each in kernels(report).items():
        gpu = each["gpu"]
        assert gpu["registers"] is None  # nothing was compiled
        if each["program"]["kind"] != "tile":
            assert "tile" not in gpu and gpu["roles"] == [] and gpu["shared_bytes"] == 0, name
            # As many blocks as their registers leave room for; the warps of a large one share its work.
            assert gpu["threads"] == 256 and 1 <= gpu["blocks_per_multiprocessor"] <= 4 or (
                gpu["threads"] == 1024 and gpu["blocks_per_multiprocessor"] == 1), name
            continue
        height, width = gpu["tile"]
        assert height == 128 and width in (64, 128, 256)
        assert gpu["stages"] == min(8, 200 * 1024 // (128 * (height + width)))
        assert gpu["shared_bytes"] == 1024 + gpu["stages"] * 128 * (height + width)
        assert gpu["roles"] == [{"name": "load", "threads": 128, "registers": 56},
                                {"name": "multiply", "threads": 256, "registers": 224}]
        assert (gpu["threads"], gpu["blocks_per_multiprocessor"]) == (384, 1)


def test_a_kernel_without_a_cuda_form(tmp_path):
    """The report says so, and the error is the compiler's."""
    (tmp_path / "layer.mlir").write_text("""module attributes {moe.level = "graph"} {
  func.func @main(%x: tensor<?x8xf32> {moe.name = "x", moe.dims = ["tokens", ""]}) -> (tensor<?x8xf32> {moe.name = "y"}) {
    %y = math.cbrt %x : tensor<?x8xf32>
    return %y : tensor<?x8xf32>
  }
}
""")
    flags = ("--target=cuda:sm_90a", f"--report={tmp_path / 'report.txt'}")
    done = compile_model(tmp_path / "layer.mlir", "--to=kernel", "-o", tmp_path / "kernel.mlir", "-q", *flags)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert re.search(r"^  cbrt_8_f32 +no CUDA form", (tmp_path / "report.txt").read_text(), re.M)
    (tmp_path / "report.txt").unlink()
    done = compile_model(tmp_path / "layer.mlir", "--to=runtime", "-o", tmp_path / "runtime.mlir", "-q", *flags)
    assert done.returncode == 2 and "'math.cbrt' op has no CUDA C++ form; leave it out, or compile for --target=cpu" in done.stderr
    assert not (tmp_path / "report.txt").exists()


@needs_cuda
def test_registers_are_those_of_the_machine_code(tmp_path):
    write(Layer(128, 64, 4, 2), tmp_path)
    compile_for_gpu(tmp_path / "layer.mlir", tmp_path / "layer", "--weights=none", f"--report={tmp_path / 'report.json'}")
    stated = {name: each["gpu"]["registers"] for name, each in kernels(json.loads((tmp_path / "report.json").read_text())).items()}
    listed = re.findall(r"^  (\w+) +\d+ +\d+ +\d+ +(\d+) +\d+$", run(tmp_path / "layer", "--info", "--kernels").stdout, re.M)
    assert stated == {name: int(registers) for name, registers in listed}


@needs_cuda
@pytest.mark.parametrize("change, message", [
    (('name = "load", ', ""), "has a role without 'name'"),
    (("registers = 56", "registers = 300"), "needs 'registers' in 1..255"),
    (("], stages = 8", "], stages = -1"), "needs 'stages' in 0..232448"),
])
def test_attributes_that_say_nothing(tmp_path, change, message):
    """Of a file at the runtime level that was edited by hand."""
    write(Layer(128, 64, 4, 2), tmp_path)
    flags = ("--target=cuda:sm_90a", "--weights=none", "-q")
    assert compile_model(tmp_path / "layer.mlir", "--to=runtime", "-o", tmp_path / "runtime.mlir", *flags).returncode == 0
    text = (tmp_path / "runtime.mlir").read_text()
    assert change[0] in text
    (tmp_path / "runtime.mlir").write_text(text.replace(*change))
    done = compile_model(tmp_path / "runtime.mlir", "-o", tmp_path / "layer", *flags)
    assert done.returncode != 0 and message in done.stderr, done.stderr
