"""Level runtime, edited: no arrow begins at the last level, so what it must keep to is checked when it is read."""

import re

import pytest

from moe_mlir.testing.compiling import export_model
from moe_mlir.testing.models import tiny_model

from compiling import compile_model, refuse

ELEMENT = re.compile(r"(= llvm\.getelementptr .* -> !llvm\.ptr, )(\S+)$")


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runtime")
    source = export_model(tiny_model("mixtral"), folder / "model.pt2")
    done = compile_model(source, "--to=runtime", "-o", folder / "runtime.mlir")
    assert done.returncode == 0, done.stderr
    return (folder / "runtime.mlir").read_text().splitlines()


@pytest.mark.parametrize("type", ["index", "tensor<4xf32>", "!llvm.void", '!llvm.struct<"unknown", opaque>'])
def test_elements_without_size(type, lines, tmp_path):
    """One place for each element type that the program uses."""
    places = {match[2]: number for number, line in enumerate(lines) if (match := ELEMENT.search(line))}
    assert places
    for number in places.values():
        changed = tmp_path / "changed.mlir"
        changed.write_text("\n".join([*lines[:number], ELEMENT.sub(lambda m: m[1] + type, lines[number]), *lines[number + 1 :]]))
        refuse(changed, 2, f"changed.mlir:{number + 1}: level runtime: 'llvm.getelementptr' has elements of a type without a size in machine code")


def test_a_foreign_op(lines, tmp_path):
    changed = tmp_path / "changed.mlir"
    end = max(number for number, line in enumerate(lines) if line == "}")
    changed.write_text("\n".join([*lines[:end], "func.func @left_over() { return }", *lines[end:]]))
    refuse(changed, 2, "level runtime: 'func.func' is not an op of this level")


def test_unchanged(lines, tmp_path):
    (tmp_path / "same.mlir").write_text("\n".join(lines))
    done = compile_model(tmp_path / "same.mlir", "-o", tmp_path / "model")
    assert done.returncode == 0, done.stderr
