"""Every operator that becomes linalg, compiled from a .pt2 and compared with PyTorch."""

import operator

import pytest
import torch
import transformers.integrations.moe  # noqa: F401 (defines transformers::grouped_mm_fallback)
from op_program import Operators, false_dtypes

F = torch.nn.functional
BATCH = {name: (0, 1) for name in ("x", "y", "h", "i", "j", "b", "d", "p")} | {"k": (0,), "r": (0,), "s": (0,)}


def make_inputs(batch, length, seed=0):
    """x, y: floats; p: positive; h: bf16; i, j: integers, j without 0; b, d: booleans; k: ids; m, n: matrices."""
    g = torch.Generator().manual_seed(seed)
    shape = (batch, length, 8)

    def integers(low, high, *size):
        return torch.randint(low, high, size or shape, generator=g)

    divisors = integers(1, 5) * (integers(0, 2) * 2 - 1)
    return {
        "x": 3 * torch.randn(shape, generator=g),
        "y": torch.randn(shape, generator=g),
        "p": torch.rand(shape, generator=g) + 0.1,
        "h": torch.randn(shape, generator=g).bfloat16(),
        "i": integers(-7, 8),
        "j": divisors,
        "b": integers(0, 2).bool(),
        "d": integers(0, 2).bool(),
        "k": integers(0, 8, batch, 8),
        "r": torch.randn((batch, 8), generator=g),
        "s": integers(-8, 8, batch),
        "w": torch.randn((6, 8), generator=g),
        "v": torch.randn((6,), generator=g),
        "t": torch.randn((9, 8), generator=g),
        "c": torch.tensor(0.75),
    }


