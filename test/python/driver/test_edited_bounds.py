"""Level kernel, edited so that an access leaves a buffer whose size its type says: each kind of access, at each dimension, for a CPU and
for a GPU, is refused at its line. Nothing that the compiler wrote itself is."""

import re

import pytest

from moe_mlir.testing.compiling import export_model
from moe_mlir.testing.models import tiny_model

from compiling import INPUTS, compile_model

LAYER = INPUTS.parents[1] / "Tools/moe-compile/cuda-levels.mlir"
PLAIN = re.compile(r"memref\.(?:load|store) .*?%\w+\[(?P<indices>[^]]*)\] : memref<(?P<type>[^>]*)>")
PRODUCT = re.compile(r"kernel\.mma %\w+, %\w+\[[^]]*\], %\w+\[(?P<indices>[^]]*)\].*, memref<(?P<type>[^>]*)>")


@pytest.fixture(scope="module", params=["cpu", "cuda:sm_90a"])
def kernels(request, tmp_path_factory):
    """Level kernel of a whole model for a CPU, and of a layer for a GPU."""
    folder = tmp_path_factory.mktemp("kernels")
    source = export_model(tiny_model("mixtral"), folder / "model.pt2") if request.param == "cpu" else LAYER
    done = compile_model(source, "--to=kernel", "-o", folder / "kernel.mlir", *([] if request.param == "cpu" else ["--target=" + request.param]))
    assert done.returncode == 0, done.stderr
    return (folder / "kernel.mlir").read_text()


def edits(text):
    """For each access of a kind, type and index: its line, the kind, and the text with a constant in the index's place that is one too large."""
    lines, seen = text.splitlines(), set()
    for number, line in enumerate(lines):
        for kind, pattern in (("plain", PLAIN), ("product", PRODUCT)):
            if not (match := pattern.search(line)):
                continue
            sizes = match["type"].split("x")[:-1]
            depth = int(sizes[-1]) if kind == "product" and len(sizes) > match["indices"].count(",") + 1 else 1
            for place, index in enumerate(indices := match["indices"].split(", ")):
                k = kind == "product" and place == len(indices) - 2
                if place >= len(sizes) or sizes[place] == "?" or not index or (line.split()[0] if kind == "plain" else kind, match["type"], place) in seen:
                    continue
                seen.add((line.split()[0] if kind == "plain" else kind, match["type"], place))
                constant = f"%beyond = arith.constant {int(sizes[place]) * (depth if k else 1)} : index"
                changed = line[: match.start("indices")] + ", ".join([*indices[:place], "%beyond", *indices[place + 1 :]]) + line[match.end("indices") :]
                if k:  # both operands of a product step over the same one
                    changed = re.sub(re.escape(index) + r"\b", "%beyond", line)
                yield number + 2, kind, "\n".join([*lines[:number], constant, changed, *lines[number + 1 :]])


def test_every_access(kernels, tmp_path):
    source, kinds, passed = tmp_path / "edited.mlir", set(), []
    for line, kind, text in edits(kernels):
        source.write_text(text)
        done = compile_model(source, "--to=runtime", "-o", tmp_path / "runtime.mlir", "-q")
        kinds.add(kind)
        if done.returncode != 1 or f"edited.mlir:{line}:" not in done.stderr or "reaches element" not in done.stderr:
            passed.append(f"{text.splitlines()[line - 2 : line]}: {done.returncode} {done.stderr[:300]}")
    assert not passed, "\n".join(passed)
    assert kinds == {"plain", "product"} if "x86" in kernels else kinds == {"product"}


def test_nothing_else(kernels, tmp_path):
    (tmp_path / "kernel.mlir").write_text(kernels)
    done = compile_model(tmp_path / "kernel.mlir", "--to=runtime", "-o", tmp_path / "runtime.mlir")
    assert done.returncode == 0, done.stderr
