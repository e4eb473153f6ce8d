"""Attention and caches on the emulated GPU: each query walks its keys for itself, against NumPy in float64."""

import dataclasses
import sys
from pathlib import Path

import numpy as np
import pytest
from cuda_program import needs_cuda
from emulated_program import build, call

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / folder) for folder in ("layers", "lowering")]
from attention_oracle import attention  # noqa: E402
from layer_program import DTYPES, Graph, tensor_type  # noqa: E402

pytestmark = needs_cuda
SEEDS = (1, 2, 3)  # of the emulated GPU's schedules
BATCH = 2
# How far a result may be off: of itself, one rounding of its type; of the largest value, what sums in f32 leave.
ROUNDING = {"f32": 0.0, "bf16": 2.0**-8, "f16": 2.0**-11}


def close(actual, expected, dtype, name):
    assert actual.shape == expected.shape, name
    if expected.size:
        bound = ROUNDING[dtype] * np.abs(expected) + 1e-5 * np.abs(expected).max()
        assert (np.abs(actual.astype(np.float64) - expected) <= bound).all(), name


def rounded(x, dtype):
    """Numbers that the type can say; of bf16, which a file cannot hold, as f32."""
    x = np.asarray(x).astype(DTYPES[dtype])
    return x.astype(np.float32) if dtype == "bf16" else x


def draw(random, shape, dtype):
    return rounded(random.normal(size=shape), dtype)


@dataclasses.dataclass
class Case:
    """One attention of a program; its inputs are those whose names begin with its own."""

    dtype: str
    heads: tuple  # of queries, of keys
    widths: tuple  # of keys, of values
    keys: int
    causal: bool = True
    window: int = 0
    positions: list = None
    lengths: list = None
    mask: tuple = None  # the first two sizes
    bias: tuple = None
    sinks: list = None
    integers: str = "i64"

    def write(self, graph, name):
        (n, m), (d, width) = self.heads, self.widths
        shapes = {"q": (self.dtype, "b", "s", n, d), "k": (self.dtype, "b", m, self.keys, d), "v": (self.dtype, "b", m, self.keys, width)}
        given = {"positions": (self.integers, "b"), "lengths": (self.integers, "b"), "sinks": (self.dtype, n)}
        for word, dtype, one in (("mask", "i1", "one"), ("bias", self.dtype, 1)):  # a size of one that only a call knows, and one that the compiler knows
            rows, heads = getattr(self, word) or (1, 1)
            given[word] = dtype, "b" if rows == BATCH else one, heads, "s", self.keys
        words = [word for word in ("positions", "lengths", "mask", "sinks", "bias") if getattr(self, word)]
        values = {word: graph.input(f"{name}_{word}", *shape) for word, shape in {**shapes, **{word: given[word] for word in words}}.items()}
        clauses = [f"{word}({values[word]} : {tensor_type(given[word][0], given[word][1:])})" for word in words]
        clauses += ["scale(0.25)", *["causal"] * self.causal, *[f"window({self.window})"] * (self.window > 0)]
        types = ", ".join(tensor_type(shape[0], shape[1:]) for shape in shapes.values())
        result = (self.dtype, "b", "s", n, width)
        graph.add(f"%{name} = nn.attention {values['q']}, {values['k']}, {values['v']} {' '.join(clauses)} : {types} -> {tensor_type(result[0], result[1:])}")
        graph.output(name, f"%{name}", *result)

    def inputs(self, queries, random):
        (n, m), (d, width), dtype = self.heads, self.widths, self.dtype
        shapes = {"q": (BATCH, queries, n, d), "k": (BATCH, m, self.keys, d), "v": (BATCH, m, self.keys, width)}
        made = {word: draw(random, shape, dtype) for word, shape in shapes.items()}
        made |= {word: np.array(getattr(self, word), DTYPES[self.integers]) for word in ("positions", "lengths") if getattr(self, word)}
        if self.sinks:
            made["sinks"] = rounded(self.sinks, dtype)
        if self.mask:
            made["mask"] = random.random((*self.mask, queries, self.keys)) < 0.5
            made["mask"][..., :1, :] = False  # a query that sees nothing gives zeros
        if self.bias:
            made["bias"] = draw(random, (*self.bias, queries, self.keys), dtype)
            made["bias"][random.random(made["bias"].shape) < 0.3] = -np.inf
        return made

    def expected(self, q, k, v, positions=0, lengths=None, **given):
        return attention(q, k, v, 0.25, positions, self.causal, self.window, lengths, **given)


