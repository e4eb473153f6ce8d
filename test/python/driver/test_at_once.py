"""Several compilations to one output at once, and compilers that are killed: what stands there in the end fits together."""

import fcntl
import os
import signal
import subprocess
import time

import numpy as np
import pytest

from compiling import TOOL, compile_model, files, pack

X = np.array([[1, 2], [3, 4]], np.float32)


def model(path, value):
    """x @ w.T + 1 with a weight full of `value`."""
    return pack(path, "tiny.json", "set", "data", '{"proj.weight": "%s", "one": "0000803f"}' % np.full(6, value, np.float32).tobytes().hex(),
                "set", "program.graph_module.graph.nodes.1.inputs.2.arg.as_float", "1.0")


def result(program, folder):
    """What the program computes; it refuses to start with weights that are not its own."""
    np.save(folder / "x.npy", X)
    process = subprocess.run([program, "--verify-weights", "--input", f"x=@{folder}/x.npy", "--output-dir", folder], capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    return np.load(folder / "sum.npy")


def test_two_models_to_one_output(tmp_path):
    """Program and weights come from the same one of the two, whichever was later."""
    sources = [model(tmp_path / f"{value}.pt2", value) for value in (2, 3)]
    (tmp_path / "out").mkdir()
    (tmp_path / "results").mkdir()
    for _ in range(4):
        running = [subprocess.Popen([TOOL, source, "-o", tmp_path / "out" / "b", "-q"]) for source in sources]
        assert [process.wait(timeout=120) for process in running] == [0, 0]
        assert files(tmp_path / "out") == ["b", "b.weights"]
        got = result(tmp_path / "out" / "b", tmp_path / "results")
        assert any(np.array_equal(got, np.repeat(X.sum(1, keepdims=True) * value + 1, 3, 1)) for value in (2, 3))


def test_the_folder_is_locked_while_files_are_moved(tmp_path):
    """Whoever else holds the lock is waited for, but not for ever."""
    source = model(tmp_path / "a.pt2", 2)
    folder = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    process = subprocess.Popen([TOOL, source, "-o", tmp_path / "b", "--progress=plain"], stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if "pack weights" in line:
            break
    time.sleep(0.5)
    assert process.poll() is None and not (tmp_path / "b").exists()
    fcntl.flock(folder, fcntl.LOCK_UN)
    assert process.wait(timeout=60) == 0
    assert files(tmp_path) == ["a.pt2", "b", "b.weights"]
    fcntl.flock(folder, fcntl.LOCK_EX)
    assert compile_model(source, "-o", tmp_path / "b", "-q").returncode == 0
    os.close(folder)


@pytest.mark.parametrize("phase", ["lower to kernel", "generate machine code"])
def test_killed(phase, tmp_path):
    """SIGKILL cannot be handled: a hidden folder may stay, nothing has a final name, and the next compiler is not disturbed."""
    source = model(tmp_path / "a.pt2", 2)
    process = subprocess.Popen([TOOL, source, "-o", tmp_path / "b", "--progress=plain"], stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if phase in line:
            break
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert [name for name in files(tmp_path) if not name.startswith(".moe-compile-")] == ["a.pt2"]
    assert compile_model(source, "-o", tmp_path / "b", "-q").returncode == 0
    result(tmp_path / "b", tmp_path)
