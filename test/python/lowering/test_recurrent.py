"""nn.causal_conv and nn.scan: every decay and update against the recurrence, in pieces, with a state between calls."""

import numpy as np
import pytest

from graph import BF16, CPUS, assert_close, graph, launches, random, tensor

from moe_mlir import reference as ref
from moe_mlir.testing.full import sample

F16 = np.dtype(np.float16)
KINDS = [(decay, delta) for decay in ("heads", "channels", "elements") for delta in (False, True)]


class Scan:
    """A program of one nn.scan whose state stays between calls, or is an input; and operands for it."""

    def __init__(self, m, n, k, v, decay, delta, dtype=np.float32, cpu="native", kept=True):
        self.sizes, self.decay, self.delta, self.dtype = (m, n, k, v), decay, delta, dtype
        sequence = '{moe.dims = ["batch", "seq", "", ""]}'
        of_keys, of_values = tensor((None, None, m, k), dtype), tensor((None, None, n, v), dtype)
        last = {"heads": (), "channels": (k,), "elements": (v,)}[decay]
        of_decay, of_beta, of_state = (tensor(s, "f32") for s in ((None, None, n, *last), (None, None, n), (None, n, k, v)))
        of_rates = tensor((n, k, v), "f32")
        arguments = [f"%q: {of_keys} {sequence}", f"%k: {of_keys} {sequence}", f"%v: {of_values} {sequence}", f"%d: {of_decay}"]
        arguments += [f"%r: {of_rates}"] * (decay == "elements") + [f"%b: {of_beta}"] * delta
        number = len(arguments)
        mark = 'moe.state, moe.name = "h", ' if kept else ""
        arguments.append(f'%h: {of_state} {{{mark}moe.dims = ["batch", "", "", ""]}}')
        clauses = f"decay(%d : {of_decay}) " + f"rates(%r : {of_rates}) " * (decay == "elements") + f"beta(%b : {of_beta}) " * delta
        self.program = graph(f"""
        func.func @main({", ".join(arguments)}) -> ({of_values}, {of_state}{f" {{moe.state_of = {number}}}" if kept else ""}) {{
          %y, %n = nn.scan %q, %k, %v {clauses} state(%h : {of_state}) : {of_keys}, {of_keys}, {of_values} -> {of_values}
          return %y, %n : {of_values}, {of_state}
        }}""", cpu)

    def draw(self, batch, steps, seed=0):
        """Inputs of so many steps; keys are unit vectors, as models make them, so that nothing grows."""
        m, n, k, v = self.sizes
        keys = random((batch, steps, m, k), seed=seed + 1)
        keys /= np.linalg.norm(keys, axis=-1, keepdims=True) + 1e-6
        last = {"heads": (), "channels": (k,), "elements": (v,)}[self.decay]
        decay = -np.abs(random((batch, steps, n, *last), seed=seed + 3))
        inputs = {"query": random((batch, steps, m, k), self.dtype, seed), "key": keys.astype(self.dtype),
                  "value": random((batch, steps, n, v), self.dtype, seed + 2), "decay": decay}
        if self.decay == "elements":
            inputs["rates"] = np.abs(random((n, k, v), seed=9))
        if self.delta:
            inputs["beta"] = np.random.default_rng(seed).random((batch, steps, n), np.float32)
        return inputs

    def call(self, inputs, state, blocks=1):
        [y] = self.program.run(list(inputs.values()), outputs=[self.dtype], states=[state], blocks=blocks)
        return y


def part(inputs, begin, end):
    return {name: x if name == "rates" else x[:, begin:end] for name, x in inputs.items()}


# Blocks of 64 columns: whole, one and a rest, a rest alone.
SIZES = [(2, 4, 16, 64), (1, 3, 5, 70), (3, 3, 33, 7), (1, 1, 1, 1), (1, 2, 16, 128)]


