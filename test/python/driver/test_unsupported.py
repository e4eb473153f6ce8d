"""What docs/Features.md says is not supported: one message that names it, the exit code, nothing written."""

import json

from compiling import compile_model, expect_error, files, pack, refuse

PRODUCT = """module attributes {moe.level = "graph"} {
  func.func @main(%x: tensor<?x4xf32> {moe.name = "x", moe.dims = ["rows", ""]})
      -> (tensor<?x4xf32> {moe.name = "y", moe.dims = ["rows", ""]}) {
    %w = moe.parameter ["w"] : tensor<4x4xf32>
    %y = nn.linear %x, %w : tensor<?x4xf32>, tensor<4x4xf32> -> tensor<?x4xf32>
    return %y : tensor<?x4xf32>
  }
}
"""

NODE = "program.graph_module.graph.nodes.1"


def test_dropout_of_training(tmp_path):
    inputs = [{"name": "input", "arg": {"as_tensor": {"name": "linear"}}, "kind": 1},
              {"name": "p", "arg": {"as_float": 0.5}, "kind": 1}, {"name": "train", "arg": {"as_bool": True}, "kind": 1}]
    source = pack(tmp_path / "a.pt2", "tiny.json", "set", f"{NODE}.target", '"torch.ops.aten.dropout.default"',
                  "set", f"{NODE}.inputs", json.dumps(inputs))
    printed = refuse(source, 2, "1 call(s) of 1 operator(s) are not supported; see docs/Ops.md for what is")
    assert "note: model.py:8 (sum): aten.dropout.default (1): this form of the operator\n" in printed


def test_weights_that_are_no_pt2(tmp_path):
    weights = tmp_path / "w.gguf"
    weights.write_bytes(b"GGUF" + bytes(64))
    (tmp_path / "a.mlir").write_text(PRODUCT)
    before = files(tmp_path)
    process = compile_model(tmp_path / "a.mlir", "--weights", weights, "-o", tmp_path / "a", "--progress=none")
    expect_error(process, 1, f"{weights}: not a .pt2 file (it does not start like a zip archive)")
    assert files(tmp_path) == before


KERNEL_LEVEL = """module attributes {moe.level = "kernel", kernel.target = TARGET} {
  kernel.func @count(%n: memref<1xindex>) {
    kernel.return
  }
  func.func @main(%counts: memref<1xindex>, %m: memref<?xf32>) -> memref<?x2xf32> {
    %c0 = arith.constant 0 : index
    %size = memref.dim %m, %c0 : memref<?xf32>
    %y = memref.alloc(%size) : memref<?xf32>
    kernel.launch @count(%counts) rows(%c0) work(%c0) : memref<1xindex>
    %n = memref.load %counts[%c0] : memref<1xindex>
    %z = memref.expand_shape %y [[0, 1]] output_shape [%n, 2] : memref<?xf32> into memref<?x2xf32>
    return %z : memref<?x2xf32>
  }
}
"""


def test_a_conversion_that_stops_in_its_middle(tmp_path):
    """It leaves IR that no verifier takes. The fault is what it has said, and none of the compiler."""
    import re
    import subprocess
    empty = subprocess.run(["moe-opt", "--kernel-set-target=target=cpu:x86-64-v3"], input="module {}", capture_output=True, text=True, check=True)
    (tmp_path / "a.mlir").write_text(KERNEL_LEVEL.replace("TARGET", re.search(r"#x86\.target<.*?>", empty.stdout)[0]))
    before = files(tmp_path)
    done = compile_model(tmp_path / "a.mlir", "-o", tmp_path / "a", "--progress=none")
    assert done.returncode == 2 and "has a size that depends on another buffer's content" in done.stderr
    assert "internal error" not in done.stderr and files(tmp_path) == before
