"""Signals during a compilation: 128 and the signal's number as exit code, one line, nothing left behind."""

import fcntl
import os
import signal
import subprocess
import termios
import time
from array import array

import numpy as np
import pytest
from safetensors.numpy import save_file

from compiling import TOOL, files

from moe_mlir.testing.full import sample

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGXCPU]


def graph(products):
    """A program of many different products, so that its machine code takes seconds."""
    arguments = ", ".join(f'%w{i}: tensor<{64 + i}x32xf32> {{moe.name = "w{i}"}}' for i in range(products))
    results = ", ".join(f'tensor<?x{64 + i}xf32> {{moe.name = "y{i}"}}' for i in range(products))
    body = "\n".join(f"    %y{i} = nn.linear %x, %w{i} : tensor<?x32xf32>, tensor<{64 + i}x32xf32> -> tensor<?x{64 + i}xf32>"
                     for i in range(products))
    values = ", ".join(f"%y{i}" for i in range(products))
    types = ", ".join(f"tensor<?x{64 + i}xf32>" for i in range(products))
    return (f'module attributes {{moe.level = "graph"}} {{\n'
            f'  func.func @main(%x: tensor<?x32xf32> {{moe.name = "x"}}, {arguments}) -> ({results}) {{\n'
            f"{body}\n    return {values} : {types}\n  }}\n}}\n")


@pytest.fixture
def source(tmp_path):
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / "a.mlir"
    path.write_text(graph(48))
    return path


def unread(pipe):
    """Bytes in a pipe."""
    count = array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return count[0]


def start(*arguments):
    # A terminal's Ctrl-C reaches processes that have the default handler, whatever started the tests.
    return subprocess.Popen([TOOL, *map(str, arguments)], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            preexec_fn=lambda: [signal.signal(number, signal.SIG_DFL) for number in SIGNALS])


def interrupt(process, number=signal.SIGINT):
    assert process.poll() is None, "it ended before the signal"
    process.send_signal(number)
    process.wait(timeout=60)  # before its pipes are read: a reader lets it go on and end before it hears the signal
    _, errors = process.communicate()
    assert process.returncode == 128 + number, errors
    what = "interrupted" if number == signal.SIGINT else f"ended by {number.name}"
    assert errors.strip().splitlines()[-1] == f"moe-compile: {what}; no output was written"
    assert "error:" not in errors and "note:" not in errors


@pytest.fixture(autouse=True)
def everything_is_compiled(monkeypatch):
    """Machine code that is taken from an earlier test's would leave no time."""
    monkeypatch.setenv("MOE_CACHE_DIR", "")


def await_code(process):
    for line in process.stderr:
        if "lower to runtime" in line:
            return


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGQUIT])
def test_while_code_is_generated(source, tmp_path, number, monkeypatch):
    """Nor is anything left where temporary files go, as after a crash."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    process = start(source, "-o", tmp_path / "b", "--progress=plain")
    await_code(process)
    interrupt(process, number)
    assert files(tmp_path) == ["in", "in/a.mlir", "tmp"]


def test_crash(source, tmp_path, monkeypatch):
    """A signal of the processor is a fault of the compiler: it leaves a report, and still no output."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    process = start(source, "-o", tmp_path / "b", "--progress=plain")
    while not list(tmp_path.glob(".moe-compile-*")):
        assert process.poll() is None
        time.sleep(1e-3)
    time.sleep(0.05)  # a crash does not wait, as an interrupt does, for a folder that is just being made to be noted
    process.send_signal(signal.SIGSEGV)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 70 and "internal error: the compiler crashed" in errors
    assert len(files(tmp_path / "tmp")) == 1 and [name for name in files(tmp_path) if not name.startswith("tmp")] == ["in", "in/a.mlir"]