@pytest.mark.parametrize("decay,delta,dtype", [(*kind, np.dtype(np.float32)) for kind in KINDS] + [("heads", True, BF16), ("channels", False, F16)])
@pytest.mark.parametrize("sizes,cpu", sample([(s, c) for c in CPUS for s in SIZES], 1, 0))
def test_scan(sizes, cpu, decay, delta, dtype):
    scan = Scan(*sizes, decay, delta, dtype, cpu)
    assert [name.split("_")[0] for name in launches(scan.program)] == ["scan"]
    for batch, steps in ((3, 9), (1, 1), (2, 0)):
        inputs, state = scan.draw(batch, steps), random((batch, sizes[1], *sizes[2:]), seed=8)
        expected, after = ref.scan(**inputs, state=state)
        assert_close(scan.call(inputs, state, blocks=3), expected, dtype)
        assert_close(state, after)


@pytest.mark.parametrize("decay,delta", KINDS)
def test_pieces_of_a_sequence(decay, delta):
    """Any split gives what the whole gives, and a state that was saved goes on where it was."""
    scan = Scan(2, 4, 8, 24, decay, delta)
    steps = 13
    inputs = scan.draw(3, steps)
    expected, after = ref.scan(**inputs, dtype=np.float32)
    whole = np.zeros((3, 4, 8, 24), np.float32)
    assert_close(scan.call(inputs, whole), expected)
    assert_close(whole, after)
    saved = None
    for cut in range(steps + 1):
        state = np.zeros_like(whole)
        first = scan.call(part(inputs, 0, cut), state, blocks=2)
        if cut == 5:
            saved = state.copy()
        second = scan.call(part(inputs, cut, steps), state, blocks=2)
        assert_close(np.concatenate([first, second], 1), expected)
        assert_close(state, after)
    assert_close(scan.call(part(inputs, 5, steps), saved), expected[:, 5:])


def test_same_bits_for_any_blocks():
    scan = Scan(2, 4, 16, 130, "channels", True, BF16)
    inputs = scan.draw(2, 6)
    states = [random((2, 4, 16, 130), seed=3) for _ in range(4)]
    rows = [scan.call(inputs, state, blocks) for state, blocks in zip(states, (1, 2, 5, 64))]
    assert all(x.tobytes() == rows[0].tobytes() for x in rows) and all(s.tobytes() == states[0].tobytes() for s in states)


def test_large_decay_and_old_state():
    """A decay to nothing forgets the state: no infinity and no other number that is none comes of it."""
    scan = Scan(1, 1, 4, 4, "heads", True)
    inputs = scan.draw(1, 3)
    inputs["decay"][:, 1] = -1e30
    state = np.full((1, 1, 4, 4), 1e30, np.float32)
    y = scan.call(inputs, state)
    fresh = np.zeros_like(state)
    assert_close(y[:, 1:], scan.call(part(inputs, 1, 3), fresh))
    assert_close(state, fresh)


def test_step_neither_copies_nor_allocates_the_state():
    """The state is changed where it is: the call's memory does not grow with it, and no launch but the scan's runs."""
    def arena(k, v):
        scan = Scan(1, 2, k, v, "heads", True)
        assert "kernel.launch @copy" not in scan.program.kernel_text
        assert f"memref.alloc(%dim) : memref<?x2x{k}x{v}xf32>" not in scan.program.kernel_text
        scan.call(scan.draw(1, 1), np.zeros((1, 2, k, v), np.float32))
        return scan.program.arena_bytes

    assert arena(8, 64) == arena(512, 64)
    # An input that is no state stays as it is.
    copied = Scan(1, 2, 8, 64, "heads", True, kept=False)
    assert "kernel.launch @copy" in copied.program.kernel_text
    inputs, h = copied.draw(1, 3), random((1, 2, 8, 64), seed=4)
    y, after = copied.program.run([*inputs.values(), h], outputs=[np.float32] * 2)
    expected = ref.scan(**inputs, state=h)
    assert_close(y, expected[0])
    assert_close(after, expected[1])


