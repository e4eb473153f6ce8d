"""Executables with programs for CUDA: entries and devices, what they say of their kernels, machines without a driver, the emulated GPU."""

import ctypes.util
import json
import pathlib
import re

import numpy as np
import pytest

W = np.array([1, 2, -1, 0.5, 0.25, 3, -2, 1], np.float32)
SOURCE = pathlib.Path(__file__).parents[1] / "toy" / "scale.cu"
DRIVER = ctypes.util.find_library("cuda")
NO_DRIVER = "no NVIDIA driver is installed, which the program needs to run on a GPU (--device cpu does without)"


@pytest.fixture
def x(tmp_path):
    """Rows of x, and the flags that run on them and write y."""
    values = np.random.default_rng(0).normal(size=(21, 8)).astype(np.float32)
    np.save(tmp_path / "x.npy", values)
    return values, ["--input", f"x=@{tmp_path}/x.npy", "--output-dir", tmp_path / "out"]


def result(tmp_path):
    return np.load(tmp_path / "out" / "y.npy")


@pytest.mark.skipif(DRIVER, reason="this machine has a driver")
def test_without_a_driver(scale, x):
    for device in ([], ["--device", "cuda"], ["--device", "cuda:1"]):
        assert scale.error(*x[1], "--entry", "scale", *device) == NO_DRIVER
    # Before anything else: the archive is not looked for.
    assert scale.error(*x[1], "--entry", "scale", "--weights", "/none") == NO_DRIVER


def test_the_cpu_does_without(scale, x, tmp_path):
    scale(*x[1], "--entry", "scale", "--device", "cpu")
    assert np.array_equal(result(tmp_path), x[0] * W)
    scale(*x[1], "--entry", "negate")
    assert np.array_equal(result(tmp_path), -x[0])


def test_choosing(scale, x):
    assert scale.error(*x[1]) == "the model has several entries: choose one of scale, negate (--entry)"
    assert scale.error(*x[1], "--entry", "main") == "the model has no entry 'main' (it has scale, negate)"
    assert scale.error(*x[1], "--entry", "negate", "--device", "cuda") == (
        "'negate' was not compiled for cuda (it was for cpu)")
    assert scale.error(*x[1], "--device", "gpu") == "unknown device 'gpu' (known: cpu, cuda, cuda:N)"
    assert "--entry chooses: scale, negate" in scale.out("--help").decode()


def test_one_entry_needs_no_choice(layer, bigram):
    assert "entry:      main" in layer.out("--info").decode()
    assert "--entry chooses" not in layer.out("--help").decode()
    assert bigram.error("--generate", "a", "--device", "cuda") == "'main' was not compiled for cuda (it was for cpu)"


def test_info(scale):
    programs = scale.out("--info").decode().split("\n\n")
    assert [re.findall(r"^(?:entry|device): +(.*)", text, re.M) for text in programs] == [
        ["scale", "cuda"], ["scale", "cpu"], ["negate", "cpu"]]
    assert "code:       for sm_90a, 1 images, 16 bytes" in programs[0]
    assert "kernels:\n" not in programs[0]
    text = scale.out("--info", "--kernels", "--entry", "scale", "--device", "cuda").decode()
    assert text.endswith("kernels:\n  name                              threads  blocks/SM shared bytes  registers  cubin bytes\n"
                         "  scale                                  64          2          264          ?           16\n")
    assert scale.out("--info", "--kernels", "--entry", "negate").decode().endswith("kernels:\n  scale\n")
    assert scale.out("--info", "--device", "cpu").decode().count("model:   ") == 2
    assert scale.error("--info", "--entry", "main") == "the model has no entry 'main' (it has scale, negate)"
    assert scale.error("--info", "--entry", "negate", "--device", "cuda") == (
        "'negate' was not compiled for cuda (it was for cpu)")


