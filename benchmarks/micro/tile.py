#!/usr/bin/env python3
"""GFLOP/s of the generated register tile, and its bandwidth at few rows, on one thread.

    benchmarks/micro/tile.py [--dtype bf16] [--k 2048] [--n 1536] [--copies 64] [--cpu native] [--asm FILE]

--copies: how many weights of that size take turns; enough of them leave the cache (64 x 6 MB in bf16), one stays in it.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "python" / "kernels"))
from test_products import linear_text  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dtype", default="bf16", choices=["f32", "bf16"])
    parser.add_argument("--k", type=int, default=2048)
    parser.add_argument("--n", type=int, default=1536)
    parser.add_argument("--copies", type=int, default=64)
    parser.add_argument("--cpu", default="native")
    parser.add_argument("--asm", help="also write the kernel's assembly there")
    args = parser.parse_args()
    tools = Path(os.environ.get("MOE_BUILD_DIR", ROOT / "build")) / "bin"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "kernel.mlir").write_text(linear_text(args.k, args.n, args.dtype, cpu=args.cpu))
        subprocess.run([tools / "moe-opt", folder / "kernel.mlir", "--kernel-set-target=target=cpu:" + args.cpu,
                        "--kernel-to-runtime", "-o", folder / "runtime.mlir"], check=True)
        translate = [tools / "moe-translate", folder / "runtime.mlir"]
        if args.asm:
            subprocess.run([*translate, "--moe-to-assembly", "-o", args.asm], check=True)
        subprocess.run([*translate, "--moe-to-object", "-o", folder / "model.o"], check=True)
        subprocess.run([os.environ.get("MOE_CLANG", "clang-22"), "-O2", f"-I{ROOT}/runtime/include",
                        Path(__file__).with_name("tile.c"), folder / "model.o", "-lm", "-o", folder / "tile"],
                       check=True)
        subprocess.run([folder / "tile", str(args.k), str(args.n), "4" if args.dtype == "f32" else "2",
                        str(args.copies)], check=True)


if __name__ == "__main__":
    main()
