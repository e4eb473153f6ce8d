"""The work of fusing elementwise ops grows with their number, whatever their graph is."""

import resource
import subprocess

import pytest
from graph import BIN

STATIC, DYNAMIC = "tensor<4x8xf32>", "tensor<?x8xf32>"
OPS = ("arith.addf", "arith.mulf", "arith.subf")


def chain(n, type):
    yield from (f"%v{i + 1} = {OPS[i % 3]} %v{i}, %b : {type}" for i in range(n))


def two_readers_each(n, type):
    yield f"%v1 = math.absf %b : {type}"
    yield from (f"%v{i + 1} = {OPS[i % 3]} %v{i}, %v{i - 1} : {type}" for i in range(1, n))


def tree(n, type):
    """Leaves read the argument; the others two results that nobody else reads."""
    leaves = n // 2 + 1
    names = [f"%l{i}" for i in range(leaves)]
    yield from (f"{name} = {OPS[i % 3]} %v0, %b : {type}" for i, name in enumerate(names))
    for i in range(1, leaves):
        yield f"%v{i if i < leaves - 1 else n} = {OPS[i % 2]} {names.pop(0)}, {names.pop(0)} : {type}"
        names.append(f"%v{i if i < leaves - 1 else n}")


def with_transposes(n, type):
    """Every fifth op reads columns in another order."""
    flipped = type.replace("4x8", "8x4")
    for i in range(n):
        if i % 5 == 0:
            yield f"%e{i} = tensor.empty() : {flipped}"
            yield f"%t{i} = linalg.transpose ins(%v{i} : {type}) outs(%e{i} : {flipped}) permutation = [1, 0]"
            yield f"%a{i} = math.absf %t{i} : {flipped}"
            yield f"%f{i} = tensor.empty() : {type}"
            yield f"%v{i + 1} = linalg.transpose ins(%a{i} : {flipped}) outs(%f{i} : {type}) permutation = [1, 0]"
        else:
            yield f"%v{i + 1} = {OPS[i % 3]} %v{i}, %b : {type}"


def limit():
    """Of the processor's time: other work on the machine takes none of it."""
    resource.setrlimit(resource.RLIMIT_CPU, (60, 60))


@pytest.mark.parametrize("graph, type", [(chain, DYNAMIC), (two_readers_each, DYNAMIC), (tree, DYNAMIC), (with_transposes, STATIC)])
def test_many_ops(graph, type, n=20000):
    """To the kernel level, in some seconds. What takes each pair of ops or sizes by themselves needs minutes: 5,000 ops took 20 s."""
    body = "\n".join(graph(n, type))
    text = f"func.func @main(%v0: {type}, %b: {type}) -> {type} {{\n{body}\nreturn %v{n} : {type}\n}}"
    passes = "builtin.module(kernel-set-target{target=cpu:x86-64-v3},graph-to-kernel)"
    done = subprocess.run([BIN / "moe-opt", f"--pass-pipeline={passes}", "-o", "/dev/null"], input=text, capture_output=True, text=True, preexec_fn=limit)
    assert done.returncode == 0, done.stderr