def test_dump_source(scale, bigram, tmp_path):
    folder = tmp_path / "source"
    text = scale.out("--dump-source", folder, "--entry", "scale").decode()
    assert text == f"1 kernels; each .cu is compiled by NVRTC with -arch=sm_90a -std=c++17 -I{folder}\n"
    assert (folder / "scale.cu").read_bytes() == SOURCE.read_bytes()
    assert (folder / "scale.cubin").read_bytes() == b"not machine code"
    assert (folder / "device.cuh").read_bytes() == b"// the device library\n"
    assert sorted(p.name for p in folder.iterdir()) == ["device.cuh", "scale.cu", "scale.cubin"]
    assert scale.error("--dump-source", tmp_path / "a" / "b", "--entry", "scale") == (
        f"cannot make the folder '{tmp_path}/a/b': No such file or directory")
    assert scale.error("--dump-source", folder, "--entry", "scale", "--device", "cpu") == (
        "'scale' has source for its CUDA kernels only")
    assert bigram.error("--dump-source", folder) == "'main' was not compiled for cuda (it was for cpu)"


def test_random_weights(scale, x, tmp_path):
    def run(seed):
        scale(*x[1], "--entry", "scale", "--device", "cpu", "--random-weights", seed)
        return result(tmp_path)

    first = run(5)
    assert np.array_equal(first, run(5)) and not np.array_equal(first, run(6))
    w = (first / x[0])[0]
    assert np.allclose(w * 2048, np.round(w * 2048), atol=1e-3) and (np.abs(w) <= 1 / 16).all()
    assert np.array_equal(first, x[0] * (np.round(w * 2048) / 2048).astype(np.float32))
    assert scale.error("--verify-weights", "--entry", "scale", "--device", "cpu", "--random-weights", 1) == (
        "weights that are made from a seed cannot be verified")
    assert scale.error(*x[1], "--random-weights", 0).startswith("--random-weights: expected an integer in 1..")


@pytest.mark.parametrize("seed", range(1, 5))
def test_on_the_emulated_gpu(emulated, binaries, x, tmp_path, seed, monkeypatch):
    """The whole way: launcher, session, copies, map, launch, barriers."""
    monkeypatch.setenv("MOE_EMULATION_SEED", str(seed))
    trace = tmp_path / "t.json"
    emulated(*x[1], "--entry", "scale", "--weights", binaries / "scale.weights", "--trace", trace)
    assert np.array_equal(result(tmp_path), x[0] * W)
    launches = [e for e in json.loads(trace.read_text())["traceEvents"] if e.get("cat") == "launch"]
    assert [(e["name"], e["args"]["rows"], e["args"]["blocks"]) for e in launches] == [("scale", 21, 3)]


def test_benchmark_on_the_emulated_gpu(emulated):
    text = emulated.out("--benchmark", "--entry", "scale", "--size", "rows=40", "--random-weights", 1, "--repeat", 3).decode()
    assert text.startswith("scale: rows 40, 3 calls on cuda:0 (emulated), 1 threads, seed 0; "
                           "a time includes the copies of inputs and outputs\n")


def test_the_emulated_gpu_takes_any_number_of_rows(emulated, binaries, tmp_path):
    calls = []
    for rows in (1, 0, 100, 8):
        values = np.arange(rows * 8, dtype=np.float32).reshape(rows, 8)
        np.save(tmp_path / f"x{rows}.npy", values)
        np.save(tmp_path / f"y{rows}.npy", values * W)
        calls.append(f"--input x=@{tmp_path}/x{rows}.npy --expected-output y=@{tmp_path}/y{rows}.npy")
    (tmp_path / "calls").write_text("\n".join(calls))
    emulated("--calls", tmp_path / "calls", "--entry", "scale", "--weights", binaries / "scale.weights", "--rtol", 0,
             "--atol", 0)


def test_deadline(scale, emulated, binaries, x, tmp_path):
    """What ends in time is not changed by it. That it is kept is shown by the unit tests: the emulated GPU does nothing in the background."""
    emulated(*x[1], "--entry", "scale", "--weights", binaries / "scale.weights", "--deadline", "0.5")
    assert np.array_equal(result(tmp_path), x[0] * W)
    cpu = (*x[1], "--entry", "scale", "--device", "cpu")
    assert scale.error(*cpu, "--deadline", 5) == "a deadline is for runs on a GPU or of several ranks: this program is for one cpu"
    assert scale.error(*cpu, "--deadline", 0) == "--deadline: expected a number in 0.001..1e+06, got '0'"