# One module per group. A name says the operator; what stands after a double underscore says which form of it.
UNARY = {
    name: function
    for name, function in {
        "exp": lambda y: torch.exp(y), "log": lambda p: torch.log(p), "log1p": lambda p: torch.log1p(p),
        "sqrt": lambda p: torch.sqrt(p), "rsqrt": lambda p: torch.rsqrt(p), "sin": lambda x: torch.sin(x),
        "cos": lambda x: torch.cos(x), "tanh": lambda x: torch.tanh(x), "erf": lambda y: torch.erf(y),
        "floor": lambda x: torch.floor(x), "ceil": lambda x: torch.ceil(x), "trunc": lambda x: torch.trunc(x),
        "round": lambda i: torch.round(i / 2), "floor__int": lambda i: torch.floor(i),
        "reciprocal": lambda p: torch.reciprocal(p),
        "neg": lambda x: -x, "neg__int": lambda i: -i, "abs": lambda x: x.abs(), "abs__int": lambda i: i.abs(),
        "sign": lambda x: x.round().sign(), "sign__int": lambda i: (i - 3).sign(), "sign__bf16": lambda h: h.sign(), "sign__nan": lambda x, b: x.masked_fill(b, float("nan")).sign(),
        "square": lambda x: torch.square(x), "relu": lambda x: F.relu(x), "relu__int": lambda i: torch.relu(i),
        "sigmoid": lambda x: torch.sigmoid(x), "silu": lambda x: F.silu(x), "log_sigmoid": lambda x: F.logsigmoid(20 * x), "log_sigmoid__bf16": lambda h: F.logsigmoid(h),
        "softplus": lambda x: F.softplus(9 * x),
        "relu6": lambda x: F.relu6(4 * x), "hardtanh": lambda x: F.hardtanh(x, -0.3, 0.7), "leaky_relu": lambda x: F.leaky_relu(x, 0.2),
        "leaky_relu__default": lambda x: F.leaky_relu(x), "elu": lambda x: F.elu(x, 0.7),
        "elu__inf": lambda x: F.elu(x, float("inf")), "leaky_relu__inf": lambda x: F.leaky_relu(x, float("inf")),
        "hardsigmoid": lambda x: F.hardsigmoid(3 * x), "hardswish": lambda x: F.hardswish(3 * x), "mish": lambda x: F.mish(9 * x),
        "mish__bf16": lambda h: F.mish(h),
        "gelu": lambda x: F.gelu(x), "gelu__tanh": lambda x: F.gelu(x, approximate="tanh"),
        "isnan": lambda x: torch.isnan(torch.log(x)), "logical_not": lambda i: torch.logical_not(i),
        "bitwise_not": lambda i: ~i, "bitwise_not__bool": lambda b: ~b,
        "exp__bf16": lambda h: torch.exp(h), "silu__bf16": lambda h: F.silu(h), "exp__int": lambda i: torch.exp(i),
    }.items()
}
BINARY = {
    "add": lambda x, y: x + y, "add__alpha": lambda x, y: torch.add(x, y, alpha=3), "add__number": lambda x: x + 2,
    "add__int": lambda i, j: i + j, "add__mixed": lambda i, x: i + x, "add__row": lambda x, v: x[..., :6] + v,
    "add__column": lambda x, y: x[..., :1] + y, "add__zero_rank": lambda x, c: x + c, "add__bool": lambda i, b: i + b,
    "sub": lambda x, y: x - y, "rsub": lambda x: 1 - x, "rsub__int": lambda i: torch.rsub(i, 5, alpha=2),
    "mul": lambda x, y: x * y, "mul__bool": lambda b, d: b * d, "mul__mask": lambda x, b: x * b,
    "div": lambda x, p: x / p, "div__int": lambda i, j: i / j, "div__number": lambda x: x / 3,
    "div__trunc": lambda i, j: torch.div(i, j, rounding_mode="trunc"),
    "div__floor": lambda i, j: torch.div(i, j, rounding_mode="floor"),
    "div__floor_float": lambda x, p: torch.div(x, p, rounding_mode="floor"),
    "floor_divide": lambda i, j: i // j, "floor_divide__number": lambda i: i // 3, "remainder": lambda i, j: i % j,
    "remainder__of_number": lambda j: torch.remainder(17, j),
    "remainder__float": lambda x, p: torch.remainder(x, p), "fmod": lambda x, p: torch.fmod(x, p),
    "fmod__int": lambda i, j: torch.fmod(i, j), "maximum": lambda x, y: torch.maximum(x, y),
    "minimum": lambda i, j: torch.minimum(i, j), "max__two": lambda x, y: torch.max(x, y),
    "pow__two": lambda x: x**2, "pow__three": lambda i: i**3, "pow__half": lambda p: p**0.5,
    "pow__other": lambda p: p**1.7, "pow__tensor": lambda p, y: p**y, "pow__scalar": lambda y: 2.0**y,
    "add__bf16": lambda h: h + h * 3, "mul__bf16_f32": lambda h, x: h * x,
    "where": lambda b, x, y: torch.where(b, x, y), "where__number": lambda b, x: torch.where(b, x, 0.5),
    "where__numbers": lambda b: torch.where(b, 1.0, -1.0),
    "masked_fill__size": lambda x, b: x.masked_fill(b, x.shape[1]), "where__size": lambda x, b: torch.where(b, x.shape[1], x),
    "masked_fill": lambda x, b: x.masked_fill(b, -3), "masked_fill__row": lambda x, b: x.masked_fill(b[..., :1], 0),
    "clamp": lambda x: x.clamp(-1, 1.5), "clamp_min": lambda i: i.clamp_min(2), "clamp_max": lambda x: x.clamp(max=0.5),
    "clamp__tensor": lambda x, y, p: x.clamp(y, y + p), "clamp__nan": lambda x: torch.log(x).clamp(-1, 1),
}
COMPARISONS = {
    **{f"{name}__tensor": eval(f"lambda x, y: torch.{name}(x, y)") for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    **{f"{name}__int": eval(f"lambda i, j: torch.{name}(i, j)") for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    **{f"{name}__number": eval(f"lambda i: torch.{name}(i, 2)") for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    "lt__mixed": lambda i, x: i < x, "lt__fraction": lambda i: i < 1.5, "gt__bool": lambda b, d: b > d,
    "lt__bf16": lambda h: h < 0.1,
    "logical_and": lambda i, j: torch.logical_and(i, j > 1), "logical_or": lambda i, b: torch.logical_or(i, b),
    "logical_xor": lambda b, d: torch.logical_xor(b, d),
    "__and__": lambda b, d: b & d, "bitwise_and": lambda i, j: torch.bitwise_and(i, j),
    "bitwise_or": lambda i, j: torch.bitwise_or(i, j), "bitwise_xor": lambda i, j: torch.bitwise_xor(i, j),
    "__or__": lambda b, d: b | d, "__xor__": lambda b, d: b ^ d, "bitwise_and__number": lambda i: i & 3,
    "bitwise_xor__of_number": lambda i: torch.bitwise_xor(5, i), "bitwise_or__of_number": lambda i: torch.bitwise_or(2, i),
}
CASTS = {
    "to__int": lambda x: x.to(torch.int64), "to__int32": lambda x: x.to(torch.int32), "to__bool": lambda i: i.bool(),
    "to__bool_float": lambda x: (x * 0).bool(), "to__float": lambda i: i.float(), "to__from_bool": lambda b: b.long(),
    "to__bf16": lambda x: x.bfloat16(), "to__from_bf16": lambda h: h.float(), "to__double": lambda x: x.double(),
    "to__float_bool": lambda b: b.float(), "type_as": lambda i, x: i.type_as(x), "clone": lambda x: x.clone(),
    "contiguous": lambda x: x.transpose(0, 1).contiguous(), "detach": lambda x: x.detach() + 1,
    "dropout": lambda x: F.dropout(x, 0.5, training=False), "to__same": lambda x: x.to(torch.float32) * 2,
}
CREATION = {
    "zeros_like": lambda x: torch.zeros_like(x), "ones_like": lambda i: torch.ones_like(i),
    "full_like": lambda x: torch.full_like(x, 0.25), "zeros": lambda x: torch.zeros(x.shape[0], 3),
    "ones": lambda x: torch.ones(2, x.shape[1], dtype=torch.int64), "full": lambda x: torch.full((x.shape[0], 2), -1.5),
    "full__bool": lambda x: torch.full((3,), True), "new_zeros": lambda i: i.new_zeros(2, i.shape[1]),
    "new_ones": lambda x: x.new_ones(x.shape[1]), "new_full": lambda x: x.new_full((2, 2), 7),
    "eye": lambda x: torch.eye(5), "eye__wide": lambda x: torch.eye(x.shape[1], 4, dtype=torch.int64),
    "arange": lambda x: torch.arange(x.shape[1]), "arange__start": lambda x: torch.arange(2, x.shape[0] + 2),
    "arange__step": lambda: torch.arange(1, 12, 3), "arange__float": lambda: torch.arange(0, 2, 0.25),
    "arange__down": lambda: torch.arange(5, -5, -2), "arange__dtype": lambda x: torch.arange(x.shape[1], dtype=torch.float32),
    "scalar_tensor": lambda x: x + torch.scalar_tensor(3.0), "empty_like__written": lambda x: torch.empty_like(x).fill_(2),
}
SHAPES = {
    "view": lambda x: x.view(x.shape[0], -1), "view__split": lambda x: x.view(x.shape[0], x.shape[1], 2, 4),
    "reshape": lambda x: x.reshape(-1, 4), "reshape__all": lambda x: x.reshape(-1),
    "reshape__permuted": lambda x: x.transpose(0, 1).reshape(x.shape[1], -1),
    "unflatten": lambda x: x.unflatten(-1, (2, 4)), "unflatten__inferred": lambda w: w.unflatten(0, (3, -1)),
    "flatten": lambda x: x.flatten(), "flatten__some": lambda x: x.flatten(1, 2), "flatten__front": lambda x: x.flatten(0, 1),
    "unsqueeze": lambda x: x.unsqueeze(1), "unsqueeze__last": lambda x: x.unsqueeze(-1), "unsqueeze__front": lambda s: s[None],
    "squeeze": lambda x: x[:, :, :1].squeeze(-1), "squeeze__dims": lambda x: x[..., None, :1].squeeze((-1, -2)),
    "expand": lambda r, x: r[:, None].expand(-1, x.shape[1], -1), "expand__new": lambda v: v.expand(3, 6),
    "expand_as": lambda x: x[..., :1].expand_as(x), "broadcast_to": lambda c: torch.broadcast_to(c, (2, 3)),
    "transpose": lambda x: x.transpose(1, 2), "permute": lambda x: x.permute(2, 0, 1), "t": lambda w: w.t(),
    "numpy_T": lambda w: w.T + 1, "numpy_T__reshaped": lambda w: w.T.reshape(-1),
    "flip": lambda x: x.flip(-1), "flip__dims": lambda x: x.flip((0, -1)), "flip__dynamic": lambda t: t.flip(0),
    "unfold": lambda x: x.unfold(-1, 3, 1), "unfold__step": lambda x: x.unfold(-1, 3, 2), "unfold__front": lambda w: w.unfold(0, 2, 3),
    "unfold__dynamic": lambda x: F.pad(x, (0, 0, 2, 0)).unfold(1, 3, 1),
    "transpose__twice": lambda x: x.transpose(0, 1).transpose(-1, 0) + 1,
    "slice": lambda x: x[:, :, 2:5], "slice__negative": lambda x: x[..., -3:], "slice__step": lambda x: x[..., 1::3],
    "slice__dynamic": lambda x: x[:, 1:], "slice__to_dynamic": lambda t, x: t[: x.shape[1]],
    "narrow": lambda x: x.narrow(-1, 2, 5), "narrow__back": lambda x: x.narrow(2, -3, 2), "narrow__dynamic": lambda x: x.narrow(1, 1, 2),
    "narrow__start": lambda x, t: t.narrow(0, x.shape[1], 2), "narrow__length": lambda x, t: t.narrow(0, -8, x.shape[1]), "narrow__end": lambda x: x.narrow(1, -2, 2),
    "narrow__none": lambda w: w.narrow(0, 6, 0), "slice__cut": lambda x: x[..., 5:100], "slice__from_end": lambda x: x[:, :-1],
    "select": lambda x: x[:, 0], "select__last": lambda x: x[:, -1], "select__middle": lambda x: x.select(2, 3),
    "cat": lambda x, y: torch.cat([x, y], 1), "cat__last": lambda x, w: torch.cat([x, -x[..., :3]], -1),
    "concat": lambda x, y: torch.concat([x, y], 1), "cat__types": lambda i, x: torch.cat([i, x], 0), "stack": lambda x, y: torch.stack([x, y], 1),
    "stack__last": lambda i, j: torch.stack([i, j], -1), "split": lambda x: x.split(3, -1),
    "split_with_sizes": lambda x: torch.split(x, [1, 5, 2], -1), "chunk": lambda x: x.chunk(2, -1),
    "unbind": lambda w: w.unbind(0), "unbind__last": lambda r: r.unbind(1)[2:4],
    "repeat": lambda x: x.repeat(2, 1, 3), "repeat__more": lambda r: r.repeat(3, 1, 2, 1), "repeat__dynamic": lambda v, x: v.repeat(x.shape[1]),
    "repeat_interleave": lambda x: x.repeat_interleave(3, dim=1), "repeat_interleave__front": lambda r: r.repeat_interleave(2, dim=0),
    "repeat_interleave__flat": lambda v: v.repeat_interleave(2), "repeat_interleave__last": lambda i: i.repeat_interleave(4, -1),
    "pad": lambda x: F.pad(x, (3, 1)), "pad__dynamic": lambda x: F.pad(x, (0, 0, 2, 0), value=0.5),
    "pad__cut": lambda x: F.pad(x, (-2, 1)), "pad__int": lambda i: F.pad(i, (1, 1, 0, 1, 2, 0), value=7),
    "constant_pad_nd": lambda b: torch.constant_pad_nd(b, (2, 3), True), "pad__bf16": lambda h: F.pad(h, (0, 4), value=0.1),
    "tril": lambda x: x.tril(), "tril__above": lambda i: i.tril(2), "triu": lambda w: w.triu(-1), "triu__bool": lambda b: b.triu(1),
    "rotate_half": lambda x: torch.cat([-x[..., 4:], x[..., :4]], -1),
}


def written(write, *names):
    """A function that changes a copy of its first input in place."""
    def function(first, *others):
        changed = first.clone()
        write(changed, *others)
        return changed * 2

    return renamed(function, *names)


def renamed(function, *names):
    """`function` with these inputs."""
    return eval(f"lambda {', '.join(names)}: function({', '.join(names)})", {"function": function})


WRITES = {
    "add_": written(lambda z, y: z.add_(y), "x", "y"), "fill_": written(lambda z: z[:, 0].fill_(3), "x"),
    "select_scatter": written(lambda z, y: z[:, -1].copy_(y[:, 0]), "x", "y"),
    "select_scatter__last": written(lambda z: z[..., 2].mul_(2), "x"),
    "slice_scatter": written(lambda z, v: z[..., 1:7].copy_(v), "x", "v"),
    "slice_scatter__dynamic": written(lambda z, y: z[:, 1:].sub_(y[:, 1:]), "x", "y"),
    "slice_scatter__step": written(lambda z, y: z[..., ::2].copy_(y[..., :4]), "x", "y"),
    "slice_scatter__type": written(lambda z, i: z[..., 3:].copy_(i[..., :5]), "x", "i"),
    "copy": written(lambda z, y: z.copy_(y), "x", "y"), "copy__row": written(lambda z, r: z.copy_(r[:, None]), "x", "r"),
    "view_as": written(lambda z: z.view(z.shape[0], -1).add_(1), "x"),
    "masked_fill_": written(lambda z, b: z.masked_fill_(b, 1), "x", "b"),
    "index_put__negative": written(lambda z, r: operator.setitem(z, torch.arange(r.shape[0]) - 9, r), "t", "r"),
    "index_copy_": written(lambda z, y: z.index_copy_(2, torch.tensor([6, 1]), y[..., :2]), "x", "y"),
    "narrow": written(lambda z, y: z.narrow(2, 1, 3).mul_(y[..., :3]), "x", "y"), "narrow__front": written(lambda z: z.narrow(1, 0, 2).add_(1), "x"),
    "einsum": written(lambda z, y: torch.einsum("bsd->dbs", z).mul_(y.permute(2, 0, 1)), "x", "y"),
    "nested": written(lambda z: z[:, 0][:, :3].add_(z[:, 1:2].sum()), "x"),
}


def heads(x, width=2):
    """[B, S, 8] -> [B, 8 / width, S, width]"""
    return x.view(x.shape[0], x.shape[1], -1, width).transpose(1, 2)


attend = F.scaled_dot_product_attention
DECOMPOSED = {
    "scaled_dot_product_attention__added": lambda x, y: attend(heads(x), heads(y), heads(x), (x @ y.transpose(1, 2))[:, None]),
    "scaled_dot_product_attention__row": lambda x, y, i: attend(heads(x), heads(y), heads(x), i[:, None, None, :, 0].float()),
    "scaled_dot_product_attention__bf16": lambda h: attend(heads(h), heads(h), heads(h), (h @ h.transpose(1, 2))[:, None]),
    "scaled_dot_product_attention__width": lambda x, y: attend(heads(x, 4), heads(x, 4), heads(y[..., :6], 3), is_causal=True),
    "scaled_dot_product_attention__groups": lambda x, y: attend(
        heads(x), heads(y[..., 4:]), heads(x[..., :4]), (x @ y.transpose(1, 2))[:, None], enable_gqa=True),
    "scaled_dot_product_attention__hidden": lambda x, y, b: attend(
        heads(x), heads(y), heads(x), torch.where(b[:, None, :, :1], y[:, None, :, :1], float("-inf")).expand(-1, -1, -1, x.shape[1])),
    "scaled_dot_product_attention__double": lambda x, b: attend(heads(x).double(), heads(x).double(), heads(x).double(), b[:, None, :1, :1]),
    "rms_norm__bare": lambda x: F.rms_norm(x, (8,)), "rms_norm__matrix": lambda w: F.rms_norm(w, (6, 8), w, 1e-3),
    "rms_norm__bf16": lambda h: F.rms_norm(h, (8,), eps=1e-5), "rms_norm__bf16_eps": lambda h, t: F.rms_norm(1e-3 * h, (8,), t[0].bfloat16()),
    "logsumexp": lambda x: (60 * x).logsumexp(-1), "logsumexp__dims": lambda x: x.logsumexp((0, 2), keepdim=True),
    "logsumexp__hidden": lambda x, b: x.masked_fill(b, float("-inf")).logsumexp(-1),
    # PyTorch rounds each step to bf16, the compiler once: far from zero, where both are within an ulp.
    "logsumexp__bf16": lambda h: (8 + h).logsumexp(1),
    "linalg_vector_norm": lambda x: torch.linalg.vector_norm(x, dim=-1), "linalg_vector_norm__one": lambda x: torch.norm(x, p=1, dim=1, keepdim=True),
    "linalg_vector_norm__most": lambda x: torch.linalg.vector_norm(x, float("inf"), dim=(0, 2)),
    "linalg_vector_norm__bf16": lambda h: torch.linalg.vector_norm(h, dim=-1),
    "layer_norm": lambda x, t: F.layer_norm(x, (8,), t[0], t[1], 1e-3), "layer_norm__bare": lambda x: F.layer_norm(x, (8,)),
    "layer_norm__bf16": lambda h, t: F.layer_norm(h, (8,), t[0].bfloat16()), "layer_norm__matrix": lambda w: F.layer_norm(w, (6, 8), w),
    "diff": lambda i: i.diff(), "diff__prepend": lambda i: i.diff(dim=1, prepend=i[:, :1] - 1), "diff__twice": lambda x: x.diff(2),
    "diff__both": lambda x, y: x.diff(dim=-1, prepend=y, append=y[..., :2]), "diff__bool": lambda b: b.diff(),
    "one_hot": lambda k: F.one_hot(k, 8), "one_hot__known": lambda x: F.one_hot(x.topk(2, -1).indices, 8).float(),
    "one_hot__remainder": lambda i: F.one_hot(i % 5, 6), "one_hot__number": lambda k: F.one_hot(k[0, 0], 9),
    "einsum": lambda x, w: torch.einsum("bsd,ed->bse", x, w), "einsum__one": lambda x: torch.einsum("bsd->sb", x),
    "einsum__bf16": lambda h: torch.einsum("bqd,bkd->bqk", h, h), "einsum__int": lambda i, j: torch.einsum("bsd,bsd->sd", i, j),
    "mv": lambda r, t: torch.mv(r, t[0]), "mv__bf16": lambda h: torch.mv(h[0], h[1, 0]), "mv__int": lambda k, i: torch.mv(k, i[0, 0]),
    "addmv": lambda v, w, t: torch.addmv(v, w, t[0]), "addmv__factors": lambda r, t, c: torch.addmv(c, r, t[0], beta=0.5, alpha=-2),
    "addmv__int": lambda s, k, i: torch.addmv(s, k, i[0, 0], beta=3, alpha=-2), "addmv__bf16": lambda h: torch.addmv(h[:, 0, 0], h[:, 1], h[0, 0]),
    "addmv__nan": lambda s, r, t: torch.addmv(s.float() + float("nan"), r, t[0], beta=0),
    "addcmul": lambda x, y, p: torch.addcmul(x, y, p), "addcmul__value": lambda x, r, v: torch.addcmul(x[..., :6], r[:, None, :6], v, value=-0.3),
    "addcmul__int": lambda i, j: torch.addcmul(i, i, j, value=3), "addcmul__bf16": lambda h: torch.addcmul(h, h, h[:, :1], value=0.7),
    "addcmul__mixed": lambda h, c, x: torch.addcmul(h, c, h) + torch.addcmul(h, x, c), "addcmul__wide": lambda c, r, x: torch.addcmul(c, r[:, None], x),
    "roll": lambda x: x.roll(3, -1), "roll__back": lambda x: x.roll((-2, 9), (2, -1)), "roll__dynamic": lambda x: x.roll((2, -1, 1), (1, 0, 2)),
    "roll__flat": lambda x: x.roll(5), "roll__known": lambda w, b: w.roll(-7) * b[0, 0, 0], "roll__number": lambda c: c.roll(2), "roll__bool": lambda b: b.roll(1, 1),
    "var": lambda x: x.var(-1), "var__biased": lambda x: x.var((0, 2), unbiased=False, keepdim=True), "var__all": lambda x: x.var(),
    "var__correction": lambda x: x.var(-1, correction=2.5), "var__dynamic": lambda x: x.var((1, 2), correction=3, keepdim=True),
    "var__few": lambda x: x[..., :1].var(-1), "var__bf16": lambda h: h.var(-1), "var__double": lambda x: x.double().var(unbiased=False),
    "std": lambda x: x.std(1), "std__bf16": lambda h: h.std(-1, correction=0),
}
INDEXING = {
    "index": lambda t, k: t[k], "index__second": lambda w, k: w[:, k], "index__pair": lambda t, s, k: t[s, k[:, 0]],
    "index__middle": lambda x, s: x[:, :, s % 8], "index__broadcast": lambda t, k: t[k[:, :1] % 9, k],
    "index__none": lambda x, s: x[:, None][..., s % 3], "index__negative": lambda t, s: t[s - 1],
    "index_select": lambda t, s: t.index_select(0, s + 8 - s), "index_select__last": lambda x: x.index_select(-1, torch.tensor([7, 0, 0])),
    "embedding": lambda t, k: F.embedding(k, t), "gather": lambda r, k: r.gather(1, k),
    "gather__short": lambda r, k: r.gather(1, k[:, 2:5]), "gather__front": lambda t, k: t.gather(0, k),
    "take_along": lambda x, k: x.gather(2, k[:, None].expand(-1, x.shape[1], -1)),
    "index_add": lambda t, r: t.index_add(0, torch.arange(r.shape[0]) // 2 + 2, r),
    "index_copy": lambda t, r: t.index_copy(0, torch.arange(r.shape[0]) + 2, r),
    "index_put": lambda i, s: i[..., 0].index_put((s % s.shape[0] * 0,), i[:, 0].sum(1)[:1, None].expand(s.shape[0], i.shape[1])),
    "index_put__inverse": lambda y: torch.zeros(y.shape[1], dtype=torch.int64).index_put((y[0, :, 0].argsort(),), torch.arange(y.shape[1])),
    "scatter__value": lambda r, k: r.scatter(1, k[:, :3], 9.0), "scatter__src": lambda r, y: r.scatter(1, torch.tensor([[3, 1, 0]]).expand(r.shape[0], -1), r[:, :3] * 2),
}


def spread(x):
    """Rows of 601 different numbers."""
    return x[:, :, :1] + 17.0 * ((torch.arange(601) * 7919) % 601)


REDUCTIONS = {
    "sum": lambda x: x.sum(), "sum__dim": lambda x: x.sum(-1), "sum__keep": lambda x: x.sum(1, keepdim=True),
    "sum__dims": lambda x: x.sum((0, 2)), "sum__int": lambda i: i.sum(0), "sum__bool": lambda b: b.sum(-1),
    "sum__bf16": lambda h: h.sum(-1), "sum__dtype": lambda h: h.sum(-1, dtype=torch.float32),
    "mean": lambda x: x.mean(), "mean__dim": lambda x: x.mean(-1, keepdim=True), "mean__dynamic": lambda x: x.mean(1),
    "mean__bf16": lambda h: h.mean(-1), "amax": lambda x: x.amax(-1), "amax__keep": lambda i: i.amax((1, 2), keepdim=True),
    "max": lambda x: x.max(), "max__dim": lambda x: x.max(-1), "max__keep": lambda i: i.max(2, keepdim=True).values,
    "linalg_vector_norm": lambda x: torch.linalg.vector_norm(x, dim=-1, keepdim=True), "linalg_vector_norm__one": lambda x: x.norm(1, dim=(0, 2)),
    "linalg_vector_norm__bf16": lambda h: torch.linalg.vector_norm(h, dim=-1), "linalg_vector_norm__all": lambda y: torch.linalg.vector_norm(y),
    "argmax": lambda x: x.argmax(-1), "argmax__keep": lambda x: x.argmax(-1, keepdim=True),
    "any": lambda b: b.any(), "any__dim": lambda b: b.any(-1), "all": lambda b: b.all(-1, keepdim=True),
    "any__float": lambda x: (x > 5).any(1), "softmax": lambda x: x.softmax(-1), "softmax__middle": lambda x: x.softmax(1),
    "softmax__dtype": lambda h: F.softmax(h, -1, dtype=torch.float32), "softmax__bf16": lambda h: h.softmax(-1),
    "softmax__masked": lambda x, b: x.masked_fill(b, float("-inf")).masked_fill(~b, 1).softmax(-1),
    "cumsum": lambda x: x.cumsum(-1), "cumsum__int": lambda i: i.cumsum(1), "cumsum__bool": lambda b: b.long().cumsum(-1),
    "cummax": lambda x: x.cummax(1), "cummax__ties": lambda i: (i // 2).cummax(-1), "cummax__bf16": lambda h: h.cummax(0),
    "cummax__nan": lambda x, b: x.masked_fill(b, float("nan")).cummax(-1).indices, "cummax__lowest": lambda x: (x - torch.inf).cummax(2),
    "topk": lambda x: x.topk(3, -1), "topk__front": lambda x: x.topk(2, 2, sorted=True),
    "topk__all": lambda r: r.topk(8), "sort": lambda x: x.sort(-1, descending=True),
    "sort__ascending": lambda x: x.sort(1), "sort__stable": lambda i: torch.sort(i, dim=1, stable=True), "sort__vector": lambda y: y.view(-1).sort(),
    "sort__bool": lambda b: torch.sort(b, stable=True, descending=True), "argsort": lambda x: x.argsort(-1),
    "argsort__equal": lambda x: x[:, :, :1].expand_as(x).exp().argsort(dim=-1, stable=True), "sort__equal": lambda b: b.any(1, keepdim=True).expand_as(b).float().sort(dim=1, stable=True),
    "argsort__stable": lambda i: torch.argsort(i, dim=1, descending=True, stable=True), "topk__smallest": lambda x: x.topk(3, -1, largest=False),
    "topk__long": lambda x: spread(x).topk(5, -1), "topk__symbolic": lambda x: x.transpose(1, 2).topk(min(4, x.shape[1]), -1),
    "topk__mask": lambda x: torch.ones_like(spread(x), dtype=torch.bool).scatter(-1, spread(x).topk(40).indices, False),
    "histc": lambda x: torch.histc(x.reshape(-1), 10, -3, 3), "histc__ids": lambda k: torch.histc(k.view(-1).float(), bins=8, min=0, max=7),
}


def stacked(t):
    """Three matrices [8, 8]."""
    return torch.stack([t[:8], t[1:], -t[:8]])


def ends(h, *before):
    """Where groups of the rows of `h` end: `before`, and the last one at the end."""
    return torch.cat([torch.tensor(before), torch.full((1,), h.shape[0] * h.shape[1])]).to(torch.int32)


PRODUCTS = {
    "matmul": lambda x, t: x @ t[:8], "matmul__batched": lambda x, y: x @ y.transpose(1, 2),
    "matmul__heads": lambda x, y: x.view(x.shape[0], -1, 2, 4).transpose(1, 2) @ y.view(x.shape[0], -1, 2, 4).permute(0, 2, 3, 1),
    "mm": lambda w, t: torch.mm(w, t.t()), "bmm": lambda x, y: torch.bmm(x, y.transpose(1, 2)),
    "linear": lambda x, w: F.linear(x, w), "linear__bias": lambda x, w, v: F.linear(x, w, v),
    "linear__rows": lambda r, w, v: F.linear(r, w, v), "linear__bf16": lambda h, w, v: F.linear(h, w.bfloat16(), v.bfloat16()),
    "addmm": lambda v, r, w: torch.addmm(v, r, w.t()), "matmul__bf16": lambda h: h @ h.transpose(1, 2),
    "_grouped_mm": lambda h, t: F.grouped_mm(h.view(-1, 8), stacked(t).bfloat16(), offs=ends(h, 2, 2)),
    "transformers.grouped_mm_fallback": lambda x, t: torch.ops.transformers.grouped_mm_fallback(x.view(-1, 8), stacked(t), torch.tensor([0, 3, 4])),
    "conv1d": lambda x, w: F.conv1d(x.transpose(1, 2), w.view(3, 8, 2)),
    "conv1d__groups": lambda x, t, v: F.conv1d(x.transpose(1, 2), t[:6].reshape(6, 4, 2), v, padding=3, groups=2),
    "conv1d__depthwise": lambda x, t: F.conv1d(x.transpose(1, 2), t[:8, None, :4], groups=8, padding=3),
    "conv1d__stride": lambda x, w: F.conv1d(x.transpose(1, 2), w.view(2, 8, 3), stride=2, dilation=2, padding=4),
    "conv1d__bf16": lambda h, w, v: F.conv1d(h.transpose(1, 2), w.view(3, 8, 2).bfloat16(), v[:3].bfloat16(), padding=1),
    **{f"{name}__{str(type)[6:]}": eval(f"lambda i, k, s: {text}", {"F": F, "torch": torch, "type": type})
       for type in (torch.int8, torch.int16, torch.int32, torch.int64)
       for name, text in {
           "linear": "F.linear(i.to(type), k.to(type))", "linear__bias": "F.linear(i.to(type), k.to(type), s.to(type))",
           "linear__rows": "F.linear(k.to(type), i[0].to(type), i[0, :, 1].to(type))", "addmm": "torch.addmm(s.to(type), i[:, 0].to(type), k.T.to(type))",
           "addmm__matrix": "torch.addmm(k.T.to(type), i[0, :1].T.to(type), s[None].to(type))", "matmul": "i.to(type) @ k.T.to(type)",
           "bmm": "torch.bmm(i.to(type), i.transpose(1, 2).to(type))", "mm": "torch.mm(k.to(type), k.T.to(type))",
       }.items()},
    "outer": lambda s: s[:, None] * s[None], "matmul__vector": lambda x, v: x[..., :6] @ v,
    "matmul__row": lambda v, w: v @ w, "matmul__dot": lambda v: v @ v,
}
SYMBOLIC = {
    "sizes": lambda x: x + x.shape[0] * 2 - x.shape[1] // 2, "size_plus": lambda x: torch.arange(x.shape[0] + x.shape[1]),
    "size_minus": lambda x: torch.arange(2 * x.shape[1] - 1), "mean_by_hand": lambda x: x.sum(1) / x.shape[1],
    "causal": lambda x: torch.arange(x.shape[1])[None] <= torch.arange(x.shape[1])[:, None],
    "torch.sym_min": lambda x: torch.arange(min(x.shape[1], 4)), "torch.sym_max": lambda x: torch.arange(max(x.shape[0], x.shape[1])),
    "_operator.neg": lambda x, y: torch.cat([x, y], 1)[:, -x.shape[1] :], "_operator.mod": lambda x: x + x.shape[1] % 3,
    "positions": lambda s, x: s[:, None] + torch.arange(x.shape[1]), "number": lambda x: torch.full((2,), x.shape[0]),
}
def pairs(t):
    return torch.view_as_complex(t.reshape(*t.shape[:-1], 4, 2))


# Complex numbers have no loops of their own: aten-expand-complex makes real ones of them.
COMPLEX = {
    "polar": lambda p, x: torch.view_as_real(torch.polar(p, x)), "polar__scaled": lambda p, x: torch.polar(p, x).real * 0.5,
    "view_as_complex": lambda x, y: torch.view_as_real(pairs(x) * pairs(y)),
    "view_as_real": lambda x, r: torch.view_as_real(pairs(x) * pairs(r)[:, None]), "complex": lambda x, y: (torch.complex(x, y) * x).imag,
    "add__complex": lambda x, y: torch.view_as_real(pairs(x) + pairs(y)), "sub__complex": lambda x, y: (pairs(x) - pairs(y)).abs(),
    "div__complex": lambda x: (pairs(x) / 3).real, "cat__complex": lambda x, y: torch.view_as_real(torch.cat([pairs(x), pairs(y).conj()], -1)),
}
GROUPS = {
    "unary": UNARY, "binary": BINARY, "comparisons": COMPARISONS, "casts": CASTS, "creation": CREATION,
    "shapes": SHAPES, "writes": WRITES, "decomposed": DECOMPOSED, "indexing": INDEXING, "reductions": REDUCTIONS,
    "products": PRODUCTS, "symbolic": SYMBOLIC, "complex": COMPLEX,
}


def inputs_of(group, *sizes):
    used = {name for f in GROUPS[group].values() for name in f.__code__.co_varnames[: f.__code__.co_argcount]}
    return {name: value for name, value in make_inputs(*sizes).items() if name in used}


@pytest.fixture(scope="module", params=GROUPS)
def compiled(request, tmp_path_factory):
    """The name of a group, and the group as it was compiled."""
    folder = tmp_path_factory.mktemp(request.param)
    return request.param, Operators(GROUPS[request.param], inputs_of(request.param, 2, 3), BATCH, folder)


def test_group(compiled):
    group, operators = compiled
    for batch, length in ((2, 3), (3, 7), (5, 4)):
        operators.check(inputs_of(group, batch, length))


def test_false_dtypes(compiled):
    """What the file says of a result's type must follow from the operator and its arguments."""
    assert not false_dtypes(compiled[1].source)