CASES = {
    "cache": Case("f32", (4, 2), (10, 13), 150, positions=[141, 0]),
    "window": Case("bf16", (6, 2), (16, 40), 150, positions=[100, 3], window=70, sinks=[-20, -4, -1, 0, 2, 6]),
    "near": Case("f32", (3, 1), (13, 13), 70, positions=[61, 0], window=5),
    "lengths": Case("bf16", (4, 4), (10, 10), 130, causal=False, lengths=[0, 129]),
    "both": Case("f16", (4, 1), (24, 16), 100, positions=[60, 91], lengths=[70, 200], window=24, integers="i32"),
    "sunk": Case("f32", (2, 2), (16, 16), 70, causal=False, lengths=[0, 66], sinks=[-1, 2]),
    "full": Case("f16", (2, 1), (80, 8), 64, causal=False, mask=(BATCH, 2)),
    "shared": Case("f32", (4, 2), (16, 16), 150, positions=[64, 127], mask=(1, 1)),
    "of_heads": Case("bf16", (4, 2), (18, 16), 65, causal=False, mask=(1, 4)),
    "bias": Case("f32", (4, 2), (10, 10), 150, positions=[141, 70], bias=(BATCH, 4)),
    "biases": Case("bf16", (2, 2), (16, 24), 96, causal=False, bias=(1, 2), mask=(BATCH, 1)),
    "one": Case("f16", (2, 2), (1, 1), 1, bias=(1, 1)),
}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    graph = Graph()
    for name, case in CASES.items():
        case.write(graph, name)
    return build(graph.text().replace("module attributes {", 'module attributes {moe.level = "graph", ', 1), tmp_path_factory.mktemp("attention"))


@pytest.mark.parametrize("queries", [0, 1, 9])
def test_attention(program, queries, tmp_path):
    random = np.random.default_rng(queries)
    inputs = {name: case.inputs(queries, random) for name, case in CASES.items()}
    arguments = {f"{name}_{word}": x for name, given in inputs.items() for word, x in given.items()}
    runs = []
    for seed in SEEDS:
        call(program, tmp_path, arguments, seed)
        runs.append({name: np.load(tmp_path / "out" / f"{name}.npy") for name in CASES})
    for name, case in CASES.items():
        assert all(other[name].tobytes() == runs[0][name].tobytes() for other in runs), name
        close(runs[0][name], case.expected(**inputs[name]), case.dtype, name)
    if queries:
        assert not runs[0]["lengths"][0].any() and not runs[0]["full"][:, 0].any() and runs[0]["lengths"][1].any()


def test_a_cache_over_calls(tmp_path):
    """A prompt and a step of a session: rows are written into the states, which stay on the device, and queries read them. Rows before a first one are zeros."""
    dtype, n, m, d, width, length = "bf16", 4, 2, 10, 13, 80
    of_q, of_o, of_r, of_s = (tensor_type(dtype, ("b", "s", *sizes)) for sizes in ((n, d), (n, width), (m, d), (m, width)))
    of_k, of_v = (tensor_type(dtype, ("b", m, length, size)) for size in (d, width))
    rows, state = 'moe.dims = ["batch", "seq", "", ""]', 'moe.state, moe.dims = ["batch", "", "", ""]'
    program = build(f"""
    func.func @main(%q: {of_q} {{moe.name = "q", {rows}}}, %r: {of_r} {{moe.name = "r", {rows}}}, %s: {of_s} {{moe.name = "s", {rows}}},
                    %p: tensor<?xi64> {{moe.name = "p", moe.dims = ["batch"], moe.range = [0, {length - 1}], moe.range_plus = "seq"}},
                    %k: {of_k} {{moe.name = "k", {state}}}, %v: {of_v} {{moe.name = "v", {state}}})
        -> ({of_o} {{moe.name = "o"}}, {of_k} {{moe.state_of = 4}}, {of_v} {{moe.state_of = 5}}) {{
      %k1 = nn.cache_update %k, %r positions(%p) : {of_k}, {of_r}, tensor<?xi64>
      %v1 = nn.cache_update %v, %s positions(%p) : {of_v}, {of_s}, tensor<?xi64>
      %o = nn.attention %q, %k1, %v1 positions(%p : tensor<?xi64>) scale(0.25) causal : {of_q}, {of_k}, {of_v} -> {of_o}
      return %o, %k1, %v1 : {of_o}, {of_k}, {of_v}
    }}""", tmp_path)  # fmt: skip
    random, keys, values = np.random.default_rng(0), np.zeros((BATCH, m, length, d)), np.zeros((BATCH, m, length, width))
    lines, expected = [], []
    for i, (queries, positions) in enumerate(((70, [0, 3]), (2, [70, 73]))):
        given = {"q": draw(random, (BATCH, queries, n, d), dtype), "r": draw(random, (BATCH, queries, m, d), dtype), "s": draw(random, (BATCH, queries, m, width), dtype)}
        for b, first in enumerate(positions):
            keys[b, :, first : first + queries] = np.moveaxis(given["r"][b], 0, 1)
            values[b, :, first : first + queries] = np.moveaxis(given["s"][b], 0, 1)
        expected.append(attention(given["q"], keys, values, 0.25, positions))
        for name, x in {**given, "p": np.array(positions)}.items():
            np.save(tmp_path / f"{name}{i}.npy", x)
        lines.append(" ".join(f"--input {name}=@{tmp_path}/{name}{i}.npy" for name in "qrsp") + f" --output-dir {tmp_path}/out{i}")
    (tmp_path / "calls").write_text("\n".join(lines))
    runs = []
    for seed in SEEDS:
        program("--calls", tmp_path / "calls", seed=seed)
        runs.append([np.load(tmp_path / f"out{i}" / "o.npy") for i in range(len(lines))])
    for i, o in enumerate(expected):
        assert all(other[i].tobytes() == runs[0][i].tobytes() for other in runs)
        close(runs[0][i], o, dtype, f"call {i}")
