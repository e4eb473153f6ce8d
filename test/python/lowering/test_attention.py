"""nn.attention and nn.cache_update: masks, biases, groups, odd head sizes, hidden and plain caches."""

import numpy as np
import pytest

from attention_oracle import attention as reference
from graph import BF16, CPUS, assert_close, graph, launches, random, tensor

from moe_mlir.testing.full import FULL, sample


def both(cases, *kept):
    """Each case as products of tiles, and a query at a time: all of them in a full run, else those at the places `kept`."""
    cases = list(cases)
    return [(*case, "tiles") for case in cases] + sample([(*case, "rows") for case in cases], *kept)


SHAPES = [(4, 4, 16, 64), (6, 2, 13, 37), (8, 1, 80, 130)]


# In an ordinary run f16 has the odd shape alone: it differs from bf16 in how rows are read and written.
@pytest.mark.parametrize("heads,key_heads,depth,length,cpu,dtype,form", both([
    (*shape, cpu, dtype) for cpu in CPUS for shape in (SHAPES if cpu == "native" else SHAPES[1:2]) for dtype in (np.float32, BF16, np.float16)
    if FULL or dtype != np.float16 or shape == SHAPES[1] and cpu == "native"], 4, 5, -1))
def test_plain_causal(heads, key_heads, depth, length, dtype, cpu, form):
    q_type, k_type = tensor((None, None, heads, depth), dtype), tensor((None, key_heads, length, depth), dtype)
    program = graph(f"""
    func.func @main(%q: {q_type}, %k: {k_type}, %v: {k_type}, %p: tensor<?xi64>) -> {q_type} {{
      %o = nn.attention %q, %k, %v positions(%p : tensor<?xi64>) scale(0.25) causal : {q_type}, {k_type}, {k_type} -> {q_type}
      return %o : {q_type}
    }}""", cpu, form)
    k, v = random((2, key_heads, length, depth), dtype, 1), random((2, key_heads, length, depth), dtype, 2)
    for queries, position in ((1, 0), (1, length - 1), (17, 3), (length, 0)):
        q = random((2, queries, heads, depth), dtype)
        [o] = program.run([q, k, v, np.full(2, position)], outputs=[dtype], blocks=3)
        assert_close(o, reference(q, k, v, 0.25, position), dtype)


MASKS = [{"window": 5}, {"window": 70}, {"length": 20}, {"causal": False}, {"causal": False, "length": 7}, {"causal": False, "mask": "full"}, {"mask": "shared"}]


@pytest.mark.parametrize("options,form", both([(options,) for options in MASKS], 1, 4, 5, 6))
def test_masks(options, form):
    b, s, n, m, length, d = 2, 9, 4, 2, 96, 16
    options = dict(options)
    q_type, k_type = tensor((None, None, n, d), "f32"), tensor((None, m, length, d), "f32")
    arguments, clauses, values, keywords = "", "positions(%p : tensor<?xi64>) ", [], {"position": 60}
    if "length" in options:
        arguments += ", %n: tensor<?xi64>"
        clauses += "lengths(%n : tensor<?xi64>) "
        values.append(np.full(b, options["length"]))
    if "mask" in options:
        shape = (b, n, s, length) if options["mask"] == "full" else (1, 1, s, length)
        mask = np.random.default_rng(0).random(shape) < 0.5
        mask[..., 0, :] = False  # a query that sees nothing gives zeros
        mask_type = tensor((None, n, None, length) if options["mask"] == "full" else (1, 1, None, length), "i1")
        arguments += f", %m: {mask_type}"
        clauses += f"mask(%m : {mask_type}) "
        values.append(mask)
        options["mask"] = mask
    causal = options.get("causal", True)
    tail = (" causal" if causal else "") + (f" window({options['window']})" if "window" in options else "")
    program = graph(f"""
    func.func @main(%q: {q_type}, %k: {k_type}, %v: {k_type}, %p: tensor<?xi64>{arguments}) -> {q_type} {{
      %o = nn.attention %q, %k, %v {clauses}scale(0.3){tail} : {q_type}, {k_type}, {k_type} -> {q_type}
      return %o : {q_type}
    }}""", form=form)
    q, k, v = random((b, s, n, d)), random((b, m, length, d), seed=1), random((b, m, length, d), seed=2)
    [o] = program.run([q, k, v, np.full(b, 60), *values], blocks=2)
    assert_close(o, reference(q, k, v, 0.3, 60, **options))


