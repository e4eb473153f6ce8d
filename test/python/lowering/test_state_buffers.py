"""States that take each other's values: a program writes all of them as if at once, from what they held before the call."""

import numpy as np
import pytest

from graph import graph

from moe_mlir.testing.full import FULL

COUNT = 24
SHAPES = [(24,), (4, 6), (1, 2, 3, 4)]
GROUPS = {(24,): "[[0]]", (4, 6): "[[0, 1]]", (1, 2, 3, 4): "[[0, 1, 2, 3]]"}


def type_of(shape):
    return f"tensor<{'x'.join(map(str, shape))}xf32>"


class Drawing:
    """A program that is drawn op by op; `values` has of each value its name, its shape, and what it is, a function of the arguments."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.lines, self.values = [], []

    def pick(self, choices):
        return choices[self.random.integers(len(choices))]

    def add(self, text, shape, compute):
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        self.values.append((name, shape, compute))
        return self.values[-1]

    def reshaped(self, value, shape):
        """A view of a value's elements; through the vector of them, and also where the shape is the same."""
        name, old, compute = value
        if old == shape and self.random.random() < 0.7:
            return value
        if len(old) > 1:
            name = self.add(f"tensor.collapse_shape {name} {GROUPS[old]} : {type_of(old)} into {type_of((COUNT,))}", (COUNT,),
                            lambda *a: compute(*a).reshape(COUNT))[0]
        if len(shape) == 1:
            return name, shape, lambda *a: compute(*a).reshape(COUNT)
        return self.add(f"tensor.expand_shape {name} {GROUPS[shape]} output_shape {list(shape)} : {type_of((COUNT,))} into {type_of(shape)}", shape,
                        lambda *a: compute(*a).reshape(shape))

    def step(self):
        kind = self.pick(["view", "sum", "rotate", "update", "update"])
        x = self.pick(self.values)
        shape = self.pick(SHAPES)
        if kind == "view":
            self.reshaped(x, shape)
        elif kind == "sum":
            (a, _, f), (b, _, g) = self.reshaped(x, shape), self.reshaped(self.pick(self.values), shape)
            self.add(f"arith.addf {a}, {b} : {type_of(shape)}", shape, lambda *args: f(*args) + g(*args))
        elif kind == "rotate":
            a, _, f = self.reshaped(x, (COUNT,))
            cut = int(self.random.integers(1, COUNT))
            flat = type_of((COUNT,))
            tail = self.add(f"tensor.extract_slice {a}[{cut}] [{COUNT - cut}] [1] : {flat} to {type_of((COUNT - cut,))}", None, None)[0]
            head = self.add(f"tensor.extract_slice {a}[0] [{cut}] [1] : {flat} to {type_of((cut,))}", None, None)[0]
            del self.values[-2:]
            self.add(f"tensor.concat dim(0) {tail}, {head} : ({type_of((COUNT - cut,))}, {type_of((cut,))}) -> {flat}", (COUNT,),
                     lambda *args: np.roll(f(*args), -cut))
        else:
            # Of a state itself if there is one of this shape, which may happen in place.
            caches = [value for value in self.values if value[1] == SHAPES[2]] or [self.reshaped(x, SHAPES[2])]
            (cache, _, f), (rows, _, g) = self.pick(caches), self.reshaped(self.pick(self.values), SHAPES[2])
            some = self.add(f"tensor.extract_slice {rows}[0, 0, 0, 0] [1, 1, 2, 4] [1, 1, 1, 1] : {type_of(SHAPES[2])} to {type_of((1, 1, 2, 4))}", None,
                            None)[0]
            del self.values[-1]

            def update(*args):
                new = f(*args).copy()
                new[:, :, args[1]] = g(*args)[:, 0, :2]
                return new

            self.add(f"nn.cache_update {cache}, {some} positions(%p) : {type_of(SHAPES[2])}, {type_of((1, 1, 2, 4))}, tensor<1xi64>", SHAPES[2], update)


