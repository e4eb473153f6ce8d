"""Runs programs on memory that ends at a page nobody may touch, in a process of its own, and operations on sizes and
numbers of which many do not fit."""

import functools
import os
import pickle
import re

import numpy as np

from graph import Stopped, graph

DRAWS = 24


def run_guarded(program, draws, **options):
    """What `Program.run` gives for each list of inputs, or the error that it raised; a wrong access fails here, and does not end the tests.

    One process for all: a copy of a large process takes longer than most calls."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            with os.fdopen(writer, "wb") as pipe:
                for inputs in draws:
                    try:
                        answer = program.run(inputs, guarded=True, **options)
                    except Stopped as stopped:
                        answer = stopped
                    pickle.dump(answer, pipe)
                    pipe.flush()
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writer)
    answers = []
    with os.fdopen(reader, "rb") as pipe:
        while pipe.peek(1):
            answers.append(pickle.load(pipe))
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        raise AssertionError(f"signal {os.WTERMSIG(status)} on inputs of {[x.shape for x in draws[len(answers)]]}")
    assert os.WEXITSTATUS(status) == 0 and len(answers) == len(draws)
    return answers


class Operation:
    """`arguments`: name -> (type, dims), a dim is a number or the letter of a size. `body` gives %result of `result`.
    `compute(inputs)` is the expected result. Sizes that are equal by letter must be equal, unless `fits` says when
    (None: an error and a result are both fine). Integers are below `highest`, or of `values`."""

    def __init__(self, arguments, body, result, compute, fits=None, highest=None, values=None):
        self.arguments, self.body, self.result, self.compute = arguments, body, result, compute
        self.fits, self.highest, self.values = fits, highest or {}, values or {}

    @functools.cached_property
    def program(self):
        def tensor(element, dims):
            return "tensor<" + "".join(f"{d if isinstance(d, int) else '?'}x" for d in dims) + element + ">"

        types = {name: tensor(element, dims) for name, (element, dims) in self.arguments.items()}
        text = self.body
        for name, type in types.items():
            text = text.replace(f"<{name}>", type)
        arguments = ", ".join(f"%{name}: {type}" for name, type in types.items())
        return graph(f"func.func @main({arguments}) -> {self.result} {{\n{text}\n  return %result : {self.result}\n}}\n")

    def draw(self, rng, fits):
        """Inputs, and for each letter the sizes that it has in them."""
        while True:
            sizes, inputs = {}, {}
            common = {}
            for name, (element, dims) in self.arguments.items():
                shape = []
                for dim in dims:
                    if not isinstance(dim, int):
                        size = common.setdefault(dim, int(rng.integers(1, 6)))
                        if not fits and rng.integers(0, 3) == 0:
                            size = max(0, int(rng.integers(-3, 9)))
                        sizes.setdefault(dim, []).append(size)
                        dim = size
                    shape.append(dim)
                if name in self.values:
                    inputs[name] = np.array([int(rng.choice(self.values[name])) for _ in range(shape[0])], np.int64)
                elif element == "f32":
                    inputs[name] = rng.integers(-4, 5, shape).astype(np.float32)
                elif element == "i1":
                    inputs[name] = rng.integers(0, 2, shape).astype(bool)
                else:
                    high = self.highest.get(name, 3)
                    inputs[name] = rng.integers(0, high, shape).astype(np.int64 if element == "i64" else np.int32)
            agree = all(len(set(found)) == 1 for found in sizes.values())
            if self.fits:
                agree = self.fits(sizes, inputs)
            if agree or not fits:
                return inputs, sizes, agree


def check_operation(operation, seed, draws=DRAWS):
    rng = np.random.default_rng([seed, 5])
    dtype = {"f32": np.float32, "i32": np.int32}[re.search(r"(f32|i32)>", operation.result).group(1)]
    drawn = [operation.draw(rng, fits=draw % 3 == 0) for draw in range(draws)]
    answers = set()
    results = run_guarded(operation.program, [list(inputs.values()) for inputs, _, _ in drawn], outputs=[dtype])
    for (inputs, sizes, fits), result in zip(drawn, results, strict=True):
        described = f"{sizes}, {({name: inputs[name] for name in operation.values})}"
        if isinstance(result, Stopped):
            assert not fits, f"{described}: {result}"
            assert re.search(r" \([a-z_]+\.\w+ at .*:\d+\)(: -?\d+ -?\d+)?|^out of memory: ", str(result)), str(result)
            answers.add("stopped")
            continue
        [result] = result
        # Sizes that do not fit may still leave nothing to do.
        assert fits is not False or result.size == 0, f"{described} ran"
        if fits and result.size:
            expected = operation.compute(inputs)
            assert result.shape == expected.shape
            np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)
            answers.add("ran")
    assert answers == {"ran", "stopped"}
