"""Ctrl-C during a compilation: exit code 130, one line, nothing left behind."""

import os
import signal
import subprocess

import pytest

from compiling import TOOL, files

INTERRUPTED = "moe-compile: interrupted; nothing was written"


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


def start(*arguments):
    # A terminal's Ctrl-C reaches processes that have the default handler, whatever started the tests.
    return subprocess.Popen([TOOL, *map(str, arguments)], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))


def interrupt(process, number=signal.SIGINT):
    assert process.poll() is None, "it ended before the signal"
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert errors.strip().splitlines()[-1] == INTERRUPTED
    assert "error:" not in errors


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_while_code_is_generated(source, tmp_path, number):
    process = start(source, "-o", tmp_path / "b", "--progress=plain")
    for line in process.stderr:
        if "lower to runtime" in line:
            break
    interrupt(process, number)
    assert files(tmp_path) == ["in", "in/a.mlir"]


def test_while_the_input_is_read(tmp_path):
    process = start("-", "--from=graph", "-o", tmp_path / "b")
    process.stdin.write("// more than a pipe holds, so that it has begun to read\n" * 10000)
    interrupt(process)
    assert files(tmp_path) == []


def test_while_a_level_is_written(source, tmp_path):
    """A pipe that nobody reads stops the compiler where it writes the level."""
    (tmp_path / "ir").mkdir()
    os.mkfifo(tmp_path / "ir" / "3_kernel.mlir")
    process = start(source, "-o", tmp_path / "b", "--progress=plain", f"--dump-intermediates={tmp_path / 'ir'}")
    for line in process.stderr:
        if "lower to kernel" in line:
            break
    interrupt(process)
    assert files(tmp_path) == ["in", "in/a.mlir", "ir", "ir/0_graph.mlir", "ir/1_spmd.mlir", "ir/2_scheduled.mlir",
                               "ir/3_kernel.mlir"]
