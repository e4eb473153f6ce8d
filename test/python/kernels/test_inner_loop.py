"""The hot loop as machine code: what the register tile is for."""

import re
import subprocess

import pytest

from compiled import BIN
from test_products import linear_text


def loops(assembly):
    """The bodies of innermost loops: from a label to a jump back to it, without another label between."""
    label, body = None, []
    for line in assembly.splitlines():
        if found := re.match(r"(\.LBB\w+):", line):
            label, body = found[1], []
            continue
        body.append(line.split("#")[0])
        if label and re.match(rf"\s+j\w+\s+{re.escape(label)}\b", line):
            yield body
            label, body = None, []


@pytest.mark.parametrize("dtype,cpu,multiply", [("bf16", "znver4", "vdpbf16ps"), ("f32", "x86-64-v4", "vfmadd231ps"),
                                                ("f32", "x86-64-v3", "vfmadd231ps")])
def test_full_tile(tmp_path, dtype, cpu, multiply):
    vectors = 2 if cpu == "x86-64-v3" else 4
    (tmp_path / "kernel.mlir").write_text(linear_text(512, 128, dtype, cpu=cpu))
    subprocess.run([BIN / "moe-opt", tmp_path / "kernel.mlir", "--kernel-set-target=target=cpu:" + cpu, "--kernel-to-runtime",
                    "-o", tmp_path / "runtime.mlir"], check=True)
    assembly = subprocess.run([BIN / "moe-translate", "--moe-to-assembly", tmp_path / "runtime.mlir"], check=True,
                              capture_output=True, text=True).stdout
    count = lambda body, pattern: sum(bool(re.search(pattern, line)) for line in body)

    def is_full_tile(body):
        steps, rest = divmod(count(body, rf"\b{multiply}\b"), 6 * vectors)
        return (steps >= 1 and rest == 0 and count(body, r"\bvp?broadcast(ss|d)\b") == 6 * steps
                # What else is there: loads of weights, and a few instructions that count.
                and len([line for line in body if line.strip()]) <= (6 * vectors + 6 + vectors) * steps + 6)

    full = [body for body in loops(assembly) if is_full_tile(body)]
    assert full, "no loop has the multiplications of six rows and little else"
    assert all(count(body, r"\(%rsp|\(%rbp\)") == 0 for body in full), "the tile does not stay in registers"


def test_matrix_registers(tmp_path):
    """Loads for four products: 4 with 2 x 2 registers of sums, in both halves of the columns; 5 with 1 x 4, and little else."""
    (tmp_path / "kernel.mlir").write_text(linear_text(2048, 128, "bf16", cpu="x86-64-v4", tile_rows=32))
    subprocess.run([BIN / "moe-opt", tmp_path / "kernel.mlir", "--kernel-set-target=target=cpu:sapphirerapids", "--kernel-to-runtime",
                    "-o", tmp_path / "runtime.mlir"], check=True)
    assembly = subprocess.run([BIN / "moe-translate", "--moe-to-assembly", tmp_path / "runtime.mlir"], check=True,
                              capture_output=True, text=True).stdout
    found = []
    for stretch in re.split(r"^\.LBB", assembly, flags=re.MULTILINE):
        products, loads = stretch.count("tdpbf16ps"), stretch.count("tileloadd")
        if products:
            found.append(4 * loads / products)
            assert stretch.count("\n") - stretch.count("prefetch") <= 8 * products
    assert sorted(found) == [4, 4, 5]
    assert assembly.count("tilerelease") == 1