@pytest.mark.parametrize("shape,causal,dtype,form", both([
    (*case, dtype) for case in (((2, 4, 9, 96), True), ((1, 1, 9, 96), True), ((2, 1, 9, 96), False)) for dtype in (np.float32, BF16)], 0, 5))
def test_bias(shape, causal, dtype, form):
    """Added to the scaled scores, before the mask; of the rows' type and of f32. What it says of later keys counts for nothing."""
    b, s, n, m, length, d = 2, 9, 4, 2, 96, 16
    q_type, k_type, m_type = tensor((None, None, n, d), dtype), tensor((None, m, length, d), dtype), tensor((None, 1, None, length), "i1")
    b_type = tensor((shape[0] if shape[0] == 1 else None, shape[1], None, length), dtype if causal else np.float32)
    program = graph(f"""
    func.func @main(%q: {q_type}, %k: {k_type}, %v: {k_type}, %p: tensor<?xi64>, %m: {m_type}, %b: {b_type}) -> {q_type} {{
      %o = nn.attention %q, %k, %v positions(%p : tensor<?xi64>) mask(%m : {m_type}) bias(%b : {b_type}) scale(0.3) {"causal" if causal else ""}
          : {q_type}, {k_type}, {k_type} -> {q_type}
      return %o : {q_type}
    }}""", form=form)
    q, k, v = random((b, s, n, d), dtype), random((b, m, length, d), dtype, 1), random((b, m, length, d), dtype, 2)
    mask = np.random.default_rng(0).random((b, 1, s, length)) < 0.8
    bias = 3 * random(shape, np.float32, 3)
    bias = bias.astype(dtype) if causal else bias
    later = np.arange(length) > 60 + np.arange(s)[:, None]
    given = np.where(later, np.array([np.inf, np.nan] * (length // 2), bias.dtype), bias) if causal else bias
    [o] = program.run([q, k, v, np.full(b, 60), mask, given], outputs=[dtype], blocks=2)
    assert_close(o, reference(q, k, v, 0.3, 60, causal=causal, mask=mask, bias=bias), dtype)


# (query heads, key heads, width of keys, width of values)
WIDTHS = [(4, 4, 24, 16), (6, 2, 16, 40), (4, 1, 72, 64), (2, 2, 13, 37)]


WIDTHS_ON = [(*shape, cpu) for cpu in CPUS for shape in (WIDTHS if cpu == "native" else WIDTHS[3:])]


# With sinks every width and CPU in f32, and the odd width in bf16; without them the odd width on one CPU: they are another operand of the same kernel.
@pytest.mark.parametrize("heads,key_heads,depth,width,cpu,dtype,with_sinks,form", both([
    (*case, dtype, with_sinks) for case in WIDTHS_ON for dtype in (np.float32, BF16) for with_sinks in (True, False)
    if FULL or with_sinks and dtype == np.float32 or case[:4] == WIDTHS[3] and (with_sinks or case[4] == "native")], 1, 2, 5))
def test_widths_and_sinks(heads, key_heads, depth, width, with_sinks, dtype, cpu, form):
    """Values of another width than keys, and sinks that are much larger and much smaller than the scores."""
    length = 70
    q_type, o_type = (tensor((None, None, heads, d), dtype) for d in (depth, width))
    k_type, v_type = (tensor((None, key_heads, length, d), dtype) for d in (depth, width))
    s_type = tensor((heads,), dtype)
    clause = f"sinks(%s : {s_type}) " if with_sinks else ""
    program = graph(f"""
    func.func @main(%q: {q_type}, %k: {k_type}, %v: {v_type}, %p: tensor<?xi64>, %s: {s_type}) -> {o_type} {{
      %o = nn.attention %q, %k, %v positions(%p : tensor<?xi64>) {clause}scale(0.25) causal : {q_type}, {k_type}, {v_type} -> {o_type}
      return %o : {o_type}
    }}""", cpu, form)
    k, v = random((2, key_heads, length, depth), dtype, 1), random((2, key_heads, length, width), dtype, 2)
    sinks = np.linspace(-20, 6, heads).astype(dtype)
    for queries, position in ((1, 0), (1, length - 1), (17, 3)):
        q = random((2, queries, heads, depth), dtype)
        [o] = program.run([q, k, v, np.full(2, position), sinks], outputs=[dtype], blocks=3)
        assert_close(o, reference(q, k, v, 0.25, position, sinks=sinks if with_sinks else None), dtype)


@pytest.mark.parametrize("form", ["tiles", "rows"])
def test_a_query_with_a_sink_that_sees_nothing(form):
    q_type, k_type = tensor((1, 2, 2, 16), "f32"), tensor((1, 2, 20, 16), "f32")
    program = graph(f"""
    func.func @main(%q: {q_type}, %k: {k_type}, %n: tensor<1xi64>, %s: tensor<2xf32>) -> {q_type} {{
      %o = nn.attention %q, %k, %k lengths(%n : tensor<1xi64>) sinks(%s : tensor<2xf32>) scale(0.25)
          : {q_type}, {k_type}, {k_type} -> {q_type}
      return %o : {q_type}
    }}""", form=form)
    q, k, sinks = random((1, 2, 2, 16)), random((1, 2, 20, 16), seed=1), np.array([-1, 2], np.float32)
    for length in (0, 5):
        [o] = program.run([q, k, np.array([length]), sinks], outputs=[np.float32])
        assert_close(o, reference(q, k, k, 0.25, causal=False, length=length, sinks=sinks))
    assert np.any(o)


@pytest.mark.parametrize("dtype,depth,cpu,form", both([
    (dtype, depth, cpu) for cpu in CPUS for dtype, depth in ((np.float32, 16), (BF16, 16), (BF16, 21), (np.float16, 16))
    if FULL or cpu == "native" or depth == 21], 2))
def test_hidden_cache_over_steps(dtype, depth, cpu, form):
    """Prefill and decode steps against whole attention; the state is updated in place, encoded where products of tiles read it."""
    n, m, length = 4, 2, 70
    x_type, r_type = tensor((None, None, n, depth), dtype), tensor((None, None, m, depth), dtype)
    c_type = tensor((None, m, length, depth), dtype)
    program = graph(f"""
    func.func @main(%q: {x_type} {{moe.dims = ["batch", "seq", "", ""]}},
                    %r: {r_type} {{moe.dims = ["batch", "seq", "", ""]}}, %s: {r_type} {{moe.dims = ["batch", "seq", "", ""]}},
                    %p: tensor<?xi64> {{moe.dims = ["batch"], moe.range = [0, {length - 1}], moe.range_plus = "seq"}},
                    %k: {c_type} {{moe.state, moe.name = "k", moe.dims = ["batch", "", "", ""]}},
                    %v: {c_type} {{moe.state, moe.name = "v", moe.dims = ["batch", "", "", ""]}})
        -> ({x_type}, {c_type} {{moe.state_of = 4}}, {c_type} {{moe.state_of = 5}}) {{
      %k1 = nn.cache_update %k, %r positions(%p) : {c_type}, {r_type}, tensor<?xi64>
      %v1 = nn.cache_update %v, %s positions(%p) : {c_type}, {r_type}, tensor<?xi64>
      %o = nn.attention %q, %k1, %v1 positions(%p : tensor<?xi64>) scale(0.25) causal : {x_type}, {c_type}, {c_type} -> {x_type}
      return %o, %k1, %v1 : {x_type}, {c_type}, {c_type}
    }}""", cpu, form)
    assert [name.split("_")[0] for name in launches(program)] == ["cache", "cache", "attention"]
    pairs = 2 if dtype == BF16 else 1
    padded = -(-depth // 16) * 16
    states = [np.zeros((2, m, 2, -(-depth // pairs), 64, pairs), dtype),
              np.zeros((2, m, -(-length // pairs), padded, pairs), dtype)]
    if form == "rows":
        states = [np.zeros((2, m, length, depth), dtype) for _ in "kv"]
    q, r, s = (random((2, length, heads, depth), dtype, i) for i, heads in enumerate((n, m, m)))
    expected = reference(q, np.moveaxis(r, 1, 2), np.moveaxis(s, 1, 2), 0.25)
    start = 0
    for step in (30, 1, 1, 33, 5):
        rows = slice(start, start + step)
        [o] = program.run([q[:, rows], r[:, rows], s[:, rows], np.full(2, start)], outputs=[dtype], states=states,
                          blocks=2)
        assert_close(o, expected[:, rows], dtype)
        start += step


# What is given and what hides: all together in every way; alone where it makes a difference.
GIVEN = [(given, window, causal) for given in ("positions lengths", "positions", "lengths", "") for window in (None, 24, 1, 200) for causal in (True, False)]


@pytest.mark.parametrize("given,window,causal,form", both(sample(GIVEN, 0, 1, 2, 3, 8, 10, 17, 24, 25), 2))
def test_work_counts_what_is_seen(given, window, causal, form):
    """Two products over the pairs that see each other, row by row of the batch; packing, for products of tiles, moves keys up to the last seen."""
    b, n, m, length, d = 3, 4, 2, 96, 16
    q_type, k_type = tensor((None, None, n, d), "f32"), tensor((None, m, length, d), "f32")
    values = {"positions": np.array([60, 0, 95]), "lengths": np.array([96, 20, 200])}
    clauses = " ".join(f"{name}(%{name} : tensor<?xi64>)" for name in given.split())
    arguments = "".join(f", %{name}: tensor<?xi64>" for name in given.split())
    tail = (" causal" if causal else "") + (f" window({window})" if window else "")
    program = graph(f"""
    func.func @main(%q: {q_type}, %k: {k_type}, %v: {k_type}{arguments}) -> {q_type} {{
      %o = nn.attention %q, %k, %v {clauses} scale(0.3){tail} : {q_type}, {k_type}, {k_type} -> {q_type}
      return %o : {q_type}
    }}""", form=form)
    positions = values["positions"] if "positions" in given else np.zeros(b, int)
    lengths = values["lengths"] if "lengths" in given else np.full(b, length)
    for queries in (1, 7, 40):
        own = positions[:, None, None] + np.arange(queries)[:, None]
        key = np.arange(length)
        seen = np.broadcast_to(key < lengths[:, None, None], (b, queries, length))
        upto = seen & (key <= own) if causal else seen
        visible = upto & (key > own - window) if window else upto
        program.run([random((b, queries, n, d)), random((b, m, length, d), seed=1), random((b, m, length, d), seed=2),
                     *(values[name] for name in given.split())])
        work = {name.split("_")[0]: count for name, count in program.launched}
        assert work["attention"] == 4 * n * d * visible.sum()
        assert work.get("pack") == (m * d * upto.any(1).sum() if form == "tiles" else None)


def test_plain_state_and_old_value():
    """A cache that something else reads keeps its form; an update whose old value is read later makes a copy."""
    program = graph("""
    func.func @main(%c: tensor<2x3x4x5xf32>, %r: tensor<2x1x3x5xf32>, %p: tensor<2xi64>)
        -> (tensor<2x3x4x5xf32>, tensor<2x3x4x5xf32>) {
      %n = nn.cache_update %c, %r positions(%p) : tensor<2x3x4x5xf32>, tensor<2x1x3x5xf32>, tensor<2xi64>
      %d = arith.subf %n, %c : tensor<2x3x4x5xf32>
      return %n, %d : tensor<2x3x4x5xf32>, tensor<2x3x4x5xf32>
    }""")
    c, r = random((2, 3, 4, 5)), random((2, 1, 3, 5), seed=1)
    new, difference = program.run([c, r, np.array([1, 3])], outputs=[np.float32] * 2)
    expected = c.copy()
    expected[0, :, 1], expected[1, :, 3] = r[0, 0], r[1, 0]
    assert np.array_equal(new, expected)
    assert np.array_equal(difference, expected - c)
