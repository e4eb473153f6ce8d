"""Work of torch.export whose results nobody reads: a seventh of an export's time."""

import contextlib

import torch
from torch._export.serde import serialize
from torch.fx.node import _side_effectful_need_to_be_preserved_pre_dispatch as recorded


@contextlib.contextmanager
def left_out():
    """Inside, saving makes no canonical copy of a program, which torch.export throws away. Where gradients are off, tracing does not record
    that they are turned off once more: torch.export would divide the graph at each of these places, to put the parts together again."""
    canonicalize, before = serialize.canonicalize, list(recorded)
    try:
        serialize.canonicalize = lambda program, constants=None: program
        if not torch.is_grad_enabled():
            recorded[:] = [function for function in before if function is not torch._C._set_grad_enabled]
        yield
    finally:
        serialize.canonicalize, recorded[:] = canonicalize, before
