"""The ATen operators that exports of some forty MoE families were seen to use, in the forms in which they use them."""

import torch
from op_program import Operators
from test_operators import BATCH, make_inputs, written

F = torch.nn.functional

# In-place forms by their own names. Experts are not among them: they are one op, or what numerics/test_other_exporters.py
# exports.
SEEN = set("""
    __and__ _assert_tensor_metadata add add_ alias arange bitwise_not cat chunk clamp contiguous copy_ cos cumsum diff div_ dropout embedding eq
    expand gather gt index index_copy_ le lift_fresh_copy linear masked_fill matmul max mean mul ne neg new_empty new_ones pow reshape rsqrt
    scaled_dot_product_attention scatter_ select sigmoid silu sin slice softmax split split_with_sizes sub sum sym_size to topk transpose
    unsqueeze view where zeros zeros_like
""".split())


def packed_mask(x):
    """Which positions see each other, as the causal mask finds packed sequences."""
    position = torch.arange(x.shape[1]).unsqueeze(0).expand(x.shape[0], -1)
    sequence = (position.diff(prepend=position[:, :1] - 1) != 1).cumsum(-1)
    rows = torch.arange(x.shape[0])[:, None, None]
    queries, keys = torch.arange(x.shape[1])[None, :, None], torch.arange(x.shape[1])[None, None, :]
    same = sequence[rows, queries] == sequence[rows, keys]
    return x.new_ones((), dtype=torch.bool) & same.to(torch.bool) & (position[rows, keys] <= position[rows, queries])


def rotary(x):
    angle = torch.arange(x.shape[1], dtype=torch.float32)[:, None] * torch.tensor([1.0, 0.1, 0.01, 0.001])
    cos, sin = torch.cat([angle.cos()] * 2, -1), torch.cat([angle.sin()] * 2, -1)
    return x * cos + torch.cat([-x[..., 4:], x[..., :4]], -1) * sin


def heads(x):
    return x.view(x.shape[0], x.shape[1], 4, 2).transpose(1, 2)


def attend(x, y, b):
    """With a sink: one more logit that takes its share and has no value."""
    logits = torch.matmul(heads(x), heads(y).transpose(2, 3)) * 0.7
    logits = logits.masked_fill(b[:, None, :, :1], -3e38)
    logits = torch.cat([logits, torch.zeros_like(logits[..., :1])], -1)
    logits = logits - logits.max(dim=-1, keepdim=True).values
    return torch.matmul(F.dropout(logits.softmax(-1)[..., :-1], 0.1, training=False), heads(x)).transpose(1, 2).contiguous()


def route(r):
    weights, ids = r.softmax(-1).topk(2)
    weights.div_(weights.sum(-1, keepdim=True))
    chosen = torch.zeros(r.shape[0], 8).scatter_(1, ids, 1.0)
    return weights, r.sigmoid().gather(1, ids), chosen.bool()


def swiglu(x):
    gate, up = x.chunk(2, -1)
    first, second = x.split(4, -1)
    head, tail = torch.split(x, [1, 7], -1)
    return F.silu(gate) * up, (second.clamp(-2, 2) + 1) * first.clamp(max=2), F.relu(head) ** 2, F.gelu(tail, approximate="tanh")


FUNCTIONS = {
    "mask": packed_mask,
    "rotary": rotary,
    "attend": attend,
    "sdpa": lambda x, y: F.scaled_dot_product_attention(heads(x), heads(y), heads(x), is_causal=True),
    "norm": lambda x, t: t[0] * (x.pow(2).mean(-1, keepdim=True) + 1e-6).rsqrt() * x,
    "route": route,
    "swiglu": swiglu,
    "project": lambda t, k, w, v: F.linear(F.embedding(k, t), w, v).reshape(-1, 3),
    "window": lambda x, b: torch.where(~b & (x > 0.5), x, -x),
    "cache": written(lambda z, y: z.index_copy_(1, torch.arange(2), y[:, :2]), "x", "y"),
    "position": written(lambda z, y: z.copy_(y).add_(1), "x", "y"),
    "alias": lambda x: torch.ops.aten.alias(x) * 2,
    "empty": lambda x: x.new_empty(2, 3).fill_(1),
}


def test_operators_of_exported_models(tmp_path):
    used = {name for f in FUNCTIONS.values() for name in f.__code__.co_varnames[: f.__code__.co_argcount]}

    def inputs(*sizes):
        return {name: value for name, value in make_inputs(*sizes).items() if name in used}

    operators = Operators(FUNCTIONS, inputs(2, 3), BATCH, tmp_path)
    assert SEEN <= operators.targets, f"not run here: {SEEN - operators.targets}"
    for batch, length in ((2, 3), (3, 7), (1, 5)):
        operators.check(inputs(batch, length))
