"""Sizes that a program is not exported for are refused: what it computes there may be another branch's result."""

import json
import subprocess
import zipfile

import numpy as np
import pytest
import torch

from moe_mlir import Executable
from moe_mlir.errors import Error
from moe_mlir.executable import ExecutableError
from moe_mlir.testing.compiling import edit_program, moe_compile


class Branch(torch.nn.Module):
    def forward(self, x):
        return x * 2 if x.shape[0] > 10 else x * 3


def saved(folder, example=20, **bounds):
    rows = torch.export.Dim("t", **bounds) if bounds else torch.export.Dim.AUTO
    program = torch.export.export(Branch(), (torch.ones(example, 4),), dynamic_shapes=({0: rows},), strict=False)
    torch.export.save(program, folder / "m.pt2")
    return folder / "m.pt2"


def rows(count):
    return {"x": np.arange(count * 4, dtype=np.float32).reshape(count, 4)}


def check(executable, factor, taken, refused, expected):
    for count in taken:
        assert np.array_equal(executable.run(rows(count))["mul"], factor * rows(count)["x"])
    for count in refused:
        with pytest.raises(ExecutableError) as caught:
            executable.run(rows(count))
        assert caught.value.exit_code == 1
        assert f"input 'x' is {count} x 4 x f32, the program expects " in str(caught.value) and f"{expected} x 4 x f32" in str(caught.value)


@pytest.mark.parametrize("example,bounds,factor,taken,refused,said", [
    (20, {"min": 11, "max": 64}, 2, [11, 64], [0, 1, 5, 10, 65], "(11 to 64)"),
    (5, {"max": 10}, 3, [0, 1, 2, 10], [11, 400], "(at most 10)"),
    (20, {}, 2, [11, 400], [0, 1, 10], "(at least 11)"),
])
def test_ranges_that_torch_export_declares(tmp_path, example, bounds, factor, taken, refused, said):
    """As the exported program itself does, of 0 and 1 nothing is asked where the declared least size is 2 or less."""
    model = saved(tmp_path, example, **bounds)
    runner = torch.export.load(model).module()
    for count in refused:
        with pytest.raises((AssertionError, RuntimeError)):
            runner(torch.ones(count, 4))
    executable = Executable(moe_compile(model, tmp_path / "m"))
    check(executable, factor, taken, refused, f"s{symbol(model)} {said}")


class Large(torch.nn.Module):
    def forward(self, x):
        return x * 2 if x.shape[0] > 20 else x * 3


@pytest.mark.parametrize("size,example,taken,refused,said", [
    (lambda t: 2 * t, 8, [6, 16], [0, 1, 4, 18, 40], "(6 to 16)"), (lambda t: t + 3, 8, [6, 11], [0, 5, 12], "(6 to 11)"),
])
def test_ranges_of_sizes_that_follow_from_others(tmp_path, size, example, taken, refused, said):
    """The .pt2 states them as 2*s60; a branch that the range decides has no guard."""
    program = torch.export.export(Large(), (torch.ones(example, 4),), dynamic_shapes=({0: size(torch.export.Dim("t", min=3, max=8))},), strict=False)
    torch.export.save(program, tmp_path / "m.pt2")
    runner = program.module()
    for count in refused:
        with pytest.raises((AssertionError, RuntimeError)):
            runner(torch.ones(count, 4))
    executable = Executable(moe_compile(tmp_path / "m.pt2", tmp_path / "m"))
    check(executable, 3, taken, refused, said)


def symbol(model):
    with zipfile.ZipFile(model) as archive:
        [name] = [name for name in archive.namelist() if name.endswith("models/model.json")]
        [found] = json.loads(archive.read(name))["range_constraints"]
    return found.removeprefix("s")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("model"), min=11, max=64)


@pytest.mark.parametrize("level", ["graph", "kernel", "runtime"])
def test_levels_keep_and_change_them(model, tmp_path, level):
    text = moe_compile(model, tmp_path / "m.mlir", f"--to={level}").read_text()
    before, after = ("dim_ranges = array<i64: 11, 64, ", "dim_ranges = array<i64: 4, 8, ") if level == "runtime" else (
        "moe.dim_ranges = [[11, 64], []]", "moe.dim_ranges = [[4, 8], []]")
    assert text.count(before) == 1
    (tmp_path / "m.mlir").write_text(text.replace(before, after))
    executable = Executable(moe_compile(tmp_path / "m.mlir", tmp_path / "m", f"--from={level}"))
    check(executable, 2, [4, 8], [3, 9], f"s{symbol(model)} (4 to 8)")


def test_ranks_mean_all_rows(model, tmp_path):
    """Two ranks have 6 of 11 rows at most, and 33 of 65."""
    program = moe_compile(model, tmp_path / "m", "--parallel=dp=2")
    def run(count):
        np.save(tmp_path / "x.npy", rows(count)["x"])
        return subprocess.run([program, "--ranks=2", f"--input=x=@{tmp_path / 'x.npy'}", f"--output-dir={tmp_path / 'out'}"],
                              capture_output=True, text=True, timeout=120)
    for count in (11, 64):
        done = run(count)
        assert done.returncode == 0, done.stderr
        assert np.array_equal(np.load(tmp_path / "out" / "mul.npy"), 2 * rows(count)["x"])
    for count in (10, 65):
        done = run(count)
        assert done.returncode == 1 and "(11 to 64) x 4 x f32" in done.stderr


def test_info_says_them(model, tmp_path):
    program = moe_compile(model, tmp_path / "m")
    text = subprocess.run([program, "--info"], capture_output=True, text=True, check=True).stdout
    assert f"s{symbol(model)} (11 to 64) x 4 x f32" in text


@pytest.mark.parametrize("range_,said", [
    ([11, 64], "min_val is neither a number nor null"),
    ({"min_val": 11}, "max_val is neither a number nor null"),
    ({"min_val": 1.5, "max_val": None}, "min_val is neither a number nor null"),
    ({"min_val": 11, "max_val": 2**64}, "max_val is neither a number nor null"),
    ({"min_val": 11, "max_val": 10}, "its range is 11 to 10"),
    ({"min_val": None, "max_val": -1}, "its range is 0 to -1"),
])
def test_ranges_that_are_none(model, tmp_path, range_, said):
    damaged = edit_program(model, tmp_path / "m.pt2", lambda program: program.update(range_constraints=dict.fromkeys(program["range_constraints"], range_)))
    with pytest.raises(Error, match=said):
        moe_compile(damaged, tmp_path / "m")
    assert not (tmp_path / "m").exists()
