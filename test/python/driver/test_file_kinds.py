"""Whatever takes a file refuses, at once and in one line, what is none: folders, pipes, sockets, devices."""

import os
import re
import socket
import stat

import numpy as np
import pytest
from safetensors.numpy import save_file

from compiling import compile_model, expect_error, files

SECONDS = 20  # what waits for the other end of a pipe waits for ever

LAYER = """module attributes {moe.level = "graph"} {
  func.func @main(%x: tensor<?x4xf32> {moe.name = "x"}) -> (tensor<?x4xf32> {moe.name = "y"}) {
    %w = moe.parameter ["w"] : tensor<4x4xf32>
    %y = nn.linear %x, %w : tensor<?x4xf32>, tensor<4x4xf32> -> tensor<?x4xf32>
    return %y : tensor<?x4xf32>
  }
}
"""

# Flag -> (name that what is no file gets, arguments).
PLACES = {
    "model": ("bad.pt2", ["bad.pt2", "-o", "b"]),
    "model of any name": ("bad", ["bad", "-o", "b"]),
    "module": ("bad.mlir", ["bad.mlir", "-o", "b"]),
    "module to be printed": ("bad.mlir", ["bad.mlir", "--to=graph"]),
    "weights": ("bad.safetensors", ["m.mlir", "--weights=bad.safetensors", "-o", "b"]),
    "weights of a level": ("bad.safetensors", ["m.mlir", "--weights=bad.safetensors", "--to=graph", "-o", "b"]),
    "weights of a .pt2": ("bad.pt2", ["m.mlir", "--weights=bad.pt2", "-o", "b"]),
    "weights of any name": ("bad", ["m.mlir", "--weights=bad", "-o", "b"]),
    "named weights": ("bad.safetensors", ["named.mlir", "-o", "b"]),
    "program": ("bad", ["m.mlir", "--weights=w.safetensors", "-o", "bad"]),
    "archive": ("b.weights", ["m.mlir", "--weights=w.safetensors", "-o", "b"]),
    "object": ("b.o", ["m.mlir", "--weights=w.safetensors", "--emit=obj", "-o", "b.o"]),
    "library": ("b.so", ["m.mlir", "--weights=w.safetensors", "--emit=lib", "-o", "b.so"]),
    "IR": ("bad", ["m.mlir", "--to=graph", "-o", "bad"]),
    "cluster": ("bad.json", ["m.mlir", "--weights=w.safetensors", "--parallel=ep=2", "--cluster=bad.json", "-o", "b"]),
    "order of experts": ("bad.json", ["m.mlir", "--weights=w.safetensors", "--parallel=ep=1,experts=bad.json", "-o", "b"]),
    "report": ("bad", ["m.mlir", "--weights=w.safetensors", "-o", "b", "--report=bad"]),
    "folder of dumps": ("bad", ["m.mlir", "--weights=w.safetensors", "-o", "b", "--dump-intermediates=bad"]),
    "folder above the dumps": ("bad", ["m.mlir", "--weights=w.safetensors", "-o", "b", "--dump-intermediates=bad/ir"]),
    "dump": ("ir/3_kernel.mlir", ["m.mlir", "--weights=w.safetensors", "-o", "b", "--dump-intermediates=ir"]),
}
KINDS = ["folder", "pipe", "socket", "device"]
# Where a folder is what is wanted, and texts that a device takes.
ALLOWED = {("folder of dumps", "folder"), ("folder above the dumps", "folder"), ("IR", "device"), ("report", "device")}


def make(kind, path):
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        os.mknod(path, stat.S_IFSOCK | 0o600) if len(str(path)) > 100 else socket.socket(socket.AF_UNIX).bind(str(path))


def test_every_option_that_takes_a_file_is_tested():
    """As --help says it: by what the option takes, or in its text."""
    text = compile_model("--help").stdout
    options = re.findall(r"^  (--?[a-z-]+?)(?:\[?[= ]<(\S+)>\]?)? +- (.*)", text, re.M)
    takers = {option for option, value, words in options if value in ("file", "folder") or re.search(r"\bFILE\b|\ba file\b", words)}
    assert takers == {"-o", "--cluster", "--dump-intermediates", "--parallel", "--report", "--weights"}
    tested = " ".join(argument for _, arguments in PLACES.values() for argument in arguments)
    assert {option for option in takers if not re.search(rf"(^| ){option}\b\S*[ =]\S*bad", tested)} == set()


@pytest.mark.parametrize("place,kind", [(place, kind) for place in PLACES for kind in KINDS if (place, kind) not in ALLOWED])
def test_no_file(place, kind, tmp_path):
    name, arguments = PLACES[place]
    (tmp_path / "ir").mkdir()
    (tmp_path / "m.mlir").write_text(LAYER)
    (tmp_path / "named.mlir").write_text(LAYER.replace('"graph"', '"graph", moe.weights = {source = "bad.safetensors"}'))
    save_file({"w": np.ones((4, 4), np.float32)}, tmp_path / "w.safetensors")
    make(kind, tmp_path / name)
    before = files(tmp_path)
    done = compile_model(*arguments, "--progress=none", cwd=tmp_path, timeout=SECONDS)
    expect_error(done, 1, name)
    assert done.stderr.count("\n") <= 1 + ("named" in place)
    if place.startswith(("model", "module", "weights", "named")):
        assert f"is a {kind}" in done.stderr
    assert files(tmp_path) == before and done.stdout == ""


@pytest.mark.parametrize("place,kind", sorted(ALLOWED))
def test_allowed(place, kind, tmp_path):
    (tmp_path / "m.mlir").write_text(LAYER)
    save_file({"w": np.ones((4, 4), np.float32)}, tmp_path / "w.safetensors")
    name, arguments = PLACES[place]
    if kind == "device":
        (tmp_path / name).symlink_to("/dev/null")
    else:
        make(kind, tmp_path / name)
    done = compile_model(*arguments, "--progress=none", cwd=tmp_path, timeout=SECONDS)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_process_may_read_the_report(tmp_path):
    """As with >(...) of a shell: a pipe that is open already is a stream like standard output."""
    (tmp_path / "m.mlir").write_text(LAYER)
    reading, writing = os.pipe()
    done = compile_model("m.mlir", "--to=kernel", "-o", "k.mlir", f"--report=/dev/fd/{writing}", "-q", cwd=tmp_path, pass_fds=[writing])
    os.close(writing)
    with os.fdopen(reading) as stream:
        assert "\ntotal" in stream.read()
    assert done.returncode == 0, done.stderr