def draw(seed):
    """Text of a program, its states' shapes, what its result is, and what each state becomes."""
    d = Drawing(seed)
    shapes = [d.pick(SHAPES) for _ in range(d.random.integers(2, 6))]
    d.values.append(("%x", (COUNT,), lambda x, p, *states: x))
    for i, shape in enumerate(shapes):
        d.values.append((f"%s{i}", shape, lambda x, p, *states, i=i: states[i]))
    states = d.values[1:]
    for _ in range(d.random.integers(0, 6)):
        d.step()
    # As often an old state as anything else: those are the ones that wait for each other.
    results = [d.reshaped(d.pick(states if d.random.random() < 0.5 else d.values), shape) for shape in [d.pick(SHAPES), *shapes]]
    kept = [i for i in range(len(shapes)) if d.random.random() < 0.9]
    order = [int(i) for i in d.random.permutation(kept)] if kept else []
    returned = [results[0]] + [results[1 + i] for i in order]
    arguments = "".join(f", %s{i}: {type_of(s)} {{moe.state, moe.name = \"s{i}\"}}" for i, s in enumerate(shapes))
    types = [type_of(results[0][1])] + [f"{type_of(shapes[i])} {{moe.state_of = {2 + i}}}" for i in order]
    body = "\n      ".join(d.lines)
    text = f"""
    func.func @main(%x: {type_of((COUNT,))}, %p: tensor<1xi64> {{moe.range = [0, 2]}}{arguments}) -> ({", ".join(types)}) {{
      {body}
      return {", ".join(name for name, _, _ in returned)} : {", ".join(type_of(shape) for _, shape, _ in returned)}
    }}"""
    return text, shapes, results[0][2], {i: results[1 + i][2] for i in order}


@pytest.mark.parametrize("seed", range(24 if FULL else 12))
def test_states_of_each_other(seed):
    text, shapes, result, following = draw(seed)
    program = graph(text)
    states = [np.arange(COUNT, dtype=np.float32).reshape(shape) + 100 * i for i, shape in enumerate(shapes)]
    expected = [state.copy() for state in states]
    for call in range(3):
        x, p = np.arange(COUNT, dtype=np.float32) * (call + 1) - 7, call % 2
        [y] = program.run([x, np.array([p], np.int64)], states=states, blocks=2)
        np.testing.assert_array_equal(y, result(x, p, *expected), text)
        expected = [following[i](x, p, *expected) if i in following else state for i, state in enumerate(expected)]
        for i, state in enumerate(states):
            np.testing.assert_array_equal(state, expected[i], f"state {i} after call {call}:{text}")


def test_every_order_of_four():
    """All the ways in which four states can take an old value of one of them: trees, cycles, and cycles with trees."""
    for code in range(256):
        sources = [code >> 2 * i & 3 for i in range(4)]
        if code % 7:  # a sample; each is a compilation
            continue
        vector = type_of((4,))
        arguments = ", ".join(f"%s{i}: {vector} {{moe.state}}" for i in range(4))
        program = graph(f"""
        func.func @main(%x: {vector}, {arguments})
            -> ({vector}, {", ".join(f"{vector} {{moe.state_of = {1 + i}}}" for i in range(4))}) {{
          %y = arith.addf %x, %s{sources[0]} : {vector}
          return %y, {", ".join(f"%s{i}" for i in sources)} : {", ".join([vector] * 5)}
        }}""")
        states = [np.full(4, i, np.float32) for i in range(4)]
        [y] = program.run([np.zeros(4, np.float32)], states=states)
        assert y[0] == sources[0] and [state[0] for state in states] == sources
        # A scratch buffer for each cycle of more than one state, and for nothing else.
        cycles = set()
        for i in range(4):
            seen = [i]
            while sources[seen[-1]] not in seen:
                seen.append(sources[seen[-1]])
            if sources[seen[-1]] == i and len(seen) > 1:
                cycles.add(frozenset(seen))
        moved = sum(source != i for i, source in enumerate(sources))
        assert program.kernel_text.count("kernel.launch @copy") == moved + len(cycles)