@pytest.mark.parametrize("size", sample([0, 1 << 16], 1))
def test_weights_that_become_shorter(tmp_path, size, monkeypatch):
    """They are mapped: the signal of the processor is an error of the file, which leaves no report of a crash."""
    for name in ("in", "tmp"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    text = graph(16).replace(") -> (", ') -> (tensor<4096x64xf32> {moe.name = "z"}, ')
    text = text.replace("    return ", '    %z = moe.parameter ["w"] : tensor<4096x64xf32>\n    return %z, ')
    text = text.replace(" : tensor<?x64xf32>, tensor<?x65xf32>,", " : tensor<4096x64xf32>, tensor<?x64xf32>, tensor<?x65xf32>,")
    (tmp_path / "in" / "a.mlir").write_text(text)
    weights = tmp_path / "in" / "w.safetensors"
    save_file({"w": np.zeros((4096, 64), np.float32)}, weights)
    process = start(tmp_path / "in" / "a.mlir", f"--weights={weights}", "-o", tmp_path / "b", "--progress=plain")
    await_code(process)
    os.truncate(weights, size)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1, errors
    assert errors.strip().splitlines()[-1].startswith("moe-compile: error: a file that is mapped cannot be read or written")
    assert "internal" not in errors and files(tmp_path) == ["in", "in/a.mlir", "in/w.safetensors", "tmp"]


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGQUIT])
def test_ignored(tmp_path, number):
    """With nohup, and for the background jobs of a script, these signals are none."""
    done = subprocess.Popen([TOOL, "-", "--from=graph", "--to=graph", "-o", tmp_path / "b.mlir", "-q"], stdin=subprocess.PIPE, text=True,
                            stderr=subprocess.PIPE, preexec_fn=lambda: signal.signal(number, signal.SIG_IGN))
    half = len(text := graph(2)) // 2
    done.stdin.write(text[:half])
    done.stdin.flush()
    # It is reading, and so past the place where signals are taken over, once the pipe is empty.
    while unread(done.stdin):
        assert done.poll() is None
        time.sleep(1e-3)
    done.send_signal(number)
    _, errors = done.communicate(text[half:], timeout=60)
    assert (done.returncode, errors) == (0, "") and files(tmp_path) == ["b.mlir"]


@pytest.mark.parametrize("number", SIGNALS)
def test_while_the_input_is_read(tmp_path, number):
    process = start("-", "--from=graph", "-o", tmp_path / "b")
    process.stdin.write("// more than a pipe holds, so that it has begun to read\n" * 10000)
    interrupt(process, number)
    assert files(tmp_path) == []


def test_a_crash_while_the_input_is_read(tmp_path, monkeypatch):
    """There is no IR to write: the message says what to report instead."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    process = start("-", "--from=graph", "-o", tmp_path / "b")
    process.stdin.write("// more than a pipe holds, so that it has begun to read\n" * 10000)
    process.send_signal(signal.SIGSEGV)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 70 and errors.rstrip().splitlines()[-2:] == [
        "moe-compile: internal error: the compiler crashed; this is a fault of the compiler, not of the model",
        "  note: there was no IR yet; please report the input and the command line"]
    assert files(tmp_path) == []


def test_while_a_level_is_printed(source, tmp_path):
    """A pipe that nobody reads stops the compiler where it writes."""
    process = subprocess.Popen([TOOL, source, "--to=kernel", "-o", "-", "--progress=plain", f"--dump-intermediates={tmp_path / 'ir'}"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, 1 << 12)  # far less than it has to write, however large pipes are here
    while unread(process.stdout) < 1 << 11:
        assert process.poll() is None
        time.sleep(1e-3)
    interrupt(process)
    assert files(tmp_path) == ["in", "in/a.mlir", "ir", "ir/0_graph.mlir", "ir/1_spmd.mlir", "ir/2_scheduled.mlir",
                               "ir/3_kernel.mlir"]


def test_when_the_output_is_there(source, tmp_path):
    """Work that is done is not interrupted any more, while the compiler takes apart what it holds."""
    process = start(source, "-o", tmp_path / "b", "-q")
    while not (tmp_path / "b").exists():
        assert process.poll() is None
        time.sleep(1e-3)
    while process.poll() is None:
        for number in SIGNALS:
            process.send_signal(number)
        time.sleep(1e-3)  # or it does little else than to take signals
    assert (process.returncode, process.communicate()[1]) == (0, "")
    assert files(tmp_path) == ["b", "b.weights", "in", "in/a.mlir"]
