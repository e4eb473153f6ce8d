"""Compiled programs and the archives they are started with: the compiler's writer against the runtime's reader."""

import shutil
import subprocess

import numpy as np
import pytest

from compiling import compile_model, files, pack

WEIGHT = np.arange(1, 7, dtype=np.float32)  # proj.weight [3, 2]; its bytes are looked for in the archive
X = np.array([[1, 2], [3, 4]], np.float32)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Folder with a program and its weights, and an archive of other weights in `other`."""
    folder = tmp_path_factory.mktemp("built")
    (folder / "other").mkdir()
    for place, weight in ((folder, WEIGHT), (folder / "other", -WEIGHT)):
        source = pack(place / "a.pt2", "tiny.json", "set", "data", '{"proj.weight": "%s", "one": "0000803f"}' % weight.tobytes().hex(),
                      "set", "program.graph_module.graph.nodes.1.inputs.2.arg.as_float", "1.0")
        process = compile_model(source, "-o", place / "a", "-q")
        assert process.returncode == 0, process.stderr
    np.save(folder / "x.npy", X)
    return folder


@pytest.fixture
def program(built, tmp_path):
    """Function: runs a copy of the program with more flags."""
    shutil.copy(built / "a", tmp_path)
    shutil.copy(built / "a.weights", tmp_path)

    def run(*flags):
        command = [tmp_path / "a", "--input", f"x=@{built / 'x.npy'}", "--output-dir", tmp_path / "out", *flags]
        return subprocess.run(list(map(str, command)), capture_output=True, text=True)

    run.weights = tmp_path / "a.weights"
    return run


def refuse(process, *texts):
    assert process.returncode == 1, process.stderr
    assert len(process.stderr.splitlines()) == 1, process.stderr
    assert all(text in process.stderr for text in texts), process.stderr


def test_right_weights(program, tmp_path):
    process = program("--verify-weights")
    assert process.returncode == 0, process.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "sum.npy"), X @ WEIGHT.reshape(3, 2).T + 1)


def test_missing(program, tmp_path):
    program.weights.unlink()
    refuse(program(), f"cannot open weights '{program.weights}'", "No such file or directory")
    assert files(tmp_path) == ["a"]


def test_of_another_model(program, built, tmp_path):
    """Same graph, other weights: another build."""
    shutil.copy(built / "other" / "a.weights", program.weights)
    refuse(program(), f"weights '{program.weights}' belong to another build: ", "this program needs ")
    assert files(tmp_path) == ["a", "a.weights"]


@pytest.mark.parametrize("name,flags,text", [
    ("header", [], "are damaged: the header's checksum differs"),
    ("table", [], "are damaged: the table's checksum differs"),
    ("length", [], "bytes long instead of"),
    ("data", ["--verify-weights"], "another checksum")])
def test_damaged(name, flags, text, program, tmp_path):
    content = bytearray(program.weights.read_bytes())
    data = content.index(np.float32(WEIGHT[-1]).tobytes())
    if name == "length":
        del content[-1]
    else:
        content[{"header": 40, "table": len(content) - 1, "data": data}[name]] ^= 1
    program.weights.write_bytes(content)
    refuse(program(*flags), f"weights '{program.weights}'", text)
    assert files(tmp_path) == ["a", "a.weights"]


def test_damaged_data_is_found_on_request_only(program):
    """What the start costs does not depend on the weights' size."""
    content = bytearray(program.weights.read_bytes())
    content[content.index(np.float32(WEIGHT[-1]).tobytes())] ^= 1
    program.weights.write_bytes(content)
    assert program().returncode == 0
