"""Tensors without elements: parts that are cut off behind the end, what is computed of them, and arguments."""

import pytest
import torch
from op_program import Operators

F = torch.nn.functional

# Functions of q [B, 3, 12], z [B, 0, 3] and w [0, 12].
FUNCTIONS = {
    "cut_and_join": lambda q: torch.cat([q[..., :12].neg(), q[..., 12:]], -1),
    "cut_before": lambda q: torch.cat([q[..., :0], q[..., 0:].neg()], -1),
    "beyond": lambda q: q[..., 40:],
    "backwards": lambda q: q[..., 5:3],
    "sum": lambda q: q[..., 12:].sum(-1),
    "product": lambda q: q[..., 12:] @ torch.zeros(0, 4),
    "linear": lambda q, w: F.linear(q[:, :0], torch.ones(6, 12)),
    "softmax": lambda q: q[..., 12:].softmax(-1),
    "split": lambda q: q.split([12, 0], -1),
    "split_within": lambda q: q.split([4, 0, 8], -1),
    "join_vector": lambda q: torch.cat([torch.empty(0), q, torch.empty(0)], 0),
    "join_nothing": lambda q: torch.cat([q[..., :0], q[..., 12:]], -1),
    "stack": lambda q: torch.stack([q[..., :0], q[..., 12:]], -1),
    "turn": lambda q: q[:, :0].transpose(1, 2),
    "expand": lambda q: q[:, :0, None].expand(-1, -1, 5, -1),
    "index": lambda q: q[:, torch.zeros(0, dtype=torch.long)],
    "insert": lambda q: torch.slice_scatter(q, q[..., 12:], 2, 12, 12),
    "argument": lambda q, z: q[:, 0] + z.sum((1, 2))[:, None],
    "argument_product": lambda z: z.transpose(1, 2) @ z,
    "argument_linear": lambda q, w: F.linear(q, w),
    # All that there was is taken away, in front or behind, and something else comes.
    "pad_behind": lambda q: F.pad(q[..., :1], [-1, 2], value=3.0),
    "pad_before": lambda q: F.pad(q, [2, -12]),
    "pad_moved": lambda q: F.pad(q, [-12, 5], value=-1.0),
    "pad_middle": lambda q: F.pad(q, [0, 0, -3, 2], value=0.5),
    "pad_both": lambda q: F.pad(q, [-12, 1, -3, 1]),
    "pad_from_both": lambda q: F.pad(q, [-5, -7]),
    "pad_nothing": lambda q: F.pad(q, [-12, 0]),
    "pad_empty": lambda z: F.pad(z, [1, 1, 2, 1], value=2.0),
    "pad_empty_behind": lambda z: F.pad(z, [0, 0, 0, 2]),
    "pad_empty_before": lambda z: F.pad(z, [0, 0, 2, 0], value=4.0),
    "pad_vector": lambda q: q[:, 0] + F.pad(torch.arange(3.0), [-3, 12], value=7.0),
    # A dynamic dimension of a tensor without elements.
    "later_rows": lambda q: q[:, 0, :0][1:],
    "later_rows_flat": lambda q: (q[..., 12:] * 2).flatten(1, 2)[1:],
    "earlier_rows": lambda q: q[:, :, :0].flatten(0, 1)[:-1].neg(),
    "every_other_row": lambda q: q[:, 0, 12:].clone()[1::2] * 2,
    "insert_rows": lambda q: torch.slice_scatter(q[:, 0, :0].clone(), q[1:, 0, :0], 0, 1) + 1,
    "last_rows_of_argument": lambda z: z[1:].transpose(0, 2),
    "no_rows": lambda w: w.exp().sum(0) + 1,
}


@pytest.fixture(scope="module")
def operators(tmp_path_factory):
    return Operators(FUNCTIONS, make(5), {"q": (0,), "z": (0,)}, tmp_path_factory.mktemp("empty"))


def make(batch):
    generator = torch.Generator().manual_seed(batch)
    return {"q": torch.randn((batch, 3, 12), generator=generator), "z": torch.zeros(batch, 0, 3), "w": torch.zeros(0, 12)}


@pytest.mark.parametrize("batch", [0, 1, 2, 5])
def test_empty(batch, operators):
    operators.check(make(batch))