def test_work_counts_the_steps():
    scan = Scan(1, 2, 8, 64, "heads", True)
    for batch, steps in ((1, 1), (3, 5)):
        scan.call(scan.draw(batch, steps), np.zeros((batch, 2, 8, 64), np.float32))
        [(_, work)] = scan.program.launched
        assert work == 7 * batch * steps * 2 * 8 * 64


@pytest.mark.parametrize("dtype,silu,bias", [(np.float32, False, True), (np.float32, True, False), (BF16, True, True), (F16, True, False)])
@pytest.mark.parametrize("channels,taps", sample([(5, 4), (1, 1), (32, 2), (3, 19)], 0, 3))
def test_causal_conv(channels, taps, dtype, silu, bias):
    x_type, w_type, b_type = tensor((None, channels, None), dtype), tensor((channels, taps), dtype), tensor((channels,), dtype)
    program = graph(f"""
    func.func @main(%x: {x_type}, %w: {w_type}, %b: {b_type}) -> {x_type} {{
      %y = nn.causal_conv %x, %w {f"bias(%b : {b_type})" if bias else ""} {"silu" if silu else ""} : {x_type}, {w_type} -> {x_type}
      return %y : {x_type}
    }}""")
    w, b = random((channels, taps), dtype, 1), random((channels,), dtype, 2)
    for batch, length in ((2, 37), (3, 1), (1, taps), (1, 0)):
        x = random((batch, channels, length), dtype)
        [y] = program.run([x, w, b], outputs=[dtype], blocks=3)
        assert_close(y, ref.causal_conv(x, w, b if bias else None, "silu" if silu else ""), dtype)


def test_window_between_calls():
    """The columns before those of a call are a state: put before them, and the last ones taken."""
    c, taps, length = 6, 4, 11
    program = graph(f"""
    func.func @main(%x: tensor<?x{c}x?xf32> {{moe.dims = ["batch", "", "seq"]}}, %w: tensor<{c}x{taps}xf32>,
                    %s: tensor<?x{c}x{taps - 1}xf32> {{moe.state, moe.name = "s", moe.dims = ["batch", "", ""]}})
        -> (tensor<?x{c}x?xf32>, tensor<?x{c}x{taps - 1}xf32> {{moe.state_of = 2}}) {{
      %c0 = arith.constant 0 : index
      %c2 = arith.constant 2 : index
      %b = tensor.dim %x, %c0 : tensor<?x{c}x?xf32>
      %n = tensor.dim %x, %c2 : tensor<?x{c}x?xf32>
      %all = tensor.concat dim(2) %s, %x : (tensor<?x{c}x{taps - 1}xf32>, tensor<?x{c}x?xf32>) -> tensor<?x{c}x?xf32>
      %y = nn.causal_conv %all, %w silu : tensor<?x{c}x?xf32>, tensor<{c}x{taps}xf32> -> tensor<?x{c}x?xf32>
      %rows = tensor.extract_slice %y[0, 0, {taps - 1}] [%b, {c}, %n] [1, 1, 1] : tensor<?x{c}x?xf32> to tensor<?x{c}x?xf32>
      %next = tensor.extract_slice %all[0, 0, %n] [%b, {c}, {taps - 1}] [1, 1, 1] : tensor<?x{c}x?xf32> to tensor<?x{c}x{taps - 1}xf32>
      return %rows, %next : tensor<?x{c}x?xf32>, tensor<?x{c}x{taps - 1}xf32>
    }}""")
    x, w = random((2, c, length)), random((c, taps), seed=1)
    expected = ref.causal_conv(x, w, activation="silu")
    for cuts in ([length], [1] * length, [3, 0, 2, 6]):
        state, start = np.zeros((2, c, taps - 1), np.float32), 0
        for count in cuts:
            [y] = program.run([x[:, :, start:start + count], w], states=[state], blocks=2)
            assert_close(y, expected[:, :, start:start + count])
            start += count
