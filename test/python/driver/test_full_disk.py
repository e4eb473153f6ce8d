"""Tools whose output cannot be written: one line that says so and exit code 1, where LLVM would call it its own crash."""

import subprocess

import pytest

from compiling import files, limit_file_size

TOOLS = ["moe-compile", "moe-opt", "moe-translate", "moe-lsp-server", "moe-sim"]
TEXT = "module {\n" + "".join(f"  func.func private @a_function_with_a_long_name_{i}()\n" for i in range(100)) + "}\n"


def expect_line(process, tool, why):
    assert (process.returncode, process.stderr) == (1, f"{tool}: error: cannot write the output: {why}\n")


@pytest.mark.parametrize("flag", ["--help", "--version"])
@pytest.mark.parametrize("tool", TOOLS)
def test_help(tool, flag):
    with open("/dev/full", "w") as full:
        process = subprocess.run([tool, flag], stdout=full, stderr=subprocess.PIPE, text=True)
    expect_line(process, tool, "No space left on device")


@pytest.mark.parametrize("command", [["moe-opt"], ["moe-opt", "--canonicalize", "-o", "/dev/full"],
                                     ["moe-translate", "--mlir-to-cpp"], ["moe-translate", "--mlir-to-cpp", "-o", "/dev/full"]])
def test_text(command, tmp_path):
    (tmp_path / "a.mlir").write_text(TEXT if command[0] == "moe-opt" else "module {\n" + '  emitc.verbatim "long"\n' * 200 + "}\n")
    with open("/dev/full", "w") as full:
        process = subprocess.run([*command, tmp_path / "a.mlir"], stdout=full, stderr=subprocess.PIPE, text=True)
    expect_line(process, command[0], "No space left on device")


def test_no_partial_file(tmp_path):
    (tmp_path / "a.mlir").write_text(TEXT)
    process = subprocess.run(["moe-opt", "a.mlir", "-o", "b.mlir"], cwd=tmp_path, stderr=subprocess.PIPE, text=True, preexec_fn=limit_file_size(512))
    expect_line(process, "moe-opt", "File too large")
    assert files(tmp_path) == ["a.mlir"]
