"""The time that a large body of scalar ops takes grows with its size."""

import subprocess
import time

from graph import BIN


def write(count, file):
    body = "\n".join(f"%c{i + 1} = arith.addf %c{i}, %c{i} : f32" for i in range(count))
    file.write_text(f"""module attributes {{moe.level = "graph"}} {{
      func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {{
        %z = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}}
            ins(%x : tensor<4x4xf32>) outs(%x : tensor<4x4xf32>) {{
        ^bb0(%c0: f32, %old: f32):
          {body}
          linalg.yield %c{count} : f32
        }} -> tensor<4x4xf32>
        return %z : tensor<4x4xf32>
      }}
    }}""")


def seconds(count, folder):
    write(count, folder / "a.mlir")
    start = time.monotonic()
    subprocess.run([BIN / "moe-compile", folder / "a.mlir", "-o", folder / "a", "-q"], check=True, timeout=120)
    return time.monotonic() - start


def test_ten_thousand_operations(tmp_path):
    # It was the square of the number: half a minute, beside half a second for a tenth.
    assert seconds(10000, tmp_path) < 10 * max(seconds(1000, tmp_path), 0.5)
