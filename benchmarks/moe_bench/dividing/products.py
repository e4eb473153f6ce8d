"""How fast products are that moe-compile makes: one linear layer in a program of its own."""

import json
import statistics
import tempfile

from ..artifacts import Artifacts, compile_command, run
from ..errors import BenchError

# As many rows as a short prefill has, and a weight that the second-level cache does not hold.
ROWS, WIDTH, REPEAT = 512, 1024, 40
TYPES = {"bfloat16": "bf16", "float32": "f32"}
MODULE = """module attributes {{moe.level = "graph"}} {{
  func.func @main(%x: tensor<?x{n}x{t}> {{moe.name = "x"}}) -> (tensor<?x{n}x{t}> {{moe.name = "y"}}) {{
    %w = moe.parameter ["w"] : tensor<{n}x{n}x{t}>
    %y = nn.linear %x, %w : tensor<?x{n}x{t}>, tensor<{n}x{n}x{t}> -> tensor<?x{n}x{t}>
    return %y : tensor<?x{n}x{t}>
  }}
}}
"""


class Products(Artifacts):
    """Programs of one product each."""

    def program(self, dtype):
        target = self.folder / "products" / dtype / "product"
        text = MODULE.format(n=WIDTH, t=TYPES[dtype])

        def make():
            module = target.with_suffix(".mlir")
            module.write_text(text)
            run([*compile_command(self.compiler, module, target, "exe"), "--weights=none", "-q"])

        self.make(target, text + self.compiler_digest(), f"compile a product in {dtype}", make)
        return target

    def rate(self, dtype, threads):
        """Floating-point operations per second of so many threads, each on a core of its own, at the median of the calls."""
        with tempfile.TemporaryDirectory() as folder:
            samples = f"{folder}/samples"
            flags = ["--threads", str(threads), "--pin", "--size", f"x.0={ROWS}", "--random-weights", "1", "--repeat", str(REPEAT)]
            run([str(self.program(dtype)), "--benchmark", *flags, "--samples", samples])
            with open(samples) as lines:
                times = [json.loads(line)["call_ns"] * 1e-9 for line in lines]
        if len(times) != REPEAT:
            raise BenchError(f"a product in {dtype} was to be measured {REPEAT} times, not {len(times)}", 70)
        return 2 * ROWS * WIDTH * WIDTH / statistics.median(times)
